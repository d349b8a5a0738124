package memory_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

var day0 = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// clock is a time that tests move.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) add(d time.Duration) { c.now = c.now.Add(d) }

// open returns a Bank over a store, with a clock.
func open(t *testing.T, st store.Store, o memory.Options) (*memory.Bank, *clock) {
	t.Helper()
	c := &clock{day0}
	if o.Now == nil {
		o.Now = c.Now
	}
	b, err := memory.Open(t.Context(), store.NewGroup(st), &o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b, c
}

func space(t *testing.T) (memory.Space, *clock) {
	b, c := open(t, store.NewMem(), memory.Options{})
	return b.In("acme/anna"), c
}

func remember(t *testing.T, s memory.Space, d memory.Draft) memory.ID {
	t.Helper()
	r, err := s.Remember(t.Context(), d)
	require.NoError(t, err)
	return r.ID
}

func archive(ctx context.Context, s memory.Space, id memory.ID, archived bool) error {
	return s.Update(ctx, id, func(r *memory.Record) error { r.Archived = archived; return nil })
}

func supersede(ctx context.Context, s memory.Space, old, by memory.ID) error {
	return s.Update(ctx, by, func(r *memory.Record) error { r.Supersedes = append(r.Supersedes, old); return nil })
}

func fact(t *testing.T, s memory.Space, content string) memory.ID {
	t.Helper()
	return remember(t, s, memory.Draft{Kind: memory.Fact, Content: content})
}

// recall returns the contents of the hits.
func recall(t *testing.T, s memory.Space, q memory.Query) (out []string) {
	t.Helper()
	hits, err := s.Recall(t.Context(), q)
	require.NoError(t, err)
	for _, h := range hits {
		require.True(t, h.Score > 0 && h.Score <= 1, "score %v", h.Score)
		out = append(out, h.Record.Content)
	}
	return out
}

func TestWhatWasRememberedIsRecalled(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	b, c := open(t, st, memory.Options{})
	anna := b.In("acme/anna")
	berlin := time.FixedZone("", 3600)
	d := memory.Draft{
		Kind: memory.Pattern, Trigger: "the pipeline fails in the lint step", Content: "run gofmt on generated files first",
		Key: "k1", At: day0.In(berlin), Source: memory.Source{Origin: memory.Host, Ref: "notes.md", Run: "r1"},
		Actor: "anna", Thread: "t1", Links: []memory.Link{{To: "x"}}, Plan: []byte(`{"a":1}`),
	}
	r, err := anna.Remember(t.Context(), d)
	require.NoError(t, err)
	require.Zero(t, r.Strengthened)
	again, err := anna.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "else", Key: "k1"})
	require.NoError(t, err)
	require.Equal(t, r.ID, again.ID)
	rec, err := anna.Get(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, memory.Record{ID: r.ID, Scope: "acme/anna", Draft: d, Trusted: true}, rec)
	require.Equal(t, []string{d.Content}, recall(t, anna, memory.Query{Text: "lint failing?"}))
	require.Empty(t, recall(t, b.In("acme/an"), memory.Query{Text: "lint failing?"}))
	require.Empty(t, recall(t, b.In("acme"), memory.Query{Text: "lint failing?"}))
	require.Equal(t, []string{d.Content}, recall(t, b.In("acme"), memory.Query{Text: "lint", Also: []memory.Scope{"acme/anna"}}))
	_, err = anna.Recall(t.Context(), memory.Query{Text: "lint", Also: []memory.Scope{"other"}})
	require.Error(t, err)

	reopened, _ := open(t, st, memory.Options{Now: c.Now})
	kept, err := reopened.In("acme/anna").Get(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, rec, kept)
	require.Equal(t, []string{d.Content}, recall(t, reopened.In("acme/anna"), memory.Query{Text: "lint failing?"}))
}

