package storetest

import (
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"iter"
	"net"
	"sync"

	"github.com/arc-learn/arc/store"
)

// Serve serves a store, such as that of [store.NewMem], at a Unix socket until stop is called. A client that
// dies leaves nothing behind: a commit that it had sent is made or not, as a whole.
func Serve(st store.Changer, socket string) (stop func() error, err error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	var calls sync.WaitGroup
	calls.Go(func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			calls.Go(func() { answer(st, conn) })
		}
	})
	return func() error { defer calls.Wait(); return l.Close() }, nil
}

// request is a commit, or else changes (of the prefix of Range) or a scan.
type request struct {
	Ops     []store.Op
	Range   store.Range
	After   store.Revision
	Changes bool
}

type reply struct {
	Entries  []store.Entry
	Rev      store.Revision
	Conflict *store.ConflictError
	Err      string
}

// answer answers a call, which has a connection of its own: it ends with the client.
func answer(st store.Changer, conn net.Conn) {
	defer conn.Close()
	var q request
	var a reply
	if gob.NewDecoder(conn).Decode(&q) != nil { // the client has died
		return
	}
	ctx := context.Background()
	entries, err := st.Scan(ctx, q.Range), error(nil)
	if q.Changes {
		entries = st.Changes(ctx, q.Range.Prefix, q.After)
	}
	if q.Ops != nil {
		a.Rev, err = st.Commit(ctx, q.Ops...)
	} else {
		for e, failed := range entries { // an error is the last
			a.Entries, err = append(a.Entries, e), failed
		}
	}
	if !errors.As(err, &a.Conflict) && err != nil {
		a.Err = err.Error()
	}
	_ = gob.NewEncoder(conn).Encode(a) // the client may have died
}

// Dial returns the store that is served at a socket. Its Close waits for the calls under way.
func Dial(socket string) (store.Changer, error) { return &client{socket: socket}, nil }

type client struct {
	socket string
	mu     sync.RWMutex // held for reading by calls
	closed bool
}

// do makes a call. One that has begun is waited for, whatever becomes of ctx.
func (c *client) do(ctx context.Context, q request) (a reply, err error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if err := ctx.Err(); err != nil {
		return a, err
	}
	if c.closed {
		return a, store.ErrClosed
	}
	conn, err := net.Dial("unix", c.socket)
	if err != nil {
		return a, err
	}
	defer conn.Close()
	if err = gob.NewEncoder(conn).Encode(q); err == nil {
		err = gob.NewDecoder(conn).Decode(&a)
	}
	if a.Conflict != nil {
		return a, a.Conflict
	} else if a.Err != "" {
		err = errors.New(a.Err)
	}
	return a, err
}

func (c *client) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := store.Check(store.Op{Key: key}); err != nil {
		return store.Entry{}, err
	}
	for e, err := range c.Scan(ctx, store.Range{Prefix: key, Limit: 1}) {
		if err != nil || e.Key == key {
			return e, err
		}
	}
	return store.Entry{}, store.ErrNotFound
}

func (c *client) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if err := store.Check(ops...); err != nil || len(ops) == 0 {
		return 0, err
	}
	a, err := c.do(ctx, request{Ops: ops})
	return a.Rev, err
}

func (c *client) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return c.entries(ctx, request{Range: r})
}

func (c *client) Changes(ctx context.Context, in string, after store.Revision) iter.Seq2[store.Entry, error] {
	return c.entries(ctx, request{Changes: true, Range: store.Range{Prefix: in}, After: after})
}

func (c *client) entries(ctx context.Context, q request) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		a, err := c.do(ctx, q)
		for _, e := range a.Entries {
			if err = cmp.Or(err, ctx.Err()); err != nil {
				break
			}
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(store.Entry{}, err)
		}
	}
}

func (c *client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return nil
}
