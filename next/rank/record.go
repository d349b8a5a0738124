package rank

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"iter"
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
	kinds     = 64  // kinds of case (Task.Key) that a candidate is known by; those used last stay
	recent    = 10  // failures that are told
	mostKnown = 100 // samples that an estimate is worth at most, so that a change is noticed …
	mostAt    = 400 // … and that of a kind of case
	halfLife  = 30 * 24 * time.Hour
	longClass = 256 // bytes of the class of a failure
)

// record is all that is known of a candidate at a skill. It is kept as it is stored, some 9 KB once it is full, since
// it is written with every attempt: rows of numbers, of which an attempt changes one each.
type record struct {
	_      struct{} `cbor:",toarray"`
	Ring   []byte   // the last samples, packed, oldest first
	Hours  []byte   // rows of tally, oldest first
	Days   []byte
	Cells  []byte // rows of cell by kind of case, the one used last first
	Recent []Failure
	Totals totals
}

// totals are the figures of a record that are not rows.
type totals struct {
	_        struct{} `cbor:",toarray"`
	Len      int64    // samples in the ring
	Attempts int64    // ever
	All      cell     // the worth of all samples that teach something
	Err2     float64  // squared errors of predictions, and …
	Errs     float64
	Loss     spreads // … by how far the kind of case was let count
	Rating   rating
}

// tally sums up an hour or a day.
type tally struct {
	n                                int64 // hours or days since 1970
	attempts, judged, delivered, ill int64
	priced, tokens                   int64 // priced: attempts whose cost is known
	usd, estimated                   int64 // in billionths: reported; estimated where nothing was reported
}

func (t *tally) fields() []*int64 {
	return []*int64{&t.n, &t.attempts, &t.judged, &t.delivered, &t.ill, &t.priced, &t.tokens, &t.usd, &t.estimated}
}

// cell is evidence: a number of samples and the sum of their worth, in billionths. It fades with a half-life of 30
// days.
type cell struct {
	_      struct{} `cbor:",toarray"`
	Key    int64    // hash of the kind of case
	N, Sum int64
	Last   int64 // Unix seconds
}

func (c *cell) fields() []*int64 { return []*int64{&c.Key, &c.N, &c.Sum, &c.Last} }

const (
	tallySize = 9 * 8
	cellSize  = 4 * 8
)

// load reads a row, and save writes it.
func load(row []byte, fields []*int64) {
	for i, f := range fields {
		*f = int64(binary.LittleEndian.Uint64(row[8*i:]))
	}
}

func save(row []byte, fields []*int64) {
	for i, f := range fields {
		binary.LittleEndian.PutUint64(row[8*i:], uint64(*f))
	}
}

func (c *cell) at(now int64) (n, sum float64) {
	n, sum = float64(c.N)/billion, float64(c.Sum)/billion
	if age := now - c.Last; age > 3600 { // an hour's fading is .1 %
		f := math.Exp2(-float64(age) / halfLife.Seconds())
		n, sum = n*f, sum*f
	}
	return n, sum
}

// add takes by samples worth y each in, and remembers most at most.
func (c *cell) add(by, y float64, now int64, most float64) {
	n, sum := c.at(now)
	n, sum, c.Last = max(0, n+by), sum+by*y, max(now, c.Last)
	if n > most {
		n, sum = most, sum*most/n
	}
	c.N, c.Sum = int64(math.Round(n*billion)), int64(math.Round(sum*billion))
}

// cell returns that of a kind of case, and where it stands; beyond the last one if there is none.
func (r *record) cell(key int64) (c cell, at int) {
	for ; key != 0 && at < len(r.Cells); at += cellSize {
		if int64(binary.LittleEndian.Uint64(r.Cells[at:])) == key {
			load(r.Cells[at:], c.fields())
			return c, at
		}
	}
	return cell{Key: key}, len(r.Cells)
}

// note adds samples to the cell of a kind of case, and puts it first.
func (r *record) note(key int64, by, y float64, now int64) {
	c, at := r.cell(key)
	if at == len(r.Cells) {
		r.Cells = append(r.Cells, make([]byte, cellSize)...)
	}
	c.add(by, y, now, mostAt)
	copy(r.Cells[cellSize:], r.Cells[:at])
	save(r.Cells, c.fields())
	r.Cells = r.Cells[:min(len(r.Cells), kinds*cellSize)]
}

// tally counts an attempt in its hour and day, or takes it out again where by is -1.
func (r *record) tally(e *entry, by int64) {
	r.Hours = count(r.Hours, e.at/hourMillis, hours, e, by)
	r.Days = count(r.Days, e.at/dayMillis, days, e, by)
}

func count(rows []byte, n int64, most int, e *entry, by int64) []byte {
	t, at := tally{n: n}, len(rows)
	for at > 0 && int64(binary.LittleEndian.Uint64(rows[at-tallySize:])) >= n {
		at -= tallySize
	}
	switch {
	case at < len(rows) && int64(binary.LittleEndian.Uint64(rows[at:])) == n:
		load(rows[at:], t.fields())
	case by < 0 || at == 0 && len(rows) == most*tallySize:
		return rows // too old
	default:
		rows = slices.Insert(rows, at, make([]byte, tallySize)...)
	}
	t.attempts += by
	t.tokens += by * (e.in + e.out)
	for _, c := range []struct {
		counts bool
		of     *int64
	}{{e.is().judged(), &t.judged}, {e.is() == Delivered, &t.delivered}, {e.is().ill(), &t.ill}, {e.usd >= 0, &t.priced}} {
		if c.counts {
			*c.of += by
		}
	}
	t.usd += by * (1 - e.estimated) * max(0, e.usd)
	t.estimated += by * e.estimated * max(0, e.usd)
	save(rows[at:], t.fields())
	return rows[max(0, len(rows)-most*tallySize):]
}

