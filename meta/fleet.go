package meta

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
)

// The windows of a Fleet, both ends included, and how many failures a worker's
// health names.
const (
	fleetWindow    = 24 * time.Hour
	recentWindow   = time.Hour
	recentFailures = 10
)

// Fleet is how all workers did over the last 24 hours.
type Fleet struct {
	Workers   []WorkerHealth // by name
	Outsiders []WorkerHealth // by name: sampled candidates that are not of the fleet
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

// WorkerHealth is how a worker did over the last 24 hours.
type WorkerHealth struct {
	Name        string
	Samples     int // all, those of unknown outcome included
	Known       int // of known outcome
	Successes   int
	SuccessRate float64 // of Known; 0 if there are none
	// FailureRate is that of the last hour; 0 without samples.
	FailureRate float64
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

// NewFleet computes the health of a fleet from the samples that a [rank.Book] has
// of the last 24 hours:
//
//	f, err := meta.NewFleet(ctx, book, now, nil)
//
// Workers are the names that belong to the fleet: nil for all, empty for none.
// Samples later than at are left out. It takes time in proportion to the
// samples, and returns their error. A book keeps the last 200 samples per worker
// and skill: of a busier pair, P50, P95, Failures and Calibration are those of the latest
// 200, and those before count by the hour, each that ends within the time.
func NewFleet(ctx context.Context, book *rank.Book, at time.Time, workers []string) (Fleet, error) {
	since := at.Add(-fleetWindow)
	return fleetOf(book.Samples(ctx, since), book.Left(ctx, since), at, workers)
}

// fleetOf computes the health of a fleet from samples in any order, and what else there
// was by the hour.
func fleetOf(
	samples iter.Seq2[rank.Sample, error], left iter.Seq2[rank.Tally, error], at time.Time, workers []string,
) (Fleet, error) {
	byName, busy := make(map[string][]rank.Sample), make(map[string][]rank.Tally)
	for t, err := range left {
		if err != nil {
			return Fleet{}, fmt.Errorf("meta: fleet: %w", err)
		}
		if !t.From.After(at) {
			busy[t.Candidate] = append(busy[t.Candidate], t)
			byName[t.Candidate] = nil
		}
	}
	for s, err := range samples {
		if err != nil {
			return Fleet{}, fmt.Errorf("meta: fleet: %w", err)
		}
		if age := at.Sub(s.At); age >= 0 && age <= fleetWindow {
			byName[s.Candidate] = append(byName[s.Candidate], s)
		}
	}
	var f Fleet
	delivered := make(map[string]bool)                      // by skill
	for _, name := range slices.Sorted(maps.Keys(byName)) { // in order: sums of floats depend on it
		h := workerHealth(at, name, byName[name], busy[name])
		if workers != nil && !slices.Contains(workers, name) {
			f.Outsiders = append(f.Outsiders, h)
			continue
		}
		f.Workers = append(f.Workers, h)
		f.MaxFailureRate = max(f.MaxFailureRate, h.FailureRate)
		f.CostUSD += h.CostUSD
		for _, s := range byName[name] {
			if !s.Unknown {
				delivered[s.Situation.Skill] = delivered[s.Situation.Skill] || s.Success
				claim(&f.Calibration, &s)
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
	f.Orphaned = slices.Sorted(maps.Keys(delivered))
	return f, nil
}

// claim adds the confidence of a sample; a bad one changes nothing.
func claim(c *iar.Calibration, s *rank.Sample) {
	if s.Confidence != nil {
		_ = c.Add(*s.Confidence, s.Success) // the error says that it is bad
	}
}

// workerHealth computes the health of one worker from its samples of the day, and what
// else there was. It sorts the samples by their times.
func workerHealth(at time.Time, name string, ss []rank.Sample, left []rank.Tally) WorkerHealth {
	slices.SortFunc(ss, func(a, b rank.Sample) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Key, b.Key)) })
	h := WorkerHealth{Name: name, Samples: len(ss)}
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
		h.Known++
		claim(&h.Calibration, s)
		lately := at.Sub(s.At) <= recentWindow
		if lately {
			recent++
		}
		if s.Success {
			h.Successes++
			continue
		}
		if lately {
			failed++
		}
		h.Failures = append(h.Failures, *s)
	}
	for i := range left {
		t := &left[i]
		h.Samples, h.Known, h.Successes = h.Samples+t.Samples, h.Known+t.Known, h.Successes+t.Successes
		costs.Merge(&t.Costs)
		if at.Sub(t.From) < recentWindow+time.Hour {
			recent, failed = recent+t.Known, failed+t.Known-t.Successes
		}
	}
	h.Failures = slices.Clone(h.Failures[max(0, len(h.Failures)-recentFailures):])
	h.SuccessRate, h.FailureRate = rate(h.Successes, h.Known), rate(failed, recent)
	h.CostUSD = costs.USD
	h.PerSuccess = costs.PerSuccess()
	if slices.Sort(walls); len(walls) == 0 {
		return h
	}
	h.P50, h.P95 = walls[len(walls)/2], walls[min(len(walls)*95/100, len(walls)-1)]
	return h
}