// A day that a question names comes first, in the zone of the note and that of the question.
func TestADayThatIsNamed(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	zone := time.FixedZone("", 8*3600)
	for day := 1; day <= 12; day++ {
		remember(t, s, memory.Draft{Kind: memory.Fact, Content: fmt.Sprint("we decide on the standup: item", day),
			At: time.Date(2025, 3, day, 7, 30, 0, 0, zone)})
	}
	at := time.Date(2025, 3, 13, 1, 0, 0, 0, zone) // 12 March in UTC
	for q, item := range map[string]string{
		"What did we decide in the standup on March 6, 2025?": "item6", "3月6日 standup": "item6", "standup of 6.3.2025": "item6",
		"what did we decide in the standup yesterday?": "item12", "昨天 standup": "item12", "standup two days ago": "item11",
	} {
		require.Contains(t, recall(t, s, memory.Query{Text: q, At: at})[0], item, q)
	}
}

// A question that names somebody is answered by what that one has said.
func TestWhomAQuestionNames(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	for actor, said := range map[string]string{"Anna": "I like to go sailing, always", "Ben": "A red bicycle"} {
		remember(t, s, memory.Draft{Kind: memory.Episode, Content: said, Actor: actor})
	}
	relevance := func(q string) float64 {
		hits, err := s.Recall(t.Context(), memory.Query{Text: q})
		require.NoError(t, err)
		return hits[0].Relevance
	}
	require.Greater(t, relevance("Does Anna like sailing?"), 2*relevance("Has Anna a red bicycle?"))
}

// Open takes in many scopes, merged memories and vectors, and finds what was found before.
func TestOpen(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	bank, c := open(t, st, memory.Options{})
	for i, scope := range []memory.Scope{"acme", "acme/anna", "acme/ben"} {
		s := bank.In(scope)
		for n := range 50 {
			_, err := s.Remember(t.Context(), memory.Draft{Kind: memory.Episode, Actor: "Ann", Thread: fmt.Sprint(n % 2),
				Content: fmt.Sprintf("the letter %d goes to street %d", n, n*i), Vector: []float32{1, float32(n), float32(i)}})
			require.NoError(t, err)
			c.add(time.Hour)
		}
		a, b := fact(t, s, "the shop is shut"), fact(t, s, "the shop is closed")
		require.NoError(t, s.Merge(t.Context(), a, b))
		require.NoError(t, s.Forget(t.Context(), fact(t, s, "nothing of this")))
	}
	again, _ := open(t, st, memory.Options{Now: c.Now})
	for _, q := range []memory.Query{{Text: "letter 7"}, {Text: "what did Ann send to street 14 in March?"}, {Text: "closed shop"},
		{Text: "nothing"}, {Text: "letter", Vector: []float32{1, 9, 1}, K: 50}, {Text: "leter", Also: []memory.Scope{"acme"}}} {
		for _, scope := range []memory.Scope{"acme", "acme/anna", "acme/ben"} {
			want, err := bank.In(scope).Recall(t.Context(), q)
			require.NoError(t, err)
			got, err := again.In(scope).Recall(t.Context(), q)
			require.NoError(t, err)
			require.Len(t, got, len(want))
			for i := range want {
				require.InDelta(t, want[i].Score, got[i].Score, 1e-6) // sums of float32, in the order of rows
				require.Equal(t, want[i].Record, got[i].Record, "%d of %q", i, q.Text)
			}
		}
	}
}

// Memories of one instant have one order, now and once the store is opened again.
func TestOrderOfOneInstant(t *testing.T) {
	st := store.NewMem()
	var order [][]memory.ID
	for range 2 {
		b, _ := open(t, st, memory.Options{})
		s, n := b.In("acme/anna"), 0
		for ; len(order) == 0 && n < 12; n++ {
			remember(t, s, memory.Draft{Kind: memory.Fact, Thread: "t", Content: fmt.Sprint("number ", n)})
		}
		latest, err := s.Latest(t.Context(), "t", 20)
		require.NoError(t, err)
		var thread, all []memory.ID
		for _, r := range latest {
			thread = append(thread, r.ID)
		}
		for r, err := range s.All(t.Context()) {
			require.NoError(t, err)
			all = append(all, r.ID)
		}
		order = append(order, thread, all)
	}
	for _, other := range order[1:] {
		require.Equal(t, order[0], other)
	}
}

