package proposal_test

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/store"
)

// damage makes a proposal unreadable.
func damage(t *testing.T, st store.Store, id string) {
	t.Helper()
	k := key.Join("meta", "proposal", id)
	e, err := st.Get(t.Context(), k)
	require.NoError(t, err)
	e.Value[len(e.Value)-1] ^= 1
	_, err = st.Commit(t.Context(), store.Op{Key: k, Value: e.Value})
	require.NoError(t, err)
}

// A damaged proposal costs itself: the others are read, decided, carried out and dropped, the same is
// proposed again, and a person can delete it.
func TestDamagedProposalCostsItself(t *testing.T) {
	t.Parallel()
	c, cl, st := &config{}, &clock{}, store.NewMem()
	ps := proposals(t, st, c, cl)
	propose := func(subject string) proposal.Proposal {
		d := draft(50)
		d.Subject = subject
		p, err := ps.Propose(t.Context(), d)
		require.NoError(t, err)
		return p
	}
	was, other, third := propose("deploy"), propose("build"), propose("test")
	damage(t, st, was.ID)
	ps = proposals(t, st, c, cl)
	again := propose("deploy")
	require.Greater(t, again.ID, was.ID, "not in place of the other")
	read := map[string]bool{}
	for p, err := range ps.All(t.Context()) {
		read[p.ID] = err == nil
		if err != nil {
			require.ErrorIs(t, err, store.ErrDamaged)
		}
	}
	require.Equal(t, map[string]bool{was.ID: false, again.ID: true, other.ID: true, third.ID: true}, read)
	for _, p := range []proposal.Proposal{other, again} {
		p, err := ps.Decide(t.Context(), p.ID, "approve", "ada", "")
		require.NoError(t, err)
		require.Equal(t, "applied", p.Status)
	}
	_, err := ps.Decide(t.Context(), was.ID, "approve", "ada", "")
	require.ErrorIs(t, err, store.ErrDamaged)
	require.ErrorIs(t, ps.Drop(t.Context(), func(p proposal.Proposal) bool { return p.ID == third.ID }), store.ErrDamaged)
	require.Equal(t, 3, count(t, st))
	p, err := ps.Decide(t.Context(), was.ID, "reject", "ada", "")
	require.NoError(t, err)
	require.Equal(t, proposal.Proposal{ID: was.ID, Status: "rejected"}, p)
	require.Equal(t, 2, count(t, st))
}

