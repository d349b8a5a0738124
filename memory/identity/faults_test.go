package identity_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/memory/identity/internal/wording"
	"github.com/arc-learn/arc/store"
)

// Whatever the store answers, whenever the process ends and however the clock is set, each
// person's facts stay with them, none is lost, and each changes by the rules alone.
func TestIdentitiesInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := &people{
			st: arctest.NewStore(store.NewMem()), c: &clock{t: start}, latest: start,
			docs: []string{`{"version":"2"}`}, was: map[memory.Scope]person{},
		}
		x.reopen(t)
		defer func() { require.NoError(t, x.bank.Close()) }()
		t.Repeat(map[string]func(*rapid.T){
			"add": x.add, "add again": x.add, "validate": x.validate, "reject": x.reject, "archive": x.archive, "restore": x.restore,
			"update": x.update, "observe": x.observe, "maintain": x.maintain, "infer": x.infer, "profile": x.profile, "time": x.time,
			"export": x.export, "import": x.importOne, "merge": x.merge, "reopen": x.reopen, "project": x.project, "": x.check,
		})
	})
}

// people are several identities over one store that fails now and then.
type people struct {
	st     *arctest.Store
	bank   *memory.Bank
	c      *clock
	latest time.Time // that the clock has shown
	seed   uint64
	docs   []string // of any of them, of any time
	was    map[memory.Scope]person
	// What was done since the last check: to whom, with which fact, and what.
	who memory.Scope
	id  identity.ID
	op  string
}

// person is how an identity stood at the last check.
type person struct {
	doc   string
	facts map[identity.ID]identity.Fact
}

var persons = []memory.Scope{"acme", "acme/ann", "zeta/ann"}

// spelled are texts, some in other spellings too.
var spelled = []string{
	"Go", "go!", " GO ", "likes tea", "Likes «tea».", "drinks a cafe\u0301", "Drinks a caf\u00e9", "works at Acme", "Go development",
}

func (x *people) of(who memory.Scope) *identity.Identity {
	x.seed++ // no two draw the same ids
	i, err := identity.New(x.bank, who, &identity.Options{Now: x.c.now, Seed: x.seed})
	if err != nil {
		panic(err)
	}
	return i
}

// anybody draws whom something is done to.
func (x *people) anybody(t *rapid.T, op string) *identity.Identity {
	x.who, x.op, x.id = rapid.SampledFrom(persons).Draw(t, "who"), op, ""
	return x.of(x.who)
}

// anything draws a fact of somebody.
func (x *people) anything(t *rapid.T, op string) {
	views, err := x.anybody(t, op).List(tContext, identity.Filter{Archived: true})
	require.NoError(t, err)
	if len(views) == 0 {
		t.Skip("no fact")
	}
	x.id = rapid.SampledFrom(views).Draw(t, "fact").ID
}

// try makes a call while the store perhaps fails, and then again while it does not.
func (x *people) try(t *rapid.T, call func(*identity.Identity) error, allowed ...error) {
	if rapid.IntRange(0, 2).Draw(t, "fails") == 0 {
		x.st.FailNext(rapid.IntRange(0, 2).Draw(t, "commits"), 1, rapid.Bool().Draw(t, "applied"))
	}
	err := call(x.of(x.who))
	x.st.FailNext(0, 0, false)
	if errors.Is(err, arctest.ErrStore) {
		if rapid.Bool().Draw(t, "reopen") {
			x.reopen(t)
		}
		err = call(x.of(x.who))
	}
	if !slices.ContainsFunc(allowed, func(a error) bool { return errors.Is(err, a) }) {
		require.NoError(t, err)
	}
}

func (x *people) reopen(t *rapid.T) {
	if x.bank != nil {
		require.NoError(t, x.bank.Close())
	}
	var err error
	x.bank, err = memory.Open(tContext, x.st, nil)
	require.NoError(t, err)
}

// refused reports whether somebody has rejected a fact of the same words.
func (x *people) refused(content string) bool {
	for _, f := range x.was[x.who].facts {
		if !f.Rejected.IsZero() && wording.Canonical(f.Content) == wording.Canonical(content) {
			return true
		}
	}
	return false
}

