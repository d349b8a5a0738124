package storetest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
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
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: served{st}}}
	s.Start()
	return func() error { s.Close(); return nil }, nil
}

// request is a commit, or else changes or a scan.
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

type served struct{ st store.Changer }

func (s served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q request
	var a reply
	err := gob.NewDecoder(r.Body).Decode(&q)
	ctx := context.WithoutCancel(r.Context())
	entries := s.st.Scan(ctx, q.Range)
	if q.Changes {
		entries = s.st.Changes(ctx, q.After)
	}
	if q.Ops != nil {
		a.Rev, err = s.st.Commit(ctx, q.Ops...)
	} else if err == nil {
		for e, bad := range entries {
			a.Entries, err = append(a.Entries, e), bad
		}
	}
	if !errors.As(err, &a.Conflict) && err != nil {
		a.Err = err.Error()
	}
	_ = gob.NewEncoder(w).Encode(a) // the client may have died
}

// Dial returns the store that is served at a socket. Its Close waits for the calls under way.
func Dial(socket string) (store.Changer, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	transport := &http.Transport{DialContext: dial, DisableKeepAlives: true} // no goroutine outlives a call
	return &client{web: http.Client{Transport: transport}}, nil
}

type client struct {
	web    http.Client
	mu     sync.RWMutex // held for reading by calls
	closed bool
}

func (c *client) do(ctx context.Context, q request) (a reply, err error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if err := ctx.Err(); err != nil {
		return a, err
	}
	if c.closed {
		return a, store.ErrClosed
	}
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(q); err != nil {
		return a, err
	}
	answer, err := c.web.Post("http://store", "", &body) // a call that has begun is waited for
	if err != nil {
		return a, err
	}
	err = errors.Join(gob.NewDecoder(answer.Body).Decode(&a), answer.Body.Close())
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

func (c *client) Changes(ctx context.Context, after store.Revision) iter.Seq2[store.Entry, error] {
	return c.entries(ctx, request{Changes: true, After: after})
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
	c.web.CloseIdleConnections()
	return nil
}
