package queue_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/store"
)

// Whatever their store answers, two Queues over it keep what was acknowledged: each attempt ends
// once, each job in one way, each series goes on at the next time of its zone, and once nothing
// fails any more all is done.
func TestQueuesOnAStoreThatFails(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := &faults{
			mem: store.NewMem(), c: &clock{rapid.SampledFrom(turns).Draw(t, "begin")}, alone: rapid.Bool().Draw(t, "alone"), n: 2,
			acked: map[string]bool{}, over: map[string]queue.Job{}, tokens: map[string]bool{},
			woken: map[string]uint64{},
		}
		if x.alone {
			x.n = 1
		}
		x.crash(t)
		t.Repeat(map[string]func(*rapid.T){
			"enqueue": x.enqueue, "claim": x.claim, "claim it": x.claim, "claim this": x.claim, "beat": x.beat, "end": x.end, "end it": x.end,
			"end this": x.end, "wait": x.wait, "crash": x.crash, "change": x.change, "sense": x.sense, "prune": x.prune, "": x.check,
		})
		x.drain(t)
	})
}

// turns are times before a clock is turned: forward at midnight, forward and back at night.
var turns = []time.Time{
	time.Date(2024, 4, 24, 12, 0, 0, 0, time.UTC), time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC), time.Date(2026, 10, 23, 12, 0, 0, 0, time.UTC),
}

// crons are expressions whose times a clock leaves out and repeats.
var crons = []string{"CRON_TZ=Africa/Cairo 0 0 * * *", "CRON_TZ=Europe/Berlin 30 2 * * *", "CRON_TZ=Europe/Berlin 0 2 * * *", "0 3 * * *"}

const faultTTL = 20 * time.Second

// faults is what a test has seen of two Queues, or of one that is alone.
type faults struct {
	mem   *store.Mem
	c     *clock
	alone bool
	n     int
	st    [2]*arctest.Store
	q     [2]*queue.Queue
	held  []*holding

	acked  map[string]bool      // jobs that were acknowledged, and are not removed
	over   map[string]queue.Job // how jobs have ended
	tokens map[string]bool      // claims
	woken  map[string]uint64    // tokens of jobs that Wake has named since they were parked
	count  int
	backs  int // how often the clock was put back
}

// holding is a lease, and the earliest that the clock was since it was renewed.
type holding struct {
	*queue.Lease
	st  *arctest.Store
	low time.Time
}

// fails makes a call while commits of a store perhaps fail.
func (x *faults) fails(t *rapid.T, st *arctest.Store, call func() error) error {
	if rapid.IntRange(0, 2).Draw(t, "fails") == 2 {
		st.FailNext(rapid.IntRange(0, 2).Draw(t, "commits"), rapid.IntRange(1, 2).Draw(t, "many"), rapid.Bool().Draw(t, "applied"))
	}
	err := call()
	st.FailNext(0, 0, false)
	return err
}

// either is the number of one of the queues.
func (x *faults) either(t *rapid.T) int { return rapid.IntRange(0, x.n-1).Draw(t, "queue") }

// jobs are those that a queue lists.
func (x *faults) jobs(t *rapid.T, i int) map[string]queue.Job {
	all := map[string]queue.Job{}
	for j, err := range x.q[i].Jobs(context.Background()) {
		require.NoError(t, err)
		all[j.ID] = j
	}
	return all
}

func (x *faults) enqueue(t *rapid.T) {
	x.count++
	i := x.either(t)
	d := queue.Draft{
		Subject: fmt.Sprint("job ", x.count), Priority: rapid.IntRange(1, 10).Draw(t, "priority"), MaxAttempts: rapid.IntRange(1, 3).Draw(t, "attempts"),
		Key: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "key"),
	}
	if rapid.IntRange(0, 3).Draw(t, "series") == 3 {
		d.Cron = rapid.SampledFrom(crons).Draw(t, "cron")
		d.Key = fmt.Sprint("series ", x.count)
	} else if rapid.Bool().Draw(t, "timed") {
		d.At = x.c.now.Add(time.Duration(rapid.IntRange(-100, 100).Draw(t, "due")) * time.Second)
	}
	var j queue.Job
	enqueue := func() (err error) {
		j, _, err = x.q[i].Enqueue(context.Background(), d)
		return err
	}
	err := x.fails(t, x.st[i], enqueue)
	if err != nil {
		require.ErrorIs(t, err, arctest.ErrStore)
		if d.Key == "" {
			return // who knows
		}
		require.NoError(t, enqueue())
	}
	require.True(t, j.Subject == d.Subject || d.Key != "" && j.Key == d.Key)
	x.acked[j.ID] = true
}

