package rank

import (
	"context"
	"errors"
	"fmt"
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

// scratch is where whoever has the turn puts records together for writing. The
// Writer keeps their keys and values, which are made anew for each sample.
type scratch struct {
	update update
	sample record
	head   headRecord
	arm    armRecord
	out    entry // of pushedOut
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
	if err != nil {
		return err
	}
	x.buf = buf
	x.ops = append(x.ops, store.Op{Key: k, Value: buf[start:len(buf):len(buf)]})
	return nil
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
	return len(t) == 0 || len(t) == 6 && sane(t...) && t[1] >= 0 && t[1] <= t[0] && t[3] >= 0 && t[3] <= t[2] && t[4] >= 0 && t[5] >= 0
}

// sane reports whether Observe could have come to the figures: rewards are
// bounded, and so are their sums.
func sane(fs ...float64) bool {
	for _, f := range fs {
		if !(math.Abs(f) <= 1e36) {
			return false
		}
	}
	return true
}

// summed reports whether sum can be that of n worths, each of which is within
// the bounds of a reward but for rounding.
func summed(n, sum float64) bool { return n >= 0 && sane(n) && math.Abs(sum) <= 2*MaxReward*n }

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

// model returns what is learned of a skill, from the store unless it is in
// memory. The caller has the turn.
func (b *Book) model(ctx context.Context, skill string) (*model, error) {
	b.mu.RLock()
	m := b.mu.models[skill]
	b.mu.RUnlock()
	if m != nil {
		return m, nil
	}
	m = newModel()
	if err := b.loadModel(ctx, skill, m); err != nil {
		return nil, fmt.Errorf("what is learned of %q: %w", skill, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.models[skill] = m
	return m, nil
}

func (b *Book) loadModel(ctx context.Context, skill string, m *model) error {
	var h headRecord
	found, err := b.fetch(ctx, key.Join(b.space, "head", skill), &h)
	if !found || err != nil {
		return err
	}
	var ok bool
	if m.head, ok = h.head(); !ok {
		return fmt.Errorf("%w: head", store.ErrDamaged)
	}
	if err := b.loadArms(ctx, skill, m); err != nil {
		return err
	}
	if err := b.loadSettings(ctx, skill, m); err != nil {
		return err
	}
	return b.loadNear(ctx, skill, m)
}

// fetch decodes a record, and reports whether there is one.
func (b *Book) fetch(ctx context.Context, k string, v any) (bool, error) {
	e, err := b.st.Get(ctx, k)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, codec.Decode(e, v)
}

// each decodes every record below a prefix into what fresh returns, and hands
// it to take with the last part of its key.
func each[T any](ctx context.Context, st store.Store, prefix string, take func(last string, r *T) bool) error {
	for e, err := range st.Scan(ctx, store.Range{Prefix: prefix}) {
		if err != nil {
			return err
		}
		var r T
		if err := codec.Decode(e, &r); err != nil {
			return err
		}
		if !take(e.Key[len(prefix):], &r) {
			return fmt.Errorf("%w: %q", store.ErrDamaged, e.Key)
		}
	}
	return nil
}

func (b *Book) loadArms(ctx context.Context, skill string, m *model) error {
	names := make(map[int32]string)
	arms := make(map[int32]arm)
	err := each(ctx, b.st, key.Prefix(b.space, "arm", skill), func(name string, r *armRecord) bool {
		a, ok := r.arm()
		_, twice := names[r.Index]
		names[r.Index], arms[r.Index] = name, a
		return ok && !twice
	})
	if err != nil {
		return err
	}
	for i := range int32(len(names)) {
		name, ok := names[i]
		if !ok {
			return fmt.Errorf("%w: candidate %d is missing", store.ErrDamaged, i)
		}
		m.index[name] = i
		m.arms = append(m.arms, arms[i])
	}
	return nil
}

func (b *Book) loadSettings(ctx context.Context, skill string, m *model) error {
	return each(ctx, b.st, key.Prefix(b.space, "setting", skill), func(last string, c *setting) bool {
		id, err := strconv.ParseUint(last, 16, 64)
		m.settings[id] = c
		return err == nil && c.valid(len(m.arms))
	})
}

func (b *Book) loadNear(ctx context.Context, skill string, m *model) error {
	n := &m.near
	found, err := b.fetch(ctx, key.Join(b.space, "axes", skill), &n.axes)
	if !found || err != nil {
		return err
	}
	if !n.axes.valid() {
		return fmt.Errorf("%w: axes", store.ErrDamaged)
	}
	n.points = make([]point, int(min(n.axes.N, maxPoints)))
	n.sketches = make([]uint64, len(n.points))
	have := 0
	err = each(ctx, b.st, key.Prefix(b.space, "point", skill), func(last string, p *point) bool {
		slot, err := strconv.Atoi(last)
		if err != nil || !p.valid(len(m.arms), len(n.axes.Mean)) || slot < 0 || slot >= len(n.points) {
			return false
		}
		n.enter(int32(slot), *p)
		have++
		return true
	})
	if err == nil && have != len(n.points) {
		err = fmt.Errorf("%w: %d of %d points", store.ErrDamaged, have, len(n.points))
	}
	n.rescale()
	return err
}
