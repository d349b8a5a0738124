package chunk

import (
	"fmt"
	"maps"
	"slices"

	"github.com/arc-learn/arc/internal/template"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/reason"
)

// Fit binds the chunk to a case. differs has the conditions that do not hold, as text.
func (c *Chunk) Fit(a *Case) (b template.Binding, differs []string) {
	differ := func(format string, args ...any) { differs = append(differs, fmt.Sprintf(format, args...)) }
	var names []string
	if !maps.Equal(c.Conditions, a.Conditions) {
		names = slices.Sorted(maps.Keys(c.Conditions))
	}
	for name := range a.Conditions {
		if _, ok := c.Conditions[name]; !ok {
			names = append(names, name)
		}
	}
	for _, name := range names {
		was, had := c.Conditions[name]
		if is, has := a.Conditions[name]; had != has || was != is {
			differ("condition %s is %s, and was %s", name, given(is, has), given(was, had))
		}
	}
	if !slices.Equal(above(a.Goals), c.Above) {
		differ("it serves another goal")
	}
	if n := c.missing(a.Facts); n > 0 {
		differ("%d of %d facts that it was made with are not told", n, len(c.Facts))
	}
	vouched := c.Vouched && a.Vouched
	b, wrong := c.bindInputs(a, vouched)
	differs = append(differs, wrong...)
	if a.words == nil {
		a.words = template.Words(a.Objective)
	}
	said, words := a.Objective, a.words
	if vouched {
		said, words = a.Situation, template.Words(a.Situation)
	}
	switch {
	case c.Vouched != a.Vouched:
		differ("the host names a situation for one of the two only")
	case !b.Matches(c.Words, words, c.Variables):
		differ("it reads %q, not %q", text.Line(said), text.Line(c.Words.Line()))
	}
	switch {
	case len(c.Variables) > 0 && c.Objective != nil:
		if !b.Matches(c.Objective, a.words, c.Variables) {
			differ("the objective reads %q, not %q", text.Line(a.Objective), text.Line(c.Objective.Line()))
		}
	case vouched && len(wrong) == 0:
		if why := c.names(&b, a.words); why != "" {
			differ("%s", why)
		}
	}
	return b, differs
}

// missing counts the facts from which the plan was made and which a case is not told.
func (c *Chunk) missing(told []string) (n int) {
	if len(c.Facts) == 0 {
		return 0
	}
	digests := make(map[string]bool, len(told))
	for _, fact := range told {
		digests[digest(fact)] = true
	}
	for _, d := range c.Facts {
		if !digests[d] {
			n++
		}
	}
	return n
}

func given(v string, ok bool) string {
	if !ok {
		return "not given"
	}
	return fmt.Sprintf("%q", v)
}

// bindInputs matches the inputs of a case against those of the chunk. Names and types have to be the same, and so
// have the values to which the plan cannot be bound. Values that the plan does not quote may have decided
// it, unless the host vouches for the situation; a boolean may have even then, since its other value is the
// opposite.
func (c *Chunk) bindInputs(a *Case, vouched bool) (b template.Binding, differs []string) {
	if len(c.Inputs)+len(a.Inputs)+len(c.Variables) == 0 {
		return b, nil
	}
	differ := func(path, format string, args ...any) {
		differs = append(differs, template.Label(path)+" "+fmt.Sprintf(format, args...))
	}
	b = template.Binding{Now: make(map[string]template.Value), Was: make(map[string]template.Value)}
	was := make(map[string]*input, len(c.Inputs))
	for i := range c.Inputs {
		in := &c.Inputs[i]
		if was[in.Path] != nil {
			differ(in.Path, "was given twice")
		}
		was[in.Path] = in
		b.Was[in.Path] = template.Value{Kind: in.Kind, Text: in.Value}
	}
	given := make(map[string]bool)
	for _, in := range template.Flatten(a.Inputs, func(path string) bool { return was[path] != nil && !was[path].Open }) {
		old := was[in.Path]
		if given[in.Path] {
			differ(in.Path, "is given twice")
			continue
		}
		given[in.Path] = true
		v := template.Value{Kind: in.Kind, Text: in.Value}
		switch {
		case old == nil && in.Open:
			continue // its members say so
		case old == nil:
			differ(in.Path, "is given")
			continue
		case old.Kind != in.Kind || old.Open != in.Open:
			differ(in.Path, "is of type %s, not %s", in.Kind, old.Kind)
		case v == b.Was[in.Path] || in.Open:
		case old.Kept:
			differ(in.Path, "is %q, and the plan keeps %q", text.Line(v.Text), text.Line(old.Value))
		case !old.Quoted && (!vouched || in.Kind == template.Bool):
			differ(in.Path, "is %q, not %q", text.Line(v.Text), text.Line(old.Value))
		}
		if !in.Open {
			b.Now[in.Path] = v
		}
	}
	for _, in := range c.Inputs {
		if !given[in.Path] && !in.Open && (in.Path != "" || in.Kind != template.Null) { // stored by earlier versions
			differ(in.Path, "%v", template.ErrAbsent)
		}
	}
	return b, differs
}

