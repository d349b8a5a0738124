package reason

import (
	"cmp"
	"context"
	_ "embed" // of the prompts
	"encoding/json"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/schema"
)

// LLM is the [Reasoner] on a Model. It also answers the questions of workers. It may be used concurrently;
// its fields are not to be changed then.
//
// A Brief becomes one prompt: the rules, the Instructions and the workers, then the case by parts in a fixed
// order. Every text of it but the Instructions is fenced as data. Where it is over the budget of Tokens,
// parts are left out from the end of the order, and the prompt says how many: background, passages, manuals,
// advice, deliveries (the oldest first), suggestions, facts, memories, warnings, failed attempts (the oldest
// first), goals above, the situation. Never left out are the objective with its inputs and data, the workers,
// answers, a worker's questions and the complaint.
//
// The answer is read by [Ask], and what [Decision.Check] refuses is asked for again. Whether a worker takes a
// task, and whether the parameters of a suggestion are there, is seen by whoever carries them out.
// Decision.Applied has the memories that the model named by the labels it was shown.
type LLM struct {
	Model        Model
	Instructions string // the host's words, for every prompt
	Tokens       int    // of a prompt, where three bytes count as one; 0: 32,000
}

// What a model is told to do: to decide, to answer a worker, and to keep facts.
var (
	//go:embed decide.txt
	rules string
	//go:embed answer.txt
	answerRules string
	//go:embed facts.txt
	factsRules string

	// The JSON Schemas of a decision, and of its tasks, but for words in capitals. What may be left out may also
	// be null, as some providers want every member to be there.

	//go:embed schema.txt
	form string
	//go:embed tasks.txt
	formOfTasks string
)

// Decide asks the model, and once more where the answer cannot be used. The error is that of [Ask], or an
// *[Error] of class Invalid if what is never left out is over the budget.
func (l *LLM) Decide(ctx context.Context, b *Brief) (*Decision, error) {
	p := newPrompt(b)
	r, err := l.request(p, rules, decisionSchema(b))
	if err != nil {
		return nil, err
	}
	type answer struct {
		Decision
		Applied    []string // labels
		Complexity string
	}
	a, usage, err := Ask(ctx, l.Model, r, func(a *answer) error {
		for _, label := range a.Applied {
			if id, ok := p.labels[label]; ok && !slices.Contains(a.Decision.Applied, id) {
				a.Decision.Applied = append(a.Decision.Applied, id)
			}
		}
		a.Inputs = given(a.Inputs)
		for _, t := range a.tasks() {
			t.Inputs = given(t.Inputs)
		}
		return a.Check()
	})
	if err != nil {
		return nil, err
	}
	a.Usage = usage
	if slices.Contains(complexities, a.Complexity) {
		a.Reasoning = a.Complexity + ": " + a.Reasoning
	}
	return &a.Decision, nil
}

// given is raw, or nothing where it is null.
func given(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// Answer asks the model what a worker wants to know, and returns "" where the brief does not say.
func (l *LLM) Answer(ctx context.Context, b *Brief, questions []string) (string, *Usage, error) {
	schema := json.RawMessage(`{"type":"object","required":["known","answer"],` +
		`"properties":{"known":{"type":"boolean"},"answer":{"type":"string"}}}`)
	r, err := l.request(newPrompt(b, questions...), answerRules, schema)
	if err != nil {
		return "", nil, err
	}
	a, usage, err := Ask[struct {
		Known  bool
		Answer string
	}](ctx, l.Model, r, nil)
	if err != nil || !a.Known {
		return "", usage, err
	}
	return a.Answer, usage, nil
}

func (l *LLM) request(p *prompt, rules string, s json.RawMessage) (*Request, error) {
	system := strings.TrimSpace(rules)
	if l.Instructions != "" {
		system += "\n\nOf the host:\n" + l.Instructions
	}
	if p.cards != "" { // the same in every prompt with the same workers, so that a provider's cache holds
		system += "\n\nThe workers:\n" + fence.Block("workers", fence.Mark(p.cards), "data", p.cards)
	}
	text, err := p.render(cmp.Or(l.Tokens, 32_000) - countTokens(system) - countTokens(string(s)))
	if err != nil {
		return nil, err
	}
	return &Request{System: system, Messages: []Message{{Role: RoleUser, Text: text}}, Schema: s}, nil
}

// decisionSchema is the form of an answer to b. It lists the workers, skills and suggestions that there are:
// a model that its provider holds to a schema has no way to name another.
func decisionSchema(b *Brief) json.RawMessage {
	var skills, workers []string
	for _, w := range b.Workers {
		workers = append(workers, w.Name)
		skills = append(skills, w.Skills...)
	}
	uses := each(b.Suggestions, func(s Suggestion) string { return s.Name })
	const text = `{"type":["string","null"]}`
	oneOf := func(names []string) string {
		enum := []any{nil}
		for _, n := range names {
			if !slices.Contains(enum, any(n)) {
				enum = append(enum, n)
			}
		}
		raw, _ := schema.Marshal(map[string]any{"enum": enum}) // strings always can be
		return string(raw)
	}
	skill, worker := oneOf(skills), oneOf(workers)
	if len(workers) == 0 {
		skill, worker = text, text
	}
	fill := strings.NewReplacer("TEXT", text, "OBJECT", `{"type":["object","null"]}`, "SKILL", skill,
		"WORKER", worker, "USE", oneOf(uses), "PREFERENCES", oneOf(preferences),
		"SIZE", oneOf(complexities), "IMPASSE", oneOf(impasses), "\n", "")
	return json.RawMessage(fill.Replace(strings.ReplaceAll(form, "TASKS", formOfTasks)))
}
