package memory_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// TestBanksFollowOneAnother has two Banks on one store remember, merge, change and forget, and
// hear of what the other has done sooner or later. In the end each has what a third
// one reads from the store.
func TestBanksFollowOneAnother(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		ctx, mem := t.Context(), &feed{Mem: store.NewMem()}
		open := func(bytes int64) *memory.Bank {
			b, err := memory.Open(ctx, mem, &memory.Options{Seed: 1, Sync: true, Shared: true, IndexBytes: bytes})
			require.NoError(r, err)
			return b
		}
		banks := [2]*memory.Bank{open(0), open(rapid.SampledFrom([]int64{0, 1, 12 << 10}).Draw(r, "index bytes"))}
		var heard [2]int
		hear := func(i int) {
			for ; heard[i] < len(mem.all); heard[i]++ {
				require.NoError(r, banks[i].Follow(ctx, mem.all[heard[i]]))
			}
		}
		n := 0
		var ids []memory.ID
		pick := func() (int, memory.Space) {
			i := rapid.IntRange(0, 1).Draw(r, "bank")
			return i, banks[i].In(rapid.SampledFrom(tenants[:]).Draw(r, "scope"))
		}
		r.Repeat(map[string]func(*rapid.T){
			"remember": func(r *rapid.T) {
				_, s := pick()
				n++
				d := memory.Draft{
					Kind: memory.Pattern, Trigger: fmt.Sprint("when the cache of host number ", n%4, " is broken"),
					Content: fmt.Sprint("clear the cache of host number ", n%4), Key: fmt.Sprint("key ", n%6),
				}
				if got, err := s.Remember(ctx, d); err == nil && got.ID != "" {
					ids = append(ids, got.ID)
				}
			},
			"feedback": func(r *rapid.T) {
				if len(ids) == 0 {
					return
				}
				_, s := pick()
				n++
				id := rapid.SampledFrom(ids).Draw(r, "id")
				require.NoError(r, s.Feedback(ctx, memory.Feedback{
					Key: fmt.Sprint("f", n), Injected: []memory.ID{id}, Utilized: []memory.ID{id}, Delivered: true,
				}))
			},
			"forget": func(r *rapid.T) {
				if len(ids) == 0 {
					return
				}
				_, s := pick()
				_ = s.Forget(ctx, rapid.SampledFrom(ids).Draw(r, "id")) // the other may have before
			},
			"erase": func(r *rapid.T) {
				if rapid.IntRange(0, 5).Draw(r, "erase") == 0 {
					i, _ := pick()
					hear(i)
					require.NoError(r, banks[i].Erase(ctx, rapid.SampledFrom(tenants[:]).Draw(r, "erased")))
					hear(0) // no other call may use the scope meanwhile
					hear(1)
				}
			},
			"hear": func(r *rapid.T) { i, _ := pick(); hear(i) },
		})
		hear(0)
		hear(1)
		third := open(0)
		want := held(r, t, third)
		for _, b := range banks {
			require.Equal(r, want, held(r, t, b))
			require.NoError(r, b.Close())
		}
		require.NoError(r, third.Close())
	})
}

