package learn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// mended is a delivered goal: a name was undefined, and a worker defined it.
func mended(name, pkg, worker string) learn.Outcome {
	o := delivered("run of "+name+" "+pkg, "mend "+pkg)
	o.Situation = fmt.Sprintf("go build reports undefined: %s in package %s", name, pkg)
	o.Case = learn.Case{Vouched: true}
	o.Approach = "define what is missing"
	o.Plan = []reason.Task{{Objective: fmt.Sprintf("define %s in %s", name, pkg), Verify: "go build ./" + pkg, Skill: "edit", Worker: worker}}
	return o
}

func (p parts) fire(t *testing.T, situation string) (learn.Chunk, bool) {
	t.Helper()
	_, pkg, _ := strings.Cut(situation, "package ")
	a := learn.Ask{Scope: scope, Situation: situation, Objective: "mend " + pkg, Case: learn.Case{Vouched: true}}
	found, err := p.learner.Recall(t.Context(), a)
	require.NoError(t, err)
	return learn.Fire(p.learner.Match(found.Hits, a), nil)
}

// Three successes of one shape become a pattern that fires for a fourth case,
// with that case's words in the plan.
func TestChunksAreGeneralised(t *testing.T) {
	t.Parallel()
	p := setup(t, nil)
	unseen := "go build reports undefined: retryLimit in package client"
	cases := [][2]string{{"parseConfig", "server"}, {"maxDepth", "walker"}, {"errClosed", "store"}}
	for i, c := range cases {
		_, fires := p.fire(t, unseen)
		require.False(t, fires, "after %d", i)
		_, err := p.learner.Learn(t.Context(), mended(c[0], c[1], "fixer"))
		require.NoError(t, err)
	}
	chunk, fires := p.fire(t, unseen)
	require.True(t, fires)
	require.Equal(t, "define what is missing", chunk.Approach)
	require.Len(t, chunk.Tasks, 1)
	task := chunk.Tasks[0]
	require.Equal(t, []string{"define retryLimit in client", "go build ./client", "edit", "fixer"}, []string{task.Objective, task.Verify, task.Skill, task.Worker})
	r, err := p.bank.In(scope).Get(t.Context(), chunk.ID)
	require.NoError(t, err)
	require.Equal(t, "go build reports undefined: {{1}} in package {{2}}", r.Trigger)
	require.Len(t, r.Links, 6, "what it was drawn from, and Revoke follows")
	require.Equal(t, memory.Derived, r.Source.Origin)

	_, fires = p.fire(t, "go build reports undefined: retryLimit in module client")
	require.False(t, fires, "the words around the variables have to be the same")
	_, fires = p.fire(t, "go build reports undefined: in package client")
	require.False(t, fires)
}

func TestWhatDiffersIsNotGeneralised(t *testing.T) {
	t.Parallel()
	for name, outcomes := range map[string][]learn.Outcome{
		"two only":      {mended("a1", "x", "fixer"), mended("b2", "y", "fixer")},
		"other workers": {mended("parseConfig", "server", "fixer"), mended("maxDepth", "walker", "other"), mended("errClosed", "store", "third")},
	} {
		p := setup(t, nil)
		for _, o := range outcomes {
			_, err := p.learner.Learn(t.Context(), o)
			require.NoError(t, err)
		}
		for r, err := range p.bank.In(scope).All(t.Context()) {
			require.NoError(t, err)
			require.Empty(t, r.Links, name)
		}
	}
}

// A situation may quote anybody, and a plan may be run by a shell.
func TestOnlyNamesAreBound(t *testing.T) {
	t.Parallel()
	p := setup(t, nil)
	for _, c := range [][2]string{{"parseConfig", "server"}, {"maxDepth", "walker"}, {"errClosed", "store"}} {
		_, err := p.learner.Learn(t.Context(), mended(c[0], c[1], "fixer"))
		require.NoError(t, err)
	}
	for _, pkg := range []string{"client;reboot", "$(reboot)", "`reboot`", "a|b", "a&&b", "../../etc", "-rf", "{{1}}", "a\\nb", "\"a\\", "a>b", "*", "'"} {
		chunk, fires := p.fire(t, "go build reports undefined: retryLimit in package "+pkg)
		if fires { // without what stands around it
			require.Contains(t, []string{"go build ./reboot", "go build ./1"}, chunk.Tasks[0].Verify, pkg)
		}
	}
	for _, pkg := range []string{"client", "internal/http_2", "größe", "store.go:12", "v1.2-rc"} {
		chunk, fires := p.fire(t, "go build reports undefined: retryLimit in package "+pkg)
		require.True(t, fires, pkg)
		require.Equal(t, "go build ./"+pkg, chunk.Tasks[0].Verify)
	}
}
