package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/rpc"
	"sync"

	"github.com/arc-learn/arc/next/store"
)

// Serve serves a store that is a [store.Changer], such as that of [store.NewMem], at a Unix socket until stop is called. A
// client that dies leaves nothing behind: a commit that it had sent is made or not, as a whole.
func Serve(st store.Store, socket string) (stop func() error, err error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	s := rpc.NewServer()
	if err := s.RegisterName("Store", &served{st}); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	var running sync.WaitGroup
	var conns []net.Conn // of the goroutine that accepts, until it has ended
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns = append(conns, c)
			running.Go(func() { s.ServeConn(c) })
		}
	}()
	return func() error {
		err := l.Close()
		<-accepted
		for _, c := range conns {
			c.Close() // an error only says that the client was first
		}
		running.Wait()
		return err
	}, nil
}

// Request and Reply go over the socket; net/rpc wants them exported.
type (
	Request struct {
		Method string
		Key    string
		Range  store.Range
		Ops    []store.Op
		After  store.Revision
	}
	Reply struct {
		Entries []store.Entry
		Rev     store.Revision
		Code    int // index in codes
		Err     string
	}
)

var codes = []error{nil, errors.New("failed"), store.ErrNotFound, store.ErrConflict, store.ErrClosed}

type served struct{ st store.Store }

// Do calls a method of the store.
func (s *served) Do(r *Request, a *Reply) error {
	var err error
	var entries iter.Seq2[store.Entry, error]
	switch ctx := context.Background(); r.Method {
	case "Get":
		a.Entries = make([]store.Entry, 1)
		a.Entries[0], err = s.st.Get(ctx, r.Key)
	case "Commit":
		a.Rev, err = s.st.Commit(ctx, r.Ops...)
	case "Scan":
		entries = s.st.Scan(ctx, r.Range)
	case "Changes":
		entries = s.st.(store.Changer).Changes(ctx, r.After)
	}
	if entries != nil {
		for e, bad := range entries {
			a.Entries, err = append(a.Entries, e), bad
		}
	}
	if err != nil {
		a.Err, a.Code = err.Error(), 1
	}
	for code, known := range codes {
		if known != nil && errors.Is(err, known) {
			a.Code = code
		}
	}
	if c, ok := errors.AsType[*store.ConflictError](err); ok {
		a.Err = c.Key
	}
	return nil
}

func (a *Reply) error() error {
	if codes[a.Code] == store.ErrConflict {
		return &store.ConflictError{Key: a.Err}
	} else if a.Code > 0 {
		return fmt.Errorf("%w (served: %s)", codes[a.Code], a.Err)
	}
	return nil
}

// Dial returns the store that is served at a socket. Its Close ends the connection after the calls under way.
func Dial(socket string) (store.Store, error) {
	c, err := rpc.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	return &client{rpc: c}, nil
}

type client struct {
	rpc    *rpc.Client
	mu     sync.RWMutex // held for reading by calls
	closed bool
}

func (c *client) do(ctx context.Context, r *Request) (*Reply, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if err := ctx.Err(); err != nil {
		return &Reply{}, err
	}
	if c.closed {
		return &Reply{}, store.ErrClosed
	}
	a := new(Reply)
	call := c.rpc.Go("Store.Do", r, a, make(chan *rpc.Call, 1))
	select {
	case <-ctx.Done():
		return &Reply{}, ctx.Err()
	case <-call.Done:
		return a, cmp.Or(call.Error, a.error())
	}
}

func (c *client) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := store.CheckKey(key); err != nil {
		return store.Entry{}, err
	}
	a, err := c.do(ctx, &Request{Method: "Get", Key: key})
	if err != nil {
		return store.Entry{}, err
	}
	return a.Entries[0], nil
}

func (c *client) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if err := store.CheckOps(ops); err != nil {
		return 0, err
	}
	a, err := c.do(ctx, &Request{Method: "Commit", Ops: ops})
	return a.Rev, err
}

func (c *client) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return c.entries(ctx, &Request{Method: "Scan", Range: r})
}

func (c *client) Changes(ctx context.Context, after store.Revision) iter.Seq2[store.Entry, error] {
	return c.entries(ctx, &Request{Method: "Changes", After: after})
}

func (c *client) entries(ctx context.Context, r *Request) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		a, err := c.do(ctx, r)
		if err != nil {
			yield(store.Entry{}, err)
			return
		}
		for _, e := range a.Entries {
			if ctx.Err() != nil {
				yield(store.Entry{}, ctx.Err())
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (c *client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	return c.rpc.Close()
}
