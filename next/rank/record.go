package rank

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/store"
)

// Sizes of a record.
const (
	window    = 200 // samples that are kept one by one
	hours     = 25  // the last 24, and the one that has begun
	days      = 31
	kinds     = 64 // kinds of case (Task.Key) that a candidate is known by; those used last stay
	recent    = 10 // failures that are listed
	mostKnown = 95 // samples that an estimate is worth at most, so that a change is noticed
	halfLife  = 30 * 24 * time.Hour
)

// record is all that is known of a candidate at a skill: some 10 KB in the store once it is full. One that is
// published never changes.
type record struct {
	_        struct{} `cbor:",toarray"`
	Attempts int64    // ever
	Ring     []entry  // the last samples; the next one replaces that at Attempts % window
	Hours    [hours]tally
	Days     [days]tally
	Cells    []cell // by kind of case
	Recent   []failure
	All      cell    // the worth of all samples that teach something, less what their kinds of case add for all
	Err2     float64 // squared errors of predictions, and …
	Errs     float64 // … how many
	Kind2    float64 // products of two deviations at a kind of case, and …
	Kinds    float64 // … how many
	Rating   rating
}

// tally sums up attempts. Of an hour or a day it stands at its number modulo the length of the list.
type tally struct {
	_                                struct{} `cbor:",toarray"`
	N                                int32    // hours or days since 1970
	Attempts, Judged, Delivered, Ill int32
	Priced, Reported                 int32 // whose cost is known; was reported
	Wall, In, Out                    int64 // milliseconds; tokens
	USD, Estimated                   int64 // in billionths: reported; estimated where nothing was reported
}

// entry is a sample in the ring.
type entry struct {
	_          struct{} `cbor:",toarray"`
	Run, Key   uint32   // hashes of the run and of the kind of case; 0: none
	At         int64    // Unix milliseconds
	Outcome    uint8    // index in outcomes
	Estimated  bool     // USD was not reported
	Wall       int64    // milliseconds
	In, Out    int64
	Confidence int32 // in billionths, so that means of decimals are exact; -1: none
	USD        int64 // in billionths; -1: unknown
	Reward     *float64
	Common     float64 // what its kind of case was taken to add to the worth of all
}

// failure is a failure, or an outage.
type failure struct {
	Run, Class string
	At         time.Time
}

// cell is evidence: a number of samples and the sum of their worth. It fades with a half-life of 30 days.
type cell struct {
	_      struct{} `cbor:",toarray"`
	Key    uint32   // hash of the kind of case
	N, Sum float64
	Last   int64 // Unix seconds
}

const (
	billion     = 1e9
	worthOfTime = 0.02 // of an attempt, in successes per doubling of 1 + seconds …
	worthOfCost = 0.1  // … and of 1 + dollars
)

func (e *entry) is() Outcome { return outcomes[e.Outcome] }

// worth is what the sample teaches Learned, and whether it teaches anything.
func (e *entry) worth() (float64, bool) {
	if e.Reward != nil {
		return *e.Reward, e.is().judged() || e.is() == Unknown
	}
	y := -worthOfTime*math.Log2(1+float64(e.Wall)/1000) - worthOfCost*math.Log2(1+max(0, float64(e.USD))/billion)
	if e.is() == Delivered {
		y++
	}
	return y, e.is().judged()
}

// at returns the evidence as it has faded by now.
func (c *cell) at(now int64) (n, sum float64) {
	n, sum = c.N, c.Sum
	if age := now - c.Last; age > 3600 { // an hour's fading is .1 %
		f := math.Exp2(-float64(age) / halfLife.Seconds())
		n, sum = n*f, sum*f
	}
	return n, sum
}

// add takes by samples worth y each in.
func (c *cell) add(by, y float64, now int64) {
	c.N, c.Sum = c.at(now)
	c.N, c.Sum, c.Last = max(0, c.N+by), c.Sum+by*y, max(now, c.Last)
	if c.N > mostKnown {
		c.N, c.Sum = mostKnown, c.Sum*mostKnown/c.N
	}
}

// cell returns that of a kind of case, or nil.
func (r *record) cell(key uint32) *cell {
	for i := range r.Cells {
		if r.Cells[i].Key == key {
			return &r.Cells[i]
		}
	}
	return nil
}

