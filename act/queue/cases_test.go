package queue_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/store"
)

var epoch = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// clock is one that tests set.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func open(t *testing.T, c *clock, o queue.Options) *queue.Queue {
	t.Helper()
	o.Now, o.Seed = c.Now, 1
	q, err := queue.Open(t.Context(), store.NewMem(), &o)
	require.NoError(t, err)
	return q
}

func enqueue(t *testing.T, q *queue.Queue, d queue.Draft) queue.Job {
	t.Helper()
	d.Subject = cmp.Or(d.Subject, "job")
	j, added, err := q.Enqueue(t.Context(), d)
	require.NoError(t, err)
	require.True(t, added)
	return j
}

func claim(t *testing.T, q *queue.Queue) *queue.Lease {
	t.Helper()
	l, err := q.Claim(t.Context(), 0)
	require.NoError(t, err)
	return l
}

func finish(t *testing.T, l *queue.Lease, r queue.Result, why error) queue.Job {
	t.Helper()
	j, err := l.End(t.Context(), r, why)
	require.NoError(t, err)
	return j
}

func cases[T any](t *testing.T, file string) (all []T) {
	raw, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	var f struct{ Cases []T }
	require.NoError(t, json.Unmarshal(raw, &f))
	require.NotEmpty(t, f.Cases)
	return f.Cases
}

// There a larger number is more urgent, and two are worked on at a time.
func TestDispatchQueueCases(t *testing.T) {
	for _, c := range cases[struct {
		Input struct {
			WIP     int
			Actions [][2]any
		}
		Want struct {
			Dispatched []bool
			Order      []string `json:"pending_order"`
			Next       string   `json:"next_after_complete_a"`
		}
	}](t, "dispatch-queue.json") {
		q := open(t, &clock{epoch}, queue.Options{})
		var live []*queue.Lease
		for i, a := range c.Input.Actions {
			enqueue(t, q, queue.Draft{Subject: a[0].(string), Priority: 10 - int(a[1].(float64))})
			free := len(live) < c.Input.WIP
			require.Equal(t, c.Want.Dispatched[i], free)
			if free {
				live = append(live, claim(t, q))
			}
		}
		finish(t, live[0], queue.Result{}, nil)
		var order []string
		for range c.Want.Order {
			order = append(order, claim(t, q).Job.Subject)
		}
		require.Equal(t, c.Want.Order, order)
		require.Equal(t, c.Want.Next, order[0])
	}
}

func TestQueueOrderCases(t *testing.T) {
	for _, c := range cases[struct {
		Name  string
		Input struct {
			Tasks []struct {
				ID, Priority int
				Offset       *int `json:"scheduled_offset_s"`
				Status       queue.State
			}
		}
		Want struct {
			Order []int `json:"order_with_boost"`
		}
	}](t, "queue-order.json") {
		t.Run(c.Name, func(t *testing.T) {
			q := open(t, &clock{epoch}, queue.Options{})
			for _, task := range c.Input.Tasks {
				d := queue.Draft{Subject: fmt.Sprint(task.ID), Priority: task.Priority}
				if task.Offset != nil {
					d.At = epoch.Add(time.Duration(*task.Offset) * time.Second)
				}
				enqueue(t, q, d)
				if task.Status != queue.Pending {
					l := claim(t, q)
					if task.Status != queue.Active {
						finish(t, l, queue.Result{State: task.Status}, nil)
					}
				}
			}
			order := []int{}
			for range c.Want.Order {
				id := 0
				_, err := fmt.Sscan(claim(t, q).Job.Subject, &id)
				require.NoError(t, err)
				order = append(order, id)
			}
			require.Equal(t, c.Want.Order, order)
			_, err := q.Claim(t.Context(), 0)
			require.ErrorIs(t, err, queue.ErrEmpty)
		})
	}
}

