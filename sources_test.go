package arc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// says is a source of one passage.
func says(name, text string) reason.Source {
	return func(context.Context, string, int) ([]reason.Passage, error) {
		return []reason.Passage{{Name: name, Text: text}}, nil
	}
}

// What the host's sources say reaches the reasoner, in their order, within their
// bound and without secrets, and so does the estimate of the objective.
func TestSourcesReachTheReasoner(t *testing.T) {
	t.Parallel()
	s := &script{}
	h := s.host()
	var asked []string
	h.Sources = []reason.Source{
		func(_ context.Context, objective string, tokens int) ([]reason.Passage, error) {
			asked = append(asked, fmt.Sprint(objective, " ", tokens))
			return []reason.Passage{{Name: "a", Text: "the key is AKIAIOSFODNN7EXAMPLQ"}, {Name: "long", Text: strings.Repeat("x", 6000)}}, nil
		},
		says("b", "second"),
	}
	a := agent(t, h, nil)
	run(t, a, arc.Objective{Text: "fix the cache, then test every package"})
	require.Equal(t, []string{"fix the cache, then test every package 2000"}, asked)
	b := s.briefs[0]
	require.Len(t, b.Passages, 2, "what is over the bound is cut")
	require.Equal(t, "a", b.Passages[0].Name)
	require.Contains(t, b.Passages[0].Text, "AKIAIOSFODNN7EXAMPLQ", "it is the host's own, and not kept")
	require.Equal(t, reason.Passage{Name: "b", Text: "second"}, b.Passages[1])
	require.Equal(t, reason.Complex, b.Complexity)
	require.Contains(t, b.Signs, `scope "every"`)

	_, err := a.Think(t.Context(), arc.Objective{Text: "look"})
	require.NoError(t, err)
	require.Len(t, asked, 2, "thinking asks them too")
	h.Sources = []reason.Source{says("a", ""), nil}
	_, err = arc.New(t.Context(), store.NewMem(), h, nil)
	require.ErrorContains(t, err, "source 2 is nil")
}

// A source that fails, panics or hangs is logged, and left out.
func TestSourcesDoNoHarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		h := s.host()
		hung := make(chan struct{})
		h.Sources = []reason.Source{
			says("first", "1"),
			func(context.Context, string, int) ([]reason.Passage, error) { panic("a secret") },
			func(context.Context, string, int) ([]reason.Passage, error) {
				<-hung // whatever becomes of its context
				return []reason.Passage{{Name: "late", Text: "late"}}, nil
			},
			func(context.Context, string, int) ([]reason.Passage, error) {
				return []reason.Passage{{Name: "wrong", Text: "wrong"}}, errors.New("no connection")
			},
			says("last", "2"),
		}
		var log bytes.Buffer
		a, err := arc.New(t.Context(), store.NewMem(), h, &arc.Options{Now: time.Now, Seed: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		began := time.Now()
		r, err := a.Run(t.Context(), arc.Objective{Text: "mend the cache"})
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)
		require.Equal(t, 10*time.Second, time.Since(began), "they are asked at once, and waited for so long")
		require.Equal(t, []reason.Passage{{Name: "first", Text: "1"}, {Name: "last", Text: "2"}}, s.briefs[0].Passages)
		require.NoError(t, a.Close())
		close(hung)
		for _, want := range []string{"source=2", "source=3", "source=4", "class=panic"} {
			require.Contains(t, log.String(), want)
		}
		require.NotContains(t, log.String(), "a secret")
	})
}

// ways are alternatives of a task each, the first preferred.
func ways(approaches ...string) reason.Decision {
	var d reason.Decision
	for i, a := range approaches {
		d.Alternatives = append(d.Alternatives, reason.Alternative{
			Approach: a, Tasks: []reason.Task{{Objective: "do " + a, Verify: "the gate", Skill: "work"}},
		})
		if i > 0 {
			d.Preferences = append(d.Preferences, reason.Preference{Approach: approaches[i-1], Is: "better", Than: a})
		}
	}
	return d
}

// worked are the objectives of the tasks that were worked on.
func worked(s *script) (out []string) {
	for _, w := range s.work {
		out = append(out, w.Task.Objective)
	}
	return out
}

