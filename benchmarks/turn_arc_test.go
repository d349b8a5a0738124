package benchmarks_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// counting counts the commits of a store.
type counting struct {
	store.Store
	n atomic.Int64
}

func (c *counting) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	c.n.Add(1)
	return c.Store.Commit(ctx, ops...)
}

// BenchmarkTurnArc is a whole run of arc over the in-memory store: context
// (from 100 memories), reason, one task, gate, learn, and every step
// committed. No chunk fires, so that each run reasons. The host's parts do no
// work, as those of the other turns.
func BenchmarkTurnArc(b *testing.B) { benchmarkTurn(b, arc.Options{}) }

// BenchmarkTurnUnbounded is BenchmarkTurnArc with the host called in place.
func BenchmarkTurnUnbounded(b *testing.B) {
	benchmarkTurn(b, arc.Options{ReasonTimeout: -1, AttemptTimeout: -1, GateTimeout: -1})
}

// BenchmarkTurnTraced is BenchmarkTurnArc with OpenTelemetry's providers: those
// of the API, which do nothing, and those of the SDK, without an exporter.
func BenchmarkTurnTraced(b *testing.B) {
	b.Run("noop", func(b *testing.B) {
		benchmarkTurn(b, arc.Options{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider()})
	})
	b.Run("sdk", func(b *testing.B) {
		spans := sdktrace.NewTracerProvider()
		meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
		defer func() { require.NoError(b, errors.Join(spans.Shutdown(b.Context()), meters.Shutdown(b.Context()))) }()
		benchmarkTurn(b, arc.Options{TracerProvider: spans, MeterProvider: meters})
	})
}

func benchmarkTurn(b *testing.B, o arc.Options) {
	ctx := b.Context()
	st := &counting{Store: store.NewMem()}
	fill(b, st)
	o.Learn, o.Seed = learn.Options{FireAfter: -1}, 1
	agent, err := arc.New(ctx, st, arcHost(), &o)
	require.NoError(b, err)
	b.ReportAllocs()
	before := st.n.Load()
	for b.Loop() {
		report, err := agent.Run(ctx, arc.Objective{Text: question})
		if err != nil || report.Status != arc.Delivered {
			b.Fatal(report, err)
		}
	}
	b.ReportMetric(float64(st.n.Load()-before)/float64(b.N), "commits/op")
	require.NoError(b, agent.Close())
	require.NoError(b, st.Close())
}

// fill stores 100 memories, of which one in ten shares words with the
// question.
func fill(b *testing.B, st store.Store) {
	b.Helper()
	bank, err := memory.Open(b.Context(), st, nil)
	require.NoError(b, err)
	kinds := []string{"build fails", "test hangs", "linter complains", "server leaks", "query crawls",
		"deploy stops", "disk fills", "token expires", "cache misses", "page flickers"}
	for i := range 100 {
		_, err := bank.In("local").Remember(b.Context(), memory.Draft{
			Kind:    memory.Pattern,
			Trigger: fmt.Sprintf("%s in module m%d", kinds[i%len(kinds)], i),
			Content: fmt.Sprintf("look at part p%d before anything else", i),
		})
		require.NoError(b, err)
	}
	require.NoError(b, bank.Close())
}

func arcHost() arc.Host {
	reflection := iar.Reflection{
		Status: iar.Success, Confidence: 0.9, Summary: answer,
		AlignmentCheck: map[string]float64{"objective": 0.9},
	}
	return arc.Host{
		Reasoner: reason.ReasonerFunc(func(_ context.Context, brief reason.Brief) (reason.Decision, error) {
			return reason.Decision{Approach: "look", Tasks: []reason.Task{{Objective: brief.Objective}}}, nil
		}),
		Workers: []act.Worker{{
			Card: rank.Candidate{Name: "look"},
			Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
				return act.Result{Output: []byte(`"` + answer + `"`), Reflection: reflection}, nil
			}),
		}},
		Gates: []act.Gate{act.GateFunc(func(context.Context, act.Work, act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: true}, nil
		})},
	}
}
