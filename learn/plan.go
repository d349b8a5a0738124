package learn

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// Chunk is a plan that fires without deliberation.
type Chunk struct {
	ID       memory.ID
	Approach string
	Tasks    []reason.Task
}

// slot stands in a stored plan for the objective of the run that fires it.
const slot = "{{objective}}"

// plan is a chunk as it is stored.
type plan struct {
	Approach string
	Tasks    []reason.Task
}

// encodePlan returns the plan as it is stored: the objective that it was made
// for is replaced by a slot.
func encodePlan(approach string, tasks []reason.Task, objective string) (json.RawMessage, error) {
	p := plan{Approach: approach, Tasks: make([]reason.Task, len(tasks))}
	for i, t := range tasks {
		t.Objective = replaceWhole(t.Objective, objective, slot)
		t.Delta = replaceWhole(t.Delta, objective, slot)
		t.Verify = replaceWhole(t.Verify, objective, slot)
		p.Tasks[i] = t
	}
	return json.Marshal(p)
}

// decodePlan is the reverse, for another objective.
func decodePlan(raw json.RawMessage, objective string) (plan, error) {
	var p plan
	if err := json.Unmarshal(raw, &p); err != nil {
		return plan{}, fmt.Errorf("plan: %w", err)
	}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		t.Objective = strings.ReplaceAll(t.Objective, slot, objective)
		t.Delta = strings.ReplaceAll(t.Delta, slot, objective)
		t.Verify = strings.ReplaceAll(t.Verify, slot, objective)
	}
	d := reason.Decision{Tasks: p.Tasks}
	return p, d.Check()
}

// replaceWhole replaces old in s where it is not part of a longer word.
func replaceWhole(s, old, new string) string {
	switch {
	case old == "" || !strings.Contains(s, old):
		return s
	case s == old:
		return new
	}
	var b strings.Builder
	for at := 0; ; {
		i := strings.Index(s[at:], old)
		if i < 0 {
			b.WriteString(s[at:])
			return b.String()
		}
		start, end := at+i, at+i+len(old)
		b.WriteString(s[at:start])
		if insideWord(s, start) || insideWord(s, end) {
			b.WriteString(old)
		} else {
			b.WriteString(new)
		}
		at = end
	}
}

// insideWord reports whether a letter or digit stands on both sides of i.
func insideWord(s string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i:])
	return word(before) && word(after)
}

func word(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// patternText says in words what a chunk holds, for recall and for prompts.
func patternText(o *Outcome) string {
	b := append(make([]byte, 0, 160), "What worked: "...)
	b = append(append(b, line(o.Approach)...), '.')
	for i, t := range o.Plan {
		b = strconv.AppendInt(append(b, '\n'), int64(i+1), 10)
		b = append(append(b, ". "...), line(replaceWhole(t.Objective, o.Objective, "the objective"))...)
		if t.Skill != "" {
			b = append(append(append(b, " ("...), t.Skill...), ')')
		}
		b = append(append(b, ", done by "...), t.Worker...)
	}
	return string(b)
}

// failureText names the obstacle and what was tried against it, each way once.
func failureText(o *Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Not delivered: %s.", line(o.Objective))
	if o.Approach != "" {
		fmt.Fprintf(&b, " Approach: %s.", line(o.Approach))
	}
	if o.Complaint != "" {
		fmt.Fprintf(&b, "\nObstacle: %s", line(o.Complaint))
	}
	type way struct{ worker, complaint string }
	var ways []way
	times := make(map[way]int)
	for _, f := range o.Failed {
		w := way{f.Worker, line(f.Complaint)}
		if times[w]++; times[w] == 1 {
			ways = append(ways, w)
		}
	}
	for i, w := range ways {
		if i == maxFailed {
			fmt.Fprintf(&b, "\nand in %d more ways", len(ways)-i)
			break
		}
		often := ""
		if times[w] > 1 {
			often = fmt.Sprintf(", %d times", times[w])
		}
		fmt.Fprintf(&b, "\nTried %s%s: %s", w.worker, often, w.complaint)
	}
	b.WriteString("\nDo differently: take another approach, or other workers than these.")
	return b.String()
}

// Bounds of what a failure quotes.
const (
	maxFailed = 16
	maxLine   = 240
)

// line is the first maxLine bytes of s on one line.
func line(s string) string {
	if strings.ContainsAny(s, "\t\n\v\f\r") || strings.Contains(s, "  ") {
		s = strings.Join(strings.Fields(s), " ")
	}
	return cut(s, maxLine)
}

// cut is the first n bytes of s, or less where that would split a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
