package learn_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/reason"
)

// pair is a line of testdata/pairs-*.jsonl: see its README.md.
type pair struct {
	ID, Kind, From, Want, Why string
	Learned                   []given
	New                       given
	Tasks                     []corpusTask
}

type given struct {
	Text, Situation string
	Inputs          json.RawMessage
	Conditions      map[string]string
	Approach        string
	Tasks           []corpusTask
}

type corpusTask struct {
	Objective string          `json:"objective"`
	Delta     string          `json:"delta,omitempty"`
	Verify    string          `json:"verify,omitempty"`
	Skill     string          `json:"skill,omitempty"`
	Inputs    json.RawMessage `json:"inputs,omitempty"`
}

func (g given) ask() learn.Ask {
	a := learn.Ask{
		Scope: scope, Situation: g.Situation, Objective: g.Text,
		Case: learn.Case{Vouched: g.Situation != "", Inputs: g.Inputs, Conditions: g.Conditions},
	}
	if a.Situation == "" {
		a.Situation = g.Text
	}
	return a
}

func (g given) outcome(run string) learn.Outcome {
	a := g.ask()
	o := attempt(run, g.Text, true)
	o.Task, o.Goal = learn.Delivered, learn.Delivered
	o.Situation, o.Case, o.Approach = a.Situation, a.Case, g.Approach
	for _, t := range g.Tasks {
		o.Plan = append(o.Plan, reason.Task{
			Objective: t.Objective, Delta: t.Delta, Verify: t.Verify, Skill: t.Skill, Inputs: t.Inputs, Worker: "fixer",
		})
	}
	return o
}

func pairs(t *testing.T, file string) (out []pair) {
	t.Helper()
	f, err := os.Open("testdata/" + file)
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var p pair
		require.NoError(t, json.Unmarshal(lines.Bytes(), &p))
		out = append(out, p)
	}
	require.NoError(t, lines.Err())
	return out
}

// try learns the cases of a pair, and says what happened with the new one: "fire"
// with the tasks expected, "wrong" with others, or "" and why.
func (p pair) try(t *testing.T) (outcome, why string) {
	t.Helper()
	parts := setup(t, nil)
	cases := p.Learned
	for len(cases) < 3 {
		cases = append(slices.Clone(cases), p.Learned[0])
	}
	for i, c := range cases {
		_, err := parts.learner.Learn(t.Context(), c.outcome(fmt.Sprint("run ", i)))
		require.NoError(t, err, p.ID)
	}
	a := p.New.ask()
	found, err := parts.learner.Recall(t.Context(), a)
	require.NoError(t, err, p.ID)
	chunks := parts.learner.Match(found.Hits, a)
	chunk, fires := learn.Fire(chunks, nil)
	if !fires {
		for _, c := range chunks {
			why += fmt.Sprint(c.Differs)
		}
		return "", why
	}
	var tasks []corpusTask
	for _, k := range chunk.Tasks {
		tasks = append(tasks, corpusTask{k.Objective, k.Delta, k.Verify, k.Skill, k.Inputs})
	}
	got, err := json.Marshal(tasks)
	require.NoError(t, err)
	want, err := json.Marshal(p.Tasks)
	require.NoError(t, err)
	var x, y any
	require.NoError(t, json.Unmarshal(got, &x))
	require.NoError(t, json.Unmarshal(want, &y))
	if p.Want == "never" || fmt.Sprint(x) != fmt.Sprint(y) {
		return "wrong", string(got)
	}
	return "fire", ""
}

func testPairs(t *testing.T, file string) {
	var fire, fired, may, mays, never, wrong int
	for _, p := range pairs(t, file) {
		got, why := p.try(t)
		switch p.Want {
		case "fire":
			if fire++; got == "fire" {
				fired++
			} else {
				t.Logf("%s %s is a true repeat (%s), got %q: %s", p.ID, p.Kind, p.Why, got, why)
			}
		case "may":
			if may++; got == "fire" {
				mays++
			} else {
				t.Logf("%s %s may fire, and does not: %s", p.ID, p.Kind, why)
			}
		default:
			never++
		}
		if got == "wrong" {
			wrong++
			t.Errorf("%s %s fires wrongly (%s): %s", p.ID, p.Kind, p.Why, why)
		}
	}
	t.Logf("%s: wrong fires %d of %d; true repeats %d of %d fire; of those that may %d of %d", file, wrong, never+may, fired, fire, mays, may)
	require.GreaterOrEqual(t, float64(fired), 0.95*float64(fire))
}

func TestPairsOfTheCorpus(t *testing.T) { testPairs(t, "pairs-dev.jsonl") }

// The held pairs were not looked at while the code was written.
func TestHeldPairs(t *testing.T) { testPairs(t, "pairs-held.jsonl") }
