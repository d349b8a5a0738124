// Package otel tells OpenTelemetry what an agent does: spans of its phases and model calls, and measurements.
//
//	agent, err := arc.Open(ctx, dir, arc.Host{
//		Reasoner: &reason.LLM{Model: otel.Model(model, "openai", "gpt-5-mini", tracers, meters)},
//		…
//	}, &arc.Options{
//		Trace:   otel.Trace(tracers),
//		OnEvent: otel.Events(meters),
//	})
//
// It takes nothing from OpenTelemetry's globals. The host brings the SDK with an exporter, and shuts that
// down after the Agent's Close. Names and attributes of calls of models follow the conventions for generative
// AI, which are in development; those that begin with "arc." are this package's. None has a text of a run.
package otel

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

const library = "github.com/arc-learn/arc/contrib/otel"

// Trace returns a hook for arc.Options.Trace, which begins spans; "arc." precedes the names of attributes.
func Trace(
	tp trace.TracerProvider,
) func(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, func(error)) {
	tracer := tp.Tracer(library)
	return func(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, func(error)) {
		ctx, span := tracer.Start(ctx, name)
		for _, a := range attrs {
			span.SetAttributes(attribute.String("arc."+a.Key, a.Value.String()))
		}
		return ctx, func(err error) { end(span, err) }
	}
}

// end ends a span. Of an error it tells the class, since its text may quote anything.
func end(span trace.Span, err error) {
	if err != nil {
		class := classOf(err)
		span.SetStatus(codes.Error, class)
		span.SetAttributes(attribute.String("error.type", class))
	}
	span.End()
}

func classOf(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline"
	}
	e, _ := errors.AsType[*reason.Error](err)
	return cmp.Or(string(cmp.Or(e, new(reason.Error)).Class), "_OTHER")
}

// Events returns a function for arc.Options.OnEvent, which counts the events of runs as arc.events, with
// their kind as the attribute arc.event, the worker of attempts and of what came of them as arc.worker, and
// the tool of a call as gen_ai.tool.name, even made up by a model (let the SDK bound them); no scope or run.
// arc.cause is that of "blocked", arc.verdict that of "judged"; arc.waiting is "approval" or "outage".
func Events(mp metric.MeterProvider) func(memory.Scope, string, arc.Event) {
	// An instrument beside an error is one that does nothing.
	count, _ := mp.Meter(library).Int64Counter("arc.events",
		metric.WithUnit("{event}"), metric.WithDescription("Events of runs by kind, and by worker or tool."))
	const worker, tool = "arc.worker", "gen_ai.tool.name"
	names := map[string]string{"attempt": worker, "failed": worker, "away": worker, "passed": worker,
		"tool": tool, "blocked": "arc.cause", "judged": "arc.verdict"}
	return func(_ memory.Scope, _ string, e arc.Event) {
		if e.Live {
			return
		}
		attrs := []attribute.KeyValue{attribute.String("arc.event", e.Kind)}
		if who := names[e.Kind]; who != "" && e.Name != "" {
			attrs = append(attrs, attribute.String(who, e.Name))
		}
		if e.Kind == "waiting" {
			kind := "approval"
			if e.Name == "" {
				kind = "outage"
			}
			attrs = append(attrs, attribute.String("arc.waiting", kind))
		}
		count.Add(context.Background(), 1, metric.WithAttributes(attrs...))
	}
}

// Model returns m with a span "chat NAME" around each call, and with gen_ai.client.token.usage and
// gen_ai.client.operation.duration measured. provider is its name in the conventions, e.g. "openai".
func Model(
	m reason.Model, provider, name string, tp trace.TracerProvider, mp metric.MeterProvider,
) reason.Model {
	meter := mp.Meter(library)
	t := &traced{model: m, name: name, tracer: tp.Tracer(library), attrs: []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.provider.name", provider),
		attribute.String("gen_ai.request.model", name),
	}}
	t.tokens, _ = meter.Int64Histogram("gen_ai.client.token.usage", metric.WithUnit("{token}"),
		metric.WithExplicitBucketBoundaries(1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576))
	t.seconds, _ = meter.Float64Histogram("gen_ai.client.operation.duration", metric.WithUnit("s"),
		metric.WithExplicitBucketBoundaries(.01, .04, .16, .64, 2.56, 10.24, 40.96, 81.92))
	return t
}

type traced struct {
	model   reason.Model
	name    string
	tracer  trace.Tracer
	attrs   []attribute.KeyValue
	tokens  metric.Int64Histogram
	seconds metric.Float64Histogram
}

// Generate implements reason.Model.
func (t *traced) Generate(ctx context.Context, r *reason.Request) (*reason.Response, error) {
	ctx, span := t.tracer.Start(ctx, "chat "+t.name,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(t.attrs...))
	span.SetAttributes(attribute.Bool("gen_ai.request.stream", r.OnText != nil))
	began := time.Now()
	err := errors.New("panic") // as long as the model has not returned
	defer func() {
		attrs := t.attrs
		if err != nil {
			attrs = append(attrs[:len(attrs):len(attrs)], attribute.String("error.type", classOf(err)))
		}
		t.seconds.Record(ctx, time.Since(began).Seconds(), metric.WithAttributes(attrs...))
		end(span, err)
	}()
	var response *reason.Response
	if response, err = t.model.Generate(ctx, r); response == nil {
		return nil, err
	}
	span.SetAttributes(attribute.StringSlice("gen_ai.response.finish_reasons", []string{response.Stop}))
	if u := response.Usage; u != nil {
		span.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", u.Input),
			attribute.Int("gen_ai.usage.output_tokens", u.Output))
		t.count(ctx, "input", u.Input)
		t.count(ctx, "output", u.Output)
	}
	return response, err
}

func (t *traced) count(ctx context.Context, kind string, n int) {
	t.tokens.Record(ctx, int64(n), metric.WithAttributes(t.attrs...),
		metric.WithAttributes(attribute.String("gen_ai.token.type", kind)))
}
