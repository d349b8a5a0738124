package arc_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// kinds runs an objective to its end and returns what happened.
func kinds(t *testing.T, a *arc.Agent, o arc.Objective) (out []arc.EventKind) {
	t.Helper()
	for e, err := range a.Events(t.Context(), o) {
		require.NoError(t, err)
		require.False(t, e.At.IsZero())
		require.NotEmpty(t, e.Run)
		require.NotEmpty(t, e.Goal)
		out = append(out, e.Kind)
	}
	return out
}

// attempted is what happens in an attempt that reaches the gates.
var attempted = []arc.EventKind{arc.EventAttempt, arc.EventExecuted, arc.EventVerified}

func events(parts ...any) (out []arc.EventKind) {
	for _, p := range parts {
		switch p := p.(type) {
		case arc.EventKind:
			out = append(out, p)
		case []arc.EventKind:
			out = append(out, p...)
		}
	}
	return out
}

func TestEventsOfAPlanAndOfAChunk(t *testing.T) {
	t.Parallel()
	a := agent(t, (&script{}).host(), nil)
	for range 2 {
		require.Equal(t,
			events(arc.EventRecalled, arc.EventDecided, attempted, arc.EventLearned, arc.EventDelivered, arc.EventFinished),
			kinds(t, a, mend("cache")))
	}
	require.Equal(t,
		events(arc.EventRecalled, arc.EventFired, attempted, arc.EventDelivered, arc.EventFinished),
		kinds(t, a, mend("pool")))
}

func TestEventsOfARefusalAndAQuestion(t *testing.T) {
	t.Parallel()
	s := &script{decide: func(n int, _ reason.Brief) (reason.Decision, error) {
		if n == 1 {
			return reason.Decision{}, errBoom
		}
		return reason.Decision{Complexity: reason.Unclear, Questions: []string{"which cache?"}}, nil
	}}
	require.Equal(t,
		events(arc.EventRecalled, arc.EventRefused, arc.EventAsked),
		kinds(t, agent(t, s.host(), nil), arc.Objective{Text: "mend the cache"}))
}

func TestEventsOfASubgoal(t *testing.T) {
	t.Parallel()
	s := &script{decide: func(_ int, b reason.Brief) (reason.Decision, error) {
		if len(b.Goals) == 0 && len(b.Lineage) == 0 {
			return reason.Decision{Impasse: &reason.Impasse{Kind: "missing_capability", Subgoal: "find the key"}}, nil
		}
		return plan(b.Objective), nil
	}}
	goal := events(arc.EventRecalled, arc.EventDecided, attempted, arc.EventLearned, arc.EventDelivered)
	require.Equal(t,
		events(arc.EventRecalled, arc.EventDecided, arc.EventSubgoal, goal, goal, arc.EventFinished),
		kinds(t, agent(t, s.host(), nil), arc.Objective{Text: "open the door"}))
}

// A lesson that memory does not take is said to be one.
func TestEventOfWhatIsNotLearned(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	a := agent(t, (&script{}).host(), &arc.Options{Logger: logger})
	o := arc.Objective{Text: "mend it", Situation: strings.Repeat("password=abcdefg1 ", 2<<10)} // tokens are longer
	var said []string
	for e, err := range a.Events(t.Context(), o) {
		require.NoError(t, err)
		if e.Kind == arc.EventLearned {
			require.Empty(t, e.IDs)
			said = append(said, e.Text)
		}
	}
	require.Len(t, said, 1)
	require.Regexp(t, "^rejected: trigger: [0-9]+ is over the limit of 65536$", said[0])
	require.Contains(t, log.String(), "msg=learned")
	require.Contains(t, log.String(), "memories=0 class=rejected")
}

func TestEventsOfAPivot(t *testing.T) {
	t.Parallel()
	a := agent(t, (&script{judge: fail("no")}).host(), &arc.Options{Attempts: 1})
	end := events(arc.EventDecided, attempted, arc.EventLearned, arc.EventBlocked, arc.EventFinished)
	first := slices.Insert(slices.Clone(end), len(end)-1, "escalated") // of its kind and day
	// The script insists on its approach, which the session has seen fail.
	for i, begin := range [][]arc.EventKind{
		{arc.EventRecalled},
		{arc.EventAssessed, arc.EventRecalled},
		{arc.EventAssessed, arc.EventRecalled},
		{arc.EventAssessed, arc.EventPivot, arc.EventRecalled, arc.EventRefused},
	} {
		require.Equal(t, events(begin, first), kinds(t, a, arc.Objective{Text: fmt.Sprint("mend package ", i), Session: "s"}))
		first = end
	}
}

// phases makes the steps of a run one by one, as Run does, and returns the
// phases that it is in between them.
func phases(t *testing.T, a *arc.Agent, o arc.Objective) (out []arc.Phase, s arc.State) {
	t.Helper()
	s, err := a.Begin(o)
	require.NoError(t, err)
	for out = append(out, s.Phase); s.Status == arc.Running; out = append(out, s.Phase) {
		s, err = a.Step(t.Context(), s)
		require.NoError(t, err)
	}
	return out, s
}

