package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

func TestBadDrafts(t *testing.T) {
	t.Parallel()
	good := pattern("a trigger that is long enough", "content")
	with := func(change func(*memory.Draft)) memory.Draft {
		d := good
		change(&d)
		return d
	}
	long := func(n int) string { return strings.Repeat("a", n) }
	for _, c := range []struct {
		name  string
		draft memory.Draft
		want  error
		limit string // field of the *store.LimitError
	}{
		{name: "no kind", draft: with(func(d *memory.Draft) { d.Kind = "" }), want: memory.ErrKind},
		{name: "unknown kind", draft: with(func(d *memory.Draft) { d.Kind = "note" }), want: memory.ErrKind},
		{name: "no content", draft: with(func(d *memory.Draft) { d.Content = "" }), want: memory.ErrEmpty},
		{name: "blank content", draft: with(func(d *memory.Draft) { d.Content = " \n\t" }), want: memory.ErrEmpty},
		{name: "content that does not show", draft: with(func(d *memory.Draft) { d.Content = "\u200b\u202e\u00ad" }), want: memory.ErrEmpty},
		{name: "trigger that does not show", draft: with(func(d *memory.Draft) { d.Trigger = "\u2060" }), want: memory.ErrEmpty},
		{name: "no trigger", draft: with(func(d *memory.Draft) { d.Trigger = "" }), want: memory.ErrEmpty},
		{name: "blank trigger of a failure", draft: with(func(d *memory.Draft) { d.Kind, d.Trigger = memory.Failure, "  " }), want: memory.ErrEmpty},
		{name: "unknown origin", draft: with(func(d *memory.Draft) { d.Source.Origin = "root" }), want: memory.ErrOrigin},
		{name: "long trigger", draft: with(func(d *memory.Draft) { d.Trigger = long(memory.MaxText + 1) }), limit: "trigger"},
		{name: "long content", draft: with(func(d *memory.Draft) { d.Content = long(memory.MaxText + 1) }), limit: "content"},
		{name: "long key", draft: with(func(d *memory.Draft) { d.Key = long(257) }), limit: "key"},
		{name: "long actor", draft: with(func(d *memory.Draft) { d.Actor = long(257) }), limit: "actor"},
		{name: "long thread", draft: with(func(d *memory.Draft) { d.Thread = long(257) }), limit: "thread"},
		{name: "long ref", draft: with(func(d *memory.Draft) { d.Source.Ref = long(257) }), limit: "source ref"},
		{name: "long plan", draft: with(func(d *memory.Draft) { d.Plan = []byte(`"` + long(memory.MaxRecord) + `"`) }), limit: "plan"},
		{name: "large record", draft: with(func(d *memory.Draft) { d.Plan = []byte(`"` + long(memory.MaxRecord-10) + `"`) }), limit: "record"},
		{name: "many links", draft: with(func(d *memory.Draft) { d.Links = make([]memory.Link, memory.MaxLinks+1) }), limit: "links"},
		{name: "empty link", draft: with(func(d *memory.Draft) { d.Links = make([]memory.Link, 1) }), want: memory.ErrEmpty},
		{name: "control character in a key", draft: with(func(d *memory.Draft) { d.Key = "a\x00b" }), want: memory.ErrID},
		{name: "bad UTF-8 in a thread", draft: with(func(d *memory.Draft) { d.Thread = "a\xff" }), want: memory.ErrID},
		{name: "NaN", draft: with(func(d *memory.Draft) { d.Vector = []float32{1, float32(math.NaN())} }), want: memory.ErrVector},
		{name: "infinity", draft: with(func(d *memory.Draft) { d.Vector = []float32{float32(math.Inf(1))} }), want: memory.ErrVector},
		{name: "zero vector", draft: with(func(d *memory.Draft) { d.Vector = []float32{0, 0} }), want: memory.ErrVector},
		{name: "long vector", draft: with(func(d *memory.Draft) { d.Vector = make([]float32, memory.MaxDimension+1) }), limit: "vector"},
		{name: "plan", draft: with(func(d *memory.Draft) { d.Plan = []byte(`{"a":`) }), want: memory.ErrPlan},
		{name: "year 10000", draft: with(func(d *memory.Draft) { d.At = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }), limit: "year of At"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, _ := space(t)
			_, err := s.Remember(context.Background(), c.draft)
			if c.limit != "" {
				var limit *store.LimitError
				require.ErrorAs(t, err, &limit)
				require.Equal(t, c.limit, limit.Field)
				require.Greater(t, limit.Got, limit.Limit)
			} else {
				require.ErrorIs(t, err, c.want)
			}
			require.NotContains(t, err.Error(), "long enough", "errors do not print texts")
			_, err = s.RememberAll(context.Background(), []memory.Draft{good, c.draft})
			require.ErrorContains(t, err, "draft 1")
			require.Empty(t, recall(t, s, memory.Query{}), "nothing was stored")
		})
	}
}

