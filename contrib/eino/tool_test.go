package eino_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/contrib/eino"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// open returns an agent whose worker says hello, and whose reasoner decides so.
func open(t *testing.T, decide func(reason.Brief) reason.Decision) *arc.Agent {
	t.Helper()
	agent, err := arc.Open(t.Context(), "", host(decide), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, agent.Close()) })
	return agent
}

func host(decide func(reason.Brief) reason.Decision) arc.Host {
	return arc.Host{
		Reasoner: reason.ReasonerFunc(func(_ context.Context, b reason.Brief) (reason.Decision, error) { return decide(b), nil }),
		Workers: []act.Worker{{Card: rank.Candidate{Name: "greeter"}, Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
			return act.Result{Output: json.RawMessage(`"hello"`), Reflection: iar.Reflection{Status: iar.Success, Confidence: 0.9, Summary: "said it"}}, nil
		})}},
		Gates: []act.Gate{act.GateFunc(func(_ context.Context, w act.Work, r act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: w.Task.Objective != "sing", Complaint: "that was no song"}, nil
		})},
	}
}

// planned decides for one task that is the objective itself.
func planned(b reason.Brief) reason.Decision {
	return reason.Decision{Approach: "at once", Tasks: []reason.Task{{Objective: b.Objective, Verify: "by ear", Skill: ""}}}
}

func asking(reason.Brief) reason.Decision {
	return reason.Decision{Complexity: reason.Unclear, Questions: []string{"whom?"}}
}

func stuck(reason.Brief) reason.Decision {
	return reason.Decision{Impasse: &reason.Impasse{Kind: "no_approach", Reason: "no voice", Subgoal: "find a voice"}}
}

func named(o *eino.ToolOptions) *eino.ToolOptions {
	o.Objective = func(_ context.Context, text string) (arc.Objective, error) {
		if text == "rob a bank" {
			return arc.Objective{}, errors.New("not that")
		}
		return arc.Objective{ID: "r1", Text: text}, nil
	}
	return o
}

func TestTool(t *testing.T) {
	for name, c := range map[string]struct {
		decide    func(reason.Brief) reason.Decision
		o         *eino.ToolOptions
		objective string
		want      string
	}{
		"delivered": {planned, &eino.ToolOptions{}, "greet", `{"run":"r1","status":"delivered","deliveries":[{"task":"greet","output":"hello","summary":"said it"}]}`},
		"blocked":   {planned, &eino.ToolOptions{}, "sing", ""},
		"asking":    {asking, &eino.ToolOptions{}, "greet", `{"run":"r1","status":"asking","questions":["whom?"],"deliveries":[]}`},
		"planned":   {planned, &eino.ToolOptions{Think: true}, "greet", `{"approach":"at once","tasks":[{"objective":"greet","verify":"by ear","skill":""}]}`},
		"unclear":   {asking, &eino.ToolOptions{Think: true}, "greet", `{"approach":"","tasks":[],"questions":["whom?"]}`},
		"stuck":     {stuck, &eino.ToolOptions{Think: true}, "greet", `{"approach":"","tasks":[],"impasse":{"kind":"no_approach","reason":"no voice","subgoal":"find a voice"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			tool := eino.NewTool(open(t, c.decide), named(c.o))
			args, err := json.Marshal(map[string]string{"objective": c.objective})
			require.NoError(t, err)
			got, err := tool.InvokableRun(t.Context(), string(args))
			require.NoError(t, err)
			if c.want != "" {
				require.JSONEq(t, c.want, got)
				return
			}
			var report struct {
				Status     arc.Status
				Reason     string
				Deliveries []any
			}
			require.NoError(t, json.Unmarshal([]byte(got), &report))
			require.Equal(t, arc.Blocked, report.Status)
			require.Contains(t, report.Reason, "no song")
			require.Equal(t, []any{}, report.Deliveries)
		})
	}
}

func TestToolErrors(t *testing.T) {
	for _, think := range []bool{false, true} {
		tool := eino.NewTool(open(t, planned), named(&eino.ToolOptions{Think: think}))
		for args, says := range map[string]string{
			`{"objective":`: "the arguments of arc", `{"objective":7}`: "the arguments of arc", `{}`: "no text", `{"objective":"rob a bank"}`: "not that",
		} {
			_, err := tool.InvokableRun(t.Context(), args)
			require.ErrorContains(t, err, says)
		}
	}
}

func TestToolInfo(t *testing.T) {
	agent := open(t, planned)
	names := map[string]*eino.ToolOptions{"arc": nil, "arc_think": {Think: true}, "mine": {Name: "mine", Description: "mine"}}
	for name, o := range names {
		info, err := eino.NewTool(agent, o).Info(t.Context())
		require.NoError(t, err)
		require.Equal(t, name, info.Name)
		require.NotEmpty(t, info.Desc)
		params, err := info.ToJSONSchema()
		require.NoError(t, err)
		text, err := json.Marshal(params)
		require.NoError(t, err)
		var got struct {
			Type     string
			Required []string
		}
		require.NoError(t, json.Unmarshal(text, &got))
		require.Equal(t, string(schema.Object), got.Type)
		require.Equal(t, []string{"objective"}, got.Required)
	}
}
