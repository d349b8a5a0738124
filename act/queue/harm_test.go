package queue_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// A job of a series that failed and is tried again does not begin the series a second time.
func TestRequeuedCronIsOneSeries(t *testing.T) {
	c := &clock{epoch}
	q := open(t, c, queue.Options{MaxAttempts: 1})
	enqueue(t, q, queue.Draft{Cron: "@every 1h"})
	c.now = c.now.Add(time.Hour)
	j := finish(t, claim(t, q), queue.Result{}, errors.New("boom"))
	require.Equal(t, queue.Failed, j.State)
	require.NoError(t, q.Requeue(t.Context(), j.ID, "mended"))
	finish(t, claim(t, q), queue.Result{}, nil)
	n := 0
	for _, err := range q.Jobs(t.Context(), queue.Pending) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, 1, n, "jobs that wait for the next hour")
}

// The wait after many failures is no less than after one.
func TestBackoffDoesNotWrap(t *testing.T) {
	c := &clock{epoch}
	q := open(t, c, queue.Options{Backoff: 3 * time.Hour, MaxAttempts: 100})
	enqueue(t, q, queue.Draft{})
	for n := range 40 {
		j := finish(t, claim(t, q), queue.Result{}, errors.New("boom"))
		require.GreaterOrEqual(t, j.At.Sub(c.now), 3*time.Hour, "after failure %d", n+1)
		c.now = j.At
	}
}

// A time that no job can have is none: nanoseconds of the year 1000 are those of a year to come.
func TestDueInNoTime(t *testing.T) {
	c := &clock{epoch}
	q := open(t, c, queue.Options{})
	enqueue(t, q, queue.Draft{})
	for _, year := range []int{-5e8, 1000, 1969, 2201, 5e8} {
		j := finish(t, claim(t, q), queue.Result{State: queue.Pending, At: time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)}, nil)
		require.Equal(t, queue.Pending, j.State)
		require.WithinRange(t, j.At, c.now.Add(1), c.now.Add(time.Hour), year)
		c.now = j.At
	}
}

// The wait of a sensor after many failures, which have no bound, is no less either.
func TestSensorBackoffDoesNotWrap(t *testing.T) {
	c := &clock{epoch}
	q := open(t, c, queue.Options{Backoff: 3 * time.Hour})
	s := queue.Sensor{Name: "s", Read: func(context.Context, string) (queue.Reading, error) { return queue.Reading{}, errors.New("boom") }}
	for n := range 40 {
		_, err := q.Sense(t.Context(), s)
		require.Error(t, err)
		st := stands(t, t.Context(), q)["s"]
		require.GreaterOrEqual(t, st.Due.Sub(c.now), 3*time.Hour, "after failure %d", n+1)
		c.now = st.Due
	}
}

// A lease of less than a millisecond, which no heartbeat keeps, is refused.
func TestTinyLease(t *testing.T) {
	_, err := queue.Open(t.Context(), store.NewMem(), &queue.Options{LeaseTTL: 2})
	require.ErrorContains(t, err, "LeaseTTL")
}

// requeued is a store in which a person requeues a job while Prune goes through the jobs.
type requeued struct {
	store.Store
	meanwhile func()
}

