package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) // a Monday

// clock is a time that tests move.
type clock struct{ now time.Time }

func (c *clock) add(d time.Duration) { c.now = c.now.Add(d) }

func open(t require.TestingT, st store.Store, c *clock, o queue.Options) *queue.Queue {
	o.Now = func() time.Time { return c.now }
	q, err := queue.Open(context.Background(), store.NewGroup(st), &o)
	require.NoError(t, err)
	return q
}

func add(t *testing.T, q *queue.Queue, d queue.Draft) queue.Job {
	t.Helper()
	if d.Subject == "" {
		d.Subject = "a job"
	}
	j, added, err := q.Add(t.Context(), d)
	require.NoError(t, err)
	require.True(t, added)
	return j
}

// drain claims and completes all that is due, and returns the subjects.
func drain(t *testing.T, q *queue.Queue) (subjects []string) {
	for {
		j, err := q.Claim(t.Context())
		if errors.Is(err, queue.ErrEmpty) {
			return subjects
		}
		require.NoError(t, err)
		require.NoError(t, q.End(t.Context(), j, nil))
		subjects = append(subjects, j.Subject)
	}
}

// The case dispatch-queue, with 1 as the highest priority: FIFO among equals.
func TestOrder(t *testing.T) {
	c := &clock{start}
	q := open(t, store.NewMem(), c, queue.Options{})
	for _, d := range []struct {
		name     string
		priority int
	}{{"a", 9}, {"b", 9}, {"c", 5}, {"d", 1}, {"e", 5}, {"f", 1}} {
		add(t, q, queue.Draft{Subject: d.name, Priority: d.priority, Key: "k" + d.name})
	}
	require.Equal(t, []string{"d", "f", "c", "e", "a", "b"}, drain(t, q))

	add(t, q, queue.Draft{Subject: "late 7", Priority: 7, At: start.Add(time.Minute)})
	add(t, q, queue.Draft{Subject: "late 2", Priority: 2, At: start.Add(time.Minute)})
	add(t, q, queue.Draft{Subject: "6", Priority: 6})
	add(t, q, queue.Draft{Subject: "1", Priority: 1})
	c.add(2 * time.Minute)
	require.Equal(t, []string{"1", "late 2", "6", "late 7"}, drain(t, q), "at its time and a minute: no boost yet")

	add(t, q, queue.Draft{Subject: "late 7", Priority: 7, At: c.now.Add(time.Minute)})
	add(t, q, queue.Draft{Subject: "6", Priority: 6})
	c.add(2*time.Minute + 1)
	add(t, q, queue.Draft{Subject: "5", Priority: 5})
	require.Equal(t, []string{"late 7", "5", "6"}, drain(t, q), "two better, and ready for longer")
}

func TestFail(t *testing.T) {
	for _, tt := range []struct {
		name  string
		err   error
		waits []time.Duration // before each further attempt; then it is Failed
	}{
		{"an error", errors.New("boom"), []time.Duration{30 * time.Second, 2 * time.Minute}},
		{"words", errors.New("quota of 5 lamps, access denied"), []time.Duration{30 * time.Second, 2 * time.Minute}},
		{"permission", fmt.Errorf("shop: %w", &reason.Error{Class: reason.Permission}), nil},
		{"a wait", &reason.Error{Wait: time.Hour, Err: errors.New("later")}, []time.Duration{time.Hour, time.Hour}},
		{"401", &reason.Error{Class: reason.Permanent, Status: 401}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &clock{start}
			q := open(t, store.NewMem(), c, queue.Options{})
			id := add(t, q, queue.Draft{}).ID
			for i := range len(tt.waits) + 1 {
				j, err := q.Claim(t.Context())
				require.NoError(t, err)
				require.NoError(t, q.End(t.Context(), j, tt.err))
				if i < len(tt.waits) {
					c.add(tt.waits[i] - 1)
					_, err = q.Claim(t.Context())
					require.ErrorIs(t, err, queue.ErrEmpty)
					c.add(1)
				}
			}
			j, err := q.Get(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, queue.Failed, j.State)
			require.NotEmpty(t, j.Summary)
		})
	}
}

func TestRateLimitSpendsNoAttempt(t *testing.T) {
	c := &clock{start}
	q := open(t, store.NewMem(), c, queue.Options{})
	id := add(t, q, queue.Draft{MaxAttempts: 1}).ID
	for range 5 {
		j, err := q.Claim(t.Context())
		require.NoError(t, err)
		usage := &reason.Usage{Input: 10}
		require.NoError(t, q.End(t.Context(), j, &reason.Error{Class: reason.RateLimited, Wait: time.Hour, Usage: usage}))
		_, err = q.Claim(t.Context())
		require.ErrorIs(t, err, queue.ErrEmpty)
		c.add(time.Hour)
	}
	j, err := q.Get(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, queue.Pending, j.State)
	require.Zero(t, j.Attempts)
	require.Equal(t, 50, j.Usage.Input)
	j, err = q.Update(t.Context(), j.ID, func(j *queue.Job) error { j.Usage.Input = 0; return nil })
	require.NoError(t, err)
	require.Equal(t, 50, j.Usage.Input, "what was counted no person changes")
	j, err = q.Claim(t.Context())
	require.NoError(t, err)
	require.NoError(t, q.End(t.Context(), j, &reason.Error{Class: reason.RateLimited, Wait: time.Millisecond}))
	c.add(30 * time.Second)
	_, err = q.Claim(t.Context())
	require.ErrorIs(t, err, queue.ErrEmpty, "a server that always names a moment is not asked each moment")
	c.add(7 * 24 * time.Hour)
	j, err = q.Claim(t.Context())
	require.NoError(t, err)
	require.NoError(t, q.End(t.Context(), j, &reason.Error{Class: reason.RateLimited}))
	j, err = q.Get(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, queue.Failed, j.State, "each job has an end")
}

