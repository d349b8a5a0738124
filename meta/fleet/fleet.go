// Package fleet computes how the workers of an agent did over the last day, from
// the samples that a [rank.Book] has of them:
//
//	h, err := fleet.Measure(ctx, book, now, nil)
//	for _, w := range h.Workers {
//		fmt.Println(w.Name, w.Successes, "of", w.Known, w.P95, w.PerSuccess)
//	}
//
// [Health] is what all of them did, [Worker] what one did. Nothing is stored.
package fleet

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/rank"
)

// The windows of a Health, both ends included, and how many failures it names of a
// worker.
const (
	window         = 24 * time.Hour
	recentWindow   = time.Hour
	recentFailures = 10
)

// Health is how all workers did over the last 24 hours.
type Health struct {
	Workers   []Worker // by name
	Outsiders []Worker // by name: sampled candidates that are not of the fleet
	// MaxFailureRate is the largest FailureRate of a worker.
	MaxFailureRate float64
	// CostUSD is what all workers cost over the day.
	CostUSD float64
	// Orphaned are the skills, by name, that were asked for and that no worker
	// has delivered once over the day.
	Orphaned []string
	// Calibration is that of all Workers together.
	Calibration iar.Calibration
}

// Worker is how a worker did over the last 24 hours.
type Worker struct {
	Name        string
	Samples     int // all, those of unknown outcome included
	Known       int // of known outcome
	Successes   int
	SuccessRate float64 // of Known; 0 if there are none
	// FailureRate is that of the last hour, in which Recent outcomes became known; 0 without any.
	FailureRate float64
	Recent      int
	// P50 and P95 of the wall time: the sample at index ⌊n·p⌋ in order.
	P50, P95 time.Duration
	// CostUSD as reported, or else as estimated, as [rank.Costs] has it.
	CostUSD float64
	// PerSuccess is CostUSD, failures included, over Successes, with its 95 %
	// interval.
	PerSuccess rank.Price
	// Failures are the last ten samples that failed, the latest last.
	Failures []rank.Sample
	// Calibration holds the confidence that the worker reported against what
	// came of it.
	Calibration iar.Calibration
}

// Measure computes the health of a fleet from the samples that a Book has of the 24
// hours before at. Workers are the names that belong to the fleet: nil for all, empty
// for none. Later samples are left out, and those that cannot be read. Measure takes time in proportion to the
// samples, and returns their error.
//
// A Book keeps the last 200 samples per worker and skill. Of a busier pair, P50, P95,
// Failures and Calibration are those of the latest 200. The samples before these count
// by the hour, each hour that ends within the window.
func Measure(ctx context.Context, book *rank.Book, at time.Time, workers []string) (Health, error) {
	since := at.Add(-window)
	h, err := healthOf(book.Samples(ctx, since), book.Left(ctx, since), at, workers)
	if err != nil {
		return Health{}, fmt.Errorf("fleet: %w", err)
	}
	return h, nil
}

// healthOf is Measure of samples in any order, and of what else there was by the
// hour.
func healthOf(
	samples iter.Seq2[rank.Sample, error], left iter.Seq2[rank.Tally, error], at time.Time, workers []string,
) (h Health, err error) {
	byName, busy := make(map[string][]rank.Sample), make(map[string][]rank.Tally)
	for t, err := range left {
		if codec.Unreadable(err) {
			continue
		}
		if err != nil {
			return h, err
		}
		if !t.From.After(at) {
			busy[t.Candidate] = append(busy[t.Candidate], t)
			byName[t.Candidate] = nil
		}
	}
	for s, err := range samples {
		if codec.Unreadable(err) {
			continue
		}
		if err != nil {
			return h, err
		}
		if age := at.Sub(s.At); age >= 0 && age <= window {
			byName[s.Candidate] = append(byName[s.Candidate], s)
		}
	}
	delivered := make(map[string]bool)                      // by skill
	for _, name := range slices.Sorted(maps.Keys(byName)) { // in order: sums of floats depend on it
		w := workerOf(at, name, byName[name], busy[name])
		if workers != nil && !slices.Contains(workers, name) {
			h.Outsiders = append(h.Outsiders, w)
			continue
		}
		h.Workers = append(h.Workers, w)
		h.MaxFailureRate = max(h.MaxFailureRate, w.FailureRate)
		h.CostUSD += w.CostUSD
		for _, s := range byName[name] {
			if !s.Unknown {
				delivered[s.Situation.Skill] = delivered[s.Situation.Skill] || s.Success
				claim(&h.Calibration, &s)
			}
		}
		for _, t := range busy[name] {
			if t.Known > 0 {
				delivered[t.Skill] = delivered[t.Skill] || t.Successes > 0
			}
		}
	}
	delete(delivered, "") // tasks that asked for none
	maps.DeleteFunc(delivered, func(_ string, ok bool) bool { return ok })
	h.Orphaned = slices.Sorted(maps.Keys(delivered))
	return h, nil
}

// claim adds the confidence of a sample; a bad one changes nothing.
func claim(c *iar.Calibration, s *rank.Sample) {
	if s.Confidence != nil {
		_ = c.Add(*s.Confidence, s.Success) // the error says that it is bad
	}
}

// workerOf is the health of one worker by its samples of the day, and what else there
// was. It sorts the samples by their times.
func workerOf(at time.Time, name string, ss []rank.Sample, left []rank.Tally) Worker {
	slices.SortFunc(ss, func(a, b rank.Sample) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Key, b.Key)) })
	w := Worker{Name: name, Samples: len(ss)}
	walls := make([]time.Duration, len(ss))
	recent, failed := 0, 0 // of the last hour
	var costs rank.Costs
	for i := range ss {
		s := &ss[i]
		walls[i] = s.Wall
		costs.Add(s)
		if s.Unknown {
			continue
		}
		w.Known++
		claim(&w.Calibration, s)
		lately := at.Sub(s.At) <= recentWindow
		if lately {
			recent++
		}
		if s.Success {
			w.Successes++
			continue
		}
		if lately {
			failed++
		}
		w.Failures = append(w.Failures, *s)
	}
	for i := range left {
		t := &left[i]
		w.Samples, w.Known, w.Successes = w.Samples+t.Samples, w.Known+t.Known, w.Successes+t.Successes
		costs.Merge(&t.Costs)
		if at.Sub(t.From) < recentWindow+time.Hour {
			recent, failed = recent+t.Known, failed+t.Known-t.Successes
		}
	}
	w.Failures = slices.Clone(w.Failures[max(0, len(w.Failures)-recentFailures):])
	w.SuccessRate, w.FailureRate, w.Recent = ratio(w.Successes, w.Known), ratio(failed, recent), recent
	w.CostUSD = costs.USD
	w.PerSuccess = costs.PerSuccess()
	if slices.Sort(walls); len(walls) == 0 {
		return w
	}
	w.P50, w.P95 = walls[len(walls)/2], walls[min(len(walls)*95/100, len(walls)-1)]
	return w
}

// ratio is n of all, 0 without any.
func ratio(n, of int) float64 { return float64(n) / float64(max(1, of)) }
