package meta

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
)

// The windows of a [Fleet], both ends included.
const (
	FleetWindow  = 24 * time.Hour
	RecentWindow = time.Hour
)

// recentFailures is how many failures a worker's health names.
const recentFailures = 10

// FleetOptions configure [NewFleet]. The zero value is ready.
type FleetOptions struct {
	// Workers are those that belong to the fleet; samples of others count
	// as Outsiders. Nil: all belong to it; empty: none.
	Workers []string
	// USDPerTokenIn and USDPerTokenOut estimate the cost of samples that
	// report tokens and no cost. 0: 3e-6 and 15e-6, which is what a large
	// model's provider asks; negative: nothing.
	USDPerTokenIn, USDPerTokenOut float64
}

// Fleet is how all workers did over the last day.
type Fleet struct {
	Workers   []WorkerHealth // by name
	Outsiders []WorkerHealth // by name: who was sampled and is not of the fleet
	// MaxFailureRate is the largest FailureRate of a worker.
	MaxFailureRate float64
	// CostUSD is what all workers cost over the day.
	CostUSD float64
	// Calibration holds what Workers reported against what came of it.
	Calibration iar.Calibration
	// Orphaned are the skills, by name, that were asked for and that no worker
	// has delivered once over the day.
	Orphaned []string
}

// WorkerHealth is how a worker did over the last day.
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
	CostUSD  float64
	// CostPerSuccess is CostUSD, failures included, over Successes; 0 if
	// there are none.
	CostPerSuccess float64
	// Failures are the keys of the last ten failed samples, the latest last.
	Failures []string
	// Calibration holds what the worker reported against what came of it.
	Calibration iar.Calibration
}

// NewFleet computes the health of a fleet at a time from samples in any order:
// those that a [rank.Book] has of the last [FleetWindow],
//
//	f, err := meta.NewFleet(now, book.Samples(ctx, now.Add(-meta.FleetWindow)), nil)
//
// Samples that are older than a day or later than at are left out, and an error
// that samples yields is returned. It is a function of its arguments, and takes
// time in proportion to the samples. A book keeps the last 200 samples per worker
// and skill: of a busier pair, the figures are those of the latest 200.
func NewFleet(at time.Time, samples iter.Seq2[rank.Sample, error], opts *FleetOptions) (Fleet, error) {
	var o FleetOptions
	if opts != nil {
		o = *opts
	}
	o.fill()
	byName := make(map[string][]rank.Sample)
	for s, err := range samples {
		if err != nil {
			return Fleet{}, fmt.Errorf("meta: fleet: %w", err)
		}
		if age := at.Sub(s.At); age >= 0 && age <= FleetWindow {
			byName[s.Candidate] = append(byName[s.Candidate], s)
		}
	}
	var f Fleet
	delivered := make(map[string]bool)                      // by skill
	for _, name := range slices.Sorted(maps.Keys(byName)) { // in order: sums of floats depend on it
		ss := byName[name]
		h := o.worker(at, name, ss)
		if o.Workers != nil && !slices.Contains(o.Workers, name) {
			f.Outsiders = append(f.Outsiders, h)
			continue
		}
		f.Workers = append(f.Workers, h)
		f.MaxFailureRate = max(f.MaxFailureRate, h.FailureRate)
		for _, s := range ss {
			if !s.Unknown {
				if s.Confidence != nil {
					_ = f.Calibration.Add(*s.Confidence, s.Success) // a bad one changes nothing
				}
				delivered[s.Situation.Skill] = delivered[s.Situation.Skill] || s.Success
			}
		}
	}
	for _, hs := range [][]WorkerHealth{f.Workers, f.Outsiders} {
		slices.SortFunc(hs, func(a, b WorkerHealth) int { return cmp.Compare(a.Name, b.Name) })
	}
	for _, h := range f.Workers { // in order: sums of floats depend on it
		f.CostUSD += h.CostUSD
	}
	for skill, ok := range delivered {
		if !ok {
			f.Orphaned = append(f.Orphaned, skill)
		}
	}
	slices.Sort(f.Orphaned)
	return f, nil
}

func (o *FleetOptions) fill() {
	for _, v := range []struct {
		rate *float64
		def  float64
	}{{&o.USDPerTokenIn, 3e-6}, {&o.USDPerTokenOut, 15e-6}} {
		if *v.rate == 0 {
			*v.rate = v.def
		}
		*v.rate = max(0, *v.rate)
	}
}

// cost is what a sample cost, as reported or else as estimated.
func (o *FleetOptions) cost(s *rank.Sample) float64 {
	if s.CostUSD > 0 {
		return s.CostUSD
	}
	return float64(s.TokensIn)*o.USDPerTokenIn + float64(s.TokensOut)*o.USDPerTokenOut
}

// worker computes the health of one worker from its samples of the day.
func (o *FleetOptions) worker(at time.Time, name string, ss []rank.Sample) WorkerHealth {
	slices.SortFunc(ss, func(a, b rank.Sample) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Key, b.Key)) })
	h := WorkerHealth{Name: name, Samples: len(ss)}
	walls := make([]time.Duration, 0, len(ss))
	recent, failed := 0, 0
	for i := range ss {
		s := &ss[i]
		walls = append(walls, s.Wall)
		h.CostUSD += o.cost(s)
		if s.Unknown {
			continue
		}
		h.Known++
		lately := at.Sub(s.At) <= RecentWindow
		if lately {
			recent++
		}
		if s.Confidence != nil {
			_ = h.Calibration.Add(*s.Confidence, s.Success) // a bad one changes nothing
		}
		if s.Success {
			h.Successes++
			continue
		}
		if lately {
			failed++
		}
		h.Failures = append(h.Failures, s.Key)
	}
	h.Failures = h.Failures[max(0, len(h.Failures)-recentFailures):]
	h.SuccessRate, h.FailureRate = rate(h.Successes, h.Known), rate(failed, recent)
	if h.Successes > 0 {
		h.CostPerSuccess = h.CostUSD / float64(h.Successes)
	}
	slices.Sort(walls)
	h.P50, h.P95 = percentile(walls, 0.5), percentile(walls, 0.95)
	return h
}

func rate(n, of int) float64 { return float64(n) / float64(max(1, of)) }

// percentile returns the value at index ⌊n·p⌋ of sorted values.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(math.Floor(float64(len(sorted))*p)), len(sorted)-1)]
}
