package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/embed"
	"github.com/arc-learn/arc/store"
)

var _ memory.Embedder = embed.Hashed{}

// concepts are words that mean the same; each concept is a dimension.
var concepts = [][]string{{"car", "automobile", "vehicle"}, {"broken", "failed", "defective"}, {"soup", "broth"}, {"lake", "pond"}}

// thesaurus is an Embedder that knows concepts.
type thesaurus struct {
	mu    sync.Mutex
	name  string
	seen  []string
	calls int
	most  int // texts in a batch
	fail  func(texts []string) error
	wrong func(out [][]float32) [][]float32
}

func (e *thesaurus) Model() string { return "thesaurus" + e.name }

func (e *thesaurus) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls++
	e.most = max(e.most, len(texts))
	e.seen = append(e.seen, texts...)
	if e.fail != nil {
		if err := e.fail(texts); err != nil {
			return nil, err
		}
	}
	var out [][]float32
	for _, s := range texts {
		out = append(out, meaning(s))
	}
	if e.wrong != nil {
		out = e.wrong(out)
	}
	return out, ctx.Err()
}

func (e *thesaurus) set(fail func([]string) error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fail = fail
}

func (e *thesaurus) count() (calls, texts int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls, len(e.seen)
}

func meaning(s string) []float32 {
	v := make([]float32, len(concepts)+2)
	none := true
	for i, words := range concepts {
		for _, w := range words {
			if strings.Contains(s, w) {
				v[i]++
				none = false
			}
		}
	}
	if none && !strings.Contains(s, "something") {
		return nil
	}
	v[len(concepts)] = 0.1
	return v
}

