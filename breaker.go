package arc

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

// A breaker opens after maxFaults attempts in a row that broke off, and rests for shortRest,
// twice as long after each further one, longRest at most. Then one attempt tries the worker
// again.
const (
	maxFaults = 3
	shortRest = time.Minute
	longRest  = time.Hour
)

// breakerKeys lead from a worker to its breaker.
const breakerKeys = "breaker"

// breaker is what the last attempts of a worker have come to, in all runs of a tenant.
type breaker struct {
	Faults int   `cbor:"226,keyasint,omitempty"` // in a row
	At     int64 `cbor:"227,keyasint,omitempty"` // of the last, in Unix nanoseconds

	trial int64 // until when the attempt that tries the worker again may take
}

// breakers are those of a tenant's workers, of which any attempt broke off.
type breakers struct {
	sync.Mutex
	of map[string]breaker
}

// rests reports whether the worker is left alone.
func (b breaker) rests(now time.Time) bool {
	if b.Faults < maxFaults {
		return false
	}
	rest := min(shortRest<<min(b.Faults-maxFaults, 16), longRest)
	return now.UnixNano() < max(b.At+int64(rest), b.trial)
}

// load reads the breakers of a tenant.
func (all *breakers) load(ctx context.Context, st store.Store, tenant string) error {
	all.of = make(map[string]breaker)
	prefix := key.Under(tenant, breakerKeys, "")
	for e, err := range st.Scan(ctx, store.Range{Prefix: prefix}) {
		if err != nil {
			return fmt.Errorf("breakers: %w", err)
		}
		var b breaker
		if codec.Decode(e, &b) != nil {
			continue // it is closed, as one that is not there
		}
		all.of[key.Split(e.Key[len(prefix):])[0]] = b
	}
	return nil
}

// closed leaves out of a ranking the workers whose breakers are open, unless that leaves
// none.
func (all *breakers) closed(ranking []rank.Scored, now time.Time) []rank.Scored {
	all.Lock()
	defer all.Unlock()
	if len(all.of) == 0 {
		return ranking
	}
	rests := func(r rank.Scored) bool { return all.of[r.Candidate.Name].rests(now) }
	if left := slices.DeleteFunc(slices.Clone(ranking), rests); len(left) > 0 {
		return left
	}
	return ranking
}

// try has other attempts leave a worker alone that one tries again, until it may be over.
func (all *breakers) try(worker string, until time.Time) {
	all.Lock()
	defer all.Unlock()
	if b := all.of[worker]; b.Faults >= maxFaults {
		b.trial = until.UnixNano()
		all.of[worker] = b
	}
}

// heard takes down that an attempt of a worker is over, and whether it broke off or has
// finished. It returns what keeps that, without a Key if there is nothing new.
func (all *breakers) heard(tenant, worker string, broke, finished bool, now time.Time) (op store.Op) {
	all.Lock()
	defer all.Unlock()
	b, known := all.of[worker]
	if !known && !broke {
		return op
	}
	b.trial = 0
	k := key.Under(tenant, breakerKeys, worker)
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

// newer keeps a breaker as it is by now, without a Key if op does: what was heard of last may be committed first.
func (all *breakers) newer(op store.Op) store.Op {
	all.Lock()
	defer all.Unlock()
	parts, is := key.Split(op.Key), store.Op{Key: op.Key, Delete: true}
	if b, known := all.of[parts[len(parts)-1]]; known {
		is = b.kept(op.Key)
	}
	if is.Delete == op.Delete && bytes.Equal(is.Value, op.Value) {
		return store.Op{}
	}
	return is
}
