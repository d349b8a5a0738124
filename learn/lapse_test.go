package learn_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// parcel is an objective whose plan is made of a fact. It has no inputs.
const parcel = "send the parcel to the customer who lives somewhere"

// lives is the fact, from a time on.
func lives(city string, from time.Time) memory.Draft {
	return memory.Draft{
		Kind: memory.Fact, At: from, Content: "the customer lives in " + city + " and takes the parcel there",
		Slot: memory.Slot{Subject: "customer", Attribute: "city", Value: city},
	}
}

// send has the parcel sent to a city by deliberation, or by the chunk that fires.
func (p parts) send(t *testing.T, run, city string, parents ...memory.ID) (fired bool) {
	t.Helper()
	a := learn.Ask{Scope: scope, Situation: parcel, Objective: parcel}
	found, err := p.learner.Recall(t.Context(), a)
	require.NoError(t, err)
	o := delivered(run, parcel)
	o.Situation, o.Case, o.Injected, o.Parents = parcel, learn.Case{}, found.Hits, parents
	o.Plan = []reason.Task{{Objective: "send it to " + city, Skill: "edit", Worker: "fixer"}}
	chunk, fired := learn.Fire(p.learner.Match(found.Hits, a), nil)
	if fired {
		require.Equal(t, "send it to "+city, chunk.Tasks[0].Objective)
		o.Plan, o.Fired = nil, chunk.ID
	}
	_, err = p.learner.Learn(t.Context(), o)
	require.NoError(t, err)
	return fired
}

// crowd remembers so much that matches the case better that a recall finds nothing else.
func crowd(t *testing.T, s memory.Space) {
	t.Helper()
	for i := range 30 {
		d := memory.Draft{Kind: memory.Fact, Content: fmt.Sprintf("to %s takes part %d", parcel, 7*i)}
		_, err := s.Remember(t.Context(), d)
		require.NoError(t, err)
	}
}

// A plan that was made of a memory does not fire once the memory does not hold.
func TestPlanOfWhatDoesNotHold(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(memory.Space, memory.ID) error{
		"forgotten": func(s memory.Space, id memory.ID) error { return s.Forget(t.Context(), id) },
		"put aside": func(s memory.Space, id memory.ID) error { return s.Archive(t.Context(), id, true) },
		"replaced by its slot": func(s memory.Space, _ memory.ID) error {
			_, err := s.Remember(t.Context(), lives("Paris", noon))
			return err
		},
		"perhaps replaced": func(s memory.Space, _ memory.ID) error {
			d := lives("Paris", noon)
			d.Content, d.Slot = "the customer has moved and now lives in Paris and takes the parcel there", memory.Slot{}
			_, err := s.Remember(t.Context(), d)
			return err
		},
		"replaced by its slot, in other words, among much": func(s memory.Space, _ memory.ID) error {
			d := lives("Paris", noon)
			d.Content = "Paris it is"
			crowd(t, s)
			_, err := s.Remember(t.Context(), d)
			return err
		},
		"superseded by what was known before, among much": func(s memory.Space, id memory.ID) error {
			crowd(t, s)
			r, err := s.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "Paris is a town", At: noon.Add(-48 * time.Hour)})
			if err != nil {
				return err
			}
			return s.Supersede(t.Context(), id, r.ID)
		},
	} {
		for _, named := range []bool{true, false} {
			p := setup(t, nil)
			space := p.bank.In(scope)
			fact, err := space.Remember(t.Context(), lives("Berlin", noon.Add(-time.Hour)))
			require.NoError(t, err)
			var parents []memory.ID
			if named {
				parents = []memory.ID{fact.ID}
			}
			for i, fires := range []bool{false, false, true} {
				require.Equal(t, fires, p.send(t, fmt.Sprint(i), "Berlin", parents...), name)
			}
			r, err := space.Get(t.Context(), fact.ID)
			require.NoError(t, err)
			require.Equal(t, 1, r.Stats.Helped, "the plan that fired rests on it")
			require.NoError(t, end(space, fact.ID))
			for i, fires := range []bool{false, false, true} {
				require.Equal(t, fires, p.send(t, fmt.Sprint("then", i), "Paris"), "%s: %d, named %t", name, i, named)
			}
		}
	}
}

// A plan that is made again of what holds fires again.
func TestPlanOfWhatHoldsAgain(t *testing.T) {
	t.Parallel()
	p := setup(t, nil)
	space := p.bank.In(scope)
	for i := range 2 {
		d := lives("Berlin", noon.Add(-time.Hour))
		d.Key = fmt.Sprint(i) // it has an ID of its own
		fact, err := space.Remember(t.Context(), d)
		require.NoError(t, err)
		require.False(t, p.send(t, fmt.Sprint("1 ", i), "Berlin"))
		p.send(t, fmt.Sprint("2 ", i), "Berlin")
		require.True(t, p.send(t, fmt.Sprint("3 ", i), "Berlin"))
		require.NoError(t, space.Forget(t.Context(), fact.ID))
	}
	require.False(t, p.send(t, "4", "nowhere"))
}

// What a plan says of its case alone is drawn from no fact.
func TestPlanOfTheCaseAlone(t *testing.T) {
	t.Parallel()
	p := setup(t, nil)
	fact, err := p.bank.In(scope).Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "the customer lives on an island"})
	require.NoError(t, err)
	for i := range 2 {
		require.False(t, p.send(t, fmt.Sprint(i), "the customer"))
	}
	require.NoError(t, p.bank.In(scope).Forget(t.Context(), fact.ID))
	require.True(t, p.send(t, "then", "the customer"))
}

// A plan with variables holds as long as those that it was drawn from.
func TestGeneralPlanOfWhatDoesNotHold(t *testing.T) {
	t.Parallel()
	p := setup(t, nil)
	fact, err := p.bank.In(scope).Remember(t.Context(), lives("Berlin", noon))
	require.NoError(t, err)
	ask := func(what string) (a learn.Ask) {
		a.Scope, a.Objective = scope, "send the "+what+" to the customer who lives somewhere"
		a.Situation = a.Objective
		return a
	}
	fires := func() bool {
		a := ask("chair")
		found, err := p.learner.Recall(t.Context(), a)
		require.NoError(t, err)
		chunk, fired := learn.Fire(p.learner.Match(found.Hits, a), nil)
		require.True(t, !fired || chunk.Tasks[0].Objective == "send the chair to Berlin")
		return fired
	}
	for _, what := range []string{"parcel", "letter", "table"} {
		require.False(t, fires())
		a := ask(what)
		found, err := p.learner.Recall(t.Context(), a)
		require.NoError(t, err)
		o := delivered(what, a.Objective)
		o.Situation, o.Case, o.Injected = a.Situation, learn.Case{}, found.Hits
		o.Plan = []reason.Task{{Objective: "send the " + what + " to Berlin", Skill: "edit", Worker: "fixer"}}
		_, err = p.learner.Learn(t.Context(), o)
		require.NoError(t, err)
	}
	require.True(t, fires())
	require.NoError(t, p.bank.In(scope).Archive(t.Context(), fact.ID, true))
	require.False(t, fires())
}