// TestReplicasComeToOneMemory has Banks do all that changes memories, each hearing late of what the others did, and
// losing answers of the store. Once all have heard of all, each has what another one reads from the store.
func TestReplicasComeToOneMemory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		ctx, mem, c := t.Context(), &feed{Mem: store.NewMem()}, newClock()
		var stores []*arctest.Store
		var banks []*memory.Bank
		open := func() {
			st := arctest.NewStore(mem)
			b, err := memory.Open(ctx, st, &memory.Options{
				Seed: uint64(len(banks) + 1), Shared: true, Now: c.now, IndexBytes: rapid.SampledFrom([]int64{0, 0, 1}).Draw(r, "bytes"),
			})
			require.NoError(r, err)
			banks, stores = append(banks, b), append(stores, st)
		}
		for range rapid.IntRange(2, 3).Draw(r, "banks") {
			open()
		}
		heard := make([]int, len(banks))
		hear := func(i, n int) {
			stores[i].FailNext(0, 0, false)
			all := mem.from(heard[i])
			for _, e := range all[:min(n, len(all))] {
				require.NoError(r, banks[i].Follow(ctx, e))
				heard[i]++
			}
		}
		ids, n, at := []memory.ID{"unknown"}, 0, 0
		pick := func(r *rapid.T) memory.Space {
			at = rapid.IntRange(0, len(banks)-1).Draw(r, "bank")
			hear(at, rapid.SampledFrom([]int{0, 0, 0, 1, 3, 1000}).Draw(r, "hears of"))
			if rapid.IntRange(0, 3).Draw(r, "fails") == 0 {
				stores[at].FailNext(rapid.IntRange(0, 1).Draw(r, "commit"), 1, rapid.Bool().Draw(r, "applied"))
			}
			return banks[at].In(rapid.SampledFrom(faultScopes).Draw(r, "scope"))
		}
		id := func(r *rapid.T, label string) memory.ID { return rapid.SampledFrom(ids).Draw(r, label) }
		some := func(r *rapid.T, label string) []memory.ID {
			return rapid.SliceOfN(rapid.SampledFrom(ids), 0, 3).Draw(r, label)
		}
		did := func(r *rapid.T, err error) {
			allowed := []error{nil, store.ErrConflict, store.ErrNotFound, memory.ErrQuery, arctest.ErrStore}
			if !slices.ContainsFunc(allowed, func(is error) bool { return errors.Is(err, is) }) {
				require.NoError(r, err)
			}
		}
		draft := func(r *rapid.T) memory.Draft {
			n++
			d := memory.Draft{
				Kind:    rapid.SampledFrom([]memory.Kind{memory.Fact, memory.Episode, memory.Pattern, memory.Failure}).Draw(r, "kind"),
				Trigger: sentence(r, "trigger", 2), Content: sentence(r, "content", 1), Key: rapid.SampledFrom([]string{"", "k1", "k2", "k3"}).Draw(r, "key"),
				Actor:  rapid.SampledFrom([]string{"", "Ann"}).Draw(r, "actor"),
				Thread: rapid.SampledFrom([]string{"", "t"}).Draw(r, "thread"),
				Source: memory.Source{
					Origin: rapid.SampledFrom([]memory.Origin{memory.Host, memory.Derived, memory.Web}).Draw(r, "origin"),
					Run:    rapid.SampledFrom([]string{"", "r1", "r2"}).Draw(r, "run"),
				},
			}
			switch rapid.IntRange(0, 6).Draw(r, "of which sort") {
			case 0:
				d.Slot = memory.Slot{Subject: "cache", Attribute: "port", Value: rapid.SampledFrom([]string{"17", "8080"}).Draw(r, "value")}
			case 1:
				d.Links = []memory.Link{{To: id(r, "to"), Rel: rapid.SampledFrom([]string{"", "about"}).Draw(r, "rel")}}
			case 2:
				d.Kind, d.Passing, d.Key = memory.Episode, true, fmt.Sprint("p", n) // two that are written behind are the later
			case 3:
				d.Vector = []float32{rapid.Float32Range(-1, 1).Draw(r, "x"), 1}
			case 4:
				d.Content = "the port of the cache is " + rapid.SampledFrom([]string{"17", "8080", "now 9090"}).Draw(r, "port")
			}
			return d
		}
		r.Repeat(map[string]func(*rapid.T){
			"remember": func(r *rapid.T) {
				s := pick(r)
				got, err := s.RememberAll(ctx, rapid.SliceOfN(rapid.Custom(draft), 1, 3).Draw(r, "drafts"))
				did(r, err)
				for _, g := range got {
					ids = append(ids, cmp.Or(g.ID, "unknown"))
				}
			},
			"feedback": func(r *rapid.T) {
				n++
				did(r, pick(r).Feedback(ctx, memory.Feedback{
					Key: fmt.Sprint("f", n/2), Injected: some(r, "injected"), Utilized: some(r, "utilized"), Misled: some(r, "misled"),
					Delivered: rapid.Bool().Draw(r, "delivered"),
				}))
			},
			"change": func(r *rapid.T) {
				s, of := pick(r), id(r, "id")
				var err error
				switch rapid.IntRange(0, 7).Draw(r, "change") {
				case 0, 1:
					err = s.Forget(ctx, of)
				case 2:
					err = s.Trust(ctx, of)
				case 3:
					err = s.Archive(ctx, of, rapid.Bool().Draw(r, "archived"))
				case 4:
					err = s.Supersede(ctx, of, id(r, "by"))
				case 5:
					_, err = s.Revoke(ctx, memory.Source{Origin: memory.Web, Run: "r1"})
				case 6:
					err = s.Release(ctx, []string{"f1", "f2"}, []string{"k1", "k2"})
				case 7:
					err = banks[at].Flush(ctx)
				}
				did(r, err)
			},
			"consolidate": func(r *rapid.T) { _, err := pick(r).Consolidate(ctx); did(r, err) },
			"decay":       func(r *rapid.T) { _, err := pick(r).Decay(ctx); did(r, err) },
			"time passes": func(r *rapid.T) { c.move(time.Duration(rapid.IntRange(0, 800).Draw(r, "hours")) * time.Hour) },
		})
		for range 4 { // what is heard of changes something
			for i := range heard {
				hear(i, 1<<30)
				did(r, banks[i].Flush(ctx))
			}
		}
		open()
		var want []string
		for i, b := range slices.Backward(banks) {
			got := knownTo(r, b, c)
			if want == nil {
				want = got
			}
			require.Equal(r, want, got, i)
			require.NoError(r, b.Close())
		}
	})
}