func openWith(t tb, st store.Store, c *clock, e memory.Embedder) *memory.Bank {
	t.Helper()
	b, err := memory.Open(context.Background(), st, &memory.Options{Now: c.now, Seed: 1, Embedder: e})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func newMem(t tb) store.Store {
	st := store.NewMem()
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	return st
}

func fact(content string) memory.Draft { return memory.Draft{Kind: memory.Fact, Content: content} }

func health(t tb, s memory.Space) memory.Health {
	t.Helper()
	h, err := s.Health(context.Background())
	require.NoError(t, err)
	return h
}

// vectorKeys returns the keys of the vectors that are stored.
func vectorKeys(t tb, st store.Store) []string {
	t.Helper()
	var out []string
	for e, err := range st.Scan(context.Background(), store.Range{}) {
		require.NoError(t, err)
		if parts := strings.Split(e.Key, "\x00"); len(parts) > 2 && parts[1] == "v" {
			out = append(out, e.Key)
		}
	}
	return out
}

func TestRecallByMeaning(t *testing.T) {
	t.Parallel()
	st, c, e := newMem(t), newClock(), &thesaurus{}
	b := openWith(t, st, c, e)
	s := b.In("acme/user-42")
	car := remember(t, s, fact("the automobile has failed"))
	soup := remember(t, s, fact("the broth is hot"))
	plain := remember(t, s, fact("nothing that it knows"))
	require.Len(t, recall(t, s, memory.Query{Text: "automobile"}), 1, "found at once by its words")
	require.NoError(t, b.Embed(t.Context()))
	require.Zero(t, health(t, s).Pending, "a text without a vector does not wait")

	hits := recall(t, s, memory.Query{Text: "defective car"})
	require.Equal(t, []memory.ID{car}, ids(hits))
	p := hits[0].Parts
	require.Zero(t, p.Lexical)
	require.InDelta(t, 1, p.Cosine, 0.01)
	require.InDelta(t, math.Pow(0.2, 4), p.Relevance, 0.001)
	require.Equal(t, []memory.ID{soup}, ids(recall(t, s, memory.Query{Text: "soup"})))
	require.Equal(t, []memory.ID{plain}, ids(recall(t, s, memory.Query{Text: "what it knows"})))

	// Words come first, and a vector adds to them.
	hits = recall(t, s, memory.Query{Text: "hot automobile"})
	require.ElementsMatch(t, []memory.ID{car, soup}, ids(hits))
	for _, h := range hits {
		require.GreaterOrEqual(t, h.Parts.Relevance, h.Parts.Lexical)
		require.NotZero(t, h.Parts.Lexical)
	}
	require.Equal(t, car, hits[0].Record.ID)
	require.Greater(t, hits[0].Parts.Relevance, hits[0].Parts.Lexical)

	x, err := s.Explain(t.Context(), memory.Query{Text: "defective car"}, car)
	require.NoError(t, err)
	require.Equal(t, 1, x.Rank)
	require.Equal(t, p.Cosine, x.Parts.Cosine)
	x, err = s.Explain(t.Context(), memory.Query{Text: "defective car"}, soup)
	require.NoError(t, err)
	require.Contains(t, x.Reason, fmt.Sprintf("its cosine is not above %.2f", 0.3))

	hits = recall(t, s, memory.Query{Vector: meaning("soup")})
	require.Equal(t, soup, hits[0].Record.ID, "the nearest, without a text")
	require.Equal(t, hits[0].Parts.Cosine, hits[0].Parts.Relevance)
	_, err = s.Recall(t.Context(), memory.Query{Vector: []float32{1}})
	require.ErrorIs(t, err, memory.ErrVector)
	_, err = s.Recall(t.Context(), memory.Query{Vector: make([]float32, 6)})
	require.ErrorIs(t, err, memory.ErrVector)
	require.Len(t, get(t, s, car).Vector, len(meaning("car")))
	require.Nil(t, get(t, s, plain).Vector)
}

func TestQueriesAreCached(t *testing.T) {
	t.Parallel()
	e := &thesaurus{}
	s := openWith(t, newMem(t), newClock(), e).In("a")
	for range 3 {
		recall(t, s, memory.Query{Text: "car"})
		recall(t, s, memory.Query{})
		recall(t, s, memory.Query{Vector: meaning("car")})
	}
	calls, _ := e.count()
	require.Equal(t, 1, calls)
}

func TestVectorsAreKept(t *testing.T) {
	t.Parallel()
	st, c, e := newMem(t), newClock(), &thesaurus{}
	b := openWith(t, st, c, e)
	id := remember(t, b.In("a"), fact("the automobile"))
	blank := remember(t, b.In("a"), fact("nothing known"))
	require.NoError(t, b.Embed(t.Context()))
	require.NoError(t, b.Close())
	require.Len(t, vectorKeys(t, st), 2)

	again := &thesaurus{}
	b = openWith(t, st, c, again)
	require.Zero(t, health(t, b.In("a")).Pending)
	require.NoError(t, b.Embed(t.Context()))
	require.Zero(t, again.calls, "all vectors were there")
	require.Equal(t, []memory.ID{id}, ids(recall(t, b.In("a"), memory.Query{Text: "car"})))
	require.NoError(t, b.Close())

	// Without the Embedder the vectors serve those who bring that of the query.
	b = open(t, st, c)
	require.Empty(t, recall(t, b.In("a"), memory.Query{Text: "car"}))
	require.Equal(t, id, recall(t, b.In("a"), memory.Query{Text: "car", Vector: meaning("car")})[0].Record.ID)
	require.Zero(t, health(t, b.In("a")).Pending)
	require.Nil(t, get(t, b.In("a"), blank).Vector)
	_, err := b.In("a").Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "x", Vector: []float32{1}})
	require.ErrorIs(t, err, memory.ErrVector)
}

func TestAnotherModel(t *testing.T) {
	t.Parallel()
	st, c := newMem(t), newClock()
	b := openWith(t, st, c, &thesaurus{})
	id := remember(t, b.In("a"), fact("the automobile"))
	require.NoError(t, b.Embed(t.Context()))
	require.NoError(t, b.Close())

	down := errors.New("down")
	other := &thesaurus{name: "-2", wrong: func(out [][]float32) [][]float32 {
		for i := range out {
			out[i] = append(out[i], 0) // another dimension too
		}
		return out
	}, fail: func(texts []string) error {
		if slices.Contains(texts, "the automobile") {
			return down
		}
		return nil
	}}
	b = openWith(t, st, c, other)
	s := b.In("a")
	require.ErrorIs(t, b.Embed(t.Context()), down)
	require.Equal(t, 1, health(t, s).Pending)
	require.Empty(t, recall(t, s, memory.Query{Text: "car"}), "its vector is of the old model")
	require.Equal(t, []memory.ID{id}, ids(recall(t, s, memory.Query{Text: "automobile"})), "words go on")
	other.set(nil)
	require.NoError(t, b.Embed(t.Context()))
	c.move(time.Hour)
	require.Equal(t, []memory.ID{id}, ids(recall(t, s, memory.Query{Text: "car"})))
	require.Len(t, get(t, s, id).Vector, 7)
	require.NoError(t, b.Close())

	third := &thesaurus{name: "-2"}
	b = openWith(t, st, c, third)
	require.NoError(t, b.Embed(t.Context()))
	require.Zero(t, third.calls)
}

