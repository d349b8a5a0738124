package arc_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// compacts counts compactions.
type compacts struct {
	store.Store
	n, fail atomic.Int64
	takes   time.Duration
}

func (c *compacts) Compact(context.Context) error {
	c.n.Add(1)
	<-time.After(c.takes)
	return nil
}

func (c *compacts) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if c.fail.Add(-1) == 0 {
		return 0, errDead
	}
	return c.Store.Commit(ctx, ops...)
}

// keysOf returns the keys that begin so.
func keysOf(t *testing.T, st store.Store, prefix string) (keys []string) {
	for e, err := range st.Scan(t.Context(), store.Range{Prefix: prefix}) {
		require.NoError(t, err)
		keys = append(keys, e.Key)
	}
	return keys
}

// A list of runs goes on where one of them is deleted before it is reached.
func TestRunsWhileOneIsDeleted(t *testing.T) {
	a, _ := agent(t, store.NewMem(), arc.Host{Workers: []act.Worker{(&arctest.Worker{}).As("one")}}, nil)
	v := a.In("x")
	for _, id := range []string{"1", "2", "3"} {
		_, err := a.Run(t.Context(), arc.Objective{ID: id, Scope: "x", Text: "do it"})
		require.NoError(t, err)
	}
	var seen []string
	for r, err := range v.Runs(t.Context()) {
		require.NoError(t, err)
		if seen = append(seen, r.ID); r.ID == "1" {
			require.NoError(t, v.Delete(t.Context(), "2"))
		}
	}
	require.Equal(t, []string{"1", "3"}, seen)
}

// Whatever a scope has, and whichever commit fails, Erase leaves nothing of it, and all of its neighbors'.
func TestErase(t *testing.T) {
	for fail := int64(0); ; fail++ {
		done := false
		synctest.Test(t, func(t *testing.T) {
			st, began := &compacts{Store: store.NewMem()}, make(chan bool, 1)
			gated := (&arctest.Worker{}).As("cat", "sign")
			gated.Mode = act.Gated
			h := arc.Host{
				Workers:  []act.Worker{(&arctest.Worker{}).As("bank", "pay"), (&arctest.Worker{}).As("mail", "write"), gated, stuck(began)},
				Reasoner: &arctest.Reasoner{Decision: fixed},
			}
			a, _ := agent(t, st, h, nil)
			for _, scope := range []memory.Scope{"acme/ann", "acme/anna", "acme/ann/home", "acme"} {
				m, err := a.In(scope).Memory(t.Context())
				require.NoError(t, err)
				_, err = m.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "The door code is 4711."})
				require.NoError(t, err)
				for n := range 2 {
					o := arc.Objective{ID: fmt.Sprint(n), Scope: scope, Text: "Refund the order.", Inputs: order(n), Session: "s"}
					require.Equal(t, arc.Delivered, run(t, a, o).Status)
				}
				o := arc.Objective{ID: "waits", Scope: scope, Tasks: []reason.Task{task("sign", "sign")}}
				require.Equal(t, arc.Waiting, run(t, a, o).Status)
			}
			ended := make(chan error, 1)
			go func() {
				_, err := a.Run(context.Background(), arc.Objective{
					ID: "sticks", Scope: "acme/ann", Tasks: []reason.Task{{Objective: "write", Worker: "ann"}},
				})
				ended <- err
			}()
			<-began
			others := []int{len(keysOf(t, st, "t/acme/s/acme/anna/")), len(keysOf(t, st, "t/acme/s/acme//"))}
			st.fail.Store(fail)
			err := a.In("acme/ann").Erase(t.Context())
			if err != nil {
				require.ErrorIs(t, err, errDead)
				if fail > 1 {
					_, err = a.Run(t.Context(), arc.Objective{Scope: "acme/ann/home", Text: "write"})
					require.ErrorIs(t, err, arc.ErrObjective)
					require.Equal(t, arc.Delivered, run(t, a, arc.Objective{ID: "1", Scope: "acme", Text: "Refund the order.", Inputs: order(1), Session: "s"}).Status)
				}
				if fail%2 == 0 { // the next process goes on by itself
					require.NoError(t, a.Close())
					a, _ = agent(t, st, h, nil)
					synctest.Wait()
				} else {
					require.NoError(t, a.In("acme/ann").Erase(t.Context()))
				}
			}
			require.Error(t, <-ended)
			synctest.Wait()
			done = fail > 0 && st.fail.Swap(0) > 0
			require.Empty(t, keysOf(t, st, "t/acme/s/acme/ann/"), "commit %d", fail)
			require.Empty(t, keysOf(t, st, "erase/"))
			require.LessOrEqual(t, len(keysOf(t, st, "due/")), 3, "of runs of others that wait, and of a compaction that failed")
			require.NotZero(t, st.n.Load())
			require.Equal(t, others, []int{len(keysOf(t, st, "t/acme/s/acme/anna/")), len(keysOf(t, st, "t/acme/s/acme//"))})
			for scope, hits := range map[memory.Scope]int{"acme/ann": 0, "acme/ann/home": 0, "acme/anna": 1} {
				m, err := a.In(scope).Memory(t.Context())
				require.NoError(t, err)
				found, err := m.Recall(t.Context(), memory.Query{Text: "door code"})
				require.NoError(t, err)
				require.Len(t, found, hits, scope)
			}
			r := run(t, a, arc.Objective{ID: "0", Scope: "acme/ann", Text: "Refund the order.", Inputs: order(1)})
			require.Zero(t, r.Fired, "nothing is known of it")
			if fail > 0 {
				return
			}
			require.EqualValues(t, 1, st.n.Load())
			require.NoError(t, a.In("acme/ann").Erase(t.Context())) // compacted within the hour
			synctest.Wait()
			require.EqualValues(t, 1, st.n.Load())
			time.Sleep(time.Hour)
			synctest.Wait()
			require.EqualValues(t, 2, st.n.Load())
		})
		if done {
			require.Greater(t, fail, int64(10), "an erasure has more commits")
			break
		}
	}
}

