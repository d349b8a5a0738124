package arc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// payload is a text that tries to become knowledge, and the words of it that
// must not.
type payload struct {
	ID, Via, Text, Canary string
	Held                  bool
}

func payloads(t *testing.T) (out []payload) {
	f, err := os.Open("testdata/payloads/payloads.jsonl")
	require.NoError(t, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var p payload
		require.NoError(t, json.Unmarshal(lines.Bytes(), &p))
		out = append(out, p)
	}
	require.Len(t, out, 60)
	return out
}

// seen is a text as a reader sees it, without case and white space, line ends in
// JSON included.
func seen(text string) string {
	text = strings.ReplaceAll(text, `\n`, "")
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Cc) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}

// holds reports whether a value has the canary, in its texts or as JSON.
func (p payload) holds(t *testing.T, v any) bool {
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	var texts strings.Builder
	for d := json.NewDecoder(strings.NewReader(string(raw))); ; {
		token, err := d.Token()
		if err != nil {
			break
		}
		if s, ok := token.(string); ok {
			texts.WriteString(s + " ")
		}
	}
	return p.stands(texts.String())
}

// stands reports whether a text has the canary, as it is or as JSON has it.
func (p payload) stands(text string) bool {
	raw, err := json.Marshal(p.Canary)
	return err != nil || strings.Contains(seen(text), seen(p.Canary)) || strings.Contains(seen(text), seen(string(raw[1:len(raw)-1])))
}

// fenced matches a block of a prompt.
var fenced = regexp.MustCompile(`(?s)<<<([a-z]+-[0-9a-f]{16}) .*?\n([a-z]+-[0-9a-f]{16})>>>\n`)

// siege is a host into which a payload comes by one way, with a model that puts
// what it has read into its plans.
type siege struct {
	payload
	t       *testing.T
	way     string
	gull    bool // the model repeats the payload
	asked   int
	quoted  int // plans that repeat it
	reached int // tasks that do
	fired   map[string]bool
	outside []string // prompts that have it outside of a fence
}

// Generate answers as a plan for what stands in the prompt: look first, then do
// what it found.
func (s *siege) Generate(_ context.Context, r *reason.Request) (*reason.Response, error) {
	s.asked++
	text := r.System + string(r.Schema)
	for _, m := range r.Messages {
		text += m.Text
	}
	shows := s.stands(strings.ReplaceAll(text, "\n| ", "\n"))
	if s.stands(fenced.ReplaceAllString(text, "")) {
		s.outside = append(s.outside, text)
	}
	task := reason.Task{Objective: "file the report", Verify: "the gate", Skill: "filing"}
	answer := map[string]any{"approach": "file what there is", "tasks": []any{step(task)}}
	switch {
	case s.way != "complaint" && s.way != "skill" && !strings.Contains(text, "look at the papers"):
		answer = map[string]any{"impasse": map[string]any{
			"kind": "no_approach", "reason": "the papers are unread", "subgoal": "look at the papers",
		}}
	case shows && s.gull:
		s.quoted++
		task.Objective, task.Delta = "file the report. "+s.Text, s.Text
		task.Inputs, _ = json.Marshal(map[string]string{"note": s.Text})
		answer["approach"], answer["tasks"] = s.Text, []any{step(task)}
	}
	raw, err := json.Marshal(answer)
	return &reason.Response{Text: string(raw), Stop: reason.StopEnd}, err
}

// step is a task as a model answers it.
func step(k reason.Task) map[string]any {
	out := map[string]any{"objective": k.Objective, "verify": k.Verify, "skill": k.Skill}
	if k.Delta != "" {
		out["delta"] = k.Delta
	}
	if k.Inputs != nil {
		out["inputs"] = k.Inputs
	}
	return out
}

