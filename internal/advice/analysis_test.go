package advice

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/meta"
)

func TestAnalysisCases(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/outcome-analysis.json")
	require.NoError(t, err)
	var f struct {
		Cases []struct {
			Name  string
			Input struct {
				Outcomes []struct {
					Skill, Text string
					Success     bool
					State       string `json:"task_state"`
					N           int
				}
				Hitl []struct {
					Kind, Target string
					N            int
				}
				At []int64 `json:"analysis_at_ms"`
			}
			Want struct {
				Stats []struct {
					Skill                            string
					Total, Success, Failure, Timeout int
					Rate                             float64 `json:"success_rate"`
				}
				Published [][]struct{ Topic, Key string } `json:"published_per_run"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(raw, &f))
	require.NotEmpty(t, f.Cases)
	topics := map[string]bool{"ops.alert.action_quality": false, "ops.alert.hitl_escalation": true} // escalated
	for _, c := range f.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			epoch := time.UnixMilli(0)
			var attempts, escalations []meta.Outcome
			for _, o := range c.Input.Outcomes {
				if o.State == "canceled" {
					o.Text = o.State
				}
				for range max(1, o.N) {
					attempts = append(attempts, meta.Outcome{Goal: o.Skill, Success: o.Success, Note: o.Text, At: epoch})
				}
			}
			for _, h := range c.Input.Hitl {
				for range h.N {
					escalations = append(escalations, meta.Outcome{Goal: h.Target, At: epoch})
				}
			}
			at := epoch.Add(time.Duration(c.Input.At[0]) * time.Millisecond)
			tallies := analyse(at, attempts, escalations)
			for i, w := range c.Want.Stats {
				require.Equal(t, tally{
					subject: w.Skill, total: w.Total, successes: w.Success, failures: w.Failure, timeouts: w.Timeout, rate: w.Rate,
					alert: tallies[i].alert,
				}, tallies[i])
			}
			for _, tally := range tallies[len(c.Want.Stats):] {
				require.True(t, tally.escalated)
			}
			var want, got []string
			for _, p := range c.Want.Published[0] {
				if escalated, ok := topics[p.Topic]; ok {
					want = append(want, fmt.Sprint(escalated, p.Key))
				}
			}
			for _, tally := range tallies {
				if tally.alert != "" {
					got = append(got, fmt.Sprint(tally.escalated, tally.subject))
				}
			}
			require.Equal(t, want, got)
		})
	}
}

// Totals of a lifetime would alert for ever: what is old does not count.
func TestAnalysisForgets(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var attempts []meta.Outcome
	for i := range 160 {
		attempts = append(attempts, meta.Outcome{Goal: "x", Success: i >= 100, At: now.Add(time.Duration(i-159) * 15 * time.Minute)})
	}
	a := analyse(now, attempts, nil)
	require.Equal(t, 97, a[0].total, "of 24 hours, both ends included")
	require.Empty(t, a[0].alert, "60 of the last 97 succeeded")
	a = analyse(now.Add(-15*time.Hour), attempts, nil)
	require.Equal(t, 97, a[0].total, "what is later does not count")
	require.NotEmpty(t, a[0].alert)
	require.Empty(t, analyse(now, nil, nil))
}

func TestAlertsInWords(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var attempts []meta.Outcome
	for i := range 12 {
		o := meta.Outcome{Goal: "deploy", Success: i%4 == 0, At: now.Add(-time.Duration(i) * time.Hour)}
		if i == 1 {
			o.Note = "Timeout after 5m"
		}
		attempts = append(attempts, o)
	}
	asked := slices.Repeat([]meta.Outcome{{Goal: "merge pr 7", At: now}}, 3)
	alerts := analyse(now, attempts, asked)
	require.Equal(t, `3 of 12 attempts at "deploy" succeeded in the last 24h0m0s (8 failed, 1 ran out of time)`, alerts[0].alert)
	require.Equal(t, `"merge pr 7" was handed to a human 3 times in the last 24h0m0s`, alerts[1].alert)
}
