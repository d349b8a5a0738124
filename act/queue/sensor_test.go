package queue_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// counter is a sensor that finds one job at each reading, numbered by its cursor.
func counter(every time.Duration, first func(n int) error) queue.Sensor {
	return queue.Sensor{Name: "counter", Every: every, Jitter: -1, Read: func(_ context.Context, cursor string) (queue.Reading, error) {
		n, _ := strconv.Atoi(cursor) // "" is 0
		n++
		err := first(n)
		return queue.Reading{Jobs: []queue.Draft{{Subject: strconv.Itoa(n)}}, Cursor: strconv.Itoa(n)}, err
	}}
}

// numbers is how many jobs there are, whose subjects have to be 1, 2, 3 …
func numbers(t require.TestingT, ctx context.Context, q *queue.Queue) int {
	all := map[string]bool{}
	for j, err := range q.Jobs(ctx) {
		require.NoError(t, err)
		require.False(t, all[j.Subject], "%s is there twice", j.Subject)
		require.Equal(t, "sensor:counter", j.Source)
		all[j.Subject] = true
	}
	for i := range all {
		n, err := strconv.Atoi(i)
		require.NoError(t, err)
		require.LessOrEqual(t, n, len(all), "one is missing")
	}
	return len(all)
}

func stands(t require.TestingT, ctx context.Context, q *queue.Queue) map[string]queue.SensorState {
	all := map[string]queue.SensorState{}
	for s, err := range q.Sensors(ctx) {
		require.NoError(t, err)
		all[s.Name] = s
	}
	return all
}

// Of sensors that do everything wrong none holds up another, and each is recorded.
func TestSensorsSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, err := queue.Open(t.Context(), store.NewMem(), &queue.Options{Seed: 1})
		require.NoError(t, err)
		var hung, ended atomic.Int64
		release := make(chan struct{})
		sensors := []queue.Sensor{counter(time.Minute, func(int) error { return nil })}
		for name, read := range map[string]func(ctx context.Context) error{
			"panics":  func(context.Context) error { panic("boom") },
			"goexit":  func(context.Context) error { runtime.Goexit(); return nil },
			"fails":   func(context.Context) error { return errBoom },
			"denied":  func(context.Context) error { return fmt.Errorf("look: %w", act.ErrDenied) },
			"limited": func(context.Context) error { return &act.RateLimitError{After: 20 * time.Minute} },
			"slow": func(ctx context.Context) error {
				defer ended.Add(1)
				<-ctx.Done()
				return nil
			},
			"hangs": func(context.Context) error {
				hung.Add(1)
				<-release
				return nil
			},
		} {
			sensors = append(sensors, queue.Sensor{Name: name, Every: time.Minute, Read: func(ctx context.Context, _ string) (queue.Reading, error) {
				return queue.Reading{Jobs: []queue.Draft{{Subject: "never"}}}, read(ctx)
			}})
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- q.Watch(ctx, nil, sensors...) }()
		<-time.After(2*time.Hour + time.Second)
		cancel()
		require.NoError(t, <-done)
		require.Equal(t, 121, numbers(t, t.Context(), q), "one a minute, whatever the others do")
		require.EqualValues(t, 1, hung.Load(), "it is not called again before it has returned")
		close(release)
		all := stands(t, t.Context(), q)
		require.Len(t, all, 8)
		require.Empty(t, all["counter"].Error)
		for name, want := range map[string]struct {
			text string
			most int // readings in two hours
		}{
			"panics": {"boom", 11}, "goexit": {"ended its goroutine", 11}, "fails": {"boom", 11}, "denied": {"denied", 3},
			"limited": {"rate limited", 7}, "slow": {"no answer in time", 11}, "hangs": {"has not returned", 11},
		} {
			s := all[name]
			require.Contains(t, s.Error, want.text, name)
			require.EqualValues(t, s.Token, s.Failures, name)
			require.LessOrEqual(t, s.Failures, want.most, name)
			require.Greater(t, s.Failures, 1, name)
			require.Zero(t, s.Lease, name)
		}
		require.EqualValues(t, all["slow"].Token, ended.Load())
	})
}

// Two processes over a store read as often as one, and each reading is of one of them.
func TestSensorsOfTwoProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		var reading, readings atomic.Int64
		s := counter(time.Minute, func(int) error {
			require.EqualValues(t, 1, reading.Add(1), "two at a time")
			<-time.After(30 * time.Second)
			reading.Add(-1)
			readings.Add(1)
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		var q *queue.Queue
		for range 2 {
			one, err := queue.Open(t.Context(), st, nil)
			require.NoError(t, err)
			go func() { done <- one.Watch(ctx, nil, s) }()
			q = one
		}
		<-time.After(time.Hour + time.Second) // in a reading, which is cut off
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, <-done)
		s1 := stands(t, t.Context(), q)["counter"]
		require.Zero(t, s1.Lease, "it was given back")
		require.Zero(t, s1.Failures)
		require.Equal(t, 60, numbers(t, t.Context(), q))
		<-time.After(time.Minute)
		require.EqualValues(t, 61, readings.Load())
	})
}

