package model

import (
	"context"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
)

// RecordOptions are those of [Record].
type RecordOptions struct {
	Sanitizer *redact.Sanitizer // takes secrets out of all texts before they are written; nil: the built-in kinds
}

// Record returns m with calls that are written to w, for [Replay]: one line of
// JSON for each, in one Write, when the call has ended, behind a header. The
// lines have neither times nor Raw, so that a file recorded again differs only
// in what the model said. Secrets are taken out of requests, answers and errors
// first, also those that begin in one text and end in the next; what callers
// get is not changed.
//
// To record a test anew, run it with the real model and an empty file:
//
//	f, err := os.Create("testdata/calls.jsonl")
//	...
//	m := model.Record(client, f, nil) // and model.Replay in all other runs
//
// A call whose context has ended is not written, since that is the caller's
// doing and not the model's; of a stream that the caller breaks off, what came
// before. A call that cannot be written fails. After a crash all lines are
// whole, up to the last, which the system may have cut.
func Record(m reason.Model, w io.Writer, opts *RecordOptions) reason.Model {
	rec := new(recorder)
	rec.mu.w = w
	if opts != nil {
		rec.sanitizer = opts.Sanitizer
	}
	_, rec.streams = reason.As[reason.Streamer](m)
	return wrap(m, func(next call) call {
		return func(ctx context.Context, req *reason.Request) pieces {
			return func(yield func(*reason.Response, error) bool) { rec.run(ctx, req, next, yield) }
		}
	})
}

type recorder struct {
	sanitizer *redact.Sanitizer
	streams   bool
	mu        struct {
		sync.Mutex
		w     io.Writer
		begun bool
		err   error // of the first Write that failed: the file is of no use since
	}
}

func (rec *recorder) run(ctx context.Context, req *reason.Request, next call, yield func(*reason.Response, error) bool) {
	var texts []string
	var last *reason.Response
	for p, err := range next(ctx, req) {
		if err != nil {
			if failed := rec.write(ctx, req, texts, last, err, false); failed != nil {
				err = failed
			}
			yield(nil, err)
			return
		}
		last = p
		texts = append(texts, p.Text)
		if !yield(p, nil) {
			// An error has nobody to go to now, and is that of the next call.
			_ = rec.write(ctx, req, texts, last, nil, p.Stop == "")
			return
		}
	}
	if err := rec.write(ctx, req, texts, last, nil, false); err != nil {
		yield(nil, err)
	}
}

// write writes a call: its pieces, of which last is one, or none, and its error.
func (rec *recorder) write(ctx context.Context, req *reason.Request, texts []string, last *reason.Response, err error, left bool) error {
	if ctx.Err() != nil {
		return nil
	}
	r := record{Request: requestOf(req, rec.sanitizer), Left: left}
	if last != nil {
		stop := reason.Stop(rec.sanitizer.Sanitize(string(last.Stop)))
		r.Answer = &answer{Pieces: texts, Stop: stop, Model: rec.sanitizer.Sanitize(last.Model)}
		if last.Usage != (reason.Usage{}) {
			r.Answer.Usage = new(usage(last.Usage))
		}
		parts := make([]*string, len(texts))
		for i := range texts {
			parts[i] = &texts[i]
		}
		scrub(rec.sanitizer, parts...)
	}
	if err != nil {
		r.Error = failureOf(err)
		scrub(rec.sanitizer, &r.Error.Code, &r.Error.Text)
	}
	return rec.line(r)
}

func (rec *recorder) line(r record) error {
	if t := r.Request.Temperature; t != nil && (math.IsNaN(*t) || math.IsInf(*t, 0)) {
		return fmt.Errorf("model: record: the temperature is %v", *t)
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	var out []byte
	if !rec.mu.begun {
		out = append(encode(header{Arc: fileKind, Version: fileVersion, Streams: rec.streams}), '\n')
	}
	out = append(append(out, encode(r)...), '\n')
	if rec.mu.err == nil {
		if _, err := rec.mu.w.Write(out); err != nil {
			rec.mu.err = fmt.Errorf("model: record: %w", err)
		}
	}
	rec.mu.begun = true
	return rec.mu.err
}
