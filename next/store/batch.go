package store

import "context"

// Batch collects what a step changes, for one commit. The parts of a step (the run, memory, statistics,
// sessions) stage their puts and deletes into one Batch; their caches follow in functions given to After, which
// run in order once the commit has succeeded, and not at all otherwise.
//
// A Batch is used by one goroutine at a time. It begins at a store of its own or at a tenant's part of it.
type Batch struct {
	state  *batch
	prefix string
}

// batch is what a Batch and its Subs share.
type batch struct {
	st    Store
	ops   map[string]Op
	order []string
	after []func(rev Revision)
	bytes int
}

// NewBatch returns an empty Batch over st.
func NewBatch(st Store) *Batch {
	return &Batch{state: &batch{st: st, ops: map[string]Op{}}}
}

// Sub returns a view of the same Batch whose keys begin at prefix, as [Sub] does for a Store.
func (b *Batch) Sub(prefix string) *Batch {
	return &Batch{state: b.state, prefix: b.prefix + prefix}
}

// Get returns what the key will hold after the commit: what was staged, or else what the store holds. A staged
// entry has Rev 0.
func (b *Batch) Get(ctx context.Context, key string) (Entry, error) { panic("contract") }

// Put stages a write of key under a condition. A later Put or Delete of the key replaces the value and keeps the
// first condition. It returns a *LimitError when the commit would be too large, and stages nothing then.
func (b *Batch) Put(key string, value []byte, c Condition) error { panic("contract") }

// Delete stages a delete of key under a condition.
func (b *Batch) Delete(key string, c Condition) error { panic("contract") }

// Check stages the condition that key must meet, without a write.
func (b *Batch) Check(key string, c Condition) error { panic("contract") }

// After has f run once the Batch was committed. f must not call the store.
func (b *Batch) After(f func(rev Revision)) { b.state.after = append(b.state.after, f) }

// Commit commits what was staged, and runs the functions given to After.
func (b *Batch) Commit(ctx context.Context) (Revision, error) { panic("contract") }

// Group is where the parts of one tenant meet the store: it turns concurrent updates into few commits, and tells
// each part what others have written.
//
// Waiting functions stage one after the other into one Batch, which is committed with one sync; then every After
// runs in order. On ErrConflict the keys of the batch are read and given to their followers, and each function
// runs again, alone. A function may therefore run more than once; it must call no host code. After an error of
// unknown outcome the keys are read and given to their followers, too, before the error is returned.
type Group struct{ st Store }

// NewGroup returns a Group over st, which is a tenant's sub-store or a store of its own.
func NewGroup(st Store) *Group { return &Group{st: st} }

// Store returns the store that g commits to.
func (g *Group) Store() Store { return g.st }

// Follow has apply called with every entry below prefix that somebody else has written, deleted ones included:
// after a conflict, and by Refresh. Entries may come more than once and older than what the part has; apply
// compares Rev. Follow is called before the first Update.
func (g *Group) Follow(prefix string, apply func(Entry)) { panic("contract") }

// Refresh gives followers what other processes have written since the last call, where the store is a [Changer];
// otherwise it does nothing.
func (g *Group) Refresh(ctx context.Context) error { panic("contract") }

// Update has f stage into a Batch and returns once that is committed. An error of f drops what f staged, and is
// returned; the other functions of the commit are not affected.
func (g *Group) Update(ctx context.Context, f func(*Batch) error) error { panic("contract") }
