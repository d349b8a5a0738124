package model_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/arc-learn/arc/internal/telemetry/telemetrytest"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/model"
	"github.com/arc-learn/arc/reason/reasontest"
)

var traceQuestion = &reason.Request{
	System: "you are terse", Messages: []reason.Message{{Role: "user", Text: "what is the canary?"}}, MaxTokens: 100,
	Temperature: new(float64), Schema: []byte(`{"type":"object"}`),
}

func sung() reasontest.Answer {
	return reasontest.Answer{
		Pieces: []string{"the canary ", "sings"}, Stop: reason.StopEnd, Model: "small-2026-11",
		Usage: reason.Usage{TokensIn: 12, TokensOut: 3},
	}
}

func traceTo(rec *telemetrytest.Recorder) *model.TraceOptions {
	return &model.TraceOptions{TracerProvider: rec.Tracing(), MeterProvider: rec.Metering(), Provider: "openai", Model: "small"}
}

func TestTraceOfACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var rec telemetrytest.Recorder
		var inside trace.SpanContext
		slow := sung()
		slow.Func = func(ctx context.Context, _ *reason.Request) (*reason.Response, error) {
			inside = trace.SpanContextFromContext(ctx)
			<-time.After(3 * time.Second)
			a := sung()
			return &reason.Response{Text: strings.Join(a.Pieces, ""), Stop: a.Stop, Model: a.Model, Usage: a.Usage}, nil
		}
		resp, err := model.Trace(reasontest.NewScript(slow), traceTo(&rec)).Generate(t.Context(), traceQuestion)
		require.NoError(t, err)
		require.Equal(t, "the canary sings", resp.Text)
		span := rec.Spans()[0]
		require.Equal(t, "chat small", span.Name)
		require.Equal(t, trace.SpanKindClient, span.Kind)
		require.Equal(t, span.SpanContext(), inside, "what the model does is below the span")
		require.Equal(t, 1, span.Ends)
		require.Equal(t, map[string]string{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "small",
			"gen_ai.request.max_tokens": "100", "gen_ai.request.temperature": "0", "gen_ai.output.type": "json",
			"gen_ai.response.model": "small-2026-11", "gen_ai.response.finish_reasons": `["stop"]`,
			"gen_ai.usage.input_tokens": "12", "gen_ai.usage.output_tokens": "3",
		}, span.Attrs)
		const of = " gen_ai.operation.name=chat gen_ai.provider.name=openai gen_ai.request.model=small"
		require.Equal(t, []string{
			"gen_ai.client.operation.duration 3" + of,
			"gen_ai.client.token.usage 12" + of + " gen_ai.token.type=input",
			"gen_ai.client.token.usage 3" + of + " gen_ai.token.type=output",
		}, rec.Metrics())
		require.Equal(t, []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864},
			rec.Bounds("gen_ai.client.token.usage"))
	})
}

func TestTraceOfAStream(t *testing.T) {
	t.Parallel()
	var rec telemetrytest.Recorder
	m := model.Trace(reasontest.NewScript(sung(), sung(), reasontest.Fail(&reason.ModelError{Status: 529})), traceTo(&rec))
	s, ok := reason.As[reason.Streamer](m)
	require.True(t, ok)
	pieces := 0
	for _, err := range s.Stream(t.Context(), traceQuestion) {
		require.NoError(t, err)
		pieces++
	}
	require.Equal(t, 2, pieces)
	for range s.Stream(t.Context(), traceQuestion) {
		break
	}
	for _, err := range s.Stream(t.Context(), traceQuestion) {
		require.ErrorIs(t, err, reason.ErrModel)
	}
	require.Equal(t, `chat small request.stream=true usage.output_tokens=3 response.finish_reasons=["stop"]
chat small request.stream=true
chat small request.stream=true error.type=529 ERROR
`, rec.Tree("gen_ai.request.stream", "gen_ai.usage.output_tokens", "gen_ai.response.finish_reasons", "error.type"))
	require.Contains(t, rec.Spans()[0].Attrs, "gen_ai.response.time_to_first_chunk")

	whole := model.Trace(reason.ModelFunc(reasontest.NewScript().Generate), traceTo(&rec))
	_, ok = reason.As[reason.Streamer](whole)
	require.False(t, ok, "what does not stream does not stream when traced")
}

func TestTraceOfErrors(t *testing.T) {
	t.Parallel()
	for want, do := range map[string]reason.ModelFunc{
		"429": func(context.Context, *reason.Request) (*reason.Response, error) {
			return nil, &reason.ModelError{Status: 429, Err: errors.New("canary")}
		},
		"model": func(context.Context, *reason.Request) (*reason.Response, error) { return nil, nil },
		"panic": func(context.Context, *reason.Request) (*reason.Response, error) { panic("canary") },
		"limit": func(context.Context, *reason.Request) (*reason.Response, error) {
			return &reason.Response{Text: strings.Repeat("canary", 1<<20)}, nil
		},
		"canceled": func(context.Context, *reason.Request) (*reason.Response, error) { return nil, context.Canceled },
	} {
		var rec telemetrytest.Recorder
		_, err := model.Trace(do, traceTo(&rec)).Generate(t.Context(), traceQuestion)
		require.Error(t, err)
		require.Equal(t, "chat small error.type="+want+" ERROR\n", rec.Tree("error.type"))
		require.Len(t, rec.Metrics(), 1)
		require.Contains(t, rec.Metrics()[0], "error.type="+want)
		require.NotContains(t, rec.All(), "canary")
	}
}

func TestTraceShowsNoTexts(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		var rec telemetrytest.Recorder
		m := model.Trace(reasontest.NewScript(sung()), traceTo(&rec))
		if stream {
			_, _, err := read(streamOf(t, m, traceQuestion))
			require.NoError(t, err)
		} else {
			_, err := m.Generate(t.Context(), traceQuestion)
			require.NoError(t, err)
		}
		for _, text := range []string{"terse", "canary", "sings"} {
			require.NotContains(t, rec.All(), text)
			require.NotContains(t, strings.Join(rec.Metrics(), "\n"), text)
		}
	}
}

func TestTraceDoesNoHarm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		for _, harm := range []func(string){
			func(string) { panic("boom") },
			func(string) { <-release },
		} {
			rec := telemetrytest.Recorder{Fault: harm}
			m := model.Trace(reasontest.NewScript(sung()), traceTo(&rec))
			resp, err := m.Generate(t.Context(), traceQuestion)
			require.NoError(t, err)
			require.Equal(t, "the canary sings", resp.Text)
		}
		close(release)
		synctest.Wait()
	})
	script := reasontest.NewScript()
	require.Same(t, script, model.Trace(script, nil), "no provider")
	require.Same(t, script, model.Trace(script, &model.TraceOptions{Model: "small"}))
}
