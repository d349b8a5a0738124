package identity_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// tContext is for helpers that serve tests and properties alike.
var tContext = context.Background()

// clock is a time that tests set.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// banks are those of the stores of tests: a store has one.
var banks sync.Map

func bankOf(t require.TestingT, st store.Store) *memory.Bank {
	if b, ok := banks.Load(st); ok {
		return b.(*memory.Bank)
	}
	b, err := memory.Open(tContext, st, nil)
	require.NoError(t, err)
	banks.Store(st, b)
	return b
}

// view is an identity of a store that others may be views of, too.
func view(t require.TestingT, st store.Store, scope memory.Scope, opts *identity.Options) *identity.Identity {
	x, err := identity.New(bankOf(t, st), scope, opts)
	require.NoError(t, err)
	return x
}

func open(t require.TestingT, st store.Store, c *clock) *identity.Identity {
	return view(t, st, "acme/ann", &identity.Options{Now: c.now})
}

func fresh(t require.TestingT) (*identity.Identity, *clock) {
	c := &clock{t: start}
	return open(t, store.NewMem(), c), c
}

func text(v identity.View) string { return v.Content }

func contents(t *testing.T, x *identity.Identity) []string {
	t.Helper()
	views, err := x.List(t.Context(), identity.Filter{Archived: true})
	require.NoError(t, err)
	var out []string
	for _, v := range views {
		out = append(out, text(v))
	}
	return out
}

func add(t *testing.T, x *identity.Identity, d identity.Draft) identity.Fact {
	t.Helper()
	f, err := x.Add(t.Context(), d)
	require.NoError(t, err)
	return f
}

func TestAddTwiceIsOne(t *testing.T) {
	x, _ := fresh(t)
	a := add(t, x, identity.Draft{Content: "Expert in  Go!"})
	b := add(t, x, identity.Draft{Content: "expert in go"})
	require.Equal(t, a, b)
	for _, other := range []string{"Expert in C", "Expert in C++", "Expert in C#", "Expert in MongoDB", "expert in no-go"} {
		require.NotEqual(t, a.ID, add(t, x, identity.Draft{Content: other}).ID)
	}
	require.Len(t, contents(t, x), 6)
}

func TestManualLiftsCandidate(t *testing.T) {
	x, _ := fresh(t)
	f := add(t, x, identity.Draft{Content: "uses Vim", Category: identity.Context, Source: identity.Inferred})
	require.Equal(t, identity.Candidate, f.Maturity)
	g := add(t, x, identity.Draft{Content: "uses vim", Category: identity.Context})
	require.Equal(t, f.ID, g.ID)
	require.Equal(t, identity.Established, g.Maturity)
	require.InDelta(t, 1, g.Confidence, 0)
	require.Equal(t, g, add(t, x, identity.Draft{Content: "uses vim", Category: identity.Context}))
}

