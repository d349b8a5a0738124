package chunk

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/arc-learn/arc/internal/template"
	"github.com/arc-learn/arc/internal/text"
)

// Trigger returns the text by which a chunk is found: its situation.
func (c *Chunk) Trigger() string { return Trigger(c.Situation) }

// Wording returns the text of a chunk, for recall and for prompts. The number in its last line distinguishes chunks of
// other conditions and of other plans.
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

// fingerprint returns a digest of the conditions and of the tasks without their workers: memory does not merge texts
// with different numbers.
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
		return 0 // never fails for strings, numbers and maps of them
	}
	sum := sha256.Sum256(raw)
	return binary.BigEndian.Uint32(sum[:])
}

// folded returns a phrase with its words as they are compared.
func folded(p template.Phrase) (out template.Phrase) {
	for _, part := range p {
		if part.From == nil {
			part.Text = strings.Join(template.Folded(part.Text), " ")
		}
		out = append(out, part)
	}
	return out
}
