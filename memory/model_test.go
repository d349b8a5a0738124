package memory_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// TestModel makes random calls to two Banks that share a store, one of which is opened anew at random, and compares
// them with a map.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := &clock{day0}
		st := store.NewMem()
		open := func() *memory.Bank {
			b, err := memory.Open(t.Context(), store.NewGroup(st), &memory.Options{Now: c.Now})
			require.NoError(rt, err)
			return b
		}
		banks := []*memory.Bank{open(), open()}
		scopes := []memory.Scope{"a/x", "a/xy", "a"}
		model := map[memory.ID]*memory.Record{}
		ids := func(s memory.Scope) (out []memory.ID) {
			for id, r := range model {
				if r.Scope == s {
					out = append(out, id)
				}
			}
			slices.Sort(out)
			return out
		}
		words := []string{"lint", "deploy", "orders table", "before", "after"}
		rt.Repeat(map[string]func(*rapid.T){
			"remember": func(rt *rapid.T) {
				s := rapid.SampledFrom(scopes).Draw(rt, "scope")
				d := memory.Draft{
					Kind:    rapid.SampledFrom([]memory.Kind{memory.Fact, memory.Pattern}).Draw(rt, "kind"),
					Content: strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 3).Draw(rt, "words"), " "),
					Slot:    rapid.SampledFrom([]string{"", "", "slot"}).Draw(rt, "slot"),
					Source:  memory.Source{Origin: rapid.SampledFrom([]memory.Origin{memory.Host, memory.Web}).Draw(rt, "origin"), Ref: "r"},
				}
				r, err := rapid.SampledFrom(banks).Draw(rt, "bank").In(s).Remember(t.Context(), d)
				require.NoError(rt, err)
				require.Equal(rt, model[r.ID] != nil, r.Strengthened > 0)
				for id, o := range model {
					equal := o.Scope == s && o.Kind == d.Kind && o.Content == d.Content && o.Trigger == "" &&
						o.Slot == d.Slot && o.Trusted == (d.Source.Origin == memory.Host)
					require.False(rt, equal && id != r.ID && o.SupersededBy == "", "equal drafts are one memory")
				}
				if model[r.ID] == nil {
					model[r.ID] = &memory.Record{Scope: s, Draft: d, Trusted: d.Source.Origin == memory.Host}
				} else {
					model[r.ID].Stats.Strengthened++
					model[r.ID].Archived = false
				}
			},
			"feedback": func(rt *rapid.T) {
				s := rapid.SampledFrom(scopes).Draw(rt, "scope")
				all := ids(s)
				f := memory.Feedback{Key: fmt.Sprint(c.now.UnixMicro()), Shown: all, Utilized: []memory.ID{}}
				if len(all) > 0 {
					f.Utilized = all[:1]
				}
				require.NoError(rt, rapid.SampledFrom(banks).Draw(rt, "bank").In(s).Feedback(t.Context(), f))
				for i, id := range all {
					if i == 0 {
						model[id].Stats.Helped++
						model[id].Archived = false
					} else {
						model[id].Stats.Unused++
					}
				}
			},
			"update": func(rt *rapid.T) {
				s := rapid.SampledFrom(scopes).Draw(rt, "scope")
				id := rapid.SampledFrom(append(ids(s), "none")).Draw(rt, "id")
				trigger := fmt.Sprint("trigger ", c.now.Unix())
				err := rapid.SampledFrom(banks).Draw(rt, "bank").In(s).Update(t.Context(), id, func(r *memory.Record) error {
					r.Trigger, r.Trusted, r.Kind = trigger, !r.Trusted, memory.Episode // the last two are not its business
					return nil
				})
				require.Equal(rt, model[id] == nil, errors.Is(err, store.ErrNotFound), "%v", err)
				if err == nil {
					model[id].Trigger = trigger
				}
			},
			"merge": func(rt *rapid.T) {
				s := rapid.SampledFrom(scopes).Draw(rt, "scope")
				a := rapid.SampledFrom(append(ids(s), "none")).Draw(rt, "id")
				others := slices.DeleteFunc(ids(s), func(id memory.ID) bool {
					return id == a || model[a] != nil && model[a].Trusted != model[id].Trusted
				})
				b := rapid.SampledFrom(append(others, "none")).Draw(rt, "other")
				err := rapid.SampledFrom(banks).Draw(rt, "bank").In(s).Merge(t.Context(), a, b)
				require.Equal(rt, model[a] == nil || model[b] == nil, err != nil, "%v", err)
				if err == nil {
					m, o := model[a], model[b]
					m.Strengthened, m.Helped, m.Unused = m.Strengthened+1+o.Strengthened, m.Helped+o.Helped, m.Unused+o.Unused
					m.Archived = false
					delete(model, b)
					got, err := banks[0].In(s).Get(t.Context(), b)
					require.True(rt, err == nil && got.ID == a, "found by the id of what was merged into it")
				}
			},
			"revoke": func(rt *rapid.T) {
				s := rapid.SampledFrom(scopes).Draw(rt, "scope")
				b := rapid.SampledFrom(banks).Draw(rt, "bank")
				n, err := b.In(s).Revoke(t.Context(), memory.Source{Origin: memory.Web, Ref: "r"})
				require.NoError(rt, err)
				for _, id := range ids(s) {
					if !model[id].Trusted {
						delete(model, id)
						n--
					}
				}
				require.Zero(rt, n)
			},
			"forget": func(rt *rapid.T) {
				s := rapid.SampledFrom(scopes).Draw(rt, "scope")
				id := rapid.SampledFrom(append(ids(s), "none")).Draw(rt, "id")
				err := rapid.SampledFrom(banks).Draw(rt, "bank").In(s).Forget(t.Context(), id)
				require.Equal(rt, model[id] == nil, errors.Is(err, store.ErrNotFound), "%v", err)
				delete(model, id)
			},
			"archive": func(rt *rapid.T) {
				s := rapid.SampledFrom(scopes).Draw(rt, "scope")
				id := rapid.SampledFrom(append(ids(s), "none")).Draw(rt, "id")
				err := archive(t.Context(), rapid.SampledFrom(banks).Draw(rt, "bank").In(s), id, true)
				require.Equal(rt, model[id] == nil, err != nil)
				if err == nil {
					model[id].Archived = true
				}
			},
			"erase": func(rt *rapid.T) {
				s := rapid.SampledFrom(scopes[:2]).Draw(rt, "scope")
				require.NoError(rt, rapid.SampledFrom(banks).Draw(rt, "bank").In(s).Erase(t.Context()))
				for _, id := range ids(s) {
					delete(model, id)
				}
			},
			"reopen": func(rt *rapid.T) { banks[1] = open() },
			"": func(rt *rapid.T) {
				c.add(time.Minute)
				for _, b := range banks {
					for _, s := range scopes {
						n := 0
						for r, err := range b.In(s).All(t.Context()) {
							require.NoError(rt, err)
							want := model[r.ID]
							require.NotNil(rt, want, "%s of %s is gone", r.ID, s)
							n++
							if want.SupersededBy = r.SupersededBy; want.SupersededBy != "" {
								by := model[r.SupersededBy]
								require.True(rt, by.Slot == "slot" && by.Kind == memory.Fact && by.Kind == r.Kind && (by.Trusted || !r.Trusted))
							}
							require.Equal(rt, []any{want.Scope, want.Trigger, want.Content, want.Trusted, want.Archived, want.Stats.Helped, want.Stats.Unused, want.Stats.Strengthened},
								[]any{r.Scope, r.Trigger, r.Content, r.Trusted, r.Archived, r.Stats.Helped, r.Stats.Unused, r.Stats.Strengthened})
							hits, err := b.In(s).Recall(t.Context(), memory.Query{Text: r.Content, K: 100, Archived: true})
							require.NoError(rt, err)
							require.True(rt, slices.ContainsFunc(hits, func(h memory.Hit) bool { return h.ID == r.ID || h.ID == r.SupersededBy }), "found by its own words")
						}
						require.Len(rt, ids(s), n)
					}
				}
			},
		})
	})
}

