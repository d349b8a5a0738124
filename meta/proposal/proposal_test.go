package proposal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/guard/guardtest"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/store"
)

// config is what proposals change: a configuration of one number.
type config struct {
	mu      sync.Mutex
	applied []string // ids
	limit   int
	fail    error
	panics  bool
	final   bool // cannot be undone
}

func (c *config) apply(_ context.Context, p proposal.Proposal) (undo json.RawMessage, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.applied = append(c.applied, p.ID)
	if c.panics {
		panic("no such config")
	}
	if c.fail != nil {
		return nil, c.fail
	}
	var change struct{ Limit int }
	if !c.final {
		undo = fmt.Appendf(nil, `{"limit":%d}`, c.limit)
	}
	err = json.Unmarshal(p.Change, &change)
	c.limit = change.Limit
	return undo, err
}

// count returns how many entries a store has.
func count(t *testing.T, st store.Store) (n int) {
	for _, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		n++
	}
	return n
}

type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time      { return time.Unix(1_800_000_000+c.at.Load(), 0) }
func (c *clock) add(d time.Duration) { c.at.Add(int64(d / time.Second)) }

func proposals(t require.TestingT, st store.Store, c *config, cl *clock) *proposal.Book {
	b, err := proposal.Open(context.Background(), st, &proposal.Options{Now: cl.now, Apply: c.apply})
	require.NoError(t, err)
	return b
}

func draft(samples int) proposal.Proposal {
	return proposal.Proposal{Kind: "config", Subject: "deploy", Change: []byte(`{"limit":3}`), Reason: "it fails", Samples: samples}
}

func TestProposalNeedsEvidenceAndApproval(t *testing.T) {
	t.Parallel()
	c, cl := &config{}, &clock{}
	st := store.NewMem()
	ps := proposals(t, st, c, cl)
	p, err := ps.Propose(t.Context(), draft(20))
	require.NoError(t, err)
	require.Equal(t, "gathering", p.Status)
	_, err = ps.Decide(t.Context(), p.ID, "approve", "ada", "looks right")
	require.ErrorIs(t, err, store.ErrConflict)
	q, err := ps.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	require.Equal(t, p.ID, q.ID, "the same subject, the same proposal")
	require.Equal(t, "open", q.Status)
	require.Zero(t, c.limit)
	p, err = ps.Decide(t.Context(), p.ID, "approve", "ada", "looks right")
	require.NoError(t, err)
	require.Equal(t, "applied", p.Status)
	require.Equal(t, []string{"ada", "looks right"}, []string{p.By, p.Note})
	require.Equal(t, 3, c.limit)
	_, err = ps.Decide(t.Context(), p.ID, "approve", "ada", "")
	require.ErrorIs(t, err, store.ErrConflict)
	_, err = ps.Decide(t.Context(), p.ID, "reject", "bob", "")
	require.ErrorIs(t, err, store.ErrConflict)
	require.Len(t, c.applied, 1)
	_, err = ps.Decide(t.Context(), "unknown", "approve", "ada", "")
	require.ErrorIs(t, err, store.ErrNotFound)
	require.EqualError(t, err, `approve proposal "unknown": not found`)
	next, err := proposals(t, st, c, cl).Propose(t.Context(), draft(60))
	require.NoError(t, err)
	require.NotEqual(t, p.ID, next.ID)
	require.Len(t, c.applied, 1)
}

func TestRejectedSubjectRests(t *testing.T) {
	t.Parallel()
	c, cl := &config{}, &clock{}
	ps := proposals(t, store.NewMem(), c, cl)
	p, err := ps.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	p, err = ps.Decide(t.Context(), p.ID, "reject", "bob", "the key is sk-ant-api03-"+strings.Repeat("qZ7k", 10))
	require.NoError(t, err)
	require.Equal(t, "rejected", p.Status)
	require.NotContains(t, p.Note, "qZ7k")
	again, err := ps.Propose(t.Context(), draft(99))
	require.NoError(t, err)
	require.Equal(t, p, again)
	more, err := ps.Propose(t.Context(), draft(100))
	require.NoError(t, err)
	require.Equal(t, "open", more.Status, "the evidence has doubled")
	_, err = ps.Decide(t.Context(), more.ID, "reject", "bob", "no")
	require.NoError(t, err)
	cl.add(8 * 24 * time.Hour)
	later, err := ps.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	require.Equal(t, "open", later.Status)
}

