package meta_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/store"
)

// Each letter is an outcome at one goal: s succeeded, every other is a failed
// approach.
func TestSteps(t *testing.T) {
	t.Parallel()
	for outcomes, want := range map[string][]string{
		"s": nil, "a": nil, "aaaa": nil, "abca": nil,
		"abab":    {meta.StartFresh},
		"aaaabab": {meta.StartFresh},
		"ababs":   nil,
		"aaaab":   {meta.StartFresh},
		"abcabc":  {meta.StartFresh, meta.AskHuman},
		"abcdef":  {meta.StartFresh, meta.AskHuman},
		"aaaaaaa": nil, // a pivot is what it needs
	} {
		m := open(t, store.NewMem())
		for i, c := range outcomes {
			record(t, m, "s", meta.Outcome{Key: fmt.Sprint(i), Success: c == 's', Goal: "mend it", Approach: string(c)})
		}
		a := assess(t, m, "s")
		require.Equal(t, want, a.Also, outcomes)
		for _, step := range a.Also {
			require.Contains(t, strings.Join(a.Evidence, "\n"), step+": ")
		}
	}
}

// Where nothing has ever worked after a failure, it is said.
func TestGiveUpIsLearned(t *testing.T) {
	t.Parallel()
	m := open(t, store.NewMem())
	for i := range 80 {
		s := fmt.Sprint("session ", i)
		for j, approach := range "aaaaaaaab" {
			record(t, m, s, meta.Outcome{Key: fmt.Sprint(j), Goal: s, Approach: string(approach)})
		}
		for j, approach := range "aaaaaaab" {
			record(t, m, s+" again", meta.Outcome{Key: fmt.Sprint(j), Goal: s, Approach: string(approach)})
		}
	}
	for j := range 7 {
		record(t, m, "new", meta.Outcome{Key: fmt.Sprint(j), Goal: "g", Approach: "a"})
	}
	require.Equal(t, []string{meta.AskHuman, meta.GiveUp}, assess(t, m, "new").Also)
}
