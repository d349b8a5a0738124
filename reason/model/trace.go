package model

import (
	"context"
	"iter"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/arc-learn/arc/internal/telemetry"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// TraceOptions configure [Trace]. The names are for the spans only: nothing is
// asked of the model for them.
type TraceOptions struct {
	TracerProvider trace.TracerProvider // nil: no spans
	MeterProvider  metric.MeterProvider // nil: no measurements

	Provider string // such as "openai" or "anthropic"; "": not said
	Model    string // that is asked for; "": not said

	// ShowTexts has spans show what is said, sanitized, each message cut at
	// 8 KiB. Without it they show names, counts, parameters and classes of
	// errors.
	ShowTexts bool
	Sanitizer *redact.Sanitizer // of these texts; nil: the zero Sanitizer
	Logger    *slog.Logger      // told of the first failure of a provider; nil: nobody
}

// Trace returns m with a span `chat {model}` around each call, the tokens it
// used and the time it took, by OpenTelemetry's conventions for generative AI;
// docs/telemetry.md lists them. A stream is one span, from its start to its
// end. Inside [Retry] each try is a span, around it all tries are one.
//
// Answers and errors pass as [reason.Generate] and [reason.Stream] give them.
// Providers that panic or hang do the calls no harm. Without a provider Trace
// returns m.
func Trace(m reason.Model, opts *TraceOptions) reason.Model {
	var o TraceOptions
	if opts != nil {
		o = *opts
	}
	t := telemetry.New(telemetry.Options{
		Tracer: o.TracerProvider, Meter: o.MeterProvider,
		Texts: o.ShowTexts, Sanitizer: o.Sanitizer, Logger: o.Logger,
	})
	if t == nil {
		return m
	}
	traced := &traced{
		inner: m, t: t, o: o, tokens: t.Tokens(),
		seconds: t.Seconds(telemetry.OperationDuration, "GenAI operation duration."),
	}
	traced.name = telemetry.Chat
	traced.attrs = []attribute.KeyValue{attribute.String(telemetry.Operation, telemetry.Chat)}
	if o.Model != "" {
		traced.name += " " + o.Model
		traced.attrs = append(traced.attrs, attribute.String(telemetry.RequestModel, o.Model))
	}
	if o.Provider != "" {
		traced.attrs = append(traced.attrs, attribute.String(telemetry.Provider, o.Provider))
	}
	if s, ok := reason.As[reason.Streamer](m); ok {
		return &tracedStreamer{traced, s}
	}
	return traced
}

type traced struct {
	inner   reason.Model
	t       *telemetry.T
	o       TraceOptions
	name    string
	attrs   []attribute.KeyValue // of spans and measurements
	tokens  metric.Int64Histogram
	seconds metric.Float64Histogram
}

// Unwrap returns the model inside.
func (m *traced) Unwrap() reason.Model { return m.inner }

// Generate calls the model within a span.
func (m *traced) Generate(ctx context.Context, req *reason.Request) (*reason.Response, error) {
	if ctx == nil {
		return nil, store.CheckContext(ctx)
	}
	ctx, c := m.start(ctx, req, false)
	resp, err := reason.Generate(ctx, m.inner, req)
	text := ""
	if resp != nil {
		text = resp.Text
	}
	c.end(resp, text, err)
	return resp, err
}

type tracedStreamer struct {
	*traced
	streamer reason.Streamer
}

// Stream calls the model within a span.
func (m *tracedStreamer) Stream(ctx context.Context, req *reason.Request) iter.Seq2[*reason.Response, error] {
	return func(yield func(*reason.Response, error) bool) {
		if ctx == nil {
			yield(nil, store.CheckContext(ctx))
			return
		}
		ctx, c := m.start(ctx, req, true)
		var last *reason.Response
		var failed error
		var text strings.Builder
		defer func() { c.end(last, text.String(), failed) }()
		for resp, err := range reason.Stream(ctx, m.streamer, req) {
			c.arrived()
			if failed = err; resp != nil {
				last = resp
				text.WriteString(resp.Text)
			}
			if !yield(resp, err) {
				return
			}
		}
	}
}

// tracedCall is a call under way.
type tracedCall struct {
	m     *traced
	span  telemetry.Span
	start time.Time
	more  []attribute.KeyValue
	first bool // a piece has arrived
}

func (m *traced) start(ctx context.Context, req *reason.Request, stream bool) (context.Context, *tracedCall) {
	c := &tracedCall{m: m, start: time.Now()}
	attrs := append([]attribute.KeyValue(nil), m.attrs...)
	if stream {
		attrs = append(attrs, attribute.Bool(telemetry.RequestStream, true))
	}
	if req != nil {
		if req.MaxTokens > 0 {
			attrs = append(attrs, attribute.Int(telemetry.RequestMaxTokens, req.MaxTokens))
		}
		if req.Temperature != nil {
			attrs = append(attrs, attribute.Float64(telemetry.RequestTemperature, *req.Temperature))
		}
		if len(req.Schema) > 0 {
			attrs = append(attrs, attribute.String(telemetry.OutputType, "json"))
		}
		if m.o.ShowTexts {
			attrs = append(attrs, m.said(req)...)
		}
	}
	ctx, c.span = m.t.Start(ctx, m.name, trace.SpanKindClient, attrs...)
	return ctx, c
}

func (m *traced) said(req *reason.Request) []attribute.KeyValue {
	var out []attribute.KeyValue
	if req.System != "" {
		out = append(out, telemetry.JSON(telemetry.Instructions, m.t.Part(req.System)))
	}
	messages := make([]telemetry.Message, len(req.Messages))
	for i, msg := range req.Messages {
		messages[i] = m.t.Says(msg.Role, msg.Text)
	}
	return append(out, telemetry.JSON(telemetry.InputMessages, messages))
}

// arrived notes when the first piece of a stream has come.
func (c *tracedCall) arrived() {
	if !c.first {
		c.first = true
		c.more = append(c.more, attribute.Float64(telemetry.FirstChunk, time.Since(c.start).Seconds()))
	}
}

func (c *tracedCall) end(resp *reason.Response, text string, err error) {
	took, m := time.Since(c.start).Seconds(), c.m
	var used reason.Usage
	if resp != nil {
		used = resp.Usage
		c.describe(resp, text)
	}
	class := telemetry.Class(err)
	c.span.End(class, func(ctx context.Context) {
		timed := m.attrs
		if class != "" {
			timed = append(timed[:len(timed):len(timed)], attribute.String(telemetry.ErrorType, class))
		}
		m.seconds.Record(ctx, took, metric.WithAttributes(timed...))
		if used.TokensIn > 0 {
			m.tokens.Record(ctx, int64(used.TokensIn), metric.WithAttributes(m.attrs...), metric.WithAttributes(attribute.String(telemetry.TokenType, "input")))
		}
		if used.TokensOut > 0 {
			m.tokens.Record(ctx, int64(used.TokensOut), metric.WithAttributes(m.attrs...), metric.WithAttributes(attribute.String(telemetry.TokenType, "output")))
		}
	}, c.more...)
}

// describe adds what an answer says of itself.
func (c *tracedCall) describe(resp *reason.Response, text string) {
	if resp.Model != "" {
		c.more = append(c.more, attribute.String(telemetry.ResponseModel, providersWord(resp.Model)))
	}
	finish := ""
	if resp.Stop != "" {
		finish = finishReason(resp.Stop)
		c.more = append(c.more, attribute.StringSlice(telemetry.FinishReasons, []string{finish}))
	}
	if u := resp.Usage; u.TokensIn > 0 || u.TokensOut > 0 {
		c.more = append(c.more, attribute.Int(telemetry.InputTokens, u.TokensIn), attribute.Int(telemetry.OutputTokens, u.TokensOut))
	}
	if c.m.o.ShowTexts {
		said := c.m.t.Says("assistant", text)
		said.Finish = finish
		c.more = append(c.more, telemetry.JSON(telemetry.OutputMessages, []telemetry.Message{said}))
	}
}

// finishReason is the conventions' word for a Stop, or the provider's own.
func finishReason(s reason.Stop) string {
	switch s {
	case reason.StopEnd:
		return "stop"
	case reason.StopRefusal:
		return "content_filter"
	}
	return providersWord(string(s))
}

// providersWord bounds a word of a provider.
func providersWord(s string) string { return strings.ToValidUTF8(s[:min(len(s), 128)], "") }