func TestGivenVectors(t *testing.T) {
	t.Parallel()
	st, c, e := newMem(t), newClock(), &thesaurus{}
	b := openWith(t, st, c, e)
	s := b.In("a")
	d := fact("words that say little")
	d.Vector = meaning("soup")
	id := remember(t, s, d)
	require.NoError(t, b.Embed(t.Context()))
	require.Zero(t, e.calls)
	require.Equal(t, []memory.ID{id}, ids(recall(t, s, memory.Query{Text: "broth"})))
	_, err := s.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "x", Vector: []float32{1, 2}})
	require.ErrorIs(t, err, memory.ErrVector)
	require.NoError(t, b.Close())
	b = openWith(t, st, c, &thesaurus{name: "-2"})
	require.Equal(t, 1, health(t, b.In("a")).Pending, "it was of the first model")
}

func TestFailingEmbedder(t *testing.T) {
	t.Parallel()
	down := errors.New("no route to sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD")
	for name, broken := range map[string]*thesaurus{
		"error":    {fail: func([]string) error { return down }},
		"panic":    {fail: func([]string) error { panic("boom") }},
		"too few":  {wrong: func(out [][]float32) [][]float32 { return out[1:] }},
		"too many": {wrong: func(out [][]float32) [][]float32 { return append(out, out...) }},
		"NaN":      {wrong: func(out [][]float32) [][]float32 { out[0] = []float32{float32(math.NaN())}; return out }},
		"too long": {wrong: func(out [][]float32) [][]float32 {
			out[0] = append(make([]float32, memory.MaxDimension), 1)
			return out
		}},
		"dimension": {wrong: func(out [][]float32) [][]float32 { return append([][]float32{{1}}, out[1:]...) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, c := newMem(t), newClock()
			first := openWith(t, st, c, &thesaurus{})
			remember(t, first.In("a"), fact("the pond"))
			require.NoError(t, first.Embed(t.Context()))
			require.NoError(t, first.Close())

			b := openWith(t, st, c, broken)
			s := b.In("a")
			id := remember(t, s, fact("the automobile"))
			require.Error(t, b.Embed(t.Context()))
			require.Equal(t, []memory.ID{id}, ids(recall(t, s, memory.Query{Text: "automobile"})))
			h := health(t, s)
			require.Equal(t, 1, h.Pending)
			require.NotEmpty(t, h.Embedder)
			require.NotContains(t, h.Embedder, "sk-proj-abc")
			require.Equal(t, memory.NeedsAttention, h.Status)
			calls, _ := broken.count()
			recall(t, s, memory.Query{Text: "vehicle"})
			now, _ := broken.count()
			require.Equal(t, calls, now, "it is left alone for a while")
			broken.mu.Lock()
			broken.fail, broken.wrong = nil, nil
			broken.mu.Unlock()
			c.move(time.Hour)
			require.NoError(t, b.Embed(t.Context()))
			require.Equal(t, []memory.ID{id}, ids(recall(t, s, memory.Query{Text: "vehicle"})))
			require.Empty(t, health(t, s).Embedder)
		})
	}
}

