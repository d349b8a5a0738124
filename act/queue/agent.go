package queue

import (
	"cmp"
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// AgentHandler returns a Handler that has an Agent run each job as an objective: what objective returns, or,
// where it is nil, Subject and Description as Text, and Input as Inputs. An Objective without a Scope gets
// the job's. One without an ID gets one of the job and its round, so a later attempt goes on with the run.
//
//	delivered        Completed; Summary is the answer
//	blocked          Blocked: Summary is why. Where Queue.Update makes the job Pending the run is tried again
//	waiting, asking  Pending: it waits for a person, and holds no worker. An outage is waited for in this call
//	canceled         Failed
//	under way        Pending for 30 s, and no attempt is spent: others have the run, or a has no Workers, or
//	                 the store is away
//
// The run itself goes on at once when a person has ruled or answered; the job follows within some minutes.
// [Queue.Update] changes the job, not its run; only a blocked run that is tried again is told changed texts.
// For other work add another job, and View.Cancel the run, whose ID begins with "job/" and that of the job.
func AgentHandler(a *arc.Agent, objective func(Job) arc.Objective) Handler {
	if objective == nil {
		objective = func(j Job) arc.Objective {
			return arc.Objective{Text: strings.TrimSpace(j.Subject + "\n\n" + j.Description), Inputs: j.Input}
		}
	}
	return func(ctx context.Context, j *Job) ([]Draft, error) {
		o := objective(*j)
		o.ID = cmp.Or(o.ID, "job/"+path.Base(j.ID)+"/"+fence.Mark(j.steps, j.Created.String()))
		o.Scope = cmp.Or(o.Scope, j.Scope, "_") // never the Agent's own, which may be another tomorrow
		v := a.In(o.Scope)
		r, err := v.Report(ctx, o.ID)
		switch {
		case len(a.Workers()) == 0:
			err = arc.ErrRunning
		case errors.Is(err, store.ErrNotFound):
			r, err = a.Run(ctx, o)
		case err == nil && r.Status == arc.Blocked && !r.Ended.After(j.Ended) && j.Attempts == 1:
			// The job was blocked for it, and a person has set it to Pending just now.
			if was, _ := v.Objective(ctx, o.ID); was.Text == o.Text {
				o.Text = ""
			}
			r, err = v.Retry(ctx, o.ID, o.Text)
		case err == nil:
			r, err = v.Resume(ctx, o.ID)
		}
		away, _ := errors.AsType[*reason.Error](err)
		switch {
		case errors.Is(err, arc.ErrRunning), errors.Is(err, arc.ErrClosed),
			away != nil && away.Class == reason.Unavailable:
			j.State = Pending
			return nil, nil
		case errors.Is(err, arc.ErrObjective), errors.Is(err, arc.ErrTaken):
			j.State, j.Summary = Failed, err.Error()
			return nil, nil
		case err != nil && (r == nil || r.Status != arc.Canceled):
			return nil, err
		}
		j.Summary = r.Text
		if u := r.Usage.Since(j.spent); u != nil && u.Calls+u.Input+u.Output > 0 { // else it was looked at
			j.Usage = u
		}
		switch r.Status {
		case arc.Blocked:
			j.State, j.Summary = Blocked, string(r.Cause)+": "+j.Summary
		case arc.Canceled:
			j.State = Failed
		case arc.Waiting, arc.Asking, arc.Running: // the longer it waits, the seldomer it is looked at
			j.State, j.At = Pending, j.Started.Add(min(max(backoff, j.Started.Sub(r.Began)/8), 5*time.Minute))
		}
		return nil, nil
	}
}
