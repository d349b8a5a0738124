package arc

import (
	"context"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/reason"
)

// verify lets the gates verify the attempt. If a gate cannot decide, the attempt does not pass, and
// does not count against the worker. If a gate is away, the run waits.
//
// The verdict is committed with what is learned from it, in one step: there is no state in which an
// attempt has passed and taught nothing. A process that dies in between verifies again, which the
// contract of act.Gate allows. A verdict whose ctx has ended is dropped, its cost is kept.
func (t *turn) verify(ctx context.Context) (phase, error) {
	if why := t.lacks(); why != "" {
		return t.block(CauseSecret, why), nil
	}
	c := t.s.Current
	v, err := t.a.runner.Verify(ctx, c.Worker, t.work(), act.Result{
		Output: t.output, Reflection: c.Reflection, Utilized: c.Utilized, Misled: c.Misled, Usage: c.Usage, Deltas: c.Deltas,
	})
	if ctx.Err() != nil && v.Usage == (act.Usage{}) {
		return "", ctx.Err()
	}
	t.s.Usage, t.did.used = t.s.Usage.Add(v.Usage), v.Usage
	if ctx.Err() != nil {
		return phaseVerify, nil // the commit keeps what it has cost
	}
	if away, after := reason.Retryable(err); away {
		t.did.fault = err
		return t.wait(CauseGate, err.Error(), after), nil
	}
	t.s.Wait.Tries = 0
	c.Passed, c.Wrong, c.Gate = v.Pass, t.clip(v.Complaint), t.clip(v.Gate)
	if err != nil {
		t.did.fault = err
		c.Passed, c.Faulty, c.Wrong = false, true, t.clip(err.Error())
		end, _ := act.Class(err)
		c.Unjudged = end == act.Denied || end == act.Rejected
	}
	t.emit(EventVerified, Event{Pass: c.Passed, Text: c.Wrong, Gate: c.Gate})
	return phaseLearn, nil
}
