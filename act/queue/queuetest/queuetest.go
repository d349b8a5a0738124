// Package queuetest checks that a queue over a store, with its jobs and its sensors, keeps
// its promises, whatever the store: it holds for store.NewMem, Badger, and any other
// that passes storetest.
//
//	func TestQueue(t *testing.T) {
//		queuetest.Run(t, func(t *testing.T) store.Store { return mystore.Open(t.TempDir()) })
//	}
package queuetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

const (
	ttl    = 20 * time.Second
	ageing = 10 * time.Minute
)

// Run checks queues over the store that open returns, and closes it. Random sequences
// of calls, among them crashes and jumps of the clock, are compared with what the
// documentation says, each under a tenant of its own: 100 of them, or as many as
// -rapid.checks says, of 30 calls or -rapid.steps. Before them, queues of several
// processes share jobs at the same time.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	st := open(t)
	t.Cleanup(func() { require.NoError(t, st.Close(), "close") })
	share(t, st)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		m := &model{
			T: rt, ctx: t.Context(), st: st, now: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC),
			ended: map[string]int{}, claims: map[string]int{}, ends: map[string]bool{}, removed: map[string]bool{},
			woken: map[string]bool{},
		}
		m.o = queue.Options{
			Scope: memory.Scope(fmt.Sprintf("tenant%d", n)), LeaseTTL: ttl, Seed: uint64(n) << 16,
			Now:   func() time.Time { return m.now },
			Alone: rapid.Bool().Draw(rt, "alone"),
		}
		if rapid.Bool().Draw(rt, "ages") {
			m.o.Ageing = ageing
		}
		m.two = !m.o.Alone && rapid.Bool().Draw(rt, "two")
		m.others = m.two
		m.crash(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"enqueue": m.enqueue, "claim": m.claim, "claim ": m.claim, "beat": m.beat, "end": m.finish, "end ": m.finish,
			"clock": m.clock, "doze": m.doze, "sense": m.sense, "crash": m.crash, "change": m.change, "": m.invariant,
		})
		m.drain()
	})
}

