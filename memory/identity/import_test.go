package identity_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/store"
)

func exported(t require.TestingT, x *identity.Identity, v identity.Visibility) string {
	raw, err := x.Export(tContext, v)
	require.NoError(t, err)
	return string(raw)
}

// rich is an identity that has a bit of everything.
func rich(t *testing.T) (*identity.Identity, *clock) {
	t.Helper()
	x, c := fresh(t)
	ctx := t.Context()
	_, err := x.UpdateProfile(ctx, func(p *identity.Profile) error {
		p.Name, p.Role, p.UserID, p.DeviceID = "Ann", "engineer", "u", "d"
		p.Settings = identity.Settings{HalfLife: days(90), HalfLives: map[identity.Category]time.Duration{"core": days(900)}, AutoInfer: true, ExcludedDomains: []string{"bank.example"}}
		p.Extra = map[string]json.RawMessage{"theme": json.RawMessage(`{"dark":true}`), "core": json.RawMessage(`{"pronouns":"she"}`)}
		return nil
	})
	require.NoError(t, err)
	f := add(t, x, identity.Draft{Content: "writes Go", Ref: "chat-1", Visibility: identity.Public})
	c.add(time.Minute)
	_, err = x.Update(ctx, f.ID, identity.Edit{Content: "writes Go & Rust"})
	require.NoError(t, err)
	_, err = x.Validate(ctx, f.ID, identity.Validation{Key: "k", Reason: "said so"})
	require.NoError(t, err)
	g := add(t, x, identity.Draft{Content: "lives in Oslo", Subject: "me", Slot: "city", At: start.Add(-days(99))})
	_, err = x.Archive(ctx, g.ID, true)
	require.NoError(t, err)
	h := add(t, x, identity.Draft{Content: "sails", Source: identity.Inferred, Visibility: identity.Local})
	_, err = x.Reject(ctx, h.ID, "no")
	require.NoError(t, err)
	visit(t, x, "go.dev", 3)
	_, err = x.Observe(ctx, identity.Event{Key: "e1", Text: "hello", At: start.Add(-days(40))})
	require.NoError(t, err)
	_, err = x.Maintain(ctx)
	require.NoError(t, err)
	return x, c
}

func TestRoundTrip(t *testing.T) {
	x, c := rich(t)
	before := exported(t, x, identity.Local)
	for _, part := range []string{`"theme"`, `"pronouns"`, `"past"`, `"evidence"`, `"rollups"`, `"blocked"`, `"events"`, `"archivedAt"`} {
		require.Contains(t, before, part)
	}
	y := open(t, store.NewMem(), c)
	r, err := y.Import(t.Context(), []byte(before))
	require.NoError(t, err)
	require.Equal(t, 3, r.Added, "%+v", r)
	require.Equal(t, before, exported(t, y, identity.Local))

	for _, z := range []*identity.Identity{x, y} { // again changes nothing
		r, err := z.Import(t.Context(), []byte(before))
		require.NoError(t, err)
		require.Equal(t, identity.ImportReport{Version: 2, Facts: 3, Kept: 3}, r)
		require.Equal(t, before, exported(t, z, identity.Local))
	}

	trusted := exported(t, x, "")
	require.Contains(t, trusted, "Oslo")
	for _, hidden := range []string{"sails", "hello", "theme", "bank.example", "blocked"} {
		require.NotContains(t, trusted, hidden)
	}
	require.NotContains(t, exported(t, x, identity.Public), "Ann")
}

