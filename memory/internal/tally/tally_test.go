package tally_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/internal/tally"
)

func TestSituationsAreBounded(t *testing.T) {
	t.Parallel()
	c := new(tally.Counts)
	for i := range uint64(100) {
		c.Take(tally.Helped, i+1, time.Time{}, 10)
		c.Take(tally.Failed, i%7+1, time.Time{}, 10)
	}
	require.Len(t, c.Situations, 32)
	require.True(t, c.Valid())
	o := c.Sum(c)
	require.True(t, o.Valid())
	require.Equal(t, 200, o.Helped)
}

func TestUsesAreTheLatest(t *testing.T) {
	t.Parallel()
	a, b := new(tally.Counts), new(tally.Counts)
	for i := range 7 {
		a.Used(time.UnixMicro(int64(10*i+1)), tally.Uses)
		b.Used(time.UnixMicro(int64(10*i+2)), tally.Uses)
	}
	b.Used(time.UnixMicro(5), tally.Uses) // the clock was put back
	want := []tally.Instant{22, 31, 32, 41, 42, 51, 52, 61}
	for _, sum := range []*tally.Counts{a.Sum(b), b.Sum(a)} {
		require.Equal(t, append([]tally.Instant{21}, want...), sum.Earlier)
		require.Equal(t, tally.Instant(62), sum.LastUsed)
		require.True(t, sum.Valid())
	}
	require.Equal(t, []tally.Instant{1, 11, 21, 31, 41, 51}, a.Earlier, "what is added up stays as it is")
	require.Equal(t, []tally.Instant{2, 5, 12, 22, 32, 42, 52}, b.Earlier)
	for i := range 400 {
		a.Used(time.UnixMicro(int64(1000+i)), tally.MostUses)
	}
	require.Len(t, a.Earlier, tally.MostUses-1)
	require.True(t, a.Valid())
	require.Len(t, a.Sum(b).Earlier, tally.MostUses-1)
	require.Equal(t, &tally.Counts{}, new(tally.Counts).Sum(new(tally.Counts)))
}

// An actor is heeded once an hour, so many of them in that time, and the host always.
func TestHeeds(t *testing.T) {
	t.Parallel()
	at := time.Unix(1e9, 0)
	c := new(tally.Counts)
	require.True(t, c.Heeds("ann", at) && c.Heeds("", at) && c.Heeds("", at))
	before := *c
	require.False(t, c.Heeds("ann", at.Add(59*time.Minute)) || c.Heeds("ann", at.Add(-59*time.Minute)))
	require.True(t, c.Heeds("ann", at.Add(time.Hour)))
	require.Equal(t, []tally.Heard{{tally.Hash("ann"), tally.InstantOf(at)}}, before.Heard, "others can see it")
	for i := range 31 {
		require.True(t, c.Heeds(fmt.Sprint(i), at.Add(time.Hour)))
	}
	require.False(t, c.Heeds("one more", at.Add(time.Hour)))
	require.True(t, c.Valid())
}

// A situation backs off to what is known over all of them, and taking back ends at zero.
func TestEffectiveness(t *testing.T) {
	t.Parallel()
	c := new(tally.Counts)
	require.True(t, c.Zero() && (*tally.Counts)(nil).Zero())
	require.Equal(t, .5, c.Effectiveness(0))
	c.Take(tally.Helped, 7, time.Unix(1, 0), tally.Uses)
	c.Take(tally.Quiet, 8, time.Unix(2, 0), tally.Uses)
	require.Equal(t, 2/3.125, c.Effectiveness(0))
	require.Equal(t, c.Effectiveness(0), c.Effectiveness(9))
	require.Greater(t, c.Effectiveness(7), c.Effectiveness(0))
	require.Less(t, c.Effectiveness(8), c.Effectiveness(0))
	require.Equal(t, tally.Effectiveness(1, 1, 1, 0), c.Effectiveness(0))
	for range 3 {
		c.Add(tally.Helped, 7, -1)
		c.Add(tally.Quiet, 8, -1)
	}
	require.Equal(t, 0, c.Feedback()+c.Exposed)
	require.True(t, c.Valid() && !c.Zero(), "it was used")
}

// What is taken back of a situation that is not kept any more pushes out no other.
func TestTakenBackOfAFormerSituation(t *testing.T) {
	t.Parallel()
	var c tally.Counts
	for hash := range uint64(33) {
		c.Add(tally.Misled, 1+hash, 1)
	}
	kept := c.Clone().Situations
	c.Add(tally.Misled, 1, -1)
	require.Equal(t, kept, c.Situations)
	require.Equal(t, 32, c.Misled)
}