func TestRejected(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	for _, k := range []memory.Kind{memory.Failure, memory.Pattern} {
		r, err := s.Remember(context.Background(), memory.Draft{Kind: k, Trigger: "  too short ", Content: "c"})
		require.NoError(t, err)
		require.Equal(t, memory.Receipt{Disposition: memory.Rejected, Reason: "trigger shorter than 10 characters"}, r)
	}
	remember(t, s, memory.Draft{Kind: memory.Failure, Trigger: "支付网关超时", Content: "as long as three words"})
	remember(t, s, memory.Draft{Kind: memory.Fact, Trigger: "short", Content: "c"})
	remember(t, s, memory.Draft{Kind: memory.Episode, Content: "d"})
	require.Len(t, recall(t, s, memory.Query{}), 3)
}

func TestInvalidTextIsRepaired(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	r := get(t, s, remember(t, s, pattern("a trigger with \xff\xfe in it", "content \xc3")))
	require.Equal(t, "a trigger with \ufffd in it", r.Trigger)
	require.Equal(t, "content \ufffd", r.Content)
	require.True(t, r.Repaired)
}

func TestSameKeyChangesNothing(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	ctx := context.Background()
	d := pattern("go build reports an import cycle", "move the shared type down")
	d.Key = "k1"
	first, err := s.Remember(ctx, d)
	require.NoError(t, err)
	require.Equal(t, memory.Stored, first.Disposition)
	before := get(t, s, first.ID)

	d.Content = "something else entirely"
	again, err := s.Remember(ctx, d)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, before, get(t, s, first.ID))

}

func TestKeyOfADuplicate(t *testing.T) {
	t.Parallel()
	c, st, ctx := newClock(), store.NewMem(), context.Background()
	s := open(t, st, c).In("acme/user-42")
	id := remember(t, s, pattern("go build reports an import cycle", "move the shared type down"))
	d := pattern("go build reports an import cycle", "move the shared type down")
	d.Key, d.Source = "k1", memory.Source{Origin: memory.Derived, Run: "r1"}
	for range 3 {
		r, err := s.Remember(ctx, d)
		require.NoError(t, err)
		require.Equal(t, memory.Receipt{ID: id, Disposition: memory.Strengthened, Into: id}, r)
		require.Equal(t, 1, get(t, s, id).Stats.Helped, "one Key counts once")
	}
	s = open(t, st, c).In("acme/user-42")
	r, err := s.Remember(ctx, d)
	require.NoError(t, err)
	require.Equal(t, memory.Strengthened, r.Disposition)
	require.Equal(t, 1, get(t, s, id).Stats.Helped, "after opening again too")
}

