package queue_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/store"
)

// woken are the ids that Wake has named, and no Queue has seen to.
func woken(t *testing.T, st store.Store) (ids []string) {
	t.Helper()
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		if _, id, is := strings.Cut(e.Key, "\x00wake\x00"); is {
			ids = append(ids, id)
		}
	}
	return ids
}

// What a job waits for is committed with Wake, and the job is due at once, in whatever state that
// finds it; one that has ended for good stays so. It is done once.
func TestWake(t *testing.T) {
	t.Parallel()
	hour := queue.Result{State: queue.Pending, At: epoch.Add(time.Hour)}
	for name, c := range map[string]struct {
		ends queue.Result
		held bool // Wake comes before the end
		due  bool
	}{
		"pending": {ends: hour, due: true}, "pending, from before its end": {ends: hour, held: true, due: true},
		"parked":                      {ends: queue.Result{State: queue.Parked}, due: true},
		"parked, from before its end": {ends: queue.Result{State: queue.Parked}, held: true, due: true},
		"blocked":                     {ends: queue.Result{State: queue.Blocked}, due: true},
		// Its handler may have seen what was committed, and the run that goes on says so again.
		"blocked, from before its end": {ends: queue.Result{State: queue.Blocked}, held: true},
		"failed":                       {ends: queue.Result{State: queue.Failed}},
		"completed":                    {ends: queue.Result{}},
		"completed, before its end":    {ends: queue.Result{}, held: true},
	} {
		t.Run(name, func(t *testing.T) {
			c1, st := &clock{epoch}, store.NewMem()
			o := &queue.Options{Now: c1.Now, Seed: 1}
			q, err := queue.Open(t.Context(), st, o)
			require.NoError(t, err)
			other, err := queue.Open(t.Context(), st, o)
			require.NoError(t, err)
			j := enqueue(t, q, queue.Draft{})
			l := claim(t, q)
			wake := func() {
				_, err := st.Commit(t.Context(), queue.Wake("local", j.ID), store.Op{Key: "what it waits for", Value: []byte{1}})
				require.NoError(t, err)
			}
			if c.held {
				wake()
				c1.now = c1.now.Add(2 * time.Second)
				_, err := other.Claim(t.Context(), 0)
				require.ErrorIs(t, err, queue.ErrEmpty)
				require.Equal(t, []string{j.ID}, woken(t, st), "it is not forgotten while a worker has the job")
			}
			was := finish(t, l, c.ends, nil)
			if !c.held {
				wake()
			}
			c1.now = c1.now.Add(2 * time.Second)
			again, err := other.Claim(t.Context(), 0)
			require.Empty(t, woken(t, st))
			if !c.due {
				require.ErrorIs(t, err, queue.ErrEmpty)
				is, err := q.Get(t.Context(), j.ID)
				require.NoError(t, err)
				require.Equal(t, was, is)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []any{j.ID, 0, 1}, []any{again.Job.ID, again.Job.Requeued, again.Job.Attempts})
			finish(t, again, c.ends, nil)
			c1.now = c1.now.Add(2 * time.Second)
			_, err = q.Claim(t.Context(), 0)
			require.ErrorIs(t, err, queue.ErrEmpty, "once")
		})
	}
}

// A Blocked job whose Key another has by now stays, one of a series begins no second series, and
// names of no job, and of one that cannot be read, hold up nothing.
func TestWakeThatComesLate(t *testing.T) {
	t.Parallel()
	c, st := &clock{epoch}, store.NewMem()
	q, err := queue.Open(t.Context(), st, &queue.Options{Now: c.Now, Seed: 1})
	require.NoError(t, err)
	keyed := enqueue(t, q, queue.Draft{Key: "one", Priority: 1})
	finish(t, claim(t, q), queue.Result{State: queue.Blocked}, nil)
	later := enqueue(t, q, queue.Draft{Key: "one", Priority: 1, At: epoch.Add(time.Hour)})
	series := enqueue(t, q, queue.Draft{Cron: "@every 2h", Priority: 2, At: epoch})
	finish(t, claim(t, q), queue.Result{State: queue.Blocked}, nil)
	broken := enqueue(t, q, queue.Draft{Priority: 3, At: epoch.Add(time.Hour)})
	damage(t, st, "job", broken.ID)
	for _, id := range []string{keyed.ID, series.ID, broken.ID, "gone", "", "no\x00id"} {
		_, err := st.Commit(t.Context(), queue.Wake("local", id))
		require.NoError(t, err)
	}
	c.now = c.now.Add(2 * time.Second)
	l := claim(t, q)
	require.Equal(t, []string{series.ID, ""}, []string{l.Job.ID, l.Job.Cron})
	require.Equal(t, []string{broken.ID}, woken(t, st))
	finish(t, l, queue.Result{}, nil)
	is, err := q.Get(t.Context(), keyed.ID)
	require.NoError(t, err)
	require.Equal(t, queue.Blocked, is.State)
	is, err = q.Get(t.Context(), later.ID)
	require.NoError(t, err)
	require.Equal(t, epoch.Add(time.Hour), is.At)
	n := 0
	for j, err := range q.Jobs(t.Context(), queue.Pending) {
		if err == nil && j.Cron != "" {
			n++
		}
	}
	require.Equal(t, 1, n, "series")
	require.NoError(t, q.Remove(t.Context(), later.ID))
}

// away is a store that does not read records for a while.
type away struct {
	store.Store
	now bool
}

func (s *away) Get(ctx context.Context, key string) (store.Entry, error) {
	if s.now {
		return store.Entry{}, arctest.ErrStore
	}
	return s.Store.Get(ctx, key)
}

// A store that does not answer for a while makes no job wait for ever.
func TestWakeWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	c, st := &clock{epoch}, &away{Store: store.NewMem()}
	q, err := queue.Open(t.Context(), st, &queue.Options{Now: c.Now, Seed: 1})
	require.NoError(t, err)
	j := enqueue(t, q, queue.Draft{})
	finish(t, claim(t, q), queue.Result{State: queue.Parked}, nil)
	_, err = st.Commit(t.Context(), queue.Wake("local", j.ID))
	require.NoError(t, err)
	c.now, st.now = c.now.Add(2*time.Second), true
	_, err = q.Claim(t.Context(), 0)
	require.ErrorIs(t, err, arctest.ErrStore)
	c.now, st.now = c.now.Add(2*time.Second), false
	require.Equal(t, j.ID, claim(t, q).Job.ID)
}
