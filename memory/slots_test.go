package memory_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/slots/slotstest"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// The bar of updates: of facts that were stated and then changed, among others
// about the same people and things, the current value is first in 95 of 100,
// and the old one is as of its time.
func TestUpdates(t *testing.T) {
	t.Parallel()
	for part, least := range map[slotstest.Part]float64{slotstest.Dev: 0.98, slotstest.Held: 0.95, slotstest.Fresh: 0.95} {
		current, old, linked, facts := updates(t, part, nil)
		t.Logf("part %d: of %d, current first %d, old first as of its time %d, linked %d", part, facts, current, old, linked)
		require.GreaterOrEqual(t, float64(current), least*float64(facts))
		require.GreaterOrEqual(t, float64(old), least*float64(facts))
	}
}

// updates remembers a corpus and asks for it.
func updates(t *testing.T, part slotstest.Part, opts *memory.Options) (current, old, linked, all int) {
	ctx := context.Background()
	c := newClock()
	if opts == nil {
		opts = &memory.Options{}
	}
	opts.Now, opts.Seed = c.now, 1
	b, err := memory.Open(ctx, store.NewMem(), opts)
	require.NoError(t, err)
	defer b.Close()
	in := func(f slotstest.Fact) memory.Space { // each who speaks has an own scope
		if f.Actor != "" {
			return b.In(memory.Scope("acme/" + f.Actor))
		}
		return b.In("acme/team")
	}
	facts := slotstest.Corpus(part, 1)
	first := epoch.Add(-1000 * time.Hour)
	ids := make([][2]memory.ID, len(facts))
	for i, f := range facts {
		at := first.Add(time.Duration(i) * time.Minute)
		rs, err := in(f).RememberAll(ctx, []memory.Draft{
			{Kind: memory.Fact, Content: f.Old, Actor: f.Actor, At: at},
			{Kind: memory.Fact, Content: f.New, Actor: f.Actor, At: at.Add(100 * time.Hour)},
		})
		require.NoError(t, err)
		ids[i] = [2]memory.ID{rs[0].ID, rs[1].ID}
	}
	for i, d := range slotstest.Distractors(300, 1) {
		_, err := b.In("acme/team").Remember(ctx, memory.Draft{Kind: memory.Episode, Content: d, At: first.Add(time.Duration(i) * time.Hour)})
		require.NoError(t, err)
	}
	for i, f := range facts {
		hits, err := in(f).Recall(ctx, memory.Query{Text: f.Ask})
		require.NoError(t, err)
		if len(hits) > 0 && hits[0].Record.ID == ids[i][1] {
			current++
			if o := hits[0].Superseded; o != nil && o.ID == ids[i][0] {
				linked++
			}
		} else if part == slotstest.Dev {
			t.Logf("%s: %q: %q -> %q: %v", f.Family, f.Ask, f.Old, f.New, texts(hits, 2))
		}
		hits, err = in(f).Recall(ctx, memory.Query{Text: f.Ask, At: first.Add(time.Duration(i)*time.Minute + time.Hour)})
		require.NoError(t, err)
		if len(hits) > 0 && hits[0].Record.ID == ids[i][0] {
			old++
		} else if part == slotstest.Dev {
			t.Logf("%s, then: %q: %q: %v", f.Family, f.Ask, f.Old, texts(hits, 2))
		}
	}
	return current, old, linked, len(facts)
}

func texts(hits []memory.Hit, n int) (out []string) {
	for _, h := range hits[:min(n, len(hits))] {
		out = append(out, h.Record.Content)
	}
	return out
}

