package rank_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/storetest"
)

var (
	ctx   = context.Background()
	start = time.UnixMilli(1_000_000_000_000)
)

// bookAt returns a Book whose clock is the variable's.
func bookAt(t testing.TB, st store.Store, clock *time.Time) *rank.Book {
	return open(t, st, func() time.Time { return *clock }, 0)
}

func ptr(v float64) *float64 { return &v }

// The scores of protoWorkstacean's candidate-ranking.ts (eb1c8ed), computed by running it.
func TestObserved(t *testing.T) {
	for _, c := range []struct {
		name            string
		prior           float64
		samples, passed int
		wall            time.Duration
		confident       int // of the passed ones, with a confidence of conf
		conf, want      float64
	}{
		{"cold", .42, 0, 0, 0, 0, 0, .42},
		{"four samples", .6, 4, 4, time.Second, 0, 0, .6},
		{"five samples", .6, 5, 5, time.Second, 0, 0, 1.995},
		{"no success, slow", .9, 10, 0, 10 * time.Minute, 0, 0, -.6},
		{"two minutes", .5, 10, 8, 2 * time.Minute, 0, 0, 1},
		{"an hour", .5, 10, 8, time.Hour, 0, 0, 1},
		{"negative wall", .5, 10, 8, -5 * time.Second, 0, 0, 1.6},
		{"half a second", .5, 10, 8, 500 * time.Millisecond, 0, 0, 1.5975},
		{"90 seconds", .5, 10, 8, 90 * time.Second, 0, 0, 1.15},
		{"four confidences", .5, 10, 8, time.Second, 4, .95, 1.595},
		{"five confidences", .5, 10, 8, time.Second, 5, .95, 2.07},
		{"little confidence", .5, 10, 8, time.Second, 8, .4, 1.795},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := bookAt(t, store.NewMem(), &start)
			for i := range c.samples {
				s := rank.Sample{Candidate: "a", Task: rank.Task{Skill: "s"}, Outcome: rank.Failed, Wall: c.wall, At: start}
				if i < c.passed {
					s.Outcome = rank.Delivered
				}
				if i < c.confident {
					s.Confidence = ptr(c.conf)
				}
				require.NoError(t, b.Observe(ctx, s))
			}
			got, err := b.Observed().Score(ctx, rank.Task{Skill: "s"}, []rank.Candidate{{Name: "a", Prior: c.prior}})
			require.NoError(t, err)
			require.InDelta(t, c.want, got[0].Score, 1e-12)
		})
	}
}

func TestTies(t *testing.T) {
	b := bookAt(t, store.NewMem(), &start)
	got, err := b.Observed().Score(ctx, rank.Task{Skill: "s"}, []rank.Candidate{
		{Name: "weak", Prior: .2}, {Name: "far", Prior: .9, Blast: 3}, {Name: "near", Prior: .9, Blast: 1}, {Name: "later", Prior: .9, Blast: 1},
	})
	require.NoError(t, err)
	var names []string
	for _, s := range got {
		names = append(names, s.Name)
	}
	require.Equal(t, []string{"near", "later", "far", "weak"}, names)
}

// The weights of protoWorkstacean's executor-registry.ts: success ∕ (1 + cost per success), 1 without data.
func TestWeighted(t *testing.T) {
	b := bookAt(t, store.NewMem(), &start)
	add := func(name string, passed, failed int, usd float64) {
		for i := range passed + failed {
			s := rank.Sample{Candidate: name, Task: rank.Task{Skill: "s"}, Outcome: rank.Delivered, Usage: rank.Usage{CostUSD: ptr(usd / float64(passed+failed))}, At: start}
			if i >= passed {
				s.Outcome = rank.Failed
			}
			require.NoError(t, b.Observe(ctx, s))
		}
	}
	add("healthy", 10, 0, 0)
	add("broken", 0, 5, 0)
	add("dear", 10, 0, 990)
	add("mixed", 8, 2, 8)
	want := map[string]float64{"healthy": 1, "broken": 0, "dear": .01, "mixed": .4, "unknown": 1}
	first := map[string]int{}
	for i := range 2000 {
		got, err := b.Weighted().Score(ctx, rank.Task{Skill: "s", Key: fmt.Sprint(i)}, []rank.Candidate{
			{Name: "healthy"}, {Name: "broken"}, {Name: "dear"}, {Name: "mixed"}, {Name: "unknown"},
		})
		require.NoError(t, err)
		for _, s := range got {
			require.InDelta(t, want[s.Name], s.Score, 1e-9, s.Name)
		}
		first[got[0].Name]++
	}
	require.InDelta(t, 2000/2.44, float64(first["healthy"]), 100)
	require.InDelta(t, 2000*.4/2.44, float64(first["mixed"]), 70)
	require.InDelta(t, 2000*.02/2.44, float64(first["broken"]), 15, "what failed is tried again")
}

