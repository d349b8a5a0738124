package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// shown are the attributes of spans that are printed, with a word for each.
// docs/telemetry.md has all attributes.
var shown = []struct {
	key  attribute.Key
	word string
}{
	{"arc.run.status", "status"},
	{"gen_ai.memory.record.count", "memories"},
	{"gen_ai.usage.input_tokens", "tokens_in"},
	{"gen_ai.usage.output_tokens", "tokens_out"},
	{"arc.attempt.number", "attempt"},
	{"arc.attempt.end", "end"},
	{"arc.gate.verdict", "verdict"},
	{"arc.learn.count", "learned"},
}

// report prints the spans as a tree, and the counters.
func report(ctx context.Context, out io.Writer, spans tracetest.SpanStubs, reader metric.Reader) error {
	fmt.Fprint(out, `One run of an agent, as OpenTelemetry sees it. The model makes a plan, and the
gate refuses the first attempt.

Spans, each below the one that it is part of, in the order in which they began:

`)
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	tree(out, spans, trace.SpanID{}, 1)
	fmt.Fprint(out, "\nCounters, for dashboards and alarms:\n\n")
	return counters(ctx, out, reader)
}

// tree prints the spans below parent.
func tree(out io.Writer, spans tracetest.SpanStubs, parent trace.SpanID, depth int) {
	for _, s := range spans {
		if s.Parent.SpanID() != parent {
			continue
		}
		attrs := attribute.NewSet(s.Attributes...)
		var says []string
		for _, a := range shown {
			if v, ok := attrs.Value(a.key); ok {
				says = append(says, a.word+"="+v.Emit())
			}
		}
		line := fmt.Sprintf("%-28s%s", strings.Repeat("  ", depth)+s.Name, strings.Join(says, " "))
		fmt.Fprintln(out, strings.TrimRight(line, " "))
		tree(out, spans, s.SpanContext.SpanID(), depth+1)
	}
}

// counters prints what was counted.
func counters(ctx context.Context, out io.Writer, reader metric.Reader) error {
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		return err
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
				for _, p := range sum.DataPoints {
					fmt.Fprintf(out, "  %-22s%4d  %s\n", m.Name, p.Value, of(p.Attributes))
				}
			}
		}
	}
	return nil
}

// of returns what a count is of.
func of(attrs attribute.Set) string {
	var says []string
	for _, kv := range attrs.ToSlice() {
		says = append(says, short(string(kv.Key))+"="+kv.Value.Emit())
	}
	return strings.Join(says, " ")
}

// short returns a name without its first part: arc.run.status is run.status.
func short(name string) string {
	_, rest, _ := strings.Cut(name, ".")
	return rest
}
