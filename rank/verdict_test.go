package rank_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/meta/fleet"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// A verdict is no attempt: whatever divides by attempts says the same as if the outcome had
// been known at once. The last verdict holds.
func TestVerdictIsNoAttempt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		unknown, success bool
		verdicts         string
		known, successes int
	}{
		"confirmed":             {success: true, verdicts: "r", known: 10, successes: 10},
		"confirmed twice":       {success: true, verdicts: "rr", known: 10, successes: 10},
		"found wrong":           {success: true, verdicts: "w", known: 10},
		"found right after all": {success: true, verdicts: "wr", known: 10, successes: 10},
		"refused wrongly":       {verdicts: "r", known: 10, successes: 10},
		"found right at last":   {unknown: true, verdicts: "r", known: 10, successes: 10},
		"found wrong at last":   {unknown: true, verdicts: "w", known: 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := rank.Situation{Skill: "work", Key: "k", Failed: []string{"two"}}
			book, told := open(t, store.NewMem(), nil), open(t, store.NewMem(), nil)
			for i := range 10 {
				s := rank.Sample{
					Key: fmt.Sprint(i), Candidate: "one", Situation: at, Success: c.success, Unknown: c.unknown, Confidence: p(0.9),
					Wall: time.Minute, CostUSD: float64(i + 1), TokensIn: 10, TokensOut: 20, At: noon.Add(-time.Minute), Reason: "perhaps",
				}
				require.NoError(t, book.Observe(t.Context(), s))
				for n, v := range c.verdicts {
					verdict := rank.Sample{
						Key: fmt.Sprint("v", i, n), Candidate: "one", Situation: at, Judges: s.Key, Success: v == 'r', Reason: string(v),
					}
					for range 2 {
						require.NoError(t, book.Observe(t.Context(), verdict))
					}
				}
				s.Unknown, s.Success, s.Reason = false, c.successes > 0, c.verdicts[len(c.verdicts)-1:]
				require.NoError(t, told.Observe(t.Context(), s))
			}
			got, want := figures(t, book), figures(t, told)
			require.Equal(t, want, got)
			days, err := book.Daily(t.Context(), time.Time{})
			require.NoError(t, err)
			require.Len(t, days, 1)
			require.Equal(t, []int{10, c.known, c.successes}, []int{days[0].Samples, days[0].Known, days[0].Successes})
			require.InDelta(t, 55, days[0].USD, 1e-9)
		})
	}
}

// figures is what a Book says of its attempts.
func figures(t *testing.T, b *rank.Book) (out []any) {
	t.Helper()
	say := func(v any, err error) {
		require.NoError(t, err)
		out = append(out, v)
	}
	say(b.Stats(t.Context(), "one", "work"))
	say(b.Health(t.Context(), "one"))
	say(b.Daily(t.Context(), time.Time{}))
	say(fleet.Measure(t.Context(), b, noon, nil))
	ss := []rank.Scored{{Candidate: rank.Candidate{Name: "one"}}}
	say(nil, b.Price(t.Context(), "work", ss))
	say(ss[0].Price, nil)
	for _, policy := range []rank.Policy{b.Observed(), b.Weighted()} {
		say(policy.Score(t.Context(), rank.Situation{Skill: "work"}, []rank.Candidate{{Name: "one"}}))
	}
	say(samplesOf(t, b, "one"), nil)
	return out
}