func (r *requeued) Scan(ctx context.Context, in store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range r.Store.Scan(ctx, in) {
			if r.meanwhile != nil {
				do := r.meanwhile
				r.meanwhile = nil
				do()
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// A job that was requeued while old ones were being removed is there.
func TestPruneLeavesWhatWasRequeued(t *testing.T) {
	c := &clock{epoch}
	st := store.NewMem()
	q, err := queue.Open(t.Context(), st, &queue.Options{Now: c.Now, Seed: 1, MaxAttempts: 1})
	require.NoError(t, err)
	enqueue(t, q, queue.Draft{})
	j := finish(t, claim(t, q), queue.Result{}, errors.New("boom"))
	r := &requeued{st, func() { require.NoError(t, q.Requeue(t.Context(), j.ID, "try it again")) }}
	require.NoError(t, queue.Prune(t.Context(), r, "local", epoch.Add(time.Hour)))
	got, err := q.Get(t.Context(), j.ID)
	require.NoError(t, err)
	require.Equal(t, queue.Pending, got.State)
}

// damage damages the record of a job, or of its lease.
func damage(t *testing.T, st store.Store, part, id string) {
	t.Helper()
	found := false
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		if strings.HasSuffix(e.Key, "\x00"+part+"\x00"+id) {
			found = true
			e.Value[len(e.Value)-1] ^= 1
			_, err = st.Commit(t.Context(), store.Op{Key: e.Key, Value: e.Value})
			require.NoError(t, err)
		}
	}
	require.True(t, found)
}

// One job whose record is damaged holds up no other.
func TestDamagedJobHoldsUpNoOther(t *testing.T) {
	c := &clock{epoch}
	q, st := faulty(t, c, queue.Options{})
	bad := enqueue(t, q, queue.Draft{Subject: "bad"})
	enqueue(t, q, queue.Draft{Subject: "good"})
	damage(t, st, "job", bad.ID)
	var l *queue.Lease
	var err error
	for range 10 {
		if l, err = q.Claim(t.Context(), 0); err == nil {
			break
		}
		c.now = c.now.Add(time.Minute)
	}
	require.NoError(t, err)
	require.Equal(t, "good", l.Job.Subject)
}

// Nor does one that a worker has, or its lease: what other workers that were lost have had is
// given back.
func TestDamagedLeaseHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"job", "lease"} {
		for _, alone := range []bool{false, true} {
			c := &clock{epoch}
			q, st := faulty(t, c, queue.Options{})
			bad := claimed(t, q).Job
			good := claimed(t, q).Job
			damage(t, st, part, bad.ID)
			q, err := queue.Open(t.Context(), st, &queue.Options{Now: c.Now, Seed: 2, Alone: alone})
			require.NoError(t, err)
			told := false
			for n := 0; ; n++ {
				require.Less(t, n, 100, "%s %v", part, alone)
				c.now = c.now.Add(10 * time.Second)
				l, err := q.Claim(t.Context(), 0)
				told = told || errors.Is(err, store.ErrDamaged)
				if err == nil && l.Job.ID == good.ID {
					finish(t, l, queue.Result{}, nil)
					break
				}
			}
			for range 10 {
				c.now = c.now.Add(10 * time.Second)
				_, err := q.Claim(t.Context(), 0)
				told = told || errors.Is(err, store.ErrDamaged)
			}
			require.True(t, told)
		}
	}
}

// A budget that is no number holds everything up, or is refused; it is not endless.
func TestBudgetThatIsNoNumber(t *testing.T) {
	g := queue.Budget(math.NaN(), 0)
	g.Ended(queue.Cycle{Started: epoch, Usage: act.Usage{CostUSD: 1e6}})
	require.Zero(t, g.Admit(epoch))
}

type soon struct{}

func (soon) Error() string                    { return "soon" }
func (soon) Retryable() (bool, time.Duration) { return true, 1 }

// An error that asks for another try at once does not have a job tried without end or pause.
func TestRetryableAtOnce(t *testing.T) {
	c := &clock{epoch}
	q := open(t, c, queue.Options{MaxAttempts: 2})
	enqueue(t, q, queue.Draft{})
	for range 1000 {
		c.now = c.now.Add(time.Microsecond)
		l, err := q.Claim(t.Context(), 0)
		if errors.Is(err, queue.ErrEmpty) {
			return // it waits
		}
		require.NoError(t, err)
		if finish(t, l, queue.Result{}, soon{}).State == queue.Failed {
			return
		}
	}
	t.Fatal("1000 attempts in a millisecond at a job with two")
}

// cutting ends the context of its caller once a sensor was claimed.
type cutting struct {
	store.Store
	cut context.CancelFunc
}

func (c *cutting) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	rev, err := c.Store.Commit(ctx, ops...)
	for _, op := range ops {
		if c.cut != nil && strings.Contains(op.Key, "\x00sensor\x00") {
			c.cut()
			c.cut = nil
		}
	}
	return rev, err
}

