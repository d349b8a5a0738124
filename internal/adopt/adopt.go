// Package adopt moves the records that an earlier version has stored under keys without a tenant to the tenants
// to which they belong.
package adopt

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/census"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// The prefixes of the earlier version's keys.
const (
	runs     = "arc/run\x00"
	sessions = "arc/session\x00"
	outputs  = "arc/output\x00"
	uplift   = "meta\x00uplift\x00memory "
)

// statistics are the prefixes of the records that are counted anew, and then deleted.
var statistics = [...]string{
	"rank\x00", "meta\x00seen\x00", "meta\x00totals\x00", "meta\x00slot\x00", "meta\x00odds\x00", "meta\x00episode\x00",
}

// Run is a run of the earlier version.
type Run struct {
	Tenant string
	Name   string // beginning of the keys of its attempts
}

// decode reads a run, and returns a function that writes it under its tenant, in one commit with ops, its
// outputs renamed as renamed says.
type decode = func(store.Entry) (Run, mover, error)

type mover = func(ctx context.Context, renamed func(key string) string, ops ...store.Op) error

// within calls fn with the statistics of a tenant.
type within = func(ctx context.Context, tenant string, fn func(*rank.Book, *meta.Monitor) error) error

// adoption is one adoption in progress.
type adoption struct {
	st     store.Store
	log    *slog.Logger
	decode decode
	within within
}

// owners has the tenants of the runs, by the runs' names; under "" it has the tenant of them all, if there is
// only one.
type owners map[string]string

// attempt returns the tenant of the run whose attempt has this key, or "".
func (o owners) attempt(key string) string {
	name := key[:max(0, strings.LastIndexByte(key, '/'))]
	if tenant := o[name]; tenant != "" {
		return tenant
	}
	return o[""]
}

// All moves the runs, which decode reads, to the tenants of their scopes, and counts samples and outcomes anew in
// the tenants of their runs. Samples and outcomes of no run are dropped, unless all runs are of one tenant.
// The runs move last: while one is left, All can start again, and counts nothing twice. A run that is
// damaged, or whose id the tenant has used since, stays where it is and is logged. Within has the
// statistics of a tenant, flush writes their pending changes, and drop deletes all keys below a prefix.
func All(
	ctx context.Context, st store.Store, log *slog.Logger, decode decode, within within,
	flush func(context.Context) error, drop func(ctx context.Context, prefix string) error,
) error {
	a := &adoption{st, log, decode, within}
	of, err := a.owners(ctx)
	if err != nil || len(of) == 0 {
		return err
	}
	err = errors.Join(a.counts(ctx, of), a.uplift(ctx, of))
	if err == nil {
		err = flush(ctx)
	}
	if err != nil {
		return err
	}
	for _, prefix := range append(statistics[:], sessions) { // Move writes the sessions anew
		if err := drop(ctx, prefix); err != nil {
			return err
		}
	}
	return a.runs(ctx)
}

// owners reads which tenants the runs belong to.
func (a *adoption) owners(ctx context.Context) (owners, error) {
	of := owners{}
	var tenants []string
	for e, err := range a.st.Scan(ctx, store.Range{Prefix: runs}) {
		if err != nil {
			return nil, err
		}
		r, _, err := a.decode(e)
		if err != nil {
			a.skip(ctx, err)
			continue
		}
		of[r.Name] = r.Tenant
		if !slices.Contains(tenants, r.Tenant) {
			tenants = append(tenants, r.Tenant)
		}
	}
	if len(tenants) == 1 {
		of[""] = tenants[0]
	}
	return of, nil
}

func (a *adoption) skip(ctx context.Context, why error) {
	a.log.LogAttrs(ctx, slog.LevelError, "record of an earlier version left alone", slog.Any("error", why))
}

// counts counts the samples and outcomes of runs in the Book and the Monitor of their tenants.
func (a *adoption) counts(ctx context.Context, of owners) error {
	book, err := rank.Open(ctx, a.st, nil)
	monitor, wrong := meta.Open(ctx, a.st, nil)
	if err = errors.Join(err, wrong); err != nil {
		return err
	}
	ours := func(attempt string) bool { return of.attempt(attempt) != "" }
	for e, err := range census.Entries(ctx, book, monitor, ours) {
		if err != nil {
			return err
		}
		parts := key.Split(e.Key)
		tenant := of.attempt(parts[len(parts)-1])
		err := a.within(ctx, tenant, func(b *rank.Book, m *meta.Monitor) error { return census.Count(ctx, e, b, m) })
		if err != nil {
			return err
		}
	}
	return nil
}

// uplift moves the experiments: the name of one begins with the scope, or is a hash.
func (a *adoption) uplift(ctx context.Context, of owners) error {
	for e, err := range a.st.Scan(ctx, store.Range{Prefix: uplift}) {
		if err != nil {
			return err
		}
		name, _, _ := strings.Cut(e.Key[len(uplift):], " ")
		scope := memory.Scope(name)
		tenant := scope.Tenant()
		if scope.Check() != nil {
			tenant = of[""]
		}
		ops := []store.Op{{Key: e.Key, Delete: true}}
		if tenant != "" {
			if ops, err = a.move(ctx, ops, e, key.Under(tenant, e.Key)); err != nil {
				return err
			}
		}
		if _, err := a.st.Commit(ctx, ops...); err != nil {
			return err
		}
	}
	return nil
}

// move appends to ops the write of an entry under another key, unless that exists. It skips a damaged entry.
func (a *adoption) move(ctx context.Context, ops []store.Op, e store.Entry, to string) ([]store.Op, error) {
	value, err := codec.Move(e, to)
	if err != nil {
		a.skip(ctx, err)
		return ops, nil
	}
	if _, err := a.st.Get(ctx, to); !errors.Is(err, store.ErrNotFound) {
		return ops, err
	}
	return append(ops, store.Op{Key: to, Value: value}), nil
}

// runs moves the runs, each after its outputs.
func (a *adoption) runs(ctx context.Context) error {
	for e, err := range a.st.Scan(ctx, store.Range{Prefix: runs}) {
		if err != nil {
			return err
		}
		r, move, err := a.decode(e)
		if err != nil {
			continue // owners has logged it
		}
		ops, err := a.outputs(ctx, &r)
		if err != nil {
			return err
		}
		renamed := func(k string) string {
			if name, ok := strings.CutPrefix(k, outputs); ok {
				return key.Under(r.Tenant, "output", name)
			}
			return k
		}
		err = move(ctx, renamed, append(ops, store.Op{Key: e.Key, Delete: true, If: store.At(e.Rev)})...)
		if errors.Is(err, store.ErrConflict) {
			a.skip(ctx, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// outputs copies the outputs of a run, and returns the ops that delete the
// originals.
func (a *adoption) outputs(ctx context.Context, r *Run) (ops []store.Op, err error) {
	prefix := outputs + r.Name + "/"
	for e, err := range a.st.Scan(ctx, store.Range{Prefix: prefix}) {
		if err != nil {
			return nil, err
		}
		if strings.Trim(e.Key[len(prefix):], "0123456789") != "" {
			continue // belongs to a run whose id begins with this one's
		}
		copied, err := a.move(ctx, nil, e, key.Under(r.Tenant, "output", e.Key[len(outputs):]))
		if err == nil && copied != nil {
			_, err = a.st.Commit(ctx, copied...)
		}
		if err != nil {
			return nil, err
		}
		ops = append(ops, store.Op{Key: e.Key, Delete: true})
	}
	return ops, nil
}
