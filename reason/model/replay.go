package model

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
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
	p := &player{calls: map[string][]*record{}, given: map[string]int{}}
	if opts != nil {
		p.opts = *opts
	}
	records, streams, err := readFile(r)
	if err != nil {
		return nil, err
	}
	for _, rec := range records {
		key, err := p.key((*reason.Request)(rec.Request))
		if err != nil {
			return nil, err
		}
		p.keys = append(p.keys, key)
		p.calls[key] = append(p.calls[key], rec)
	}
	if !streams {
		return reason.ModelFunc(p.Generate), nil
	}
	return p, nil
}

// player is a model that answers from records. Its records are never changed;
// given alone is.
type player struct {
	opts  RecordingOptions
	keys  []string             // of all records, in their order
	calls map[string][]*record // by key

	mu    sync.Mutex
	given map[string]int // guarded by mu: answers that were given, by key
}

// key returns what equal requests have in common.
func (p *player) key(req *reason.Request) (string, error) {
	w, err := p.opts.wire(req)
	if err != nil {
		return "", err
	}
	return string(encode(w)), nil
}

// Generate returns the recorded answer whole.
func (p *player) Generate(ctx context.Context, req *reason.Request) (*reason.Response, error) {
	return join(p.Stream(ctx, req))
}

// Stream yields the recorded answer in its pieces.
func (p *player) Stream(ctx context.Context, req *reason.Request) iter.Seq2[*reason.Response, error] {
	return func(yield func(*reason.Response, error) bool) {
		rec, err := p.next(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		a := rec.Answer
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

// next returns the next recorded call of req. A call counts as given when it is
// looked up, also when the caller breaks off: a repeated run makes equal calls.
func (p *player) next(ctx context.Context, req *reason.Request) (*record, error) {
	if err := check(ctx, req); err != nil {
		return nil, err
	}
	key, err := p.key(req)
	if err != nil {
		return nil, err
	}
	recs := p.calls[key]
	if len(recs) == 0 {
		return nil, &MissError{Diff: p.nearest(key)}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.given[key]
	if n == len(recs) {
		return nil, &MissError{Recorded: n}
	}
	p.given[key]++
	return recs[n], nil
}

// MissError is the error of a request that was not recorded, or not so often.
type MissError struct {
	Recorded int // how often the request was recorded

	// Diff shows where a request that was never recorded departs from the recorded
	// one that begins most like it: a line behind "- " (recorded) and one behind
	// "+ " (asked), of 80 bytes each. "": nothing was recorded.
	Diff string
}

// Error returns the text of the error, with the Diff.
func (e *MissError) Error() string {
	switch {
	case e.Recorded > 0:
		return fmt.Sprintf("replay: the request was recorded %d times, and is made once more", e.Recorded)
	case e.Diff == "":
		return "replay: the request was not recorded; nothing was"
	}
	return "replay: the request was not recorded; it departs from the nearest one:\n" + e.Diff
}

// Is reports that a MissError is a [reason.ErrModel].
func (e *MissError) Is(target error) bool { return target == reason.ErrModel }

// nearest returns the Diff of a MissError for a request with this key. Requests
// are compared byte by byte in the form in which they are written: the system
// prompt comes first, so requests of one kind begin alike. The shown part begins 20
// bytes before the difference.
func (p *player) nearest(key string) string {
	best, same := "", -1
	for _, k := range p.keys {
		n := 0
		for n < min(len(k), len(key)) && k[n] == key[n] {
			n++
		}
		if n > same {
			best, same = k, n
		}
	}
	if same < 0 {
		return ""
	}
	from := max(0, same-20)
	show := func(s string) string { return strings.ToValidUTF8(strings.TrimSpace(s[from:min(len(s), from+80)]), "") }
	return "- " + show(best) + "\n+ " + show(key)
}
