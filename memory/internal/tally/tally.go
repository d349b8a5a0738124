// Package tally counts how often a record was shown, helped, failed and misled, over all and by
// situation, and estimates from that how likely it helps.
package tally

import (
	"slices"
	"time"

	"github.com/arc-learn/arc/store"
)

// Counts are the counters of a record as they are stored. They are immutable once a reader
// can see them.
type Counts struct {
	Helped     int         `cbor:"1,keyasint,omitempty"`
	Failed     int         `cbor:"2,keyasint,omitempty"`
	Misled     int         `cbor:"3,keyasint,omitempty"`
	Exposed    int         `cbor:"4,keyasint,omitempty"`
	LastUsed   Instant     `cbor:"5,keyasint,omitempty"`
	Said       Instant     `cbor:"6,keyasint,omitempty"` // when a near-duplicate was merged last
	Archived   bool        `cbor:"7,keyasint,omitempty"`
	Situations []Situation `cbor:"8,keyasint,omitempty"`  // the latest last
	Quiet      int         `cbor:"9,keyasint,omitempty"`  // of Failed
	Earlier    []Instant   `cbor:"10,keyasint,omitempty"` // the uses before LastUsed, in order
	Heard      []Heard     `cbor:"110,keyasint,omitempty"`

	// Rev is what they were read or written at; known if the Bank is Shared.
	Rev store.Revision `cbor:"-"`
}

// Heard is when an actor was heeded, who is kept as a hash.
type Heard struct {
	Actor uint64  `cbor:"1,keyasint,omitempty"`
	At    Instant `cbor:"2,keyasint,omitempty"`
}

// One actor is heeded once in this time, and so many are.
const (
	heedEvery = time.Hour
	maxHeard  = 32
)

// Heeds reports whether what an actor says counts at a time, and notes it. The
// host's does.
func (c *Counts) Heeds(actor string, now time.Time) bool {
	if actor == "" {
		return true
	}
	who, at := Hash(actor), InstantOf(now)
	left := make([]Heard, 0, len(c.Heard)+1) // what others can see stays
	for _, h := range c.Heard {
		if age := at - h.At; age < Instant(heedEvery.Microseconds()) && -age < Instant(heedEvery.Microseconds()) {
			left = append(left, h)
		}
	}
	again := slices.ContainsFunc(left, func(h Heard) bool { return h.Actor == who })
	if again || len(left) == maxHeard {
		return false
	}
	c.Heard = append(left, Heard{who, at})
	return true
}

// Instant is a time in microseconds since 1970, 0 for none.
type Instant int64

// InstantOf returns the instant of a time.
func InstantOf(t time.Time) Instant { return Instant(t.UnixMicro()) }

// Time returns it as a time, zero for none.
func (i Instant) Time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(i)).UTC()
}

// Situation holds the counters of one situation, which is kept as a hash.
type Situation struct {
	Hash   uint64 `cbor:"1,keyasint,omitempty"`
	Helped int    `cbor:"2,keyasint,omitempty"`
	Failed int    `cbor:"3,keyasint,omitempty"`
	Misled int    `cbor:"4,keyasint,omitempty"`
	Quiet  int    `cbor:"5,keyasint,omitempty"`
}

// How many times of use are kept: usually, and at most.
const (
	Uses     = 10
	MostUses = 256
)

// maxSituations is the number of situations that a record keeps.
const maxSituations = 32

// Hash names a situation or an actor, by FNV-1a. 0 is none.
func Hash(s string) uint64 {
	if s == "" {
		return 0
	}
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h ^= uint64(s[i])
		h *= 1099511628211
	}
	return max(h, 1)
}

// Valid reports whether they can be those of a record.
func (c *Counts) Valid() bool {
	for _, s := range c.Situations {
		if s.Helped < 0 || s.Quiet < 0 || s.Failed < s.Quiet || s.Misled < 0 {
			return false
		}
	}
	return c.Helped >= 0 && c.Quiet >= 0 && c.Failed >= c.Quiet && c.Misled >= 0 && c.Exposed >= 0 &&
		len(c.Situations) <= maxSituations && len(c.Heard) <= maxHeard &&
		len(c.Earlier) < MostUses && slices.IsSorted(c.Earlier)
}

// Zero reports whether c says nothing. A nil one does not.
func (c *Counts) Zero() bool {
	return c == nil || c.Rev == 0 && c.Situations == nil && c.Heard == nil &&
		c.Feedback()+c.Exposed == 0 && c.LastUsed|c.Said == 0 && !c.Archived
}

// Clone returns a copy to change.
func (c *Counts) Clone() *Counts {
	n := *c
	n.Situations = slices.Clone(c.Situations)
	return &n // Earlier is never changed in place
}

// Effect is what a feedback says of a record. Where it says several, the
// largest counts.
type Effect int

// The effects.
const (
	Quiet Effect = iota + 1 // failed, where nothing was named as used
	Failed
	Helped
	Misled
)

// Take adds the Effect to counters that are not shared yet, and keeps so many
// times of use.
func (c *Counts) Take(e Effect, hash uint64, now time.Time, keep int) {
	c.Add(e, hash, 1)
	if e == Helped {
		c.Used(now, keep)
	}
}