// Whoever maintains many scopes in a row has the files rewritten at once, and once more when the hour is over,
// however long that takes.
func TestFewCompactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &compacts{Store: store.NewMem(), takes: 10 * time.Second}
		a, _ := agent(t, st, arc.Host{Workers: []act.Worker{(&arctest.Worker{}).As("ann")}}, &arc.Options{Retention: time.Minute})
		scopes := []memory.Scope{"acme/a", "acme/b", "acme/c"}
		for _, scope := range scopes {
			run(t, a, arc.Objective{Scope: scope, Text: "write"})
		}
		time.Sleep(time.Hour)
		for _, scope := range scopes {
			n, err := a.In(scope).Maintain(t.Context())
			require.NoError(t, err)
			require.Equal(t, 1, n)
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		require.EqualValues(t, 1, st.n.Load())
		time.Sleep(time.Hour)
		require.EqualValues(t, 2, st.n.Load(), "of what was deleted meanwhile")
	})
}

// What an Agent would have compacted when its hour is over, the next one compacts when it begins.
func TestCompactedByTheNextAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &compacts{Store: store.NewMem()}
		open := func() *arc.Agent {
			a, _ := agent(t, st, arc.Host{Workers: []act.Worker{(&arctest.Worker{}).As("ann")}}, nil)
			synctest.Wait()
			return a
		}
		a := open()
		for range 2 {
			require.NoError(t, a.In("acme/ann").Erase(t.Context()))
			synctest.Wait()
			require.EqualValues(t, 1, st.n.Load(), "the second waits for an hour")
		}
		for range 2 {
			require.NoError(t, a.Close())
			a = open()
			require.EqualValues(t, 2, st.n.Load())
		}
	})
}

// A day's budget is of all runs of a tenant, over restarts; the next day there is a new one.
func TestDaily(t *testing.T) {
	usd := .01
	r := &arctest.Reasoner{Decision: func(b *reason.Brief) (*reason.Decision, error) {
		d, err := fixed(b)
		d.Usage = &reason.Usage{Calls: 1, Input: 900, Output: 100, EstimateUSD: &usd}
		if b.Situation == "silent" {
			d.Usage = nil
		}
		return d, err
	}}
	h := arc.Host{Reasoner: r, Workers: []act.Worker{(&arctest.Worker{}).As("bank", "pay"), (&arctest.Worker{}).As("mail", "write")}}
	for _, daily := range []arc.Budget{{Tokens: 3000}, {USD: .03}} {
		synctest.Test(t, func(t *testing.T) {
			st := store.NewMem()
			status := func(a *arc.Agent, scope memory.Scope, n int) arc.Status {
				got := run(t, a, arc.Objective{Scope: scope, Text: fmt.Sprint("write letter ", n), Inputs: order(n), Session: "s"})
				if got.Status == arc.Blocked {
					require.Equal(t, arc.Spent, got.Cause)
					require.Contains(t, got.Text, "the tenant's day")
				}
				return got.Status
			}
			a, _ := agent(t, st, h, &arc.Options{Daily: daily})
			require.Equal(t, arc.Delivered, status(a, "acme/anna", 0))
			require.Equal(t, arc.Delivered, status(a, "acme/ben", 1))
			require.Equal(t, arc.Blocked, status(a, "acme/ben", 2), "the decision is over it")
			require.Equal(t, arc.Delivered, status(a, "other", 3))
			b, _ := agent(t, st, h, &arc.Options{Daily: daily})
			require.Equal(t, arc.Blocked, status(b, "acme", 4))
			asked := len(r.Briefs())
			th, err := b.Think(t.Context(), arc.Objective{Scope: "acme", Text: "write a letter"})
			require.NoError(t, err)
			require.Equal(t, arc.Spent, th.Cause)
			require.Len(t, r.Briefs(), asked)
			time.Sleep(24 * time.Hour)
			require.Equal(t, arc.Delivered, status(b, "acme", 5))
			got := run(t, b, arc.Objective{Scope: "acme", Text: "x", Situation: "silent"})
			require.Equal(t, arc.Delivered, got.Status, "what nobody tells is not counted")
			require.Nil(t, got.Usage)
		})
	}
}