// knownTo is all that a Bank says of faultScopes.
func knownTo(r *rapid.T, b *memory.Bank, c *clock) []string {
	ctx, out := context.Background(), []string{}
	for _, scope := range faultScopes {
		s := b.In(scope)
		for rec, err := range s.All(ctx) {
			require.NoError(r, err)
			rec = get(r, s, rec.ID) // with SupersededBy
			json, err := json.Marshal(rec)
			require.NoError(r, err)
			out = append(out, string(json))
		}
		thread, err := s.Latest(ctx, "t", 20)
		require.NoError(r, err)
		out = append(out, fmt.Sprint(thread))
		for _, q := range []memory.Query{
			{Text: "what is the port of the cache"}, {Text: "import cycle in the store", Linked: true, Archived: true}, {Inject: true},
			{Text: "the port", At: c.now().Add(-500 * time.Hour)}, {Vector: []float32{1, 1}},
		} {
			q.K = 50
			hits, err := s.Recall(ctx, q)
			if err != nil {
				require.ErrorIs(r, err, memory.ErrVector) // none is known yet
			}
			for _, h := range hits {
				out = append(out, fmt.Sprintf("%s %.5f %v %v", h.Record.ID, h.Score, h.Replaced, h.Superseded != nil))
			}
		}
	}
	return out
}

// TestFeedbackOfSeveralBanksAddsUp has three Banks rate the same records, be told the same feedback twice, archive
// and merge, and hear of one another late: each feedback counts once.
func TestFeedbackOfSeveralBanksAddsUp(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		ctx, mem := t.Context(), &feed{Mem: store.NewMem()}
		var banks [3]*memory.Bank
		var ids []memory.ID
		for i := range banks {
			var err error
			if banks[i], err = memory.Open(ctx, mem, &memory.Options{Seed: 1, Shared: true}); i == 0 {
				for _, text := range []string{"the small key opens the door", "ann prefers tea"} {
					got, err := banks[0].In("acme").Remember(ctx, memory.Draft{Kind: memory.Fact, Content: text})
					require.NoError(r, err)
					ids = append(ids, got.ID)
				}
			}
			require.NoError(r, err)
		}
		var heard [3]int
		hear := func(i int) {
			for ; heard[i] < len(mem.all); heard[i]++ {
				require.NoError(r, banks[i].Follow(ctx, mem.all[heard[i]]))
			}
		}
		helped, told := map[memory.ID]int{}, map[int]bool{}
		pick := func() int { return rapid.IntRange(0, 2).Draw(r, "bank") }
		r.Repeat(map[string]func(*rapid.T){
			"feedback": func(r *rapid.T) {
				n, undo := rapid.IntRange(0, 20).Draw(r, "key"), rapid.IntRange(0, 3).Draw(r, "undo") == 0
				of := ids[n%2 : n%2+1+n%3/2*(1-n%2)]
				if !told[n] {
					for _, id := range of {
						if helped[id]++; undo {
							helped[id] = max(0, helped[id]-2)
						}
					}
				}
				told[n] = true
				require.NoError(r, banks[pick()].In("acme").Feedback(ctx, memory.Feedback{
					Key: fmt.Sprint("f", n), Injected: of, Utilized: of, Delivered: true, Undo: undo,
				}))
			},
			"archive": func(r *rapid.T) {
				_ = banks[pick()].In("acme").Archive(ctx, ids[0], rapid.Bool().Draw(r, "archived"))
			},
			"say again": func(r *rapid.T) {
				_, err := banks[pick()].In("acme").Remember(ctx, memory.Draft{Kind: memory.Fact, Content: "ann prefers tea"})
				require.NoError(r, err)
			},
			"hear": func(r *rapid.T) { hear(pick()) },
		})
		fourth, err := memory.Open(ctx, mem, &memory.Options{Seed: 1, Shared: true})
		require.NoError(r, err)
		for i, b := range append(banks[:], fourth) {
			if i < len(banks) {
				hear(i)
			}
			for _, id := range ids {
				rec, err := b.In("acme").Get(ctx, id)
				require.NoError(r, err)
				require.Equal(r, helped[id], rec.Stats.Helped, "bank %d", i)
			}
			require.NoError(r, b.Close())
		}
	})
}

