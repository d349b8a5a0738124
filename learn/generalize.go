package learn

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/arc-learn/arc/memory"
)

// generalises is the relation of a pattern with variables to those that it was
// drawn from.
const generalises = "generalises"

const (
	examples     = 3   // patterns of one shape that make a general one
	maxVariables = 4   // that it has at most
	literal      = 0.5 // share of its words that are no variables, at least
)

// variable stands in the trigger and plan of a general pattern for what differs
// from case to case.
func variable(i int) string { return fmt.Sprintf("{{%d}}", i+1) }

// generalise looks for patterns of the same shape as the one that was just
// stored, and remembers one with variables in place of what they differ in. It
// is done when three agree: their triggers word by word but for a few, their
// plans when what differs in the triggers is taken out.
func (l *Learner) generalise(ctx context.Context, o *Outcome, id memory.ID) error {
	space := l.bank.In(o.Scope)
	own, err := space.Get(ctx, id)
	if err != nil {
		return err
	}
	hits, err := space.Recall(ctx, memory.Query{Text: cut(own.Trigger, maxNote), Kinds: []memory.Kind{memory.Pattern}, K: 16})
	if err != nil {
		return err
	}
	shape := []memory.Record{own}
	for i := range hits {
		if r := &hits[i].Record; r.MayFire() && r.ID != id && !general(r) {
			shape = append(shape, *r)
		}
	}
	d, links, ok := unify(shape)
	if !ok {
		return nil
	}
	d.Kind, d.At, d.Links = memory.Pattern, o.At, links
	d.Key = digest(d.Trigger+"\x00"+string(d.Plan), "general")
	d.Source = memory.Source{Origin: memory.Derived, Run: o.Run, Ref: o.GoalKey}
	_, err = space.Remember(ctx, d)
	return err
}

// general reports whether a pattern has variables.
func general(r *memory.Record) bool {
	return slices.ContainsFunc(r.Links, func(l memory.Link) bool { return l.Rel == generalises })
}

// unify draws a general pattern from the first record and those that agree with
// it; at least examples have to.
func unify(records []memory.Record) (d memory.Draft, links []memory.Link, ok bool) {
	first := strings.Fields(records[0].Trigger)
	agree := [][]string{first}
	with := []*memory.Record{&records[0]}
	for i := range records[1:] {
		r := &records[i+1]
		words := strings.Fields(r.Trigger)
		if len(words) != len(first) {
			continue
		}
		if _, ok := columns(append(slices.Clone(agree), words)); ok {
			agree, with = append(agree, words), append(with, r)
		}
	}
	cols, ok := columns(agree)
	if !ok || len(with) < examples || len(cols) == 0 {
		return d, nil, false
	}
	for i, r := range with {
		plan := substitute(string(r.Plan), agree[i], cols)
		if i == 0 {
			d.Plan, d.Content = json.RawMessage(plan), substitute(r.Content, agree[0], cols)
		} else if plan != string(d.Plan) {
			return d, nil, false
		}
		links = append(links, memory.Link{To: r.ID, Rel: generalises})
	}
	words := slices.Clone(first)
	for v, col := range cols {
		for _, at := range col {
			words[at] = variable(v)
		}
	}
	d.Trigger = strings.Join(words, " ")
	return d, links, true
}

// columns returns where the lines, which have as many words each, differ:
// positions that go together in all of them are of one variable. It reports
// false if they differ too much to be of one shape.
func columns(lines [][]string) (cols [][]int, ok bool) {
	same := func(a, b int) bool {
		return !slices.ContainsFunc(lines, func(words []string) bool { return words[a] != words[b] })
	}
	differ := 0
next:
	for at, word := range lines[0] {
		if !slices.ContainsFunc(lines, func(words []string) bool { return words[at] != word }) {
			continue
		}
		differ++
		for i := range cols {
			if same(cols[i][0], at) {
				cols[i] = append(cols[i], at)
				continue next
			}
		}
		cols = append(cols, []int{at})
	}
	n := len(lines[0])
	return cols, len(cols) <= maxVariables && float64(n-differ) >= literal*float64(n)
}

// substitute puts variables in place of their words in a text.
func substitute(text string, words []string, cols [][]int) string {
	for v, col := range cols {
		text = replaceWhole(text, strings.Trim(words[col[0]], punctuation), variable(v))
	}
	return text
}

// punctuation may stand around a word in a trigger and not in the plan.
const punctuation = `.,:;!?()[]{}"'` + "`"

// bind matches a situation with a general trigger, and returns the plan with
// the situation's words in place of the variables.
func bind(r *memory.Record, situation string) (json.RawMessage, bool) {
	pattern, words := strings.Fields(r.Trigger), strings.Fields(situation)
	if len(pattern) != len(words) {
		return nil, false
	}
	values := map[string]string{}
	for i, p := range pattern {
		if !strings.HasPrefix(p, "{{") || !strings.HasSuffix(p, "}}") {
			if p != words[i] {
				return nil, false
			}
			continue
		}
		if old, ok := values[p]; ok && old != words[i] || !harmless(strings.Trim(words[i], punctuation)) {
			return nil, false
		}
		values[p] = words[i]
	}
	var pairs []string
	for name, word := range values {
		pairs = append(pairs, name, strings.Trim(word, punctuation)) // as JSON has it: see harmless
	}
	return json.RawMessage(strings.NewReplacer(pairs...).Replace(string(r.Plan))), true
}

// harmless reports whether a word of a situation, which may be anybody's, can
// stand in a plan, which may be run by a shell: a name, a path that does not
// lead upwards, or a number.
func harmless(word string) bool {
	return word != "" && word[0] != '-' && !strings.Contains(word, "..") && !strings.ContainsFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./:@+", r)
	})
}
