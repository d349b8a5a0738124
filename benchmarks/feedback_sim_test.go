package benchmarks

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var feedbackSeeds = flag.Int("feedback.seeds", 0, "worlds per cell of the tables of feedback; 0: only check the bars, in few worlds")

// world is a simulated stream of tasks over memories that all match them about
// equally well, and differ in how often they help.
type world struct {
	topics, perTopic, tasks, shown int

	bystander float64 // a further useful memory goes unused because another did
	skip      float64 // how much likelier than the first the k-th shown is not looked at: 1 - 1/k^skip
	arrive    float64 // the share of memories that come one by one later
	junk      float64 // the share of memories that hardly ever help
	misled    float64 // how often junk misleads, and is named
	blocked   float64 // how often nothing is delivered, if nothing helped
	silent    float64 // how often a delivery names nothing that it used
	foreign   int     // how many memories of other topics are shown as well: most often the same few
}

// estimator is how effectiveness is made of counts.
type estimator struct {
	unused  float64 // weight of an exposure that was not used
	quiet   float64 // what that is multiplied by if nothing at all was named as used
	byRank  float64 // that of rank k is divided by k^byRank
	prior   float64 // weight of the prior, whose mean is 0.5
	ignored bool    // similarity alone
}

// ours is what package memory does.
var ours = estimator{unused: .5, quiet: .25, prior: 2}

type simMemory struct {
	relevance, quality     float64
	helped, misled, unused float64
	since                  int
}

func (e estimator) effectiveness(m *simMemory) float64 {
	if e.ignored {
		return 0
	}
	return (e.prior/2 + m.helped) / (e.prior + m.helped + m.misled + e.unused*m.unused)
}

// simResult is per task of the second half of a world.
type simResult struct {
	first float64 // how likely the memory ranked first helps
	best  float64 // the same of the best that there is
}

func (w world) run(e estimator, seed uint64) simResult {
	rng := rand.New(rand.NewPCG(seed, 0))
	memories := w.populate(rng)
	var out simResult
	n := float64(w.topics * (w.tasks - w.tasks/2))
	for task := range w.tasks {
		for _, ms := range memories {
			ranked := w.rank(rng, e, ms, task)
			w.use(rng, e, ranked)
			w.intrude(rng, e, memories, ranked, task)
			if task < w.tasks/2 {
				continue
			}
			best := 0.0
			for _, m := range ms {
				if m.since <= task {
					best = max(best, m.quality)
				}
			}
			out.first += ranked[0].quality / n
			out.best += best / n
		}
	}
	return out
}

// populate makes the memories of all topics.
func (w world) populate(rng *rand.Rand) [][]*simMemory {
	memories := make([][]*simMemory, w.topics)
	for t := range memories {
		for range w.perTopic {
			m := &simMemory{relevance: .85 + .15*rng.Float64()}
			switch u := rng.Float64(); {
			case u < w.junk:
				m.quality = .03
			case u < w.junk+(1-w.junk)/2:
				m.quality = .15 + .3*rng.Float64()
			default:
				m.quality = .5 + .45*rng.Float64()
			}
			if rng.Float64() < w.arrive {
				m.since = rng.IntN(w.tasks)
			}
			memories[t] = append(memories[t], m)
		}
		memories[t][0].since = 0
	}
	return memories
}

// rank is what is shown, best first. Wordings differ, so relevance does a bit.
func (w world) rank(rng *rand.Rand, e estimator, ms []*simMemory, task int) []*simMemory {
	type scored struct {
		m     *simMemory
		score float64
	}
	var all []scored
	for _, m := range ms {
		if m.since <= task {
			relevance := m.relevance + .04*rng.NormFloat64()
			all = append(all, scored{m, .5*relevance + .3*e.effectiveness(m)})
		}
	}
	slices.SortFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var out []*simMemory
	for _, s := range all[:min(w.shown, len(all))] {
		out = append(out, s.m)
	}
	return out
}

// use is the task, and its feedback.
func (w world) use(rng *rand.Rand, e estimator, shown []*simMemory) {
	used := make([]bool, len(shown))
	any := false
	for i, m := range shown {
		looked := rng.Float64() < math.Pow(float64(i+1), -w.skip)
		helps := rng.Float64() < m.quality
		if looked && helps && (!any || rng.Float64() >= w.bystander) {
			used[i], any = true, true
		}
		if looked && m.quality < .1 && rng.Float64() < w.misled {
			m.misled++
		}
	}
	if !any && rng.Float64() < w.blocked {
		return
	}
	quiet := 1.0
	silent := rng.Float64() < w.silent
	if !any || silent {
		quiet = e.quiet
	}
	for i, m := range shown {
		if used[i] && !silent {
			m.helped++
		} else {
			m.unused += quiet * math.Pow(float64(i+1), -e.byRank)
		}
	}
}