// A sensor whose caller has gone just before it was read is read the next time.
func TestSensorIsReadAfterACallThatWasCutOff(t *testing.T) {
	c := &clock{epoch}
	st := &cutting{Store: store.NewMem()}
	q, err := queue.Open(t.Context(), st, &queue.Options{Now: c.Now, Seed: 1})
	require.NoError(t, err)
	reads := 0
	s := queue.Sensor{Name: "s", Read: func(context.Context, string) (queue.Reading, error) {
		reads++
		return queue.Reading{}, nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	st.cut = cancel
	_, err = q.Sense(ctx, s)
	require.NoError(t, err)
	for range 20 {
		c.now = c.now.Add(time.Hour)
		_, err = q.Sense(t.Context(), s)
	}
	require.NoError(t, err)
	require.Positive(t, reads)
}

// A line that a program prints with a job and a cursor adds the job.
func TestLineWithAJobAndACursor(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "mail"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mail", "sensor.yaml"),
		[]byte("argv: [/bin/echo, '{\"subject\": \"answer Ann\", \"cursor\": \"17\"}']\n"), 0o600))
	sensors, err := queue.LoadSensors(act.Command{Dir: dir}, "mail")
	require.NoError(t, err)
	q := open(t, &clock{epoch}, queue.Options{})
	found, err := q.Sense(t.Context(), sensors...)
	if err != nil {
		return // that is told, and nothing is lost
	}
	require.Len(t, found, 1, "the cursor has moved past it")
}

// What was spent before the clock was put back counts for a day more, and not until the clock is there again.
func TestBudgetOfAClockThatIsPutBack(t *testing.T) {
	t.Parallel()
	g, day := queue.Budget(3, 2), 24*time.Hour
	g.Ended(queue.Cycle{Started: epoch.Add(30 * day), Usage: act.Usage{CostUSD: 2}})
	g.Ended(queue.Cycle{Started: epoch.Add(20 * day), Usage: act.Usage{CostUSD: 2}})
	require.Equal(t, 2, g.Admit(epoch))
	require.Equal(t, 2, g.Admit(epoch.Add(day-time.Hour)))
	require.Greater(t, g.Admit(epoch.Add(day+time.Hour)), 2)
}

// An option that is out of range is named, and a wait without an end has one.
func TestOptionsOutOfRange(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]queue.Options{
		"LeaseTTL": {LeaseTTL: -1}, "MaxAttempts": {MaxAttempts: -1}, "Backoff": {Backoff: -1},
		"Timeout": {Timeout: -1}, "Ageing": {Ageing: -1},
	} {
		_, err := queue.Open(t.Context(), store.NewMem(), &o)
		require.ErrorContains(t, err, "option "+name)
	}
	for _, failed := range []error{errors.New("boom"), &reason.ModelError{Status: 429, Again: true, After: math.MaxInt64}} {
		q, err := queue.Open(t.Context(), store.NewMem(), &queue.Options{Backoff: math.MaxInt64})
		require.NoError(t, err)
		_, _, err = q.Enqueue(t.Context(), queue.Draft{Subject: "mend the door"})
		require.NoError(t, err)
		l, err := q.Claim(t.Context(), 10)
		require.NoError(t, err)
		_, err = l.End(t.Context(), queue.Result{}, failed)
		require.NoError(t, err)
		_, err = q.Claim(t.Context(), 10)
		require.ErrorIs(t, err, queue.ErrEmpty, failed)
	}
}

// faulty is a Queue over a store whose commits can fail.
func faulty(t *testing.T, c *clock, o queue.Options) (*queue.Queue, *arctest.Store) {
	t.Helper()
	st := arctest.NewStore(store.NewMem())
	o.Now, o.Seed = c.Now, 1
	q, err := queue.Open(t.Context(), st, &o)
	require.NoError(t, err)
	return q, st
}

