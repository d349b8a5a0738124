package arc_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the transcripts in testdata")

// The stories of the transcripts: what a crew of two lives through in a few
// runs. Each is run twice, with the same seed, clock and answers, and has to
// give the same bytes as the transcript.
var stories = map[string]struct {
	host       func(c *clock) *script
	opts       arc.Options
	objectives []arc.Objective
	answer     string
}{
	// The first worker cannot do it, the second is told why and can. The
	// second run follows what was learned. In the third the chunk fires, fails
	// and pays; reasoning delivers the same way again, and so it fires in the
	// fourth.
	"learn": {
		host: func(c *clock) *script {
			s := &script{}
			s.do = func(n int, w act.Work) (act.Result, error) {
				c.Add(1500 * time.Millisecond)
				return done(fmt.Sprint(w.Task.Worker == "two" && n != 4 || n > 4)), nil
			}
			s.judge = func(_ act.Work, r act.Result) (act.Verdict, error) {
				return act.Verdict{Pass: string(r.Output) == "true", Complaint: "TestCache: assignment to entry in nil map"}, nil
			}
			s.decide = func(_ int, b reason.Brief) (reason.Decision, error) {
				d := plan(b.Objective)
				for _, h := range b.Background {
					if h.Record.Kind == memory.Pattern {
						d.Applied, d.Tasks[0].Worker = append(d.Applied, h.Record.ID), "two"
					}
				}
				return d, nil
			}
			return s
		},
		objectives: []arc.Objective{
			{ID: "run-1", Session: "s", Text: "mend the cache", Situation: situation, Inputs: []byte(`{"thing": "cache"}`)},
			{ID: "run-2", Session: "s", Text: "mend the pool", Situation: situation, Inputs: []byte(`{"thing": "pool"}`)},
			{ID: "run-3", Session: "s", Text: "mend the index", Situation: situation, Inputs: []byte(`{"thing": "index"}`)},
			{ID: "run-4", Session: "s", Text: "mend the log", Situation: situation, Inputs: []byte(`{"thing": "log"}`)},
		},
	},
	// Nothing passes; the third failure of the approach calls for a pivot.
	"pivot": {
		host: func(c *clock) *script {
			return &script{judge: fail("still broken"), do: func(int, act.Work) (act.Result, error) {
				c.Add(time.Second)
				return done(`{"edited":["cache.go"]}`), nil
			}}
		},
		opts: arc.Options{Attempts: 1, Pivot: arc.PivotAsk},
		objectives: []arc.Objective{
			{ID: "run-1", Session: "s", Text: "mend the cache"}, {ID: "run-2", Session: "s", Text: "mend the pool"},
			{ID: "run-3", Session: "s", Text: "mend the index"}, {ID: "run-4", Session: "s", Text: "mend the log"},
		},
		answer: "start from the failing test",
	},
	// By default: the script insists on what has failed three times, and is refused.
	"pivot-flag": {
		host:       func(*clock) *script { return &script{judge: fail("still broken")} },
		opts:       arc.Options{Replans: 1},
		objectives: []arc.Objective{{ID: "run-1", Text: "mend the cache"}, {ID: "run-2", Text: "mend the cache"}},
	},
	// By itself: another approach, a fresh start, a human.
	"pivot-auto": {
		host: func(*clock) *script {
			s := &script{}
			s.judge = func(w act.Work, _ act.Result) (act.Verdict, error) {
				return act.Verdict{Pass: w.Task.Objective == "way 4", Complaint: "still broken"}, nil
			}
			s.decide = func(n int, b reason.Brief) (reason.Decision, error) {
				d := plan(fmt.Sprint("way ", n))
				d.Approach = d.Tasks[0].Objective
				return d, nil
			}
			return s
		},
		opts:       arc.Options{Pivot: arc.PivotAuto, Attended: true},
		objectives: []arc.Objective{{ID: "run-1", Text: "mend the cache"}},
		answer:     "begin with the test",
	},
	// An impasse, its subgoal, a question, and a worker that panics once.
	"impasse": {
		host: func(c *clock) *script {
			return &script{
				decide: func(_ int, b reason.Brief) (reason.Decision, error) {
					switch {
					case len(b.Goals) == 0 && len(b.Lineage) == 0:
						return reason.Decision{Impasse: &reason.Impasse{Kind: "missing_capability", Reason: "the door is locked", Subgoal: "find the key"}}, nil
					case len(b.Goals) > 0 && len(b.Answers) == 0:
						return reason.Decision{Complexity: reason.Unclear, Questions: []string{"where is the key kept?"}}, nil
					}
					return plan(b.Objective), nil
				},
				do: func(n int, _ act.Work) (act.Result, error) {
					c.Add(time.Second)
					if n == 1 {
						panic("it is dark")
					}
					return done(`"done"`), nil
				},
			}
		},
		objectives: []arc.Objective{{ID: "run-1", Session: "s", Text: "open the door"}},
		answer:     "under the mat",
	},
}

func TestTranscripts(t *testing.T) {
	t.Parallel()
	for name := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tell(t, name)
			require.Equal(t, string(got), string(tell(t, name)), "the same run twice")
			path := filepath.Join("testdata", "transcripts", name+".jsonl")
			if *rewrite {
				require.NoError(t, os.WriteFile(path, got, 0o600))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
		})
	}
}

// tell runs a story and returns its events and reports, a line each.
func tell(t *testing.T, name string) []byte {
	t.Helper()
	story := stories[name]
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	c := newClock()
	opts := story.opts
	opts.Now, opts.Seed = c.Now, 42
	opts.Hooks.Event = func(e arc.Event) { require.NoError(t, enc.Encode(e)) }
	a := agent(t, story.host(c).host("one", "two"), &opts)
	for _, o := range story.objectives {
		r := run(t, a, o)
		if r.Status == arc.Asking {
			var err error
			r, err = a.In("").Answer(t.Context(), o.ID, story.answer)
			require.NoError(t, err)
		}
		require.NoError(t, enc.Encode(r))
	}
	return out.Bytes()
}
