package meta

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/uplift"
	"github.com/arc-learn/arc/store"
)

// EntriesBelow yields what the store holds by scope, as it lies there: how runs ended in
// a scope and in those below it, and the experiments whose names begin so. It writes
// what is pending before, and ends after the first error.
func (m *Monitor) EntriesBelow(ctx context.Context, scope string, experiments ...string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := m.w.Flush(ctx); err != nil {
			yield(store.Entry{}, err)
			return
		}
		e, err := m.st.Get(ctx, m.pastKey(scope))
		if !errors.Is(err, store.ErrNotFound) && !yield(e, err) {
			return
		}
		prefixes := []string{m.pastKey(scope + "/")}
		for _, name := range experiments {
			prefixes = append(prefixes, m.treatmentKey(name))
		}
		for _, prefix := range prefixes {
			for e, err := range m.st.Scan(ctx, store.Range{Prefix: prefix}) {
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
	}
}

// ForgetBelow removes what EntriesBelow yields.
func (m *Monitor) ForgetBelow(ctx context.Context, scope string, experiments ...string) error {
	if m.j != nil {
		return m.j.Change(ctx, m.catch, func(base *Monitor) error { return base.ForgetBelow(ctx, scope, experiments...) })
	}
	return m.exclusive(ctx, "forget", scope, func() error {
		for e, err := range m.EntriesBelow(ctx, scope, experiments...) {
			if err == nil {
				err = m.w.Add(ctx, store.Op{Key: e.Key, Delete: true})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Check returns store.ErrDamaged, or store.ErrNewer, for an entry that no Monitor of the
// tenant has written.
func Check(e store.Entry, tenant string) error {
	rest, ok := strings.CutPrefix(e.Key, key.Under(tenant, "meta", ""))
	p := key.Split(rest)
	family := fmt.Sprint(p[0], len(p)-1)
	var t totals
	var r record
	var o storedOdds
	var trial uplift.Trial
	var proposal Proposal
	var err error
	switch family {
	case "seen2", "episode1":
		ok = ok && bytes.Equal(e.Value, present)
	case "totals1":
		err = codec.Decode(e, &t)
		ok = ok && t.valid()
	case "slot2":
		err = codec.Decode(e, &r)
	case "odds1":
		err = codec.Decode(e, &o)
		_, valid := uplift.OddsOf(o.Counts)
		ok = ok && valid
	case "uplift1":
		err = codec.Decode(e, &trial)
		ok = ok && trial.Valid()
	case "proposal1":
		err = codec.Decode(e, &proposal)
		ok = ok && proposal.whole()
	case "past1":
		err = codec.Decode(e, new([]Ending))
	default: // of a part that is added later
		err = codec.Decode(e, new(any))
	}
	if err == nil && !ok {
		err = fmt.Errorf("%w: %q is not a monitor's", store.ErrDamaged, e.Key)
	}
	return err
}
