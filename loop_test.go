package arc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

const situation = "go test panics: assignment to entry in nil map"

func TestDeliveredTaskIsReportedWithItsOutput(t *testing.T) {
	t.Parallel()
	s := &script{}
	r := run(t, agent(t, s.host(), nil), arc.Objective{Text: "mend the cache", Situation: situation, Inputs: []byte(`{"dir":"cache"}`)})
	require.Equal(t, arc.Delivered, r.Status)
	require.Empty(t, r.Reason)
	require.Len(t, r.Deliveries, 1)
	require.JSONEq(t, `"ok"`, string(r.Deliveries[0].Output))
	require.Equal(t, "worker", r.Deliveries[0].Worker)
	require.Equal(t, []int{1, 1, 0}, []int{r.Attempts, r.Deliberations, r.Fired})
	require.JSONEq(t, `{"dir":"cache"}`, string(s.briefs[0].Inputs))
	require.Equal(t, []string{"work"}, s.briefs[0].Skills)
	require.JSONEq(t, `{"dir":"cache"}`, string(s.work[0].Inputs))
	require.Equal(t, []float64{0.95}, r.Resonance)
	require.Len(t, r.Learned, 1)
}

func TestComplaintGoesIntoTheNextAttempt(t *testing.T) {
	t.Parallel()
	s := &script{
		do: func(n int, w act.Work) (act.Result, error) {
			if w.Complaint == "" {
				return done(`"bad"`), nil
			}
			return done(`"good"`), nil
		},
		judge: func(_ act.Work, r act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: string(r.Output) == `"good"`, Complaint: "make it good"}, nil
		},
	}
	r := run(t, agent(t, s.host(), nil), arc.Objective{Text: "mend the cache"})
	require.Equal(t, arc.Delivered, r.Status)
	require.Equal(t, 2, r.Attempts)
	require.Equal(t, "make it good", s.work[1].Complaint)
	require.Equal(t, []int{1, 2}, []int{s.work[0].Attempt, s.work[1].Attempt})
	require.NotEqual(t, s.work[0].Key, s.work[1].Key)
}

func TestBlockedGoalLeavesAFailureToRecall(t *testing.T) {
	t.Parallel()
	s := &script{judge: fail("still nil")}
	a := agent(t, s.host("one", "two"), nil)
	r := run(t, a, arc.Objective{Text: "mend the cache", Situation: situation})
	require.Equal(t, arc.Blocked, r.Status)
	require.Equal(t, 3, r.Attempts)
	require.Contains(t, r.Reason, "still nil")
	require.Empty(t, r.Deliveries)
	hits, err := a.In("").Memory().Recall(t.Context(), memory.Query{Text: situation})
	require.NoError(t, err)
	hits = slices.DeleteFunc(hits, warning)
	require.Len(t, hits, 1)
	require.Equal(t, memory.Failure, hits[0].Record.Kind)
	require.Contains(t, hits[0].Record.Content, "Tried two, 2 times: still nil\nTried one: still nil\n")
	require.Equal(t, s.work[0].Task.Worker, s.work[1].Task.Worker, "it has heard the complaint")

	run(t, a, arc.Objective{Text: "mend the pool", Situation: situation})
	require.Empty(t, s.briefs[1].Memories, "what a gate complained is not known for true")
	require.Len(t, s.briefs[1].Background, 1, "the failure is told to the next run")
}

// mend is an objective about a thing, which is an input as well.
func mend(thing string) arc.Objective {
	return arc.Objective{Text: "mend the " + thing, Situation: situation, Inputs: fmt.Appendf(nil, `{"thing":%q}`, thing)}
}

func TestChunkFiresAfterTwoDeliveries(t *testing.T) {
	t.Parallel()
	s := &script{}
	a := agent(t, s.host(), nil)
	for i, name := range []string{"cache", "pool", "index"} {
		r := run(t, a, mend(name))
		require.Equal(t, arc.Delivered, r.Status)
		require.Equal(t, min(i/2, 1), r.Fired, name)
		require.Equal(t, 1-r.Fired, r.Deliberations, name)
	}
	require.Len(t, s.briefs, 2)
	require.Equal(t, "mend the index", s.work[2].Task.Objective, "the plan is about the objective at hand")
	r := run(t, a, arc.Objective{Text: "mend the log", Situation: situation, Fresh: true})
	require.Zero(t, r.Fired)
	require.Empty(t, s.briefs[2].Memories)
	require.Empty(t, s.briefs[2].Background)
	r = run(t, a, arc.Objective{Text: "translate the manual", Situation: "a text in another language"})
	require.Zero(t, r.Fired)
}

func TestChunkThatFailsPaysAndDeliberationTakesOver(t *testing.T) {
	t.Parallel()
	s := &script{}
	a := agent(t, s.host("good", "other"), nil)
	for _, name := range []string{"cache", "pool"} {
		run(t, a, mend(name))
	}
	before := recallOne(t, a, memory.Pattern)
	require.Equal(t, 1, before.Stats.Helped)

	s.judge = func(w act.Work, _ act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: w.Attempt == 1 && len(s.briefs) == 3, Complaint: "not this time"}, nil
	}
	r := run(t, a, mend("index"))
	require.Equal(t, arc.Delivered, r.Status)
	require.Equal(t, []int{1, 1, 2}, []int{r.Fired, r.Deliberations, r.Attempts})
	require.Len(t, s.briefs[2].Failed, 1, "the reasoner is told what the chunk tried")
	after, err := a.In("").Memory().Get(t.Context(), before.ID)
	require.NoError(t, err)
	require.Equal(t, 1, after.Stats.Misled)
	require.Less(t, after.Effectiveness(), before.Effectiveness())
}

