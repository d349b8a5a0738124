package table_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tally"
)

const hour = int64(time.Hour / time.Microsecond)

// entry is a trusted Fact of a name at an hour, changed by fs.
func entry(name string, at int64, fs ...func(*table.Entry)) *table.Entry {
	e := &table.Entry{
		Key: ident.Of(name), Text: name, At: at * hour, Known: at * hour, Flags: table.Fact, More: &table.More{Foreign: name},
	}
	for _, f := range fs {
		f(e)
	}
	return e
}

func states(value string) func(*table.Entry) {
	return func(e *table.Entry) { e.More.Slot = table.SlotOf("cache", "host", value, "") }
}

func links(rel, to string) func(*table.Entry) {
	return func(e *table.Entry) {
		e.More.Links = append(e.More.Links, table.Link{To: ident.Of(to), Rel: rel})
	}
}

func by(actor string) func(*table.Entry) {
	return func(e *table.Entry) { e.Actor = table.Intern(actor) }
}

func quarantined(e *table.Entry) { e.Flags |= table.Quarantined }

func doc(e *table.Entry) index.Doc { return index.Doc{Content: text.Append(nil, e.Text), At: e.At} }

func tableOf(es ...*table.Entry) *table.Table {
	t := table.New("acme", nil)
	for _, e := range es {
		t.Put(e, doc(e))
	}
	return t
}

func standing(v table.View, t *table.Table, e *table.Entry) string {
	t.Enter()
	defer t.Leave()
	return v.StandingLocked(t, e).Name()
}

func names(es []*table.Entry) (out []string) {
	for _, e := range es {
		out = append(out, e.Name())
	}
	return out
}

// A slot is one whatever the order and form of its words, and so is a value whatever its case.
func TestSlotOf(t *testing.T) {
	t.Parallel()
	of := table.SlotOf("the cache", "hosts", "A", "")
	require.Equal(t, of, table.SlotOf("host", "of caches", "a", "Ann"))
	require.NotEqual(t, of, table.SlotOf("the cache", "hosts", "b", ""))
	require.NotEqual(t, table.SlotOf("x", "y", "-18", ""), table.SlotOf("x", "y", "18", ""))
	require.Equal(t, table.SlotOf("Ann", "home", "x", ""), table.SlotOf("my", "home", "x", "Ann"))
}

// The latest statement that counts stands, of a slot and of what a host says.
func TestWhatStands(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		later []*table.Entry
		view  table.View
		want  string
	}{
		"alone":            {nil, table.Whole(), "first"},
		"another value":    {[]*table.Entry{entry("b", 5, states("b"))}, table.Whole(), "b"},
		"the same again":   {[]*table.Entry{entry("b", 5, states("b")), entry("a", 9, states("a"))}, table.Whole(), "first"},
		"of the same time": {[]*table.Entry{entry("b", 0, states("b"))}, table.Whole(), "first"},
		"from quarantine":  {[]*table.Entry{entry("b", 5, states("b"), quarantined)}, table.Whole(), "first"},
		"as of before":     {[]*table.Entry{entry("b", 5, states("b"))}, table.View{Before: 4 * hour, Known: 9 * hour}, "first"},
		"unknown then":     {[]*table.Entry{entry("b", 5, states("b"))}, table.View{Before: 9 * hour, Known: 4 * hour}, "first"},
		"by a host":        {[]*table.Entry{entry("b", 5, links(table.Supersedes, "first"))}, table.Whole(), "b"},
		"by a chain": {[]*table.Entry{
			entry("b", 5, links(table.Supersedes, "first")), entry("c", 5, links(table.Supersedes, "b")),
		}, table.Whole(), "c"},
		"in a circle": {[]*table.Entry{
			entry("b", 5, links(table.Supersedes, "first")), entry("c", 5, links(table.Supersedes, "b"), links(table.Supersedes, "c")),
			entry("d", 5, links(table.Supersedes, "c"), states("d")),
		}, table.Whole(), "d"},
		"of another kind": {[]*table.Entry{entry("b", 5, states("b"))},
			table.View{Without: table.Fact, Before: 9 * hour, Known: 9 * hour}, "first"},
	} {
		first := entry("first", 0, states("a"))
		require.Equal(t, c.want, standing(c.view, tableOf(append(c.later, first)...), first), name)
	}
}

