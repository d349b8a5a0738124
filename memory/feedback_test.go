package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// three remembers records a, b and c.
func three(t tb, s memory.Space) map[string]memory.ID {
	return map[string]memory.ID{
		"a": remember(t, s, pattern("go build reports an import cycle", "move the shared type down")),
		"b": remember(t, s, pattern("a test fails under the race detector", "guard the map")),
		"c": remember(t, s, pattern("the linter complains of shadowing", "rename the variable")),
	}
}

func TestFeedback(t *testing.T) {
	t.Parallel()
	type names = []string
	for _, c := range []struct {
		name                       string
		injected, utilized, misled names
		delivered                  bool
		want                       map[string]memory.Stats // others: zero
	}{
		{name: "used and unused", injected: names{"a", "b"}, utilized: names{"a"}, delivered: true,
			want: map[string]memory.Stats{"a": {Helped: 1, Exposed: 1, LastUsed: epoch}, "b": {Failed: 1, Exposed: 1}}},
		{name: "nothing named as used", injected: names{"a", "b"}, delivered: true,
			want: map[string]memory.Stats{"a": {Failed: 1, Quiet: 1, Exposed: 1}, "b": {Failed: 1, Quiet: 1, Exposed: 1}}},
		{name: "nothing used, one misled", injected: names{"a", "b"}, misled: names{"b"}, delivered: true,
			want: map[string]memory.Stats{"a": {Failed: 1, Exposed: 1}, "b": {Misled: 1, Exposed: 1}}},
		{name: "not delivered", injected: names{"a", "b"}, utilized: names{"a"}},
		{name: "not delivered, one misled", injected: names{"a", "b"}, utilized: names{"a"}, misled: names{"b"},
			want: map[string]memory.Stats{"b": {Misled: 1, Exposed: 1}}},
		{name: "delivered in spite of one that misled", injected: names{"a", "b"}, utilized: names{"a", "b"}, misled: names{"b"}, delivered: true,
			want: map[string]memory.Stats{"a": {Helped: 1, Exposed: 1, LastUsed: epoch}, "b": {Misled: 1, Exposed: 1}}},
		{name: "misled without being injected", misled: names{"a"},
			want: map[string]memory.Stats{"a": {Misled: 1, Exposed: 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, _ := space(t)
			known := three(t, s)
			of := func(names []string) (out []memory.ID) {
				for _, n := range names {
					out = append(out, known[n])
				}
				return out
			}
			f := memory.Feedback{Key: "k", Injected: of(c.injected), Utilized: of(c.utilized), Misled: of(c.misled), Delivered: c.delivered}
			for range 3 {
				feedback(t, s, f)
				for name, id := range known {
					require.Equal(t, c.want[name], get(t, s, id).Stats, name)
				}
			}
		})
	}
}

// The rows that record counters are facts about the rule of the first program:
// utilized helps, unused counts as failed, others are untouched, duplicates
// count once.
func TestFeedbackCases(t *testing.T) {
	t.Parallel()
	var file struct {
		Cases []struct {
			Name  string
			Input struct{ Utilized, Injected, Existing []string }
			Want  struct{ Counters map[string][2]int }
		}
	}
	read(t, "testdata/feedback.json", &file)
	require.NotEmpty(t, file.Cases)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s, _ := space(t)
			known := three(t, s)
			of := func(names []string) (out []memory.ID) {
				for _, n := range names {
					id, ok := known[n]
					if !ok {
						id = memory.ID(n)
					}
					out = append(out, id)
				}
				return out
			}
			feedback(t, s, memory.Feedback{Key: "k", Injected: of(c.Input.Injected), Utilized: of(c.Input.Utilized), Delivered: true})
			for _, n := range c.Input.Existing {
				st := get(t, s, known[n]).Stats
				require.Equal(t, c.Want.Counters[n], [2]int{st.Helped, st.Failed}, n)
			}
		})
	}
}

func read(t *testing.T, name string, v any) {
	t.Helper()
	raw, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, v))
}