func TestBadInput(t *testing.T) {
	x, _ := fresh(t)
	ctx := t.Context()
	for _, c := range []struct {
		d   identity.Draft
		err error
	}{
		{identity.Draft{}, memory.ErrEmpty},
		{identity.Draft{Content: " \n"}, memory.ErrEmpty},
		{identity.Draft{Content: "\u200b\u00ad"}, memory.ErrEmpty},
		{identity.Draft{Content: "a", Maturity: "ripe"}, identity.ErrValue},
		{identity.Draft{Content: "a", Visibility: "secret"}, identity.ErrValue},
		{identity.Draft{Content: "a", Confidence: 1.5}, identity.ErrValue},
		{identity.Draft{Content: "a", Category: "x\x00"}, identity.ErrValue},
		{identity.Draft{Content: "a", Subject: "me"}, identity.ErrValue},
		{identity.Draft{Content: "a", Ref: "\x00"}, memory.ErrID},
	} {
		_, err := x.Add(ctx, c.d)
		require.ErrorIs(t, err, c.err, "%+v", c.d)
	}
	var limit *store.LimitError
	for _, d := range []identity.Draft{
		{Content: strings.Repeat("x", memory.MaxText+1)},
		{Content: "a", At: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		_, err := x.Add(ctx, d)
		require.ErrorAs(t, err, &limit)
	}
	require.Empty(t, contents(t, x))

	_, err := x.Get(ctx, "nobody")
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = x.Validate(ctx, "nobody", identity.Validation{})
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = x.Project(ctx, "", identity.Budget{Visibility: "x"})
	require.ErrorIs(t, err, identity.ErrValue)
	_, err = x.Project(ctx, "", identity.Budget{Confidence: math.NaN()})
	require.ErrorIs(t, err, identity.ErrValue, "every fact would pass it")
	_, err = x.Export(ctx, "x")
	require.ErrorIs(t, err, identity.ErrValue)
	_, err = identity.New(bankOf(t, store.NewMem()), "bad scope", nil)
	require.ErrorIs(t, err, memory.ErrScope)
}

// block rejects a text that no fact says, as a document brings it.
func block(t *testing.T, x *identity.Identity, text, reason string) error {
	raw, err := json.Marshal(map[string]any{"version": "2", "blocked": []identity.Rejection{{Content: text, Reasons: []string{reason}}}})
	require.NoError(t, err)
	_, err = x.Import(t.Context(), raw)
	return err
}

func TestTenantsShareNothing(t *testing.T) {
	st, c := store.NewMem(), &clock{t: start}
	var all []*identity.Identity
	for _, scope := range []memory.Scope{"acme/ann", "acme/ann/work", "acme/bob", "other/ann", memory.Scope("acme/" + strings.Repeat(strings.Repeat("x", 128)+"/", 5) + "end")} {
		x, err := identity.New(bankOf(t, st), scope, &identity.Options{Now: c.now})
		require.NoError(t, err)
		all = append(all, x)
	}
	for i, x := range all {
		f := add(t, x, identity.Draft{Content: fmt.Sprint("fact ", i)})
		require.NoError(t, block(t, x, fmt.Sprint("blocked ", i), ""))
		visit(t, x, "go.dev", 1)
		for j, y := range all {
			if i != j {
				_, err := y.Get(t.Context(), f.ID)
				require.ErrorIs(t, err, store.ErrNotFound)
			}
		}
	}
	for i, x := range all {
		require.Equal(t, []string{fmt.Sprint("fact ", i)}, contents(t, x))
		refused, err := x.Rejections(t.Context())
		require.NoError(t, err)
		require.Len(t, refused, 1)
		events, err := x.Recent(t.Context(), 0)
		require.NoError(t, err)
		require.Len(t, events, 1)
	}
}

func TestValidateIsIdempotentByKey(t *testing.T) {
	x, _ := fresh(t)
	f := add(t, x, identity.Draft{Content: "Go", Source: identity.Conversation})
	for range 3 {
		var err error
		f, err = x.Validate(t.Context(), f.ID, identity.Validation{Key: "chat-1", Reason: "said so"})
		require.NoError(t, err)
	}
	require.Equal(t, 1, f.Validations)
	require.Len(t, f.Evidence, 1)
	require.Equal(t, "said so", f.Evidence[0].Reason)
	require.InDelta(t, 0.5+0.2, f.Confidence, 1e-12)
	f, err := x.Validate(t.Context(), f.ID, identity.Validation{Key: "chat-2"})
	require.NoError(t, err)
	require.Equal(t, identity.Established, f.Maturity)
}

// A model that confirms its own words counts once a day, and proves nothing.
func TestWeakValidations(t *testing.T) {
	x, clock := fresh(t)
	f := add(t, x, identity.Draft{Content: "Go", Source: identity.Conversation})
	validate := func(v identity.Validation) {
		t.Helper()
		var err error
		f, err = x.Validate(t.Context(), f.ID, v)
		require.NoError(t, err)
	}
	for day := range 9 {
		for range 3 {
			validate(identity.Validation{Key: "m", Weak: true})
		}
		require.Equal(t, day+1, f.Validations)
		require.Equal(t, clock.now(), f.Validated, "it counts for confidence")
		clock.add(days(1))
	}
	require.Equal(t, identity.Established, f.Maturity)
	validate(identity.Validation{Weak: true})
	validate(identity.Validation{Weak: true})
	require.Equal(t, 10, f.Validations, "nor with no key")
	require.Equal(t, identity.Established, f.Maturity)
	validate(identity.Validation{Key: "m"})
	require.Equal(t, identity.Proven, f.Maturity, "a person has the last word")
	clock.add(days(1))
	validate(identity.Validation{Key: "m", Weak: true})
	require.Equal(t, identity.Proven, f.Maturity, "and it is not taken back")
}

func TestDemotionIsOneStep(t *testing.T) {
	x, clock := planted(t, map[string]any{"id": "a", "content": "Go", "confidence": 1, "maturity": "proven", "validationCount": 5, "lastValidated": start})
	clock.add(days(105))
	for i := range 3 {
		u, err := x.Maintain(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, u.Kept)
		require.Equal(t, max(0, 1-i), u.Demoted, "once")
		clock.add(days(1))
	}
	f, err := x.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, identity.Established, f.Maturity)
	require.InDelta(t, 1, f.Confidence, 0, "fading is not written back")
	require.Less(t, f.Effective(clock.now(), identity.DefaultHalfLife), identity.DemoteBelow)

	clock.add(days(100))
	u, err := x.Maintain(t.Context())
	require.NoError(t, err)
	require.Equal(t, identity.MaintainReport{Facts: 1, Archived: 1}, u)
	u, err = x.Maintain(t.Context())
	require.NoError(t, err)
	require.Equal(t, identity.MaintainReport{Facts: 1, Already: 1}, u)
	views, err := x.List(t.Context(), identity.Filter{})
	require.NoError(t, err)
	require.Empty(t, views)
	require.Equal(t, []string{"Go"}, contents(t, x))

	f, err = x.Archive(t.Context(), "a", false)
	require.NoError(t, err)
	require.True(t, f.Archived.IsZero())
	u, err = x.Maintain(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, u.Kept)
}

