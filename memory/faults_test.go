package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// Whatever the store answers, a Bank holds what a Bank that is opened on the store then
// does, and goes on: a call that failed can be made again.
func TestBankHoldsWhatItsStoreHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		st, c := arctest.NewStore(store.NewMem()), newClock()
		opts := memory.Options{
			Now: c.now, Seed: 1, IndexBytes: rapid.SampledFrom([]int64{0, 0, 9000}).Draw(t, "bytes"),
			Sync: rapid.Bool().Draw(t, "sync"),
		}
		b, err := memory.Open(context.Background(), st, &opts)
		require.NoError(t, err)
		defer func() { _ = b.Close() }()
		x := &faults{st: st, c: c, b: b, opts: opts}
		t.Repeat(map[string]func(*rapid.T){
			"remember": x.remember, "remember it": x.remember, "remember all": x.rememberAll, "feedback": x.feedback, "feed back": x.feedback,
			"change": x.change, "change it": x.change, "upkeep": x.upkeep, "wait": x.wait, "": x.check,
		})
	})
}

type faults struct {
	st   *arctest.Store
	c    *clock
	b    *memory.Bank
	opts memory.Options
	ids  []memory.ID
	n    int
}

var faultScopes = []memory.Scope{"acme", "acme/ann", "zeta"}

// try makes a call while the store perhaps fails, and then again while it does not.
func (x *faults) try(t *rapid.T, call func(context.Context) error, allowed ...error) {
	fails := rapid.Bool().Draw(t, "fails")
	if fails {
		n, many := rapid.IntRange(0, 2).Draw(t, "commits"), rapid.IntRange(1, 3).Draw(t, "many")
		x.st.FailNext(n, many, rapid.Bool().Draw(t, "applied"))
	}
	err := call(context.Background())
	x.st.FailNext(0, 0, false)
	is := func(target error) bool { return errors.Is(err, target) }
	if err != nil && !slices.ContainsFunc(allowed, is) {
		require.True(t, fails || is(arctest.ErrStore), "%v", err)
		for range 3 { // what is written behind may fail once more
			if err = call(context.Background()); err == nil || slices.ContainsFunc(allowed, is) {
				return
			}
			require.ErrorIs(t, err, arctest.ErrStore)
		}
		require.NoError(t, err)
	}
}

func (x *faults) draft(t *rapid.T) memory.Draft {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"cache", "build", "cycle", "import", "deploy", "friday"}), 1, 4).Draw(t, "words")
	d := memory.Draft{
		Kind:    rapid.SampledFrom([]memory.Kind{memory.Fact, memory.Pattern, memory.Failure, memory.Episode}).Draw(t, "kind"),
		Trigger: "when it breaks", Content: fmt.Sprint(words),
		Key:    rapid.SampledFrom([]string{"", "", "k1", "k2", "k3"}).Draw(t, "key"),
		Source: memory.Source{Origin: rapid.SampledFrom([]memory.Origin{memory.Host, memory.Web, memory.Derived}).Draw(t, "origin"), Ref: rapid.SampledFrom([]string{"", "page"}).Draw(t, "ref"), Run: rapid.SampledFrom([]string{"", "r1", "r2"}).Draw(t, "run")},
	}
	if d.Kind == memory.Episode {
		d.Thread, d.Passing = rapid.SampledFrom([]string{"", "t"}).Draw(t, "thread"), rapid.Bool().Draw(t, "passing")
	}
	if rapid.IntRange(0, 3).Draw(t, "vector") == 3 {
		d.Vector = []float32{1, float32(len(words))}
	}
	if rapid.IntRange(0, 3).Draw(t, "long") == 3 {
		d.Content += fmt.Sprintf(" %01000d", len(words))
	}
	if len(x.ids) > 0 && rapid.IntRange(0, 3).Draw(t, "links") == 3 {
		d.Links = []memory.Link{{To: rapid.SampledFrom(x.ids).Draw(t, "to")}}
	}
	return d
}

func (x *faults) space(t *rapid.T) memory.Space {
	return x.b.In(rapid.SampledFrom(faultScopes).Draw(t, "scope"))
}

func (x *faults) remember(t *rapid.T) {
	s, d := x.space(t), x.draft(t)
	x.try(t, func(ctx context.Context) error {
		r, err := s.Remember(ctx, d)
		if err == nil && r.ID != "" {
			x.ids = append(x.ids, r.ID)
		}
		return err
	})
}

func (x *faults) rememberAll(t *rapid.T) {
	s := x.space(t)
	var ds []memory.Draft
	for range rapid.IntRange(1, 5).Draw(t, "n") {
		ds = append(ds, x.draft(t))
	}
	x.try(t, func(ctx context.Context) error {
		rs, err := s.RememberAll(ctx, ds)
		for _, r := range rs {
			if r.ID != "" {
				x.ids = append(x.ids, r.ID)
			}
		}
		return err
	})
}

func (x *faults) id(t *rapid.T) memory.ID {
	if len(x.ids) == 0 {
		t.Skip("none")
	}
	return rapid.SampledFrom(x.ids).Draw(t, "id")
}

