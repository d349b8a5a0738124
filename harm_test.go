package arc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

// awayDo is a worker that is not there.
func awayDo(int, act.Work) (act.Result, error) {
	return act.Result{}, fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
}

// A run that the Agent goes on with by itself, in a store of its own, is always due while it
// is at work. Once another such run has ended the Agent looks for what is due without a pause.
func TestNoBusyLookBesideAnAdoptedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int64
		var away atomic.Bool
		away.Store(true)
		begun, hold := make(chan struct{}), make(chan struct{})
		s := &script{do: func(_ int, w act.Work) (act.Result, error) {
			switch {
			case away.Load():
				return act.Result{}, fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
			case w.Run == "long":
				close(begun)
				<-hold
			default:
				<-begun
			}
			return done(`1`), nil
		}}
		a, err := arc.Open(t.Context(), "", s.host(), &arc.Options{
			Patience: -1, Maintain: -1, Seed: 1, Sanitizer: keyed(),
			Now: func() time.Time {
				if looks.Add(1) > 1000 {
					<-time.After(time.Hour)
				}
				return time.Now()
			},
		})
		require.NoError(t, err)
		defer func() { require.NoError(t, a.Close()) }()
		defer close(hold)
		for _, id := range []string{"long", "short"} {
			require.Equal(t, arc.Waiting, run(t, a, arc.Objective{ID: id, Text: "mend " + id}).Status)
		}
		away.Store(false)
		<-time.After(time.Minute)
		r, err := a.In("").Report(t.Context(), "short")
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)
		require.Less(t, looks.Load(), int64(300), "readings of the clock")
	})
}

// A run that is due and cannot be read is tried again without a pause.
func TestNoBusyLookForADamagedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		due := key.Join("arc/due", fmt.Sprintf("%016x", time.Now().Add(-time.Hour).UnixNano()), "local", "x")
		_, err := st.Commit(t.Context(),
			store.Op{Key: due}, store.Op{Key: key.Under("local", "run", "x"), Value: []byte("damaged")})
		require.NoError(t, err)
		var lines atomic.Int64
		a, err := arc.New(t.Context(), st, (&script{}).host(), &arc.Options{
			Maintain: -1, Seed: 1, Sanitizer: keyed(), Logger: slog.New(slog.NewTextHandler(counts{&lines}, nil)),
		})
		require.NoError(t, err)
		<-time.After(2 * time.Second) // the first look is after a second
		require.NoError(t, a.Close())
		require.EqualValues(t, 1, lines.Load())
	})
}

// An entry of the index whose time is damaged ends no process, and loses no run.
func TestDueAtADamagedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s, ready := store.NewMem(), &script{}, time.Now().Add(time.Hour)
		s.do = func(call int, _ act.Work) (act.Result, error) {
			if time.Now().Before(ready) {
				return act.Result{}, &act.RateLimitError{After: time.Minute}
			}
			return done(`"ok"`), nil
		}
		a := agentOn(t, st, s.host(), &arc.Options{Maintain: -1, Patience: -1, Now: time.Now})
		require.Equal(t, arc.Waiting, run(t, a, arc.Objective{ID: "x", Text: "mend it"}).Status)
		var due []string
		for e, err := range st.Scan(t.Context(), store.Range{Prefix: "arc/due"}) {
			require.NoError(t, err)
			due = append(due, e.Key)
		}
		require.Len(t, due, 1)
		damaged := strings.Replace(due[0], "due\x00", "due\x00!", 1)
		require.NotEqual(t, due[0], damaged)
		_, err := st.Commit(t.Context(), store.Op{Key: due[0], Delete: true}, store.Op{Key: damaged})
		require.NoError(t, err)
		<-time.After(2 * time.Hour)
		r, err := a.In("").Report(t.Context(), "x")
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)
		for e, err := range st.Scan(t.Context(), store.Range{Prefix: "arc/due"}) {
			require.NoError(t, err)
			require.Fail(t, "left", "%q", e.Key)
		}
	})
}

// counts counts lines, and hangs for a while after ten of them.
type counts struct{ n *atomic.Int64 }

func (c counts) Write(p []byte) (int, error) {
	if c.n.Add(1) > 10 {
		<-time.After(time.Hour)
	}
	return len(p), nil
}

// A run whose counts do not fit its lists is refused: taken in, it panics when it goes on,
// which for one that is due is in a goroutine of the Agent, and ends the process.
func TestImportRefusesRunsThatPanic(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*arc.State){
		"tries without a failed attempt": func(s *arc.State) { s.Aims[0].Tries, s.Aims[0].Failed = 1, nil },
		"negative tries":                 func(s *arc.State) { s.Aims[0].Tries = -5 },
		"negative cleared":               func(s *arc.State) { s.Aims[0].Cleared, s.Phase, s.Aims[0].Tasks = -1, arc.PhaseReason, nil },
		"negative tries of a wait":       func(s *arc.State) { s.Wait.Tries = -40 },
	} {
		t.Run(name, func(t *testing.T) {
			st, s := store.NewMem(), &script{}
			a := agentOn(t, store.NewMem(), s.host(), &arc.Options{Maintain: -1, Patience: -1})
			s.do = awayDo
			plan := []reason.Task{{Objective: "mend one", Skill: "work"}}
			r := run(t, a, arc.Objective{ID: "one", Text: "mend one", Scope: "acme/anna", Tasks: plan})
			require.Equal(t, arc.Waiting, r.Status)
			entries := opened(t, export(t, a, "acme/anna"))
			i := slices.IndexFunc(entries, func(e store.Entry) bool { return arc.IsRun(e.Key) })
			is, err := arc.DecodeState(entries[i])
			require.NoError(t, err)
			change(&is)
			entries[i] = sealed(t, entries[i].Key, &is)
			b := agentOn(t, st, s.host(), &arc.Options{Maintain: -1, Patience: -1})
			if _, err = b.Import(t.Context(), bytes.NewReader(forged(t, "acme/anna", entries...))); err != nil {
				require.ErrorIs(t, err, store.ErrDamaged)
				return
			}
			require.NotPanics(t, func() { _, _ = b.In("acme/anna").Resume(t.Context(), "one") })
		})
	}
}

