package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Group is where the parts of one tenant meet the store: it turns concurrent updates into few commits, and
// tells each part what others have written. Its methods may be called concurrently.
//
// Waiting functions stage one after the other into one Batch, which is committed with one sync; then every
// After runs in order. On ErrConflict, and after an error of unknown outcome, the keys of the batch are read,
// at the latest before the next update, and given to their followers; after a conflict each function then
// runs again, alone. One that writes a key that an earlier one of the commit has written, and has not read it
// by [Batch.Get], runs again in the next commit. So a function may run more than once; it must call no host
// code and no method of the Group. All run one at a time, on a caller's goroutine, which panics with them.
type Group struct {
	*group
	prefix string
	part   Store // below prefix
}

// group is what a Group and its Subs share.
type group struct {
	st      Store
	mu      sync.Mutex
	waiting []*update     // under mu
	lead    chan struct{} // held by the caller that commits; what follows is its own
	follows []func(Entry)
	again   []func(context.Context) error
	seen    Revision     // of the last Refresh, or Latest where parts have to read everything
	reads   atomic.Int64 // of Refresh, that have ended
	unread  []Op         // whose keys others may have written, to be read before anything is staged
}

// update is a call of Update. It has joined the commit under way, or has ended, or waits for the next one.
type update struct {
	ctx           context.Context
	f             func(*Batch) error
	prefix        string      // of what f stages
	begun         atomic.Bool // f may have run, or is run
	err           error       // of who leads, as what follows
	joined, ended bool
}

const maxJoined, maxTries = 64, 100 // functions of a commit; runs of one whose keys others change

// NewGroup returns a Group over st, never nil: a tenant's part, see [Sub], where an Agent or a Layer has st.
func NewGroup(st Store) *Group {
	if of, ok := st.(sub); ok {
		return NewGroup(of.st).Sub(of.prefix)
	}
	return &Group{&group{st: st, lead: make(chan struct{}, 1), seen: Latest}, "", st}
}

// Sub returns a view of the same Group whose keys begin at prefix, as [Sub] does for a Store: so commits of a
// tenant's parts can be commits of the whole store.
func (g *Group) Sub(prefix string) *Group {
	return &Group{g.group, g.prefix + prefix, Sub(g.part, prefix)}
}

// Store returns the store that g commits to.
func (g *Group) Store() Store { return g.part }

// Follow has apply called with every entry below prefix that somebody else has written or deleted, after a
// conflict and by Refresh, and with every one that an Update deletes, before its After runs. Entries may come
// more than once, also the part's own. A deleted entry of Rev 0 was found missing just now. Where a [Changer]
// has forgotten what was deleted, Refresh calls again, whatever its ctx, to have all read in place of what
// the part has. Follow is called before the first Update.
func (g *Group) Follow(prefix string, apply func(Entry), again func(context.Context) error) {
	g.again = append(g.again, again)
	g.follows = append(g.follows, func(e Entry) {
		if key, ok := strings.CutPrefix(e.Key, g.prefix); ok && key != "" && strings.HasPrefix(key, prefix) {
			e.Key = key
			apply(e)
		}
	})
}

