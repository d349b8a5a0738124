package guard

import (
	"context"
	"log/slog"
	"time"
)

// logLimit is how long a handler is waited for.
const logLimit = time.Second

// handler wraps a host's slog.Handler, so that its panics and delays do not reach a run.
type handler struct {
	slog.Handler
	out *Outlet // of the handler and those made from it
	ask *Outlet // the same, for Enabled, WithAttrs and WithGroup
}

// Logger returns a Logger that writes to l's handler and survives its panics and delays, or
// one that discards if l is nil.
func Logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	if _, ok := l.Handler().(*handler); ok {
		return l
	}
	return slog.New(&handler{l.Handler(), &Outlet{Limit: logLimit}, &Outlet{Limit: logLimit}})
}

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	on := false
	return h.ask.Call(func() { on = h.Handler.Enabled(ctx, level) }) == nil && on
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
	var out slog.Handler // written by a call that may be left behind
	if h.ask.Call(func() { out = made() }) != nil || out == nil {
		return h // records without the attributes are better than none
	}
	return &handler{out, h.out, h.ask}
}

// Lost returns how many records of such a Logger its handler has not taken: it panicked, hung,
// or had not returned from an earlier one. An error that it returns does not count.
func Lost(l *slog.Logger) int64 {
	if h, ok := l.Handler().(*handler); ok {
		return h.out.Lost()
	}
	return 0
}
