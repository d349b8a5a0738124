package identity_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/store"
)

func TestObserve(t *testing.T) {
	x, clock := fresh(t)
	_, err := x.UpdateProfile(t.Context(), func(p *identity.Profile) error {
		p.Settings.ExcludedDomains = []string{"bank.example"}
		return nil
	})
	require.NoError(t, err)
	n, err := x.Observe(t.Context(),
		identity.Event{Key: "1", Address: "https://go.dev/doc"},
		identity.Event{Key: "1", Address: "https://go.dev/doc"},
		identity.Event{Address: "https://www.my.bank.example/account"},
		identity.Event{Address: "bank.example"},
		identity.Event{Address: "notbank.example"},
		identity.Event{Kind: "conversation", Text: "about tea", At: start.Add(-time.Hour)},
	)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	clock.add(time.Second)
	events, err := x.Recent(t.Context(), 2)
	require.NoError(t, err)
	require.Len(t, events, 2)
	require.Equal(t, "notbank.example", events[0].Address)
	require.Equal(t, start, events[0].At)
	events, err = x.Recent(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, "about tea", events[2].Text)

	for _, e := range []identity.Event{{}, {Topic: "a", Kind: "\n"}, {Topic: "a", Category: "\n"}, {Topic: "a", Key: "\n"}, {Text: strings.Repeat("x", memory.MaxText+1)}} {
		_, err := x.Observe(t.Context(), identity.Event{Topic: "fine"}, e)
		require.Error(t, err)
	}
	_, err = x.Observe(t.Context(), identity.Event{})
	require.ErrorIs(t, err, memory.ErrEmpty)
	events, err = x.Recent(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, events, 3)
}

// However many events there are, and whatever became of them, the ring is
// bounded and no event is lost from the counts.
func TestRing(t *testing.T) {
	x, clock := fresh(t)
	topics := []string{"tea", "chess", "sailing"}
	total := 0
	for range 12 {
		var events []identity.Event
		for i := range 100 {
			events = append(events, identity.Event{Topic: topics[i%3]})
		}
		n, err := x.Observe(t.Context(), events...)
		require.NoError(t, err)
		total += n
		clock.add(6 * time.Hour)
		kept, err := x.Recent(t.Context(), 0)
		require.NoError(t, err)
		require.Len(t, kept, min(total, 1000))
	}
	got, err := x.Infer(t.Context(), 0)
	require.NoError(t, err)
	count := func(all []identity.Suggestion) (sum int) {
		for _, s := range all {
			sum += s.Count
		}
		return sum
	}
	for _, s := range got {
		require.Equal(t, 4, s.Days)
	}
	require.Equal(t, total, count(got), "rolled up or not")

	u, err := x.Maintain(t.Context())
	require.NoError(t, err)
	require.Zero(t, u.RolledUp)
	clock.add(days(31))
	_, err = x.Observe(t.Context(), identity.Event{Topic: "tea"})
	require.NoError(t, err)
	total++
	kept, err := x.Recent(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, kept, 1000+1-16, "some of the old ones go with each new one")
	u, err = x.Maintain(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1000-16, u.RolledUp)
	kept, err = x.Recent(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, kept, 1)
	got, err = x.Infer(t.Context(), days(40))
	require.NoError(t, err)
	require.Equal(t, total, count(got))
	clock.add(days(31))
	_, err = x.Maintain(t.Context()) // forgets the keys
	require.NoError(t, err)
}

// An event is one of its own for thirty days.
func TestRollUpAfterThirtyDays(t *testing.T) {
	x, c := fresh(t)
	visit(t, x, "react.dev", 3)
	c.add(days(30))
	for _, want := range []int{0, 3} {
		u, err := x.Maintain(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, u.RolledUp)
		c.add(time.Second)
	}
}