func TestHalfLifeOfACategory(t *testing.T) {
	x, clock := fresh(t)
	_, err := x.UpdateProfile(t.Context(), func(p *identity.Profile) error {
		p.Settings.HalfLives = map[identity.Category]time.Duration{identity.Core: days(3650)}
		return nil
	})
	require.NoError(t, err)
	add(t, x, identity.Draft{Content: "allergic to nuts", Category: identity.Core})
	add(t, x, identity.Draft{Content: "reading a novel", Category: identity.Focus})
	clock.add(days(365))
	u, err := x.Maintain(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, u.Archived)
	views, err := x.List(t.Context(), identity.Filter{})
	require.NoError(t, err)
	require.Equal(t, "allergic to nuts", views[0].Content)
	require.Greater(t, views[0].Effective, 0.9)
}

func TestReject(t *testing.T) {
	x, clock := fresh(t)
	f := add(t, x, identity.Draft{Content: "Go", Source: identity.Inferred})
	first, err := x.Reject(t.Context(), f.ID, "never used it")
	require.NoError(t, err)
	clock.add(time.Hour)
	again, err := x.Reject(t.Context(), f.ID, "never used it")
	require.NoError(t, err)
	require.Equal(t, first, again)
	_, err = x.Reject(t.Context(), f.ID, "only read about it")
	require.NoError(t, err)
	refused, err := x.Rejections(t.Context())
	require.NoError(t, err)
	require.Len(t, refused, 1)
	require.Equal(t, []string{"never used it", "only read about it"}, refused[0].Reasons)

	require.NoError(t, block(t, x, "web development", ""))
	for content, blocked := range map[string]bool{
		"go": true, "GO!": true, "Learning Go generics": true, "G\u200bo": true, // an invisible character hides nothing
		"likes web development": true, "React development": false, "web": true, // either way
		"MongoDB": false, "Django": false, "going home": false, "cargo": false,
	} {
		_, err := x.Add(t.Context(), identity.Draft{Content: content, Source: identity.Inferred})
		require.Equal(t, blocked, errors.Is(err, identity.ErrRejected), content)
	}
	var rejected *identity.RejectedError
	_, err = x.Add(t.Context(), identity.Draft{Content: "go", Source: identity.Inferred})
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, "Go", rejected.Content)
	require.Contains(t, err.Error(), "only read about it")
	require.Equal(t, identity.ErrRejected, rejected.Unwrap())
	require.IsType(t, []identity.Rejection{}, refused)
	_, err = x.Validate(t.Context(), f.ID, identity.Validation{})
	require.ErrorIs(t, err, identity.ErrRejected)

	visit(t, x, "go.dev", 5)
	visit(t, x, "rust-lang.org", 3)
	got, err := x.Infer(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, "Rust", got[0].Topic)

	f, err = x.Archive(t.Context(), f.ID, false)
	require.NoError(t, err)
	require.True(t, f.Rejected.IsZero())
	refused, err = x.Rejections(t.Context())
	require.NoError(t, err)
	require.Len(t, refused, 1)
	add(t, x, identity.Draft{Content: "Learning Go", Source: identity.Inferred})
}

