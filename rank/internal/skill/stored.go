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

// Load returns the Model of a skill that the store has, or a new one. It leaves out damaged records, and calls damaged
// with the error of each:
//
//   - a candidate, a situation's key or a vector is as one that was never seen;
//   - without its head the skill knows its samples, but not how they scatter;
//   - axes are computed anew.
func Load(ctx context.Context, st store.Store, space, skill string, damaged func(error)) (*Model, error) {
	m, l := newModel(), loader{st, damaged}
	var r headRecord
	k := key.Join(space, "head", skill)
	whole, err := l.fetch(ctx, k, &r)
	if isNone(err) {
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	if whole {
		if m.head, whole = r.head(); !whole {
			damaged(fmt.Errorf("%w: %q", store.ErrDamaged, k))
		}
	}
	below := func(kind string) string { return key.Prefix(space, kind, skill) }
	if err := m.loadArms(ctx, l, below("arm")); err != nil {
		return nil, err
	}
	_, err = each(ctx, l, below("setting"), func(last string, s *setting) bool {
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
	if !whole {
		m.behead()
	}
	return m, m.loadPlaces(ctx, l, key.Join(space, "axes", skill), below("point"))
}

// behead gives a model the head of a skill with as many samples as its candidates have.
func (m *Model) behead() {
	m.head = newHead()
	for i := range m.arms {
		m.head.n += m.arms[i].n
	}
	m.head.seen = uint64(m.head.n)
	for _, s := range m.settings.by {
		m.head.seen = max(m.head.seen, s.Used)
	}
}

// loadArms reads the candidates. They are numbered from 0 on. A number that none has is that of a damaged one, which
// gets another once it is seen again.
func (m *Model) loadArms(ctx context.Context, l loader, prefix string) error {
	arms, most := make(map[int32]arm), int32(-1)
	n, err := each(ctx, l, prefix, func(name string, r *armRecord) bool {
		a, ok := r.arm()
		if _, twice := arms[r.Index]; !ok || twice {
			return false
		}
		m.index[name], arms[r.Index], most = r.Index, a, max(most, r.Index)
		return true
	})
	size := max(n, min(int(most)+1, 2*n))
	for i := range size {
		m.arms = append(m.arms, arms[int32(i)])
	}
	for name, i := range m.index {
		if int(i) >= size {
			delete(m.index, name)
			l.damaged(fmt.Errorf("%w: %q has number %d of %d", store.ErrDamaged, prefix+name, i, n))
		}
	}
	return err
}

func (m *Model) loadPlaces(ctx context.Context, l loader, axesKey, prefix string) error {
	var axes near.Axes
	whole, err := l.fetch(ctx, axesKey, &axes)
	if isNone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if !whole {
		axes = near.Axes{}
	}
	points, vectors := make(map[int32]point), make(map[int32][]float32)
	_, err = each(ctx, l, prefix, func(last string, p *point) bool {
		slot, err := strconv.ParseInt(last, 10, 32)
		ok := err == nil && p.sound(len(m.arms))
		if ok {
			points[int32(slot)], vectors[int32(slot)] = *p, p.X
		}
		return ok
	})
	if err != nil {
		return err
	}
	slots, ok := m.places.Restore(axes, vectors)
	if whole && !ok {
		l.damaged(fmt.Errorf("%w: %q", store.ErrDamaged, axesKey))
	}
	m.places.points = make([]point, slots)
	for slot, p := range points {
		if m.places.Has(slot) {
			m.places.points[slot] = p
		} else {
			l.damaged(fmt.Errorf("%w: %q does not fit its axes", store.ErrDamaged, prefix+strconv.Itoa(int(slot))))
		}
	}
	return nil
}

// loader reads from a store what is not damaged.
type loader struct {
	st      store.Store
	damaged func(error)
}

func isNone(err error) bool { return errors.Is(err, store.ErrNotFound) }

// fetch decodes a record. It reports false if that is damaged.
func (l loader) fetch(ctx context.Context, k string, record any) (bool, error) {
	e, err := l.st.Get(ctx, k)
	if err == nil {
		err = codec.Decode(e, record)
	}
	if errors.Is(err, store.ErrDamaged) {
		l.damaged(err)
		return false, nil
	}
	return err == nil, err
}

// each decodes every record below a prefix, and hands it to take with the last
// part of its key. It returns how many there are, with those that are damaged or that take refuses.
func each[T any](
	ctx context.Context, l loader, prefix string, take func(last string, r *T) bool,
) (n int, err error) {
	for e, err := range l.st.Scan(ctx, store.Range{Prefix: prefix}) {
		if err != nil {
			return n, err
		}
		var r T
		n++
		if err = codec.Decode(e, &r); err == nil && !take(e.Key[len(prefix):], &r) {
			err = fmt.Errorf("%w: %q", store.ErrDamaged, e.Key)
		}
		if errors.Is(err, store.ErrDamaged) {
			l.damaged(err)
		} else if err != nil {
			return n, err
		}
	}
	return n, nil
}