func (x *people) add(t *rapid.T) {
	x.anybody(t, "say")
	d := identity.Draft{
		Content: rapid.SampledFrom(spelled).Draw(t, "text"), Category: rapid.SampledFrom([]identity.Category{"", identity.Core}).Draw(t, "category"),
		Source:   rapid.SampledFrom([]identity.Source{identity.Manual, identity.Conversation, identity.Inferred}).Draw(t, "source"),
		Maturity: rapid.SampledFrom([]identity.Maturity{"", "", identity.Proven}).Draw(t, "maturity"),
	}
	if rapid.IntRange(0, 3).Draw(t, "slotted") == 0 {
		d.Subject, d.Slot = "me", rapid.SampledFrom([]string{"tool", "job"}).Draw(t, "slot")
		d.At = start.Add(time.Duration(rapid.IntRange(-3, 3).Draw(t, "at")) * time.Hour)
	}
	if d.Source != identity.Manual {
		x.op = "suggest"
	}
	x.try(t, func(i *identity.Identity) error {
		f, err := i.Add(tContext, d)
		if x.id = f.ID; err == nil {
			require.False(t, d.Source != identity.Manual && x.refused(d.Content), "%q came back", d.Content)
			require.Equal(t, wording.Canonical(d.Content), wording.Canonical(f.Content))
			require.Zero(t, f.Rejected)
		}
		return err
	}, identity.ErrRejected)
}

func (x *people) validate(t *rapid.T) {
	x.anything(t, "validate")
	v := identity.Validation{Key: rapid.SampledFrom([]string{"", "k", "l"}).Draw(t, "key"), Weak: rapid.Bool().Draw(t, "weak")}
	if v.Weak {
		x.op = "validate weakly"
	}
	x.try(t, func(i *identity.Identity) error { _, err := i.Validate(tContext, x.id, v); return err }, identity.ErrRejected)
}

func (x *people) reject(t *rapid.T) {
	x.anything(t, "reject")
	reason := rapid.SampledFrom([]string{"", "no", "never"}).Draw(t, "reason")
	x.try(t, func(i *identity.Identity) error { _, err := i.Reject(tContext, x.id, reason); return err })
	f, err := x.of(x.who).Get(tContext, x.id)
	require.NoError(t, err)
	require.NotZero(t, f.Rejected)
	for _, s := range spelled {
		if wording.Canonical(s) == wording.Canonical(f.Content) {
			_, err := x.of(x.who).Add(tContext, identity.Draft{Content: s, Source: identity.Conversation, Category: "x"})
			require.ErrorIs(t, err, identity.ErrRejected, s)
		}
	}
}

func (x *people) archive(t *rapid.T) {
	x.anything(t, "archive")
	x.try(t, func(i *identity.Identity) error { _, err := i.Archive(tContext, x.id, true); return err })
}

func (x *people) restore(t *rapid.T) {
	x.anything(t, "restore")
	x.try(t, func(i *identity.Identity) error { _, err := i.Archive(tContext, x.id, false); return err })
	f, err := x.of(x.who).Get(tContext, x.id)
	require.NoError(t, err)
	require.Zero(t, f.Archived)
	require.Zero(t, f.Rejected)
}

func (x *people) update(t *rapid.T) {
	x.anything(t, "update")
	e := identity.Edit{
		Content:    rapid.SampledFrom(spelled).Draw(t, "text"),
		Visibility: rapid.SampledFrom([]identity.Visibility{"", identity.Local, identity.Public}).Draw(t, "visibility"),
	}
	x.try(t, func(i *identity.Identity) error { _, err := i.Update(tContext, x.id, e); return err }, identity.ErrKnown)
}

func (x *people) observe(t *rapid.T) {
	x.anybody(t, "observe")
	var events []identity.Event
	for range rapid.IntRange(1, 5).Draw(t, "n") {
		events = append(events, identity.Event{
			Key: fmt.Sprint(rapid.IntRange(0, 20).Draw(t, "key")), At: x.c.now().AddDate(0, 0, -rapid.IntRange(0, 40).Draw(t, "days")),
			Topic: rapid.SampledFrom([]string{"Go", "tea", "chess"}).Draw(t, "topic"),
		})
	}
	x.try(t, func(i *identity.Identity) error { _, err := i.Observe(tContext, events...); return err })
}

