package search_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/activation"
	"github.com/arc-learn/arc/memory/internal/hybrid"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/search"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tally"
)

const hour = int64(time.Hour / time.Microsecond)

// entry is a trusted Fact of a name that says a text at an hour, changed by fs.
func entry(name, says string, at int64, fs ...func(*table.Entry)) *table.Entry {
	e := &table.Entry{
		Key: ident.Of(name), Text: says, At: at * hour, Known: at * hour, Flags: table.Fact, More: &table.More{Foreign: name},
	}
	for _, f := range fs {
		f(e)
	}
	return e
}

func quarantined(e *table.Entry) { e.Flags |= table.Quarantined }

func thread(name string) func(*table.Entry) {
	return func(e *table.Entry) { e.Thread = table.Intern(name) }
}

func links(rel, to string) func(*table.Entry) {
	return func(e *table.Entry) {
		e.More.Links = append(e.More.Links, table.Link{To: ident.Of(to), Rel: rel})
	}
}

func put(t *table.Table, es ...*table.Entry) *table.Table {
	for _, e := range es {
		d := index.Doc{Content: text.Append(nil, e.Text), Thread: table.Value(e.Thread), At: e.At}
		t.Put(e, d)
	}
	return t
}

func tableOf(es ...*table.Entry) *table.Table { return put(table.New("acme", nil), es...) }

// asking is a Search with a query for a text in a table, changed by fs.
func asking(t *table.Table, says string, fs ...func(*search.Query)) *search.Search {
	s := &search.Search{Query: search.Query{
		View: table.Whole(), K: 10, Tables: []*table.Table{t}, Terms: text.Append(nil, says), Text: says, All: says == "",
		At: 100 * hour, Rate: 1 / float64(24*hour), Fusion: hybrid.Fusion{Min: .3, Weight: .2},
	}}
	for _, f := range fs {
		f(&s.Query)
	}
	return s
}

func names(fs []search.Found) (out []string) {
	for _, f := range fs {
		out = append(out, f.Name())
	}
	return out
}

// What a query leaves out is not found, and Explain says why.
func TestFilters(t *testing.T) {
	t.Parallel()
	e := entry("e", "import cycle", 1)
	tab := tableOf(e, entry("other", "lunch is at noon", 1))
	for want, f := range map[string]func(*search.Query){
		"rank 1 of 1":                 func(q *search.Query) { q.May = func(*table.Entry) bool { return true } },
		"its kind is not asked for":   func(q *search.Query) { q.Without = table.Fact },
		"Background leaves those out": func(q *search.Query) { q.Apart = true },
		"it did not hold yet at At":   func(q *search.Query) { q.Before = 0 },
		"it was not known yet":        func(q *search.Query) { q.Known = 0 },
		"it is not asked for":         func(q *search.Query) { q.May = func(*table.Entry) bool { return false } },
		"has no word of the query":    func(q *search.Query) { q.Terms = text.Append(nil, "zebra") },
		"no phrase of its Triggers":   func(q *search.Query) { q.Triggered = true },
		"below the Floor":             func(q *search.Query) { q.Floor = 1 },
	} {
		s := asking(tab, "import cycle", f)
		x := s.Explain(tab, e)
		require.Contains(t, x.Reason, want)
		require.Equal(t, x.Returned, len(asking(tab, "import cycle", f).Recall()) == 1, want)
	}
}

// Near the best by words, what has helped comes first; what is not near is below all that is.
func TestScore(t *testing.T) {
	t.Parallel()
	good, bad := entry("good", "import cycle", 1), entry("bad", "import cycle", 1)
	far := entry("far", "the import of many other things besides, and of what they import in turn", 99)
	tab := tableOf(bad, far, good)
	tab.Tally(table.Change{Entry: good, Counts: &tally.Counts{Helped: 3}}, table.Change{Entry: bad, Counts: &tally.Counts{Misled: 3}},
		table.Change{Entry: far, Counts: &tally.Counts{Helped: 9}})
	s := asking(tab, "import cycle")
	best := s.Recall()
	require.Equal(t, []string{"good", "bad", "far"}, names(best))
	p := s.Query.Parts(&best[0])
	require.InDelta(t, best[0].Score, .5*p.Relevance+.3*p.Effectiveness+.2*p.Recency, 1e-9)
	require.True(t, p.Near)
	require.False(t, s.Query.Parts(&best[2]).Near)
	require.Equal(t, 1, s.Rank(good, 5), "by words alone")
	require.Equal(t, 1, s.Rank(bad, 5))
	require.Equal(t, 6, s.Rank(entry("none", "", 1), 5))
}

// By activation, what is linked with the context comes first, and what is below the threshold does not.
func TestActivation(t *testing.T) {
	t.Parallel()
	of, plain := entry("of", "import cycle", 1, links("about", "mind")), entry("plain", "import cycle", 1)
	tab := tableOf(plain, of, entry("mind", "lunch", 1))
	model := &activation.Model{Decay: .5, Threshold: activation.NoThreshold, SourceActivation: 1, MaxAssociation: 2, LatencyFactor: 1}
	inMind := func(q *search.Query) { q.Model, q.Context = model, []ident.Key{ident.Of("mind")} }
	s := asking(tab, "import cycle", inMind)
	best := s.Recall()
	require.Equal(t, []string{"of", "plain"}, names(best))
	between := (best[0].Score + best[1].Score) / 2
	p := s.Query.Parts(&best[0])
	require.InDelta(t, best[0].Score, p.BaseLevel+p.Spreading, 1e-9)
	cutting := *model
	cutting.Threshold = between
	s = asking(tab, "import cycle", inMind, func(q *search.Query) { q.Model = &cutting })
	require.Equal(t, []string{"of"}, names(s.Recall()))
	require.Contains(t, s.Explain(tab, plain).Reason, "below the threshold")
}

