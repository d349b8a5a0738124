package identity_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/store"
)

var start = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

// clock is the time of an Identity under test.
type clock struct{ at time.Time }

func open(t require.TestingT, st store.Store) (*identity.Identity, *clock) {
	c := &clock{start}
	x, err := identity.New(store.NewGroup(st), "acme/anna", &memory.Options{Now: func() time.Time { return c.at }})
	require.NoError(t, err)
	return x, c
}

// The seed's decay, and the steps of maturity up and down.
func TestLifeOfAFact(t *testing.T) {
	t.Parallel()
	x, now := open(t, store.NewMem())
	f, err := x.Add(t.Context(), identity.Fact{Content: "knows Go", Source: identity.Inferred})
	require.NoError(t, err)
	require.Equal(t, identity.Candidate, f.Maturity)
	for n, want := range []struct {
		confidence float64
		maturity   string
	}{{.7, identity.Candidate}, {.9, identity.Established}, {1, identity.Established}, {1, identity.Established}, {1, identity.Proven}} {
		f, err = x.Validate(t.Context(), f.ID, "said so")
		require.NoError(t, err)
		require.Equal(t, want.confidence, f.Confidence)
		require.Equal(t, want.maturity, f.Maturity, n)
	}
	for days, want := range map[float64]float64{0: 1, .5: .994240423818, 30: .707106781187, 60: .5, 120: .25, -30: 1} {
		now.at = start.Add(time.Duration(days * float64(day)))
		f, err = x.Get(t.Context(), f.ID)
		require.NoError(t, err)
		require.InDelta(t, want, f.Confidence, 1e-9, days)
	}
	for _, at := range []struct {
		days, changed int
		maturity      string
		archived      bool
	}{{104, 0, identity.Proven, false}, {110, 1, identity.Established, false}, {110, 0, identity.Established, false},
		{199, 0, identity.Established, false}, {200, 1, identity.Established, true}} {
		now.at = start.Add(time.Duration(at.days) * day)
		n, err := x.Maintain(t.Context())
		require.NoError(t, err)
		require.Equal(t, at.changed, n, "demoted once until it is validated, archived below .1")
		f, err = x.Get(t.Context(), f.ID)
		require.NoError(t, err)
		require.Equal(t, []any{at.maturity, at.archived}, []any{f.Maturity, !f.ArchivedAt.IsZero()})
	}
	told, filtered, err := x.Project(t.Context(), "", 0, 0)
	require.NoError(t, err)
	require.Empty(t, told)
	require.Equal(t, 1, filtered)
	f, err = x.Validate(t.Context(), f.ID, "") // it comes back
	require.NoError(t, err)
	require.True(t, f.ArchivedAt.IsZero())
	require.Equal(t, 1.0, f.Confidence)
	now.at = now.at.Add(105 * day) // told no more, until a person corrects it
	_, err = x.Update(t.Context(), identity.Fact{ID: f.ID, Content: "knows Go and Rust"})
	require.NoError(t, err)
	told, _, err = x.Project(t.Context(), "write it in Rust", 0, 0)
	require.NoError(t, err)
	require.Len(t, told, 1)

	guess, err := x.Add(t.Context(), identity.Fact{Content: "likes tea", Source: identity.Inferred})
	require.NoError(t, err)
	now.at = now.at.Add(105 * day)
	for _, as := range []string{"likes green tea", "likes tea"} { // a model's guess is not kept alive by changes
		guess, err = x.Update(t.Context(), identity.Fact{ID: guess.ID, Content: as})
		require.NoError(t, err)
		require.Less(t, guess.Confidence, .2)
	}
}