// What was committed without an answer is claimed, also by a Queue that is alone.
func TestLostAnswerIsNoLostJob(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(t *testing.T, q *queue.Queue, lose func()){
		"enqueue": func(t *testing.T, q *queue.Queue, lose func()) {
			lose()
			_, _, err := q.Enqueue(t.Context(), queue.Draft{Subject: "job", Key: "k"})
			require.ErrorIs(t, err, arctest.ErrStore)
			_, added, err := q.Enqueue(t.Context(), queue.Draft{Subject: "job", Key: "k"})
			require.NoError(t, err)
			require.False(t, added)
		},
		"end": func(t *testing.T, q *queue.Queue, lose func()) {
			l := claimed(t, q)
			lose()
			_, err := l.End(t.Context(), queue.Result{}, errors.New("boom"))
			require.ErrorIs(t, err, arctest.ErrStore)
			_, err = l.End(t.Context(), queue.Result{}, errors.New("boom"))
			require.ErrorIs(t, err, queue.ErrLost)
		},
		"requeue": func(t *testing.T, q *queue.Queue, lose func()) {
			j := finish(t, claimed(t, q), queue.Result{State: queue.Blocked}, nil)
			lose()
			require.ErrorIs(t, q.Requeue(t.Context(), j.ID, ""), arctest.ErrStore)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &clock{epoch}
			q, st := faulty(t, c, queue.Options{Alone: true})
			_, err := q.Claim(t.Context(), 0)
			require.ErrorIs(t, err, queue.ErrEmpty)
			act(t, q, func() { st.FailNext(0, 1, true) })
			c.now = c.now.Add(24 * time.Hour)
			claim(t, q)
		})
	}
}

// A heartbeat whose answer was lost is none the less one; a lease that is over is lost.
func TestLostAnswerToAHeartbeat(t *testing.T) {
	t.Parallel()
	c := &clock{epoch}
	q, st := faulty(t, c, queue.Options{})
	l := claimed(t, q)
	st.FailNext(0, 1, true)
	require.ErrorIs(t, l.Beat(t.Context()), arctest.ErrStore)
	require.NoError(t, l.Beat(t.Context()))
	finish(t, l, queue.Result{}, errors.New("boom"))
	require.ErrorIs(t, l.Beat(t.Context()), queue.ErrLost)
	c.now = c.now.Add(time.Hour)
	claim(t, q)
	require.ErrorIs(t, l.Beat(t.Context()), queue.ErrLost)
}

// stalling is a store that answers late, once.
type stalling struct {
	store.Store
	stall func()
}

func (s *stalling) Scan(ctx context.Context, in store.Range) iter.Seq2[store.Entry, error] {
	s.stall()
	s.stall = func() {}
	return s.Store.Scan(ctx, in)
}

// A store that was away for ten minutes has a Queue look at leases, and at what others add, within a minute.
func TestQueueAfterItsStoreWasAway(t *testing.T) {
	t.Parallel()
	c, st := &clock{epoch}, &stalling{store.NewMem(), func() {}}
	q, err := queue.Open(t.Context(), st, &queue.Options{Now: c.Now, Seed: 1})
	require.NoError(t, err)
	other, err := queue.Open(t.Context(), st.Store, &queue.Options{Now: c.Now, Seed: 2})
	require.NoError(t, err)
	st.stall = func() { c.now = c.now.Add(10 * time.Minute) }
	for range 2 {
		_, err = q.Claim(t.Context(), 0)
		require.ErrorIs(t, err, queue.ErrEmpty)
	}
	enqueue(t, other, queue.Draft{})
	c.now = c.now.Add(time.Minute)
	claim(t, q)
}

// waits are the jobs that are in a state.
func waits(t *testing.T, q *queue.Queue, s queue.State) (all []queue.Job) {
	t.Helper()
	for j, err := range q.Jobs(t.Context(), s) {
		require.NoError(t, err)
		all = append(all, j)
	}
	return all
}

// A series without a next time is refused, or its next job is set aside: it ends nothing, and
// its last job can be ended.
func TestSeriesWithoutANextTime(t *testing.T) {
	t.Parallel()
	c := &clock{epoch}
	q := open(t, c, queue.Options{})
	const never = "@every 1900000h"
	_, _, err := q.Enqueue(t.Context(), queue.Draft{Subject: "job", Cron: never})
	require.ErrorIs(t, err, queue.ErrDraft)
	enqueue(t, q, queue.Draft{Cron: never, At: c.now, Key: "k"})
	j := finish(t, claim(t, q), queue.Result{}, nil)
	require.Equal(t, queue.Completed, j.State)
	parked := waits(t, q, queue.Parked)
	require.Len(t, parked, 1)
	require.Contains(t, parked[0].Error, "never")
	_, err = q.Claim(t.Context(), 0)
	require.ErrorIs(t, err, queue.ErrEmpty)
	require.NoError(t, q.Requeue(t.Context(), parked[0].ID, ""))
	claim(t, q)
}

