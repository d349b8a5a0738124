package learn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	scope     = memory.Scope("acme")
	situation = "go test panics: assignment to entry in nil map"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

type parts struct {
	bank    *memory.Bank
	book    *rank.Book
	monitor *meta.Monitor
	learner *learn.Learner
}

func open(ctx context.Context, st store.Store, opts *learn.Options) (p parts, err error) {
	now := func() time.Time { return noon }
	if p.bank, err = memory.Open(ctx, st, &memory.Options{Now: now, Seed: 1}); err != nil {
		return p, err
	}
	if p.book, err = rank.Open(ctx, st, &rank.Options{Now: now, Seed: 1}); err != nil {
		return p, err
	}
	if p.monitor, err = meta.Open(ctx, st, &meta.Options{Now: now}); err != nil {
		return p, err
	}
	p.learner, err = learn.New(p.bank, p.book, p.monitor, opts)
	return p, err
}

func (p parts) close() error {
	return errors.Join(p.bank.Close(), p.book.Close(), p.monitor.Close())
}

func setup(t *testing.T, opts *learn.Options) parts {
	t.Helper()
	p, err := open(t.Context(), store.NewMem(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.close()) })
	return p
}

// hits are memories as they were recalled.
func (p parts) hits(t *testing.T, ids ...memory.ID) (out []memory.Hit) {
	t.Helper()
	for _, id := range ids {
		r, err := p.bank.In(scope).Get(t.Context(), id)
		require.NoError(t, err)
		out = append(out, memory.Hit{Record: r})
	}
	return out
}

// named is a case whose host names the situation, and the thing as an input.
func named(thing string) learn.Case {
	return learn.Case{Vouched: true, Inputs: fmt.Appendf(nil, `{"thing":%q}`, thing)}
}

// ask asks about a thing in the situation.
func ask(thing string) learn.Ask {
	return learn.Ask{Scope: scope, Situation: situation, Objective: thing, Case: named(thing)}
}

// attempt is an attempt of a run at mending something.
func attempt(run, objective string, passed bool) learn.Outcome {
	return learn.Outcome{
		Key: run + "/1", GoalKey: run + "/goal/0", Run: run, Session: "s", Scope: scope, At: noon,
		Objective: objective, Situation: situation, Case: named(objective), Approach: "make the map",
		Skill: "edit", Worker: "fixer", End: act.Finished, Passed: passed, Wall: time.Second,
		Result: act.Result{Reflection: iar.Reflection{Status: iar.Success, Confidence: 0.9, Summary: "edited"}},
	}
}

func delivered(run, objective string) learn.Outcome {
	o := attempt(run, objective, true)
	o.Task, o.Goal = learn.Delivered, learn.Delivered
	o.Plan = []reason.Task{{Objective: "edit for: " + objective, Verify: "go test", Skill: "edit", Worker: "fixer"}}
	return o
}

func blocked(run, objective string) learn.Outcome {
	o := attempt(run, objective, false)
	o.Task, o.Goal, o.Complaint = learn.Blocked, learn.Blocked, "still nil"
	o.Failed = []reason.FailedAttempt{{Objective: objective, Worker: "fixer", Complaint: "still\nnil"}}
	return o
}

