package arc_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta/fleet"
	"github.com/arc-learn/arc/reason"
)

// A crew that claims much and delivers nothing is told so, with what to do.
func TestHealthSaysWhatToDo(t *testing.T) {
	t.Parallel()
	s := &script{judge: fail("still nil")}
	a := agent(t, s.host(), nil)
	for i := range 8 {
		run(t, a, arc.Objective{Text: fmt.Sprint("mend the cache ", i), Situation: situation})
	}
	_, err := a.In("").Memory().RememberAll(t.Context(), quarantined(30))
	require.NoError(t, err)
	h, err := a.Health(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, memory.NeedsAttention, h.Status)
	for _, issue := range h.Issues {
		require.NotEmpty(t, issue.Text)
		require.NotEmpty(t, issue.Advice, issue.Text)
	}
	report := h.String()
	for _, want := range []string{
		"30 of 46", "quarantined", "what workers claim is off by 0.90", "worker failed 100 % of the last hour",
		`"work" was asked for and not delivered in 24 hours`, "let workers and reasoner name what they used", "uplift not measured", "0 of 24 delivered",
	} {
		require.Contains(t, strings.Join(strings.Fields(report), " "), want)
	}
	narrow(t, report)
	require.Len(t, h.Resonance, 8, "one for each task that was decided")
	require.Equal(t, strings.Count(report, "issue "), strings.Count(report, "→"))

	raw, err := json.Marshal(h)
	require.NoError(t, err)
	var again arc.Health
	require.NoError(t, json.Unmarshal(raw, &again))
	require.Equal(t, h, again)
}

// A worker of which more than half of at least five outcomes of the last hour failed is an issue.
func TestHealthOfFailingWorkers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failed, all int
		issue       bool
	}{
		"four of four": {4, 4, false}, "three of five": {3, 5, true}, "half of ten": {5, 10, false}, "eleven of twenty": {11, 20, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{}
			a := agent(t, s.host(), &arc.Options{Learn: learn.Options{Repeats: -1}})
			for i := range c.all {
				if s.judge = nil; i < c.failed {
					s.judge = fail("still nil")
				}
				run(t, a, arc.Objective{
					Text: fmt.Sprint("mend the cache ", i), Attempts: 1, Fresh: true,
					Tasks: []reason.Task{{Objective: fmt.Sprint("mend it ", i), Skill: "work", Verify: "it holds"}},
				})
			}
			h, err := a.Health(t.Context(), "")
			require.NoError(t, err)
			require.Equal(t, c.issue, strings.Contains(h.String(), "of the last hour"), h.String())
		})
	}
}

// Workers that deliver more than they claim, as a program does whose Confidence is the default of act.Command,
// are no issue; the report says how far their claims are off.
func TestHealthOfModestWorkers(t *testing.T) {
	t.Parallel()
	s := &script{do: func(int, act.Work) (act.Result, error) {
		r := done(`"ok"`)
		r.Reflection.Confidence = .8
		return r, nil
	}}
	a := agent(t, s.host(), nil)
	for i := range 30 {
		run(t, a, arc.Objective{Text: fmt.Sprint("mend the cache ", i), Situation: situation})
	}
	h, err := a.Health(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, h.Issues)
	require.Equal(t, memory.Healthy, h.Status)
	require.Contains(t, h.String(), "off by 0.20 on average")
}

// Where all is delivered anyway, what memory saves is seen in who was not asked.
func TestHealthSaysWhatWasNotAsked(t *testing.T) {
	t.Parallel()
	a := agent(t, (&script{}).host(), &arc.Options{Seed: 1, Learn: learn.Options{Holdout: 0.5, Seed: 2}})
	for i := range 60 {
		require.Equal(t, arc.Delivered, run(t, a, arc.Objective{ID: fmt.Sprint(i), Text: "mend the cache"}).Status)
	}
	h, err := a.Health(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, 1.0, h.Uplift.Delivered.Without)
	require.Zero(t, h.Uplift.Unasked.Without)
	require.Positive(t, h.Uplift.Unasked.Low, h.Uplift.Unasked)
	require.Contains(t, h.String(), "\nunasked    helps by +")
	narrow(t, h.String())
}