func TestStats(t *testing.T) {
	b := bookAt(t, store.NewMem(), &start)
	for i, c := range []struct {
		conf float64
		ok   bool
	}{{.9, true}, {.6, true}, {.3, false}, {.8, false}, {.79, false}, {1.5, true}} {
		s := rank.Sample{Candidate: "a", Task: rank.Task{Skill: "s"}, Outcome: rank.Failed, Confidence: ptr(c.conf), At: start,
			Wall: time.Duration(i) * time.Second, Usage: rank.Usage{Input: 1000 * i, Output: 10}}
		if c.ok {
			s.Outcome = rank.Delivered
		}
		require.NoError(t, b.Observe(ctx, s))
	}
	require.NoError(t, b.Observe(ctx, rank.Sample{Candidate: "a", Task: rank.Task{Skill: "s"}, Outcome: rank.Away, Usage: rank.Usage{CostUSD: ptr(.7)}, At: start}))
	got := b.Stats("a", "s")
	got.Confidence = math.Round(got.Confidence*1e9) / 1e9
	require.Equal(t, rank.Stats{
		Usage:    rank.Usage{Input: 15_000, Output: 60, CostUSD: ptr(.7)},
		Attempts: 7, Judged: 6, Delivered: 3, Priced: 1, Confidence: .731666667, HighConfidenceFailures: 1,
	}, got)
	require.Zero(t, b.Stats("nobody", "s"))
}

// The figures of protoWorkstacean's agent-fleet-health-plugin.ts.
func TestHealth(t *testing.T) {
	b := bookAt(t, store.NewMem(), &start)
	add := func(name, skill string, o rank.Outcome, wall int, age time.Duration, usd float64) {
		require.NoError(t, b.Observe(ctx, rank.Sample{
			Run: name + skill, Candidate: name, Task: rank.Task{Skill: skill}, Outcome: o, Class: "c", At: start.Add(-age),
			Wall: time.Duration(wall) * time.Millisecond, Usage: rank.Usage{CostUSD: ptr(usd)},
		}))
	}
	for i := range 10 {
		require.NoError(t, b.Observe(ctx, rank.Sample{Candidate: "bot", Task: rank.Task{Skill: "run"}, Outcome: rank.Delivered,
			Wall: time.Duration(i+1) * 100 * time.Millisecond, At: start}))
	}
	add("ava", "plan", rank.Failed, 1, time.Hour, .009)
	add("quinn", "plan", rank.Delivered, 1, 24*time.Hour, .01)
	add("quinn", "sweep", rank.Failed, 1, time.Hour+time.Millisecond, 0)
	add("old", "plan", rank.Failed, 1, 24*time.Hour+time.Millisecond, 5)
	day := 24 * time.Hour
	health := func(candidate, skill string, last time.Duration) rank.Stats {
		s, _ := b.Health(candidate, skill, last)
		return s
	}
	all := health("", "", day)
	require.Equal(t, ptr(.009+.01), all.CostUSD)
	require.Equal(t, []int{13, 11}, []int{all.Attempts, all.Delivered})
	sweep, plan := health("", "sweep", day), health("", "plan", day)
	require.Equal(t, []int{1, 0, 2, 1}, []int{sweep.Attempts, sweep.Delivered, plan.Attempts, plan.Delivered})
	hour := health("ava", "", time.Hour)
	require.Equal(t, []int{1, 0}, []int{hour.Attempts, hour.Delivered})
	require.Equal(t, rank.Stats{
		Attempts: 10, Judged: 10, Delivered: 10,
		P50: 600 * time.Millisecond, P95: time.Second,
	}, health("bot", "", day))
	_, failures := b.Health("ava", "", day)
	require.Equal(t, []rank.Sample{{Run: "avaplan", Candidate: "ava", Task: rank.Task{Skill: "plan"}, Class: "c", At: start.Add(-time.Hour).UTC()}}, failures)
	require.Zero(t, health("quinn", "", time.Hour).Attempts, "an hour and a millisecond ago")
	require.Zero(t, health("ghost", "", day))
}

func TestMoreThanTheRingInADay(t *testing.T) {
	clock := start
	b := bookAt(t, store.NewMem(), &clock)
	for range 400 {
		require.NoError(t, b.Observe(ctx, rank.Sample{Candidate: "a", Task: rank.Task{Skill: "s"}, Outcome: rank.Delivered, Usage: rank.Usage{CostUSD: ptr(.2)}, At: clock}))
		clock = clock.Add(2 * time.Minute)
	}
	last, _ := b.Health("a", "", 24*time.Hour)
	require.InDelta(t, 80, *last.CostUSD, 6, "the hour in which the ring begins counts in part")
	sum := 0.
	for day := range 2 {
		if d := b.Day("", "", start.AddDate(0, 0, day)); d.CostUSD != nil {
			sum += *d.CostUSD
		}
	}
	require.InDelta(t, 80, sum, 1e-6)
}