func TestImportUnknownAndDamaged(t *testing.T) {
	x, _ := fresh(t)
	const doc = `{"version":"2.1.0","deviceId":5,"core":"Ann","settings":{"decayHalfLifeDays":"x","theme":"dark"},"plugins":[1,2],
	"facts":[
		{"id":"a","content":"Go","confidence":7,"createdAt":"15/01/2025","updatedAt":1736935200000,"maturity":"ripe","visibility":"secret","tags":["x"]},
		{"id":"a","content":"Rust","confidence":"0.5","lastValidated":"2999-01-01"},
		{"content":"rust","category":"context","lastValidated":"2024-01-01"},
		"a bare text",
		{"id":"b"}, 7, null,
		{"id":{},"content":"odd","confidence":null,"evidence":"x","validationCount":-3}
	],
	"blocked":["PHP",{"content":""},3],"events":[{"text":"x"},{"text":"x"},5],"rollups":[{"day":"never"},{"day":"0000-01-01"}]}`
	r, err := x.Import(t.Context(), []byte(doc))
	require.NoError(t, err)
	require.Equal(t, identity.ImportReport{Version: 2, Facts: 5, Added: 4, Merged: 1, Damaged: 3, Unreadable: 8, Events: 2}, r)

	a, err := x.Get(t.Context(), "a")
	require.NoError(t, err)
	require.InDelta(t, 1, a.Confidence, 0)
	require.Equal(t, identity.Local, a.Visibility, "what is not known stays here")
	require.Equal(t, time.UnixMilli(1736935200000).UTC(), a.Created, "the next best date")
	require.Equal(t, a.Created, a.Validated)
	require.JSONEq(t, `"15/01/2025"`, string(a.Damaged["createdAt"]))
	require.JSONEq(t, `["x"]`, string(a.Extra["tags"]))
	rust := add(t, x, identity.Draft{Content: "Rust", Source: identity.Imported})
	require.Equal(t, start, rust.Validated, "not in the future")
	require.Len(t, rust.Variants, 1)
	merged, err := x.Get(t.Context(), rust.Variants[0].ID)
	require.NoError(t, err)
	require.Equal(t, rust.ID, merged.ID)

	views, err := x.List(t.Context(), identity.Filter{})
	require.NoError(t, err)
	for _, v := range views {
		require.True(t, v.Effective >= 0 && v.Effective <= 1, "%s %v", v.Content, v.Effective)
	}
	full := exported(t, x, identity.Local)
	for _, kept := range []string{`"plugins"`, `"15/01/2025"`, `"ripe"`, `"secret"`, `"theme"`, `"damaged.deviceId"`, `"damaged.core"`, `"never"`, `"0000-01-01"`, `"x"`} {
		require.Contains(t, full, kept)
	}
	_, err = x.Import(t.Context(), []byte(doc))
	require.NoError(t, err)
	require.Equal(t, full, exported(t, x, identity.Local), "again changes nothing")
}