// unread is a store whose scans fail once it is told so.
type unread struct {
	store.Store
	fails bool
}

func (u *unread) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	if !u.fails {
		return u.Store.Scan(ctx, r)
	}
	return func(yield func(store.Entry, error) bool) { yield(store.Entry{}, store.ErrFailed) }
}

func TestApprovalWhereTheOthersCannotBeRead(t *testing.T) {
	t.Parallel()
	st := &unread{Store: store.NewMem()}
	ps := proposals(t, st, &config{}, &clock{})
	p, err := ps.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	st.fails = true
	got, err := ps.Decide(t.Context(), p.ID, "approve", "bob", "yes")
	require.ErrorIs(t, err, store.ErrFailed)
	require.Equal(t, "open", got.Status)
	st.fails = false
	for got, err := range ps.All(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, "open", got.Status)
	}
}

// A clock that begins in 2000, or stands ahead, and is set right has proposals neither pile
// up nor rest for as long as it was wrong.
func TestProposalsWhenTheClockIsSet(t *testing.T) {
	t.Parallel()
	c, cl := &config{}, &clock{}
	ps := proposals(t, store.NewMem(), c, cl)
	const year = 365 * 24 * time.Hour
	cl.add(-27 * year)
	early, err := ps.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	cl.add(27 * year)
	first, err := ps.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	require.Less(t, early.ID, first.ID)
	cl.add(time.Second)
	second, err := ps.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	require.Equal(t, first.ID, second.ID, "it takes over what is undecided")

	cl.add(year)
	ahead, err := ps.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	_, err = ps.Decide(t.Context(), ahead.ID, "reject", "bob", "no")
	require.NoError(t, err)
	cl.add(-year)
	again, err := ps.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	require.Equal(t, "open", again.Status)
	_, err = ps.Decide(t.Context(), again.ID, "approve", "bob", "yes")
	require.NoError(t, err)
	cl.add(-year)
	d := draft(50)
	d.Subject = "build"
	later, err := ps.Propose(t.Context(), d)
	require.NoError(t, err)
	later, err = ps.Decide(t.Context(), later.ID, "approve", "bob", "yes")
	require.NoError(t, err)
	for p, err := range ps.All(t.Context()) {
		require.NoError(t, err)
		require.True(t, p.ID == later.ID || p.Decided.Before(later.Decided) || p.Status != "applied", "what was approved last holds")
	}
}

func TestProposalExpires(t *testing.T) {
	t.Parallel()
	c, cl := &config{}, &clock{}
	ps := proposals(t, store.NewMem(), c, cl)
	p, err := ps.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	cl.add(7*24*time.Hour - time.Second)
	require.Equal(t, "open", status(t, ps, p.ID))
	cl.add(time.Second)
	for _, verdict := range []string{"approve", "reject"} {
		_, err = ps.Decide(t.Context(), p.ID, verdict, "ada", "")
		require.ErrorIs(t, err, store.ErrConflict)
	}
	for q, err := range ps.All(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, "expired", q.Status)
		require.Equal(t, p.Expires, q.Decided)
		require.Equal(t, "no person decided in time", q.Note)
	}
	require.Empty(t, c.applied)
	next, err := ps.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	require.NotEqual(t, p.ID, next.ID)
}

// What was dropped is gone, and no later proposal is taken for it.
func TestDroppedProposals(t *testing.T) {
	t.Parallel()
	c, cl, st := &config{}, &clock{}, store.NewMem()
	ps := proposals(t, st, c, cl)
	ids := map[string]bool{}
	for range 3 {
		p, err := ps.Propose(t.Context(), draft(50))
		require.NoError(t, err)
		require.False(t, ids[p.ID], "the id is of an earlier one")
		ids[p.ID] = true
		_, err = ps.Decide(t.Context(), p.ID, "approve", "ada", "")
		require.NoError(t, err)
		require.NoError(t, ps.Drop(t.Context(), func(q proposal.Proposal) bool { return q.Status == "pending" }))
		require.Equal(t, "applied", status(t, ps, p.ID))
		before := count(t, st)
		require.NoError(t, ps.Drop(t.Context(), func(q proposal.Proposal) bool { return q.ID == p.ID && q.Status == "applied" }))
		require.Empty(t, status(t, ps, p.ID))
		require.Equal(t, before-1, count(t, st))
		cl.add(time.Second)
	}
}

