package dash

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/store"
)

// jobs are those of the scope and of scopes below it: those that are under way, those that wait for a person,
// those to come in the order of their priority, then those that have ended, the newest first.
func (d *dash) jobsOf(rq *request) ([]*queue.Job, error) {
	return keep(d, rq, "jobs", func(ctx context.Context) (all []*queue.Job, err error) {
		for j, err := range d.opts.Queue(rq.scope).List(ctx, rq.scope) {
			if err != nil {
				return nil, err
			}
			j.Description, j.Summary, j.Input = clip(j.Description, 500), clip(j.Summary, 500), nil
			all = append(all, &j)
		}
		order := func(s queue.State) int { return slices.Index(states, string(s)) }
		slices.SortStableFunc(all, func(a, b *queue.Job) int {
			by := cmp.Compare(order(a.State), order(b.State))
			if by == 0 && a.State == queue.Pending {
				by = cmp.Compare(a.Priority, b.Priority)
			}
			return cmp.Or(by, b.Ended.Compare(a.Ended), b.Created.Compare(a.Created), strings.Compare(a.ID, b.ID))
		})
		return all, nil
	})
}

var states = []string{"active", "blocked", "pending", "parked", "failed", "completed"}

// jobList is the page of jobs.
type jobList struct {
	listing
	Jobs []job
}

// job is a job with the run that works on it; "": none is known.
type job struct {
	queue.Job
	Run string
}

// Retries reports whether the job may be tried again by a person's word, Cancels whether it may be ended.
func (j job) Retries() bool {
	return j.State == queue.Blocked || j.State == queue.Failed || j.State == queue.Parked
}

func (j job) Cancels() bool { return j.State != queue.Completed && j.State != queue.Failed }

func (d *dash) queue(rq *request) (any, error) {
	all, err := d.jobsOf(rq)
	if err != nil {
		return nil, err
	}
	l, found := find(rq, all, states, func(at **queue.Job) (kinds, texts []string) {
		j := *at
		return []string{string(j.State)}, []string{j.ID, j.Subject, j.Description, j.Summary, j.Source}
	})
	runs, err := d.reports(rq)
	of := make(map[string]string) // the newest run of each job, see queue.AgentHandler
	for _, r := range slices.Backward(runs) {
		if rest, ok := strings.CutPrefix(r.ID, "job/"); ok {
			of[path.Dir(rest)] = r.ID
		}
	}
	page := jobList{listing: l}
	for _, j := range found {
		page.Jobs = append(page.Jobs, job{*j, of[path.Base(j.ID)]})
	}
	return &page, err
}

// actQueue tries a job again, ends it, or changes its priority.
func (d *dash) actQueue(rq *request) (string, error) {
	q, id := d.opts.Queue(rq.scope), rq.Form.Get("id")
	j, err := q.Get(rq.Context(), id)
	if err != nil {
		return "", err
	}
	if rq.scope != "" && !rq.scope.Contains(j.Scope) {
		return "", store.ErrNotFound
	}
	do := rq.Form.Get("do")
	n, bad := strconv.Atoi(rq.Form.Get("priority"))
	word := map[string]string{"retry": "retried", "cancel": "canceled", "priority": "ranked"}[do]
	_, err = q.Update(rq.Context(), id, func(j *queue.Job) error {
		switch is := (job{Job: *j}); {
		case word == "", do == "priority" && (bad != nil || n < 1 || n > 10):
			return fmt.Errorf("%w: %q, or a priority that is not from 1 to 10", errBad, do)
		case do == "retry" && is.Retries():
			j.State = queue.Pending
		case do == "cancel" && is.Cancels():
			j.State, j.Summary = queue.Failed, "canceled by "+rq.who
		case do == "priority":
			j.Priority = n
		default:
			return arc.ErrState
		}
		return nil
	})
	if err == nil && do == "cancel" {
		view := d.agent.In(cmp.Or(j.Scope, "_")) // as in queue.AgentHandler
		for r, e := range view.Runs(rq.Context()) {
			// What the job has begun ends with it: a ruling or a restart would go on with it.
			own := e == nil && strings.HasPrefix(r.ID, "job/"+path.Base(id)+"/")
			if err = cmp.Or(err, e); err == nil && own && (r.Ended.IsZero() || r.Status == arc.Blocked) {
				err = view.Cancel(rq.Context(), r.ID, "canceled by "+rq.who)
			}
		}
	}
	return word, err
}
