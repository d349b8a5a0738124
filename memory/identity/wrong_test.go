package identity_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/store"
)

// What is dated in the future has not happened, and a host that is excluded since says
// nothing any more: not in the ring, nor in the counts of a day.
func TestInferLeavesOut(t *testing.T) {
	for _, later := range []time.Duration{0, days(31)} {
		x, c := fresh(t)
		for i := range 3 {
			_, err := x.Observe(t.Context(),
				identity.Event{Address: "go.dev"},
				identity.Event{Topic: fmt.Sprint("secret ", i), Address: "my.bank.example"},
				identity.Event{Topic: "sailing", At: start.AddDate(1, 0, 0)},
				identity.Event{Topic: "a private thing", Address: "bank.example"})
			require.NoError(t, err)
		}
		if c.add(later); later > 0 {
			_, err := x.Maintain(t.Context())
			require.NoError(t, err)
		}
		_, err := x.UpdateProfile(t.Context(), func(p *identity.Profile) error {
			p.Settings.ExcludedDomains = []string{"bank.example"}
			return nil
		})
		require.NoError(t, err)
		got, err := x.Infer(t.Context(), later+days(2))
		require.NoError(t, err)
		require.Len(t, got, 1)
		require.Equal(t, "Go", got[0].Topic)
	}
}

// Who says again, and in private, what is known keeps it private from then on.
func TestAddNarrows(t *testing.T) {
	x, _ := fresh(t)
	f := add(t, x, identity.Draft{Content: "salary is 90k"})
	g := add(t, x, identity.Draft{Content: "salary is 90k", Visibility: identity.Local})
	require.Equal(t, f.ID, g.ID)
	require.Equal(t, identity.Local, g.Visibility)
	require.Equal(t, identity.Local, add(t, x, identity.Draft{Content: "salary is 90k", Visibility: identity.Public}).Visibility)
}

// A slot can take a former value again: both times stay readable.
func TestFormerValueAgain(t *testing.T) {
	x, c := fresh(t)
	city := func(name string, years int, source identity.Source) identity.Fact {
		c.add(time.Hour)
		return add(t, x, identity.Draft{
			Content: "lives in " + name, Subject: "me", Slot: "city", At: start.AddDate(years, 0, 0), Source: source,
		})
	}
	ask := func(x *identity.Identity, years int) string {
		views, err := x.List(t.Context(), identity.Filter{Subject: "me", Slot: "city", At: start.AddDate(years, 0, 1)})
		require.NoError(t, err)
		return views[0].Content
	}
	first := city("Oslo", -9, identity.Manual)
	city("Bergen", -5, identity.Manual)
	require.Equal(t, first.ID, city("Oslo", -8, identity.Manual).ID, "it answered then")
	again := city("Oslo", -2, identity.Manual)
	require.NotEqual(t, first.ID, again.ID)
	require.Equal(t, again, city("Oslo", -1, identity.Manual), "it answers by now")
	y, _ := fresh(t)
	for range 2 {
		_, err := y.Import(t.Context(), []byte(exported(t, x, identity.Local)))
		require.NoError(t, err)
	}
	for _, x := range []*identity.Identity{x, y} {
		for years, want := range map[int]string{-9: "lives in Oslo", -4: "lives in Bergen", 0: "lives in Oslo"} {
			require.Equal(t, want, ask(x, years))
		}
		require.Len(t, contents(t, x), 3)
	}
	guess := city("Bergen", 0, identity.Conversation)
	require.Equal(t, guess.ID, city("Bergen", 0, identity.Conversation).ID, "a guess is one, however often it is made")
	require.Equal(t, "lives in Oslo", ask(x, 0), "and replaces nothing")
}

// What answers a slot again, and was said without a slot before, still answers after an import.
func TestSaidAgainAfterWithoutASlot(t *testing.T) {
	x, c := fresh(t)
	add(t, x, identity.Draft{Content: "works at Acme"})
	for _, s := range []string{"works at Globex", "works at Acme"} {
		c.add(time.Hour)
		add(t, x, identity.Draft{Content: s, Subject: "me", Slot: "employer"})
	}
	before := exported(t, x, identity.Local)
	imported(t, x, `{"version":"2"}`)
	require.Equal(t, before, exported(t, x, identity.Local))
	views, err := x.List(t.Context(), identity.Filter{Subject: "me", Slot: "employer"})
	require.NoError(t, err)
	require.Equal(t, "works at Acme", views[0].Content)
}

