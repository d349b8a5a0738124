package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"math"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"text/template"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"
	"github.com/mattn/go-runewidth"

	arc "github.com/arc-learn/arc/next"
	"github.com/arc-learn/arc/next/contrib/console"
	"github.com/arc-learn/arc/next/memory"
)

// screen is a terminal with a live line: one that is written over.
type screen struct {
	*console.Terminal
	mu     sync.Mutex
	status func(width int) string // the live line; nil: none
	drawn  bool
	stop   chan struct{}
}

// Colours, as SGR codes.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
	faint  = "2"
	bold   = "1"
)

func (s *screen) paint(code, text string) string {
	if !s.Color || text == "" || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// paints are the colours of states.
var paints = map[string]string{
	"delivered": green, "completed": green, "healthy": green, "ready": green, "approved": green, "ok": green,
	"running": cyan, "active": cyan, "blocked": red, "failed": red, "failing": red, "waiting": yellow, "asking": yellow,
	"struggling": yellow, "canceled": faint, "parked": faint,
}

// say prints a line above the live one, on the error output: what happens, as opposed to what was asked for.
func (s *screen) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	fmt.Fprintln(s.Err, text)
	s.draw()
}

// print prints a result.
func (s *screen) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	fmt.Fprintln(s.Out, strings.TrimRight(text, "\n"))
}

// show has the live line say something until the next call, or still.
func (s *screen) show(status func(width int) string) {
	if !s.Live {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
	s.draw()
	if s.stop == nil {
		s.stop = make(chan struct{})
		go s.tick(s.stop)
	}
}

func (s *screen) tick(stop chan struct{}) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			s.mu.Lock()
			s.draw()
			s.mu.Unlock()
		case <-stop:
			return
		}
	}
}

// still takes the live line away.
func (s *screen) still() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	s.status = nil
	if s.stop != nil {
		close(s.stop)
		s.stop = nil
	}
}

func (s *screen) wipe() {
	if s.drawn {
		fmt.Fprint(s.Err, "\r\x1b[K")
		s.drawn = false
	}
}

func (s *screen) draw() {
	if s.status == nil {
		return
	}
	fmt.Fprint(s.Err, "\r\x1b[K"+s.paint(faint, cut(s.status(s.Width-1), s.Width-1)))
	s.drawn = true
}

// logger tells what has no other place on the error output.
func (s *screen) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(writer(func(text string) { s.say(s.paint(faint, strings.TrimSpace(text))) }), &slog.HandlerOptions{
		Level: slog.LevelWarn, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

type writer func(string)

func (w writer) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

// question asks a person; no person is io.EOF.
func (s *screen) question(ctx context.Context, prompt string) (string, error) {
	if s.Ask == nil {
		return "", io.EOF
	}
	s.still()
	return s.Ask(ctx, prompt)
}

// visible is a text without the control characters by which others could write over the terminal.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}

// cut is the beginning of the first line of a text, in so many cells.
func cut(text string, width int) string {
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, line)
	if more {
		line += " …"
	}
	return runewidth.Truncate(line, max(2, width), "…")
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
		return c.writeJSON(v)
	}
	text, err := c.text(name, v)
	if err == nil {
		c.print(text)
	}
	return err
}