// mortal is a store of a process that can be killed: what it does then comes to nothing.
type mortal struct {
	store.Store
	dead   bool
	before func(ops []store.Op) // if it is set, a commit
}

var errDead = errors.New("the process is gone")

func (m *mortal) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if m.dead {
		return 0, errDead
	}
	if m.before != nil {
		m.before(ops)
	}
	return m.Store.Commit(ctx, ops...)
}

// Whatever becomes of processes, the clock, and readings: no reading is lost, none is
// doubled, and a claim is not taken over before its time.
func TestSensorsAgainstAModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ctx, st := t.Context(), store.NewMem()
		now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
		qs, procs := make([]*queue.Queue, 2), make([]*mortal, 2)
		start := func(i int) {
			procs[i] = &mortal{Store: st}
			var err error
			qs[i], err = queue.Open(ctx, procs[i], &queue.Options{Now: func() time.Time { return now }, Seed: uint64(i) + 1})
			require.NoError(rt, err)
		}
		start(0)
		start(1)
		depth, confirmed := 0, 0
		var sense func(i int)
		jump := func(by ...time.Duration) { now = now.Add(rapid.SampledFrom(by).Draw(rt, "jump")) }
		sense = func(i int) {
			what := ""
			began, me := now, procs[i]
			s := counter(time.Minute, func(int) error {
				what = rapid.SampledFrom([]string{"ok", "ok", "fail", "die", "die late", "other", "other late"}).Draw(rt, "what")
				switch depth++; {
				case what == "fail":
					return errBoom
				case what == "die":
					me.dead = true
				case strings.HasPrefix(what, "other") && depth < 4:
					before := numbers(rt, ctx, qs[1-i])
					sense(1 - i) // which sees the claim, and waits
					now = now.Add(149 * time.Second)
					sense(1 - i)
					require.Equal(rt, before, numbers(rt, ctx, qs[1-i]), "taken over at once")
					if what == "other late" {
						now = now.Add(time.Second)
						sense(1 - i) // which takes it over, so that this reading is lost
					}
				}
				return nil
			})
			found, err := qs[i].Sense(ctx, s)
			if what == "die late" { // after it was confirmed
				me.dead = true
			}
			require.Equal(rt, confirmed+len(found), numbers(rt, ctx, qs[1-i]))
			confirmed += len(found)
			if what == "fail" {
				require.ErrorIs(rt, err, errBoom)
				require.Empty(rt, found)
			}
			if what == "ok" && now.Equal(began) {
				require.NoError(rt, err)
				require.Len(rt, found, 1)
			}
			if me.dead {
				start(i)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"sense": func(rt *rapid.T) { depth = 0; sense(rapid.IntRange(0, 1).Draw(rt, "process")) },
			"clock": func(*rapid.T) {
				jump(time.Second, 30*time.Second, time.Minute, 3*time.Minute, time.Hour, -time.Second, -time.Hour)
			},
			"": func(*rapid.T) { require.Equal(rt, confirmed, numbers(rt, ctx, qs[0])) },
		})
		for range 4 { // in the end it goes on
			now = now.Add(2 * time.Hour)
			for _, q := range qs {
				found, err := q.Sense(ctx, counter(time.Minute, func(int) error { return nil }))
				require.NoError(rt, err)
				confirmed += len(found)
			}
		}
		require.Equal(rt, confirmed, numbers(rt, ctx, qs[0]))
		require.GreaterOrEqual(rt, confirmed, 2)
		require.Empty(rt, stands(rt, ctx, qs[0])["counter"].Error)
	})
}

// A process that is alone takes over at once what another has left behind.
func TestSensorOfAProcessThatWasKilled(t *testing.T) {
	t.Parallel()
	c := &clock{epoch}
	st := &mortal{Store: store.NewMem()}
	o := &queue.Options{Now: c.Now, Alone: true, Seed: 1}
	q, err := queue.Open(t.Context(), st, o)
	require.NoError(t, err)
	_, err = q.Sense(t.Context(), counter(0, func(int) error { st.dead = true; return nil }))
	require.ErrorContains(t, err, errDead.Error())
	st.dead = false
	for kills := range 3 {
		q, err = queue.Open(t.Context(), st, o)
		require.NoError(t, err)
		found, err := q.Sense(t.Context(), counter(0, func(int) error { st.dead = kills < 2; return nil }))
		require.Equal(t, kills < 2, err != nil, err)
		require.Empty(t, found, "the third time is not at once")
		st.dead = false
	}
	c.now = c.now.Add(time.Hour)
	found, err := q.Sense(t.Context(), counter(0, func(int) error { return nil }))
	require.NoError(t, err)
	require.Len(t, found, 1)
}

