package storetest

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
)

// client is one of two handles on a store. The functions break it.
type client struct {
	broken
	closed *atomic.Bool
	meet   chan struct{} // both have it
	held   *sync.Map     // keys that a CommitFirst is at work on
	first  func(key string) (held bool)
}

func (c *client) CommitFirst(
	ctx context.Context, marks, keys []string, fn func(n int, e store.Entry) ([]store.Op, error),
) (store.Revision, error) {
	for n, key := range keys {
		if c.first(key) {
			continue
		}
		defer c.held.Delete(key)
		_, err := c.Get(ctx, marks[n])
		e, lost := c.Get(ctx, key)
		if err != nil || lost != nil {
			continue
		}
		ops, err := fn(n, e)
		if err != nil {
			return 0, err
		}
		return c.Commit(ctx, ops...)
	}
	return 0, store.ErrConflict
}

// clients returns two handles on one Mem, each with methods that its Close ends.
func clients(spoil func(c *client)) (a, b *client) {
	mem, meet, held := store.NewMem(), make(chan struct{}), new(sync.Map)
	handle := func() *client {
		c := &client{broken: broken{Mem: mem}, closed: new(atomic.Bool), meet: meet, held: held}
		c.first = func(key string) bool {
			_, there := held.LoadOrStore(key, true)
			return there
		}
		c.broken.get = func(ctx context.Context, key string) (store.Entry, error) {
			if c.closed.Load() {
				return store.Entry{}, store.ErrClosed
			}
			return mem.Get(ctx, key)
		}
		c.broken.close = func() error {
			c.closed.Store(true)
			return nil
		}
		spoil(c)
		return c
	}
	return handle(), handle()
}

func TestRunShared(t *testing.T) {
	RunShared(t, func(*testing.T) (store.Store, store.Store) { return clients(func(*client) {}) })
}

var wrongShared = map[string]struct {
	rule  string
	spoil func(c *client)
}{
	"keeps what it has read": {"one opener sees what another was acknowledged", func(c *client) {
		kept := map[string]store.Entry{}
		get := c.get
		c.get = func(ctx context.Context, key string) (store.Entry, error) {
			if e, ok := kept[key]; ok {
				return e, nil
			}
			e, err := get(ctx, key)
			if err == nil {
				kept[key] = e
			}
			return e, err
		}
	}},
	"checks conditions against its own commits": {"a condition is about the commits of all", func(c *client) {
		own := map[string]store.Revision{}
		c.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
			free := append([]store.Op(nil), ops...)
			for i, op := range free {
				if !op.If.Holds(own[op.Key]) {
					return 0, store.ErrConflict
				}
				free[i].If = store.Any
			}
			rev, err := c.Mem.Commit(ctx, free...)
			for _, op := range ops {
				own[op.Key] = rev
			}
			return rev, err
		}
	}},
	"numbers commits by itself": {"revisions grow from one opener to the other", func(c *client) {
		n := store.Revision(0)
		c.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
			_, err := c.Mem.Commit(ctx, ops...)
			n++
			return n, err
		}
	}},
	"looks before it writes": {"increments of two openers are not lost", looks},
	"forgets the epoch":      {"a writer whose epoch is over cannot commit", looks},
	"watches its own commits": {"one watch sees the commits of all, in order", func(c *client) {
		var mu sync.Mutex
		own := map[store.Revision]bool{}
		c.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
			mu.Lock()
			defer mu.Unlock()
			rev, err := c.Mem.Commit(ctx, ops...)
			own[rev] = true
			return rev, err
		}
		c.watch = func(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
			ctx, cancel := context.WithTimeout(ctx, patience/20)
			return edit(c.Mem.Watch(ctx, prefix, after), func(e *store.Entry) bool {
				mu.Lock()
				defer mu.Unlock()
				_ = cancel // with its time
				return e.Key == "w" || own[e.Rev]
			})
		}
	}},
	"begins again one commit too late": {"a watch is taken up again without a gap", func(c *client) {
		c.watch = func(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
			if after > 0 {
				after++
			}
			ctx, cancel := context.WithTimeout(ctx, patience/20)
			return edit(c.Mem.Watch(ctx, prefix, after), func(*store.Entry) bool {
				_ = cancel
				return true
			})
		}
	}},
	"takes what another is at work on": {"the first that is free is what no other is at work on", func(c *client) {
		c.first = func(string) bool { return false }
	}},
	"drops conditions": {"the first that is free is what no other is at work on", func(c *client) {
		c.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
			free := append([]store.Op(nil), ops...)
			for i := range free {
				free[i].If = store.Any
			}
			return c.Mem.Commit(ctx, free...)
		}
	}},
	"loses its answer": {"each key that is free has one who commits first", func(c *client) {
		c.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
			rev, err := c.Mem.Commit(ctx, ops...)
			if len(ops) == 2 && ops[1].Delete && err == nil {
				err = store.ErrConflict
			}
			return rev, err
		}
	}},
	"closes for all": {"closing one leaves the other open", func(c *client) { c.close = c.Mem.Close }},
}

// looks checks conditions, lets another who does so come as far, and then writes without.
func looks(c *client) {
	c.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
		free := append([]store.Op(nil), ops...)
		for i, op := range free {
			e, _ := c.Mem.Get(ctx, op.Key) // absent has revision 0
			if !op.If.Holds(e.Rev) {
				return 0, store.ErrConflict
			}
			free[i].If = store.Any
		}
		select {
		case c.meet <- struct{}{}:
		case <-c.meet:
		case <-time.After(20 * time.Millisecond): // it is alone
		}
		return c.Mem.Commit(ctx, free...)
	}
}

func TestSharedRulesSeeWrongStores(t *testing.T) {
	for name, w := range wrongShared {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := false
			for _, r := range sharedRules {
				if r.name != w.rule {
					continue
				}
				seen = true
				a, b := clients(w.spoil)
				v := judge(t.Context(), func(t tb) { r.check(t, a, b) })
				require.True(t, v.failed, "the rule %q holds", w.rule)
			}
			require.True(t, seen, "no rule is called %q", w.rule)
		})
	}
}

// Handles that cannot watch, nor commit first, are asked everything else.
func TestWatchIsOptionalForShared(t *testing.T) {
	type plain struct{ store.Store }
	mem := store.NewMem()
	for _, r := range sharedRules {
		if v := judge(t.Context(), func(t tb) { r.check(t, plain{mem}, plain{mem}) }); v.skipped {
			require.Regexp(t, "watch|first", r.name)
		}
	}
}
