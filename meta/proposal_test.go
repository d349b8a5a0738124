package meta_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/store"
)

// config is an Applier: a configuration of one number.
type config struct {
	mu      sync.Mutex
	applied []string // ids
	limit   int
	fail    error
	panics  bool
}

func (c *config) Validate(_ context.Context, p meta.Proposal) error {
	var change struct{ Limit *int }
	if err := json.Unmarshal(p.Change, &change); err != nil || change.Limit == nil {
		return errors.New("the schema knows a limit only")
	}
	return nil
}

func (c *config) Apply(_ context.Context, p meta.Proposal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.applied = append(c.applied, p.ID)
	if c.panics {
		panic("no such config")
	}
	if c.fail != nil {
		return c.fail
	}
	var change struct{ Limit int }
	err := json.Unmarshal(p.Change, &change)
	c.limit = change.Limit
	return err
}

var _ meta.Applier = (*config)(nil)

type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time      { return time.Unix(1_800_000_000+c.at.Load(), 0) }
func (c *clock) add(d time.Duration) { c.at.Add(int64(d / time.Second)) }

func proposals(t require.TestingT, st store.Store, c *config, cl *clock) *meta.Proposals {
	ps, err := meta.OpenProposals(context.Background(), st, c, &meta.ProposalOptions{Now: cl.now})
	require.NoError(t, err)
	return ps
}

func draft(samples int) meta.ProposalDraft {
	return meta.ProposalDraft{Kind: meta.ChangeConfig, Subject: "deploy", Change: []byte(`{"limit":3}`), Reason: "it fails", Samples: samples}
}

func TestProposalNeedsEvidenceAndApproval(t *testing.T) {
	t.Parallel()
	c, cl := &config{}, &clock{}
	st := store.NewMem()
	ps := proposals(t, st, c, cl)
	p, err := ps.Propose(t.Context(), draft(20))
	require.NoError(t, err)
	require.Equal(t, meta.Gathering, p.Status)
	_, err = ps.Approve(t.Context(), p.ID, "ada", "looks right")
	require.ErrorIs(t, err, meta.ErrDecided)
	q, err := ps.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	require.Equal(t, p.ID, q.ID, "the same subject, the same proposal")
	require.Equal(t, meta.Pending, q.Status)
	require.Zero(t, c.limit)
	p, err = ps.Approve(t.Context(), p.ID, "ada", "looks right")
	require.NoError(t, err)
	require.Equal(t, meta.Applied, p.Status)
	require.Equal(t, []string{"ada", "looks right"}, []string{p.By, p.Note})
	require.Equal(t, 3, c.limit)
	_, err = ps.Approve(t.Context(), p.ID, "ada", "")
	require.ErrorIs(t, err, meta.ErrDecided)
	_, err = ps.Reject(t.Context(), p.ID, "bob", "")
	require.ErrorIs(t, err, meta.ErrDecided)
	require.Len(t, c.applied, 1)
	_, err = ps.Approve(t.Context(), "unknown", "ada", "")
	require.ErrorIs(t, err, store.ErrNotFound)
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
	p, err = ps.Reject(t.Context(), p.ID, "bob", "the key is sk-ant-api03-"+strings.Repeat("x", 40))
	require.NoError(t, err)
	require.Equal(t, meta.Rejected, p.Status)
	require.NotContains(t, p.Note, "xxxx")
	again, err := ps.Propose(t.Context(), draft(99))
	require.NoError(t, err)
	require.Equal(t, p, again)
	more, err := ps.Propose(t.Context(), draft(100))
	require.NoError(t, err)
	require.Equal(t, meta.Pending, more.Status, "the evidence has doubled")
	_, err = ps.Reject(t.Context(), more.ID, "bob", "no")
	require.NoError(t, err)
	cl.add(8 * 24 * time.Hour)
	later, err := ps.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	require.Equal(t, meta.Pending, later.Status)
}

