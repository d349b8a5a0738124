package dash

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// helpers are the functions of templates.
func helpers() template.FuncMap {
	return template.FuncMap{
		"clock": clock, "took": took, "usd": usd, "pct": pct, "dec": dec, "cut": shortened, "pretty": pretty, "plus": plus,
		"spark": newSpark, "grid": newGrid, "rail": newRail, "tone": toneOf, "bar": bar,
		"plus1": func(i int) int { return i + 1 },
		"plain": plain, "thousands": thousands, "asked": asked,
		"last":  func(v []float64) float64 { return v[len(v)-1] },
		"lines": func(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") },
	}
}

// clock is a time in UTC, to the second.
func clock(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// ago says how long ago a time is, or ahead, in the largest unit that fits.
func ago(t, now time.Time) string {
	if t.IsZero() {
		return "–"
	}
	d, form := now.Sub(t), "%d %s ago"
	if d < 0 {
		d, form = -d, "in %d %s"
	}
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf(form, int(d.Minutes()), "min")
	case d < 48*time.Hour:
		return fmt.Sprintf(form, int(d.Hours()), "h")
	}
	return fmt.Sprintf(form, int(d.Hours()/24), "d")
}

// took is a duration in two digits or so.
func took(d time.Duration) string {
	switch {
	case d <= 0:
		return "–"
	case d < time.Millisecond:
		return "< 1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours()/24), int(d.Hours())%24)
}

// usd is an amount of dollars, with more digits the less it is.
func usd(v float64) string {
	switch {
	case v == 0:
		return "$0"
	case math.Abs(v) < 0.01:
		return fmt.Sprintf("$%.4f", v)
	case math.Abs(v) < 100:
		return fmt.Sprintf("$%.2f", v)
	}
	return fmt.Sprintf("$%.0f", v)
}

// pct is a share, or what else is in [0,1], in percent.
func pct(v float64) string { return fmt.Sprintf("%.0f\u00a0%%", 100*v) }

// dec is a number to two decimals.
func dec(v float64) string { return fmt.Sprintf("%.2f", v) }

// plus is a difference of shares in points, with its sign.
func plus(v float64) string {
	return strings.Replace(fmt.Sprintf("%+.0f", 100*v), "-", "−", 1)
}

// shortened bounds a text to n bytes.
func shortened(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "\u00a0…"
}

// unescape undoes what encoding/json does for HTML: a person allows what they can read.
var unescape = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// pretty is JSON to read, at most 16 KiB of it.
func pretty(raw json.RawMessage) string {
	text, out := string(raw), new(bytes.Buffer)
	if json.Indent(out, raw, "", "  ") == nil {
		text = unescape.Replace(out.String())
	}
	return shortened(text, 16<<10)
}

// toneOf is the colour of a status of a run, a job or a proposal.
func toneOf(status any) string {
	switch fmt.Sprint(status) {
	case "delivered", "completed", "applied", "HEALTHY", "healthy":
		return "good"
	case "blocked", "failed", "failing":
		return "bad"
	case "waiting", "asking", "open", "parked", "NEEDS_ATTENTION", "struggling":
		return "warn"
	case "running", "active", "approved", "undoing":
		return "work"
	}
	return ""
}

// bar is the width of a share in units of 60.
func bar(v float64) float64 { return 60 * min(1, max(0, v)) }

// plain is a name in words.
func plain(name any) string { return strings.ToLower(strings.ReplaceAll(fmt.Sprint(name), "_", " ")) }

// thousands is a count with its thousands apart.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "\u2009" + s[i:]
	}
	return s
}
