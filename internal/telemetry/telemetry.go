// Package telemetry makes spans and measurements through the OpenTelemetry
// providers of a host. What these do, and do not, is no business of the caller:
// one that panics or hangs is left alone.
package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// limit is how long a provider is waited for.
const limit = time.Second

// maxText bounds a text in a span, in bytes.
const maxText = 8 << 10

// Options are a host's providers, and what they are told.
type Options struct {
	Tracer    trace.TracerProvider // nil: no spans
	Meter     metric.MeterProvider // nil: no measurements
	Texts     bool                 // whether spans show texts
	Sanitizer *redact.Sanitizer    // of these
	Logger    *slog.Logger         // told of the first failure of a provider; nil: nobody
}

// T makes spans and measurements. It is safe for concurrent use.
type T struct {
	o      Options
	tracer trace.Tracer // nil: no spans
	meter  metric.Meter // noop.Meter: no measurements
	out    guard.Outlet
	once   sync.Once
}

// New returns nil if there is no provider. The providers of OpenTelemetry that
// do nothing count as none: a guarded call costs more than they do.
func New(o Options) *T {
	_, noSpans := o.Tracer.(tracenoop.TracerProvider)
	_, noMetrics := o.Meter.(noop.MeterProvider)
	spans, metrics := !noSpans && !guard.IsNil(o.Tracer), !noMetrics && !guard.IsNil(o.Meter)
	if !spans && !metrics {
		return nil
	}
	o.Logger = guard.Logger(o.Logger)
	t := &T{o: o, meter: noop.Meter{}}
	t.out.Limit = limit
	var tracer trace.Tracer
	var meter metric.Meter
	if spans && t.Do(func() { tracer = o.Tracer.Tracer(Scope) }) && !guard.IsNil(tracer) {
		t.tracer = tracer
	}
	if metrics && t.Do(func() { meter = o.Meter.Meter(Scope) }) && !guard.IsNil(meter) {
		t.meter = meter
	}
	return t
}

// Do calls a provider, and reports whether that went well.
func (t *T) Do(fn func()) bool {
	err := t.out.Call(fn)
	if err != nil {
		t.once.Do(func() {
			t.o.Logger.Error("a telemetry provider failed", "class", Class(err), "stack", Stack(err))
		})
	}
	return err == nil
}

// Lost returns how many calls of providers came to nothing.
func (t *T) Lost() int64 { return t.out.Lost() }

// instrument returns what a provider makes, or one that does nothing where it makes none.
func instrument[I any](t *T, none I, made func() (I, error)) I {
	var it I
	var err error
	if ok := t.Do(func() { it, err = made() }); !ok || err != nil || guard.IsNil(it) {
		return none
	}
	return it
}

// Counter returns a counter of things such as "{run}".
func (t *T) Counter(name, unit, what string) metric.Int64Counter {
	return instrument[metric.Int64Counter](t, noop.Int64Counter{}, func() (metric.Int64Counter, error) {
		return t.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(what))
	})
}

// Histogram returns a histogram of things such as "{token}".
func (t *T) Histogram(name, unit, what string, bounds ...float64) metric.Int64Histogram {
	return instrument[metric.Int64Histogram](t, noop.Int64Histogram{}, func() (metric.Int64Histogram, error) {
		return t.meter.Int64Histogram(name,
			metric.WithUnit(unit), metric.WithDescription(what), metric.WithExplicitBucketBoundaries(bounds...))
	})
}

// Tokens returns the histogram of tokens used.
func (t *T) Tokens() metric.Int64Histogram {
	return t.Histogram(TokenUsage, "{token}", "Number of input and output tokens used.", tokens...)
}

// Seconds returns a histogram of durations.
func (t *T) Seconds(name, what string) metric.Float64Histogram {
	return instrument[metric.Float64Histogram](t, noop.Float64Histogram{}, func() (metric.Float64Histogram, error) {
		return t.meter.Float64Histogram(name,
			metric.WithUnit("s"), metric.WithDescription(what), metric.WithExplicitBucketBoundaries(durations...))
	})
}

// Span is a span under way. The zero Span is none.
type Span struct {
	t    *T
	ctx  context.Context // that of the span, for what is measured at its end
	span trace.Span      // nil: none
}

// unrecorded is the key of the T whose span in a context is not recorded.
type unrecorded struct{}

