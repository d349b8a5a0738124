// Package rollup has what is left of the events of a day: how many there were about what.
package rollup

import (
	"cmp"
	"math"
	"slices"
	"strings"

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
