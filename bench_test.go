package arc_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// counting counts the commits of a store.
type counting struct {
	store.Store
	n atomic.Int64
}

func (c *counting) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	c.n.Add(1)
	return c.Store.Commit(ctx, ops...)
}

// BenchmarkTurn is one full turn over the in-memory store: context from 100
// memories, reason, one task, gate and learn, with host parts that do nothing
// and with firing off.
func BenchmarkTurn(b *testing.B) { benchmarkTurn(b, arc.Options{}) }

// BenchmarkTurnUnbounded is BenchmarkTurn with the host called in place.
func BenchmarkTurnUnbounded(b *testing.B) {
	benchmarkTurn(b, arc.Options{ReasonTimeout: -1, AttemptTimeout: -1, GateTimeout: -1})
}

func benchmarkTurn(b *testing.B, o arc.Options) {
	st := &counting{Store: store.NewMem()}
	o.Seed, o.Learn.FireAfter = 1, -1
	a, err := arc.New(b.Context(), st, nopHost(), &o)
	require.NoError(b, err)
	defer func() { require.NoError(b, a.Close()) }()
	for i := range 100 {
		_, err := a.In("").Memory().Remember(b.Context(), memory.Draft{
			Kind:    memory.Pattern,
			Trigger: fmt.Sprintf("problem number %d in module m%d", i, i%10),
			Content: fmt.Sprintf("look at part p%d before anything else", i),
		})
		require.NoError(b, err)
	}
	before := st.n.Load()
	b.ReportAllocs()
	for b.Loop() {
		r, err := a.Run(b.Context(), arc.Objective{Text: "the server leaks memory in module m7"})
		if err != nil || r.Status != arc.Delivered {
			b.Fatal(r, err)
		}
	}
	b.ReportMetric(float64(st.n.Load()-before)/float64(b.N), "commits/op")
}

func nopHost() arc.Host {
	decision := plan("look into it")
	result := done(`"nothing"`)
	return arc.Host{
		Reasoner: reason.ReasonerFunc(func(context.Context, reason.Brief) (reason.Decision, error) { return decision, nil }),
		Workers: []act.Worker{{
			Card: rank.Candidate{Name: "worker"}, Skills: []string{"work"},
			Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) { return result, nil }),
		}},
		Gates: []act.Gate{act.GateFunc(func(context.Context, act.Work, act.Result) (act.Verdict, error) { return act.Verdict{Pass: true}, nil })},
	}
}

// BenchmarkPortable moves a scope with many memories, of 500 bytes each, from one store to another.
func BenchmarkPortable(b *testing.B) {
	for _, n := range []int{1e4, 1e5} {
		for _, on := range []string{"mem", "badger"} {
			open := func() store.Store {
				if on == "mem" {
					return store.NewMem()
				}
				st, err := badger.Open(b.TempDir(), nil)
				require.NoError(b, err)
				b.Cleanup(func() { require.NoError(b, st.Close()) })
				return st
			}
			agent := func() *arc.Agent {
				a, err := arc.New(b.Context(), open(), (&script{}).host(), &arc.Options{Maintain: -1})
				require.NoError(b, err)
				b.Cleanup(func() { require.NoError(b, a.Close()) })
				return a
			}
			a := agent()
			for i := 0; i < n; i += 500 {
				var ds []memory.Draft
				for j := range 500 {
					text := fmt.Sprintf("memory %d of a scope with many: %s", i+j, strings.Repeat(fmt.Sprint("word", j, " "), 60))
					ds = append(ds, memory.Draft{Kind: memory.Fact, Content: text})
				}
				_, err := a.In("acme/anna").Memory().RememberAll(b.Context(), ds)
				require.NoError(b, err)
			}
			var file bytes.Buffer
			b.Run(fmt.Sprintf("export/%s/%d", on, n), func(b *testing.B) {
				for b.Loop() {
					file.Reset()
					require.NoError(b, a.Export(b.Context(), "acme/anna", &file))
				}
				b.SetBytes(int64(file.Len()))
			})
			b.Run(fmt.Sprintf("import/%s/%d", on, n), func(b *testing.B) {
				b.SetBytes(int64(file.Len()))
				for b.Loop() {
					b.StopTimer()
					to := agent()
					b.StartTimer()
					_, err := to.Import(b.Context(), bytes.NewReader(file.Bytes()))
					require.NoError(b, err)
				}
			})
		}
	}
}
