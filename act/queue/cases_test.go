package queue_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
