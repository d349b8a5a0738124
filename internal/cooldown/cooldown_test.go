package cooldown_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/cooldown"
)

var (
	epoch = time.Unix(0, 0).UTC()
	k     = cooldown.Key{Goal: "g", Action: "a"}
)

func at(ms int64) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }

// remaining is how long a key still has to rest.
func remaining(g *cooldown.Guard, k cooldown.Key, at time.Time) time.Duration {
	until, why := g.Resting(k, at)
	if why == "" {
		return 0
	}
	return until.Sub(at)
}

func TestCases(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/loop-cooldown.json")
	require.NoError(t, err)
	var f struct {
		Cases []struct {
			Name  string
			Input struct {
				Config *struct{ MaxAttempts, WindowMinutes int }
				Rest   *int64 `json:"cooldown_ms"`
				At     int64  `json:"at_ms"`
				Query  []string
				// All records are of goal g and action a.
				Records []struct {
					OK bool
					At int64 `json:"at_ms"`
				}
			}
			Want struct {
				Error       string
				Oscillating bool
				Failures    int   `json:"recent_failures"`
				OnCooldown  bool  `json:"on_cooldown"`
				Remaining   int64 `json:"remaining_ms"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(raw, &f))
	require.NotEmpty(t, f.Cases)
	for _, c := range f.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if c.Input.Rest != nil {
				g := cooldown.NewGuard()
				g.Rest(k, epoch, time.Duration(*c.Input.Rest)*time.Millisecond, "it is tired")
				left := remaining(g, k, at(c.Input.At))
				require.Equal(t, c.Want.Remaining, left.Milliseconds())
				require.Equal(t, c.Want.OnCooldown, left > 0)
				return
			}
			loop, err := cooldown.NewLoop(c.Input.Config.MaxAttempts, time.Duration(c.Input.Config.WindowMinutes)*time.Minute)
			if c.Want.Error != "" {
				require.ErrorIs(t, err, cooldown.ErrLoop)
				return
			}
			require.NoError(t, err)
			for _, r := range c.Input.Records {
				if !r.OK {
					loop.Fail(k, at(r.At))
				}
			}
			q := cooldown.Key{Goal: c.Input.Query[0], Action: c.Input.Query[1]}
			require.Equal(t, c.Want.Failures, loop.Failures(q, at(c.Input.At)))
			require.Equal(t, c.Want.Oscillating, loop.Looping(q, at(c.Input.At)))
		})
	}
}

// TestLoopWindow compares with counting all failures ever, in whatever order
// they are reported.
func TestLoopWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "max")
		loop, err := cooldown.NewLoop(limit, time.Second)
		require.NoError(t, err)
		var all []int64
		now := int64(0)
		for range rapid.IntRange(1, 100).Draw(t, "failures") {
			now += rapid.Int64Range(0, 1000).Draw(t, "passes")
			ms := now - rapid.SampledFrom([]int64{0, 0, 0, 1, 1000, 1001}).Draw(t, "late")
			loop.Fail(k, at(ms))
			all = append(all, ms)
			want := 0
			for _, ms := range all {
				if ms >= now-1000 {
					want++
				}
			}
			require.Equal(t, want, loop.Failures(k, at(now)))
			require.Equal(t, want >= limit, loop.Looping(k, at(now)))
		}
	})
}

func TestLoopEdges(t *testing.T) {
	t.Parallel()
	loop, err := cooldown.NewLoop(3, 5*time.Minute)
	require.NoError(t, err)
	for range 3 {
		loop.Fail(k, epoch)
	}
	end := epoch.Add(5 * time.Minute)
	require.True(t, loop.Looping(k, end), "the window includes its beginning")
	require.False(t, loop.Looping(k, end.Add(1)))
	require.True(t, loop.Looping(k, epoch.Add(-time.Hour)), "also after the clock was put back")
	for range 1000 {
		loop.Fail(k, end)
	}
	require.Equal(t, 256, loop.Failures(k, end))

	patient, err := cooldown.NewLoop(1000, time.Hour)
	require.NoError(t, err)
	for i := range 1000 {
		require.False(t, patient.Looping(k, epoch))
		patient.Fail(k, at(int64(i)))
	}
	require.True(t, patient.Looping(k, at(1000)))
}

func TestKeysDoNotMix(t *testing.T) {
	t.Parallel()
	loop, err := cooldown.NewLoop(1, time.Second)
	require.NoError(t, err)
	g := cooldown.NewGuard()
	loop.Fail(cooldown.Key{Goal: "a:b", Action: "c"}, epoch)
	g.Rest(cooldown.Key{Goal: "a:b", Action: "c"}, epoch, time.Second, "it is tired")
	other := cooldown.Key{Goal: "a", Action: "b:c"}
	require.False(t, loop.Looping(other, epoch))
	require.Zero(t, remaining(g, other, epoch))
}

func TestRestEdges(t *testing.T) {
	t.Parallel()
	g := cooldown.NewGuard()
	require.Zero(t, remaining(g, k, epoch))
	g.Rest(k, epoch, -time.Second, "it is tired")
	require.Zero(t, remaining(g, k, epoch.Add(-time.Hour)))
	g.Rest(k, epoch, 90*time.Second, "it is tired")
	require.Equal(t, time.Duration(1), remaining(g, k, epoch.Add(90*time.Second-1)))
	require.Zero(t, remaining(g, k, epoch.Add(90*time.Second)), "it ends exactly then")
	g.Rest(k, epoch.Add(time.Second), time.Second, "it is tired")
	require.Equal(t, 88*time.Second, remaining(g, k, epoch.Add(2*time.Second)), "a shorter rest changes nothing")
	g.Rest(k, epoch, math.MaxInt64, "it is tired")
	require.Equal(t, time.Duration(math.MaxInt64), remaining(g, k, epoch))
}

// TestForgetting: keys that no longer matter do not pile up, and those that do
// are kept.
func TestForgetting(t *testing.T) {
	t.Parallel()
	loop, err := cooldown.NewLoop(1, time.Second)
	require.NoError(t, err)
	g := cooldown.NewGuard()
	key := func(i int) cooldown.Key { return cooldown.Key{Action: fmt.Sprint(i)} }
	const n = 10_000
	for i := range n {
		loop.Fail(key(i), at(int64(i)))
		g.Rest(key(i), at(int64(i)), time.Second, "it is tired")
		for j := max(0, i-3); j <= i; j++ {
			require.True(t, loop.Looping(key(j), at(int64(i))))
			require.Positive(t, remaining(g, key(j), at(int64(i))))
		}
	}
	require.Zero(t, loop.Failures(key(0), epoch), "the failure of long ago is forgotten")
	require.Zero(t, remaining(g, key(0), epoch))
	kept := 0
	for i := range n {
		if remaining(g, key(i), epoch) > 0 {
			kept++
		}
	}
	require.Less(t, kept, 4000)
}
