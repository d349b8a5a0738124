package iar

import (
	"slices"
	"sync"
)

// kept is the number of records that a Tracker keeps.
const kept = 256

// Tracker keeps the resonance of the last 256 actions. It is safe for
// concurrent use; make one by [NewTracker].
type Tracker struct {
	mu struct {
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

// NewTracker returns a Tracker that begins with the last 256 records of a
// history, oldest first, as returned by [Tracker.Entries]: it goes on as if it had
// never stopped. Entries with numbers outside [0,1] count as invalid. A nil
// history is an empty one.
func NewTracker(history []Entry) *Tracker {
	t := &Tracker{}
	t.mu.entries = slices.Clone(last(history, kept))
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
	t.mu.entries = append(t.mu.entries[max(0, len(t.mu.entries)+1-kept):], e)
}

// Entries returns a copy of the records kept, oldest first, for [NewTracker].
func (t *Tracker) Entries() []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.mu.entries)
}

// Trend returns the last n resonances of valid records, oldest first: fewer if
// there are fewer, none if n is not positive.
func (t *Tracker) Trend(n int) []float64 { return last(resonances(t.Entries()), max(0, n)) }

func resonances(entries []Entry) []float64 {
	values := make([]float64, 0, len(entries))
	for _, e := range entries {
		if !e.Invalid {
			values = append(values, e.Resonance)
		}
	}
	return values
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
	entries := t.Entries()
	values := resonances(entries)
	s := Summary{
		Total: len(values), Invalid: len(entries) - len(values),
		Statuses: map[Status]int{}, Issues: len(Findings(values)),
	}
	for _, e := range entries {
		if !e.Invalid {
			s.Statuses[e.Status]++
			s.Mean += e.Resonance / float64(s.Total)
		}
	}
	return s
}