func TestKeyHoldsForTheRetention(t *testing.T) {
	c := &clock{start}
	q := open(t, store.NewMem(), c, queue.Options{})
	first := add(t, q, queue.Draft{Key: "mail/7", Scope: "acme/anna"})
	drain(t, q)
	again, added, err := q.Add(t.Context(), queue.Draft{Subject: "again", Key: "mail/7", Scope: "acme/anna"})
	require.NoError(t, err)
	require.False(t, added)
	require.Equal(t, first.ID, again.ID)
	require.Equal(t, queue.Completed, again.State)
	add(t, q, queue.Draft{Key: "mail/7", Scope: "acme/an"})
	c.add(91 * 24 * time.Hour)
	swept, err := q.Sweep(t.Context(), c.now.Add(-90*24*time.Hour))
	require.NoError(t, err)
	require.Equal(t, 2, swept, "the job and its cycle; what is pending stays")
	add(t, q, queue.Draft{Key: "mail/7", Scope: "acme/anna"})
}

func TestFollowupsAndCosts(t *testing.T) {
	c := &clock{start}
	q := open(t, store.NewMem(), c, queue.Options{})
	add(t, q, queue.Draft{Scope: "acme", Priority: 3, Description: "with ghp_16C7e42F292c6912E7710c838347Ae178B4a"})
	j, err := q.Claim(t.Context())
	require.NoError(t, err)
	require.NotContains(t, j.Description, "ghp_16C")
	err = q.End(t.Context(), j, nil, queue.Draft{Subject: "good"}, queue.Draft{Subject: "bad", Priority: 11})
	require.ErrorIs(t, err, store.ErrInvalid)
	j.Usage = &reason.Usage{Input: 7, Output: 3, CostUSD: new(0.5), EstimateUSD: new(0.25)}
	c.add(time.Second)
	j.Model = "m ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	require.NoError(t, q.End(t.Context(), j, nil, queue.Draft{Subject: "then"}))
	require.NoError(t, q.End(t.Context(), j, errors.New("again"), queue.Draft{Subject: "never"}), "a second End does nothing")
	require.ErrorIs(t, q.Heartbeat(t.Context(), j), queue.ErrLost)

	follow, err := q.Claim(t.Context())
	require.NoError(t, err)
	require.Equal(t, []any{"then", j.ID, "job:" + j.ID, store.Scope("acme")},
		[]any{follow.Subject, follow.Parent, follow.Source, follow.Scope})
	var cycles []queue.Job
	for cycle, err := range q.Cycles(t.Context(), "acme", start) {
		require.NoError(t, err)
		cycles = append(cycles, cycle)
	}
	require.Len(t, cycles, 1)
	require.NotContains(t, cycles[0].Model, "ghp_16C")
	require.Equal(t, []any{0.5, 0.25, time.Second},
		[]any{*cycles[0].Usage.CostUSD, *cycles[0].Usage.EstimateUSD, cycles[0].Ended.Sub(cycles[0].Started)})
}

func TestUpdate(t *testing.T) {
	c := &clock{start}
	q := open(t, store.NewMem(), c, queue.Options{})
	id := add(t, q, queue.Draft{Priority: 9}).ID
	held, err := q.Claim(t.Context())
	require.NoError(t, err)
	set := func(f func(j *queue.Job)) (queue.Job, error) {
		return q.Update(t.Context(), id, func(j *queue.Job) error { f(j); return nil })
	}
	_, err = set(func(j *queue.Job) { j.State, j.Summary = queue.Parked, "later" })
	require.NoError(t, err)
	require.ErrorIs(t, q.End(t.Context(), held, nil), queue.ErrLost, "it was taken from its holder")
	require.Empty(t, drain(t, q))
	j, err := set(func(j *queue.Job) { j.State, j.Priority, j.ID, j.Token = queue.Pending, 1, "x", 0 })
	require.NoError(t, err)
	require.Equal(t, []any{id, 1, 0}, []any{j.ID, j.Priority, j.Attempts})
	_, err = set(func(j *queue.Job) { j.At = start.Add(time.Hour) })
	require.NoError(t, err)
	require.Empty(t, drain(t, q))
	c.add(time.Hour)
	require.Len(t, drain(t, q), 1)
	_, err = set(func(j *queue.Job) { j.State = queue.Active })
	require.ErrorIs(t, err, store.ErrInvalid)
	_, err = q.Update(t.Context(), "none", func(*queue.Job) error { return nil })
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = set(func(*queue.Job) { panic("host") })
	require.ErrorContains(t, err, "host")
}