// A recall After another Bank's write waits until this one has heard of it as a whole, or says how far it is.
func TestRecallAfterAWriteElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := &feed{Mem: store.NewMem()}
		opts := &memory.Options{Seed: 1, Shared: true}
		one, err := memory.Open(t.Context(), mem, opts)
		require.NoError(t, err)
		two, err := memory.Open(t.Context(), mem, opts)
		require.NoError(t, err)
		defer func() { require.NoError(t, errors.Join(one.Close(), two.Close())) }()
		var wrote memory.Receipt
		for range 2 { // what is said again is merged
			wrote, err = one.In("acme").Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "the small key opens the door"})
			require.NoError(t, err)
			require.NotZero(t, wrote.Revision)
		}
		ask := memory.Query{Text: "which key opens the door", After: wrote.Revision}
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = two.In("acme").Recall(late, ask)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, fmt.Sprintf("heard of revision 0, and not of all up to %d", wrote.Revision))
		heard := 0
		hear := func() {
			for ; heard < len(mem.all); heard++ {
				require.NoError(t, two.Follow(t.Context(), mem.all[heard]))
			}
		}
		hear()
		go func() { // once the recall waits for what the last commit has beside
			synctest.Wait()
			hear()
		}()
		hits, err := two.In("acme").Recall(t.Context(), ask)
		require.NoError(t, err)
		require.Len(t, hits, 1)
		hits, err = two.In("acme").Recall(t.Context(), ask)
		require.NoError(t, err)
		require.Len(t, hits, 1)
	})
}

// What another Bank changes or forgets of a text that is kept on disk is so here.
func TestLongTextsThatAreChangedElsewhere(t *testing.T) {
	for _, read := range []bool{false, true} { // before
		ctx, mem := t.Context(), &feed{Mem: store.NewMem()}
		open := func() (*memory.Bank, memory.Space) {
			b, err := memory.Open(ctx, mem, &memory.Options{Seed: 1, Shared: true})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, b.Close()) })
			return b, b.In("acme")
		}
		long := func(word string) string { return word + strings.Repeat(" lorem ipsum dolor", 400) }
		_, one := open()
		vector := []float32{1, 0, 0, 0, 0, 0, 0, 0}
		wrote, err := one.Remember(ctx, memory.Draft{
			Kind: memory.Pattern, Trigger: "when the cache is broken", Content: long("flush"), Vector: vector, Source: memory.Source{Origin: memory.User},
		})
		require.NoError(t, err)
		bank, two := open()
		heard := len(mem.all)
		hear := func() {
			for ; heard < len(mem.all); heard++ {
				require.NoError(t, bank.Follow(ctx, mem.all[heard]))
			}
		}
		find := func(q memory.Query) []memory.Hit {
			hits, err := two.Recall(ctx, q)
			require.NoError(t, err)
			return hits
		}
		if read {
			require.Len(t, find(memory.Query{Text: "flush"}), 1)
		}
		require.Empty(t, find(memory.Query{Text: "flush", Inject: true}))
		require.NoError(t, one.Trust(ctx, wrote.ID))
		hear()
		require.Len(t, find(memory.Query{Text: "flush", Inject: true}), 1)
		require.Len(t, find(memory.Query{Vector: vector}), 1)
		require.NoError(t, one.Forget(ctx, wrote.ID))
		hear()
		require.Empty(t, find(memory.Query{Text: "flush cache"}))
		require.Empty(t, find(memory.Query{Vector: vector}))
		require.Empty(t, find(memory.Query{}))
	}
}

// feed is a store that keeps what was committed to it, in order.
type feed struct {
	*store.Mem
	mu  sync.Mutex
	all []store.Entry
}

// from returns what was committed, without the first n changes.
func (f *feed) from(n int) []store.Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.all[n:])
}

