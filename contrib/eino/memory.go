package eino

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/cloudwego/eino/flow/agent"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/arc-learn/arc/act/tools"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/reason"
)

// MemoryOptions of a [Memory]. Nil and the zero value are the defaults.
type MemoryOptions struct {
	// Case says more about a case than its text, which is that of the last user message: the scope, the kind of
	// case, inputs. It may be nil.
	Case func(ctx context.Context, input []*schema.Message) learn.Case
	// Check says why an answer is not right, "" if it is. Without a Check nothing is known of an answer: what is
	// recalled is given, and no outcome counts.
	Check func(ctx context.Context, in []*schema.Message, answer *schema.Message) (complaint string, err error)
	// Learn are the options of the layer.
	Learn *learn.Options
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
	mu     sync.Mutex
	seen   []*schema.Message // what the model got last
}

type turnKey struct{}

// Modifier is the MessageModifier of the agent: it puts what is known of the case behind the first system
// messages, which a provider may have in its cache, and calls next, which may be nil.
func (m *Memory) Modifier(next react.MessageModifier) react.MessageModifier {
	if m == nil {
		return next
	}
	return func(ctx context.Context, input []*schema.Message) []*schema.Message {
		t, _ := ctx.Value(turnKey{}).(*turn)
		out := input
		if t != nil {
			t.mu.Lock()
			t.seen = input
			t.mu.Unlock()
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

// Generate runs the agent, and learns from the answer. An error of the memory comes with the answer. A Stream
// of the agent is told nothing, and teaches nothing. Plans are told, and never carried out.
func (m *Memory) Generate(
	ctx context.Context, a Agent, input []*schema.Message, o ...agent.AgentOption,
) (*schema.Message, error) {
	if m == nil {
		return a.Generate(ctx, input, o...)
	}
	var c learn.Case
	if m.opts.Case != nil {
		c = m.opts.Case(ctx, input)
	}
	for _, msg := range input {
		if msg.Role == schema.User {
			if c.Text != "" {
				c.Turns = append(c.Turns, reason.Message{Role: reason.UserRole, Text: c.Text})
			}
			c.Text = msg.Content
		}
	}
	advice, before := m.layer.Before(ctx, c)
	t := &turn{advice: advice, seen: input}
	answer, err := a.Generate(context.WithValue(ctx, turnKey{}, t), input, o...)
	if err != nil {
		return answer, err
	}
	if before != nil {
		return answer, fmt.Errorf("eino: memory: %w", before)
	}
	outcome := t.outcome(len(input), answer)
	if m.opts.Check != nil {
		complaint, err := m.opts.Check(ctx, input, answer)
		if err != nil {
			return answer, fmt.Errorf("eino: the check: %w", err)
		}
		if outcome.Verdict = learn.Delivered; complaint != "" {
			outcome.Verdict, outcome.Complaint = learn.Failed, complaint
		}
	}
	if _, err := m.layer.After(ctx, advice, outcome); err != nil {
		return answer, fmt.Errorf("eino: memory: %w", err)
	}
	return answer, nil
}

// outcome has the calls of tools that were made behind so many messages, and the usage that was reported.
func (t *turn) outcome(before int, answer *schema.Message) learn.Outcome {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := learn.Outcome{Answer: answer.Content, Worker: "agent", Plan: &reason.Plan{}}
	at := make(map[string]int) // calls by their IDs
	for _, msg := range append(slices.Clone(t.seen[min(before, len(t.seen)):]), answer) {
		if i, made := at[msg.ToolCallID]; made && msg.Role == schema.Tool {
			o.Plan.Calls[i].ResultDigest = tools.Digest([]byte(msg.Content), t.advice.Inputs)
		}
		if msg.Role != schema.Assistant {
			continue
		}
		for _, call := range msg.ToolCalls {
			at[call.ID] = len(o.Plan.Calls)
			made := reason.PlanCall{Name: call.Function.Name, Inputs: []byte(call.Function.Arguments)}
			o.Plan.Calls = append(o.Plan.Calls, made)
		}
		if msg.ResponseMeta != nil && msg.ResponseMeta.Usage != nil {
			u := msg.ResponseMeta.Usage
			o.Usage = o.Usage.Add(&reason.Usage{Calls: 1, Input: u.PromptTokens, Output: u.CompletionTokens})
		}
	}
	return o
}
