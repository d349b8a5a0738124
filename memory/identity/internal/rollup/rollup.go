// Package rollup has what is left of the events of a day: how many there were about what.
package rollup

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory/identity/internal/lists"
)

// Limits of a day.
const (
	maxMarks  = 4096 // marks of its events that are remembered
	maxTopics = 80   // things that it counts one by one
)

// Day is what is left of a day's events. Others are those beyond the things that it
// counts one by one. Marks are the latest by which its events are known again.
type Day struct {
	Counts []Count  `json:"counts,omitempty" cbor:"1,keyasint"`
	Others int      `json:"others,omitempty" cbor:"2,keyasint,omitempty"`
	Marks  []string `json:"marks,omitempty" cbor:"-"`
}

// Count is how often there were events about the same. More is their weight beyond N.
type Count struct {
	Kind     string  `json:"type,omitempty" cbor:"1,keyasint,omitempty"`
	Host     string  `json:"host,omitempty" cbor:"2,keyasint,omitempty"`
	Topic    string  `json:"topic,omitempty" cbor:"3,keyasint,omitempty"`
	Category string  `json:"category,omitempty" cbor:"4,keyasint,omitempty"`
	N        int     `json:"n" cbor:"5,keyasint"`
	More     float64 `json:"more,omitempty" cbor:"130,keyasint,omitempty"`
}

// What an event weighs by how long it lasted, in minutes: a look at a page says little, and
// an open tab no more than a visit that was read.
const (
	least = 0.2
	most  = 3
)

// More is what an event of a length counts beyond one; 0: the length is not known.
func More(dwell time.Duration) float64 {
	if dwell <= 0 {
		return 0
	}
	return Round(min(max(dwell.Minutes(), least), most) - 1)
}

// Dated is a day with its date, as documents have it.
type Dated struct {
	Date string `json:"day"`
	Day
}

// Read reads the day of a document; whole: it has left out no counts, which no events have,
// nor the day, for which it has no date.
func Read(raw json.RawMessage) (date string, d *Day, whole bool) {
	var r Dated
	if json.Unmarshal(raw, &r) != nil || TimeOf(r.Date).IsZero() {
		return "", nil, false
	}
	d, whole = &Day{Others: max(r.Others, 0), Marks: r.Marks}, true
	d.Marks = slices.DeleteFunc(d.Marks, func(m string) bool { return key.CheckID("", m) != nil })
	whole = len(d.Marks) == len(r.Marks)
	for _, c := range r.Counts {
		if !c.possible() {
			whole = false
			continue
		}
		c.N = min(c.N, math.MaxInt32)
		c.More = min(max(c.More, -float64(c.N)), most*float64(c.N))
		d.Add(c)
	}
	return r.Date, d, whole
}

// possible reports whether there can be events like those that are counted.
func (c *Count) possible() bool {
	name := func(s string, n int) bool { return len(s) <= n && key.CheckID("", s) == nil }
	return c.N > 0 && name(c.Kind, 64) && name(c.Host, 253) && name(c.Category, 64) &&
		len(c.Topic) <= key.MaxID && (c.Topic == "" || !fence.Blank(c.Topic))
}

// TimeOf is when a day begins, the zero time for what is no date of the years from 1 on.
func TimeOf(date string) time.Time {
	at, _ := time.Parse(time.DateOnly, date)
	if at.Year() < 1 {
		return time.Time{}
	}
	return at
}

// byThing orders counts by what they are of.
func byThing(c, o Count) int {
	return cmp.Or(cmp.Compare(c.Kind, o.Kind), cmp.Compare(c.Host, o.Host),
		cmp.Compare(c.Topic, o.Topic), cmp.Compare(c.Category, o.Category))
}

// Clone returns a copy to change.
func (d *Day) Clone() *Day {
	return &Day{slices.Clone(d.Counts), d.Others, slices.Clone(d.Marks)}
}

// counted returns the count of the same things as c, nil if there is none.
func (d *Day) counted(c Count) *Count {
	if i := slices.IndexFunc(d.Counts, func(o Count) bool { return byThing(c, o) == 0 }); i >= 0 {
		return &d.Counts[i]
	}
	return nil
}

// Add counts events.
func (d *Day) Add(c Count) {
	switch o := d.counted(c); {
	case o != nil:
		o.N, o.More = o.N+c.N, Round(o.More+c.More)
	case len(d.Counts) >= maxTopics:
		d.Others += c.N
	default:
		d.Counts = append(d.Counts, c)
		slices.SortFunc(d.Counts, byThing)
	}
}

// Mark remembers the mark of an event.
func (d *Day) Mark(mark string) { d.Marks = lists.Latest(append(d.Marks, mark), maxMarks) }

// Merge takes the larger of each two counts: they may be of the same events.
func (d *Day) Merge(o *Day) {
	*d = *d.Clone()
	d.Others = max(d.Others, o.Others)
	d.Marks = lists.Latest(lists.Once(slices.Concat(d.Marks, o.Marks), strings.Compare), maxMarks)
	for _, c := range o.Counts {
		if had := d.counted(c); had == nil {
			d.Add(c)
		} else if c.N > had.N || c.N == had.N && c.More > had.More {
			*had = c
		}
	}
}

// Round takes away what adding tenths in binary leaves behind.
func Round(v float64) float64 { return math.Round(v*1e12) / 1e12 }