func TestBadModelNames(t *testing.T) {
	t.Parallel()
	for _, e := range []memory.Embedder{named(""), named("a\x00b"), named(strings.Repeat("x", 300)), named("panic")} {
		_, err := memory.Open(t.Context(), newMem(t), &memory.Options{Embedder: e})
		require.Error(t, err)
	}
	for _, o := range []memory.Options{{MinCosine: -1}, {MinCosine: 1}, {CosineWeight: math.NaN()}, {CosineWeight: 5}} {
		_, err := memory.Open(t.Context(), newMem(t), &o)
		require.Error(t, err)
	}
	b, err := memory.Open(t.Context(), newMem(t), &memory.Options{Embedder: (*thesaurus)(nil)})
	require.NoError(t, err, "a nil pointer is none")
	require.NoError(t, b.Embed(t.Context()))
	require.NoError(t, b.Close())
	require.ErrorIs(t, b.Embed(t.Context()), store.ErrClosed)
}

type named string

func (n named) Model() string {
	if n == "panic" {
		panic(n)
	}
	return string(n)
}
func (n named) Embed(context.Context, []string) ([][]float32, error) { return nil, nil }

// A text that cannot be embedded keeps no other from it.
func TestPoison(t *testing.T) {
	t.Parallel()
	bad := errors.New("bad text")
	e := &thesaurus{fail: func(texts []string) error {
		if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "poison") }) {
			return bad
		}
		return nil
	}}
	b := openWith(t, newMem(t), newClock(), e)
	s := b.In("a")
	var ds []memory.Draft
	for i := range 300 {
		d := memory.Draft{Kind: memory.Episode, Content: fmt.Sprintf("car number %d", i)}
		if i%100 == 7 {
			d.Content += " with poison"
		}
		ds = append(ds, d)
	}
	_, err := s.RememberAll(t.Context(), ds)
	require.NoError(t, err)
	for range 100 {
		if b.Embed(t.Context()); health(t, s).Pending == 3 {
			break
		}
	}
	require.Equal(t, 3, health(t, s).Pending)
	require.LessOrEqual(t, e.most, 32)
	e.set(nil)
	require.NoError(t, b.Embed(t.Context()))
	require.Zero(t, health(t, s).Pending)
}

func TestEmbedderSeesNoSecrets(t *testing.T) {
	t.Parallel()
	const secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
	e := &thesaurus{}
	b := openWith(t, newMem(t), newClock(), e)
	s := b.In("a")
	remember(t, s, pattern("the key of the car is "+secret, "use "+secret+" for it"))
	require.NoError(t, b.Embed(t.Context()))
	recall(t, s, memory.Query{Text: "which car has " + secret})
	require.Len(t, e.seen, 2)
	for _, text := range e.seen {
		require.Contains(t, text, "car")
		require.NotContains(t, text, secret)
	}
}

func TestForgottenVectors(t *testing.T) {
	t.Parallel()
	st, c, e := newMem(t), newClock(), &thesaurus{}
	b := openWith(t, st, c, e)
	s := b.In("a")
	one := remember(t, s, fact("the automobile"))
	d := fact("the vehicle is defective")
	d.Source = web("page")
	remember(t, s, d)
	kept := remember(t, s, fact("a pond"))
	require.NoError(t, b.Embed(t.Context()))
	require.NoError(t, s.Forget(t.Context(), one))
	n, err := s.Revoke(t.Context(), web("page"))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, b.Flush(t.Context()))
	require.Len(t, vectorKeys(t, st), 1)
	require.Empty(t, recall(t, s, memory.Query{Text: "car"}))
	require.Equal(t, []memory.ID{kept}, ids(recall(t, s, memory.Query{Vector: meaning("lake")})))
	_, before := e.count()
	recall(t, s, memory.Query{Text: "the automobile"})
	_, after := e.count()
	require.Equal(t, before+1, after, "the cache has forgotten it too")

	// A vector whose record went while it was written is gone after a restart.
	stray := strings.Replace(vectorKeys(t, st)[0], string(kept), string(one), 1)
	stored, err := st.Get(t.Context(), vectorKeys(t, st)[0])
	require.NoError(t, err)
	require.NoError(t, b.Close())
	_, err = st.Commit(t.Context(), store.Op{Key: stray, Value: stored.Value})
	require.NoError(t, err)
	b = openWith(t, st, c, e)
	require.NoError(t, b.Flush(t.Context()))
	require.Len(t, vectorKeys(t, st), 1)
	require.NoError(t, b.Close())

	// One that is damaged is an error, while its record is there.
	_, err = st.Commit(t.Context(), store.Op{Key: vectorKeys(t, st)[0], Value: append(stored.Value, 1)})
	require.NoError(t, err)
	_, err = memory.Open(t.Context(), st, &memory.Options{Embedder: e})
	require.ErrorIs(t, err, store.ErrDamaged)
}

