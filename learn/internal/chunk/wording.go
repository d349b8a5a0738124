package chunk

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/template"
	"github.com/arc-learn/arc/internal/text"
)

// Trigger is what a chunk is found by: its situation.
func (c *Chunk) Trigger() string { return trigger(c.Situation) }

// trigger is the trigger of chunks of a situation: memory takes short ones for noise.
func trigger(situation string) string {
	if utf8.RuneCountInString(situation) < MinTrigger {
		return "what is to be done: " + situation
	}
	return situation
}

// Wording says what a chunk holds, for recall and for prompts. The number
// in its last line keeps chunks of other conditions, and of other plans, apart.
func (c *Chunk) Wording() string {
	b := append(make([]byte, 0, 200), "What worked: "...)
	b = append(append(b, text.Line(c.Approach.Show())...), '.')
	for i := range c.Tasks {
		s := &c.Tasks[i]
		b = strconv.AppendInt(append(b, '\n'), int64(i+1), 10)
		b = append(append(b, ". "...), text.Line(s.Objective.Show())...)
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
		b = append(append(append(b, text.Line(name)...), " is "...), text.Line(c.Conditions[name])...)
	}
	return string(append(b, '.'))
}

// fingerprint is a number for what the conditions are and what the tasks ask for, by any
// worker: memory takes texts with other numbers for other lessons.
func (c *Chunk) fingerprint() uint32 {
	conditions := *c
	conditions.Approach, conditions.Tasks, conditions.Situation = nil, slices.Clone(c.Tasks), ""
	conditions.Heard, conditions.Said = 0, nil
	for i := range conditions.Tasks {
		s := &conditions.Tasks[i]
		s.Objective, s.Delta, s.Verify, s.Worker = folded(s.Objective), folded(s.Delta), folded(s.Verify), ""
	}
	if len(c.Variables) == 0 {
		conditions.Objective = nil
	}
	conditions.Words = slices.Clone(c.Words)
	for i := range conditions.Words {
		conditions.Words[i].Text = template.Fold(conditions.Words[i].Text)
	}
	conditions.Inputs = slices.Clone(c.Inputs)
	for i := range conditions.Inputs {
		if in := &conditions.Inputs[i]; in.Quoted && !in.Kept {
			in.Value = ""
		}
	}
	slices.SortFunc(conditions.Inputs, func(a, b input) int { return strings.Compare(a.Path, b.Path) })
	if !c.Vouched {
		conditions.Quotes, conditions.Named = nil, nil
	}
	raw, err := json.Marshal(conditions)
	if err != nil {
		return 0 // strings, numbers and maps of them: there is no error
	}
	sum := sha256.Sum256(raw)
	return binary.BigEndian.Uint32(sum[:])
}

// folded is a phrase with its words as they are compared.
func folded(p template.Phrase) (out template.Phrase) {
	for _, part := range p {
		if part.From == nil {
			part.Text = strings.Join(template.Folded(part.Text), " ")
		}
		out = append(out, part)
	}
	return out
}