// A worker that was down is back soon, though one that is 20 times dearer stands beside it.
func TestAWorkerThatWasDownIsBack(t *testing.T) {
	for _, outage := range []rank.Outcome{rank.Away, rank.TimedOut, rank.Failed} {
		clock := start
		b := bookAt(t, store.NewMem(), &clock)
		cs := []rank.Candidate{{Name: "cheap", Prior: .5}, {Name: "dear", Prior: .5}}
		usd := map[string]float64{"cheap": .05, "dear": 1}
		try := func(name string, o rank.Outcome) {
			clock = clock.Add(time.Hour)
			require.NoError(t, b.Observe(ctx, rank.Sample{Candidate: name, Task: rank.Task{Skill: "s"}, Outcome: o, Usage: rank.Usage{CostUSD: ptr(usd[name])}, At: clock}))
		}
		for range 20 {
			try("cheap", rank.Delivered)
		}
		try("cheap", outage)
		try("cheap", outage)
		cheap, back := 0, -1
		for i := range 60 {
			s, err := b.Learned().Score(ctx, rank.Task{Skill: "s"}, cs)
			require.NoError(t, err)
			if s[0].Name == "cheap" {
				if cheap++; back < 0 {
					back = i
				}
			}
			try(s[0].Name, rank.Delivered)
		}
		require.LessOrEqual(t, back, 24, outage)
		require.GreaterOrEqual(t, back, 0, outage)
		require.Greater(t, cheap, 30, "most tries, after %s", outage)
	}
}

// Six programs of which each can do one of six kinds: the third time a kind comes up its program is tried first.
func TestEachCanDoOneKind(t *testing.T) {
	var third float64
	for seed := range uint64(20) {
		b := open(t, store.NewMem(), func() time.Time { return start }, seed+1)
		for n := range 18 {
			able := fmt.Sprint(n % 6)
			task := rank.Task{Key: "kind " + able}
			var cs []rank.Candidate
			for i := range 6 {
				cs = append(cs, rank.Candidate{Name: fmt.Sprint(i)})
			}
			order, err := b.Learned().Score(ctx, task, cs)
			require.NoError(t, err)
			for i, c := range order {
				s := rank.Sample{Candidate: c.Name, Task: task, Outcome: rank.Failed}
				if c.Name == able {
					s.Outcome = rank.Delivered
				}
				require.NoError(t, b.Observe(ctx, s))
				if c.Name == able {
					if n >= 12 {
						third += float64(i+1) / (6 * 20)
					}
					break
				}
			}
		}
	}
	require.Less(t, third, 1.3, "tries the third time; 3.5 by chance")
}

// numbered are so many candidates, whose names are their numbers.
func numbered(n int) (cs []rank.Candidate) {
	for i := range n {
		cs = append(cs, rank.Candidate{Name: fmt.Sprint(i)})
	}
	return cs
}

// The good ones of twenty candidates are found soon, where rewards hardly scatter and where they are in the tens.
func TestRewardsOfAnyUnit(t *testing.T) {
	for _, unit := range []struct{ zero, one, noise float64 }{{0, 1, .01}, {100, 30, .2}, {0, 300, .2}, {-20, 1, .1}} {
		worth := 0.0
		for seed := range uint64(20) {
			b := open(t, store.NewMem(), func() time.Time { return start }, seed+1)
			rng := rand.New(rand.NewPCG(seed, 1))
			cs := numbered(20)
			for n := range 200 {
				order, err := b.Learned().Score(ctx, rank.Task{Skill: "s"}, cs)
				require.NoError(t, err)
				var i int
				_, err = fmt.Sscan(order[0].Name, &i)
				require.NoError(t, err)
				one := .3 + .03*float64(i)
				worth += one * float64(n/150) / (50 * 20)
				reward := unit.zero + unit.one*(one+unit.noise*rng.NormFloat64())
				s := rank.Sample{Candidate: order[0].Name, Task: rank.Task{Skill: "s"}, Outcome: rank.Delivered, Reward: &reward, At: start}
				require.NoError(t, b.Observe(ctx, s))
			}
		}
		t.Logf("%+v: %.3f", unit, worth)
		require.Greater(t, worth, .7, "%+v: of .87 at most; .585 by chance", unit)
	}
}

// Rewards in cents or milliseconds count as those in dollars do; what is over the bound is refused.
func TestLargeRewards(t *testing.T) {
	for _, unit := range []float64{1, 1e6, 2e10} {
		b := open(t, store.NewMem(), func() time.Time { return start }, 1)
		for i := range 100 {
			for name, worth := range map[string]float64{"mail": 2, "call": 40 * float64(i%2)} {
				s := rank.Sample{Candidate: name, Outcome: rank.Delivered, Reward: new(unit * worth)}
				require.NoError(t, b.Observe(ctx, s))
			}
		}
		order, err := b.Learned().Score(ctx, rank.Task{}, []rank.Candidate{{Name: "mail"}, {Name: "call"}})
		require.NoError(t, err)
		require.Equal(t, "call", order[0].Name, unit)
		require.InEpsilon(t, 20*unit, order[0].Score, .1)
		for _, bad := range []float64{1.1e12, math.Inf(1), math.Inf(-1)} {
			err := b.Observe(ctx, rank.Sample{Candidate: "mail", Outcome: rank.Delivered, Reward: &bad})
			require.ErrorIs(t, err, store.ErrInvalid)
		}
	}
}

