package mcp

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// ErrNoReasoner is the error of the reasoner of MemoryHost.
var ErrNoReasoner = errors.New("this server keeps memory only: it has no reasoner")

// MemoryHost returns the parts of an Agent that does not reason and does no
// work, and is opened for its memory: its reasoner returns ErrNoReasoner, which
// the tool think reports.
func MemoryHost() arc.Host {
	return arc.Host{
		Reasoner: reason.ReasonerFunc(func(context.Context, reason.Brief) (reason.Decision, error) {
			return reason.Decision{}, ErrNoReasoner
		}),
		Workers: []act.Worker{{
			Card: rank.Candidate{Name: "none"},
			Executor: act.ExecutorFunc(
				func(context.Context, act.Work) (act.Result, error) { return act.Result{}, act.ErrDenied },
			),
			Gates: []act.Gate{act.NoGate},
		}},
	}
}

type thinkIn struct {
	Objective string `json:"objective" jsonschema:"what is to be achieved, in words"`
	Situation string `json:"situation,omitempty" jsonschema:"the kind of situation, without what is particular to this case; empty: the objective"`
	Session   string `json:"session,omitempty" jsonschema:"the session whose history gives advice; empty or unknown: none"`
}

type thinkOut struct {
	Complexity string   `json:"complexity" jsonschema:"simple, moderate, complex, unclear or empty"`
	Approach   string   `json:"approach"`
	Reasoning  string   `json:"reasoning"`
	Tasks      []task   `json:"tasks" jsonschema:"in the order in which to do them"`
	Questions  []string `json:"questions" jsonschema:"for the person"`
	Impasse    impasse  `json:"impasse" jsonschema:"all empty if there is none"`
	Applied    []string `json:"applied" jsonschema:"ids of the memories that shaped the decision"`
}

type task struct {
	Objective string `json:"objective"`
	Delta     string `json:"delta" jsonschema:"what will be different when it is done"`
	Verify    string `json:"verify" jsonschema:"how to tell"`
	Skill     string `json:"skill"`
	Worker    string `json:"worker"`
	Inputs    string `json:"inputs" jsonschema:"data for the worker as JSON, or empty"`
}

type impasse struct {
	Kind    string `json:"kind"`
	Reason  string `json:"reason"`
	Subgoal string `json:"subgoal"`
}

type assessIn struct {
	Session string `json:"session" jsonschema:"the session, or the id of a run that is its own session"`
}

type assessOut struct {
	Session        string   `json:"session"`
	State          string   `json:"state" jsonschema:"no_data, healthy, struggling or failing"`
	Recommendation string   `json:"recommendation" jsonschema:"keep_going, slow_down, consider_pivot or pivot_now"`
	Pivot          bool     `json:"pivot"`
	Confidence     string   `json:"confidence" jsonschema:"low, medium or high"`
	Total          int      `json:"total" jsonschema:"outcomes recorded"`
	Successes      int      `json:"successes"`
	SuccessRate    float64  `json:"success_rate"`
	Failures       int      `json:"failures" jsonschema:"since the last success"`
	Goal           string   `json:"goal" jsonschema:"of the last failure, or empty"`
	Approach       string   `json:"approach" jsonschema:"of the last failure, or empty"`
	Evidence       []string `json:"evidence"`
	Also           []string `json:"also" jsonschema:"steps besides: start_fresh, ask_human, give_up"`
}

func (d desk) agentTools() {
	add(d, tool{
		name: "think", title: "Think an objective through", reads: true,
		about: "Asks the agent's reasoner how to achieve an objective, with what memory knows. Returns tasks, or " +
			"questions, or an impasse. " +
			"Nothing is executed and nothing is kept, but the reasoner may cost money.",
		in: map[string]bound{
			"objective": text(memory.MaxText), "situation": {most: memory.MaxText}, "session": {most: maxID},
		},
	}, d.think)
	add(d, tool{
		name: "assess", title: "Assess a session", reads: true,
		about: "Says whether what a session of the agent does is working, and if not whether to slow down or to try " +
			"another way, with the evidence.",
		in: map[string]bound{"session": text(maxID)},
	}, d.assess)
}

// ours reports whether a session has runs, all of them in the scope. What is
// known of any other session is not the client's.
func (d desk) ours(ctx context.Context, scope memory.Scope, session string) (bool, error) {
	found := false
	if session == "" {
		return false, nil
	}
	for run, err := range d.agent.In(scope).Runs(ctx, arc.Filter{Session: session}) {
		if err != nil {
			return false, err
		}
		if run.Scope != scope {
			return false, nil
		}
		found = true
	}
	return found, nil
}

func (d desk) think(ctx context.Context, c caller, in thinkIn) (thinkOut, string, error) {
	o := arc.Objective{Text: in.Objective, Situation: in.Situation, Scope: c.Scope}
	if in.Session != "" {
		ours, err := d.ours(ctx, c.Scope, in.Session)
		if err != nil {
			return thinkOut{}, "", err
		}
		if ours {
			o.Session = in.Session
		}
	}
	dec, err := d.agent.Think(ctx, o)
	if err != nil {
		return thinkOut{}, "", err
	}
	out := thinkOut{
		Complexity: string(dec.Complexity), Approach: dec.Approach, Reasoning: dec.Reasoning,
		Tasks: []task{}, Questions: full(dec.Questions), Applied: []string{},
	}
	for _, t := range dec.Tasks {
		out.Tasks = append(out.Tasks, task{
			Objective: t.Objective, Delta: t.Delta, Verify: t.Verify, Skill: t.Skill, Worker: t.Worker, Inputs: string(t.Inputs),
		})
	}
	if dec.Impasse != nil {
		out.Impasse = impasse{Kind: dec.Impasse.Kind, Reason: dec.Impasse.Reason, Subgoal: dec.Impasse.Subgoal}
	}
	for _, id := range dec.Applied {
		out.Applied = append(out.Applied, string(id))
	}
	return out, "", nil
}

func (d desk) assess(ctx context.Context, c caller, in assessIn) (assessOut, string, error) {
	session := in.Session
	ours, err := d.ours(ctx, c.Scope, session)
	if err != nil {
		return assessOut{}, "", err
	}
	if !ours {
		session = "mcp-" + rand.Text() // of which nothing is known either
	}
	a, err := d.agent.In(c.Scope).Assess(ctx, session)
	if err != nil {
		return assessOut{}, "", err
	}
	out := assessOut{
		Session: in.Session, State: a.State, Recommendation: a.Recommendation, Pivot: a.Pivot, Confidence: a.Confidence,
		Total: a.Total, Successes: a.Successes, SuccessRate: number(a.SuccessRate), Failures: a.Failures,
		Goal: a.Goal, Approach: a.Approach, Evidence: full(a.Evidence), Also: []string{},
	}
	for _, s := range a.Also {
		out.Also = append(out.Also, string(s))
	}
	return out, "", nil
}
