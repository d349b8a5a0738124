package rank_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// Whatever the store answers and whatever the clock says, a Book says what its samples come
// to when they are added up one by one, and what a Book says that is opened on the store then.
func TestBookSaysWhatItsSamplesComeTo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := &books{st: arctest.NewStore(store.NewMem()), now: noon, all: make(map[pairOf]*counted)}
		x.opts = rank.Options{
			Now: func() time.Time { return x.now }, Seed: 7, Tenant: "acme",
			Calibrated: rapid.Bool().Draw(t, "calibrated"), Sync: rapid.Bool().Draw(t, "sync"),
		}
		x.open(t)
		defer func() { _ = x.b.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"observe": x.observe, "observe more": x.observe, "again": x.again, "judge": x.judge, "forget": x.forget, "release": x.release,
			"wait": x.wait, "reopen": x.reopen, "": x.check,
		})
	})
}

type pairOf struct{ candidate, skill string }

// counted are the samples of a pair: those of the window, and those that have left it.
type counted struct{ window, left []rank.Sample }

type books struct {
	st   *arctest.Store
	now  time.Time
	opts rank.Options
	b    *rank.Book
	all  map[pairOf]*counted
	n    int

	released []string
}

func (x *books) open(t *rapid.T) {
	var err error
	x.b, err = rank.Open(context.Background(), x.st, &x.opts)
	require.NoError(t, err)
}

// try makes a call while the store perhaps fails, and then again while it does not.
func (x *books) try(t *rapid.T, call func(context.Context) error) {
	if rapid.Bool().Draw(t, "fails") {
		n, many := rapid.IntRange(0, 2).Draw(t, "commits"), rapid.IntRange(1, 3).Draw(t, "many")
		x.st.FailNext(n, many, rapid.Bool().Draw(t, "applied"))
	}
	err := call(context.Background())
	x.st.FailNext(0, 0, false)
	for range 3 { // what is written behind may fail once more
		if err != nil {
			require.ErrorIs(t, err, arctest.ErrStore)
			err = call(context.Background())
		}
	}
	require.NoError(t, err)
}

var ages = []time.Duration{
	0, 0, time.Minute, time.Hour, time.Hour + 1, 5 * time.Hour, rank.Day - 1, rank.Day, rank.Day + 1, rank.Day + time.Hour,
	40 * rank.Day, -time.Minute, -time.Hour,
}

func (x *books) sample(t *rapid.T) rank.Sample {
	s := rank.Sample{
		Candidate: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "candidate"),
		Situation: rank.Situation{
			Skill: rapid.SampledFrom([]string{"", "work"}).Draw(t, "skill"), Key: rapid.SampledFrom([]string{"", "k"}).Draw(t, "key"),
		},
		Success: rapid.Bool().Draw(t, "success"), Unknown: rapid.IntRange(0, 5).Draw(t, "unknown") == 0,
		Wall:       time.Duration(rapid.IntRange(0, 300).Draw(t, "wall")) * time.Second,
		CostUSD:    float64(rapid.IntRange(0, 3).Draw(t, "cost")) / 4,
		APICostUSD: float64(rapid.IntRange(0, 3).Draw(t, "api")) / 8,
		TokensIn:   rapid.IntRange(0, 3).Draw(t, "in") * 1000,
		At:         x.now.Add(-rapid.SampledFrom(ages).Draw(t, "age")).UTC(),
	}
	if rapid.Bool().Draw(t, "reports") {
		s.Confidence = p(float64(rapid.IntRange(0, 8).Draw(t, "confidence")) / 8)
	}
	return s
}