// What a hit links to, and what links to it, comes along up to K, whatever its kind; what the query would not
// have does not.
func TestLinked(t *testing.T) {
	t.Parallel()
	s, c := space(t)
	lesson := remember(t, s, memory.Draft{Kind: memory.Pattern, Content: "run the migrations twice"})
	hit := remember(t, s, memory.Draft{Kind: memory.Fact, Content: "the deploy failed", Links: []memory.Link{{To: lesson}, {To: "gone"}}})
	behind := remember(t, s, memory.Draft{Kind: memory.Episode, Content: "Bob was on call", Links: []memory.Link{{To: hit}}})
	old := remember(t, s, memory.Draft{Kind: memory.Episode, Content: "Carl was, too", At: c.now.Add(-time.Hour), Links: []memory.Link{{To: hit}}})
	require.NoError(t, archive(t.Context(), s, old, true))
	q := memory.Query{Text: "deploy", Kinds: []memory.Kind{memory.Fact}, Linked: true}
	hits, err := s.Recall(t.Context(), q)
	require.NoError(t, err)
	require.Len(t, hits, 3)
	for i, id := range []memory.ID{hit, behind, lesson} {
		require.Equal(t, id, hits[i].ID)
	}
	require.Equal(t, []memory.ID{"", hit, hit}, []memory.ID{hits[0].Linked, hits[1].Linked, hits[2].Linked})
	require.Equal(t, hits[0].Score/2, hits[1].Score)
	require.Contains(t, memory.Render(hits), "goes with [1]")
	q.K = 2
	hits, err = s.Recall(t.Context(), q)
	require.NoError(t, err)
	require.Len(t, hits, 2)
}

// A prompt says of a memory what a reader must know to weigh it.
func TestRenderSaysWhatItIs(t *testing.T) {
	t.Parallel()
	s, c := space(t)
	remember(t, s, memory.Draft{Kind: memory.Fact, Slot: "door", Content: "the door is painted blue", At: c.now.Add(-time.Hour)})
	remember(t, s, memory.Draft{Kind: memory.Fact, Slot: "door", Content: "it is red now", Trigger: "somebody asks"})
	hits, err := s.Recall(t.Context(), memory.Query{Text: "painted blue"})
	require.NoError(t, err)
	require.Len(t, hits, 1)
	said := memory.Render(hits)
	for _, part := range []string{"when:\n| somebody asks\n", "what:\n| it is red now\n", "no longer:\n| the door is painted blue\n"} {
		require.Contains(t, said, part)
	}
	hits[0].Superseded.Content = hits[0].Content // it is stated again
	require.NotContains(t, memory.Render(hits), "no longer")
	require.NoError(t, archive(t.Context(), s, hits[0].ID, true))
	hits, err = s.Recall(t.Context(), memory.Query{Text: "red"})
	require.NoError(t, err)
	require.Contains(t, memory.Render(hits), ", archived")
}

// Explain says in words why a memory does not come, for each reason that there is.
func TestExplain(t *testing.T) {
	t.Parallel()
	s, c := space(t)
	blue := remember(t, s, memory.Draft{Kind: memory.Fact, Slot: "door", Content: "the door is blue", At: c.now.Add(-time.Hour)})
	red := remember(t, s, memory.Draft{Kind: memory.Fact, Slot: "door", Content: "the door is red"})
	rule := remember(t, s, memory.Draft{Kind: memory.Rule, Trigger: "window", Content: "close it"})
	always := remember(t, s, memory.Draft{Kind: memory.Rule, Content: "be polite"})
	theirs := remember(t, s, memory.Draft{Kind: memory.Fact, Content: "a door costs much", Source: memory.Source{Origin: memory.Web}})
	away := fact(t, s, "the door was green")
	require.NoError(t, s.Update(t.Context(), away, func(r *memory.Record) error {
		r.Archived = true
		return nil
	}))
	q := memory.Query{Text: "door", Kinds: []memory.Kind{memory.Fact, memory.Rule}, Trust: memory.Trusted, K: 1, Floor: 1}
	for id, want := range map[memory.ID]string{
		always: "1 of 2", red: "2 of 2", blue: "superseded by " + string(red), away: "archived",
		rule: "not in its turn", theirs: "trust", fact(t, s, "a wall"): "without a word of the query",
	} {
		why, err := s.Explain(t.Context(), q, id)
		require.NoError(t, err)
		require.Contains(t, why, want)
	}
	_, err := s.Explain(t.Context(), q, "none")
	require.ErrorIs(t, err, store.ErrNotFound)
}
