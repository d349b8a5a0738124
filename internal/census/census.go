// Package census moves the statistics of runs from one tenant's Book and Monitor to another's, each sample
// and outcome as an entry.
package census

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// The first parts of the entries' keys. No store has such keys.
const (
	sampleKeys  = "sample"
	outcomeKeys = "outcome"
)

// Entries yields the samples and outcomes whose keys ours accepts, each kind in order. Of those with one key
// it yields the last: after a run was deleted, a later run may have had its id. It ends after the first
// error.
func Entries(
	ctx context.Context, b *rank.Book, m *meta.Monitor, ours func(key string) bool,
) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		samples, err := those(b.Samples(ctx, time.Time{}), func(s rank.Sample) bool { return ours(s.Key) })
		outcomes, wrong := those(m.Outcomes(ctx), func(o meta.Outcome) bool { return ours(o.Key) })
		if err = errors.Join(err, wrong); err != nil {
			yield(store.Entry{}, err)
			return
		}
		slices.SortStableFunc(samples, func(x, y rank.Sample) int { return x.At.Compare(y.At) })
		if lasts(samples, func(s rank.Sample) string { return key.Join(sampleKeys, s.Key) }, yield) {
			lasts(outcomes, func(o meta.Outcome) string { return key.Join(outcomeKeys, o.Session, o.Key) }, yield)
		}
	}
}

// those returns the ones whose keys ours accepts.
func those[T any](all iter.Seq2[T, error], ours func(T) bool) (out []T, err error) {
	for x, err := range all {
		if err != nil {
			return nil, err
		}
		if ours(x) {
			out = append(out, x)
		}
	}
	return out, nil
}

// lasts yields the last of those with one key. It reports whether more are wanted.
func lasts[T any](all []T, of func(T) string, yield func(store.Entry, error) bool) bool {
	last := make(map[string]int)
	for i, x := range all {
		last[of(x)] = i
	}
	for i, x := range all {
		k := of(x)
		if last[k] != i {
			continue
		}
		value, err := codec.Encode(k, x)
		if !yield(store.Entry{Key: k, Value: value}, err) || err != nil {
			return false
		}
	}
	return true
}

// Is reports whether an entry is one that Entries yields.
func Is(e store.Entry) bool {
	of := key.Split(e.Key)[0]
	return of == sampleKeys || of == outcomeKeys
}

// Count adds an entry to a Book or a Monitor. It is idempotent.
func Count(ctx context.Context, e store.Entry, b *rank.Book, m *meta.Monitor) error {
	if key.Split(e.Key)[0] == sampleKeys {
		var s rank.Sample
		if err := codec.Decode(e, &s); err != nil {
			return err
		}
		return b.Observe(ctx, s)
	}
	var o meta.Outcome
	if err := codec.Decode(e, &o); err != nil {
		return err
	}
	return m.Record(ctx, o)
}

// Trial stores statistics in a store in memory, to check that the parts that own them can read them.
type Trial struct {
	st      store.Store
	tenant  string
	book    *rank.Book // of entries of Entries
	monitor *meta.Monitor
	skills  map[string]map[string]bool // and who was tried
}

// NewTrial returns a Trial for a tenant's statistics.
func NewTrial(ctx context.Context, scope memory.Scope) (*Trial, error) {
	x := &Trial{st: store.NewMem(), tenant: scope.Tenant(), skills: make(map[string]map[string]bool)}
	var err, wrong error
	x.book, err = rank.Open(ctx, x.st, nil)
	x.monitor, wrong = meta.Open(ctx, x.st, nil)
	return x, errors.Join(err, wrong)
}

// Close ends the Trial.
func (x *Trial) Close() error { return errors.Join(x.book.Close(), x.monitor.Close(), x.st.Close()) }

// Try adds an entry of Entries, or a stored one of the tenant. It ignores entries that are no statistics.
func (x *Trial) Try(ctx context.Context, e store.Entry) error {
	if Is(e) {
		return Count(ctx, e, x.book, x.monitor)
	}
	parts := key.Split(e.Key)
	if len(parts) < 5 || parts[2] != "rank" || parts[3] == "seen" {
		return nil
	}
	skill, candidate := parts[4], "?"
	switch {
	case (parts[3] == "slot" || parts[3] == "left") && len(parts) > 5:
		skill, candidate = parts[5], parts[4]
	case parts[3] == "arm" && len(parts) > 5:
		candidate = parts[5]
	}
	if x.skills[skill] == nil {
		x.skills[skill] = make(map[string]bool)
	}
	x.skills[skill][candidate] = true
	_, err := x.st.Commit(ctx, store.Op{Key: e.Key, Value: e.Value})
	return err
}

// Rank ranks by the statistics so far.
func (x *Trial) Rank(ctx context.Context) error {
	var damage error
	book, err := rank.Open(ctx, x.st, &rank.Options{
		Tenant: x.tenant, Damaged: func(err error) { damage = errors.Join(damage, err) },
	})
	if err != nil {
		return err
	}
	for _, skill := range slices.Sorted(maps.Keys(x.skills)) {
		var all []rank.Candidate
		for name := range x.skills[skill] {
			all = append(all, rank.Candidate{Name: name})
		}
		_, wrong := book.Learned(nil).Score(ctx, rank.Situation{Skill: skill}, all)
		err = errors.Join(err, guard.Error(wrong, store.ErrDamaged, store.ErrNewer))
	}
	return errors.Join(err, damage, book.Close())
}
