package arc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// Report says where a run is.
type Report struct {
	ID        string
	Scope     memory.Scope // for [Agent.In]
	Objective string       // for lists: the beginnings of its Text and Inputs
	Status    Status
	Cause     Cause // of a blocked run

	// Text says in words, by the Status: the last delivery of a delivered run; a line for each question of one
	// that asks, and for each thing that a waiting one waits for; the task or goal that a running one is at; why
	// one is blocked or canceled, and a line for each irreversible call that it has or may have made.
	Text string

	Question string // of a run that asks: identifies what Text asks, for [View.Answer]

	Output    json.RawMessage `json:",omitempty"` // of the last delivery of a delivered run
	Approvals []act.Approval  // that are open, also while it works on something else: see [View.Decide]

	Attempts     int // calls of workers
	Fired        int // how many learned plans were carried out; 0 if the Reasoner was asked as well
	Failed       []reason.Failure
	Usage        *reason.Usage // of models, as far as told: 0 where a plan fires and none is asked; nil: unknown
	Began, Ended time.Time     // in UTC
	Verdict      learn.Verdict // a person's last one, by [View.Judge]; "": none
}

// Status says where a run is.
type Status string

const (
	Running   Status = "running" // or its caller has left it: [View.Resume]
	Waiting   Status = "waiting" // for a person's approval, or for an outage to pass
	Asking    Status = "asking"  // [View.Answer] goes on
	Delivered Status = "delivered"
	Blocked   Status = "blocked" // [View.Retry] tries again
	Canceled  Status = "canceled"
)

func (s Status) ended() bool { return s == Delivered || s == Blocked || s == Canceled }

// Cause says why a run is blocked.
type Cause string

const (
	Exhausted   Cause = "exhausted"   // no attempt passed, and there is no other worker or plan left
	Refused     Cause = "refused"     // by a person, a permission or an account; or a gate cannot run
	NoWorker    Cause = "no_worker"   // nobody can take the task
	NoDecision  Cause = "no_decision" // the reasoner failed, or what it decided cannot be used
	Outage      Cause = "outage"      // a model or a worker was away for longer than Options.Patience
	Spent       Cause = "spent"       // the budget is used up
	Interrupted Cause = "interrupted" // an attempt of a run with Once was interrupted
)

// report makes the Report of a record, beside an error as well. What it delivered is read where d is nil.
func (t *tenant) report(ctx context.Context, r *record, d *delivered) (*Report, error) {
	open, err := t.open(ctx, r) // of a run that has ended nothing is read
	out := &Report{
		ID: r.ID, Scope: cmp.Or(r.Scope, "_"), Objective: r.Text, Status: r.Status, Cause: r.Cause,
		Approvals: open, Attempts: r.Attempts, Usage: r.usage(),
		Began: r.Began, Ended: r.Ended, Verdict: r.Verdict,
		Failed: slices.Concat(each(r.Aims, func(a aim) []reason.Failure { return a.Failed })...),
	}
	if r.Deliberations == 0 {
		out.Fired = r.Fired
	}
	switch r.Status {
	case Delivered:
		if n := r.Deliveries[len(r.Deliveries)-1]; d == nil {
			last, _, unread := load[delivered](ctx, t.group.Store(), partKey(r.Scope, r.ID, deliveryName(n)))
			d, err = &last, unread
		}
		out.Output, out.Text = d.Output, cmp.Or(d.Text, schema.Words(d.Output))
	case Running:
		if a := r.aim(); a.Next < len(a.Plan) {
			out.Text = a.Plan[a.Next].Objective
		}
		out.Text = cmp.Or(out.Text, r.aim().Text)
	case Asking:
		out.Text, out.Question = strings.Join(r.Questions, "\n"), r.question()
	case Waiting:
		asked := each(open, func(p act.Approval) string {
			return fmt.Sprintf("%s: %s (%s)", p.Name, p.About, strings.Join(p.Why, "; "))
		})
		out.Text = cmp.Or(strings.Join(asked, "\n"), r.Wait.Why, string(r.Status))
	default:
		out.Text = cmp.Or(r.Reason, string(r.Status))
	}
	return out, err
}
