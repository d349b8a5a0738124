package reason_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// saidTexts are what texts of an answer are made of: all that is a sign elsewhere in it.
var saidTexts = rapid.SampledFrom([]string{
	"mend it", "go test ./...", "{", "}", `{"tasks":[]}`, "```", "</think>", "<think>", "<|channel|>final<|message|>", "null", "i can't help",
	"\"", "\\", "\n", "é", "\u202e", "[m1]", "m1", ",", "]", "I am sorry", "\ufffd",
})

func drawText(t *rapid.T, label string) string {
	return strings.Join(rapid.SliceOfN(saidTexts, 1, 4).Draw(t, label), " ") + "."
}

// drawTasks draws tasks by the schema.
func drawTasks(t *rapid.T) (out []any) {
	for range rapid.IntRange(1, 3).Draw(t, "tasks") {
		task := map[string]any{"objective": drawText(t, "objective"), "verify": drawText(t, "verify")}
		if rapid.Bool().Draw(t, "more") {
			task["delta"], task["skill"] = drawText(t, "delta"), rapid.SampledFrom([]string{"", "build"}).Draw(t, "skill")
			task["inputs"] = rapid.SampledFrom([]any{nil, 1.5, "x", []any{}, map[string]any{"tasks": 1}}).Draw(t, "inputs")
			task["effect"] = rapid.SampledFrom([]any{nil, map[string]any{"domain": "ci", "path": "data.x"}}).Draw(t, "effect")
		}
		out = append(out, task)
	}
	return out
}

// drawAnswer draws an answer by the schema.
func drawAnswer(t *rapid.T) map[string]any {
	a := map[string]any{"thought": drawText(t, "thought"), "approach": drawText(t, "approach")}
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		a["tasks"], a["complexity"] = drawTasks(t), "simple"
	case 1:
		a["questions"], a["complexity"] = []any{drawText(t, "question")}, "unclear"
	case 2:
		a["impasse"] = map[string]any{"kind": "tie", "reason": drawText(t, "reason"), "subgoal": drawText(t, "subgoal")}
	case 3:
		a["alternatives"] = []any{map[string]any{"approach": "p", "tasks": drawTasks(t)}, map[string]any{"approach": "q", "tasks": drawTasks(t)}}
		a["preferences"] = []any{map[string]any{"approach": "p", "is": "best"}}
	}
	return a
}

// reply is what a model does.
type reply struct {
	resp    *reason.Response
	err     error
	panics  bool
	used    reason.Usage
	want    map[string]any // what is to be taken of it; nil: anything, or nothing
	refused bool           // nothing is to be taken of it
}

func drawReply(t *rapid.T) (r reply) {
	used := reason.Usage{TokensIn: rapid.IntRange(-1, 5).Draw(t, "tokens")}
	resp := &reason.Response{Usage: used, Stop: rapid.SampledFrom([]string{"", "end", "stop", "tool_calls"}).Draw(t, "stop")}
	switch rapid.IntRange(0, 12).Draw(t, "how") {
	case 0:
		return reply{err: &reason.ModelError{Again: rapid.Bool().Draw(t, "again"), Usage: used}, used: used}
	case 1:
		return reply{panics: true}
	case 2:
		return reply{}
	case 3:
		resp.Stop = rapid.SampledFrom([]string{reason.StopLength, reason.StopRefusal}).Draw(t, "ends")
	}
	answer := drawAnswer(t)
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(answer))
	resp.Text = strings.TrimSpace(text.String())
	if rapid.Bool().Draw(t, "broken") {
		for range rapid.IntRange(1, 3).Draw(t, "cuts") {
			at := rapid.IntRange(0, len(resp.Text)).Draw(t, "at")
			end := min(len(resp.Text), at+rapid.IntRange(0, 9).Draw(t, "less"))
			put := rapid.SampledFrom([]string{"", "{", "}", "[", `"`, "\xff", ",", `"tasks":[],`, "</think>", "\x00", "1e999"}).Draw(t, "put")
			resp.Text = resp.Text[:at] + put + resp.Text[end:]
		}
		return reply{resp: resp, used: used}
	}
	before := rapid.SampledFrom([]string{"", "\ufeff", "Here it is:\n", "```json\n", "<think>A { or [?</think>", "A {?\n</think>\n\n", "analysis<|channel|>final<|message|>"})
	after := rapid.SampledFrom([]string{"", "\n", "\n```", "\nDone.", "<|return|>"})
	resp.Text = before.Draw(t, "before") + resp.Text + after.Draw(t, "after")
	if resp.Stop == reason.StopLength || resp.Stop == reason.StopRefusal {
		return reply{resp: resp, used: used, refused: true}
	}
	return reply{resp: resp, used: used, want: answer}
}

// An answer by the schema is taken to the letter, whatever its texts say and whatever stands
// around it. Whatever else a model does, it is asked twice at most, the error is one of those
// that Reason names, what was used is counted, and a decision can be acted on.
func TestReasonWhateverTheModelAnswers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		replies, calls, in := []reply{drawReply(t), drawReply(t)}, 0, 0 // a panic of rapid is not the model's
		m := reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) {
			r := replies[calls]
			calls++
			if in += max(0, r.used.TokensIn); r.panics {
				panic("no")
			}
			return r.resp, r.err
		})
		l, err := reason.NewLLM(m, nil)
		require.NoError(t, err)
		d, err := l.Reason(t.Context(), reason.Brief{Objective: "objective", Skills: []string{"build"}})
		require.Equal(t, in, d.Usage.TokensIn)
		want := replies[calls-1].want
		if err != nil {
			require.Nil(t, want, "%v", err)
			_, limit := errors.AsType[*store.LimitError](err)
			require.True(t, limit || errors.Is(err, reason.ErrFormat) || errors.Is(err, reason.ErrRefusal) || errors.Is(err, reason.ErrModel), "%v", err)
			return
		}
		require.False(t, replies[calls-1].refused)
		require.NoError(t, d.Check())
		if want == nil {
			return
		}
		got, err := json.Marshal(map[string]any{
			"thought": d.Reasoning, "approach": d.Approach, "tasks": d.Tasks, "questions": d.Questions, "impasse": d.Impasse,
			"alternatives": d.Alternatives, "preferences": d.Preferences, "complexity": d.Complexity,
		})
		require.NoError(t, err)
		require.Equal(t, said(t, want), said(t, got))
	})
}

// said is what a decision says, with keys in lower case and without what is blank.
func said(t *rapid.T, v any) any {
	raw, isRaw := v.([]byte)
	if !isRaw {
		var err error
		raw, err = json.Marshal(v)
		require.NoError(t, err)
	}
	var out any
	require.NoError(t, json.Unmarshal(raw, &out))
	return plainly(out)
}

func plainly(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, e := range v {
			if key == "inputs" || key == "Inputs" {
				if e != nil {
					out["inputs"] = e
				}
			} else if e = plainly(e); e != nil && e != "" {
				out[strings.ToLower(key)] = e
			}
		}
		return out
	case []any:
		for i := range v {
			v[i] = plainly(v[i])
		}
	}
	return v
}
