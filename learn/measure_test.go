package learn_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Whatever the Holdout and the Seed were changed to meanwhile, what is measured is a recount of the cases under
// each Holdout by their last verdicts, each in the arm that it was in. What was never counted takes nothing back.
func TestUpliftIsARecount(t *testing.T) {
	type told struct {
		id      string
		holdout float64
		treated bool
		verdict learn.Verdict
		took    *reason.Usage
	}
	holdouts := []float64{0, .2, .5, .9}
	rapid.Check(t, func(t *rapid.T) {
		ctx, st := t.Context(), store.NewMem()
		open := func(holdout float64, seed uint64) *learn.Layer {
			l, err := learn.New(ctx, st, &learn.Options{Scope: "acme", Holdout: holdout, Seed: seed})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, l.Close()) })
			return l
		}
		reads := make(map[float64]*learn.Layer)
		for _, h := range holdouts {
			reads[h] = open(h, 9)
		}
		holdout, l := 0., reads[0]
		var cases []*told
		made := 0
		verdict := rapid.SampledFrom([]learn.Verdict{learn.Unknown, learn.Delivered, learn.Failed})
		any := func() *told {
			if len(cases) == 0 {
				t.Skip("there is none")
			}
			return rapid.SampledFrom(cases).Draw(t, "case")
		}
		t.Repeat(map[string]func(*rapid.T){
			"change": func(t *rapid.T) {
				holdout = rapid.SampledFrom(holdouts).Draw(t, "holdout")
				l = open(holdout, rapid.Uint64Range(1, 3).Draw(t, "seed"))
			},
			"work": func(t *rapid.T) {
				c := learn.Case{ID: fmt.Sprint("case ", made), Text: "Where is it?", Fresh: rapid.IntRange(0, 5).Draw(t, "fresh") == 0}
				made++
				a, err := l.Before(ctx, c)
				require.NoError(t, err)
				k := &told{a.ID, holdout, !l.HeldOut(&a.Case), verdict.Draw(t, "verdict"), nil}
				if c.Fresh {
					k.holdout = 0
				}
				if rapid.Bool().Draw(t, "known") {
					k.took = &reason.Usage{Calls: rapid.IntRange(0, 3).Draw(t, "calls"), CostUSD: new(.25)}
				}
				_, err = l.After(ctx, a, learn.Outcome{Verdict: k.verdict, Usage: k.took})
				require.NoError(t, err)
				cases = append(cases, k)
			},
			"judge": func(t *rapid.T) {
				k := any()
				k.verdict = verdict.Draw(t, "verdict")
				err := l.Judge(ctx, "", k.id, k.verdict, "a person says so")
				require.NoError(t, err)
			},
			"forget": func(t *rapid.T) {
				k := any()
				require.NoError(t, l.Forget(ctx, "", k.id))
				cases = slices.DeleteFunc(cases, func(o *told) bool { return o == k })
			},
			"": func(t *rapid.T) {
				for h, l := range reads {
					var want meta.Arms
					for _, k := range cases {
						if h > 0 && k.holdout == h && k.verdict != learn.Unknown {
							want.Add(k.treated, k.verdict == learn.Delivered, k.took, 1)
						}
					}
					got, err := l.Uplift(ctx, "")
					require.NoError(t, err)
					require.Equal(t, want.Uplift(), got, h)
				}
			},
		})
	})
}
