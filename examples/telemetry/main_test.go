package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	var spans []string
	parents := map[string]string{} // of spans, by their ids
	dec := json.NewDecoder(&out)
	for {
		var span struct {
			Name        string
			SpanContext struct{ SpanID string }
			Parent      struct{ SpanID string }
		}
		if dec.Decode(&span) != nil {
			break // the counters follow
		}
		spans = append(spans, span.Name)
		parents[span.SpanContext.SpanID] = span.Parent.SpanID
	}
	require.Equal(t, []string{
		"search_memory", "plan greeter",
		"execute_tool speaker", "arc.verify", "arc.learn",
		"execute_tool speaker", "arc.verify", "arc.learn",
		"invoke_agent greeter",
	}, spans, "as they end")
	roots := 0
	for _, parent := range parents {
		if _, ok := parents[parent]; !ok {
			roots++
		}
	}
	require.Equal(t, 1, roots)
}

func TestCounters(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	for _, line := range []string{
		"arc.runs 1 arc.run.status=delivered",
		"arc.attempts 2 arc.attempt.end=finished,gen_ai.tool.name=speaker",
		"arc.gate.rejections 1 arc.gate.verdict=rejected,gen_ai.tool.name=speaker",
	} {
		require.Contains(t, out.String(), line+"\n")
	}
}