// Two values of one time contradict each other, and so does what two say within an hour.
func TestRelations(t *testing.T) {
	t.Parallel()
	old, now := entry("old", 0, states("a")), entry("now", 5, states("b"), by("Ann"))
	at := entry("at", 5, states("c"), by("Bob"))
	soon := entry("soon", 5, states("d"), by("Cid"))
	soon.At += hour / 2
	tab, whole := tableOf(old, now, at, soon), table.Whole()
	replaced, conflicts := whole.Relations(tab, now)
	require.Equal(t, "old", replaced.Name())
	require.ElementsMatch(t, []string{"at", "soon"}, names(conflicts))
	replaced, conflicts = whole.Relations(tab, entry("plain", 7))
	require.Nil(t, replaced)
	require.Empty(t, conflicts)
	a, b := entry("a", 1, links(table.Supersedes, "b")), entry("b", 2, links(table.Supersedes, "a"))
	for _, e := range []*table.Entry{a, b} {
		replaced, _ = whole.Relations(tableOf(a, b), e)
		require.Nil(t, replaced, "in a circle")
	}
	require.True(t, tab.Current(now))
	require.False(t, tab.Current(old))
	require.Equal(t, []string{"old"}, names(tab.Stating(table.SlotOf("cache", "host", "A", ""), hour)))
	require.Empty(t, tab.Stating(table.SlotOf("cache", "host", "A", ""), 0))
}

// What opposes a link is what closes a circle with it, of any length.
func TestOpposing(t *testing.T) {
	t.Parallel()
	a, b := entry("a", 1, links(table.Supersedes, "a"), links("", "c")), entry("b", 2, links(table.Supersedes, "a"))
	c := entry("c", 3, links(table.Supersedes, "b"), links(table.Supersedes, "a"), links(table.Supersedes, "gone"))
	d := entry("d", 4, links(table.Supersedes, "c"), links(table.Supersedes, "d"))
	tab := tableOf(a, b, c, d)
	require.Equal(t, []string{"b"}, names(tab.Opposing(b, a)))
	require.Equal(t, []string{"c", "b"}, names(tab.Opposing(d, a)))
	require.Equal(t, []string{"d"}, names(tab.Opposing(d, c)))
	require.Empty(t, tab.Opposing(a, d))
	require.Empty(t, tab.Opposing(b, d))
}

// What is put is found by each of its ids until it is removed, and leaves nothing behind.
func TestPutAndRemove(t *testing.T) {
	t.Parallel()
	var size atomic.Int64
	tab := table.New("acme", &size)
	tab.Arrive()
	empty := size.Load()
	former := func(e *table.Entry) {
		e.More.Former = []ident.Key{ident.Of("former")}
		e.More.Triggers = []string{"some phrase"}
	}
	a := entry("a", 1, states("a"), links("", "b"), former)
	b := entry("b", 2, links(table.Supersedes, "a"), quarantined)
	tab.Put(a, doc(a))
	tab.Put(b, doc(b))
	require.Same(t, a, tab.Find(ident.Of("former")))
	require.Equal(t, []string{"a", "b"}, names(tab.Snapshot()))
	require.Greater(t, size.Load(), empty)
	require.True(t, tab.Vouches())
	of, fan := tab.Fan(ident.Of("former"))
	require.Same(t, a, of)
	require.Equal(t, 2, fan, "its own, and that of b")
	tab.Enter()
	require.Equal(t, []string{"b"}, names(tab.LinkedLocked(a)), "what it is drawn from, once")
	require.Empty(t, tab.LinkedLocked(entry("c", 1, links(table.Supersedes, "a"))))
	tab.Leave()

	again := entry("a", 1)
	tab.Put(again, doc(again), table.Leaving{Entry: a, Doc: doc(a)})
	require.Same(t, again, tab.Find(ident.Of("a")))
	require.Nil(t, tab.Find(ident.Of("former")))
	require.False(t, tab.Holds(a))
	tab.Remove(table.Leaving{Entry: again, Doc: doc(again)}, table.Leaving{Entry: b, Doc: doc(b)})
	tab.Enter()
	require.False(t, tab.HidesLocked())
	require.Empty(t, tab.TriggersLocked())
	tab.Leave()
	require.Empty(t, tab.Snapshot())
	require.False(t, tab.Vouches())
	require.Equal(t, empty, size.Load())
	require.Zero(t, tab.Index.Len())
	tab.Depart()
	require.Zero(t, size.Load())
}

