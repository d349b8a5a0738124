package benchmarks_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
)

// A turn of a peer: a model that asks for a tool, the tool, and the model
// that reads its answer. None of the three does any work, so that what is
// left is the framework.

const (
	question  = "why does the build fail?"
	arguments = `{"package":"strings"}`
	answer    = "an unused import"
)

// BenchmarkTurnPlain is the turn written as plain Go: the floor.
func BenchmarkTurnPlain(b *testing.B) {
	type message struct{ role, text, call string }
	chat := func(_ context.Context, in []message) (message, error) {
		if in[len(in)-1].role == "tool" {
			return message{role: "assistant", text: answer}, nil
		}
		return message{role: "assistant", call: arguments}, nil
	}
	look := func(context.Context, string) (string, error) { return answer, nil }
	turn := func(ctx context.Context) (string, error) {
		history := []message{{role: "user", text: question}}
		for {
			out, err := chat(ctx, history)
			if err != nil {
				return "", err
			}
			if out.call == "" {
				return out.text, nil
			}
			history = append(history, out)
			text, err := look(ctx, out.call)
			if err != nil {
				return "", err
			}
			history = append(history, message{role: "tool", text: text})
		}
	}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		text, err := turn(ctx)
		if err != nil || text != answer {
			b.Fatal(text, err)
		}
	}
}

// BenchmarkTurnEino is the turn of eino's ReAct agent with one tool.
func BenchmarkTurnEino(b *testing.B) {
	ctx := b.Context()
	agent, err := react.NewAgent(ctx, &react.AgentConfig{
		ToolCallingModel: einoModel{},
		ToolsConfig:      compose.ToolsNodeConfig{Tools: []tool.BaseTool{einoTool{}}},
	})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		out, err := agent.Generate(ctx, []*schema.Message{schema.UserMessage(question)})
		if err != nil || out.Content != answer {
			b.Fatal(out, err)
		}
	}
}

// einoModel calls the tool once, then answers.
type einoModel struct{}

func (einoModel) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	if in[len(in)-1].Role == schema.Tool {
		return schema.AssistantMessage(answer, nil), nil
	}
	call := schema.ToolCall{ID: "1", Function: schema.FunctionCall{Name: "look", Arguments: arguments}}
	return schema.AssistantMessage("", []schema.ToolCall{call}), nil
}

func (m einoModel) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	out, err := m.Generate(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{out}), nil
}

func (m einoModel) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

type einoTool struct{}

func (einoTool) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "look", Desc: "looks into a package"}, nil
}

func (einoTool) InvokableRun(context.Context, string, ...tool.Option) (string, error) {
	return answer, nil
}
