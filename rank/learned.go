package rank

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Learned returns the policy that learns what each candidate is worth, in general and at a kind of case
// (Task.Key), and explores. The Score is that worth, in successes an attempt. What a sample is worth is its
// Reward, or success − 0.02·log2(1 + seconds) − 0.1·log2(1 + US dollars), where success is 1 for Delivered
// and 0 for Failed and Malformed; other outcomes teach nothing. So a dollar is a tenth of a success: where it
// is more to you, give a Reward, or use [Book.Ladder]. An unknown cost counts as 0: have all candidates tell
// one (reason.Price). Evidence fades with a half-life of 30 days. A candidate is taken for another one, of
// whom nothing is known, when its samples add up to 20 standard deviations beyond what was expected, less ¼
// each (Page, 1954).
//
// A candidate's estimate is the mean of its samples, in which the mean of all candidates counts as three
// more, or as fewer where samples scatter little beside the .2 by which candidates may well differ. At a kind
// of case it is that, what the kind adds for all, and what it adds for this one. How much the latter varies
// is learned: little among models that can do everything, much among programs that each do one thing.
//
// The best estimate is chosen. In it those three count as better than the mean, by .7 standard deviations of
// what is not known of the untried. So the untried are tried until one is that good, and one that fails at
// first makes room (one of five that failed thrice, for 800 tasks, unless it is renamed): of many candidates,
// that finds a good one sooner than weighing doubt does (Bayati et al., 2020). A logistic draw is added, of
// .5 standard deviations of what is not known: of the general doubt (n + 1)/(n + 50k²) for n samples and k
// candidates, of that about a kind met n times (n + 1)/(n + 1 + k³/100). It depends on the seed, scope,
// skill, kind, candidate and attempts.
func (b *Book) Learned() Policy {
	if b.pacer != nil {
		return paced{b}
	}
	return policy{b, b.learned}
}

const (
	hope        = .7 // standard deviations of what is not known that the untried may be above the mean
	drawWidth   = .5
	meanCount   = 3   // samples that the mean of all counts as in an estimate, or fewer, so that …
	leastDiffer = .2  // … candidates are not taken to differ by less
	mostCount   = 15  // samples that a candidate counts as at most in means over candidates
	firstMean   = .75 // of candidates' worth, before anything is known; it counts as one of them, or less
	noShift     = .7  // candidates that the guess is worth that a kind of case is like the others for all
	kindSpread  = .14 // of what a kind of case adds for one candidate, before anything is known, …
	kindWeight  = 30  // … and what that guess is worth in samples
	firstNoise  = .25 // variance of a sample; that guess is worth two
	priorWeight = 10  // samples of a skill that halve what claims count
	usual       = .25 // standard deviations that a sample may be off, before it counts as a sign of change …
	changed     = 20  // … that adds up to this
	mostOff     = 3   // standard deviations that one sample counts as at most
)

// model is what the records of a skill come to.
type model struct {
	mean     float64 // of candidates' worth
	noise    float64 // variance of a sample
	count    float64 // samples that the mean counts as in an estimate
	kind2    float64 // variance of what a kind of case adds for one candidate
	attempts float64 // ever
	known    float64 // evidence
	now      int64   // Unix seconds, in whole hours: what is kept must not depend on who asked first
}

// average is a mean over candidates. Many samples count little more than few: who is good has many.
type average struct{ weight, sum float64 }

func (a *average) add(n, sum float64) {
	a.weight, a.sum = a.weight+n/(n+mostCount), a.sum+sum/(n+mostCount)
}

// fit returns the model of a skill, and keeps it for the hour while no record changes. The lock is held.
func (sk *skill) fit(now time.Time) *model {
	hour := now.Unix() / 3600 * 3600
	if sk.fresh && sk.model.now == hour {
		return &sk.model
	}
	m, all := model{now: hour}, average{}
	err2, errs := 2*firstNoise, 2.0
	kind2, kinds := kindWeight*kindSpread*kindSpread, float64(kindWeight)
	for _, p := range sk.sorted {
		m.attempts += float64(p.rec.Attempts)
		err2, errs = err2+p.rec.Err.Sum, errs+p.rec.Err.N
		kind2, kinds = kind2+p.rec.Kind.Sum, kinds+p.rec.Kind.N
		n, sum := p.rec.All.at(hour)
		all.add(n, sum)
		m.known += n
	}
	m.noise = err2 / errs
	guess := min(1, firstNoise/m.noise) // it says little of rewards beyond [0,1], which scatter more
	m.mean = (all.sum + guess*firstMean) / (all.weight + guess)
	m.count = min(meanCount, m.noise/(leastDiffer*leastDiffer))
	m.kind2 = min(max(kind2/kinds, kindSpread*kindSpread/2), .25) // worth lies between 0 and 1
	sk.model, sk.fresh = m, true
	return &sk.model
}

// general returns what a candidate is taken to be worth beside others of this mean, and its variance.
func (m *model) general(r *record, mean float64) (worth, variance float64) {
	n, sum := r.All.at(m.now)
	return (m.count*mean + sum) / (m.count + n), m.noise / (m.count + n)
}