func TestEffectiveness(t *testing.T) {
	t.Parallel()
	of := func(s memory.Stats) float64 { return memory.Record{Stats: s}.Effectiveness() }
	require.Equal(t, 0.5, of(memory.Stats{}))
	require.InDelta(t, 2.0/3, of(memory.Stats{Helped: 1}), 1e-12)
	require.InDelta(t, 1.0/3, of(memory.Stats{Misled: 1}), 1e-12)
	require.InDelta(t, 1/2.5, of(memory.Stats{Failed: 1}), 1e-12)
	require.Equal(t, of(memory.Stats{Misled: 1}), of(memory.Stats{Failed: 2}), "two that were not used weigh as one that misled")
	require.Equal(t, of(memory.Stats{Failed: 1}), of(memory.Stats{Failed: 4, Quiet: 4}), "and as eight where nothing was named")
}

func TestEffectivenessBySituation(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	id := three(t, s)["a"]
	for i := range 10 {
		feedback(t, s, memory.Feedback{Key: fmt.Sprint("good", i), Situation: "good", Injected: []memory.ID{id}, Utilized: []memory.ID{id}, Delivered: true})
		feedback(t, s, memory.Feedback{Key: fmt.Sprint("bad", i), Situation: "bad", Misled: []memory.ID{id}})
	}
	in := func(situation string) float64 {
		h := recall(t, s, memory.Query{Text: "import cycle", Situation: situation})[0]
		require.InDelta(t, 0.5*h.Parts.Relevance+0.3*h.Parts.Effectiveness+0.2*h.Parts.Recency, h.Score, 1e-12)
		return h.Parts.Effectiveness
	}
	require.Equal(t, 0.5, in(""))
	require.Equal(t, 0.5, in("unknown"), "backs off to what holds overall")
	require.InDelta(t, 11.0/12, in("good"), 1e-12)
	require.InDelta(t, 1.0/12, in("bad"), 1e-12)
	for i := range 32 {
		used(t, s, 1, fmt.Sprint("k", i), id)
		feedback(t, s, memory.Feedback{Key: fmt.Sprint("s", i), Situation: fmt.Sprint(i), Injected: []memory.ID{id}, Delivered: true})
	}
	require.Equal(t, in(""), in("good"), "the oldest of more than 32 situations is dropped")
	require.NotEqual(t, in(""), in("0"))
}

func TestBadFeedback(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	id := three(t, s)["a"]
	ctx := context.Background()
	many := make([]memory.ID, 1024+1)
	var limit *store.LimitError
	require.ErrorIs(t, s.Feedback(ctx, memory.Feedback{Injected: []memory.ID{id}, Delivered: true}), memory.ErrEmpty)
	require.ErrorIs(t, s.Feedback(ctx, memory.Feedback{Key: "a\nb"}), memory.ErrID)
	for _, f := range []memory.Feedback{
		{Key: strings.Repeat("k", 257)}, {Key: "k", Injected: many}, {Key: "k", Utilized: many}, {Key: "k", Misled: many},
		{Key: "k", Situation: strings.Repeat("s", memory.MaxText+1)},
	} {
		require.ErrorAs(t, s.Feedback(ctx, f), &limit)
	}
	require.Equal(t, memory.Stats{}, get(t, s, id).Stats)
	feedback(t, s, memory.Feedback{Key: "k", Injected: []memory.ID{"unknown"}, Delivered: true})
}

// Feedback survives a Bank that was closed, and still counts once.
func TestFeedbackAfterReopening(t *testing.T) {
	t.Parallel()
	c, st := newClock(), store.NewMem()
	b, err := memory.Open(context.Background(), st, &memory.Options{Now: c.now, Seed: 1})
	require.NoError(t, err)
	s := b.In("acme")
	id := three(t, s)["a"]
	f := memory.Feedback{Key: "k", Injected: []memory.ID{id}, Utilized: []memory.ID{id}, Delivered: true, Situation: "x"}
	feedback(t, s, f)
	want := recall(t, s, memory.Query{Situation: "x"})
	require.NoError(t, b.Close())
	require.NoError(t, b.Close())
	require.ErrorIs(t, s.Feedback(context.Background(), f), store.ErrClosed)
	require.ErrorIs(t, b.Flush(context.Background()), store.ErrClosed)

	s = open(t, st, c).In("acme")
	require.Equal(t, want, recall(t, s, memory.Query{Situation: "x"}))
	feedback(t, s, f)
	require.Equal(t, want, recall(t, s, memory.Query{Situation: "x"}))
}