func (x *books) observe(t *rapid.T) {
	few := rapid.SliceOfN(rapid.Custom(x.sample), 1, 5).Draw(t, "samples")
	for i := range rapid.SampledFrom([]int{1, 3, 50, 230}).Draw(t, "n") {
		s := few[i%len(few)]
		s.Key = fmt.Sprint("s", x.n)
		x.n++
		observe := func(ctx context.Context) error { return x.b.Observe(ctx, s) }
		if i == 0 {
			x.try(t, observe)
		} else {
			require.NoError(t, observe(context.Background()))
		}
		c := x.all[pairOf{s.Candidate, s.Situation.Skill}]
		if c == nil {
			c = new(counted)
			x.all[pairOf{s.Candidate, s.Situation.Skill}] = c
		}
		if len(c.window) == rank.Window {
			c.left, c.window = append(c.left, c.window[0]), c.window[1:]
		}
		c.window = append(c.window, s)
	}
}

// again observes a sample that is known.
func (x *books) again(t *rapid.T) {
	for _, candidate := range []string{"a", "b"} {
		c := x.all[pairOf{candidate, "work"}]
		if c == nil || len(c.window) == 0 {
			continue
		}
		s := c.window[rapid.IntRange(0, len(c.window)-1).Draw(t, "which")]
		s.Candidate, s.Success = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "candidate"), true
		if !slices.Contains(x.released, s.Key) {
			x.try(t, func(ctx context.Context) error { return x.b.Observe(ctx, s) })
		}
	}
}

// judge observes verdicts about samples that are kept, have left, are forgotten, or are another's.
func (x *books) judge(t *rapid.T) {
	for range rapid.IntRange(1, 5).Draw(t, "n") {
		v := x.sample(t)
		v.Key, v.Unknown = fmt.Sprint("v", x.n), false
		v.Judges = fmt.Sprint("s", rapid.IntRange(0, x.n).Draw(t, "which"))
		c := x.all[pairOf{v.Candidate, v.Situation.Skill}]
		if c != nil && len(c.window) > 0 && rapid.Bool().Draw(t, "kept") {
			v.Judges = c.window[rapid.IntRange(0, len(c.window)-1).Draw(t, "which kept")].Key
		}
		x.n++
		for range rapid.IntRange(1, 2).Draw(t, "times") {
			x.try(t, func(ctx context.Context) error { return x.b.Observe(ctx, v) })
		}
		if c == nil {
			continue
		}
		if i := slices.IndexFunc(c.window, func(s rank.Sample) bool { return s.Key == v.Judges }); i >= 0 {
			c.window[i].Success, c.window[i].Unknown = v.Success, false
		}
	}
}

func (x *books) forget(t *rapid.T) {
	var drop func(s rank.Sample) bool
	switch n := rapid.IntRange(0, 9).Draw(t, "n"); rapid.IntRange(0, 2).Draw(t, "what") {
	case 0:
		old := x.now.Add(-rapid.SampledFrom(ages).Draw(t, "age"))
		drop = func(s rank.Sample) bool { return s.At.Before(old) }
	case 1:
		drop = func(s rank.Sample) bool { return s.Key != "" && int(s.Key[len(s.Key)-1]-'0') == n }
	case 2:
		drop = func(s rank.Sample) bool {
			return s.Key != "" && s.Candidate == "a" && int(s.Key[len(s.Key)-1]-'0') >= n
		}
	}
	x.try(t, func(ctx context.Context) error { return x.b.Forget(ctx, drop) })
	for p, c := range x.all {
		c.window = slices.DeleteFunc(slices.Clone(c.window), drop)
		c.left = slices.DeleteFunc(c.left, func(s rank.Sample) bool {
			return drop(rank.Sample{Candidate: p.candidate, Situation: rank.Situation{Skill: p.skill}, At: s.At.Truncate(time.Hour)})
		})
	}
}

func (x *books) release(t *rapid.T) {
	keys := []string{fmt.Sprint("s", x.n-1), "none"}
	x.released = append(x.released, keys...)
	x.try(t, func(ctx context.Context) error { return x.b.Release(ctx, keys...) })
}

func (x *books) wait(t *rapid.T) {
	x.now = x.now.Add(rapid.SampledFrom([]time.Duration{
		time.Second, time.Hour, rank.Day, 30 * rank.Day, -time.Hour, -2 * rank.Day,
	}).Draw(t, "for"))
}