// What was cleaned of a secret, and what is cleaned of one today, holds no change up.
func TestUpdateKeepsPlaceholders(t *testing.T) {
	clean, err := redact.New(nil).With(map[string]string{"DB": "Tr0ub4dor&3"})
	require.NoError(t, err)
	st, c := store.NewMem(), &clock{start}
	q := open(t, st, c, queue.Options{Sanitizer: clean})
	j := add(t, q, queue.Draft{Subject: "use Tr0ub4dor&3", Input: json.RawMessage(`{"dsn":"svc:Tr0ub4dor&3@db","eu":"northern-light"}`)})
	held, err := q.Claim(t.Context())
	require.NoError(t, err)
	require.NoError(t, q.End(t.Context(), held, &reason.Error{Class: reason.Permission}))
	clean, err = clean.With(map[string]string{"REGION": "northern-light"})
	require.NoError(t, err)
	for _, q := range []*queue.Queue{q, open(t, st, c, queue.Options{Sanitizer: clean})} {
		j, err = q.Update(t.Context(), j.ID, func(j *queue.Job) error { j.State, j.Priority = queue.Pending, 1; return nil })
		require.NoError(t, err)
		require.Equal(t, "use [secret DB]", j.Subject)
		require.Contains(t, string(j.Input), "svc:[secret DB]@db")
	}
	_, err = q.Update(t.Context(), j.ID, func(j *queue.Job) error { j.Input = nil; return nil })
	require.ErrorIs(t, err, store.ErrInvalid)
}

// Each round of a job has an Input of its own, and cycles know when they began.
func TestInputOfTheNextRound(t *testing.T) {
	c := &clock{start}
	q := open(t, store.NewMem(), c, queue.Options{})
	id := add(t, q, queue.Draft{At: start, Cron: "@hourly"}).ID
	change := func(input string) error {
		_, err := q.Update(t.Context(), id, func(j *queue.Job) error { j.Input = json.RawMessage(input); return nil })
		return err
	}
	held, err := q.Claim(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, change("1"), store.ErrInvalid)
	require.NoError(t, q.End(t.Context(), held, nil))
	require.NoError(t, change("2"))
	for cycle, err := range q.Cycles(t.Context(), "", time.Time{}) {
		require.NoError(t, err)
		require.Equal(t, start, cycle.Started)
	}
	_, err = q.Update(t.Context(), id, func(j *queue.Job) error { j.State = queue.Completed; return nil })
	require.NoError(t, err)
	_, err = q.Update(t.Context(), id, func(j *queue.Job) error { j.State = queue.Pending; return nil })
	require.NoError(t, err)
	require.NoError(t, change("3"))
}

// Jobs are in the scope that the Queue is of, unless they name one.
func TestScopeOfDrafts(t *testing.T) {
	q := open(t, store.Sub(store.NewMem(), "t/acme/"), &clock{start}, queue.Options{Scope: "acme/anna"})
	require.Equal(t, store.Scope("acme/anna"), add(t, q, queue.Draft{}).Scope)
	require.Equal(t, store.Scope("acme/bob"), add(t, q, queue.Draft{Scope: "acme/bob"}).Scope)
	sensed, err := q.Sense(t.Context(), "s", time.Hour, func(context.Context) ([]queue.Draft, error) {
		return []queue.Draft{{Subject: "s"}}, nil
	})
	require.NoError(t, err)
	require.Equal(t, store.Scope("acme/anna"), sensed[0].Scope)
	for _, other := range []store.Scope{"beta", "acme2/anna", "_"} {
		_, _, err = q.Add(t.Context(), queue.Draft{Subject: "s", Scope: other})
		require.ErrorIs(t, err, store.ErrInvalid, "where nobody of %s looks for it", other)
	}
	j, err := q.Claim(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, q.End(t.Context(), j, nil, queue.Draft{Subject: "s", Scope: "beta"}), store.ErrInvalid)
}

// A job that was set aside is due at once when somebody, in another process, makes it Pending; but not before
// a time that it was given.
func TestMadePending(t *testing.T) {
	for _, aside := range []queue.State{queue.Blocked, queue.Parked} {
		c, st := &clock{start}, store.NewMem()
		here, there := open(t, st, c, queue.Options{}), open(t, st, c, queue.Options{})
		id := add(t, here, queue.Draft{}).ID
		set := func(at time.Time) {
			_, err := there.Update(t.Context(), id, func(j *queue.Job) error {
				if j.State = queue.Pending; !at.IsZero() {
					j.At = at
				}
				return nil
			})
			require.NoError(t, err)
		}
		for range 2 {
			j, err := here.Claim(t.Context())
			require.NoError(t, err, aside)
			j.State = aside
			require.NoError(t, here.End(t.Context(), j, nil))
			set(time.Time{})
		}
		j, err := here.Claim(t.Context())
		require.NoError(t, err)
		j.State = aside
		require.NoError(t, here.End(t.Context(), j, nil))
		set(c.now.Add(time.Hour))
		_, err = here.Claim(t.Context())
		require.ErrorIs(t, err, queue.ErrEmpty)
	}
}

