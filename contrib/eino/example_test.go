package eino_test

import (
	"context"
	"fmt"
	"log"

	"github.com/cloudwego/eino/schema"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/contrib/eino"
	"github.com/arc-learn/arc/reason"
)

// An agent that reasons with an eino chat model.
func ExampleNewModel() {
	chat := chat{pieces: []*schema.Message{said(`{"thought":"easy","complexity":"simple","approach":"just do it",
		"tasks":[{"objective":"greet the reader","verify":"it is polite"}]}`, "stop", 900, 40)}} // the host's own

	r, err := reason.NewLLM(eino.NewModel(chat, nil), nil)
	if err != nil {
		log.Fatal(err)
	}
	d, err := r.Reason(context.Background(), reason.Brief{Objective: "greet the reader"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Approach, len(d.Tasks), d.Usage.TokensOut)
	// Output: just do it 1 40
}

// An agent as a tool of an eino program.
func ExampleNewTool() {
	agent, err := arc.Open(context.Background(), "", host(planned), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close()
	t := eino.NewTool(agent, &eino.ToolOptions{Objective: func(_ context.Context, text string) (arc.Objective, error) {
		return arc.Objective{ID: "greeting-1", Text: text, Scope: "acme/support"}, nil
	}})
	out, err := t.InvokableRun(context.Background(), `{"objective":"greet the reader"}`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out)
	// Output: {"deliveries":[{"output":"hello","summary":"said it","task":"greet the reader"}],"run":"greeting-1","status":"delivered"}
}