// A model that plans a task with a number which no machine holds has planned what no worker takes:
// it ends no process. (The inputs of a decision are held to the workers' schemas on the run's goroutine.)
func TestModelPlansAHugeNumber(t *testing.T) {
	t.Parallel()
	s := &script{decide: func(int, reason.Brief) (reason.Decision, error) {
		d := plan("mend the pump")
		d.Tasks[0].Inputs = json.RawMessage(`{"percent":1e9999999}`)
		return d, nil
	}}
	h := s.host()
	h.Workers[0].Input = json.RawMessage(`{"type":"object","properties":{"percent":{"type":"number","maximum":100}}}`)
	a := agent(t, h, nil)
	require.NotPanics(t, func() {
		r, err := a.Run(t.Context(), arc.Objective{Text: "mend the pump"})
		require.NoError(t, err)
		require.Equal(t, arc.Blocked, r.Status)
	})
}

// A run that has a share in a session's budget can be deleted as soon as it has ended.
func TestDeleteRightAfterTheEnd(t *testing.T) {
	t.Parallel()
	s := &script{}
	a := agent(t, s.host(), &arc.Options{Bounds: arc.Bounds{Session: arc.Budget{CostUSD: 1000, Steps: 1000}}, Budget: arc.Budget{Steps: 1}})
	r := run(t, a, arc.Objective{ID: "x", Text: "mend it", Session: "s"})
	require.Equal(t, arc.CauseBudget, r.Cause)
	require.NoError(t, a.In("").Delete(t.Context(), "x"))
}

// As TestPartsThatChangeWhatTheyReturned, with a decision of alternatives: a reasoner that
// uses the memory of its last decision again changes the runs of others.
func TestAlternativesStayAsTheyWere(t *testing.T) {
	t.Parallel()
	s := &script{}
	plan := []reason.Task{{Objective: "the plan of acme", Skill: "work", Inputs: []byte(`{"of":"acme"}`)}}
	s.decide = func(int, reason.Brief) (reason.Decision, error) {
		return reason.Decision{Alternatives: []reason.Alternative{{Approach: "the one", Tasks: plan}}}, nil
	}
	s.do = func(_ int, w act.Work) (act.Result, error) {
		plan[0].Objective = "the plan of ajax" // by the next call, for another tenant
		return done(`1`), nil
	}
	s.judge = func(w act.Work, _ act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: w.Task.Objective == "the plan of acme", Complaint: "another's plan: " + w.Task.Objective}, nil
	}
	r := run(t, agent(t, s.host(), &arc.Options{Attempts: 1}), arc.Objective{Text: "mend the pump", Scope: "acme"})
	require.Equal(t, arc.Delivered, r.Status, r.Reason)
	require.Equal(t, "the plan of acme", r.Deliveries[0].Task.Objective)
}

// Tokens that are more than an int holds do not make a budget endless.
func TestTokensDoNotWrap(t *testing.T) {
	t.Parallel()
	calls := 0
	s := &script{judge: fail("no")}
	s.do = func(int, act.Work) (act.Result, error) {
		calls++
		r := done(`1`)
		r.Usage = act.Usage{TokensIn: math.MaxInt, TokensOut: math.MaxInt}
		return r, nil
	}
	r := run(t, agent(t, s.host("one", "two", "three"), nil), arc.Objective{
		Text: "mend the pump", Tasks: []reason.Task{{Objective: "mend", Skill: "work"}}, Budget: arc.Budget{Tokens: 1000},
	})
	require.Equal(t, arc.CauseBudget, r.Cause, "%s, %d attempts, %+v", r.Reason, calls, r.Usage)
	require.Equal(t, 1, calls)
}

// One run that cannot be read keeps no other from being pruned.
func TestDamagedRunDoesNotEndPruning(t *testing.T) {
	t.Parallel()
	c, st := newClock(), store.NewMem()
	a := agentOn(t, st, (&script{}).host(), &arc.Options{Now: c.Now, Maintain: -1, Retention: arc.Retention{Age: time.Hour}})
	for _, id := range []string{"older", "newer"} {
		run(t, a, arc.Objective{ID: id, Text: "mend " + id})
		c.Add(time.Minute)
	}
	damage(t, st, key.Under("local", "run", "newer"))
	c.Add(2 * time.Hour)
	_ = a.Prune(t.Context()) // it may tell
	_, err := a.In("").Report(t.Context(), "older")
	require.ErrorIs(t, err, store.ErrNotFound)
}

