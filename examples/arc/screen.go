package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/store"
)

// screen is where arc prints, and where a person answers.
type screen struct {
	in       io.Reader
	out, err io.Writer
	width    int  // of a terminal; 0: a pipe or a file, which gets whole lines
	colors   bool // only on a terminal, and never with NO_COLOR
	person   bool // a person sits at both ends and can be asked
	json     bool
	lines    *bufio.Scanner // of in, as a person types
	lost     error          // why something could not be printed
}

// terminal is the screen of the process.
func terminal() *screen {
	s := &screen{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	if fd := int(os.Stdout.Fd()); term.IsTerminal(fd) {
		s.width = 80
		if w, _, err := term.GetSize(fd); err == nil && w > 0 {
			s.width = w
		}
		s.colors = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		s.person = term.IsTerminal(int(os.Stdin.Fd()))
	}
	return s
}

// The colours, by what they say.
const (
	plain  = ""
	good   = "32"
	bad    = "31"
	asking = "33"
	faint  = "2"
	strong = "1"
)

// paint colours a text, if the screen has colours.
func (s *screen) paint(color, text string) string {
	if !s.colors || color == plain || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// headed prints a line that begins with a word in a column of its own.
func (s *screen) headed(color, word, text string) {
	s.say("%s %s", s.paint(color, fmt.Sprintf("%-10s", word)), s.fitted(oneLine(text), 11))
}

// explain is headed for what has to be read whole: on a terminal it goes on in further
// lines, also within a word that is longer than one.
func (s *screen) explain(color, word, text string) {
	line, room := "", max(2, s.width-11)
	for _, w := range strings.Fields(oneLine(text)) {
		for s.width > 0 && fits(w, room-cells(line)) < len(w) {
			if n := fits(w, room); line == "" {
				line, w = w[:n], w[n:]
			}
			s.headed(color, word, line)
			line, word = "", ""
		}
		line += w + " "
	}
	s.headed(color, word, line)
}

// say prints a line. With --json it is no part of the output.
func (s *screen) say(format string, args ...any) {
	out := s.out
	if s.json {
		out = s.err
	}
	if _, err := fmt.Fprintf(out, format+"\n", args...); err != nil {
		s.lost = err
	}
}

// fitted shortens a text to what is left of a line that begins with so many cells.
func (s *screen) fitted(text string, used int) string {
	if room := max(1, s.width-used); s.width > 0 && fits(text, room) < len(text) {
		return text[:fits(text, room-1)] + "…"
	}
	return text
}

// table prints rows below a header. On a terminal the last column is cut, in a pipe
// none is.
func (s *screen) table(header []string, rows [][]string) {
	if len(rows) == 0 {
		s.say("%s", s.paint(faint, "none"))
		return
	}
	widths := make([]int, len(header))
	for _, row := range append([][]string{header}, rows...) {
		for i := range row {
			row[i] = oneLine(row[i])
			widths[i] = max(widths[i], cells(row[i]))
		}
	}
	line := func(row []string, color string) {
		text, used := "", 0
		for i, cell := range row {
			if i == len(row)-1 {
				text += s.fitted(cell, used)
				break
			}
			text += cell + strings.Repeat(" ", widths[i]-cells(cell)+2)
			used += widths[i] + 2
		}
		s.say("%s", s.paint(color, s.fitted(strings.TrimRight(text, " "), 0)))
	}
	line(header, faint)
	for _, row := range rows {
		line(row, plain)
	}
}

// present prints a value: as JSON with --json, otherwise by print.
func (s *screen) present(v any, print func()) error {
	if !s.json {
		print()
		return nil
	}
	e := json.NewEncoder(s.out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// did says what a command has done, and to what, unless it failed.
func (s *screen) did(err error, word, what string) error {
	if err != nil {
		return err
	}
	return s.present(what, func() { s.headed(good, word, what) })
}

// listed prints a list: with --json as JSON, otherwise as a table.
func listed[T any](s *screen, all []T, header []string, row func(T) []string) error {
	return s.present(append([]T{}, all...), func() {
		rows := [][]string{}
		for _, one := range all {
			rows = append(rows, row(one))
		}
		s.table(header, rows)
	})
}

// limited prints the first of a list, at most limit, and says on stderr when that is not all. 0: all.
func limited[T any](s *screen, all []T, limit uint, header []string, row func(T) []string) error {
	if limit == 0 || uint(len(all)) <= limit {
		return listed(s, all, header, row)
	}
	err := listed(s, all[:limit], header, row)
	fmt.Fprintln(s.err, "there are more: --limit 0 lists all")
	return err
}

// question prints a question and returns the next line that is typed. ok is false at the end
// of the input; the error is that of ctx.
func (s *screen) question(ctx context.Context, question string) (line string, ok bool, err error) {
	if s.lines == nil {
		s.lines = bufio.NewScanner(s.in)
	}
	fmt.Fprint(s.out, s.paint(asking, question+" "))
	ok, err = unlessOver(ctx, func() (bool, error) { return s.lines.Scan(), nil })
	if !ok {
		fmt.Fprintln(s.out)
		return "", false, err
	}
	return strings.TrimSpace(s.lines.Text()), true, nil
}

// unlessOver returns what read returns, or the error of ctx. A read cannot be broken off: it is
// left to the end of the process.
func unlessOver[T any](ctx context.Context, read func() (T, error)) (v T, err error) {
	done := make(chan func() (T, error), 1)
	go func() {
		v, err := read()
		done <- func() (T, error) { return v, err }
	}()
	select {
	case <-ctx.Done():
		return v, ctx.Err()
	case got := <-done:
		return got()
	}
}

// input is a reader that ends with its ctx.
type input struct {
	ctx context.Context
	in  io.Reader
}

// Read implements io.Reader.
func (i *input) Read(p []byte) (int, error) {
	read, err := unlessOver(i.ctx, func() ([]byte, error) { // a buffer of its own, if it is left
		b := make([]byte, len(p))
		n, err := i.in.Read(b)
		return b[:n], err
	})
	return copy(p, read), err
}

// sure asks before what cannot be undone, unless the person has said yes before.
func (s *screen) sure(ctx context.Context, yes bool, question string) error {
	if yes {
		return nil
	}
	if s.person {
		if line, _, err := s.question(ctx, question+" [y/N]"); err != nil || isYes(line) {
			return err
		}
		return refused("nothing was changed")
	}
	return misuse("%s Say --yes", question)
}

// oneLine is a text on one line, without what could move a cursor.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

func isYes(line string) bool {
	line = strings.ToLower(line)
	return line == "y" || line == "yes"
}

// output is what a worker made, in words.
func output(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// wide matches the characters that take two cells of a terminal.
var wide = regexp.MustCompile(`[\p{Han}\p{Hangul}\p{Hiragana}\p{Katakana}、-〾！-｠🌀-🫿]`)

// cells is how many cells of a terminal a text takes at most.
func cells(text string) int {
	return utf8.RuneCountInString(text) + len(wide.FindAllStringIndex(text, -1))
}

// fits is how many bytes of a text so many cells have room for.
func fits(text string, room int) int {
	for i, r := range text {
		if room -= cells(string(r)); room < 0 {
			return i
		}
	}
	return len(text)
}

// clip shortens a text to n characters.
func clip(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// when is a time as people say it. Zero: never.
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// said is what came of something, behind what it is.
func said(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// plural is a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// The exit codes; README.md has them as a table.
const (
	exitDone        = 0
	exitError       = 1
	exitUsage       = 2
	exitBlocked     = 3
	exitWaiting     = 4
	exitBusy        = 5
	exitInterrupted = 130
)

// misuses are the errors of arguments that are never right, whatever the store has.
var misuses = []error{
	arc.ErrObjective, queue.ErrDraft, memory.ErrQuery, memory.ErrScope, memory.ErrEmpty, memory.ErrID, identity.ErrValue,
}

// exit is an error with a code of its own. One without words was told already.
type exit struct {
	code int
	text string
}

func (e *exit) Error() string { return e.text }

// misuse is the error of a command that was called the wrong way.
func misuse(format string, args ...any) error {
	return &exit{exitUsage, fmt.Sprintf(format, args...)}
}

// refused is the error of a command that was called the right way, and could not do what it was to.
func refused(format string, args ...any) error {
	return &exit{exitError, fmt.Sprintf(format, args...)}
}

// exits says what there is to say about an error, and returns its exit code.
func (s *screen) exits(err error) int {
	n, text := code(err)
	if text != "" {
		fmt.Fprintln(s.err, "arc:", text)
	}
	return n
}

// code is the exit code of an error, and what there is to say about it.
func code(err error) (int, string) {
	if e, ok := errors.AsType[*exit](err); ok {
		return e.code, e.text
	}
	switch {
	case err == nil:
		return exitDone, ""
	case errors.Is(err, store.ErrLocked):
		return exitBusy, "another arc is at work in this folder: wait until it has ended, or stop it (arc serve holds " +
			"the folder, too)"
	case errors.Is(err, context.Canceled):
		return exitInterrupted, "interrupted"
	case errors.Is(err, store.ErrNotFound):
		text, _, _ := strings.Cut(err.Error(), ": \"") // the store's own name of it
		return exitError, "there is none of that id: " + text
	case slices.ContainsFunc(misuses, func(bad error) bool { return errors.Is(err, bad) }):
		return exitUsage, err.Error()
	case errors.Is(err, arc.ErrRunning):
		return exitBusy, err.Error()
	}
	return exitError, err.Error()
}
