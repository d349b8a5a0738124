package arc

import (
	"context"
	"fmt"
)

// end closes the run: DELIVERED unless there is a reason why not.
func (t *turn) end(ctx context.Context) (phase, error) {
	s := &t.s
	as, err := t.own.monitor.Assess(ctx, s.Session)
	if err != nil {
		return "", fmt.Errorf("assess: %w", err)
	}
	if was := &s.Assessment; s.Reason != "" {
		with := as.With(t.signs())
		heard := as.Pivot || was.Pivot && was.Tries == with.Tries
		if as = with; with.Pivot && !heard {
			s.Assessment = with
			t.flag()
		}
	}
	s.Assessment, s.Ended, s.Current = as, t.a.o.Now().UnixNano(), nil
	s.Status = Delivered
	if s.Reason != "" {
		s.Status = Blocked
	}
	t.hits, t.background = nil, nil
	t.emit(EventFinished, Event{Text: string(s.Status)})
	return phaseDone, nil
}