// A clock that is put back a little during a job brings its time no second time, and one that is put
// back for long holds up no series.
func TestSeriesOfAClockThatIsPutBack(t *testing.T) {
	t.Parallel()
	for by, next := range map[time.Duration]time.Duration{time.Second: 2 * time.Hour, 30 * 24 * time.Hour: 2*time.Hour - 30*24*time.Hour} {
		c := &clock{epoch.Truncate(time.Hour)}
		from := c.now
		q := open(t, c, queue.Options{})
		enqueue(t, q, queue.Draft{Cron: "0 * * * *"})
		c.now = c.now.Add(time.Hour)
		l := claim(t, q)
		c.now = c.now.Add(-by)
		finish(t, l, queue.Result{}, nil)
		pending := waits(t, q, queue.Pending)
		require.Len(t, pending, 1)
		require.Equal(t, from.Add(next), pending[0].At)
	}
}

// A daily job runs once on each day of a zone, whatever its clock leaves out or repeats, and an hourly one each hour.
func TestDaysOfASeries(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Europe/Berlin", "America/Havana", "Africa/Cairo", "Asia/Beirut", "Australia/Lord_Howe", "UTC"} {
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		for _, when := range []string{"0 0", "30 0", "30 1", "0 2", "45 2", "0 3"} {
			c := &clock{time.Date(2024, 1, 1, 12, 0, 0, 0, zone)}
			q := open(t, c, queue.Options{})
			enqueue(t, q, queue.Draft{Cron: "CRON_TZ=" + name + " " + when + " * * *"})
			for day := 2; day < 400; day++ {
				c.now = waits(t, q, queue.Pending)[0].At.In(zone)
				y, m, d := time.Date(2024, 1, day, 12, 0, 0, 0, zone).Date()
				require.Equal(t, []any{y, m, d}, []any{c.now.Year(), c.now.Month(), c.now.Day()}, "%s %s", name, when)
				require.NoError(t, q.Remove(t.Context(), finish(t, claim(t, q), queue.Result{}, nil).ID))
			}
		}
		if name == "Australia/Lord_Howe" { // which turns by half an hour
			continue
		}
		c := &clock{time.Date(2024, 3, 30, 12, 0, 0, 0, zone)}
		q := open(t, c, queue.Options{})
		enqueue(t, q, queue.Draft{Cron: "CRON_TZ=" + name + " 0 * * * *"})
		for range 50 {
			c.now = c.now.Add(time.Hour)
			finish(t, claim(t, q), queue.Result{}, nil)
		}
	}
}

// What a sensor has found is told, or an error is, where the commit that keeps it is not answered.
func TestLostAnswerToAReading(t *testing.T) {
	t.Parallel()
	c := &clock{epoch}
	q, st := faulty(t, c, queue.Options{})
	st.FailNext(1, 1, true)
	_, err := q.Sense(t.Context(), queue.Sensor{Name: "s", Read: func(context.Context, string) (queue.Reading, error) {
		return queue.Reading{Jobs: []queue.Draft{{Subject: "job"}}, Cursor: "1"}, nil
	}})
	require.ErrorIs(t, err, arctest.ErrStore)
	require.Len(t, waits(t, q, queue.Pending), 1)
}

// What an attempt has cost is the budget's, also where the commit that ends it is not answered.
func TestLostAnswerToAnEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := arctest.NewStore(store.NewMem())
		q, err := queue.Open(t.Context(), st, nil)
		require.NoError(t, err)
		for range 3 {
			enqueue(t, q, queue.Draft{})
		}
		calls := 0
		d, err := q.Dispatch(func(context.Context, queue.Job) (queue.Result, error) {
			calls++
			st.FailNext(0, 1, true)
			return queue.Result{Usage: act.Usage{CostUSD: 5}}, nil
		}, &queue.DispatchOptions{Gates: []queue.Gate{queue.Budget(1, 0)}})
		require.NoError(t, err)
		<-time.After(time.Minute)
		require.NoError(t, d.Close(t.Context()))
		require.Equal(t, 1, calls)
	})
}