// purged counts how often the files of a store were rewritten without what was deleted.
type purged struct {
	*store.Mem
	times atomic.Int32
}

func (p *purged) Maintain(context.Context) error { return nil }
func (p *purged) Purge(context.Context) error    { p.times.Add(1); return nil }

// Nor a user from being erased, as far as can be known, from the store's files too.
func TestDamagedRunOfAnotherDoesNotEndErase(t *testing.T) {
	t.Parallel()
	st := &purged{Mem: store.NewMem()}
	a := agentOn(t, st, (&script{}).host(), &arc.Options{Maintain: -1})
	run(t, a, arc.Objective{ID: "annas", Text: "mend it", Scope: "acme/anna"})
	run(t, a, arc.Objective{ID: "bens", Text: "mend it", Scope: "acme/ben"})
	damage(t, st, key.Under("acme", "run", "bens"))
	err := a.Erase(t.Context(), "acme/anna")
	_, left := a.In("acme").Report(t.Context(), "annas")
	require.ErrorIs(t, left, store.ErrNotFound, "%v", err)
	require.ErrorIs(t, err, store.ErrDamaged, "it may be of the scope")
	require.EqualValues(t, 1, st.times.Load())
}

// The record of a breaker, which is advice, keeps no tenant closed if it is damaged.
func TestDamagedBreaker(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	_, err := st.Commit(t.Context(), store.Op{Key: key.Under("acme", "breaker", "worker"), Value: []byte("damaged")})
	require.NoError(t, err)
	a := agentOn(t, st, (&script{}).host(), &arc.Options{Maintain: -1})
	r, err := a.Run(t.Context(), arc.Objective{Text: "mend it", Scope: "acme"})
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status)
}

// A damaged proposal keeps no tenant closed. What it had changed holds as far as that is known, which it
// is until the Agent is opened anew; it is told of, and can be deleted.
func TestDamagedProposal(t *testing.T) {
	t.Parallel()
	st, s := store.NewMem(), &script{}
	o := &arc.Options{Maintain: -1}
	a := agentOn(t, st, s.host("v", "w"), o)
	book, err := proposal.Open(t.Context(), st, &proposal.Options{Tenant: "local", Now: newClock().Now})
	require.NoError(t, err)
	pause := func(worker, skill string) proposal.Proposal {
		change := fmt.Appendf(nil, `{"worker":%q,"skill":%q,"standing":"paused"}`, worker, skill)
		p, err := book.Propose(t.Context(), proposal.Proposal{
			Kind: "executor", Subject: worker + skill, Reason: "it fails", Samples: 60, Needs: 1, Change: change,
		})
		require.NoError(t, err)
		return p
	}
	ranked := func(a *arc.Agent) (names []string) {
		ranking, err := a.In("").Rank(t.Context(), "it leaks", reason.Task{})
		require.NoError(t, err)
		for _, r := range ranking {
			names = append(names, r.Candidate.Name)
		}
		return names
	}
	p, other := pause("w", ""), pause("x", "")
	p, err = a.In("").Approve(t.Context(), p.ID, "ada", "")
	require.NoError(t, err)
	require.Equal(t, "applied", p.Status, p.Note)
	require.Equal(t, []string{"v"}, ranked(a))
	damage(t, st, key.Under("local", "meta", "proposal", p.ID))
	again, err := a.In("").Approve(t.Context(), other.ID, "ada", "")
	require.NoError(t, err)
	require.Equal(t, "applied", again.Status, again.Note)
	require.Equal(t, []string{"v"}, ranked(a), "w stays paused")
	b := agentOn(t, st, s.host("v", "w"), o)
	require.Equal(t, []string{"v", "w"}, ranked(b))
	for _, a := range []*arc.Agent{a, b} {
		h, err := a.Health(t.Context(), "")
		require.NoError(t, err)
		require.Equal(t, []string{p.ID}, h.Damaged)
		require.Contains(t, h.String(), p.ID)
		_, err = a.Verify(t.Context())
		require.ErrorIs(t, err, store.ErrDamaged)
		require.ErrorContains(t, err, p.ID)
		_, err = a.Maintain(t.Context(), "")
		require.NoError(t, err)
	}
	_, err = a.In("").Reject(t.Context(), p.ID, "ada", "")
	require.NoError(t, err)
	require.Len(t, ranked(a), 2)
	h, err := a.Health(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, h.Damaged)
}

func damage(t *testing.T, st store.Store, k string) {
	t.Helper()
	e, err := st.Get(t.Context(), k)
	require.NoError(t, err)
	e.Value[len(e.Value)-1] ^= 1
	_, err = st.Commit(t.Context(), store.Op{Key: k, Value: e.Value})
	require.NoError(t, err)
}

// slowUpkeep is a store that is slow at reading when a scope was maintained.
type slowUpkeep struct {
	store.Store
	once        sync.Once
	asked, goOn chan struct{}
}

func (s *slowUpkeep) Get(ctx context.Context, k string) (store.Entry, error) {
	e, err := s.Store.Get(ctx, k)
	if strings.Contains(k, "\x00upkeep\x00acme/anna") {
		s.once.Do(func() { close(s.asked); <-s.goOn })
	}
	return e, err
}