func (x *faults) claim(t *rapid.T) {
	i := x.either(t)
	before := x.jobs(t, i)
	var l *queue.Lease
	err := x.fails(t, x.st[i], func() (err error) {
		l, err = x.q[i].Claim(context.Background(), 0)
		return err
	})
	if err != nil {
		require.True(t, errors.Is(err, arctest.ErrStore) || errors.Is(err, queue.ErrEmpty), "%v", err)
	}
	after := x.jobs(t, 0)
	for _, h := range x.held {
		was, is := before[h.Job.ID], after[h.Job.ID]
		if was.State == queue.Active && was.Token == h.Job.Token && (is.State != queue.Active || is.Token != was.Token) {
			require.GreaterOrEqual(t, x.c.now.Sub(h.low), faultTTL, "a lease that holds was given back")
		}
	}
	if l == nil {
		return
	}
	token := fmt.Sprint(l.Job.ID, " ", l.Job.Token)
	require.False(t, x.tokens[token], "two have claimed the same")
	x.tokens[token] = true
	require.False(t, l.Job.At.After(x.c.now), "before its time")
	if p, ok := before[l.Job.Parent]; ok {
		require.True(t, !p.Ended.IsZero() || p.Requeued > 0, "before its parent has ended")
	}
	x.held = append(x.held, &holding{l, x.st[i], x.c.now})
}

// lease is one that was claimed at some time, and whether it holds.
func (x *faults) lease(t *rapid.T) (h *holding, holds bool) {
	if len(x.held) == 0 {
		t.Skip("none")
	}
	h = x.held[rapid.IntRange(max(0, len(x.held)-4), len(x.held)-1).Draw(t, "lease")]
	j, err := x.q[0].Get(context.Background(), h.Job.ID)
	return h, err == nil && j.State == queue.Active && j.Token == h.Job.Token
}

func (x *faults) beat(t *rapid.T) {
	h, holds := x.lease(t)
	switch err := x.fails(t, h.st, func() error { return h.Beat(context.Background()) }); {
	case errors.Is(err, arctest.ErrStore):
	case holds:
		require.NoError(t, err)
		h.low = x.c.now
	default:
		require.ErrorIs(t, err, queue.ErrLost)
	}
}

func (x *faults) end(t *rapid.T) {
	h, holds := x.lease(t)
	r := queue.Result{
		State: rapid.SampledFrom([]queue.State{"", queue.Completed, queue.Failed, queue.Blocked, queue.Parked, queue.Pending}).Draw(t, "state"),
		Usage: act.Usage{TokensIn: 1},
	}
	var why error
	if rapid.IntRange(0, 2).Draw(t, "errs") == 2 {
		why = errors.New("boom")
	}
	if rapid.Bool().Draw(t, "follow-up") {
		r.Followups = []queue.Draft{{Subject: "child", Key: rapid.SampledFrom([]string{"", "a", "c"}).Draw(t, "key")}}
	}
	var j queue.Job
	end := func() (err error) {
		j, err = h.End(context.Background(), r, why)
		return err
	}
	err := x.fails(t, h.st, end)
	unsure := errors.Is(err, arctest.ErrStore)
	if unsure {
		err = end()
	}
	is, lost := x.q[0].Get(context.Background(), h.Job.ID)
	switch {
	case !holds:
		require.ErrorIs(t, err, queue.ErrLost)
	case unsure && errors.Is(err, queue.ErrLost):
		require.NoError(t, lost)
		require.NotEqual(t, queue.Active, is.State, "it says that it has ended")
		require.Equal(t, h.Job.Usage.TokensIn+1, is.Usage.TokensIn)
	default:
		require.NoError(t, errors.Join(err, lost))
		require.Equal(t, is, j)
	}
}

func (x *faults) wait(t *rapid.T) {
	by := rapid.SampledFrom([]time.Duration{
		time.Second, faultTTL / 2, faultTTL, time.Minute, time.Hour, 26 * time.Hour, 0, 0, -time.Second,
	}).Draw(t, "for")
	switch {
	case by < 0 && x.backs > 20: // a minute together is more than a series bears
		return
	case by < 0:
		x.backs++
	case by == 0: // until a job is due
		for _, j := range x.jobs(t, 0) {
			if left := j.At.Sub(x.c.now); j.State == queue.Pending && left > 0 && (by == 0 || left < by) {
				by = left
			}
		}
	}
	x.c.now = x.c.now.Add(by)
	for _, h := range x.held {
		if x.c.now.Before(h.low) {
			h.low = x.c.now
		}
	}
}