// A process that ends between feedback and the next group loses the counters
// and the key together: the feedback can be given again.
func TestFeedbackLostInACrash(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	f := &faulty{Store: st}
	s := open(t, f, newClock()).In("acme")
	id := three(t, s)["a"]
	gone := errors.New("process is gone")
	f.set(always(gone))
	fb := memory.Feedback{Key: "k", Injected: []memory.ID{id}, Utilized: []memory.ID{id}, Delivered: true}
	feedback(t, s, fb)
	require.Equal(t, 1, get(t, s, id).Stats.Helped, "it is visible at once")

	after := open(t, st, newClock()).In("acme")
	require.Equal(t, 0, get(t, after, id).Stats.Helped)
	feedback(t, after, fb)
	require.Equal(t, 1, get(t, after, id).Stats.Helped)
	f.set(nil)
}

func TestFeedbackReachesTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{Store: store.NewMem()}
		s := open(t, f, newClock()).In("acme")
		id := three(t, s)["a"]
		f.set(nil)
		used(t, s, 10, "k", id)
		require.Zero(t, f.count())
		<-time.After(time.Second)
		synctest.Wait()
		require.Equal(t, 1, f.count(), "with the next group")
	})
}

func TestSync(t *testing.T) {
	t.Parallel()
	f := &faulty{Store: store.NewMem()}
	b, err := memory.Open(context.Background(), f, &memory.Options{Sync: true})
	require.NoError(t, err)
	s := b.In("acme")
	id := three(t, s)["a"]
	f.set(nil)
	used(t, s, 1, "a", id)
	require.Equal(t, 1, f.count())
	f.set(always(errDisk))
	fb := memory.Feedback{Key: "b", Injected: []memory.ID{id}, Utilized: []memory.ID{id}, Delivered: true}
	require.ErrorIs(t, s.Feedback(context.Background(), fb), errDisk)
	f.set(nil)
	feedback(t, s, fb)
	require.Equal(t, 2, get(t, s, id).Stats.Helped, "tried again, counted once")
	require.NoError(t, b.Close())
}

func TestOptions(t *testing.T) {
	t.Parallel()
	_, err := memory.Open(context.Background(), nil, &memory.Options{HalfLife: -1})
	require.ErrorContains(t, err, "HalfLife")
	require.ErrorContains(t, err, "no store")
	c := newClock()
	b, err := memory.Open(context.Background(), store.NewMem(), &memory.Options{Now: c.now, HalfLife: time.Hour})
	require.NoError(t, err)
	remember(t, b.In("acme"), memory.Draft{Kind: memory.Fact, Content: "x"})
	c.move(time.Hour)
	require.InDelta(t, 0.5, recall(t, b.In("acme"), memory.Query{})[0].Parts.Recency, 1e-12)
	require.NoError(t, b.Close())
	require.Equal(t, 7*day, 7*24*time.Hour)
}

func TestCancelledContext(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := s.Remember(ctx, pattern("a trigger that is long enough", "c"))
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Recall(ctx, memory.Query{})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, s.Feedback(ctx, memory.Feedback{Key: "k"}), context.Canceled)
}

// What an Actor's feedback has not counted, since the Actor had had a say, no Undo takes back.
func TestUndoOfUnheededFeedback(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	known := three(t, s)
	say := func(key, of, actor string, ids ...memory.ID) {
		feedback(t, s, memory.Feedback{
			Key: key, Injected: ids, Utilized: ids, Delivered: true, Actor: actor, Undo: of != "", Of: of,
		})
	}
	helped := func(name string) int {
		r, err := s.Get(context.Background(), known[name])
		require.NoError(t, err)
		return r.Stats.Helped
	}
	say("1", "", "ann", known["a"])
	say("2", "", "ann", known["a"], known["b"]) // counts for b alone
	require.Equal(t, []int{1, 1}, []int{helped("a"), helped("b")})
	say("3", "2", "ann", known["a"], known["b"])
	require.Equal(t, []int{1, 0}, []int{helped("a"), helped("b")})
	say("3", "2", "ann", known["a"], known["b"])
	say("4", "never", "ann", known["a"])
	require.Equal(t, 1, helped("a"), "there is nothing to take back")
	say("5", "1", "", known["a"])
	require.Zero(t, helped("a"))
	err := s.Feedback(context.Background(), memory.Feedback{Key: "6", Injected: []memory.ID{known["a"]}, Actor: "ann", Undo: true})
	require.ErrorIs(t, err, memory.ErrEmpty)
}

