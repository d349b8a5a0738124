package postgres_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
)

var (
	rounds = flag.Int("linear.rounds", 4, "rounds of 500 operations that are checked, with faults")
	seed   = flag.Uint64("linear.seed", 1, "of what the clients do")
)

// What a client asks of a key, and what it is told.
type (
	asked struct {
		key   string
		read  bool
		op    store.Op
		value string // "": it is deleted
	}
	told struct {
		value   string
		rev     store.Revision // 0: absent, or a deletion
		refused bool           // ErrConflict
		unknown bool           // it may happen at any time from then on
	}
	// cell is a key as the model has it. A write whose outcome was unknown has a revision
	// that the first to read it tells.
	cell struct {
		value string
		rev   store.Revision
		known bool
		last  store.Revision // the largest there was
	}
)

var cells = porcupine.Model{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		by := map[string][]porcupine.Operation{}
		for _, op := range history {
			by[op.Input.(asked).key] = append(by[op.Input.(asked).key], op)
		}
		for _, part := range by {
			parts = append(parts, part)
		}
		return parts
	},
	Init:  func() any { return cell{known: true} },
	Equal: func(a, b any) bool { return a == b },
	Step: func(state, input, output any) (bool, any) {
		c, in, out := state.(cell), input.(asked), output.(told)
		if in.read {
			if !c.known && c.value != "" && out.value == c.value && out.rev > c.last {
				c.rev, c.last, c.known = out.rev, out.rev, true
			}
			return c.known && c.value == out.value && c.rev == out.rev, c
		}
		rev := c.rev
		if !c.known {
			rev = math.MaxUint64 - 1 // some, which no client can have asked for
		}
		holds := in.op.If.Holds(rev)
		if out.refused {
			return !holds, c
		}
		if out.unknown {
			if !holds {
				return true, c
			}
			if in.value == "" {
				return true, cell{known: true, last: c.last}
			}
			return true, cell{value: in.value, last: c.last}
		}
		if !holds || out.rev <= c.last {
			return false, c
		}
		next := cell{value: in.value, rev: out.rev, known: true, last: out.rev}
		if in.value == "" {
			next.rev = 0
		}
		return true, next
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
}

