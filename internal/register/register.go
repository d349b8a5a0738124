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

// Parts of keys behind a tenant: the runs of a session that the host has named, and all runs by
// status. A place follows them.
const (
	Sessions = "session"
	Statuses = "status"
)

// dueKeys lead to the runs that are due, by time, tenant and id. The value is when that time was set.
const dueKeys = "arc/due"

// Run is a run as the indexes list it.
type Run struct {
	Tenant, ID string
	Session    string // that the host has named; "": one of its own
	Began      int64  // in Unix nanoseconds
}

// digits are hex digits in descending order, so that the latest run comes first.
func digits(began int64) (out [16]byte) {
	hex.Encode(out[:], binary.BigEndian.AppendUint64(make([]byte, 0, 8), math.MaxInt64-uint64(began)))
	return out
}

// Place returns the end of the run's key in an index: it orders runs, the latest first.
func (r Run) Place() string { at := digits(r.Began); return key.Join(string(at[:]), r.ID) }

// ID returns the id of the run at a place.
func ID(place string) string { return place[strings.IndexByte(place, 0)+1:] }

// ByStatus returns the run's key in the index of a status. The value there is the run's scope.
func (r Run) ByStatus(keys *key.Block, status string) string {
	at := digits(r.Began)
	return keys.Under(r.Tenant, Statuses, status, string(at[:]), r.ID)
}

// BySession returns the run's key in the index of its session, or "" if the host has named none.
func (r Run) BySession() string {
	if r.Session == "" {
		return ""
	}
	return key.Under(r.Tenant, Sessions, r.Session, r.Place())
}

// ByTime returns the run's key in the index of due runs, for a time in Unix nanoseconds.
func (r Run) ByTime(due int64) string {
	return key.Join(dueKeys, instant(due), r.Tenant, r.ID)
}

// Enlist returns the op that adds the run to the index of due runs. set is when its time was set, in
// Unix nanoseconds, by which a clock that was ahead then can be found out; 0 if the time may be far off.
func (r Run) Enlist(due, set int64) store.Op {
	op := store.Op{Key: r.ByTime(due)}
	if set > 0 {
		op.Value = []byte(instant(set))
	}
	return op
}

// instant formats Unix nanoseconds so that texts order as times do.
func instant(at int64) string { return fmt.Sprintf("%016x", at) }

// OfStatus and OfSession return prefixes of the keys of a tenant's runs.
func OfStatus(tenant, status string) string   { return key.Under(tenant, Statuses, status, "") }
func OfSession(tenant, session string) string { return key.Under(tenant, Sessions, session, "") }

// End comes after every place.
const End = "~"

// At comes before the places of runs that began at a time, and after those of later runs.
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

// List is a range of runs in an index: those after From, up to To.
type List struct {
	Prefixes []string // of OfStatus and OfSession
	From, To string
	Extra    string // the place of a run that no index has
}

// atOnce is how many places are read at a time.
const atOnce = 128

// Places yields the places of the range, in order, without runs that the index shows to be outside the
// scope. It reads ahead, but not while the caller has a place.
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

// page returns the next places, or none at the end.
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

// Due is a run that has to be resumed.
type Due struct {
	At         int64 // in Unix nanoseconds; 0: the run's lease has lapsed
	Set        int64 // when At was; 0: unknown, or At is right
	Tenant, ID string
	Key        string
}

// AllDue yields the runs of all tenants that are due at a time or later, the earliest first. A damaged
// time reads as 1, so that the run is looked at, and Erase of its tenant finds its keys.
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
			at, err := strconv.ParseInt(parts[1], 16, 64)
			if err != nil || at <= 0 {
				at = 1
			}
			set, _ := strconv.ParseInt(string(e.Value), 16, 64) // none: 0
			if !yield(Due{at, set, parts[2], parts[3], e.Key}, nil) {
				return
			}
		}
	}
}

// Tenants returns the tenants that have any keys.
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
