package memory_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// site is a Bank that does what others do, on a store of its own.
type site struct {
	name   string
	st     *feed
	banks  []*memory.Bank // on the store; the last one that did something comes first
	heard  []int
	bytes  int64
	moves  bool // to another store before each call
	again  bool // opened again before each call
	reads  bool // with an Embedder and an Extractor
	policy bool
}

// byLetters is an Embedder whose vectors count letters.
type byLetters struct{}

func (byLetters) Model() string { return "letters" }

func (byLetters) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = make([]float32, 8)
		for _, c := range text {
			out[i][c%8]++
		}
	}
	return out, nil
}

// ports is an Extractor that reads which port something has, and ends what was said of it before.
type ports struct{}

func (ports) Extract(_ context.Context, r memory.Record, known []memory.Record) (out []memory.Statement, _ error) {
	_, port, ok := strings.Cut(r.Content, "the port of the cache is ")
	if !ok {
		return nil, nil
	}
	st := memory.Statement{
		Slot: memory.Slot{Subject: "cache", Attribute: "port", Value: port}, Change: "set", Confidence: 1 - .5/float64(len(port)),
	}
	for i := range known {
		if strings.Contains(known[i].Content, "the port") {
			st.Replaces = append(st.Replaces, known[i].ID)
		}
	}
	return append(out, st), nil
}

func (p *site) open(r *rapid.T, c *clock) {
	for i := range p.banks {
		o := &memory.Options{Now: c.now, Seed: 1, IndexBytes: p.bytes, Shared: len(p.banks) > 1, Sync: true}
		if p.policy {
			o.Policy = memory.ACTR{}
		}
		if p.reads {
			o.Embedder, o.Extractor = byLetters{}, ports{}
		}
		b, err := memory.Open(context.Background(), p.st, o)
		require.NoError(r, err)
		p.banks[i], p.heard[i] = b, len(p.st.from(0))
	}
}

// move goes on with a store that has what Entries yields of the tenant.
func (p *site) move(r *rapid.T) {
	to := &feed{Mem: store.NewMem()}
	require.NoError(r, p.banks[0].Flush(context.Background()))
	for e, err := range p.banks[0].Entries(context.Background(), "acme") {
		require.NoError(r, err)
		_, err = to.Commit(context.Background(), store.Op{Key: e.Key, Value: e.Value})
		require.NoError(r, err)
	}
	p.close(r)
	p.st = to
}

func (p *site) close(r *rapid.T) {
	for _, b := range p.banks {
		require.NoError(r, b.Close())
	}
}

