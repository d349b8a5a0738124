package arc_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// A decision whose inputs no worker takes is refused before anything is done, and the
// reasoner is told what is wrong and where.
func TestInputsAreValidatedBeforeTheyAreDispatched(t *testing.T) {
	t.Parallel()
	s := &script{decide: func(n int, b reason.Brief) (reason.Decision, error) {
		require.Len(t, b.Accepts, 1)
		d := plan(b.Objective)
		d.Tasks[0].Inputs = json.RawMessage(`{"replicas":"many"}`)
		if n > 1 {
			require.Contains(t, b.Complaint, "no worker can take task 1: its inputs are not what worker takes: at '/replicas': got string, want integer")
			d.Tasks[0].Inputs = json.RawMessage(`{"replicas":3}`)
		}
		return d, nil
	}}
	h := s.host()
	h.Workers[0].Input = json.RawMessage(`{"properties":{"replicas":{"type":"integer"}},"required":["replicas"],"type":"object"}`)
	r := run(t, agent(t, h, nil), arc.Objective{Text: "scale the service"})
	require.Equal(t, arc.Delivered, r.Status)
	require.Equal(t, 2, r.Deliberations)
	require.Len(t, s.work, 1)

	s = &script{}
	h = s.host()
	h.Workers[0].Input = json.RawMessage(`{"type":"object"}`)
	r = run(t, agent(t, h, nil), arc.Objective{Text: "scale", Tasks: []act.Task{{Objective: "scale", Skill: "work", Inputs: json.RawMessage(`[]`)}}})
	require.Equal(t, arc.Blocked, r.Status)
	require.Equal(t, arc.CauseNoWorker, r.Cause)
	require.Contains(t, r.Reason, "got array, want object")
	require.Empty(t, s.work)
}

// An ID names one objective: running it again goes on with that run, and another objective is refused.
func TestAnIDIsOfOneObjective(t *testing.T) {
	t.Parallel()
	st, s := store.NewMem(), &script{}
	first := arc.Objective{
		ID: "order", Text: "ship to Ann, password=hunter2secret today", Inputs: json.RawMessage(`{"to":"ann","pin":{"password":1234567},"n":1}`),
		Tasks: []act.Task{{Objective: "ship", Skill: "work", Inputs: json.RawMessage(`{"n":1}`)}}, User: "ann", Scope: "local/ann",
	}
	a := agentOn(t, st, s.host(), nil)
	run(t, a, first)
	again := first
	again.Inputs = json.RawMessage(`{"n": 1, "pin": {"password": 1234567}, "to": "ann"}`)
	other := agentOn(t, st, s.host(), &arc.Options{Sanitizer: new(redact.Sanitizer).WithKey([]byte("another key of 16 bytes"))})
	computed := first // as the host of a later version has it
	computed.User, computed.Tasks, computed.Situation, computed.Session = "", nil, "shipping", "s"
	computed.Conditions, computed.Skills, computed.Attempts = map[string]string{"load": "high"}, []string{"ship"}, 9
	for _, a := range []*arc.Agent{a, other} {
		for _, o := range []arc.Objective{first, again, computed} {
			require.Equal(t, 1, run(t, a, o).Attempts)
		}
	}
	for name, change := range map[string]func(*arc.Objective){
		"another text":  func(o *arc.Objective) { o.Text = "ship to Ben, password=hunter2secret today" },
		"another text ": func(o *arc.Objective) { o.Text += ", now" },
		"other inputs":  func(o *arc.Objective) { o.Inputs = json.RawMessage(`{"to":"ben","pin":{"password":1234567},"n":1}`) },
		"other inputs ": func(o *arc.Objective) { o.Inputs = nil },
		"other tasks": func(o *arc.Objective) {
			o.Tasks = []act.Task{{Objective: "ship", Skill: "work", Inputs: json.RawMessage(`{"n":2}`)}}
		},
		"other tasks ":  func(o *arc.Objective) { o.Tasks = append(slices.Clone(o.Tasks), o.Tasks[0]) },
		"another scope": func(o *arc.Objective) { o.Scope = "local/ben" },
		"another user":  func(o *arc.Objective) { o.User = "ben" },
	} {
		o := first
		change(&o)
		r, err := a.Run(t.Context(), o)
		require.ErrorIs(t, err, arc.ErrTaken, name)
		require.ErrorIs(t, err, arc.ErrObjective, name)
		require.ErrorContains(t, err, `run "order" was begun with `+strings.TrimSpace(name))
		require.Nil(t, r, name)
		for _, err := range a.Events(t.Context(), o) {
			require.ErrorIs(t, err, arc.ErrTaken, name)
		}
	}
	require.Len(t, s.work, 1)
}