func TestInfer(t *testing.T) {
	st, c := store.NewMem(), &clock{t: start}
	x, err := identity.New(bankOf(t, st), "acme/ann", &identity.Options{Now: c.now})
	require.NoError(t, err)
	for range 3 {
		_, err := x.Observe(t.Context(), identity.Event{Topic: "sails", Category: identity.Context})
		require.NoError(t, err)
	}
	visit(t, x, "stripe.com", 3)
	visit(t, x, "parents.example", 9)
	c.add(days(1))
	for range 2 {
		_, err := x.Observe(t.Context(), identity.Event{Topic: "prefers tabs", Category: identity.Preference})
		require.NoError(t, err)
	}
	_, err = x.Observe(t.Context(), identity.Event{Topic: "Prefers tabs!", Category: identity.Preference, At: start})
	require.NoError(t, err)
	got, err := x.Infer(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, got, 3)
	require.Equal(t, "Prefers tabs!", got[0].Draft.Content)
	require.Equal(t, 2, got[0].Days, "the better founded of equal counts")
	require.Equal(t, identity.Draft{Content: "Stripe development", Category: identity.Expertise, Source: identity.Inferred, Ref: "browsing:stripe.com:3", Confidence: 0.55}, got[1].Draft)
	require.Equal(t, "sails", got[2].Draft.Content)

	f := add(t, x, got[0].Draft)
	require.Equal(t, identity.Candidate, f.Maturity)
	confirmed := got[2].Draft
	confirmed.Maturity = identity.Established
	require.Equal(t, identity.Established, add(t, x, confirmed).Maturity)
	_, err = x.Reject(t.Context(), got[1].ID, "only paid with it")
	require.NoError(t, err)
	got, err = x.Infer(t.Context(), 0)
	require.NoError(t, err)
	require.Empty(t, got, "known, or refused")
}

func TestAutoInfer(t *testing.T) {
	x, _ := fresh(t)
	visit(t, x, "go.dev", 4)
	u, err := x.Maintain(t.Context())
	require.NoError(t, err)
	require.Zero(t, u.Inferred, "off by default")
	_, err = x.UpdateProfile(t.Context(), func(p *identity.Profile) error { p.Settings.AutoInfer = true; return nil })
	require.NoError(t, err)
	for i := range 2 {
		u, err = x.Maintain(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1-i, u.Inferred)
	}
	views, err := x.List(t.Context(), identity.Filter{Maturity: identity.Candidate})
	require.NoError(t, err)
	require.Len(t, views, 1)
	require.Equal(t, "Go development", views[0].Content)
}

// Any order and grouping of the same events gives the same suggestions.
func TestInferIgnoresOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var events []identity.Event
		for i := range rapid.IntRange(1, 30).Draw(t, "n") {
			events = append(events, identity.Event{
				Key:   fmt.Sprint(i),
				Topic: rapid.SampledFrom([]string{"tea", "Tea", "chess", "go"}).Draw(t, "topic"),
				At:    start.Add(-time.Duration(rapid.IntRange(0, 200).Draw(t, "hours")) * time.Hour),
			})
		}
		x, _ := fresh(t)
		_, err := x.Observe(t.Context(), events...)
		require.NoError(t, err)
		want, err := x.Infer(t.Context(), 0)
		require.NoError(t, err)
		y, _ := fresh(t)
		for _, e := range rapid.Permutation(events).Draw(t, "order") {
			_, err := y.Observe(t.Context(), e)
			require.NoError(t, err)
		}
		got, err := y.Infer(t.Context(), 0)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

// A suggestion is a fact once a person has confirmed or refused it, by its id.
func TestSuggestionsHaveIDs(t *testing.T) {
	x, c := fresh(t)
	visit(t, x, "go.dev", 4)
	visit(t, x, "react.dev", 3)
	got, err := x.Infer(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, got, 2)
	golang, react := got[0], got[1]
	f, err := x.Get(t.Context(), golang.ID)
	require.NoError(t, err)
	require.Equal(t, golang.Draft.Content, f.Content)
	require.Equal(t, identity.Candidate, f.Maturity)
	require.Empty(t, contents(t, x), "it is none of the facts yet")

	f, err = x.Validate(t.Context(), golang.ID, identity.Validation{Reason: "said so"})
	require.NoError(t, err)
	require.Equal(t, golang.ID, f.ID)
	require.Equal(t, 1, f.Validations)
	require.InDelta(t, 0.8, f.Confidence, 1e-12)
	require.Equal(t, "browsing:go.dev:4", f.Ref)
	f, err = x.Reject(t.Context(), react.ID, "a colleague's")
	require.NoError(t, err)
	require.False(t, f.Rejected.IsZero())
	_, err = x.Add(t.Context(), identity.Draft{Content: "learns React", Source: identity.Inferred})
	require.ErrorIs(t, err, identity.ErrRejected, "its topic is blocked too")
	again, err := x.Infer(t.Context(), 0)
	require.NoError(t, err)
	require.Empty(t, again, "one is known, and one was refused")
	require.ElementsMatch(t, []string{golang.Draft.Content, react.Draft.Content}, contents(t, x))
	c.add(time.Hour)
	f, err = x.Validate(t.Context(), golang.ID, identity.Validation{})
	require.NoError(t, err)
	require.Equal(t, 2, f.Validations, "the id is the fact's")
	_, err = x.Validate(t.Context(), "unknown", identity.Validation{})
	require.ErrorIs(t, err, store.ErrNotFound)
}