// Nothing of a scope is written after Erase has returned, by what the Agent does by itself either.
func TestNothingIsLeftOfWhatWasErasedBesideMaintenance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &slowUpkeep{Store: store.NewMem(), asked: make(chan struct{}), goOn: make(chan struct{})}
		a, err := arc.New(t.Context(), st, (&script{}).host(), &arc.Options{Seed: 1, Sanitizer: keyed(), Maintain: time.Hour})
		require.NoError(t, err)
		_, err = a.In("acme/anna").Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "the cache is cold"})
		require.NoError(t, err)
		<-st.asked // the background is about to maintain the scope
		done := make(chan error, 1)
		go func() { done <- a.Erase(t.Context(), "acme") }()
		select {
		case err = <-done: // it did not wait for that
			require.NoError(t, err)
			close(st.goOn)
		case <-time.After(2 * time.Second):
			close(st.goOn)
			require.NoError(t, <-done)
		}
		<-time.After(200 * time.Millisecond) // for what the background was about
		require.NoError(t, a.Close())
		for e, err := range st.Scan(t.Context(), store.Range{}) {
			require.NoError(t, err)
			require.NotContains(t, e.Key, "anna")
		}
	})
}

// slowErase is a store that is slow at the first commit that deletes.
type slowErase struct {
	store.Store
	once sync.Once
}

func (s *slowErase) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if slices.ContainsFunc(ops, func(o store.Op) bool { return o.Delete }) {
		s.once.Do(func() { idle(3 * time.Second) })
	}
	return s.Store.Commit(ctx, ops...)
}

// The same, where the background looks for the first time while Erase is at it.
func TestNothingIsLeftWhereMaintenanceBeginsBesideErase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &slowErase{Store: store.NewMem()}
		a, err := arc.New(t.Context(), st, (&script{}).host(), &arc.Options{Seed: 1, Sanitizer: keyed(), Maintain: time.Hour})
		require.NoError(t, err)
		_, err = a.In("acme/anna").Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "the cache is cold"})
		require.NoError(t, err)
		start := time.Now()
		require.NoError(t, a.Erase(t.Context(), "acme/anna"))
		require.GreaterOrEqual(t, time.Since(start), 3*time.Second)
		idle(time.Second) // for what the background was about
		require.NoError(t, a.Close())
		for e, err := range st.Scan(t.Context(), store.Range{}) {
			require.NoError(t, err)
			require.NotContains(t, e.Key, "anna")
		}
	})
}

// A hook that changes the event that it was given (as sorting its IDs does) changes no run. A hook
// that was left behind may do so at any time later.
func TestHookThatChangesAnEvent(t *testing.T) {
	t.Parallel()
	s := &script{}
	a := agent(t, s.host(), &arc.Options{Hooks: arc.Hooks{Event: func(e arc.Event) {
		for i := range e.IDs {
			e.IDs[i] = "changed"
		}
	}}})
	_, err := a.In("").Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "the cache is cold at night"})
	require.NoError(t, err)
	r := run(t, a, arc.Objective{ID: "x", Text: "is the cache cold at night?"})
	require.NotContains(t, r.Learned, memory.ID("changed"))
	r, err = a.In("").Report(t.Context(), "x")
	require.NoError(t, err)
	require.NotEmpty(t, r.Aims[0].Recalled)
	require.NotContains(t, r.Aims[0].Recalled, memory.ID("changed"))
}

// A worker that changes its work changes nothing of the run: as workersOwn has it, but for effects.
func TestWorkerThatChangesTheEffect(t *testing.T) {
	t.Parallel()
	s := &script{do: func(_ int, w act.Work) (act.Result, error) {
		w.Task.Effect.Path = "data.changed"
		return done(`1`), nil
	}}
	h := s.host()
	h.Workers[0].Effects = []reason.Effect{{Domain: "ci", Path: "data.failing"}}
	r := run(t, agent(t, h, nil), arc.Objective{Text: "mend it", Tasks: []reason.Task{
		{Objective: "mend it", Skill: "work", Effect: &reason.Effect{Domain: "ci", Path: "data.failing"}},
	}})
	require.Equal(t, arc.Delivered, r.Status)
	require.Equal(t, "data.failing", r.Deliveries[0].Task.Effect.Path)
}

// An Actor that is no segment of a scope is refused before anything is done, or left out; its run
// does not end in an error after each attempt, for ever.
func TestActorThatIsNoSegment(t *testing.T) {
	t.Parallel()
	for _, actor := range []string{"the queue", "queue\x00", "a//b", "ü"} {
		s := &script{}
		a := agent(t, s.host(), nil)
		r, err := a.Run(t.Context(), arc.Objective{ID: "x", Text: "mend it", Actor: actor})
		if err == nil {
			require.Equal(t, arc.Delivered, r.Status, actor)
			continue
		}
		require.Empty(t, s.work, "%q: its worker was called: %v", actor, err)
		require.ErrorIs(t, err, arc.ErrObjective, actor)
	}
}

// An approval without end is waited for; it is not over before it was asked for.
func TestApprovalWithoutEnd(t *testing.T) {
	t.Parallel()
	s := &script{}
	h := s.host()
	h.Workers[0].Mode = act.Veto
	a := agent(t, h, &arc.Options{ApprovalTTL: math.MaxInt64, Maintain: -1})
	r := run(t, a, arc.Objective{ID: "x", Text: "delete the old invoices"})
	require.Equal(t, arc.CauseApproval, r.Cause)
	_, err := a.ResumeDue(t.Context())
	require.NoError(t, err)
	require.Empty(t, s.work, "made though nobody was given the time to say no")
}