func (f *feed) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rev, err := f.Mem.Commit(ctx, ops...)
	for _, op := range ops {
		if err == nil {
			f.all = append(f.all, store.Entry{Key: op.Key, Value: bytes.Clone(op.Value), Rev: rev, Deleted: op.Delete})
		}
	}
	return rev, err
}

func held(r *rapid.T, t *testing.T, b *memory.Bank) map[memory.ID]string {
	out := make(map[memory.ID]string)
	for _, scope := range tenants {
		for rec, err := range b.In(scope).All(t.Context()) {
			require.NoError(r, err)
			hits, err := b.In(scope).Recall(t.Context(), memory.Query{Text: rec.Content, K: 20})
			require.NoError(r, err)
			n := 0
			for _, h := range hits {
				if h.Record.ID == rec.ID {
					n++
				}
			}
			out[rec.ID] = fmt.Sprint(rec.Content, " ", len(rec.Variants), " ", rec.Stats.Helped, " found ", n)
		}
	}
	return out
}

var tenants = [...]memory.Scope{"acme/ann", "ajax", "alma/ben"}

// A change that could not be taken in has not been heard of: a recall After it waits until it
// was told again. One that is damaged is passed by.
func TestChangeThatCouldNotBeTakenInIsNotHeard(t *testing.T) {
	ctx, mem := t.Context(), &feed{Mem: store.NewMem()}
	away := &unread{Store: mem}
	opts := &memory.Options{Seed: 1, Shared: true}
	one, err := memory.Open(ctx, mem, opts)
	require.NoError(t, err)
	long := memory.Draft{
		Kind: memory.Fact, Content: "the small key opens the door" + strings.Repeat(" lorem ipsum dolor", 400), Source: memory.Source{Origin: memory.User},
	}
	wrote, err := one.In("acme").Remember(ctx, long)
	require.NoError(t, err)
	two, err := memory.Open(ctx, away, opts)
	require.NoError(t, err)
	defer func() { require.NoError(t, errors.Join(one.Close(), two.Close())) }()
	heard := len(mem.all)
	require.NoError(t, one.In("acme").Trust(ctx, wrote.ID))
	trusted := mem.all[heard]

	recall := func() ([]memory.Hit, error) {
		late, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		return two.In("acme").Recall(late, memory.Query{Text: "which key opens the door", Inject: true, After: trusted.Rev - 1})
	}
	away.refuses = errAway
	require.ErrorIs(t, two.Follow(ctx, trusted), errAway)
	away.refuses = nil
	_, err = recall()
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, two.Follow(ctx, trusted))
	hits, err := recall()
	require.NoError(t, err)
	require.Len(t, hits, 1)

	damaged := trusted
	damaged.Rev, damaged.Value = trusted.Rev+100, append(bytes.Clone(trusted.Value), 1)
	require.ErrorIs(t, two.Follow(ctx, damaged), store.ErrDamaged)
	trusted.Rev += 50
	hits, err = recall()
	require.NoError(t, err)
	require.Len(t, hits, 1)
}

// A change of a record is taken in, and heard of, without the vector on disk if that is damaged.
func TestChangeBesideADamagedVectorIsTakenIn(t *testing.T) {
	ctx, mem := t.Context(), &feed{Mem: store.NewMem()}
	torn := &unread{Store: mem}
	one, err := memory.Open(ctx, mem, &memory.Options{Shared: true})
	require.NoError(t, err)
	long := memory.Draft{
		Kind: memory.Fact, Content: "the key opens the door" + strings.Repeat(" lorem ipsum dolor", 400), Source: memory.Source{Origin: memory.User},
	}
	wrote, err := one.In("acme").Remember(ctx, long)
	require.NoError(t, err)
	two, err := memory.Open(ctx, torn, &memory.Options{Shared: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, errors.Join(one.Close(), two.Close())) }()
	heard := len(mem.all)
	require.NoError(t, one.In("acme").Trust(ctx, wrote.ID))
	torn.refuses = store.ErrDamaged
	require.ErrorIs(t, two.Follow(ctx, mem.all[heard]), store.ErrDamaged)
	torn.refuses = nil
	hits, err := two.In("acme").Recall(ctx, memory.Query{Text: "which key opens the door", Inject: true})
	require.NoError(t, err)
	require.Len(t, hits, 1)
}

var errAway = errors.New("the store is away")

// unread is a store that refuses to be read.
type unread struct {
	store.Store
	refuses error
}

func (u *unread) Get(ctx context.Context, key string) (store.Entry, error) {
	if u.refuses != nil {
		return store.Entry{}, u.refuses
	}
	return u.Store.Get(ctx, key)
}