// What a Feedback has counted is taken back once, whatever the keys of the Undos: the
// next one would take what others have said.
func TestUndoIsNotDoneTwice(t *testing.T) {
	t.Parallel()
	for _, actor := range []string{"", "ann"} {
		st := store.NewMem()
		b := open(t, st, newClock())
		known := three(t, b.In("acme"))
		ids := []memory.ID{known["a"], known["b"]}
		say := func(f memory.Feedback) []int {
			f.Injected, f.Utilized, f.Delivered = ids, ids, true
			feedback(t, b.In("acme"), f)
			var helped []int
			for _, id := range ids {
				r, err := b.In("acme").Get(t.Context(), id)
				require.NoError(t, err)
				helped = append(helped, r.Stats.Helped)
			}
			return helped
		}
		say(memory.Feedback{Key: "of the host"})
		say(memory.Feedback{Key: "of bob", Actor: "bob"})
		require.Equal(t, []int{3, 3}, say(memory.Feedback{Key: "1", Actor: actor}))
		for _, key := range []string{"2", "3", "4"} {
			require.Equal(t, []int{2, 2}, say(memory.Feedback{Key: key, Actor: actor, Undo: true, Of: "1"}), "%q %s", actor, key)
		}
		require.Equal(t, []int{2, 2}, say(memory.Feedback{Key: "5", Actor: actor, Undo: true, Of: "3"}), "an Undo has counted nothing")
		require.NoError(t, b.Close())
		b = open(t, st, newClock())
		require.Equal(t, []int{2, 2}, say(memory.Feedback{Key: "6", Actor: actor, Undo: true, Of: "1"}), "after a restart")
	}
}

// An Undo of a Feedback takes no other's back: what it names is more than that has counted. A draft
// that strengthened a record is undone as well.
func TestUndoTakesWhatWasCounted(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	known := three(t, s)
	ids := []memory.ID{known["a"], known["b"], known["c"]}
	feedback(t, s, memory.Feedback{Key: "others", Injected: ids, Utilized: ids, Delivered: true})
	feedback(t, s, memory.Feedback{Key: "1", Injected: ids[:2], Utilized: ids[:1], Misled: ids[2:], Delivered: true})
	r, err := s.Get(t.Context(), ids[0])
	require.NoError(t, err)
	again := memory.Draft{
		Kind: r.Kind, Trigger: r.Trigger, Content: r.Content, Key: "again", Source: memory.Source{Origin: memory.Derived, Run: "r"},
	}
	receipt, err := s.Remember(t.Context(), again)
	require.NoError(t, err)
	require.Equal(t, memory.Strengthened, receipt.Disposition)
	helped := func() (n []int) {
		for _, id := range ids {
			r, err := s.Get(t.Context(), id)
			require.NoError(t, err)
			n = append(n, r.Stats.Helped)
		}
		return n
	}
	require.Equal(t, []int{3, 1, 1}, helped())
	for _, of := range []string{"1", "1", "again", "again", "2"} {
		feedback(t, s, memory.Feedback{Key: "u", Of: of, Undo: true, Injected: ids, Utilized: ids, Delivered: true})
		require.NoError(t, s.Release(t.Context(), []string{"u"}, nil))
	}
	require.Equal(t, []int{1, 1, 1}, helped())
}

// An Undo of what a record counts no more, since 32 other situations came after it, leaves
// counters that the next Open reads.
func TestUndoOfAFormerSituation(t *testing.T) {
	t.Parallel()
	ctx, st := t.Context(), newMem(t)
	b := openWith(t, st, newClock(), nil)
	s := b.In("acme")
	known := three(t, s)
	give := func(f memory.Feedback) {
		f.Delivered, f.Injected = true, []memory.ID{known["a"]}
		require.NoError(t, s.Feedback(ctx, f))
	}
	used := []memory.ID{known["b"]}
	give(memory.Feedback{Key: "first", Situation: "rain", Utilized: used})
	for i := range 32 {
		give(memory.Feedback{Key: fmt.Sprint("sun", i), Situation: fmt.Sprint("sun", i)})
	}
	give(memory.Feedback{Key: "last", Situation: "rain"}) // which names nothing as used
	give(memory.Feedback{Key: "undo", Of: "first", Undo: true, Situation: "rain", Utilized: used})
	require.NoError(t, b.Close())
	b = openWith(t, st, newClock(), nil)
	r, err := b.In("acme").Get(ctx, known["a"])
	require.NoError(t, err)
	require.Equal(t, memory.Stats{Failed: 33, Quiet: 33, Exposed: 33}, r.Stats)
}
