package learn

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/arc-learn/arc/memory"
)

// draft returns the chunk as a pattern to remember.
func (c *chunk) draft() (memory.Draft, error) {
	raw, err := c.stored()
	return memory.Draft{Kind: memory.Pattern, Trigger: triggerOf(c.Situation), Content: c.wording(), Plan: raw}, err
}

// triggerOf is the trigger of chunks of a situation: memory takes short ones for noise.
func triggerOf(situation string) string {
	if utf8.RuneCountInString(situation) < minTrigger {
		return "what is to be done: " + situation
	}
	return situation
}

// wording says what a chunk holds, for recall and for prompts. The number
// in its last line keeps chunks of other conditions apart.
func (c *chunk) wording() string {
	b := append(make([]byte, 0, 200), "What worked: "...)
	b = append(append(b, line(c.Approach.Show())...), '.')
	for i := range c.Tasks {
		s := &c.Tasks[i]
		b = strconv.AppendInt(append(b, '\n'), int64(i+1), 10)
		b = append(append(b, ". "...), line(s.Objective.Show())...)
		if s.Skill != "" {
			b = append(append(append(b, " ("...), s.Skill...), ')')
		}
		if s.Worker != "" {
			b = append(append(b, ", done by "...), s.Worker...)
		}
	}
	b = strconv.AppendUint(append(b, "\nCase "...), uint64(c.fingerprint()), 10)
	for i, name := range slices.Sorted(maps.Keys(c.Conditions)) {
		b = append(b, [...]string{": ", ", "}[min(i, 1)]...)
		b = append(append(append(b, line(name)...), " is "...), line(c.Conditions[name])...)
	}
	return string(append(b, '.'))
}

// failureText names the obstacle and what was tried against it, each way once.
func failureText(o *Outcome) string {
	var b strings.Builder
	o.ours(&b, notDelivered)
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