// Two records of which another Bank has changed one are tried once more, with what that has made of them; others are
// merged nevertheless.
func TestConsolidateGoesOnAfterAConflict(t *testing.T) {
	ctx, mem, c := t.Context(), &feed{Mem: store.NewMem()}, newClock()
	opts := &memory.Options{Seed: 1, Shared: true, Now: c.now}
	one, err := memory.Open(ctx, mem, opts)
	require.NoError(t, err)
	two, err := memory.Open(ctx, mem, opts)
	require.NoError(t, err)
	defer func() { require.NoError(t, errors.Join(one.Close(), two.Close())) }()
	s := one.In("acme")
	var first []memory.ID
	for _, text := range []string{"the small key opens the door", "ann prefers green tea", "a lake is deep in winter"} {
		d := memory.Draft{Kind: memory.Fact, Content: text}
		id, _ := apart(t, s, c, d, d)
		first = append(first, id)
	}
	heard := 0
	follow := func(b *memory.Bank) {
		for _, e := range mem.all[heard:] {
			require.NoError(t, b.Follow(ctx, e))
		}
	}
	follow(two)
	heard = len(mem.all)
	require.NoError(t, two.In("acme").Feedback(ctx, memory.Feedback{Key: "f", Injected: first[:1], Utilized: first[:1], Delivered: true}))
	r, err := s.Consolidate(ctx)
	require.NoError(t, err)
	require.Equal(t, 3, r.Merged)
	require.Equal(t, 1, get(t, s, first[0]).Stats.Helped)
	follow(one)
	require.Zero(t, consolidate(t, s).Merged)
	require.Equal(t, 1, get(t, s, first[0]).Stats.Helped)
}

// What is said again of a record that another Bank has changed, or forgotten, unheard of so far, is
// kept with it as it is now, or by itself.
func TestRememberAfterAChangeElsewhere(t *testing.T) {
	ctx, mem := t.Context(), &feed{Mem: store.NewMem()}
	var spaces [2]memory.Space
	for i := range spaces {
		b, err := memory.Open(ctx, mem, &memory.Options{Seed: uint64(i + 1), Shared: true})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close()) })
		spaces[i] = b.In("acme")
		if i == 0 {
			remember(t, spaces[0], memory.Draft{Kind: memory.Fact, Content: "the small key opens the door"})
		}
	}
	one, two := spaces[0], spaces[1]
	say := func(s memory.Space, run string) memory.ID {
		r, err := s.Remember(ctx, memory.Draft{
			Kind: memory.Fact, Content: "the small key opens the door", Source: memory.Source{Origin: memory.Host, Run: run},
		})
		require.NoError(t, err)
		return r.ID
	}
	id := say(one, "first")
	require.Equal(t, id, say(two, "second"))
	require.Equal(t, id, say(one, "third"))
	require.Len(t, get(t, one, id).Variants, 3, "of which none is lost")
	require.NoError(t, two.Forget(ctx, say(two, "fourth")))
	again := say(one, "fifth")
	require.Equal(t, "the small key opens the door", get(t, one, again).Content)
}

// TestEraseBesideAnotherBank: what another Bank, unheard of so far, has changed meanwhile is erased as well.
func TestEraseBesideAnotherBank(t *testing.T) {
	t.Parallel()
	ctx, mem := t.Context(), store.NewMem()
	f, c := &faulty{Store: mem}, newClock()
	b := open(t, f, c)
	id := remember(t, b.In("acme"), memory.Draft{Kind: memory.Fact, Content: "the deploy key is in the vault", Source: web("page")})
	other := open(t, mem, c).In("acme")
	f.set(func(n int, _ []store.Op) (before, after error) {
		if n == 1 {
			before = other.Trust(ctx, id)
		}
		return before, nil
	})
	require.NoError(t, b.Erase(ctx, "acme"))
	require.Empty(t, recall(t, open(t, mem, c).In("acme"), memory.Query{Archived: true}))
}

// pair is two Banks on one store, of which each hears what was written when it is told.
type pair struct {
	*feed
	banks [2]*memory.Bank
	heard [2]int
	*clock
}

func newPair(t *testing.T) *pair {
	p := &pair{feed: &feed{Mem: store.NewMem()}, clock: newClock()}
	for i := range p.banks {
		b, err := memory.Open(t.Context(), p.feed, &memory.Options{Seed: 1, Shared: true, Now: p.now})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close()) })
		p.banks[i] = b
	}
	return p
}

