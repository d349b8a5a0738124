package rank

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Stats are the figures of one candidate and skill over its last [Window] samples. Means over no samples
// are zero.
type Stats struct {
	Samples   int // in the window
	Known     int // of known outcome
	Successes int

	SuccessRate float64 // of Known

	Confident           int     // samples of known outcome with a confidence
	Confidence          float64 // mean over Confident
	ConfidenceOnSuccess float64
	ConfidenceOnFailure float64
	// HighConfidenceFailures counts failures that reported HighConfidence or more.
	HighConfidenceFailures int

	// Means over Samples. What an attempt did not report counts as zero.
	Wall                time.Duration
	CostUSD             float64
	TokensIn, TokensOut float64
}

// Stats returns the figures of a candidate for a skill; all zero if it has no samples. The time does not
// depend on their number.
func (b *Book) Stats(ctx context.Context, candidate, skill string) (Stats, error) {
	m, err := b.ready(ctx, candidate)
	if err != nil {
		return Stats{}, fmt.Errorf("stats of %q: %w", candidate, err)
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	w := m.windows[skill]
	if w == nil {
		return Stats{}, nil
	}
	s := &w.sums
	return Stats{
		Samples:                int(s.samples),
		Known:                  int(s.known),
		Successes:              int(s.successes),
		SuccessRate:            mean(float64(s.successes), s.known),
		Confident:              int(s.confident),
		Confidence:             mean(s.confidence.float(), s.confident),
		ConfidenceOnSuccess:    mean(s.confidenceSuccess.float(), s.confidentSuccesses),
		ConfidenceOnFailure:    mean(s.confidenceFailure.float(), s.confident-s.confidentSuccesses),
		HighConfidenceFailures: int(s.highFailures),
		Wall:                   time.Duration(mean(float64(s.wall), s.samples)),
		CostUSD:                mean(s.cost.float(), s.samples),
		TokensIn:               mean(float64(s.in), s.samples),
		TokensOut:              mean(float64(s.out), s.samples),
	}, nil
}

// Claims are the Stats of a candidate for a skill: the confidence that it reported, and the outcomes.
type Claims struct {
	Candidate, Skill string
	Stats
}

// Claims returns the Stats of all candidates, in order of candidate and skill. It reads
// all samples, as [Book.Samples] does, and leaves out those that it cannot read.
func (b *Book) Claims(ctx context.Context) (out []Claims, err error) {
	for s, err := range readable(b, b.Samples(ctx, time.Time{})) {
		if err != nil {
			return nil, err
		}
		n := len(out)
		if n > 0 && out[n-1].Candidate == s.Candidate && out[n-1].Skill == s.Situation.Skill {
			continue
		}
		c := Claims{Candidate: s.Candidate, Skill: s.Situation.Skill}
		if c.Stats, err = b.Stats(ctx, c.Candidate, c.Skill); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// Health has the figures of a candidate over the last [Day], over all skills. An attempt that [Window]
// others have followed counts with its whole hour, if that ends within the Day.
type Health struct {
	Known       int     // samples of known outcome
	Successes   int     // of these
	SuccessRate float64 // of Known; 1 if there are none
	CostUSD     float64 // of all samples, as [Costs] has it
	// CostPerSuccess is CostUSD over Successes, in US dollars; zero without successes.
	CostPerSuccess float64
}

// Health returns the figures of the candidate over the last Day, both ends included.
func (b *Book) Health(ctx context.Context, candidate string) (h Health, err error) {
	m, err := b.ready(ctx, candidate)
	if err == nil {
		h, err = b.health(ctx, candidate, m, b.opts.Now().UnixNano())
	}
	if err != nil {
		return Health{}, fmt.Errorf("health of %q: %w", candidate, err)
	}
	return h, nil
}

// health returns the figures of the Day before now; m may be nil. It reads samples that are not in memory
// window by window: all of them may be more than memory holds.
func (b *Book) health(ctx context.Context, candidate string, m *member, now int64) (Health, error) {
	var sum recent
	since := now - int64(Day)
	b.mu.RLock()
	awake := m.awake(since)
	if awake && m != nil {
		for _, w := range m.windows {
			sum.add(w, since, now)
		}
	}
	b.mu.RUnlock()
	if awake {
		return sum.health(), nil
	}
	if err := b.take(ctx); err != nil {
		return Health{}, err
	}
	defer b.give()
	for {
		m, err := b.load(ctx, candidate) // as it is by now
		if err != nil {
			return Health{}, err
		}
		if sum, err = b.woken(ctx, candidate, m, since, now); err == nil {
			return sum.health(), nil
		}
		if err = b.reread(ctx, candidate, err); err != nil {
			return Health{}, err
		}
	}
}

// woken sums up the samples of a member since then and until now, and wakes its windows. The caller has the turn.
func (b *Book) woken(ctx context.Context, candidate string, m *member, since, now int64) (sum recent, err error) {
	for skill, w := range m.windows {
		if err := b.wake(ctx, candidate, skill, w, since); err != nil {
			return sum, err
		}
		sum.add(w, since, now)
	}
	return sum, nil
}

// awake reports whether the samples since then are in memory; m may be nil.
func (m *member) awake(since int64) bool {
	if m == nil {
		return true
	}
	for _, w := range m.windows {
		if !w.awake(since) {
			return false
		}
	}
	return true
}

// recent sums up the samples since a time.
type recent struct {
	known, successes int64
	usd              fixed
}

// add adds the samples of a window since then and until now: those in memory, and the hours of those that
// have left it.
func (r *recent) add(w *window, since, now int64) {
	if w.latest < since {
		return
	}
	for i := range w.left {
		if h := &w.left[i]; h.hour >= hourOf(since) && h.hour <= hourOf(now) {
			r.known, r.successes = r.known+h.Known, r.successes+h.Successes
			r.usd.add(h.SuccessUSD[0]+h.FailureUSD[0], +1)
		}
	}
	for i := range w.ring {
		e := &w.ring[i]
		if e.at < since || e.at > now {
			continue
		}
		r.usd.add(charge(e.cost, e.api, int(e.in), int(e.out)), +1)
		if e.outcome != unknown {
			r.known++
		}
		if e.outcome == success {
			r.successes++
		}
	}
}

func (r *recent) health() Health {
	h := Health{Known: int(r.known), Successes: int(r.successes), SuccessRate: 1, CostUSD: r.usd.float()}
	h.CostPerSuccess = mean(h.CostUSD, r.successes)
	if r.known > 0 {
		h.SuccessRate = float64(r.successes) / float64(r.known)
	}
	return h
}

// Samples yields the samples of all candidates and skills in the windows that ended at since or later, in
// order of candidate and skill, those of one pair in no order; with the zero time, all of them. It writes what is
// pending and reads the store: the time is proportional to all that the Book keeps. It yields the errors of the
// store and store.ErrClosed, and then ends. A sample that cannot be read is an error too, after which the others
// follow.
func (b *Book) Samples(ctx context.Context, since time.Time) iter.Seq2[Sample, error] {
	return scanned(ctx, b, "slot", decodeSample, func(s *Sample) bool { return !s.At.Before(since) })
}

// scanned yields the entries below a part of the Book's keys that keep accepts.
func scanned[T any](
	ctx context.Context, b *Book, part string,
	decode func(e store.Entry, prefix string) (T, error), keep func(*T) bool,
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		_, err := b.member("") // an error says that the Book is closed
		if err == nil {
			err = b.w.Flush(ctx)
		}
		if err != nil {
			yield(none, fmt.Errorf("samples: %w", err))
			return
		}
		prefix := key.Prefix(b.space, part)
		for e, err := range b.st.Scan(ctx, store.Range{Prefix: prefix}) {
			t := none
			if err == nil {
				t, err = decode(e, prefix)
			}
			switch {
			case err != nil:
				if !yield(none, fmt.Errorf("samples: %w", err)) || !codec.Unreadable(err) {
					return
				}
			case keep(&t) && !yield(t, nil):
				return
			}
		}
	}
}

// readable is all without what cannot be read, which it tells of.
func readable[T any](b *Book, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for t, err := range all {
			if codec.Unreadable(err) {
				b.opts.Damaged(err)
			} else if !yield(t, err) {
				return
			}
		}
	}
}

// Left yields, by the hour, the attempts that have left the windows because [Window] others followed them,
// in order of candidate and skill: all hours that end after since. It writes what is pending and reads the
// store. Its errors are those of [Book.Samples].
func (b *Book) Left(ctx context.Context, since time.Time) iter.Seq2[Tally, error] {
	return scanned(ctx, b, "left", decodeTally, func(t *Tally) bool { return t.From.Add(time.Hour).After(since) })
}

// Daily returns the tallies of all attempts, failures included, by candidate, skill and day (UTC), from the
// day of since on. It reads all samples, as [Book.Samples] does, and leaves out those that it cannot read.
func (b *Book) Daily(ctx context.Context, since time.Time) ([]Tally, error) {
	type of struct {
		candidate, skill string
		day              int64
	}
	since = since.UTC().Truncate(Day)
	days := make(map[of]*Tally)
	at := func(candidate, skill string, at time.Time) *Tally {
		day := at.Truncate(Day)
		k := of{candidate, skill, day.Unix()}
		if days[k] == nil {
			days[k] = &Tally{Candidate: candidate, Skill: skill, From: day}
		}
		return days[k]
	}
	for s, err := range readable(b, b.Samples(ctx, since)) {
		if err != nil {
			return nil, err
		}
		at(s.Candidate, s.Situation.Skill, s.At).add(&s)
	}
	for t, err := range readable(b, b.Left(ctx, since)) {
		if err != nil {
			return nil, err
		}
		at(t.Candidate, t.Skill, t.From).merge(&t)
	}
	out := make([]Tally, 0, len(days))
	for _, t := range days {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(x, y Tally) int {
		return cmp.Or(cmp.Compare(x.Candidate, y.Candidate), cmp.Compare(x.Skill, y.Skill), x.From.Compare(y.From))
	})
	return out, nil
}

// Price sets the Price of each candidate by its samples in the windows of a skill. It reads all samples, as
// [Book.Samples] does, and leaves out those that it cannot read.
func (b *Book) Price(ctx context.Context, skill string, ss []Scored) error {
	spent := make(map[string]Costs)
	for s, err := range readable(b, b.Samples(ctx, time.Time{})) {
		if err != nil {
			return err
		}
		if s.Situation.Skill == skill {
			c := spent[s.Candidate]
			c.Add(&s)
			spent[s.Candidate] = c
		}
	}
	for i := range ss {
		if c := spent[ss[i].Candidate.Name]; c.USD > 0 {
			p := c.PerSuccess()
			ss[i].Price = &p
		}
	}
	return nil
}