// What an agent cannot change itself is advice: listed, rejected, never applied.
func TestAdviceIsNoChange(t *testing.T) {
	t.Parallel()
	c, st := &config{}, store.NewMem()
	ps := proposals(t, st, c, &clock{})
	d := draft(10)
	d.Change, d.Needs = nil, 10
	_, err := ps.Propose(t.Context(), d)
	require.ErrorIs(t, err, proposal.ErrInvalid, "neither change nor advice")
	d.Advice = "add a worker"
	p, err := ps.Propose(t.Context(), d)
	require.NoError(t, err)
	require.Equal(t, "open", p.Status)
	before := count(t, st)
	again, err := ps.Propose(t.Context(), d)
	require.NoError(t, err)
	require.Equal(t, p, again)
	require.Equal(t, before, count(t, st))
	_, err = ps.Decide(t.Context(), p.ID, "approve", "ada", "")
	require.ErrorIs(t, err, store.ErrConflict)
	require.ErrorContains(t, err, "add a worker")
	p, err = ps.Decide(t.Context(), p.ID, "reject", "ada", "")
	require.NoError(t, err)
	require.Equal(t, "rejected", p.Status)
	require.Empty(t, c.applied)
}

func TestFailedProposal(t *testing.T) {
	t.Parallel()
	for _, c := range []*config{{fail: errors.New("disk is read-only")}, {panics: true}} {
		ps := proposals(t, store.NewMem(), c, &clock{})
		p, err := ps.Propose(t.Context(), draft(50))
		require.NoError(t, err)
		p, err = ps.Decide(t.Context(), p.ID, "approve", "ada", "")
		require.NoError(t, err)
		require.Equal(t, "failed", p.Status)
		require.NotEmpty(t, p.Note)
		require.Zero(t, c.limit)
	}
}

// A process that ends between the approval and its note goes on when it comes
// back, with the same id.
func TestApprovedIsAppliedAfterACrash(t *testing.T) {
	t.Parallel()
	c, cl := &config{}, &clock{}
	st := &failing{Store: store.NewMem()}
	ps := proposals(t, st, c, cl)
	p, err := ps.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	st.failAt = 2 // the approval is the first commit
	_, err = ps.Decide(t.Context(), p.ID, "approve", "ada", "")
	require.ErrorIs(t, err, store.ErrFull)
	require.Equal(t, []string{p.ID}, c.applied)
	require.Equal(t, "approved", status(t, ps, p.ID))
	st.failAt = 0
	proposals(t, st, c, cl)
	require.Equal(t, []string{p.ID, p.ID}, c.applied)
	proposals(t, st, c, cl)
	require.Len(t, c.applied, 2)
}

func status(t *testing.T, ps *proposal.Book, id string) string {
	for p, err := range ps.All(t.Context()) {
		require.NoError(t, err)
		if p.ID == id {
			return p.Status
		}
	}
	return ""
}

func TestKindsAreSubjectsOfTheirOwn(t *testing.T) {
	t.Parallel()
	ps := proposals(t, store.NewMem(), &config{}, &clock{})
	ids := map[string]bool{}
	for _, kind := range []string{"goal", "config", "executor", "action", "memory"} {
		d := draft(50)
		d.Kind = kind
		p, err := ps.Propose(t.Context(), d)
		require.NoError(t, err)
		ids[p.ID] = true
	}
	require.Len(t, ids, 5)
}

// failing fails its n-th commit from when failAt is set, before it is made.
type failing struct {
	store.Store
	failAt int
}

func (f *failing) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if f.failAt > 0 {
		if f.failAt--; f.failAt == 0 {
			return 0, store.ErrFull
		}
	}
	return f.Store.Commit(ctx, ops...)
}