// The boost lifts what is late to priority 1, and none above it: what is urgent is not passed by what came later.
func TestBoostEndsAtTheFirstPriority(t *testing.T) {
	for _, o := range []queue.Options{{}, {Ageing: 24 * time.Hour}} {
		c := &clock{epoch}
		q := open(t, c, o)
		for _, d := range []queue.Draft{
			{Subject: "urgent", Priority: 1},
			{Subject: "late 4", Priority: 4, At: epoch},
			{Subject: "late 3", Priority: 3, At: epoch},
			{Subject: "late 2", Priority: 2, At: epoch},
			{Subject: "late 1", Priority: 1, At: epoch},
			{Subject: "4", Priority: 4},
		} {
			enqueue(t, q, d)
			c.now = c.now.Add(time.Millisecond)
		}
		c.now = epoch.Add(time.Hour)
		var order []string
		for range 6 {
			order = append(order, claim(t, q).Job.Subject)
		}
		require.Equal(t, []string{"urgent", "late 3", "late 2", "late 1", "late 4", "4"}, order)
	}
}

// More than a minute late is late.
func TestBoostBeginsAfterAMinute(t *testing.T) {
	for by, first := range map[time.Duration]string{time.Minute: "3", time.Minute + 1: "late 4"} {
		c := &clock{epoch}
		q := open(t, c, queue.Options{})
		enqueue(t, q, queue.Draft{Subject: "late 4", Priority: 4, At: epoch})
		enqueue(t, q, queue.Draft{Subject: "3", Priority: 3})
		c.now = epoch.Add(by)
		require.Equal(t, first, claim(t, q).Job.Subject)
	}
}

// What a queue has of loops is its breaker: all attempts are one action.
func TestLoopCooldownCases(t *testing.T) {
	for _, c := range cases[struct {
		Name  string
		Input struct {
			Config *struct{ MaxAttempts, WindowMinutes int }
			Rest   int64 `json:"cooldown_ms"`
			At     int64 `json:"at_ms"`
			Query  []string
			// All records are of goal g and action a.
			Records []struct {
				OK bool
				At int64 `json:"at_ms"`
			}
		}
		Want struct {
			Error       string
			Oscillating bool
			OnCooldown  bool `json:"on_cooldown"`
		}
	}](t, "loop-cooldown.json") {
		t.Run(c.Name, func(t *testing.T) {
			ms := func(n int64) time.Time { return epoch.Add(time.Duration(n) * time.Millisecond) }
			failed := func(at int64) queue.Cycle { return queue.Cycle{Started: ms(at), Error: "it failed"} }
			if c.Input.Config == nil {
				g, err := queue.Breaker(1, time.Minute, time.Duration(c.Input.Rest)*time.Millisecond)
				require.NoError(t, err)
				g.Ended(failed(0))
				require.Equal(t, c.Want.OnCooldown, g.Admit(ms(c.Input.At)) == 0)
				return
			}
			g, err := queue.Breaker(c.Input.Config.MaxAttempts, time.Duration(c.Input.Config.WindowMinutes)*time.Minute, time.Hour)
			require.Equal(t, c.Want.Error != "", err != nil)
			if err != nil {
				return
			}
			for _, r := range c.Input.Records {
				if c.Input.Query[0] == "g" && c.Input.Query[1] == "a" { // others are other gates'
					g.Ended(failed(r.At))
				}
			}
			require.Equal(t, c.Want.Oscillating, g.Admit(ms(c.Input.At)) == 0)
		})
	}
}

