package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"text/template"

	"github.com/dustin/go-humanize/english"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/contrib/console"
	"github.com/arc-learn/arc/contrib/dash"
	"github.com/arc-learn/arc/memory"
)

type screen = console.Screen

var cut = console.Cut

// Colours, as SGR codes.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
	faint  = "2"
	bold   = "1"
)

// paints are the colours of states.
var paints = map[string]string{
	"delivered": green, "completed": green, "healthy": green, "ready": green, "approved": green, "ok": green,
	"running": cyan, "active": cyan, "blocked": red, "failed": red, "failing": red, "canceled": faint,
	"parked": faint, "waiting": yellow, "waits": yellow, "asking": yellow, "struggling": yellow,
}

// logger tells what has no other place on the error output.
func logger(s *screen) *slog.Logger {
	out := writer(func(text string) { s.Say(s.Paint(faint, strings.TrimSpace(text))) })
	timeless := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: timeless}))
}

type writer func(string)

func (w writer) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

// words are the templates of what commands print.
//
//go:embed words.txt
var words string

// result prints a value: as JSON, or by its template.
func (c *command) result(name string, v any, err error) error {
	if err != nil {
		return err
	}
	if c.json {
		return c.JSON(v)
	}
	text, err := c.text(name, v)
	if err == nil {
		c.Print(text)
	}
	return err
}

func (c *command) text(name string, v any) (string, error) {
	t, err := template.New("").Funcs(template.FuncMap{
		"paint": c.Paint, "short": short, "took": took, "usage": usageText, "plural": english.Plural,
		"state":  func(s any) string { return c.Paint(paints[fmt.Sprint(s)], fmt.Sprint(s)) },
		"cut":    func(used int, text string) string { return cut(text, c.Width-used) },
		"inc":    func(i int) int { return i + 1 },
		"uplift": dash.Uplift,
		"line":   func(text string) string { line, _, _ := strings.Cut(text, "\n"); return line },
		"coloured": func(state, text string) string { // its first word
			word, rest, _ := strings.Cut(text, ":")
			return c.Paint(paints[state], word) + ":" + rest
		},
		"words": func(r *arc.Report) string { return strings.TrimPrefix(string(r.Cause)+": "+r.Text, ": ") },
		"saved": func(text string) string {
			_, saved, _ := strings.Cut(text, "\nlearned plans: about ")
			return saved
		},
		"counts": counts[string], "kinds": counts[memory.Kind],
	}).Parse(words)
	var b strings.Builder
	if err == nil {
		err = t.ExecuteTemplate(&b, name, v)
	}
	return strings.TrimSpace(b.String()), err
}

// counts says how many there are of some names: «2 pending, 1 failed».
func counts[K ~string](all map[K]int, names ...K) string {
	var out []string
	for _, name := range names {
		if n := all[name]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, name))
		}
	}
	return strings.Join(out, ", ")
}

// list prints values as JSON, or as a table. Of more values than the limit the first are printed; 0: all.
func list[T any](c *command, all []T, limit int, err error, head, none string, cells func(T) []string) error {
	shown := all
	if limit > 0 {
		shown = all[:min(limit, len(all))]
	}
	switch {
	case err != nil:
		return err
	case c.json:
		return c.JSON(shown)
	case len(shown) == 0:
		c.Print(none)
		return nil
	}
	rows := [][]string{strings.Fields(head)}
	for _, v := range shown {
		rows = append(rows, cells(v))
	}
	c.Table(rows, func(row int, cell string) string {
		if row == 0 {
			return faint
		}
		return paints[cell]
	})
	if more := len(all) - len(shown); more > 0 {
		c.Say(fmt.Sprintf("%d others: --limit %d", more, len(all)))
	}
	return nil
}

// collect has all of a sequence, or its error.
func collect[T any](seq iter.Seq2[T, error]) (out []T, err error) {
	for v, err := range seq {
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// short is what an ID is called on the screen; a longer beginning of handle is as good.
func short(id string) string { return handle(id)[:6] }

func handle(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}

// find returns the one of some that a person means, by its ID or by two letters or more of what it is called.
func find[T any](what, typed string, all []T, id func(T) string) (found T, err error) {
	var hits []string
	for _, v := range all {
		if id(v) == typed {
			return v, nil
		}
		if h := handle(id(v)); len(typed) >= 2 && strings.HasPrefix(h, strings.ToLower(typed)) {
			found, hits = v, append(hits, h)
		}
	}
	switch len(hits) {
	case 0:
		return found, usage("no %s %q", what, typed)
	case 1:
		return found, nil
	}
	return found, usage("%s %q may be %s", what, typed, strings.Join(hits, " or "))
}

// dollars is an amount; nil is unknown.
func dollars(usd *float64) string {
	switch {
	case usd == nil:
		return "unknown"
	case *usd >= 1:
		return fmt.Sprintf("$%.2f", *usd)
	}
	return fmt.Sprintf("$%.4f", *usd)
}