// Where a task of the chosen alternative is blocked, the next takes its place
// before the reasoner is asked again, also in a run that goes on after a crash.
func TestAlternativesAreTriedInTurn(t *testing.T) {
	t.Parallel()
	for _, crash := range []bool{false, true} {
		s := &script{}
		s.decide = func(int, reason.Brief) (reason.Decision, error) { return ways("patch", "rewrite", "revert"), nil }
		s.judge = func(w act.Work, _ act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: w.Task.Objective == "do revert", Complaint: "still nil"}, nil
		}
		a := agent(t, s.host(), &arc.Options{Attempts: 2, Replans: 1})
		if crash {
			st, err := a.Begin(arc.Objective{Text: "mend the cache"})
			require.NoError(t, err)
			for st.Status == arc.Running {
				st, err = a.Step(t.Context(), st) // each step from the state alone
				require.NoError(t, err)
			}
			require.Equal(t, arc.Delivered, st.Status)
		} else {
			r := run(t, a, arc.Objective{Text: "mend the cache"})
			require.Equal(t, arc.Delivered, r.Status, r.Reason)
		}
		require.Len(t, s.briefs, 1, "the reasoner is asked once")
		require.Equal(t, []string{"do patch", "do patch", "do rewrite", "do rewrite", "do revert"}, worked(s))
	}
}

// When all alternatives have failed, the reasoner is asked again as often as
// Replans says, and is told of every attempt.
func TestReasonerIsAskedAfterTheAlternatives(t *testing.T) {
	t.Parallel()
	s := &script{judge: fail("still nil")}
	s.decide = func(n int, b reason.Brief) (reason.Decision, error) {
		if n == 1 {
			return ways("patch", "rewrite"), nil
		}
		return plan(b.Objective), nil
	}
	a := agent(t, s.host(), &arc.Options{Attempts: 1, Replans: 1})
	r := run(t, a, arc.Objective{Text: "mend the cache"})
	require.Equal(t, arc.Blocked, r.Status)
	require.Len(t, s.briefs, 2)
	require.Len(t, s.briefs[1].Failed, 2)
	require.Equal(t, []string{"do patch", "do rewrite", "mend the cache"}, worked(s))
}

// A tie is an impasse of that name: its subgoal is worked on, and then the
// reasoner is asked again. So is a conflict.
func TestTieIsAnImpasse(t *testing.T) {
	t.Parallel()
	for kind, ps := range map[string][]reason.Preference{
		"tie":         nil,
		"conflict":    {{Approach: "patch", Is: "better", Than: "rewrite"}, {Approach: "rewrite", Is: "better", Than: "patch"}},
		"no_approach": {{Approach: "patch", Is: "reject"}, {Approach: "rewrite", Is: "prohibit"}},
	} {
		s := &script{}
		s.decide = func(n int, b reason.Brief) (reason.Decision, error) {
			switch {
			case len(b.Goals) > 0:
				return plan(b.Objective), nil
			case n == 1:
				d := ways("patch", "rewrite")
				d.Preferences = ps
				return d, nil
			}
			return ways("patch", "rewrite"), nil
		}
		var events []arc.Event
		a := agent(t, s.host(), &arc.Options{Hooks: arc.Hooks{Event: func(e arc.Event) { events = append(events, e) }}})
		r := run(t, a, arc.Objective{Text: "mend the cache"})
		require.Equal(t, arc.Delivered, r.Status, r.Reason)
		decided := slices.IndexFunc(events, func(e arc.Event) bool { return e.Kind == arc.EventDecided })
		require.True(t, strings.HasPrefix(events[decided].Text, string(kind)+": "), events[decided].Text)
		require.Equal(t, []string{"mend the cache"}, s.briefs[1].Goals)
		require.Equal(t, s.briefs[1].Objective, worked(s)[0])
		require.Equal(t, "do patch", worked(s)[1])
		require.Len(t, s.briefs[2].Lineage, 1)
	}
}

// An alternative that no worker can carry out is refused like a plan, and with
// PivotAuto one that metacognition says to leave is not taken: the next is, and
// the reasoner is not asked for it.
func TestAlternativesAreHeldToThePolicies(t *testing.T) {
	t.Parallel()
	s := &script{}
	s.decide = func(n int, _ reason.Brief) (reason.Decision, error) {
		d := ways("patch", "rewrite")
		if n == 1 {
			d.Alternatives[1].Tasks[0].Skill = "fly"
		}
		return d, nil
	}
	run(t, agent(t, s.host(), nil), arc.Objective{Text: "mend the cache"})
	require.Len(t, s.briefs, 2)
	require.Contains(t, s.briefs[1].Complaint, `its skill is "fly"`)

	s = &script{judge: fail("still nil")}
	s.decide = func(_ int, b reason.Brief) (reason.Decision, error) {
		if len(b.Avoid) > 0 {
			return ways(" Patch", "rewrite"), nil
		}
		d := plan(b.Objective)
		d.Approach = "patch"
		return d, nil
	}
	a := agent(t, s.host(), &arc.Options{Pivot: arc.PivotAuto, Attempts: 1})
	for range 4 {
		run(t, a, arc.Objective{Text: "mend the cache", Session: "s"})
	}
	require.Equal(t, []string{"patch"}, s.briefs[len(s.briefs)-1].Avoid)
	require.Equal(t, "do rewrite", worked(s)[len(s.work)-1])
	require.NotContains(t, worked(s), "do  Patch")
}