// An hour that began in a period counts whole, also where the last 200 samples begin within it.
func TestHealthOfWholeHours(t *testing.T) {
	now := start.Truncate(time.Hour)
	b := open(t, store.NewMem(), func() time.Time { return now }, 1)
	for range 300 {
		now = now.Add(10 * time.Second)
		require.NoError(t, b.Observe(ctx, rank.Sample{Candidate: "a", Outcome: rank.Away}))
	}
	h, _ := b.Health("a", "", time.Hour)
	require.Equal(t, 300, h.Attempts)
}

// One of forty candidates delivers nearly always, the others three times of four: it is found, also where each choice
// is of one of twenty kinds, which make no difference.
func TestTheGoodOneOfMany(t *testing.T) {
	for _, kinds := range []int{1, 20} {
		share := 0.0
		for seed := range uint64(20) {
			b := open(t, store.NewMem(), func() time.Time { return start }, seed+1)
			rng := rand.New(rand.NewPCG(seed, 1))
			cs := numbered(40)
			for n := range 300 {
				task := rank.Task{Skill: "s", Key: fmt.Sprint(rng.IntN(kinds))}
				order, err := b.Learned().Score(ctx, task, cs)
				require.NoError(t, err)
				s := rank.Sample{Candidate: order[0].Name, Task: task, Outcome: rank.Failed, At: start}
				chance := .75
				if s.Candidate == "7" {
					chance = .97
					share += float64(n/250) / (50 * 20)
				}
				if rng.Float64() < chance {
					s.Outcome = rank.Delivered
				}
				require.NoError(t, b.Observe(ctx, s))
			}
		}
		t.Logf("%d kinds: %.2f of the last 50", kinds, share)
		require.Greater(t, share, .6, "%d kinds: of the last 50 choices; .025 by chance", kinds)
	}
}

// A good candidate becomes a bad one after a thousand choices: it is left soon, also where they are of several kinds.
func TestAChangeIsNoticed(t *testing.T) {
	for _, kinds := range []int{1, 5} {
		lost, before := 0.0, 0.0
		for seed := range uint64(10) {
			b := open(t, store.NewMem(), func() time.Time { return start }, seed+1)
			rng := rand.New(rand.NewPCG(seed, 1))
			for n := range 1200 {
				task := rank.Task{Skill: "s", Key: fmt.Sprint(rng.IntN(kinds))}
				order, err := b.Learned().Score(ctx, task, []rank.Candidate{{Name: "first"}, {Name: "second"}})
				require.NoError(t, err)
				chance := map[string]float64{"first": .9, "second": .8}
				if n >= 1000 {
					chance["first"] = .1
					lost += (.8 - chance[order[0].Name]) / 10
				} else if order[0].Name == "first" {
					before += 1. / 1000 / 10
				}
				s := rank.Sample{Candidate: order[0].Name, Task: task, Outcome: rank.Failed, At: start}
				if rng.Float64() < chance[s.Candidate] {
					s.Outcome = rank.Delivered
				}
				require.NoError(t, b.Observe(ctx, s))
			}
		}
		t.Logf("%d kinds: %.1f lost; %.2f the better one before", kinds, lost, before)
		require.Less(t, lost, 20.0, "%d kinds: choices lost of 200, of which .7 by each that is wrong", kinds)
		require.Greater(t, before, .8, "%d kinds: what does not change is not forgotten", kinds)
	}
}

