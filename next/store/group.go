package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Group is where the parts of one tenant meet the store: it turns concurrent updates into few commits, and tells
// each part what others have written.
//
// Waiting functions stage one after the other into one Batch, which is committed with one sync; then every After
// runs in order. On ErrConflict the keys of the batch are read and given to their followers, and each function
// runs again, alone. After an error of unknown outcome the keys are read and given to their followers, too, before
// the error is returned. A function that writes a key that an earlier function of the commit has written, and has
// not read it by [Batch.Get], runs again in the next commit.
//
// So a function may run more than once; it must call no host code and no method of the Group. Functions, Afters
// and followers run one at a time, on the goroutine of any caller that waits: a panic of one is that caller's. All
// methods may be called concurrently.
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
	follows []follower
	seen    Revision        // of the last Refresh
	unread  map[string]bool // keys that others may have written, to be read before anything is staged
}

type follower struct {
	prefix, strip string
	apply         func(Entry)
}

// update is a call of Update.
type update struct {
	Batch
	batch  batch
	ctx    context.Context
	f      func(*Batch) error
	err    error
	joined bool // the commit that is being made; if not and not ended, it waits for the next one
	ended  bool
}

const (
	maxJoined = 64 // functions of a commit
	maxTries  = 16 // runs of a function whose keys other processes change
)

// NewGroup returns a Group over st, which is a tenant's sub-store or a store of its own.
func NewGroup(st Store) *Group {
	if of, ok := st.(sub); ok {
		return NewGroup(of.st).Sub(of.prefix)
	}
	return &Group{&group{st: st, lead: make(chan struct{}, 1), unread: map[string]bool{}}, "", st}
}

// Sub returns a view of the same Group whose keys begin at prefix, as [Sub] does for a Store: so commits of a
// tenant's parts can be commits of the whole store.
func (g *Group) Sub(prefix string) *Group {
	return &Group{g.group, g.prefix + prefix, Sub(g.part, prefix)}
}

// Store returns the store that g commits to.
func (g *Group) Store() Store { return g.part }

// Follow has apply called with every entry below prefix that somebody else has written, deleted ones included:
// after a conflict, and by Refresh. Entries may come more than once, those that the part itself has written, too.
// A deleted entry of Rev 0 was found missing just now. Follow is called before the first Update.
func (g *Group) Follow(prefix string, apply func(Entry)) {
	g.follows = append(g.follows, follower{g.prefix + prefix, g.prefix, apply})
}

func (g *group) tell(e Entry) {
	key := e.Key
	for _, f := range g.follows {
		if strings.HasPrefix(key, f.prefix) {
			e.Key = strings.TrimPrefix(key, f.strip)
			f.apply(e)
		}
	}
}

// Refresh gives followers what other processes have written since the last call, where the store is a [Changer];
// otherwise it does nothing. The first call, made before the first Follow, marks where to begin. After an error
// that wraps ErrNotFound the parts must read the store again, with a new Group.
func (g *Group) Refresh(ctx context.Context) error {
	changer, ok := g.st.(Changer)
	if !ok {
		return nil
	}
	select {
	case g.lead <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-g.lead }()
	after := g.seen
	if after == 0 && len(g.follows) == 0 {
		after = Latest
	}
	for e, err := range changer.Changes(ctx, after) {
		switch {
		case err != nil:
			return err
		case e.Key == "":
			g.seen = e.Rev
		default:
			g.tell(e)
		}
	}
	return nil
}

// Skip tells g that nothing of its has changed after one revision and up to another, as one reader of the [Changer]
// finds for many Groups: the next Refresh need not read that again.
func (g *Group) Skip(after, upTo Revision) {
	g.lead <- struct{}{}
	if g.seen >= after {
		g.seen = max(g.seen, upTo)
	}
	<-g.lead
}

// Update has f stage into a Batch and returns once that is committed. An error of f drops what f staged, and is
// returned; the other functions of the commit are not affected. If ctx ends before f was run, Update returns its
// error; a commit that has begun is waited for, so a store that can hang must bound its own commits.
func (g *Group) Update(ctx context.Context, f func(*Batch) error) error {
	u := &update{ctx: ctx, f: f}
	u.Batch = Batch{&u.batch, g.prefix}
	g.mu.Lock()
	g.waiting = append(g.waiting, u)
	g.mu.Unlock()
	g.lead <- struct{}{}
	defer func() { // also after a panic, which a caller may recover from
		u.ended = true
		g.pending()
		<-g.lead
	}()
	for !u.ended {
		g.together(g.pending(), 1)
	}
	return u.err
}

// pending returns the updates of the next commit, and drops those that have ended.
func (g *group) pending() []*update {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(u *update) bool { return u.ended })
	return slices.Clone(g.waiting[:min(len(g.waiting), maxJoined)])
}

// together runs updates into one commit. After a conflict each runs again, alone, until no other process has changed
// its keys meanwhile.
func (g *group) together(updates []*update, try int) {
	ctx := context.WithoutCancel(updates[0].ctx)
	unreadable := g.settle(ctx)
	var all staged
	for _, u := range updates {
		u.batch = batch{st: g.st, commit: &all}
		if u.err = cmp.Or(unreadable, u.ctx.Err()); u.err == nil {
			u.err = u.f(&u.Batch)
		}
		u.joined = u.err == nil && u.batch.join()
		u.ended = u.err != nil
	}
	err := g.write(ctx, &all)
	for _, u := range updates {
		switch {
		case !u.joined:
		case errors.Is(err, ErrConflict) && try < maxTries:
			g.together([]*update{u}, try+1)
		default:
			u.err, u.ended = err, true
		}
	}
}

// write makes a commit and runs its Afters. Where that fails its keys are read again, now or before the next update.
func (g *group) write(ctx context.Context, all *staged) (err error) {
	var rev Revision
	if len(all.ops) > 0 {
		rev, err = g.st.Commit(ctx, all.ops...)
	}
	if err != nil {
		for _, op := range all.ops {
			g.unread[op.Key] = true
		}
		_ = g.settle(ctx)
		return err
	}
	for _, f := range all.after {
		f(rev)
	}
	return nil
}

// settle gives followers the keys of which it is not known what they hold.
func (g *group) settle(ctx context.Context) error {
	if len(g.unread) == 0 {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(g.unread)) {
		e, err := g.st.Get(ctx, key)
		if errors.Is(err, ErrNotFound) {
			e, err = Entry{Key: key, Deleted: true}, nil
		}
		if err != nil {
			return fmt.Errorf("store: a key of an earlier commit cannot be read: %w", err)
		}
		g.tell(e)
		delete(g.unread, key)
	}
	return nil
}
