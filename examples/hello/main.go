// Hello is a support agent: a model with two tools, one of which asks first, and memory in a directory.
//
//	OPENAI_API_KEY=… go run ./examples/hello "Order A-17 arrived broken. I want my money back."
//	go run ./examples/hello -url http://localhost:11434/v1 -model qwen3 "…"
package main

import (
	"bufio"
	"cmp"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/tools"
	"github.com/arc-learn/arc/contrib/openai"
	"github.com/arc-learn/arc/memory"
)

func main() {
	url := flag.String("url", "", "of an OpenAI-compatible API")
	model := flag.String("model", "gpt-5-mini", "its model")
	flag.Parse()
	if err := run(context.Background(), *url, *model, flag.Arg(0)); err != nil {
		log.Fatal(err)
	}
}

type order struct {
	ID string `json:"id"`
}

func run(ctx context.Context, url, model, text string) error {
	lookup := tools.Func("lookup", "Looks an order up.", func(_ context.Context, o order) (string, error) {
		return "order " + o.ID + ": a lamp, $20, delivered yesterday", nil
	})
	refund := tools.Func("refund", "Pays an order back.", func(_ context.Context, o order) (string, error) {
		return "paid back order " + o.ID, nil
	})
	refund.Irreversible, refund.Mode = true, act.Gated // a person is asked
	support := act.Worker{
		Name:     "support",
		Executor: tools.New(openai.New(model, &openai.Options{URL: url}), nil, lookup, refund),
		Gates:    []act.Gate{act.NoGate}, // put your check here
	}
	in := bufio.NewReader(os.Stdin)
	person := func(_ context.Context, a act.Approval) (act.Ruling, error) {
		fmt.Printf("\n%s %s? (yes or no) ", a.Name, a.Inputs)
		line, err := in.ReadString('\n')
		answer := strings.TrimSpace(line)
		if answer != "yes" && answer != "no" {
			return act.Ruling{}, err // neither: the run waits for View.Decide
		}
		return act.Ruling{Allow: answer == "yes", By: "you"}, nil
	}
	tell := func(_ memory.Scope, _ string, e arc.Event) {
		if e.Live { // the model's words as they come, void where "again", "away", "waiting" or "failed" is next
			fmt.Print(e.Text)
		} else {
			fmt.Printf("\n[%s] %s ", e.Kind, cmp.Or(e.Name, e.Text))
		}
	}
	agent, err := arc.Open(ctx, "hello.arc",
		arc.Host{Workers: []act.Worker{support}, Approver: person}, &arc.Options{OnEvent: tell})
	if err != nil {
		return err
	}
	defer agent.Close()
	report, err := agent.Run(ctx, arc.Objective{Text: text})
	if err != nil {
		return err
	}
	fmt.Printf("\n%s: %s\n", report.Status, report.Text)
	return nil
}