// A reading that does not fit into one commit, and breaks off between two, is enqueued once, also if
// another Queue reads it again; what has changed since is enqueued as it is by then.
func TestLongReadingIsEnqueuedOnce(t *testing.T) {
	t.Parallel()
	for _, changed := range []bool{false, true} {
		c := &clock{epoch}
		q, st := faulty(t, c, queue.Options{})
		mails, reads := 30, 0
		s := queue.Sensor{Name: "s", Every: time.Second, Jitter: -1, Read: func(_ context.Context, cursor string) (r queue.Reading, _ error) {
			reads++
			for i := range mails {
				d := queue.Draft{Subject: fmt.Sprint("mail ", i), Description: strings.Repeat("word ", 12000)}
				if changed && reads > 1 {
					d.Subject = fmt.Sprint("letter ", i)
				}
				r.Jobs = append(r.Jobs, d)
			}
			r.Cursor = "30"
			return r, nil
		}}
		st.FailNext(2, 1, false)
		_, err := q.Sense(t.Context(), s)
		require.ErrorIs(t, err, arctest.ErrStore)
		q, err = queue.Open(t.Context(), st, &queue.Options{Now: c.Now, Seed: 2})
		require.NoError(t, err)
		c.now = c.now.Add(time.Hour)
		_, err = q.Sense(t.Context(), s)
		require.NoError(t, err)
		times := map[string]int{}
		for _, j := range waits(t, q, queue.Pending) {
			times[j.Subject]++
		}
		for subject, n := range times {
			require.Equal(t, 1, n, subject)
		}
		require.Equal(t, changed, len(times) > mails)
		require.Empty(t, stands(t, t.Context(), q)["s"].Kept)
	}
}

// cutScan is a store whose scans break off after some entries, while it is to.
type cutScan struct {
	store.Store
	after int // 0: they do not
}

func (s *cutScan) Scan(ctx context.Context, in store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		n := 0
		for e, err := range s.Store.Scan(ctx, in) {
			if s.after > 0 && n == s.after {
				yield(store.Entry{}, arctest.ErrStore)
				return
			}
			if n++; !yield(e, err) {
				return
			}
		}
	}
}

// What a scan has read before it broke off is read again: no job is left out.
func TestScanThatBreaksOffLosesNoJob(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{false, true} {
		c, st := &clock{epoch}, &cutScan{Store: store.NewMem()}
		q, err := queue.Open(t.Context(), st, &queue.Options{Now: c.Now, Seed: 1, Alone: alone})
		require.NoError(t, err)
		for _, subject := range []string{"a", "b", "c"} {
			enqueue(t, q, queue.Draft{Subject: subject})
		}
		st.after = 2
		_, err = q.Claim(t.Context(), 0)
		require.ErrorIs(t, err, arctest.ErrStore)
		st.after = 0
		for _, subject := range []string{"a", "b", "c"} {
			require.Equal(t, subject, claim(t, q).Job.Subject)
		}
	}
}

// A job that has ended in a time to come, by a clock that was put back since, keeps its Key from no
// other: without Quiet at all, and with it for no longer than that.
func TestKeyOfAClockThatIsPutBack(t *testing.T) {
	t.Parallel()
	for _, quiet := range []time.Duration{0, time.Hour} {
		c := &clock{epoch}
		q := open(t, c, queue.Options{})
		d := queue.Draft{Subject: "job", Key: "inbox", Quiet: quiet}
		enqueue(t, q, d)
		c.now = epoch.Add(24 * time.Hour)
		finish(t, claim(t, q), queue.Result{}, nil)
		c.now = c.now.Add(-30 * time.Second)
		_, added, err := q.Enqueue(t.Context(), d)
		require.NoError(t, err)
		require.Equal(t, quiet == 0, added)
		c.now = epoch
		if !added {
			enqueue(t, q, d)
		}
	}
}

// unread is a store whose next Commit is in conflict, and after which nothing can be read, while it is so.
type unread struct {
	store.Store
	is bool
}

func (u *unread) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if u.is {
		return 0, store.ErrConflict
	}
	return u.Store.Commit(ctx, ops...)
}

