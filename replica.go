package arc

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/peers"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// Home returns the name of the replica at which a scope's tenant is at home. Only that replica
// maintains the tenant's memories, and it prefers them for its memory (memory.Options.IndexBytes),
// so that a balancer should route the tenant there; the others answer too, more slowly. All
// replicas return the same name, within twice Options.Lease after one of them has gone. It is ""
// for an Agent without a Replica name. The scope "" is Options.Scope.
func (a *Agent) Home(scope memory.Scope) string {
	if a.peers == nil {
		return ""
	}
	return a.peers.Home(cmp.Or(scope, a.o.Scope).Tenant())
}

// atHome reports whether a scope's tenant is at home here.
func (a *Agent) atHome(scope memory.Scope) bool { return a.Home(scope) == a.o.Replica }

// names returns the replicas that are alive; nil: this Agent is the only one.
func (a *Agent) names() *[]string {
	if a.peers == nil {
		return nil
	}
	return a.peers.Names()
}

// beside makes a named Agent follow what other replicas do to memory and statistics. Memory takes in
// each record as it comes. Statistics and proposals are read again as a whole before the next step
// that uses them (catchUp, hearOthers): here the two counters only say that there is something new.
// If the store has lost track of what was written, all of it counts as new.
func (a *Agent) beside(ctx context.Context, st store.Store) error {
	watcher, ok := st.(store.Watcher)
	if !ok {
		return errors.New("option Replica: the store is no store.Watcher")
	}
	a.news.Store(1)
	a.peers = peers.New(peers.Options{
		Name: a.o.Replica, Lease: a.o.Lease, Leases: a.leases, Store: a.st, Upkeep: a.upkeep, Now: a.o.Now,
		Logger: a.o.Logger, Hide: a.o.Sanitizer.Sanitize,
		Hear: func(e store.Entry, fresh bool) {
			switch parts := key.Split(e.Key); {
			case fresh && parts[0] == "memory":
				a.recollect(func(ctx context.Context) error { return a.bank.Follow(ctx, e) })
			case len(parts) > 3 && parts[2] == "meta" && parts[3] == "proposal":
				a.decided.Add(1)
			case len(parts) > 3 && (parts[2] == "rank" || parts[2] == "meta"):
				a.news.Add(1)
			}
		},
		Missed: func() {
			a.news.Add(1)
			a.decided.Add(1)
			a.recollect(func(ctx context.Context) error { return a.bank.Missed(ctx) })
		},
		Changed: func() {
			if at := a.maintained.Load(); at != math.MaxInt64 { // in progress: it looks again by itself
				a.maintained.CompareAndSwap(at, 0) // tenants that are at home here now may be due
			}
		},
	})
	return a.peers.Join(ctx, watcher)
}

// recollect makes memory, once it is open, take in a change of another replica. If the change cannot
// be read for now it is tried again, and later changes wait.
func (a *Agent) recollect(take func(context.Context) error) {
	select {
	case <-a.opened:
	case <-a.upkeep.Context().Done():
		return
	}
	for {
		err := take(context.Background())
		if err == nil || errors.Is(err, store.ErrClosed) {
			return
		}
		a.o.Logger.Error("a memory of another replica could not be taken in", "error", a.o.Sanitizer.Sanitize(err.Error()))
		if codec.Unreadable(err) {
			return
		}
		select {
		case <-time.After(time.Second):
		case <-a.upkeep.Context().Done():
			return
		}
	}
}

// renewSome renews the leases of the live runs, and the replica's own record.
func (a *Agent) renewSome() int64 {
	if a.leases == nil {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), a.o.Lease/3)
	defer cancel()
	a.leases.Renew(ctx)
	if err := a.peers.Meet(ctx); err != nil {
		a.o.Logger.Error("other replicas could not be seen", "error", a.o.Sanitizer.Sanitize(err.Error()))
	}
	return a.o.Now().Add(a.o.Lease / 3).UnixNano()
}

// hearOthers waits, once for a run, until this replica knows all writes that were acknowledged
// before, up to Options.ReadYourWrites.
func (t *turn) hearOthers(ctx context.Context) error {
	if t.abreast || t.a.o.ReadYourWrites < 0 {
		return nil
	}
	t.abreast = true
	late, cancel := context.WithTimeout(context.Background(), t.a.o.ReadYourWrites) // without the lease
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	err := t.a.bank.Await(late, memory.Latest)
	if errors.Is(err, context.DeadlineExceeded) {
		t.a.o.Logger.Warn("a run goes on without what other replicas have just written", "run", t.s.ID)
		err = nil
	}
	return err
}
