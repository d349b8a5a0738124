package memory_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
)

// The texts of drafts and records are users' data. Logs name them without.
func TestLogsDoNotShowTexts(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	d := pattern("Ms Doe asks for a refund", "look at her last order")
	r := get(t, s, remember(t, s, d))
	for _, v := range []interface {
		fmt.GoStringer
		slog.LogValuer
	}{d, r} {
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("kept", "memory", v)
		for _, text := range []string{log.String(), v.LogValue().String(), v.GoString(), fmt.Sprintf("%+v", v)} {
			require.Contains(t, text, "pattern")
			require.NotContains(t, text, "Doe")
			require.NotContains(t, text, "order")
		}
	}
	require.Contains(t, r.GoString(), string(r.ID))
	require.Contains(t, r.LogValue().String(), string(r.ID))
}

// A thread is found by records that Recall finds too, as it finds them.
func TestThreadHitsAreThoseOfRecall(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	for i, content := range []string{"we saw an import cycle", "lunch was good", "the cycle is gone", "an import cycle, once more"} {
		remember(t, s, memory.Draft{Kind: memory.Episode, Thread: fmt.Sprint("day ", i%2), Content: content})
	}
	q := memory.Query{Text: "import cycle"}
	want := map[string][]memory.Hit{}
	for _, h := range recall(t, s, q) {
		want[h.Record.Thread] = append(want[h.Record.Thread], h)
	}
	threads, err := s.RecallThreads(context.Background(), q)
	require.NoError(t, err)
	require.Len(t, threads, len(want))
	for _, th := range threads {
		require.Equal(t, memory.ThreadHit{Thread: th.Thread, Score: th.Score, Hits: want[th.Thread]}, th)
		require.Positive(t, th.Score)
		require.LessOrEqual(t, th.Score, 1.0)
	}
}