func Example() {
	ctx := context.Background()
	p, err := open(ctx, store.NewMem(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.close()
	for _, name := range []string{"the cache", "the pool"} {
		if _, err := p.learner.Learn(ctx, delivered("run of "+name, name)); err != nil {
			fmt.Println(err)
		}
	}
	a := learn.Ask{
		Scope: scope, Situation: situation, Objective: "the index",
		Case: learn.Case{Vouched: true, Inputs: []byte(`{"thing":"the index"}`)},
	}
	found, err := p.learner.Recall(ctx, a)
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(found.Hits[0].Record.Content)
	chunk, fires := learn.Fire(p.learner.Match(found.Hits, a), nil)
	fmt.Println(fires, chunk.Approach, chunk.Tasks[0].Objective, chunk.Tasks[0].Worker)
	// Output:
	// What worked: make the map.
	// 1. edit for: {thing} (edit), done by fixer
	// Case 145761062.
	// true make the map edit for: the index fixer
}

func TestChunkFiresOnlyWhenItIsProven(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := setup(t, nil)
	fires := func(sit string, except ...memory.ID) (learn.Chunk, bool) {
		t.Helper()
		a := ask("the index")
		a.Situation = sit
		found, err := p.learner.Recall(ctx, a)
		require.NoError(t, err)
		return learn.Fire(p.learner.Match(found.Hits, a), except)
	}
	_, err := p.learner.Learn(ctx, delivered("one", "the cache"))
	require.NoError(t, err)
	_, ok := fires(situation)
	require.False(t, ok, "once is not enough")

	l, err := p.learner.Learn(ctx, delivered("two", "the pool"))
	require.NoError(t, err)
	require.Equal(t, memory.Strengthened, l.Chunk.Disposition)
	chunk, ok := fires(situation)
	require.True(t, ok)
	require.Equal(t, l.Chunk.Into, chunk.ID)
	_, ok = fires("go test panics: index out of range")
	require.False(t, ok, "another situation")
	_, ok = fires(situation, chunk.ID)
	require.False(t, ok, "it has failed for this goal")

	o := attempt("three", "the index", false)
	o.Fired, o.Injected = chunk.ID, p.hits(t, chunk.ID)
	_, err = p.learner.Learn(ctx, o)
	require.NoError(t, err)
	charged, err := p.bank.In(scope).Get(ctx, chunk.ID)
	require.NoError(t, err)
	require.Equal(t, 1, charged.Stats.Misled)
	_, ok = fires(situation)
	require.False(t, ok, "it has misled as often as it has helped")

	_, ok = learn.Fire(setup(t, &learn.Options{FireAfter: -1}).learner.Match(nil, ask("x")), nil)
	require.False(t, ok)
}

func TestPatternOfAModelNeverFires(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := setup(t, &learn.Options{FireAfter: 1})
	r, err := p.bank.In(scope).Remember(ctx, memory.Draft{
		Kind: memory.Pattern, Trigger: situation, Content: "trust me", Source: memory.Source{Origin: memory.Model},
		Plan: []byte(`{"Tasks":[{"Objective":"rm -rf"}]}`),
	})
	require.NoError(t, err)
	hits, err := p.bank.In(scope).Recall(ctx, memory.Query{Text: situation})
	require.NoError(t, err)
	require.Equal(t, r.ID, hits[0].Record.ID)
	_, ok := learn.Fire(p.learner.Match(hits, ask("x")), nil)
	require.False(t, ok)
	found, err := p.learner.Recall(ctx, learn.Ask{Scope: scope, Situation: situation, Objective: "x"})
	require.NoError(t, err)
	require.Empty(t, found.Hits[:found.Trusted], "nor is it injected")
}

func TestLearnIsIdempotent(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := setup(t, nil)
	first, err := p.learner.Learn(ctx, delivered("one", "the cache"))
	require.NoError(t, err)
	id := first.Chunk.ID
	again := attempt("two", "the pool", true)
	again.Task, again.Goal = learn.Delivered, learn.Delivered
	again.Injected, again.Utilized, again.Fired = p.hits(t, id), nil, id
	for range 3 {
		_, err = p.learner.Learn(ctx, again)
		require.NoError(t, err)
		got, err := p.learner.Learn(ctx, delivered("one", "the cache"))
		require.NoError(t, err)
		require.Equal(t, first, got)
		_, err = p.learner.Learn(ctx, blocked("three", "the log"))
		require.NoError(t, err)
	}
	rec, err := p.bank.In(scope).Get(ctx, id)
	require.NoError(t, err)
	require.Equal(t, []int{1, 0, 0}, []int{rec.Stats.Helped, rec.Stats.Failed, rec.Stats.Misled})
	stats, err := p.book.Stats(ctx, "fixer", "edit")
	require.NoError(t, err)
	require.Equal(t, 3, stats.Samples)
	as, err := p.monitor.Assess(ctx, "s")
	require.NoError(t, err)
	require.Equal(t, []int{3, 2}, []int{as.Total, as.Successes})
}

// A delivery credits a pattern once, whether it was shaped by it, says the
// same, says nearly the same, or all of these.
func TestDeliveryCountsOnce(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*learn.Outcome){
		"the same":        func(*learn.Outcome) {},
		"nearly the same": func(o *learn.Outcome) { o.Plan[0].Objective = "the edit for: " + o.Objective },
		"not applied":     func(o *learn.Outcome) { o.Utilized = nil },
		"not injected":    func(o *learn.Outcome) { o.Injected = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testDeliveryCountsOnce(t, change)
		})
	}
}

