package postgres_test

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/store"
)

// remoteSchema makes the test binary a client of the store in this schema.
const remoteSchema = "ARC_POSTGRES_TEST_CLIENT"

// What a client is asked to do, and what came of it.
type (
	request struct {
		ID  int
		Get string // or, if it is "":
		Ops []store.Op
	}
	reply struct {
		ID       int
		Entry    store.Entry
		Rev      store.Revision
		NotFound bool
		Conflict bool
		Error    string
	}
)

// serve is the client: it does what it is asked on in, any number at a time.
func serve(in io.Reader, out io.Writer) error {
	ctx := context.Background()
	st, err := postgres.Open(ctx, pooled(4), &postgres.Options{
		Schema: os.Getenv(remoteSchema), Patience: 20 * time.Second,
	})
	if err != nil {
		return err
	}
	defer st.Close()
	requests, replies, mu := gob.NewDecoder(in), gob.NewEncoder(out), sync.Mutex{}
	for {
		var r request
		if err := requests.Decode(&r); err != nil {
			return nil // it is over
		}
		go func() {
			a := reply{ID: r.ID}
			var err error
			if r.Get != "" {
				a.Entry, err = st.Get(ctx, r.Get)
			} else {
				a.Rev, err = st.Commit(ctx, r.Ops...)
			}
			a.NotFound, a.Conflict = errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrConflict)
			if err != nil {
				a.Error = err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			_ = replies.Encode(a) // the parent misses it
		}()
	}
}

// remote is a Store in a process of its own.
type remote struct {
	pid int

	mu      sync.Mutex
	asks    *gob.Encoder
	last    int
	waiting map[int]chan reply
}

// process starts the test binary as a client.
func process(t *testing.T, schema string) *remote {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), remoteSchema+"="+schema, "ARC_POSTGRES_URL="+conninfo)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	r := &remote{pid: cmd.Process.Pid, asks: gob.NewEncoder(in), waiting: map[int]chan reply{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		replies := gob.NewDecoder(out)
		for {
			var a reply
			if replies.Decode(&a) != nil {
				return
			}
			r.mu.Lock()
			r.waiting[a.ID] <- a
			delete(r.waiting, a.ID)
			r.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		<-done
		require.NoError(t, cmd.Wait())
	})
	return r
}

// ask returns what the client has answered.
func (r *remote) ask(q request) (reply, error) {
	answer := make(chan reply, 1)
	r.mu.Lock()
	r.last++
	q.ID = r.last
	r.waiting[q.ID] = answer
	err := r.asks.Encode(q)
	r.mu.Unlock()
	if err != nil {
		return reply{}, err
	}
	select {
	case a := <-answer:
		switch {
		case a.NotFound:
			err = store.ErrNotFound
		case a.Conflict:
			err = store.ErrConflict
		case a.Error != "":
			err = errors.New(a.Error)
		}
		return a, err
	case <-time.After(2 * time.Minute):
		return reply{}, fmt.Errorf("the client of process %d does not answer", r.pid)
	}
}

func (r *remote) Get(_ context.Context, key string) (store.Entry, error) {
	a, err := r.ask(request{Get: key})
	return a.Entry, err
}

func (r *remote) Commit(_ context.Context, ops ...store.Op) (store.Revision, error) {
	a, err := r.ask(request{Ops: ops})
	return a.Rev, err
}
