package meta_test

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
	topics := map[string]meta.AlertKind{"ops.alert.action_quality": meta.ChronicFailure, "ops.alert.hitl_escalation": meta.Escalating}
	for _, c := range f.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			epoch := time.UnixMilli(0)
			var events []meta.Event
			for _, o := range c.Input.Outcomes {
				for range max(1, o.N) {
					events = append(events, meta.Event{Skill: o.Skill, Success: o.Success, TimedOut: !o.Success && meta.TimedOut(o.Text, o.State), At: epoch})
				}
			}
			var escalations []meta.Escalation
			for _, h := range c.Input.Hitl {
				for range h.N {
					escalations = append(escalations, meta.Escalation{Kind: h.Kind, Target: h.Target, At: epoch})
				}
			}
			var raised []meta.Alert
			for i, ms := range c.Input.At {
				a := meta.Analyse(epoch.Add(time.Duration(ms)*time.Millisecond), slices.Values(events), slices.Values(escalations), raised, nil)
				require.Len(t, a.Skills, len(c.Want.Stats))
				for i, w := range c.Want.Stats {
					require.Equal(t, meta.SkillStats{
						Skill: w.Skill, Total: w.Total, Successes: w.Success, Failures: w.Failure, Timeouts: w.Timeout, SuccessRate: w.Rate,
					}, a.Skills[i])
				}
				var want, got []string
				for _, p := range c.Want.Published[i] {
					if kind, ok := topics[p.Topic]; ok {
						want = append(want, string(kind)+p.Key)
					}
				}
				for _, al := range a.Alerts {
					got = append(got, string(al.Kind)+al.Key)
				}
				require.Equal(t, want, got)
				raised = append(raised, a.Alerts...)
			}
		})
	}
}

// Totals of a lifetime would alert for ever: what is old does not count.
func TestAnalysisForgets(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var events []meta.Event
	for i := range 160 {
		events = append(events, meta.Event{Skill: "x", Success: i >= 100, At: now.Add(time.Duration(i-159) * 15 * time.Minute)})
	}
	a := meta.Analyse(now, slices.Values(events), slices.Values([]meta.Escalation(nil)), nil, nil)
	require.Equal(t, 97, a.Skills[0].Total, "of 24 hours, both ends included")
	require.Empty(t, a.Alerts, "60 of the last 97 succeeded")
	a = meta.Analyse(now, slices.Values(events), slices.Values([]meta.Escalation(nil)), nil, &meta.AnalysisOptions{Window: 40 * time.Hour})
	require.Equal(t, meta.ChronicFailure, a.Alerts[0].Kind)
	require.Equal(t, 160, a.Alerts[0].Samples)
}

func ExampleAnalyse() {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var events []meta.Event
	for i := range 12 {
		events = append(events, meta.Event{Skill: "deploy", Success: i%4 == 0, TimedOut: i == 1, At: now.Add(-time.Duration(i) * time.Hour)})
	}
	asked := []meta.Escalation{{Kind: "merge", Target: "pr 7", At: now}, {Kind: "merge", Target: "pr 7", At: now}, {Kind: "merge", Target: "pr 7", At: now}}
	none := meta.Analysis{}.Alerts
	a := meta.Analyse(now, slices.Values(events), slices.Values(asked), none, nil)
	for _, al := range a.Alerts {
		fmt.Println(al.Kind+":", al.Text)
	}
	again := meta.Analyse(now.Add(time.Minute), slices.Values(events), slices.Values(asked), a.Alerts, nil)
	fmt.Println(len(again.Alerts), "more a minute later")
	// Output:
	// chronic_failure: 3 of 12 attempts at "deploy" succeeded in the last 24h0m0s (8 failed, 1 ran out of time)
	// escalating: "pr 7" was handed to a human 3 times in the last 24h0m0s
	// 0 more a minute later
}
