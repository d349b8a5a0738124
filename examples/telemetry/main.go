// Telemetry shows a run as OpenTelemetry sees it: a tree of spans, and counters. A
// host puts the exporter of its choice, such as that for OTLP, in the place of the
// one that keeps spans in memory here. It is a module of its own, because it links
// OpenTelemetry's SDK.
//
//	cd examples/telemetry && go run .
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/model"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	exporter := tracetest.NewInMemoryExporter()
	spans := trace.NewTracerProvider(trace.WithBatcher(exporter)) // never waits for the exporter
	reader := metric.NewManualReader()
	measurements := metric.NewMeterProvider(metric.WithReader(reader))

	// The spans of the model are the host's: arc sees a Reasoner.
	client := model.Trace(reason.ModelFunc(plan), &model.TraceOptions{
		TracerProvider: spans, MeterProvider: measurements, Provider: "example", Model: "small",
	})
	reasoner, err := reason.NewLLM(client, nil)
	if err != nil {
		return err
	}
	agent, err := arc.Open(ctx, "", host(reasoner), &arc.Options{
		Name: "greeter", TracerProvider: spans, MeterProvider: measurements,
	})
	if err != nil {
		return err
	}
	_, err = agent.Run(ctx, arc.Objective{Text: "greet the reader"})
	err = errors.Join(err, agent.Close(), spans.ForceFlush(ctx))
	if err == nil {
		err = report(ctx, out, exporter.GetSpans(), reader)
	}
	return errors.Join(err, spans.Shutdown(ctx), measurements.Shutdown(ctx))
}

// plan stands in for a model.
func plan(context.Context, *reason.Request) (*reason.Response, error) {
	return &reason.Response{
		Text: `{"thought":"easy","complexity":"simple","approach":"just say it",
			"tasks":[{"objective":"greet the reader","verify":"it was said twice"}]}`,
		Stop: reason.StopEnd, Model: "small-1", Usage: reason.Usage{TokensIn: 900, TokensOut: 40},
	}, nil
}

// host has a worker that says hello, and a gate that wants to hear it twice.
func host(r reason.Reasoner) arc.Host {
	speak := func(_ context.Context, w act.Work) (act.Result, error) {
		said := fmt.Appendf(nil, "%q", fmt.Sprintf("hello %d", w.Attempt))
		reflection := iar.Reflection{Status: iar.Success, Confidence: 0.9, Summary: "said it"}
		return act.Result{Output: said, Reflection: reflection}, nil
	}
	twice := func(_ context.Context, _ act.Work, r act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: string(r.Output) == `"hello 2"`, Complaint: "say it again"}, nil
	}
	return arc.Host{
		Reasoner: r,
		Workers:  []act.Worker{{Card: rank.Candidate{Name: "speaker"}, Executor: act.ExecutorFunc(speak)}},
		Gates:    []act.Gate{act.GateFunc(twice)},
	}
}