func TestNearDuplicates(t *testing.T) {
	t.Parallel()
	old := pattern("the nightly go build reports an import cycle between two packages", "move the shared type to the lower package")
	derived := memory.Source{Origin: memory.Derived, Run: "r2"}
	for _, c := range []struct {
		name   string
		change func(*memory.Draft)
		want   memory.Disposition
	}{
		{"the same from a verified outcome", func(d *memory.Draft) { d.Source = derived }, memory.Strengthened},
		{"the same from the host", func(d *memory.Draft) {}, memory.Merged},
		{"nearly the same", func(d *memory.Draft) { d.Trigger += " again" }, memory.Merged},
		{"in another order", func(d *memory.Draft) {
			d.Trigger = "an import cycle between two packages: the nightly go build reports"
		}, memory.Merged},
		{"another content", func(d *memory.Draft) { d.Content = "merge both packages" }, memory.Stored},
		{"another trigger", func(d *memory.Draft) { d.Trigger = "a test fails under the race detector" }, memory.Stored},
		{"another kind", func(d *memory.Draft) { d.Kind = memory.Failure }, memory.Stored},
		{"another number", func(d *memory.Draft) { d.Trigger += " 17" }, memory.Stored},
		{"the opposite", func(d *memory.Draft) { d.Content = "do not " + d.Content }, memory.Stored},
		{"from the web", func(d *memory.Draft) { d.Source.Origin = memory.Web }, memory.Stored},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, clock := space(t)
			id := remember(t, s, old)
			clock.move(time.Hour)
			d := old
			c.change(&d)
			r, err := s.Remember(context.Background(), d)
			require.NoError(t, err)
			require.Equal(t, c.want, r.Disposition)
			if c.want == memory.Stored {
				require.NotEqual(t, id, r.ID)
				return
			}
			require.Equal(t, id, r.Into)
			got := get(t, s, id)
			require.Equal(t, old.Trigger, got.Trigger)
			if c.want == memory.Strengthened {
				require.Equal(t, memory.Stats{Helped: 1, LastUsed: clock.now()}, got.Stats)
				require.Equal(t, []memory.Variant{{Source: derived, At: clock.now()}}, got.Variants)
				return
			}
			require.Equal(t, memory.Stats{}, got.Stats, "repetition is no evidence")
			if d.Trigger != old.Trigger {
				require.Equal(t, []memory.Variant{{At: clock.now(), Trigger: d.Trigger, Content: d.Content}}, got.Variants)
			}
		})
	}
}

func TestVariantsAreFound(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	id := remember(t, s, pattern("the nightly go build reports an import cycle between two packages", "move the shared type down"))
	_, err := s.Remember(context.Background(), pattern("the nightly go build reports an import loop cycle between two packages", "move the shared type down"))
	require.NoError(t, err)
	require.Equal(t, []memory.ID{id}, ids(recall(t, s, memory.Query{Text: "loop"})))
}

func TestVariantsAreBounded(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	d := pattern("the nightly go build reports an import cycle between two packages", "move the shared type down")
	id := remember(t, s, d)
	for i := range 40 {
		d.Source = memory.Source{Origin: memory.Derived, Run: fmt.Sprint("run-", i)}
		r, err := s.Remember(context.Background(), d)
		require.NoError(t, err)
		require.Equal(t, memory.Strengthened, r.Disposition)
	}
	r := get(t, s, id)
	require.Equal(t, 40, r.Stats.Helped)
	require.Len(t, r.Variants, 16)
	d.Trigger += " tonight"
	remember(t, s, d) // its words would be lost in a full record
}

func TestPlanOfADuplicate(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	d := pattern("go build reports an import cycle", "move the shared type down")
	id := remember(t, s, d)
	for _, plan := range []string{`{"first":1}`, `{"second":2}`} {
		d.Plan = []byte(plan)
		_, err := s.Remember(context.Background(), d)
		require.NoError(t, err)
		require.JSONEq(t, `{"first":1}`, string(get(t, s, id).Plan))
	}
}

func TestEpisodesAreNeverDuplicates(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	d := memory.Draft{Kind: memory.Episode, Content: "Yes, that sounds good to me!", Thread: "t1"}
	require.NotEqual(t, remember(t, s, d), remember(t, s, d))
}