func testDeliveryCountsOnce(t *testing.T, change func(*learn.Outcome)) {
	ctx := t.Context()
	p := setup(t, nil)
	l, err := p.learner.Learn(ctx, delivered("one", "the cache"))
	require.NoError(t, err)
	o := delivered("two", "the pool")
	o.Injected, o.Utilized = p.hits(t, l.Chunk.ID), []memory.ID{l.Chunk.ID}
	change(&o)
	for range 2 {
		got, err := p.learner.Learn(ctx, o)
		require.NoError(t, err)
		require.Equal(t, l.Chunk.ID, got.Chunk.Into)
	}
	rec, err := p.bank.In(scope).Get(ctx, l.Chunk.ID)
	require.NoError(t, err)
	require.Equal(t, 1, rec.Stats.Helped)
}

func TestBlockedGoalPunishesNoBystander(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := setup(t, nil)
	l, err := p.learner.Learn(ctx, delivered("one", "the cache"))
	require.NoError(t, err)
	o := blocked("two", "the pool")
	o.Injected, o.Utilized = p.hits(t, l.Chunk.ID), []memory.ID{l.Chunk.ID}
	l, err = p.learner.Learn(ctx, o)
	require.NoError(t, err)
	rec, err := p.bank.In(scope).Get(ctx, o.Injected[0].Record.ID)
	require.NoError(t, err)
	require.Zero(t, rec.Stats.Helped+rec.Stats.Failed+rec.Stats.Misled)
	failure, err := p.bank.In(scope).Get(ctx, l.Failure.ID)
	require.NoError(t, err)
	require.Equal(t, memory.Failure, failure.Kind)
	require.Equal(t, situation, failure.Trigger)
	require.Contains(t, failure.Content, "Obstacle: still nil\nTried fixer: still nil\n")
}

func TestOutcomeThatNobodyJudgedIsUnknown(t *testing.T) {
	t.Parallel()
	p := setup(t, nil)
	o := attempt("one", "the cache", false)
	o.Faulty = true
	_, err := p.learner.Learn(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, p.learner.Flush(t.Context()))
	ranking, err := p.book.Observed().Score(t.Context(), learn.Situation("edit", situation), []rank.Candidate{{Name: "fixer"}})
	require.NoError(t, err)
	require.Equal(t, 1, ranking[0].Samples)
	require.Zero(t, ranking[0].Parts.Known)
}

// What is judged is the attempt: its worker has none more.
func TestVerdictIsAboutTheAttempt(t *testing.T) {
	t.Parallel()
	p := setup(t, nil)
	o := delivered("one", "the cache")
	o.Wall = time.Minute
	_, err := p.learner.Learn(t.Context(), o)
	require.NoError(t, err)
	for i, work := range []learn.Outcome{{Key: o.Key, Skill: "edit", Worker: "fixer"}, {Skill: "edit", Worker: "fixer"}} {
		j := learn.Judgement{Key: fmt.Sprint("v", i), Session: "s", Situation: situation, At: o.At, Work: []learn.Outcome{work}}
		require.NoError(t, p.learner.Judge(t.Context(), j))
		stats, err := p.book.Stats(t.Context(), "fixer", "edit")
		require.NoError(t, err)
		require.Equal(t, []int{1, 1, 0}, []int{stats.Samples, stats.Known, stats.Successes})
		require.Equal(t, time.Minute, stats.Wall)
	}
}

func TestSituationIsAKey(t *testing.T) {
	t.Parallel()
	require.Equal(t, rank.Situation{Skill: "edit", Key: "short", Words: rank.WordsOf("short")}, learn.Situation("edit", "short"))
	long, other := learn.Situation("", strings.Repeat("x", 1000)), learn.Situation("", strings.Repeat("x", 1001))
	require.NotEqual(t, long, other)
	for _, s := range []rank.Situation{long, learn.Situation("", "two\nlines"), learn.Situation("", "\xff")} {
		require.Len(t, s.Key, 16)
	}
}

