package rank

import (
	"fmt"
	"math"
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
// of which each can do one thing. To the estimate the policy adds a bonus of .75 standard deviations of what is not known in general, and a draw of
// .5 standard deviations. The draw counts, of the general doubt, the share (n + 5k)/(n + 200k²) for n samples and k
// candidates: a host that decides often can wait until exploring pays. It never ends. Draws depend on the seed, the
// scope, the skill, the kind of case, the candidate and the number of attempts, and on nothing else.
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
	firstSpread = .15       // between candidates, before anything is known
	kindSpread  = .14       // of what a kind of case adds for one candidate, before anything is known, …
	kindWeight  = 30        // … what that guess is worth in samples, …
	leastSpread = .1        // … and what it is held above
	shareDoubt  = .02       // variance of one candidate's deviation from what a kind of case adds for all
	firstNoise  = .25       // variance of a sample …
	noiseWeight = 2         // … and what that guess is worth in samples
	forget      = .9995     // what a squared error counts after the next one
	mostCommons = 1000      // kinds of case for which the model keeps what they add for all
	rounds      = 8         // of the estimate of mean and spread
	priorWeight = 10        // samples of a skill that halve what claims count
	fewest      = 1.0 / 1e6 // a variance that is not 0
)

// model is what the records of a skill come to.
type model struct {
	mean, tau2 float64 // of candidates' worth
	noise      float64 // variance of a sample
	kind2      float64 // variance of what a kind of case adds for one candidate
	attempts   float64 // ever
	known      float64 // evidence
	hour       int64   // since 1970, for which it holds
	commons    map[int32]float64
}

// fit returns the model of a skill, and keeps it for the hour while no record changes. The caller has the lock for writing.
func (sk *skill) fit(now int64) *model {
	if sk.fresh && sk.model.hour == now/3600 {
		return &sk.model
	}
	m := model{mean: .5, tau2: firstSpread * firstSpread, hour: now / 3600}
	var err2, errs float64
	kind2, kindN := kindWeight*kindSpread*kindSpread, float64(kindWeight)
	type arm struct{ n, mean float64 }
	arms := make([]arm, 0, len(sk.pairs))
	for _, p := range sk.sorted {
		m.attempts += float64(p.rec.Attempts)
		err2, errs = err2+p.rec.Err2, errs+p.rec.Errs
		kind2, kindN = kind2+p.rec.Kind2, kindN+p.rec.Kinds
		if n, sum := p.rec.All.at(now); n > fewest {
			arms = append(arms, arm{n, sum / n})
			m.known += n
		}
	}
	m.kind2 = min(max(kind2/kindN, leastSpread*leastSpread), .25) // worth lies between 0 and 1
	m.noise = (noiseWeight*firstNoise + err2) / (noiseWeight + errs)
	for range rounds {
		weight, sum := 4.0, 4*.5
		for _, a := range arms {
			x := 1 / (m.tau2 + m.noise/a.n)
			weight, sum = weight+x, sum+x*a.mean
		}
		m.mean = sum / weight
		sq, n := 3*firstSpread*firstSpread, 3.0
		for _, a := range arms {
			precision := 1/m.tau2 + a.n/m.noise
			post := (m.mean/m.tau2 + a.n*a.mean/m.noise) / precision
			sq, n = sq+(post-m.mean)*(post-m.mean)+1/precision, n+1
		}
		m.tau2 = sq / n
	}
	sk.model, sk.fresh = m, true
	return &sk.model
}

// general returns the mean and variance of a candidate's worth. least is a lower bound of the spread between
// candidates.
func (m *model) general(r *record, claim, least float64, now int64) (mean, variance float64) {
	tau2 := max(m.tau2, least)
	n, sum := r.All.at(now)
	precision := 1/tau2 + n/m.noise
	return ((m.mean+claim)/tau2 + sum/m.noise) / precision, 1 / precision
}

// common returns by how much a kind of case is better or worse for all; 0 without one.
func (m *model) common(sk *skill, key int32, now int64) float64 {
	if c, known := m.commons[key]; known || key == 0 {
		return c
	}
	weight, sum := 1/(firstSpread*firstSpread), 0.0
	for _, p := range sk.sorted {
		c, known := p.rec.cell(key)
		if !known {
			continue
		}
		if n, s := c.at(now); n > fewest {
			mean, _ := m.general(p.rec, 0, 0, now)
			x := 1 / (shareDoubt + m.noise/n)
			weight, sum = weight+x, sum+x*(s/n-mean)
		}
	}
	if len(m.commons) >= mostCommons || m.commons == nil {
		m.commons = map[int32]float64{}
	}
	m.commons[key] = sum / weight
	return sum / weight
}