func TestIDs(t *testing.T) {
	t.Parallel()
	make := func() []memory.ID {
		s, c := space(t)
		var out []memory.ID
		for i := range 20 {
			out = append(out, remember(t, s, memory.Draft{Kind: memory.Episode, Content: "same words"}))
			out = append(out, remember(t, s, memory.Draft{Kind: memory.Fact, Content: fmt.Sprint("fact ", i), Key: fmt.Sprint(i)}))
			c.move(time.Second)
		}
		return out
	}
	first := make()
	require.Equal(t, first, make(), "the same under one clock and seed")
	seen := map[memory.ID]bool{}
	last := memory.ID("")
	for i, id := range first {
		require.False(t, seen[id])
		seen[id] = true
		if i%2 == 0 {
			require.Greater(t, id, last, "in order of time")
			last = id
		}
	}
}

func TestSecretsAreNotKept(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	bank := open(t, st, newClock())
	s := bank.In("acme")
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	d := memory.Draft{
		Kind: memory.Pattern, Trigger: "cloning with " + secret + " fails", Content: "use " + secret, Key: "k",
		Plan: []byte(`{"args":["` + secret + `"]}`), Slot: memory.Slot{Subject: secret, Attribute: secret, Value: secret},
	}
	for _, bad := range []memory.Draft{
		{Key: secret}, {Actor: secret}, {Thread: secret}, {Source: memory.Source{Ref: "r " + secret}}, {Source: memory.Source{Run: secret}},
		{Links: []memory.Link{{To: "x", Rel: secret}}}, {Links: []memory.Link{{To: memory.ID(secret)}}}, {Quotes: []memory.Source{{Ref: secret}}},
	} {
		bad.Kind, bad.Trigger, bad.Content = d.Kind, "cloning fails", "try again"
		_, err := s.Remember(context.Background(), bad)
		require.ErrorIs(t, err, memory.ErrID, "an id is kept as it is")
		require.NotContains(t, err.Error(), secret)
	}
	_, err := bank.In("acme/"+secret).Remember(context.Background(), d)
	require.ErrorIs(t, err, memory.ErrScope)
	require.NotContains(t, err.Error(), secret)
	id := remember(t, s, d)
	feedback(t, s, memory.Feedback{Key: "f", Injected: []memory.ID{id}, Delivered: true, Situation: secret})
	require.NoError(t, s.Forget(context.Background(), remember(t, s, memory.Draft{Kind: memory.Fact, Content: "x " + secret, Key: "2"})))
	r := get(t, s, id)
	told := get(t, s, remember(t, s, memory.Draft{
		Kind: memory.Fact, Content: "guests are let into the network",
		Slot: memory.Slot{Subject: "network", Attribute: "wifi password", Value: "hunter2xyz"},
	}))
	require.Equal(t, memory.Slot{Subject: "network", Attribute: "wifi password", Value: "[REDACTED:password]"}, told.Slot, "the attribute tells it")
	require.NotContains(t, fmt.Sprintf("%q %q %q %q %q %s %v", r.Trigger, r.Content, r.Actor, r.Thread, r.Source, r.Plan, r.Links), secret)
	require.Empty(t, recall(t, s, memory.Query{Text: secret}))
	require.NoError(t, bank.Flush(context.Background()))
	_, err = s.Remember(context.Background(), memory.Draft{Kind: memory.Fact, Content: secret + "\xff", Key: "\x00" + secret})
	require.Error(t, err)
	require.NotContains(t, err.Error(), secret)
	for _, v := range []any{d, r, &d, &r, memory.Hit{Record: r}, []memory.Draft{d}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			require.NotContains(t, fmt.Sprintf(verb, v), secret)
		}
	}
	for e, err := range st.Scan(context.Background(), store.Range{}) {
		require.NoError(t, err)
		require.NotContains(t, e.Key+string(e.Value), secret)
		require.NotContains(t, e.Key+string(e.Value), "hunter2xyz")
	}
}

