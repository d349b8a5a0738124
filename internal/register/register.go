// Package register lists the runs of a store without reading them: those of a tenant by status
// and by session, the latest first, and those of all tenants that are due.
package register

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// The parts of keys behind a tenant that lead to its runs: to those of a session that the host
// has named, and to all by status. A place follows them.
const (
	Sessions = "session"
	Statuses = "status"
)

// dueKeys name the runs that are due, by time, tenant and id. Their values say when that time
// was set.
const dueKeys = "arc/due"

// Run is what is listed of a run.
type Run struct {
	Tenant, ID string
	Session    string // that the host has named; "": one of its own
	Began      int64  // in Unix nanoseconds
}

// digits order runs, the latest first.
func digits(began int64) (out [16]byte) {
	hex.Encode(out[:], binary.BigEndian.AppendUint64(make([]byte, 0, 8), math.MaxInt64-uint64(began)))
	return out
}

// Place is where the run stands among others.
func (r Run) Place() string { at := digits(r.Began); return key.Join(string(at[:]), r.ID) }

// ID is that of the run at a place.
func ID(place string) string { return place[strings.IndexByte(place, 0)+1:] }

// ByStatus is the key of the run among those of a status, made in a block. Its value is the
// run's scope.
func (r Run) ByStatus(keys *key.Block, status string) string {
	at := digits(r.Began)
	return keys.Under(r.Tenant, Statuses, status, string(at[:]), r.ID)
}

// BySession is the key of the run among those of its session, "" in one of its own.
func (r Run) BySession() string {
	if r.Session == "" {
		return ""
	}
	return key.Under(r.Tenant, Sessions, r.Session, r.Place())
}

// ByTime is the key of the run among those that are due, at a time in Unix nanoseconds.
func (r Run) ByTime(due int64) string {
	return key.Join(dueKeys, instant(due), r.Tenant, r.ID)
}

// Enlist has the run among those that are due. set is when that time was set, in Unix nanoseconds:
// from 1 on if a clock that stood ahead by then made the run wait too long, 0 if it may be so far off.
func (r Run) Enlist(due, set int64) store.Op {
	op := store.Op{Key: r.ByTime(due)}
	if set > 0 {
		op.Value = []byte(instant(set))
	}
	return op
}

// instant orders Unix nanoseconds as text.
func instant(at int64) string { return fmt.Sprintf("%016x", at) }

// OfStatus and OfSession begin the keys of a tenant's runs.
func OfStatus(tenant, status string) string   { return key.Under(tenant, Statuses, status, "") }
func OfSession(tenant, session string) string { return key.Under(tenant, Sessions, session, "") }

// End is behind every place.
const End = "~"

// At is before the places of runs that began at a time, and behind those of later ones.
func At(t time.Time) string {
	ns := t.UnixNano()
	switch { // within what an int64 can say
	case t.Before(time.Unix(0, math.MinInt64+1)):
		ns = math.MinInt64 + 1
	case t.After(time.Unix(0, math.MaxInt64)):
		ns = math.MaxInt64
	}
	out := digits(ns)
	return string(out[:])
}

// List is a stretch of runs: those behind From, up to To.
type List struct {
	Prefixes []string // of OfStatus and OfSession
	From, To string
	Extra    string // the place of a run that no index has
}

// atOnce is how many places are read at a time.
const atOnce = 128

// Places yields the places of the stretch, in order, and passes over runs that an index tells
// are not within the scope. It reads some ahead, and nothing while the caller has one.
func (l List) Places(ctx context.Context, st store.Store, scope memory.Scope) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for {
			places, err := l.page(ctx, st, scope)
			if err != nil {
				yield("", err)
				return
			}
			if len(places) == 0 {
				return
			}
			for _, place := range places {
				if !yield(place, nil) {
					return
				}
			}
			l.From = places[len(places)-1]
		}
	}
}

// page returns the next places, none at the end.
func (l *List) page(ctx context.Context, st store.Store, scope memory.Scope) ([]string, error) {
	var out []string
	last := l.To // up to where all prefixes were read
	for _, prefix := range l.Prefixes {
		n := 0
		for e, err := range st.Scan(ctx, store.Range{Prefix: prefix, After: prefix + l.From}) {
			if err != nil {
				return nil, err
			}
			place := e.Key[len(prefix):]
			if place >= last {
				break
			}
			if len(e.Value) > 0 && !memory.Scope(e.Value).Within(scope) {
				continue
			}
			out = append(out, place)
			if n++; n == atOnce {
				last = place + "\x00"
				break
			}
		}
	}
	if l.Extra > l.From {
		out = append(out, l.Extra)
	}
	out = slices.DeleteFunc(out, func(place string) bool { return place >= last })
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Due is a run that is to be gone on with.
type Due struct {
	At         int64 // in Unix nanoseconds; 0: the run's lease has lapsed
	Set        int64 // when At was; 0: unknown, or At is right
	Tenant, ID string
	Key        string
}

// AllDue yields the runs that are ever due from a time on, of all tenants, the first first. A
// damaged time is 0: the run is looked at, and a tenant's Erase finds its keys.
func AllDue(ctx context.Context, st store.Store, from int64) iter.Seq2[Due, error] {
	return func(yield func(Due, error) bool) {
		all := store.Range{Prefix: key.Prefix(dueKeys)}
		if from > 0 {
			all.After = key.Join(dueKeys, instant(from))
		}
		for e, err := range st.Scan(ctx, all) {
			parts := key.Split(e.Key)
			switch {
			case err != nil:
				yield(Due{}, fmt.Errorf("due: %w", err))
				return
			case len(parts) != 4:
				continue
			}
			at, _ := strconv.ParseInt(parts[1], 16, 64)
			set, _ := strconv.ParseInt(string(e.Value), 16, 64) // none: 0
			if !yield(Due{at, set, parts[2], parts[3], e.Key}, nil) {
				return
			}
		}
	}
}

// Tenants returns the tenants that have keys of their own.
func Tenants(ctx context.Context, st store.Store) (names []string, err error) {
	prefix := key.Tenants()
	for after := ""; ; {
		found := false
		for e, err := range st.Scan(ctx, store.Range{Prefix: prefix, After: after, Limit: 1}) {
			if err != nil {
				return nil, err
			}
			name := key.Split(e.Key[len(prefix):])[0]
			// What follows a name is a separator, or a letter of a longer name.
			names, after, found = append(names, name), prefix+name+"\x01", true
		}
		if !found {
			return names, nil
		}
	}
}