// Vectors follow records that are rewritten, and go with texts that go.
func TestVectorsFollow(t *testing.T) {
	t.Parallel()
	st, c, e := newMem(t), newClock(), &thesaurus{}
	b := openWith(t, st, c, e)
	s := b.In("a")
	first := fact("the automobile of Ann is parked behind the house")
	first.Source = web("page")
	id := remember(t, s, first)
	require.NoError(t, b.Embed(t.Context()))
	calls, _ := e.count()
	second := fact("the automobile of Ann is parked behind the house")
	second.Source = memory.Source{Origin: memory.Web, Ref: "other"}
	r, err := s.Remember(t.Context(), second)
	require.NoError(t, err)
	require.Equal(t, memory.Merged, r.Disposition)
	require.NoError(t, s.Trust(t.Context(), id))
	require.Zero(t, health(t, s).Pending)
	require.Len(t, recall(t, s, memory.Query{Text: "vehicle", Inject: true}), 1, "flags follow too")
	now, _ := e.count()
	require.Equal(t, calls+1, now, "for the query")

	third := fact("The automobile of Ann is parked behind the house.")
	third.Source = memory.Source{Origin: memory.Host, Ref: "x"}
	r, err = s.Remember(t.Context(), third)
	require.NoError(t, err)
	require.Equal(t, memory.Merged, r.Disposition)
	n, err := s.Revoke(t.Context(), web("page"))
	require.NoError(t, err)
	require.Zero(t, n, "the others have said it as well")
	require.NoError(t, b.Embed(t.Context()))
	require.Zero(t, health(t, s).Pending)
	require.Len(t, recall(t, s, memory.Query{Text: "vehicle"}), 1)
	require.NoError(t, b.Close())
	b = openWith(t, st, c, e)
	require.Len(t, recall(t, b.In("a"), memory.Query{Text: "vehicle"}), 1)
}

// What waits is embedded behind, again after a pause if that failed.
func TestEmbedBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &thesaurus{fail: func([]string) error { return errors.New("down") }}
		st := store.NewMem()
		b, err := memory.Open(t.Context(), st, &memory.Options{Embedder: e})
		require.NoError(t, err)
		s := b.In("a")
		remember(t, s, fact("the automobile"))
		synctest.Wait()
		calls, _ := e.count()
		require.Equal(t, 1, calls)
		remember(t, s, fact("the broth"))
		synctest.Wait()
		calls, _ = e.count()
		require.Equal(t, 1, calls, "it pauses")
		<-time.After(10 * time.Minute)
		synctest.Wait()
		calls, _ = e.count()
		require.Less(t, calls, 15, "pauses grow")
		require.Greater(t, calls, 5)
		e.set(nil)
		<-time.After(10 * time.Minute)
		synctest.Wait()
		require.Zero(t, health(t, s).Pending)
		require.Len(t, recall(t, s, memory.Query{Text: "soup"}), 1)
		remember(t, s, fact("a pond"))
		synctest.Wait()
		require.Len(t, recall(t, s, memory.Query{Text: "lake"}), 1, "at once, when all is well")
		require.NoError(t, b.Close())
		require.NoError(t, st.Close())
	})
}

// hanging does not answer, whatever its context says.
type hanging struct{ free chan struct{} }

func (h hanging) Model() string { return "hanging" }
func (h hanging) Embed(context.Context, []string) ([][]float32, error) {
	<-h.free
	return nil, nil
}