func TestAdd(t *testing.T) {
	t.Parallel()
	x, _ := open(t, store.NewMem())
	f, err := x.Add(t.Context(), identity.Fact{Content: "prefers  tabs", Category: "preference"})
	require.NoError(t, err)
	require.Equal(t, []any{1.0, identity.Established, 1}, []any{f.Confidence, f.Maturity, f.ValidationCount})
	again, err := x.Add(t.Context(), identity.Fact{Content: "Prefers tabs.", Category: "preference"})
	require.NoError(t, err)
	require.Equal(t, []any{f.ID, 2}, []any{again.ID, again.ValidationCount})
	other, err := x.Update(t.Context(), identity.Fact{ID: f.ID, Content: "prefers spaces"})
	require.NoError(t, err)
	require.Equal(t, f.ID, other.ID)
	new, err := x.Add(t.Context(), identity.Fact{Content: "prefers tabs", Category: "preference"})
	require.NoError(t, err)
	require.NotEqual(t, f.ID, new.ID)
	spaces, err := x.Add(t.Context(), identity.Fact{Content: "prefers spaces", Category: "preference"})
	require.NoError(t, err)
	require.Equal(t, []any{f.ID, 3}, []any{spaces.ID, spaces.ValidationCount}, "the one in the same words, whatever its id")

	require.NoError(t, x.Reject(t.Context(), new.ID, "no"))
	_, err = x.Get(t.Context(), new.ID)
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = x.Add(t.Context(), identity.Fact{Content: "prefers TABS", Category: "preference", Source: identity.Conversation})
	require.ErrorIs(t, err, identity.ErrRejected)
	_, err = x.Add(t.Context(), identity.Fact{Content: "prefers tabs"})
	require.NoError(t, err, "a person's own word")
	for _, d := range []identity.Fact{{}, {Content: "x", Category: "hobby"}, {Content: "x", Confidence: math.NaN()}, {Content: "x", Confidence: 2},
		{Content: strings.Repeat("x", 5000)}} {
		_, err = x.Add(t.Context(), d)
		require.ErrorIs(t, err, store.ErrInvalid, d)
	}
	f, err = x.Add(t.Context(), identity.Fact{Content: "token ghp_" + strings.Repeat("a1B2c3", 6)})
	require.NoError(t, err)
	require.NotContains(t, f.Content, "a1B2c3")
}

func TestProject(t *testing.T) {
	t.Parallel()
	x, now := open(t, store.NewMem())
	add := func(content string, c string, source string, confidence float64, validations int) {
		f, err := x.Add(t.Context(), identity.Fact{Content: content, Category: c, Source: source, Confidence: confidence})
		require.NoError(t, err)
		for range validations {
			_, err = x.Validate(t.Context(), f.ID, "")
			require.NoError(t, err)
		}
	}
	add("knows Fortran", "expertise", identity.Manual, 1, 4) // proven
	now.at = start.Add(100 * day)
	add("writes React components", "expertise", identity.Manual, .9, 0)
	add("likes cooking", "context", identity.Manual, .6, 0)
	add("is learning to debug React", "focus", identity.Inferred, 0, 0)
	add("is learning the violin", "focus", identity.Inferred, 0, 0)
	add("answers should be short", "preference", identity.Manual, .6, 0)
	told := func(task string, most int, least float64) (out []string) {
		facts, others, err := x.Project(t.Context(), task, most, least)
		require.NoError(t, err)
		require.Equal(t, 6, len(facts)+others)
		text := identity.Render(facts)
		require.Equal(t, len(facts) == 0, text == "")
		for _, f := range facts {
			out = append(out, strings.Fields(f.Content)[len(strings.Fields(f.Content))-1])
			require.Contains(t, text, f.Content+f.LastValidated.Format(" (as of 2006-01-02)"))
		}
		return out
	}
	require.Equal(t, []string{"components", "React", "short", "Fortran"}, told("Help me debug this React component", 0, 0))
	require.ElementsMatch(t, []string{"components", "cooking", "short", "React", "violin", "Fortran"}, told("", 0, 0))
	require.Equal(t, []string{"components", "Fortran"}, told("", 2, 0), "proven is always in")
	require.Equal(t, []string{"components", "Fortran"}, told("", 0, .8))
	require.Empty(t, told("", -1, 0))
}

func visits(address string, n int, at time.Time) (out []identity.Event) {
	for range n {
		out = append(out, identity.Event{Kind: "page_visit", Address: address, At: at})
	}
	return out
}

