package arc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/reason"
)

// What a model answers, in order, in whole runs; what it is asked, and what
// comes of it, stands in testdata/transcripts.
var dialogues = map[string]struct {
	answers    []string
	objectives []arc.Objective
	answer     string // a human's
}{
	// The first answer has prose, a skill in the wrong case and no check; it is
	// repaired. In the second run the model names the memory that the first one
	// left, and one that it was not shown.
	"model-repair": {
		answers: []string{
			"Sure! Here is the plan:\n```json\n" + `{"approach": "initialise the map", "tasks": [{"objective": "mend the cache", "skill": "Work"}]}` + "\n```\n",
			`{"thought": "the test shows it", "complexity": "simple", "approach": "initialise the map", "tasks": [{"objective": "mend the cache", "verify": "go test ./cache", "skill": "work"}]}`,
			`{"thought": "as before", "complexity": "simple", "approach": "initialise the map", "applied": ["m1", "m2"], "tasks": [{"objective": "mend the pool", "verify": "go test ./pool", "skill": "work"}]}`,
		},
		objectives: []arc.Objective{
			{ID: "run-1", Text: "mend the cache", Situation: situation, Inputs: []byte(`{"dir": "cache"}`)},
			{ID: "run-2", Text: "mend the pool", Situation: situation, Inputs: []byte(`{"dir": "pool"}`)},
		},
	},
	// An impasse, its subgoal, and back.
	"model-impasse": {
		answers: []string{
			`{"thought": "locked", "complexity": "moderate", "approach": "find out more", "impasse": {"kind": "missing_capability", "reason": "the door is locked", "subgoal": "find the key"}}`,
			`{"thought": "look", "complexity": "simple", "approach": "look around", "tasks": [{"objective": "look under the mat", "verify": "a key is in hand", "skill": "work"}]}`,
			`{"thought": "now", "complexity": "simple", "approach": "use the key", "tasks": [{"objective": "turn the key", "verify": "the door is open", "skill": "work"}]}`,
		},
		objectives: []arc.Objective{{ID: "run-1", Text: "open the door"}},
	},
	// A question; then three answers in a row that are of no use, each asked for
	// twice: the goal is given up, and nothing was done.
	"model-question": {
		answers: []string{
			`{"thought": "there are two", "complexity": "unclear", "approach": "ask", "questions": ["which door?"]}`,
			`{"thought": "the human said so", "complexity": "simple", "approach": "push", "tasks": [{"objective": "open the red door", "verify": "it is open"}]}`,
			`{"tasks": [{"objective": "open the door"`,
			``,
			`I'm sorry, but I can't help with doors.`,
			`{"tasks": [{"objective": "rm -rf /", "verify": "true"}]} {"tasks": [{"objective": "open the door", "verify": "true"}]}`,
			`{"tasks": [{"objective": "open", "verify": "true", "command": "rm -rf /"}]}`,
		},
		objectives: []arc.Objective{{ID: "run-1", Text: "open the door"}, {ID: "run-2", Text: "close the door"}},
		answer:     "the red one",
	},
}

func TestTranscriptsOfModels(t *testing.T) {
	t.Parallel()
	for name := range dialogues {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tellModel(t, name)
			require.Equal(t, string(got), string(tellModel(t, name)), "the same run twice")
			path := filepath.Join("testdata", "transcripts", name+".txt")
			if *rewrite {
				require.NoError(t, os.WriteFile(path, got, 0o600))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
		})
	}
}

// tellModel returns what a model is asked, what it answers, and what happens.
func tellModel(t *testing.T, name string) []byte {
	t.Helper()
	story := dialogues[name]
	var out bytes.Buffer
	n := 0
	llm, err := reason.NewLLM(reason.ModelFunc(func(_ context.Context, req *reason.Request) (*reason.Response, error) {
		require.Less(t, n, len(story.answers), "%s", req.Messages[0].Text)
		text := story.answers[n]
		n++
		fmt.Fprintf(&out, "---- asked\n%s---- answered\n%s\n----\n", req.Messages[0].Text, text)
		return &reason.Response{Text: text, Stop: reason.StopEnd, Usage: reason.Usage{TokensIn: 100, TokensOut: 10}}, nil
	}), nil)
	require.NoError(t, err)
	c := newClock()
	s := &script{do: func(int, act.Work) (act.Result, error) {
		c.Add(time.Second)
		return done(`"done"`), nil
	}}
	h := s.host("one")
	h.Reasoner = llm
	line := func(v any) {
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		fmt.Fprintf(&out, "%s\n", raw)
	}
	a := agent(t, h, &arc.Options{Now: c.Now, Seed: 42, Hooks: arc.Hooks{Event: func(e arc.Event) { line(e) }}})
	for _, o := range story.objectives {
		r := run(t, a, o)
		if r.Status == arc.Asking {
			r, err = a.In("").Answer(t.Context(), o.ID, story.answer)
			require.NoError(t, err)
		}
		line(r)
	}
	require.Equal(t, len(story.answers), n)
	return out.Bytes()
}