// share has workers of several queues take jobs at the same time: each is claimed once, and
// each queue takes them in the order of priorities.
func share(t *testing.T, st store.Store) {
	const queues, workers, n = 4, 2, 80
	o := &queue.Options{Scope: "together"}
	first, err := queue.Open(t.Context(), st, o)
	require.NoError(t, err)
	for i := range n {
		_, _, err := first.Enqueue(t.Context(), queue.Draft{Subject: "job", Priority: 1 + i%10})
		require.NoError(t, err)
	}
	var all sync.WaitGroup
	for range queues {
		q, err := queue.Open(t.Context(), st, o)
		require.NoError(t, err)
		for range workers {
			all.Go(func() {
				for last := 1; ; {
					l, err := q.Claim(t.Context(), 0)
					if errors.Is(err, queue.ErrEmpty) {
						return
					}
					if err == nil && l.Job.Priority < last {
						err = fmt.Errorf("priority %d after %d", l.Job.Priority, last)
					}
					if err == nil {
						last = l.Job.Priority
						_, err = l.End(t.Context(), queue.Result{}, nil)
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	all.Wait()
	for j, err := range first.Jobs(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, queue.Completed, j.State)
		require.EqualValues(t, 1, j.Token, "claims of a job")
	}
}

// model remembers what was acknowledged, and what became of it.
type model struct {
	*rapid.T
	ctx context.Context
	st  store.Store
	o   queue.Options
	now time.Time
	two bool // two queues are open
	// others may change jobs: two are open, or holders of before a crash live on.
	others bool
	qs     [2]*queue.Queue
	held   []*held

	acked   []string        // ids of jobs that Enqueue has returned
	sensed  int             // of those, how many a sensor has found
	removed map[string]bool // those that were removed
	claims  map[string]int  // claims by id
	ended   map[string]int  // ends by id, Requeue and Wake take one back
	woken   map[string]bool // those that Wake has named
	ends    map[string]bool // tokens that have committed an end
}

// held is a lease, of a worker that lives or one that believes so.
type held struct {
	*queue.Lease
	low time.Time // the earliest that the clock was since it was renewed
}

// any returns one of the queues that are open.
func (m *model) any(rt *rapid.T) *queue.Queue {
	if m.two && rapid.Bool().Draw(rt, "second") {
		return m.qs[1]
	}
	return m.qs[0]
}

// jobs returns what the store has.
func (m *model) jobs() map[string]queue.Job {
	all := map[string]queue.Job{}
	for j, err := range m.qs[0].Jobs(m.ctx) {
		require.NoError(m, err)
		all[j.ID] = j
	}
	return all
}

func (m *model) enqueue(rt *rapid.T) {
	d := queue.Draft{
		Subject: "job", Priority: rapid.IntRange(1, 10).Draw(rt, "priority"),
		Key:         rapid.SampledFrom([]string{"", "", "", "a", "b"}).Draw(rt, "key"),
		MaxAttempts: rapid.IntRange(1, 3).Draw(rt, "attempts"),
	}
	if rapid.Bool().Draw(rt, "timed") {
		d.At = m.now.Add(time.Duration(rapid.IntRange(-200, 200).Draw(rt, "due")) * time.Second)
	}
	if d.Key != "" && rapid.Bool().Draw(rt, "quietly") {
		d.Quiet = time.Minute
	}
	before := m.jobs()
	j, added, err := m.any(rt).Enqueue(m.ctx, d)
	require.NoError(m, err)
	if !added {
		has := before[j.ID]
		require.Equal(m, d.Key, has.Key, "the one that has the key")
		stands := has.Ended.IsZero() || m.now.Sub(has.Ended).Abs() < d.Quiet
		require.True(m, stands, "it is not in the way")
		return
	}
	for _, has := range before {
		if d.Key != "" && has.Key == d.Key {
			require.False(m, has.Ended.IsZero(), "two of a key")
		}
	}
	m.acked = append(m.acked, j.ID)
}

func (m *model) claim(rt *rapid.T) {
	upTo := rapid.SampledFrom([]int{0, 10, 10, 3}).Draw(rt, "up to")
	before := m.jobs()
	l, err := m.any(rt).Claim(m.ctx, upTo)
	after := m.jobs()
	if err != nil {
		require.ErrorIs(m, err, queue.ErrEmpty)
	}
	var ready []queue.Job
	for id, was := range before {
		is := after[id]
		lost := was.State == queue.Active && (is.State != queue.Active || is.Token != was.Token)
		if lost {
			m.requireExpired(was)
			if is.State == queue.Failed {
				m.ended[id]++
			}
		}
		if is.State == queue.Pending {
			ready = append(ready, is)
		}
		roused := m.roused(was, is)
		if l != nil && id == l.Job.ID {
			require.True(m, was.State == queue.Pending || lost || roused, "claimed while %s", was.State)
			is.State, is.Attempts = queue.Pending, is.Attempts-1
			if lost && !m.woken[id] {
				is.At = was.At
			}
			ready = append(ready, is)
		}
	}
	upTo = cmp.Or(upTo, 10)
	ready = slices.DeleteFunc(ready, func(j queue.Job) bool { return j.Priority > upTo || j.At.After(m.now) })
	if l == nil {
		require.True(m, m.others || len(ready) == 0, "empty, with %d ready", len(ready))
		return
	}
	require.Equal(m, queue.Active, after[l.Job.ID].State)
	require.False(m, l.Job.At.After(m.now), "claimed before its time")
	if !m.others { // one does not see at once what the other has added
		require.Equal(m, m.first(ready), l.Job.ID, "the order")
	}
	m.claims[l.Job.ID]++
	m.held = append(m.held, &held{l, m.now})
}

// roused reports whether a job was due again that Wake has named, and counts it.
func (m *model) roused(was, is queue.Job) bool {
	set := was.State == queue.Parked || was.State == queue.Blocked
	if !set || was.State == is.State || !m.woken[was.ID] {
		return false
	}
	require.Zero(m, is.At)
	if !was.Ended.IsZero() {
		m.ended[was.ID]--
	}
	return true
}

// wake names a job in a commit, which queues see that are opened then: what is not Active, and
// not over for good, is due.
func (m *model) wake(rt *rapid.T, id string) {
	was := m.jobs()[id]
	_, err := m.st.Commit(m.ctx, queue.Wake(m.o.Scope, id))
	require.NoError(m, err)
	m.woken[id] = true
	m.crash(rt)
	is := m.jobs()[id]
	switch {
	case was.State == queue.Blocked && was.Key != "" && is.State == queue.Blocked: // its key may be taken
	case was.State == queue.Pending || was.State == queue.Parked || was.State == queue.Blocked:
		require.Equal(m, queue.Pending, is.State)
		require.Zero(m, is.At)
	case was.State != queue.Active:
		require.Equal(m, was, is)
	}
}

// requireExpired fails if a lease that was given back was renewed less than its TTL ago.
func (m *model) requireExpired(j queue.Job) {
	for _, h := range m.held {
		if h.Job.ID == j.ID && h.Job.Token == j.Token {
			require.GreaterOrEqual(m, m.now.Sub(h.low), ttl, "a lease that was alive is given back")
		}
	}
}

// first is the job that comes first, as the documentation has it.
func (m *model) first(ready []queue.Job) string {
	heads := map[string]queue.Job{}
	for _, j := range ready {
		list := fmt.Sprint(j.Priority, j.At.IsZero())
		h, ok := heads[list]
		if !ok || cmp.Or(j.At.Compare(h.At), strings.Compare(j.ID, h.ID)) < 0 {
			heads[list] = j
		}
	}
	var best queue.Job
	score := func(j queue.Job) (float64, time.Time) {
		level, since := float64(j.Priority), j.Created
		if !j.At.IsZero() {
			if j.At.After(since) {
				since = j.At
			}
			if m.now.Sub(j.At) > time.Minute {
				level = max(1, level-2)
			}
		}
		if m.o.Ageing > 0 {
			return 0, since.Add(time.Duration(level * float64(ageing)))
		}
		return level, since
	}
	for _, j := range heads {
		if best.ID == "" {
			best = j
			continue
		}
		l1, s1 := score(j)
		l2, s2 := score(best)
		if cmp.Or(cmp.Compare(l1, l2), s1.Compare(s2), strings.Compare(j.ID, best.ID)) < 0 {
			best = j
		}
	}
	return best.ID
}

// lease returns one that was claimed at some time.
func (m *model) lease(rt *rapid.T) *held {
	if len(m.held) == 0 {
		rt.Skip("none was claimed")
	}
	return m.held[rapid.IntRange(max(0, len(m.held)-6), len(m.held)-1).Draw(rt, "lease")]
}

// current reports whether a lease is still the one of its job.
func (m *model) current(h *held) bool {
	j, ok := m.jobs()[h.Job.ID]
	return ok && j.State == queue.Active && j.Token == h.Job.Token
}

func (m *model) beat(rt *rapid.T) {
	h := m.lease(rt)
	holds := m.current(h)
	err := h.Beat(m.ctx)
	if !holds {
		require.ErrorIs(m, err, queue.ErrLost)
		return
	}
	require.NoError(m, err)
	h.low = m.now
}

var errWork = errors.New("work failed")

func (m *model) finish(rt *rapid.T) {
	h := m.lease(rt)
	holds := m.current(h)
	var why error
	r := queue.Result{State: rapid.SampledFrom([]queue.State{
		"", queue.Completed, queue.Completed, queue.Failed, queue.Blocked, queue.Parked, queue.Pending,
	}).Draw(rt, "state")}
	if rapid.Bool().Draw(rt, "fails") {
		why = errWork
	}
	if rapid.Bool().Draw(rt, "follow-up") {
		r.Followups = []queue.Draft{{Subject: "child", Priority: 9}}
	}
	before := len(m.jobs())
	j, err := h.End(m.ctx, r, why)
	if !holds {
		require.ErrorIs(m, err, queue.ErrLost)
		require.Len(m, m.jobs(), before)
		return
	}
	require.NoError(m, err)
	token := fmt.Sprint(j.ID, j.Token)
	require.False(m, m.ends[token], "a lease has ended twice")
	m.ends[token] = true
	want := cmp.Or(r.State, queue.Completed)
	if why != nil {
		want, r.Followups = queue.Pending, nil
		if h.Job.Attempts >= h.Job.MaxAttempts {
			want = queue.Failed
		}
	}
	require.Equal(m, want, j.State)
	if j.Ended.IsZero() {
		r.Followups = nil
	} else {
		m.ended[j.ID]++
	}
	children := 0
	for id, c := range m.jobs() {
		if c.Parent == j.ID && !slices.Contains(m.acked, id) {
			children++
			m.acked = append(m.acked, id)
		}
	}
	require.Equal(m, len(r.Followups), children, "follow-ups come with the end")
}

// sense reads a sensor, which finds the next two numbers each time, through either queue.
func (m *model) sense(rt *rapid.T) {
	fails := rapid.Bool().Draw(rt, "fails")
	read := func(_ context.Context, cursor string) (r queue.Reading, err error) {
		if fails {
			return queue.Reading{Cursor: "lost"}, errWork
		}
		n := 0
		if cursor != "" {
			n, err = strconv.Atoi(cursor)
		}
		for range 2 {
			n++
			r.Jobs = append(r.Jobs, queue.Draft{Subject: strconv.Itoa(n), Priority: 10})
		}
		r.Cursor = strconv.Itoa(n)
		return r, err
	}
	found, err := m.any(rt).Sense(m.ctx, queue.Sensor{Name: "numbers", Every: time.Minute, Read: read})
	if err != nil {
		require.ErrorIs(m, err, errWork)
	}
	for _, j := range found {
		m.sensed++
		require.Equal(m, strconv.Itoa(m.sensed), j.Subject, "what a sensor finds")
		m.acked = append(m.acked, j.ID)
	}
}

// doze lets a lease be seen, a part of its TTL pass, and it be seen again.
func (m *model) doze(rt *rapid.T) {
	m.claim(rt)
	m.jump(rapid.SampledFrom([]time.Duration{ttl / 2, ttl - time.Second, ttl - 1}).Draw(rt, "part"))
	m.claim(rt)
}

func (m *model) clock(rt *rapid.T) {
	m.jump(rapid.SampledFrom([]time.Duration{
		1, time.Millisecond, time.Second, 5 * time.Second, ttl, 2 * ttl, 90 * time.Second, time.Hour,
		-time.Second, -time.Minute, -time.Hour,
	}).Draw(rt, "jump"))
}

// jump moves the clock.
func (m *model) jump(by time.Duration) {
	m.now = m.now.Add(by)
	for _, h := range m.held {
		if m.now.Before(h.low) {
			h.low = m.now
		}
	}
}

// crash opens the queues anew. Who held leases may go on: a process that was thought
// dead.
func (m *model) crash(rt *rapid.T) {
	before := map[string]queue.Job{}
	if m.qs[0] != nil {
		before = m.jobs()
		m.others = !m.o.Alone
	}
	for i := range m.qs {
		var err error
		m.o.Seed++
		m.qs[i], err = queue.Open(m.ctx, m.st, &m.o)
		require.NoError(m, err)
		if !m.two {
			break
		}
	}
	for id, j := range m.jobs() {
		if was := before[id]; was.State == queue.Active && m.o.Alone {
			require.NotEqual(m, queue.Active, j.State, "alone, all are given back")
			if j.State == queue.Failed {
				m.ended[id]++
			}
		} else if !m.roused(was, j) {
			require.Equal(m, was.State, j.State)
		}
	}
}

// change parks, requeues, wakes or removes a job.
func (m *model) change(rt *rapid.T) {
	if len(m.acked) == 0 {
		rt.Skip("there is none")
	}
	id := rapid.SampledFrom(m.acked).Draw(rt, "job")
	was, ok := m.jobs()[id]
	q := m.any(rt)
	var err error
	allowed := false
	switch rapid.SampledFrom([]string{"park", "requeue", "requeue", "wake", "wake", "remove"}).Draw(rt, "what") {
	case "wake":
		m.wake(rt, id)
		return
	case "park":
		err, allowed = q.Park(m.ctx, id), was.State == queue.Pending
	case "requeue":
		err = q.Requeue(m.ctx, id, "again")
		allowed = was.State == queue.Failed || was.State == queue.Blocked || was.State == queue.Parked
		if err != nil && allowed {
			require.ErrorIs(m, err, queue.ErrState)
			has := func(j queue.Job) bool { return j.Key == was.Key && j.Ended.IsZero() }
			require.True(m, was.Key != "" && slices.ContainsFunc(slices.Collect(maps.Values(m.jobs())), has), "its key is free")
			return
		}
		if err == nil && !was.Ended.IsZero() {
			m.ended[id]--
		}
	case "remove":
		err, allowed = q.Remove(m.ctx, id), was.State != queue.Active
		if err == nil {
			m.removed[id] = true
		}
	}
	switch {
	case !ok:
		require.ErrorIs(m, err, store.ErrNotFound)
	case allowed:
		require.NoError(m, err)
	default:
		require.ErrorIs(m, err, queue.ErrState)
	}
}

// invariant holds after each call.
func (m *model) invariant(*rapid.T) {
	jobs := m.jobs()
	live := map[string]string{}
	for _, id := range m.acked {
		j, ok := jobs[id]
		require.Equal(m, !m.removed[id], ok, "what was acknowledged is there")
		if !ok {
			continue
		}
		want := 0
		if !j.Ended.IsZero() {
			want = 1
		}
		require.Equal(m, want, m.ended[id], "ends of a job that is %s", j.State)
		require.Equal(m, j.State == queue.Completed || j.State == queue.Failed || j.State == queue.Blocked, !j.Ended.IsZero())
		require.EqualValues(m, m.claims[id], j.Token)
		if j.Key != "" && j.Ended.IsZero() {
			require.Empty(m, live[j.Key], "two jobs of a key")
			live[j.Key] = id
		}
	}
	require.Len(m, jobs, len(m.acked)-len(m.removed))
}

// drain lets all that is left be done: every job that stays was run.
func (m *model) drain() {
	for id, j := range m.jobs() {
		if j.State == queue.Parked {
			require.NoError(m, m.qs[0].Requeue(m.ctx, id, ""))
		}
	}
	for idle := 0; idle < 3; {
		m.now = m.now.Add(time.Hour)
		l, err := m.qs[0].Claim(m.ctx, 0)
		if errors.Is(err, queue.ErrEmpty) {
			idle++
			continue
		}
		require.NoError(m, err)
		m.claims[l.Job.ID]++
		_, err = l.End(m.ctx, queue.Result{}, nil)
		require.NoError(m, err)
	}
	for id, j := range m.jobs() {
		require.False(m, j.Ended.IsZero(), "job %s is %s at the end", id, j.State)
		require.Positive(m, m.claims[id], "it never ran")
	}
}