func TestInfer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		host       string
		n          int
		content    string
		confidence float64
	}{
		{"supabase.com", 2, "", 0}, {"supabase.com", 3, "visits supabase.com", .55}, {"https://supabase.com/docs", 5, "visits supabase.com", .65},
		{"supabase.com", 8, "visits supabase.com", .8}, {"supabase.com", 20, "visits supabase.com", .8}, {"google.com", 2, "", 0},
		{"docs.react.dev", 3, "visits docs.react.dev", .55}, {"www.react.dev", 3, "visits react.dev", .55},
		{"kiteshop.example", 9, "visits kiteshop.example", .8},
	} {
		x, _ := open(t, store.NewMem())
		_, err := x.Observe(t.Context(), visits(c.host, c.n, start)...)
		require.NoError(t, err)
		found, err := x.Infer(t.Context(), 0)
		require.NoError(t, err)
		if c.content == "" {
			require.Empty(t, found, c)
			continue
		}
		require.Len(t, found, 1, c)
		require.Equal(t, []any{c.content, c.confidence, identity.Candidate, identity.Inferred},
			[]any{found[0].Content, found[0].Confidence, found[0].Maturity, found[0].Source})
		require.Regexp(t, fmt.Sprint(`^browsing:[a-z.]+:`, c.n, "$"), found[0].SourceRef)
	}
	x, now := open(t, store.NewMem())
	infer := func(days int) (ids []string) {
		found, err := x.Infer(t.Context(), days)
		require.NoError(t, err)
		for _, s := range found {
			ids = append(ids, s.ID)
		}
		return ids
	}
	require.NoError(t, x.SetProfile(t.Context(), identity.Profile{ExcludedDomains: []string{"bank.example"}}))
	kept, err := x.Observe(t.Context(), append(visits("https://my.bank.example/x", 5, start), visits("go.dev", 5, start)...)...)
	require.NoError(t, err)
	require.Equal(t, 5, kept)
	now.at = start.Add(8 * day)
	require.Empty(t, infer(0), "a week is over")
	require.Len(t, infer(30), 1)
	require.Equal(t, infer(30), infer(30), "until it is validated or rejected")
	require.NoError(t, x.Reject(t.Context(), infer(30)[0], "no"))
	require.Empty(t, infer(30))
	kept, err = x.Observe(t.Context(), slices.Repeat([]identity.Event{{Topic: "plays chess", Dwell: time.Hour}}, 2)...)
	require.NoError(t, err)
	require.Equal(t, 2, kept)
	ids := infer(1)
	require.Len(t, ids, 1)
	f, err := x.Validate(t.Context(), ids[0], "yes")
	require.NoError(t, err)
	require.Equal(t, []any{identity.Established, "plays chess"}, []any{f.Maturity, f.Content})
	require.Empty(t, infer(1), "a fact has it")
	now.at = now.at.Add(300 * day) // which fades
	_, err = x.Maintain(t.Context())
	require.NoError(t, err)
	_, err = x.Observe(t.Context(), slices.Repeat([]identity.Event{{Topic: "plays chess", Dwell: time.Hour}}, 2)...)
	require.NoError(t, err)
	ids = infer(1)
	require.Len(t, ids, 1)
	same, err := x.Validate(t.Context(), ids[0], "again")
	require.NoError(t, err)
	require.Equal(t, []any{f.ID, true}, []any{same.ID, same.ArchivedAt.IsZero()})
	_, err = x.Observe(t.Context(), visits("docs.rs", 4, now.at)...)
	require.NoError(t, err)
	ids = infer(1)
	require.Len(t, ids, 1)
	require.NoError(t, x.Reject(t.Context(), ids[0], "only looked"))
	require.Empty(t, infer(1))
	require.ErrorIs(t, x.Reject(t.Context(), ids[0], ""), store.ErrNotFound)
}

func TestEventsAreRolledUp(t *testing.T) {
	t.Parallel()
	x, now := open(t, store.NewMem())
	for i := range 11 {
		_, err := x.Observe(t.Context(), visits("go.dev", 100, start.Add(time.Duration(i)*day/2))...)
		require.NoError(t, err)
	}
	recent, err := x.Recent(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, recent, 1000)
	require.Equal(t, start.Add(5*day), recent[0].At)
	now.at = start.Add(6 * day)
	found, err := x.Infer(t.Context(), 30)
	require.NoError(t, err)
	require.Equal(t, "browsing:go.dev:1100", found[0].SourceRef)
	now.at = start.Add(32 * day)
	n, err := x.Maintain(t.Context())
	require.NoError(t, err)
	require.Equal(t, 300, n)
	found, err = x.Infer(t.Context(), 60)
	require.NoError(t, err)
	require.Equal(t, "browsing:go.dev:1100", found[0].SourceRef)
	require.NoError(t, x.SetProfile(t.Context(), identity.Profile{AutoInfer: true}))
	_, err = x.Observe(t.Context(), visits("react.dev", 3, now.at)...)
	require.NoError(t, err)
	for _, added := range []int{1, 0} {
		n, err = x.Maintain(t.Context())
		require.NoError(t, err)
		require.Equal(t, added, n)
	}
	facts, err := x.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, .5, facts[0].Confidence, "nobody has looked at it")
	for _, e := range []identity.Event{{}, {Topic: "x", Dwell: -1}, {Text: strings.Repeat("x", 1<<15)}} {
		_, err = x.Observe(t.Context(), e)
		require.ErrorIs(t, err, store.ErrInvalid)
	}
}