func TestOneOfManyDecides(t *testing.T) {
	t.Parallel()
	c, cl := &config{}, &clock{}
	ps := proposals(t, store.NewMem(), c, cl)
	p, err := ps.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	var wg sync.WaitGroup
	var decided atomic.Int32
	for i := range 16 {
		wg.Go(func() {
			_, err := ps.Propose(context.Background(), draft(50+i))
			if err != nil {
				t.Error(err)
			}
			if i%2 == 0 {
				_, err = ps.Decide(context.Background(), p.ID, "approve", "ada", "")
			} else {
				_, err = ps.Decide(context.Background(), p.ID, "reject", "bob", "")
			}
			if err == nil {
				decided.Add(1)
			} else if !errors.Is(err, store.ErrConflict) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, int32(1), decided.Load())
	require.LessOrEqual(t, len(c.applied), 1)
}

// An Apply cannot decide about what it is applying.
func TestApplyThatDecides(t *testing.T) {
	t.Parallel()
	var ps *proposal.Book
	calls := 0
	ps, err := proposal.Open(t.Context(), store.NewMem(), &proposal.Options{
		Apply: func(ctx context.Context, p proposal.Proposal) (json.RawMessage, error) {
			calls++
			_, err := ps.Decide(ctx, p.ID, "approve", "eve", "")
			require.ErrorIs(t, err, store.ErrConflict)
			return p.Undo, nil
		},
	})
	require.NoError(t, err)
	p, err := ps.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	p, err = ps.Decide(t.Context(), p.ID, "approve", "ada", "")
	require.NoError(t, err)
	require.Equal(t, "applied", p.Status)
	require.Equal(t, 1, calls)
}

func TestBadProposals(t *testing.T) {
	t.Parallel()
	c := &config{}
	st := store.NewMem()
	ps := proposals(t, st, c, &clock{})
	for name, spoil := range map[string]func(*proposal.Proposal){
		"kind":      func(d *proposal.Proposal) { d.Kind = "x" },
		"subject":   func(d *proposal.Proposal) { d.Subject = " " },
		"no change": func(d *proposal.Proposal) { d.Change = nil },
		"not JSON":  func(d *proposal.Proposal) { d.Change = []byte("{") },
		"samples":   func(d *proposal.Proposal) { d.Samples = -1 },
	} {
		d := draft(50)
		spoil(&d)
		_, err := ps.Propose(t.Context(), d)
		require.ErrorIs(t, err, proposal.ErrInvalid, name)
	}
	d := draft(50)
	d.Reason = strings.Repeat("x", 64<<10+1)
	_, err := ps.Propose(t.Context(), d)
	limit, ok := errors.AsType[*store.LimitError](err)
	require.True(t, ok)
	require.Equal(t, "reason", limit.Field)
	require.Zero(t, count(t, st))
	_, err = ps.Decide(t.Context(), "x", "postpone", "ada", "")
	require.ErrorIs(t, err, proposal.ErrInvalid)
	plain, err := proposal.Open(t.Context(), st, nil) // without Apply
	require.NoError(t, err)
	p, err := plain.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	_, err = plain.Decide(t.Context(), p.ID, "approve", "ada", "")
	require.ErrorIs(t, err, proposal.ErrInvalid)
	p, err = plain.Decide(t.Context(), p.ID, "reject", "ada", "")
	require.NoError(t, err)
	require.Equal(t, "rejected", p.Status)
}

// One step back: the change that Apply returned, unless a later one of the
// subject was applied.
func TestProposalIsUndone(t *testing.T) {
	t.Parallel()
	c, cl, st := &config{limit: 10}, &clock{}, store.NewMem()
	ps := proposals(t, st, c, cl)
	apply := func(limit int) proposal.Proposal {
		d := draft(50)
		d.Change = fmt.Appendf(nil, `{"limit":%d}`, limit)
		p, err := ps.Propose(t.Context(), d)
		require.NoError(t, err)
		_, err = ps.Decide(t.Context(), p.ID, "undo", "ada", "")
		require.ErrorIs(t, err, store.ErrConflict, "not applied yet")
		p, err = ps.Decide(t.Context(), p.ID, "approve", "ada", "")
		require.NoError(t, err)
		require.Equal(t, limit, c.limit)
		return p
	}
	undo := func(id string) (proposal.Proposal, error) {
		return ps.Decide(t.Context(), id, "undo", "bob", "it got worse")
	}
	first, second := apply(3), apply(2)
	require.JSONEq(t, `{"limit":10}`, string(first.Undo))
	_, err := undo(first.ID)
	require.ErrorIs(t, err, store.ErrConflict, "a later change was applied")
	require.Equal(t, 2, c.limit)

	c.fail = errors.New("disk is read-only")
	p, err := undo(second.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"applied", "disk is read-only"}, []string{p.Status, p.Note})
	c.fail = nil
	p, err = undo(second.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"undone", "bob", "it got worse"}, []string{p.Status, p.By, p.Note})
	require.Equal(t, 3, c.limit)
	_, err = undo(second.ID)
	require.ErrorIs(t, err, store.ErrConflict, "one step")
	_, err = undo(first.ID)
	require.NoError(t, err, "the later one was undone")
	require.Equal(t, 10, c.limit)

	c.final = true
	cl.add(8 * 24 * time.Hour) // what was undone rests
	_, err = undo(apply(5).ID)
	require.ErrorIs(t, err, store.ErrConflict, "nothing undoes it")
}