func TestVectorDimensions(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	ctx := context.Background()
	remember(t, s, memory.Draft{Kind: memory.Fact, Content: "one", Vector: []float32{1, 2}})
	_, err := s.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: "two", Vector: []float32{1, 2, 3}})
	require.ErrorIs(t, err, memory.ErrVector)
	_, err = s.RememberAll(ctx, []memory.Draft{{Kind: memory.Fact, Content: "two"}, {Kind: memory.Fact, Content: "three", Vector: []float32{1}}})
	require.ErrorIs(t, err, memory.ErrVector)
	require.Len(t, recall(t, s, memory.Query{}), 1)
}

func TestRememberAll(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	ctx := context.Background()
	got, err := s.RememberAll(ctx, nil)
	require.NoError(t, err)
	require.Empty(t, got)

	a := pattern("go build reports an import cycle", "move the shared type down")
	b := pattern("a test fails under the race detector", "guard the map")
	b.Key = "b"
	short := pattern("short", "rejected")
	derived := a
	derived.Source.Origin = memory.Derived
	got, err = s.RememberAll(ctx, []memory.Draft{a, b, short, derived, b, b})
	require.NoError(t, err)
	require.Len(t, got, 6)
	var dispositions []memory.Disposition
	for _, r := range got {
		dispositions = append(dispositions, r.Disposition)
	}
	require.Equal(t, []memory.Disposition{
		memory.Stored, memory.Stored, memory.Rejected, memory.Strengthened, memory.Stored, memory.Stored,
	}, dispositions)
	require.Equal(t, got[0].ID, got[3].Into, "duplicates within the call are found")
	require.Equal(t, got[1], got[4])
	require.Len(t, recall(t, s, memory.Query{}), 2)
}

// faulty counts commits and can make them fail, before or after they take
// place.
type faulty struct {
	store.Store
	mu      sync.Mutex
	commits int
	fail    func(n int, ops []store.Op) (before, after error)
}

var errDisk = errors.New("the disk is on fire")

func (f *faulty) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	f.mu.Lock()
	f.commits++
	n, fail := f.commits, f.fail
	f.mu.Unlock()
	var before, after error
	if fail != nil {
		before, after = fail(n, ops)
	}
	if before != nil {
		return 0, before
	}
	rev, err := f.Store.Commit(ctx, ops...)
	return rev, errors.Join(err, after)
}

func (f *faulty) set(fail func(n int, ops []store.Op) (before, after error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
	f.commits = 0
}

func (f *faulty) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.commits
}

func always(err error) func(int, []store.Op) (error, error) {
	return func(int, []store.Op) (error, error) { return err, nil }
}

func TestGroupsFitACommit(t *testing.T) {
	t.Parallel()
	f := &faulty{Store: store.NewMem()}
	s := open(t, f, newClock()).In("acme")
	ds := drafts(3000, 12)
	for i := range 8 {
		d := memory.Draft{Kind: memory.Episode, Content: strings.Repeat("x ", 30_000)}
		d.Plan = []byte(`"` + strings.Repeat("y", 400_000) + `"`)
		ds = append(ds[:i*100], append([]memory.Draft{d}, ds[i*100:]...)...)
	}
	got, err := s.RememberAll(context.Background(), ds)
	require.NoError(t, err)
	require.Len(t, got, len(ds))
	require.Greater(t, f.count(), 8)
	require.Less(t, f.count(), 40)
}

func TestFailedCommitIsNotVisible(t *testing.T) {
	t.Parallel()
	f := &faulty{Store: store.NewMem()}
	s := open(t, f, newClock()).In("acme")
	id := remember(t, s, pattern("go build reports an import cycle", "move the shared type down"))
	before := get(t, s, id)
	f.set(always(errDisk))
	ctx := context.Background()
	_, err := s.Remember(ctx, pattern("a test fails under the race detector", "guard the map"))
	require.ErrorIs(t, err, errDisk)
	_, err = s.RememberAll(ctx, drafts(10, 12))
	require.ErrorIs(t, err, errDisk)
	d := pattern("go build reports an import cycle", "move the shared type down")
	d.Plan = []byte(`{}`)
	_, err = s.Remember(ctx, d)
	require.ErrorIs(t, err, errDisk)
	require.ErrorIs(t, s.Forget(ctx, id), errDisk)
	require.Equal(t, []memory.ID{id}, ids(recall(t, s, memory.Query{})))
	require.Equal(t, before, get(t, s, id))
	f.set(nil)
}

