package model

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/telemetry"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
)

// LogOptions are those of [Log].
type LogOptions struct {
	Level     slog.Level        // of calls that go well; those that fail are warnings
	Texts     bool              // log system, messages, answer and the text of an error too, without secrets
	Sanitizer *redact.Sanitizer // takes secrets out of texts and errors; nil: the built-in kinds
}

// maxLogged bounds a text in the log, in bytes.
const maxLogged = 4 << 10

// Log returns m with a line for each call: duration, model, stop, tokens, cost,
// the number of pieces of a stream, and the class of an error, such as the
// status of the provider. Texts, that of an error among them, are logged only if
// the options say so: providers quote what they were sent. Secrets never are. A
// nil logger discards, and one that panics or hangs does a call no harm.
//
// A call that the caller ended, by its context or by breaking out of a stream,
// is logged as given_up, which is no warning.
func Log(m reason.Model, logger *slog.Logger, opts *LogOptions) reason.Model {
	l := &callLog{logger: guard.Logger(logger)}
	if opts != nil {
		l.opts = *opts
	}
	return wrap(m, func(next call) call {
		return func(ctx context.Context, req *reason.Request) pieces {
			return func(yield func(*reason.Response, error) bool) { l.run(ctx, req, next, yield) }
		}
	})
}

type callLog struct {
	logger *slog.Logger
	opts   LogOptions
}

func (l *callLog) run(ctx context.Context, req *reason.Request, next call, yield func(*reason.Response, error) bool) {
	start := time.Now()
	var text strings.Builder
	var last reason.Response
	var failure error
	n, givenUp := 0, true
	defer func() {
		level := l.opts.Level
		attrs := []slog.Attr{slog.Duration("duration", time.Since(start))}
		if n > 0 {
			attrs = append(attrs, slog.Int("pieces", n), slog.String("model", last.Model), slog.String("stop", string(last.Stop)),
				slog.Int("tokens_in", last.Usage.TokensIn), slog.Int("tokens_out", last.Usage.TokensOut),
				slog.Float64("cost_usd", last.Usage.CostUSD))
		}
		if givenUp || ctx.Err() != nil {
			attrs = append(attrs, slog.Bool("given_up", true))
		} else if failure != nil {
			level = slog.LevelWarn
			attrs = append(attrs, slog.String("class", telemetry.Class(failure)))
			if l.opts.Texts {
				attrs = append(attrs, slog.String("error", l.text(failure.Error())))
			}
		}
		if l.opts.Texts {
			attrs = append(attrs, l.prompt(req), slog.String("text", l.text(text.String())))
		}
		l.logger.LogAttrs(context.WithoutCancel(ctx), level, "model call", attrs...)
	}()
	for p, err := range next(ctx, req) {
		failure = err
		if err == nil {
			n, last = n+1, *p
			text.WriteString(p.Text)
		}
		if !yield(p, err) {
			givenUp = err == nil && p.Stop == ""
			return
		}
	}
	givenUp = false
}

func (l *callLog) prompt(req *reason.Request) slog.Attr {
	attrs := []any{slog.String("system", l.text(req.System))}
	for _, m := range req.Messages {
		attrs = append(attrs, slog.String(m.Role, l.text(m.Text)))
	}
	return slog.Group("request", attrs...)
}

// text is s for the log: without secrets, then cut.
func (l *callLog) text(s string) string {
	s = l.opts.Sanitizer.Sanitize(s)
	if len(s) > maxLogged {
		s = strings.ToValidUTF8(s[:maxLogged], "") + "…"
	}
	return s
}
