package model

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/arc-learn/arc/internal/telemetry"
	"github.com/arc-learn/arc/reason"
)

// TraceOptions configure [Trace]. Provider and Model are names for the spans:
// they do not change what the model is asked.
type TraceOptions struct {
	TracerProvider trace.TracerProvider // nil: no spans
	MeterProvider  metric.MeterProvider // nil: no measurements

	Provider string // such as "openai" or "anthropic"; "": left out
	Model    string // the model that the host asks for; "": left out

	// Logger gets the first failure of a provider. nil discards it.
	Logger *slog.Logger
}

// Trace returns m with a span `chat {model}` around each call, and measurements
// of its tokens and time. Names are those of OpenTelemetry's conventions for
// generative AI; docs/telemetry.md lists them. Tokens are those of answers: what a
// failed call has cost is not measured. A stream is one span, from its
// start to its end. Spans have names, counts, parameters and classes of errors, and
// no texts: [Record] has these.
//
// The error of a call is shown as its class alone, such as the status of HTTP:
// providers quote in their messages what they were sent.
//
// Providers that panic or hang do not change a call. Without a provider Trace
// returns m itself.
func Trace(m reason.Model, opts *TraceOptions) reason.Model {
	o := *cmp.Or(opts, new(TraceOptions))
	t := telemetry.New(telemetry.Options{Tracer: o.TracerProvider, Meter: o.MeterProvider, Logger: o.Logger})
	if t == nil {
		return m
	}
	tr := &tracer{
		t: t, name: strings.TrimSuffix(telemetry.Chat+" "+o.Model, " "), tokens: t.Tokens(),
		seconds: t.Seconds(telemetry.OperationDuration, "GenAI operation duration."),
		attrs:   attributes{attribute.String(telemetry.Operation, telemetry.Chat)},
	}
	tr.attrs.addIf(o.Model != "", attribute.String(telemetry.RequestModel, o.Model))
	tr.attrs.addIf(o.Provider != "", attribute.String(telemetry.Provider, o.Provider))
	return wrap(m, tr.run)
}

type tracer struct {
	t       *telemetry.T
	name    string
	attrs   attributes // of spans and measurements
	tokens  metric.Int64Histogram
	seconds metric.Float64Histogram
}

// outcome is what a call has come to so far.
type outcome struct {
	start time.Time
	first time.Duration   // until the first piece of a stream; 0: none came yet
	last  reason.Response // the last piece, which has Stop, Model and Usage
	err   error
}

// run makes the call under a span, which the context of the model inside carries:
// its own spans stand below.
func (t *tracer) run(ctx context.Context, req *reason.Request, next target, yield sink) {
	stream := next.streamer != nil
	o := outcome{start: time.Now()}
	ctx, span := t.t.Start(ctx, t.name, trace.SpanKindClient, t.asked(req, stream)...)
	defer func() { t.end(span, &o) }() // also when the caller's loop breaks or panics
	for p, err := range next.call(ctx, req) {
		if stream && o.first == 0 {
			o.first = max(1, time.Since(o.start))
		}
		if o.err = err; err == nil {
			o.last = *p
		}
		if !yield(p, err) {
			return
		}
	}
}

// attributes are those of one span, or of one measurement. tracer.attrs belong to
// all of them, and are cloned before more are added.
type attributes []attribute.KeyValue

// addIf adds kv if it says something.
func (a *attributes) addIf(says bool, kv attribute.KeyValue) {
	if says {
		*a = append(*a, kv)
	}
}

// asked returns the attributes of a request: how it is asked, never what.
func (t *tracer) asked(req *reason.Request, stream bool) attributes {
	attrs := slices.Clone(t.attrs)
	attrs.addIf(stream, attribute.Bool(telemetry.RequestStream, true))
	attrs.addIf(req.MaxTokens > 0, attribute.Int(telemetry.RequestMaxTokens, req.MaxTokens))
	if t := req.Temperature; t != nil {
		attrs = append(attrs, attribute.Float64(telemetry.RequestTemperature, *t))
	}
	attrs.addIf(len(req.Schema) > 0, attribute.String(telemetry.OutputType, "json"))
	return attrs
}

// answered returns the attributes of an answer. A call that failed before its
// first piece has none.
func (t *tracer) answered(o *outcome) attributes {
	var attrs attributes
	r, u, finish := o.last, o.last.Usage, cmp.Or(finishReasons[o.last.Stop], clip(o.last.Stop, 128))
	attrs.addIf(o.first > 0, attribute.Float64(telemetry.FirstChunk, o.first.Seconds()))
	attrs.addIf(r.Model != "", attribute.String(telemetry.ResponseModel, clip(r.Model, 128)))
	attrs.addIf(finish != "", attribute.StringSlice(telemetry.FinishReasons, []string{finish}))
	attrs.addIf(u.TokensIn+u.TokensOut > 0, attribute.Int(telemetry.InputTokens, u.TokensIn))
	attrs.addIf(u.TokensIn+u.TokensOut > 0, attribute.Int(telemetry.OutputTokens, u.TokensOut))
	return attrs
}

// end ends the span and measures the call. telemetry.Class turns the error into a
// word that tells nothing of the texts: providers quote what they were sent.
func (t *tracer) end(span telemetry.Span, o *outcome) {
	took := time.Since(o.start).Seconds()
	class := telemetry.Class(o.err)
	span.End(class, func(ctx context.Context) {
		timed := slices.Clone(t.attrs)
		timed.addIf(class != "", attribute.String(telemetry.ErrorType, class))
		t.seconds.Record(ctx, took, metric.WithAttributes(timed...))
		t.count(ctx, "input", o.last.Usage.TokensIn)
		t.count(ctx, "output", o.last.Usage.TokensOut)
	}, t.answered(o)...)
}

// count measures n tokens of a kind, "input" or "output".
func (t *tracer) count(ctx context.Context, kind string, n int) {
	if n > 0 {
		attrs := append(slices.Clone(t.attrs), attribute.String(telemetry.TokenType, kind))
		t.tokens.Record(ctx, int64(n), metric.WithAttributes(attrs...))
	}
}

// finishReasons are the conventions' words for a Stop. Others are shown as they are.
var finishReasons = map[string]string{reason.StopEnd: "stop", reason.StopRefusal: "content_filter"}