const v1 = `{"meta":{"version":"1.0.0","lastModified":"2025-01-15T10:00:00Z","deviceId":"device-123"},
"core":{"name":"Test User","role":"Engineer","location":"Lisbon"},"communication":{"style":["concise"],"format":["markdown"],"avoid":["jargon"]},
"expertise":["TypeScript","React"],"currentFocus":{"projects":[{"name":"Arete","description":"AI identity","status":"active"},"Kite"],"goals":["Ship v2"]},
"context":{"personal":["Has a dog named Max"],"professional":["Works at a startup"]},"custom":{"timezone":"PST"}}`

func TestVersion1(t *testing.T) {
	t.Parallel()
	x, _ := open(t, store.NewMem())
	for _, want := range [][]int{{9, 0}, {0, 9}} {
		taken, kept, err := x.Import(t.Context(), []byte(v1))
		require.NoError(t, err)
		require.Equal(t, want, []int{taken, kept})
	}
	facts, err := x.List(t.Context())
	require.NoError(t, err)
	var got []string
	for _, f := range facts {
		got = append(got, f.Category+" "+f.Content)
		require.Equal(t, []any{1.0, identity.Proven, 5, "manual"}, []any{f.Confidence, f.Maturity, f.ValidationCount, f.Source})
	}
	slices.Sort(got)
	require.Equal(t, []string{"context Has a dog named Max", "context Works at a startup", "expertise React", "expertise TypeScript", "focus Goal: Ship v2",
		"focus Project: Arete - AI identity", "focus Project: Kite", "preference Avoid: jargon", "preference Communication style: concise"}, got)
	p, err := x.Profile(t.Context())
	require.NoError(t, err)
	require.Equal(t, identity.Profile{Name: "Test User", Role: "Engineer", HalfLifeDays: 60}, p)
	out, err := x.Export(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(out), `"createdAt": "2025-01-15T10:00:00Z"`)
	require.Contains(t, string(out), `"deviceId": "device-123"`)
}

func TestVersion2(t *testing.T) {
	t.Parallel()
	fact := `{"id":"a","category":"expertise","content":%q,"confidence":0.9,"lastValidated":"2026-01-01T00:00:00Z","maturity":"established",
		"source":"manual","createdAt":"2025-01-01T00:00:00Z","updatedAt":%q,"mood":"good"}`
	doc := func(facts ...string) []byte {
		return []byte(`{"version":"2.0.0","deviceId":"d","core":{"name":"N"},"settings":{"decayHalfLifeDays":30,"autoInfer":false,"excludedDomains":[]},
			"theme":{"dark":true},"facts":[` + strings.Join(facts, ",") + `]}`)
	}
	older, newer := doc(fmt.Sprintf(fact, "old", "2026-01-02T00:00:00Z")), doc(fmt.Sprintf(fact, "new", "2026-01-03T00:00:00Z"))
	var outs []string
	for _, order := range [][][]byte{{older, newer}, {newer, older, newer}} {
		x, _ := open(t, store.NewMem())
		for _, d := range order {
			_, _, err := x.Import(t.Context(), d)
			require.NoError(t, err)
		}
		f, err := x.Get(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, "new", f.Content)
		out, err := x.Export(t.Context())
		require.NoError(t, err)
		outs = append(outs, string(out))
		for _, bad := range []string{`null`, `[]`, `"2.0.0"`, `{"version":"3.0.0"}`, `{}`, string(doc(`{"id":"b"}`)), string(doc(fmt.Sprintf(fact, "x", "yesterday"))),
			string(doc(fmt.Sprintf(fact, "y", "2027-01-01T00:00:00Z"), `{"id":"c","confidence":2}`)), `{"meta":{},"expertise":3}`} {
			_, _, err := x.Import(t.Context(), []byte(bad))
			require.ErrorIs(t, err, store.ErrInvalid, bad)
		}
		after, err := x.Export(t.Context())
		require.NoError(t, err)
		require.Equal(t, outs[0], string(after), "a bad document changes nothing")
	}
	require.Equal(t, outs[0], outs[1])
	var d map[string]any
	require.NoError(t, json.Unmarshal([]byte(outs[0]), &d))
	f := d["facts"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"2.0.0", "d", .9, "good", map[string]any{"dark": true}},
		[]any{d["version"], d["deviceId"], f["confidence"], f["mood"], d["theme"]})
}