// tallies yields rows of tallies.
func tallies(rows []byte) iter.Seq[tally] {
	return func(yield func(tally) bool) {
		for ; len(rows) > 0; rows = rows[tallySize:] {
			var t tally
			if load(rows, t.fields()); !yield(t) {
				return
			}
		}
	}
}

// entry is a sample as it stands in the ring, packed to some 25 bytes.
type entry struct {
	run        uint32 // a hash; 0: none
	key        int64  // a hash of the kind of case; 0: none
	at         int64  // Unix milliseconds
	outcome    int64  // index in outcomes
	wall       int64  // milliseconds
	in, out    int64
	confidence int64 // in billionths, so that means of decimals are exact; -1: none
	usd        int64 // in billionths; -1: unknown
	estimated  int64 // 1: usd was not reported
	rewarded   int64 // 1: there is a reward
	reward     float64
}

const billion = 1e9

func (e *entry) is() Outcome { return outcomes[e.outcome] }

// cost is in US dollars, 0 where it is unknown.
func (e *entry) cost() float64 { return max(0, float64(e.usd)) / billion }

// worth is what the sample teaches Learned, and whether it teaches anything.
func (e *entry) worth() (float64, bool) {
	if e.rewarded == 1 {
		return e.reward, e.is().judged() || e.is() == Unknown
	}
	y := -worthOfTime*math.Log2(1+float64(e.wall)/1000) - worthOfCost*math.Log2(1+e.cost())
	if e.is() == Delivered {
		y++
	}
	return y, e.is().judged()
}

// head is what the packed form of an entry begins with: its length, and the hash of its run.
const head = 5

func (e *entry) fields() [10]*int64 {
	return [...]*int64{&e.key, &e.at, &e.outcome, &e.wall, &e.in, &e.out, &e.confidence, &e.usd, &e.estimated, &e.rewarded}
}

func (e *entry) pack(b []byte) []byte {
	from := len(b)
	b = binary.LittleEndian.AppendUint32(append(b, 0), e.run)
	for _, v := range e.fields() {
		b = binary.AppendVarint(b, *v)
	}
	if e.rewarded == 1 {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(e.reward))
	}
	b[from] = byte(len(b) - from)
	return b
}

// unpack reads the first entry of b, and reports whether there is a sound one.
func (e *entry) unpack(b []byte) bool {
	if len(b) < head || int(b[0]) < head || int(b[0]) > len(b) {
		return false
	}
	e.run, b = binary.LittleEndian.Uint32(b[1:]), b[head:b[0]]
	for _, v := range e.fields() {
		x, n := binary.Varint(b)
		if n <= 0 {
			return false
		}
		*v, b = x, b[n:]
	}
	if e.rewarded == 1 && len(b) == 8 {
		e.reward, b = math.Float64frombits(binary.LittleEndian.Uint64(b)), nil
	}
	return len(b) == 0 && e.outcome > 0 && e.outcome < int64(len(outcomes))
}

// entries yields the samples of the ring, oldest first.
func (r *record) entries(yield func(*entry) bool) {
	var e entry
	for b := r.Ring; e.unpack(b) && yield(&e); {
		b = b[b[0]:]
	}
}

// find returns where the sample of a run stands in the ring, and its length: 0 if there is none.
func (r *record) find(run uint32) (at, length int) {
	for at < len(r.Ring) {
		n := int(r.Ring[at])
		if binary.LittleEndian.Uint32(r.Ring[at+1:]) == run {
			return at, n
		}
		at += n
	}
	return 0, 0
}

// push appends a sample to the ring, and drops the oldest of more than 200.
func (r *record) push(e *entry) {
	r.Ring = e.pack(r.Ring)
	if r.Totals.Len++; r.Totals.Len > window {
		r.Ring = r.Ring[r.Ring[0]:]
		r.Totals.Len--
	}
}

const (
	hourMillis = int64(time.Hour / time.Millisecond)
	dayMillis  = 24 * hourMillis
)

// clone copies the record, so that it can be changed and dropped.
func (r *record) clone() *record {
	c := *r
	for _, b := range []*[]byte{&c.Ring, &c.Hours, &c.Days, &c.Cells} {
		*b = append(make([]byte, 0, len(*b)+2*tallySize), *b...)
	}
	c.Recent = slices.Clone(r.Recent)
	return &c
}

// hash returns a hash that is the same in every process, and not 0 but for "".
func hash(s string) int64 {
	if s == "" {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(s))
	return int64(max(h.Sum32(), 1))
}

func decode(value []byte) (*record, error) {
	r := new(record)
	if err := codec.Unmarshal(value, r); err != nil {
		return nil, err
	}
	n := int64(0)
	for range r.entries {
		n++
	}
	if n != r.Totals.Len || len(r.Hours)%tallySize+len(r.Days)%tallySize+len(r.Cells)%cellSize != 0 {
		return nil, fmt.Errorf("rank: a record: %w", store.ErrDamaged)
	}
	return r, nil
}