// A clock that is behind takes nothing back.
func TestClockBehind(t *testing.T) {
	x, c := fresh(t)
	f := add(t, x, identity.Draft{Content: "Go", Source: identity.Conversation, Confidence: 0.9})
	c.add(-days(300))
	g, err := x.Validate(t.Context(), f.ID, identity.Validation{})
	require.NoError(t, err)
	require.GreaterOrEqual(t, g.Effective(start, 0), f.Effective(start, 0))
	require.False(t, g.Updated.Before(f.Updated), "or a merge keeps the state of before")
	require.False(t, add(t, x, identity.Draft{Content: "Go"}).Updated.Before(f.Updated))
}

// Counts that no days have do not spoil those of a day, and what cannot be stored is refused
// as a whole.
func TestImportOfExcess(t *testing.T) {
	x, c := fresh(t)
	doc := `{"version":"2.0.0","rollups":[{"day":"2026-03-01","counts":[` +
		`{"type":"event","topic":"tea","n":9000000000000000000,"more":1e308},{"type":"event","topic":"tea","n":9000000000000000000,"more":1e308}]}]}`
	_, err := x.Import(t.Context(), []byte(doc))
	require.NoError(t, err)
	_, err = x.Observe(t.Context(), identity.Event{Topic: "tea", Dwell: time.Minute})
	require.NoError(t, err)
	got, err := x.Infer(t.Context(), days(2))
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Positive(t, got[0].Count)
	c.add(days(31))
	u, err := x.Maintain(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, u.RolledUp)

	reason := strings.Repeat("x", memory.MaxRecord)
	_, err = x.Import(t.Context(), []byte(`{"version":"2.0.0","facts":["Go"],"blocked":[{"content":"PHP","reasons":["`+reason+`"]}]}`))
	require.Error(t, err)
	require.Empty(t, contents(t, x), "nothing is stored")
}

// An imported event that is older than the one of its mark takes the place of it, also where
// that is about to be rolled up.
func TestImportIntoAFullRing(t *testing.T) {
	x, _ := fresh(t)
	var events []identity.Event
	for i := range 1000 {
		events = append(events, identity.Event{Topic: "tea", Key: fmt.Sprint(i), At: start.Add(time.Duration(i) * time.Second)})
	}
	_, err := x.Observe(t.Context(), events...)
	require.NoError(t, err)
	r, err := x.Import(t.Context(), []byte(`{"version":"2.0.0","events":[{"topic":"tea","key":"0","timestamp":"2026-02-27"},{"topic":"chess","key":"new"}]}`))
	require.NoError(t, err)
	require.Equal(t, 1, r.Events)
}

// However often a fact is worded anew, it can be changed again.
func TestManyWordings(t *testing.T) {
	x, c := fresh(t)
	f := add(t, x, identity.Draft{Content: "a"})
	for i := range 40 {
		c.add(time.Second)
		var err error
		f, err = x.Update(t.Context(), f.ID, identity.Edit{Content: fmt.Sprint(i) + strings.Repeat("y", memory.MaxText-10)})
		require.NoError(t, err)
	}
	require.NotEmpty(t, f.Past)
}

// Texts that take more room in JSON than they have bytes count as what they take.
func TestManyQuotedWordings(t *testing.T) {
	x, c := fresh(t)
	f := add(t, x, identity.Draft{Content: "a"})
	for i := range 12 {
		c.add(time.Second)
		text := fmt.Sprint(i) + strings.Repeat("\"", memory.MaxText-10)
		var err error
		f, err = x.Update(t.Context(), f.ID, identity.Edit{Content: text})
		require.NoError(t, err)
		f, err = x.Validate(t.Context(), f.ID, identity.Validation{Reason: text})
		require.NoError(t, err)
	}
	require.NotEmpty(t, f.Past)
	require.NotEmpty(t, f.Evidence)
}

// imported imports a document, which has to be one.
func imported(t *testing.T, x *identity.Identity, doc string) identity.ImportReport {
	t.Helper()
	r, err := x.Import(t.Context(), []byte(doc))
	require.NoError(t, err, doc)
	return r
}