// Clients in several processes read and write conditionally while connections are cut,
// backends and clients are paused and the server is restarted as after a crash. What each key was
// told is what one that is alone could have been told.
func TestLinearizable(t *testing.T) {
	name := schema(t)
	database(t)
	const clients, each, keys, handles = 10, 50, 4, 5
	var stores []*remote
	for range handles {
		stores = append(stores, process(t, name))
	}
	var done, unknown, refused, faults int
	begin := time.Now()
	for round := range *rounds {
		stop, stopped := make(chan struct{}), make(chan int, 1)
		go func() { stopped <- disturb(t, round, stores, stop) }()
		var mu sync.Mutex
		var history []porcupine.Operation
		var clock atomic.Int64
		var wg sync.WaitGroup
		for id := range clients {
			wg.Go(func() {
				c := client{id: id, st: stores[id%handles], random: rand.New(rand.NewPCG(*seed+uint64(round), uint64(id))), seen: map[string]store.Revision{}}
				for i := range each {
					ops := c.act(t, fmt.Sprintf("%d/%d/", round, c.random.IntN(keys)), i, &clock)
					mu.Lock()
					history = append(history, ops...)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		close(stop)
		faults += <-stopped
		last := client{id: clients, st: stores[0], seen: map[string]store.Revision{}}
		for k := range keys {
			history = append(history, last.get(t, fmt.Sprintf("%d/%d/", round, k), &clock))
		}
		for _, op := range history {
			done++
			if op.Output.(told).unknown {
				unknown++
			}
			if op.Output.(told).refused {
				refused++
			}
		}
		result, info := porcupine.CheckOperationsVerbose(cells, history, 20*time.Second)
		if result != porcupine.Ok {
			_ = porcupine.VisualizePath(cells, info, "/tmp/linear.html") // to look at
		}
		require.Equal(t, porcupine.Ok, result, "round %d, seed %d", round, *seed)
	}
	t.Logf("%d operations in %v: %d refused, %d of unknown outcome, %d faults", done, time.Since(begin).Round(time.Millisecond), refused, unknown, faults)
}

type client struct {
	id     int
	st     *remote
	random *rand.Rand
	seen   map[string]store.Revision
}

// act does one thing and returns what is to be checked.
func (c *client) act(t *testing.T, key string, i int, clock *atomic.Int64) []porcupine.Operation {
	do := c.random.IntN(100)
	if do < 40 {
		return []porcupine.Operation{c.get(t, key, clock)}
	}
	in := asked{key: key, value: fmt.Sprintf("%d.%d", c.id, i)}
	switch {
	case do < 50:
	case do < 75:
		in.op.If = store.At(c.seen[key])
	case do < 85:
		in.op.If = store.Absent
	default:
		in.op.Delete, in.value, in.op.If = true, "", store.At(c.seen[key])
	}
	in.op.Key, in.op.Value = key, []byte(in.value)
	ops, all := []store.Op{in.op}, []asked{in}
	if do%5 == 0 { // and another key, whatever it has
		both := asked{key: "beside/" + key, value: in.value + "b"}
		both.op = store.Op{Key: both.key, Value: []byte(both.value)}
		ops, all = append(ops, both.op), append(all, both)
	}
	begin := clock.Add(1)
	rev, err := c.st.Commit(t.Context(), ops...)
	end := clock.Add(1)
	out := told{rev: rev, refused: errors.Is(err, store.ErrConflict)}
	if err != nil && !out.refused {
		if !strings.Contains(err.Error(), "outcome unknown") {
			t.Errorf("a commit: %v", err)
		}
		out.unknown, end = true, math.MaxInt64
	}
	if out.refused {
		all = all[:1]
	}
	var checked []porcupine.Operation
	for _, in := range all {
		if err == nil && in.value != "" {
			c.seen[in.key] = rev
		}
		checked = append(checked, porcupine.Operation{ClientId: c.id, Input: in, Call: begin, Output: out, Return: end})
	}
	return checked
}

func (c *client) get(t *testing.T, key string, clock *atomic.Int64) porcupine.Operation {
	begin := clock.Add(1)
	e, err := c.st.Get(t.Context(), key)
	end := clock.Add(1)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a read: %v", err)
	}
	c.seen[key] = e.Rev
	return porcupine.Operation{
		ClientId: c.id, Input: asked{key: key, read: true}, Call: begin,
		Output: told{value: string(e.Value), rev: e.Rev}, Return: end,
	}
}

// disturb does harm until it is stopped, and returns how often: it ends connections,
// pauses backends and clients, and in every fourth round restarts the server, if it is ours.
func disturb(t *testing.T, round int, stores []*remote, stop <-chan struct{}) (n int) {
	random := rand.New(rand.NewPCG(*seed, uint64(round)))
	for {
		select {
		case <-stop:
			return n
		case <-time.After(time.Duration(20+random.IntN(60)) * time.Millisecond):
		}
		n++
		var err error
		switch {
		case server != nil && round%4 == 3 && n == 2:
			err = server.Crash(context.Background(), time.Duration(random.IntN(100))*time.Millisecond)
		case server != nil && n%3 == 0:
			err = pauseOne(random)
		case n%3 == 1:
			pause(stores[random.IntN(len(stores))].pid, random)
		default:
			err = harm("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' ORDER BY random() LIMIT 4")
		}
		if err != nil {
			t.Errorf("to disturb: %v", err)
			return n
		}
	}
}

func harm(sql string) error {
	conn, err := pgx.Connect(context.Background(), conninfo)
	if err != nil {
		return err
	}
	_, err = conn.Exec(context.Background(), sql)
	return errors.Join(err, conn.Close(context.Background()))
}