func TestLessonThatDoesNotFitIsSkipped(t *testing.T) {
	t.Parallel()
	p := setup(t, nil)
	o := delivered("one", "the cache")
	for range 9 {
		o.Plan = append(o.Plan, reason.Task{Objective: strings.Repeat("x", 64<<10)})
	}
	l, err := p.learner.Learn(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, memory.Rejected, l.Chunk.Disposition)
	require.NotEmpty(t, l.Chunk.Reason)
}

func TestOptionsOutOfRangeAreListed(t *testing.T) {
	t.Parallel()
	_, err := learn.New(nil, nil, nil, &learn.Options{Floor: 1.5, Holdout: 0.6})
	require.ErrorContains(t, err, "Floor")
	require.ErrorContains(t, err, "Holdout")
}

func TestRecallCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	p := setup(t, &learn.Options{Recall: -1})
	_, err := p.learner.Learn(t.Context(), delivered("one", "the cache"))
	require.NoError(t, err)
	found, err := p.learner.Recall(t.Context(), learn.Ask{Scope: scope, Situation: situation, Objective: "x"})
	require.NoError(t, err)
	require.Empty(t, found.Hits)
}

func TestOnlyWhatIsRelevantIsRecalled(t *testing.T) {
	t.Parallel()
	p := setup(t, &learn.Options{Floor: 0.5})
	_, err := p.learner.Learn(t.Context(), delivered("one", "the cache"))
	require.NoError(t, err)
	for text, want := range map[string]int{situation: 1, "a page about something else, with a map": 0, " \n": 0} {
		found, err := p.learner.Recall(t.Context(), learn.Ask{Scope: scope, Situation: text, Objective: text})
		require.NoError(t, err)
		require.Len(t, found.Hits, want, text)
	}
}

// What a host has given a trigger comes first, whatever its words; what a memory was
// drawn from comes along, last.
func TestTriggersComeFirstAndSourcesAlong(t *testing.T) {
	t.Parallel()
	p := setup(t, nil)
	s := p.bank.In(scope)
	keep := func(d memory.Draft) memory.ID {
		r, err := s.Remember(t.Context(), d)
		require.NoError(t, err)
		return r.ID
	}
	source := keep(memory.Draft{Kind: memory.Episode, Content: "Said at the meeting, all of us agreed."})
	fact := keep(memory.Draft{Kind: memory.Fact, Content: "An assignment to a nil map panics: make the map.", Links: []memory.Link{{To: source}}})
	preference := keep(memory.Draft{Kind: memory.Fact, Content: "Ann wants tabs.", Triggers: []string{"go test"}})
	keep(memory.Draft{Kind: memory.Fact, Content: "Bob wants spaces.", Triggers: []string{"cargo test"}})
	ids := func(l *learn.Learner) (out []memory.ID) {
		f, err := l.Recall(t.Context(), ask("the cache"))
		require.NoError(t, err)
		require.Equal(t, len(f.Hits), f.Trusted)
		for _, h := range f.Hits {
			out = append(out, h.Record.ID)
		}
		return out
	}
	require.Equal(t, []memory.ID{preference, fact, source}, ids(p.learner))
	two, err := learn.New(p.bank, p.book, p.monitor, &learn.Options{Recall: 2})
	require.NoError(t, err)
	require.Equal(t, []memory.ID{preference, fact}, ids(two))
}

// A GoalKey that no key of a memory can begin with is refused before anything is learned.
func TestBadGoalKeyTeachesNothing(t *testing.T) {
	t.Parallel()
	p := setup(t, nil)
	for _, k := range []string{strings.Repeat("g", 251), "a\nb", "b\xff"} {
		o := blocked("one", "parser")
		o.GoalKey = k
		_, err := p.learner.Learn(t.Context(), o)
		require.Error(t, err)
		require.Error(t, p.learner.Judge(t.Context(), learn.Judgement{
			Key: "j", Session: "s", Scopes: []memory.Scope{scope}, GoalKey: k, At: noon, Work: []learn.Outcome{o},
		}))
	}
	for s, err := range p.book.Samples(t.Context(), time.Time{}) {
		require.NoError(t, err)
		require.Fail(t, "it was observed", s.Key)
	}
}
