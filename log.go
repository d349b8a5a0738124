package arc

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/telemetry"
)

// handler is a host's slog.Handler that can do a run no harm.
type handler struct {
	slog.Handler
	out *guard.Outlet // of the handler and those made from it
}

// logLimit is how long a handler is waited for.
const logLimit = time.Second

// dropped is how many calls of hooks, logger and telemetry came to nothing.
func (a *Agent) dropped() int64 {
	n := a.hooks.Lost()
	if h, ok := a.o.Logger.Handler().(*handler); ok {
		n += h.out.Lost()
	}
	if a.watch != nil {
		n += a.watch.Lost()
	}
	return n
}

// isolated returns a Logger that writes to l's handler, whatever that does.
func isolated(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	if _, ok := l.Handler().(*handler); ok {
		return l
	}
	return slog.New(&handler{l.Handler(), &guard.Outlet{Limit: logLimit}})
}

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	var on atomic.Bool
	return guard.Call(func() { on.Store(h.Handler.Enabled(ctx, level)) }) == nil && on.Load()
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	var err error
	if failed := h.out.Call(func() { err = h.Handler.Handle(ctx, r) }); failed != nil {
		return failed
	}
	return err
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.with(func() slog.Handler { return h.Handler.WithAttrs(attrs) })
}

func (h *handler) WithGroup(name string) slog.Handler {
	return h.with(func() slog.Handler { return h.Handler.WithGroup(name) })
}

func (h *handler) with(made func() slog.Handler) slog.Handler {
	out := h.Handler
	if guard.Call(func() { out = made() }) != nil || out == nil {
		out = h.Handler // better without than not at all
	}
	return &handler{out, h.out}
}

// shown is a text of a run in a log: empty unless Options.ShowTexts is set.
func (a *Agent) shown(text string) slog.Attr {
	if !a.o.ShowTexts || text == "" {
		return slog.Attr{}
	}
	return slog.String("text", telemetry.Cut(text))
}

// log writes what a committed step has done, one record for each event.
func (a *Agent) log(ctx context.Context, events []Event) {
	for _, e := range events {
		attrs := append(make([]slog.Attr, 0, 10), slog.String("run", e.Run), slog.Int("seq", e.Seq))
		if e.Worker != "" {
			attrs = append(attrs, slog.String("worker", e.Worker), slog.Int("task", e.Task), slog.Int("attempt", e.Attempt))
		}
		switch e.Kind {
		case EventRecalled, EventLearned:
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