func (u *unread) Get(ctx context.Context, k string) (store.Entry, error) {
	if u.is {
		return store.Entry{}, arctest.ErrStore
	}
	return u.Store.Get(ctx, k)
}

// An end that cannot see whether its lease holds says what the store says, and can be tried again.
func TestEndWhoseJobCannotBeRead(t *testing.T) {
	t.Parallel()
	c, st := &clock{epoch}, &unread{Store: store.NewMem()}
	q, err := queue.Open(t.Context(), st, &queue.Options{Now: c.Now, Seed: 1})
	require.NoError(t, err)
	l := claimed(t, q)
	st.is = true
	_, err = l.End(t.Context(), queue.Result{}, nil)
	require.ErrorIs(t, err, arctest.ErrStore)
	require.NotErrorIs(t, err, queue.ErrLost)
	st.is = false
	require.Equal(t, queue.Completed, finish(t, l, queue.Result{}, nil).State)
}

// What waits for another attempt since a time to come, by a clock that was put back since, waits as long
// from when that is seen: by the Queue that has set it, by one that is opened then, and by another's.
func TestRetryOfAClockThatIsPutBack(t *testing.T) {
	t.Parallel()
	for name, why := range map[string]error{"failed": errors.New("boom"), "limited": &act.RateLimitError{After: time.Hour}, "given": nil} {
		for _, fresh := range []bool{false, true} {
			for _, alone := range []bool{false, true} {
				c := &clock{epoch}
				q, st := faulty(t, c, queue.Options{Alone: alone})
				enqueue(t, q, queue.Draft{})
				later := enqueue(t, q, queue.Draft{At: epoch.Add(25 * time.Hour)})
				c.now = epoch.Add(24 * time.Hour)
				r := queue.Result{State: queue.Pending, At: c.now.Add(time.Minute)}
				j := finish(t, claim(t, q), r, why)
				wait := j.At.Sub(c.now)
				_, err := q.Claim(t.Context(), 0)
				require.ErrorIs(t, err, queue.ErrEmpty)
				c.now = epoch
				if fresh {
					q, err = queue.Open(t.Context(), st, &queue.Options{Now: c.Now, Seed: 2, Alone: alone})
					require.NoError(t, err)
				}
				st.FailNext(0, 1, false)
				_, err = q.Claim(t.Context(), 0)
				require.ErrorIs(t, err, arctest.ErrStore)
				for range 2 {
					c.now = c.now.Add(time.Second)
					_, err = q.Claim(t.Context(), 0)
					require.ErrorIs(t, err, queue.ErrEmpty, "%s %v", name, fresh)
				}
				c.now = epoch.Add(wait + 2*time.Second)
				require.Equal(t, j.ID, claim(t, q).Job.ID, "%s %v", name, fresh)
				c.now = epoch.Add(2 * time.Hour)
				is, err := q.Get(t.Context(), later.ID)
				require.NoError(t, err)
				require.Equal(t, later.At, is.At)
			}
		}
	}
}

// A time that the handler has given for tomorrow stands, whatever the clock was.
func TestDueTomorrowWhateverTheClockWas(t *testing.T) {
	t.Parallel()
	c := &clock{epoch.Add(24 * time.Hour)}
	q := open(t, c, queue.Options{})
	j := finish(t, claimed(t, q), queue.Result{State: queue.Pending, At: epoch.Add(30 * time.Hour)}, nil)
	c.now = epoch
	_, err := q.Claim(t.Context(), 0)
	require.ErrorIs(t, err, queue.ErrEmpty)
	require.Equal(t, j.At, waits(t, q, queue.Pending)[0].At)
}

// A series that is enqueued after the clock was put back begins with the next time.
func TestSeriesAfterAClockWasPutBack(t *testing.T) {
	t.Parallel()
	c := &clock{epoch.Add(24 * time.Hour)}
	q := open(t, c, queue.Options{})
	enqueue(t, q, queue.Draft{})
	c.now = epoch
	require.Equal(t, epoch.Add(time.Hour), enqueue(t, q, queue.Draft{Cron: "0 * * * *"}).At)
}

