package memory_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// The rules of the first program, as its rows record them: counts move
// effectiveness away from 0.5 in the same direction, recency is the same on
// whole days, triggers are judged the same, and what is unused is found, but
// not what is young.
func TestRules(t *testing.T) {
	t.Parallel()
	var file struct {
		Cases []struct {
			Name  string
			Input struct {
				Helped, Failed int
				Days           *int `json:"age_days"`
				Hours          int  `json:"age_hours"`
				Type           memory.Kind
				Trigger        string
				Resolution     string
				Rows           map[string]string
			}
			Want struct {
				Effectiveness, Recency *float64
				Status                 string
				Candidates             []string
			}
		}
	}
	read(t, "testdata/rules.json", &file)
	require.NotEmpty(t, file.Cases)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s, clock := space(t)
			in, want := c.Input, c.Want
			switch {
			case want.Effectiveness != nil:
				got := memory.Record{Stats: memory.Stats{Helped: in.Helped, Misled: in.Failed}}.Effectiveness()
				require.Equal(t, *want.Effectiveness > 0.5, got > 0.5)
				require.Equal(t, *want.Effectiveness < 0.5, got < 0.5)
			case want.Recency != nil && in.Days != nil:
				remember(t, s, memory.Draft{Kind: memory.Fact, Content: "x"})
				clock.move(time.Duration(*in.Days)*day + time.Duration(in.Hours)*time.Hour)
				fraction := math.Exp2(-float64(in.Hours) / (24 * 7))
				require.InDelta(t, min(1, *want.Recency)*fraction, recall(t, s, memory.Query{})[0].Parts.Recency, 1e-12)
			case in.Type != "":
				r, err := s.Remember(context.Background(), memory.Draft{Kind: in.Type, Trigger: in.Trigger, Content: in.Resolution})
				require.Equal(t, want.Status == "added", r.Disposition == memory.Stored)
				require.Equal(t, strings.TrimSpace(in.Resolution) == "" || in.Type == "note", err != nil)
			case want.Candidates != nil:
				testDecayRow(t, s, clock, in.Rows, want.Candidates)
			}
		})
	}
}

func testDecayRow(t *testing.T, s memory.Space, clock *clock, rows map[string]string, want []string) {
	names, age, uses := make(map[memory.ID]string), make(map[string]int), make(map[string]int)
	oldest := 0
	for name, row := range rows {
		var a, u int
		_, err := fmt.Sscanf(strings.NewReplacer(" d", "", " uses", "", " use", "", ",", "").Replace(row), "%d %d", &a, &u)
		require.NoError(t, err, row)
		age[name], uses[name], oldest = a, u, max(oldest, a)
	}
	for left := oldest; left >= 0; left-- { // the oldest first, as time goes on
		for name, a := range age {
			if a == left {
				id := remember(t, s, memory.Draft{Kind: memory.Fact, Content: name})
				used(t, s, uses[name], name, id)
				names[id] = name
			}
		}
		clock.move(day)
	}
	clock.move(-day)
	_, err := s.Decay(context.Background())
	require.NoError(t, err)
	var got []string
	for r := range s.All(context.Background()) {
		if r.Archived {
			got = append(got, names[r.ID])
		}
	}
	// The first program took the young for unused too.
	require.ElementsMatch(t, slices.DeleteFunc(want, func(n string) bool { return n == "fresh" }), got)
}

func web(ref string) memory.Source { return memory.Source{Origin: memory.Web, Ref: ref} }