func (x *faults) feedback(t *rapid.T) {
	s, id := x.space(t), x.id(t)
	x.n++
	f := memory.Feedback{
		Key: fmt.Sprint("f", x.n), Injected: []memory.ID{id, x.id(t)}, Delivered: rapid.Bool().Draw(t, "delivered"),
		Situation: rapid.SampledFrom([]string{"", "down"}).Draw(t, "situation"),
	}
	switch rapid.IntRange(0, 2).Draw(t, "was") {
	case 1:
		f.Utilized = []memory.ID{id}
	case 2:
		f.Misled = []memory.ID{id}
	}
	x.try(t, func(ctx context.Context) error { return s.Feedback(ctx, f) })
}

func (x *faults) change(t *rapid.T) {
	s, id := x.space(t), x.id(t)
	gone := []error{store.ErrNotFound}
	switch rapid.IntRange(0, 6).Draw(t, "change") {
	case 0:
		x.try(t, func(ctx context.Context) error { return s.Trust(ctx, id) }, gone...)
	case 1:
		x.try(t, func(ctx context.Context) error { return s.Forget(ctx, id) }, gone...)
	case 2:
		by := x.id(t)
		x.try(t, func(ctx context.Context) error { return s.Supersede(ctx, id, by) }, append(gone, memory.ErrQuery)...)
	case 3:
		x.try(t, func(ctx context.Context) error { return s.Archive(ctx, id, true) }, gone...)
	case 4:
		x.try(t, func(ctx context.Context) error { return s.Archive(ctx, id, false) }, gone...)
	case 5:
		src := rapid.SampledFrom([]memory.Source{{Run: "r1"}, {Origin: memory.Web, Ref: "page"}, {Origin: memory.Web}}).Draw(t, "source")
		x.try(t, func(ctx context.Context) error { _, err := s.Revoke(ctx, src); return err })
	case 6:
		x.try(t, func(ctx context.Context) error { return s.Release(ctx, []string{"f1", "f2"}, []string{"k1"}) })
	}
}

func (x *faults) upkeep(t *rapid.T) {
	s := x.space(t)
	switch rapid.IntRange(0, 2).Draw(t, "upkeep") {
	case 0:
		x.try(t, func(ctx context.Context) error { _, err := s.Consolidate(ctx); return err })
	case 1:
		x.try(t, func(ctx context.Context) error { _, err := s.Decay(ctx); return err })
	case 2:
		x.try(t, func(ctx context.Context) error { return x.b.Erase(ctx, s.Scope()) })
	}
}

func (x *faults) wait(t *rapid.T) {
	x.c.move(rapid.SampledFrom([]time.Duration{time.Second, time.Hour, 100 * 24 * time.Hour}).Draw(t, "for"))
}

func (x *faults) check(t *rapid.T) {
	ctx := context.Background()
	_ = x.b.Flush(ctx) // what a failed call has left to be written
	require.NoError(t, x.b.Flush(ctx))
	again, err := memory.Open(ctx, x.st, &x.opts)
	require.NoError(t, err)
	defer func() { require.NoError(t, again.Close()) }()
	for _, scope := range faultScopes {
		require.Equal(t, x.seen(t, again.In(scope)), x.seen(t, x.b.In(scope)), scope)
	}
}

func (x *faults) seen(t *rapid.T, s memory.Space) (out []string) {
	for r, err := range s.All(context.Background()) {
		require.NoError(t, err)
		out = append(out, fmt.Sprintf("%s %s %+v %v %v %v", r.ID, r.Content, r.Stats, r.Trusted, r.Archived, len(r.Variants)))
	}
	for _, text := range []string{"cache cycle", "import on a friday"} {
		for _, archived := range []bool{false, true} {
			hits, err := s.Recall(context.Background(), memory.Query{Text: text, K: 50, Archived: archived})
			require.NoError(t, err)
			for _, h := range hits {
				out = append(out, fmt.Sprintf("%s %.6f %+v", h.Record.ID, h.Score, h.Parts))
			}
		}
	}
	return out
}

// silent answers nothing, once it is told to, before the context of a call ends.
type silent struct {
	store.Store
	dead bool
}

func (s *silent) Get(ctx context.Context, key string) (store.Entry, error) {
	if s.dead {
		<-ctx.Done()
		return store.Entry{}, ctx.Err()
	}
	return s.Store.Get(ctx, key)
}

func (s *silent) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if s.dead {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return s.Store.Commit(ctx, ops...)
}

// A call on a store that does not answer ends soon after its context, and can be made again.
func TestChangesEndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &silent{Store: store.NewMem()}
		b, err := memory.Open(t.Context(), st, &memory.Options{Seed: 1})
		require.NoError(t, err)
		defer func() { require.NoError(t, b.Close()) }()
		s := b.In("acme")
		r, err := s.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "the door is blue"})
		require.NoError(t, err)
		was, err := s.Get(t.Context(), r.ID)
		require.NoError(t, err)
		is := was
		is.Content = "the door is green"
		for name, call := range map[string]func(context.Context) error{
			"amend":  func(ctx context.Context) error { return s.Amend(ctx, memory.Amended{Was: was, Is: is}) },
			"forget": func(ctx context.Context) error { return s.Forget(ctx, r.ID) },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			st.dead = true
			over := make(chan error, 1)
			go func() { over <- call(ctx) }()
			select {
			case err := <-over:
				require.ErrorIs(t, err, context.DeadlineExceeded, name)
			case <-time.After(time.Minute):
				t.Fatalf("%s has not returned a minute after its context, of a second, has ended", name)
			}
			st.dead = false
		}
		require.NoError(t, s.Amend(t.Context(), memory.Amended{Was: was, Is: is}))
		require.NoError(t, s.Forget(t.Context(), r.ID))
	})
}