// TestAnyOrder holds Books against plain lists: two on one store, samples that come again, verdicts that correct,
// commits that fail, scopes, and reopening.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		st := store.NewMem()
		fails := &failing{Store: st}
		books := []*rank.Book{open(t, st, nil, 0), open(t, fails, nil, 0)}
		type sample struct {
			run string
			o   rank.Outcome
		}
		want := map[string][]sample{}
		rt.Repeat(map[string]func(*rapid.T){
			"observe": func(rt *rapid.T) {
				scope := rapid.SampledFrom([]store.Scope{"", "acme/anna", "acme/an"}).Draw(rt, "scope")
				name := rapid.SampledFrom([]string{"a", "b/c"}).Draw(rt, "candidate")
				s := sample{fmt.Sprint("run", rapid.IntRange(0, 40).Draw(rt, "run")), rapid.SampledFrom([]rank.Outcome{rank.Delivered, rank.Failed, rank.Away}).Draw(rt, "outcome")}
				i := rapid.IntRange(0, 1).Draw(rt, "book")
				fails.next = i == 1 && rapid.IntRange(0, 4).Draw(rt, "fails") == 0
				broken := fails.next
				err := books[i].In(scope).Observe(ctx, rank.Sample{Run: s.run, Candidate: name, Task: rank.Task{Skill: "s", Key: s.run}, Outcome: s.o, At: start})
				if broken {
					require.ErrorIs(rt, err, errBroken)
					return
				}
				require.NoError(rt, err)
				key := string(scope) + "|" + name
				for j, x := range want[key] {
					if x.run == s.run {
						want[key][j] = s
						return
					}
				}
				want[key] = append(want[key], s)
			},
			"erase": func(rt *rapid.T) {
				require.NoError(rt, store.NewGroup(st).Update(ctx, func(b *store.Batch) error {
					for e := range st.Scan(ctx, store.Range{Prefix: store.Scope("acme/anna").Key("rank", "s/a/")}) {
						require.NoError(rt, b.Delete(e.Key, store.Any))
					}
					return nil
				}))
				delete(want, "acme/anna|a")
			},
			"reopen": func(rt *rapid.T) { books[0] = open(t, st, nil, 0) },
			"": func(rt *rapid.T) {
				b := open(t, st, nil, 0)
				for _, scope := range []store.Scope{"", "acme/anna", "acme/an"} {
					for _, name := range []string{"a", "b/c"} {
						var delivered, judged int
						for _, x := range want[string(scope)+"|"+name] {
							if x.o != rank.Away {
								judged++
							}
							if x.o == rank.Delivered {
								delivered++
							}
						}
						got := b.In(scope).Stats(name, "s")
						require.Equal(rt, []int{len(want[string(scope)+"|"+name]), judged, delivered}, []int{got.Attempts, got.Judged, got.Delivered})
					}
				}
			},
		})
	})
}

var errBroken = errors.New("broken")

// failing is a store of which the next commit fails without effect.
type failing struct {
	store.Store
	next bool
}

func (f *failing) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if f.next {
		f.next = false
		return 0, errBroken
	}
	return f.Store.Commit(ctx, ops...)
}

func TestSameOrderAfterReopening(t *testing.T) {
	st := store.NewMem()
	b := bookAt(t, st, &start)
	var cs []rank.Candidate
	for i := range 12 {
		cs = append(cs, rank.Candidate{Name: fmt.Sprint("c", i), Prior: .5})
		for j := range i {
			o := rank.Delivered
			if (i*j)%3 == 0 {
				o = rank.Failed
			}
			require.NoError(t, b.Observe(ctx, rank.Sample{Candidate: cs[i].Name, Task: rank.Task{Skill: "s", Key: fmt.Sprint(j % 4)}, Outcome: o, At: start}))
		}
	}
	again := bookAt(t, st, &start)
	for key := range 50 {
		task := rank.Task{Skill: "s", Key: fmt.Sprint(key)}
		for i, p := range []rank.Policy{b.Learned(), b.Weighted(), b.Ladder(1)} {
			want, err := p.Score(ctx, task, cs)
			require.NoError(t, err)
			got, err := []rank.Policy{again.Learned(), again.Weighted(), again.Ladder(1)}[i].Score(ctx, task, cs)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
}

// What is given in another order is ranked in the same one.
func TestPermutedCandidates(t *testing.T) {
	b := bookAt(t, store.NewMem(), &start)
	var cs []rank.Candidate
	for i := range 8 {
		cs = append(cs, rank.Candidate{Name: fmt.Sprint("c", i), Prior: .1 + .1*float64(i), Price: .01 * float64(1+i)})
		for j := range 3 * i {
			o := []rank.Outcome{rank.Delivered, rank.Failed, rank.Away}[(i+j)%3]
			require.NoError(t, b.Observe(ctx, rank.Sample{Candidate: cs[i].Name, Task: rank.Task{Skill: "s", Key: fmt.Sprint(j % 4)}, Outcome: o, At: start}))
		}
	}
	pacer, err := b.Pacer("p", .03)
	require.NoError(t, err)
	rapid.Check(t, func(rt *rapid.T) {
		other := rapid.Permutation(cs).Draw(rt, "order")
		task := rank.Task{Skill: "s", Key: rapid.SampledFrom([]string{"", "1", "new"}).Draw(rt, "key"), Failed: []string{"c3"}}
		for i, p := range []rank.Policy{b.Observed(), b.Weighted(), b.Learned(), b.Ladder(1), pacer.Learned()} {
			want, err := p.Score(ctx, task, cs)
			require.NoError(rt, err)
			got, err := p.Score(ctx, task, other)
			require.NoError(rt, err)
			require.Len(rt, got, len(want))
			for j := range want {
				require.Equal(rt, want[j].Candidate, got[j].Candidate, "policy %d", i)
				require.InDelta(rt, want[j].Score, got[j].Score, 1e-9)
			}
		}
	})
}

// A sample writes few pieces of a record, however large that is. What the store has of it, also once its evidence is
// forgotten, is what the Book has.
func TestPieces(t *testing.T) {
	clock, st := start, &metered{Store: store.NewMem()}
	b := bookAt(t, st, &clock)
	most := 0
	for i := range 2600 {
		clock = clock.Add(20 * time.Minute)
		s := rank.Sample{Run: fmt.Sprint(i), Candidate: "a", Task: rank.Task{Skill: "s", Key: fmt.Sprint(i * i % 83)}, At: clock,
			Outcome: rank.Delivered, Wall: time.Duration(i) * time.Millisecond, Usage: rank.Usage{CostUSD: ptr(.001)}}
		if i%7 == 0 || i > 2500 { // at last it is another candidate
			s.Outcome, s.Class = rank.Failed, fmt.Sprint("class ", i%3)
		}
		st.bytes = 0
		require.NoError(t, b.Observe(ctx, s))
		if i > 2000 && i < 2400 && i%3 > 0 { // no hour begins
			most = max(most, st.bytes)
		}
		if i%50 == 0 || i > 2500 {
			again := bookAt(t, st, &clock)
			task, cs := s.Task, []rank.Candidate{{Name: "a"}}
			require.Equal(t, b.Explain(task, cs), again.Explain(task, cs), i)
			require.Equal(t, b.Stats("a", "s"), again.Stats("a", "s"))
			was, failures := b.Health("", "", 24*time.Hour)
			is, same := again.Health("", "", 24*time.Hour)
			require.Equal(t, []any{was, failures}, []any{is, same})
		}
	}
	t.Logf("%d bytes at most", most)
	require.Less(t, most, 4<<10)
}

// All records are read at once: over a network a read for each is a second for a thousand.
func TestOpenReadsOnce(t *testing.T) {
	st := &metered{Store: store.NewMem()}
	b := bookAt(t, st, &start)
	for i := range 90 {
		s := rank.Sample{Candidate: fmt.Sprint(i % 3), Task: rank.Task{Skill: "s"}, Outcome: rank.Delivered, At: start}
		require.NoError(t, b.In(store.Scope(fmt.Sprint(i%2))).Observe(ctx, s))
	}
	st.scans = 0
	again := bookAt(t, st, &start)
	require.Equal(t, 1, st.scans)
	require.Equal(t, []int{15, 15}, []int{again.In("0").Stats("2", "s").Attempts, again.In("1").Stats("0", "s").Attempts})
	st.fails = errors.New("away")
	_, err := rank.Open(ctx, store.NewGroup(st), nil, 0, nil)
	require.ErrorIs(t, err, st.fails)
}

// metered counts the bytes that commits write, and scans, which it fails by an error.
type metered struct {
	store.Store
	bytes, scans int
	fails        error
}

func (m *metered) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	m.scans++
	return func(yield func(store.Entry, error) bool) {
		for e, err := range m.Store.Scan(ctx, r) {
			if !yield(e, cmp.Or(err, m.fails)) {
				return
			}
		}
	}
}

func (m *metered) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	for _, op := range ops {
		m.bytes += len(op.Key) + len(op.Value)
	}
	return m.Store.Commit(ctx, ops...)
}

