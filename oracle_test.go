package arc_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// traced is a store that notes what is asked of it.
type traced struct {
	store.Store
	mu   sync.Mutex
	seen []string
}

func (s *traced) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, fmt.Sprintf(format, args...))
}

func (s *traced) Get(ctx context.Context, key string) (store.Entry, error) {
	e, err := s.Store.Get(ctx, key)
	s.note("get %q: %d bytes", key, len(e.Value))
	return e, err
}

func (s *traced) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		s.note("scan %q", r.Prefix)
		for e, err := range s.Store.Scan(ctx, r) {
			s.note("read %q: %d bytes", e.Key, len(e.Value))
			if !yield(e, err) {
				return
			}
		}
	}
}

func (s *traced) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	s.note("commit %d", len(ops))
	return s.Store.Commit(ctx, ops...)
}

// What a tenant asks about an id of another's is answered as if nobody had the id: in
// the same words, and by the same work.
func TestNoOracleBetweenTenants(t *testing.T) {
	t.Parallel()
	st := &traced{Store: store.NewMem()}
	clock := newClock()
	working, on := make(chan struct{}), make(chan struct{})
	s := &script{decide: func(_ int, b reason.Brief) (reason.Decision, error) {
		if strings.Contains(b.Objective, "unclear") {
			return reason.Decision{Complexity: reason.Unclear, Questions: []string{"which?"}}, nil
		}
		return plan(b.Objective), nil
	}}
	s.do = func(_ int, w act.Work) (act.Result, error) {
		if strings.Contains(w.Objective, "slow") {
			close(working)
			<-on
		}
		return done(`"ok"`), nil
	}
	s.judge = func(w act.Work, _ act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: !strings.Contains(w.Objective, "hopeless"), Complaint: "no"}, nil
	}
	a := agentOn(t, st, s.host("one", "two"), &arc.Options{Now: clock.Now, Seed: 1, Maintain: -1, Attempts: 1})
	objective := func(tenant, id, text string) arc.Objective {
		return arc.Objective{ID: id, Text: text, Situation: situation, Session: "session-of-" + tenant, Scope: memory.Scope(tenant)}
	}
	run(t, a, objective("b", "own", "mend the pool"))
	// Nobody has the ids of n; a has those of a, which are as long.
	const nobody = "n-"
	known := map[string]string{"delivered": "mend the cache", "blocked": "a hopeless thing", "asking": "an unclear thing"}
	for id, text := range known {
		run(t, a, objective("a", "a-"+id, text))
	}
	ended := make(chan error)
	go func() {
		_, err := a.Run(context.Background(), objective("a", "a-live", "a slow thing"))
		ended <- err
	}()
	<-working
	receipt, err := a.In("a").Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "the door is red", Key: "a-key"})
	require.NoError(t, err)
	for i := range 4 {
		require.NoError(t, a.In("a").Memory().Feedback(t.Context(), memory.Feedback{
			Key: fmt.Sprint(i), Injected: []memory.ID{receipt.ID}, Misled: []memory.ID{receipt.ID},
		}))
	}
	_, err = a.Maintain(t.Context(), "a")
	require.NoError(t, err)
	proposals := proposed(t, a, "a", "memory")
	require.Len(t, proposals, 1)
	absent := func(id string) string { // of the same form
		return strings.Map(func(r rune) rune {
			if r == '-' {
				return r
			}
			return '7'
		}, id)
	}
	b := a.In("b")
	space := b.Memory()
	ctx := t.Context()
	_, answered := func() (any, error) { return b.Resume(ctx, "own") }() // the tenant is open
	require.NoError(t, answered)

	type ask func(id string) (any, error)
	ofRun := map[string]ask{
		"Resume": func(id string) (any, error) { return b.Resume(ctx, id) },
		"Answer": func(id string) (any, error) { return b.Answer(ctx, id, "the blue one") },
		"Retry":  func(id string) (any, error) { return b.Retry(ctx, id, "it is mended") },
		"Judge":  func(id string) (any, error) { return nil, b.Judge(ctx, id, arc.Verdict{Right: true, Source: "qa"}) },
		"Delete": func(id string) (any, error) { return nil, b.Delete(ctx, id) },
		"Runs": func(id string) (any, error) {
			for _, err := range b.Runs(ctx, arc.Filter{After: id}) {
				return nil, err
			}
			return nil, nil
		},
		"Runs of a session": func(id string) (any, error) {
			n := 0
			for _, err := range b.Runs(ctx, arc.Filter{Session: id}) {
				n++
				if err != nil {
					return n, err
				}
			}
			return n, nil
		},
		"Assess": func(id string) (any, error) { a, err := b.Assess(ctx, id); return a.State, err },
	}
	ofMemory := map[string]ask{
		"Get":    func(id string) (any, error) { return space.Get(ctx, memory.ID(id)) },
		"Forget": func(id string) (any, error) { return nil, space.Forget(ctx, memory.ID(id)) },
		"Trust":  func(id string) (any, error) { return nil, space.Trust(ctx, memory.ID(id)) },
		"Uplift": func(id string) (any, error) { return b.Uplift(ctx, memory.ID(id)) },
	}
	decide := func(verdict func(ctx context.Context, id, by, note string) (proposal.Proposal, error)) ask {
		return func(id string) (any, error) { p, err := verdict(ctx, id, "eve", ""); return p.Status, err }
	}
	ofProposal := map[string]ask{"Approve": decide(b.Approve), "Reject": decide(b.Reject), "Undo": decide(b.Undo)}

	// answer is what is said to an id, and what was done for it.
	answer := func(f ask, id string) (said string, work []string) {
		st.mu.Lock()
		st.seen = nil
		st.mu.Unlock()
		v, err := f(id)
		hide := strings.NewReplacer(id, "ID")
		st.mu.Lock()
		defer st.mu.Unlock()
		for _, line := range st.seen {
			work = append(work, hide.Replace(line))
		}
		if err != nil {
			v = nil // what comes with an error is zero
		}
		return hide.Replace(fmt.Sprintf("%v, %v, not found: %t", v, err, errors.Is(err, store.ErrNotFound))), work
	}
	same := func(name string, f ask, foreign, absent string) {
		t.Helper()
		wantSaid, wantWork := answer(f, absent)
		said, work := answer(f, foreign)
		require.Equal(t, wantSaid, said, "%s %s", name, foreign)
		require.Equal(t, wantWork, work, "%s %s", name, foreign)
	}
	for name, f := range ofRun {
		for _, id := range []string{"delivered", "blocked", "asking", "live"} {
			same(name, f, "a-"+id, nobody+id)
		}
		same(name, f, "session-of-a", "session-of-n")
	}
	for name, f := range ofMemory {
		same(name, f, string(receipt.ID), absent(string(receipt.ID)))
	}
	for name, f := range ofProposal {
		same(name, f, proposals[0].ID, absent(proposals[0].ID))
	}

	// Nor does it show in beginning a run, in a key, or in statistics.
	begin := func(id string) (any, error) {
		r, err := a.Run(ctx, arc.Objective{ID: id, Text: "mend the lamp", Scope: "b", Fresh: true, Episodes: []memory.Scope{}})
		return r.Status, err
	}
	for _, id := range []string{"delivered", "live"} {
		require.NoError(t, b.Delete(ctx, begun(t, begin, nobody+"first-"+id)))
		var work, workForForeign []string
		for range 50 { // what is written behind may be written in the middle of either
			var said, saidOfForeign string
			said, work = answer(begin, nobody+id)
			require.NoError(t, b.Delete(ctx, nobody+id))
			saidOfForeign, workForForeign = answer(begin, "a-"+id)
			require.NoError(t, b.Delete(ctx, "a-"+id))
			require.Equal(t, said, saidOfForeign)
			if len(work) == len(workForForeign) {
				break
			}
		}
		require.Equal(t, len(work), len(workForForeign), "%s\n%s", work, workForForeign)
	}
	for _, key := range []string{"a-key", "n-key"} {
		r, err := space.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: "the door is red", Key: key + "'s"})
		require.NoError(t, err)
		require.NoError(t, space.Forget(ctx, r.ID))
		require.Equal(t, memory.Stored, r.Disposition)
	}
	ranking, err := b.Rank(ctx, situation, reason.Task{Skill: "work"})
	require.NoError(t, err)
	for range 20 {
		clock.Add(time.Minute)
		run(t, a, arc.Objective{Text: "mend the cache", Situation: situation, Scope: "a", Fresh: true})
	}
	again, err := b.Rank(ctx, situation, reason.Task{Skill: "work"})
	require.NoError(t, err)
	require.Equal(t, ranking, again)
	close(on)
	require.NoError(t, <-ended)
}

func begun(t *testing.T, f func(string) (any, error), id string) string {
	t.Helper()
	_, err := f(id)
	require.NoError(t, err)
	return id
}
