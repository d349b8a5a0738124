package otel_test

import (
	"context"
	"fmt"

	metrics "go.opentelemetry.io/otel/metric/noop"
	traces "go.opentelemetry.io/otel/trace/noop"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/contrib/otel"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/reasontest"
	"github.com/arc-learn/arc/store"
)

// The providers are those of an SDK with an exporter; here they tell nobody.
func Example() {
	ctx := context.Background()
	tracers, meters := traces.NewTracerProvider(), metrics.NewMeterProvider()
	model := otel.Model(reasontest.NewScript(reasontest.Say("hello, Ann")), "openai", "gpt-5-mini", tracers, meters)
	greet := act.Worker{Name: "greet", Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
		func(ctx context.Context, c *act.Call) (*act.Result, error) {
			answer, err := reason.Generate(ctx, model, &reason.Request{
				Messages: []reason.Message{{Role: reason.RoleUser, Text: c.Task.Objective}},
			})
			if err != nil {
				return nil, err
			}
			return &act.Result{Text: answer.Text, Usage: answer.Usage}, nil
		})}
	agent, err := arc.New(ctx, store.NewMem(), arc.Host{Workers: []act.Worker{greet}},
		&arc.Options{Trace: otel.Trace(tracers), OnEvent: otel.Events(meters)})
	if err != nil {
		panic(err)
	}
	defer agent.Close()
	report, err := agent.Run(ctx, arc.Objective{Text: "greet Ann"})
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Status, report.Text)
	// Output: delivered hello, Ann
}
