// Package breaker is a circuit breaker for workers: a worker whose attempts keep breaking off is left alone
// for a while.
package breaker

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// A breaker opens after maxFaults attempts in a row that broke off. It stays open for Rest, twice as long
// after each further one, longRest at most. Then it is half-open: one attempt tries the worker again.
const (
	maxFaults = 3
	// Rest is the first and shortest.
	Rest     = time.Minute
	longRest = time.Hour
)

// Keys is the part of a breaker's key behind the tenant. The worker's name follows it.
const Keys = "breaker"

// breaker counts the last attempts of a worker that broke off, in all runs of a tenant.
type breaker struct {
	Faults int   `cbor:"226,keyasint,omitempty"` // in a row
	At     int64 `cbor:"227,keyasint,omitempty"` // of the last, in Unix nanoseconds

	tried, trial int64 // when the half-open attempt began, and its end
}

// Set has the breakers of a tenant's workers. It is safe for concurrent use. It writes nothing: it returns
// the ops that its user has to commit.
type Set struct {
	tenant string

	mu sync.Mutex
	of map[string]breaker
}

// rests reports whether the breaker is open.
func (b breaker) rests(now time.Time) bool {
	rest := min(Rest<<min(max(0, b.Faults-maxFaults), 16), longRest)
	at := now.UnixNano()
	left := b.At + int64(rest) - at // more than twice the rest: the clock was put back
	return b.Faults >= maxFaults && (left > 0 && left <= 2*int64(rest) || b.tried <= at && at < b.trial)
}

// Load reads the breakers of a tenant. One that cannot be read is closed, as one that is not stored.
func Load(ctx context.Context, st store.Store, tenant string) (*Set, error) {
	all := &Set{tenant: tenant, of: make(map[string]breaker)}
	prefix := key.Under(tenant, Keys, "")
	for e, err := range st.Scan(ctx, store.Range{Prefix: prefix}) {
		if err != nil {
			return nil, fmt.Errorf("breakers: %w", err)
		}
		var b breaker
		if codec.Decode(e, &b) == nil {
			all.of[key.Split(e.Key[len(prefix):])[0]] = b
		}
	}
	return all, nil
}

// Check returns an error if an entry does not decode as a breaker.
func Check(e store.Entry) error { return codec.Decode(e, new(breaker)) }

// Closed removes the workers with open breakers from a ranking, unless none would be left.
func (all *Set) Closed(ranking []rank.Scored, now time.Time) []rank.Scored {
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.of) == 0 {
		return ranking
	}
	rests := func(r rank.Scored) bool { return all.of[r.Candidate.Name].rests(now) }
	if left := slices.DeleteFunc(slices.Clone(ranking), rests); len(left) > 0 {
		return left
	}
	return ranking
}

// Try marks a half-open breaker as being tried, so that other attempts leave the worker alone until the trial,
// which takes so long at most, may be over.
func (all *Set) Try(worker string, now time.Time, most time.Duration) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if b := all.of[worker]; b.Faults >= maxFaults {
		b.tried, b.trial = now.UnixNano(), now.Add(most).UnixNano()
		all.of[worker] = b
	}
}

// Heard records that an attempt of a worker broke off or has finished. It returns the op that stores the
// breaker, without a Key if nothing has changed.
func (all *Set) Heard(worker string, broke, finished bool, now time.Time) (op store.Op) {
	all.mu.Lock()
	defer all.mu.Unlock()
	b, known := all.of[worker]
	if !known && !broke {
		return op
	}
	b.trial = 0
	k := key.Under(all.tenant, Keys, worker)
	switch {
	case broke:
		b.Faults, b.At = b.Faults+1, now.UnixNano()
		op = b.kept(k)
	case finished:
		delete(all.of, worker)
		return store.Op{Key: k, Delete: true}
	}
	all.of[worker] = b
	return op
}

// kept returns the op that stores a breaker.
func (b breaker) kept(k string) (op store.Op) {
	if value, err := codec.Encode(k, b); err == nil { // never fails
		op = store.Op{Key: k, Value: value}
	}
	return op
}

// Newer returns the op that stores the breaker as it is now, without a Key if op does so: a later state may
// have been committed first.
func (all *Set) Newer(op store.Op) store.Op {
	all.mu.Lock()
	defer all.mu.Unlock()
	parts, is := key.Split(op.Key), store.Op{Key: op.Key, Delete: true}
	if b, known := all.of[parts[len(parts)-1]]; known {
		is = b.kept(op.Key)
	}
	if is.Delete == op.Delete && bytes.Equal(is.Value, op.Value) {
		return store.Op{}
	}
	return is
}