func (x *books) reopen(t *rapid.T) {
	if err := x.b.Close(); err != nil {
		require.ErrorIs(t, err, arctest.ErrStore)
	}
	x.open(t)
}

func (x *books) check(t *rapid.T) {
	ctx := context.Background()
	said := x.says(t, x.b) // before it is written
	if err := x.b.Flush(ctx); err != nil {
		require.ErrorIs(t, err, arctest.ErrStore)
		require.NoError(t, x.b.Flush(ctx))
	}
	again, err := rank.Open(ctx, x.st, &x.opts)
	require.NoError(t, err)
	defer func() { require.NoError(t, again.Close()) }()
	require.Equal(t, x.says(t, again), said)
	x.compare(t, again)
}

// says is all that a Book says.
func (x *books) says(t *rapid.T, b *rank.Book) (out []string) {
	ctx := context.Background()
	say := func(v any, err error) {
		require.NoError(t, err)
		out = append(out, fmt.Sprintf("%+v", v))
	}
	cs := []rank.Candidate{{Name: "a", Prior: 0.5}, {Name: "b", Prior: 0.4}, {Prior: 0.3}}
	for _, c := range cs[:2] {
		say(b.Health(ctx, c.Name))
		for _, skill := range []string{"", "work"} {
			say(b.Stats(ctx, c.Name, skill))
		}
	}
	for _, skill := range []string{"", "work"} {
		for _, policy := range []rank.Policy{b.Observed(), b.Weighted(), b.Learned(nil)} {
			say(policy.Score(ctx, rank.Situation{Skill: skill, Key: "k"}, cs))
		}
	}
	say(b.Daily(ctx, x.now.Add(-3*rank.Day)))
	return out
}

// compare holds what a Book says against the samples.
func (x *books) compare(t *rapid.T, b *rank.Book) {
	ctx := context.Background()
	since := x.now.Add(-rank.Day)
	want, days := make(map[string]rank.Health), make(map[string][2]int)
	for p, c := range x.all {
		h := want[p.candidate]
		add := func(s *rank.Sample) {
			cost := s.CostUSD
			if cost == 0 {
				cost = s.APICostUSD
			}
			if cost == 0 {
				cost = float64(s.TokensIn) * 3e-6
			}
			h.CostUSD += cost
			if !s.Unknown {
				h.Known++
			}
			if !s.Unknown && s.Success {
				h.Successes++
			}
		}
		for i := range c.window {
			if at := c.window[i].At; !at.Before(since) && !at.After(x.now) {
				add(&c.window[i])
			}
		}
		for i := range c.left { // which count once there is a window again
			if at := c.left[i].At; len(c.window) > 0 && !at.Before(since.Truncate(time.Hour)) && !at.Truncate(time.Hour).After(x.now) {
				add(&c.left[i])
			}
		}
		want[p.candidate] = h
		for _, s := range slices.Concat(c.window, c.left) {
			k := fmt.Sprint(p, s.At.Truncate(rank.Day).Unix())
			n := days[k]
			n[0]++
			if s.Success && !s.Unknown {
				n[1]++
			}
			days[k] = n
		}
		got, err := b.Stats(ctx, p.candidate, p.skill)
		require.NoError(t, err)
		require.Equal(t, len(c.window), got.Samples)
		if len(c.window) > 0 {
			s := recompute(c.window)
			s.CostUSD = got.CostUSD
			requireClose(t, s, got)
		}
	}
	for name, h := range want {
		got, err := b.Health(ctx, name)
		require.NoError(t, err)
		require.Equal(t, []int{h.Known, h.Successes}, []int{got.Known, got.Successes}, name)
		require.InDelta(t, h.CostUSD, got.CostUSD, 1e-9)
	}
	tallies, err := b.Daily(ctx, time.Time{})
	require.NoError(t, err)
	for _, tally := range tallies {
		k := fmt.Sprint(pairOf{tally.Candidate, tally.Skill}, tally.From.Unix())
		require.Equal(t, days[k], [2]int{tally.Samples, tally.Successes}, k)
		delete(days, k)
	}
	require.Empty(t, days)
}