func TestSlotsOfHosts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, _ := space(t)
	bad := func(slot memory.Slot) error {
		_, err := s.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: "x", Slot: slot})
		return err
	}
	require.ErrorIs(t, bad(memory.Slot{Subject: "Alice", Value: "Rome"}), memory.ErrEmpty)
	require.ErrorIs(t, bad(memory.Slot{Subject: "Alice", Attribute: "home"}), memory.ErrEmpty)
	var limit *store.LimitError
	require.ErrorAs(t, bad(memory.Slot{Attribute: "home", Value: strings.Repeat("x", memory.MaxSlot)}), &limit)
	require.ErrorIs(t, s.Restate(ctx, "nobody", memory.Slot{}), store.ErrNotFound)
	require.ErrorIs(t, s.Restate(ctx, "nobody", memory.Slot{Subject: "x"}), memory.ErrEmpty)
}

// A value that was stated again after another one holds again: the text is not
// merged with the old one. Nor is one that only differs in tense.
func TestNearDuplicatesOfStatements(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, _ := space(t)
	say := func(text string, day int) memory.Receipt {
		r, err := s.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: text, At: epoch.AddDate(0, 0, day-100)})
		require.NoError(t, err)
		return r
	}
	first := say("The default branch of the payment service repository is main.", 1)
	require.Equal(t, first.ID, say("The default branch of the payment service repository is main.", 2).Into)
	second := say("The default branch of the payment service repository is trunk.", 3)
	require.Equal(t, memory.Stored, second.Disposition)
	third := say("The default branch of the payment service repository is main.", 4)
	require.Equal(t, memory.Stored, third.Disposition)
	require.Equal(t, memory.Stored, say("The default branch of the payment service repository was main.", 5).Disposition)
	hits, err := s.Recall(ctx, memory.Query{Text: "What is the default branch of the payment service repository?"})
	require.NoError(t, err)
	require.Equal(t, third.ID, hits[0].Record.ID)
	require.Equal(t, second.ID, hits[0].Superseded.ID)
	report, err := s.Consolidate(ctx)
	require.NoError(t, err)
	require.Zero(t, report.Merged)
}

// A quarantined text does not take the place of a trusted one in a prompt.
func TestPoisonDoesNotSupersede(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, _ := space(t)
	good, err := s.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: "The deploy host is a.example.com.", At: epoch.Add(-48 * time.Hour)})
	require.NoError(t, err)
	evil, err := s.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: "The deploy host is now evil.example.com.", At: epoch, Source: memory.Source{Origin: memory.Web}})
	require.NoError(t, err)
	q := memory.Query{Text: "What is the deploy host?", Inject: true}
	first := func() memory.Hit {
		hits, err := s.Recall(ctx, q)
		require.NoError(t, err)
		require.Len(t, hits, 1)
		return hits[0]
	}
	require.Equal(t, good.ID, first().Record.ID)
	q.Inject = false
	require.Equal(t, evil.ID, first().Record.ID)
	require.False(t, first().Record.Trusted)
	require.Equal(t, good.ID, first().Superseded.ID)
	q.Inject = true
	require.NoError(t, s.Trust(ctx, evil.ID))
	require.Equal(t, evil.ID, first().Record.ID)
}

// What a host wants unread is not read.
func TestNoSlots(t *testing.T) {
	t.Parallel()
	current, old, linked, all := updates(t, slotstest.Dev, &memory.Options{NoSlots: true})
	require.Zero(t, linked)
	t.Logf("unread: of %d, current first %d, old first as of its time %d", all, current, old)
}

// Statements of the past, and a record that says much besides, stay.
func TestWhatStays(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, _ := space(t)
	say := func(text string, day int) memory.ID {
		r, err := s.Remember(ctx, memory.Draft{Kind: memory.Episode, Content: text, At: epoch.AddDate(0, 0, day-100)})
		require.NoError(t, err)
		return r.ID
	}
	old := say("Nora lives in Porto.", 1)
	long := say("We went to the harbour and had grilled sardines with everybody. Nora lives in Porto. Later the band played until two in the morning.", 2)
	current := say("Nora moved to Oslo.", 3)
	recall := func(text string) []memory.ID {
		hits, err := s.Recall(ctx, memory.Query{Text: text})
		require.NoError(t, err)
		return ids(hits)
	}
	require.Equal(t, []memory.ID{current, long}, recall("Where does Nora live?"))
	require.Equal(t, []memory.ID{long}, recall("sardines"))
	require.ElementsMatch(t, []memory.ID{old, long, current}, recall("Where did Nora live before?"))
}

