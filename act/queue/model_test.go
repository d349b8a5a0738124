package queue_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/store"
)

// modelled is a job as it ought to be.
type modelled struct {
	queue.Job
	order   int
	due     time.Time // when it was to run, if a time was given
	renewed time.Time // when its holder was last heard of
}

// Random calls on two Queues that share a store come to what they come to in a map. Holders pause for longer than
// their lease: then somebody else gets the job, and the former token is refused.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, c, mem := context.Background(), &clock{start}, store.NewMem()
		const lease = 30 * time.Second
		var groups [2]*store.Group
		var two [2]*queue.Queue
		reopen := func() {
			for i := range two {
				var err error
				groups[i] = store.NewGroup(mem)
				two[i], err = queue.Open(ctx, groups[i], &queue.Options{Now: func() time.Time { return c.now }})
				require.NoError(t, err)
			}
		}
		reopen()
		jobs := map[string]*modelled{}
		var held []queue.Job // by whoever claimed them, lost or not
		some := func(label string) *queue.Queue { return two[rapid.IntRange(0, 1).Draw(t, label)] }
		due := func() (best *modelled) {
			rank := func(m *modelled) (level int, free time.Time) {
				level, free = m.Priority, m.At
				if m.State == queue.Active {
					free = m.renewed.Add(lease)
				}
				if !m.due.IsZero() && c.now.Sub(m.due) > time.Minute {
					level = max(1, level-2)
				}
				return level, free
			}
			for _, m := range jobs {
				level, free := rank(m)
				if m.State != queue.Pending && m.State != queue.Active || free.After(c.now) {
					continue
				}
				if best != nil {
					l, f := rank(best)
					if level > l || level == l && (free.After(f) || free.Equal(f) && m.order > best.order) {
						continue
					}
				}
				best = m
			}
			return best
		}
		ended := func(j queue.Job, err error, change func(m *modelled)) {
			switch m := jobs[j.ID]; {
			case m.Token != j.Token:
				require.ErrorIs(t, err, queue.ErrLost)
			case m.State == queue.Active:
				require.NoError(t, err)
				change(m)
			default: // a second end
				require.True(t, err == nil || errors.Is(err, queue.ErrLost))
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				d := queue.Draft{Subject: "s", Priority: rapid.IntRange(1, 10).Draw(t, "priority")}
				if rapid.Bool().Draw(t, "keyed") {
					d.Key = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
				}
				if rapid.Bool().Draw(t, "timed") {
					d.At = c.now.Add(time.Duration(rapid.IntRange(-90, 90).Draw(t, "at")) * time.Second)
				}
				c.add(1) // so that the order of two queues' jobs is known
				j, added, err := some("adds").Add(ctx, d)
				require.NoError(t, err)
				require.Equal(t, jobs[j.ID] == nil, added)
				if added {
					jobs[j.ID] = &modelled{Job: j, order: len(jobs), due: d.At}
				}
			},
			"claim": func(t *rapid.T) {
				q, want := some("claims"), due()
				for want != nil && want.State == queue.Active && want.Attempts >= want.MaxAttempts {
					want.State = queue.Failed
					want.Token++
					want = due()
				}
				j, err := q.Claim(ctx)
				if want == nil {
					require.ErrorIs(t, err, queue.ErrEmpty)
					return
				}
				require.NoError(t, err)
				require.Equal(t, want.ID, j.ID)
				require.Equal(t, want.Token+1, j.Token)
				want.State, want.Token, want.renewed = queue.Active, j.Token, c.now
				want.Attempts++
				held = append(held, j)
			},
			"renew": func(t *rapid.T) {
				if len(held) > 0 {
					j := rapid.SampledFrom(held).Draw(t, "renewed")
					ended(j, some("renews").Heartbeat(ctx, j), func(m *modelled) { m.renewed = c.now })
				}
			},
			"done": func(t *rapid.T) {
				if len(held) > 0 {
					j := rapid.SampledFrom(held).Draw(t, "done")
					ended(j, some("ends").End(ctx, j, nil), func(m *modelled) { m.State = queue.Completed })
				}
			},
			"fail": func(t *rapid.T) {
				if len(held) > 0 {
					j := rapid.SampledFrom(held).Draw(t, "failed")
					ended(j, some("fails").End(ctx, j, errors.New("boom")), func(m *modelled) {
						m.State, m.At = queue.Pending, c.now.Add(30*time.Second<<(2*(m.Attempts-1)))
						if m.Attempts >= m.MaxAttempts {
							m.State = queue.Failed
						}
					})
				}
			},
			"update": func(t *rapid.T) {
				if len(jobs) == 0 {
					return
				}
				m := jobs[rapid.SampledFrom(ids(jobs)).Draw(t, "job")]
				to := rapid.SampledFrom([]queue.State{queue.Pending, queue.Parked, queue.Completed}).Draw(t, "to")
				j, err := some("updates").Update(ctx, m.ID, func(j *queue.Job) error { j.State = to; return nil })
				require.NoError(t, err)
				if m.State == queue.Active {
					m.Token++
				}
				if m.State != to && to == queue.Pending {
					m.Attempts, m.At = 0, j.At
				}
				m.State = to
			},
			"wait": func(t *rapid.T) { c.add(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second) },
			"reopen": func(*rapid.T) { // both processes are killed; leases are seen anew
				reopen()
				for _, m := range jobs {
					m.renewed = c.now
				}
			},
			"": func(t *rapid.T) {
				for _, g := range groups { // each hears what the other has done
					require.NoError(t, g.Refresh(ctx))
				}
				for j, err := range two[0].List(ctx, "") {
					require.NoError(t, err)
					m := jobs[j.ID]
					require.Equal(t, []any{m.State, m.Attempts, m.Token}, []any{j.State, j.Attempts, j.Token})
				}
			},
		})
	})
}

func ids(jobs map[string]*modelled) (ids []string) {
	for id := range jobs {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, strings.Compare)
	return ids
}