// names returns what of the old objective stands in the plan and not in the new objective: words, in their order,
// and the values that it named.
func (c *Chunk) names(b *template.Binding, objective []string) string {
	var quoted []string
	for _, w := range objective {
		if w = template.Fold(w); slices.Contains(c.Quotes, w) {
			quoted = append(quoted, w)
		}
	}
	if !slices.Equal(quoted, c.Quotes) {
		return fmt.Sprintf("the plan says %q as the objective did then, and now it says %q", c.Quotes, quoted)
	}
	var named []template.Source
	for _, r := range c.Named {
		v, err := b.Get(r)
		if err != nil {
			return err.Error()
		}
		source := template.Source{Value: v, From: r}
		found := false
		template.NewQuoter([]template.Source{source}).Words(objective).Refs(func(template.Ref) { found = true })
		if !found {
			return fmt.Sprintf("the objective does not name %q, the value of %s", v.Text, template.Label(r[0]))
		}
		named = append(named, source)
	}
	was := c.Objective
	if !c.Vouched {
		was = c.Words
	}
	if len(quoted)+len(named) > 0 && !slices.Equal(c.turns(template.NewQuoter(named).Words(objective)), c.turns(was)) {
		return "the plan repeats words of the objective, which only one of the two negates"
	}
	return ""
}

// turns returns each negation of an objective, and each word that may be one, with the number of words and values
// before it that the plan repeats.
func (c *Chunk) turns(words template.Phrase) (at []string) {
	n := 0
	for i, p := range words {
		switch w := template.Fold(p.Text); {
		case p.From != nil && slices.ContainsFunc(c.Named, func(r template.Ref) bool { return slices.Equal(r, p.From) }),
			p.From == nil && slices.Contains(c.Quotes, w):
			n++
		case p.From != nil:
		case template.Denies(w):
			parted := template.Parted(w) || i+1 < len(words) && template.Parted(words[i+1].Text)
			at = append(at, fmt.Sprint(n, parted))
		case template.Foreign(w):
			at = append(at, fmt.Sprint(n, w))
		}
	}
	return at
}

// Bind returns the plan with the values of a case. A value that cannot be bound is shown by its name, and the first
// such is the error.
func (c *Chunk) Bind(b *template.Binding) (approach string, tasks []reason.Task, failed error) {
	bound := func(p template.Phrase) string {
		s, err := b.Text(p)
		if err == nil {
			return s
		}
		if failed == nil {
			failed = err
		}
		return p.Show()
	}
	approach, _ = b.Text(c.Approach) // "" if it cannot be bound
	if approach == "" {
		approach = c.Approach.Show()
	}
	for i := range c.Tasks {
		s := &c.Tasks[i]
		t := reason.Task{
			Objective: bound(s.Objective), Delta: bound(s.Delta), Verify: bound(s.Verify), Skill: s.Skill, Worker: s.Worker,
		}
		if s.Effect != nil {
			e := *s.Effect
			t.Effect = &e
		}
		if s.Inputs != nil {
			raw, err := b.JSON(s.Inputs)
			if err == nil {
				t.Inputs = slices.Clone(raw)
			} else if failed == nil {
				failed = err
			}
		}
		tasks = append(tasks, t)
	}
	if failed == nil {
		failed = (&reason.Decision{Tasks: tasks}).Check()
	}
	return approach, tasks, failed
}