// A date that no record can hold is damaged like any other: it refuses no document, empties no
// rejection, and what goes out comes in again.
func TestImportOddYears(t *testing.T) {
	for _, at := range []string{"9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00+01:00", "0000-01-01T00:00:00Z"} {
		for _, part := range []string{
			`"blocked":[{"content":"PHP","at":"` + at + `"}]`, `"facts":[{"content":"Go","createdAt":"` + at + `"}]`,
			`"facts":[{"content":"Go","heldSince":"` + at + `"}]`, `"events":[{"text":"Go","timestamp":"` + at + `"}]`,
			`"core":{"name":"Ann","updatedAt":"` + at + `"}`,
			`"facts":[{"content":"Go","evidence":[{"at":"` + at + `"}],"past":[{"content":"x","until":"` + at + `"}]}]`,
		} {
			x, _ := fresh(t)
			imported(t, x, `{"version":"2",`+part+`}`)
			before := exported(t, x, identity.Local)
			y, _ := fresh(t)
			imported(t, y, before)
			require.Equal(t, before, exported(t, y, identity.Local), part)
			refused, err := x.Rejections(t.Context())
			require.NoError(t, err)
			for _, r := range refused {
				require.Equal(t, "PHP", r.Content)
				require.Equal(t, start, r.At)
			}
		}
	}
}

// What a document dates in the future does not outlive what was said since.
func TestImportFromTheFuture(t *testing.T) {
	x, c := fresh(t)
	later := strings.TrimSuffix(strings.Repeat(`{"at":"2999-01-01T00:00:00Z","reason":"r"},`, 16), ",")
	doc := `{"version":"2","core":{"name":"Mallory","updatedAt":"2999-01-01"},"blocked":[{"content":"PHP","at":"2999-01-01"}],` +
		`"facts":[{"id":"a","content":"Go","evidence":[` + later + `],"past":[{"content":"C","until":"2999-01-01T00:00:00Z"}]}]}`
	imported(t, x, doc)
	c.add(time.Hour)
	_, err := x.UpdateProfile(t.Context(), func(p *identity.Profile) error { p.Name = "Ann"; return nil })
	require.NoError(t, err)
	for range 2 {
		_, err := x.Validate(t.Context(), "a", identity.Validation{Key: "k"})
		require.NoError(t, err)
	}
	imported(t, x, doc)
	p, err := x.Profile(t.Context())
	require.NoError(t, err)
	require.Equal(t, "Ann", p.Name)
	f, err := x.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, 1, f.Validations, "a key counts once")
	require.Len(t, f.Evidence, 1)
	require.Empty(t, f.Past)
	require.Contains(t, string(f.Damaged["evidence"]), "2999", "and is kept as it came")
	views, err := x.List(t.Context(), identity.Filter{Known: c.now()})
	require.NoError(t, err)
	require.Equal(t, "Go", views[0].Content)
	refused, err := x.Rejections(t.Context())
	require.NoError(t, err)
	require.Equal(t, start, refused[0].At)
}

// A fact that was rejected by a clock that is ahead is rejected, and not in use until that time.
func TestImportRejectedInTheFuture(t *testing.T) {
	x, _ := fresh(t)
	const doc = `{"version":"2","facts":[{"id":"a","content":"plays golf","updatedAt":"2026-03-01T10:00:00Z",
		"restoredAt":"2026-03-01T12:00:00Z","rejectedAt":"2026-03-01T12:00:01Z"}]}`
	imported(t, x, doc)
	imported(t, x, doc)
	f, err := x.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, start, f.Rejected)
	p, err := x.Project(t.Context(), "golf", identity.Budget{})
	require.NoError(t, err)
	require.Empty(t, p.Text)
	_, err = x.Validate(t.Context(), "a", identity.Validation{})
	require.ErrorIs(t, err, identity.ErrRejected)
}

// A rejection that has more than can be read is one, and is kept as it came as well.
func TestImportRejectionsWithMore(t *testing.T) {
	x, _ := fresh(t)
	r := imported(t, x, `{"version":"2","blocked":[{"content":"PHP","reason":"never did"},{"content":"C","reasons":7},{"content":"\u200b"},"Ada"]}`)
	require.Equal(t, 3, r.Unreadable)
	refused, err := x.Rejections(t.Context())
	require.NoError(t, err)
	require.Len(t, refused, 3)
	require.Contains(t, exported(t, x, identity.Local), "never did")
}

// Ids of events that differ are two, whatever they end with.
func TestImportEventsByID(t *testing.T) {
	x, _ := fresh(t)
	r := imported(t, x, `{"version":"2","events":[{"id":"a","text":"x"},{"id":"a:","text":"y"}]}`)
	require.Equal(t, 2, r.Events)
	require.Zero(t, imported(t, x, exported(t, x, identity.Local)).Events)
}

