package rank

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// Stats sum up several attempts.
type Stats struct {
	Figures   // sums; CostUSD is that of the attempts that reported one, EstimateUSD that of the others; nil: none known
	Attempts  int
	Judged    int // of these, that tell about skill
	Delivered int
	Priced    int // whose cost is known
	// Confidence is the mean of what judged attempts claimed, HighConfidenceFailures how many of those that failed
	// claimed .8 or more. Only Book.Stats has them.
	Confidence             float64
	HighConfidenceFailures int
}

// Health has the figures of a candidate, or of all together, over the last 24 hours and all skills. Here an attempt
// that found its service Away or TimedOut has failed, which for its rank it has not, and other attempts that tell
// nothing about skill count only what they took. Of more than 200 attempts at a skill, the older ones count by whole
// hours, and not in the percentiles.
type Health struct {
	Stats
	P50, P95       time.Duration // of wall time
	CostPerSuccess float64       // US dollars, reported or else estimated; 0 without a success
	FailureRate1h  float64       // of all together: the highest of a candidate
	Orphaned       int           // skills with attempts and no success
	Recent         []Sample      // failures and outages: Run, Candidate, Skill, Class and At of at most 10 a skill, oldest first
}

// Known yields the candidates and skills of the scope that have samples, by candidate.
func (b *Book) Known() iter.Seq2[string, string] {
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

// Stats returns the figures of a candidate's last 200 attempts at a skill. Where outcomes are given, only of the
// attempts that ended so.
func (b *Book) Stats(candidate, skill string, only ...Outcome) Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return summaryOf(b.scope.skill(skill).record(candidate), only).stats()
}

// Day returns the figures of a candidate at a skill on a day (UTC), of today or the 30 days before. "" stands for all
// candidates, or all skills.
func (b *Book) Day(candidate, skill string, day time.Time) Stats {
	n := int32(day.UnixMilli() / dayMillis)
	b.mu.Lock()
	defer b.mu.Unlock()
	var s summary
	for name, sk := range b.scope.skills {
		for _, p := range sk.sorted {
			i := p.rec.index(dayTable, n)
			if i >= 0 && (skill == "" || skill == name) && (candidate == "" || candidate == p.candidate) {
				s.add(p.rec.tally(dayTable, i))
			}
		}
	}
	return s.stats()
}

// Health returns the figures of a candidate; "": of all candidates of the scope together.
func (b *Book) Health(candidate string) Health {
	now := b.opts.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	var names []string
	for _, sk := range b.scope.skills {
		for _, p := range sk.sorted {
			if candidate == "" || candidate == p.candidate {
				names = append(names, p.candidate)
			}
		}
	}
	var h Health
	var all span
	solved := map[string]bool{} // of the skills that had attempts
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		var s span
		for skill, sk := range b.scope.skills {
			before, r := s.tally, sk.record(name)
			if s.take(r, now.UnixMilli()); s.tried() > before.tried() {
				solved[skill] = solved[skill] || s.Delivered > before.Delivered
			}
			failures, _ := r.failures() // decode has read them
			for _, f := range failures {
				if !f.At.Before(now.Add(-24 * time.Hour)) {
					h.Recent = append(h.Recent, Sample{Run: f.Run, Candidate: name, Task: Task{Skill: skill}, Class: f.Class, At: f.At})
				}
			}
		}
		h.FailureRate1h = max(h.FailureRate1h, ratio(float64(s.ill1h), s.tried1h))
		all.add(s.tally)
		all.walls = append(all.walls, s.walls...)
	}
	slices.SortFunc(h.Recent, func(a, b Sample) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Run, b.Run)) })
	slices.Sort(all.walls)
	h.P50, h.P95 = percentile(all.walls, .5), percentile(all.walls, .95)
	h.Stats, h.CostPerSuccess = all.stats(), all.perSuccess()
	h.Attempts = all.tried()
	for _, is := range solved {
		if !is {
			h.Orphaned++
		}
	}
	return h
}

func percentile(walls []time.Duration, p float64) time.Duration {
	if len(walls) == 0 {
		return 0
	}
	return walls[min(int(float64(len(walls))*p), len(walls)-1)]
}

// summary is a tally of samples, and what they claimed.
type summary struct {
	tally
	successes, failures int // judged, with a confidence
	good, bad           int64
	high                int
}

// summaryOf sums up the ring; only: samples with these outcomes, if any are given.
func summaryOf(r *record, only []Outcome) *summary {
	s := new(summary)
	for e := range r.entries() {
		if only != nil && !slices.Contains(only, e.is()) {
			continue
		}
		s.count(e, 1)
		switch {
		case e.Confidence < 0 || !e.is().judged():
		case e.is() == Delivered:
			s.successes, s.good = s.successes+1, s.good+int64(e.Confidence)
		default:
			s.failures, s.bad = s.failures+1, s.bad+int64(e.Confidence)
			if e.Confidence >= .8*billion {
				s.high++
			}
		}
	}
	return s
}

func (s *summary) stats() Stats {
	return Stats{
		Figures:  s.figures(),
		Attempts: int(s.Attempts), Judged: int(s.Judged), Delivered: int(s.Delivered), Priced: int(s.Priced),
		Confidence:             ratio(float64(s.good+s.bad)/billion, s.successes+s.failures),
		HighConfidenceFailures: s.high,
	}
}

func (t *tally) figures() Figures {
	f := Figures{Wall: time.Duration(t.Wall) * time.Millisecond, TokensIn: int(t.In), TokensOut: int(t.Out)}
	if t.Reported > 0 {
		usd := float64(t.USD) / billion
		f.CostUSD = &usd
	}
	if t.Priced > t.Reported {
		usd := float64(t.Estimated) / billion
		f.EstimateUSD = &usd
	}
	return f
}

// mean is that of wall times.
func (t *tally) mean() time.Duration {
	return time.Duration(ratio(float64(t.Wall)*float64(time.Millisecond), int(t.Attempts)))
}

// tried is how many attempts succeeded or failed, where an outage is a failure.
func (t *tally) tried() int { return int(t.Delivered + t.Ill) }

// perSuccess is what a success cost on average, in US dollars.
func (t *tally) perSuccess() float64 {
	return ratio(float64(t.USD+t.Estimated)/billion, int(t.Delivered))
}

// span is what records come to over 24 hours.
type span struct {
	summary
	tried1h, ill1h int
	walls          []time.Duration
}

// take adds up a record's last 24 hours, ending now (Unix milliseconds): samples that are in the ring one by one, and
// what hours have beyond these.
func (s *span) take(r *record, now int64) {
	from, oldest := now-dayMillis, now
	for e := range r.entries() {
		oldest = min(oldest, e.At)
		if e.At < from || e.At > now {
			continue
		}
		s.count(e, 1)
		if e.is() != Delivered && !e.is().ill() {
			continue
		}
		s.walls = append(s.walls, time.Duration(e.Wall)*time.Millisecond)
		if e.At >= now-hourMillis {
			s.tried1h++
			if e.is().ill() {
				s.ill1h++
			}
		}
	}
	for i := range int(r.Rows[hourTable]) { // that ended before the ring began
		h := r.tally(hourTable, i)
		if begin := int64(h.N) * hourMillis; begin >= from && begin+hourMillis <= oldest {
			s.add(h)
		}
	}
}

func ratio(sum float64, n int) float64 {
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}
