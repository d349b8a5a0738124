package dash

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"math"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	arc "github.com/arc-learn/arc/next"
	"github.com/arc-learn/arc/next/reason"
)

// words are what templates say things with.
func (d *dash) words() template.FuncMap {
	return template.FuncMap{
		"ago":   func(t time.Time) string { return ago(d.opts.Now(), t) },
		"date":  func(t time.Time) string { return t.Local().Format("2 Jan 2006, 15:04:05") },
		"clock": func(t time.Time) string { return t.Local().Format("15:04:05") },
		"iso":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"took":  func(r *arc.Report) string { return took(d.opts.Now(), r) },
		"clip":  func(n int, s string) string { return clip(s, n) }, "line": line,
		"count": count, "number": number, "usd": usd, "plain": plain, "steps": steps,
		"tone": tone, "open": open, "waits": waits,
		"list": func(v ...any) []any { return v },
		"str":  func(v any) string { return fmt.Sprint(v) },
		"id":   func(s string) string { return "i" + digest([]byte(s)) }, // of an element
		"join": strings.Join, "esc": url.QueryEscape,
	}
}

// tone is the colour of a status.
func tone(status any) string {
	switch fmt.Sprint(status) {
	case "delivered", "completed", "approved", "healthy":
		return "good"
	case "blocked", "failed", "failing":
		return "bad"
	case "asking", "waiting", "ready", "struggling":
		return "ask"
	case "running", "active":
		return "work"
	}
	return ""
}

func ago(now, t time.Time) string {
	d := now.Sub(t)
	word := " ago"
	if d < 0 {
		d, word = -d, " from now"
	}
	switch {
	case t.IsZero():
		return ""
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min%s", d/time.Minute, word)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h%s", d/time.Hour, word)
	default:
		return fmt.Sprintf("%d days%s", d/(24*time.Hour), word)
	}
}

func took(now time.Time, r *arc.Report) string {
	end := r.Ended
	if end.IsZero() {
		end = now
	}
	switch d := max(0, end.Sub(r.Began)); {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
}

// clip cuts a text after some bytes, at a rune.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// line is the first line of a text, for a list.
func line(s string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if first = clip(first, 240); rest != "" && !strings.HasSuffix(first, "…") {
		first += " …"
	}
	return first
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return number(n) + " " + what
}

// number writes thousands apart.
func number(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func tokens(u *reason.Usage) string {
	if u == nil {
		return ""
	}
	return fmt.Sprintf("%s tokens in, %s out", number(u.Input), number(u.Output))
}

// usd are dollars, where they are known.
func usd(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return dollars(*v)
}

func dollars(v float64) string {
	if v != 0 && math.Abs(v) < .01 {
		return fmt.Sprintf("$%.4f", v)
	}
	return fmt.Sprintf("$%.2f", v)
}

func percent(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

func plain(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") }

func digest(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:6])
}