// Of steps that share a commit those count that do not fail, whichever did before them.
func TestStepsOfACommitThatFail(t *testing.T) {
	st := store.NewMem()
	g := store.NewGroup(st)
	b, err := rank.Open(ctx, g, nil, 0, nil)
	require.NoError(t, err)
	var steps sync.WaitGroup
	for i := range 400 {
		steps.Go(func() {
			err := g.Update(ctx, func(batch *store.Batch) error {
				err := b.Stage(ctx, batch, rank.Sample{Candidate: "a", Task: rank.Task{Skill: "s"}, Outcome: rank.Failed, At: start})
				if err == nil && i%3 == 0 {
					err = errBroken
				}
				return err
			})
			assert.Equal(t, i%3 == 0, errors.Is(err, errBroken), err)
		})
	}
	steps.Wait()
	for _, b := range []*rank.Book{b, open(t, st, nil, 0)} {
		require.Equal(t, []int{200, 266}, []int{b.Stats("a", "s").Attempts, b.Day("a", "s", start).Attempts})
	}
}

// Samples of a candidate that wait together are in one commit, each made from the one before, and one that fails
// between them leaves nothing.
func TestSamplesOfACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &counted{Store: store.NewMem()}
		g := store.NewGroup(st)
		b, err := rank.Open(ctx, g, func() time.Time { return start }, 0, nil)
		require.NoError(t, err)
		sample := rank.Sample{Candidate: "a", Task: rank.Task{Skill: "s", Key: "k"}, Outcome: rank.Delivered, At: start}
		for range 150 {
			require.NoError(t, b.Observe(ctx, sample))
		}
		st.commits = 0
		wait, done := make(chan struct{}), make(chan error, 41)
		go func() { done <- g.Update(ctx, func(*store.Batch) error { <-wait; return nil }) }()
		synctest.Wait()
		for i := range 40 {
			s := sample
			s.Run, s.Outcome = fmt.Sprint(i), rank.Failed
			go func() {
				done <- g.Update(ctx, func(batch *store.Batch) error {
					err := b.Stage(ctx, batch, s)
					if i%4 == 0 {
						err = errBroken
					}
					return err
				})
			}()
		}
		synctest.Wait()
		close(wait)
		failed := 0
		for range 41 {
			if err := <-done; err != nil {
				require.ErrorIs(t, err, errBroken)
				failed++
			}
		}
		require.Equal(t, []int{10, 1}, []int{failed, st.commits})
		for _, b := range []*rank.Book{b, open(t, st, nil, 0)} {
			require.Equal(t, []int{180, 150}, []int{b.Stats("a", "s").Attempts, b.Stats("a", "s").Delivered})
			require.Equal(t, 180, b.Day("a", "s", start).Attempts)
		}
	})
}

