package memory_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// model says what a Space should hold, in the simplest way.
type model struct {
	records  map[memory.ID]*modelRecord
	receipts map[string]memory.Receipt // by Key
	feedback map[string]bool
	now      time.Time
}

type modelRecord struct {
	memory.Draft
	id    memory.ID
	stats memory.Stats
}

// same is the rule for near-duplicates, read off the words themselves.
func same(a, b memory.Draft) bool {
	alike := func(a, b string) bool {
		marks := func(s string) []string {
			words := slices.DeleteFunc(strings.Fields(s), func(w string) bool { return w != "not" && w != "17" && w != "8080" })
			slices.Sort(words)
			return words
		}
		words := func(s string) []string { // articles and punctuation aside
			return slices.DeleteFunc(strings.Fields(s), func(w string) bool { return w == "the" || w == "?" })
		}
		return slices.Equal(words(a), words(b)) && (a == "" && b == "" || memory.Similarity(a, b) >= 0.85 && slices.Equal(marks(a), marks(b)))
	}
	trusted := func(d memory.Draft) bool { return d.Source.Origin == memory.Host || d.Source.Origin == memory.Derived }
	return a.Kind == b.Kind && a.Kind != memory.Episode && trusted(a) == trusted(b) && alike(a.Trigger, b.Trigger) && alike(a.Content, b.Content)
}

// remember checks a receipt against the model, and takes it in.
func (m *model) remember(t require.TestingT, d memory.Draft, got memory.Receipt) {
	if want, ok := m.receipts[d.Key]; ok && d.Key != "" {
		require.Equal(t, want, got)
		return
	}
	var twins []memory.ID
	for id, r := range m.records {
		if same(r.Draft, d) {
			twins = append(twins, id)
		}
	}
	switch {
	case len(twins) == 0:
		require.Equal(t, memory.Receipt{ID: got.ID, Disposition: memory.Stored}, got)
		require.NotContains(t, m.records, got.ID)
		m.records[got.ID] = &modelRecord{Draft: d, id: got.ID}
	case d.Source.Origin == memory.Derived:
		require.Equal(t, memory.Strengthened, got.Disposition)
		require.Contains(t, twins, got.Into)
		st := &m.records[got.Into].stats
		st.Helped, st.LastUsed = st.Helped+1, m.now
	default:
		require.Equal(t, memory.Merged, got.Disposition)
		require.Contains(t, twins, got.Into)
	}
	m.receipts[d.Key] = got
}

func (m *model) learn(f memory.Feedback) {
	if m.feedback[f.Key] {
		return
	}
	m.feedback[f.Key] = true
	for id, r := range m.records {
		st := &r.stats
		switch {
		case slices.Contains(f.Misled, id):
			st.Misled++
		case !f.Delivered || !slices.Contains(f.Injected, id):
			continue
		case slices.Contains(f.Utilized, id):
			st.Helped++
			st.LastUsed = m.now
		default:
			st.Failed++
			if len(f.Utilized)+len(f.Misled) == 0 {
				st.Quiet++
			}
		}
		st.Exposed++
	}
}

// match is what Relevance is made of, times a constant of the query.
func match(h memory.Hit) float64 { return math.Pow(h.Parts.Relevance/(1-h.Parts.Relevance), 0.25) }

// check checks all hits of a query. Relevance is taken from the hits: that it
// is right is shown where it is computed.
func (m *model) check(t require.TestingT, q memory.Query, hits []memory.Hit) {
	best, near, far := 0.0, 1.0, -1.0 // the least and the most relevance of those near the best, and of the others
	for _, h := range hits {
		best = max(best, match(h))
		if h.Parts.Near {
			near = min(near, h.Parts.Relevance)
		} else {
			far = max(far, h.Parts.Relevance)
		}
	}
	require.Greater(t, near, far)
	seen := map[memory.ID]bool{}
	for _, h := range hits {
		r := m.records[h.Record.ID]
		require.NotNil(t, r)
		require.Equal(t, r.stats, h.Record.Stats)
		seen[r.id] = true
		last := r.stats.LastUsed
		if last.IsZero() {
			last = r.At
		}
		unused := 0.5*float64(r.stats.Failed-r.stats.Quiet) + 0.125*float64(r.stats.Quiet)
		effectiveness := (1 + float64(r.stats.Helped)) / (2 + float64(r.stats.Helped+r.stats.Misled) + unused)
		recency := min(1, math.Exp2(-m.now.Sub(last).Hours()/(24*7)))
		want := 0.5 * h.Parts.Relevance
		if ratio := match(h); ratio >= (0.8+1e-9)*best || h.Parts.Near && ratio >= (0.8-1e-9)*best {
			want += 0.3*effectiveness + 0.2*recency
		}
		require.InDelta(t, want, h.Score, 1e-9)
	}
	rest := hits // the first may be there since it is trusted
	if len(hits) > 1 && hits[0].Record.Trusted && slices.ContainsFunc(hits, func(h memory.Hit) bool { return !h.Record.Trusted }) {
		rest = hits[1:]
	}
	require.True(t, slices.IsSortedFunc(rest, func(a, b memory.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), b.Record.At.Compare(a.Record.At), cmp.Compare(a.Record.ID, b.Record.ID))
	}))
	for id, r := range m.records {
		text := r.Trigger + " " + r.Content
		found := strings.TrimSpace(q.Text) == "" || slices.ContainsFunc(strings.Fields(q.Text), func(w string) bool {
			return slices.Contains(strings.Fields(text), w) && (w != "the" && w != "of" && w != "is" && w != "not")
		})
		if found {
			require.True(t, seen[id], "%q is not found by %q", text, q.Text)
		}
	}
}

