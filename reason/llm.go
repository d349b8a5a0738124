package reason

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/guard"
)

// LLMOptions configure an LLM. The zero value, and nil, are ready.
type LLMOptions struct {
	// Tokens is the budget of a prompt: system prompt, brief and schema, as
	// Count counts them; what is fixed takes some 1,300. 0: 40,000.
	Tokens int
	// Count estimates the tokens of a text. It is pure and may be called
	// concurrently. nil: a third of the bytes, rounded up. That is more than
	// models take for prose (four to five bytes a token), code and most
	// scripts, and less than they take for hexadecimal and base64 (two):
	// hosts with such inputs bring the tokenizer of their model.
	Count func(string) int
	// Skills are described to the model, and their SKILL.md shown where a brief
	// names them. nil: names alone.
	Skills *Skills
	// System and Brief are the templates (text/template) of the system prompt
	// and of the brief; they are given PromptData. Brief has to show the
	// fields Objective, Inputs and Complaint. "": those of the package.
	System, Brief string
	// Logger is told of answers that had to be repaired, without texts. nil:
	// discards.
	Logger *slog.Logger
}

func (o *LLMOptions) fill() {
	if o.Tokens == 0 {
		o.Tokens = 40_000
	}
	if o.Count == nil {
		o.Count = func(s string) int { return (len(s) + 2) / 3 }
	}
	if o.System == "" {
		o.System = systemText
	}
	if o.Brief == "" {
		o.Brief = briefText
	}
	o.Logger = guard.Logger(o.Logger)
}

// LLM is the Reasoner on a Model. It is safe for concurrent use.
//
// The brief is put into one prompt. Every text of it is fenced as data, and no
// text of it is in the system prompt. Memories are shown with labels, what
// failed first, then patterns, facts and episodes; those in quarantine never.
// What does not fit LLMOptions.Tokens is left out, and the prompt says so:
// episodes first, then other memories from the worst recalled on, notes on
// skills, deliveries, failed attempts, answers and goals above, from the oldest
// on; never the objective with its inputs, or the complaint.
//
// The answer has to be one JSON object by [Schema]; prose, code fences and a
// thought around it are ignored, and so are fields that nobody asked for; a
// thought, a complexity and an approach are asked for and may be missing. The
// rest is taken to the letter. What is cut off is not completed,
// and nothing is coerced: a number where a text should be, a key that is given
// twice or in another case, a field that a task does not have, a skill that
// nobody has, and a task that does not say how to verify it, are refused. After
// an answer that is refused the model is asked once more, with what was wrong
// with it.
//
// Decision.Applied has the memories that the model named by a label that it was
// shown; others are dropped, and Decision.Reasoning says so.
type LLM struct {
	m Model
	o LLMOptions
	p *prompts
}

// NewLLM returns an LLM on m. The error lists what is wrong with the options,
// templates that do not parse or run and a budget that they exceed by themselves
// included.
func NewLLM(m Model, opts *LLMOptions) (*LLM, error) {
	var o LLMOptions
	if opts != nil {
		o = *opts
	}
	o.fill()
	var errs []error
	if guard.IsNil(m) {
		errs = append(errs, errors.New("the model is nil"))
	}
	if o.Tokens < 0 {
		errs = append(errs, fmt.Errorf("option Tokens: %d is negative", o.Tokens))
	}
	p, err := newPrompts(&o)
	if err == nil && o.Tokens >= 0 {
		_, err = p.render(newDraft(&Brief{Objective: "objective"}, nil, nil), Schema(nil), nil)
	}
	if err != nil {
		errs = append(errs, err)
	}
	if errs != nil {
		return nil, fmt.Errorf("reason: %w", errors.Join(errs...))
	}
	return &LLM{m: m, o: o, p: p}, nil
}