func TestHangingEmbedder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hanging{make(chan struct{})}
		st := store.NewMem()
		b, err := memory.Open(t.Context(), st, &memory.Options{Embedder: h})
		require.NoError(t, err)
		s := b.In("a")
		id := remember(t, s, fact("the automobile"))
		start := time.Now()
		require.Equal(t, []memory.ID{id}, ids(recall(t, s, memory.Query{Text: "automobile"})))
		require.LessOrEqual(t, time.Since(start), 2*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		<-time.After(time.Minute)
		_, err = s.Recall(ctx, memory.Query{Text: "automobile"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, b.Close(), "it does not wait for the host")
		require.NoError(t, st.Close())
		close(h.free)
		synctest.Wait()
	})
}

// Recall with vectors returns what scoring everything does.
func TestHybridAgainstAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st, c := newMem(t), newClock()
		b := open(t, st, c)
		s := b.In("a")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		words := strings.Fields("alpha beta gamma delta epsilon zeta eta theta iota kappa")
		draw := func() string {
			var out []string
			for range 1 + r.IntN(5) {
				out = append(out, words[r.IntN(len(words))])
			}
			return strings.Join(out, " ")
		}
		vec := func() []float32 {
			v := make([]float32, 4)
			for i := range v {
				v[i] = float32(r.NormFloat64())
			}
			return v
		}
		var ds []memory.Draft
		for range rapid.IntRange(1, 400).Draw(t, "n") {
			d := memory.Draft{Kind: memory.Episode, Content: draw()}
			if r.IntN(5) > 0 {
				d.Vector = vec()
			}
			ds = append(ds, d)
		}
		rs, err := s.RememberAll(context.Background(), ds)
		require.NoError(t, err)
		for i := range rs {
			if r.IntN(10) == 0 {
				require.NoError(t, s.Forget(context.Background(), rs[i].ID))
			}
		}
		q := memory.Query{Text: draw(), K: 1 + r.IntN(20)}
		lexical := map[memory.ID]float64{}
		for _, h := range recall(t, s, memory.Query{Text: q.Text, K: len(ds)}) {
			lexical[h.Record.ID] = h.Parts.Relevance
		}
		q.Vector = vec()
		hits := recall(t, s, q)
		want := fused(t, s, lexical, q.Vector)
		// A cosine at the threshold counts or not, as codes are exact to about .001.
		sure := slices.IndexFunc(append(want, 0), func(rel float64) bool { return rel < 1e-9 })
		require.GreaterOrEqual(t, len(hits), min(q.K, sure))
		want = append(want, make([]float64, len(ds))...)
		for i, h := range hits {
			require.InDelta(t, want[i], h.Parts.Relevance, 0.005, "hit %d", i)
			require.InDelta(t, lexical[h.Record.ID], h.Parts.Lexical, 1e-6)
			require.GreaterOrEqual(t, h.Parts.Relevance, h.Parts.Lexical)
			x, err := s.Explain(context.Background(), q, h.Record.ID)
			require.NoError(t, err)
			require.Equal(t, i+1, x.Rank)
			require.Equal(t, h.Parts, x.Parts)
		}
	})
}

// fused returns the relevances of all records, best first, by the formula of
// Parts.Relevance.
func fused(t tb, s memory.Space, lexical map[memory.ID]float64, q []float32) []float64 {
	var out []float64
	for r, err := range s.All(context.Background()) {
		require.NoError(t, err)
		rel := lexical[r.ID]
		if v := get(t, s, r.ID).Vector; v != nil {
			const m, w = 0.3, 0.2
			x := math.Pow(rel/(1-rel), 0.25) + w*max(0, cosine(v, q)-m)/(1-m)
			rel = math.Pow(x, 4) / (1 + math.Pow(x, 4))
		}
		if rel > 0 {
			out = append(out, rel)
		}
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out
}

func cosine(a, b []float32) float64 {
	ab, aa, bb := 0.0, 0.0, 0.0
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}

// Everything at once, for the race detector.
func TestEmbedConcurrently(t *testing.T) {
	t.Parallel()
	b := openWith(t, newMem(t), newClock(), &thesaurus{})
	s := b.In("a")
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 30 {
				r, err := s.Remember(t.Context(), memory.Draft{Kind: memory.Episode, Content: fmt.Sprintf("car %d of %d", i, w)})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := s.Recall(t.Context(), memory.Query{Text: "vehicle"}); err != nil {
					t.Error(err)
				}
				if i%3 == 0 {
					if err := s.Forget(t.Context(), r.ID); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, b.Embed(t.Context()))
	require.Zero(t, health(t, s).Pending)
	require.Len(t, recall(t, s, memory.Query{Text: "vehicle", K: 200}), 80)
}

func ExampleEmbedder() {
	ctx := context.Background()
	st := store.NewMem()
	bank, err := memory.Open(ctx, st, &memory.Options{Embedder: embed.Hashed{}})
	if err != nil {
		panic(err)
	}
	space := bank.In("acme/ops")
	if _, err := space.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: "certificates rotate in March"}); err != nil {
		panic(err)
	}
	if err := bank.Embed(ctx); err != nil { // or wait for the Bank to do so behind
		panic(err)
	}
	hits, err := space.Recall(ctx, memory.Query{Text: "certifcats rotaton"})
	if err != nil {
		panic(err)
	}
	for _, h := range hits {
		fmt.Println(h.Record.Content, h.Parts.Lexical, h.Parts.Cosine > 0.3)
	}
	if err := errors.Join(bank.Close(), st.Close()); err != nil {
		panic(err)
	}
	// Output: certificates rotate in March 0 true
}