// A process that ends between the undo and its note goes on when it comes back.
func TestUndoIsCarriedOutAfterACrash(t *testing.T) {
	t.Parallel()
	c, cl, st := &config{limit: 10}, &clock{}, &failing{Store: store.NewMem()}
	ps := proposals(t, st, c, cl)
	p, err := ps.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	_, err = ps.Decide(t.Context(), p.ID, "approve", "ada", "")
	require.NoError(t, err)
	st.failAt = 2
	_, err = ps.Decide(t.Context(), p.ID, "undo", "ada", "")
	require.ErrorIs(t, err, store.ErrFull)
	require.Equal(t, "undoing", status(t, ps, p.ID))
	st.failAt = 0
	c.limit = 7 // as if the change had been lost with the process
	require.Equal(t, "undone", status(t, proposals(t, st, c, cl), p.ID))
	require.Equal(t, 10, c.limit)
}

// Any history of calls keeps to the statuses: decided stays decided, what is
// applied was approved by somebody on enough evidence.
func TestProposalModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ctx, c, cl, st := context.Background(), &config{}, &clock{}, store.NewMem()
		ps := proposals(t, st, c, cl)
		known := map[string]proposal.Proposal{}
		t.Repeat(map[string]func(*rapid.T){
			"propose": func(t *rapid.T) {
				d := draft(rapid.IntRange(0, 120).Draw(t, "samples"))
				d.Subject = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "subject")
				_, err := ps.Propose(ctx, d)
				require.NoError(t, err)
			},
			"decide": func(t *rapid.T) {
				for p, err := range ps.All(ctx) {
					require.NoError(t, err)
					if rapid.Bool().Draw(t, "approve") {
						_, err = ps.Decide(ctx, p.ID, "approve", "ada", "")
						require.Equal(t, p.Status == "open", err == nil)
					} else if rapid.Bool().Draw(t, "undo") {
						was := c.limit
						q, err := ps.Decide(ctx, p.ID, "undo", "bob", "")
						if err != nil {
							require.ErrorIs(t, err, store.ErrConflict)
							require.Equal(t, was, c.limit)
							continue
						}
						require.Equal(t, "applied", p.Status)
						if c.fail != nil {
							require.Equal(t, "applied", q.Status)
							require.Equal(t, was, c.limit, "an undo that fails changes nothing")
						} else {
							require.Equal(t, "undone", q.Status)
						}
					} else {
						_, err = ps.Decide(ctx, p.ID, "reject", "bob", "")
						require.Equal(t, p.Status == "open" || p.Status == "gathering", err == nil)
					}
				}
			},
			"wait":   func(t *rapid.T) { cl.add(time.Duration(rapid.IntRange(1, 100).Draw(t, "hours")) * time.Hour) },
			"break":  func(*rapid.T) { c.fail = errors.New("disk is read-only") },
			"mend":   func(*rapid.T) { c.fail = nil },
			"reopen": func(t *rapid.T) { ps = proposals(t, st, c, cl) },
			"": func(t *rapid.T) {
				open := map[string]int{}
				for p, err := range ps.All(ctx) {
					require.NoError(t, err)
					if was, ok := known[p.ID]; ok && !was.Decided.IsZero() && was.Status != "applied" {
						require.Equal(t, was, p)
					}
					switch p.Status {
					case "failed":
						require.NotEmpty(t, p.Note)
					case "applied", "undone":
						require.GreaterOrEqual(t, p.Samples, p.Needs)
						require.Contains(t, c.applied, p.ID)
					case "gathering", "open":
						open[p.Subject]++
						require.Equal(t, p.Status == "open", p.Samples >= p.Needs)
					}
					require.LessOrEqual(t, open[p.Subject], 1)
					known[p.ID] = p
				}
			},
		})
	})
}