// Reason asks the model, at most twice, and returns its decision, which passes
// [Decision.Check]. The error is [ErrEmpty], [ErrFormat] or [ErrRefusal] with
// what was wrong with the last answer, in words for [Brief.Complaint];
// [ErrModel], which may be [Retryable]; a *store.LimitError if the objective and
// the complaint alone are over the budget; or that of ctx. With an error, the
// Decision has the Usage and nothing else.
func (l *LLM) Reason(ctx context.Context, b Brief) (Decision, error) {
	offered := nameable(b.Skills)
	schema := Schema(offered)
	draft := newDraft(&b, offered, l.o.Skills)
	req, err := l.p.render(draft, schema, nil)
	if err != nil {
		return Decision{}, err
	}
	d, text, err := l.ask(ctx, req, draft, offered)
	if !errors.Is(err, ErrEmpty) && !errors.Is(err, ErrFormat) {
		return d, err
	}
	l.o.Logger.InfoContext(ctx, "an answer of the model has to be repaired", "run", b.Run, "empty", errors.Is(err, ErrEmpty))
	req, over := l.p.render(draft, schema, &repair{answer: fence.Quote(ends(text, maxQuoted), whole), wrong: fence.Quote(err.Error(), maxQuoted)})
	if over != nil {
		return d, err // there is no room to ask again
	}
	again, _, err := l.ask(ctx, req, draft, offered)
	again.Usage = again.Usage.Add(d.Usage)
	return again, err
}

// ask makes one request, and returns the decision, and the answer as it came.
func (l *LLM) ask(ctx context.Context, req *Request, shown *draft, offered []string) (Decision, string, error) {
	resp, err := Generate(ctx, l.m, req)
	if err != nil {
		return Decision{}, "", err
	}
	a, err := decode(resp.Text, resp.Stop, offered)
	if err != nil {
		return Decision{Usage: resp.Usage}, resp.Text, err
	}
	d := a.Decision
	d.Usage = resp.Usage
	var unknown []string
	d.Applied, unknown = shown.applied(a.applied)
	if len(unknown) > 0 {
		a.notes = append(a.notes, fmt.Sprintf("%d of the memories that it names were not shown to it: %s", len(unknown), found(strings.Join(unknown, " "))))
	}
	for _, note := range a.notes {
		if len(d.Reasoning)+len(note)+3 <= maxText {
			d.Reasoning = strings.TrimSpace(d.Reasoning + "\n(" + note + ")")
		}
	}
	if err := d.Check(); err != nil { // the bounds of all of it together
		return Decision{Usage: resp.Usage}, resp.Text, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return d, resp.Text, nil
}

// ends returns the beginning and the end of a text, limit bytes together.
func ends(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit/2], "") + "\n(" + strconv.Itoa(len(s)-limit) + " bytes left out)\n" + strings.ToValidUTF8(s[len(s)-limit/2:], "")
}

// Schema returns the JSON Schema of the answer of a model that is asked for a
// decision. skills are those that a task can name.
func Schema(skills []string) json.RawMessage {
	names, err := json.Marshal(append([]string{""}, skills...))
	if err != nil {
		panic(err) // strings are always encoded
	}
	return json.RawMessage(strings.Replace(schemaText, `[""]`, string(names), 1))
}

const schemaText = `{"type":"object","properties":{` +
	`"thought":{"type":"string"},` +
	`"complexity":{"enum":["simple","moderate","complex","unclear"]},` +
	`"approach":{"type":"string"},` +
	`"applied":{"type":"array","items":{"type":"string"}},` +
	`"tasks":{"type":"array","maxItems":64,"items":{"type":"object","properties":{` +
	`"objective":{"type":"string"},"delta":{"type":"string"},"verify":{"type":"string"},` +
	`"skill":{"enum":[""]},` +
	`"effect":{"type":"object","properties":{"domain":{"type":"string"},"path":{"type":"string"}},"required":["domain"],"additionalProperties":false},` +
	`"inputs":{}},"required":["objective","verify"],"additionalProperties":false}},` +
	`"impasse":{"type":"object","properties":{"kind":{"enum":["no_approach","conflict","missing_capability","repeated_failure"]},` +
	`"reason":{"type":"string"},"subgoal":{"type":"string"}},"required":["kind","subgoal"],"additionalProperties":false},` +
	`"questions":{"type":"array","items":{"type":"string"}}},` +
	`"required":["thought","complexity","approach"],"additionalProperties":false}`
