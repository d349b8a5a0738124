package rank

import (
	"fmt"
	"math"
	"time"
)

// Learned returns the policy that learns what each candidate is worth, in general and at a kind of case (Task.Key),
// and explores. What a sample is worth is its Reward, or else
//
//	success − 0.02·log2(1 + seconds) − 0.1·log2(1 + US dollars)
//
// where success is 1 for Delivered and 0 for Failed and Malformed; other outcomes teach nothing. Evidence fades with
// a half-life of 30 days and is worth at most 95 samples, so that a candidate that changes is noticed.
//
// A candidate's estimate shrinks to the mean of all candidates (empirical Bayes; the spread between candidates is
// taken from the data). At a kind of case it is that, what the kind adds for all, and what it adds for this one. The
// spread of the latter is taken from the data, too: small among models that can do everything, large among programs
// of which each can do one thing. To the estimate the policy adds a bonus of .75 standard deviations of what is not
// known in general, and a logistic draw of .5 standard deviations. The draw counts, of the general doubt, the share
// (n + 5k)/(n + 200k²) for n samples and k candidates: a host that decides often can wait until exploring pays. It
// never ends. Draws depend on the seed, the scope, the skill, the kind of case, the candidate and the number of
// attempts, and on nothing else. How much samples scatter is learned, too, for each candidate and for all.
//
// A dollar is a tenth of a success. A host for which it is more gives a Reward, or uses [Book.Ladder].
func (b *Book) Learned() Policy {
	if b.pacer != nil {
		return policy{b, b.paced}
	}
	return policy{b, b.learned}
}

const (
	bonusWidth  = .75
	drawWidth   = .5
	firstMean   = .5    // of candidates' worth, before anything is known, …
	meanWeight  = 10    // … and what that guess weighs, as the inverse of a variance
	firstSpread = .12   // between candidates, before anything is known, …
	spreadCount = 3     // … and what that guess is worth in candidates
	rounds      = 3     // of the estimate of mean and spread
	kindSpread  = .14   // of what a kind of case adds for one candidate, before anything is known, …
	kindWeight  = 30    // … what that guess is worth in samples, …
	leastSpread = .1    // … and what it is held above
	allSpread   = .15   // of what a kind of case adds for all
	shareDoubt  = .02   // variance of one candidate's deviation from that
	firstNoise  = .25   // variance of a sample …
	noiseWeight = 2     // … and what that guess is worth in samples
	ownWeight   = 5     // what the noise of all is worth in samples of one candidate
	forget      = .9995 // what a squared error counts after the next one
	priorWeight = 10    // samples of a skill that halve what claims count
)

// model is what the records of a skill come to.
type model struct {
	mean, tau2 float64 // of candidates' worth
	noise      float64 // variance of a sample
	kind2      float64 // variance of what a kind of case adds for one candidate
	attempts   float64 // ever
	known      float64 // evidence
	now        int64   // Unix seconds, in whole hours: what is kept must not depend on who asked first
}

// shrunk returns by how much a worth is taken to differ from the mean, where worths differ by the variance spread and
// n samples, each of the variance noise, come to sum; and the variance of that.
func shrunk(spread, noise, n, sum, mean float64) (shift, variance float64) {
	share := spread / (spread*n + noise)
	return share * (sum - n*mean), share * noise
}

// fit returns the model of a skill, and keeps it for the hour while no record changes. The caller has the lock.
func (sk *skill) fit(now time.Time) *model {
	hour := now.Unix() / 3600 * 3600
	if sk.fresh && sk.model.now == hour {
		return &sk.model
	}
	m := model{mean: firstMean, tau2: firstSpread * firstSpread, now: hour}
	var err2, errs float64
	kind2, kindN := kindWeight*kindSpread*kindSpread, float64(kindWeight)
	arms := make([]cell, 0, len(sk.pairs))
	for _, p := range sk.sorted {
		m.attempts += float64(p.rec.Attempts)
		err2, errs = err2+p.rec.Err2, errs+p.rec.Errs
		kind2, kindN = kind2+p.rec.Kind2, kindN+p.rec.Kinds
		if n, sum := p.rec.All.at(hour); n > 0 {
			arms = append(arms, cell{N: n, Sum: sum})
			m.known += n
		}
	}
	m.kind2 = min(max(kind2/kindN, leastSpread*leastSpread), .25) // worth lies between 0 and 1
	m.noise = (noiseWeight*firstNoise + err2) / (noiseWeight + errs)
	for range rounds {
		weight, sum := float64(meanWeight), float64(meanWeight*firstMean)
		for i := range arms {
			x := 1 / (arms[i].N*m.tau2 + m.noise)
			weight, sum = weight+x*arms[i].N, sum+x*arms[i].Sum
		}
		m.mean = sum / weight
		squares, n := spreadCount*firstSpread*firstSpread, float64(spreadCount+len(arms))
		for i := range arms {
			shift, variance := shrunk(m.tau2, m.noise, arms[i].N, arms[i].Sum, m.mean)
			squares += shift*shift + variance
		}
		m.tau2 = squares / n
	}
	sk.model, sk.fresh = m, true
	return &sk.model
}