// crash opens the queues anew. Who holds leases lives on.
func (x *faults) crash(t *rapid.T) {
	for i := range x.n {
		x.count++
		x.st[i] = arctest.NewStore(x.mem)
		o := &queue.Options{Now: x.c.Now, Seed: uint64(x.count) << 20, LeaseTTL: faultTTL, Alone: x.alone}
		open := func() (err error) {
			x.q[i], err = queue.Open(context.Background(), x.st[i], o)
			return err
		}
		if err := x.fails(t, x.st[i], open); err != nil {
			require.ErrorIs(t, err, arctest.ErrStore)
			require.NoError(t, open())
		}
	}
}

func (x *faults) change(t *rapid.T) {
	if len(x.acked) == 0 {
		t.Skip("none")
	}
	ctx := context.Background()
	id, i := rapid.SampledFrom(slices.Sorted(maps.Keys(x.acked))).Draw(t, "job"), x.either(t)
	was, err := x.q[0].Get(ctx, id)
	require.NoError(t, err)
	what := rapid.SampledFrom([]string{"park", "requeue", "remove", "settle", "revise", "wake", "wake"}).Draw(t, "what")
	if what == "wake" && (was.Cron != "" || was.State == queue.Blocked) {
		t.Skip("it would have another time, or not end as it has")
	}
	delete(x.woken, id)
	if was.Cron != "" && (what == "remove" || what == "settle") {
		t.Skip("it would end the series")
	}
	err = x.fails(t, x.st[i], func() error {
		switch what {
		case "park":
			return x.q[i].Park(ctx, id)
		case "requeue":
			return x.q[i].Requeue(ctx, id, "again")
		case "remove":
			return x.q[i].Remove(ctx, id)
		case "settle":
			return x.q[i].Settle(ctx, id, queue.Result{State: queue.Failed, Summary: "by hand"})
		case "wake":
			_, err := x.mem.Commit(ctx, queue.Wake("local", id))
			if was.State == queue.Parked {
				x.woken[id] = was.Token
			}
			return err
		}
		return x.q[i].Revise(ctx, id, queue.Draft{Priority: 1})
	})
	is, lost := x.q[0].Get(ctx, id)
	switch {
	case err != nil && !errors.Is(err, arctest.ErrStore):
		require.ErrorIs(t, err, queue.ErrState)
		require.Equal(t, was, is, "it was refused, and done")
	case lost != nil:
		require.Equal(t, "remove", what)
		delete(x.acked, id)
		delete(x.over, id)
	default:
		delete(x.over, id)
	}
}

// sense reads a sensor, which finds the next two numbers each time.
func (x *faults) sense(t *rapid.T) {
	i := x.either(t)
	numbers := queue.Sensor{Name: "numbers", Every: time.Second, Jitter: -1, Read: func(_ context.Context, cursor string) (r queue.Reading, err error) {
		next := 0
		if cursor != "" {
			_, err = fmt.Sscan(cursor, &next)
		}
		for range 2 {
			next++
			r.Jobs = append(r.Jobs, queue.Draft{Subject: fmt.Sprint("number ", next)})
		}
		r.Cursor = fmt.Sprint(next)
		return r, err
	}}
	var found []queue.Job
	before := x.jobs(t, 0)
	err := x.fails(t, x.st[i], func() (err error) {
		found, err = x.q[i].Sense(context.Background(), numbers)
		return err
	})
	if err != nil {
		require.ErrorIs(t, err, arctest.ErrStore)
		return
	}
	require.Len(t, x.jobs(t, 0), len(before)+len(found), "what was found is told")
	for _, j := range found {
		x.acked[j.ID] = true
	}
}

func (x *faults) prune(t *rapid.T) {
	before := x.c.now.Add(-rapid.SampledFrom([]time.Duration{time.Hour, 24 * time.Hour}).Draw(t, "age"))
	st := arctest.NewStore(x.mem)
	err := x.fails(t, st, func() error { return queue.Prune(context.Background(), st, "local", before) })
	if err != nil {
		require.ErrorIs(t, err, arctest.ErrStore)
	}
	is := x.jobs(t, 0)
	for id, j := range x.over {
		if _, there := is[id]; !there {
			delete(x.over, id)
			delete(x.acked, id)
		}
		require.True(t, is[id].ID != "" || j.Ended.Before(before), "it has ended after that")
		require.True(t, err != nil || is[id].ID == "" || !j.Ended.Before(before), "it has ended before that")
	}
}

