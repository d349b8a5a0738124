package arc

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/codec/codectest"
	"github.com/arc-learn/arc/internal/outputs"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

func TestStateIsWrittenByItsTags(t *testing.T) {
	t.Parallel()
	codectest.Check[state](t)
}

// BenchmarkEncodeState encodes a run in the middle of an attempt.
func BenchmarkEncodeState(b *testing.B) {
	tasks := []reason.Task{{Objective: "look into it", Delta: "it is known", Verify: "the tests pass", Skill: "work"}}
	s := &state{
		ID: "0198f3f0-6c00-7000-8000-000000000001", Session: "0198f3f0-6c00-7000-8000-000000000001",
		Objective: Objective{Text: "the server leaks memory in module m7", Scope: "default", Budget: Budget{Steps: 1000}},
		Status:    Running, Phase: phaseVerify, Step: 3, Seq: 5, Started: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC).UnixNano(),
		Aims: []aim{{
			Text: "the server leaks memory in module m7", Situation: "the server leaks memory in module m7",
			Recalled: []memory.ID{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "cccccccccccccccccccccccccccccccc"},
			Approach: "look first", Tasks: tasks, Tries: 1,
		}},
		Current: &attempt{
			Key: "0198f3f0-6c00-7000-8000-000000000001/1", Worker: "worker", Number: 1, End: "finished",
			Reflection: iar.Reflection{Status: "success", Confidence: 0.9, Summary: "done", AlignmentCheck: map[string]float64{"objective": 0.9}},
			Resonance:  0.9, Output: outputs.JSON{Inline: json.RawMessage(`"nothing"`)}, Wall: time.Millisecond, Passed: true,
		},
		Attempts: 1, Deliberations: 1,
		Tracker: []iar.Entry{{Task: "look into it", Status: "success", Confidence: 0.9, Resonance: 0.9}},
	}
	for name, v := range map[string]any{"plan": s, "library": [1]any{s}} {
		b.Run(name, func(b *testing.B) {
			var buf []byte
			var err error
			b.ReportAllocs()
			for b.Loop() {
				buf, err = codec.Append(buf[:0], "arc/run", v)
			}
			require.NoError(b, err)
			b.ReportMetric(float64(len(buf)), "B")
		})
	}
}