// general returns the mean and variance of a candidate's worth.
func (m *model) general(r *record) (mean, variance float64) {
	n, sum := r.All.at(m.now)
	shift, variance := shrunk(m.tau2, m.noise, n, sum, m.mean)
	return m.mean + shift, variance
}

// common returns by how much a kind of case is better or worse for all.
func (m *model) common(sk *skill, key int32) float64 {
	weight, sum := 1/(allSpread*allSpread), 0.0
	for _, p := range sk.sorted {
		if n, s := p.rec.at(key, m.now); n > 0 {
			mean, _ := m.general(p.rec)
			x := 1 / (shareDoubt*n + m.noise)
			weight, sum = weight+x*n, sum+x*(s-n*mean)
		}
	}
	return sum / weight
}

// predict holds what was expected of a sample against what it was worth, and returns what its kind of case is taken
// to add for all. The general worth is learned without that: who was only asked for the hard cases is not a bad one.
func (r *record) predict(sk *skill, key int32, y float64, now time.Time) (common float64) {
	m := sk.fit(now)
	expected, _ := m.general(r)
	if key != 0 {
		common = m.common(sk, key)
		expected += common
		n, sum := r.at(key, m.now)
		// A sample and the mean of those before it deviate from what is expected independently, but for what the
		// kind adds: the mean of the product is its variance.
		if n > 0 {
			r.Kind2 = forget*r.Kind2 + (y-expected)*(sum/n-expected)
			r.Kinds = forget*r.Kinds + 1
		}
		shift, _ := shrunk(m.kind2, m.noise, n, sum, expected)
		expected += shift
	}
	r.Err2 = forget*r.Err2 + (y-expected)*(y-expected)
	r.Errs = forget*r.Errs + 1
	return common
}

// view is what Learned goes by for a task and its candidates.
type view struct {
	*model
	sk                    *skill
	key                   int32
	common, claims, doubt float64
	seed                  uint64
}

// view returns that. The caller has the lock.
func (b *Book) view(sk *skill, t Task, cs []Candidate) *view {
	v := &view{model: sk.fit(b.now()), sk: sk, key: hash(t.Key)}
	if v.key != 0 {
		v.common = v.model.common(sk, v.key)
	}
	k := float64(len(cs))
	for i := range cs {
		v.claims += cs[i].Prior / k
	}
	v.doubt = (v.attempts + 5*k) / (v.attempts + 200*k*k)
	v.seed = mix(b.seed, string(b.scope.name), t.Skill, t.Key) + uint64(v.attempts)
	return v
}

// estimate returns what a candidate is taken to be worth, and what is added for what is not known.
func (v *view) estimate(c *Candidate) (worth, extra float64) {
	r := v.sk.known(c.Name).rec
	mean := v.mean + (c.Prior-v.claims)*priorWeight/(priorWeight+v.known)
	n, sum := r.All.at(v.now)
	// The best of many may be far from their mean: candidates are not taken to differ by less than half the noise.
	noise := (ownWeight*v.noise + r.Err2) / (ownWeight + r.Errs)
	shift, variance := shrunk(max(v.tau2, v.noise/2), noise, n, sum, mean)
	worth, extra = mean+shift+v.common, bonusWidth*math.Sqrt(variance)
	width := v.doubt * variance
	if v.key != 0 {
		n, sum := r.at(v.key, v.now)
		shift, special := shrunk(v.kind2, v.noise, n, sum, worth)
		worth, width = worth+shift, width+special
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

// Explain says in a sentence for each candidate what its place with Learned rests on.
func (b *Book) Explain(t Task, cs []Candidate) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	sk, out := b.scope.skill(t.Skill), make([]string, len(cs))
	v := b.view(sk, t, cs)
	for i := range cs {
		worth, extra := v.estimate(&cs[i])
		s := sk.summary(cs[i].Name)
		cost := ratio(float64(s.USD+s.Estimated)/billion, int(s.Priced))
		out[i] = fmt.Sprintf("%s: %d of its last %d judged attempts delivered, $%.4f each; %d more tell nothing about skill; "+
			"expected worth %.2f, and %.2f for what is not known", cs[i].Name, s.Delivered, s.Judged, cost, s.Attempts-s.Judged,
			worth, extra)
	}
	return out
}
