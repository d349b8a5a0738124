package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/telemetry"
	"github.com/arc-learn/arc/internal/telemetry/telemetrytest"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

func TestClassTellsNothingOfWhatFailed(t *testing.T) {
	t.Parallel()
	secret := errors.New("canary")
	for want, err := range map[string]error{
		"":         nil,
		"_OTHER":   secret,
		"429":      &reason.ModelError{Status: 429, Err: secret},
		"model":    &reason.ModelError{Code: "canary", Err: secret},
		"panic":    &guard.PanicError{Text: "canary", Err: secret},
		"timeout":  guard.ErrTime,
		"exited":   guard.ErrExited,
		"canceled": context.Canceled,
		"refused":  reason.ErrDecision,
		"format":   reason.ErrFormat,
		"refusal":  reason.ErrRefusal,
		"closed":   store.ErrClosed,
		"conflict": store.ErrConflict,
		"limit":    &store.LimitError{Field: "canary"},
	} {
		require.Equal(t, want, telemetry.Class(err))
		if err != nil {
			require.Equal(t, want, telemetry.Class(fmt.Errorf("canary: %w", err)))
		}
	}
	require.Equal(t, "timeout", telemetry.Class(context.DeadlineExceeded))
	require.Equal(t, "limit", telemetry.Class(fmt.Errorf("%w: %w", reason.ErrModel, &store.LimitError{})), "what is more is said first")
}

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	text := "x"
	for len(text) < 1<<14 {
		text += "é"
	}
	require.Equal(t, text[:8191]+" …", telemetry.Cut(text))
	require.Equal(t, "short", telemetry.Cut("short"))
}

func TestProvidersThatDoNothingAreNone(t *testing.T) {
	t.Parallel()
	require.Nil(t, telemetry.New(telemetry.Options{}))
	require.Nil(t, telemetry.New(telemetry.Options{Tracer: tracenoop.NewTracerProvider(), Meter: metricnoop.NewMeterProvider()}))
	var rec telemetrytest.Recorder
	require.NotNil(t, telemetry.New(telemetry.Options{Tracer: rec.Tracing(), Meter: metricnoop.NewMeterProvider()}))
	require.NotNil(t, telemetry.New(telemetry.Options{Tracer: tracenoop.NewTracerProvider(), Meter: rec.Metering()}))
}

// unsampled is a tracer whose spans are not recorded, as those of a provider
// without an SDK, or of a sampler that wants none. It counts them.
type unsampled struct {
	tracenoop.Tracer
	started int
}

func (u *unsampled) Start(ctx context.Context, _ string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	u.started++
	return trace.ContextWithSpan(ctx, tracenoop.Span{}), tracenoop.Span{}
}

// provider gives a tracer of a test.
type provider struct {
	tracenoop.TracerProvider
	t trace.Tracer
}

func (p *provider) Tracer(string, ...trace.TracerOption) trace.Tracer { return p.t }

func TestNoSpanWithinOneThatIsNotRecorded(t *testing.T) {
	t.Parallel()
	one, other := new(unsampled), new(unsampled)
	a := telemetry.New(telemetry.Options{Tracer: &provider{t: one}})
	b := telemetry.New(telemetry.Options{Tracer: &provider{t: other}})
	ctx, span := a.Start(t.Context(), "run", trace.SpanKindInternal)
	in, below := a.Start(ctx, "phase", trace.SpanKindInternal)
	require.Equal(t, ctx, in)
	require.Equal(t, 1, one.started)
	_, elsewhere := b.Start(ctx, "of another provider", trace.SpanKindInternal)
	require.Equal(t, 1, other.started)
	for _, s := range []telemetry.Span{elsewhere, below, span} {
		s.End("", nil)
	}
	require.Zero(t, a.Lost()+b.Lost())
}
