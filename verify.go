package arc

import (
	"context"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/reason"
)

// verify has the gates judge the attempt. A gate that cannot decide blocks the
// delivery, and is not held against the worker; one that is away is waited for.
func (t *turn) verify(ctx context.Context) (phase, error) {
	if why := t.lacks(); why != "" {
		return t.block(CauseSecret, why), nil
	}
	c := t.s.Current
	v, err := t.a.runner.Verify(ctx, c.Worker, t.work(), act.Result{
		Output: t.output, Reflection: c.Reflection, Utilized: c.Utilized, Misled: c.Misled, Usage: c.Usage, Deltas: c.Deltas,
	})
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	t.s.Usage, t.did.used = t.s.Usage.Add(v.Usage), v.Usage
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