// note adds an empty cell for a kind of case, in the place of the one used longest ago if there are too many.
func (r *record) note(key uint32) *cell {
	if len(r.Cells) < kinds {
		r.Cells = append(r.Cells, cell{Key: key})
		return &r.Cells[len(r.Cells)-1]
	}
	oldest := &r.Cells[0]
	for i := range r.Cells {
		if r.Cells[i].Last < oldest.Last {
			oldest = &r.Cells[i]
		}
	}
	*oldest = cell{Key: key}
	return oldest
}

// replace puts a sample in the place of the one of the same run, if the ring holds that.
func (r *record) replace(e *entry) bool {
	for i := range r.Ring {
		if former := r.Ring[i]; e.Run != 0 && former.Run == e.Run {
			e.At, e.Key, e.Common = former.At, former.Key, former.Common
			r.Ring[i] = *e
			r.count(&former, -1)
			r.count(e, 1)
			return true
		}
	}
	return false
}

// push adds a sample.
func (r *record) push(e *entry) {
	if len(r.Ring) < window {
		r.Ring = append(r.Ring, *e)
	} else {
		r.Ring[r.Attempts%window] = *e
	}
	r.Attempts++
	r.count(e, 1)
}

// count takes a sample into the sums, or out of them where by is -1.
func (r *record) count(e *entry, by int32) {
	if t := &r.Hours[e.At/hourMillis%hours]; t.at(int32(e.At/hourMillis), by) {
		t.count(e, by)
	}
	if t := &r.Days[e.At/dayMillis%days]; t.at(int32(e.At/dayMillis), by) {
		t.count(e, by)
	}
	y, teaches := e.worth()
	if !teaches {
		return
	}
	r.All.add(float64(by), y-e.Common, e.At/1000)
	if e.Key == 0 {
		return
	}
	c := r.cell(e.Key)
	if c == nil && by > 0 {
		c = r.note(e.Key)
	}
	if c != nil {
		c.add(float64(by), y, e.At/1000)
	}
}

// at makes the tally that of an hour or a day, and returns whether a sample of that can be counted.
func (t *tally) at(n, by int32) bool {
	if t.N < n && by > 0 {
		*t = tally{N: n}
	}
	return t.N == n
}

// count adds a sample, or takes it away where by is -1.
func (t *tally) count(e *entry, by int32) {
	t.Attempts += by
	if e.is().judged() {
		t.Judged += by
	}
	if e.is() == Delivered {
		t.Delivered += by
	}
	if e.is().ill() {
		t.Ill += by
	}
	t.Wall, t.In, t.Out = t.Wall+int64(by)*e.Wall, t.In+int64(by)*e.In, t.Out+int64(by)*e.Out
	if e.USD < 0 {
		return
	}
	t.Priced += by
	if e.Estimated {
		t.Estimated += int64(by) * e.USD
	} else {
		t.Reported, t.USD = t.Reported+by, t.USD+int64(by)*e.USD
	}
}

// add adds another tally.
func (t *tally) add(o *tally) {
	t.Attempts, t.Judged, t.Delivered, t.Ill = t.Attempts+o.Attempts, t.Judged+o.Judged, t.Delivered+o.Delivered, t.Ill+o.Ill
	t.Priced, t.Reported = t.Priced+o.Priced, t.Reported+o.Reported
	t.Wall, t.In, t.Out, t.USD, t.Estimated = t.Wall+o.Wall, t.In+o.In, t.Out+o.Out, t.USD+o.USD, t.Estimated+o.Estimated
}

const (
	hourMillis = int64(time.Hour / time.Millisecond)
	dayMillis  = 24 * hourMillis
)

// clone copies the record, so that it can be changed and dropped.
func (r *record) clone() *record {
	c := *r
	c.Ring, c.Cells, c.Recent = slices.Clone(r.Ring), slices.Clone(r.Cells), slices.Clone(r.Recent)
	return &c
}

func decode(value []byte) (*record, error) {
	r := new(record)
	if err := codec.Unmarshal(value, r); err != nil {
		return nil, err
	}
	sound := len(r.Ring) <= window && int64(len(r.Ring)) <= r.Attempts && len(r.Cells) <= kinds
	for i := range r.Ring {
		e := &r.Ring[i]
		sound = sound && e.At >= 0 && e.Outcome > 0 && int(e.Outcome) < len(outcomes)
	}
	if !sound {
		return nil, fmt.Errorf("rank: a record: %w", store.ErrDamaged)
	}
	return r, nil
}

// hash returns a hash that is the same in every process, and not 0 but for "".
func hash(s string) uint32 {
	if s == "" {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(s))
	return max(h.Sum32(), 1)
}
