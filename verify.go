package arc

import (
	"context"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/telemetry"
)

// verify has the gates judge the attempt. A gate that cannot decide blocks the
// delivery, and is not held against the worker.
func (t *turn) verify(ctx context.Context) (phase, error) {
	c := t.s.Current
	in, p := t.a.watch.verifying(ctx, &t.s)
	v, err := t.a.runner.Verify(in, c.Worker, t.work(), act.Result{
		Output: t.output, Reflection: c.Reflection, Utilized: c.Utilized, Misled: c.Misled, Usage: c.Usage, Deltas: c.Deltas,
	})
	p.verified(c.Worker, v, err)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	c.Passed, c.Wrong = v.Pass, clip(v.Complaint)
	if err != nil {
		c.Passed, c.Faulty = false, true
		c.Wrong = clip(t.a.o.Sanitizer.Sanitize(err.Error()))
		t.a.o.Logger.Error("a gate failed", "run", t.s.ID, "worker", c.Worker, "class", telemetry.Class(err), t.a.shown(c.Wrong))
	}
	t.emit(EventVerified, Event{Pass: c.Passed, Text: c.Wrong})
	return phaseLearn, nil
}