// An Agent without timeouts, which are negative then, keeps goals.
func TestKeepWithoutTimeouts(t *testing.T) {
	t.Parallel()
	a := agent(t, (&script{}).host(), &arc.Options{ReasonTimeout: -1, AttemptTimeout: -1, GateTimeout: -1})
	c, err := a.Keep(t.Context(), new(goal.World), new(goal.Goals), nil)
	require.NoError(t, err)
	c.Close()
}

// once refuses the next commit of a run.
type refusing struct {
	store.Store
	next bool
}

func (r *refusing) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	for _, op := range ops {
		if r.next && arc.IsRun(op.Key) {
			r.next = false
			return 0, store.ErrFull
		}
	}
	return r.Store.Commit(ctx, ops...)
}

// A verdict that could not be kept, and is another when it is given again, is what is learned.
func TestVerdictThatChangesAfterAnError(t *testing.T) {
	t.Parallel()
	st, s := &refusing{Store: store.NewMem()}, &script{}
	a := agentOn(t, st, s.host(), nil)
	for _, name := range []string{"cache", "pool", "index"} {
		o := mend(name)
		o.ID = name
		run(t, a, o)
	}
	v := a.In("")
	id := recallOne(t, a, memory.Pattern).ID
	before, err := v.Memory().Get(t.Context(), id)
	require.NoError(t, err)
	st.next = true
	err = v.Judge(t.Context(), "index", arc.Verdict{Right: true, Source: "ann", Why: "it works"})
	require.ErrorIs(t, err, store.ErrFull)
	require.NoError(t, v.Judge(t.Context(), "index", arc.Verdict{Right: false, Source: "ann", Why: "it does not, I looked again"}))
	after, err := v.Memory().Get(t.Context(), id)
	require.NoError(t, err)
	require.Greater(t, after.Stats.Misled, before.Stats.Misled, "before %+v, after %+v", before.Stats, after.Stats)
}

// A Key is of one job of a tenant at a time, also after an Import of a user's jobs: it takes the Key
// from a job of another user, of which there are then two.
func TestImportLeavesTheKeyOfAnothersJob(t *testing.T) {
	t.Parallel()
	from, to, s := store.NewMem(), store.NewMem(), &script{}
	a, b := agentOn(t, from, s.host(), &arc.Options{Maintain: -1}), agentOn(t, to, s.host(), &arc.Options{Maintain: -1})
	add := func(st store.Store, scope memory.Scope) (queue.Job, bool) {
		q, err := queue.Open(t.Context(), st, &queue.Options{Scope: "acme"})
		require.NoError(t, err)
		j, added, err := q.Enqueue(t.Context(), queue.Draft{Subject: "look at the inbox", Key: "inbox", Scope: scope})
		require.NoError(t, err)
		return j, added
	}
	add(from, "acme/anna")
	bens, _ := add(to, "acme/ben")
	file := export(t, a, "acme/anna")
	if _, err := b.Import(t.Context(), bytes.NewReader(file)); err != nil {
		require.ErrorIs(t, err, store.ErrConflict)
		return
	}
	has, added := add(to, "acme/ben")
	require.False(t, added)
	require.Equal(t, bens.ID, has.ID, "the job of the key")
}

// One lease that cannot be read keeps no run that is due from going on.
func TestDamagedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, s := store.NewMem(), &script{do: awayDo}
		_, err := mem.Commit(t.Context(), store.Op{Key: key.Join("arc/lease", "local", "other"), Value: []byte("damaged")})
		require.NoError(t, err)
		a := replica(t, mem, "a", s.host(), arc.Options{Patience: -1})
		r := run(t, a, arc.Objective{ID: "x", Text: "mend it"})
		require.Equal(t, arc.Waiting, r.Status)
		s.mu.Lock()
		s.do = nil
		s.mu.Unlock()
		idle(10 * time.Minute)
		require.Equal(t, arc.Delivered, status(t, a, "x"))
	})
}

// A user's file with a run that has used no number of dollars is refused, or counts nothing: it does
// not stop, or free of their budget, the runs of all others of the tenant.
func TestImportOfWhatIsNoNumber(t *testing.T) {
	t.Parallel()
	s := &script{do: awayDo}
	a := agentOn(t, store.NewMem(), s.host(), &arc.Options{Maintain: -1, Patience: -1})
	require.Equal(t, arc.Waiting, run(t, a, arc.Objective{ID: "one", Text: "mend one", Scope: "acme/anna"}).Status)
	entries := opened(t, export(t, a, "acme/anna"))
	i := slices.IndexFunc(entries, func(e store.Entry) bool { return arc.IsRun(e.Key) })
	is, err := arc.DecodeState(entries[i])
	require.NoError(t, err)
	is.Usage.CostUSD = math.NaN()
	entries[i] = sealed(t, entries[i].Key, &is)
	b := agentOn(t, store.NewMem(), s.host(), &arc.Options{Maintain: -1, Patience: -1, Bounds: arc.Bounds{Day: arc.Budget{CostUSD: 100}}})
	if _, err = b.Import(t.Context(), bytes.NewReader(forged(t, "acme/anna", entries...))); err != nil {
		require.ErrorIs(t, err, store.ErrDamaged)
		return
	}
	s.do = nil
	_, err = b.In("acme/anna").Resume(t.Context(), "one")
	require.NoError(t, err)
	r := run(t, b, arc.Objective{Text: "mend another", Scope: "acme/ben"})
	require.Equal(t, arc.Delivered, r.Status, r.Reason)
}