// The host of an address is read before addresses of persons are taken out of it.
func TestImportOfAnExcludedDomain(t *testing.T) {
	x, _ := fresh(t)
	_, err := x.UpdateProfile(t.Context(), func(p *identity.Profile) error {
		p.Settings.ExcludedDomains = []string{"bank.com"}
		return nil
	})
	require.NoError(t, err)
	r := imported(t, x, `{"version":"2","events":[{"url":"https://ann@bank.com/x","topic":"a"},{"url":"https://ann:secret123@bank.com/x","topic":"b"},`+
		`{"url":"https://mail.bank.com/?to=ann@x.com","topic":"c"}]}`)
	require.Zero(t, r.Events)
	require.NotContains(t, exported(t, x, identity.Local), "topic")
}

// What of an event could not be read, or is not known, is kept as it came.
func TestImportOddEvents(t *testing.T) {
	x, _ := fresh(t)
	imported(t, x, `{"version":"2","events":[{"id":"a","text":"x","dwell":42000,"timestamp":"never","category":"\n","dwellSeconds":"long"}]}`)
	before := exported(t, x, identity.Local)
	for _, kept := range []string{`"dwell": 42000`, `"damaged.timestamp": "never"`, `"damaged.category": "\n"`, `"damaged.dwellSeconds": "long"`} {
		require.Contains(t, before, kept)
	}
	y, _ := fresh(t)
	imported(t, y, before)
	require.Equal(t, before, exported(t, y, identity.Local))
}

// Of two events of one key and time both identities keep the same.
func TestImportEventsOfOneKey(t *testing.T) {
	var docs []string
	var all []*identity.Identity
	for _, text := range []string{"x", "y"} {
		x, _ := fresh(t)
		_, err := x.Observe(t.Context(), identity.Event{Key: "k", Text: text})
		require.NoError(t, err)
		all, docs = append(all, x), append(docs, exported(t, x, identity.Local))
	}
	imported(t, all[0], docs[1])
	imported(t, all[1], docs[0])
	require.Equal(t, exported(t, all[0], identity.Local), exported(t, all[1], identity.Local))
}

// A topic that does not show, and counts that no event has, are about nothing: Infer suggests
// what can be added.
func TestInferOfNothing(t *testing.T) {
	x, _ := fresh(t)
	_, err := x.UpdateProfile(t.Context(), func(p *identity.Profile) error { p.Settings.AutoInfer = true; return nil })
	require.NoError(t, err)
	_, err = x.Observe(t.Context(), identity.Event{Topic: "\u200b"})
	require.ErrorIs(t, err, memory.ErrEmpty)
	for range 4 {
		_, err = x.Observe(t.Context(), identity.Event{Topic: "\u200b", Address: "go.dev"})
		require.NoError(t, err)
	}
	for _, c := range []string{`"topic":"tea","category":"\n"`, `"topic":"\u200b"`, `"topic":"tea","host":"a\nb"`, `"topic":"tea","type":"\n"`} {
		r := imported(t, x, `{"version":"2","rollups":[{"day":"2026-02-28","counts":[{"n":9,`+c+`}]}]}`)
		require.Equal(t, 1, r.Unreadable, c)
	}
	u, err := x.Maintain(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, u.Inferred)
	require.Equal(t, []string{"Go development"}, contents(t, x))
}

// A profile that has become too large refuses a document as a whole.
func TestImportOfALargeProfile(t *testing.T) {
	long := func(name string, kib int) string { return `"` + name + `":"` + strings.Repeat("x", kib<<10) + `"` }
	var limit *store.LimitError
	for _, doc := range []string{`{"version":"2","facts":["Go"],` + long("a", 600) + `}`, `{"expertise":["Go"],` + long("a", 600) + `}`} {
		x, _ := fresh(t)
		_, err := x.Import(t.Context(), []byte(doc))
		require.ErrorAs(t, err, &limit)
		require.Empty(t, contents(t, x))
	}
	x, _ := fresh(t)
	imported(t, x, `{"version":"2","facts":["Go"],`+long("a", 300)+`}`)
	_, err := x.Import(t.Context(), []byte(`{"version":"2","facts":["Rust"],`+long("b", 300)+`}`))
	require.ErrorAs(t, err, &limit)
	require.Equal(t, []string{"Go"}, contents(t, x))
}