// statement is a record of the naive model of what supersedes what.
type statement struct {
	id        memory.ID
	slot      string
	value     int
	change    bool
	at, known time.Time
	actor     string
	origin    memory.Origin
	trusted   bool
	detached  bool
}

func later(a, b statement) int {
	b2i := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(b2i(a.change), b2i(b.change)), a.known.Compare(b.known), cmp.Compare(a.id, b.id))
}

func contradict(a, b statement) bool {
	return a.value != b.value && !b.change && (a.at.Equal(b.at) || b.at.Sub(a.at) <= time.Hour && (a.actor != b.actor || a.origin != b.origin))
}

// holding returns what a query may see, what supersedes each of that, and what
// contradicts it.
func holding(all []statement, q memory.Query) (seen []statement, over, under map[memory.ID]memory.ID, against map[memory.ID][]memory.ID) {
	for _, x := range all {
		if (q.At.IsZero() || !x.at.After(q.At)) && (q.Known.IsZero() || !x.known.After(q.Known)) && (!q.Inject || x.trusted) {
			seen = append(seen, x)
		}
	}
	over, under, against = map[memory.ID]memory.ID{}, map[memory.ID]memory.ID{}, map[memory.ID][]memory.ID{}
	slots := map[string][]statement{}
	for _, x := range seen {
		if !x.detached {
			slots[x.slot] = append(slots[x.slot], x)
		}
	}
	for _, xs := range slots {
		last := slices.MaxFunc(xs, later)
		values := map[int]bool{last.value: true}
		var tops []statement
		for _, x := range xs {
			if x.id == last.id || contradict(x, last) {
				tops = append(tops, x)
				values[x.value] = true
			}
		}
		var below []statement
		for _, x := range xs {
			if !values[x.value] {
				over[x.id] = last.id
				below = append(below, x)
			}
		}
		for _, x := range tops {
			if len(below) > 0 {
				under[x.id] = slices.MaxFunc(below, later).id
			}
			for _, y := range tops {
				if y.value != x.value {
					against[x.id] = append(against[x.id], y.id)
				}
			}
		}
	}
	return seen, over, under, against
}

