package console

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// Screen prints on a Terminal: results to Out; what happens, as opposed to what was asked for, to Err, above
// a live line that is written over each second. It may be used concurrently; call Still at the end.
type Screen struct {
	*Terminal
	mu     sync.Mutex
	status func(width int) string // the live line; nil: none
	drawn  bool
	timer  *time.Timer // of the next drawing; nil: there is none
}

// escape stands for ESC in what Paint returns: nobody can write it into a text.
var escape = rand.Text()

// Paint returns a text for Say or Print in a colour, a code of SGR such as "31", where the terminal has them.
func (s *Screen) Paint(code, text string) string {
	if !s.Color || text == "" || code == "" {
		return text
	}
	return escape + "[" + code + "m" + text + escape + "[0m"
}

func shown(text string) string { return strings.ReplaceAll(Visible(text), escape, "\x1b") }

// Say prints a line to Err: what is [Visible] of it, in the colours of Paint.
func (s *Screen) Say(text string) { s.write(s.Err, shown(text)) }

// Print prints a result to Out, as Say does; JSON, which is for programs, is printed to the byte.
func (s *Screen) Print(text string) { s.write(s.Out, strings.TrimRight(shown(text), "\n")) }

func (s *Screen) write(to io.Writer, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	fmt.Fprintln(to, text)
	s.draw()
}

// Show has the live line say what status returns, until the next call or Still. A terminal only has one.
func (s *Screen) Show(status func(width int) string) {
	if !s.Live {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
	s.draw()
	if s.timer == nil {
		s.timer = time.AfterFunc(time.Second, s.tick)
	}
}

func (s *Screen) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draw(); s.timer != nil {
		s.timer.Reset(time.Second)
	}
}

// Still takes the live line away.
func (s *Screen) Still() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	s.status = nil
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// One line is written over: where the terminal is narrower by now, or has wider letters, it cuts it itself.
const wipe, noWrap, doWrap = "\r\x1b[K", "\x1b[?7l", "\x1b[?7h"

func (s *Screen) wipe() {
	if s.drawn {
		fmt.Fprint(s.Err, wipe)
		s.drawn = false
	}
}

func (s *Screen) draw() {
	if s.status != nil {
		fmt.Fprint(s.Err, wipe+noWrap+shown(s.Paint("2", Cut(s.status(s.Width-1), s.Width-1)))+doWrap)
		s.drawn = true
	}
}

// Question asks who types, without the live line; io.EOF: nobody can be asked.
func (s *Screen) Question(ctx context.Context, prompt string) (string, error) {
	if s.Ask == nil {
		return "", io.EOF
	}
	s.Still()
	return s.Ask(ctx, prompt)
}

// Table prints rows of cells, each a beginning of its first line. The last column gets what is left of the
// width, and is whole where Out is a pipe. color returns the SGR code of a cell, or "".
func (s *Screen) Table(rows [][]string, color func(row int, cell string) string) {
	last := len(rows[0]) - 1
	widths, used := make([]int, last+1), 0
	for i := range last {
		for _, row := range rows {
			widths[i] = max(widths[i], min(24, runewidth.StringWidth(row[i])))
		}
		used += widths[i] + 2
	}
	if widths[last] = max(20, s.Width-used); s.Piped {
		widths[last] = math.MaxInt
	}
	for n, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			text := Cut(cell, widths[i])
			b.WriteString(s.Paint(color(n, cell), text))
			if i < last {
				b.WriteString(strings.Repeat(" ", widths[i]-runewidth.StringWidth(text)+2))
			}
		}
		s.Print(strings.TrimRight(b.String(), " "))
	}
}

// JSON prints a value with the names of its fields in snake_case, "cost_usd" for CostUSD. Times and pointers
// that are unset, and functions, are left out; a json.RawMessage stays as it is.
func (s *Screen) JSON(v any) error {
	raw, err := json.MarshalIndent(snake(reflect.ValueOf(v)), "", "  ")
	if err == nil {
		s.write(s.Out, string(raw))
	}
	return err
}

func snake(v reflect.Value) any {
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	switch x := v.Interface().(type) {
	case json.RawMessage:
		if len(x) == 0 {
			return nil
		}
		return x
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
			out[strings.ToLower(hump.ReplaceAllString(f.Name, "${1}${3}_${2}${4}"))] = value
		}
		return out
	}
	return v.Interface()
}

var hump = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// Visible is a text without control, format and private characters, but for joiners of letters and of emoji:
// others could write over the terminal by them, or turn what stands there.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) && !strings.ContainsRune("\n\t\u200c\u200d", r) {
			return -1
		}
		return r
	}, text)
}

// Cut is the beginning of the first line of a text, in so many cells, without control characters.
func Cut(text string, width int) string {
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if line = Visible(strings.ReplaceAll(line, "\t", " ")); more {
		line += " …"
	}
	return runewidth.Truncate(line, max(2, width), "…")
}