type counted struct {
	store.Store
	commits int
}

func (c *counted) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	c.commits++
	return c.Store.Commit(ctx, ops...)
}

// A record that was damaged begins anew, once: what is learned since is there when the store is opened again.
func TestDamagedRecordBeginsAnewOnce(t *testing.T) {
	st := store.NewMem()
	sample := rank.Sample{Candidate: "a", Task: rank.Task{Skill: "s"}, Outcome: rank.Delivered, At: start}
	b := open(t, st, nil, 0)
	for i := range 100 {
		sample.Run = fmt.Sprint(i)
		require.NoError(t, b.Observe(ctx, sample))
	}
	_, err := st.Commit(ctx, store.Op{Key: store.Scope("").Key("rank", "s/a/12"), Value: []byte("x")})
	require.NoError(t, err)
	b = open(t, st, nil, 0)
	require.Zero(t, b.Stats("a", "s").Attempts)
	sample.Run = "after"
	require.NoError(t, b.Observe(ctx, sample))
	require.Equal(t, 1, b.Stats("a", "s").Attempts)
	require.Equal(t, 1, open(t, st, nil, 0).Stats("a", "s").Attempts)
}

// A sample in the commit of an erasure, in whichever order, is taken in after it.
func TestErasedInTheSameCommit(t *testing.T) {
	for _, first := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			g := store.NewGroup(store.NewMem())
			b, err := rank.Open(ctx, g, nil, 0, nil)
			require.NoError(t, err)
			sample := rank.Sample{Candidate: "a", Task: rank.Task{Skill: "s"}, Outcome: rank.Delivered, At: start}
			require.NoError(t, b.Observe(ctx, sample))
			steps := []func(*store.Batch) error{
				func(batch *store.Batch) error { return batch.Delete(store.Scope("").Key("rank", "s/a/10"), store.Any) },
				func(batch *store.Batch) error { return b.Stage(ctx, batch, sample) },
			}
			wait, done := make(chan struct{}), make(chan error, 3)
			go func() { done <- g.Update(ctx, func(*store.Batch) error { <-wait; return nil }) }()
			synctest.Wait()
			for i := range steps {
				go func() { done <- g.Update(ctx, steps[i^first]) }()
				synctest.Wait()
			}
			close(wait)
			for range 3 {
				require.NoError(t, <-done)
			}
		})
	}
}

// Two processes on one store count every sample once, also one that both observe.
func TestTwoProcesses(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	stop, err := storetest.Serve(store.NewMem(), socket)
	require.NoError(t, err)
	defer func() { require.NoError(t, stop()) }()
	var books []*rank.Book
	for range 3 {
		st, err := storetest.Dial(socket)
		require.NoError(t, err)
		defer func() { require.NoError(t, st.Close()) }()
		books = append(books, open(t, st, nil, 0))
	}
	var each sync.WaitGroup
	for i, b := range books[:2] {
		each.Go(func() {
			for j := range 60 {
				run := fmt.Sprint(i, "/", j)
				if j >= 50 {
					run = fmt.Sprint("both/", j)
				}
				err := store.ErrConflict // which a Group returns when another process is faster each time
				for errors.Is(err, store.ErrConflict) {
					err = b.Observe(ctx, rank.Sample{Run: run, Candidate: "a", Task: rank.Task{Skill: "s"}, Outcome: rank.Delivered, At: start})
				}
				assert.NoError(t, err)
			}
		})
	}
	each.Wait()
	st, err := storetest.Dial(socket)
	require.NoError(t, err)
	last := open(t, st, nil, 0)
	require.Equal(t, 110, last.Stats("a", "s").Delivered)
	day := last.Day("a", "s", start)
	require.Equal(t, []int{110, 110}, []int{day.Attempts, day.Delivered})
	// The third has seen none of them; its first sample meets a conflict, and is counted beside theirs.
	require.NoError(t, books[2].Observe(ctx, rank.Sample{Candidate: "a", Task: rank.Task{Skill: "s"}, Outcome: rank.Failed, At: start}))
	require.Equal(t, 111, books[2].Stats("a", "s").Attempts)
	require.NoError(t, st.Close())
}

