package memory

import (
	"slices"
	"time"

	"github.com/arc-learn/arc/store"
)

// counts are the counters of a record as they are stored, under a key of their
// own. They are immutable once a reader can see them.
type counts struct {
	Helped     int         `cbor:"1,keyasint,omitempty"`
	Failed     int         `cbor:"2,keyasint,omitempty"`
	Misled     int         `cbor:"3,keyasint,omitempty"`
	Exposed    int         `cbor:"4,keyasint,omitempty"`
	LastUsed   instant     `cbor:"5,keyasint,omitempty"`
	Said       instant     `cbor:"6,keyasint,omitempty"` // when a near-duplicate was merged last
	Archived   bool        `cbor:"7,keyasint,omitempty"`
	Situations []situation `cbor:"8,keyasint,omitempty"`  // the latest last
	Quiet      int         `cbor:"9,keyasint,omitempty"`  // of Failed
	Earlier    []instant   `cbor:"10,keyasint,omitempty"` // the uses before LastUsed, in order
	Heard      []heard     `cbor:"110,keyasint,omitempty"`

	rev store.Revision // that they were read or written at; known if the Bank is Shared
}

// heard is when an actor was heeded, who is kept as a hash.
type heard struct {
	Actor uint64  `cbor:"1,keyasint,omitempty"`
	At    instant `cbor:"2,keyasint,omitempty"`
}

// One actor is heeded once in this time, and so many are.
const (
	heedEvery = time.Hour
	maxHeard  = 32
)

// heeds reports whether what an actor says counts at a time, and notes it. The
// host's does.
func (c *counts) heeds(actor string, now time.Time) bool {
	if actor == "" {
		return true
	}
	who, at := hashSituation(actor), instantOf(now)
	left := make([]heard, 0, len(c.Heard)+1) // what others can see stays
	for _, h := range c.Heard {
		if age := at - h.At; age < instant(heedEvery.Microseconds()) && -age < instant(heedEvery.Microseconds()) {
			left = append(left, h)
		}
	}
	again := slices.ContainsFunc(left, func(h heard) bool { return h.Actor == who })
	if again || len(left) == maxHeard {
		return false
	}
	c.Heard = append(left, heard{who, at})
	return true
}

// instant is a time in microseconds since 1970, 0 for none.
type instant int64

func instantOf(t time.Time) instant { return instant(t.UnixMicro()) }

func (i instant) time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(i)).UTC()
}

// situation holds the counters of one situation, which is kept as a hash.
type situation struct {
	Hash   uint64 `cbor:"1,keyasint,omitempty"`
	Helped int    `cbor:"2,keyasint,omitempty"`
	Failed int    `cbor:"3,keyasint,omitempty"`
	Misled int    `cbor:"4,keyasint,omitempty"`
	Quiet  int    `cbor:"5,keyasint,omitempty"`
}

// maxSituations is the number of situations that a record keeps.
const maxSituations = 32

// hashSituation is FNV-1a. 0 is no situation.
func hashSituation(s string) uint64 {
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

func (c *counts) valid() bool {
	for _, s := range c.Situations {
		if s.Helped < 0 || s.Quiet < 0 || s.Failed < s.Quiet || s.Misled < 0 {
			return false
		}
	}
	return c.Helped >= 0 && c.Quiet >= 0 && c.Failed >= c.Quiet && c.Misled >= 0 && c.Exposed >= 0 &&
		len(c.Situations) <= maxSituations && len(c.Heard) <= maxHeard && len(c.Earlier) < maxExact && slices.IsSorted(c.Earlier)
}

// zero reports whether c says nothing. A nil one does not.
func (c *counts) zero() bool {
	return c == nil || c.rev == 0 && c.Situations == nil && c.Heard == nil && c.feedback()+c.Exposed == 0 && c.LastUsed|c.Said == 0 && !c.Archived
}

func (c *counts) clone() *counts {
	n := *c
	n.Situations = slices.Clone(c.Situations)
	return &n // Earlier is never changed in place
}

// effect is what a feedback says of a record. Where it says several, the
// largest counts.
type effect int

const (
	quiet effect = iota + 1 // failed, where nothing was named as used
	failed
	helped
	misled
)

// take adds the effect to counters that nobody can see yet. So many times of
// use are kept.
func (c *counts) take(e effect, hash uint64, now time.Time, keep int) {
	c.add(e, hash, 1)
	if e == helped {
		c.used(now, keep)
	}
}

// add counts the effect by 1, or by -1, but not below zero, over all and in its situation.
func (c *counts) add(e effect, hash uint64, by int) {
	count := func(n *int) { *n = max(0, *n+by) }
	count(&c.Exposed)
	s := &situation{}
	if hash != 0 {
		s = c.situation(hash)
	}
	switch e {
	case helped:
		count(&c.Helped)
		count(&s.Helped)
	case quiet:
		count(&c.Quiet)
		count(&s.Quiet)
		fallthrough
	case failed:
		count(&c.Failed)
		count(&s.Failed)
	case misled:
		count(&c.Misled)
		count(&s.Misled)
	}
}

func (c *counts) used(now time.Time, keep int) {
	c.setUses(keep, instantOf(now))
	c.Archived = false
}

// setUses adds times of use, of which the latest are kept.
func (c *counts) setUses(keep int, more ...instant) {
	all := make([]instant, 0, len(c.Earlier)+1+len(more))
	all = append(append(append(all, c.Earlier...), c.LastUsed), more...)
	all = slices.DeleteFunc(all, func(i instant) bool { return i == 0 })
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
func (c *counts) situation(hash uint64) *situation {
	s := situation{Hash: hash}
	if i := slices.IndexFunc(c.Situations, func(s situation) bool { return s.Hash == hash }); i >= 0 {
		s = c.Situations[i]
		c.Situations = slices.Delete(c.Situations, i, i+1)
	} else if len(c.Situations) == maxSituations {
		c.Situations = slices.Delete(c.Situations, 0, 1)
	}
	c.Situations = append(c.Situations, s)
	return &c.Situations[len(c.Situations)-1]
}

// sum returns the counters of two records that become one.
func (c *counts) sum(o *counts) *counts {
	n := c.clone()
	n.Helped += o.Helped
	n.Failed += o.Failed
	n.Misled += o.Misled
	n.Exposed += o.Exposed
	n.Quiet += o.Quiet
	n.setUses(max(defaultUses, 1+len(n.Earlier), 1+len(o.Earlier)), append(slices.Clip(o.Earlier), o.LastUsed)...)
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

// feedback is how much feedback there was.
func (c *counts) feedback() int { return c.Helped + c.Failed + c.Misled }

func (c *counts) stats() Stats {
	return Stats{
		Helped: c.Helped, Failed: c.Failed, Quiet: c.Quiet, Misled: c.Misled, Exposed: c.Exposed, LastUsed: c.LastUsed.time(),
	}
}

// unusedWeight is what an exposure counts of a failure if the record was not
// used and others were, and quietWeight what it counts if none was named as
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

// effectiveness is the posterior in the situation, which backs off to that
// over all of them.
func (c *counts) effectiveness(hash uint64) float64 {
	overall := posterior(flat, c.Helped, c.Failed, c.Quiet, c.Misled)
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