// intrude shows memories of other topics, which are not used. Half of them are
// among three of their topic, whose words are common.
func (w world) intrude(rng *rand.Rand, e estimator, memories [][]*simMemory, shown []*simMemory, task int) {
	for range w.foreign {
		others := memories[rng.IntN(w.topics)]
		m := others[rng.IntN(len(others))]
		if rng.IntN(2) == 0 {
			m = others[rng.IntN(3)]
		}
		if m.since <= task && !slices.Contains(shown, m) {
			m.unused += math.Pow(float64(w.shown+1), -e.byRank)
		}
	}
}

// mean is over seeds.
func (w world) mean(e estimator, seeds int) simResult {
	var out simResult
	for s := range seeds {
		r := w.run(e, uint64(s))
		out.first += r.first / float64(seeds)
		out.best += r.best / float64(seeds)
	}
	return out
}

// plainWorld is where the others start from.
var plainWorld = world{topics: 10, perTopic: 20, tasks: 40, shown: 5, bystander: .5, skip: .3, arrive: .5, junk: .5, misled: .05, blocked: .5}

func worlds() (names []string, ws []world) {
	add := func(name string, change func(*world)) {
		w := plainWorld
		change(&w)
		names, ws = append(names, name), append(ws, w)
	}
	for _, b := range []float64{0, .25, .5, .75, 1} {
		add(fmt.Sprintf("bystanders %.2f", b), func(w *world) { w.bystander = b })
	}
	add("1 of another topic", func(w *world) { w.foreign = 1 })
	add("3 of other topics", func(w *world) { w.foreign = 3 })
	add("10 of other topics", func(w *world) { w.foreign = 10 })
	add("half of the deliveries silent", func(w *world) { w.silent = .5 })
	add("9 of 10 deliveries silent", func(w *world) { w.silent = .9 })
	add("few junk", func(w *world) { w.junk = .2 })
	add("mostly junk", func(w *world) { w.junk = .8 })
	add("all there from the start", func(w *world) { w.arrive = 0 })
	add("all come later", func(w *world) { w.arrive = 1 })
	add("first looked at much more", func(w *world) { w.skip = 1 })
	add("all looked at", func(w *world) { w.skip = 0 })
	add("one shown", func(w *world) { w.shown = 1 })
	add("ten shown", func(w *world) { w.shown = 10 })
	add("10 tasks", func(w *world) { w.tasks = 10 })
	add("200 tasks", func(w *world) { w.tasks = 200 })
	add("nothing misleads", func(w *world) { w.misled = 0 })
	return names, ws
}

// candidates are the estimators of the tables.
func candidates() (names []string, es []estimator) {
	add := func(name string, e estimator) { names, es = append(names, name), append(es, e) }
	add("similarity", estimator{ignored: true})
	for _, u := range []float64{0, .1, .2, .3, .5, .7, 1} {
		add(fmt.Sprintf("%.1f", u), estimator{unused: u, quiet: 1, prior: 2})
	}
	for _, q := range []float64{0, .25, .5} {
		add(fmt.Sprintf("0.5, quiet %.2f", q), estimator{unused: .5, quiet: q, prior: 2})
	}
	for _, r := range []float64{.3, 1} {
		add(fmt.Sprintf("by rank^%.1f", r), estimator{unused: .5, quiet: .25, byRank: r, prior: 2})
	}
	for _, p := range []float64{1, 4} {
		add(fmt.Sprintf("prior %.0f", p), estimator{unused: .5, quiet: .25, prior: p})
	}
	return names, es
}

// TestFeedbackSimulated compares estimators of effectiveness in simulated
// worlds: how likely the memory that ranks first helps.
func TestFeedbackSimulated(t *testing.T) {
	seeds := *feedbackSeeds
	if seeds == 0 {
		seeds = 3
	}
	names, ws := worlds()
	columns, es := candidates()
	t.Logf("| world | %s | best there is |", strings.Join(columns, " | "))
	sums := make([]float64, len(es)+1)
	row := func(name string, values []float64) {
		var b strings.Builder
		for _, v := range values {
			fmt.Fprintf(&b, " %.3f |", v)
		}
		t.Logf("| %s |%s", name, b.String())
	}
	for i, w := range ws {
		var values []float64
		best := 0.0
		for _, e := range es {
			r := w.mean(e, seeds)
			values, best = append(values, r.first), r.best
		}
		values = append(values, best)
		row(names[i], values)
		for k, v := range values {
			sums[k] += v / float64(len(ws))
		}
		require.Greater(t, w.mean(ours, seeds).first, values[0], names[i])
	}
	row("mean", sums)
}