func drawDraft(t *rapid.T) memory.Draft {
	return memory.Draft{
		Kind:    rapid.SampledFrom([]memory.Kind{memory.Fact, memory.Episode}).Draw(t, "kind"),
		Trigger: sentence(t, "trigger", 0),
		Content: sentence(t, "content", 1) + " ?", // no statement
		Key:     rapid.SampledFrom([]string{"", "", "k1", "k2", "k3"}).Draw(t, "key"),
		At:      epoch.Add(time.Duration(rapid.IntRange(-2000, 2000).Draw(t, "at")) * time.Hour),
		Source:  memory.Source{Origin: rapid.SampledFrom([]memory.Origin{memory.Host, memory.Derived, memory.Web}).Draw(t, "origin"), Run: "r"},
	}
}

// A Space does what the model says, through feedback, passing time, and being
// opened again, also where nothing stays in memory between calls.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		st, c := store.NewMem(), newClock()
		bound := rapid.Int64Range(0, 1).Draw(t, "bound")
		bank := openBound(t, st, c, bound)
		s := bank.In("acme")
		m := &model{records: map[memory.ID]*modelRecord{}, receipts: map[string]memory.Receipt{}, feedback: map[string]bool{}, now: c.now()}
		pick := func(t *rapid.T, label string) []memory.ID {
			all := append(slices.Sorted(maps.Keys(m.records)), "unknown")
			return rapid.SliceOfN(rapid.SampledFrom(all), 0, 4).Draw(t, label)
		}
		t.Repeat(map[string]func(*rapid.T){
			"remember": func(t *rapid.T) {
				d := drawDraft(t)
				r, err := s.Remember(context.Background(), d)
				require.NoError(t, err)
				m.remember(t, d, r)
			},
			"remember all": func(t *rapid.T) {
				ds := rapid.SliceOfN(rapid.Custom(drawDraft), 0, 5).Draw(t, "drafts")
				rs, err := s.RememberAll(context.Background(), ds)
				require.NoError(t, err)
				for i, r := range rs {
					m.remember(t, ds[i], r)
				}
			},
			"feedback": func(t *rapid.T) {
				f := memory.Feedback{
					Key:      rapid.StringMatching(`[a-c]{1,2}`).Draw(t, "key"),
					Injected: pick(t, "injected"), Utilized: pick(t, "utilized"), Misled: pick(t, "misled"),
					Delivered: rapid.Bool().Draw(t, "delivered"),
				}
				require.NoError(t, s.Feedback(context.Background(), f))
				m.learn(f)
			},
			"time passes": func(t *rapid.T) {
				c.move(time.Duration(rapid.IntRange(0, 1000).Draw(t, "hours")) * time.Hour)
				m.now = c.now()
			},
			"open again": func(t *rapid.T) {
				require.NoError(t, bank.Close())
				bank = openBound(t, st, c, bound)
				s = bank.In("acme")
			},
			"": func(t *rapid.T) {
				q := memory.Query{Text: sentence(t, "query", 0), K: 1000}
				hits := recall(t, s, q)
				m.check(t, q, hits)
				q.K = 3
				require.Equal(t, hits[:min(3, len(hits))], recall(t, s, q))
			},
		})
	})
}