func FuzzStoredProposal(f *testing.F) {
	for _, v := range []any{map[int]any{1: "config", 2: "s", 3: []byte(`{}`), 7: "open"}, map[int]any{7: "x"}, 1, map[int]any{3: []byte("{"), 7: "open", 5: -1},
		map[int]any{7: "open", 14: "ask the owner"}, map[int]any{7: "approved", 14: "ask the owner"}} {
		raw, err := cbor.Marshal(v)
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		st := store.NewMem()
		k := key.Join("meta", "proposal", "x-1")
		v, err := codec.Encode(k, cbor.RawMessage(raw))
		if err != nil {
			return
		}
		_, err = st.Commit(t.Context(), store.Op{Key: k, Value: v})
		require.NoError(t, err)
		c := &config{}
		apply := func(ctx context.Context, p proposal.Proposal) (json.RawMessage, error) {
			require.True(t, json.Valid(p.Change))
			return c.apply(ctx, p)
		}
		ps, err := proposal.Open(t.Context(), st, &proposal.Options{Apply: apply})
		require.NoError(t, err)
		for p, err := range ps.All(t.Context()) {
			if err != nil {
				require.ErrorIs(t, err, store.ErrDamaged)
				require.Equal(t, "x-1", p.ID)
				continue
			}
			require.True(t, json.Valid(p.Change) || p.Change == nil && p.Advice != "")
		}
	})
}

// An Apply that does harm is noted as one that failed.
func TestApplyThatDoesHarm(t *testing.T) {
	t.Parallel()
	for name, harm := range guardtest.Errors() {
		c := &config{fail: harm}
		ps := proposals(t, store.NewMem(), c, &clock{})
		p, err := ps.Propose(t.Context(), draft(50))
		require.NoError(t, err, name)
		p, err = ps.Decide(t.Context(), p.ID, "approve", "ada", "")
		require.NoError(t, err, name)
		require.EqualValues(t, "failed", p.Status, name)
		require.True(t, p.Note != "" && utf8.ValidString(p.Note), name)
	}
}

// From an alert to a change, and back: evidence, a person, and the host's Apply.
func Example() {
	ctx, c := context.Background(), &config{limit: 10}
	b, err := proposal.Open(ctx, store.NewMem(), &proposal.Options{Apply: c.apply})
	if err != nil {
		fmt.Println(err)
		return
	}
	var p proposal.Proposal
	for _, samples := range []int{12, 55} { // as the alert comes again
		p, err = b.Propose(ctx, proposal.Proposal{
			Kind: "config", Subject: "deploy", Change: []byte(`{"limit": 3}`),
			Reason: "deploy fails more often than not", Samples: samples,
		})
		fmt.Println(p.Status, p.Samples, "of", p.Needs, err)
	}
	p, err = b.Decide(ctx, p.ID, "approve", "ada", "agreed")
	fmt.Println(p.Status, "by", p.By, err, "the limit is", c.limit)
	p, err = b.Decide(ctx, p.ID, "undo", "ada", "it got worse")
	fmt.Println(p.Status, "by", p.By, err, "the limit is", c.limit)
	for p, err := range b.All(ctx) {
		fmt.Println(p.Kind, p.Subject, p.Status, err)
	}
	// Output:
	// gathering 12 of 50 <nil>
	// open 55 of 50 <nil>
	// applied by ada <nil> the limit is 3
	// undone by ada <nil> the limit is 10
	// config deploy undone <nil>
}