// TestWhereABankIsChangesNothing has the same calls made of a Bank that stays, of one that is opened
// again before each call, of one that keeps nothing in memory, of one that moves to another store, and of two that
// follow one another: all say and find the same.
func TestWhereABankIsChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		ctx, c := context.Background(), newClock()
		places := []*site{
			{name: "stays"}, {name: "opened again", again: true}, {name: "bounded", bytes: 1},
			{name: "moved", moves: true},
			{name: "two", banks: make([]*memory.Bank, 2)},
		}
		reads, actr := rapid.Bool().Draw(r, "with models"), rapid.IntRange(0, 3).Draw(r, "ACT-R") == 0
		for _, p := range places {
			p.reads, p.policy = reads, actr
			p.st = &feed{Mem: store.NewMem()}
			if p.banks == nil {
				p.banks = make([]*memory.Bank, 1)
			}
			p.heard = make([]int, len(p.banks))
			p.open(r, c)
			defer p.close(r)
		}
		scopes := []memory.Scope{"acme", "acme/ann"}
		// same has all do something in a scope, and requires that they do the same.
		same := func(r *rapid.T, what string, do func(s memory.Space) (any, error)) any {
			scope := rapid.SampledFrom(scopes).Draw(r, "scope")
			turn := rapid.IntRange(0, 1).Draw(r, "turn")
			var want any
			var wrong error
			for i, p := range places {
				if what == "health" && len(p.banks) > 1 {
					continue // it waits until what it has written is heard
				}
				if p.moves {
					p.move(r)
				} else if p.again {
					p.close(r)
				}
				if p.moves || p.again {
					p.open(r, c)
				}
				at := turn % len(p.banks)
				for _, e := range p.st.from(p.heard[at]) {
					p.heard[at]++
					if len(p.banks) > 1 {
						require.NoError(r, p.banks[at].Follow(ctx, e))
					}
				}
				got, err := do(p.banks[at].In(scope))
				require.NoError(r, p.banks[at].Extract(ctx))
				require.NoError(r, p.banks[at].Embed(ctx))
				require.NoError(r, p.banks[at].Flush(ctx)) // what another Bank is to hear
				if i == 0 {
					want, wrong = got, err
					continue
				}
				require.Equal(r, fmt.Sprint(wrong), fmt.Sprint(err), "%s: %s", p.name, what)
				require.Equal(r, want, got, "%s: %s", p.name, what)
			}
			return want
		}
		n := 0
		known := []memory.ID{"unknown"}
		pick := func(r *rapid.T, label string) memory.ID { return rapid.SampledFrom(known).Draw(r, label) }
		some := func(r *rapid.T, label string) []memory.ID {
			return rapid.SliceOfN(rapid.SampledFrom(known), 0, 4).Draw(r, label)
		}
		draft := func(r *rapid.T) memory.Draft {
			n++
			d := memory.Draft{
				Kind:    rapid.SampledFrom([]memory.Kind{memory.Fact, memory.Episode, memory.Pattern, memory.Failure}).Draw(r, "kind"),
				Trigger: sentence(r, "trigger", 1), Content: sentence(r, "content", 1), Key: fmt.Sprint("k", n),
				At:     c.now().Add(-time.Duration(rapid.IntRange(-2, 2000).Draw(r, "hours ago")) * time.Hour),
				Actor:  rapid.SampledFrom([]string{"", "Ann", "Bob"}).Draw(r, "actor"),
				Thread: rapid.SampledFrom([]string{"", "t1", "t2"}).Draw(r, "thread"),
				Source: memory.Source{
					Origin: rapid.SampledFrom([]memory.Origin{memory.Host, memory.Host, memory.Derived, memory.Web}).Draw(r, "origin"),
					Run:    rapid.SampledFrom([]string{"", "r1", "r2"}).Draw(r, "run"),
				},
			}
			switch rapid.IntRange(0, 7).Draw(r, "of which sort") {
			case 0:
				d.Slot = memory.Slot{
					Subject: rapid.SampledFrom([]string{"cache", "index"}).Draw(r, "subject"), Attribute: "port",
					Value: rapid.SampledFrom([]string{"17", "8080", "9090"}).Draw(r, "value"),
				}
			case 1:
				d.Links = []memory.Link{{To: pick(r, "to"), Rel: rapid.SampledFrom([]string{"", "about"}).Draw(r, "rel")}}
			case 2:
				d.Triggers = []string{sentence(r, "phrase", 1)}
			case 3:
				d.Kind, d.Passing = memory.Episode, true
			case 4:
				if reads {
					break
				}
				d.Vector = []float32{rapid.Float32Range(-1, 1).Draw(r, "x"), 1}
			case 5:
				d.Content = "the port of the cache is " + rapid.SampledFrom([]string{"17", "8080", "now 9090"}).Draw(r, "value")
			}
			return d
		}
		r.Repeat(map[string]func(*rapid.T){
			"remember": func(r *rapid.T) {
				most := 4
				if reads {
					most = 1 // which of several gets its vector first, is in no order
				}
				ds := rapid.SliceOfN(rapid.Custom(draft), 1, most).Draw(r, "drafts")
				got := same(r, "remember", func(s memory.Space) (any, error) {
					rs, err := s.RememberAll(ctx, ds)
					for i := range rs {
						rs[i].Revision = 0
					}
					return rs, err
				})
				for _, receipt := range got.([]memory.Receipt) {
					known = append(known, receipt.ID)
				}
			},
			"feedback": func(r *rapid.T) {
				n++
				f := memory.Feedback{
					Key: fmt.Sprint("f", n), Injected: some(r, "injected"), Utilized: some(r, "utilized"), Misled: some(r, "misled"),
					Delivered: rapid.Bool().Draw(r, "delivered"), Situation: rapid.SampledFrom([]string{"", "s"}).Draw(r, "situation"),
				}
				same(r, "feedback", func(s memory.Space) (any, error) { return nil, s.Feedback(ctx, f) })
			},
			"change": func(r *rapid.T) {
				id, by := pick(r, "id"), pick(r, "by")
				which := rapid.SampledFrom([]string{"forget", "trust", "archive", "back", "supersede", "revoke", "release"}).Draw(r, "change")
				same(r, which, func(s memory.Space) (any, error) {
					switch which {
					case "forget":
						return nil, s.Forget(ctx, id)
					case "trust":
						return nil, s.Trust(ctx, id)
					case "archive":
						return nil, s.Archive(ctx, id, true)
					case "back":
						return nil, s.Archive(ctx, id, false)
					case "supersede":
						return nil, s.Supersede(ctx, id, by)
					case "release":
						return nil, s.Release(ctx, []string{"f1", "f2", "f3"}, []string{"k1", "k2", "k3"})
					default:
						return s.Revoke(ctx, memory.Source{Origin: memory.Web, Run: "r1"})
					}
				})
			},
			"upkeep": func(r *rapid.T) {
				decays := rapid.Bool().Draw(r, "decays")
				same(r, "upkeep", func(s memory.Space) (any, error) {
					if decays {
						return s.Decay(ctx)
					}
					return s.Consolidate(ctx)
				})
			},
			"time passes": func(r *rapid.T) {
				c.move(time.Duration(rapid.IntRange(1, 1500).Draw(r, "hours")) * time.Hour)
			},
			"": func(r *rapid.T) {
				q := memory.Query{
					Text: sentence(r, "query", 0), K: rapid.SampledFrom([]int{0, 3, 100}).Draw(r, "k"),
					Inject: rapid.Bool().Draw(r, "inject"), Linked: rapid.Bool().Draw(r, "linked"),
					Archived: rapid.Bool().Draw(r, "archived"), Situation: rapid.SampledFrom([]string{"", "s"}).Draw(r, "situation"),
				}
				if rapid.Bool().Draw(r, "also") {
					q.Also = scopes
				}
				if rapid.IntRange(0, 3).Draw(r, "then") == 0 {
					q.At = c.now().Add(-500 * time.Hour)
				}
				if !reads && rapid.IntRange(0, 3).Draw(r, "by vector") == 0 {
					q.Vector = []float32{1, 1}
				}
				switch rapid.IntRange(0, 9).Draw(r, "query of which sort") {
				case 0:
					q.Triggered = true
				case 1:
					q.Kinds = []memory.Kind{memory.Fact, memory.Pattern}
				case 2:
					q.Known = c.now().Add(-300 * time.Hour)
				case 3:
					q.Since = c.now().Add(-300 * time.Hour)
				case 4:
					q.Floor = .3
				case 5:
					q.Inject, q.Background = false, true
				case 6:
					q.Context = some(r, "context")
				}
				id := pick(r, "explained")
				same(r, fmt.Sprintf("recall %+v", q), func(s memory.Space) (any, error) { return s.Recall(ctx, q) })
				asks := map[string]func(memory.Space) (any, error){
					"threads": func(s memory.Space) (any, error) { return s.RecallThreads(ctx, q) },
					"explain": func(s memory.Space) (any, error) { return s.Explain(ctx, q, id) },
					"latest":  func(s memory.Space) (any, error) { return s.Latest(ctx, "t1", 5) },
					"get":     func(s memory.Space) (any, error) { return s.Get(ctx, id) },
					"health": func(s memory.Space) (any, error) {
						h, err := s.Health(ctx)
						h.Status, h.Issues, h.Injected = "", nil, 0 // which go by what was since Open
						return h, err
					},
					"all": func(s memory.Space) (any, error) {
						var all []memory.Record
						for r, err := range s.All(ctx) {
							if err != nil {
								return nil, err
							}
							all = append(all, r)
						}
						return all, nil
					},
				}
				what := rapid.SampledFrom(slices.Sorted(maps.Keys(asks))).Draw(r, "beside")
				same(r, what, asks[what])
			},
		})
	})
}
