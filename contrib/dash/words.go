package dash

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/internal/fence"
)

// words are what templates say things with.
func (d *dash) words() template.FuncMap {
	return template.FuncMap{
		"ago": func(t time.Time) string {
			if past := d.opts.Now().Sub(t); past >= time.Minute {
				return span(past) + " ago"
			}
			return "just now"
		},
		"date":  func(t time.Time) string { return t.Local().Format("2 Jan 2006, 15:04:05") },
		"clock": func(t time.Time) string { return t.Local().Format("15:04:05") },
		"iso":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"took":  func(r *arc.Report) string { return span(cmp.Or(r.Ended, d.opts.Now()).Sub(r.Began)) },
		"clip":  func(n int, s string) string { return clip(s, n) },
		"json":  func(raw json.RawMessage) string { return string(fence.Escaped(raw)) },
		"count": count, "number": number, "amount": amount, "waits": waits, "open": open,
		"asked": func(r *arc.Report) [2]string { // the beginnings of its Text and of its Inputs
			text, _, _ := strings.Cut(r.Objective, " {")
			return [2]string{text, strings.TrimSpace(r.Objective[len(text):])}
		},
		"list": func(v ...any) []any { return v }, "str": fmt.Sprint,
		"id":    func(v any) string { return fmt.Sprintf("i%x", sha256.Sum256([]byte(fmt.Sprint(v))))[:13] },
		"first": func(n int, rs []*arc.Report) []*arc.Report { return rs[:min(n, len(rs))] },
		"join":  strings.Join, "esc": url.QueryEscape,
	}
}

func span(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", max(0, d.Seconds()))
	}
	return strings.TrimSpace(humanize.RelTime(time.Time{}, time.Time{}.Add(d), "", ""))
}

func clip(s string, n int) string { return fence.Clip(strings.TrimSpace(fence.Visible(s)), n) }

// between matches the texts between the tags of a page. Attributes stay as they are: a form has IDs there.
var between = regexp.MustCompile(`>[^<]+`)

func count(n int, what string) string { return number(n) + " " + english.PluralWord(n, what, "") }

func number(n int) string { return humanize.Comma(int64(n)) }

// amount are dollars, where they are known.
func amount(usd *float64) string {
	if usd == nil {
		return "unknown"
	}
	return dollars(*usd)
}

func dollars(v float64) string {
	if v != 0 && v < .01 {
		return fmt.Sprintf("$%.4f", v)
	}
	return fmt.Sprintf("$%.2f", v)
}

func percent(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

func plain(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") }
