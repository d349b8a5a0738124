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
	usd                         float64
	walls                       []time.Duration
}

const day = 24 * time.Hour

// sum adds up the last 24 hours, ending now (Unix milliseconds): samples that are in the ring one by one, and what
// hours have beyond these.
func sum(ps []*pair, now int64) (s sums) {
	from := now - day.Milliseconds()
	for _, p := range ps {
		oldest := now
		for e := range p.rec.entries {
			oldest = min(oldest, e.at)
			if e.at >= from && e.at <= now {
				s.add(e, now)
			}
		}
		for h := range tallies(p.rec.Hours) { // that ended before the ring began
			if begin := h.n * hourMillis; begin >= from && begin+hourMillis <= oldest {
				s.attempts += int(h.delivered + h.ill)
				s.judged, s.delivered = s.judged+int(h.judged), s.delivered+int(h.delivered)
				s.usd += float64(h.usd+h.estimated) / billion
			}
		}
	}
	return s
}

func (s *sums) add(e *entry, now int64) {
	s.usd += e.cost()
	if e.is().judged() {
		s.judged++
	}
	if e.is() == Delivered {
		s.delivered++
	} else if !e.is().ill() {
		return
	}
	s.attempts++
	s.walls = append(s.walls, time.Duration(e.wall)*time.Millisecond)
	if e.at >= now-hourMillis {
		s.attempts1h++
		if e.is().ill() {
			s.ill1h++
		}
	}
}

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
	b.mu.RLock()
	defer b.mu.RUnlock()
	var f Fleet
	sc := b.scopes[b.scope]
	if sc == nil {
		sc = &scope{}
	}
	if names == nil {
		for name := range sc.candidates {
			names = append(names, name)
		}
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	tried, solved := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		ps := sc.candidates[name]
		s := sum(ps, now.UnixMilli())
		for _, p := range ps {
			if one := sum([]*pair{p}, now.UnixMilli()); one.attempts > 0 {
				tried[p.skill] = true
				solved[p.skill] = solved[p.skill] || one.delivered > 0
			}
		}
		slices.Sort(s.walls)
		h := Health{
			Candidate: name, Attempts: s.attempts, Success: ratio(float64(s.delivered), s.attempts),
			P50: percentile(s.walls, .5), P95: percentile(s.walls, .95),
			CostUSD: s.usd, CostPerSuccess: ratio(s.usd, s.delivered), FailureRate1h: ratio(float64(s.ill1h), s.attempts1h),
		}
		for _, p := range ps {
			for _, x := range p.rec.Recent {
				if !x.At.Before(now.Add(-day)) {
					h.Recent = append(h.Recent, x)
				}
			}
		}
		slices.SortStableFunc(h.Recent, func(a, b Failure) int { return a.At.Compare(b.At) })
		f.Candidates = append(f.Candidates, h)
		f.MaxFailureRate1h, f.CostUSD = max(f.MaxFailureRate1h, h.FailureRate1h), f.CostUSD+h.CostUSD
	}
	for skill := range tried {
		if !solved[skill] {
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
	b.mu.RLock()
	var out []Tally
	first := since.UnixMilli() / dayMillis
	if sc := b.scopes[b.scope]; sc != nil {
		for _, ps := range sc.candidates {
			for _, p := range ps {
				for t := range tallies(p.rec.Days) {
					if t.n >= first {
						out = append(out, Tally{
							Day: time.UnixMilli(t.n * dayMillis).UTC(), Candidate: p.candidate, Skill: p.skill, Attempts: int(t.attempts),
							Delivered: int(t.delivered), Priced: int(t.priced), CostUSD: float64(t.usd) / billion, EstimateUSD: float64(t.estimated) / billion,
							Tokens: int(t.tokens),
						})
					}
				}
			}
		}
	}
	b.mu.RUnlock()
	slices.SortFunc(out, func(x, y Tally) int {
		return cmp.Or(x.Day.Compare(y.Day), cmp.Compare(x.Candidate, y.Candidate), cmp.Compare(x.Skill, y.Skill))
	})
	return slices.Values(out)
}