// The error of an Embedder may quote what it was asked for.
func TestErrorsStayWithTheirTenant(t *testing.T) {
	t.Parallel()
	e := &thesaurus{fail: func(texts []string) error { return fmt.Errorf("cannot read %q", texts) }}
	b := openWith(t, newMem(t), newClock(), e)
	recall(t, b.In("acme/a"), memory.Query{Text: "the merger with Initech"})
	require.Contains(t, health(t, b.In("acme/b")).Embedder, "Initech")
	require.NotContains(t, health(t, b.In("globex/a")).Embedder, "Initech")
	require.NotEmpty(t, health(t, b.In("globex/a")).Embedder)
	remember(t, b.In("acme/a"), fact("the merger with Initech"))
	require.ErrorContains(t, b.Embed(t.Context()), "Initech")
	require.NotContains(t, health(t, b.In("globex/a")).Embedder, "Initech")
}

// Drafts that are refused say nothing about the vectors to come.
func TestRefusedVectorsSettleNothing(t *testing.T) {
	t.Parallel()
	s := openWith(t, newMem(t), newClock(), &thesaurus{}).In("a")
	of := func(dim int) memory.Draft {
		return memory.Draft{Kind: memory.Episode, Content: "said", Vector: slices.Repeat([]float32{1}, dim)}
	}
	_, err := s.RememberAll(t.Context(), []memory.Draft{of(3), of(4)})
	require.ErrorIs(t, err, memory.ErrVector)
	remember(t, s, of(5))
	_, err = s.Remember(t.Context(), of(3))
	require.ErrorIs(t, err, memory.ErrVector)
}

// A record that cannot be read keeps no other from its vector.
func TestDamagedRecordsHoldNothingUp(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	st, e := newMem(t), &thesaurus{fail: func([]string) error { return errors.New("down") }}
	b, err := memory.Open(ctx, st, &memory.Options{Now: newClock().now, Seed: 1, Embedder: e, Cache: 1})
	require.NoError(t, err)
	defer b.Close()
	s := b.In("a")
	long := strings.Repeat("car ", 2000)
	remember(t, s, fact("the first car"))
	bad := remember(t, s, fact(long+"one"))
	remember(t, s, fact("a lake"))
	last := remember(t, s, fact(strings.Repeat("soup ", 2000)))
	require.Error(t, b.Embed(ctx))
	for entry, err := range st.Scan(ctx, store.Range{}) {
		require.NoError(t, err)
		if strings.HasSuffix(entry.Key, string(bad)) && strings.Contains(entry.Key, "\x00r\x00") {
			entry.Value[len(entry.Value)-1] ^= 1
			_, err := st.Commit(ctx, store.Op{Key: entry.Key, Value: entry.Value})
			require.NoError(t, err)
		}
	}
	e.set(nil)
	for range 8 {
		get(t, s, last) // takes the place of the other in the cache
		err = b.Embed(ctx)
	}
	require.ErrorIs(t, err, store.ErrDamaged)
	require.Equal(t, 1, health(t, s).Pending)
}