// What has come with its revision already is not put twice.
func TestPutOnce(t *testing.T) {
	t.Parallel()
	of := func(e *table.Entry) { e.Rev = 7 }
	first, second := entry("a", 1, of), entry("a", 1, of)
	tab := tableOf(first, second)
	require.Same(t, first, tab.Find(first.Key))
	require.Len(t, tab.Snapshot(), 1)
}

// Counters are those that were given last, and an archived record is marked in the index.
func TestTally(t *testing.T) {
	t.Parallel()
	a := entry("a", 1)
	tab := tableOf(a)
	require.Zero(t, a.Counts().Helped)
	tab.Tally(table.Change{Entry: a, Counts: &tally.Counts{Helped: 2, LastUsed: 9 * tally.Instant(hour)}})
	require.Equal(t, 2, a.Counts().Helped)
	require.Equal(t, 9*hour, tab.Changed())
	found := func() int {
		var sc index.Scratch
		return len(tab.Index.Search(&sc, &index.Query{Terms: text.Append(nil, "a"), K: 1, Exclude: index.Flags(table.Archived)}))
	}
	require.Equal(t, 1, found())
	tab.Tally(table.Change{Entry: a, Counts: &tally.Counts{Archived: true}})
	require.Zero(t, found())
}

// Counters to change are the callers' own, each with room for another situation.
func TestClone(t *testing.T) {
	t.Parallel()
	a, b := entry("a", 1), entry("b", 1)
	before := tally.Counts{Failed: 1, Situations: []tally.Situation{{Hash: 1, Failed: 1}}}
	a.Count(before.Clone())
	changes := []table.Change{{Entry: a}, {Entry: b}}
	table.Clone(changes)
	for _, c := range changes {
		c.Counts.Add(tally.Failed, 7, 1)
		c.Counts.Add(tally.Failed, 8, 1)
	}
	require.Equal(t, before, *a.Counts())
	require.Zero(t, *b.Counts())
	require.Equal(t, []uint64{1, 7, 8}, hashes(changes[0].Counts))
	require.Equal(t, []uint64{7, 8}, hashes(changes[1].Counts))
}

func hashes(c *tally.Counts) (out []uint64) {
	for _, s := range c.Situations {
		out = append(out, s.Hash)
	}
	return out
}

// A guess counts until one by who has read both says that it is wrong.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	a, b := entry("a", 1), entry("b", 2)
	tab := tableOf(a, b)
	require.False(t, tab.Overtaken(a, 3*hour))
	tab.Suspect(a.Key, table.Guess{By: b.Key, Probability: .5, Of: table.ByCue})
	require.True(t, tab.Overtaken(a, 3*hour))
	require.True(t, tab.Suspects(b, a.Key))
	require.False(t, tab.Suspects(a, b.Key))
	tab.Suspect(a.Key, table.Guess{By: b.Key, Of: table.ByExtractor})
	require.False(t, tab.Overtaken(a, 3*hour))
	said := entry("s", 5, states("a"))
	tab.Put(said, doc(said))
	require.True(t, tab.Overtaken(said, 4*hour), "what states it at an earlier time is a record of its own")
}

// Vectors that are missing are told in order of row.
func TestVectorless(t *testing.T) {
	t.Parallel()
	tab := table.New("acme", nil)
	var es []*table.Entry
	for i := range 4 {
		e := entry(fmt.Sprint("e", i), int64(i))
		es = append(es, e)
		x := []float32{1, float32(i)}
		if i == 2 {
			x = nil
		}
		tab.PutVector(e, doc(e), x)
	}
	require.Equal(t, 1, tab.Pending())
	e, row := tab.NextVectorless(0)
	require.Same(t, es[2], e)
	require.Equal(t, es[2].Row, row)
	tab.SetVector(es[2], nil)
	require.Zero(t, tab.Pending())
	e, row = tab.NextVectorless(0)
	require.Nil(t, e)
	require.Equal(t, uint32(4), row)
}

// Entries are ordered by time, and those of one time by id.
func TestByTime(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"c", "a", "b"}, names(table.ByTime([]*table.Entry{entry("b", 2), entry("c", 1), entry("a", 2)})))
	late := entry("a", 2)
	late.Seq = 1
	require.True(t, late.After(entry("z", 2)))
	require.False(t, entry("z", 2).After(late))
}
