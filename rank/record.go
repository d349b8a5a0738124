package rank

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/store"
)

// Sizes of a record.
const (
	window   = 200 // samples that are kept one by one
	hours    = 25  // the last 24, and the one that has begun
	days     = 31
	kinds    = 64 // kinds of case (Task.Key) that a candidate is known by; those used last stay
	recent   = 10 // failures that are listed
	halfLife = 30 * 24 * time.Hour

	begins, prefix = "\x01\x5a", 6 // of a value: codec's version and CBOR's byte string; with its length
)

// record is all that is known of a candidate at a skill. It is packed, some 20 KB once it is full, so that a
// sample copies it once and changes a row of each table, in few of the pieces that the store has. One that is
// current never changes.
type record struct {
	head
	value []byte // as it is in the store: the head, the rows of the tables in turn, and failures as CBOR
}

// head is what a record has beside its tables. It and the rows of these are stored field by field, in the
// order that is written here.
type head struct {
	Attempts int64         // ever
	Rows     [tables]int32 // of each table
	All      evidence      // the worth of samples that teach, less what their kinds of case add for all
	Err      evidence      // squared errors of predictions
	Kind     evidence      // products of two deviations at a kind of case
	Change   float64       // standard deviations by which samples add up to be better than expected, or worse
	Rating   rating
}

// The tables of a record. A new row replaces the oldest one, and of samples that at Attempts % window.
const (
	hourTable = iota
	dayTable
	cellTable
	ringTable
	tables
)

var (
	mostRows = [tables]int{hours, days, kinds, window}
	rowBytes = [tables]int{
		binary.Size(tally{}), binary.Size(tally{}), binary.Size(cell{}), binary.Size(entry{}),
	}
	headBytes = binary.Size(head{})
)

// tally sums up attempts, those of an hour or a day in a table.
type tally struct {
	N                                int32 // hours or days since 1970
	Attempts, Judged, Delivered, Ill int32
	Priced, Reported                 int32 // whose cost is known; was reported
	Wall, In, Out                    int64 // milliseconds; tokens
	USD, Estimated                   int64 // in billionths: reported; estimated where nothing was reported
}

// entry is a sample in the ring.
type entry struct {
	Run, Key      int32   // hashes of the run and of the kind of case; 0: none
	Outcome       int32   // index in outcomes, and estimated where USD was not reported
	Wall, In, Out int32   // milliseconds; tokens
	Confidence    int32   // in billionths, so that means of decimals are exact; -1: none
	At            int64   // Unix milliseconds
	USD           int64   // in billionths; -1: unknown
	Reward        float32 // NaN: none
	Common        float32 // what its kind of case was taken to add to the worth of all; NaN: it was forgotten
}

// evidence is a number of samples and the sum of their worth. It fades with a half-life of 30 days.
type evidence struct {
	N, Sum float64
	Last   int64 // Unix seconds
}

// cell is the evidence at a kind of case.
type cell struct {
	Key int32 // hash of the kind of case
	evidence
}

// unpack reads a head or a row from the bytes of a record, which has room for it; pack writes one.
func unpack[T any](b []byte) (v T) {
	_, _ = binary.Decode(b, binary.LittleEndian, &v)
	return v
}

func pack(b []byte, v any) { _, _ = binary.Encode(b, binary.LittleEndian, v) }

// begin returns where a table begins; that of no table is where failures do.
func (r *record) begin(table int) int {
	at := prefix + headBytes
	for t := range table {
		at += int(r.Rows[t]) * rowBytes[t]
	}
	return at
}

// row returns the bytes of a row.
func (r *record) row(table, i int) []byte { return r.value[r.begin(table)+i*rowBytes[table]:] }

// index returns the row of a table that begins with a number, or -1.
func (r *record) index(table int, number int32) int {
	rows, size := r.value[r.begin(table):], rowBytes[table]
	for i := range int(r.Rows[table]) {
		if binary.LittleEndian.Uint32(rows[i*size:]) == uint32(number) {
			return i
		}
	}
	return -1
}

