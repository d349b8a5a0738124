package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/memory"
)

// watched is an Embedder whose calls are spans.
type watched struct {
	memory.Embedder
	t     *T
	now   func() time.Time
	took  metric.Float64Histogram
	model string
}

// Embedder returns e with a span for each call. It returns e itself where e is
// nil or cannot name its model: the memory says so.
func (t *T) Embedder(e memory.Embedder, now func() time.Time) memory.Embedder {
	if guard.IsNil(e) {
		return e
	}
	w := &watched{Embedder: e, t: t, now: now, took: t.Seconds(OperationDuration, "GenAI operation duration.")}
	if guard.Call(func() { w.model = e.Model() }) != nil {
		return e
	}
	return w
}

// Embed calls the Embedder within a span.
func (w *watched) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	start := w.now()
	attrs := []attribute.KeyValue{attribute.String(Operation, Embeddings), attribute.String(RequestModel, w.model)}
	ctx, span := w.t.Start(ctx, Embeddings+" "+w.model, trace.SpanKindClient, attrs...)
	out, err := guard.Returned(w.Embedder.Embed(ctx, texts))
	var more []attribute.KeyValue
	for _, v := range out {
		if len(v) > 0 {
			more = append(more, attribute.Int(Dimensions, len(v)))
			break
		}
	}
	class := Class(err)
	if class != "" {
		attrs = append(attrs, attribute.String(ErrorType, class))
	}
	span.End(class, func(ctx context.Context) {
		w.took.Record(ctx, max(0, w.now().Sub(start)).Seconds(), metric.WithAttributes(attrs...))
	}, more...)
	return out, err
}
