package arc_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

func loadSkills(t *testing.T, agent string) map[string]reason.Skill {
	t.Helper()
	skills, err := reason.LoadSkills(fstest.MapFS{
		"work/SKILL.md": {Data: []byte("---\nname: work\ndescription: Work.\n---\nFor the reasoner.")},
		"work/AGENT.md": {Data: []byte(agent)},
		"rest/SKILL.md": {Data: []byte("---\nname: rest\ndescription: Rest.\n---\n")},
	})
	require.NoError(t, err)
	return skills
}

func TestWorkerGetsWhatItsSkillTellsAgents(t *testing.T) {
	t.Parallel()
	var judged []string
	s := &script{
		decide: func(_ int, b reason.Brief) (reason.Decision, error) {
			d := plan(b.Objective)
			for _, skill := range []string{"", "rest"} {
				d.Tasks = append(d.Tasks, reason.Task{Objective: "then " + skill, Skill: skill})
			}
			return d, nil
		},
		judge: func(w act.Work, _ act.Result) (act.Verdict, error) {
			judged = append(judged, w.Agent)
			return act.Verdict{Pass: len(judged) > 1, Complaint: "again"}, nil
		},
	}
	h := s.host()
	h.Workers[0].Skills = append(h.Workers[0].Skills, "rest")
	h.Skills = loadSkills(t, "Touch nothing else.")
	require.Equal(t, arc.Delivered, run(t, agent(t, h, nil), arc.Objective{Text: "mend the cache"}).Status)
	var got []string
	for _, w := range s.work {
		got = append(got, w.Task.Skill+": "+w.Agent)
	}
	require.Equal(t, []string{"work: Touch nothing else.", "work: Touch nothing else.", ": ", "rest: "}, got)
	require.Equal(t, []string{"Touch nothing else.", "Touch nothing else.", "", ""}, judged)
}

// A skill is the host's and not part of the run: one that goes on later goes
// on with the skills that the host has then.
func TestSkillsAreNotKept(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	s := &script{decide: func(_ int, b reason.Brief) (reason.Decision, error) {
		if len(b.Answers) == 0 {
			return reason.Decision{Questions: []string{"Which?"}}, nil
		}
		return plan(b.Objective), nil
	}}
	h := s.host()
	h.Skills = loadSkills(t, "old")
	first := agentOn(t, st, h, nil)
	require.Equal(t, arc.Asking, run(t, first, arc.Objective{ID: "r", Text: "mend it"}).Status)
	require.NoError(t, first.Close())
	h.Skills = loadSkills(t, "new")
	r, err := agentOn(t, st, h, nil).In("").Answer(t.Context(), "r", "the cache")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status)
	require.Equal(t, "new", s.work[0].Agent)
}
