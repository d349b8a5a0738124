package iar

import (
	"fmt"
	"math"
	"sync"
)

const (
	// LowResonance is the value below which resonance is low.
	LowResonance = 0.7

	lowWindow   = 5   // how many of the last records count for low resonance
	defaultKept = 256 // records
)

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
	// Invalid marks a reflection that did not pass [Validator.Content]; it is
	// counted, and its numbers are 0 and count for nothing.
	Invalid bool `cbor:"5,keyasint,omitempty" json:"invalid,omitempty"`
}

// Options of [NewTracker]. Nil and the zero value mean the defaults.
type Options struct {
	// MaxHistory is how many records are kept; 0 or less: 256. The oldest goes
	// first.
	MaxHistory int
	// History are the records to begin with, oldest first, as returned by
	// [Tracker.Entries]. A tracker that is restored so goes on as if it had
	// never stopped. Entries with numbers outside [0,1] count as invalid.
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
	h := opts.History[max(0, len(opts.History)-t.kept):]
	t.mu.entries = append(make([]Entry, 0, min(t.kept, len(h)+8)), h...)
	for i := range t.mu.entries {
		e := &t.mu.entries[i]
		if e.Invalid || !inUnit(e.Resonance) || !inUnit(e.Confidence) {
			*e = Entry{Task: e.Task, Status: e.Status, Invalid: true}
		}
	}
	return t
}

// Record adds the reflection on a task. One that does not pass
// [Validator.Content] is counted as invalid and does not enter any average.
func (t *Tracker) Record(task string, r Reflection) {
	var v *Validator
	res := v.Content(r, Context{})
	e := Entry{Task: task, Status: r.Status, Invalid: true}
	if res.Valid {
		e = Entry{Task: task, Status: r.Status, Confidence: res.Confidence, Resonance: res.Resonance}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.mu.entries); n == t.kept {
		copy(t.mu.entries, t.mu.entries[1:])
		t.mu.entries[n-1] = e
		return
	}
	t.mu.entries = append(t.mu.entries, e)
}

// Entries returns a copy of the records kept, oldest first, for
// [Options].History.
func (t *Tracker) Entries() []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Entry(nil), t.mu.entries...)
}

// Trend returns the last n resonances of valid records, oldest first: fewer if
// there are fewer, none if n is not positive.
func (t *Tracker) Trend(n int) []float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.trendLocked(n)
}

func (t *Tracker) trendLocked(n int) []float64 {
	n = max(0, min(n, len(t.mu.entries)))
	buf := make([]float64, n)
	at := n
	for i := len(t.mu.entries) - 1; i >= 0 && at > 0; i-- {
		if e := &t.mu.entries[i]; !e.Invalid {
			at--
			buf[at] = e.Resonance
		}
	}
	return buf[at:]
}

// FindingKind names what a [Tracker] found.
type FindingKind string

// The findings.
const (
	// FoundLow: one of the last 5 resonances is below [LowResonance].
	FoundLow FindingKind = "low_resonance"
	// FoundDegradation: resonance falls, by more than chance.
	FoundDegradation FindingKind = "resonance_degradation"
	// FoundAlternation: resonance goes up and down in turn, as when two ways
	// of doing something undo each other.
	FoundAlternation FindingKind = "resonance_alternation"
)

// Finding is something wrong with a run of reflections.
type Finding struct {
	Kind FindingKind
	Text string // the evidence, for a human reader
}

// Issues returns what is wrong with the recent records: low resonance if any of
// the last 5 is below 0.7, and degradation.
//
// Degradation is decided by the Mann-Kendall trend test, one-sided, over the
// last 30 records: at a level of 1/720 over 6 records, which six in strict
// decline just reach, and of 0.0003 over more. The levels are far below the
// usual 0.05 because the question is asked again after each record: asked after
// each of 50 records of a healthy stream (independent noise, standard deviation
// 0.05) it fires in under 1 % of streams, and a decline of 0.01 a record in that
// noise is found within 25 records in 99 %. A series of 3 to 5 that does nothing
// but fall, by 0.15 or more besides its largest step, counts too. One dip trips
// neither.
//
// Alternation is six records of which each is higher or lower than the one
// before, in turn, by 0.2 or more every time.
func (t *Tracker) Issues() []Finding {
	t.mu.Lock()
	defer t.mu.Unlock()
	return findings(t.trendLocked(trendWindow))
}

func findings(values []float64) []Finding {
	var fs []Finding
	low, n := math.Inf(1), 0
	for _, v := range values[max(0, len(values)-lowWindow):] {
		low = min(low, v)
		if v < LowResonance {
			n++
		}
	}
	if n > 0 {
		fs = append(fs, Finding{FoundLow, fmt.Sprintf("%d of the last %d below %.2f, the lowest %.2f", n, min(len(values), lowWindow), LowResonance, low)})
	}
	if declines(values) {
		fs = append(fs, Finding{FoundDegradation, fmt.Sprintf("falling over the last %d, from %.2f to %.2f", len(values), values[0], values[len(values)-1])})
	}
	if last := values[max(0, len(values)-turns):]; alternates(last) {
		fs = append(fs, Finding{FoundAlternation, fmt.Sprintf("up and down in turn over the last %d: %.2f", turns, last)})
	}
	return fs
}

const (
	turns     = 6   // records that alternate
	amplitude = 0.2 // by at least so much
)

// alternates reports whether values go up and down in turn.
func alternates(values []float64) bool {
	if len(values) < turns {
		return false
	}
	for i := 1; i < len(values); i++ {
		step := values[i] - values[i-1]
		if math.Abs(step) < amplitude || i > 1 && step*(values[i-1]-values[i-2]) > 0 {
			return false
		}
	}
	return true
}

// Summary is the state of a [Tracker] over the records it keeps.
type Summary struct {
	Total    int            // valid records
	Invalid  int            // records that were not valid
	Statuses map[Status]int // valid records by status
	Mean     float64        // of the resonances; 0 without records, as the next two
	Min      float64
	Last     float64
	// Trend is Kendall's tau of the last 30 resonances against time: -1 if each
	// is lower than the one before, 1 if higher, 0 without a trend.
	Trend  float64
	Issues int // how many findings [Tracker.Issues] has
}

// Summary returns counts and averages over the records kept.
func (t *Tracker) Summary() Summary {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Summary{Statuses: map[Status]int{}, Min: math.Inf(1)}
	sum := 0.0
	for i := range t.mu.entries {
		e := &t.mu.entries[i]
		if e.Invalid {
			s.Invalid++
			continue
		}
		s.Total++
		s.Statuses[e.Status]++
		sum += e.Resonance
		s.Min = min(s.Min, e.Resonance)
		s.Last = e.Resonance
	}
	if s.Total == 0 {
		s.Min = 0
		return s
	}
	s.Mean = sum / float64(s.Total)
	recent := t.trendLocked(trendWindow)
	s.Trend = tau(recent)
	s.Issues = len(findings(recent))
	return s
}