func (c *command) text(name string, v any) (string, error) {
	t, err := template.New("").Funcs(template.FuncMap{
		"paint": c.paint, "short": short, "took": took, "usage": usageText,
		"state":   func(s any) string { return c.paint(paints[fmt.Sprint(s)], fmt.Sprint(s)) },
		"cut":     func(used int, text string) string { return cut(text, c.Width-used) },
		"inc":     func(i int) int { return i + 1 },
		"percent": func(x float64) float64 { return 100 * x },
		"line":    func(text string) string { line, _, _ := strings.Cut(text, "\n"); return line },
		"coloured": func(state, text string) string { // its first word
			word, rest, _ := strings.Cut(text, ":")
			return c.paint(paints[state], word) + ":" + rest
		},
		"words": func(r *arc.Report) string { return strings.TrimPrefix(string(r.Cause)+": "+r.Text, ": ") },
		"saved": func(text string) string {
			_, saved, _ := strings.Cut(text, "\nlearned plans: ")
			if strings.HasPrefix(saved, "no data") {
				return ""
			}
			return strings.ReplaceAll(saved, "; ", "\n  ")
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

// list prints values as JSON, or as rows of cells below a head. The last column gets what is left of the width; in a
// pipe it is whole. Of more values than the limit the first are printed; 0: all.
func list[T any](c *command, all []T, limit int, err error, head, none string, cells func(T) []string) error {
	shown := all
	if limit > 0 {
		shown = all[:min(limit, len(all))]
	}
	switch {
	case err != nil:
		return err
	case c.json:
		return c.writeJSON(shown)
	case len(shown) == 0:
		c.print(none)
		return nil
	}
	rows := [][]string{strings.Fields(head)}
	for _, v := range shown {
		rows = append(rows, cells(v))
	}
	last := len(rows[0]) - 1
	widths, used := make([]int, last+1), 0
	for i := range last {
		for _, row := range rows {
			widths[i] = max(widths[i], min(24, runewidth.StringWidth(row[i])))
		}
		used += widths[i] + 2
	}
	if widths[last] = max(20, c.Width-used); c.Piped {
		widths[last] = math.MaxInt // grep sees all
	}
	for n, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			text := cut(cell, widths[i])
			b.WriteString(c.paint(cmp.Or(paints[cell], map[bool]string{true: faint}[n == 0]), text))
			if i < last {
				b.WriteString(strings.Repeat(" ", widths[i]-runewidth.StringWidth(text)+2))
			}
		}
		c.print(strings.TrimRight(b.String(), " "))
	}
	if more := len(all) - len(shown); more > 0 {
		c.say(fmt.Sprintf("%d others: --limit %d", more, len(all)))
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

// match reports whether a person means an ID by what was typed.
func match(id, typed string) bool {
	return id == typed || len(typed) >= 2 && strings.HasPrefix(handle(id), strings.ToLower(typed))
}

// find returns the one of some that a person means.
func find[T any](what, typed string, all []T, id func(T) string) (found T, err error) {
	var hits []string
	for _, v := range all {
		if id(v) == typed {
			return v, nil
		}
		if match(id(v), typed) {
			found = v
			hits = append(hits, handle(id(v)))
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

// ago says how long ago a time is.
func ago(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return humanize.Time(at)
}

// span is a duration to the second.
func span(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return d.Round(time.Second).String()
}

// writeJSON prints a value with names in snake_case. Times and pointers that are unset are left out; JSON of
// others stays as it is.
func (s *screen) writeJSON(v any) error {
	raw, err := json.MarshalIndent(snake(reflect.ValueOf(v)), "", "  ")
	if err == nil {
		s.print(string(raw))
	}
	return err
}

func snake(v reflect.Value) any {
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	switch x := v.Interface().(type) {
	case json.RawMessage:
		return map[bool]any{false: x}[len(x) == 0]
	case time.Time:
		return x.UTC()
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return snake(v.Elem())
	case reflect.Slice, reflect.Array:
		out := []any{}
		for i := range v.Len() {
			out = append(out, snake(v.Index(i)))
		}
		return out
	case reflect.Map:
		out := map[string]any{}
		for k, x := range v.Seq2() {
			out[k.String()] = snake(x)
		}
		return out
	case reflect.Struct:
		out := map[string]any{}
		for f, x := range v.Fields() {
			unset := x.Kind() == reflect.Pointer && x.IsNil() || f.Type == reflect.TypeFor[time.Time]() && x.IsZero()
			if !f.IsExported() || unset || x.Kind() == reflect.Func {
				continue
			}
			value := snake(x)
			if inner, ok := value.(map[string]any); ok && f.Anonymous {
				maps.Copy(out, inner)
				continue
			}
			out[snakeName(f.Name)] = value
		}
		return out
	}
	return v.Interface()
}

var word = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// snakeName is "cost_usd" of CostUSD.
func snakeName(name string) string {
	return strings.ToLower(word.ReplaceAllString(name, "${1}${3}_${2}${4}"))
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
