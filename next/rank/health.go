package rank

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// Failure is one of a candidate's last failures, or an outage.
type Failure struct {
	Run, Class string
	At         time.Time
}

// Health has the figures of a candidate over the last 24 hours, over all skills. Here an attempt that found its
// service Away or TimedOut has failed, which for its rank it has not. Of more than 200 attempts at a skill, the older
// ones count by whole hours, and not in the percentiles.
type Health struct {
	Candidate      string
	Attempts       int // that succeeded or failed
	Success        float64
	P50, P95       time.Duration // of wall time
	CostUSD        float64       // of all attempts, reported or else estimated
	CostPerSuccess float64       // 0 without a success
	FailureRate1h  float64
	Recent         []Failure // of these hours, at most 10 a skill, oldest first
}

// Fleet has the figures of a scope's candidates over the last 24 hours, and those of all together.
type Fleet struct {
	Candidates       []Health // by name
	MaxFailureRate1h float64
	CostUSD          float64
	OrphanedSkills   int // that had attempts and no success
}

// sums are what the records of a candidate come to over 24 hours.
type sums struct {
	attempts, judged, delivered int
	attempts1h, ill1h           int
	usd                         int64 // billionths, so that the order of skills does not matter
	walls                       []time.Duration
}

// take adds up a record's last 24 hours, ending now (Unix milliseconds): samples that are in the ring one by one, and
// what hours have beyond these.
func (s *sums) take(r *record, now int64) {
	from, oldest := now-dayMillis, now
	for i := range r.Ring {
		e := &r.Ring[i]
		oldest = min(oldest, e.At)
		if e.At >= from && e.At <= now {
			s.add(e, now)
		}
	}
	for i := range r.Hours { // that ended before the ring began
		h := &r.Hours[i]
		if begin := int64(h.N) * hourMillis; begin >= from && begin+hourMillis <= oldest {
			s.attempts += int(h.Delivered + h.Ill)
			s.judged, s.delivered = s.judged+int(h.Judged), s.delivered+int(h.Delivered)
			s.usd += h.USD + h.Estimated
		}
	}
}

func (s *sums) add(e *entry, now int64) {
	s.usd += max(0, e.USD)
	if e.is().judged() {
		s.judged++
	}
	if e.is() == Delivered {
		s.delivered++
	} else if !e.is().ill() {
		return
	}
	s.attempts++
	s.walls = append(s.walls, time.Duration(e.Wall)*time.Millisecond)
	if e.At >= now-hourMillis {
		s.attempts1h++
		if e.is().ill() {
			s.ill1h++
		}
	}
}

func (s *sums) cost() float64 { return float64(s.usd) / billion }

func percentile(walls []time.Duration, p float64) time.Duration {
	if len(walls) == 0 {
		return 0
	}
	return walls[min(int(float64(len(walls))*p), len(walls)-1)]
}

// Health returns the figures of the scope's candidates. Where names are given, only of these; one of which nothing
// is known has no attempts.
func (b *Book) Health(names ...string) Fleet {
	now := b.opts.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	var f Fleet
	if names == nil {
		for _, sk := range b.scope.skills {
			for _, p := range sk.sorted {
				if p.rec.Attempts > 0 {
					names = append(names, p.candidate)
				}
			}
		}
	}
	solved := map[string]bool{} // of the skills that had attempts
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		var s sums
		var failures []Failure
		for skill, sk := range b.scope.skills {
			before, r := s, sk.record(name)
			if s.take(r, now.UnixMilli()); s.attempts > before.attempts {
				solved[skill] = solved[skill] || s.delivered > before.delivered
			}
			failures = append(failures, r.Recent...)
		}
		failures = slices.DeleteFunc(failures, func(x Failure) bool { return x.At.Before(now.Add(-24 * time.Hour)) })
		slices.SortFunc(failures, func(a, b Failure) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Run, b.Run)) })
		slices.Sort(s.walls)
		h := Health{
			Candidate: name, Attempts: s.attempts, Success: ratio(float64(s.delivered), s.attempts),
			P50: percentile(s.walls, .5), P95: percentile(s.walls, .95),
			CostUSD: s.cost(), CostPerSuccess: ratio(s.cost(), s.delivered), FailureRate1h: ratio(float64(s.ill1h), s.attempts1h),
			Recent: failures,
		}
		f.Candidates = append(f.Candidates, h)
		f.MaxFailureRate1h, f.CostUSD = max(f.MaxFailureRate1h, h.FailureRate1h), f.CostUSD+h.CostUSD
	}
	for _, is := range solved {
		if !is {
			f.OrphanedSkills++
		}
	}
	return f
}

// Tally sums up a day (UTC) of a candidate at a skill.
type Tally struct {
	Day              time.Time
	Candidate, Skill string
	Attempts         int
	Delivered        int
	Priced           int     // attempts whose cost is known
	CostUSD          float64 // as reported
	EstimateUSD      float64 // of those that reported none
	Tokens           int
}

// Days yields the tallies of the scope from a day on, at most 31 days back, by day, candidate and skill.
func (b *Book) Days(since time.Time) iter.Seq[Tally] {
	if oldest := b.opts.Now().Add(-days * 24 * time.Hour); since.Before(oldest) {
		since = oldest
	}
	b.mu.Lock()
	var out []Tally
	for skill, sk := range b.scope.skills {
		for _, p := range sk.sorted {
			for _, t := range p.rec.Days {
				day := time.UnixMilli(int64(t.N) * dayMillis).UTC()
				if t.Attempts == 0 || !day.Add(24*time.Hour).After(since) {
					continue
				}
				out = append(out, Tally{
					Day: day, Candidate: p.candidate, Skill: skill, Attempts: int(t.Attempts), Delivered: int(t.Delivered),
					Priced: int(t.Priced), CostUSD: float64(t.USD) / billion, EstimateUSD: float64(t.Estimated) / billion, Tokens: int(t.Tokens),
				})
			}
		}
	}
	b.mu.Unlock()
	slices.SortFunc(out, func(x, y Tally) int {
		return cmp.Or(x.Day.Compare(y.Day), cmp.Compare(x.Candidate, y.Candidate), cmp.Compare(x.Skill, y.Skill))
	})
	return slices.Values(out)
}
