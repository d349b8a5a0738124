package extract_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/extract"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Whatever passes Check can be kept, as an outcome is learned in the same commit; what says nothing is left out.
func TestEpisodes(t *testing.T) {
	t.Parallel()
	g := store.NewGroup(store.NewMem())
	bank, err := memory.Open(t.Context(), g, nil)
	require.NoError(t, err)
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	keep := func(c reason.Case, agent, answer string) (is int, by string) {
		c.Scope, c.Lessons = "a", "a"
		require.NoError(t, c.Check())
		for range 2 { // an outcome that is told twice is one
			require.NoError(t, g.Update(t.Context(), func(b *store.Batch) error {
				return extract.Episodes(t.Context(), b, bank, &c, agent, answer, false, at)
			}))
		}
		for r, err := range bank.In("a").All(t.Context()) {
			require.NoError(t, err)
			is += strings.Count(r.Content, "?")
			by += r.Source.Ref
		}
		return is, by
	}
	check := func(n int, refs string, c reason.Case, agent, answer string) {
		is, by := keep(c, agent, answer)
		require.Equal(t, n, is)
		require.Equal(t, refs, by)
	}
	long := strings.Repeat("ü", store.MaxID/2)
	check(1, "", reason.Case{ID: long, Text: "what?", Actor: long, Session: long}, "", "it")
	check(2, "b/c", reason.Case{ID: "2", Text: "what?\x00", Actor: "anna"}, "b/c", strings.Repeat("x", 64<<10))
	check(2, "b/c", reason.Case{ID: "3", Text: " \n", Actor: "anna"}, "b/c", "")
	check(3, "b/c", reason.Case{ID: "4", Text: "what?", Actor: "anna"}, "b\nc", "")
	check(3, "b/c", reason.Case{ID: "5", Text: "what?"}, "b/c", "")
	for _, c := range []reason.Case{{Actor: "a\nb"}, {Session: "a\nb"}, {ID: "a\xff"}} {
		require.Error(t, c.Check())
	}
}

// A name of the case is told to a case that has it, and to no other; whoever it is, the complaint is of one class.
func TestLessonNames(t *testing.T) {
	t.Parallel()
	hidden, class := extract.Lesson([]string{"Anna asks why TestSum broke"}, nil)("FAIL: TestSum: ask Anna")
	require.Equal(t, "FAIL: … ask …", extract.Tell()("FAIL: TestSum: ask Anna", hidden))
	require.Equal(t, "FAIL: TestSum: ask …", extract.Tell("TestSum broke")("FAIL: TestSum: ask Anna", hidden))
	_, other := extract.Lesson([]string{"Bo asks why TestMax broke"}, nil)("FAIL: TestMax: ask Bo")
	require.Equal(t, class, other)
}

// A long case takes no work for each pair of its words and those of the complaint, and two letters of Han are
// found in it.
func TestLessonLong(t *testing.T) {
	var own, complaint strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&own, "own%c%c ", 'a'+i/26%26, 'a'+i%26)
	}
	for i := range 100 {
		fmt.Fprintf(&complaint, "said%c%c ", 'a'+i/26, 'a'+i%26)
	}
	for i := range 5000 {
		own.WriteRune(rune(0x4e00 + i))
	}
	complaint.WriteString("\u5000\u5001\u7000")
	var said []string
	allocs := testing.AllocsPerRun(1, func() { said, _ = extract.Lesson([]string{own.String()}, nil)(complaint.String()) })
	require.Less(t, allocs, 50_000.0, "not one for each of 600,000 pairs")
	require.Equal(t, []string{"\u5000\u5001"}, said)
	again := extract.Lesson(nil, []string{strings.Repeat("Bo Max ", 10_000)})
	again("ask Bo")
	allocs = testing.AllocsPerRun(1, func() { said, _ = again("ask Bo") })
	require.Equal(t, []string{"Bo"}, said)
	require.Less(t, allocs, 200., "the words are read once for all complaints")
}