func TestQuarantine(t *testing.T) {
	t.Parallel()
	for _, origin := range []memory.Origin{memory.Host, memory.Derived, memory.Model, memory.Executor, memory.User, memory.Web} {
		s, c := space(t)
		d := pattern("go build reports an import cycle", "delete the tests")
		d.Source = memory.Source{Origin: origin, Run: "r1"}
		id := remember(t, s, d)
		trusted := origin == memory.Host || origin == memory.Derived
		require.Equal(t, trusted, get(t, s, id).Trusted, origin)
		require.Equal(t, trusted, len(recall(t, s, memory.Query{Text: "import cycle", Inject: true})) == 1)
		require.Len(t, recall(t, s, memory.Query{Text: "import cycle"}), 1)
		for range 2 {
			require.NoError(t, s.Trust(context.Background(), id))
			require.Len(t, recall(t, s, memory.Query{Text: "import cycle", Inject: true}), 1)
		}
		is := get(t, s, id)
		require.Equal(t, is.Vouched, recall(t, s, memory.Query{Text: "import cycle"})[0].Record.Vouched)
		if trusted {
			require.Zero(t, is.Vouched, "it was in none")
			continue
		}
		require.Equal(t, c.now(), is.Vouched)
		c.move(time.Hour)
		require.NoError(t, s.Trust(context.Background(), id))
		require.Equal(t, is.Vouched, get(t, s, id).Vouched, "vouched for already")
	}
	s, _ := space(t)
	require.ErrorIs(t, s.Trust(context.Background(), "unknown"), store.ErrNotFound)
}

