package goal

import (
	"context"
	"log/slog"
	"slices"
)

// Report returns what the last [Controller.Tick] has returned, such as one of [Controller.Run]: how each goal stands,
// and why nothing is done about it. It is the zero Report before the first.
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

// record keeps a report for those who have not asked for it, and logs what has changed since the last. Only Tick
// calls it.
func (c *Controller) record(ctx context.Context, r *Report) {
	c.mu.Lock()
	c.mu.report = r.clone()
	c.mu.Unlock()
	stood := make(map[string]Standing, len(r.Goals))
	for _, now := range r.Goals {
		before, known := c.stood[now.Goal]
		stood[now.Goal] = now
		if now.Status == before.Status && now.Doing == before.Doing || !known && now.Status == Met {
			continue
		}
		level := slog.LevelDebug
		switch {
		case now.Doing == Stuck:
			level = slog.LevelWarn
		case now.Status != before.Status:
			level = slog.LevelInfo
		}
		why := now.Why
		if why == "" && now.Status == Unknown { // else the reason has values of the world in it
			why = now.Reason
		}
		c.o.Logger.Log(ctx, level, "a goal stands differently", "controller", c.o.Name, "goal", now.Goal, "severity", now.Severity,
			"status", now.Status, "doing", now.Doing, "dispatch", now.Dispatch, "why", c.o.Sanitizer.Sanitize(why))
	}
	c.stood = stood
}

// logDomains logs which collectors have begun to fail, are paused, or are well again. Only Run calls it.
func (c *Controller) logDomains(ctx context.Context) {
	failing := make(map[string]bool)
	for _, d := range c.world.Domains(c.o.Now()) {
		before, known := c.failing[d.Name]
		if d.Failures == 0 {
			if known {
				c.o.Logger.InfoContext(ctx, "a collector is well again", "controller", c.o.Name, "domain", d.Name)
			}
			continue
		}
		failing[d.Name] = d.Paused
		if !known || before != d.Paused {
			level, text := slog.LevelWarn, "a collector fails"
			if d.Paused {
				level, text = slog.LevelError, "a collector is paused until World.Resume"
			}
			c.o.Logger.Log(ctx, level, text, "controller", c.o.Name, "domain", d.Name,
				"failures", d.Failures, "error", c.o.Sanitizer.Sanitize(d.Err.Error()))
		}
	}
	c.failing = failing
}