func TestImportRefuses(t *testing.T) {
	x, _ := fresh(t)
	add(t, x, identity.Draft{Content: "Go"})
	before := exported(t, x, identity.Local)
	for _, doc := range []string{``, `{`, `[]`, `null`, `"2.0.0"`, `{}`, `{"version":"3.0.0"}`, `{"version":"1.0"}`, `{"hello":1}`, before[:len(before)/2]} {
		_, err := x.Import(t.Context(), []byte(doc))
		require.ErrorIs(t, err, identity.ErrFormat, doc)
	}
	var limit *store.LimitError
	for _, doc := range []string{
		`{"version":"2.0.0","x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
		`{"version":"2.0.0","facts":[{"content":"fine"},{"content":"` + strings.Repeat("x", memory.MaxText+1) + `"}]}`,
		`{"version":"2.0.0","facts":[{"content":"fine"},{"content":"x","big":"` + strings.Repeat("x", 600<<10) + `"}]}`,
		`{"version":"2.0.0","facts":[{"content":"fine"},{"content":"x","variants":[` + strings.Repeat(`{"id":"y"},`, 1000) + `{}]}]}`,
		strings.Repeat(" ", 16<<20+1),
	} {
		_, err := x.Import(t.Context(), []byte(doc))
		require.ErrorAs(t, err, &limit)
	}
	require.Equal(t, before, exported(t, x, identity.Local))
}

// Importing version 1 merges: what is there stays.
func TestImportV1KeepsWhatIsThere(t *testing.T) {
	x, c := fresh(t)
	mine := add(t, x, identity.Draft{Content: "typescript", Category: identity.Expertise})
	_, err := x.UpdateProfile(t.Context(), func(p *identity.Profile) error { p.Name = "Ann"; return nil })
	require.NoError(t, err)
	c.add(time.Hour)
	r, err := x.Import(t.Context(), []byte(v1Document))
	require.NoError(t, err)
	require.Equal(t, 1, r.Version)
	require.Equal(t, 1, r.Merged)
	p, err := x.Profile(t.Context())
	require.NoError(t, err)
	require.Equal(t, "Ann", p.Name)
	require.Equal(t, "Senior Engineer", p.Role)
	require.Equal(t, identity.Public, p.Visibility)
	f, err := x.Get(t.Context(), mine.ID)
	require.NoError(t, err)
	require.Equal(t, identity.Proven, f.Maturity)
	require.Equal(t, "TypeScript", f.Variants[0].Content)
	full := exported(t, x, identity.Local)
	c.add(time.Hour)
	again, err := x.Import(t.Context(), []byte(v1Document))
	require.NoError(t, err)
	require.Zero(t, again.Added)
	require.Len(t, contents(t, x), 1+r.Added)
	require.Contains(t, full, `"Go"`)
	require.Contains(t, full, `"content": "go"`, "the other spelling of a duplicate")
}

func TestImportV1Damaged(t *testing.T) {
	x, _ := fresh(t)
	_, err := x.Import(t.Context(), []byte(`{"meta":{"lastModified":"yesterday"},"expertise":["Go",{"name":"Rust","level":9},7,null,""],
		"communication":"brief","currentFocus":{"projects":["Arc",{"status":"new"}],"goals":"rest","mood":"fine"},"context":[],"custom":{"a":{"b":1}},"privacy":{"localOnly":["expertise"]}}`))
	require.NoError(t, err)
	texts := contents(t, x)
	for _, want := range []string{"Go", `{"name":"Rust","level":9}`, "7", "Arc", "Goal: rest", "Mood: fine", `A: {"b":1}`} {
		require.Contains(t, texts, want)
	}
	views, err := x.List(t.Context(), identity.Filter{Category: identity.Expertise})
	require.NoError(t, err)
	for _, v := range views {
		require.Equal(t, identity.Local, v.Visibility)
		require.Equal(t, start, v.Created)
	}
	p, err := x.Profile(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(p.Extra["v1"]), "brief")
	require.Contains(t, string(p.Extra["v1"]), "yesterday")
}

// Of two states of a fact the later one is kept, whichever comes first, and
// the other's wording stays readable.
func TestImportLastWriteWins(t *testing.T) {
	doc := func(content string, day int) []byte {
		return fmt.Appendf(nil, `{"version":"2.0.0","facts":[{"id":"a","category":"context","content":%q,"updatedAt":"2026-01-%02d","tag%d":1,"tag":%d}]}`, content, day, day, day)
	}
	for _, order := range [][]int{{1, 2}, {2, 1}} {
		x, _ := fresh(t)
		for _, d := range order {
			_, err := x.Import(t.Context(), doc(fmt.Sprint("state ", d), d))
			require.NoError(t, err)
		}
		f, err := x.Get(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, "state 2", f.Content)
		require.Equal(t, []identity.Variant{{ID: "a", Content: "state 1"}}, f.Variants)
		raw, err := json.Marshal(f.Extra)
		require.NoError(t, err)
		require.JSONEq(t, `{"tag":2,"tag1":1,"tag2":1}`, string(raw))
		require.Equal(t, identity.ID("a"), add(t, x, identity.Draft{Content: "state 2", Category: identity.Context}).ID)
	}
}

func TestImportTie(t *testing.T) {
	x, _ := fresh(t)
	f := add(t, x, identity.Draft{Content: "here"})
	doc := fmt.Appendf(nil, `{"version":"2.0.0","facts":[{"id":%q,"content":"there","category":"context","updatedAt":%q}]}`, f.ID, f.Updated.Format(time.RFC3339Nano))
	_, err := x.Import(t.Context(), doc)
	require.NoError(t, err)
	f, err = x.Get(t.Context(), f.ID)
	require.NoError(t, err)
	require.Equal(t, "here", f.Content)
	require.Equal(t, "there", f.Variants[0].Content)
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(v1Document))
	f.Add([]byte(`{"version":"2.0.0","facts":[{"id":"a","content":"Go","confidence":2,"lastValidated":"x","zz":[{}]},"b",{}],"events":[{"text":"x"}],"blocked":["x"],"rollups":[{"day":"2026-01-02","counts":[{"n":3,"topic":"a"}]}]}`))
	if raw, err := os.ReadFile("testdata/arete.json"); err == nil {
		var file struct{ Cases []areteCase }
		if json.Unmarshal(raw, &file) == nil {
			for _, c := range file.Cases {
				if strings.HasPrefix(c.Name, "migrate") {
					f.Add([]byte(c.Input))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x, c := fresh(t)
		r, err := x.Import(t.Context(), data)
		if err != nil {
			require.Empty(t, contents(t, x), "nothing is stored on an error")
			return
		}
		require.Equal(t, r.Facts, r.Added+r.Merged+r.Kept)
		first := exported(t, x, identity.Local)
		y := open(t, store.NewMem(), c)
		_, err = y.Import(t.Context(), []byte(first))
		require.NoError(t, err)
		require.Equal(t, first, exported(t, y, identity.Local))
	})
}

// A model of the facts: no operation loses one, and reopening and exporting
// change nothing.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st, c := store.NewMem(), &clock{t: start}
		x := open(t, st, c)
		texts := rapid.SampledFrom([]string{"Go", "go", "Rust", "C", "C++", "likes tea", "Likes tea.", "works at Acme"})
		known := map[identity.ID]bool{}
		pick := func(t *rapid.T) identity.ID {
			var ids []identity.ID
			views, err := x.List(tContext, identity.Filter{Archived: true})
			require.NoError(t, err)
			for _, v := range views {
				ids = append(ids, v.ID)
			}
			if len(ids) == 0 {
				t.Skip("no facts yet")
			}
			return rapid.SampledFrom(ids).Draw(t, "id")
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				source := rapid.SampledFrom([]identity.Source{identity.Manual, identity.Inferred}).Draw(t, "source")
				f, err := x.Add(tContext, identity.Draft{Content: texts.Draw(t, "text"), Source: source})
				if source == identity.Manual {
					require.NoError(t, err)
				}
				if err == nil {
					require.True(t, f.Archived.IsZero())
					known[f.ID] = true
				}
			},
			"validate": func(t *rapid.T) {
				id := pick(t)
				before, err := x.Get(tContext, id)
				require.NoError(t, err)
				after, err := x.Validate(tContext, id, identity.Validation{})
				if before.Rejected.IsZero() {
					require.NoError(t, err)
					require.Equal(t, before.Validations+1, after.Validations)
					require.GreaterOrEqual(t, after.Effective(c.now(), 0), before.Effective(c.now(), 0))
				}
			},
			"reject": func(t *rapid.T) {
				id := pick(t)
				f, err := x.Reject(tContext, id, "no")
				require.NoError(t, err)
				before := exported(t, x, identity.Local)
				_, err = x.Reject(tContext, id, "no")
				require.NoError(t, err)
				require.Equal(t, before, exported(t, x, identity.Local))
				_, err = x.Add(tContext, identity.Draft{Content: f.Content, Source: identity.Inferred})
				require.ErrorIs(t, err, identity.ErrRejected)
			},
			"archive": func(t *rapid.T) { _, err := x.Archive(tContext, pick(t), true); require.NoError(t, err) },
			"restore": func(t *rapid.T) { _, err := x.Archive(tContext, pick(t), false); require.NoError(t, err) },
			"update": func(t *rapid.T) {
				_, err := x.Update(tContext, pick(t), identity.Edit{Content: texts.Draw(t, "text")})
				require.True(t, err == nil || errors.Is(err, identity.ErrKnown), "%v", err)
			},
			"wait": func(t *rapid.T) {
				views, err := x.List(tContext, identity.Filter{})
				require.NoError(t, err)
				c.add(days(float64(rapid.IntRange(0, 90).Draw(t, "days"))))
				for _, v := range views {
					require.LessOrEqual(t, v.Fact.Effective(c.now(), 0), v.Effective, "confidence only fades")
				}
			},
			"maintain": func(t *rapid.T) {
				u, err := x.Maintain(tContext)
				require.NoError(t, err)
				require.Equal(t, u.Facts, u.Kept+u.Archived+u.Already)
				u, err = x.Maintain(tContext)
				require.NoError(t, err)
				require.Zero(t, u.Archived+u.Demoted, "a second one changes nothing")
			},
			"": func(t *rapid.T) {
				views, err := x.List(tContext, identity.Filter{Archived: true})
				require.NoError(t, err)
				found := map[identity.ID]bool{}
				for _, v := range views {
					found[v.ID] = true
				}
				require.Equal(t, known, found, "no fact is lost")
				require.Equal(t, exported(t, x, identity.Local), exported(t, open(t, st, c), identity.Local), "reopened")
			},
		})
		y := open(t, store.NewMem(), c)
		full := exported(t, x, identity.Local)
		_, err := y.Import(tContext, []byte(full))
		require.NoError(t, err)
		require.Equal(t, full, exported(t, y, identity.Local))
	})
}

// What an import would make too large is known before anything of it is stored.
func TestImportThatFailsChangesNothing(t *testing.T) {
	ctx := t.Context()
	for name, facts := range map[string]func() string{
		"variants": func() string {
			var b strings.Builder
			for i := range 1100 {
				fmt.Fprintf(&b, `{"id":"f%04d","content":"likes tea","category":"preference"},`, i)
			}
			return strings.TrimSuffix(b.String(), ",")
		},
		"size": func() string {
			long := strings.Repeat("word ", 12000)
			var b strings.Builder
			for i := range 12 {
				fmt.Fprintf(&b, `{"id":"f%04d","content":%q,"category":"preference"},`, i, long+strings.Repeat("!", i))
			}
			return strings.TrimSuffix(b.String(), ",")
		},
	} {
		x, _ := fresh(t)
		_, err := x.Import(ctx, []byte(`{"version":"2.0.0","deviceId":"d","core":{"name":"Mallory"},"settings":{},"facts":[`+facts()+`]}`))
		if err == nil {
			continue
		}
		p, err2 := x.Profile(ctx)
		require.NoError(t, err2)
		if p.Name != "" {
			t.Errorf("%s: %.120v, and the profile is %q", name, err, p.Name)
		}
	}
}

// Events that were counted, and are of no day any more, are not counted again.
func TestImportAfterRollUpCountsNothingTwice(t *testing.T) {
	x, c := fresh(t)
	ctx := t.Context()
	for range 3 {
		_, err := x.Observe(ctx, identity.Event{Topic: "Rust", At: c.now()})
		require.NoError(t, err)
		c.t = c.t.Add(time.Hour)
	}
	doc, err := x.Export(ctx, identity.Local)
	require.NoError(t, err)
	c.t = c.t.Add(40 * 24 * time.Hour)
	_, err = x.Maintain(ctx)
	require.NoError(t, err)
	before, err := x.Export(ctx, identity.Local)
	require.NoError(t, err)
	report, err := x.Import(ctx, doc)
	require.NoError(t, err)
	require.Zero(t, report.Events, "events that were counted")
	_, err = x.Maintain(ctx)
	require.NoError(t, err)
	after, err := x.Export(ctx, identity.Local)
	require.NoError(t, err)
	require.JSONEq(t, string(before), string(after))
}

// A roll-up knows its events in a document as well: on another device none of them is counted again, whether it
// comes before or after them.
func TestRollUpElsewhereCountsNothingTwice(t *testing.T) {
	x, c := fresh(t)
	event := identity.Event{Topic: "Rust", Key: "visit 7", At: c.now()}
	_, err := x.Observe(t.Context(), event, identity.Event{Topic: "Rust"})
	require.NoError(t, err)
	before := exported(t, x, identity.Local)
	c.add(days(40))
	_, err = x.Maintain(t.Context())
	require.NoError(t, err)
	after := exported(t, x, identity.Local)
	for _, docs := range [][]string{{before, after}, {after, before}} {
		y := open(t, store.NewMem(), c)
		for _, doc := range docs {
			imported(t, y, doc)
		}
		n, err := y.Observe(t.Context(), event)
		require.NoError(t, err)
		require.Zero(t, n)
		_, err = y.Maintain(t.Context())
		require.NoError(t, err)
		require.Equal(t, after, exported(t, y, identity.Local))
	}
	require.NotContains(t, exported(t, x, identity.Trusted), "rollups")
}