// Whatever scopes are called, one tenant's memories and statistics are nobody
// else's.
func TestTenantsAreIsolated(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nasty := rapid.OneOf(
			rapid.SampledFrom([]string{"a", "a/b", "a/b/c", "ab", "a.b", "a:b", "a-b", "a_b", "@", ".", "..", "../a", "r", "s", "memory", "a/r", "A"}),
			rapid.StringMatching(`[A-Za-z0-9_.:@-]{1,4}(/[A-Za-z0-9_.:@-]{1,128}){0,7}`),
		)
		one := memory.Scope(nasty.Draw(t, "one"))
		two := memory.Scope(nasty.Filter(func(s string) bool { return memory.Scope(s) != one }).Draw(t, "two"))
		st, c, ctx := store.NewMem(), newClock(), context.Background()
		bank := open(t, st, c)
		a, b := bank.In(one), bank.In(two)
		d := memory.Draft{Kind: memory.Fact, Content: "import cycle", Key: "k"}
		id := remember(t, a, d)
		alone := recall(t, a, memory.Query{Text: "import cycle in the store"})
		mine := remember(t, b, d)
		require.NotEqual(t, id, mine)
		_, err := b.RememberAll(ctx, drafts(5, 6))
		require.NoError(t, err)
		feedback(t, b, memory.Feedback{Key: "f", Injected: []memory.ID{id, mine}, Delivered: true, Misled: []memory.ID{id}})
		for range 2 {
			require.Equal(t, alone, recall(t, a, memory.Query{Text: "import cycle in the store"}))
			_, err = b.Get(ctx, id)
			require.ErrorIs(t, err, store.ErrNotFound)
			require.ErrorIs(t, b.Forget(ctx, id), store.ErrNotFound)
			require.ErrorIs(t, b.Trust(ctx, id), store.ErrNotFound)
			_, err = b.Explain(ctx, memory.Query{}, id)
			require.ErrorIs(t, err, store.ErrNotFound)
			for _, h := range recall(t, b, memory.Query{K: 100}) {
				require.Equal(t, two, h.Record.Scope)
			}
			_, err = b.Recall(ctx, memory.Query{Also: []memory.Scope{one}})
			require.Equal(t, one.Tenant() != two.Tenant(), errors.Is(err, memory.ErrTenant))
			n, err := b.Revoke(ctx, memory.Source{Origin: memory.Web})
			require.NoError(t, err)
			require.Zero(t, n)
			require.NoError(t, bank.Close())
			bank = open(t, st, c)
			a, b = bank.In(one), bank.In(two)
		}
	})
}

// Readers and writers of all kinds overlap, and nothing is lost, also while the tenant
// leaves memory again and again.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	for _, bound := range []int64{0, 1} {
		t.Run(fmt.Sprint(bound), func(t *testing.T) { t.Parallel(); useAtOnce(t, bound) })
	}
}

func useAtOnce(t *testing.T, bound int64) {
	c, st, ctx := newClock(), store.NewMem(), context.Background()
	s := openBound(t, st, c, bound).In("acme")
	ds := drafts(200, 12)
	var stored sync.Map
	var g errgroup.Group
	for w := range 4 {
		g.Go(func() error {
			for i := w; i < len(ds); i += 4 {
				r, err := s.Remember(ctx, ds[i])
				if err != nil {
					return err
				}
				stored.Store(r.ID, true)
				f := memory.Feedback{Key: fmt.Sprint(i), Injected: []memory.ID{r.ID}, Utilized: []memory.ID{r.ID}, Delivered: true}
				for range 2 {
					g.Go(func() error { return s.Feedback(ctx, f) })
				}
			}
			return nil
		})
		g.Go(func() error {
			for i := range 200 {
				q := memory.Query{Text: ds[(i+w)%len(ds)].Trigger}
				hits, err := s.Recall(ctx, q)
				if err != nil {
					return err
				}
				for _, h := range hits[:min(1, len(hits))] {
					if _, err := s.Explain(ctx, q, h.Record.ID); err != nil {
						return err
					}
				}
				_, err = s.RecallThreads(ctx, q)
				_, err2 := s.Health(ctx)
				if err := errors.Join(err, err2); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, upkeep := range []func() error{
		func() error { _, err := s.Decay(ctx); return err },
		func() error { _, err := s.Consolidate(ctx); return err },
		func() error { _, err := s.Revoke(ctx, memory.Source{Origin: memory.Web}); return err },
	} {
		g.Go(func() error {
			for range 20 {
				if err := upkeep(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	s = open(t, st, c).In("acme")
	helped := 0
	for r, err := range s.All(ctx) {
		require.NoError(t, err)
		helped += r.Stats.Helped
		stored.Delete(r.ID)
		for _, v := range r.Variants {
			stored.Delete(v.ID)
		}
	}
	stored.Range(func(id, _ any) bool { t.Errorf("%v is lost", id); return true })
	require.LessOrEqual(t, helped, len(ds))
}
