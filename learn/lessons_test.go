package learn_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// shared has 16 scopes below one Lessons scope, which each delivered six cases of 60 inputs, and returns another case.
func shared(b testing.TB) (*learn.Layer, learn.Case) {
	l, err := learn.New(b.Context(), store.NewMem(), &learn.Options{Seed: 1, Scope: "acme"})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, l.Close()) })
	of := func(scope, n int) (learn.Case, learn.Outcome) {
		in, out := map[string]string{}, map[string]string{}
		for v := range 60 {
			in[fmt.Sprint("v", v)] = fmt.Sprintf("word-%d-%d", v, (scope*7+n*3+v)%50)
			if v%6 == 0 {
				out[fmt.Sprint("p", v)] = in[fmt.Sprint("v", v)]
			}
		}
		inputs, _ := json.Marshal(in)
		call, _ := json.Marshal(out)
		c := learn.Case{Scope: memory.Scope(fmt.Sprint("acme/s", scope)), Lessons: "acme", Text: "set it up", Inputs: inputs}
		return c, learn.Outcome{Verdict: learn.Delivered, Plan: plan("do", string(call))}
	}
	for i := range 16 * 6 {
		c, o := of(i/6, i%6)
		_, err := l.After(b.Context(), learn.Advice{Case: c}, o)
		require.NoError(b, err)
	}
	c, _ := of(20, 9)
	return l, c
}

// What a Before does stays bounded, however many scopes came to a plan, and whether it fires or not.
func TestManyScopes(t *testing.T) {
	l, c := shared(t)
	for _, fires := range []bool{true, false} {
		if !fires { // a value of its own form, which no call says
			c.Inputs = json.RawMessage(string(c.Inputs[:len(c.Inputs)-2]) + `?"}`)
		}
		var a learn.Advice
		work := testing.AllocsPerRun(1, func() {
			var err error
			a, err = l.Before(t.Context(), c)
			require.NoError(t, err)
		})
		require.Equal(t, fires, a.Fires != nil, a.Why)
		require.Less(t, work, 1_000_000.0, "allocations")
	}
}

func BenchmarkManyScopes(b *testing.B) {
	l, c := shared(b)
	for b.Loop() {
		if a, err := l.Before(b.Context(), c); err != nil || a.Fires == nil {
			b.Fatal(err, a.Why)
		}
	}
}