func TestCron(t *testing.T) {
	for _, tt := range []struct{ expr, after, want string }{
		{"0 0 1 * 1", "2026-03-02T12:00:00Z", "2026-03-09T00:00:00Z"}, // a Monday
		{"0 0 1 * 1", "2026-03-30T12:00:00Z", "2026-04-01T00:00:00Z"}, // the 1st, a Wednesday
		{"0 0 13 * 5", "2026-03-06T12:00:00Z", "2026-03-13T00:00:00Z"},
		{"0 0 1 * *", "2026-03-02T12:00:00Z", "2026-04-01T00:00:00Z"},
		{"0 0 * * 7", "2026-03-02T12:00:00Z", "2026-03-08T00:00:00Z"},   // 7 is Sunday
		{"0 0 */2 * 1", "2026-03-02T12:00:00Z", "2026-03-09T00:00:00Z"}, // a field with * restricts nothing by itself
		{"30 4 1,15 * fri", "2026-03-02T12:00:00Z", "2026-03-06T04:30:00Z"},
		{"*/15 9-17 * * mon-fri", "2026-03-06T17:50:00Z", "2026-03-09T09:00:00Z"},
		{"0 0 29 2 *", "2026-03-02T12:00:00Z", "2028-02-29T00:00:00Z"},
		{"CRON_TZ=Europe/Berlin 0 6 * * *", "2026-03-02T12:00:00Z", "2026-03-03T05:00:00Z"},
		{"CRON_TZ=Europe/Berlin 0 6 1 * 1", "2026-03-02T12:00:00Z", "2026-03-09T05:00:00Z"},
		{"@daily", "2026-03-02T12:00:00Z", "2026-03-03T00:00:00Z"},
		{"0 0 31 2 *", "2026-03-02T12:00:00Z", ""},
		{"60 0 * * *", "2026-03-02T12:00:00Z", ""},
		{"0 0 * *", "2026-03-02T12:00:00Z", ""},
		{"@every 90m", "2026-03-02T12:00:00Z", "2026-03-02T13:30:00Z"},
		{"@every x", "2026-03-02T12:00:00Z", ""},
		{"CRON_TZ=Nowhere/City 0 0 * * *", "2026-03-02T12:00:00Z", ""},
	} {
		after, err := time.Parse(time.RFC3339, tt.after)
		require.NoError(t, err)
		q := open(t, store.NewMem(), &clock{after}, queue.Options{})
		j, _, err := q.Add(t.Context(), queue.Draft{Subject: "s", Cron: tt.expr})
		if tt.want == "" {
			require.ErrorIs(t, err, store.ErrInvalid, tt.expr)
			continue
		}
		require.NoError(t, err, tt.expr)
		require.Equal(t, tt.want, j.At.Format(time.RFC3339), tt.expr)
	}
}

// A machine may have no zones, as an empty container: the next time of a job that is kept with one would not
// be known there, and the job would end. So the program has them.
func TestZonesAreInTheProgram(t *testing.T) {
	deps, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	require.Contains(t, strings.Fields(string(deps)), "time/tzdata")
}

// A time that a handler names may be any; a job that it gives back for now lets others have their turn.
func TestFarTimes(t *testing.T) {
	for year, due := range map[int]int{-20_000: 1, 1: 1, 2250: 0, 2600: 0, 9999: 0, 20_000: 0} {
		c := &clock{start}
		q := open(t, store.NewMem(), c, queue.Options{})
		add(t, q, queue.Draft{})
		j, err := q.Claim(t.Context())
		require.NoError(t, err)
		j.State, j.At = queue.Pending, time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC)
		require.NoError(t, q.End(t.Context(), j, nil))
		require.Empty(t, drain(t, q), year)
		c.add(time.Second)
		require.Len(t, drain(t, q), due, year)
	}
}

func TestLastLeaseRunsOut(t *testing.T) {
	c := &clock{start}
	q := open(t, store.NewMem(), c, queue.Options{})
	add(t, q, queue.Draft{MaxAttempts: 1})
	j, err := q.Claim(t.Context())
	require.NoError(t, err)
	c.add(time.Minute)
	require.Empty(t, drain(t, q))
	require.ErrorIs(t, q.End(t.Context(), j, nil, queue.Draft{Subject: "then"}), queue.ErrLost)
	j, err = q.Get(t.Context(), j.ID)
	require.NoError(t, err)
	require.Equal(t, queue.Failed, j.State)
}