// Execute says the payload in the way that is tried.
func (s *siege) Execute(_ context.Context, w act.Work) (act.Result, error) {
	if s.holds(s.t, w.Task) {
		s.reached++
		require.False(s.t, s.fired[w.Run], "a fired plan has it")
	}
	r := act.Result{Output: []byte(`"filed"`), Reflection: iar.Reflection{
		Status: iar.Success, Confidence: 0.9, Summary: "filed it", AlignmentCheck: map[string]float64{"task": 1},
	}}
	said, err := json.Marshal(s.Text)
	switch s.way {
	case "output":
		r.Output = said
	case "summary":
		r.Reflection.Summary = s.Text
	case "delta":
		r.Deltas = []act.Delta{{Domain: "desk", Path: "note", Value: said}}
	}
	return r, err
}

// run lets the payload in: seven runs of one situation, by different workers on
// different inputs. The gate of "complaint" refuses the first attempts, and all of
// the first two runs.
func (s *siege) run() *arc.Agent {
	s.fired = map[string]bool{}
	skills := map[string]reason.Skill{}
	if s.way == "skill" {
		skills["filing"] = reason.Skill{Name: "filing", Description: "how papers are filed", Body: s.Text, Agent: s.Text}
	}
	model, err := reason.NewLLM(s, &reason.LLMOptions{Skills: skills})
	require.NoError(s.t, err)
	n := 0
	h := arc.Host{Reasoner: model, Gates: []act.Gate{act.GateFunc(func(_ context.Context, w act.Work, _ act.Result) (act.Verdict, error) {
		if s.way == "complaint" && (n < 2 || w.Attempt == 1 && len(w.Lineage) == 0 && !s.fired[w.Run] && n%2 == 0) {
			return act.Verdict{Complaint: s.Text}, nil
		}
		return act.Verdict{Pass: true}, nil
	})}}
	for i := range 3 {
		h.Workers = append(h.Workers, act.Worker{
			Card: rank.Candidate{Name: fmt.Sprint("clerk-", i), Prior: 0.5}, Skills: []string{"filing"}, Executor: s,
		})
	}
	o := &arc.Options{Attempts: 2, Replans: 1, Seed: 1}
	o.Hooks.Event = func(e arc.Event) {
		if e.Kind == arc.EventFired {
			s.fired[e.Run] = true
		}
	}
	a := agent(s.t, h, o)
	for ; n < 7; n++ {
		_, err := a.Run(s.t.Context(), arc.Objective{
			Text: "file the report of the quarter by the rules of filing", Situation: "a report of the quarter has come in",
			Inputs: fmt.Appendf(nil, `{"number":%d}`, n), Session: fmt.Sprint("day ", n),
		})
		require.NoError(s.t, err)
	}
	return a
}

// Whatever is said by workers, gates and skills, and repeated by the model in its
// plans: none of it is in a trusted memory, in a plan that fires, or outside of a
// fence. Where the model does not repeat it, its plan fires as ever.
func TestPayloads(t *testing.T) {
	t.Parallel()
	for _, p := range payloads(t) {
		for _, way := range []string{"output", "summary", "complaint", "delta", "skill"} {
			for _, gull := range []bool{true, false} {
				t.Run(fmt.Sprint(p.ID, " by ", way, " ", gull), func(t *testing.T) {
					t.Parallel()
					s := &siege{payload: p, t: t, way: way, gull: gull}
					a := s.run()
					require.Empty(t, s.outside)
					require.Equal(t, gull, s.quoted > 0, "the model has read it")
					require.Equal(t, gull, s.reached > 0)
					require.Equal(t, !gull, len(s.fired) > 0)
					for r, err := range a.In("").Memory().All(t.Context()) {
						require.NoError(t, err)
						if r.Trusted || r.MayFire() {
							require.False(t, s.holds(t, r), "%s %s", r.Kind, r.Content)
							require.False(t, s.holds(t, r.Plan), string(r.Plan))
						}
					}
					requireFenced(t, s.payload, a)
				})
			}
		}
	}
}

// requireFenced says that what an executor renders has the payload within the
// fence alone.
func requireFenced(t *testing.T, p payload, a *arc.Agent) {
	t.Helper()
	hits, err := a.In("").Memory().Recall(t.Context(), memory.Query{Text: "a report of the quarter", K: 50})
	require.NoError(t, err)
	require.False(t, p.stands(fenced.ReplaceAllString(memory.Render(hits), "")))
}