// «With Attempts of 1, no executor is called twice for a task»: nor if its error, or a word in the
// error of a Command, says that it may go away.
func TestOnceIsOnce(t *testing.T) {
	for name, why := range map[string]error{
		"transient":  act.Transient(errors.New("broken pipe, after the money was sent")),
		"words":      act.Classify(errors.New("deploy.sh: exit status 1: connection timed out")),
		"rate limit": &act.RateLimitError{},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				s := &script{do: func(int, act.Work) (act.Result, error) {
					calls++
					return act.Result{}, why
				}}
				r := run(t, agent(t, s.host(), nil), arc.Objective{Text: "pay Ann", Once: true, Attempts: 1})
				require.Equal(t, arc.Blocked, r.Status)
				require.Equal(t, 1, calls)
			})
		})
	}
}

// listing is a store in which something happens while the blocked runs are listed.
type listing struct {
	store.Store
	meanwhile atomic.Pointer[func()]
}

func (l *listing) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range l.Store.Scan(ctx, r) {
			if strings.Contains(r.Prefix, "\x00status\x00blocked") {
				if do := l.meanwhile.Swap(nil); do != nil {
					(*do)()
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Runs that are not finished are never pruned: nor one that was blocked when old runs were listed, and
// that a person has had tried again since.
func TestRetriedRunIsNotPruned(t *testing.T) {
	t.Parallel()
	c, st, s := newClock(), &listing{Store: store.NewMem()}, &script{judge: fail("no")}
	a := agentOn(t, st, s.host(), &arc.Options{Now: c.Now, Maintain: -1, Patience: -1, Retention: arc.Retention{Age: time.Hour}})
	require.Equal(t, arc.Blocked, run(t, a, arc.Objective{ID: "x", Text: "mend it"}).Status)
	c.Add(2 * time.Hour)
	s.do = func(int, act.Work) (act.Result, error) { return awayDo(0, act.Work{}) }
	again := func() {
		r, err := a.In("").Retry(t.Context(), "x", "the key is there now")
		require.NoError(t, err)
		require.Equal(t, arc.Waiting, r.Status)
	}
	st.meanwhile.Store(&again)
	require.NoError(t, a.Prune(t.Context()))
	require.Nil(t, st.meanwhile.Load())
	_, err := a.In("").Report(t.Context(), "x")
	require.NoError(t, err)
}

// What Host.Secrets gives is held to the bounds of Objective.Secrets: a value of one letter is none, and
// does not take that letter out of all that is kept.
func TestHostGivesAShortSecret(t *testing.T) {
	t.Parallel()
	st, s := store.NewMem(), &script{do: awayDo}
	a := agentOn(t, st, s.host(), &arc.Options{Patience: -1, Maintain: -1})
	r := run(t, a, arc.Objective{ID: "x", Text: "mend the pump", Secrets: act.Secrets{"key": "correct horse battery"}})
	require.Equal(t, arc.Waiting, r.Status)
	require.NoError(t, a.Close())
	s.do = nil
	h := s.host()
	h.Secrets = func(context.Context, memory.Scope, string, []string) (map[string]string, error) {
		return map[string]string{"key": "e"}, nil
	}
	b := agentOn(t, st, h, &arc.Options{Patience: -1, Maintain: -1})
	_, err := b.In("").Resume(t.Context(), "x")
	require.NoError(t, err)
	r, err = b.In("").Report(t.Context(), "x")
	require.NoError(t, err)
	require.Equal(t, "mend the pump", r.Objective)
}

// What the host does later with the map of skills that it gave changes no run. (Runs read it without a
// lock: a write beside them ends the process.)
func TestMapOfSkillsStaysAsItWas(t *testing.T) {
	t.Parallel()
	s := &script{}
	h := s.host()
	h.Skills = map[string]reason.Skill{"work": {Name: "work", Agent: "as it was"}}
	a := agent(t, h, nil)
	h.Skills["work"] = reason.Skill{Name: "work", Agent: "changed"}
	run(t, a, arc.Objective{Text: "mend it"})
	require.Equal(t, "as it was", s.work[0].Agent)
}

// paidFor is a host with one worker, which does what a test says.
func paidFor(do act.ExecutorFunc) arc.Host {
	return arc.Host{Gates: []act.Gate{act.NoGate}, Workers: []act.Worker{{Card: rank.Candidate{Name: "w"}, Executor: do}}}
}

var paidTask = []reason.Task{{Objective: "mend it"}}

// What an executor tells to have used counts, also if its time was over: it has returned with the
// error of its context, as it should.
func TestTimedOutAttemptIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := paidFor(func(ctx context.Context, _ act.Work) (act.Result, error) {
			<-ctx.Done()
			return act.Result{Usage: act.Usage{TokensOut: 100, CostUSD: 5}}, ctx.Err()
		})
		a := agent(t, h, &arc.Options{AttemptTimeout: time.Minute, Attempts: 3})
		r := run(t, a, arc.Objective{Text: "mend it", Tasks: paidTask, Budget: arc.Budget{CostUSD: 12}})
		require.Equal(t, act.TimedOut, r.LastEnd)
		require.Equal(t, 10.0, r.Usage.CostUSD, "a third does not fit into the budget of 12")
	})
}