// The steps of a job go with it, and those of a round when another begins.
func TestSweepSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMem()
		q, err := queue.Open(t.Context(), store.NewGroup(mem), nil)
		require.NoError(t, err)
		add(t, q, queue.Draft{Subject: "once"})
		add(t, q, queue.Draft{Subject: "again", Cron: "@every 1h"})
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(150*time.Minute, stop)
		require.NoError(t, q.Dispatch(ctx, 1, func(ctx context.Context, j *queue.Job) ([]queue.Draft, error) {
			_, err := act.Step(ctx, "step", 1, func(context.Context) (int, error) { return 1, nil })
			return nil, err
		}))
		keys := func() (n int) {
			_, err := q.Sweep(t.Context(), time.Now().Add(-24*time.Hour))
			require.NoError(t, err)
			for _, err := range mem.Scan(t.Context(), store.Range{Prefix: "s/_//job/"}) {
				require.NoError(t, err)
				n++
			}
			return n
		}
		require.Equal(t, 3, keys(), "two jobs, and the step of the one that has ended")
		time.Sleep(25 * time.Hour)
		require.Equal(t, 1, keys())
	})
}

func TestComesAgain(t *testing.T) {
	c := &clock{start}
	q := open(t, store.NewMem(), c, queue.Options{})
	id := add(t, q, queue.Draft{Key: "k", At: start, Cron: "@hourly"}).ID
	require.Len(t, drain(t, q), 1)
	c.add(150 * time.Minute)
	require.Len(t, drain(t, q), 1, "times that passed are left out")
	j, err := q.Get(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, []any{queue.Pending, start.Add(3 * time.Hour)}, []any{j.State, j.At})
	c.add(time.Hour)
	held, err := q.Claim(t.Context())
	require.NoError(t, err)
	require.NoError(t, q.End(t.Context(), held, &reason.Error{Class: reason.Permission}))
	c.add(24 * time.Hour)
	require.Empty(t, drain(t, q), "a person has to act")

	id = add(t, q, queue.Draft{Cron: "0 6 * * *"}).ID
	for _, cron := range []string{"0 7 * * *", ""} { // without a schedule it comes once more, when it would have come
		j, err = q.Update(t.Context(), id, func(j *queue.Job) error { j.Cron = cron; return nil })
		require.NoError(t, err)
		require.Equal(t, 7, j.At.Hour())
	}
}

func TestInvalid(t *testing.T) {
	q := open(t, store.NewMem(), &clock{start}, queue.Options{})
	for _, d := range []queue.Draft{
		{}, {Subject: " "}, {Subject: "s", Priority: 11}, {Subject: "s", Priority: -1}, {Subject: "s", Input: json.RawMessage("{")},
		{Subject: strings.Repeat("s", 2000)}, {Subject: "s", Scope: "a//b"}, {Subject: "s", Key: "ghp_16C7e42F292c6912E7710c838347Ae178B4a"},
	} {
		_, _, err := q.Add(t.Context(), d)
		require.ErrorIs(t, err, store.ErrInvalid, "%+v", d)
	}
	j, _, err := q.Add(t.Context(), queue.Draft{Subject: "s", Input: json.RawMessage("null")})
	require.NoError(t, err)
	require.Nil(t, j.Input, "as clients write none")
}

// Where a lease is renewed and the attempt ended in one commit, both have its revision, and the job has ended.
func TestHeartbeatAndEndInOneCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := store.NewGroup(store.NewMem())
		q, err := queue.Open(t.Context(), g, nil)
		require.NoError(t, err)
		add(t, q, queue.Draft{Subject: "s"})
		j, err := q.Claim(t.Context())
		require.NoError(t, err)
		gate := make(chan struct{}) // the commit before, which both wait for
		var wg sync.WaitGroup
		for _, update := range []func() error{
			func() error { return g.Update(t.Context(), func(*store.Batch) error { <-gate; return nil }) },
			func() error { return q.Heartbeat(t.Context(), j) },
			func() error { return q.End(t.Context(), j, nil) },
		} {
			wg.Go(func() { assert.NoError(t, update()) })
			synctest.Wait()
		}
		close(gate)
		wg.Wait()
		time.Sleep(time.Hour)
		_, err = q.Claim(t.Context())
		require.ErrorIs(t, err, queue.ErrEmpty)
	})
}

// polled counts how often what others have changed is read.
type polled struct {
	store.Changer
	reads atomic.Int64
	away  atomic.Bool
}

func (p *polled) Changes(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
	p.reads.Add(1)
	if p.away.Load() {
		return func(yield func(store.Entry, error) bool) { yield(store.Entry{}, errors.New("no connection")) }
	}
	return p.Changer.Changes(ctx, prefix, after)
}