// special returns by how much a candidate's worth at a kind of case is taken to differ from mean, and the variance
// of that.
func (m *model) special(r *record, key int32, mean float64, now int64) (shift, variance float64) {
	prior := m.kind2
	if c, known := r.cell(key); known {
		if n, sum := c.at(now); n > fewest {
			share := prior / (prior + m.noise/n)
			return share * (sum/n - mean), prior * (1 - share)
		}
	}
	return 0, prior
}

// predict holds what was expected of a sample against what it was worth, and returns what its kind of case is taken
// to add for all. The general worth is learned without that: who was only asked for the hard cases is not a bad one.
func (r *record) predict(sk *skill, key int32, y float64, now int64) (common float64) {
	now = now / 3600 * 3600 // as for a choice: what the model keeps must not depend on who asked first
	m := sk.fit(now)
	expected, _ := m.general(r, 0, 0, now)
	if key != 0 {
		common = m.common(sk, key, now)
		expected += common
		// A sample and the mean of those before it deviate from what is expected independently, but for what the
		// kind adds: the mean of the product is its variance.
		if c, known := r.cell(key); known {
			if n, sum := c.at(now); n > fewest {
				r.Kind2 = forget*r.Kind2 + (y-expected)*(sum/n-expected)
				r.Kinds = forget*r.Kinds + 1
			}
		}
		shift, _ := m.special(r, key, expected, now)
		expected += shift
	}
	r.Err2 = forget*r.Err2 + (y-expected)*(y-expected)
	r.Errs = forget*r.Errs + 1
	return common
}

// estimate is what Learned takes a candidate to be worth.
type estimate struct{ worth, bonus, draw float64 }

func (e *estimate) total() float64 { return e.worth + e.bonus + e.draw }

func (b *Book) learned(sk *skill, t Task, cs []Candidate) []contender {
	fs := make([]contender, len(cs))
	for i, e := range b.estimates(sk, t, cs) {
		fs[i] = contender{Scored{Candidate: cs[i], Score: e.worth}, e.total()}
	}
	return fs
}

// estimates returns those of the candidates, in their order. The caller has the lock.
func (b *Book) estimates(sk *skill, t Task, cs []Candidate) []estimate {
	now := b.now().Unix() / 3600 * 3600
	m, key := sk.fit(now), hash(t.Key)
	common, claims := m.common(sk, key, now), 0.0
	for i := range cs {
		claims += cs[i].Prior / float64(len(cs))
	}
	k := float64(len(cs))
	doubt := (m.attempts + 5*k) / (m.attempts + 200*k*k)
	seed := mix(b.seed, string(b.scope.name), t.Skill, t.Key) + uint64(m.attempts)
	es := make([]estimate, len(cs))
	for i := range cs {
		c, e, r := &cs[i], &es[i], sk.record(cs[i].Name)
		claim := (c.Prior - claims) * priorWeight / (priorWeight + m.known)
		mean, variance := m.general(r, claim, m.noise/2, now)
		e.worth, e.bonus = mean+common, bonusWidth*math.Sqrt(variance)
		width := doubt * variance
		if key != 0 {
			shift, special := m.special(r, key, e.worth, now)
			e.worth, width = e.worth+shift, width+special
		}
		e.draw = drawWidth * math.Sqrt(width) * normal(mix(seed, c.Name))
	}
	return es
}

// Explain says in a sentence for each candidate what its place with Learned rests on.
func (b *Book) Explain(t Task, cs []Candidate) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	sk, out := b.scope.skill(t.Skill), make([]string, len(cs))
	for i, e := range b.estimates(sk, t, cs) {
		s := sk.summary(cs[i].Name)
		cost := ratio(float64(s.USD+s.Estimated)/billion, int(s.Priced))
		out[i] = fmt.Sprintf("%s: %d of its last %d judged attempts delivered, $%.4f each; %d more tell nothing about skill; "+
			"expected worth %.2f, and %.2f for what is not known", cs[i].Name, s.Delivered, s.Judged, cost, s.Attempts-s.Judged,
			e.worth, e.bonus+e.draw)
	}
	return out
}