// hear has a Bank hear of the next n changes, and returns its view of a scope.
func (p *pair) hear(t *testing.T, bank, n int) memory.Space {
	t.Helper()
	for _, e := range p.from(p.heard[bank])[:n] {
		require.NoError(t, p.banks[bank].Follow(t.Context(), e))
		p.heard[bank]++
	}
	return p.banks[bank].In("acme")
}

// all is how many changes a Bank has not heard of.
func (p *pair) all(bank int) int { return len(p.from(p.heard[bank])) }

// What one Bank has merged is one record for another that hears of it, and stays one for itself when it hears
// of the two late.
func TestMergerIsFollowed(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	one := p.banks[0].In("acme")
	d := memory.Draft{Kind: memory.Fact, Content: "the small key opens the door"}
	first, second := apart(t, one, p.clock, d, d)
	p.hear(t, 1, p.all(1))
	require.Equal(t, 1, consolidate(t, one).Merged)
	for bank := range p.banks {
		s := p.hear(t, bank, p.all(bank))
		require.Len(t, recall(t, s, memory.Query{Text: "small key"}), 1, bank)
		require.Equal(t, first, get(t, s, second).ID, bank)
	}
}

// What a Bank has removed does not come back when it hears late of how it was made.
func TestRemovedStaysRemoved(t *testing.T) {
	t.Parallel()
	p, ctx := newPair(t), t.Context()
	one := p.banks[0].In("acme")
	remove := map[string]func(memory.Space, memory.ID) error{
		"forget": func(s memory.Space, id memory.ID) error { return s.Forget(ctx, id) },
		"amend": func(s memory.Space, id memory.ID) error {
			return s.Amend(ctx, memory.Amended{Was: get(t, s, id)})
		},
		"erase": func(memory.Space, memory.ID) error { return p.banks[0].Erase(ctx, "acme") },
	}
	for name, f := range remove {
		id := remember(t, one, memory.Draft{Kind: memory.Fact, Content: "the small key opens the door"})
		require.NoError(t, f(one, id))
		for p.all(0) > 0 {
			p.hear(t, 0, 1)
			require.Empty(t, recall(t, one, memory.Query{}), name)
		}
	}
	remember(t, p.banks[1].In("acme"), memory.Draft{Kind: memory.Fact, Content: "ann prefers tea"})
	require.Len(t, recall(t, p.hear(t, 0, p.all(0)), memory.Query{}), 1)
}

// A passing Episode that was vouched for at one Bank gives way to later ones at no other, whether that has heard of
// it, and of its own Episode, or not; and Episodes that were heard of count among those that are kept.
func TestVouchedForElsewhereStays(t *testing.T) {
	t.Parallel()
	for _, heard := range []bool{false, true} {
		for by := range 2 {
			p, ctx, n := newPair(t), t.Context(), 0
			episode := func(bank int) memory.ID {
				n++
				id := remember(t, p.banks[bank].In("acme"), memory.Draft{
					Kind: memory.Episode, Content: fmt.Sprint("run ", n, " has ended"), Passing: true, At: p.now().Add(time.Duration(n)),
				})
				require.NoError(t, p.banks[bank].Flush(ctx))
				return id
			}
			episode(1)
			one := episode(by)
			if by == 0 {
				p.hear(t, 1, p.all(1))
			}
			require.NoError(t, p.hear(t, 0, p.all(0)).Trust(ctx, one))
			if heard {
				p.hear(t, 1, p.all(1))
			}
			for range 300 {
				episode(1)
			}
			require.Equal(t, "run 2 has ended", get(t, p.hear(t, 1, p.all(1)), one).Content)
			for range 300 {
				episode(0)
			}
			s := p.hear(t, 1, p.all(1))
			episode(1)
			require.LessOrEqual(t, health(t, s).Total, 256+1)
			require.Equal(t, "run 2 has ended", get(t, s, one).Content)
		}
	}
}

// A passing Episode whose Key another Bank has used, unheard of so far, is that Bank's record.
func TestPassingKeyOfAnotherBank(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	d := memory.Draft{Kind: memory.Episode, Content: "a run has ended", Key: "run", Passing: true}
	id := remember(t, p.banks[0].In("acme"), memory.Draft{Kind: memory.Fact, Content: "ann prefers tea", Key: "run"})
	require.Equal(t, id, remember(t, p.banks[1].In("acme"), d))
	require.NoError(t, p.banks[1].Flush(t.Context()))
	for i := range p.banks {
		require.Equal(t, "ann prefers tea", get(t, p.hear(t, i, p.all(i)), id).Content)
	}
}

