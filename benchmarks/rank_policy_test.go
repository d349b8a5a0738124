package benchmarks

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/rank/replay"
	"github.com/arc-learn/arc/store"
)

const rankSeeds = 100

// ofBook is a Learner on a Book of its own.
type ofBook struct {
	replay.Learner
	book *rank.Book
}

func newOfBook(seed uint64, o rank.Options, policy func(b *rank.Book) rank.Policy) (replay.Learner, error) {
	o.Seed = seed
	book, err := rank.Open(context.Background(), store.NewMem(), &o)
	if err != nil {
		return nil, err
	}
	return ofBook{replay.With(policy(book), book), book}, nil
}

func closeBook(l replay.Learner) error {
	if b, ok := l.(ofBook); ok {
		return b.book.Close()
	}
	return nil
}

type contestant struct {
	name  string
	fresh func(seed uint64) (replay.Learner, error)
}

func baseline(l replay.Learner) (replay.Learner, error) { return l, nil }

// The six policies that Learned is held against, and those of the Book.
var (
	baselines = []contestant{
		{"greedy", func(s uint64) (replay.Learner, error) { return baseline(newGreedy(0, s)) }},
		{"ε-greedy 0.1", func(s uint64) (replay.Learner, error) { return baseline(newGreedy(0.1, s)) }},
		{"UCB1", func(s uint64) (replay.Learner, error) { return baseline(newUCB(1, s)) }},
		{"UCB c=0.3", func(s uint64) (replay.Learner, error) { return baseline(newUCB(0.3, s)) }},
		{"Thompson", func(s uint64) (replay.Learner, error) { return baseline(newThompson(false, s)) }},
		{"Thompson by key", func(s uint64) (replay.Learner, error) { return baseline(newThompson(true, s)) }},
	}
	observedOne = contestant{"Observed", func(s uint64) (replay.Learner, error) {
		return newOfBook(s, rank.Options{}, func(b *rank.Book) rank.Policy { return b.Observed() })
	}}
	// The reference formula's usual reading: what was never tried comes first.
	observedKeen = contestant{"Observed, cards of 1", func(s uint64) (replay.Learner, error) {
		return newOfBook(s, rank.Options{}, func(b *rank.Book) rank.Policy { return keen(b.Observed()) })
	}}
	learnedOne = contestant{"Learned", func(s uint64) (replay.Learner, error) {
		return newOfBook(s, rank.Options{}, func(b *rank.Book) rank.Policy { return b.Learned(nil) })
	}}
)

// keen lets every card claim 1.
func keen(p rank.Policy) rank.Policy {
	return rank.PolicyFunc(func(ctx context.Context, s rank.Situation, cs []rank.Candidate) ([]rank.Scored, error) {
		cs = append([]rank.Candidate(nil), cs...)
		for i := range cs {
			cs[i].Prior = 1
		}
		return p.Score(ctx, s, cs)
	})
}

// play replays the decisions under the seeds and prints a row of the table.
func play(t *testing.T, c contestant, ds []replay.Decision, o replay.Options) summary {
	t.Helper()
	rewards, err := playSeeds(t.Context(), rankSeeds, ds, o, c)
	require.NoError(t, err)
	s := summarize(rewards)
	t.Logf("| %-20s | %.4f | %.4f | %.4f |", c.name, s.Median, s.Mean, s.SD)
	return s
}

// TestRankRouting replays routing logs: Learned is to be within 0.003 of the
// best of the six baselines.
func TestRankRouting(t *testing.T) {
	for _, set := range []struct {
		name string
		read func(t *testing.T) []replay.Decision
	}{
		{"LLMRouter", llmRouter},
		{"RouteLLM, accuracy", func(t *testing.T) []replay.Decision { return routeLLM(t) }},
		{"RouteLLM, accuracy less cost", func(t *testing.T) []replay.Decision { return routeLLM(t, 0.0015, 0.15) }},
	} {
		t.Run(set.name, func(t *testing.T) {
			ds := set.read(t)
			best := math.Inf(-1)
			for _, c := range baselines {
				best = max(best, play(t, c, ds, replay.Options{}).Median)
			}
			play(t, observedOne, ds, replay.Options{})
			play(t, observedKeen, ds, replay.Options{})
			got := play(t, learnedOne, ds, replay.Options{})
			t.Logf("best baseline %.4f, Learned %+.4f", best, got.Median-best)
			require.GreaterOrEqual(t, got.Median, best-0.003)
		})
	}
}

// solved counts successes, whatever they took.
func solved(s rank.Sample) float64 {
	if s.Success {
		return 1
	}
	return 0
}

// TestRankSolvers replays algorithm selection with real wall times: Learned
// is never to be worse than Observed by more than a standard deviation.
func TestRankSolvers(t *testing.T) {
	for _, set := range []struct {
		name     string
		features bool
	}{
		{"CPMP-2015", false}, {"QBF-2016", false}, {"SAT18-EXP", false}, {"IPC2018", false},
		{"CSP-Minizinc-Time-2016", false}, {"CPMP-2015", true}, {"QBF-2016", true},
	} {
		name := set.name
		if set.features {
			name += ", with features"
		}
		t.Run(name, func(t *testing.T) {
			ds, _ := scenario(t, set.name, set.features)
			o := replay.Options{Worth: solved}
			play(t, baselines[0], ds, o)
			play(t, baselines[4], ds, o)
			one, keen, got := play(t, observedOne, ds, o), play(t, observedKeen, ds, o), play(t, learnedOne, ds, o)
			for _, seen := range []summary{one, keen} {
				require.GreaterOrEqual(t, got.Median, seen.Median-max(seen.SD, got.SD))
			}
		})
	}
}