// Start begins a span within that of ctx, and returns a context that carries
// it. Within a span of t that is not recorded, since the sampler or a provider
// without an SDK wants none, it begins none.
func (t *T) Start(ctx context.Context, name string, kind trace.SpanKind, attrs ...attribute.KeyValue) (context.Context, Span) {
	if id, _ := ctx.Value(conversation{}).(string); id != "" {
		attrs = append(attrs, attribute.String(Conversation, id))
	}
	s := Span{t: t, ctx: ctx}
	if t.tracer == nil || ctx.Value(unrecorded{}) == t {
		return ctx, s
	}
	var in context.Context
	var span trace.Span
	var recorded bool
	ok := t.Do(func() {
		in, span = t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attrs...))
		recorded = span != nil && span.IsRecording()
	})
	if !ok || in == nil || span == nil {
		return ctx, s
	}
	if !recorded {
		in = context.WithValue(in, unrecorded{}, t)
	}
	s.ctx, s.span = in, span
	return in, s
}

// End ends s, with class if that is not "", and calls measure.
func (s Span) End(class string, measure func(ctx context.Context), attrs ...attribute.KeyValue) {
	if s.t == nil || s.span == nil && (measure == nil || s.t.meter == noop.Meter{}) {
		return
	}
	s.t.Do(func() {
		if s.span != nil {
			if class != "" {
				attrs = append(attrs, attribute.String(ErrorType, class))
				s.span.SetStatus(codes.Error, "")
			}
			s.span.SetAttributes(attrs...)
			s.span.End()
		}
		if measure != nil {
			measure(s.ctx)
		}
	})
}

// conversation is the key of a conversation's id in a context.
type conversation struct{}

// WithConversation returns a context whose spans belong to the conversation.
func WithConversation(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, conversation{}, id)
}

// Texts returns those of attrs that say something, without secrets and bounded,
// if texts are to be shown, else nil.
func (t *T) Texts(attrs ...attribute.KeyValue) []attribute.KeyValue {
	if !t.o.Texts {
		return nil
	}
	var out []attribute.KeyValue
	for _, a := range attrs {
		if text := a.Value.AsString(); text != "" {
			out = append(out, attribute.String(string(a.Key), Cut(t.o.Sanitizer.Sanitize(text))))
		}
	}
	return out
}

// Shows reports whether texts are to be shown.
func (t *T) Shows() bool { return t.o.Texts }

// Cut bounds a text that is to be shown.
func Cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + " …"
}

// Message is one message of InputMessages or OutputMessages.
type Message struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

// part is a part of a Message.
type part struct {
	Type    string `json:"type"`
	Content string `json:"content"`
}

// Says returns a message of one text, without secrets and bounded.
func (t *T) Says(role, text string) Message {
	return Message{Role: role, Parts: []part{{Type: "text", Content: Cut(t.o.Sanitizer.Sanitize(text))}}}
}

// JSON returns an attribute whose value is v as JSON.
func JSON(name string, v any) attribute.KeyValue {
	text, err := json.Marshal(v)
	if err != nil {
		return attribute.String(name, "null") // strings encode: it does not come to that
	}
	return attribute.String(name, string(text))
}

// Stack is the stack of a panic, or "".
func Stack(err error) string {
	if p, ok := errors.AsType[*guard.PanicError](err); ok {
		return string(p.Stack)
	}
	return ""
}

// Class is the class of an error: a word of ours that tells nothing of what it
// was about, or the status of a provider. "" for nil.
func Class(err error) string {
	if err == nil {
		return ""
	}
	if m, ok := errors.AsType[*reason.ModelError](err); ok && m.Status != 0 {
		return strconv.Itoa(m.Status)
	}
	if _, ok := errors.AsType[*guard.PanicError](err); ok {
		return "panic"
	}
	for _, c := range classes {
		if errors.Is(err, c.err) {
			return c.name
		}
	}
	if _, ok := errors.AsType[*store.LimitError](err); ok {
		return "limit"
	}
	if errors.Is(err, reason.ErrModel) {
		return "model"
	}
	return Other
}

var classes = []struct {
	err  error
	name string
}{
	{guard.ErrTime, "timeout"},
	{guard.ErrExited, "exited"},
	{context.Canceled, "canceled"},
	{context.DeadlineExceeded, "timeout"},
	{reason.ErrRefusal, "refusal"},
	{reason.ErrFormat, "format"},
	{reason.ErrDecision, "refused"},
	{store.ErrClosed, "closed"},
	{store.ErrConflict, "conflict"},
}
