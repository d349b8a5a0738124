// Package learn is the layer around any loop: what a check has passed is used again, what a check refused is
// warned of, and the difference is measured.
//
// A [Layer] has two calls. [Layer.Before] gives [Advice] on a [Case]: memories, what was refused before and
// what passed instead, and plans. [Layer.After] learns from the [Outcome]. A plan that two deliveries of
// cases with equal words have in common fires: it can be carried out without asking a model. Whatever is like
// it, and not the same, is shown, with what differs.
//
// Before is in layer.go, recall.go, warn.go and like.go (cases in other words), After and Judge in
// outcome.go. Which plan fires is in plan.go (by all its deliveries), match.go (by two) and shape.go (a case
// made ready), what a person sees and says of plans in known.go. [Layer] has examples.
//
// A Layer is of one tenant, and safe for concurrent use, also by several processes on a store that is a
// [store.Changer]. The root package is built on the same calls.
package learn

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Case is what is to be done. Before looks at ID, Scope to Text, Inputs, and Conditions to Fresh.
type Case = reason.Case

// Advice is what Before knows about a case. The zero Advice is usable. It survives JSON. After takes it once.
type Advice struct {
	Case                 // with what is Known of it
	Ranked []rank.Scored // Case.Candidates in order
	Why    string        // why nothing fires, or what does, in a sentence
}

// Options of a Layer. Nil and the zero value are the defaults.
type Options struct {
	Scope   store.Scope // the scope of a Case that has none; its tenant is that of the Layer
	Holdout float64     // the share of cases that gets nothing, by chance, in [0, 1)

	// Memory is of Open and New; With takes its Languages and Now, the clock of the whole Layer. Its Sanitizer
	// (nil: redact.New(nil)) cleans cases, outcomes and verdicts, too, before they are kept or shown.
	Memory *memory.Options

	// FireIrreversible has the root package carry out irreversible tasks of a plan that fires without asking a
	// person first. A Layer of its own does not look at it: there the host carries plans out.
	FireIrreversible bool

	Seed uint64 // of the holdout and of IDs; 0: IDs are made by chance
}

// check returns the case with its defaults and nothing that is known of it, or why it cannot be used.
func (l *Layer) check(c Case) (Case, error) {
	c.Known, c.Data, c.Lineage, c.Answers, c.Complaint = reason.Known{}, nil, nil, nil, ""
	if c.ID == "" {
		c.ID = digest(fmt.Sprint(l.seed, l.now().UnixNano(), l.made.Add(1)))
	}
	c.Scope = cmp.Or(c.Scope, l.opts.Scope, "_") // one spelling of no scope
	c.Lessons = cmp.Or(c.Lessons, c.Scope)
	c.Conditions, c.Inputs = slices.Clone(c.Conditions), append(json.RawMessage(nil), c.Inputs...) // none are nil
	c.Text, c.Situation = strings.ToValidUTF8(c.Text, "\uFFFD"), strings.ToValidUTF8(c.Situation, "\uFFFD")
	err := c.Check()
	if err != nil {
		return c, fmt.Errorf("learn: %w", err)
	}
	if c.Scope.Tenant() != l.opts.Scope.Tenant() {
		return c, fmt.Errorf("learn: the scope %q is of another tenant", c.Scope)
	}
	if !json.Valid(c.Inputs) && len(c.Inputs) > 0 {
		c.Inputs = encode(string(c.Inputs)) // no object: it makes no plan
	}
	if l.clean != nil {
		c.Text, c.Situation = l.clean.Prose(c.Text), l.clean.Prose(c.Situation)
		c, err = cleaned(l.clean, c)
	}
	if len(c.Turns) > 0 { // "yes" is another case in another conversation
		c.Conditions = append(c.Conditions, "after turns "+digest(string(encode(c.Turns))))
	}
	slices.Sort(c.Conditions) // in any order, and said twice, they are the same
	c.Conditions = slices.Compact(c.Conditions)
	return c, err
}

// cleaned is a value without what the host has declared, and tokens of issuers' forms, in its strings.
func cleaned[T any](s *redact.Sanitizer, v T) (T, error) {
	raw, err := json.Marshal(v)
	data := s.Data(raw)
	if err != nil || bytes.Equal(data, raw) {
		return v, err
	}
	var out T
	return out, json.Unmarshal(data, &out)
}