func TestProposalExpires(t *testing.T) {
	t.Parallel()
	c, cl := &config{}, &clock{}
	ps := proposals(t, store.NewMem(), c, cl)
	p, err := ps.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	cl.add(7*24*time.Hour - time.Second)
	n, err := ps.Expire(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	cl.add(time.Second)
	_, err = ps.Approve(t.Context(), p.ID, "ada", "")
	require.ErrorIs(t, err, meta.ErrDecided)
	for _, want := range []int{1, 0} {
		n, err = ps.Expire(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, n)
		for q, err := range ps.All(t.Context()) {
			require.NoError(t, err)
			require.Equal(t, meta.Expired, q.Status)
			require.Equal(t, p.Expires, q.Decided)
			require.Equal(t, "nobody decided in time", q.Note)
		}
	}
	require.Empty(t, c.applied)
	next, err := ps.Propose(t.Context(), draft(50))
	require.NoError(t, err)
	require.NotEqual(t, p.ID, next.ID)
}

func TestFailedProposal(t *testing.T) {
	t.Parallel()
	for _, c := range []*config{{fail: errors.New("disk is read-only")}, {panics: true}} {
		ps := proposals(t, store.NewMem(), c, &clock{})
		p, err := ps.Propose(t.Context(), draft(50))
		require.NoError(t, err)
		p, err = ps.Approve(t.Context(), p.ID, "ada", "")
		require.NoError(t, err)
		require.Equal(t, meta.Failed, p.Status)
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
	_, err = ps.Approve(t.Context(), p.ID, "ada", "")
	require.ErrorIs(t, err, store.ErrFull)
	require.Equal(t, []string{p.ID}, c.applied)
	require.Equal(t, meta.Approved, status(t, ps, p.ID))
	st.failAt = 0
	proposals(t, st, c, cl)
	require.Equal(t, []string{p.ID, p.ID}, c.applied)
	proposals(t, st, c, cl)
	require.Len(t, c.applied, 2)
}

func status(t *testing.T, ps *meta.Proposals, id string) meta.ProposalStatus {
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
	for _, kind := range []meta.ProposalKind{meta.ChangeGoal, meta.ChangeConfig, meta.ChangeExecutor} {
		d := draft(50)
		d.Kind = kind
		p, err := ps.Propose(t.Context(), d)
		require.NoError(t, err)
		ids[p.ID] = true
	}
	require.Len(t, ids, 3)
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
				_, err = ps.Approve(context.Background(), p.ID, "ada", "")
			} else {
				_, err = ps.Reject(context.Background(), p.ID, "bob", "")
			}
			if err == nil {
				decided.Add(1)
			} else if !errors.Is(err, meta.ErrDecided) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, int32(1), decided.Load())
	require.LessOrEqual(t, len(c.applied), 1)
}

func TestBadProposals(t *testing.T) {
	t.Parallel()
	c := &config{}
	st := store.NewMem()
	ps := proposals(t, st, c, &clock{})
	for name, spoil := range map[string]func(*meta.ProposalDraft){
		"kind":      func(d *meta.ProposalDraft) { d.Kind = "x" },
		"subject":   func(d *meta.ProposalDraft) { d.Subject = " " },
		"no change": func(d *meta.ProposalDraft) { d.Change = nil },
		"not JSON":  func(d *meta.ProposalDraft) { d.Change = []byte("{") },
		"schema":    func(d *meta.ProposalDraft) { d.Change = []byte(`{"x":1}`) },
		"samples":   func(d *meta.ProposalDraft) { d.Samples = -1 },
	} {
		d := draft(50)
		spoil(&d)
		_, err := ps.Propose(t.Context(), d)
		require.ErrorIs(t, err, meta.ErrProposal, name)
	}
	d := draft(50)
	d.Reason = strings.Repeat("x", meta.MaxText+1)
	_, err := ps.Propose(t.Context(), d)
	limit, ok := errors.AsType[*store.LimitError](err)
	require.True(t, ok)
	require.Equal(t, "reason", limit.Field)
	require.Zero(t, count(t, st))
	_, err = meta.OpenProposals(t.Context(), st, nil, nil)
	require.ErrorIs(t, err, meta.ErrProposal)
	_, err = meta.OpenProposals(t.Context(), st, &config{}, &meta.ProposalOptions{Quiet: -1})
	require.ErrorIs(t, err, meta.ErrProposal)
}

