package identity_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/store"
)

// home is where identities are that do what others do, on a store of its own.
type home struct {
	name  string
	st    *store.Mem
	banks []*memory.Bank // on the store
	heard []store.Revision
	bytes int64
	again bool // opened again before each call
	moves bool // to another store before each call
	goes  bool // out and in as documents before each call
}

func (h *home) open(r *rapid.T) {
	for i := range h.banks {
		o := &memory.Options{IndexBytes: h.bytes, Shared: len(h.banks) > 1}
		b, err := memory.Open(tContext, h.st, o)
		require.NoError(r, err)
		h.banks[i] = b
	}
}

func (h *home) close(r *rapid.T) {
	for _, b := range h.banks {
		require.NoError(r, b.Close())
	}
}

// move goes on with a store that has what Entries yields.
func (h *home) move(r *rapid.T) {
	to := store.NewMem()
	for e, err := range h.banks[0].Entries(tContext, "acme") {
		require.NoError(r, err)
		_, err = to.Commit(tContext, store.Op{Key: e.Key, Value: e.Value})
		require.NoError(r, err)
	}
	h.close(r)
	h.st = to
	h.open(r)
}

// write goes on with a store into which documents were imported.
func (h *home) write(r *rapid.T, c *clock) {
	docs := map[memory.Scope]string{}
	for _, who := range homes {
		docs[who] = exported(r, h.of(r, 0, who, c, 0), identity.Local)
	}
	h.close(r)
	h.st = store.NewMem()
	h.open(r)
	for _, who := range homes {
		_, err := h.of(r, 0, who, c, 0).Import(tContext, []byte(docs[who]))
		require.NoError(r, err)
	}
}

// listen has a Bank follow what others have written.
func (h *home) listen(r *rapid.T, i int) {
	if len(h.banks) == 1 {
		return
	}
	var news []store.Entry
	for e, err := range h.st.Scan(tContext, store.Range{}) {
		require.NoError(r, err)
		if e.Rev > h.heard[i] {
			news = append(news, e)
		}
	}
	slices.SortStableFunc(news, func(a, b store.Entry) int { return cmp.Compare(a.Rev, b.Rev) })
	for _, e := range news {
		require.NoError(r, h.banks[i].Follow(tContext, e))
		h.heard[i] = e.Rev
	}
	require.NoError(r, h.banks[i].Missed(tContext))
}

func (h *home) of(r *rapid.T, i int, who memory.Scope, c *clock, seed uint64) *identity.Identity {
	x, err := identity.New(h.banks[i], who, &identity.Options{Now: c.now, Seed: seed})
	require.NoError(r, err)
	return x
}

var homes = []memory.Scope{"acme", "acme/ann"}