func TestSlots(t *testing.T) {
	x, clock := fresh(t)
	job := identity.Draft{Subject: "me", Slot: "employer", Category: identity.Context}
	job.Content, job.At = "works at Initech", start.Add(-days(700))
	first := add(t, x, job)
	clock.add(days(1))
	learned := clock.now()
	job.Content, job.At = "works at Acme", start.Add(-days(100)) // learned later
	job.Subject, job.Slot = "Me", "Employer"
	second := add(t, x, job)
	clock.add(days(1))

	answer := func(f identity.Filter) identity.View {
		f.Subject, f.Slot = "me", "employer"
		views, err := x.List(t.Context(), f)
		require.NoError(t, err)
		if len(views) == 0 || views[0].Superseded != "" {
			return identity.View{}
		}
		return views[0]
	}
	ask := func(f identity.Filter) string { return answer(f).Content }
	require.Equal(t, "works at Acme", ask(identity.Filter{}))
	require.Equal(t, "works at Initech", ask(identity.Filter{At: start.Add(-days(200))}))
	require.Equal(t, "works at Initech", ask(identity.Filter{Known: learned.Add(-time.Second)}))
	require.Empty(t, ask(identity.Filter{At: start.Add(-days(800))}))

	set, err := x.List(t.Context(), identity.Filter{Subject: "me", Slot: "employer"})
	require.NoError(t, err)
	require.Len(t, set, 2)
	require.Equal(t, second.ID, set[0].ID)
	require.Equal(t, second.ID, set[1].Superseded)

	p, err := x.Project(t.Context(), "", identity.Budget{})
	require.NoError(t, err)
	require.Len(t, p.Facts, 1)
	require.Equal(t, []identity.Left{{ID: first.ID, Reason: "superseded"}}, p.Left)

	clock.add(time.Hour)
	job.Content, job.At = "worked at Hooli", start.Add(-days(400)) // learned last, began in between
	add(t, x, job)
	require.Equal(t, "works at Acme", ask(identity.Filter{}))
	require.Equal(t, "worked at Hooli", ask(identity.Filter{At: start.Add(-days(200))}))
	third := answer(identity.Filter{At: start.Add(-days(200))})
	_, err = x.Archive(t.Context(), third.ID, true)
	require.NoError(t, err)

	before := clock.now()
	clock.add(time.Hour)
	_, err = x.Archive(t.Context(), second.ID, true)
	require.NoError(t, err)
	require.Equal(t, "works at Initech", ask(identity.Filter{}), "what is put aside does not answer")
	require.Equal(t, "works at Acme", ask(identity.Filter{Known: before}))
}

// What a statement answers is read from it where the host does not say.
func TestUpdateKeepsTheFormerWording(t *testing.T) {
	x, clock := fresh(t)
	f := add(t, x, identity.Draft{Content: "writes Rust"})
	before := clock.now()
	clock.add(time.Hour)
	g, err := x.Update(t.Context(), f.ID, identity.Edit{Content: "writes Rust and Go", Visibility: identity.Public, Ref: "chat", Category: identity.Expertise})
	require.NoError(t, err)
	require.Equal(t, []identity.Past{{Content: "writes Rust", Until: clock.now()}}, g.Past)
	views, err := x.List(t.Context(), identity.Filter{Known: before})
	require.NoError(t, err)
	require.Equal(t, "writes Rust", views[0].Content)
	require.Equal(t, f.ID, add(t, x, identity.Draft{Content: "writes rust and go", Category: identity.Expertise}).ID)
	require.NotEqual(t, f.ID, add(t, x, identity.Draft{Content: "writes Rust"}).ID, "the old wording is free")
	same, err := x.Update(t.Context(), f.ID, identity.Edit{Subject: "", Slot: ""})
	require.NoError(t, err)
	require.Equal(t, g.Updated, same.Updated)
}