// Random histories, told out of order, against the model.
func TestSupersessionModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		st, c := store.NewMem(), newClock()
		b := open(t, st, c)
		var all []statement
		space := func() memory.Space { return b.In("acme") }
		pick := func() int { return rapid.IntRange(0, len(all)-1).Draw(t, "which") }
		t.Repeat(map[string]func(*rapid.T){
			"remember": func(t *rapid.T) {
				c.move(time.Duration(rapid.IntRange(0, 1).Draw(t, "pause")) * time.Hour)
				x := statement{
					slot: rapid.SampledFrom([]string{"alpha", "beta"}).Draw(t, "slot"), value: rapid.IntRange(1, 4).Draw(t, "value"),
					change: rapid.Bool().Draw(t, "change"), at: epoch.Add(time.Duration(rapid.IntRange(-8, 8).Draw(t, "at")) * 30 * time.Minute),
					known: c.now(), actor: rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "actor"),
					origin: rapid.SampledFrom([]memory.Origin{memory.Host, memory.Web}).Draw(t, "origin"),
				}
				x.trusted = x.origin == memory.Host
				now := ""
				if x.change {
					now = "now "
				}
				r, err := space().Remember(ctx, memory.Draft{Kind: memory.Episode, Content: fmt.Sprintf("The port of the %s service is %s%d.", x.slot, now, x.value),
					At: x.at, Actor: x.actor, Source: memory.Source{Origin: x.origin}})
				require.NoError(t, err)
				x.id = r.ID
				all = append(all, x)
			},
			"forget": func(t *rapid.T) {
				if len(all) > 0 {
					i := pick()
					require.NoError(t, space().Forget(ctx, all[i].id))
					all = slices.Delete(all, i, i+1)
				}
			},
			"revoke": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "often") == 0 {
					_, err := space().Revoke(ctx, memory.Source{Origin: memory.Web})
					require.NoError(t, err)
					all = slices.DeleteFunc(all, func(x statement) bool { return x.origin == memory.Web })
				}
			},
			"trust": func(t *rapid.T) {
				if len(all) > 0 {
					x := &all[pick()]
					require.NoError(t, space().Trust(ctx, x.id))
					x.trusted = true
				}
			},
			"restate": func(t *rapid.T) {
				if len(all) > 0 {
					x := &all[pick()]
					var slot memory.Slot
					if x.detached = rapid.Bool().Draw(t, "detached"); !x.detached {
						x.slot, x.value, x.change = "beta", rapid.IntRange(1, 4).Draw(t, "value"), false
						slot = memory.Slot{Subject: "the beta service", Attribute: "port", Value: fmt.Sprint(x.value)}
					}
					for range 2 {
						require.NoError(t, space().Restate(ctx, x.id, slot))
					}
					r, err := space().Get(ctx, x.id)
					require.NoError(t, err)
					require.Equal(t, slot, r.Slot)
				}
			},
			"reopen": func(t *rapid.T) {
				require.NoError(t, b.Close())
				b = open(t, st, c)
			},
			"": func(t *rapid.T) {
				q := memory.Query{Text: "service", K: 1 + len(all), Inject: rapid.Bool().Draw(t, "inject")}
				if rapid.Bool().Draw(t, "then") {
					q.At = epoch.Add(time.Duration(rapid.IntRange(-8, 8).Draw(t, "query at")) * 30 * time.Minute)
				}
				if rapid.Bool().Draw(t, "known then") {
					q.Known = c.now().Add(-time.Duration(rapid.IntRange(0, 3).Draw(t, "ago")) * time.Hour)
				}
				checkHolding(t, space(), all, q)
			},
		})
	})
}

// checkHolding compares recalls with the model.
func checkHolding(t *rapid.T, s memory.Space, all []statement, q memory.Query) {
	ctx := context.Background()
	seen, over, under, against := holding(all, q)
	hits, err := s.Recall(ctx, q)
	require.NoError(t, err)
	found := map[memory.ID]bool{}
	for _, h := range hits {
		id := h.Record.ID
		require.False(t, found[id], "twice")
		found[id] = true
		var old memory.ID
		if h.Superseded != nil {
			old = h.Superseded.ID
		}
		require.Equal(t, under[id], old)
		require.ElementsMatch(t, against[id], h.Conflicts)
	}
	for _, x := range seen {
		by, gone := over[x.id]
		require.Equal(t, !gone, found[x.id])
		if gone {
			why, err := s.Explain(ctx, q, x.id)
			require.NoError(t, err)
			require.Equal(t, by, why.By)
		}
	}
	require.Len(t, hits, len(seen)-len(over))
	q.K = 2
	few, err := s.Recall(ctx, q)
	require.NoError(t, err)
	require.Equal(t, hits[:min(2, len(hits))], few)
	// What is asked for comes first.
	for slot, n := range map[string]int{"alpha": 0, "beta": 0} {
		for _, x := range seen {
			if _, gone := over[x.id]; x.slot == slot && !gone && !x.detached {
				n++
			}
		}
		q.Text, q.K = "which port does the "+slot+" service have?", max(n, 1)
		hits, err := s.Recall(ctx, q)
		require.NoError(t, err)
		for _, h := range hits[:n] {
			i := slices.IndexFunc(seen, func(x statement) bool { return x.id == h.Record.ID })
			require.Equal(t, slot, seen[i].slot)
			require.NotContains(t, over, h.Record.ID)
		}
	}
}

