package rank

import (
	"errors"
	"math"
	"strconv"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// The keys of a model, next to those of the book's samples:
//
//	rank head <skill>
//	rank arm <skill> <candidate>
//	rank setting <skill> <id of the situation's key>
//	rank point <skill> <slot>
//	rank axes <skill>

type headRecord struct {
	Seen     uint64    `cbor:"1,keyasint,omitempty"`
	N        float64   `cbor:"2,keyasint,omitempty"`
	Lo       float64   `cbor:"3,keyasint,omitempty"`
	Hi       float64   `cbor:"4,keyasint,omitempty"`
	Rewarded bool      `cbor:"5,keyasint,omitempty"`
	Sum2     float64   `cbor:"6,keyasint,omitempty"`
	N2       float64   `cbor:"7,keyasint,omitempty"`
	Mean     float64   `cbor:"8,keyasint,omitempty"`
	Spread2  float64   `cbor:"9,keyasint,omitempty"`
	Loss     []float64 `cbor:"10,keyasint,omitempty"`
	Transfer []float64 `cbor:"11,keyasint,omitempty"` // n and sum of both kinds of meetings, both losses
}

type armRecord struct {
	Index int32     `cbor:"1,keyasint,omitempty"`
	Epoch uint32    `cbor:"2,keyasint,omitempty"`
	N     float64   `cbor:"3,keyasint,omitempty"`
	Sum   float64   `cbor:"4,keyasint,omitempty"`
	Up    []float64 `cbor:"5,keyasint,omitempty"` // drift, n, sum
	Down  []float64 `cbor:"6,keyasint,omitempty"`

	Proven bool      `cbor:"7,keyasint,omitempty"`
	Rating []float64 `cbor:"75,keyasint,omitempty"` // at, variance, n, usd, sec
}

func (h *head) record(r *headRecord) {
	*r = headRecord{
		Seen: h.seen, N: h.n, Lo: h.lo, Hi: h.hi, Rewarded: h.rewarded,
		Sum2: h.sum2, N2: h.n2, Mean: h.mean, Spread2: h.spread2,
		Loss: r.Loss[:0], Transfer: r.Transfer[:0],
	}
	for k := range h.loss {
		r.Loss = append(r.Loss, h.loss[k][:]...)
	}
	t := &h.transfer
	r.Transfer = append(r.Transfer, t.first[0].n, t.first[0].sum, t.first[1].n, t.first[1].sum, t.loss[0], t.loss[1])
}

func (r *headRecord) head() (head, bool) {
	h := head{
		seen: r.Seen, n: r.N, lo: r.Lo, hi: r.Hi, rewarded: r.Rewarded,
		sum2: r.Sum2, n2: r.N2, mean: r.Mean, spread2: r.Spread2,
	}
	if len(r.Loss) != kinds*len(spreads) || !(r.N >= 0 && r.Sum2 >= 0 && r.N2 >= 0 && r.Spread2 >= 1e-36) ||
		!sane(r.N, r.Lo, r.Hi, r.Sum2, r.N2, r.Mean, r.Spread2) || !sane(r.Loss...) ||
		!(math.Abs(r.Lo) <= MaxReward && math.Abs(r.Hi) <= MaxReward) {
		return head{}, false
	}
	for i, l := range r.Loss {
		h.loss[i/len(spreads)][i%len(spreads)] = l
	}
	if t := r.Transfer; len(t) == 6 {
		h.transfer = transfer{[2]meetings{{t[0], t[1]}, {t[2], t[3]}}, [2]float64{t[4], t[5]}}
	}
	h.derive()
	return h, r.transferred()
}

// transferred reports whether the transfer is none, or can be one.
func (r *headRecord) transferred() bool {
	t := r.Transfer
	return len(t) == 0 || len(t) == 6 && sane(t...) && t[1] >= 0 && t[1] <= t[0] &&
		t[3] >= 0 && t[3] <= t[2] && t[4] >= 0 && t[5] >= 0
}

func (a *arm) record(r *armRecord, index int32) {
	rating := r.Rating[:0]
	*r = armRecord{
		Index: index, Epoch: a.epoch, N: a.n, Sum: a.sum,
		Up:   append(r.Up[:0], a.up.drift, a.up.n, a.up.sum),
		Down: append(r.Down[:0], a.down.drift, a.down.n, a.down.sum),

		Proven: a.proven,
	}
	if g := a.rating; g.variance > 0 {
		r.Rating = append(rating, g.at, g.variance, g.n, g.usd, g.sec)
	}
}

func (r *armRecord) arm() (arm, bool) {
	if len(r.Up) != 3 || len(r.Down) != 3 {
		return arm{}, false
	}
	a := arm{
		n: r.N, sum: r.Sum, epoch: r.Epoch,
		up:   change{r.Up[0], r.Up[1], r.Up[2]},
		down: change{r.Down[0], r.Down[1], r.Down[2]},

		proven: r.Proven,
	}
	if g := r.Rating; len(g) == 5 {
		a.rating = rating{g[0], g[1], g[2], g[3], g[4]}
	}
	rated := len(r.Rating) == 0 || sane(r.Rating...) && a.rating.variance > 0 && a.rating.n >= 0
	return a, rated && r.Index >= 0 && summed(r.N, r.Sum) && sane(r.Up...) && sane(r.Down...)
}

// scratch is where whoever has the turn puts records together for writing. The
// Writer keeps their keys and values, which are made anew for each sample.
type scratch struct {
	update update
	sample record
	head   headRecord
	arm    armRecord
	out    entry // of pushedOut
	hour   hourRecord
	space  string
	ops    []store.Op
	keys   key.Block
	buf    []byte // what is encoded
}

// reset makes ready for what s writes.
func (x *scratch) reset(s *Sample) {
	clear(x.ops)
	x.ops, x.keys, x.buf = x.ops[:0], key.Block{}, make([]byte, 0, 512)
	x.keys.Grow(len(s.Key) + 3*len(s.Candidate) + 5*len(s.Situation.Skill) + 7*len(x.space) + 80)
}

// put adds the write of a record.
func (x *scratch) put(k string, v any) error {
	start := len(x.buf)
	buf, err := codec.Append(x.buf, k, v)
	if err == nil {
		x.buf = buf
		x.ops = append(x.ops, store.Op{Key: k, Value: buf[start:len(buf):len(buf)]})
	}
	return err
}

// puts adds the writes of an update.
func (u *update) puts(x *scratch, skill string) error {
	u.head.record(&x.head)
	u.arm.record(&x.arm, u.index)
	err := errors.Join(
		x.put(x.keys.Join(x.space, "head", skill), &x.head),
		x.put(x.keys.Join(x.space, "arm", skill, u.candidate), &x.arm))
	if u.evicts {
		x.ops = append(x.ops, store.Op{Key: x.settingKey(skill, u.evicted), Delete: true})
	}
	if u.setting != nil {
		err = errors.Join(err, x.put(x.settingKey(skill, u.key), u.setting))
	}
	if p := u.point; p != nil {
		err = errors.Join(err, x.put(x.keys.Join(x.space, "point", skill, strconv.Itoa(int(p.slot))), &p.point))
		if p.fresh {
			err = errors.Join(err, x.put(x.keys.Join(x.space, "axes", skill), &p.axes))
		}
	}
	return err
}

func (x *scratch) settingKey(skill string, id uint64) string {
	var hex [16]byte
	return x.keys.Join(x.space, "setting", skill, string(strconv.AppendUint(hex[:0], id, 16)))
}