func TestSecretsAndNames(t *testing.T) {
	x, _ := fresh(t)
	const secret = "hunter2secret"
	f := add(t, x, identity.Draft{Content: "password=" + secret, Ref: "https://u:" + secret + "@host/x"})
	_, err := x.Reject(t.Context(), f.ID, "password: "+secret)
	require.NoError(t, err)
	_, err = x.Observe(t.Context(), identity.Event{Text: "password=" + secret, Address: "https://u:" + secret + "@go.dev"})
	require.NoError(t, err)
	_, err = x.Import(t.Context(), []byte(`{"version":"2.0.0","password":"`+secret+`","facts":[{"content":"x","token":"`+secret+`","lastValidated":"password=`+secret+`"}, {"password":"`+secret+`"}]}`))
	require.NoError(t, err)
	raw, err := x.Export(t.Context(), identity.Local)
	require.NoError(t, err)
	require.NotContains(t, string(raw), secret)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v %s", f, f, f, f), "REDACTED", "no verb prints the text")
	for _, v := range []any{identity.Draft{Content: secret}, identity.Event{Text: secret}} {
		require.NotContains(t, fmt.Sprintf("%v %+v %#v %s", v, v, v, v), secret)
	}
}

// Names are free, so one may hold a secret too.
func TestNamesHaveNoSecrets(t *testing.T) {
	x, _ := fresh(t)
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	f := add(t, x, identity.Draft{Content: "Go", Category: "c " + secret, Source: secret})
	_, err := x.Update(t.Context(), f.ID, identity.Edit{Category: "d " + secret})
	require.NoError(t, err)
	_, err = x.Observe(t.Context(), identity.Event{Kind: secret, Category: "e " + secret, Topic: "Go"})
	require.NoError(t, err)
	_, err = x.UpdateProfile(t.Context(), func(p *identity.Profile) error {
		p.Settings.HalfLives = map[identity.Category]time.Duration{secret: time.Hour}
		p.Settings.ExcludedDomains = []string{secret + ".example"}
		return nil
	})
	require.NoError(t, err)
	_, err = x.Import(t.Context(), []byte(`{"version":"2.0.0","settings":{"categoryHalfLifeDays":{"`+secret+`":3}},`+
		`"facts":[{"content":"Rust","category":"`+secret+`","source":"`+secret+`"}],`+
		`"events":[{"type":"`+secret+`","category":"`+secret+`","topic":"Rust"}],`+
		`"rollups":[{"day":"2026-01-01","counts":[{"type":"`+secret+`","category":"`+secret+`","topic":"Rust","n":2,"count":2}]}]}`))
	require.NoError(t, err)
	raw, err := x.Export(t.Context(), identity.Local)
	require.NoError(t, err)
	require.NotContains(t, strings.ToLower(string(raw)), strings.ToLower(secret))
}

func TestUpdateProfile(t *testing.T) {
	x, _ := fresh(t)
	boom := errors.New("boom")
	_, err := x.UpdateProfile(t.Context(), func(*identity.Profile) error { return boom })
	require.ErrorIs(t, err, boom)
	_, err = x.UpdateProfile(t.Context(), func(*identity.Profile) error { panic(boom) })
	require.ErrorIs(t, err, boom)
	_, err = x.UpdateProfile(t.Context(), func(p *identity.Profile) error { p.Settings.HalfLife = -1; return nil })
	require.ErrorIs(t, err, identity.ErrValue)
	p, err := x.UpdateProfile(t.Context(), func(p *identity.Profile) error {
		p.Name, p.Role, p.UserID, p.DeviceID, p.Visibility = "Ann", "engineer", "u1", "d1", identity.Public
		p.Settings.ExcludedDomains = []string{"WWW.Bank.example."}
		p.Settings.AutoInfer = true
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"bank.example"}, p.Settings.ExcludedDomains)
	q, err := x.Profile(t.Context())
	require.NoError(t, err)
	require.Equal(t, p, q)
}

