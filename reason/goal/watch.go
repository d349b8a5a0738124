package goal

import (
	"context"
	"log/slog"
	"slices"
)

// Report returns what the last [Controller.Tick] has returned, such as one of
// [Controller.Run]: how each goal stands, and why nothing is done about it. It
// is the zero Report before the first.
func (c *Controller) Report() Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.report.clone()
}

func (r Report) clone() Report {
	r.Goals, r.Ended = slices.Clone(r.Goals), slices.Clone(r.Ended)
	for i := range r.Goals {
		r.Goals[i].Actual = clone(r.Goals[i].Actual)
	}
	for i := range r.Ended {
		r.Ended[i].Actions = slices.Clone(r.Ended[i].Actions)
	}
	return r
}

// stood is what is logged of a goal when it changes.
type stood struct {
	status Status
	doing  Doing
}

// tell keeps a report for those who have not asked for it, and logs what has
// changed since the last. Only Tick calls it.
func (c *Controller) tell(ctx context.Context, r *Report) {
	c.mu.Lock()
	c.mu.report = r.clone()
	c.mu.Unlock()
	stand := make(map[string]stood, len(r.Goals))
	for i := range r.Goals {
		g := &r.Goals[i]
		now, before := stood{g.Status, g.Doing}, c.stood[g.Goal]
		stand[g.Goal] = now
		if now == before || before == (stood{}) && g.Status == Met {
			continue
		}
		level := slog.LevelDebug
		switch {
		case g.Doing == Stuck:
			level = slog.LevelWarn
		case now.status != before.status:
			level = slog.LevelInfo
		}
		why := g.Why
		if why == "" && g.Status == Unknown { // else the reason has values of the world in it
			why = g.Reason
		}
		c.o.Logger.Log(ctx, level, "a goal stands differently", "controller", c.o.Name, "goal", g.Goal, "severity", g.Severity,
			"status", g.Status, "doing", g.Doing, "dispatch", g.Dispatch, "why", c.o.Sanitizer.Sanitize(why))
	}
	c.stood = stand
}

// watch logs which collectors have begun to fail, are paused, or are well
// again. Only Run calls it.
func (c *Controller) watch(ctx context.Context) {
	failing := make(map[string]bool)
	for _, s := range c.world.Collectors() {
		before, known := c.failing[s.Domain]
		if s.Err == nil {
			if known {
				c.o.Logger.InfoContext(ctx, "a collector is well again", "controller", c.o.Name, "domain", s.Domain)
			}
			continue
		}
		failing[s.Domain] = s.Paused
		if !known || before != s.Paused {
			level, text := slog.LevelWarn, "a collector fails"
			if s.Paused {
				level, text = slog.LevelError, "a collector is paused until World.Resume"
			}
			c.o.Logger.Log(ctx, level, text, "controller", c.o.Name, "domain", s.Domain,
				"failures", s.Failures, "error", c.o.Sanitizer.Sanitize(s.Err.Error()))
		}
	}
	c.failing = failing
}