func TestStepGoesThroughThePhases(t *testing.T) {
	t.Parallel()
	s := &script{
		do: func(n int, _ act.Work) (act.Result, error) {
			if n == 1 {
				return act.Result{}, errBoom // nothing for the gates to judge
			}
			return done(`"ok"`), nil
		},
		judge: func(w act.Work, _ act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: w.Attempt == 3, Complaint: "again"}, nil
		},
	}
	got, st := phases(t, agent(t, s.host(), nil), arc.Objective{Text: "mend the cache"})
	require.Equal(t, []arc.Phase{
		arc.PhaseAssess, arc.PhaseReason,
		arc.PhaseAct, arc.PhaseLearn,
		arc.PhaseAct, arc.PhaseVerify,
		arc.PhaseAct, arc.PhaseVerify, arc.PhaseDone,
	}, got)
	require.Equal(t, arc.Delivered, st.Status)
	require.Equal(t, len(got)-1, st.Step)

	// A decision that cannot be acted on, and a plan that does not deliver.
	s = &script{
		decide: func(n int, b reason.Brief) (reason.Decision, error) {
			if n == 1 {
				return reason.Decision{}, errBoom
			}
			return plan(b.Objective), nil
		},
		judge: fail("no"),
	}
	got, st = phases(t, agent(t, s.host(), &arc.Options{Attempts: 1, Replans: 1}), arc.Objective{Text: "mend the cache"})
	require.Equal(t, []arc.Phase{
		arc.PhaseAssess, arc.PhaseReason, arc.PhaseReason,
		arc.PhaseAct, arc.PhaseVerify, arc.PhaseReason,
		arc.PhaseAct, arc.PhaseVerify, arc.PhaseDone,
	}, got)
	require.Equal(t, arc.Blocked, st.Status)

	s.decide = func(int, reason.Brief) (reason.Decision, error) {
		return reason.Decision{Complexity: reason.Unclear, Questions: []string{"which?"}}, nil
	}
	got, st = phases(t, agent(t, s.host(), nil), arc.Objective{Text: "mend the cache"})
	require.Equal(t, []arc.Phase{arc.PhaseAssess, arc.PhaseReason, arc.PhaseAsk}, got)
	require.Equal(t, arc.Asking, st.Status)
}

// A run whose State no longer fits into a record keeps what was committed, and
// ends.
func TestRunThatOutgrowsItsRecordIsCutShort(t *testing.T) {
	t.Parallel()
	s := &script{
		decide: func(_ int, b reason.Brief) (reason.Decision, error) {
			d := plan(b.Objective)
			for len(d.Tasks) < reason.MaxTasks {
				d.Tasks = append(d.Tasks, d.Tasks[0])
			}
			return d, nil
		},
		do: func(int, act.Work) (act.Result, error) {
			r := done(`"ok"`)
			r.Reflection.Summary = strings.Repeat("at length ", 6000)
			return r, nil
		},
	}
	var last []arc.Phase
	a := agentOn(t, committed{store.NewMem(), func(s *arc.State) { last = append(last, s.Phase) }}, s.host(), nil)
	r := run(t, a, arc.Objective{Text: "write it all down"})
	require.Equal(t, arc.Blocked, r.Status)
	require.Contains(t, r.Reason, "outgrown")
	require.NotEmpty(t, r.Deliveries)
	require.Less(t, len(r.Deliveries), reason.MaxTasks)
	require.Equal(t, []arc.Phase{arc.PhaseEnd, arc.PhaseDone}, last[len(last)-2:])
}

// A delivery that no longer fits is not in the report either: it tells what the
// store holds.
func TestDeliveryThatDoesNotFitIsNotReported(t *testing.T) {
	t.Parallel()
	s := &script{decide: func(_ int, b reason.Brief) (reason.Decision, error) {
		d := plan(b.Objective)
		for len(d.Tasks) < 12 {
			d.Tasks = append(d.Tasks, d.Tasks[0])
		}
		for i := range d.Tasks {
			d.Tasks[i].Objective = strings.Repeat("at length ", 1000)
		}
		return d, nil
	}, do: func(int, act.Work) (act.Result, error) {
		r := done(`"ok"`) // fits the record as an attempt; as the twelfth delivery, with its task, it does not
		r.Reflection.Summary = strings.Repeat("at length ", 4580)
		return r, nil
	}}
	a := agent(t, s.host(), nil)
	r := run(t, a, arc.Objective{ID: "run", Text: "write it all down"})
	require.Contains(t, r.Reason, "outgrown")
	kept, err := a.In("").Resume(t.Context(), "run")
	require.NoError(t, err)
	require.NotEmpty(t, kept.Deliveries)
	require.Len(t, r.Deliveries, len(kept.Deliveries))
}
