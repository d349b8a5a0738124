package rank

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// Stats sum up several attempts.
type Stats struct {
	// Usage has the sums of tokens and dollars; Calls and Cached are 0. CostUSD is of the attempts that
	// reported a cost, EstimateUSD of those that have an estimate alone; nil: there are none.
	Usage
	Attempts  int
	Judged    int // attempts whose outcome tells about skill: Delivered, Failed and Malformed
	Delivered int
	Priced    int // attempts whose cost is known, reported or estimated
	// Confidence is the mean, in [0,1], of what judged attempts claimed. HighConfidenceFailures counts those
	// that claimed .8 or more and were not delivered. Only Book.Stats has the two.
	Confidence             float64
	HighConfidenceFailures int
	P50, P95               time.Duration // of wall time; only Book.Health has them
}

// Candidates yields the candidates of the scope with the skills that they have samples at, in this order.
func (b *Book) Candidates() iter.Seq2[string, string] {
	b.mu.Lock()
	var pairs [][2]string
	for skill, sk := range b.scope.skills {
		for _, p := range sk.sorted {
			if p.rec.Attempts > 0 {
				pairs = append(pairs, [2]string{p.candidate, skill})
			}
		}
	}
	b.mu.Unlock()
	slices.SortFunc(pairs, func(x, y [2]string) int { return slices.Compare(x[:], y[:]) })
	return func(yield func(string, string) bool) {
		for _, p := range pairs {
			if !yield(p[0], p[1]) {
				return
			}
		}
	}
}

// Stats returns the figures of a candidate's last 200 attempts at a skill.
func (b *Book) Stats(candidate, skill string) Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.scope.skill(skill).summary(candidate).stats()
}

// Day returns a candidate's figures at a skill on a UTC day, one of the last 31. "" is all of them.
func (b *Book) Day(candidate, skill string, day time.Time) Stats {
	n := int32(day.UnixMilli() / dayMillis)
	b.mu.Lock()
	defer b.mu.Unlock()
	var s summary
	for name, sk := range b.scope.skills {
		for _, p := range sk.sorted {
			i := p.rec.index(dayTable, n)
			if i >= 0 && (skill == "" || skill == name) && (candidate == "" || candidate == p.candidate) {
				s.add(p.rec.tally(dayTable, i), 1)
			}
		}
	}
	return s.stats()
}

// Health returns the figures of a period that ends now, of 24 hours at most. "" is all candidates, or skills.
// An outage (Away, TimedOut) counts as a failed attempt here, though not in a rank; of other outcomes that
// tell nothing about skill only the usage counts. Attempts before the last 200 at a skill count by whole
// hours, and not in the percentiles. The Samples are the failures and outages, at most 10 of a candidate at a
// skill, the oldest first; they have Run, Candidate, Skill, Class and At.
func (b *Book) Health(candidate, skill string, last time.Duration) (Stats, []Sample) {
	now := b.now()
	from := now.Add(-min(last, 24*time.Hour))
	b.mu.Lock()
	defer b.mu.Unlock()
	var s summary
	var recent []Sample
	for name, sk := range b.scope.skills {
		for _, p := range sk.sorted {
			if skill != "" && skill != name || candidate != "" && candidate != p.candidate {
				continue
			}
			s.take(p.rec, from.UnixMilli(), now.UnixMilli())
			failures, _ := p.rec.failures() // decode has read them
			for _, f := range failures {
				if !f.At.Before(from) {
					f.Candidate, f.Skill = p.candidate, name
					recent = append(recent, f)
				}
			}
		}
	}
	slices.SortFunc(recent, func(a, b Sample) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Run, b.Run),
			cmp.Compare(a.Candidate, b.Candidate), cmp.Compare(a.Skill, b.Skill))
	})
	h := s.stats()
	if n := len(s.walls); n > 0 {
		slices.Sort(s.walls)
		h.P50, h.P95 = s.walls[n/2], s.walls[n*95/100]
	}
	h.Attempts = int(s.Delivered + s.Ill) // an outage is a failure
	return h, recent
}

// summary is a tally of samples, and what they claimed.
type summary struct {
	tally
	claims, goodClaims int   // of judged attempts, of those that delivered
	claimed, good      int64 // the sums of these
	high               int
	walls              []time.Duration // of take
}

// summaryOf sums up the ring.
func summaryOf(r *record) *summary {
	s := new(summary)
	for i := range int(r.Rows[ringTable]) {
		e := r.entry(i)
		s.add(e.tally(), 1)
		if e.Confidence < 0 || !e.outcome().judged() {
			continue
		}
		s.claims++
		s.claimed += int64(e.Confidence)
		if e.outcome() == Delivered {
			s.goodClaims++
			s.good += int64(e.Confidence)
		} else if e.Confidence >= .8*billion {
			s.high++
		}
	}
	return s
}

func (s *summary) stats() Stats {
	out := Stats{
		Usage:    Usage{Input: int(s.In), Output: int(s.Out)},
		Attempts: int(s.Attempts), Judged: int(s.Judged), Delivered: int(s.Delivered), Priced: int(s.Priced),
		Confidence:             ratio(float64(s.claimed)/billion, s.claims),
		HighConfidenceFailures: s.high,
	}
	if s.Reported > 0 {
		out.CostUSD = new(float64(s.USD) / billion)
	}
	if s.Priced > s.Reported {
		out.EstimateUSD = new(float64(s.Estimated) / billion)
	}
	return out
}

// take adds up what a record has from one moment to another, in Unix milliseconds and less than 25 hours: the
// hours that began in between, and before these the samples that are in the ring.
func (s *summary) take(r *record, from, to int64) {
	first := (from + hourMillis - 1) / hourMillis
	for i := range int(r.Rows[ringTable]) {
		e := r.entry(i)
		if e.At < from || e.At > to {
			continue
		}
		if e.At < first*hourMillis {
			s.add(e.tally(), 1)
		}
		if e.outcome() == Delivered || e.outcome().ill() {
			s.walls = append(s.walls, time.Duration(e.Wall)*time.Millisecond)
		}
	}
	for i := range int(r.Rows[hourTable]) {
		if h := r.tally(hourTable, i); int64(h.N) >= first {
			s.add(h, 1)
		}
	}
}

// ratio is a mean, of nothing 0, as its sum is.
func ratio(sum float64, n int) float64 { return sum / float64(max(1, n)) }
