package arc

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// Keys of a run in its tenant's part of the store:
//
//	s/SCOPE//run/ID          record
//	s/SCOPE//part/ID/NAME    objective, delivery/0001, and advice/1 until the run has ended
//	s/SCOPE//log/ID/…        the journal, see act.NewJournal
//
// and in the whole store, while the scheduler has to look at it:
//
//	due/NANOSECONDS/TENANT/SCOPE//ID    dueEntry
//	process/NAME                        NAME, see process
//	erase/SCOPE                         when View.Erase began it
const (
	runKind  = "run"
	partKind = "part"
	logKind  = "log"
	dayKind  = "day" // what a tenant has spent on a day, in its first scope
	duePlace = "due/"
)

func recordKey(scope memory.Scope, id string) string { return scope.Key(runKind, id) }

// An ID may have a "/", which must not make the parts of one run those of another.
func partKey(scope memory.Scope, id, name string) string {
	return scope.Key(partKind, url.PathEscape(id)+"/"+name)
}

func logPrefix(scope memory.Scope, id string) string {
	return scope.Key(logKind, url.PathEscape(id)) + "/"
}

// runKey identifies a run in the Agent.
func runKey(scope memory.Scope, id string) string { return string(scope) + "//" + id }

// dueEntry says what is due.
type dueEntry struct {
	Scope   memory.Scope `cbor:",omitzero"`
	ID      string       `cbor:",omitzero"`
	Process string       `cbor:",omitzero"` // that looks at it, while it is not gone
	Kind    string       `cbor:",omitzero"` // of what is due: a run, or one of these
}

// by is the key that what is due at a key is under way by.
func (d dueEntry) by(key string) string {
	if d.Kind == "" {
		return runKey(d.Scope, d.ID)
	}
	return key
}

const (
	dueRuled   = "ruled" // a person has, on a run that waits
	dueErase   = "erase"
	dueCompact = "compact"
)

func dayKey(scope memory.Scope, at time.Time) string {
	return plain(memory.Scope(scope.Tenant())).Key(dayKind, at.UTC().Format(time.DateOnly))
}

// dueKey sorts by time, so that a scan ends at the first entry that is not due yet.
func dueKey(at time.Time, scope memory.Scope, id string) string {
	return duePlace + fmt.Sprintf("%020d/", max(0, at.UnixNano())) + scope.Tenant() + "/" + runKey(scope, id)
}

// dueKey is by when the scheduler looks at the run: at once, if it is found running by a process that did not
// begin it; when an outage may be over; when silence decides on an approval; "": never.
func (r *record) dueKey() string {
	switch r.Status {
	case Running:
		return dueKey(r.Began, r.Scope, r.ID)
	case Waiting:
		return dueKey(r.Due, r.Scope, r.ID)
	}
	return ""
}

// load reads a record; one that is not there is store.ErrNotFound.
func load[T any](ctx context.Context, st store.Store, key string) (v T, rev store.Revision, err error) {
	e, err := st.Get(ctx, key)
	if err == nil {
		err = codec.Unmarshal(e.Value, &v)
	}
	if err != nil {
		err = fmt.Errorf("arc: %s: %w", key, err)
	}
	return v, e.Rev, err
}

// records yields the runs of a scope, where all are asked for also those below it, by their scopes and IDs.
func (t *tenant) records(ctx context.Context, top memory.Scope, all bool) iter.Seq2[*record, error] {
	if !all {
		return codec.Records[record](ctx, t.group.Store(), store.Range{Prefix: top.Key(runKind, "")})
	}
	return func(yield func(*record, error) bool) {
		for scope, err := range t.scopes(ctx, top) {
			if err != nil {
				yield(nil, err)
				return
			}
			for r, err := range t.records(ctx, scope, false) {
				if !yield(r, err) {
					return
				}
			}
		}
	}
}

// skipScan yields what the keys below a prefix are of, each once: it reads one key, and steps over all others
// that begin as of says. So the tenants of a store are found without a look at what they have.
func skipScan[T any](
	ctx context.Context, st store.Store, prefix string, of func(key string) (v T, all string),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for after, more := "", true; more; {
			more = false
			for e, err := range st.Scan(ctx, store.Range{Prefix: prefix, After: after, Limit: 1}) {
				v, all := of(e.Key)
				if err != nil {
					err = fmt.Errorf("arc: %w", err)
				}
				if !yield(v, err) || err != nil {
					return
				}
				more, after = true, all+"\U0010FFFF"
			}
		}
	}
}

func missing(err error) bool { return errors.Is(err, store.ErrNotFound) }

func isAny(err error, some ...error) bool {
	return slices.ContainsFunc(some, func(e error) bool { return errors.Is(err, e) })
}