func TestRefused(t *testing.T) {
	b := bookAt(t, store.NewMem(), &start)
	for _, s := range []rank.Sample{
		{Task: rank.Task{Skill: "s"}, Outcome: rank.Failed}, {Candidate: "a", Outcome: "?"}, {Candidate: "a"},
	} {
		require.ErrorIs(t, b.Observe(ctx, s), store.ErrInvalid)
	}
	// Its key would be one of another scope.
	good := rank.Sample{Candidate: "a", Task: rank.Task{Skill: "s"}, Outcome: rank.Failed}
	require.ErrorIs(t, b.In("acme//rank").Observe(ctx, good), store.ErrInvalid)
	for _, p := range []rank.Policy{b.Observed(), b.Weighted(), b.Learned(), b.Ladder(1)} {
		_, err := p.Score(ctx, rank.Task{}, []rank.Candidate{{Name: "a", Prior: math.NaN()}})
		require.ErrorIs(t, err, store.ErrInvalid)
	}
}

func TestTheTenantWithoutAName(t *testing.T) {
	st := store.NewMem()
	s := rank.Sample{Candidate: "a", Task: rank.Task{Skill: "s"}, Outcome: rank.Delivered}
	require.NoError(t, open(t, st, nil, 0).In("_").Observe(ctx, s))
	b := open(t, st, nil, 0)
	require.NoError(t, b.Observe(ctx, s), "the same scope, opened again")
	require.Equal(t, 2, b.In("_").Stats("a", "s").Attempts)
}

// What another part of the tenant erases is not counted any more, by the Book that is open, too.
func TestErasedByAnother(t *testing.T) {
	st := store.NewMem()
	g := store.NewGroup(st)
	b, err := rank.Open(ctx, g, nil, 0, nil)
	require.NoError(t, err)
	p, err := b.Pacer("p", .01)
	require.NoError(t, err)
	cs := []rank.Candidate{{Name: "a", Price: .001}, {Name: "b", Price: .1}}
	usd := 10.
	require.NoError(t, p.Observe(ctx, rank.Sample{Candidate: "b", Outcome: rank.Delivered, Usage: rank.Usage{CostUSD: &usd}}))
	bearable := func() int {
		found, err := p.Learned().Score(ctx, rank.Task{}, cs)
		require.NoError(t, err)
		return len(found)
	}
	require.Equal(t, []int{1, 1}, []int{b.Stats("b", "").Attempts, bearable()})
	require.NoError(t, g.Update(ctx, func(batch *store.Batch) (err error) {
		for e := range st.Scan(ctx, store.Range{}) {
			err = errors.Join(err, batch.Delete(e.Key, store.Any))
		}
		return err
	}))
	require.Equal(t, []int{0, 2}, []int{b.Stats("b", "").Attempts, bearable()})
}

func TestUsageSince(t *testing.T) {
	was := &rank.Usage{Calls: 2, Input: 10, CostUSD: new(.5)}
	now := &rank.Usage{Calls: 3, Input: 8, Output: 4, CostUSD: new(.75), EstimateUSD: new(.1)}
	require.Equal(t, &rank.Usage{Calls: 1, Output: 4, CostUSD: new(.25), EstimateUSD: new(.1)}, now.Since(was), "never less than nothing")
	require.Equal(t, now, now.Since(nil))
	require.Nil(t, (*rank.Usage)(nil).Since(was))
}

// forgotten is a store that does not know any more what was deleted.
type forgotten struct {
	store.Changer
	away error
}

func (f *forgotten) Changes(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range f.Changer.Changes(ctx, prefix, store.Latest) {
			e.Deleted = after != store.Latest
			yield(e, err)
		}
	}
}

func (f *forgotten) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	if f.away != nil {
		return func(yield func(store.Entry, error) bool) { yield(store.Entry{}, f.away) }
	}
	return f.Changer.Scan(ctx, r)
}

// A Book that was idle until the store forgot what was deleted since knows nothing of that.
func TestIdleForLong(t *testing.T) {
	st := store.NewMem()
	behind := &forgotten{Changer: st}
	g := store.NewGroup(behind)
	require.NoError(t, g.Refresh(ctx))
	b, err := rank.Open(ctx, g, nil, 0, nil)
	require.NoError(t, err)
	for _, skill := range []string{"s", "t"} {
		sample := rank.Sample{Candidate: "a", Task: rank.Task{Skill: skill}, Outcome: rank.Delivered}
		require.NoError(t, b.In("acme").Observe(ctx, sample))
	}
	for e, err := range st.Scan(ctx, store.Range{Prefix: "s/acme//rank/s/"}) {
		require.NoError(t, err)
		_, err = st.Commit(ctx, store.Op{Key: e.Key, Delete: true})
		require.NoError(t, err)
	}
	behind.away = errors.New("away")
	require.ErrorIs(t, g.Refresh(ctx), behind.away)
	require.Equal(t, 1, b.In("acme").Stats("a", "s").Attempts, "what is known stays")
	behind.away = nil
	require.NoError(t, g.Refresh(ctx))
	require.Zero(t, b.In("acme").Stats("a", "s").Attempts)
	require.Equal(t, 1, b.In("acme").Stats("a", "t").Attempts)
}
