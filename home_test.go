package arc_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// TestTenantsHaveOneHome has three replicas, of which one is paused, one closed and one killed,
// agree on who has which tenant at home, and only the home maintain it.
func TestTenantsHaveOneHome(t *testing.T) {
	const tenants = 60
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMem()
		var mu sync.Mutex
		maintained := map[string]string{} // by whom it was last
		wayfarers := map[string]*wayward{}
		open := func(name string) *arc.Agent {
			st := &wayward{Mem: mem}
			st.tell = func(ops []store.Op) {
				for _, op := range ops {
					if parts := strings.Split(op.Key, "\x00"); strings.Contains(op.Key, "\x00upkeep\x00") {
						mu.Lock()
						maintained[parts[1]] = name
						mu.Unlock()
					}
				}
			}
			wayfarers[name] = st
			o := arc.Options{Replica: name, Now: time.Now, Seed: 1, Sanitizer: keyed(), Maintain: time.Hour, Memory: memory.Options{IndexBytes: 1}}
			a, err := arc.New(t.Context(), st, (&script{}).host(), &o)
			require.NoError(t, err)
			t.Cleanup(func() { _ = a.Close() }) // one is dead
			return a
		}
		all := map[string]*arc.Agent{}
		for _, name := range []string{"a", "b", "c"} {
			all[name] = open(name)
		}
		scope := func(n int) memory.Scope { return memory.Scope(fmt.Sprint("tenant-", n, "/ann")) }
		homes := func(asked ...string) map[memory.Scope]string {
			out := map[memory.Scope]string{}
			for n := range tenants {
				out[scope(n)] = all[asked[0]].Home(scope(n))
				for _, name := range asked {
					require.Equal(t, out[scope(n)], all[name].Home(scope(n)), "%s as %s sees it", scope(n), name)
				}
			}
			return out
		}
		moved := func(from, to map[memory.Scope]string, gone string) {
			for s, home := range from {
				if home == gone {
					require.NotEqual(t, gone, to[s])
				} else {
					require.Equal(t, home, to[s], "only what is its own moves")
				}
			}
		}
		work := func(by ...string) {
			for n := range tenants {
				_, err := all[by[n%len(by)]].In(scope(n)).Memory().Remember(t.Context(), memory.Draft{
					Kind: memory.Fact, Content: fmt.Sprint("the small key opens the door at ", time.Now().Unix()),
				})
				require.NoError(t, err)
			}
			mu.Lock()
			clear(maintained)
			mu.Unlock()
			idle(3 * time.Hour)
		}
		by := func(n int) string {
			mu.Lock()
			defer mu.Unlock()
			return maintained[scope(n).Tenant()]
		}
		idle(20 * time.Second)
		whole := homes("a", "b", "c")
		counts := map[string]int{}
		for _, home := range whole {
			counts[home]++
		}
		for _, name := range []string{"a", "b", "c"} {
			require.Greater(t, counts[name], tenants/6, counts)
		}
		for range 2 { // a scope is due an hour after it was seen first
			work("a") // the others hear of them
		}
		for n := range tenants {
			require.Equal(t, whole[scope(n)], by(n), scope(n))
		}

		wayfarers["c"].sleep(2 * time.Minute)
		idle(45 * time.Second)
		without := homes("a", "b")
		moved(whole, without, "c")
		idle(2 * time.Minute)
		require.Equal(t, whole, homes("a", "b", "c"), "it is awake again")

		require.NoError(t, all["b"].Close())
		idle(6 * time.Second)
		left := homes("a", "c")
		moved(whole, left, "b")

		wayfarers["c"].kill()
		idle(45 * time.Second)
		for s, home := range homes("a") {
			require.Equal(t, "a", home, s)
		}
		work("a")
		for n := range tenants {
			require.Equal(t, "a", by(n))
		}
	})
}

// TestHomesWhenAClockIsPutBack: a replica whose clock is put back by an hour stays there for others.
func TestHomesWhenAClockIsPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMem()
		var back atomic.Int64
		o := arc.Options{Replica: "a", Maintain: -1, Seed: 1, Sanitizer: keyed(), Now: func() time.Time {
			return time.Now().Add(-time.Duration(back.Load())).Round(0)
		}}
		a, err := arc.New(t.Context(), mem, (&script{}).host(), &o)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, a.Close()) })
		b := replica(t, mem, "b", (&script{}).host(), arc.Options{})
		idle(20 * time.Second)
		back.Store(int64(time.Hour))
		idle(time.Minute)
		for n := range 20 {
			scope := memory.Scope(fmt.Sprint("tenant-", n))
			require.Equal(t, a.Home(scope), b.Home(scope), scope)
		}
	})
}
