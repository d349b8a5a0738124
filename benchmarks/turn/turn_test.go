// Package turn measures what a turn costs beside what its model and its tool take, in arc and in eino.
//
//	GOWORK=off go test -bench . -count 5
package turn

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

const question, answer = "why does the build fail?", "an unused import"

// BenchmarkTurn makes turns of one decision, one call and its check. eino's has a model that asks for a tool,
// and reads its answer. In arc it is persisted step by step, with recall from 100 memories: "asked" has a new
// case each time, so that the reasoner decides; "fired" the same case, which a learned plan delivers.
func BenchmarkTurn(b *testing.B) {
	b.Run("eino", func(b *testing.B) {
		agent, err := react.NewAgent(b.Context(), &react.AgentConfig{
			ToolCallingModel: chat{}, ToolsConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{look{}}},
		})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			out, err := agent.Generate(b.Context(), []*schema.Message{schema.UserMessage(question)})
			if err != nil || out.Content != answer {
				b.Fatal(out, err)
			}
		}
	})
	for _, name := range []string{"asked", "fired"} {
		b.Run("arc, "+name, func(b *testing.B) {
			st := &counting{}
			a := agent(b, st)
			before, n := st.commits.Load(), 0
			b.ReportAllocs()
			for b.Loop() {
				text := question
				if n++; name == "asked" {
					text = fmt.Sprintf("why does build %d fail?", n)
				}
				if n%100 == 0 { // so that there are some hundred memories and cases, whatever b.N
					b.StopTimer()
					_ = a.Close() // or it would go on with the next one's runs, after a minute
					a, before = agent(b, st), before+100
					b.StartTimer()
				}
				r, err := a.Run(b.Context(), arc.Objective{Text: text})
				if err != nil || r.Status != arc.Delivered {
					b.Fatal(r, err)
				}
			}
			b.ReportMetric(float64(st.commits.Load()-before)/float64(n), "commits/op")
		})
	}
}

type counting struct {
	store.Store
	commits atomic.Int64
}

func (c *counting) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	c.commits.Add(1)
	return c.Store.Commit(ctx, ops...)
}

// agent has a reasoner, a worker and a gate that take no time, and 100 memories.
func agent(b *testing.B, st *counting) *arc.Agent {
	st.Store = store.NewMem()
	a, err := arc.New(b.Context(), st, arc.Host{
		Reasoner: decider{},
		Workers: []act.Worker{{Name: "look",
			Executor: act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) {
				return &act.Result{Text: answer}, nil
			})}},
		Gates: []act.Gate{act.GateFunc(func(context.Context, *act.Call, *act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: true}, nil
		})},
	}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = a.Close() })
	m, err := a.In("").Memory(b.Context())
	for n := range 100 {
		if err == nil {
			_, err = m.Remember(b.Context(), memory.Draft{
				Kind: memory.Pattern, Trigger: fmt.Sprint("the build fails in module m", n),
				Content: fmt.Sprint("look at part p", n),
			})
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	return a
}

type decider struct{}

func (decider) Decide(_ context.Context, b *reason.Brief) (*reason.Decision, error) {
	return &reason.Decision{Approach: "look", Tasks: []reason.Task{{Objective: b.Text}}}, nil
}

// chat calls the tool once, then answers.
type chat struct{}

func (chat) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	if in[len(in)-1].Role == schema.Tool {
		return schema.AssistantMessage(answer, nil), nil
	}
	call := schema.ToolCall{ID: "1", Function: schema.FunctionCall{Name: "look",
		Arguments: `{"package":"strings"}`}}
	return schema.AssistantMessage("", []schema.ToolCall{call}), nil
}

func (c chat) Stream(
	ctx context.Context, in []*schema.Message, o ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	out, err := c.Generate(ctx, in, o...)
	return schema.StreamReaderFromArray([]*schema.Message{out}), err
}

func (c chat) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return c, nil }

type look struct{}

func (look) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "look", Desc: "looks into a package"}, nil
}

func (look) InvokableRun(context.Context, string, ...tool.Option) (string, error) { return answer, nil }
