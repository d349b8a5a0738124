package learn_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/reason"
)

// A plan that says a day which its case does not is for that day: it never fires.
func TestPlanOfADay(t *testing.T) {
	t.Parallel()
	const objective = "send the report of the day to the board"
	for _, c := range []struct {
		task  reason.Task
		fires bool
	}{
		{reason.Task{Objective: "send the report of 2026-11-21"}, false},
		{reason.Task{Objective: "send the report of 21.11.2026 to the board"}, false},
		{reason.Task{Objective: "send the report of November 21"}, false},
		{reason.Task{Objective: "send the report of 21 Nov. to the board"}, false},
		{reason.Task{Objective: "send it", Inputs: []byte(`{"path":"reports/2026/11/21.pdf"}`)}, false},
		{reason.Task{Objective: "send it", Inputs: []byte(`{"from":"2026-11-21T00:00:00Z"}`)}, false},
		{reason.Task{Objective: "send it", Verify: "the board has that of 2026-11-21"}, false},
		{reason.Task{Objective: "send it with version 1.11.2 to 10.2.3.4, port 2026"}, true},
		{reason.Task{Objective: "march 21 pages to the board, and you may 3 times"}, true},
	} {
		p := setup(t, nil)
		a := learn.Ask{Scope: scope, Situation: objective, Objective: objective}
		for i := range 2 {
			o := delivered(fmt.Sprint(i), objective)
			c.task.Skill, c.task.Worker = "edit", "fixer"
			o.Situation, o.Case, o.Plan = objective, learn.Case{}, []reason.Task{c.task}
			_, err := p.learner.Learn(t.Context(), o)
			require.NoError(t, err)
		}
		found, err := p.learner.Recall(t.Context(), a)
		require.NoError(t, err)
		chunks := p.learner.Match(found.Hits, a)
		require.Len(t, chunks, 1)
		_, fires := learn.Fire(chunks, nil)
		require.Equal(t, c.fires, fires, "%s %s", c.task.Objective, c.task.Inputs)
		if !fires {
			require.Contains(t, chunks[0].Differs[0], "which its case does not")
		}
	}
}

// A plan that repeats a value of a complaint, which its case does not have, is for its run. One
// that says the same at the first try is a habit, as any.
func TestPlanOfWhatAComplaintTold(t *testing.T) {
	t.Parallel()
	const objective = "refund the order of Meyer, account 4711"
	for _, c := range []struct {
		complaint, does string
		fires           bool
	}{
		{"1234 is closed, the customer's is 9876.", "refund it to account 9876", false},
		{`{"closed":1234,"open":"DE-98-76"}`, "refund it to DE-98-76 (Meyer)", false},
		{"order a17: no such order, there is A18", "refund order a18", false},
		{"", "refund it to account 9876", true},
		{"1234 is closed, the customer's is 4711", "refund it to account 4711", true},
		{"1234 is closed", "refund it to account 9876", true},
		{"19876 is closed", "refund it to account 9876", true},
		{"tests 1, 2 and 3 of 12 failed", "run 12 tests 3 times, then refund it", true},
	} {
		p := setup(t, nil)
		a := learn.Ask{Scope: scope, Situation: objective, Objective: objective}
		n := 0
		deliver := func(complaint string) (fires bool) {
			n++
			o := delivered(fmt.Sprint(n), objective)
			o.Situation, o.Case, o.Plan = objective, learn.Case{}, []reason.Task{{Objective: c.does, Skill: "edit", Worker: "fixer"}}
			if complaint != "" {
				o.Failed = []reason.FailedAttempt{{Objective: "refund it to account 1234", Worker: "fixer", Complaint: complaint}}
			}
			_, err := p.learner.Learn(t.Context(), o)
			require.NoError(t, err)
			found, err := p.learner.Recall(t.Context(), a)
			require.NoError(t, err)
			_, fires = learn.Fire(p.learner.Match(found.Hits, a), nil)
			return fires
		}
		require.False(t, deliver(c.complaint))
		require.Equal(t, c.fires, deliver(c.complaint), c)
		deliver("")
		require.True(t, deliver(""), c)
	}
}

// A day that the case says is bound anew.
func TestPlanOfADayOfTheCase(t *testing.T) {
	t.Parallel()
	p := setup(t, nil)
	of := func(day string) learn.Ask {
		text := "send the report of the day to the board"
		return learn.Ask{Scope: scope, Situation: text, Objective: text, Case: learn.Case{Inputs: fmt.Appendf(nil, `{"day":%q}`, day)}}
	}
	for _, day := range []string{"2026-11-21", "2026-11-22"} {
		a := of(day)
		o := delivered(day, a.Objective)
		o.Situation, o.Case, o.Plan = a.Situation, a.Case, []reason.Task{{Objective: "send that of " + day, Skill: "edit", Worker: "fixer"}}
		_, err := p.learner.Learn(t.Context(), o)
		require.NoError(t, err)
	}
	a := of("2026-11-23")
	found, err := p.learner.Recall(t.Context(), a)
	require.NoError(t, err)
	chunk, fires := learn.Fire(p.learner.Match(found.Hits, a), nil)
	require.True(t, fires)
	require.Equal(t, "send that of 2026-11-23", chunk.Tasks[0].Objective)
}

// A plan that names a day which its case does not is for that day, in any language.
func TestPlanOfADayInOtherLanguages(t *testing.T) {
	t.Parallel()
	for day, is := range map[string]bool{
		"2026-11-27": true, "27.11.2026": true, "2026.11.27": true, "November 27th": true, "27 Nov": true,
		"27. Dezember": true, "27 décembre": true, "1er mai": true, "27 de noviembre": true, "27 listopada": true, "27 ноября": true,
		"27 Νοεμβρίου": true, "27 Kasım": true, "27. marraskuuta": true, "2026年11月27日": true, "11月27日": true, "11월 27일": true,
		"version 1.26": false, "27 марок": false, "27 months": false, "3月": false, "port 8080": false,
	} {
		o := delivered("one", "close the books")
		o.Plan = []reason.Task{{Objective: "close the books of " + day, Skill: "edit", Worker: "fixer"}}
		again := o
		again.Run, again.Key, again.GoalKey = "two", "two/1", "two"
		a := learn.Ask{Scope: scope, Situation: o.Situation, Objective: o.Objective, Case: o.Case}
		_, ok := fires(t, a, o, again)
		require.Equal(t, !is, ok, day)
	}
}