// What Learned and ladders learn of a verdict is that the attempt came to it: at its time and
// cost, which are not those of another attempt. The verdict about an unknown outcome is that
// attempt.
func TestVerdictTeachesTheAttemptsWorth(t *testing.T) {
	t.Parallel()
	const secret = "password=hunter2secret" // what is learned by key is found by it
	attempt := func(n int) rank.Sample {
		return rank.Sample{
			Key: fmt.Sprint(n), Candidate: "one", Situation: rank.Situation{Skill: "work", Key: secret, Features: []float64{1}},
			Success: true, Wall: time.Hour, CostUSD: 3, At: noon,
		}
	}
	verdict := func(n int) rank.Sample {
		return rank.Sample{
			Key: fmt.Sprint("v", n), Candidate: "one", Situation: rank.Situation{Skill: "work", Key: secret}, Judges: fmt.Sprint(n), Success: true,
		}
	}
	says := func(b *rank.Book, worth rank.Worth) rank.Scored {
		ss, err := b.Learned(&rank.LearnedOptions{Greedy: true}).Score(t.Context(),
			rank.Situation{Skill: "work", Key: secret, Features: []float64{1}, Worth: worth}, []rank.Candidate{{Name: "one"}})
		require.NoError(t, err)
		ss[0].Samples = 0
		return ss[0]
	}
	judged, twice := open(t, store.NewMem(), nil), open(t, store.NewMem(), nil)
	for i := range 10 {
		require.NoError(t, judged.Observe(t.Context(), attempt(i)))
		require.NoError(t, judged.Observe(t.Context(), verdict(i)))
		require.NoError(t, twice.Observe(t.Context(), attempt(i)))
		require.NoError(t, twice.Observe(t.Context(), attempt(100+i)))
	}
	require.Equal(t, says(twice, rank.Worth{}), says(judged, rank.Worth{}), "it is evidence")
	ladder := rank.Worth{Success: 10}
	got, want := says(judged, ladder), says(twice, ladder)
	require.Equal(t, want.Parts.Success, got.Parts.Success)
	require.InDelta(t, (10*3+.25*3)/11, got.Parts.Cost, 1e-9, "the mean cost of ten attempts")
	require.Equal(t, 10, got.Parts.Known)

	late, known := open(t, store.NewMem(), nil), open(t, store.NewMem(), nil)
	for i := range 10 {
		s := attempt(i)
		require.NoError(t, known.Observe(t.Context(), s))
		s.Unknown, s.Success = true, false
		require.NoError(t, late.Observe(t.Context(), s))
		require.NoError(t, late.Observe(t.Context(), verdict(i)))
	}
	for _, worth := range []rank.Worth{{}, ladder} {
		require.Equal(t, says(known, worth), says(late, worth))
	}
}

// A verdict about an attempt that is not kept any more tells Learned alone, which takes it for
// a usual one.
func TestVerdictAboutAnAttemptThatHasLeft(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	book := open(t, st, nil)
	observe := func(s rank.Sample) {
		s.Candidate, s.Situation.Skill, s.At = "one", "work", noon
		require.NoError(t, book.Observe(t.Context(), s))
	}
	for i := range rank.Window + 1 {
		observe(rank.Sample{Key: fmt.Sprint(i), Success: true, Wall: time.Hour, CostUSD: 1})
	}
	score := func() rank.Scored {
		ss, err := book.Learned(&rank.LearnedOptions{Greedy: true}).Score(t.Context(),
			rank.Situation{Skill: "work"}, []rank.Candidate{{Name: "one"}})
		require.NoError(t, err)
		return ss[0]
	}
	said, before := figures(t, book), score()
	observe(rank.Sample{Key: "right", Judges: "0", Success: true})
	require.InDelta(t, before.Score, score().Score, 0.001, "a success of the same worth")
	observe(rank.Sample{Key: "wrong", Judges: "none"})
	require.Less(t, score().Score, before.Score-0.002)
	require.Equal(t, said, figures(t, book))
	require.NoError(t, book.Close())
	require.Equal(t, said, figures(t, open(t, st, nil)))
}

func TestVerdictHasAnOutcome(t *testing.T) {
	t.Parallel()
	book := open(t, store.NewMem(), nil)
	for _, s := range []rank.Sample{{Judges: "a", Unknown: true}, {Judges: "a\xff"}, {Judges: strings.Repeat("a", 1<<10)}} {
		s.Key, s.Candidate = "v", "one"
		require.ErrorIs(t, book.Observe(t.Context(), s), rank.ErrSample)
	}
}
