package reason

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/arc-learn/arc/next/internal/schema"
)

// taped is a call of a Model in a recording, a line of JSON.
type taped struct {
	Request  json.RawMessage
	Response *Response   `json:",omitempty"`
	Error    *tapedError `json:",omitempty"`
}

type tapedError struct {
	Error
	Err  string
	Kind string // "", "typed" or "ended"
}

// Record returns m with calls that are written to w for [Replay], a line of JSON each when it has ended. What is in a
// prompt is in the recording.
func Record(m Model, w io.Writer) Model {
	var mu sync.Mutex
	return ModelFunc(func(ctx context.Context, r *Request) (*Response, error) {
		resp, err := Generate(ctx, m, r)
		key, bad := schema.Marshal(r)
		if bad != nil {
			return nil, bad
		}
		call := taped{Request: key, Response: resp}
		if err != nil {
			call.Error = &tapedError{Err: err.Error()}
			if e, ok := errors.AsType[*Error](err); ok {
				call.Error.Error, call.Error.Kind = *e, "typed"
				call.Error.Err = e.Err.Error()
			}
		}
		line, bad := schema.Marshal(call)
		if bad != nil {
			return nil, bad
		}
		mu.Lock()
		defer mu.Unlock()
		if _, bad := w.Write(append(line, '\n')); bad != nil {
			return nil, fmt.Errorf("recording: %w", bad)
		}
		return resp, err
	})
}

// ErrNotRecorded is the error of a request that a recording lacks, or has not so often.
var ErrNotRecorded = errors.New("the request is not in the recording")

// Replay returns a Model that answers as a recording says: equal requests in the order in which they were answered.
func Replay(recording io.Reader) (Model, error) {
	tape := map[string][]taped{}
	lines := bufio.NewScanner(recording)
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		var c taped
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil || c.Response == nil && c.Error == nil {
			return nil, fmt.Errorf("recording: line %d is no call of a model: %w", n, err)
		}
		tape[string(c.Request)] = append(tape[string(c.Request)], c)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	var mu sync.Mutex
	return ModelFunc(func(ctx context.Context, r *Request) (*Response, error) {
		key, err := schema.Marshal(r)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		left := tape[string(key)]
		if len(left) == 0 {
			return nil, fmt.Errorf("%w: %s", ErrNotRecorded, clip(string(key), maxTold))
		}
		tape[string(key)] = left[1:]
		c := left[0]
		switch {
		case c.Response != nil:
			return c.Response, nil
		case c.Error.Kind == "":
			return nil, errors.New(c.Error.Err)
		}
		e := c.Error.Error
		e.Err = errors.New(c.Error.Err)
		return nil, &e
	}), nil
}
