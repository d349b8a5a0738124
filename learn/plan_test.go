package learn_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// A plan that fires has no value of the old case that differs now, wherever in the
// plan it stood, and however it was glued to other things.
func TestFiredPlanHasNothingOfTheOldCase(t *testing.T) {
	t.Parallel()
	fired := 0
	rapid.Check(t, func(t *rapid.T) {
		// Half of the plans glue nothing to a value: of the others few fire.
		arounds := []string{"%s", "do %s", "%s now"}
		if rapid.Bool().Draw(t, "glued") {
			arounds = append(arounds, "s3://%s", "x-%s", "%s.go", "'%s'", "=%s;", "%s2", "v%s")
		}
		glued := func(value string) string {
			return fmt.Sprintf(rapid.SampledFrom(arounds).Draw(t, "around"), value)
		}
		say := func(values []string) (text string) {
			for range rapid.IntRange(0, 3).Draw(t, "words") {
				text += " " + glued(rapid.SampledFrom(append(values, "alpha", "beta")).Draw(t, "value"))
			}
			return text
		}
		old := []string{"oldone", "old-two", "77031", "OldFour"}
		now := []string{"newone", "new-two", "88042", "NewFour"}
		in := func(v []string) json.RawMessage {
			return fmt.Appendf(nil, `{"a":%q,"b":%q,"c":%s,"d":[%q]}`, v[0], v[1], v[2], v[3])
		}
		vouched := rapid.Bool().Draw(t, "vouched")
		o := delivered("run", "mend the thing"+say(old))
		o.Situation, o.Case = o.Objective, learn.Case{Vouched: vouched, Inputs: in(old)}
		o.Plan = nil
		for range rapid.IntRange(1, 2).Draw(t, "tasks") {
			o.Plan = append(o.Plan, reason.Task{
				Objective: "do" + say(old), Verify: say(old), Skill: rapid.SampledFrom([]string{"edit", "oldone"}).Draw(t, "skill"),
				Inputs: fmt.Appendf(nil, `{"a":%q,"n":%s,"x":[%q]}`, glued(old[0]), old[2], strings.TrimSpace(say(old))),
			})
		}
		if vouched {
			o.Situation = situation
		}
		p, err := open(t.Context(), store.NewMem(), &learn.Options{FireAfter: 1})
		require.NoError(t, err)
		defer func() { require.NoError(t, p.close()) }()
		_, err = p.learner.Learn(t.Context(), o)
		require.NoError(t, err)

		a := learn.Ask{Scope: scope, Situation: o.Situation, Objective: o.Objective, Case: o.Case}
		for i, v := range old {
			a.Objective = strings.ReplaceAll(a.Objective, v, now[i])
		}
		if a.Inputs = in(now); !vouched {
			a.Situation = a.Objective
		}
		found, err := p.learner.Recall(t.Context(), a)
		require.NoError(t, err)
		chunk, ok := learn.Fire(p.learner.Match(found.Hits, a), nil)
		if !ok {
			return
		}
		fired++
		raw, err := json.Marshal(chunk.Tasks)
		require.NoError(t, err)
		for _, v := range old {
			require.NotContains(t, strings.ToLower(string(raw)), strings.ToLower(v))
		}
	})
	require.Positive(t, fired, "some plans do fire")
}

// Whatever stands in a stored plan, it is decoded without a panic, and what fires
// is a plan that can be run.
func FuzzStoredPlan(f *testing.F) {
	f.Add([]byte(`{"version":2,"situation":"s","words":[{"text":"mend"},{"from":["/thing"]}],"inputs":[{"path":"/thing","kind":"string","quoted":true}],` +
		`"tasks":[{"objective":[{"text":"mend "},{"from":["/thing"]}],"inputs":{"map":[{"name":"n","value":{"from":["/thing"]}}]}}]}`))
	f.Add([]byte(`{"version":2,"words":[{"from":[]}],"tasks":[{"objective":[{"from":["1"]}],"inputs":{"list":[{"raw":null},{}]}}]}`))
	f.Add([]byte(`{"Approach":"x","Tasks":[{"Objective":"mend it"}]}`))
	f.Add([]byte(`{"version":2,"named":[[]],"tasks":[null]}`))
	l, err := learn.New(nil, nil, nil, &learn.Options{FireAfter: 1})
	require.NoError(f, err)
	a := ask("cache")
	a.Objective, a.Vouched = "mend cache", false
	f.Fuzz(func(t *testing.T, raw []byte) {
		hits := []memory.Hit{{Record: memory.Record{ID: "m", Kind: memory.Pattern, Scope: scope, Trusted: true, Plan: raw}}}
		for _, c := range l.Match(hits, a) {
			if len(c.Differs) == 0 {
				require.NoError(t, (&reason.Decision{Tasks: c.Tasks}).Check())
			}
		}
	})
}

// A pattern of before has no conditions: it is suggested, and never fires.
func TestPlanWithoutConditionsIsOnlySuggested(t *testing.T) {
	t.Parallel()
	l, err := learn.New(nil, nil, nil, nil)
	require.NoError(t, err)
	r := memory.Record{
		ID: "m", Kind: memory.Pattern, Scope: scope, Trusted: true, Trigger: situation,
		Plan: []byte(`{"Approach":"make the map","Tasks":[{"Objective":"edit for: {{objective}}","Skill":"edit"}]}`),
	}
	r.Stats.Helped = 10
	hits := []memory.Hit{{Record: r}}
	_, fires := learn.Fire(l.Match(hits, ask("the cache")), nil)
	require.False(t, fires)
	got := l.Match(hits, ask("the cache"))
	require.Len(t, got, 1)
	require.Equal(t, []string{"it was stored without its conditions"}, got[0].Differs)
}

// The host may say itself which situations are equal; the rest has to hold all the
// same, and a host that panics has said nothing.
func TestHostDecidesWhatIsTheSame(t *testing.T) {
	t.Parallel()
	p := setup(t, &learn.Options{Same: func(was, is learn.Ask) bool {
		if is.Situation == "boom" {
			panic("boom")
		}
		return strings.Contains(was.Situation, "nil map") && strings.Contains(is.Situation, "nil map")
	}})
	for i := range 2 {
		_, err := p.learner.Learn(t.Context(), delivered(fmt.Sprint("run ", i), "the cache"))
		require.NoError(t, err)
	}
	a := ask("the pool")
	found, err := p.learner.Recall(t.Context(), a)
	require.NoError(t, err)
	hits := found.Hits
	for situation, want := range map[string]bool{"a write to a nil map": true, "something else": false, "boom": false} {
		a.Situation = situation
		chunk, fires := learn.Fire(p.learner.Match(hits, a), nil)
		require.Equal(t, want, fires, situation)
		if fires {
			require.Equal(t, "edit for: the pool", chunk.Tasks[0].Objective)
		}
	}
	a.Situation, a.Conditions = "a write to a nil map", map[string]string{"branch": "main"}
	_, fires := learn.Fire(p.learner.Match(hits, a), nil)
	require.False(t, fires)
}
