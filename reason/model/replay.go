package model

import (
	"context"
	"fmt"
	"io"
	"iter"
	"sync"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
)

// ReplayOptions are those of [Replay].
type ReplayOptions struct {
	// Sanitizer is the one with which the calls were recorded; nil: the built-in
	// kinds.
	Sanitizer *redact.Sanitizer

	// Normalize takes out of a request what differs from run to run, such as a
	// path in a prompt. It gets its own copy, of recorded requests and of those
	// asked, without secrets. nil: requests have to be equal in everything.
	//
	// Those of an Agent are if its Options.Now and Seed are those of the
	// recorded runs: prompts show the dates of memories. The delimiters in them
	// are drawn from all texts, so what takes out one text takes out these too.
	Normalize func(req *reason.Request)
}

// Replay returns a model that answers from calls that [Record] has written: to
// a request, once its secrets are taken out, with what was recorded for an equal
// one. Requests that were recorded several times get the answers in their
// order. Errors come back with what [reason.Retryable] says of them, and as
// [reason.ModelError] if they were such. It streams if the recorded model did,
// in the recorded pieces; a call that was recorded as a stream can be made
// whole, and the other way round.
//
// A request for which there is no answer, or none left, is a *[MissError]. A
// file that cannot be read is a *[FileError].
func Replay(r io.Reader, opts *ReplayOptions) (reason.Model, error) {
	p := &player{byKey: map[string][]*record{}, given: map[string]int{}}
	if opts != nil {
		p.opts = *opts
	}
	records, streams, err := readFile(r)
	if err != nil {
		return nil, err
	}
	p.records = records
	for _, rec := range records {
		key := p.key(rec.Request.request())
		p.byKey[key] = append(p.byKey[key], rec)
	}
	if streams {
		return &streamingPlayer{p}, nil
	}
	return p, nil
}

// player answers whole.
type player struct {
	opts    ReplayOptions
	records []*record
	byKey   map[string][]*record

	mu    sync.Mutex
	given map[string]int // guarded by mu: how many answers of a key were given
}

// streamingPlayer answers in pieces too.
type streamingPlayer struct{ *player }

// key is what makes requests equal.
func (p *player) key(req *reason.Request) string {
	w := requestOf(req, p.opts.Sanitizer)
	if p.opts.Normalize != nil {
		own := w.request()
		p.opts.Normalize(own)
		w = requestOf(own, p.opts.Sanitizer)
	}
	return string(encode(w))
}

// Generate gives the recorded answer whole.
func (p *player) Generate(ctx context.Context, req *reason.Request) (*reason.Response, error) {
	return join(p.play(ctx, req))
}

// Stream gives the recorded answer in its pieces.
func (p *streamingPlayer) Stream(ctx context.Context, req *reason.Request) iter.Seq2[*reason.Response, error] {
	return p.play(ctx, req)
}

func (p *player) play(ctx context.Context, req *reason.Request) pieces {
	return func(yield func(*reason.Response, error) bool) {
		rec, err := p.next(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		if a := rec.Answer; a != nil {
			for i, text := range a.Pieces {
				resp := &reason.Response{Text: text}
				if i == len(a.Pieces)-1 && rec.Error == nil && !rec.Left {
					resp.Stop, resp.Model = a.Stop, a.Model
					if a.Usage != nil {
						resp.Usage = reason.Usage(*a.Usage)
					}
				}
				if err := ctx.Err(); err != nil {
					yield(nil, err)
					return
				}
				if !yield(resp, nil) {
					return
				}
			}
		}
		switch {
		case rec.Error != nil:
			yield(nil, rec.Error.error())
		case rec.Left:
			yield(nil, fmt.Errorf("%w: the stream was broken off here when it was recorded", reason.ErrModel))
		}
	}
}

// next takes the next record for req.
func (p *player) next(ctx context.Context, req *reason.Request) (*record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	key := p.key(req)
	recs := p.byKey[key]
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.given[key]
	if n == len(recs) {
		return nil, &MissError{Recorded: n, Diff: p.nearest(key)}
	}
	p.given[key]++
	return recs[n], nil
}

// MissError is the error of a request that was not recorded, or not so often.
type MissError struct {
	Recorded int    // how often it was
	Diff     string // if never: how it differs from the nearest one that was, in lines behind "-" (recorded) and "+" (asked)
}

// Error is the text of the error.
func (e *MissError) Error() string {
	switch {
	case e.Recorded > 0:
		return fmt.Sprintf("replay: the request was recorded %d times, and is made once more", e.Recorded)
	case e.Diff == "":
		return "replay: the request was not recorded; nothing was"
	}
	return "replay: the request was not recorded; it differs from the nearest one that was:\n" + e.Diff
}

// Is reports that a MissError is a [reason.ErrModel].
func (e *MissError) Is(target error) bool { return target == reason.ErrModel }

// nearest returns the shortest difference between a recorded request and key,
// the first of equals.
func (p *player) nearest(key string) string {
	if len(p.byKey[key]) > 0 {
		return ""
	}
	asked := linesOf(key)
	best, fewest := "", -1
	for _, rec := range p.records {
		lines, n := difference(linesOf(p.key(rec.Request.request())), asked)
		if fewest < 0 || n < fewest {
			best, fewest = lines, n
		}
	}
	return best
}