func (x *people) maintain(t *rapid.T) {
	x.anybody(t, "maintain")
	x.try(t, func(i *identity.Identity) error { _, err := i.Maintain(tContext); return err })
	u, err := x.of(x.who).Maintain(tContext)
	require.NoError(t, err)
	require.Zero(t, u.Demoted+u.Archived+u.RolledUp, "once more does nothing")
}

func (x *people) infer(t *rapid.T) {
	x.anybody(t, "infer")
	x.try(t, func(i *identity.Identity) error {
		found, err := i.Infer(tContext, 0)
		for _, s := range found {
			require.False(t, x.refused(s.Draft.Content), "%q came back", s.Draft.Content)
		}
		return err
	})
}

func (x *people) profile(t *rapid.T) {
	x.anybody(t, "profile")
	auto, life := rapid.Bool().Draw(t, "auto"), days(float64(rapid.IntRange(0, 90).Draw(t, "life")))
	x.try(t, func(i *identity.Identity) error {
		_, err := i.UpdateProfile(tContext, func(p *identity.Profile) error {
			p.Settings.AutoInfer, p.Settings.HalfLife = auto, life
			return nil
		})
		return err
	})
}

// time passes, or the clock is put back.
func (x *people) time(t *rapid.T) {
	x.op = ""
	x.c.add(time.Duration(rapid.SampledFrom([]int{1, 1, 24, 24 * 40, 24 * 70, -1, -24 * 50}).Draw(t, "hours")) * time.Hour)
	x.c.add(time.Millisecond) // no time comes twice
	if x.c.now().After(x.latest) {
		x.latest = x.c.now()
	}
}

// onTime skips what needs a clock that nothing lies ahead of: an import takes that for damaged.
func (x *people) onTime(t *rapid.T) {
	if x.c.now().Before(x.latest) {
		t.Skip("the clock was put back")
	}
}

// export keeps a document, which is whole: another identity that takes it in holds the same.
func (x *people) export(t *rapid.T) {
	doc := exported(t, x.anybody(t, ""), identity.Local)
	x.docs = append(x.docs, doc)
	x.onTime(t)
	y := open(t, store.NewMem(), x.c)
	for range 2 {
		_, err := y.Import(tContext, []byte(doc))
		require.NoError(t, err)
		require.Equal(t, canonOf(t, doc), canon(t, y))
	}
	_, err := x.of(x.who).Import(tContext, []byte(doc))
	require.NoError(t, err)
	require.Equal(t, doc, exported(t, x.of(x.who), identity.Local), "its own document says nothing new")
}

func (x *people) importOne(t *rapid.T) {
	x.anybody(t, "import")
	doc := rapid.SampledFrom(x.docs).Draw(t, "document")
	x.try(t, func(i *identity.Identity) error { _, err := i.Import(tContext, []byte(doc)); return err })
}

// merge takes two documents in, in any order, and again.
func (x *people) merge(t *rapid.T) {
	x.onTime(t)
	a, b := rapid.SampledFrom(x.docs).Draw(t, "one"), rapid.SampledFrom(x.docs).Draw(t, "other")
	var merged []string
	for _, docs := range [][]string{{a, b}, {b, a}, {a, b, b, a}} {
		y := open(t, store.NewMem(), x.c)
		for _, d := range docs {
			_, err := y.Import(tContext, []byte(d))
			require.NoError(t, err)
		}
		var d struct { // without events: when they become counts depends on the order
			Facts                   []identity.Fact
			Blocked, Core, Settings any
		}
		require.NoError(t, json.Unmarshal([]byte(exported(t, y, identity.Local)), &d))
		for i := range d.Facts { // what was damaged, and is of a variant, may be there twice
			d.Facts[i].Variants, d.Facts[i].Damaged = nil, nil
		}
		got, err := json.MarshalIndent(d, "", " ")
		require.NoError(t, err)
		merged = append(merged, string(got))
	}
	require.Equal(t, merged[0], merged[1], "whichever comes first")
	require.Equal(t, merged[0], merged[2], "again")
}

