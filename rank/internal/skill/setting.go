package skill

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/arc-learn/arc/rank/internal/draw"
)

// Bounds of what a model keeps by context. What was used longest ago makes
// room.
const (
	maxSettings = 1024 // of keys, per skill
	maxCells    = 64   // candidates per context
)

// settings are what happened by the id of the situation's key.
type settings struct {
	by   map[uint64]*setting
	said []said
}

// SettingOf stands for a situation's key in memory and in the store, so that
// a key that holds a secret need not be sanitized to be found again. It is 0 for no
// key.
func SettingOf(key string) uint64 {
	if key == "" {
		return 0
	}
	return draw.Hash(0, key)
}

// replace enters a setting that is new, or has changed.
func (ss *settings) replace(id uint64, s *setting) {
	ss.by[id] = s
	i := slices.IndexFunc(ss.said, func(s said) bool { return s.id == id })
	if i < 0 && s.Words != 0 {
		i, ss.said = len(ss.said), append(ss.said, said{id: id})
	}
	if i >= 0 {
		ss.said[i].words = s.Words
	}
}

func (ss *settings) evict(id uint64) {
	delete(ss.by, id)
	ss.said = slices.DeleteFunc(ss.said, func(s said) bool { return s.id == id })
}

// idlest returns the id of the setting that was used longest ago.
func (ss *settings) idlest() (id uint64) {
	used := uint64(math.MaxUint64)
	for k, s := range ss.by {
		if s.Used < used { // no two are equal: each sample has one key
			id, used = k, s.Used
		}
	}
	return id
}

// setting is what happened in the situations of one key, as it is stored. It is not
// changed once it is in a model.
type setting struct {
	Weight float64 `cbor:"1,keyasint,omitempty"` // precision of the candidates' common shift
	Moved  float64 `cbor:"2,keyasint,omitempty"` // that times their shift
	Used   uint64  `cbor:"3,keyasint,omitempty"`
	Cells  []cell  `cbor:"4,keyasint,omitempty"`
	Words  uint64  `cbor:"300,keyasint,omitempty"`
}

// cell is what a candidate did in one context, as it is stored.
type cell struct {
	Arm   int32   `cbor:"1,keyasint,omitempty"`
	Epoch uint32  `cbor:"2,keyasint,omitempty"` // of the candidate; an older cell is void
	N     float64 `cbor:"3,keyasint,omitempty"`
	Sum   float64 `cbor:"4,keyasint,omitempty"`
	// What the cell adds to the context's sums.
	Weight float64 `cbor:"5,keyasint,omitempty"`
	Moved  float64 `cbor:"6,keyasint,omitempty"`
	Used   uint64  `cbor:"7,keyasint,omitempty"` // when, in samples of the skill
}

func (s *setting) sound(arms int) bool {
	ok := len(s.Cells) <= maxCells && sane(s.Weight, s.Moved)
	for _, x := range s.Cells {
		ok = ok && x.Arm >= 0 && int(x.Arm) < arms && summed(x.N, x.Sum) && sane(x.Weight, x.Moved)
	}
	return ok
}

func (s *setting) find(arm int32) *cell {
	for i := range s.Cells {
		if s.Cells[i].Arm == arm {
			return &s.Cells[i]
		}
	}
	return nil
}

// with returns the setting with a sample of the candidate i added; s may be nil.
func (s *setting) with(h *head, i int32, a *arm, worth float64, words uint64) *setting {
	out := &setting{Used: h.seen, Words: words}
	if s != nil {
		out.Weight, out.Moved, out.Words = s.Weight, s.Moved, cmp.Or(words, s.Words)
		out.Cells = slices.Grow(out.Cells, len(s.Cells)+1)
		out.Cells = append(out.Cells, s.Cells...)
	}
	x := out.find(i)
	if x == nil {
		x = out.room()
		x.Arm = i
	}
	out.Weight -= x.Weight
	out.Moved -= x.Moved
	if x.Epoch != a.epoch {
		*x = cell{Arm: i, Epoch: a.epoch}
	}
	x.N++
	x.Sum += worth
	x.Used = h.seen
	mean, _ := a.posterior(h, h.mean, 0)
	x.Weight = 1 / (h.context2[byKey] + h.noise2/x.N)
	x.Moved = x.Weight * (x.Sum/x.N - mean)
	out.Weight += x.Weight
	out.Moved += x.Moved
	return out
}

// room returns an empty cell, that of the candidate used longest ago if the
// setting is full.
func (s *setting) room() *cell {
	if len(s.Cells) < maxCells {
		s.Cells = append(s.Cells, cell{})
		return &s.Cells[len(s.Cells)-1]
	}
	x := &s.Cells[0]
	for i := range s.Cells {
		if s.Cells[i].Used < x.Used {
			x = &s.Cells[i]
		}
	}
	s.Weight -= x.Weight
	s.Moved -= x.Moved
	*x = cell{}
	return x
}

// What keys of like words say of one another.
const (
	mostKeys = 4 // that speak for another
	mostLike = 2 // samples that those there weigh, together

	leastWords = 3   // that both have …
	leastAlike = 0.5 // … and their share of the words of both …
	mostWords  = 40  // … which beyond this are too many to tell apart by bits
)

// said are the words of a setting's key.
type said struct{ id, words uint64 }

// like is a setting of another key whose words are much the same.
type like struct {
	*setting
	share float64
}

// likes returns the settings of the keys whose words are most like these.
func (ss *settings) likes(id, words uint64) (out []like) {
	for _, s := range ss.said {
		if share := alike(words, s.words); share > 0 && s.id != id {
			out = append(out, like{ss.by[s.id], share})
		}
	}
	slices.SortFunc(out, func(a, b like) int { // no two were used at once
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(b.Used, a.Used))
	})
	return out[:min(len(out), mostKeys)]
}

// alike is the share of words that both have, 0 where it says nothing.
func alike(v, w uint64) float64 {
	both, all := bits.OnesCount64(v&w), bits.OnesCount64(v|w)
	share := float64(both) / float64(max(1, all))
	if both < leastWords || share < leastAlike || all > mostWords {
		return 0
	}
	return share
}

// hearsay is what a candidate did where much the same was said, in samples.
func hearsay(likes []like, i int32, a *arm) (n, sum float64) {
	for _, l := range likes {
		if c := l.find(i); c != nil && c.Epoch == a.epoch {
			n += l.share * c.N
			sum += l.share * c.Sum
		}
	}
	if n > mostLike {
		n, sum = mostLike, sum*mostLike/n
	}
	return n, sum
}