// TestBanksAgree makes random calls to two Banks that share a store and seldom read what the other has written, and
// compares what they tell with what a Bank tells that is opened then.
func TestBanksAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := &clock{day0}
		st := &forgetful{Changer: store.NewMem()}
		open := func() *memory.Bank {
			b, err := memory.Open(t.Context(), store.NewGroup(st), &memory.Options{Now: func() time.Time { c.add(time.Second); return c.Now() }})
			require.NoError(rt, err)
			return b
		}
		banks := []*memory.Bank{open(), open()}
		var known []memory.ID
		words := []string{"lint", "deploy", "orders", "before", "after"}
		id := func(rt *rapid.T) memory.ID { return rapid.SampledFrom(append(known, "none")).Draw(rt, "id") }
		sp := func(rt *rapid.T) memory.Space { return banks[rapid.IntRange(0, 1).Draw(rt, "bank")].In("a") }
		draft := func(rt *rapid.T) memory.Draft {
			d := memory.Draft{Kind: rapid.SampledFrom([]memory.Kind{memory.Fact, memory.Rule, memory.Episode}).Draw(rt, "kind"),
				Content: strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 2).Draw(rt, "w"), " "),
				Thread:  rapid.SampledFrom([]string{"", "t"}).Draw(rt, "t"), Slot: rapid.SampledFrom([]string{"", "s"}).Draw(rt, "s"),
				Key: rapid.SampledFrom([]string{"", "", "k1", "k2"}).Draw(rt, "k"), At: day0.Add(time.Duration(rapid.IntRange(0, 9).Draw(rt, "at")) * time.Hour),
				Supersedes: rapid.SliceOfN(rapid.Custom(id), 0, 1).Draw(rt, "over"),
				Source:     memory.Source{Origin: rapid.SampledFrom([]memory.Origin{memory.Host, memory.Web, memory.Derived}).Draw(rt, "o"), Ref: rapid.SampledFrom([]string{"r1", "r2"}).Draw(rt, "r")}}
			if rapid.Bool().Draw(rt, "v") {
				d.Vector = []float32{1, float32(len(d.Content))}
			}
			return d
		}
		rt.Repeat(map[string]func(*rapid.T){
			"remember": func(rt *rapid.T) {
				r, err := sp(rt).RememberAll(t.Context(), rapid.SliceOfN(rapid.Custom(draft), 1, 3).Draw(rt, "ds"))
				require.NoError(rt, err)
				for _, x := range r {
					known = append(known, x.ID)
				}
			},
			"feedback": func(rt *rapid.T) {
				a, b := id(rt), id(rt)
				require.NoError(rt, sp(rt).Feedback(t.Context(), memory.Feedback{Key: fmt.Sprint(rapid.IntRange(0, 3).Draw(rt, "key")), Shown: []memory.ID{a, b}, Utilized: []memory.ID{a}, Situation: "x"}))
			},
			"update": func(rt *rapid.T) {
				_ = sp(rt).Update(t.Context(), id(rt), func(r *memory.Record) error {
					r.Content, r.Thread = rapid.SampledFrom(words).Draw(rt, "c"), rapid.SampledFrom([]string{"", "t"}).Draw(rt, "t")
					return nil
				})
			},
			"merge":     func(rt *rapid.T) { _ = sp(rt).Merge(t.Context(), id(rt), id(rt), id(rt)) },
			"forget":    func(rt *rapid.T) { _ = sp(rt).Forget(t.Context(), id(rt)) },
			"archive":   func(rt *rapid.T) { _ = archive(t.Context(), sp(rt), id(rt), rapid.Bool().Draw(rt, "a")) },
			"trust":     func(rt *rapid.T) { _ = sp(rt).Trust(t.Context(), id(rt)) },
			"supersede": func(rt *rapid.T) { _ = supersede(t.Context(), sp(rt), id(rt), id(rt)) },
			"unsupersede": func(rt *rapid.T) {
				_ = sp(rt).Update(t.Context(), id(rt), func(r *memory.Record) error { r.Supersedes = nil; return nil })
			},
			"revoke": func(rt *rapid.T) {
				_, err := sp(rt).Revoke(t.Context(), memory.Source{Ref: "r1"})
				require.NoError(rt, err)
			},
			"consolidate": func(rt *rapid.T) { _, _, err := sp(rt).Consolidate(t.Context()); require.NoError(rt, err) },
			"erase": func(rt *rapid.T) {
				if rapid.IntRange(0, 5).Draw(rt, "e") == 0 {
					require.NoError(rt, sp(rt).Erase(t.Context()))
				}
			},
			"decay": func(rt *rapid.T) {
				c.add(100 * 24 * time.Hour)
				_, err := sp(rt).Maintain(t.Context())
				require.NoError(rt, err)
			},
			"read": func(rt *rapid.T) {
				_, err := banks[0].In("a").Latest(t.Context(), "", 1)
				require.NoError(rt, err)
			},
			"lose": func(rt *rapid.T) { require.NoError(rt, st.forget(t.Context())) },
			"same": func(rt *rapid.T) {
				c.add(time.Minute)
				var all []string
				now := c.now
				for _, b := range append(banks, open()) {
					c.now = now
					var s strings.Builder
					for r, err := range b.In("a").All(t.Context()) {
						require.NoError(rt, err)
						fmt.Fprintf(&s, "%+v\n", r)
						g, err := b.In("a").Get(t.Context(), r.ID)
						require.NoError(rt, err)
						require.Equal(rt, r, g)
					}
					c.now = now
					for _, q := range []memory.Query{{Text: "lint deploy"}, {Text: "orders", Archived: true, K: 30}, {Vector: []float32{1, 5}}, {Text: "lint", Vector: []float32{1, 9}}, {}} {
						hs, err := b.In("a").Recall(t.Context(), q)
						require.NoError(rt, err)
						for _, h := range hs {
							fmt.Fprintf(&s, "%s %.4f %v\n", h.ID, h.Score, h.Superseded)
						}
					}
					l, _ := b.In("a").Latest(t.Context(), "t", 5)
					for _, r := range l {
						fmt.Fprintln(&s, r.ID)
					}
					all = append(all, s.String())
				}
				require.Equal(rt, all[2], all[0], "who wrote and followed has what who opens has")
				require.Equal(rt, all[2], all[1])
			},
		})
	})
}

// forgetful is a store that has forgotten what was deleted up to a revision.
type forgetful struct {
	store.Changer
	floor store.Revision
}

func (f *forgetful) Changes(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
	if after >= f.floor {
		return f.Changer.Changes(ctx, prefix, after)
	}
	return func(yield func(store.Entry, error) bool) {
		for e, err := range f.Changer.Changes(ctx, prefix, store.Latest) {
			e.Deleted = true
			yield(e, err)
		}
	}
}

func (f *forgetful) forget(ctx context.Context) (err error) {
	for e, bad := range f.Changer.Changes(ctx, "", store.Latest) {
		f.floor, err = e.Rev, bad
	}
	return err
}