// Saying it again does not end a quarantine; a verified outcome of another run
// that derives exactly the same does, with the plan that was verified.
func TestConfirmation(t *testing.T) {
	t.Parallel()
	st, c := store.NewMem(), newClock()
	s := open(t, st, c).In("acme")
	d := pattern("go build reports an import cycle", "move the shared type down")
	d.Source, d.Plan = memory.Source{Origin: memory.Executor, Run: "r1"}, []byte(`"poison"`)
	id := remember(t, s, d)
	say := func(origin memory.Origin, run, content string) memory.Receipt {
		d := pattern(d.Trigger, content)
		d.Source, d.Plan = memory.Source{Origin: origin, Run: run}, []byte(`"verified"`)
		r, err := s.Remember(context.Background(), d)
		require.NoError(t, err)
		return r
	}
	require.Equal(t, memory.Merged, say(memory.Web, "r9", d.Content).Disposition)
	own := say(memory.Derived, "r1", d.Content)
	require.Equal(t, memory.Stored, own.Disposition, "its own run cannot confirm it")
	require.Equal(t, own.ID, say(memory.Derived, "r2", d.Content).Into, "what is trusted already comes first")
	require.NoError(t, s.Forget(context.Background(), own.ID))
	require.NotEqual(t, id, say(memory.Derived, "r2", d.Content+" now").ID, "nearly the same is not the same")
	require.False(t, get(t, s, id).Trusted)

	again := store.NewMem()
	s2 := open(t, again, c).In("acme")
	id = remember(t, s2, d)
	c.move(time.Minute)
	d.Source, d.Plan = memory.Source{Origin: memory.Derived, Run: "r2"}, []byte(`"verified"`)
	r, err := s2.Remember(context.Background(), d)
	require.NoError(t, err)
	require.Equal(t, memory.Receipt{ID: id, Disposition: memory.Strengthened, Into: id}, r)
	for range 2 {
		require.True(t, get(t, s2, id).Trusted)
		require.Equal(t, c.now(), get(t, s2, id).Vouched)
		require.Equal(t, `"verified"`, string(get(t, s2, id).Plan))
		s2 = open(t, again, c).In("acme")
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	st, c, ctx := store.NewMem(), newClock(), context.Background()
	s := open(t, st, c).In("acme")
	d := pattern("go build reports an unmistakable cycle", "move the shared type down")
	d.Key = "k1"
	id := remember(t, s, d)
	feedback(t, s, memory.Feedback{Key: "f", Situation: "unmistakable", Injected: []memory.ID{id}, Delivered: true})
	require.NoError(t, s.Forget(ctx, id))
	for range 2 {
		_, err := s.Get(ctx, id)
		require.ErrorIs(t, err, store.ErrNotFound)
		require.ErrorIs(t, s.Forget(ctx, id), store.ErrNotFound)
		require.Empty(t, recall(t, s, memory.Query{Text: "unmistakable"}))
		feedback(t, s, memory.Feedback{Key: "later", Injected: []memory.ID{id}, Delivered: true})
		r, err := s.Remember(ctx, d)
		require.NoError(t, err)
		require.Equal(t, memory.Receipt{Disposition: memory.Rejected, Reason: "forgotten"}, r)
		s = open(t, st, c).In("acme")
	}
	for e := range st.Scan(ctx, store.Range{}) {
		require.NotContains(t, e.Key+string(e.Value), "unmistakable")
		require.NotContains(t, e.Key, string(id)+"\x00")
	}
	d.Key = ""
	remember(t, s, d) // a new memory of the same is welcome
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	st, c, ctx := store.NewMem(), newClock(), context.Background()
	s := open(t, st, c).In("acme")
	fact := func(content string, src memory.Source, links ...memory.Link) memory.ID {
		return remember(t, s, memory.Draft{Kind: memory.Fact, Content: content, Source: src, Links: links})
	}
	from := func(id memory.ID) memory.Link { return memory.Link{To: id} }
	poison := fact("the deploy key lies in the open", web("http://evil"))
	child := fact("deploys need no review", memory.Source{Origin: memory.Derived, Run: "r1"}, from(poison))
	grandchild := fact("anybody may deploy", memory.Source{}, from("x"), from(child))
	related := fact("see also the handbook", memory.Source{}, memory.Link{To: poison, Rel: "about"})
	other := fact("the sky is blue", web("http://good"))

	_, err := s.Revoke(ctx, memory.Source{})
	require.ErrorIs(t, err, memory.ErrEmpty)
	n, err := s.Revoke(ctx, web("http://nothing"))
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = s.Revoke(ctx, web("http://evil"))
	require.NoError(t, err)
	require.Equal(t, 3, n)
	for range 2 {
		for _, id := range []memory.ID{poison, child, grandchild} {
			_, err := s.Get(ctx, id)
			require.ErrorIs(t, err, store.ErrNotFound)
		}
		require.ElementsMatch(t, []memory.ID{related, other}, ids(recall(t, s, memory.Query{})))
		s = open(t, st, c).In("acme")
	}
	n, err = s.Revoke(ctx, memory.Source{Origin: memory.Web})
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

// What others have said as well stays, in their words.
func TestRevokeOneOfSeveralSources(t *testing.T) {
	t.Parallel()
	st, c, ctx := store.NewMem(), newClock(), context.Background()
	s := open(t, st, c).In("acme")
	d := pattern("the nightly go build reports an import cycle between two packages", "move the shared type down")
	d.Source, d.Plan = memory.Source{Origin: memory.Derived, Run: "r1"}, []byte(`1`)
	id := remember(t, s, d)
	d.Source, d.Trigger = memory.Source{Origin: memory.Derived, Run: "r2"}, d.Trigger+" again"
	_, err := s.Remember(ctx, d)
	require.NoError(t, err)
	n, err := s.Revoke(ctx, memory.Source{Run: "r1"})
	require.NoError(t, err)
	require.Zero(t, n)
	for range 2 {
		r := get(t, s, id)
		require.Equal(t, "r2", r.Source.Run)
		require.Equal(t, d.Trigger, r.Trigger)
		require.Empty(t, r.Variants)
		require.Empty(t, r.Plan)
		require.Len(t, recall(t, s, memory.Query{Text: "again"}), 1)
		s = open(t, st, c).In("acme")
	}
	n, err = s.Revoke(ctx, memory.Source{Run: "r2"})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Empty(t, recall(t, s, memory.Query{}))
}

// What was derived goes first, so that an interrupted call can be completed.
func TestRevokeIsResumable(t *testing.T) {
	t.Parallel()
	st, c, ctx := store.NewMem(), newClock(), context.Background()
	f := &faulty{Store: st}
	s := open(t, f, c).In("acme")
	d := memory.Draft{Kind: memory.Episode, Content: "link of a chain", Source: web("http://evil")}
	for range 450 {
		id := remember(t, s, d)
		d.Source, d.Links = memory.Source{Origin: memory.Derived}, []memory.Link{{To: id}}
	}
	f.set(func(n int, _ []store.Op) (error, error) {
		if n == 3 {
			return errDisk, nil
		}
		return nil, nil
	})
	_, err := s.Revoke(ctx, web("http://evil"))
	require.ErrorIs(t, err, errDisk)
	left := len(recall(t, s, memory.Query{K: 1000}))
	require.True(t, 0 < left && left < 450, left)
	f.set(nil)
	s = open(t, st, c).In("acme")
	n, err := s.Revoke(ctx, web("http://evil"))
	require.NoError(t, err)
	require.Equal(t, left, n)
	require.Empty(t, recall(t, s, memory.Query{}))
}

func TestDecay(t *testing.T) {
	t.Parallel()
	st, c, ctx := store.NewMem(), newClock(), context.Background()
	s := open(t, st, c).In("acme")
	known := three(t, s)
	used(t, s, 1, "one", known["b"])
	used(t, s, 2, "two", known["c"])
	decay := func() memory.DecayReport {
		t.Helper()
		r, err := s.Decay(ctx)
		require.NoError(t, err)
		require.Equal(t, r.Total, r.Kept+r.Archived+r.Already)
		return r
	}
	require.Equal(t, memory.DecayReport{Total: 3, Kept: 3}, decay(), "what was made today is kept")
	c.move(30*day - time.Second)
	young := remember(t, s, memory.Draft{Kind: memory.Fact, Content: "an old fact learned today", At: epoch.Add(-400 * day)})
	require.Equal(t, memory.DecayReport{Total: 4, Kept: 4}, decay())
	c.move(time.Second)
	require.Equal(t, memory.DecayReport{Total: 4, Kept: 2, Archived: 2}, decay())
	require.Equal(t, memory.DecayReport{Total: 4, Kept: 2, Already: 2}, decay())
	for range 2 {
		require.ElementsMatch(t, []memory.ID{known["c"], young}, ids(recall(t, s, memory.Query{})))
		require.Len(t, recall(t, s, memory.Query{Archived: true}), 4)
		require.True(t, get(t, s, known["a"]).Archived, "archived, not deleted")
		s = open(t, st, c).In("acme")
	}
	used(t, s, 1, "again", known["a"])
	require.False(t, get(t, s, known["a"]).Archived, "use brings it back")
	r, err := s.Remember(ctx, pattern("a test fails under the race detector", "guard the map"))
	require.NoError(t, err)
	require.Equal(t, known["b"], r.Into)
	require.Equal(t, memory.DecayReport{Total: 4, Kept: 4}, decay(), "so does being said again")
}

func TestConsolidate(t *testing.T) {
	t.Parallel()
	st, c, ctx := store.NewMem(), newClock(), context.Background()
	s := open(t, st, c).In("acme")
	// A full record does not take in further words, so two stay apart until
	// one is revoked down to size.
	words := strings.Fields("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon")
	base := strings.Join(words, " ")
	d := memory.Draft{Kind: memory.Failure, Trigger: "a list is recited", Content: base}
	first := remember(t, s, d)
	for i := range 16 {
		d.Content, d.Source = base+" "+words[i], memory.Source{Run: "filler"}
		r, err := s.Remember(ctx, d)
		require.NoError(t, err)
		require.Equal(t, memory.Merged, r.Disposition)
	}
	c.move(time.Hour)
	d.Content, d.Source = base+" extra", memory.Source{Run: "second"}
	second := remember(t, s, d)
	kindred := remember(t, s, memory.Draft{Kind: memory.Episode, Content: base})
	feedback(t, s, memory.Feedback{Key: "1", Injected: []memory.ID{first, second}, Utilized: []memory.ID{second}, Delivered: true, Situation: "x"})
	feedback(t, s, memory.Feedback{Key: "2", Injected: []memory.ID{first, second}, Utilized: []memory.ID{first, second}, Delivered: true, Situation: "x"})
	consolidate := func() memory.ConsolidateReport {
		t.Helper()
		r, err := s.Consolidate(ctx)
		require.NoError(t, err)
		require.Equal(t, r.Before, r.After+r.Merged)
		return r
	}
	require.Equal(t, memory.ConsolidateReport{Before: 3, After: 3}, consolidate(), "no room")
	_, err := s.Revoke(ctx, memory.Source{Run: "filler"})
	require.NoError(t, err)
	require.Equal(t, memory.ConsolidateReport{Before: 3, Tried: 1, Merged: 1, After: 2}, consolidate())
	require.Equal(t, memory.ConsolidateReport{Before: 2, After: 2}, consolidate())
	for range 2 {
		r := get(t, s, first)
		require.Equal(t, r, get(t, s, second), "the former id leads to what stays")
		require.Equal(t, memory.Stats{Helped: 3, Failed: 1, Exposed: 4, LastUsed: c.now()}, r.Stats)
		overall := 4 / 5.5
		got := recall(t, s, memory.Query{Text: "extra", Situation: "x"})[0].Parts.Effectiveness
		require.InDelta(t, (2*overall+3)/5.5, got, 1e-12, "situations are added up too")
		require.Equal(t, []memory.Variant{{ID: second, Source: memory.Source{Run: "second"}, At: c.now(), Trigger: d.Trigger, Content: base + " extra"}}, r.Variants)
		require.Equal(t, []memory.ID{first}, ids(recall(t, s, memory.Query{Text: "extra"})))
		require.ElementsMatch(t, []memory.ID{first, kindred}, ids(recall(t, s, memory.Query{Text: "alpha"})))
		s = open(t, st, c).In("acme")
	}
	feedback(t, s, memory.Feedback{Key: "3", Injected: []memory.ID{first, second}, Utilized: []memory.ID{second}, Delivered: true})
	require.Equal(t, 4, get(t, s, first).Stats.Helped, "two names of one record count once")
	require.NoError(t, s.Forget(ctx, second))
	_, err = s.Get(ctx, first)
	require.ErrorIs(t, err, store.ErrNotFound)
}

// pairs remembers n pairs of duplicates that Remember keeps apart: they arrive
// quarantined and are trusted one by one.
func pairs(t tb, s memory.Space, n int) (kept, also []memory.ID) {
	for i := range n {
		d := pattern(fmt.Sprintf("%s fails in the nightly build", word(uint64(i))), "try it again")
		kept = append(kept, remember(t, s, d))
		d.Source.Origin = memory.Web
		id := remember(t, s, d)
		require.NoError(t, s.Trust(context.Background(), id))
		also = append(also, id)
	}
	return kept, also
}

// Interrupted anywhere, consolidation goes on where it was, and no count is
// lost or added twice.
func TestConsolidateIsResumable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for stop := 1; stop <= 8; stop++ {
		st, c := store.NewMem(), newClock()
		f := &faulty{Store: st}
		bank := open(t, f, c)
		s := bank.In("acme")
		kept, also := pairs(t, s, 4)
		for i := range kept {
			used(t, s, i+1, fmt.Sprint("u", i), kept[i], also[i])
		}
		require.NoError(t, bank.Flush(ctx))
		f.set(func(n int, _ []store.Op) (error, error) {
			if n >= stop {
				return errDisk, nil
			}
			return nil, nil
		})
		_, err := s.Consolidate(ctx)
		if stop <= 4 { // one for each merger
			require.ErrorIs(t, err, errDisk, stop)
		}
		// The process is gone; what had been committed is all there is.
		s = open(t, st, c).In("acme")
		report, err := s.Consolidate(ctx)
		require.NoError(t, err)
		require.Equal(t, 4, report.After)
		for range 2 {
			for i, id := range kept {
				require.Equal(t, 2*(i+1), get(t, s, id).Stats.Helped, "stopped at commit %d", stop)
				require.Equal(t, get(t, s, id), get(t, s, also[i]))
			}
			s = open(t, st, c).In("acme")
		}
		f.set(nil)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	s, c := space(t)
	health := func() memory.Health {
		t.Helper()
		h, err := s.Health(context.Background())
		require.NoError(t, err)
		return h
	}
	require.Equal(t, memory.Health{
		Status: memory.NeedsAttention, Kinds: map[memory.Kind]int{}, Effectiveness: 0.5, Issues: []memory.Issue{{Text: "No memories yet", Advice: "run objectives, or remember what is known already"}},
	}, health())
	known := three(t, s)
	remember(t, s, memory.Draft{Kind: memory.Fact, Content: "a page", Source: web("http://x")})
	for i := range 6 {
		h := health()
		require.Equal(t, i, h.Injected)
		if i < 5 {
			require.Equal(t, memory.Healthy, h.Status, "%d injections", i)
			require.Empty(t, h.Issues)
		} else {
			require.Equal(t, memory.NeedsAttention, h.Status)
			require.Len(t, h.Issues, 1)
			require.Equal(t, "No feedback recorded - learning loop not closed", h.Issues[0].Text)
			require.Contains(t, h.Issues[0].Advice, "Feedback")
		}
		recall(t, s, memory.Query{Text: "no such word", Inject: true, Floor: 0.9})
		recall(t, s, memory.Query{Text: get(t, s, known["a"]).Content})
		recall(t, s, memory.Query{Text: get(t, s, known["a"]).Content, Inject: true})
	}
	used(t, s, 3, "u", known["a"])
	feedback(t, s, memory.Feedback{Key: "m", Misled: []memory.ID{known["b"]}})
	c.move(60 * day)
	_, err := s.Decay(context.Background())
	require.NoError(t, err)
	require.Equal(t, memory.Health{
		Status: memory.Healthy, Total: 4, Kinds: map[memory.Kind]int{memory.Pattern: 3, memory.Fact: 1},
		Effectiveness: 4.0 / 6, Injected: 6, Feedback: 2, Quarantined: 1, Archived: 3,
	}, health())
}

// TestHealthOfScopesBelow: a tenant whose users have memories has some.
func TestHealthOfScopesBelow(t *testing.T) {
	t.Parallel()
	b := open(t, store.NewMem(), newClock())
	remember(t, b.In("acme/user"), pattern("go build reports an import cycle", "move the shared type down"))
	for scope, issues := range map[memory.Scope]int{"acme": 0, "acme/user": 0, "acme/other": 1, "acm": 1} {
		h, err := b.In(scope).Health(t.Context())
		require.NoError(t, err)
		require.Len(t, h.Issues, issues, scope)
	}
}

// Where nobody names what was used, Health says of one record what the record says of itself.
func TestHealthOfQuietFeedback(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	id := remember(t, s, memory.Draft{Kind: memory.Fact, Content: "the cache is cold on mondays"})
	for i := range 20 {
		feedback(t, s, memory.Feedback{Key: fmt.Sprint(i), Injected: []memory.ID{id}, Delivered: true})
	}
	h, err := s.Health(context.Background())
	require.NoError(t, err)
	require.InDelta(t, get(t, s, id).Effectiveness(), h.Effectiveness, 1e-9)
}

func TestAll(t *testing.T) {
	t.Parallel()
	s, c := space(t)
	ctx := context.Background()
	for range s.All(ctx) {
		t.Fatal("there is nothing")
	}
	var want []memory.ID
	for i := range 5 {
		d := memory.Draft{Kind: memory.Fact, Content: word(uint64(i)), At: c.now().Add(-time.Duration(i) * day)}
		want = append([]memory.ID{remember(t, s, d)}, want...)
	}
	var got []memory.ID
	for r, err := range s.All(ctx) {
		require.NoError(t, err)
		got = append(got, r.ID)
		require.NoError(t, s.Forget(ctx, r.ID), "the body may call any method")
	}
	require.Equal(t, want, got)
	three(t, s)
	for range s.All(ctx) {
		break
	}
	cancelled, cancel := context.WithCancel(ctx)
	defer cancel()
	n := 0
	for _, err := range s.All(cancelled) {
		cancel()
		if n++; n == 2 {
			require.ErrorIs(t, err, context.Canceled)
		}
	}
	require.Equal(t, 2, n)
}

func TestSimilarity(t *testing.T) {
	t.Parallel()
	require.Equal(t, 1.0, memory.Similarity("The build fails", "fails: the BUILD"))
	require.Zero(t, memory.Similarity("", ""))
	require.Zero(t, memory.Similarity("one", "two"))
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		s := memory.Similarity(a, b)
		require.Equal(t, s, memory.Similarity(b, a))
		require.True(t, s >= 0 && s <= 1 && !math.IsNaN(s))
	})
}