// A time long past that a person or a handler gives counts as one that is just late enough for the boost, as
// that of a draft does: the job goes before none that has waited for longer.
func TestTimeLongPastHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	c := &clock{epoch}
	q := open(t, c, queue.Options{})
	old := enqueue(t, q, queue.Draft{At: epoch.Add(-50 * time.Minute)})
	c.now = epoch.Add(10 * time.Minute)
	revised := enqueue(t, q, queue.Draft{At: c.now})
	require.NoError(t, q.Revise(t.Context(), revised.ID, queue.Draft{At: epoch.Add(-24 * time.Hour)}))
	require.Equal(t, old.ID, claim(t, q).Job.ID)
	l := claim(t, q)
	require.Equal(t, revised.ID, l.Job.ID)
	j := finish(t, l, queue.Result{State: queue.Pending, At: epoch.Add(-24 * time.Hour)}, nil)
	require.Equal(t, time.Minute+1, c.now.Sub(j.At))
	require.ErrorIs(t, q.Revise(t.Context(), j.ID, queue.Draft{At: time.Unix(-1, 0)}), queue.ErrDraft)
}

// A job that failed can be tried again once no other that has not ended has its Key, and has it then.
func TestRequeueAfterAnotherOfItsKey(t *testing.T) {
	t.Parallel()
	c := &clock{epoch}
	q := open(t, c, queue.Options{})
	d := queue.Draft{Subject: "job", Key: "inbox"}
	enqueue(t, q, d)
	failed := finish(t, claim(t, q), queue.Result{State: queue.Failed}, nil)
	other := enqueue(t, q, d)
	require.ErrorIs(t, q.Requeue(t.Context(), failed.ID, ""), queue.ErrState)
	blocked := finish(t, claim(t, q), queue.Result{State: queue.Blocked}, nil)
	require.Equal(t, other.ID, blocked.ID)
	require.NoError(t, q.Requeue(t.Context(), failed.ID, ""))
	has, added, err := q.Enqueue(t.Context(), d)
	require.NoError(t, err)
	require.False(t, added)
	require.Equal(t, failed.ID, has.ID)
	require.ErrorIs(t, q.Requeue(t.Context(), other.ID, ""), queue.ErrState)
}

// A job of a series in a zone that is not known here comes in by Import, can be worded anew, and is done; its
// series is set aside.
func TestSeriesOfAZoneThatIsNotKnown(t *testing.T) {
	t.Parallel()
	c := &clock{epoch}
	q, st := faulty(t, c, queue.Options{})
	enqueue(t, q, queue.Draft{Cron: "CRON_TZ=Europe/Berlin 0 6 * * *", At: epoch})
	for e, err := range queue.Entries(t.Context(), st, "local") {
		require.NoError(t, err)
		var j queue.Job
		require.NoError(t, codec.Decode(e, &j))
		j.Cron = "CRON_TZ=Mars/Olympus 0 6 * * *"
		e.Value, err = codec.Encode(e.Key, j)
		require.NoError(t, err)
		require.NoError(t, queue.Check(e, "local"))
		_, err = st.Commit(t.Context(), store.Op{Key: e.Key, Value: e.Value})
		require.NoError(t, err)
		require.NoError(t, q.Revise(t.Context(), j.ID, queue.Draft{Subject: "look at the sky"}))
	}
	require.Equal(t, queue.Completed, finish(t, claim(t, q), queue.Result{}, nil).State)
	require.Contains(t, waits(t, q, queue.Parked)[0].Error, "Mars")
	_, _, err := q.Enqueue(t.Context(), queue.Draft{Subject: "job", Cron: "CRON_TZ=Mars/Olympus 0 6 * * *"})
	require.ErrorIs(t, err, queue.ErrDraft)
}

// What an attempt has cost counts for 24 hours at least.
func TestBudgetOfADay(t *testing.T) {
	t.Parallel()
	for at := range 60 {
		ended := epoch.Add(time.Duration(at) * time.Minute)
		g := queue.Budget(1, 0)
		g.Ended(queue.Cycle{Started: ended, Usage: act.Usage{CostUSD: 5}})
		require.Zero(t, g.Admit(ended.Add(24*time.Hour-1)))
		require.Positive(t, g.Admit(ended.Add(25*time.Hour)))
	}
}