// A pivot away from the approach that was just chosen takes the next
// alternative: the reasoner has said already what else to do.
func TestPivotTakesTheNextAlternative(t *testing.T) {
	t.Parallel()
	for policy, want := range map[arc.PivotPolicy]string{arc.PivotAuto: "do rewrite", arc.PivotFlag: "do patch"} {
		s := &script{}
		var a *arc.Agent
		s.decide = func(_ int, b reason.Brief) (reason.Decision, error) {
			if b.Objective == "mend the pool" {
				return reason.Decision{Approach: "patch", Tasks: []reason.Task{{Objective: b.Objective, Skill: "work"}}}, nil
			}
			for range 3 { // the session fails by an approach while it is being chosen
				r, err := a.Run(t.Context(), arc.Objective{Text: "mend the pool", Session: "s"})
				require.NoError(t, err)
				require.Equal(t, arc.Blocked, r.Status)
			}
			return ways("patch", "rewrite"), nil
		}
		s.judge = func(w act.Work, _ act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: w.Task.Objective != "mend the pool", Complaint: "still nil"}, nil
		}
		a = agent(t, s.host(), &arc.Options{Pivot: policy, Attempts: 1})
		r := run(t, a, arc.Objective{Text: "mend the cache", Session: "s"})
		require.Equal(t, arc.Delivered, r.Status, r.Reason)
		require.Equal(t, want, worked(s)[len(s.work)-1])
		require.Len(t, slices.DeleteFunc(s.briefs, func(b reason.Brief) bool { return b.Objective == "mend the pool" }), 1)
	}
}

// An alternative that metacognition says to leave is not taken unasked, whatever
// the policy.
func TestAlternativeToAvoidIsNotTaken(t *testing.T) {
	t.Parallel()
	s := &script{judge: fail("still nil")}
	var a *arc.Agent
	s.decide = func(_ int, b reason.Brief) (reason.Decision, error) {
		if b.Objective == "mend the pool" {
			return reason.Decision{Approach: "rewrite", Tasks: []reason.Task{{Objective: b.Objective, Skill: "work"}}}, nil
		}
		for range 3 {
			_, err := a.Run(t.Context(), arc.Objective{Text: "mend the pool", Session: "s"})
			require.NoError(t, err)
		}
		return ways("patch", "rewrite"), nil
	}
	a = agent(t, s.host(), &arc.Options{Attempts: 1})
	require.Equal(t, arc.Blocked, run(t, a, arc.Objective{Text: "mend the cache", Session: "s"}).Status)
	require.Contains(t, worked(s), "do patch")
	require.NotContains(t, worked(s), "do rewrite")
}

// A run that fails by one alternative after the other is judged by what it has
// done, from the first on.
func TestAlternativesAreJudged(t *testing.T) {
	t.Parallel()
	s := &script{judge: fail("still nil")}
	s.decide = func(int, reason.Brief) (reason.Decision, error) { return ways("patch", "rewrite", "revert"), nil }
	a := agent(t, s.host(), &arc.Options{Attempts: 1})
	var said []string
	for e, err := range a.Events(t.Context(), arc.Objective{Text: "mend the cache"}) {
		require.NoError(t, err)
		if e.Kind == arc.EventAssessed {
			said = append(said, e.Text)
		}
	}
	require.Equal(t, []string{"do patch", "do rewrite", "do revert"}, worked(s))
	require.Len(t, said, 2)
	require.Contains(t, said[0], `slow_down: 1 failed since the last success, 1 of them by the approach "patch"`)
	require.Contains(t, said[1], "consider_pivot: 2 failed since the last success")
}

// The estimate is the complexity of a decision that has none.
func TestComplexityOfADecision(t *testing.T) {
	t.Parallel()
	s := &script{}
	s.decide = func(_ int, b reason.Brief) (reason.Decision, error) {
		d := plan(b.Objective)
		d.Complexity = ""
		return d, nil
	}
	a := agent(t, s.host(), nil)
	for objective, want := range map[string]reason.Complexity{
		"mend it": reason.Simple, "mend a.go and test it": reason.Complex, "maybe do something somehow?": "",
	} {
		d, err := a.Think(t.Context(), arc.Objective{Text: objective})
		require.NoError(t, err)
		require.Equal(t, want, d.Complexity, objective)
	}
}