// Who asks for vectors waits for another who does no longer than it wants to.
func TestEmbedHeedsItsContext(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	e := &unheeding{asked: asked, done: make(chan struct{})}
	defer close(e.done)
	b := openWith(t, newMem(t), newClock(), e)
	remember(t, b.In("a"), fact("a car"))
	<-asked // the Bank waits for it behind
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, b.Embed(ctx), context.Canceled)
	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, b.Embed(ctx), context.DeadlineExceeded)
	require.NoError(t, b.Close())
}

// unheeding is an Embedder that does not answer, whatever its context says.
type unheeding struct{ asked, done chan struct{} }

func (h *unheeding) Model() string { return "unheeding" }

func (h *unheeding) Embed(context.Context, []string) ([][]float32, error) {
	h.asked <- struct{}{}
	<-h.done
	return nil, nil
}

func TestEmbedSaysNoSecrets(t *testing.T) {
	t.Parallel()
	token := "ghp_" + strings.Repeat("a1B2c3", 6)
	down := fmt.Errorf("refused the key %s", token)
	b := openWith(t, newMem(t), newClock(), &thesaurus{fail: func([]string) error { return down }})
	remember(t, b.In("a"), fact("a car"))
	err := b.Embed(t.Context())
	require.ErrorIs(t, err, down)
	require.NotContains(t, err.Error(), token)
}

// As many hits as there may be is no number that overflows.
func TestAllHits(t *testing.T) {
	t.Parallel()
	s := openWith(t, newMem(t), newClock(), &thesaurus{}).In("a")
	for i := range 5 {
		d := memory.Draft{Kind: memory.Episode, Content: fmt.Sprintf("car %d", i), Thread: "t", Vector: meaning("car")}
		remember(t, s, d)
	}
	for _, k := range []int{math.MaxInt, math.MaxInt/2 + 1, math.MaxInt/4 + 1, math.MaxInt32} {
		for _, q := range []memory.Query{{K: k}, {K: k, Text: "car"}, {K: k, Vector: meaning("car")}} {
			require.Len(t, recall(t, s, q), 5)
			ts, err := s.RecallThreads(t.Context(), q)
			require.NoError(t, err)
			require.Len(t, ts, 1)
		}
	}
}

// What one tenant has said or asked makes no call of another's cheaper.
func TestVectorsAreCachedByTenant(t *testing.T) {
	t.Parallel()
	e := &thesaurus{}
	b := openWith(t, newMem(t), newClock(), e)
	calls := func(tenant memory.Scope, text string) int {
		before, _ := e.count()
		_, err := b.In(tenant).Recall(t.Context(), memory.Query{Text: text})
		require.NoError(t, err)
		after, _ := e.count()
		return after - before
	}
	_, err := b.In("a/user").Remember(t.Context(), fact("a broken car"))
	require.NoError(t, err)
	require.NoError(t, b.Embed(t.Context()))
	require.Equal(t, 1, calls("a", "a soup"))
	require.Zero(t, calls("a", "a soup"), "its own are cached")
	require.Zero(t, calls("a/other", "a broken car"), "for the whole tenant")
	for _, text := range []string{"a soup", "a broken car", "a lake"} {
		require.Equal(t, 1, calls("b", text), text)
		require.Zero(t, calls("b", text), text)
	}
}

// A text that cannot be embedded leaves recalls their vectors.
func TestPoisonAndRecall(t *testing.T) {
	t.Parallel()
	e := &thesaurus{fail: func(texts []string) error {
		if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "poison") }) {
			return errors.New("bad text")
		}
		return nil
	}}
	b := openWith(t, newMem(t), newClock(), e)
	kept := remember(t, b.In("a"), fact("the automobile"))
	require.NoError(t, b.Embed(t.Context()))
	remember(t, b.In("b"), fact("some poison"))
	require.Error(t, b.Embed(t.Context()))
	require.Equal(t, []memory.ID{kept}, ids(recall(t, b.In("a"), memory.Query{Text: "car"})))
	require.Equal(t, memory.NeedsAttention, health(t, b.In("b")).Status)
}
