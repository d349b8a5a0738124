package learn

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/redact"
)

// cleanCase takes secrets out of a case, every field of it. Placeholders stay: a case that was cleaned is the same
// case.
func (l *Layer) cleanCase(c Case) (Case, error) {
	s := l.opts.Sanitizer
	if s == nil {
		return c, nil
	}
	s = s.KeepPlaceholders()
	c.Text, c.Situation = s.Prose(c.Text), s.Prose(c.Situation)
	if len(c.Inputs) > 0 && !json.Valid(c.Inputs) {
		inputs := json.RawMessage(s.Prose(string(c.Inputs))) // they are shown, and make no plan
		c.Inputs = nil
		c, err := clean(s, c)
		c.Inputs = inputs
		return c, err
	}
	return clean(s, c)
}

func (l *Layer) cleanOutcome(o Outcome) (Outcome, error) {
	s := l.opts.Sanitizer
	if s == nil {
		return o, nil
	}
	s = s.KeepPlaceholders()
	o.Complaint, o.Answer = s.Prose(o.Complaint), s.Prose(o.Answer)
	if o.Plan != nil {
		calls := slices.Clone(o.Plan.Calls)
		for i := range calls {
			if in := &calls[i].Inputs; len(*in) > 0 && !json.Valid(*in) {
				*in = []byte(`"not JSON"`) // it makes no plan, and cannot be cleaned
			}
		}
		o.Plan = &reason.Plan{Calls: calls}
	}
	return clean(s, o)
}

// clean takes what the host has declared, and tokens of issuers' forms, out of the strings of a value.
func clean[T any](s *redact.Sanitizer, v T) (T, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return v, err
	}
	cleaned := s.Data(raw)
	if bytes.Equal(cleaned, raw) {
		return v, nil
	}
	var out T
	return out, json.Unmarshal(cleaned, &out)
}