// A Key that another job takes between the look at it and the commit is no loss of the
// reading.
func TestSensorWhoseKeyIsTaken(t *testing.T) {
	t.Parallel()
	mem := store.NewMem()
	other, err := queue.Open(t.Context(), mem, nil)
	require.NoError(t, err)
	raced := 0
	st := &mortal{Store: mem, before: func(ops []store.Op) {
		if len(ops) > 1 && raced == 0 {
			raced++
			_, added, err := other.Enqueue(t.Context(), queue.Draft{Subject: "by hand", Key: "a"})
			require.NoError(t, err)
			require.True(t, added)
		}
	}}
	q, err := queue.Open(t.Context(), st, nil)
	require.NoError(t, err)
	found, err := q.Sense(t.Context(), queue.Sensor{Name: "inbox", Read: func(context.Context, string) (queue.Reading, error) {
		return queue.Reading{Jobs: []queue.Draft{{Subject: "a", Key: "a"}, {Subject: "b", Key: "b"}}}, nil
	}})
	require.NoError(t, err)
	require.Equal(t, 1, raced)
	require.Len(t, found, 1)
	require.Equal(t, "b", found[0].Subject)

	records := func(scope memory.Scope) (n int) {
		for e, err := range queue.Entries(t.Context(), mem, scope) {
			require.NoError(t, err)
			require.NoError(t, queue.Check(e, scope))
			require.ErrorIs(t, queue.Check(e, "other"), memory.ErrTenant)
			n++
		}
		return n
	}
	require.Equal(t, 3, records("local"), "two jobs and a sensor")
	require.Zero(t, records("local/below"))
	require.NoError(t, queue.Erase(t.Context(), mem, "local"))
	require.Zero(t, records("local"))
}

// What a sensor finds is enqueued with its keys, also what exceeds a commit, and all or
// nothing of what is wrong.
func TestReadings(t *testing.T) {
	t.Parallel()
	c := &clock{epoch}
	q := open(t, c, queue.Options{Alone: true})
	var r queue.Reading
	s := queue.Sensor{Name: "inbox", Every: time.Minute, Read: func(context.Context, string) (queue.Reading, error) { return r, nil }}
	sense := func() ([]queue.Job, error) {
		c.now = c.now.Add(2 * time.Hour)
		return q.Sense(t.Context(), s)
	}
	for i := range 5000 {
		r.Jobs = append(r.Jobs, queue.Draft{Subject: "file", Key: strconv.Itoa(i * 4 / 5), Description: strings.Repeat("x", 500)})
	}
	found, err := sense()
	require.NoError(t, err)
	require.Len(t, found, 4000)
	found, err = sense()
	require.NoError(t, err)
	require.Empty(t, found, "they are there")

	r = queue.Reading{Jobs: []queue.Draft{{Subject: "fine"}, {Subject: "bad", Priority: 11}}, Cursor: "next"}
	found, err = sense()
	require.ErrorIs(t, err, queue.ErrDraft)
	require.ErrorContains(t, err, `sensor "inbox": job 2`)
	require.Empty(t, found)
	r = queue.Reading{Cursor: strings.Repeat("x", 70000)}
	_, err = sense()
	var limit *store.LimitError
	require.ErrorAs(t, err, &limit)
	is := stands(t, t.Context(), q)["inbox"]
	require.Equal(t, 2, is.Failures)
	require.Empty(t, is.Cursor)
	r = queue.Reading{Cursor: "token ghp_0123456789abcdefghijABCDEFGHIJ012345"}
	_, err = sense()
	require.NoError(t, err)
	is = stands(t, t.Context(), q)["inbox"]
	require.Zero(t, is.Failures)
	require.NotContains(t, is.Cursor, "0123456789")

	s.Every = time.Hour // and then more often than before
	_, err = sense()
	require.NoError(t, err)
	s.Every, r = time.Minute, queue.Reading{Jobs: []queue.Draft{{Subject: "soon"}}}
	c.now = c.now.Add(2 * time.Minute)
	found, err = q.Sense(t.Context(), s)
	require.NoError(t, err)
	require.Len(t, found, 1)

	ok := func(context.Context, string) (queue.Reading, error) { return queue.Reading{}, nil }
	for _, bad := range [][]queue.Sensor{
		{{Read: ok}}, {{Name: "a"}}, {{Name: "a", Read: ok}, {Name: "a", Read: ok}}, {{Name: "a", Read: ok, Every: -1}},
		{{Name: "a\x00b", Read: ok}}, {{Name: strings.Repeat("a", 250), Read: ok}},
	} {
		require.Error(t, q.Watch(t.Context(), nil, bad...))
	}
	require.Equal(t, []string{"inbox"}, slices.Collect(maps.Keys(stands(t, t.Context(), q))))
}