// Settings go out and come in as they are: any half-life, and the domains in one order.
func TestSettingsGoOutAndIn(t *testing.T) {
	x, _ := fresh(t)
	p, err := x.UpdateProfile(t.Context(), func(p *identity.Profile) error {
		p.Settings.ExcludedDomains = []string{"b.example", "a.example", "b.example"}
		p.Settings.HalfLife = 1500 * time.Millisecond
		p.Settings.HalfLives = map[identity.Category]time.Duration{identity.Core: days(73000), identity.Focus: 0}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"a.example", "b.example"}, p.Settings.ExcludedDomains)
	require.Len(t, p.Settings.HalfLives, 1, "0 is none")
	before := exported(t, x, identity.Local)
	y, _ := fresh(t)
	for _, x := range []*identity.Identity{x, y} {
		imported(t, x, before)
		require.Equal(t, before, exported(t, x, identity.Local))
		got, err := x.Profile(t.Context())
		require.NoError(t, err)
		require.Equal(t, p.Settings, got.Settings)
		require.Empty(t, got.Extra)
	}
}

// A half-life that cannot be is kept as it came, and none is made of it.
func TestImportOddSettings(t *testing.T) {
	x, _ := fresh(t)
	imported(t, x, `{"version":"2","settings":{"categoryHalfLifeDays":{"core":1e-12,"focus":1e9,"x":-1,"\n":3},"excludedDomains":["bank.example"," ",7,null]}}`)
	p, err := x.Profile(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[identity.Category]time.Duration{"focus": days(106751)}, p.Settings.HalfLives, "the longest")
	require.Equal(t, []string{"bank.example"}, p.Settings.ExcludedDomains)
	require.Contains(t, string(p.Extra["settings"]), "1e-12")
	require.Contains(t, string(p.Extra["settings"]), "null")
	before := exported(t, x, identity.Local)
	y, _ := fresh(t)
	imported(t, y, before)
	require.Equal(t, before, exported(t, y, identity.Local))
}

// A fact that a document calls rejected is refused like one that was rejected here.
func TestRejectedByADocument(t *testing.T) {
	x, _ := fresh(t)
	imported(t, x, `{"version":"2","facts":[{"id":"a","content":"Go development","category":"expertise","rejectedAt":"2026-01-01"}]}`)
	_, err := x.Add(t.Context(), identity.Draft{Content: "Go development", Source: identity.Inferred, Category: identity.Expertise})
	require.ErrorIs(t, err, identity.ErrRejected)
	visit(t, x, "go.dev", 5)
	got, err := x.Infer(t.Context(), 0)
	require.NoError(t, err)
	require.Empty(t, got)
	f, err := x.Get(t.Context(), "a")
	require.NoError(t, err)
	require.False(t, f.Rejected.IsZero())
}

// What is taken back is so in all of its words: the topic of a suggestion, and wordings since.
func TestTakenBackAsAWhole(t *testing.T) {
	for _, back := range []func(*identity.Identity, identity.Fact) error{
		func(x *identity.Identity, f identity.Fact) error {
			_, err := x.Archive(tContext, f.ID, false)
			return err
		},
		func(x *identity.Identity, f identity.Fact) error {
			_, err := x.Add(tContext, identity.Draft{Content: f.Content, Category: f.Category})
			return err
		},
	} {
		x, c := fresh(t)
		visit(t, x, "react.dev", 3)
		got, err := x.Infer(t.Context(), 0)
		require.NoError(t, err)
		suggested, err := x.Reject(t.Context(), got[0].ID, "no")
		require.NoError(t, err)
		said := add(t, x, identity.Draft{Content: "Go"})
		_, err = x.Reject(t.Context(), said.ID, "")
		require.NoError(t, err)
		for _, text := range []string{"Golang", "GO!", "Golang."} {
			c.add(time.Hour)
			said, err = x.Update(t.Context(), said.ID, identity.Edit{Content: text})
			require.NoError(t, err)
		}
		refused, err := x.Rejections(t.Context())
		require.NoError(t, err)
		require.Len(t, refused, 3)
		require.NoError(t, back(x, suggested))
		require.NoError(t, back(x, said))
		refused, err = x.Rejections(t.Context())
		require.NoError(t, err)
		require.Empty(t, refused)
	}
}

// What is said again by hand can lose its maturity again.
func TestSaidAgainFadesAgain(t *testing.T) {
	x, c := fresh(t)
	f := add(t, x, identity.Draft{Content: "Go"})
	for range 2 {
		c.add(days(110))
		u, err := x.Maintain(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, u.Demoted)
		g := add(t, x, identity.Draft{Content: "Go"})
		require.Equal(t, f.ID, g.ID)
		require.Equal(t, identity.Established, g.Maturity)
		require.Zero(t, g.Demoted)
	}
}