// What a worker says it took, and cannot have, gives nothing back and lifts no bound.
func TestUsageThatCannotBe(t *testing.T) {
	for _, usd := range []float64{math.NaN(), -100, math.Inf(-1)} {
		n := 0
		w := (&arctest.Worker{}).As("ann")
		w.Executor = act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) {
			took := &reason.Usage{Calls: 1, Input: 10, CostUSD: new(1.)}
			if n++; n == 1 {
				took.Input, took.CostUSD = -1000, &usd
			}
			return &act.Result{Text: "done", Usage: took}, nil
		})
		a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w}}, &arc.Options{Daily: arc.Budget{USD: 2}})
		var last *arc.Report
		for i := range 5 {
			last = run(t, a, arc.Objective{Text: fmt.Sprint("write ", i), Budget: arc.Budget{USD: 5}})
		}
		require.Equal(t, arc.Spent, last.Cause, "%v", usd)
		require.LessOrEqual(t, n, 4, "%v", usd)
	}
}

// The empty scope, by its name "_", is another one than Options.Scope, where its runs go on by themselves,
// too.
func TestTheEmptyScopeBesideOptionsScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gated := (&arctest.Worker{}).As("cat", "sign")
		gated.Mode = act.Gated
		st := &compacts{Store: store.NewMem()}
		a, _ := agent(t, st, arc.Host{Workers: []act.Worker{gated}}, &arc.Options{Scope: "acme", Retention: time.Hour})
		v := a.In("_")
		require.ErrorContains(t, a.In("").Erase(t.Context()), "wants a scope that is named")
		o := arc.Objective{ID: "one", Scope: "_", Tasks: []reason.Task{task("sign", "sign")}}
		r := run(t, a, o)
		require.Equal(t, arc.Waiting, r.Status)
		require.NoError(t, v.Decide(t.Context(), act.Ruling{Approval: r.Approvals[0].ID, Allow: true, By: "ann"}))
		r, err := v.Wait(t.Context(), "one")
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)
		asked, err := v.Objective(t.Context(), "one")
		require.NoError(t, err)
		require.Equal(t, o.Tasks, asked.Tasks)
		time.Sleep(2 * time.Hour)
		deleted, err := a.In("_").Maintain(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, deleted)
		synctest.Wait()
		require.EqualValues(t, 1, st.n.Load(), "the files have it no more")
		_, err = v.Objective(t.Context(), "one")
		require.ErrorIs(t, err, store.ErrNotFound)
	})
}

// unreadable is a store in which the tenant "_" cannot be scanned, a hundred times.
type unreadable struct {
	store.Store
	scans atomic.Int64
}

func (u *unreadable) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	if strings.HasPrefix(r.Prefix, "t/_") && u.scans.Add(1) < 100 {
		return func(yield func(store.Entry, error) bool) { yield(store.Entry{}, errors.New("disk")) }
	}
	return u.Store.Scan(ctx, r)
}

// What is due where a tenant cannot be opened is tried again after a rest.
func TestCompactionRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &unreadable{Store: store.NewMem()}
		a, err := arc.New(t.Context(), u, arc.Host{}, nil)
		require.NoError(t, err)
		require.NoError(t, a.In("acme/anna").Erase(t.Context()))
		<-time.After(20 * time.Second)
		require.Less(t, u.scans.Load(), int64(10))
		require.NoError(t, a.Close())
	})
}

// meanwhile is a store in which something happens once between the read of a list of runs and its first entry.
type meanwhile struct {
	store.Store
	then func()
}

func (m *meanwhile) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	all := m.Store.Scan(ctx, r)
	if m.then == nil || !strings.HasSuffix(r.Prefix, "//run/") {
		return all
	}
	return func(yield func(store.Entry, error) bool) {
		var entries []store.Entry
		for e, err := range all {
			if err != nil {
				yield(e, err)
				return
			}
			entries = append(entries, e)
		}
		then := m.then
		m.then = nil
		then()
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// A run that somebody else has deleted meanwhile, as where two processes maintain a scope at once, is what
// Maintain wants.
func TestMaintainWhileOneIsDeleted(t *testing.T) {
	now := time.Unix(1e9, 0)
	st := &meanwhile{Store: store.NewMem()}
	o := &arc.Options{Now: func() time.Time { return now }}
	a, _ := agent(t, st, arc.Host{Workers: []act.Worker{(&arctest.Worker{}).As("one")}}, o)
	for _, id := range []string{"1", "2"} {
		_, err := a.Run(t.Context(), arc.Objective{ID: id, Scope: "x", Text: "do it"})
		require.NoError(t, err)
	}
	now = now.Add(91 * 24 * time.Hour)
	st.then = func() { require.NoError(t, a.In("x").Delete(t.Context(), "1")) }
	n, err := a.In("x").Maintain(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Nil(t, st.then)
	require.Empty(t, keysOf(t, st, "t/x/s/x//run/"))
}
