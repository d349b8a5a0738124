// Package breaker leaves a worker alone for a while whose attempts break off one after another.
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

// A breaker opens after maxFaults attempts in a row that broke off, and rests for Rest,
// twice as long after each further one, longRest at most. Then one attempt tries the worker
// again.
const (
	maxFaults = 3
	// Rest is the first and shortest.
	Rest     = time.Minute
	longRest = time.Hour
)

// Keys is the part behind a tenant that leads from a worker to its breaker.
const Keys = "breaker"

// breaker is what the last attempts of a worker have come to, in all runs of a tenant.
type breaker struct {
	Faults int   `cbor:"226,keyasint,omitempty"` // in a row
	At     int64 `cbor:"227,keyasint,omitempty"` // of the last, in Unix nanoseconds

	trial int64 // until when the attempt that tries the worker again may take
}

// Set has the breakers of a tenant's workers, of which any attempt broke off. It is safe
// for concurrent use, and writes nothing: it returns what its user is to commit.
type Set struct {
	tenant string

	mu sync.Mutex
	of map[string]breaker
}

// rests reports whether the worker is left alone.
func (b breaker) rests(now time.Time) bool {
	rest := min(Rest<<min(max(0, b.Faults-maxFaults), 16), longRest)
	left := b.At + int64(rest) - now.UnixNano() // too much of it: the clock was put back
	return b.Faults >= maxFaults && (left > 0 && left <= 2*int64(longRest) || now.UnixNano() < b.trial)
}

// Load reads the breakers of a tenant. One that cannot be read is closed, as one that is not
// there.
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

// Check returns why an entry is no breaker, or nil.
func Check(e store.Entry) error { return codec.Decode(e, new(breaker)) }

// Closed leaves out of a ranking the workers whose breakers are open, unless that leaves
// none.
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

// Try has other attempts leave a worker alone that one tries again, until it may be over.
func (all *Set) Try(worker string, until time.Time) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if b := all.of[worker]; b.Faults >= maxFaults {
		b.trial = until.UnixNano()
		all.of[worker] = b
	}
}

// Heard takes down that an attempt of a worker is over, and whether it broke off or has
// finished. It returns what keeps that, without a Key if there is nothing new.
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

// kept is what keeps a breaker.
func (b breaker) kept(k string) (op store.Op) {
	if value, err := codec.Encode(k, b); err == nil { // always, of two numbers
		op = store.Op{Key: k, Value: value}
	}
	return op
}

// Newer keeps a breaker as it is by now, without a Key if op does: what was heard of last may be
// committed first.
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