// Groups before the one that fails are kept, and their receipts returned.
func TestRememberAllFailsHalfWay(t *testing.T) {
	t.Parallel()
	f := &faulty{Store: store.NewMem()}
	s := open(t, f, newClock()).In("acme")
	f.set(func(n int, _ []store.Op) (error, error) {
		if n == 2 {
			return errDisk, nil
		}
		return nil, nil
	})
	got, err := s.RememberAll(context.Background(), drafts(2500, 12))
	require.ErrorIs(t, err, errDisk)
	require.NotEmpty(t, got)
	require.Len(t, recall(t, s, memory.Query{K: 10_000}), len(got))
	for _, r := range got {
		get(t, s, r.ID)
	}
	f.set(nil)
}

// A commit whose outcome was unknown is found again by the Key.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	f := &faulty{Store: store.NewMem()}
	s := open(t, f, newClock()).In("acme")
	ctx := context.Background()
	d := pattern("go build reports an import cycle", "move the shared type down")
	d.Key = "k1"
	other := pattern("a test fails under the race detector", "guard the map")
	other.Key = "k2"
	f.set(func(int, []store.Op) (error, error) { return nil, errDisk })
	_, err := s.Remember(ctx, d)
	require.ErrorIs(t, err, errDisk)
	require.Empty(t, recall(t, s, memory.Query{}))
	f.set(nil)
	got, err := s.RememberAll(ctx, []memory.Draft{d, other})
	require.NoError(t, err)
	require.Equal(t, memory.Stored, got[0].Disposition)
	require.Len(t, recall(t, s, memory.Query{}), 2)
}

// TestRevokeAfterAnUnknownOutcome: what is in the store though its commit failed goes with its
// source, also after an outage, and is found once the store takes another record.
func TestRevokeAfterAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, revoked := range []bool{true, false} {
		f, c := &faulty{Store: store.NewMem()}, newClock()
		s := open(t, f, c).In("acme")
		d := pattern("go build reports an import cycle", "move the shared type down")
		d.Source = web("page")
		f.set(func(int, []store.Op) (error, error) { return nil, errDisk })
		_, err := s.Remember(t.Context(), d)
		require.ErrorIs(t, err, errDisk)
		f.set(nil)
		if revoked {
			n, err := s.Revoke(t.Context(), web("page"))
			require.NoError(t, err)
			require.Equal(t, 1, n)
		} else {
			remember(t, s, pattern("a test fails under the race detector", "guard the map"))
		}
		want := map[bool]int{true: 0, false: 2}[revoked]
		require.Len(t, recall(t, s, memory.Query{Archived: true}), want)
		require.Len(t, recall(t, open(t, f.Store, c).In("acme"), memory.Query{Archived: true}), want)
	}
}

// A change whose outcome was unknown has taken place in memory if it has in the store, and
// what is asked for next is not refused for it.
func TestUnknownOutcomeOfAChange(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, change := range map[string]func(b *memory.Bank, id, other memory.ID) error{
		"trust":     func(b *memory.Bank, id, _ memory.ID) error { return b.In("acme").Trust(ctx, id) },
		"supersede": func(b *memory.Bank, id, other memory.ID) error { return b.In("acme").Supersede(ctx, id, other) },
		"forget":    func(b *memory.Bank, id, _ memory.ID) error { return b.In("acme").Forget(ctx, id) },
		"revoke": func(b *memory.Bank, _, _ memory.ID) error {
			_, err := b.In("acme").Revoke(ctx, web("page"))
			return err
		},
		"consolidate": func(b *memory.Bank, _, _ memory.ID) error { _, err := b.In("acme").Consolidate(ctx); return err },
		"erase":       func(b *memory.Bank, _, _ memory.ID) error { return b.Erase(ctx, "acme") },
	} {
		f, c := &faulty{Store: store.NewMem()}, newClock()
		b := open(t, f, c)
		s := b.In("acme")
		id := remember(t, s, memory.Draft{Kind: memory.Fact, Content: "the deploy key is in the vault", Source: web("page")})
		other, _ := apart(t, s, c, pattern(situation, twenty), pattern(situation, twenty+" phi"))
		f.set(func(n int, _ []store.Op) (before, after error) {
			if n == 1 {
				after = errDisk
			}
			return nil, after
		})
		require.ErrorIs(t, change(b, id, other), errDisk, name)
		all := func(b *memory.Bank) (rs []memory.Record) {
			for r, err := range b.In("acme").All(ctx) {
				require.NoError(t, err)
				rs = append(rs, r)
			}
			return rs
		}
		require.Equal(t, all(open(t, f.Store, c)), all(b), name)
		err := change(b, id, other)
		if name == "forget" {
			require.ErrorIs(t, err, store.ErrNotFound, "it is gone")
			err = nil
		}
		require.NoError(t, err, name)
	}
}