// What is superseded gives way, once, with its relevance.
func TestGiveWay(t *testing.T) {
	t.Parallel()
	old := entry("old", "the port is 80", 1)
	tab := tableOf(old, entry("now", "eighty-eight it is", 2, links(table.Supersedes, "old")))
	s := asking(tab, "which port")
	require.Equal(t, []string{"now"}, names(s.Recall()))
	x := s.Explain(tab, old)
	require.Equal(t, "now", x.By.Name())
	require.Zero(t, x.Rank)
}

// The best trusted record comes before what is in quarantine, with a K of one too.
func TestTrustedFirst(t *testing.T) {
	t.Parallel()
	tab := tableOf(entry("web", "import cycle", 9, quarantined), entry("host", "an import, and much else besides", 1))
	for k := 1; k < 3; k++ {
		s := asking(tab, "import cycle", func(q *search.Query) { q.K = k })
		require.Equal(t, []string{"host", "web"}[:k], names(s.Recall()))
	}
	s := asking(tab, "import cycle", func(q *search.Query) { q.Without = table.Quarantined })
	require.Equal(t, []string{"host"}, names(s.Recall()))
}

// What perhaps replaces a hit comes before it, and is brought in; a question about the past heeds no guess.
func TestOrder(t *testing.T) {
	t.Parallel()
	old, now := entry("old", "she lives in Lyon", 1), entry("now", "she moved to Rome", 2)
	tab := tableOf(old, now)
	tab.Suspect(old.Key, table.Guess{By: now.Key, Probability: .6, Of: table.ByCue})
	s := asking(tab, "who lives in Lyon")
	require.Equal(t, []string{"now", "old"}, names(s.Recall()))
	m := s.Replaced(old)
	require.Same(t, now, m.By)
	require.Equal(t, table.ByCue, m.Of)
	require.Nil(t, s.Replaced(now))
	s = asking(tab, "who lived in Lyon before")
	require.Equal(t, []string{"old"}, names(s.Recall()))
}

// What is linked with the hits fills the room that they leave.
func TestLinked(t *testing.T) {
	t.Parallel()
	tab := tableOf(entry("hit", "import cycle", 1, links("", "page")), entry("page", "a handbook", 1))
	linked := func(q *search.Query) { q.Linked = true }
	best := asking(tab, "import cycle", linked).Recall()
	require.Equal(t, []string{"hit", "page"}, names(best))
	require.Equal(t, "hit", best[1].Link.Name())
	require.Equal(t, []string{"hit"}, names(asking(tab, "import cycle", linked, func(q *search.Query) { q.K = 1 }).Recall()))
}

// Threads come by what they say together, and one with a trusted record first.
func TestThreads(t *testing.T) {
	t.Parallel()
	tab := tableOf(
		entry("a1", "import cycle", 1, thread("a")), entry("a2", "the cycle again", 2, thread("a")),
		entry("b1", "lunch and an import", 3, thread("b")), entry("c", "import cycle", 4),
	)
	of := func(says string, fs ...func(*search.Query)) (out []string) {
		for _, th := range asking(tab, says, fs...).Threads() {
			out = append(out, th.Name)
		}
		return out
	}
	require.Equal(t, []string{"a", "b"}, of("import cycle"))
	require.Equal(t, []string{"a", "b"}, of(""), "two records are more than one")
	require.Equal(t, []string{"a"}, of("import cycle", func(q *search.Query) { q.K = 1 }))
	put(tab, entry("w", "import cycle import cycle", 5, thread("w"), quarantined))
	require.Equal(t, "a", of("import cycle")[0])
	require.Equal(t, []string{"a"}, of("", func(q *search.Query) { q.K = 1 }))
}

// Of earlier records of the same actor and kind, those that share rare words are kin.
func TestKin(t *testing.T) {
	t.Parallel()
	by := func(e *table.Entry) { e.Actor = table.Intern("Ann") }
	tab := tableOf(entry("like", "the staging database is on host three", 1, by), entry("other", "the staging database is on host three", 1),
		entry("unlike", "lunch is at noon", 1, by))
	e := entry("e", "the staging database is on host four", 2, by)
	put(tab, e)
	var s search.Search
	var near []string
	words := text.Append(nil, e.Text)
	for _, o := range s.Kin(tab, e, words, len(e.Text), .3) {
		near = append(near, o.Name())
	}
	require.Contains(t, near, "like")
	require.NotContains(t, near, "other")
	require.Nil(t, s.Kin(tab, e, words, len(e.Text), 1))
	require.NotEmpty(t, search.Content(tab, words))
}

// The nearest earlier Fact is closest if it is near enough, and by far the nearest unless there is a change.
func TestClosest(t *testing.T) {
	t.Parallel()
	tab := table.New("acme", nil)
	near, far := entry("near", "a", 1), entry("far", "b", 1)
	e := entry("e", "c", 2)
	tab.PutVector(near, index.Doc{}, []float32{1, .1})
	var s search.Search
	x := []float32{1, 0}
	require.Nil(t, s.Closest(tab, e, x, false, .5), "there is no other to compare it with")
	require.Same(t, near, s.Closest(tab, e, x, true, .5))
	tab.PutVector(far, index.Doc{}, []float32{.1, 1})
	require.Same(t, near, s.Closest(tab, e, x, false, .5))
	require.Nil(t, s.Closest(tab, e, []float32{1, 1}, false, .5), "they are about as near")
	require.Nil(t, s.Closest(tab, entry("before", "d", 0), x, true, .5))
	require.Nil(t, s.Closest(tab, e, nil, true, .5))
}
