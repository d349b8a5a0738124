package arc

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/telemetry"
)

// dropped is how many calls of hooks, logger and telemetry came to nothing.
func (a *Agent) dropped() int64 {
	n := a.hooks.Lost() + guard.Lost(a.o.Logger)
	if a.watch != nil {
		n += a.watch.Lost()
	}
	return n
}

// shown is a text of a run in a log: empty unless Options.ShowTexts is set.
func (a *Agent) shown(text string) slog.Attr {
	if !a.o.ShowTexts || text == "" {
		return slog.Attr{}
	}
	return slog.String("text", telemetry.Cut(text))
}

// logHook writes that a hook has failed.
func (a *Agent) logHook(err error) {
	if err != nil && !errors.Is(err, guard.ErrDropped) {
		a.o.Logger.Error("a hook failed", "class", telemetry.Class(err), "stack", telemetry.Stack(err))
	}
}

// logFault writes what a part of the host has done wrong in the phase at hand: a
// panic with its stack, or a gate that could not decide.
func (t *turn) logFault() {
	logger, run := t.a.o.Logger, t.s.ID
	switch c := t.s.Current; {
	case t.did.stack != nil:
		logger.Error("a worker panicked", "run", run, "worker", c.Worker, "stack", string(t.did.stack), t.a.shown(c.Wrong))
	case t.did.fault == nil:
	case t.s.Phase == phaseVerify:
		logger.Error("a gate failed", "run", run, "worker", c.Worker, "class", telemetry.Class(t.did.fault), t.a.shown(c.Wrong))
	default:
		if p, ok := errors.AsType[*guard.PanicError](t.did.fault); ok {
			logger.Error("the reasoner panicked", "run", run, "stack", string(p.Stack), t.a.shown(t.a.o.Sanitizer.Sanitize(p.Error())))
		}
	}
}

// log writes what a committed step has done, one record for each event.
func (a *Agent) log(ctx context.Context, events []Event) {
	for _, e := range events {
		attrs := append(make([]slog.Attr, 0, 10), slog.String("run", e.Run), slog.Int("seq", e.Seq))
		if e.Worker != "" {
			attrs = append(attrs, slog.String("worker", e.Worker), slog.Int("task", e.Task), slog.Int("attempt", e.Attempt))
		}
		switch e.Kind {
		case EventRecalled, eventLearned:
			attrs = append(attrs, slog.Int("memories", len(e.IDs)))
		case EventExecuted, EventAssessed, EventFinished:
			word, _, _ := strings.Cut(e.Text, ": ") // one of arc's own; what follows is of the run
			attrs = append(attrs, slog.String("class", word))
		case EventVerified:
			attrs = append(attrs, slog.Bool("pass", e.Pass))
		}
		if e.Wall > 0 {
			attrs = append(attrs, slog.Duration("wall", e.Wall))
		}
		if a.o.ShowTexts {
			attrs = append(attrs, slog.String("goal", telemetry.Cut(e.Goal)), a.shown(e.Text))
		}
		a.o.Logger.LogAttrs(ctx, slog.LevelDebug, string(e.Kind), attrs...)
	}
}