// Refresh gives followers what other processes have written below g since the last call, where the store is a
// [Changer]; otherwise it does nothing. The first call, made before the first Follow, marks where to begin.
// Of the views of a Group the widest that has followers is the one to refresh.
func (g *Group) Refresh(ctx context.Context) error {
	changer, ok := g.st.(Changer)
	if !ok {
		return nil
	}
	reads := g.reads.Load()
	select {
	case g.lead <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-g.lead }()
	if g.reads.Load() > reads+1 { // one of them began after this call
		return nil
	}
	seen := g.seen
	for e, err := range changer.Changes(ctx, g.prefix, g.seen) {
		if err != nil {
			return err
		}
		g.seen = max(g.seen, max(1, e.Rev)-1) // all up to that is taken in: where ctx ends, it goes on there
		g.tell(e)
		if seen = e.Rev; e.Key == "" && e.Deleted {
			g.seen = Latest // all is read now, or by the next call
		}
	}
	for i := 0; g.seen == Latest && i < len(g.again); i++ {
		if err := g.again[i](context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	g.seen = seen
	g.reads.Add(1)
	return nil
}

// Update has f stage into a Batch and returns once that is committed. An error of f drops what f staged, and
// is returned; the other functions of the commit are not affected. If ctx ends before f was run, Update
// returns its error; a commit that has begun is waited for, by ctx where it is of this call alone. It returns
// ErrConflict after 100 runs of f, and where f stages a condition on a key again that did not hold.
func (g *Group) Update(ctx context.Context, f func(*Batch) error) error {
	u := &update{ctx: ctx, f: f, prefix: g.prefix}
	g.mu.Lock()
	g.waiting = append(g.waiting, u)
	g.mu.Unlock()
	lead, gone := false, ctx.Done()
	for !lead {
		select {
		case <-gone:
			if !u.begun.Load() {
				return ctx.Err() // who leads next finds it ended
			}
			gone = nil // it has begun, and is waited for
		case g.lead <- struct{}{}:
			lead = true
		}
	}
	defer func() { // also after a panic, which a caller may recover from
		u.ended = true
		g.pending(0)
		<-g.lead
	}()
	for !u.ended { // else it was in another's commit
		g.together(g.pending(maxJoined), 1, Op{})
	}
	return u.err
}

// pending returns the updates of the next commit, so many at most, and drops those that have ended.
func (g *group) pending(most int) []*update {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(u *update) bool { return u.ended })
	return g.waiting[:min(len(g.waiting), most)] // others only add, and who leads alone takes out
}

// together runs updates into one commit. After a conflict nothing was written, and each runs again alone:
// what it decided from, perhaps what one before it had staged, does not hold any more. So it goes on until
// each has met no other, or stages anew the condition that did not hold the last time.
func (g *group) together(updates []*update, try int, last Op) {
	ctx := context.WithoutCancel(updates[0].ctx)
	if len(updates) == 1 || len(g.unread) > 0 { // the store may be away: each waits as its own ctx says
		updates, ctx = updates[:1], updates[0].ctx
	}
	unreadable := g.settle(ctx)
	b := &batch{st: g.st, ops: make([]Op, 0, 16), at: map[string]int{}, after: make([]func(Revision), 0, 8)}
	for _, u := range updates {
		was := *b
		b.from, b.read, b.wait = len(b.ops), b.read[:0], false
		u.begun.Store(true) // before its ctx is asked
		if u.err = cmp.Or(unreadable, u.ctx.Err()); u.err == nil {
			u.err = u.f(&Batch{b, u.prefix})
		}
		u.joined = u.err == nil && !b.wait
		u.ended = u.err != nil && !b.wait // neither: it runs in the next commit
		if !u.joined {                    // what it has staged is dropped
			*b = was
			clear(b.at)
			for i, op := range b.ops {
				b.at[op.Key] = i
			}
		}
	}
	ops := b.ops[:0]
	for i, op := range b.ops {
		if b.at[op.Key] == i { // no later op has taken its place
			ops = append(ops, op)
		}
	}
	rev, err := Revision(0), error(nil)
	if len(ops) > 0 {
		rev, err = g.st.Commit(ctx, ops...)
	}
	if err != nil {
		g.unread = append(g.unread, ops...)
		_ = g.settle(ctx) // or before the next update
	}
	for _, op := range ops {
		if op.Delete && err == nil {
			g.tell(Entry{Key: op.Key, Rev: rev, Deleted: true})
		}
	}
	for i := 0; i < len(b.after) && err == nil; i++ {
		b.after[i](rev)
	}
	var met Op // whose condition did not hold
	c, is := errors.AsType[*ConflictError](err)
	if i := slices.IndexFunc(ops, func(op Op) bool { return is && op.Key == c.Key }); i >= 0 {
		met = ops[i]
	}
	for _, u := range updates {
		again := met.Key != "" && met.Key == last.Key && met.If == last.If
		if u.joined && errors.Is(err, ErrConflict) && try < maxTries && !again {
			g.together([]*update{u}, try+1, met)
		} else if u.joined {
			u.err, u.ended = err, true
		}
	}
}

// settle gives followers the keys of which it is not known what they hold.
func (g *group) settle(ctx context.Context) error {
	for ; len(g.unread) > 0; g.unread = g.unread[1:] {
		e, err := g.st.Get(ctx, g.unread[0].Key)
		if errors.Is(err, ErrNotFound) {
			e, err = Entry{Key: g.unread[0].Key, Deleted: true}, nil
		}
		if err != nil {
			return fmt.Errorf("store: a key of an earlier commit cannot be read: %w", err)
		}
		g.tell(e)
	}
	return nil
}

// tell has followers take an entry in.
func (g *group) tell(e Entry) {
	for _, apply := range g.follows {
		apply(e)
	}
}