// However long the store is away, Dispatch says so once, and again the next time.
func TestDispatchInOutages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		st := &polled{Changer: store.NewMem()}
		q, err := queue.Open(t.Context(), store.NewGroup(st), &queue.Options{
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- q.Dispatch(ctx, 1, func(context.Context, *queue.Job) ([]queue.Draft, error) { return nil, nil })
		}()
		for range 2 {
			time.Sleep(time.Minute)
			add(t, q, queue.Draft{At: time.Now().Add(time.Second)}) // due in the outage
			st.away.Store(true)
			time.Sleep(time.Minute)
			st.away.Store(false)
		}
		stop()
		require.NoError(t, <-ended)
		require.Equal(t, 2, strings.Count(log.String(), "no connection"), log.String())
	})
}

// While nothing comes Dispatch looks seldom. A job of its own process is begun at once, and when it is due; that of
// another one within 2 s.
func TestIdleDispatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &polled{Changer: store.NewMem()}
		var queues []*queue.Queue
		for range 2 {
			q, err := queue.Open(t.Context(), store.NewGroup(st), nil)
			require.NoError(t, err)
			queues = append(queues, q)
		}
		ctx, stop := context.WithCancel(t.Context())
		begun := make(chan time.Time, 1)
		var all sync.WaitGroup
		all.Go(func() {
			assert.NoError(t, queues[0].Dispatch(ctx, 4, func(context.Context, *queue.Job) ([]queue.Draft, error) {
				begun <- time.Now()
				return nil, nil
			}))
		})
		for _, c := range []struct {
			by       int
			in, most time.Duration
		}{{by: 0}, {by: 0, in: 1500 * time.Millisecond}, {by: 1, most: 2 * time.Second}} {
			time.Sleep(10 * time.Second)
			before := st.reads.Load()
			time.Sleep(time.Minute)
			require.LessOrEqual(t, st.reads.Load()-before, int64(31))
			at := time.Now().Add(c.in)
			add(t, queues[c.by], queue.Draft{At: at})
			took := (<-begun).Sub(at)
			require.True(t, 0 <= took && took <= c.most, "%v", took)
		}
		stop()
		all.Wait()
	})
}

func TestDispatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, err := queue.Open(t.Context(), store.NewGroup(store.NewMem()), nil)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		calls, paid := map[string]int{}, 0
		handler := func(ctx context.Context, j *queue.Job) ([]queue.Draft, error) {
			mu.Lock()
			calls[j.Subject]++
			n := calls[j.Subject]
			mu.Unlock()
			switch j.Subject {
			case "long": // longer than its lease
				time.Sleep(5 * time.Minute)
			case "panic":
				panic("handler")
			case "goexit": // as t.FailNow does
				runtime.Goexit()
			case "hang":
				<-ctx.Done()
				return nil, ctx.Err()
			case "step":
				if _, err := act.Step(ctx, "pay", 1, func(context.Context) (int, error) { paid++; return 1, nil }); err != nil {
					return nil, err
				}
				if n == 1 {
					return nil, errors.New("after the step")
				}
			case "follow":
				return []queue.Draft{{Subject: "bad", Priority: 99}}, nil
			}
			j.Summary = "ok"
			return nil, nil
		}
		done := make(chan error)
		go func() { done <- q.Dispatch(ctx, 4, handler) }()
		ids := map[string]string{}
		for _, s := range []string{"long", "panic", "goexit", "step", "follow", "plain"} {
			ids[s] = add(t, q, queue.Draft{Subject: s}).ID
		}
		time.Sleep(time.Hour)
		ids["hang"] = add(t, q, queue.Draft{Subject: "hang"}).ID
		time.Sleep(time.Second)
		stop()
		require.NoError(t, <-done)
		want := map[string]queue.State{"long": queue.Completed, "panic": queue.Failed, "goexit": queue.Failed, "step": queue.Completed,
			"follow": queue.Blocked, "plain": queue.Completed, "hang": queue.Pending}
		for s, id := range ids {
			j, err := q.Get(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, want[s], j.State, "%s: %s", s, j.Summary)
			require.True(t, s != "hang" || j.Attempts == 0, "an attempt that was cut off is not spent")
		}
		require.Equal(t, []int{1, 3, 3, 2, 1}, []int{calls["long"], calls["panic"], calls["goexit"], calls["step"], paid})
	})
}

// A store that answers no more takes the job from its holder before another may have it.
func TestLeaseThatCannotBeRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &stuck{Changer: store.NewMem()}
		q, err := queue.Open(t.Context(), store.NewGroup(st), nil)
		require.NoError(t, err)
		add(t, q, queue.Draft{})
		ctx, stop := context.WithCancel(t.Context())
		began := time.Now()
		var lost time.Duration
		done := make(chan error)
		go func() {
			done <- q.Dispatch(ctx, 1, func(ctx context.Context, j *queue.Job) ([]queue.Draft, error) {
				st.set(errors.New("no connection"))
				<-ctx.Done()
				lost = time.Since(began)
				require.ErrorIs(t, context.Cause(ctx), queue.ErrLost)
				stop()
				return nil, ctx.Err()
			})
		}()
		require.NoError(t, <-done)
		require.Equal(t, 20*time.Second, lost)
	})
}