// Add counts the Effect by 1, or by -1, but not below zero, over all and in its situation. One that is not kept
// stays so for -1.
func (c *Counts) Add(e Effect, hash uint64, by int) {
	c.Exposed = max(0, c.Exposed+by)
	s := &Situation{}
	if hash != 0 && (by > 0 || slices.ContainsFunc(c.Situations, func(s Situation) bool { return s.Hash == hash })) {
		s = c.situation(hash)
	}
	count := func(all, here *int) { *all, *here = max(0, *all+by), max(0, *here+by) }
	switch e {
	case Helped:
		count(&c.Helped, &s.Helped)
	case Quiet:
		count(&c.Quiet, &s.Quiet)
		fallthrough
	case Failed:
		count(&c.Failed, &s.Failed)
		c.Quiet, s.Quiet = min(c.Quiet, c.Failed), min(s.Quiet, s.Failed) // of them
	case Misled:
		count(&c.Misled, &s.Misled)
	}
}

// Used notes that the record was used. So many times of use are kept.
func (c *Counts) Used(now time.Time, keep int) {
	c.setUses(keep, InstantOf(now))
	c.Archived = false
}

// setUses adds times of use, of which the latest are kept.
func (c *Counts) setUses(keep int, more ...Instant) {
	all := make([]Instant, 0, len(c.Earlier)+1+len(more))
	all = append(append(append(all, c.Earlier...), c.LastUsed), more...)
	all = slices.DeleteFunc(all, func(i Instant) bool { return i == 0 })
	slices.Sort(all)
	if all = all[max(0, len(all)-keep):]; len(all) == 0 {
		return
	}
	last := len(all) - 1
	c.LastUsed, c.Earlier = all[last], nil
	if last > 0 {
		c.Earlier = all[:last]
	}
}

// situation moves the situation to the end and returns it.
func (c *Counts) situation(hash uint64) *Situation {
	s := Situation{Hash: hash}
	if i := slices.IndexFunc(c.Situations, func(s Situation) bool { return s.Hash == hash }); i >= 0 {
		s = c.Situations[i]
		c.Situations = slices.Delete(c.Situations, i, i+1)
	} else if len(c.Situations) == maxSituations {
		c.Situations = slices.Delete(c.Situations, 0, 1)
	}
	c.Situations = append(c.Situations, s)
	return &c.Situations[len(c.Situations)-1]
}

// Sum returns the counters of two records that become one.
func (c *Counts) Sum(o *Counts) *Counts {
	n := c.Clone()
	n.Helped += o.Helped
	n.Failed += o.Failed
	n.Misled += o.Misled
	n.Exposed += o.Exposed
	n.Quiet += o.Quiet
	n.setUses(max(Uses, 1+len(n.Earlier), 1+len(o.Earlier)), append(slices.Clip(o.Earlier), o.LastUsed)...)
	n.Said = max(n.Said, o.Said)
	n.Archived = n.Archived && o.Archived
	n.Heard = slices.Concat(n.Heard, o.Heard)
	n.Heard = n.Heard[:min(len(n.Heard), maxHeard)]
	for _, s := range o.Situations {
		t := n.situation(s.Hash)
		t.Helped += s.Helped
		t.Failed += s.Failed
		t.Misled += s.Misled
		t.Quiet += s.Quiet
	}
	return n
}

// Feedback is how much feedback there was.
func (c *Counts) Feedback() int { return c.Helped + c.Failed + c.Misled }

// Effectiveness is the mean of a Beta posterior of what these counters say over all
// situations, 0.5 if nothing.
func Effectiveness(helped, failed, quiet, misled int) float64 {
	return posterior(flat, helped, failed, quiet, misled)
}

// unusedWeight is what an exposure counts of a failure if the record was not
// Used and others were, and quietWeight what it counts if none was named as
// used, which tells less: an executor that does not say what it used looks
// like that. Measured by simulation, see docs/benchmarks.md.
const (
	unusedWeight = 0.5
	quietWeight  = unusedWeight / 4
)

// prior is a belief before any count: its mean, and how many counts it weighs.
type prior struct{ mean, weight float64 }

// flat is the uniform Beta(1, 1): 0.5 when nothing is known.
var flat = prior{0.5, 2}

// posterior is the mean of the Beta posterior.
func posterior(p prior, helped, failed, quiet, misled int) float64 {
	h, f := float64(helped), float64(misled)+unusedWeight*float64(failed-quiet)+quietWeight*float64(quiet)
	return (p.mean*p.weight + h) / (p.weight + h + f)
}

// Effectiveness is the posterior in the situation, which backs off to that
// over all of them.
func (c *Counts) Effectiveness(hash uint64) float64 {
	overall := Effectiveness(c.Helped, c.Failed, c.Quiet, c.Misled)
	if hash == 0 {
		return overall
	}
	for _, s := range c.Situations {
		if s.Hash == hash {
			return posterior(prior{overall, flat.weight}, s.Helped, s.Failed, s.Quiet, s.Misled)
		}
	}
	return overall
}
