package reason

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/store"
)

// MaxAnswer is the largest text of an answer, in bytes.
const MaxAnswer = 1 << 20

// Generate calls m, and makes an error of all that is no answer, so that a
// caller has a Response or an error and never both: a nil model, a panic, no
// Response, one with an error, and one whose text is over [MaxAnswer] (a
// *store.LimitError; its cost is the [ModelError]'s). Every error is an [ErrModel], but once ctx has ended it
// wraps the error of ctx alone, and errors.As finds a ModelError in it if the call has cost something all the
// same. A Usage that is not valid comes back as none.
//
// It runs m in the caller's goroutine, and so waits for one that ignores ctx:
// reason/model has a Timeout for those.
func Generate(ctx context.Context, m Model, req *Request) (*Response, error) {
	if err := store.CheckContext(ctx); err != nil {
		return nil, err
	}
	if guard.IsNil(m) {
		return nil, fmt.Errorf("%w: there is none", ErrModel)
	}
	var resp *Response
	var err error
	if p := guard.Call(func() {
		resp, err = m.Generate(ctx, req)
		err = guard.Error(err, ErrModel)
	}); p != nil {
		err = p
	}
	if err != nil {
		return nil, failure(ctx, err)
	}
	return usable(resp, 0)
}

// Stream calls s, and makes an error of all that is no answer, as [Generate]
// does. The bound of [MaxAnswer] is on all pieces together. It also ends
// streams that go on after ctx has ended or after an error, and makes an error
// of one without any piece, and of one that ended with ctx and without a Stop.
func Stream(ctx context.Context, s Streamer, req *Request) iter.Seq2[*Response, error] {
	return func(yield func(*Response, error) bool) {
		if err := store.CheckContext(ctx); err != nil {
			yield(nil, err)
			return
		}
		if guard.IsNil(s) {
			yield(nil, fmt.Errorf("%w: there is none", ErrModel))
			return
		}
		st := stream{ctx: ctx, yield: yield}
		if err := st.run(s, req); err != nil && !st.over {
			yield(nil, failure(ctx, err))
		}
	}
}

// stream passes the pieces of one call on.
type stream struct {
	ctx   context.Context
	yield func(*Response, error) bool
	// over: the caller has left the loop, or had the error. Nothing may be
	// yielded any more.
	over bool
	// inside: the caller's loop body runs. A panic is the caller's then.
	inside bool
	// size is that of the text so far, last the piece before.
	size int
	last *Response
}

// run returns what is wrong, if that has not been yielded yet.
func (st *stream) run(s Streamer, req *Request) (err error) {
	defer func() {
		if st.inside {
			return // a panic of the loop body is the caller's
		}
		if r := recover(); r != nil {
			err = guard.Recovered(r)
		}
	}()
	for resp, err := range s.Stream(st.ctx, req) {
		if !st.piece(resp, err) {
			return nil
		}
	}
	switch {
	case st.last == nil:
		return errors.New("a stream without a piece")
	case st.last.Stop == "":
		return st.ctx.Err()
	}
	return nil
}

// piece passes one piece on and reports whether to go on.
func (st *stream) piece(resp *Response, err error) bool {
	if err == nil {
		err = st.ctx.Err()
	}
	if err == nil {
		resp, err = usable(resp, st.size)
	}
	st.inside = true
	if err != nil {
		st.over = true
		st.yield(nil, failure(st.ctx, err))
	} else {
		st.size += len(resp.Text)
		st.last = resp
		st.over = !st.yield(resp, nil)
	}
	st.inside = false
	return !st.over
}

// failure is the error of a call under ctx that gave err.
func failure(ctx context.Context, err error) error {
	err = guard.Error(err, ErrModel)
	switch {
	case ctx.Err() != nil && spent(err) != Usage{}:
		return &cutOff{ctx.Err(), spent(err)}
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrModel):
		return err
	}
	return fmt.Errorf("%w: %w", ErrModel, err)
}

// cutOff is the error of a context that ended a call which has cost something.
type cutOff struct {
	error
	used Usage
}

func (c *cutOff) Unwrap() error { return c.error }

// As gives the cost as a ModelError. errors.Is finds no ErrModel: the model did not fail.
func (c *cutOff) As(target any) bool {
	e, ok := target.(**ModelError)
	if ok {
		*e = &ModelError{Err: c.error, Usage: c.used}
	}
	return ok
}

// usable returns resp if it is an answer, of which size bytes came before.
func usable(resp *Response, size int) (*Response, error) {
	if resp == nil {
		return nil, fmt.Errorf("%w: neither a response nor an error", ErrModel)
	}
	if !resp.Usage.Valid() {
		fixed := *resp // the model's own may be shared
		fixed.Usage = Usage{}
		resp = &fixed
	}
	if size += len(resp.Text); size > MaxAnswer {
		long := &store.LimitError{Field: "answer of a model", Limit: MaxAnswer, Got: size}
		return nil, &ModelError{Err: long, Usage: resp.Usage}
	}
	return resp, nil
}

// spent is what the call that gave err has cost all the same.
func spent(err error) Usage {
	if e, ok := errors.AsType[*ModelError](err); ok && e.Usage.Valid() {
		return e.Usage
	}
	return Usage{}
}
