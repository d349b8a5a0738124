package model

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"sync"

	"github.com/arc-learn/arc/reason"
)

// Replay returns a model that answers from a file that [Record] has written. A
// request gets the answer that was recorded for an equal one, both normalized and
// without secrets. A request that was recorded several times gets the answers in
// their order.
//
// The model streams if the recorded one did, in the recorded pieces. A call that
// was recorded as a stream can be made whole, and the other way round.
//
// A request without an answer, or with none left, is a *[MissError]. Replay fails
// on a file that it cannot read, with the line: store.ErrNewer for one of a newer
// version of arc, store.ErrDamaged for a line that is not as it was written, a
// *store.LimitError for one over 16 MiB.
func Replay(r io.Reader, opts *RecordingOptions) (reason.Model, error) {
	p := &player{opts: *cmp.Or(opts, new(RecordingOptions)), tapes: map[string][]*answer{}, given: map[string]int{}}
	records, streams, err := readFile(r)
	if err != nil {
		return nil, err
	}
	for _, rec := range records {
		_, key, err := p.opts.wire((*reason.Request)(rec.Request))
		if err != nil {
			return nil, err
		}
		p.tapes[key] = append(p.tapes[key], rec.Answer)
	}
	if !streams {
		return reason.ModelFunc(p.Generate), nil
	}
	return p, nil
}

// player is a model that answers from a recording. The answers are shared by all
// calls and never changed.
type player struct {
	opts RecordingOptions

	mu    sync.Mutex
	tapes map[string][]*answer // by key of the request, in order
	given map[string]int       // guarded by mu: how many of them
}

// Generate returns the recorded answer whole.
func (p *player) Generate(ctx context.Context, req *reason.Request) (*reason.Response, error) {
	return join(p.Stream(ctx, req))
}

// Stream yields the recorded answer in its pieces.
func (p *player) Stream(ctx context.Context, req *reason.Request) iter.Seq2[*reason.Response, error] {
	return func(yield func(*reason.Response, error) bool) {
		a, err := p.next(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		for i, text := range a.Pieces {
			resp := &reason.Response{Text: text}
			if i == len(a.Pieces)-1 {
				resp.Stop, resp.Model, resp.Usage = a.Stop, a.Model, reason.Usage(a.Usage)
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
}

// next returns the next answer to req. It counts as given when it is looked up,
// also when the caller breaks off: a repeated run makes equal calls.
func (p *player) next(ctx context.Context, req *reason.Request) (*answer, error) {
	if err := check(ctx, req); err != nil {
		return nil, err
	}
	_, key, err := p.opts.wire(req)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.given[key]
	if n == len(p.tapes[key]) {
		return nil, &MissError{Request: key, Recorded: n}
	}
	p.given[key]++
	return p.tapes[key][n], nil
}

// MissError is the error of a request that was not recorded, or not so often. What
// differs shows when Request is compared with the lines of the file: often a date or
// an id in a prompt, which [RecordingOptions].Normalize can take out, or a prompt
// that has changed since, which asks for a new recording.
type MissError struct {
	Recorded int    // how often the request was recorded
	Request  string // as a line of the recording would have it, without secrets
}

// Error returns the text of the error, with the first 1,000 bytes of the Request.
func (e *MissError) Error() string {
	if e.Recorded > 0 {
		return fmt.Sprintf("replay: the request was recorded %d times, and is made once more", e.Recorded)
	}
	return "replay: the request was not recorded: " + clip(e.Request, 1000)
}

// Is reports that a MissError is a [reason.ErrModel].
func (e *MissError) Is(target error) bool { return target == reason.ErrModel }