// What a person has confirmed of what was suggested is established: with the confidence that it has then, it is told
// for any task. The word of a model leaves it a candidate.
func TestConfirmedSuggestionIsEstablished(t *testing.T) {
	for weak, want := range map[bool]identity.Maturity{false: identity.Established, true: identity.Candidate} {
		x, _ := fresh(t)
		visit(t, x, "react.dev", 15)
		found, err := x.Infer(t.Context(), 0)
		require.NoError(t, err)
		f, err := x.Validate(t.Context(), found[0].ID, identity.Validation{Reason: "yes", Weak: weak})
		require.NoError(t, err)
		require.Equal(t, want, f.Maturity)
		require.Equal(t, 1, f.Validations)
		require.InDelta(t, 1, f.Confidence, 1e-12, "0.8 and 0.2")
		p, err := x.Project(t.Context(), "write a poem", identity.Budget{})
		require.NoError(t, err)
		require.Equal(t, !weak, strings.Contains(p.Text, "React development (expertise, established)"))
		f, err = x.Validate(t.Context(), found[0].ID, identity.Validation{Key: "again"})
		require.NoError(t, err)
		require.Equal(t, identity.Established, f.Maturity, "the second validation")
	}
}

// How long a visit lasted weighs, in the ring and in the counts of a day alike.
func TestDwellWeighs(t *testing.T) {
	weigh := func(later time.Duration, dwell ...time.Duration) float64 {
		x, c := fresh(t)
		for _, d := range dwell {
			_, err := x.Observe(t.Context(), identity.Event{Address: "go.dev", Dwell: d})
			require.NoError(t, err)
		}
		if c.add(later); later > 0 {
			_, err := x.Maintain(t.Context())
			require.NoError(t, err)
		}
		got, err := x.Infer(t.Context(), later+days(2))
		require.NoError(t, err)
		if len(got) == 0 {
			return 0
		}
		require.Len(t, dwell, got[0].Count)
		return got[0].Draft.Confidence
	}
	glance, read := 5*time.Second, 2*time.Minute
	for _, later := range []time.Duration{0, days(31)} {
		require.InDelta(t, 0.55, weigh(later, 0, 0, 0), 1e-12, "not known")
		require.Zero(t, weigh(later, glance, glance, glance, glance), "a glance is no visit")
		require.InDelta(t, 0.6, weigh(later, read, read), 1e-12, "two that were read")
		require.InDelta(t, 0.55, weigh(later, time.Hour), 1e-12, "an open tab")
		require.InDelta(t, 0.56, weigh(later, read, time.Minute, glance), 1e-12)
	}
	x, _ := fresh(t)
	_, err := x.Observe(t.Context(), identity.Event{Address: "go.dev", Dwell: -1})
	require.ErrorIs(t, err, identity.ErrValue)
	_, err = x.Observe(t.Context(), identity.Event{Address: "go.dev", Dwell: 90 * time.Second})
	require.NoError(t, err)
	doc, err := x.Export(t.Context(), identity.Local)
	require.NoError(t, err)
	y, _ := fresh(t)
	_, err = y.Import(t.Context(), doc)
	require.NoError(t, err)
	events, err := y.Recent(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, 90*time.Second, events[0].Dwell)
}

