package arc

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/store"
)

// stillRunning is how long a job waits whose run is live elsewhere, and may stop there.
const stillRunning = 10 * time.Second

// QueueHandler returns a handler that runs jobs as objectives. Job.Input is an
// [Objective] in JSON, of whose fields all are known; without one its Text is the job's
// Subject and Description, together at most 64 KiB. What it leaves empty of Scope and
// Skills is the job's, and the run's ID is "job/" and that of the job, so that a later
// attempt goes on with the run of an earlier.
//
//	delivered   the job is Completed
//	blocked     Blocked, with the cause; Queue.Requeue retries the run with its note
//	waiting     Pending again when the run is due, without holding a worker
//	asking      Parked
//
// The job is due again at once when its run is answered, ruled about or retried, by any
// caller, and when it stops: the run's commit says so to the Queues in the Agent's store
// ([queue.Wake]). A Queue in another store does not hear of it.
//
// Secrets do not lie in a queue: a run that was begun with some, and whose ID the Input
// has, gets them again from Host.Secrets, and any other has none.
func (a *Agent) QueueHandler() queue.Handler {
	return func(ctx context.Context, j queue.Job) (queue.Result, error) {
		o, err := objectiveOf(&j)
		if err != nil {
			return queue.Result{State: queue.Failed, Summary: err.Error()}, nil
		}
		// The run is tried in this order: a requeued job retries the run of its last attempt. A run that
		// is not BLOCKED, or does not exist, is begun, or goes on, as any run with an ID does.
		ctx = context.WithValue(ctx, workedOn{}, j.ID)
		var r *Report
		if j.Requeued > 0 {
			r, err = a.retry(ctx, cmp.Or(o.Scope, a.o.Scope), o.ID, j.Note, &o, &j)
		}
		if r == nil && (err == nil || errors.Is(err, ErrNotBlocked) || errors.Is(err, store.ErrNotFound)) {
			r, err = a.start(ctx, o, nil, &j)
		}
		switch {
		case errors.Is(err, ErrRunning):
			return queue.Result{State: queue.Pending, Summary: err.Error(), At: a.o.Now().Add(stillRunning)}, nil
		case errors.Is(err, ErrObjective):
			return queue.Result{State: queue.Failed, Summary: err.Error()}, nil
		case r == nil:
			return queue.Result{}, err
		}
		return jobResult(&j, r), err
	}
}

// objectiveOf is what a job asks for.
func objectiveOf(j *queue.Job) (o Objective, err error) {
	if len(j.Input) > 0 {
		in := json.NewDecoder(bytes.NewReader(j.Input))
		in.DisallowUnknownFields() // what is misspelt is not passed by
		if err := in.Decode(&o); err != nil {
			return o, fmt.Errorf("%w: input: %w", ErrObjective, err)
		}
	}
	o.Text = cmp.Or(o.Text, strings.TrimSpace(j.Subject+"\n\n"+j.Description))
	o.ID = cmp.Or(o.ID, "job/"+j.ID)
	o.Scope = cmp.Or(o.Scope, j.Scope)
	if o.Scope.Tenant() != j.Scope.Tenant() {
		return o, fmt.Errorf("%w: a scope of another tenant", ErrObjective)
	}
	if o.Skills == nil {
		o.Skills = j.Skills
	}
	return o, nil
}

// jobResult is how a run stands, for its job. The usage is what was added since the
// attempts before. A run that is Running beside an error was stopped: its job is Pending, and goes on
// with it from the last commit.
func jobResult(j *queue.Job, r *Report) queue.Result {
	out, is, was := queue.Result{Summary: string(r.Status)}, &r.Usage, &j.Usage
	u := &out.Usage
	u.TokensIn, u.TokensOut = max(0, is.TokensIn-was.TokensIn), max(0, is.TokensOut-was.TokensOut)
	u.CostUSD, u.APICostUSD = max(0, is.CostUSD-was.CostUSD), max(0, is.APICostUSD-was.APICostUSD)
	u.CacheRead = min(max(0, is.CacheRead-was.CacheRead), u.TokensIn) // jobs of former versions have none
	u.CacheWrite = min(max(0, is.CacheWrite-was.CacheWrite), u.TokensIn-u.CacheRead)
	switch r.Status {
	case Delivered:
		for _, d := range r.Deliveries {
			out.Detail += d.Summary + "\n"
			out.Summary = d.Summary // the last tells what came of it
		}
	case Waiting:
		out.State, out.At, out.Summary = queue.Pending, r.Next, string(r.Cause)+": "+r.Reason
	case Asking:
		out.State, out.Summary, out.Detail = queue.Parked, fmt.Sprintf("run %q asks", r.ID), strings.Join(r.Questions, "\n")
	case Blocked:
		out.State, out.Summary = queue.Blocked, string(r.Cause)+": "+r.Reason
	case Running:
		out.State = queue.Pending
	}
	return out
}