func (x *people) project(t *rapid.T) {
	i := x.anybody(t, "")
	b := identity.Budget{
		Tokens: rapid.IntRange(1, 200).Draw(t, "tokens"), Facts: rapid.IntRange(1, 6).Draw(t, "facts"),
		Visibility: rapid.SampledFrom([]identity.Visibility{"", identity.Local}).Draw(t, "visibility"),
	}
	p, err := i.Project(tContext, rapid.SampledFrom([]string{"", "Go", "tea at Acme"}).Draw(t, "task"), b)
	require.NoError(t, err)
	require.LessOrEqual(t, p.Tokens, b.Tokens)
	require.LessOrEqual(t, len(p.Facts), b.Facts)
	others := false
	for _, f := range p.Facts {
		require.Zero(t, f.Archived, "%s", f.ID)
		require.Empty(t, f.Superseded)
		others = others || f.Maturity != identity.Proven
	}
	for _, l := range p.Left {
		f, err := i.Get(tContext, l.ID)
		require.NoError(t, err)
		if f.Maturity == identity.Proven {
			require.Contains(t, []string{"visibility", "begins later", "superseded", "over facts", "over tokens"}, l.Reason)
			require.False(t, l.Reason == "over facts" && others, "one that is not proven has its place")
		}
	}
}

// check holds all identities against what was done since the last check, and against a Bank
// that is opened on the store now.
func (x *people) check(t *rapid.T) {
	bank, err := memory.Open(tContext, x.st, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, bank.Close()) }()
	for _, who := range persons {
		is, was := person{doc: exported(t, x.of(who), identity.Local), facts: map[identity.ID]identity.Fact{}}, x.was[who]
		fresh, err := identity.New(bank, who, &identity.Options{Now: x.c.now})
		require.NoError(t, err)
		require.Equal(t, is.doc, exported(t, fresh, identity.Local), "%s, as it is stored", who)
		var d struct{ Facts []identity.Fact }
		require.NoError(t, json.Unmarshal([]byte(is.doc), &d))
		for _, f := range d.Facts {
			is.facts[f.ID] = f
		}
		if x.op != "" && who == x.who {
			x.changed(t, was, is)
		} else if was.doc != "" {
			require.Equal(t, was.doc, is.doc, "%s changed by %q of %s", who, x.op, x.who)
		}
		x.was[who] = is
	}
	x.op = ""
}

// changed holds what an operation has made of an identity's facts against the rules.
func (x *people) changed(t *rapid.T, was, is person) {
	for id, a := range was.facts {
		b, there := is.facts[id]
		if !there {
			require.Equal(t, "import", x.op)
			lead, err := x.of(x.who).Get(tContext, id)
			require.NoError(t, err, "%s is lost", id)
			require.Contains(t, is.facts, lead.ID)
			continue
		}
		own, rise := id == x.id, rank(b.Maturity)-rank(a.Maturity)
		back := !a.Rejected.IsZero() && b.Rejected.IsZero()
		switch x.op {
		case "import":
			require.False(t, back && !b.Restored.After(a.Rejected), "%s came back", id)
			continue
		case "maintain":
			require.True(t, rise == 0 || rise == -1 && !b.Demoted.IsZero(), "%s: %s to %s", id, a.Maturity, b.Maturity)
		case "validate", "validate weakly", "say":
			require.True(t, rise == 0 || rise > 0 && own, "%s: %s to %s", id, a.Maturity, b.Maturity)
			require.False(t, x.op == "validate weakly" && rise > 0 && b.Maturity == identity.Proven)
		default:
			require.Zero(t, rise, "%s: %s to %s by %s", id, a.Maturity, b.Maturity, x.op)
		}
		require.False(t, back && !(own && (x.op == "restore" || x.op == "say")), "%s came back by %s", id, x.op)
		require.False(t, b.Updated.Before(a.Updated) || b.Validated.Before(a.Validated), "%s is older than it was", id)
	}
}

func rank(m identity.Maturity) int {
	return slices.Index([]identity.Maturity{identity.Candidate, identity.Established, identity.Proven}, m)
}