// A document of a stranger does no more than its facts say.
// Of an excluded domain nothing is kept, however its address is written, and what Infer suggests can be a fact.
func TestHostileEvents(t *testing.T) {
	t.Parallel()
	x, _ := open(t, store.NewMem())
	require.NoError(t, x.SetProfile(t.Context(), identity.Profile{ExcludedDomains: []string{"bank.example"}}))
	for _, address := range []string{"https://BANK.example.:8443/", "//bank.example/x", "view-source:https://bank.example", "http:bank.example",
		"blob:https://bank.example/1", `https://bank.example\x`, " https://bank.example", "https://u:p%zz@bank.example/"} {
		kept, err := x.Observe(t.Context(), identity.Event{Address: address, Topic: "loans"})
		require.NoError(t, err)
		require.Zero(t, kept, address)
	}
	x, _ = open(t, store.NewMem())
	for i := range 60 { // more of them than the record of a day has room for
		_, err := x.Observe(t.Context(), identity.Event{Address: strings.Repeat("a.", 4900) + fmt.Sprint(i), Topic: fmt.Sprint(i)})
		require.NoError(t, err)
	}
	_, err := x.Observe(t.Context(), identity.Event{Topic: strings.Repeat("x", 4<<10+1)})
	require.ErrorIs(t, err, store.ErrInvalid)
	_, err = x.Observe(t.Context(), slices.Repeat([]identity.Event{{Topic: strings.Repeat("x", 4<<10)}}, 3)...)
	require.NoError(t, err)
	found, err := x.Infer(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, found, 1)
	_, err = x.Validate(t.Context(), found[0].ID, "")
	require.NoError(t, err)
}

func TestHostileDocuments(t *testing.T) {
	t.Parallel()
	fact := func(content, at string) string {
		return fmt.Sprintf(`{"id":"a","category":"focus","content":%q,"confidence":1,"lastValidated":%q,"maturity":"proven","source":"manual",
			"createdAt":%[2]q,"updatedAt":%[2]q}`, content, at)
	}
	doc := func(more string) []byte { return []byte(`{"version":"2.0.0",` + more + `}`) }
	x, now := open(t, store.NewMem())
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	_, _, err := x.Import(t.Context(), doc(`"facts":[],"deep":`+deep))
	require.ErrorIs(t, err, store.ErrInvalid)
	_, _, err = x.Import(t.Context(), doc(`"facts":[`+fact("for ever", "9999-12-31T23:59:59.9999Z")+`]`))
	require.ErrorContains(t, err, "of the year 9999") // a later time could not be read again
	taken, kept, err := x.Import(t.Context(), doc(`"facts":[`+fact("new", "2026-01-02T00:00:00Z")+","+fact("old", "2026-01-01T00:00:00Z")+`]`))
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{taken, kept})
	f, err := x.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "new", f.Content)
	f, err = x.Update(t.Context(), identity.Fact{ID: "a", Content: "mine"})
	require.NoError(t, err)
	ahead := now.at.Add(time.Hour).Format(time.RFC3339)
	for range 2 {
		_, _, err = x.Import(t.Context(), doc(`"facts":[`+fact("theirs", ahead)+`]`))
		require.NoError(t, err)
		f, err = x.Update(t.Context(), identity.Fact{ID: "a", Content: "mine"})
		require.NoError(t, err)
	}
	_, _, err = x.Import(t.Context(), doc(`"facts":[`+fact("theirs", ahead)+`]`))
	require.NoError(t, err)
	f, err = x.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "mine", f.Content, "a change is later than what it changes")
	_, err = x.Observe(t.Context(), identity.Event{Topic: "x", At: time.Date(20_000, 1, 1, 0, 0, 0, 0, time.UTC)})
	require.ErrorIs(t, err, store.ErrInvalid, "a time that cannot be read again")
}

