package learn_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Cases of the past are told with their days, in any order: the last delivery is the last one made.
func TestHistoryHasItsDays(t *testing.T) {
	b := open(t, acme(learn.Options{Holdout: .3}))
	day := func(n int) time.Time { return b.now.AddDate(0, 0, -n).In(time.FixedZone("", 9*3600)) }
	for _, ago := range []int{10, 300, 200} {
		c, p := refund("acme", fmt.Sprint("SO-1", 100+ago))
		c.At, c.Actor, c.Session = day(ago), "anna", "s"
		b.after(learn.Advice{Case: c}, learn.Outcome{Verdict: learn.Delivered, Plan: p, Answer: "paid"})
	}
	u, err := b.Uplift(t.Context(), "acme")
	require.NoError(t, err)
	require.Zero(t, u.Delivered.N, "nobody was advised")
	var at []time.Time
	for r, err := range b.Memory("acme").All(t.Context()) {
		require.NoError(t, err)
		if r.Kind == memory.Episode {
			at = append(at, r.At)
		}
	}
	require.Len(t, at, 3)
	for _, ago := range []int{10, 300, 200} {
		require.Contains(t, fmt.Sprint(at), day(ago).Format("2006-01-02 15:04"), "in the zone of the case")
	}
	c, _ := refund("acme", "SO-1999")
	c.ID, c.At = "late", b.now.AddDate(40, 0, 0)
	a, err := b.Before(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, b.now, a.At, "no case comes later than now")
}

// A case of a former day is decided by what is known now: a rule that came since holds for it, and a plan that goes
// wrong for it stops.
func TestCaseOfAFormerDay(t *testing.T) {
	for name, o := range map[string]learn.Outcome{
		"failed": {Verdict: learn.Failed, Complaint: "it was paid"},
		"left": {Verdict: learn.Delivered, Plan: plan("ask", `{}`), Failed: []reason.Failure{{Task: reason.Task{Skill: "refund"},
			Complaint: "it was paid"}}},
	} {
		b := open(t, acme(learn.Options{}))
		came := b.now
		for i := range 6 {
			c, p := refund("acme", fmt.Sprint("SO-1", 100+i))
			a := b.before(c)
			a.Fires = nil
			b.after(a, learn.Outcome{Verdict: learn.Delivered, Plan: p})
		}
		c, _ := refund("acme", "SO-1200")
		c.At = came
		a := b.before(c)
		require.NotNil(t, a.Fires, a.Why)
		b.after(a, o)
		require.Nil(t, b.before(c).Fires, name)
	}
	b := open(t, acme(learn.Options{}))
	came := b.now
	for i := range 2 {
		b.deliver(refund("acme", fmt.Sprint("SO-1", 100+i)))
	}
	rule := memory.Draft{Kind: memory.Rule, Content: "ask a person before any refund", Trigger: "refund"}
	_, err := b.Memory("acme").Remember(t.Context(), rule)
	require.NoError(t, err)
	c, _ := refund("acme", "SO-1200")
	c.At = came
	a := b.before(c)
	require.Nil(t, a.Fires)
	require.Equal(t, "there is a rule that none of its deliberations knew", a.Why)
}

// What delivered a plan that is retired does not have it fire for other words.
func TestRetiredInOtherWords(t *testing.T) {
	b := open(t, acme(learn.Options{}))
	of := func(n int) (learn.Case, *reason.Plan) {
		text := fmt.Sprint("please book room ", n, " for me")
		return learn.Case{Scope: "acme", Text: text}, plan("book", fmt.Sprintf(`{"room":%d}`, n))
	}
	b.deliver(of(12))
	b.deliver(of(13))
	c, _ := of(14)
	require.NotNil(t, b.before(c).Fires)
	k, err := b.Known(t.Context(), "acme")
	require.NoError(t, err)
	k.Suggestions[0].Retired = true
	_, err = b.Edit(t.Context(), "acme", k.Suggestions[0])
	require.NoError(t, err)
	require.Nil(t, b.before(c).Fires)
}

// An ID is of one case. One that was refused for its size, or edited, is not filed under another.
func TestOtherCaseOfAnID(t *testing.T) {
	b := open(t, acme(learn.Options{}))
	a, err := b.Before(t.Context(), learn.Case{ID: "m1", Scope: "acme/anna", Text: strings.Repeat("x", 100<<10)})
	require.ErrorIs(t, err, store.ErrInvalid)
	_, err = b.After(t.Context(), a, learn.Outcome{Verdict: learn.Delivered, Answer: "yes", Plan: plan("p", `{}`)})
	require.ErrorIs(t, err, store.ErrInvalid)
	for i, text := range []string{"allergic to nuts", "allergic to eggs", "allergic to nuts"} {
		got := b.after(b.before(learn.Case{ID: "m2", Scope: "acme/anna", Text: text}), learn.Outcome{Verdict: learn.Delivered})
		require.Equal(t, i == 1, strings.Contains(got.Note, "an ID of its own"), got.Note)
	}
}

// What the model made of a case names it as the case does, and the calls that were refused are not what passed.
func TestComplaintNamesNobodyOfAnAnswer(t *testing.T) {
	b := open(t, acme(learn.Options{}))
	c := learn.Case{ID: "1", Situation: "refunds", Text: "refund it", Data: []byte(`"my order is late"`)}
	p := plan("pay", `{"to":"DE89370400440532013000"}`)
	b.after(b.before(c), learn.Outcome{Verdict: learn.Failed, Plan: p, Answer: "paid to Greta Zimmer",
		Complaint: "not to Zimmer at DE89370400440532013000: ask first"})
	c.ID = "2"
	b.after(b.before(c), learn.Outcome{Verdict: learn.Delivered, Plan: p})
	c.ID, c.Text = "3", "refund that"
	require.Equal(t, []reason.Warning{{Skill: "after pay", Complaint: "not to … at … ask first", Instead: "another try at the same case", Times: 1}}, b.before(c).Warnings)
}

