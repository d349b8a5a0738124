// Telemetry shows a run as spans: it prints what OpenTelemetry's exporter for
// standard output makes of them. A host puts the exporter of its choice, such
// as that for OTLP, in its place. It is a module of its own, because it links
// OpenTelemetry's SDK.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	exporter, err := stdouttrace.New(stdouttrace.WithWriter(out), stdouttrace.WithPrettyPrint(), stdouttrace.WithoutTimestamps())
	if err != nil {
		return err
	}
	spans := trace.NewTracerProvider(trace.WithBatcher(exporter)) // never waits for the exporter
	reader := metric.NewManualReader()
	measurements := metric.NewMeterProvider(metric.WithReader(reader))

	agent, err := arc.Open(ctx, "", host(), &arc.Options{Name: "greeter", TracerProvider: spans, MeterProvider: measurements})
	if err != nil {
		return err
	}
	_, err = agent.Run(ctx, arc.Objective{Text: "greet the reader"})
	err = errors.Join(err, agent.Close(), spans.Shutdown(ctx), sums(ctx, out, reader), measurements.Shutdown(ctx))
	return err
}

// sums prints the counters.
func sums(ctx context.Context, out io.Writer, reader metric.Reader) error {
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		return err
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
				for _, p := range sum.DataPoints {
					fmt.Fprintln(out, m.Name, p.Value, p.Attributes.Encoded(attribute.DefaultEncoder()))
				}
			}
		}
	}
	return nil
}

func host() arc.Host {
	return arc.Host{
		Reasoner: reason.ReasonerFunc(func(_ context.Context, b reason.Brief) (reason.Decision, error) {
			return reason.Decision{Approach: "just say it", Tasks: []reason.Task{{Objective: b.Objective}}}, nil
		}),
		Workers: []act.Worker{{Card: rank.Candidate{Name: "speaker"}, Executor: act.ExecutorFunc(func(_ context.Context, w act.Work) (act.Result, error) {
			said := fmt.Sprintf("hello %d", w.Attempt)
			return act.Result{Output: fmt.Appendf(nil, "%q", said), Reflection: iar.Reflection{Status: iar.Success, Confidence: 0.9, Summary: "said it"}}, nil
		})}},
		Gates: []act.Gate{act.GateFunc(func(_ context.Context, _ act.Work, r act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: string(r.Output) == `"hello 2"`, Complaint: "say it again"}, nil
		})},
	}
}