// A commit whose outcome is unknown is made again until it is known; what was done is not done twice.
func TestUnknownOutcome(t *testing.T) {
	for _, kept := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			st := &stuck{Changer: store.NewMem(), kept: kept}
			q, err := queue.Open(t.Context(), store.NewGroup(st), nil)
			require.NoError(t, err)
			id, ran := add(t, q, queue.Draft{}).ID, 0
			ctx, stop := context.WithCancel(t.Context())
			time.AfterFunc(time.Minute, stop)
			require.NoError(t, q.Dispatch(ctx, 1, func(_ context.Context, j *queue.Job) ([]queue.Draft, error) {
				if ran++; j.ID != id {
					return nil, nil
				}
				st.set(errors.New("the connection broke"))
				time.AfterFunc(5*time.Second, func() { st.set(nil) })
				return []queue.Draft{{Subject: "then"}}, nil
			}))
			require.Equal(t, 2, ran, "kept: %v", kept)
		})
	}
}

// stuck is a store whose commits can be made to fail, whether they were kept or not, or to come after somebody else's.
type stuck struct {
	store.Changer
	kept   bool
	mu     sync.Mutex
	err    error
	before func()

	commits int
}

func (s *stuck) set(err error) { s.mu.Lock(); s.err = err; s.mu.Unlock() }

func (s *stuck) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	s.mu.Lock()
	err, before := s.err, s.before
	s.before = nil
	s.commits++
	s.mu.Unlock()
	if before != nil {
		before()
	}
	if err != nil && s.kept {
		_, _ = s.Changer.Commit(ctx, ops...)
	}
	if err != nil {
		return 0, err
	}
	return s.Changer.Commit(ctx, ops...)
}

// Two processes that claim from the same jobs at one time seldom meet, and leave none.
func TestClaimsApart(t *testing.T) {
	c, st := &clock{start}, &stuck{Changer: store.NewMem()}
	slow, fast := open(t, st, c, queue.Options{}), open(t, st.Changer, c, queue.Options{})
	for range 200 {
		add(t, slow, queue.Draft{})
	}
	urgent, claims := add(t, slow, queue.Draft{Priority: 1}).ID, map[string]int{}
	claim := func(q *queue.Queue) {
		j, err := q.Claim(t.Context())
		require.NoError(t, err)
		claims[j.ID]++
	}
	commits := st.commits
	claim(slow)
	require.Equal(t, 1, claims[urgent], "what is urgent comes first")
	for range 100 {
		st.before = func() { claim(fast) } // between the decision and the commit
		claim(slow)
	}
	require.Len(t, claims, 201)
	require.Less(t, st.commits-commits, 101+25, "each more is a conflict")
	for _, q := range []*queue.Queue{slow, fast} {
		_, err := q.Claim(t.Context())
		require.ErrorIs(t, err, queue.ErrEmpty)
	}
}

// Between the decision of one process and its commit another is faster.
func TestFasterProcess(t *testing.T) {
	c, st := &clock{start}, &stuck{Changer: store.NewMem()}
	slow, fast := open(t, st, c, queue.Options{}), open(t, st.Changer, c, queue.Options{})
	one, two := add(t, slow, queue.Draft{Subject: "one"}), add(t, slow, queue.Draft{Subject: "two"})
	st.before = func() {
		j, err := fast.Claim(t.Context())
		require.NoError(t, err)
		require.Equal(t, one.ID, j.ID)
	}
	j, err := slow.Claim(t.Context())
	require.NoError(t, err)
	require.Equal(t, two.ID, j.ID)

	st.before = func() {
		_, err := fast.Update(t.Context(), two.ID, func(j *queue.Job) error { j.State = queue.Failed; return nil })
		require.NoError(t, err)
	}
	require.ErrorIs(t, slow.End(t.Context(), j, nil), queue.ErrLost)

	st.before = func() { _, _, err = fast.Add(t.Context(), queue.Draft{Subject: "fast", Key: "k"}) }
	got, added, err := slow.Add(t.Context(), queue.Draft{Subject: "slow", Key: "k"})
	require.NoError(t, err)
	require.False(t, added)
	require.Equal(t, "fast", got.Subject)
	add(t, slow, queue.Draft{Scope: "of/one"})
	for j, err := range fast.List(t.Context(), "of") {
		require.NoError(t, err)
		_, err = slow.Update(t.Context(), j.ID, func(j *queue.Job) error { j.State = queue.Parked; return nil })
		require.NoError(t, err)
		got = j
	}
	require.Equal(t, store.Scope("of/one"), got.Scope, "as it is listed by another process")

	c.add(time.Minute) // the lease of "one" has run out for both, and its holder is heard of at the last moment
	st.before = func() { _, err = fast.Claim(t.Context()) }
	_, claimed := slow.Claim(t.Context())
	require.NoError(t, claimed)
	require.NoError(t, err)
	_, err = slow.Claim(t.Context())
	require.ErrorIs(t, err, queue.ErrEmpty, "one and k have each a holder")
}

