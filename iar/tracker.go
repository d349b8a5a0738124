package iar

import (
	"slices"
	"sync"
)

// defaultKept is the number of records that a Tracker keeps by default.
const defaultKept = 256

// Tracker keeps the resonance of recent actions. It is safe for concurrent use;
// make one by [NewTracker].
type Tracker struct {
	kept int
	mu   struct {
		sync.Mutex
		entries []Entry // oldest first, at most kept
	}
}

// Entry is one record of a [Tracker]: a plain value that can be stored.
type Entry struct {
	Task       string  `cbor:"1,keyasint,omitempty" json:"task"`
	Status     Status  `cbor:"2,keyasint,omitempty" json:"status"`
	Confidence float64 `cbor:"3,keyasint,omitempty" json:"confidence"`
	Resonance  float64 `cbor:"4,keyasint,omitempty" json:"resonance"`
	// Invalid marks a reflection that did not pass [Validator.Content]. It is
	// counted; its numbers are 0 and enter no average.
	Invalid bool `cbor:"5,keyasint,omitempty" json:"invalid,omitempty"`
}

// Options of [NewTracker]. Nil and the zero value mean the defaults.
type Options struct {
	// MaxHistory is how many records are kept; 0 or less: 256. The oldest goes
	// first.
	MaxHistory int
	// History are the records to begin with, oldest first, as returned by
	// [Tracker.Entries]: the tracker goes on as if it had never stopped. Entries
	// with numbers outside [0,1] count as invalid.
	History []Entry
}

// NewTracker returns a Tracker; opts may be nil.
func NewTracker(opts *Options) *Tracker {
	t := &Tracker{kept: defaultKept}
	if opts == nil {
		return t
	}
	if opts.MaxHistory > 0 {
		t.kept = opts.MaxHistory
	}
	t.mu.entries = slices.Clone(last(opts.History, t.kept))
	for i, e := range t.mu.entries {
		if e.Invalid || !inUnit(e.Resonance) || !inUnit(e.Confidence) {
			t.mu.entries[i] = Entry{Task: e.Task, Status: e.Status, Invalid: true}
		}
	}
	return t
}

// Record adds the reflection on a task. One that does not pass
// [Validator.Content] is counted as invalid and enters no average.
func (t *Tracker) Record(task string, r Reflection) {
	var v *Validator
	e := Entry{Task: task, Status: r.Status, Invalid: true}
	if res := v.Content(r, Context{}); res.Valid {
		e.Confidence, e.Resonance, e.Invalid = res.Confidence, res.Resonance, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.mu.entries) == t.kept {
		t.mu.entries = slices.Delete(t.mu.entries, 0, 1)
	}
	t.mu.entries = append(t.mu.entries, e)
}

// Entries returns a copy of the records kept, oldest first, for
// [Options].History.
func (t *Tracker) Entries() []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.mu.entries)
}

// Trend returns the last n resonances of valid records, oldest first: fewer if
// there are fewer, none if n is not positive.
func (t *Tracker) Trend(n int) []float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	values := make([]float64, 0, len(t.mu.entries))
	for _, e := range t.mu.entries {
		if !e.Invalid {
			values = append(values, e.Resonance)
		}
	}
	return last(values, max(0, n))
}

// Issues returns the [Findings] of the valid records.
func (t *Tracker) Issues() []Finding { return Findings(t.Trend(trendWindow)) }

// Summary counts the records that a [Tracker] keeps.
type Summary struct {
	Total    int            // valid records
	Invalid  int            // the other ones
	Statuses map[Status]int // valid records by status
	Mean     float64        // of the resonances; 0 without records
	Issues   int            // the number of findings of [Tracker.Issues]
}

// Summary returns counts and the mean over the records kept.
func (t *Tracker) Summary() Summary {
	s := Summary{Statuses: map[Status]int{}}
	values := make([]float64, 0, defaultKept)
	for _, e := range t.Entries() {
		if e.Invalid {
			s.Invalid++
			continue
		}
		s.Statuses[e.Status]++
		s.Mean += e.Resonance
		values = append(values, e.Resonance)
	}
	s.Total, s.Issues = len(values), len(Findings(values))
	s.Mean /= float64(max(1, s.Total))
	return s
}