// An event that takes more room in JSON than it has bytes is refused before one of its group
// is stored.
func TestObserveWhatIsTooLarge(t *testing.T) {
	x, _ := fresh(t)
	var limit *store.LimitError
	_, err := x.Observe(t.Context(), identity.Event{Topic: "tea", At: start.Add(-time.Hour)},
		identity.Event{Text: "x" + strings.Repeat("\x01", memory.MaxText-1)})
	require.ErrorAs(t, err, &limit)
	require.Equal(t, "event", limit.Field)
	r := imported(t, x, `{"version":"2","facts":["Go"],"events":[{"text":"`+strings.Repeat("<", memory.MaxText*3/4)+`"}]}`)
	require.Equal(t, 1, r.Events, "what fits is kept")
}

// A commit takes 1 MiB, however many long facts there are, and events of days with many topics.
func TestLongFactsAndManyTopics(t *testing.T) {
	x, _ := fresh(t)
	var facts []string
	for i := range 60 {
		facts = append(facts, fmt.Sprintf(`{"content":"%d %s"}`, i, strings.Repeat("word ", 6000)))
	}
	r := imported(t, x, `{"version":"2","facts":[`+strings.Join(facts, ",")+`],"theme":"`+strings.Repeat("x", 400<<10)+`"}`)
	require.Equal(t, 60, r.Added)
	require.Len(t, contents(t, x), 60)
	require.Equal(t, 60, imported(t, x, exported(t, x, identity.Local)).Kept)

	x, c := fresh(t)
	var events []identity.Event
	for i := range 16 {
		var counts []string
		for n := range 80 {
			counts = append(counts, fmt.Sprintf(`{"topic":"%d %s","host":"%s.example","n":1}`, n, strings.Repeat("y", 240), strings.Repeat("z", 200)))
		}
		at := start.AddDate(0, 0, -i)
		imported(t, x, `{"version":"2","rollups":[{"day":"`+at.Format(time.DateOnly)+`","counts":[`+strings.Join(counts, ",")+`]}]}`)
		for range 60 {
			events = append(events, identity.Event{Topic: "tea", Text: strings.Repeat("x", 4<<10), At: at})
		}
	}
	n, err := x.Observe(t.Context(), events...)
	require.NoError(t, err)
	require.Len(t, events, n)
	c.add(days(50))
	u, err := x.Maintain(t.Context())
	require.NoError(t, err)
	require.Equal(t, n, u.RolledUp)
	c.add(days(50))
	u, err = x.Maintain(t.Context()) // forgets the marks of all days
	require.NoError(t, err)
	require.Zero(t, u.RolledUp)
}

// Statements of scripts that write without spaces, or with marks of their own, are the same with and without these.
func TestMarksOfOtherScripts(t *testing.T) {
	x, _ := fresh(t)
	f := add(t, x, identity.Draft{Content: "喜欢喝茶", Category: identity.Preference})
	require.Equal(t, f.ID, add(t, x, identity.Draft{Content: "喜欢喝茶。", Category: identity.Preference}).ID)
	_, err := x.Reject(t.Context(), f.ID, "不再喝了")
	require.NoError(t, err)
	for _, again := range []string{"喜欢喝茶！", "「喜欢喝茶」", "喜欢喝茶，每天"} {
		_, err = x.Add(t.Context(), identity.Draft{Content: again, Source: identity.Conversation})
		require.ErrorIs(t, err, identity.ErrRejected, again)
	}
	add(t, x, identity.Draft{Content: "喜欢喝茶馆的汤", Source: identity.Conversation})
	require.NotEqual(t, add(t, x, identity.Draft{Content: "keeps to 30"}).ID, add(t, x, identity.Draft{Content: "keeps to > 30"}).ID)
}

// What selects facts is refused if it is none, instead of selecting all or nothing.
func TestUnknownSelections(t *testing.T) {
	x, _ := fresh(t)
	add(t, x, identity.Draft{Content: "lives in Bonn"})
	for _, f := range []identity.Filter{{Maturity: "ripe"}, {Visibility: "secret"}} {
		_, err := x.List(t.Context(), f)
		require.ErrorIs(t, err, identity.ErrValue)
		_, err = x.Due(t.Context(), f)
		require.ErrorIs(t, err, identity.ErrValue)
	}
	_, err := x.Project(t.Context(), "", identity.Budget{Confidence: math.NaN()})
	require.ErrorIs(t, err, identity.ErrValue)
}