func TestConcurrentWritersLoseNothing(t *testing.T) {
	st, c := store.NewMem(), &clock{t: start}
	const writers, each = 8, 12
	shared := add(t, open(t, st, c), identity.Draft{Content: "shared", Source: identity.Inferred})
	var wg sync.WaitGroup
	errs := make(chan error, writers*each*5)
	for w := range writers {
		x := open(t, st, c) // each has its own view of one store
		wg.Go(func() {
			for i := range each {
				_, err := x.Add(t.Context(), identity.Draft{Content: fmt.Sprintf("fact %d of %d", i, w)})
				errs <- err
				_, err = x.Add(t.Context(), identity.Draft{Content: fmt.Sprintf("Said by all, number %d", i)})
				errs <- err
				_, err = x.Validate(t.Context(), shared.ID, identity.Validation{})
				errs <- err
				_, err = x.Observe(t.Context(), identity.Event{Topic: "tea"})
				errs <- err
				errs <- block(t, x, "coffee", fmt.Sprint("reason ", w))
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	x := open(t, st, c)
	require.Len(t, contents(t, x), writers*each+each+1)
	f, err := x.Get(t.Context(), shared.ID)
	require.NoError(t, err)
	require.Equal(t, writers*each, f.Validations)
	events, err := x.Recent(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, events, writers*each)
	refused, err := x.Rejections(t.Context())
	require.NoError(t, err)
	require.Len(t, refused[0].Reasons, writers)
}

// failing fails a commit after it has taken place: its outcome is unknown.
type failing struct {
	store.Store
	fail bool
}

func (f *failing) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	rev, err := f.Store.Commit(ctx, ops...)
	if f.fail {
		f.fail = false
		return 0, errors.New("connection lost")
	}
	return rev, err
}

func TestRetryAfterUnknownOutcome(t *testing.T) {
	st, c := &failing{Store: store.NewMem()}, &clock{t: start}
	x := open(t, st, c)
	twice := func(fn func() error) {
		t.Helper()
		st.fail = true
		require.ErrorContains(t, fn(), "connection lost")
		require.NoError(t, fn())
	}
	twice(func() error { _, err := x.Add(t.Context(), identity.Draft{Content: "Go"}); return err })
	require.Len(t, contents(t, x), 1)
	f := add(t, x, identity.Draft{Content: "Go"})
	twice(func() error { _, err := x.Validate(t.Context(), f.ID, identity.Validation{Key: "k"}); return err })
	f, err := x.Get(t.Context(), f.ID)
	require.NoError(t, err)
	require.Equal(t, 2, f.Validations)
	twice(func() error { _, err := x.Observe(t.Context(), identity.Event{Key: "e", Topic: "Go"}); return err })
	events, err := x.Recent(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, events, 1)
	twice(func() error { _, err := x.Reject(t.Context(), f.ID, "no"); return err })
	refused, err := x.Rejections(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"no"}, refused[0].Reasons)
}

func TestDamageIsAnError(t *testing.T) {
	st, c := store.NewMem(), &clock{t: start}
	x := open(t, st, c)
	add(t, x, identity.Draft{Content: "Go"})
	for e, err := range st.Scan(t.Context(), store.Range{Prefix: "memory"}) {
		require.NoError(t, err)
		e.Value[len(e.Value)-1] ^= 1
		_, err = st.Commit(t.Context(), store.Op{Key: e.Key, Value: e.Value})
		require.NoError(t, err)
	}
	_, err := memory.Open(t.Context(), st, nil)
	require.ErrorIs(t, err, store.ErrDamaged)
	require.NoError(t, bankOf(t, st).Close())
	_, err = x.Project(t.Context(), "", identity.Budget{})
	require.ErrorIs(t, err, store.ErrClosed)
	_, err = x.Add(t.Context(), identity.Draft{Content: "Go"})
	require.ErrorIs(t, err, store.ErrClosed)
}

func TestVisibilityWithin(t *testing.T) {
	order := []identity.Visibility{identity.Public, identity.Trusted, identity.Local}
	for i, v := range order {
		for j, limit := range order {
			require.Equal(t, i <= j, v.Within(limit))
		}
	}
}

// Two views with one seed and one clock draw the same names.
func TestSameSeed(t *testing.T) {
	st := store.NewMem()
	for range 2 {
		x, err := identity.New(bankOf(t, st), "acme/ann", &identity.Options{Now: func() time.Time { return start }, Seed: 7})
		require.NoError(t, err)
		for i := range 3 {
			add(t, x, identity.Draft{Content: fmt.Sprint("fact ", len(contents(t, x)), i)})
			visit(t, x, "go.dev", 1)
		}
	}
	x, err := identity.New(bankOf(t, st), "acme/ann", nil)
	require.NoError(t, err)
	require.Len(t, contents(t, x), 6)
	events, err := x.Recent(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, events, 6)
	for range 2 {
		x, err := identity.New(bankOf(t, st), "acme/bob", &identity.Options{Now: func() time.Time { return start }, Seed: 7})
		require.NoError(t, err)
		visit(t, x, "go.dev", 3)
		events, err = x.Recent(t.Context(), 0)
		require.NoError(t, err)
	}
	require.Len(t, events, 6)
}

// What is on disk is there after the store was closed and opened again.
func TestReopen(t *testing.T) {
	dir, c := t.TempDir(), &clock{t: start}
	var before string
	for i := range 2 {
		st, err := badger.Open(dir, nil)
		require.NoError(t, err)
		x := open(t, st, c)
		if i == 0 {
			f := add(t, x, identity.Draft{Content: "works at Acme"})
			_, err = x.Validate(t.Context(), f.ID, identity.Validation{Reason: "said so"})
			require.NoError(t, err)
			require.NoError(t, block(t, x, "Go", "no"))
			visit(t, x, "react.dev", 2)
			before = exported(t, x, identity.Local)
		}
		require.Equal(t, before, exported(t, x, identity.Local))
		require.NoError(t, bankOf(t, st).Close())
		require.NoError(t, st.Close())
	}
}

func TestNewNeedsABank(t *testing.T) {
	t.Parallel()
	_, err := identity.New(nil, "acme", nil)
	require.ErrorContains(t, err, "no bank")
}

// Facts that differ in a sign are not one.
func TestFactsThatDifferInASignAreTwo(t *testing.T) {
	for _, pair := range [][2]string{
		{"Prefers meetings < 30 minutes", "Prefers meetings > 30 minutes"},
		{"Stores the vaccine at -18 degrees", "Stores the vaccine at 18 degrees"},
		{"Blood group A-", "Blood group A"},
	} {
		x, _ := fresh(t)
		a := add(t, x, identity.Draft{Content: pair[0], Category: identity.Context})
		b := add(t, x, identity.Draft{Content: pair[1], Category: identity.Context})
		if a.ID == b.ID {
			t.Errorf("%q is lost in %q", pair[1], pair[0])
		}
	}
}

// What a person says again after it has faded begins anew.
func TestSaidAgainByHandIsConfirmed(t *testing.T) {
	x, c := fresh(t)
	f := add(t, x, identity.Draft{Content: "lives in Rome"})
	c.add(150 * 24 * time.Hour)
	again := add(t, x, identity.Draft{Content: "lives in Rome"})
	require.Equal(t, f.ID, again.ID)
	require.InDelta(t, 1, again.Effective(c.now(), 0), .01, "it begins with what a manual fact begins with")
}

func TestSameWordsOfAnotherSlotAreAnotherFact(t *testing.T) {
	x, _ := fresh(t)
	home := add(t, x, identity.Draft{Content: "Berlin", Category: identity.Context, Subject: "me", Slot: "home"})
	birth := add(t, x, identity.Draft{Content: "Berlin", Category: identity.Context, Subject: "me", Slot: "birthplace"})
	require.NotEqual(t, home.ID, birth.ID)
	require.Equal(t, "birthplace", birth.Slot)
	bob := add(t, x, identity.Draft{Content: "Berlin", Category: identity.Context, Subject: "Bob", Slot: "home"})
	require.Equal(t, "Bob", bob.Subject)
}

// What a person says later answers, though the clock was put back in between; what is to begin later does then.
func TestLaterAnswerWhenTheClockWasPutBack(t *testing.T) {
	for _, back := range []time.Duration{0, time.Minute, time.Hour, 400 * 24 * time.Hour} {
		x, c := fresh(t)
		say := func(employer string, at time.Time) {
			_, err := x.Add(t.Context(), identity.Draft{Content: "works at " + employer, Subject: "me", Slot: "employer", At: at})
			require.NoError(t, err)
			c.add(time.Second)
		}
		answer := func(at time.Time) string {
			views, err := x.List(t.Context(), identity.Filter{Subject: "me", Slot: "employer", At: at})
			require.NoError(t, err)
			return views[0].Content
		}
		c.add(500 * 24 * time.Hour)
		say("Acme", time.Time{})
		say("Initech", c.now().AddDate(3, 0, 0))
		require.Equal(t, "works at Acme", answer(time.Time{}))
		c.add(-back)
		say("Globex", time.Time{})
		require.Equal(t, "works at Globex", answer(time.Time{}), back)
		say("Hooli", time.Time{})
		say("Acme", time.Time{})
		require.Equal(t, "works at Acme", answer(time.Time{}), "once more, %v", back)
		require.Equal(t, "works at Initech", answer(c.now().AddDate(5, 0, 0)), back)
	}
}
