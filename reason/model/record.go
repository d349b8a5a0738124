package model

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Record returns m with calls that are written to w, for [Replay]. Each call is
// one line of JSON, in one Write, when it has ended; a header comes first. Lines
// have neither times nor Raw, so a file that is recorded again differs only in
// the answers. Secrets are taken out of each text of a request and of the answer as
// a whole. Callers get the answer unchanged.
//
// A test records with the real model once, and replays in all other runs:
//
//	f, err := os.Create("testdata/calls.jsonl")
//	...
//	m := model.Record(client, f, nil)
//
// Record writes answers only: not a call that failed, and not a stream that the
// caller broke off before its Stop. A call that cannot be written fails, and so do
// all later ones; one whose line would be over the 16 MiB of Replay fails alone. After
// a crash every line is whole except perhaps the last.
func Record(m reason.Model, w io.Writer, opts *RecordingOptions) reason.Model {
	rec := &recorder{opts: *cmp.Or(opts, new(RecordingOptions)), w: w}
	_, streams := reason.As[reason.Streamer](m)
	rec.header = encode(line{Arc: fileKind, Version: fileVersion, Streams: &streams})
	return wrap(m, rec.run)
}

// recorder writes the calls of one model. Calls run concurrently; their lines are
// written one at a time, in the order in which they end.
type recorder struct {
	opts RecordingOptions

	mu     sync.Mutex
	w      io.Writer // guarded by mu
	header []byte    // guarded by mu: nil once it is written
	err    error     // guarded by mu: of the first Write that failed
}

// run makes a call and writes it once it is complete: when the stream has ended, or
// when the caller leaves at the piece with the Stop. The request is cleaned before
// the call, since the model inside may keep or change it.
func (rec *recorder) run(ctx context.Context, req *reason.Request, next target, yield sink) {
	asked, _, err := rec.opts.wire(req)
	if err != nil {
		yield(nil, err)
		return
	}
	a := new(answer)
	r := &line{Request: asked, Answer: a}
	for p, err := range next.call(ctx, req) {
		if err == nil {
			a.Pieces, a.Stop, a.Model, a.Usage = append(a.Pieces, p.Text), p.Stop, p.Model, usage(p.Usage)
		}
		if more := yield(p, err); err != nil || !more {
			if err == nil && p.Stop != "" {
				_ = rec.write(r) // the caller has left; the next call returns this error
			}
			return
		}
	}
	if err := rec.write(r); err != nil {
		yield(nil, err)
	}
}

// write writes a call without its secrets. The header goes with the first call, so
// a recorder without calls leaves its file empty.
func (rec *recorder) write(r *line) error {
	rec.opts.cleanAnswer(r.Answer)
	text := encode(r)
	if len(text) > maxLine { // Replay would refuse the file
		return &store.LimitError{Field: "line of recorded calls", Limit: maxLine, Got: len(text)}
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.err == nil {
		if _, err := rec.w.Write(append(rec.header, text...)); err != nil {
			rec.err = fmt.Errorf("model: record: %w", err)
		}
		rec.header = nil
	}
	return rec.err
}