// A verdict whose ctx ends while it is carried out is carried out.
func TestVerdictIsCarriedOutThoughItsCallerLeaves(t *testing.T) {
	t.Parallel()
	for _, verdict := range []string{"approve", "undo"} {
		c, cl, st := &config{limit: 10}, &clock{}, store.NewMem()
		p, err := proposals(t, st, c, cl).Propose(t.Context(), draft(50))
		require.NoError(t, err)
		if verdict == "undo" {
			_, err = proposals(t, st, c, cl).Decide(t.Context(), p.ID, "approve", "ada", "")
			require.NoError(t, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ps, err := proposal.Open(t.Context(), st, &proposal.Options{
			Now: cl.now, Apply: func(ctx context.Context, p proposal.Proposal) (json.RawMessage, error) {
				cancel()
				return c.apply(ctx, p)
			},
		})
		require.NoError(t, err)
		p, err = ps.Decide(ctx, p.ID, verdict, "ada", "")
		require.NoError(t, err)
		require.Equal(t, map[string]string{"approve": "applied", "undo": "undone"}[verdict], p.Status)
		require.Equal(t, p.Status, status(t, ps, p.ID))
	}
}

// An Apply that does not return in time may still make its change: it has not failed, and the same verdict has it made.
func TestVerdictWhoseApplyHangs(t *testing.T) {
	t.Parallel()
	for _, verdict := range []string{"approve", "undo"} {
		synctest.Test(t, func(t *testing.T) {
			c, cl, st := &config{limit: 10}, &clock{}, store.NewMem()
			p, err := proposals(t, st, c, cl).Propose(t.Context(), draft(50))
			require.NoError(t, err)
			if verdict == "undo" {
				_, err = proposals(t, st, c, cl).Decide(t.Context(), p.ID, "approve", "ada", "")
				require.NoError(t, err)
			}
			var hangs atomic.Bool
			hangs.Store(true)
			var alone sync.Mutex
			apply := func(ctx context.Context, p proposal.Proposal) (json.RawMessage, error) {
				if hangs.Load() {
					<-time.After(2 * time.Minute)
				}
				alone.Lock()
				defer alone.Unlock()
				return c.apply(ctx, p)
			}
			open := func() *proposal.Book {
				ps, err := proposal.Open(t.Context(), st, &proposal.Options{Now: cl.now, Apply: apply})
				require.NoError(t, err)
				return ps
			}
			ps := open()
			_, err = ps.Decide(t.Context(), p.ID, verdict, "ada", "")
			require.ErrorContains(t, err, "no answer in time")
			require.Contains(t, []string{"approved", "undoing"}, status(t, ps, p.ID))
			ps = open() // which leaves it as it is
			hangs.Store(false)
			p, err = ps.Decide(t.Context(), p.ID, verdict, "ada", "")
			require.NoError(t, err)
			require.Equal(t, map[string]string{"approve": "applied", "undo": "undone"}[verdict], p.Status)
			<-time.After(5 * time.Minute) // those that were left behind come to an end
			synctest.Wait()
			alone.Lock()
			defer alone.Unlock()
			require.Equal(t, map[string]int{"approve": 3, "undo": 10}[verdict], c.limit)
		})
	}
}

// A verdict whose answer could not be noted is carried out when it is given again, without a restart.
func TestVerdictIsCarriedOutWhenGivenAgain(t *testing.T) {
	t.Parallel()
	c, cl, st := &config{limit: 10}, &clock{}, &failing{Store: store.NewMem()}
	ps := proposals(t, st, c, cl)
	p, err := ps.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	st.failAt = 2
	_, err = ps.Decide(t.Context(), p.ID, "approve", "ada", "")
	require.ErrorIs(t, err, store.ErrFull)
	st.failAt = 0
	p, err = ps.Decide(t.Context(), p.ID, "approve", "bob", "")
	require.NoError(t, err)
	require.Equal(t, "applied", p.Status)
	require.Equal(t, "ada", p.By)
	require.Equal(t, 3, c.limit)
	_, err = ps.Decide(t.Context(), p.ID, "approve", "ada", "")
	require.ErrorIs(t, err, store.ErrConflict)
}

// Two Books that carry out one verdict, one of them late, come to what the last verdict says.
func TestTwoBooksCarryOutOneVerdict(t *testing.T) {
	t.Parallel()
	for _, undone := range []bool{false, true} {
		c, cl, st := &config{limit: 10}, &clock{}, store.NewMem()
		other := proposals(t, st, c, cl)
		p, err := other.Propose(t.Context(), draft(50))
		require.NoError(t, err)
		calls := 0
		late, err := proposal.Open(t.Context(), st, &proposal.Options{
			Now: cl.now, Apply: func(ctx context.Context, p proposal.Proposal) (json.RawMessage, error) {
				if calls++; calls == 1 { // another opens meanwhile, and is faster
					other = proposals(t, st, c, cl)
					if undone {
						_, err := other.Decide(ctx, p.ID, "undo", "bob", "")
						require.NoError(t, err)
						require.Equal(t, 10, c.limit)
					}
				}
				return c.apply(ctx, p)
			},
		})
		require.NoError(t, err)
		p, err = late.Decide(t.Context(), p.ID, "approve", "ada", "")
		require.NoError(t, err)
		want, limit := "applied", 3
		if undone {
			want, limit = "undone", 10
		}
		require.Equal(t, want, p.Status)
		require.Equal(t, limit, c.limit)
		cl.add(time.Hour)
		require.Equal(t, want, status(t, proposals(t, st, c, cl), p.ID))
	}
}