// An objective that was JSON, as in a queue, is the same one: what it lacks is null there.
func TestAnObjectiveThatWasJSON(t *testing.T) {
	t.Parallel()
	s := &script{}
	a := agent(t, s.host(), nil)
	first := arc.Objective{ID: "x", Text: "scale", Tasks: []act.Task{{Objective: "scale", Skill: "work"}}}
	raw, err := json.Marshal(first)
	require.NoError(t, err)
	var read arc.Objective
	require.NoError(t, json.Unmarshal(raw, &read))
	require.JSONEq(t, "null", string(read.Inputs))
	run(t, a, first)
	require.Equal(t, 1, run(t, a, read).Attempts, "it is taken for the one that was run")
	read.ID = "y"
	require.Equal(t, arc.Delivered, run(t, a, read).Status)
	require.Len(t, s.work, 2)
	require.JSONEq(t, "null", string(s.work[1].Inputs), "a worker gets what was given")
}

// A plan that was made for an objective that was JSON fires for one that was not, and the other way round:
// a null says as little as nothing.
func TestPlanOfAnObjectiveThatWasJSON(t *testing.T) {
	t.Parallel()
	told := arc.Objective{Text: "look at the door", Situation: "a door that jams"}
	raw, err := json.Marshal(told)
	require.NoError(t, err)
	var read arc.Objective
	require.NoError(t, json.Unmarshal(raw, &read))
	for _, of := range [][2]arc.Objective{{told, read}, {read, told}} {
		a := agent(t, new(script).host(), nil)
		run(t, a, of[0])
		run(t, a, of[0])
		r := run(t, a, of[1])
		require.Equal(t, 1, r.Fired)
		require.Zero(t, r.Deliberations)
	}
}

// What stands behind a secret at the end of a text, or of one among the inputs, tells objectives apart, where the
// secret is found again; which a later version, another pattern or the host may not do.
func TestWordsBehindASecretAreAnotherObjective(t *testing.T) {
	t.Parallel()
	secrets := act.Secrets{"door": "open sesame 12"}
	const at = "go in by open sesame 12"
	first := arc.Objective{ID: "x", Text: at, Inputs: json.RawMessage(`{"by":"` + at + `"}`), Secrets: secrets}
	a := agent(t, new(script).host(), nil)
	run(t, a, first)
	for _, o := range []arc.Objective{
		{Text: at + " and leave"}, {Text: at, Inputs: json.RawMessage(`{"by":"` + at + ` and leave"}`)},
	} {
		o.ID, o.Secrets = "x", secrets
		if o.Inputs == nil {
			o.Inputs = first.Inputs
		}
		_, err := a.Run(t.Context(), o)
		require.ErrorIs(t, err, arc.ErrTaken)
	}
	rotated := first
	rotated.Text, rotated.Secrets = "go in by mellon friend 3", act.Secrets{"door": "mellon friend 3"}
	rotated.Inputs = json.RawMessage(`{"by":"go in by mellon friend 3"}`)
	forgotten := first
	forgotten.Secrets = nil
	for _, o := range []arc.Objective{first, rotated, forgotten} {
		require.Equal(t, 1, run(t, a, o).Attempts)
	}
}
