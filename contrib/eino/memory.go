package eino

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/arc-learn/arc/act/tools"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/reason"
)

// MemoryOptions of a [Memory]. Nil and the zero value are the defaults. Functions may be called concurrently.
type MemoryOptions struct {
	// Case says more about a case than its text, which is that of the last user message: the scope, the kind of
	// case, inputs. Where it sets a Text, such as a template, the message is the Data. Of a message over 16,000
	// bytes a case has the first and the last 8,000, and a digest. It may be nil.
	Case func(ctx context.Context, input []*schema.Message) learn.Case
	// Check says why an answer is not right, "" if it is. Without a Check nothing is known of an answer: what is
	// recalled is given, and no outcome counts.
	Check func(ctx context.Context, in []*schema.Message, answer *schema.Message) (complaint string, err error)
	// Failed says by a tool's result that its call did nothing: then it is no part of the plan. nil: a call
	// whose arguments are no JSON did nothing.
	Failed func(result string) bool
	// OnLearned is told after each Generate what was learned, with the Note that says why a delivery is no plan,
	// or the error: what the memory or the Check could not do. nil: [slog.Default] is told of errors.
	OnLearned func(ctx context.Context, l learn.Learned, err error)
	Learn     *learn.Options // of the layer
}

// Memory is arc's learning around an eino agent: what is known of a case is given to the model, and what came
// of it is learned. A nil *Memory does nothing. It is safe for concurrent use.
type Memory struct {
	layer *learn.Layer
	opts  MemoryOptions
}

// OpenMemory opens the memory in a directory. Close it.
func OpenMemory(ctx context.Context, dir string, o *MemoryOptions) (*Memory, error) {
	opts := *cmp.Or(o, new(MemoryOptions))
	layer, err := learn.Open(ctx, dir, opts.Learn)
	if err != nil {
		return nil, fmt.Errorf("eino: %w", err)
	}
	return &Memory{layer, opts}, nil
}

// Layer has what was learned: a case is judged there by the ID that Case gave it. Of a nil Memory it is nil.
func (m *Memory) Layer() *learn.Layer { return cmp.Or(m, new(Memory)).layer }

// Close closes the memory.
func (m *Memory) Close() error {
	if m == nil {
		return nil
	}
	return m.layer.Close()
}

// turn is what is known of a Generate while the agent is at work. It travels in the context.
type turn struct {
	advice learn.Advice
	seen   atomic.Pointer[[]*schema.Message] // what the model got last; nil: nobody has called the Modifier
}

type turnKey struct{}

// Modifier is the MessageModifier of the agent: it puts what is known of the case behind the first system
// messages, which a provider may have in its cache, and calls next, which may be nil.
func (m *Memory) Modifier(next react.MessageModifier) react.MessageModifier {
	if m == nil {
		return next
	}
	return func(ctx context.Context, input []*schema.Message) []*schema.Message {
		out := input
		if t, ok := ctx.Value(turnKey{}).(*turn); ok {
			t.seen.Store(&input)
			if text := t.advice.Prompt(); text != "" {
				n := max(0, slices.IndexFunc(input, func(m *schema.Message) bool { return m.Role != schema.System }))
				out = slices.Insert(slices.Clone(input), n, schema.SystemMessage(text))
			}
		}
		if next != nil {
			out = next(ctx, out)
		}
		return out
	}
}

// Agent is what Generate runs: a *react.Agent, whose MessageModifier is that of the Memory, is one.
type Agent interface {
	Generate(ctx context.Context, input []*schema.Message, o ...agent.AgentOption) (*schema.Message, error)
}

// Generate runs the agent, learns from what came of it, and returns what the agent did. Its error is a
// failure, unless it was canceled or interrupted, or a model or tool is away or closed to it. A Stream of the
// agent is told nothing, and teaches nothing. Plans are told, and never carried out.
func (m *Memory) Generate(
	ctx context.Context, a Agent, input []*schema.Message, o ...agent.AgentOption,
) (*schema.Message, error) {
	if m == nil {
		return a.Generate(ctx, input, o...)
	}
	var learned learn.Learned
	advice, err := m.layer.Before(ctx, m.caseOf(ctx, input))
	t := &turn{advice: advice}
	answer, failed := a.Generate(context.WithValue(ctx, turnKey{}, t), input, o...)
	if err == nil {
		learned, err = m.learn(ctx, t, input, answer, failed)
	}
	if m.opts.OnLearned != nil {
		m.opts.OnLearned(ctx, learned, err)
	} else if err != nil {
		slog.ErrorContext(ctx, "the memory of an eino agent", "error", err)
	}
	return answer, failed
}