// A constant that deliveries have had before is nobody else's because an answer of the agent has said it since.
func TestConstantOfAnAnswer(t *testing.T) {
	b := open(t, acme(learn.Options{}))
	for i := range 4 {
		c, p := refund("acme", fmt.Sprint("SO-1", 100+i))
		c.Actor, c.Session = "anna", "s"
		p.Calls = append(p.Calls, plan("route", `{"team":"returns"}`).Calls...)
		a := b.before(c)
		require.Equal(t, i > 1, a.Fires != nil, a.Why)
		got := b.after(a, learn.Outcome{Verdict: learn.Delivered, Plan: p, Answer: "Our returns team looks at it."})
		require.Empty(t, got.Note)
	}
	c, p := refund("acme", "SO-1200")
	p.Calls = append(p.Calls, plan("route", `{"team":"turns"}`).Calls...)
	got := b.after(b.before(c), learn.Outcome{Verdict: learn.Delivered, Plan: p, Untrusted: []string{"put me into turns"}})
	require.Contains(t, got.Note, "team", "which another constant has inside")
	c.ID, p.Calls[1] = "", plan("route", `{"team":"gold"}`).Calls[0]
	got = b.after(b.before(c), learn.Outcome{Verdict: learn.Delivered, Plan: p, Untrusted: []string{"put me into gold"}})
	require.Contains(t, got.Note, "team", "what no delivery had is of the page")
}

// After Maintain an outcome is gone, and what came of it can be forgotten all the same: a delivery, a warning, and
// the names of the first of those who came to it.
func TestForgetWithoutOutcome(t *testing.T) {
	b := open(t, acme(learn.Options{}))
	for i, name := range []string{"Vera", "Otto", "Ida"} {
		c, p := refund("acme", fmt.Sprint("SO-1", 100+i))
		c.ID, c.Situation, p.Calls[0].Inputs = name, "refunds", []byte(`{"to":"`+name+`"}`)
		c.Data = []byte(`"I am ` + name + `"`)
		o := learn.Outcome{Verdict: learn.Failed, Complaint: "wrong team for " + name, Plan: p}
		if i == 2 {
			o = learn.Outcome{Verdict: learn.Delivered, Plan: p}
		}
		b.after(b.before(c), o)
	}
	b.now = b.now.AddDate(0, 0, 100)
	_, err := b.Maintain(t.Context(), "acme", 0)
	require.NoError(t, err)
	known := func() string {
		k, err := b.Known(t.Context(), "acme")
		require.NoError(t, err)
		return fmt.Sprintf("%+v", k)
	}
	require.Contains(t, known(), "wrong team for … ", "all were told this")
	for _, name := range []string{"Vera", "Otto", "Ida"} {
		require.ErrorIs(t, b.Forget(t.Context(), "acme", name), store.ErrNotFound)
	}
	require.NotContains(t, known(), "wrong team")
	require.NotContains(t, known(), "refund ")
}

// To forget a case is no visit to what came of one whose ID begins alike.
func TestForgetLeavesOthers(t *testing.T) {
	b := open(t, acme(learn.Options{}))
	c, p := refund("acme", "SO-100")
	c.ID = "10"
	b.after(b.before(c), learn.Outcome{Verdict: learn.Delivered, Plan: p})
	b.now = b.now.AddDate(0, 0, 80)
	require.ErrorIs(t, b.Forget(t.Context(), "acme", "1"), store.ErrNotFound)
	b.now = b.now.AddDate(0, 0, 20)
	n, err := b.Maintain(t.Context(), "acme", 0)
	require.NoError(t, err)
	require.Equal(t, 3, n, "the outcome, and what is kept of its key and of the very case")
}

// A Layer that has opened its directory leaves nothing of what was erased in the files.
func TestEraseCompacts(t *testing.T) {
	dir := t.TempDir()
	l, err := learn.Open(t.Context(), dir, &learn.Options{Scope: "acme"})
	require.NoError(t, err)
	c := learn.Case{Scope: "acme/anna", Text: "I am Annabella Quistgaard"}
	_, err = l.After(t.Context(), learn.Advice{Case: c}, learn.Outcome{Verdict: learn.Delivered, Answer: "hello"})
	require.NoError(t, err)
	found := func() (n int) {
		files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
		require.NoError(t, err)
		more, err := filepath.Glob(filepath.Join(dir, "*"))
		require.NoError(t, err)
		for _, f := range append(files, more...) {
			if raw, err := os.ReadFile(f); err == nil {
				n += strings.Count(string(raw), "Quistgaard")
			}
		}
		return n
	}
	require.NotZero(t, found())
	require.NoError(t, l.Erase(t.Context(), "acme/anna"))
	require.Zero(t, found())
	require.NoError(t, l.Close())
}

// A cost that is no figure is unknown, and the rest is learned.
func TestNoFigure(t *testing.T) {
	for _, cost := range []float64{math.NaN(), math.Inf(1), -1} {
		b := open(t, acme(learn.Options{}))
		for i := range 2 {
			c, p := refund("acme", fmt.Sprint("SO-10", i))
			usage := &reason.Usage{Input: 3, CostUSD: new(cost)}
			o := learn.Outcome{Verdict: learn.Delivered, Plan: p, Worker: "clerk", Usage: usage}
			require.Equal(t, i > 0, b.after(b.before(c), o).Ready)
		}
	}
}
