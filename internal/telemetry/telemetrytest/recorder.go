// Package telemetrytest records what is told to OpenTelemetry providers.
package telemetrytest

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// Recorder keeps spans and measurements. Its zero value is ready.
type Recorder struct {
	// Fault is called before every call of a provider is served, with its
	// name; it may panic or hang. Nil: nothing.
	Fault func(call string)

	mu      sync.Mutex
	spans   []*Span
	metrics []string
	bounds  map[string][]float64
}

// Span is a recorded span.
type Span struct {
	trace.Span
	r *Recorder

	Name   string
	Kind   trace.SpanKind
	Parent *Span
	Attrs  map[string]string
	Status codes.Code
	Why    string // of the status
	Ends   int
	id     trace.SpanContext
}

func (r *Recorder) fault(call string) {
	if r.Fault != nil {
		r.Fault(call)
	}
}

// Tracing returns the recorder as a TracerProvider.
func (r *Recorder) Tracing() trace.TracerProvider { return &tracing{r: r} }

// Metering returns the recorder as a MeterProvider.
func (r *Recorder) Metering() metric.MeterProvider { return &metering{r: r} }

// Spans returns the spans in the order in which they began.
func (r *Recorder) Spans() []*Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.spans)
}

// Metrics returns one line for each measurement, in order.
func (r *Recorder) Metrics() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.metrics)
}

// Bounds returns the bucket boundaries of a histogram.
func (r *Recorder) Bounds(name string) []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bounds[name]
}

// Tree prints the spans, each below its parent, with those of the attributes,
// whose names lose "gen_ai.".
func (r *Recorder) Tree(attrs ...string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	var draw func(parent *Span, indent string)
	draw = func(parent *Span, indent string) {
		for _, s := range r.spans {
			if s.Parent != parent {
				continue
			}
			fmt.Fprintf(&b, "%s%s", indent, s.Name)
			for _, a := range attrs {
				if v, ok := s.Attrs[a]; ok {
					fmt.Fprintf(&b, " %s=%s", strings.TrimPrefix(a, "gen_ai."), v)
				}
			}
			if s.Status == codes.Error {
				fmt.Fprintf(&b, " ERROR")
			}
			if s.Ends != 1 {
				fmt.Fprintf(&b, " ENDED %d TIMES", s.Ends)
			}
			b.WriteByte('\n')
			draw(s, indent+"  ")
		}
	}
	draw(nil, "")
	return b.String()
}

// All is everything that was recorded, as text.
func (r *Recorder) All() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, s := range r.spans {
		fmt.Fprintln(&b, s.Name, s.Attrs, s.Why)
	}
	return b.String() + strings.Join(r.metrics, "\n")
}

type tracing struct {
	tracenoop.TracerProvider
	r *Recorder
}

func (t *tracing) Tracer(string, ...trace.TracerOption) trace.Tracer {
	t.r.fault("Tracer")
	return &tracer{r: t.r}
}

type tracer struct {
	tracenoop.Tracer
	r *Recorder
}

func (t *tracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	t.r.fault("Start")
	c := trace.NewSpanStartConfig(opts...)
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	var traceID trace.TraceID
	var spanID trace.SpanID
	traceID[0] = 1
	binary.BigEndian.PutUint64(spanID[:], uint64(len(t.r.spans)+1))
	s := &Span{
		Span: tracenoop.Span{}, r: t.r, Name: name, Kind: c.SpanKind(), Attrs: map[string]string{},
		id: trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, TraceFlags: trace.FlagsSampled}),
	}
	s.Parent, _ = trace.SpanFromContext(ctx).(*Span) // nil: it is a root
	s.set(c.Attributes())
	t.r.spans = append(t.r.spans, s)
	return trace.ContextWithSpan(ctx, s), s
}

func (s *Span) set(attrs []attribute.KeyValue) {
	for _, a := range attrs {
		s.Attrs[string(a.Key)] = a.Value.Emit()
	}
}

// End counts.
func (s *Span) End(...trace.SpanEndOption) {
	s.r.fault("End")
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.Ends++
}

// SetAttributes keeps the attributes.
func (s *Span) SetAttributes(attrs ...attribute.KeyValue) {
	s.r.fault("SetAttributes")
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.set(attrs)
}

// SetStatus keeps the status.
func (s *Span) SetStatus(code codes.Code, why string) {
	s.r.fault("SetStatus")
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.Status, s.Why = code, why
}

// IsRecording is true.
func (s *Span) IsRecording() bool { return true }

// SpanContext is that of the span.
func (s *Span) SpanContext() trace.SpanContext { return s.id }

type metering struct {
	metricnoop.MeterProvider
	r *Recorder
}

func (m *metering) Meter(string, ...metric.MeterOption) metric.Meter {
	m.r.fault("Meter")
	return &meter{r: m.r}
}

type meter struct {
	metricnoop.Meter
	r *Recorder
}

func (m *meter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	m.r.fault("Int64Counter")
	return &counter{r: m.r, name: name}, nil
}

func (m *meter) Int64Histogram(name string, opts ...metric.Int64HistogramOption) (metric.Int64Histogram, error) {
	m.r.fault("Int64Histogram")
	m.bound(name, metric.NewInt64HistogramConfig(opts...).ExplicitBucketBoundaries())
	return &ints{r: m.r, name: name}, nil
}

func (m *meter) Float64Histogram(name string, opts ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	m.r.fault("Float64Histogram")
	m.bound(name, metric.NewFloat64HistogramConfig(opts...).ExplicitBucketBoundaries())
	return &floats{r: m.r, name: name}, nil
}

func (m *meter) bound(name string, bounds []float64) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	if m.r.bounds == nil {
		m.r.bounds = map[string][]float64{}
	}
	m.r.bounds[name] = bounds
}

func (r *Recorder) measure(call, name string, v any, set attribute.Set) {
	r.fault(call)
	r.mu.Lock()
	defer r.mu.Unlock()
	line := fmt.Sprintf("%s %v", name, v)
	for _, a := range set.ToSlice() {
		line += fmt.Sprintf(" %s=%s", a.Key, a.Value.Emit())
	}
	r.metrics = append(r.metrics, line)
}

type counter struct {
	metricnoop.Int64Counter
	r    *Recorder
	name string
}

func (c *counter) Add(_ context.Context, v int64, opts ...metric.AddOption) {
	c.r.measure("Add", c.name, v, metric.NewAddConfig(opts).Attributes())
}

type ints struct {
	metricnoop.Int64Histogram
	r    *Recorder
	name string
}

func (h *ints) Record(_ context.Context, v int64, opts ...metric.RecordOption) {
	h.r.measure("Record", h.name, v, metric.NewRecordConfig(opts).Attributes())
}

type floats struct {
	metricnoop.Float64Histogram
	r    *Recorder
	name string
}

func (h *floats) Record(_ context.Context, v float64, opts ...metric.RecordOption) {
	h.r.measure("Record", h.name, v, metric.NewRecordConfig(opts).Attributes())
}