// Any history of calls keeps to the statuses: decided stays decided, what is
// applied was approved by somebody on enough evidence.
func TestProposalModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ctx, c, cl, st := context.Background(), &config{}, &clock{}, store.NewMem()
		ps := proposals(t, st, c, cl)
		known := map[string]meta.Proposal{}
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
						_, err = ps.Approve(ctx, p.ID, "ada", "")
						require.Equal(t, p.Status == meta.Pending, err == nil)
					} else {
						_, err = ps.Reject(ctx, p.ID, "bob", "")
						require.Equal(t, p.Status == meta.Pending || p.Status == meta.Gathering, err == nil)
					}
				}
			},
			"wait":   func(t *rapid.T) { cl.add(time.Duration(rapid.IntRange(1, 100).Draw(t, "hours")) * time.Hour) },
			"expire": func(t *rapid.T) { _, err := ps.Expire(ctx); require.NoError(t, err) },
			"reopen": func(t *rapid.T) { ps = proposals(t, st, c, cl) },
			"": func(t *rapid.T) {
				open := map[string]int{}
				for p, err := range ps.All(ctx) {
					require.NoError(t, err)
					if was, ok := known[p.ID]; ok && !was.Decided.IsZero() {
						require.Equal(t, was, p)
					}
					switch p.Status {
					case meta.Applied:
						require.Equal(t, "ada", p.By)
						require.GreaterOrEqual(t, p.Samples, p.Needs)
						require.Contains(t, c.applied, p.ID)
					case meta.Gathering, meta.Pending:
						open[p.Subject]++
						require.Equal(t, p.Status == meta.Pending, p.Samples >= p.Needs)
					}
					require.LessOrEqual(t, open[p.Subject], 1)
					known[p.ID] = p
				}
			},
		})
	})
}

func FuzzStoredProposal(f *testing.F) {
	for _, v := range []any{map[int]any{1: "config", 2: "s", 3: []byte(`{}`), 7: "open"}, map[int]any{7: "x"}, 1, map[int]any{3: []byte("{"), 7: "open", 5: -1}} {
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
		ps, err := meta.OpenProposals(t.Context(), st, &config{}, nil)
		if err != nil {
			require.ErrorIs(t, err, store.ErrDamaged)
			return
		}
		for p, err := range ps.All(t.Context()) {
			require.NoError(t, err)
			require.True(t, json.Valid(p.Change))
		}
	})
}

// From an alert to a change: evidence, a person, and the host's Applier.
func ExampleProposals() {
	ctx, c := context.Background(), &config{limit: 10}
	ps, err := meta.OpenProposals(ctx, store.NewMem(), c, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, samples := range []int{12, 55} { // as the alert comes again
		p, err := ps.Propose(ctx, meta.ProposalDraft{
			Kind: meta.ChangeConfig, Subject: "deploy", Change: []byte(`{"limit": 3}`),
			Reason: "deploy fails more often than not", Samples: samples,
		})
		fmt.Println(p.Status, p.Samples, "of", p.Needs, err)
		if p.Status == meta.Pending {
			p, err = ps.Approve(ctx, p.ID, "ada", "agreed")
			fmt.Println(p.Status, "by", p.By, err, "the limit is", c.limit)
		}
	}
	// Output:
	// gathering 12 of 50 <nil>
	// open 55 of 50 <nil>
	// applied by ada <nil> the limit is 3
}