func TestNoSecretIsKept(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	x, _ := open(t, st)
	const token = "ghp_a1B2c3a1B2c3a1B2c3a1B2c3a1B2c3a1B2c3"
	require.NoError(t, x.SetProfile(t.Context(), identity.Profile{Name: token, Role: token, ExcludedDomains: []string{token}}))
	_, _, err := x.Import(t.Context(), []byte(`{"version":"2.0.0","userId":"`+token+`","theme":{"`+token+`":["`+token+`"]}}`))
	require.NoError(t, err)
	f, err := x.Add(t.Context(), identity.Fact{Content: "has " + token, Source: token, SourceRef: token})
	require.NoError(t, err)
	_, err = x.Validate(t.Context(), f.ID, token)
	require.NoError(t, err)
	_, err = x.Observe(t.Context(), identity.Event{Kind: token, Address: token, Topic: token, Text: token, Dwell: time.Hour}, identity.Event{Topic: token, Dwell: time.Hour})
	require.NoError(t, err)
	_, err = x.Infer(t.Context(), 0)
	require.NoError(t, err)
	_, _, err = x.Import(t.Context(), []byte(strings.ReplaceAll(v1, "Lisbon", token)))
	require.NoError(t, err)
	require.NoError(t, x.Reject(t.Context(), f.ID, token))
	_, err = x.Export(t.Context())
	require.NoError(t, err)
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		require.NotContains(t, string(e.Value), token, e.Key)
	}
}

// Many topics beside many facts are compared in less than a second: word by word it would be minutes.
func TestManyTopics(t *testing.T) {
	t.Parallel()
	x, now := open(t, store.NewMem())
	var facts []string
	for i := range 2000 {
		facts = append(facts, fmt.Sprintf(`{"id":"%d","category":"focus","content":"reads a %s","confidence":1,"lastValidated":%q,"maturity":"proven",
			"source":"manual","createdAt":%[3]q,"updatedAt":%[3]q}`, i, strings.Repeat("very long ", 100), start.Format(time.RFC3339)))
	}
	_, _, err := x.Import(t.Context(), []byte(`{"version":"2.0.0","facts":[`+strings.Join(facts, ",")+`]}`))
	require.NoError(t, err)
	var events []identity.Event
	for i := range 240 {
		events = append(events, identity.Event{Topic: fmt.Sprint("subject ", i), At: start.Add(time.Duration(i/80) * day), Dwell: time.Hour})
	}
	_, err = x.Observe(t.Context(), events...)
	require.NoError(t, err)
	now.at = start.Add(3 * day)
	found, err := x.Infer(t.Context(), math.MaxInt)
	require.NoError(t, err)
	require.Len(t, found, 5)
}

// Two processes on one store lose no change, and a scope is no other whose name begins alike.
// leaver is a Store whose caller goes away right after a commit, and which reads nothing for who has gone.
type leaver struct {
	store.Store
	leave context.CancelFunc
}

func (s leaver) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	defer s.leave()
	return s.Store.Commit(ctx, ops...)
}

func (s leaver) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := ctx.Err(); err != nil {
		return store.Entry{}, err
	}
	return s.Store.Get(ctx, key)
}

// Who goes away once a fact is kept is told that it is, so that nobody adds it again.
func TestCallerLeaves(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	x, _ := open(t, leaver{store.NewMem(), cancel})
	f, err := x.Add(ctx, identity.Fact{Content: "likes tea"})
	require.NoError(t, err)
	require.Equal(t, 1, f.ValidationCount)
	require.ErrorIs(t, ctx.Err(), context.Canceled)
}

func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	first, _ := open(t, st)
	second, _ := open(t, st)
	f, err := first.Add(t.Context(), identity.Fact{Content: "likes tea"})
	require.NoError(t, err)
	var both sync.WaitGroup
	for _, x := range []*identity.Identity{first, second} {
		both.Go(func() {
			for range 50 {
				_, err := x.Validate(t.Context(), f.ID, "")
				assert.NoError(t, err)
				_, err = x.Observe(t.Context(), identity.Event{Topic: "tea"})
				assert.NoError(t, err)
			}
		})
	}
	both.Wait()
	f, err = second.Get(t.Context(), f.ID)
	require.NoError(t, err)
	require.Equal(t, 101, f.ValidationCount)
	events, err := first.Recent(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, events, 100)
	for _, scope := range []store.Scope{"acme/ann", "acme/anna/x", "acme", "acme/anna2"} {
		x, err := identity.New(store.NewGroup(st), scope, nil)
		require.NoError(t, err)
		facts, err := x.List(t.Context())
		require.NoError(t, err)
		require.Empty(t, facts, scope)
	}
}

