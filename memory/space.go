package memory

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Space is the view of one scope of a Bank. It is a small value: copy it
// freely. It may be used concurrently.
//
// Every method returns ErrScope if the scope is bad, store.ErrClosed after the
// Bank was closed, and the error of a context that has ended. An id that the
// scope does not know, be it that of another scope, is store.ErrNotFound.
type Space struct {
	b     *Bank
	scope Scope
	err   error
}

// Scope returns the scope.
func (s Space) Scope() Scope { return s.scope }

// ready has the tenant be in memory until done is called, which is never nil. The error
// says why the space cannot be used.
func (s Space) ready(ctx context.Context) (done func(), err error) {
	if err := s.check(ctx); err != nil || s.b.tenants == nil {
		return nothing, err
	}
	name := s.scope.Tenant()
	if _, err := s.b.tenants.Get(ctx, name); err != nil {
		return nothing, err
	}
	return func() { s.b.tenants.Put(name) }, nil
}

// check returns why the space cannot be used, or nil.
func (s Space) check(ctx context.Context) error {
	switch {
	case s.err != nil:
		return s.err
	case s.b == nil:
		return ErrScope
	case s.b.closed.Load():
		return store.ErrClosed
	}
	return store.CheckContext(ctx)
}

// holding is ready, and returns what there is of the scope, nil if there is nothing.
func (s Space) holding(ctx context.Context) (sh *shard, done func(), err error) {
	if done, err = s.ready(ctx); err == nil {
		sh = s.b.shard(s.scope)
	}
	return sh, done, err
}

// lookup returns the record that the id leads to.
func (s Space) lookup(id ID) (*shard, *entry, error) {
	if sh := s.b.shard(s.scope); sh != nil {
		if e := sh.entry(id); e != nil {
			return sh, e, nil
		}
	}
	return nil, nil, fmt.Errorf("memory: record %q: %w", s.b.sanitize.Sanitize(string(id)), store.ErrNotFound)
}

// Get returns the record. The id of a record that was merged into another
// leads to that one. It alone, and All, read the Vector, which is on disk.
func (s Space) Get(ctx context.Context, id ID) (Record, error) {
	done, err := s.ready(ctx)
	defer done()
	if err != nil {
		return Record{}, err
	}
	for {
		sh, e, err := s.lookup(id)
		if err != nil {
			return Record{}, err
		}
		r, err := s.b.whole(ctx, sh, e)
		if errors.Is(err, store.ErrNotFound) {
			continue // it changed meanwhile: look again
		}
		if err != nil {
			return Record{}, fmt.Errorf("memory: get: %w", err)
		}
		return r, nil
	}
}

// All yields the records, quarantined and archived ones too, as they were when
// the iteration began, in order of At and then ID. It ends after the first
// error.
func (s Space) All(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		sh, done, err := s.holding(ctx)
		defer done()
		if err != nil {
			yield(Record{}, err)
		}
		if sh == nil {
			return
		}
		for _, e := range byTime(sh.snapshot()) {
			if err := ctx.Err(); err != nil {
				yield(Record{}, err)
				return
			}
			r, err := s.b.whole(ctx, sh, e)
			if errors.Is(err, store.ErrNotFound) {
				continue // forgotten meanwhile
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// byTime sorts the entries by At, then ID.
func byTime(es []*entry) []*entry {
	slices.SortFunc(es, before)
	return es
}

// Scopes yields the scopes that have records, in no order, each with the time at
// which one of them was last made, said again or used. With IndexBytes these are the
// scopes of tenants that were used since Open, here or, as Follow has told, elsewhere.
func (b *Bank) Scopes() iter.Seq2[Scope, time.Time] {
	return func(yield func(Scope, time.Time) bool) {
		more := true
		b.shards.Range(func(_, v any) bool {
			sh := v.(*shard)
			last := sh.changed()
			more = last == 0 || yield(sh.scope, micros(last))
			return more
		})
		b.left.Range(func(name, left any) bool {
			if _, back := b.sizes.Load(name); back {
				return more
			}
			left.(*sync.Map).Range(func(s, last any) bool {
				more = more && (last == int64(0) || yield(s.(Scope), micros(last.(int64))))
				return more
			})
			return more
		})
	}
}

// Errors of scopes.
var (
	// ErrScope: a scope is not 1 to 8 segments (or a ninth, Apart) of [A-Za-z0-9_.:@-]{1,128}
	// joined by "/", or one has the form of an issuer's token.
	ErrScope = errors.New("bad scope")
	// ErrTenant: a scope has no valid tenant, or belongs to another one.
	ErrTenant = errors.New("bad tenant")
)

// Apart is the last segment of a scope that memory/identity keeps its records in, so
// that no recall in the scope above finds them. It may be a ninth.
const Apart = "@identity"

const (
	maxSegments = 8
	maxSegment  = 128
	notSegment  = "is not 1 to 128 letters, digits and _.:@-, or looks like a secret"
)

// Scope says whose memories they are, as in "acme/user-42". The first segment
// is the tenant. Scopes share nothing, statistics included; there is no
// default.
type Scope string

// Tenant returns the first segment.
func (s Scope) Tenant() string {
	tenant, _, _ := strings.Cut(string(s), "/")
	return tenant
}

// Check returns nil for a scope that can be used, else ErrScope, and ErrTenant
// too if it is the tenant that is bad.
func (s Scope) Check() error {
	rest, more := string(s), true
	for n := 1; more; n++ {
		if n > maxSegments && rest != Apart {
			return fmt.Errorf("%w: more than %d segments", ErrScope, maxSegments)
		}
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		switch {
		case goodSegment(segment):
		case n == 1:
			return fmt.Errorf("%w: %w: segment 1 "+notSegment, ErrScope, ErrTenant)
		default:
			return fmt.Errorf("%w: segment %d "+notSegment, ErrScope, n)
		}
	}
	return nil
}

// Within reports whether the scope is another or below it; every scope is within "".
func (s Scope) Within(of Scope) bool {
	return of == "" || s == of || strings.HasPrefix(string(s), string(of)+"/")
}

func goodSegment(s string) bool {
	if s == "" || len(s) > maxSegment || redact.Issued(s) != "" {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte("_.:@-", c) >= 0:
		default:
			return false
		}
	}
	return true
}