// par10 is what an outcome costs: its time, or ten times the limit.
func par10(name string, s *rank.Sample) float64 {
	if s.Success {
		return s.Wall.Seconds()
	}
	return 10 * cutoffs[name]
}

func find(d *replay.Decision, name string) *rank.Sample {
	for i := range d.Outcomes {
		if d.Outcomes[i].Candidate == name {
			return &d.Outcomes[i]
		}
	}
	return nil
}

// TestRankTrained gives Learned all outcomes of nine folds and lets it choose
// for the tenth.
func TestRankTrained(t *testing.T) {
	for name, bar := range map[string]float64{"CPMP-2015": 0.25, "QBF-2016": 0.6} {
		t.Run(name, func(t *testing.T) {
			ds, names := scenario(t, name, true)
			var gaps []float64
			for salt := range 5 {
				gaps = append(gaps, trained(t, name, ds, names, salt))
			}
			s := summarize(gaps)
			t.Logf("| %s | %.3f | %.3f | %.3f | %.3f |", name, s.Median, s.Mean, s.SD, gaps)
			require.GreaterOrEqual(t, s.Median, bar)
		})
	}
}

// trained returns the share of the gap in PAR10 that is closed between the
// best single solver and the best solver of each instance.
func trained(t *testing.T, name string, ds []replay.Decision, names []string, salt int) float64 {
	chosen, single, oracle := 0.0, make([]float64, len(ds[0].Candidates)), 0.0
	for fold := range uint32(10) {
		var train []replay.Decision
		var test []int
		for i := range ds {
			h := fnv.New32a()
			if salt > 0 {
				fmt.Fprint(h, salt)
			}
			fmt.Fprint(h, names[i])
			if h.Sum32()%10 == fold {
				test = append(test, i)
			} else {
				train = append(train, ds[i])
			}
		}
		rng := rand.New(rand.NewPCG(uint64(salt), 2))
		rng.Shuffle(len(train), func(i, j int) { train[i], train[j] = train[j], train[i] })
		l, err := learnedOne.fresh(uint64(fold))
		require.NoError(t, err)
		require.NoError(t, teach(t.Context(), l, train))
		for _, i := range test {
			d := &ds[i]
			ss, err := l.Score(t.Context(), d.Situation, d.Candidates)
			require.NoError(t, err)
			chosen += par10(name, find(d, ss[0].Candidate.Name))
			best := math.Inf(1)
			for j := range d.Outcomes {
				p := par10(name, &d.Outcomes[j])
				single[j] += p
				best = min(best, p)
			}
			oracle += best
		}
		require.NoError(t, closeBook(l))
	}
	sbs := math.Inf(1)
	for _, s := range single {
		sbs = min(sbs, s)
	}
	return (sbs - chosen) / (sbs - oracle)
}

// TestRankDrift lets the best candidate turn bad at half time.
func TestRankDrift(t *testing.T) {
	for _, set := range []struct {
		p   []float64
		bad float64
		n   int
	}{
		{[]float64{0.9, 0.8}, 0.1, 2000},
		{[]float64{0.8, 0.6, 0.5}, 0.3, 4000},
		{[]float64{0.7, 0.5, 0.4, 0.4, 0.3}, 0.2, 1000},
		{[]float64{0.6, 0.5}, 0.4, 4000},
	} {
		t.Run(fmt.Sprint(set.p, "→", set.bad), func(t *testing.T) {
			var learned, stationary []float64
			for seed := range uint64(rankSeeds) {
				ds := turning(set.p, set.bad, set.n, seed)
				learned = append(learned, after(t, ds, set.p, set.bad, rank.Options{Seed: seed}))
				stationary = append(stationary, after(t, ds, set.p, set.bad, rank.Options{Seed: seed, Stationary: true}))
			}
			l, s := summarize(learned), summarize(stationary)
			t.Logf("| %v → %v | %.1f | %.1f | %.1f |", set.p, set.bad, s.Mean, l.Mean, s.Mean/l.Mean)
			require.GreaterOrEqual(t, s.Median, 3*l.Median)
		})
	}
}

// turning returns n decisions in which candidates succeed with the
// probabilities p, but the first from half time on with bad.
func turning(p []float64, bad float64, n int, seed uint64) []replay.Decision {
	rng := rand.New(rand.NewPCG(seed, 3))
	var names []string
	for i := range p {
		names = append(names, fmt.Sprint("candidate-", i))
	}
	cs := cards(names)
	ds := make([]replay.Decision, n)
	for i := range ds {
		ds[i] = replay.Decision{Situation: rank.Situation{Skill: "drift"}, Candidates: cs}
		for j := range p {
			q := p[j]
			if j == 0 && i >= n/2 {
				q = bad
			}
			ds[i].Outcomes = append(ds[i].Outcomes, rank.Sample{Candidate: names[j], Success: rng.Float64() < q})
		}
	}
	return ds
}

// after returns the regret of Learned after half time, against the best
// candidate that there is then.
func after(t *testing.T, ds []replay.Decision, p []float64, bad float64, o rank.Options) float64 {
	book, err := rank.Open(t.Context(), store.NewMem(), &o)
	require.NoError(t, err)
	defer book.Close()
	l := replay.With(book.Learned(nil), book)
	half := len(ds) / 2
	_, err = replay.Run(t.Context(), l, ds[:half], &replay.Options{InOrder: true})
	require.NoError(t, err)
	r, err := replay.Run(t.Context(), l, ds[half:], &replay.Options{InOrder: true, Prefix: "late"})
	require.NoError(t, err)
	best, regret := bad, 0.0
	for _, q := range p[1:] {
		best = max(best, q)
	}
	for j, q := range p {
		if j == 0 {
			q = bad
		}
		regret += float64(r.Chosen[fmt.Sprint("candidate-", j)]) * (best - q)
	}
	return regret
}