// What failed is a lesson that runs are shown as it is: nobody has to trust it.
func TestFailuresWaitForNoTrust(t *testing.T) {
	t.Parallel()
	a := agent(t, (&script{judge: fail("still nil")}).host(), nil)
	for i := range 8 {
		run(t, a, arc.Objective{Text: fmt.Sprint("mend the cache ", i), Situation: situation})
	}
	h, err := a.Health(t.Context(), "")
	require.NoError(t, err)
	require.Positive(t, h.Lessons)
	require.Equal(t, h.Quarantined, h.Lessons)
	for _, issue := range h.Issues {
		require.NotContains(t, issue.Text, "quarantined")
	}
}

// narrow checks that a report fits a terminal.
func narrow(t *testing.T, report string) {
	t.Helper()
	for line := range strings.Lines(report) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 80, "%q", line)
	}
}

// An agent that delivers, and has had nothing to recall or too little to say, is
// well.
func TestTenDeliveredRunsAreHealthy(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]func(i int) string{
		"one objective":   func(int) string { return "mend the cache" },
		"ten objectives":  func(i int) string { return fmt.Sprint("mend the cache ", i) },
		"ten of no words": func(i int) string { return strings.Repeat(string(rune('a'+i)), 12) },
	} {
		s := &script{}
		a := agent(t, s.host(), nil)
		for i := range 10 {
			require.Equal(t, arc.Delivered, run(t, a, arc.Objective{Text: text(i)}).Status, name)
		}
		h, err := a.Health(t.Context(), "")
		require.NoError(t, err)
		require.Empty(t, h.Issues, "%s: %+v", name, h.Health)
		require.Equal(t, memory.Healthy, h.Status, name)
		narrow(t, h.String())
	}
}

// Each issue brings its own advice, whatever else is wrong; the report breaks
// long names and words.
func TestHealthReportIsNarrow(t *testing.T) {
	t.Parallel()
	h := arc.Health{Health: memory.Health{Status: memory.NeedsAttention, Issues: []memory.Issue{
		{Text: strings.Repeat("ü", 200), Advice: "look at " + strings.Repeat("run/1, ", 40)},
	}}}
	h.Fleet.Workers = []fleet.Worker{{Name: strings.Repeat("long name ", 20)}}
	for range 64 {
		h.Resonance = append(h.Resonance, 0.9)
	}
	report := h.String()
	narrow(t, report)
	require.Equal(t, 200, strings.Count(report, "ü"))
	require.Contains(t, report, "resonance  "+strings.Repeat("█", 64)+" 0.90\n")
}

func quarantined(n int) (ds []memory.Draft) {
	for i := range n {
		ds = append(ds, memory.Draft{Kind: memory.Fact, Content: fmt.Sprintf("page %d says something of its own", i*i), Source: memory.Source{Origin: memory.Web}})
	}
	return ds
}

// What a run withholds is neither told to the reasoner nor to the worker, and
// no chunk fires; the run learns all the same.
func TestWithheldMemoryIsNotShown(t *testing.T) {
	t.Parallel()
	s := &script{}
	o := &arc.Options{Seed: 3}
	o.Learn.Holdout = 0.5
	a := agent(t, s.host(), o)
	told := 0
	for i := range 40 {
		r := run(t, a, mend(fmt.Sprint("cache ", i)))
		require.Equal(t, arc.Delivered, r.Status)
		told += len(s.work[i].Background)
	}
	h, err := a.Health(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, 39, h.Uplift.Delivered.Treated+h.Uplift.Delivered.Withheld, "the first knew nothing")
	require.Equal(t, h.Uplift.Delivered.Treated, told)
	require.InDelta(t, 20, h.Uplift.Delivered.Withheld, 8)
	require.InDelta(t, 2+h.Uplift.Delivered.Withheld, len(s.briefs), 1, "those without memory were reasoned, and what came before a chunk could fire")
	require.LessOrEqual(t, h.Uplift.Delivered.Low, 0.0, "all were delivered")
}