// common returns by how much a kind of case is better or worse for all, and how many samples there are of it.
func (m *model) common(sk *skill, key int32) (worth, samples float64) {
	shift := average{weight: noShift}
	for _, p := range sk.sorted {
		if n, sum := p.rec.at(key, m.now); n > 0 {
			worth, _ := m.general(p.rec, m.mean)
			shift.add(n, sum-n*worth)
			samples += n
		}
	}
	return shift.sum / shift.weight, samples
}

// special returns what a kind of case, at which n samples come to sum, is taken to add for one candidate
// beyond what is expected of it there, and the variance of that.
func (m *model) special(n, sum, expected float64) (shift, variance float64) {
	share := m.kind2 / (m.kind2*n + m.noise)
	return share * (sum - n*expected), share * m.noise
}

// predict holds what was expected of a sample against what it was worth, and returns what its kind of case is
// taken to add for all. The general worth is learned without that: who gets only hard cases is no bad one.
func (r *record) predict(sk *skill, key int32, y float64, now time.Time) (common float64) {
	m := sk.fit(now)
	expected, _ := m.general(r, m.mean)
	if key != 0 {
		common, _ = m.common(sk, key)
		expected += common
		n, sum := r.at(key, m.now)
		// A sample and the mean of those before it deviate from what is expected independently, but for what
		// the kind adds: the mean of the product is its variance.
		if n > 0 {
			r.Kind.add(1, (y-expected)*(sum/n-expected), now.Unix())
		}
		shift, _ := m.special(n, sum, expected)
		expected += shift
	}
	r.Err.add(1, (y-expected)*(y-expected), now.Unix())
	r.notice((y - expected) / math.Sqrt(max(m.noise, r.Err.Sum/r.Err.N))) // it may scatter more than others
	return common
}

// notice takes in by how many standard deviations a sample was better than expected. Where these add up, it
// forgets what was known: a cumulative sum of Page's, here one for both directions.
func (r *record) notice(better float64) {
	r.Change += min(mostOff, max(-mostOff, better))
	r.Change -= min(usual, max(-usual, r.Change))
	if math.Abs(r.Change) > changed {
		r.value = slices.Delete(r.value, r.begin(cellTable), r.begin(cellTable+1))
		r.Rows[cellTable], r.All, r.Change = 0, evidence{}, 0
		for i := range int(r.Rows[ringTable]) { // a later verdict on one of these has nothing to take back
			e := r.entry(i)
			e.Common = float32(math.NaN())
			pack(r.row(ringTable, i), &e)
		}
	}
}

// view is what Learned goes by for a task and its candidates.
type view struct {
	*model
	sk             *skill
	key            int32
	common, claims float64
	doubt, special float64 // shares of what is not known, in general and of the kind, that draws count
	seed           uint64
}

// view returns that. The caller has the lock.
func (b *Book) view(sk *skill, t Task, cs []Candidate) *view {
	v := &view{model: sk.fit(b.now()), sk: sk, key: hash(t.Key)}
	k := float64(len(cs))
	if v.key != 0 {
		common, n := v.model.common(sk, v.key)
		v.common, v.special = common, (n+1)/(n+1+k*k*k/100)
	}
	for i := range cs {
		v.claims += cs[i].Prior / k
	}
	v.doubt = (v.attempts + 1) / (v.attempts + 50*k*k)
	v.seed = mix(b.seed, string(b.scope.name), t.Skill, t.Key) + uint64(v.attempts)
	return v
}

// estimate returns what a candidate is taken to be worth, and what is added for what is not known.
func (v *view) estimate(c *Candidate) (worth, extra float64) {
	r := v.sk.known(c.Name).rec
	mean := v.mean + (c.Prior-v.claims)*priorWeight/(priorWeight+v.known)
	worth, variance := v.general(r, mean)
	worth, extra = worth+v.common, hope*variance*math.Sqrt(v.count/v.noise) // v.count samples, hope better
	width := v.doubt * variance
	if v.key != 0 {
		n, sum := r.at(v.key, v.now)
		shift, variance := v.model.special(n, sum, worth)
		worth, width = worth+shift, width+v.special*variance
	}
	return worth, extra + drawWidth*math.Sqrt(width)*logistic(mix(v.seed, c.Name))
}

func (b *Book) learned(sk *skill, t Task, cs []Candidate) []contender {
	v, fs := b.view(sk, t, cs), make([]contender, len(cs))
	for i := range cs {
		worth, extra := v.estimate(&cs[i])
		fs[i] = contender{i, worth, worth + extra}
	}
	return fs
}

// Explain says in a sentence for each candidate what its place with Learned rests on; worth is as its Score.
func (b *Book) Explain(t Task, cs []Candidate) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	sk, out := b.scope.skill(t.Skill), make([]string, len(cs))
	v := b.view(sk, t, cs)
	for i := range cs {
		worth, extra := v.estimate(&cs[i])
		s := sk.summary(cs[i].Name)
		cost := ratio(float64(s.USD+s.Estimated)/billion, int(s.Priced))
		out[i] = fmt.Sprintf("%s: %d of its last %d judged attempts delivered, %d more tell nothing "+
			"about skill; %d told a cost, of $%.4f in the mean; expected worth %.2f, and %.2f for what is not known",
			cs[i].Name, s.Delivered, s.Judged, s.Attempts-s.Judged, s.Priced, cost, worth, extra)
	}
	return out
}