// Whoever stores a text waits for the one that is storing it.
func TestDuplicatesWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{Store: store.NewMem()}
		b, err := memory.Open(context.Background(), f, nil)
		require.NoError(t, err)
		s := b.In("acme")
		f.set(func(int, []store.Op) (error, error) {
			<-time.After(time.Second)
			return nil, nil
		})
		d := pattern("go build reports an import cycle", "move the shared type down")
		var g errgroup.Group
		for range 3 {
			<-time.After(10 * time.Millisecond) // they have different ids
			g.Go(func() error {
				_, err := s.Remember(context.Background(), d)
				return err
			})
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		synctest.Wait()
		_, err = s.Remember(ctx, d)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, g.Wait())
		require.Len(t, recall(t, s, memory.Query{}), 1)
		f.set(nil)
		require.NoError(t, b.Close())
	})
}

func TestConcurrentDuplicates(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	keyed := pattern("go build reports an import cycle", "move the shared type down")
	keyed.Key = "k1"
	plain := pattern("a test fails under the race detector", "guard the map")
	plain.Source.Origin = memory.Derived
	var g errgroup.Group
	for range 16 {
		g.Go(func() error {
			r, err := s.Remember(context.Background(), keyed)
			if err == nil && r.Disposition != memory.Stored {
				err = fmt.Errorf("receipt %v", r)
			}
			_, err2 := s.RememberAll(context.Background(), []memory.Draft{plain, keyed})
			return errors.Join(err, err2)
		})
	}
	require.NoError(t, g.Wait())
	hits := recall(t, s, memory.Query{})
	require.Len(t, hits, 2)
	for _, h := range hits {
		if h.Record.Content == plain.Content {
			require.Equal(t, 15, h.Record.Stats.Helped)
		}
	}
}

// Facts that differ in a sign, a symbol, or a name that is an article are not one.
func TestFactsThatDifferInASymbolAreNotMerged(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"Alice writes C.", "Alice writes C++."},
		{"The parser is written in C#.", "The parser is written in C."},
		{"The freezer has to be at -18 degrees.", "The freezer has to be at 18 degrees."},
		{"Invoices of > 500 euros need a second signature.", "Invoices of < 500 euros need a second signature."},
		{"The fee is 5 %.", "The fee is 5 $."},
		{"Bob has blood group A.", "Bob has blood group."},
		{"The user voted 👍 on plan nine.", "The user voted 👎 on plan nine."},
		{"Set a == b before the loop.", "Set a != b before the loop."},
	} {
		s, _ := space(t)
		first, err := s.Remember(context.Background(), memory.Draft{Kind: memory.Fact, Content: pair[0]})
		require.NoError(t, err)
		second, err := s.Remember(context.Background(), memory.Draft{Kind: memory.Fact, Content: pair[1]})
		require.NoError(t, err)
		if second.Disposition != memory.Stored || first.ID == second.ID {
			t.Errorf("%q is lost in %q: %+v", pair[1], pair[0], second)
		}
	}
}