// Figures of a queue that came before: attempts, requeueing, the budget of a day, models by
// priority, and what a job is by default.
func TestArcStarterCases(t *testing.T) {
	for _, c := range cases[struct {
		Name  string
		Input struct {
			Retries  *int `json:"max_retries"`
			Error    string
			Priority int
			Today    *float64 `json:"today_cost_usd"`
			Status   queue.State
			Rollback bool
			Tasks    []struct {
				Source string
				Status queue.State
				Age    int `json:"age_min"`
			}
			Source string
			Within *int `json:"within_min"`
		}
		Want struct {
			Attempts *int
			Trace    []queue.State
			Model    string
			Dispatch bool
			Priority int
			Retries  int         `json:"max_retries_seed"`
			Count    *int        `json:"attempt_count"`
			Better   queue.State `json:"better"`
			Open     bool        `json:"exists_pending_or_active"`
		}
	}](t, "arc-starter.json") {
		t.Run(c.Name, func(t *testing.T) {
			now := &clock{epoch}
			q := open(t, now, queue.Options{})
			// ended is a job that has come to a state as a worker's attempt leaves it.
			ended := func(d queue.Draft, s queue.State) queue.Job {
				d.Subject = "job"
				enqueue(t, q, d)
				l := claim(t, q)
				if s == queue.Active {
					return l.Job
				}
				return finish(t, l, queue.Result{State: s}, nil)
			}
			switch in := c.Input; {
			case in.Retries != nil && in.Error != "":
				enqueue(t, q, queue.Draft{Subject: "job", MaxAttempts: max(1, *in.Retries)}) // 0 is the default here
				var trace []queue.State
				for range c.Want.Trace {
					j := finish(t, claim(t, q), queue.Result{}, act.Classify(errors.New(in.Error)))
					trace = append(trace, j.State)
					now.now = now.now.Add(time.Hour)
				}
				require.Equal(t, c.Want.Trace, trace)
			case c.Want.Model != "":
				kind := ""
				q, err := queue.Open(t.Context(), store.NewMem(), nil)
				require.NoError(t, err)
				d, err := q.Dispatch(func(_ context.Context, j queue.Job) (queue.Result, error) { kind = j.Model; return queue.Result{}, nil }, nil)
				require.NoError(t, err)
				j := enqueue(t, q, queue.Draft{Subject: "job", Priority: in.Priority})
				require.Eventually(t, func() bool {
					j, err = q.Get(t.Context(), j.ID)
					return err == nil && j.State == queue.Completed
				}, time.Minute, time.Millisecond)
				require.NoError(t, d.Close(t.Context()))
				require.Equal(t, map[string]string{"opus": "strong", "haiku": "cheap"}[c.Want.Model], kind)
			case in.Today != nil:
				g := queue.Budget(200, 2)
				g.Ended(queue.Cycle{Started: epoch, Usage: act.Usage{CostUSD: *in.Today}})
				require.Equal(t, c.Want.Dispatch, g.Admit(epoch) >= in.Priority)
			case in.Source != "": // equal is equal: no wildcards, and letters have a case
				for _, task := range in.Tasks {
					ended(queue.Draft{Key: task.Source}, task.Status)
					now.now = now.now.Add(time.Duration(task.Age) * time.Minute)
				}
				d := queue.Draft{Subject: "job", Key: in.Source}
				if in.Within != nil {
					d.Quiet = time.Duration(*in.Within) * time.Minute
				}
				_, added, err := q.Enqueue(t.Context(), d)
				require.NoError(t, err)
				require.Equal(t, !c.Want.Open, added)
			case c.Want.Better != "": // an attempt that was lost is one of three
				ended(queue.Draft{}, queue.Active)
				now.now = now.now.Add(time.Hour)
				_, err := q.Claim(t.Context(), 0)
				require.ErrorIs(t, err, queue.ErrEmpty, "it is given back, and rests")
				now.now = now.now.Add(time.Hour)
				require.Equal(t, 2, claim(t, q).Job.Attempts)
			case c.Want.Retries > 0:
				j := enqueue(t, q, queue.Draft{Subject: "job"})
				require.Equal(t, []any{c.Want.Priority, queue.Pending, c.Want.Retries}, []any{j.Priority, j.State, max(j.MaxAttempts, 3)})
			case in.Status == queue.Active:
				j := finish(t, claimed(t, q), queue.Result{State: queue.Pending}, nil)
				require.Equal(t, queue.Pending, j.State)
			case in.Status != "":
				j := ended(queue.Draft{}, in.Status)
				require.NoError(t, q.Requeue(t.Context(), j.ID, ""))
				j, err := q.Get(t.Context(), j.ID)
				require.NoError(t, err)
				require.Equal(t, queue.Pending, j.State)
			default:
				t.Fatal("a case that no one reads")
			}
		})
	}
}

func claimed(t *testing.T, q *queue.Queue) *queue.Lease {
	enqueue(t, q, queue.Draft{Subject: "job"})
	return claim(t, q)
}