// rowFor returns the row of a table for a number, with which it begins: the row that there is, or else a new
// one, or else, where the table is full, the oldest one, emptied. Hours and days are as old as their number,
// kinds of case as their last use; what is not older than the given age stays, and there is no row: -1.
func (r *record) rowFor(table int, number int32, age int64) int {
	if i := r.index(table, number); i >= 0 {
		return i
	}
	size := rowBytes[table]
	if int(r.Rows[table]) < mostRows[table] {
		r.value = slices.Insert(r.value, r.begin(table+1), make([]byte, size)...)
		r.Rows[table]++
		return int(r.Rows[table]) - 1
	}
	oldest, least := -1, age
	for i := range mostRows[table] {
		row := r.row(table, i)
		last := int64(binary.LittleEndian.Uint32(row))
		if table == cellTable {
			last = int64(binary.LittleEndian.Uint64(row[rowBytes[cellTable]-8:]))
		}
		if last < least {
			oldest, least = i, last
		}
	}
	if oldest >= 0 {
		clear(r.row(table, oldest)[:size])
	}
	return oldest
}

// entry returns a sample of the ring, tally a row of hours or days.
func (r *record) entry(i int) entry        { return unpack[entry](r.row(ringTable, i)) }
func (r *record) tally(table, i int) tally { return unpack[tally](r.row(table, i)) }

// cell returns a row of kinds of case. Learned reads it twice a candidate: by hand, in a third of the time.
func (r *record) cell(i int) cell {
	row, le := r.row(cellTable, i), binary.LittleEndian
	n, sum := math.Float64frombits(le.Uint64(row[4:])), math.Float64frombits(le.Uint64(row[12:]))
	return cell{int32(le.Uint32(row)), evidence{n, sum, int64(le.Uint64(row[20:]))}}
}

// at returns the evidence at a kind of case, as it has faded by now.
func (r *record) at(key int32, now int64) (n, sum float64) {
	if i := r.index(cellTable, key); i >= 0 {
		c := r.cell(i)
		return c.at(now)
	}
	return 0, 0
}

// failures returns the last failures and outages, oldest first: Run, Class and At.
func (r *record) failures() (fs []Sample, err error) {
	if tail := r.value[r.begin(tables):]; len(tail) > 0 {
		err = codec.Unmarshal(tail, &fs)
	}
	return fs, err
}

func (r *record) fail(f Sample) error {
	fs, _ := r.failures() // decode has read them
	tail, err := codec.Marshal(append(fs, f)[max(0, len(fs)+1-recent):])
	r.value = append(r.value[:r.begin(tables)], tail...)
	return err
}

const (
	estimated   = 1 << 8
	billion     = 1e9
	worthOfTime = 0.02 // of an attempt, in successes per doubling of 1 + seconds …
	worthOfCost = 0.1  // … and of 1 + dollars
)

func (e *entry) outcome() Outcome { return outcomes[e.Outcome&^estimated] }

// worth is what the sample teaches Learned, and whether it teaches anything.
func (e *entry) worth() (float64, bool) {
	if r := float64(e.Reward); !math.IsNaN(r) {
		return r, e.outcome().judged() || e.outcome() == Unknown
	}
	usd := max(0, float64(e.USD)) / billion
	y := -worthOfTime*math.Log2(1+float64(e.Wall)/1000) - worthOfCost*math.Log2(1+usd)
	if e.outcome() == Delivered {
		y++
	}
	return y, e.outcome().judged()
}

// at returns the evidence as it has faded by now.
func (c *evidence) at(now int64) (n, sum float64) {
	n, sum = c.N, c.Sum
	if age := now - c.Last; age > 3600 { // an hour's fading is .1 %
		f := math.Exp2(-float64(age) / halfLife.Seconds())
		n, sum = n*f, sum*f
	}
	return n, sum
}

// add takes by samples worth y each in.
func (c *evidence) add(by, y float64, now int64) {
	n, sum := c.at(now)
	c.N, c.Sum, c.Last = n+by, sum+by*y, max(now, c.Last)
	if c.N <= 0 { // what is taken out was forgotten
		c.N, c.Sum = 0, 0
	}
}

// replace puts a sample in the place of the one of the same run, if the ring holds that.
func (r *record) replace(e *entry) bool {
	i := r.index(ringTable, e.Run)
	if e.Run == 0 || i < 0 {
		return false
	}
	former := r.entry(i)
	e.At, e.Key, e.Common = former.At, former.Key, former.Common
	pack(r.row(ringTable, i), e)
	r.count(&former, -1)
	r.count(e, 1)
	return true
}

func (r *record) push(e *entry) {
	if r.Rows[ringTable] < window {
		r.value = slices.Insert(r.value, r.begin(tables), make([]byte, rowBytes[ringTable])...)
		r.Rows[ringTable]++
	}
	pack(r.row(ringTable, int(r.Attempts%window)), e)
	r.Attempts++
	r.count(e, 1)
}

