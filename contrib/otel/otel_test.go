package otel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/contrib/otel"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

const secret = "Ann lives in Oslo"

type model func(context.Context, *reason.Request) (*reason.Response, error)

func (m model) Generate(ctx context.Context, r *reason.Request) (*reason.Response, error) {
	return m(ctx, r)
}

func TestTrace(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	hook := otel.Trace(trace.NewTracerProvider(trace.WithSpanProcessor(spans)))
	ctx, endOuter := hook(t.Context(), "arc.run", slog.String("id", "7"), slog.Int("n", 3),
		slog.Duration("wait", time.Second))
	_, endInner := hook(ctx, "arc.act")
	endInner(fmt.Errorf("%s: %w", secret, &reason.Error{Class: reason.Permanent, Err: errors.New(secret)}))
	endOuter(nil)
	ended := spans.Ended()
	require.Len(t, ended, 2)
	inner, outer := ended[0], ended[1]
	require.Equal(t, "arc.act", inner.Name())
	require.Equal(t, outer.SpanContext().SpanID(), inner.Parent().SpanID())
	require.Equal(t, codes.Error, inner.Status().Code)
	require.Equal(t, string(reason.Permanent), inner.Status().Description)
	require.Equal(t, "arc.run", outer.Name())
	require.Equal(t, codes.Unset, outer.Status().Code)
	require.Len(t, outer.Attributes(), 3)
	require.NotContains(t, fmt.Sprint(inner.Attributes(), inner.Events(), inner.Status()), secret)
}

func TestModel(t *testing.T) {
	spans, reader := tracetest.NewSpanRecorder(), metric.NewManualReader()
	tp := trace.NewTracerProvider(trace.WithSpanProcessor(spans))
	mp := metric.NewMeterProvider(metric.WithReader(reader))
	var out *reason.Response
	var fault error
	m := otel.Model(model(func(context.Context, *reason.Request) (*reason.Response, error) {
		if fault == nil && out == nil {
			panic("host")
		}
		return out, fault
	}), "openai", "gpt-5-mini", tp, mp)
	call := func() error {
		_, err := m.Generate(t.Context(), &reason.Request{System: secret})
		return err
	}
	out = &reason.Response{Text: secret, Stop: reason.StopEnd, Usage: &reason.Usage{Calls: 1, Input: 90,
		Output: 7}}
	require.NoError(t, call())
	out.Usage = nil // unknown is not 0
	require.NoError(t, call())
	out, fault = nil, errors.New(secret)
	require.ErrorIs(t, call(), fault)
	fault = nil
	require.Panics(t, func() { _ = call() })
	require.Len(t, spans.Ended(), 4)
	for i, s := range spans.Ended() {
		require.Equal(t, "chat gpt-5-mini", s.Name())
		require.Equal(t, i > 1, s.Status().Code == codes.Error, i)
		require.NotContains(t, fmt.Sprint(s.Attributes(), s.Status(), s.Events()), secret)
	}
	var data metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &data))
	counts := map[string]uint64{}
	for _, m := range data.ScopeMetrics[0].Metrics {
		switch d := m.Data.(type) {
		case metricdata.Histogram[int64]:
			for _, p := range d.DataPoints {
				counts[m.Name] += p.Count
			}
		case metricdata.Histogram[float64]:
			for _, p := range d.DataPoints {
				counts[m.Name] += p.Count
			}
		}
	}
	require.Equal(t, map[string]uint64{"gen_ai.client.token.usage": 2, "gen_ai.client.operation.duration": 4},
		counts)
}

func TestEvents(t *testing.T) {
	reader := metric.NewManualReader()
	tell := otel.Events(metric.NewMeterProvider(metric.WithReader(reader)))
	tell("acme", "7", arc.Event{Kind: "attempt", Name: "pay", Text: secret})
	tell("acme", "8", arc.Event{Kind: "attempt", Name: "pay"})
	tell("acme", "8", arc.Event{Kind: "text", Live: true})
	var data metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &data))
	sum := data.ScopeMetrics[0].Metrics[0].Data.(metricdata.Sum[int64])
	require.Len(t, sum.DataPoints, 1)
	require.EqualValues(t, 2, sum.DataPoints[0].Value)
	require.Equal(t, 2, sum.DataPoints[0].Attributes.Len())
	worker, ok := sum.DataPoints[0].Attributes.Value("arc.worker")
	require.True(t, ok)
	require.Equal(t, "pay", worker.AsString())
}

// What waits, and for whom, and why a run is blocked are attributes of a few values.
func TestWhyRunsStandStill(t *testing.T) {
	reader := metric.NewManualReader()
	tell := otel.Events(metric.NewMeterProvider(metric.WithReader(reader)))
	for _, e := range []arc.Event{{Kind: "waiting", Name: "pay", Text: secret}, {Kind: "waiting", Text: secret},
		{Kind: "blocked", Name: string(arc.NoWorker), Text: secret}, {Kind: "judged", Name: "failed", Text: secret}} {
		tell("acme", "7", e)
	}
	var data metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &data))
	var got []string
	for _, p := range data.ScopeMetrics[0].Metrics[0].Data.(metricdata.Sum[int64]).DataPoints {
		require.Equal(t, 2, p.Attributes.Len())
		got = append(got, p.Attributes.Encoded(attribute.DefaultEncoder()))
	}
	require.ElementsMatch(t, []string{"arc.event=waiting,arc.waiting=approval", "arc.event=waiting,arc.waiting=outage",
		"arc.cause=no_worker,arc.event=blocked", "arc.event=judged,arc.verdict=failed"}, got)
}

// An Agent's own spans: named as Options.Trace says, phases and commits below the run.
func TestAgent(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	a, err := arc.New(t.Context(), store.NewMem(), arc.Host{Workers: []act.Worker{{
		Name: "w", Gates: []act.Gate{act.NoGate},
		Executor: act.ExecutorFunc(func(_ context.Context, c *act.Call) (*act.Result, error) {
			if c.Text == "leave" {
				runtime.Goexit()
			}
			return &act.Result{Text: secret}, nil
		}),
	}}}, &arc.Options{Trace: otel.Trace(trace.NewTracerProvider(trace.WithSpanProcessor(spans)))})
	require.NoError(t, err)
	_, err = a.Run(t.Context(), arc.Objective{Text: secret})
	require.NoError(t, err)
	left := make(chan bool)
	go func() {
		defer close(left)
		_, _ = a.Run(context.Background(), arc.Objective{Text: "leave"})
	}()
	<-left
	require.NoError(t, a.Close())
	require.Len(t, spans.Ended(), len(spans.Started()), "each span ends")
	names := map[string]bool{}
	for _, s := range spans.Ended() {
		names[s.Name()] = true
		require.NotContains(t, fmt.Sprint(s.Attributes()), secret)
		require.Equal(t, s.Name() == "arc.run", !s.Parent().IsValid(), s.Name())
	}
	for _, name := range []string{"arc.run", "arc.recall", "arc.act", "arc.commit"} {
		require.True(t, names[name], "%s in %v", name, names)
	}
}
