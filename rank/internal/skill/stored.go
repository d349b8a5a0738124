package skill

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/rank/internal/batch"
	"github.com/arc-learn/arc/rank/internal/near"
	"github.com/arc-learn/arc/rank/internal/rasch"
	"github.com/arc-learn/arc/store"
)

// The keys of a Model, below those of its Book:
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
	Rating []float64 `cbor:"75,keyasint,omitempty"` // at, variance, n, usd, seconds
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
		!(math.Abs(r.Lo) <= maxReward && math.Abs(r.Hi) <= maxReward) {
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
	if g := a.rating; g.Variance > 0 {
		r.Rating = append(rating, g.At, g.Variance, g.N, g.USD, g.Seconds)
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
		a.rating = rasch.Rating{At: g[0], Variance: g[1], N: g[2], USD: g[3], Seconds: g[4]}
	}
	rated := len(r.Rating) == 0 || sane(r.Rating...) && a.rating.Variance > 0 && a.rating.N >= 0
	return a, rated && r.Index >= 0 && summed(r.N, r.Sum) && sane(r.Up...) && sane(r.Down...)
}

// Records are where updates are made into what is stored, one after the other.
type Records struct {
	head headRecord
	arm  armRecord
}

// Put adds the writes of an update of the skill.
func (r *Records) Put(b *batch.Batch, space, skill string, u *Update) error {
	u.head.record(&r.head)
	u.arm.record(&r.arm, u.index)
	err := errors.Join(
		b.Put(b.Keys.Join(space, "head", skill), &r.head),
		b.Put(b.Keys.Join(space, "arm", skill, u.candidate), &r.arm))
	setting := func(id uint64) string {
		var hex [16]byte
		return b.Keys.Join(space, "setting", skill, string(strconv.AppendUint(hex[:0], id, 16)))
	}
	if u.evicts {
		b.Ops = append(b.Ops, store.Op{Key: setting(u.evicted), Delete: true})
	}
	if u.setting != nil {
		err = errors.Join(err, b.Put(setting(u.id), u.setting))
	}
	if p := u.placed; p != nil {
		err = errors.Join(err, b.Put(b.Keys.Join(space, "point", skill, strconv.Itoa(int(p.slot))), &p.point))
		if p.fresh {
			err = errors.Join(err, b.Put(b.Keys.Join(space, "axes", skill), &p.axes))
		}
	}
	return err
}

// Load returns the Model of a skill that the store has, or a new one.
func Load(ctx context.Context, st store.Store, space, skill string) (*Model, error) {
	m := newModel()
	var h headRecord
	found, err := fetch(ctx, st, key.Join(space, "head", skill), &h)
	if !found || err != nil {
		return m, err
	}
	var ok bool
	if m.head, ok = h.head(); !ok {
		return nil, fmt.Errorf("%w: head", store.ErrDamaged)
	}
	below := func(kind string) string { return key.Prefix(space, kind, skill) }
	if err := m.loadArms(ctx, st, below("arm")); err != nil {
		return nil, err
	}
	err = each(ctx, st, below("setting"), true, func(last string, s *setting) bool {
		id, err := strconv.ParseUint(last, 16, 64)
		ok := err == nil && s.sound(len(m.arms))
		if ok {
			m.settings.replace(id, s)
		}
		return ok
	})
	if err != nil {
		return nil, err
	}
	return m, m.loadPlaces(ctx, st, key.Join(space, "axes", skill), below("point"))
}

func (m *Model) loadArms(ctx context.Context, st store.Store, prefix string) error {
	arms := make(map[int32]arm)
	err := each(ctx, st, prefix, false, func(name string, r *armRecord) (ok bool) {
		m.index[name] = r.Index
		arms[r.Index], ok = r.arm()
		return ok
	})
	for i := range int32(len(m.index)) { // no two have one number
		a, ok := arms[i]
		if err == nil && !ok {
			err = fmt.Errorf("%w: candidate %d is missing", store.ErrDamaged, i)
		}
		m.arms = append(m.arms, a)
	}
	return err
}

func (m *Model) loadPlaces(ctx context.Context, st store.Store, axesKey, prefix string) error {
	var axes near.Axes
	found, err := fetch(ctx, st, axesKey, &axes)
	if !found || err != nil {
		return err
	}
	points, vectors := make(map[int32]point), make(map[int32][]float32)
	err = each(ctx, st, prefix, false, func(last string, p *point) bool {
		slot, err := strconv.ParseInt(last, 10, 32)
		points[int32(slot)], vectors[int32(slot)] = *p, p.X
		return err == nil && p.sound(len(m.arms))
	})
	if err != nil {
		return err
	}
	if !m.places.Restore(axes, vectors) {
		return fmt.Errorf("%w: points or their axes", store.ErrDamaged)
	}
	for slot := range int32(len(points)) {
		m.places.points = append(m.places.points, points[slot])
	}
	return nil
}

// fetch decodes a record, and reports whether there is one.
func fetch(ctx context.Context, st store.Store, k string, record any) (bool, error) {
	e, err := st.Get(ctx, k)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	} else if err == nil {
		err = codec.Decode(e, record)
	}
	return true, err
}

// each decodes every record below a prefix, and hands it to take with the last
// part of its key. Where records stand alone, those that are damaged are left out.
func each[T any](
	ctx context.Context, st store.Store, prefix string, alone bool, take func(last string, r *T) bool,
) error {
	for e, err := range st.Scan(ctx, store.Range{Prefix: prefix}) {
		if err != nil {
			return err
		}
		var r T
		if err = codec.Decode(e, &r); err == nil && !take(e.Key[len(prefix):], &r) {
			err = fmt.Errorf("%w: %q", store.ErrDamaged, e.Key)
		}
		if err != nil && !(alone && errors.Is(err, store.ErrDamaged)) {
			return err
		}
	}
	return nil
}