// count takes a sample into the sums, or out of them where by is -1.
func (r *record) count(e *entry, by int32) {
	for table, n := range [...]int64{hourTable: e.At / hourMillis, dayTable: e.At / dayMillis} {
		if i := r.rowFor(table, int32(n), n); i >= 0 {
			t := r.tally(table, i)
			t.N = int32(n)
			t.add(e.tally(), by)
			pack(r.row(table, i), &t)
		}
	}
	y, teaches := e.worth()
	if !teaches || math.IsNaN(float64(e.Common)) {
		return
	}
	r.All.add(float64(by), y-float64(e.Common), e.At/1000)
	if e.Key == 0 {
		return
	}
	if i := r.rowFor(cellTable, e.Key, int64(by)*math.MaxInt64); i >= 0 { // none is emptied to take away from
		c := r.cell(i)
		c.Key = e.Key
		c.add(float64(by), y, e.At/1000)
		pack(r.row(cellTable, i), &c)
	}
}

// tally is what the sample adds to one.
func (e *entry) tally() tally {
	t := tally{Attempts: 1, Wall: int64(e.Wall), In: int64(e.In), Out: int64(e.Out)}
	if e.outcome().judged() {
		t.Judged = 1
	}
	if e.outcome() == Delivered {
		t.Delivered = 1
	}
	if e.outcome().ill() {
		t.Ill = 1
	}
	if e.USD >= 0 && e.Outcome&estimated != 0 {
		t.Priced, t.Estimated = 1, e.USD
	} else if e.USD >= 0 {
		t.Priced, t.Reported, t.USD = 1, 1, e.USD
	}
	return t
}

// add adds another tally so many times.
func (t *tally) add(o tally, by int32) {
	t.Attempts += by * o.Attempts
	t.Judged += by * o.Judged
	t.Delivered += by * o.Delivered
	t.Ill += by * o.Ill
	t.Priced += by * o.Priced
	t.Reported += by * o.Reported
	t.Wall += int64(by) * o.Wall
	t.In += int64(by) * o.In
	t.Out += int64(by) * o.Out
	t.USD += int64(by) * o.USD
	t.Estimated += int64(by) * o.Estimated
}

const hourMillis = int64(time.Hour / time.Millisecond)
const dayMillis = 24 * hourMillis

// nothing is the record of a candidate that was never tried.
var nothing = &record{head{Rating: firstRating}, make([]byte, prefix+headBytes)}

// seal makes the value what the store holds: that of codec.Marshal of bytes, but for the length's size.
func (r *record) seal() []byte {
	copy(r.value, begins)
	binary.BigEndian.PutUint32(r.value[len(begins):], uint32(len(r.value)-prefix))
	pack(r.value[prefix:], &r.head)
	return r.value
}

// sealed returns a value that seal has completed, without what follows it; nil: it is none.
func sealed(value []byte) []byte {
	if len(value) >= prefix && string(value[:len(begins)]) == begins {
		size := prefix + uint64(binary.BigEndian.Uint32(value[len(begins):]))
		if size <= uint64(len(value)) {
			return value[:size]
		}
	}
	return nil
}

// decode reads what a store has, and keeps it; with an error the record is empty.
func decode(value []byte) (*record, error) {
	damaged, whole := fmt.Errorf("rank: a record: %w", store.ErrDamaged), sealed(value)
	if len(whole) < prefix+headBytes {
		return nothing, cmp.Or(codec.Unmarshal(value, new([]byte)), damaged)
	}
	r := &record{unpack[head](whole[prefix:]), whole}
	for t, n := range r.Rows {
		if n < 0 || int(n) > mostRows[t] || r.begin(t+1) > len(whole) {
			return nothing, damaged
		}
	}
	sound := int64(r.Rows[ringTable]) == min(r.Attempts, window)
	for i := range int(r.Rows[ringTable]) {
		e := r.entry(i)
		sound = sound && e.At >= 0 && e.Outcome&^estimated > 0 && int(e.Outcome&^estimated) < len(outcomes)
	}
	if fs, err := r.failures(); err != nil || len(fs) > recent || !sound {
		return nothing, damaged
	}
	return r, nil
}

// hash returns a hash that is the same in every process, and not 0 but for "".
func hash(s string) int32 {
	if s == "" {
		return 0
	}
	return int32(max(uint32(mix(0, s)), 1))
}