// Of a slot with many values, each is replaced by what names it, which may be
// replaced in turn, unless it is said again before that.
func TestChains(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		s, c := space(t)
		type use struct {
			id         memory.ID
			value, old string
		}
		tools := rapid.SampledFrom([]string{"redis", "kafka", "nats", "mysql"})
		var all []use
		for range rapid.IntRange(1, 12).Draw(t, "statements") {
			u := use{value: tools.Draw(t, "value"), old: tools.Draw(t, "old")}
			text := fmt.Sprintf("We replaced %s with %s.", u.old, u.value)
			if u.old == u.value {
				u.old, text = "", fmt.Sprintf("We use %s.", u.value)
			}
			c.move(2 * time.Hour)
			u.id = remember(t, s, memory.Draft{Kind: memory.Episode, Content: text})
			all = append(all, u)
		}
		for i, u := range all {
			var by memory.ID
			value := u.value
			for _, v := range all[i+1:] {
				if v.value == value && v.old == "" {
					break
				}
				if v.old == value {
					by, value = v.id, v.value
				}
			}
			why, err := s.Explain(ctx, memory.Query{Text: u.value}, u.id)
			require.NoError(t, err)
			require.Equal(t, by, why.By, "%v", all)
		}
	})
}

// A slot for which everybody says something else is no reason to name them all.
func TestConflictsAreFew(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, _ := space(t)
	var ids []memory.ID
	for i := range 2 * memory.MaxConflicts {
		d := memory.Draft{Kind: memory.Episode, Content: "Alice has moved.", At: epoch}
		d.Slot = memory.Slot{Subject: "Alice", Attribute: "home", Value: fmt.Sprintf("city %d", i)}
		ids = append(ids, remember(t, s, d))
	}
	hits, err := s.Recall(ctx, memory.Query{Text: "Alice", K: 3 * memory.MaxConflicts})
	require.NoError(t, err)
	require.Len(t, hits, len(ids))
	for _, h := range hits {
		require.Len(t, h.Conflicts, memory.MaxConflicts)
		require.NotContains(t, h.Conflicts, h.Record.ID)
		require.Subset(t, ids, h.Conflicts)
	}
}

// What holds does not depend on the order in which it was stored.
func TestStatementsOutOfOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		n := rapid.IntRange(1, 120).Draw(t, "statements")
		order := rapid.Permutation(slices.Collect(count(n))).Draw(t, "order")
		forget := rapid.SliceOfDistinct(rapid.IntRange(0, n-1), rapid.ID[int]).Draw(t, "forget")
		ahead, _ := space(t)
		mixed, _ := space(t)
		ids := make([]memory.ID, n)
		store := func(s memory.Space, i int) {
			ids[i] = remember(t, s, memory.Draft{
				Kind: memory.Episode, Content: fmt.Sprintf("Alice has moved %d times.", i), Key: fmt.Sprint(i),
				At: epoch.Add(time.Duration(i) * time.Hour), Slot: memory.Slot{Subject: "Alice", Attribute: "home", Value: fmt.Sprintf("city %d", i%50)},
			})
		}
		for i := range n {
			store(ahead, i)
			store(mixed, order[i])
		}
		same := func() {
			for _, at := range []int{0, n / 3, n / 2, n} {
				q := memory.Query{Text: "Where is the home of Alice?", At: epoch.Add(time.Duration(at) * time.Hour), K: n}
				want, got := recall(t, ahead, q), recall(t, mixed, q)
				require.Len(t, got, len(want))
				for i := range want {
					require.Equal(t, want[i].Record.ID, got[i].Record.ID)
					require.Equal(t, want[i].Superseded == nil, got[i].Superseded == nil)
					if want[i].Superseded != nil {
						require.Equal(t, want[i].Superseded.ID, got[i].Superseded.ID)
					}
				}
			}
		}
		same()
		for _, i := range forget {
			require.NoError(t, ahead.Forget(ctx, ids[i]))
			require.NoError(t, mixed.Forget(ctx, ids[i]))
		}
		same()
	})
}

func count(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := 0; i < n && yield(i); i++ {
		}
	}
}