// caseOf is the case of what the agent is asked.
func (m *Memory) caseOf(ctx context.Context, input []*schema.Message) (c learn.Case) {
	if m.opts.Case != nil {
		c = m.opts.Case(ctx, input)
	}
	said := ""
	for _, msg := range input {
		if msg != nil && msg.Role == schema.User {
			if said != "" {
				c.Turns = append(c.Turns, reason.Message{Role: reason.RoleUser, Text: said})
			}
			said = msg.Content
		}
	}
	if n := len(said); n > 16_000 { // beside the plan; the digest has none fire for another text
		said = fmt.Sprintf("%s\n… %d bytes, %x …\n%s", said[:8000], n, sha256.Sum256([]byte(said)), said[n-8000:])
	}
	if c.Text != "" && c.Data == nil {
		c.Data, _ = json.Marshal(said) // a string is JSON
	}
	c.Text = cmp.Or(c.Text, said)
	return c
}

// learn tells the layer what came of a Generate.
func (m *Memory) learn(
	ctx context.Context, t *turn, input []*schema.Message, answer *schema.Message, failed error,
) (none learn.Learned, err error) {
	answer = cmp.Or(answer, new(schema.Message))
	o := learn.Outcome{Answer: text(answer), Worker: "agent", Plan: &reason.Plan{}}
	seen := t.seen.Load()
	class := cmp.Or(reason.Classify(failed), new(reason.Error)).Class
	_, interrupted := compose.ExtractInterruptInfo(failed)
	switch {
	case failed != nil && ctx.Err() != nil, errors.Is(failed, context.Canceled), interrupted,
		class != "" && class != reason.Invalid: // it was ended, or somebody is away: that tells nothing of it
		return none, nil
	case seen == nil:
		return none, errors.New("the agent does not call the Modifier: nothing is told, and nothing learned")
	case failed != nil:
		o.Verdict, o.Complaint = learn.Failed, failed.Error()
	case m.opts.Check != nil:
		if o.Complaint, err = m.opts.Check(ctx, input, answer); err != nil {
			return none, fmt.Errorf("the check: %w", err)
		}
		if o.Verdict = learn.Delivered; o.Complaint != "" {
			o.Verdict = learn.Failed
		}
	}
	at := make(map[string]int) // calls by their IDs
	for _, msg := range append(slices.Clip((*seen)[min(len(input), len(*seen)):]), answer) {
		if i, made := at[msg.ToolCallID]; made && msg.Role == schema.Tool {
			call := &o.Plan.Calls[i]
			call.ResultDigest = tools.Digest([]byte(msg.Content), t.advice.Inputs)
			if f := m.opts.Failed; f != nil && f(msg.Content) || f == nil && !json.Valid(call.Inputs) {
				call.Name = "" // it is taken out below, when no ID is looked up any more
			}
		}
		said, _ := response(msg, nil)
		if said == nil || msg.Role != schema.Assistant {
			continue
		}
		for _, call := range said.Calls {
			at[call.ID] = len(o.Plan.Calls)
			inputs := json.RawMessage(cmp.Or(string(call.Inputs), "{}"))
			o.Plan.Calls = append(o.Plan.Calls, reason.PlanCall{Name: call.Name, Inputs: inputs})
		}
		o.Usage = o.Usage.Add(said.Usage)
	}
	o.Plan.Calls = slices.DeleteFunc(o.Plan.Calls, func(c reason.PlanCall) bool { return c.Name == "" })
	if answer.Role == schema.Tool { // it returned directly: nobody has seen its call
		o.Plan, t.advice.Fires = nil, nil
	}
	return m.layer.After(ctx, t.advice, o)
}
