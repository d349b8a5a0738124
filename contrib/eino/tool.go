package eino

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/reason"
)

// ToolOptions configure a Tool. The zero value, and nil, are ready.
type ToolOptions struct {
	// Name and Description are what the calling model is told. "": "arc", or
	// "arc_think" with Think, and a description of what it does.
	Name, Description string
	// Think has the tool only decide: it answers with the decision, and nothing
	// is run.
	Think bool
	// Objective makes the objective from the calling model's words. It is the
	// place for what the model has no say in: scope, session, budget. nil: the
	// words alone, in the agent's own scope.
	Objective func(ctx context.Context, text string) (arc.Objective, error)
}

// Tool is an agent as an eino tool. NewTool makes one. It is safe for concurrent
// use.
type Tool struct {
	agent *arc.Agent
	o     ToolOptions
}

var _ tool.InvokableTool = (*Tool)(nil)

// NewTool returns a Tool that hands objectives to agent.
func NewTool(agent *arc.Agent, opts *ToolOptions) *Tool {
	t := &Tool{agent: agent}
	if opts != nil {
		t.o = *opts
	}
	name, does := "arc", "Works on an objective until it is done and verified, or cannot be done, and reports."
	if t.o.Think {
		name, does = "arc_think", "Thinks an objective through, with what was learned before, and answers with a plan. Does nothing else."
	}
	t.o.Name, t.o.Description = cmp.Or(t.o.Name, name), cmp.Or(t.o.Description, does)
	if t.o.Objective == nil {
		t.o.Objective = func(_ context.Context, text string) (arc.Objective, error) { return arc.Objective{Text: text}, nil }
	}
	return t
}

// Info says what the tool is.
func (t *Tool) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{
		Name: t.o.Name, Desc: t.o.Description,
		ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			"objective": {Type: schema.String, Desc: "what is to be achieved, and how one would see that it is", Required: true},
		}),
	}, nil
}

// InvokableRun runs the objective in arguments, {"objective":"…"}, and returns a
// report as JSON; a run that ends blocked, or asks, is a report and no error. To
// a run that asks, the host answers by its id.
func (t *Tool) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	var in struct{ Objective string }
	if err := json.Unmarshal([]byte(arguments), &in); err != nil {
		return "", fmt.Errorf("eino: the arguments of %s: %w", t.o.Name, err)
	}
	o, err := t.o.Objective(ctx, in.Objective)
	if err != nil {
		return "", err
	}
	if t.o.Think {
		d, err := t.agent.Think(ctx, o)
		if err != nil {
			return "", err
		}
		return encode(plan(d))
	}
	r, err := t.agent.Run(ctx, o)
	if err != nil {
		return "", err
	}
	return encode(report(r))
}

func report(r *arc.Report) map[string]any {
	out := map[string]any{"run": r.ID, "status": r.Status}
	if r.Reason != "" {
		out["cause"], out["reason"] = r.Cause, r.Reason
	}
	if r.Status == arc.Waiting {
		out["next"] = r.Next
	}
	if len(r.Questions) > 0 {
		out["questions"] = r.Questions
	}
	done := []any{}
	for _, d := range r.Deliveries {
		done = append(done, map[string]any{"task": d.Task.Objective, "output": d.Output, "summary": d.Summary})
	}
	out["deliveries"] = done
	return out
}

func plan(d reason.Decision) map[string]any {
	tasks := []any{}
	for _, t := range d.Tasks {
		tasks = append(tasks, map[string]any{"objective": t.Objective, "verify": t.Verify, "skill": t.Skill})
	}
	out := map[string]any{"approach": d.Approach, "tasks": tasks}
	if len(d.Questions) > 0 {
		out["questions"] = d.Questions
	}
	if d.Impasse != nil {
		out["impasse"] = map[string]any{"kind": d.Impasse.Kind, "reason": d.Impasse.Reason, "subgoal": d.Impasse.Subgoal}
	}
	return out
}

func encode(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}