func TestSense(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMem()
		q, err := queue.Open(t.Context(), store.NewGroup(mem), nil)
		require.NoError(t, err)
		other, err := queue.Open(t.Context(), store.NewGroup(mem), nil)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		reads, ran := 0, 0
		inbox := func(context.Context) ([]queue.Draft, error) {
			reads++
			return []queue.Draft{{Subject: "mail", Key: fmt.Sprint("mail/", reads/2), Priority: 3 + reads/2%2*2}}, nil
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			for ; ctx.Err() == nil; time.Sleep(time.Minute) {
				for _, q := range []*queue.Queue{q, other} {
					_, err := q.Sense(ctx, "inbox", 10*time.Minute, inbox)
					require.NoError(t, err)
				}
			}
		})
		_, err = q.Sense(ctx, "broken", time.Minute, func(context.Context) ([]queue.Draft, error) { panic("sensor") })
		require.ErrorContains(t, err, "panic: sensor")
		wg.Go(func() {
			_ = q.Dispatch(ctx, 1, func(_ context.Context, j *queue.Job) ([]queue.Draft, error) {
				ran++
				return nil, nil
			})
		})
		time.Sleep(time.Hour - time.Second)
		stop()
		wg.Wait()
		require.Equal(t, 6, reads, "two processes, one cadence")
		require.Equal(t, 4, ran, "jobs: the inbox had the same mail twice")
	})
}

// Two processes share a store: each job is done once, by one of them.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, n := store.NewMem(), 300
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		done := map[string]int{}
		var wg sync.WaitGroup
		for range 2 {
			q, err := queue.Open(t.Context(), store.NewGroup(mem), nil)
			require.NoError(t, err)
			wg.Go(func() {
				assert.NoError(t, q.Dispatch(ctx, 8, func(_ context.Context, j *queue.Job) ([]queue.Draft, error) {
					mu.Lock()
					done[j.ID]++
					mu.Unlock()
					return nil, nil
				}))
			})
			wg.Go(func() {
				for range n {
					_, _, err := q.Add(t.Context(), queue.Draft{Subject: "s"})
					assert.NoError(t, err)
				}
			})
		}
		time.Sleep(time.Minute)
		stop()
		wg.Wait()
		require.Equal(t, 2*n, len(done))
		for id, times := range done {
			require.Equal(t, 1, times, id)
		}
	})
}

// A job that was erased below the Queue is looked for once, also on a store that tells of no changes.
func TestErased(t *testing.T) {
	mem := store.NewMem()
	st := &counted{Store: mem}
	q := open(t, st, &clock{start}, queue.Options{})
	key := "s/_//job/" + add(t, q, queue.Draft{}).ID
	_, err := mem.Commit(t.Context(), store.Op{Key: key, Delete: true})
	require.NoError(t, err)
	require.Empty(t, drain(t, q))
	require.Positive(t, st.gets)
	st.gets = 0
	require.Empty(t, drain(t, q))
	require.Zero(t, st.gets)
}

// counted is a store that counts what is read.
type counted struct {
	store.Store
	gets int
}

func (c *counted) Get(ctx context.Context, key string) (store.Entry, error) {
	c.gets++
	return c.Store.Get(ctx, key)
}

// The cases of arc-starter for the order of its queue: jobs by id, with a priority and how many seconds ago they were due.
func TestOrderOfStarter(t *testing.T) {
	type task struct{ priority, due int } // 0: no time was given
	for _, tt := range []struct {
		tasks []task
		want  []string
	}{
		{[]task{{5, 0}, {1, 0}, {5, 0}, {10, 0}}, []string{"2", "1", "3", "4"}},
		{[]task{{5, -3600}, {5, 3600}, {5, 0}}, []string{"2", "3"}},
		{[]task{{3, 0}, {5, 3600}}, []string{"1", "2"}},
		{[]task{{5, 3600}, {3, 0}}, []string{"1", "2"}},
		{[]task{{4, 0}, {5, 30}}, []string{"1", "2"}},
		{[]task{{4, 0}, {5, 61}}, []string{"2", "1"}},
	} {
		q := open(t, store.NewMem(), &clock{start}, queue.Options{})
		for i, of := range tt.tasks {
			d := queue.Draft{Subject: fmt.Sprint(i + 1), Priority: of.priority}
			if of.due != 0 {
				d.At = start.Add(-time.Duration(of.due) * time.Second)
			}
			add(t, q, d)
		}
		require.Equal(t, tt.want, drain(t, q), "%+v", tt)
	}
	q := open(t, store.NewMem(), &clock{start}, queue.Options{})
	j := add(t, q, queue.Draft{})
	require.Equal(t, []any{5, queue.Pending, 0, 3}, []any{j.Priority, j.State, j.Attempts, j.MaxAttempts}, "the defaults")
	for _, state := range []queue.State{queue.Completed, queue.Failed, queue.Blocked, queue.Parked} {
		_, err := q.Update(t.Context(), j.ID, func(j *queue.Job) error { j.State = state; return nil })
		require.NoError(t, err)
		require.Empty(t, drain(t, q), "only what is pending")
	}
}