func recallOne(t *testing.T, a *arc.Agent, kind memory.Kind) memory.Record {
	t.Helper()
	hits, err := a.In("").Memory().Recall(t.Context(), memory.Query{Text: situation, Kinds: []memory.Kind{kind}})
	require.NoError(t, err)
	require.Len(t, hits, 1)
	return hits[0].Record
}

func TestImpasseIsResolvedInASubgoal(t *testing.T) {
	t.Parallel()
	s := &script{decide: func(n int, b reason.Brief) (reason.Decision, error) {
		if len(b.Goals) == 0 && len(b.Lineage) == 0 {
			return reason.Decision{Impasse: &reason.Impasse{Kind: "missing_capability", Reason: "no key", Subgoal: "get a key"}}, nil
		}
		return plan(b.Objective), nil
	}}
	r := run(t, agent(t, s.host(), nil), arc.Objective{Text: "open the door"})
	require.Equal(t, arc.Delivered, r.Status)
	require.Equal(t, []string{"open the door"}, s.briefs[1].Goals)
	require.Equal(t, "get a key", s.briefs[1].Objective)
	require.Len(t, s.briefs[2].Lineage, 1)
	require.Len(t, r.Deliveries, 2)
	require.Equal(t, "get a key", s.work[1].Lineage[0].Task.Objective)
}

func TestSubgoalsCannotGoInCircles(t *testing.T) {
	t.Parallel()
	stuck := func(subgoal string) reason.Decision {
		return reason.Decision{Impasse: &reason.Impasse{Kind: "no_approach", Reason: "lost", Subgoal: subgoal}}
	}
	for name, decide := range map[string]func(int, reason.Brief) (reason.Decision, error){
		"itself":  func(int, reason.Brief) (reason.Decision, error) { return stuck(" Open the Door "), nil },
		"a cycle": func(n int, _ reason.Brief) (reason.Decision, error) { return stuck([]string{"a", "b", "a"}[n-1]), nil },
		"deep":    func(n int, _ reason.Brief) (reason.Decision, error) { return stuck(strings.Repeat("x", n)), nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{decide: decide}
			r := run(t, agent(t, s.host(), nil), arc.Objective{Text: "open the door"})
			require.Equal(t, arc.Blocked, r.Status)
			require.Contains(t, r.Reason, "no_approach")
			require.LessOrEqual(t, len(s.briefs), 16)
			require.Empty(t, s.work)
		})
	}
}

func TestUnclearObjectiveAsksAndGoesOnWithTheAnswer(t *testing.T) {
	t.Parallel()
	s := &script{decide: func(_ int, b reason.Brief) (reason.Decision, error) {
		if len(b.Answers) == 0 {
			return reason.Decision{Complexity: reason.Unclear, Questions: []string{"which door?"}}, nil
		}
		return plan(b.Objective + ": " + b.Answers[0].Text), nil
	}}
	a := agent(t, s.host(), nil)
	r := run(t, a, arc.Objective{ID: "door", Text: "open the door"})
	require.Equal(t, arc.Asking, r.Status)
	require.Equal(t, []string{"which door?"}, r.Questions)

	again, err := a.In("").Resume(t.Context(), "door")
	require.NoError(t, err)
	require.Equal(t, r, again)

	r, err = a.In("").Answer(t.Context(), "door", "the red one")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status)
	require.Equal(t, "open the door: the red one", r.Deliveries[0].Task.Objective)

	_, err = a.In("").Answer(t.Context(), "door", "no, the blue one")
	require.ErrorIs(t, err, arc.ErrNotAsking)
}

func TestLineageAndPlanOfSeveralTasks(t *testing.T) {
	t.Parallel()
	big := `"` + strings.Repeat("x", 10_000) + `"`
	s := &script{
		decide: func(_ int, b reason.Brief) (reason.Decision, error) {
			d := plan("first")
			d.Tasks = append(d.Tasks, reason.Task{Objective: "second", Skill: "work"}, reason.Task{Objective: "third", Skill: "work"})
			return d, nil
		},
		do: func(n int, w act.Work) (act.Result, error) {
			require.Len(t, w.Lineage, n-1)
			if n > 1 {
				require.Equal(t, big, string(w.Lineage[0].Output))
			}
			return done(big), nil
		},
	}
	a := agent(t, s.host(), nil)
	r := run(t, a, arc.Objective{Text: "three things", Situation: situation})
	require.Equal(t, arc.Delivered, r.Status)
	require.Len(t, r.Deliveries, 3)
	require.Equal(t, big, string(r.Deliveries[2].Output))
	require.Contains(t, recallOne(t, a, memory.Pattern).Content, "3. third (work), done by worker")
}