// check holds after each call.
func (x *faults) check(t *rapid.T) {
	jobs := x.jobs(t, 0)
	require.Equal(t, jobs, x.jobs(t, x.n-1))
	for id := range x.acked {
		require.Contains(t, jobs, id, "it was acknowledged")
	}
	attempts := map[string]int{}
	for c, err := range x.q[0].Cycles(context.Background(), time.Time{}) {
		require.NoError(t, err)
		attempts[fmt.Sprint(c.Job, " ", c.Token)]++
	}
	live, subjects, series := map[string]string{}, map[string]int{}, map[string][]queue.Job{}
	for id, j := range jobs {
		over := j.State == queue.Completed || j.State == queue.Failed || j.State == queue.Blocked
		require.Equal(t, over, !j.Ended.IsZero())
		if was, ok := x.over[id]; ok {
			require.Equal(t, was, j, "how it has ended")
		}
		if over {
			x.over[id] = j
		} else if j.Key != "" {
			require.Empty(t, live[j.Key], "two jobs of a key")
			live[j.Key] = id
		}
		if strings.HasPrefix(j.Key, "series") {
			series[j.Key] = append(series[j.Key], j)
		} else if j.Subject != "child" {
			subjects[j.Subject]++
		}
		for token := range j.Token {
			n := attempts[fmt.Sprint(id, " ", token+1)]
			require.True(t, n <= 1 && (n == 0 || j.State != queue.Active || token+1 < j.Token), "%d ends of an attempt", n)
		}
	}
	for s, n := range subjects {
		require.Equal(t, 1, n, s)
	}
	for key, all := range series {
		require.NotEmpty(t, live[key], "the series is over")
		slices.SortFunc(all, func(a, b queue.Job) int { return strings.Compare(a.ID, b.ID) })
		for i, next := range all[1:] {
			j := all[i]
			if next.Requeued > 0 || next.Token > 0 || j.Requeued > 0 {
				continue // it has another time by now
			}
			from := j.Ended
			if ahead := j.At.Sub(from); ahead > 0 && ahead < time.Minute {
				from = j.At // the clock was put back
			}
			require.Equal(t, shown(t, j.Cron, from), next.At, "%s after %v", j.Cron, from)
		}
	}
	other, err := queue.Open(context.Background(), x.mem, &queue.Options{Scope: "local2", Now: x.c.Now})
	require.NoError(t, err)
	for j, err := range other.Jobs(context.Background()) {
		t.Fatal("another tenant sees", j, err)
	}
}

// shown is when a clock first shows the time of a daily expression after another, or goes past it.
func shown(t *rapid.T, cron string, after time.Time) time.Time {
	name, minute, hour := "UTC", 0, 0
	if _, err := fmt.Sscanf(cron, "%d %d * * *", &minute, &hour); err != nil {
		_, err = fmt.Sscanf(cron, "CRON_TZ=%s %d %d * * *", &name, &minute, &hour)
		require.NoError(t, err)
	}
	zone, err := time.LoadLocation(name)
	require.NoError(t, err)
	for y, m, d := after.In(zone).Date(); ; d++ {
		noon := time.Date(y, m, d, 12, 0, 0, 0, zone)
		at := noon.Add(-14 * time.Hour)
		for at.In(zone).Day() != noon.Day() || at.In(zone).Hour()*60+at.In(zone).Minute() < hour*60+minute {
			at = at.Add(time.Minute)
		}
		if at.After(after) {
			return at.UTC()
		}
	}
}

// drain has all done that is left, while nothing fails.
func (x *faults) drain(t *rapid.T) {
	ctx := context.Background()
	for id, j := range x.jobs(t, 0) {
		if token, ok := x.woken[id]; j.State == queue.Parked && (!ok || token != j.Token) {
			if err := x.q[0].Requeue(ctx, id, ""); err != nil {
				require.ErrorIs(t, err, queue.ErrState) // its key is another's
			}
		}
	}
	for range 4 {
		x.c.now = x.c.now.Add(time.Hour)
		for {
			l, err := x.q[x.n-1].Claim(ctx, 0)
			if errors.Is(err, queue.ErrEmpty) {
				break
			}
			require.NoError(t, err)
			_, err = l.End(ctx, queue.Result{}, nil)
			require.NoError(t, err)
		}
	}
	for id, j := range x.jobs(t, 0) {
		require.True(t, !j.Ended.IsZero() || j.State == queue.Pending && j.At.After(x.c.now), "%s is %s", id, j.State)
	}
}