// model is what an Identity is expected to hold: facts by id, and what was rejected, by words.
type model struct {
	facts   map[string]identity.Fact
	blocked map[string]bool
}

// Random calls do what a map does, and a document has all that another Identity needs to be the same.
func TestAgainstAModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		st := store.NewMem()
		x, now := open(t, st)
		m := model{map[string]identity.Fact{}, map[string]bool{}}
		contents := rapid.SampledFrom([]string{"knows Go", "Knows  go.", "likes tea", "builds kites"})
		ctx := t.Context()
		id := func() string {
			return rapid.SampledFrom(append(slices.Sorted(maps.Keys(m.facts)), "none")).Draw(t, "id")
		}
		key := func(s string) string {
			return strings.Join(strings.Fields(strings.ToLower(strings.TrimSuffix(s, "."))), " ")
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				facts, err := x.List(ctx)
				require.NoError(t, err)
				require.Len(t, facts, len(m.facts))
				for _, f := range facts {
					want := m.facts[f.ID]
					require.Equal(t, []any{want.Content, want.ValidationCount}, []any{f.Content, f.ValidationCount})
					days := now.at.Sub(want.LastValidated).Hours() / 24
					require.InDelta(t, want.Confidence*math.Exp2(-days/60), f.Confidence, 1e-9)
				}
			},
			"wait": func(t *rapid.T) { now.at = now.at.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "days")) * day) },
			"add": func(t *rapid.T) {
				c := contents.Draw(t, "content")
				source := rapid.SampledFrom([]string{identity.Manual, identity.Conversation}).Draw(t, "source")
				f, err := x.Add(ctx, identity.Fact{Content: c, Source: source})
				if m.blocked[key(c)] && source != identity.Manual {
					require.ErrorIs(t, err, identity.ErrRejected)
					return
				}
				require.NoError(t, err)
				delete(m.blocked, key(c))
				if was, ok := m.facts[f.ID]; ok && source == identity.Manual {
					require.Equal(t, was.ValidationCount+1, f.ValidationCount)
				} else if ok {
					require.Equal(t, was.ValidationCount, f.ValidationCount)
					return
				}
				m.facts[f.ID] = f
			},
			"validate": func(t *rapid.T) {
				id := id()
				f, err := x.Validate(ctx, id, "")
				if was, ok := m.facts[id]; ok {
					require.NoError(t, err)
					require.InDelta(t, min(1, was.Confidence+.2), f.Confidence, 1e-9)
					require.Equal(t, was.ValidationCount+1, f.ValidationCount)
					m.facts[id] = f
				} else {
					require.ErrorIs(t, err, store.ErrNotFound)
				}
			},
			"reject": func(t *rapid.T) {
				id := id()
				if err := x.Reject(ctx, id, ""); id == "none" {
					require.ErrorIs(t, err, store.ErrNotFound)
				} else {
					require.NoError(t, err)
					m.blocked[key(m.facts[id].Content)] = true
					delete(m.facts, id)
				}
			},
			"maintain": func(t *rapid.T) {
				_, err := x.Maintain(ctx)
				require.NoError(t, err)
				again, err := x.Maintain(ctx)
				require.NoError(t, err)
				require.Zero(t, again)
			},
			"reopen": func(t *rapid.T) {
				at := now.at
				x, now = open(t, st)
				now.at = at
			},
			"move": func(t *rapid.T) {
				out, err := x.Export(ctx)
				require.NoError(t, err)
				other, c := open(t, store.NewMem())
				c.at = now.at
				taken, _, err := other.Import(ctx, out)
				require.NoError(t, err)
				require.Equal(t, len(m.facts), taken)
				same, err := other.Export(ctx)
				require.NoError(t, err)
				require.Equal(t, string(out), string(same))
			},
		})
	})
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(v1))
	f.Add([]byte(`{"version":"2.0.0","facts":[{"id":"a"}],"settings":{"decayHalfLifeDays":-1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, _ := open(t, store.NewMem())
		if _, _, err := x.Import(t.Context(), data); err == nil {
			_, err := x.Export(t.Context())
			require.NoError(t, err)
		}
	})
}
