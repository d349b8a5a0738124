package meta

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Record adds an outcome to its session. It is idempotent on o.Key within the
// session for all time. The outcome counts at once, and is written within
// 50 ms together with others; [Monitor.Flush] waits for that. The next call
// reports an earlier outcome that could not be written, and its own outcome
// counts all the same; a call with the same Key is always safe.
//
// It returns ErrInvalid or a *store.LimitError for a bad outcome,
// store.ErrClosed, and the errors of the store.
func (m *Monitor) Record(ctx context.Context, o Outcome) error {
	if o.At.IsZero() {
		o.At = m.opts.Now()
	}
	if err := o.check(); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	for _, text := range []*string{&o.Goal, &o.Approach, &o.Note, &o.User} {
		*text = m.sanitize(*text)
	}
	return m.exclusive(ctx, "record", o.Key, func() error {
		if m.j != nil {
			r := o.record(0)
			if err := m.enterEvent(ctx, &happened{Session: o.Session, Outcome: &r}, "outcome", o.Session, o.Key); err != nil {
				return err
			}
		}
		return m.record(ctx, &o)
	})
}

// record counts an outcome once its records are on their way. The caller has
// the turn.
func (m *Monitor) record(ctx context.Context, o *Outcome) error {
	s, err := m.session(ctx, o.Session)
	if err != nil {
		return err
	}
	if found, err := m.recorded(ctx, s, o); found || err != nil {
		return err
	}
	own, err := m.oddsOf(ctx, approachKey(o.Approach))
	if err != nil {
		return err
	}
	value := recordBytes + len(o.Key) + len(o.Goal) + len(o.Approach) + len(o.Note) + len(o.User)
	if value > store.MaxValue { // tokens may be longer than the secrets
		return &store.LimitError{Field: "value", Limit: store.MaxValue, Got: value}
	}
	e := entered{o.record(s.totals.Outcomes), o.Session, s}
	if r := o.Resonance; r != nil {
		e.Resonance = new(*r)
	}
	f := failureOf(o.Goal, o.Approach)
	late := []*flush.Late{&s.Late, &m.all.Late, &own.Late}
	return m.w.ChangeBatch(ctx, func() int {
		m.fresh = append(m.fresh, e)
		same, all := s.tried(f)
		s.add(&e.record, f)
		m.all.Count(same, all, o.Success)
		own.Count(same, all, o.Success)
		if o.Resonance != nil {
			older := m.all.pulse[max(0, len(m.all.pulse)+1-pulseLength):]
			m.all.pulse = append(older, byte(math.Round(100**o.Resonance)))
		}
		if e.Number >= s.unpacked+kept { // in the slot of one that is fresh
			return 1
		}
		return 2
	}, late, &m.batch, 2, e.keyBytes(m.space)+value+len(present))
}

// recordBytes is what a record takes beside its texts, at most.
const recordBytes = 64

// unpack adds the ops of the outcomes that are fresh, without the slots that later ones
// have. Keys lie side by side.
func (m *Monitor) unpack(add func(store.Op)) error {
	for chunk := range slices.Chunk(m.fresh, 64) {
		n := 0
		for i := range chunk {
			n += chunk[i].keyBytes(m.space)
		}
		var keys key.Block
		keys.Grow(n)
		for i := range chunk {
			e := &chunk[i]
			e.of.unpacked = e.of.totals.Outcomes
			add(store.Op{Key: keys.Join(m.space, "seen", e.session, e.Key), Value: present})
			if e.Number+kept < e.of.totals.Outcomes {
				continue
			}
			slot := keys.Join(m.space, "slot", e.session, strconv.FormatUint(e.Number%kept, 10))
			value, err := m.texts.encode(slot, &e.record)
			if err != nil {
				return err
			}
			add(store.Op{Key: slot, Value: value})
		}
	}
	clear(m.fresh)
	m.fresh = m.fresh[:0]
	return nil
}

// Outcomes yields the outcomes that are kept, the last 256 of each session, by
// session and in the order in which they were recorded. It writes what is pending
// and reads the store. It yields the errors of the store, and then ends.
func (m *Monitor) Outcomes(ctx context.Context) iter.Seq2[Outcome, error] {
	return func(yield func(Outcome, error) bool) {
		if err := m.w.Flush(ctx); err != nil {
			yield(Outcome{}, fmt.Errorf("outcomes: %w", err))
			return
		}
		var session string
		var kept []record
		give := func() bool {
			slices.SortFunc(kept, func(a, b record) int { return cmp.Compare(a.Number, b.Number) })
			for i := range kept {
				if !yield(kept[i].given(session), nil) {
					return false
				}
			}
			kept = kept[:0]
			return true
		}
		slots := key.Prefix(m.space, "slot")
		for e, err := range m.st.Scan(ctx, store.Range{Prefix: slots}) {
			var r record
			if err == nil {
				err = codec.Decode(e, &r)
			}
			if err != nil {
				yield(Outcome{}, fmt.Errorf("outcomes: %w", err))
				return
			}
			of := key.Split(e.Key[len(slots):])[0]
			if of != session && !give() {
				return
			}
			session, kept = of, append(kept, r)
		}
		give()
	}
}

// Assess says how the session is doing, by the first of these rules that
// applies:
//
//   - three failures of the same approach since the last success: pivot_now
//   - the chance that another try of the last approach delivers is below 0.25,
//     as learned from at least 5 tries after as many failures, and below that of
//     another approach (see [Monitor.Chances]): pivot_now
//   - a success rate below 0.4 over at least two outcomes: consider_pivot
//   - a failure last: slow_down
//   - else: keep_going, also for a session without outcomes (State no_data)
//
// Two failures are of the same approach if their Approach is equal, or, where
// one of them names none, if their Goal is equal; outcomes that name neither
// are of the same. Failures of different approaches do not add up to a
// pivot_now, whatever their number: the evidence says so. Signs of a run that
// has no outcome yet do not count here: [Assessment.With] adds them.
//
// It returns ErrInvalid for a bad name of a session, store.ErrClosed, and the
// errors of the store when the session has to be read.
func (m *Monitor) Assess(ctx context.Context, session string) (a Assessment, err error) {
	err = m.inSession(ctx, "assess", session, func(s *history) (err error) {
		var own *odds
		if s.totals.Failures > 0 {
			own, err = m.oddsOf(ctx, approachKey(s.approach))
		}
		if err == nil {
			a = s.assess(session, m.all, own)
		}
		return err
	})
	return a, err
}

// Chances estimates whether another try of an approach at a goal delivers, and
// whether the first try of another approach does, given how they failed in the
// session since the goal was last delivered. The estimates rest on all outcomes
// that the Monitor has recorded, of any session, by the number of failures
// before them; those of the approach itself count most. Texts that differ in
// case and spacing only name the same approach.
//
// They are predictions, not causes: other approaches may have been tried on
// easier goals. The errors are those of Assess.
func (m *Monitor) Chances(ctx context.Context, session, goal, approach string) (c Chances, err error) {
	err = m.inSession(ctx, "chances in", session, func(s *history) error {
		own, err := m.oddsOf(ctx, approachKey(approach))
		if err == nil {
			same, all := s.tried(failureOf(goal, approach))
			c = m.all.chances(own, same, all)
		}
		return err
	})
	return c, err
}
