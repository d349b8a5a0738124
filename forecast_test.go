package arc_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

func TestWouldSaysWhatFiresOrWhyNot(t *testing.T) {
	t.Parallel()
	s := &script{}
	st := &counting{Store: store.NewMem()}
	a := agentOn(t, st, s.host(), nil)
	would := func(o arc.Objective) arc.Forecast {
		t.Helper()
		before := st.n.Load()
		f, err := a.Would(t.Context(), o)
		require.NoError(t, err)
		require.Equal(t, before, st.n.Load(), "it reads only")
		return f
	}
	require.Equal(t, arc.Forecast{Why: "no plan of a case like this one is known"}, would(mend("cache")))
	run(t, a, mend("cache"))
	require.Equal(t, "it has delivered 1 of the 2 times that it takes", would(mend("pool")).Why)
	run(t, a, mend("pool"))

	f := would(mend("index"))
	require.NotNil(t, f.Fires, f.Why)
	require.Equal(t, "mend the index", f.Fires.Tasks[0].Objective)
	require.Empty(t, f.Near)
	other := mend("index")
	other.Conditions = map[string]string{"environment": "production"}
	f = would(other)
	require.Nil(t, f.Fires)
	require.Equal(t, `condition environment is "production", and was not given`, f.Why)
	require.Len(t, f.Near, 1)
	for why, o := range map[string]arc.Objective{
		"the host's own plan goes first":  {Tasks: []reason.Task{task("look")}},
		"the objective is to start fresh": {Fresh: true},
	} {
		o.Text, o.Situation, o.Inputs = "mend the index", situation, mend("index").Inputs
		require.Equal(t, why, would(o).Why)
	}
	require.Equal(t, 1, run(t, a, mend("index")).Fired, "as was said")
	_, err := a.Would(t.Context(), arc.Objective{})
	require.ErrorIs(t, err, arc.ErrObjective)
}

// A plan is never run for what only looks like the case that it was made for: it is
// suggested, with what differs.
func TestSimilarCaseGetsASuggestion(t *testing.T) {
	t.Parallel()
	s := &script{}
	a := agent(t, s.host(), nil)
	for range 3 {
		run(t, a, arc.Objective{Text: "restart the web service on production"})
	}
	asked := len(s.briefs)
	for _, text := range []string{
		"restart the web service on staging", "do not restart the web service on production", "stop the web service on production",
	} {
		require.Zero(t, run(t, a, arc.Objective{Text: text}).Fired, text)
	}
	b := s.briefs[asked]
	require.NotEmpty(t, b.Suggestions)
	require.Equal(t, "restart the web service on production", b.Suggestions[0].Tasks[0].Objective)
	require.Contains(t, b.Suggestions[0].Differs[0], "staging")
	require.Equal(t, 1, run(t, a, arc.Objective{Text: "Please restart  the web service on production!"}).Fired)
}

func ExampleAgent_Would() {
	ctx := context.Background()
	a, err := arc.Open(ctx, "", nopHost(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	tell := func(f arc.Forecast, err error) { fmt.Println(f.Fires != nil, f.Why, err) }
	deploy := arc.Objective{Text: "deploy the web service", Conditions: map[string]string{"environment": "staging"}}
	tell(a.Would(ctx, deploy))
	for range 2 {
		if _, err := a.Run(ctx, deploy); err != nil {
			fmt.Println(err)
		}
	}
	tell(a.Would(ctx, deploy))
	deploy.Conditions["environment"] = "production"
	tell(a.Would(ctx, deploy))
	// Output:
	// false no plan of a case like this one is known <nil>
	// true  <nil>
	// false condition environment is "production", and was "staging" <nil>
}