// TestWhereAnIdentityIsChangesNothing has the same calls made of identities in a Bank that stays, and elsewhere:
// in one that is opened again before each call, in one that keeps nothing in memory, in one that moves to
// another store, in two that follow one another, or out and in as documents. All say the same.
func TestWhereAnIdentityIsChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		c, latest, seed := &clock{t: start}, start, uint64(0)
		places := rapid.Permutation([]*home{
			{name: "opened again", again: true}, {name: "bounded", bytes: 1}, {name: "moved", moves: true},
			{name: "two", banks: make([]*memory.Bank, 2)}, {name: "as documents", goes: true},
		}).Draw(r, "places")[:2]
		written := places[0].goes || places[1].goes
		places = slices.Insert(places, 0, &home{name: "stays"})
		for _, h := range places {
			h.st = store.NewMem()
			if h.banks == nil {
				h.banks = make([]*memory.Bank, 1)
			}
			h.heard = make([]store.Revision, len(h.banks))
			h.open(r)
			defer h.close(r)
		}
		said := func(v any) string {
			raw, err := json.Marshal(v)
			require.NoError(r, err)
			return string(raw)
		}
		// same has all do something to one, and requires that they do the same.
		same := func(r *rapid.T, what string, do func(x *identity.Identity) (any, error)) any {
			who, turn := rapid.SampledFrom(homes).Draw(r, "who"), rapid.IntRange(0, 1).Draw(r, "turn")
			seed++
			var want any
			var wrong error
			for i, h := range places {
				at := turn % len(h.banks)
				switch {
				case h.again:
					h.close(r)
					h.open(r)
				case h.moves:
					h.move(r)
				case h.goes && !c.now().Before(latest): // what lies ahead is damaged
					h.write(r, c)
				}
				h.listen(r, at)
				got, err := do(h.of(r, at, who, c, seed))
				if i == 0 {
					want, wrong = got, err
					continue
				}
				require.Equal(r, fmt.Sprint(wrong), fmt.Sprint(err), "%s: %s", h.name, what)
				require.JSONEq(r, said(want), said(got), "%s: %s", h.name, what)
			}
			return want
		}
		known := []identity.ID{"unknown", "a"}
		docs := []string{`{"version":"2"}`, `{"version":"2","facts":["likes tea",{"id":"a","content":"GO"}],"blocked":["chess"]}`}
		pick := func(r *rapid.T) identity.ID { return rapid.SampledFrom(known).Draw(r, "id") }
		text := func(r *rapid.T) string {
			return rapid.SampledFrom(append(spelled, "plays chess", "уважает чай", "喜欢茶")).Draw(r, "text")
		}
		visibility := func(r *rapid.T) identity.Visibility {
			return rapid.SampledFrom([]identity.Visibility{"", identity.Local, identity.Public, identity.Trusted}).Draw(r, "visibility")
		}
		then := func(r *rapid.T, what string) time.Time {
			if rapid.Bool().Draw(r, what+" now") {
				return time.Time{}
			}
			return c.now().Add(time.Duration(rapid.IntRange(-2000, 3).Draw(r, what)) * time.Hour)
		}
		slot := func(r *rapid.T) (subject, of string) {
			if rapid.Bool().Draw(r, "slotted") {
				return "me", rapid.SampledFrom([]string{"tool", "Tool", "job"}).Draw(r, "slot")
			}
			return "", ""
		}
		r.Repeat(map[string]func(*rapid.T){
			"add": func(r *rapid.T) {
				d := identity.Draft{
					Content: text(r), Category: rapid.SampledFrom([]identity.Category{"", identity.Core}).Draw(r, "category"),
					Source:   rapid.SampledFrom([]identity.Source{"", identity.Conversation, identity.Inferred}).Draw(r, "source"),
					Maturity: rapid.SampledFrom([]identity.Maturity{"", "", identity.Proven}).Draw(r, "maturity"),
					Ref:      rapid.SampledFrom([]string{"", "a chat"}).Draw(r, "ref"), Visibility: visibility(r), At: then(r, "since"),
				}
				d.Subject, d.Slot = slot(r)
				f := same(r, "add", func(x *identity.Identity) (any, error) { return x.Add(tContext, d) }).(identity.Fact)
				if f.ID != "" {
					known = append(known, f.ID)
				}
			},
			"change": func(r *rapid.T) {
				id, by := pick(r), rapid.SampledFrom([]string{"", "k", "no"}).Draw(r, "by")
				which := rapid.SampledFrom([]string{"validate", "weakly", "reject", "archive", "restore"}).Draw(r, "change")
				same(r, which, func(x *identity.Identity) (any, error) {
					switch which {
					case "reject":
						return x.Reject(tContext, id, by)
					case "archive":
						return x.Archive(tContext, id, true)
					case "restore":
						return x.Archive(tContext, id, false)
					default:
						return x.Validate(tContext, id, identity.Validation{Key: by, Reason: by, Weak: which == "weakly"})
					}
				})
			},
			"update": func(r *rapid.T) {
				id, e := pick(r), identity.Edit{Visibility: visibility(r)}
				if rapid.Bool().Draw(r, "worded") {
					e.Content = text(r)
				}
				e.Subject, e.Slot = slot(r)
				same(r, "update", func(x *identity.Identity) (any, error) { return x.Update(tContext, id, e) })
			},
			"observe": func(r *rapid.T) {
				var events []identity.Event
				for range rapid.IntRange(1, 5).Draw(r, "n") {
					events = append(events, identity.Event{
						Key: rapid.SampledFrom([]string{"", "", "k", "l"}).Draw(r, "key"), At: then(r, "at"),
						Topic:   rapid.SampledFrom([]string{"", "Go", "tea", "chess"}).Draw(r, "topic"),
						Dwell:   time.Duration(rapid.IntRange(0, 200).Draw(r, "dwell")) * time.Second,
						Address: rapid.SampledFrom([]string{"https://go.dev/doc", "https://a.example", "news.rust-lang.org"}).Draw(r, "address"),
					})
				}
				same(r, "observe", func(x *identity.Identity) (any, error) { return x.Observe(tContext, events...) })
			},
			"maintain": func(r *rapid.T) {
				same(r, "maintain", func(x *identity.Identity) (any, error) { return x.Maintain(tContext) })
			},
			"infer": func(r *rapid.T) {
				if written {
					r.Skip("no document says what was suggested")
				}
				back := time.Duration(rapid.IntRange(0, 50).Draw(r, "lookback")) * 24 * time.Hour
				found := same(r, "infer", func(x *identity.Identity) (any, error) { return x.Infer(tContext, back) })
				for _, s := range found.([]identity.Suggestion) {
					known = append(known, s.ID)
				}
			},
			"profile": func(r *rapid.T) {
				name, auto := text(r), rapid.Bool().Draw(r, "auto")
				lasts := time.Duration(rapid.IntRange(0, 90).Draw(r, "half-life")) * 24 * time.Hour
				domain := rapid.SampledFrom([]string{"b.example", "!", "rust-lang.org"}).Draw(r, "domain")
				if written { // an import keeps no events of it
					domain = "b.example"
				}
				seen := visibility(r)
				same(r, "profile", func(x *identity.Identity) (any, error) {
					_, err := x.UpdateProfile(tContext, func(p *identity.Profile) error {
						p.Name, p.Visibility, p.Settings.AutoInfer, p.Settings.HalfLife = name, seen, auto, lasts
						p.Settings.HalfLives = map[identity.Category]time.Duration{identity.Core: lasts}
						p.Settings.ExcludedDomains = []string{domain}
						return nil
					})
					return nil, err
				})
			},
			"export": func(r *rapid.T) {
				limit := visibility(r)
				doc := same(r, "export", func(x *identity.Identity) (any, error) {
					doc, err := x.Export(tContext, limit)
					return string(doc), err
				})
				docs = append(docs, doc.(string))
			},
			"import": func(r *rapid.T) {
				if written && c.now().Before(latest) {
					r.Skip("what lies ahead is damaged")
				}
				doc := rapid.SampledFrom(docs).Draw(r, "document")
				same(r, "import", func(x *identity.Identity) (any, error) { return x.Import(tContext, []byte(doc)) })
			},
			"time": func(r *rapid.T) {
				c.add(time.Duration(rapid.SampledFrom([]int{0, 1, 24, 24 * 40, 24 * 70, -1, -24 * 50}).Draw(r, "hours")) * time.Hour)
				c.add(time.Millisecond) // no time comes twice
				if latest.Before(c.now()) {
					latest = c.now()
				}
				seed++
				for _, h := range places {
					for i := 0; i < len(homes) && written; i++ { // an import rolls old events up
						h.listen(r, 0)
						_, err := h.of(r, 0, homes[i], c, seed).Maintain(tContext)
						require.NoError(r, err)
					}
				}
			},
			"ask": func(r *rapid.T) {
				id, n := pick(r), rapid.IntRange(0, 5).Draw(r, "n")
				f := identity.Filter{
					Category: rapid.SampledFrom([]identity.Category{"", "", identity.Core}).Draw(r, "category"), Visibility: visibility(r),
					Archived: rapid.Bool().Draw(r, "archived"), At: then(r, "at"), Known: then(r, "known"),
				}
				f.Subject, f.Slot = slot(r)
				b := identity.Budget{
					Tokens: rapid.IntRange(0, 200).Draw(r, "tokens"), Facts: rapid.IntRange(0, 6).Draw(r, "facts"), Visibility: visibility(r),
				}
				task := rapid.SampledFrom([]string{"", "Go", "tea at Acme"}).Draw(r, "task")
				asks := map[string]func(*identity.Identity) (any, error){
					"list":       func(x *identity.Identity) (any, error) { return x.List(tContext, f) },
					"due":        func(x *identity.Identity) (any, error) { return x.Due(tContext, f) },
					"get":        func(x *identity.Identity) (any, error) { return x.Get(tContext, id) },
					"recent":     func(x *identity.Identity) (any, error) { return x.Recent(tContext, n) },
					"rejections": func(x *identity.Identity) (any, error) { return x.Rejections(tContext) },
					"profile": func(x *identity.Identity) (any, error) {
						p, err := x.Profile(tContext)
						p.Settings.HalfLife = cmp.Or(p.Settings.HalfLife, identity.DefaultHalfLife)
						if len(p.Settings.HalfLives) == 0 {
							p.Settings.HalfLives = nil
						}
						if len(p.Extra) == 0 {
							p.Extra = nil
						}
						return p, err
					},
					"project": func(x *identity.Identity) (any, error) {
						p, err := x.Project(tContext, task, b)
						return []any{p, p.Hits()}, err
					},
				}
				what := rapid.SampledFrom(slices.Sorted(maps.Keys(asks))).Draw(r, "beside")
				same(r, what, asks[what])
			},
		})
	})
}