// Nor is it lost if the caller has gone: act.go charges for attempts that were canceled.
func TestCanceledAttemptIsCounted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	h := paidFor(func(ctx context.Context, _ act.Work) (act.Result, error) {
		cancel()
		<-ctx.Done()
		return act.Result{Usage: act.Usage{TokensOut: 100, CostUSD: 5}}, ctx.Err()
	})
	a := agent(t, h, nil)
	_, err := a.Run(ctx, arc.Objective{ID: "x", Text: "mend it", Tasks: paidTask})
	require.ErrorIs(t, err, context.Canceled)
	sum := 0.0
	all, err := a.In("").Costs(t.Context(), time.Time{})
	require.NoError(t, err)
	for _, c := range all {
		sum += c.CostUSD
	}
	require.Equal(t, 5.0, sum)
}

// So does a deliberation whose caller has gone, and one whose time was over.
func TestDeliberationThatIsCutOffIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &script{}
		h, n := s.host(), 0
		h.Reasoner = reason.ReasonerFunc(func(ctx context.Context, b reason.Brief) (reason.Decision, error) {
			switch n++; n {
			case 1:
				cancel()
				fallthrough
			case 2:
				<-ctx.Done()
				return reason.Decision{Usage: reason.Usage{CostUSD: 3}}, ctx.Err()
			}
			return plan(b.Objective), nil
		})
		a := agent(t, h, &arc.Options{ReasonTimeout: time.Minute})
		_, err := a.Run(ctx, arc.Objective{ID: "x", Text: "mend it"})
		require.ErrorIs(t, err, context.Canceled)
		r, err := a.In("").Resume(t.Context(), "x")
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)
		require.Equal(t, 6.0, r.Usage.CostUSD)
		require.Equal(t, 2, r.Deliberations, "that of the caller who has gone is made again")
	})
}

// A run whose record makes the loop panic waits when it is due: else the process, in a goroutine
// of the Agent's, ends again after each restart.
func TestDueRunThatPanicsWaits(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(*arc.State){
		"in a step": func(is *arc.State) {
			is.Aims[0].Cleared, is.Phase, is.Aims[0].Tasks = -1, arc.PhaseReason, nil
		},
		"as it wakes": func(is *arc.State) {
			is.Objective.Once, is.Phase, is.Current = true, arc.PhaseAct, nil
		},
		"without an aim": func(is *arc.State) { is.Aims = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, c, s := store.NewMem(), newClock(), &script{do: awayDo}
			first := agentOn(t, st, s.host(), &arc.Options{Now: c.Now, Maintain: -1, Patience: -1})
			require.Equal(t, arc.Waiting, run(t, first, arc.Objective{ID: "x", Text: "mend it"}).Status)
			require.NoError(t, first.Close())
			e, err := st.Get(t.Context(), key.Under("local", "run", "x"))
			require.NoError(t, err)
			is, err := arc.DecodeState(e)
			require.NoError(t, err)
			damage(&is)
			_, err = st.Commit(t.Context(), store.Op{Key: e.Key, Value: sealed(t, e.Key, &is).Value})
			require.NoError(t, err)
			c.Add(time.Hour)
			var told []int
			a := agentOn(t, st, s.host(), &arc.Options{Now: c.Now, Maintain: -1, Patience: -1, Hooks: arc.Hooks{
				Event: func(e arc.Event) { told = append(told, e.Seq) },
			}})
			n, err := a.ResumeDue(t.Context())
			require.ErrorContains(t, err, "panic")
			require.Equal(t, 1, n)
			is, err = a.LoadState(t.Context(), "x")
			require.NoError(t, err)
			if len(is.Aims) > 0 {
				require.Equal(t, []int{is.Seq}, told)
			}
			require.Equal(t, arc.Waiting, is.Status)
			require.Equal(t, arc.CauseInternal, is.Cause)
			require.Greater(t, is.Wait.Due, c.Now().UnixNano())
			require.GreaterOrEqual(t, is.Wait.Waited, time.Hour, "which is no time of its own")
			n, err = a.ResumeDue(t.Context())
			require.NoError(t, err)
			require.Zero(t, n)
		})
	}
}

// Of calls that are repeated within an attempt each counts, and not the last alone.
func TestRepeatedCallsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		h := paidFor(func(context.Context, act.Work) (act.Result, error) {
			if calls++; calls < 3 {
				return act.Result{Usage: act.Usage{CostUSD: 1}}, act.Transient(errors.New("overloaded"))
			}
			r := done(`1`)
			r.Usage.CostUSD = 1
			return r, nil
		})
		r := run(t, agent(t, h, nil), arc.Objective{Text: "mend it", Tasks: paidTask})
		require.Equal(t, arc.Delivered, r.Status)
		require.Equal(t, 3, calls)
		require.Equal(t, 3.0, r.Usage.CostUSD)
	})
}

// answers is a reasoner whose answers to workers cannot be used, and cost something.
type answers struct{ *script }

func (answers) Answer(context.Context, reason.Brief, []string) (string, reason.Usage, error) {
	return "", reason.Usage{CostUSD: 2}, reason.ErrFormat
}