// What has faded is asked about, the most faded first, with what it rests on.
func TestDue(t *testing.T) {
	x, c := fresh(t)
	old, err := x.Add(t.Context(), identity.Draft{Content: "uses Emacs"})
	require.NoError(t, err)
	guess, err := x.Add(t.Context(), identity.Draft{Content: "plays chess", Source: identity.Conversation, Ref: "chat-3"})
	require.NoError(t, err)
	gone, err := x.Add(t.Context(), identity.Draft{Content: "likes tea"})
	require.NoError(t, err)
	_, err = x.Archive(t.Context(), gone.ID, true)
	require.NoError(t, err)
	_, err = x.Validate(t.Context(), old.ID, identity.Validation{Reason: "said so"})
	require.NoError(t, err)
	due, err := x.Due(t.Context(), identity.Filter{})
	require.NoError(t, err)
	require.Empty(t, due)
	c.add(days(110))
	_, err = x.Add(t.Context(), identity.Draft{Content: "lives in Rome"})
	require.NoError(t, err)
	due, err = x.Due(t.Context(), identity.Filter{})
	require.NoError(t, err)
	require.Len(t, due, 2)
	require.Equal(t, []identity.ID{guess.ID, old.ID}, []identity.ID{due[0].ID, due[1].ID})
	require.Equal(t, "chat-3", due[0].Ref)
	require.Equal(t, "said so", due[1].Evidence[len(due[1].Evidence)-1].Reason)
	_, err = x.Validate(t.Context(), old.ID, identity.Validation{Reason: "still"})
	require.NoError(t, err)
	_, err = x.Reject(t.Context(), guess.ID, "never did")
	require.NoError(t, err)
	due, err = x.Due(t.Context(), identity.Filter{})
	require.NoError(t, err)
	require.Empty(t, due)
}

// Of an excluded domain nothing is noted, in whatever form its address comes, nor its own; by an import neither.
func TestExcludedDomainsHoldForEveryAddress(t *testing.T) {
	ctx := t.Context()
	for _, address := range []string{
		"https://bank.com/100%-offer", "https://bank.com/a%zz", "https://www.bank.com:443/x", "HTTPS://BANK.COM.", "bank.com/x y", "https://bank.com:port/",
		"https://ann@bank.com/", "https://bank.com\\x", "http://bank.com:80:80/", "bank.com", " https://mail.bank.com/ ", "https:///bank.com", "https:bank.com/x", "view-source:https://bank.com/", "https://bank。com/",
	} {
		x, _ := fresh(t)
		_, err := x.UpdateProfile(ctx, func(p *identity.Profile) error {
			p.Settings.ExcludedDomains = []string{"bank.com"}
			return nil
		})
		require.NoError(t, err)
		if n, err := x.Observe(ctx, identity.Event{Address: address, Topic: "loans"}); err == nil && n > 0 {
			t.Errorf("%q was noted", address)
		}
	}
	for _, domain := range []string{"https://bank.com", "*.bank.com", "bank.com/", "bank.com:443", ".bank.com"} {
		x, _ := fresh(t)
		_, err := x.UpdateProfile(ctx, func(p *identity.Profile) error {
			p.Settings.ExcludedDomains = []string{domain}
			return nil
		})
		if err != nil {
			continue // refused: the person hears of it
		}
		if n, err := x.Observe(ctx, identity.Event{Address: "https://mail.bank.com/x", Topic: "loans"}); err == nil && n > 0 {
			t.Errorf("excluded %q, and mail.bank.com was noted", domain)
		}
	}
	x, _ := fresh(t)
	_, err := x.UpdateProfile(ctx, func(p *identity.Profile) error {
		p.Settings.ExcludedDomains = []string{"bank.com"}
		return nil
	})
	require.NoError(t, err)
	r, err := x.Import(ctx, []byte(`{"version":"2.0.0","deviceId":"d","facts":[],"core":{},"settings":{},"events":[{"id":"e","url":"https://bank.com/x","timestamp":"2026-01-01T00:00:00Z"}]}`))
	require.NoError(t, err)
	require.Zero(t, r.Events)
}
