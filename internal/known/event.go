package known

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// Event is an attempt that failed, or one that passed where others had failed.
// Its texts are on one line each.
type Event struct {
	Skill, Task, Worker string
	Refused, Why        string // the output that was refused, and the complaint
	Instead, By         string // of a pass: the output that passed, and its worker

	At time.Time

	run, action, attempt string // the second is an Action.Key
}

// maxQuoted is how much of a text an event keeps, in bytes.
const maxQuoted = 1 << 10

// Quote returns a text on one line, shortened to what an event keeps.
func Quote(s string) string { return text.Shorten(fold(s), maxQuoted) }

// Made returns what a worker made: its output as compact JSON, or its summary if it has no
// output.
func Made(output json.RawMessage, summary string) string {
	if absent(output) {
		return Quote(summary)
	}
	return text.Shorten(compact(output), maxQuoted)
}

// Task returns a task as text: its objective, the goal, and the inputs of both, once if they
// are the same.
func Task(t *reason.Task, goal string, inputs json.RawMessage) string {
	text := t.Objective
	if !strings.Contains(text, goal) {
		text += ", for: " + goal
	}
	for _, raw := range [...]json.RawMessage{inputs, t.Inputs} {
		if in := " " + compact(raw); !absent(raw) && !strings.HasSuffix(text, in) {
			text += in
		}
	}
	return Quote(text)
}

// line is one line of an event's text.
type line struct {
	label string
	text  *string
}

// lines returns the lines of an event's text, in order.
func (e *Event) lines() [7]line {
	return [...]line{
		{"Task: ", &e.Task},
		{"Skill: ", &e.Skill},
		{"Worker: ", &e.Worker},
		{"Refused: ", &e.Refused},
		{"Because: ", &e.Why},
		{"Passed: ", &e.Instead},
		{"By: ", &e.By},
	}
}

// Text returns the event as text, a line for each field that is not empty.
func (e *Event) Text() string {
	var b strings.Builder
	for _, l := range e.lines() {
		if *l.text != "" {
			b.WriteString(l.label + *l.text + "\n")
		}
	}
	return b.String()
}

// parse reads what Text has written. The attempt's run and key come from the source.
func parse(text string, at time.Time, from memory.Source) *Event {
	e := &Event{At: at, run: from.Run}
	e.action, e.attempt, _ = strings.Cut(from.Ref, " ") // without: of no attempt
	lines := e.lines()
	next := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		for i := next; i < len(lines); i++ {
			if s, ok := strings.CutPrefix(line, lines[i].label); ok {
				*lines[i].text, next = s, i+1
				break
			}
		}
	}
	return e
}

// passed reports whether the event is a pass.
func (e *Event) passed() bool { return e.Instead != "" }

// class returns a complaint without what differs from case to case: letter case, blanks, and
// words with a digit, which become #.
func class(why string) string {
	words := strings.Fields(strings.ToLower(why))
	for i, w := range words {
		if strings.ContainsFunc(w, unicode.IsDigit) {
			words[i] = "#"
		}
	}
	return strings.Join(words, " ")
}

// absent reports whether JSON says nothing. What was nil when a run began is null
// when it goes on.
func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// compact returns JSON without blanks between its tokens, or the text on one line if it is none.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return fold(string(raw))
	}
	return b.String()
}

// fold replaces each run of blanks in a text by one space.
func fold(s string) string { return strings.Join(strings.Fields(s), " ") }