// An answer for a worker that cannot be used has cost what it has cost.
func TestAnswerThatCannotBeUsedIsCounted(t *testing.T) {
	t.Parallel()
	s := &script{do: func(int, act.Work) (act.Result, error) {
		return act.Result{}, &act.InputRequiredError{Questions: []string{"which?"}}
	}}
	h := s.host()
	h.Reasoner = answers{s}
	r := run(t, agent(t, h, nil), arc.Objective{Text: "mend it"})
	require.Equal(t, arc.Asking, r.Status)
	require.Equal(t, 2.0, r.Usage.CostUSD)
}

// So has one of a model that is longer than answers may be.
func TestAnswerThatIsTooLongIsCounted(t *testing.T) {
	t.Parallel()
	used := reason.Usage{TokensIn: 10, TokensOut: 300_000, CostUSD: 4}
	llm, err := reason.NewLLM(reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) {
		return &reason.Response{Text: strings.Repeat("x", reason.MaxAnswer+1), Usage: used}, nil
	}), nil)
	require.NoError(t, err)
	h := (&script{}).host()
	h.Reasoner = llm
	r := run(t, agent(t, h, &arc.Options{Refusals: 2}), arc.Objective{Text: "mend it"})
	require.Equal(t, arc.Blocked, r.Status)
	require.Equal(t, used.Add(used), r.Usage)
}

// Bad input is an error, and no panic.
func TestNilWriter(t *testing.T) {
	t.Parallel()
	a := agent(t, (&script{}).host(), nil)
	require.NotPanics(t, func() {
		_, err := a.Backup(t.Context(), nil)
		require.Error(t, err)
	})
}

// slowly is a writer that takes nothing before it may.
type slowly struct {
	begun, goOn chan struct{}
	first       atomic.Bool
}

func newSlowly() *slowly { return &slowly{begun: make(chan struct{}), goOn: make(chan struct{})} }

func (s *slowly) Write(p []byte) (int, error) {
	if !s.first.Swap(true) {
		close(s.begun)
	}
	<-s.goOn
	return len(p), nil
}

// A dispatch for a goal that comes while a user of the tenant is exported waits, or was not made; it has
// not come to nothing.
func TestDispatchBesideAnExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		h := s.host()
		h.Workers[0].Effects = []reason.Effect{{Domain: "ci", Path: "data.failing"}}
		a, err := arc.New(t.Context(), store.NewMem(), h, &arc.Options{Maintain: -1, Seed: 1, Sanitizer: keyed()})
		require.NoError(t, err)
		defer func() { require.NoError(t, a.Close()) }()
		var w goal.World
		require.NoError(t, w.Set("ci", goal.Snapshot{Data: map[string]any{"failing": 3}, At: time.Now(), MaxAge: -1}))
		none := 0.0
		gs, err := goal.NewGoals(goal.Goal{ID: "green", Condition: goal.Condition{Selector: "domains.ci.data.failing", Max: &none}})
		require.NoError(t, err)
		c, err := a.Keep(t.Context(), &w, gs, nil)
		require.NoError(t, err)
		defer c.Close()
		out, over := newSlowly(), make(chan error, 1)
		go func() { over <- a.Export(t.Context(), "local/anna", out) }()
		<-out.begun
		_, err = c.Tick(t.Context())
		require.NoError(t, err)
		<-time.After(500 * time.Millisecond)
		close(out.goOn)
		require.NoError(t, <-over)
		require.NoError(t, c.Wait(t.Context()))
		for o, err := range c.Outcomes(t.Context()) {
			require.NoError(t, err)
			require.NotEqual(t, goal.Interrupted, o.End, "%s, with %d calls of a worker", o.Why, len(s.work))
		}
	})
}

// late is a store that holds the first commit of a key back until the second is done.
type late struct {
	store.Store
	part   string
	held   atomic.Int64
	second chan struct{}
}

func (l *late) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	n := int64(0)
	if slices.ContainsFunc(ops, func(op store.Op) bool { return strings.Contains(op.Key, l.part) }) {
		n = l.held.Add(1)
	}
	if n == 1 {
		<-l.second
	}
	rev, err := l.Store.Commit(ctx, ops...)
	if n == 2 {
		close(l.second)
	}
	return rev, err
}

// Of two attempts of a worker that break off, the one that was heard of last is kept, whichever run is committed first.
func TestBreakersThatAreCommittedInTheOtherOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := key.Under("local", "breaker", "worker")
		st := &late{Store: store.NewMem(), part: k, second: make(chan struct{})}
		s := &script{do: func(int, act.Work) (act.Result, error) { return act.Result{}, errBoom }}
		a := agentOn(t, st, s.host(), &arc.Options{Attempts: 1, Maintain: -1})
		var all sync.WaitGroup
		for i := range 2 {
			all.Go(func() { _, _ = a.Run(t.Context(), arc.Objective{Text: fmt.Sprint("mend ", i), Tasks: paidTask}) })
			synctest.Wait()
		}
		all.Wait()
		e, err := st.Get(t.Context(), k)
		require.NoError(t, err)
		var is struct {
			Faults int `cbor:"226,keyasint,omitempty"`
		}
		require.NoError(t, codec.Decode(e, &is))
		require.Equal(t, 2, is.Faults)
	})
}