// Records of one moment stand in a thread in one order at all Banks, though each has made some.
func TestThreadsAreInOneOrder(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for n := range 20 {
		for i, b := range p.banks {
			remember(t, b.In("acme"), memory.Draft{Kind: memory.Episode, Content: fmt.Sprint("turn ", n, " of bank ", i), Thread: "t"})
		}
	}
	third, err := memory.Open(t.Context(), p.feed, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, third.Close()) }()
	want, err := third.In("acme").Latest(t.Context(), "t", 40)
	require.NoError(t, err)
	require.Len(t, want, 40)
	for i := range p.banks {
		got, err := p.hear(t, i, p.all(i)).Latest(t.Context(), "t", 40)
		require.NoError(t, err)
		require.Equal(t, want, got, i)
	}
}

// A Bank without vectors takes over those of another, and what it forgets leaves none behind; one with vectors of
// another length goes on without them.
func TestVectorsAreFollowed(t *testing.T) {
	t.Parallel()
	p, ctx := newPair(t), t.Context()
	vectors := func() (n int) {
		for _, err := range p.Scan(ctx, store.Range{Prefix: "memory\x00v"}) {
			require.NoError(t, err)
			n++
		}
		return n
	}
	say := func(bank int, content string, x ...float32) memory.ID {
		return remember(t, p.banks[bank].In("acme"), memory.Draft{Kind: memory.Fact, Content: content, Vector: x})
	}
	first := say(0, "the small key opens the door", 1, 0)
	require.Equal(t, 1, vectors())
	s := p.hear(t, 1, 1) // the record without its vector
	require.NoError(t, s.Forget(ctx, first))
	require.Zero(t, vectors())
	second := say(0, "ann prefers green tea", 1, 0)
	s = p.hear(t, 1, p.all(1))
	hits := recall(t, s, memory.Query{Vector: []float32{1, 0}})
	require.Len(t, hits, 1)
	require.Equal(t, second, hits[0].Record.ID)

	p = newPair(t)
	say(0, "the small key opens the door", 1, 0)
	say(1, "ann prefers green tea", 1, 0, 0)
	for i, x := range [][]float32{{1, 0}, {1, 0, 0}} {
		require.Len(t, recall(t, p.hear(t, i, p.all(i)), memory.Query{Vector: x}), 1)
	}
}

// Feedback on a record that was merged elsewhere, unheard of so far, counts for what that has become, once; other
// Banks have the counters of a record that is written behind; and those of one that is gone leave the store.
func TestFeedbackBesideOtherBanks(t *testing.T) {
	t.Parallel()
	p, ctx := newPair(t), t.Context()
	one, two := p.banks[0].In("acme"), p.banks[1].In("acme")
	d := memory.Draft{Kind: memory.Fact, Content: "the small key opens the door"}
	first, second := apart(t, one, p.clock, d, d)
	p.hear(t, 1, p.all(1))
	require.Equal(t, 1, consolidate(t, one).Merged)
	use := func(s memory.Space, id memory.ID) {
		feedback(t, s, memory.Feedback{Key: "of " + string(id), Injected: []memory.ID{id}, Utilized: []memory.ID{id}, Delivered: true})
	}
	use(two, second)
	passing := remember(t, two, memory.Draft{Kind: memory.Episode, Content: "a run has ended", Passing: true})
	use(two, passing)
	for range 2 { // what the first hears of changes something
		p.hear(t, 0, p.all(0))
		p.hear(t, 1, p.all(1))
	}
	for _, s := range []memory.Space{one, two} {
		for _, id := range []memory.ID{first, passing} {
			require.Equal(t, 1, get(t, s, id).Stats.Helped)
		}
	}
	third, err := memory.Open(ctx, p.feed, nil)
	require.NoError(t, err)
	require.Equal(t, 1, get(t, third.In("acme"), first).Stats.Helped)
	require.NoError(t, third.Close())

	require.NoError(t, one.Forget(ctx, passing)) // unheard of by who rates it
	feedback(t, two, memory.Feedback{Key: "late", Injected: []memory.ID{passing}, Delivered: true})
	p.hear(t, 0, p.all(0))
	_, err = p.Get(ctx, "memory\x00s\x00acme\x00"+string(passing))
	require.ErrorIs(t, err, store.ErrNotFound)
}
