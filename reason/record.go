package reason

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/schema"
)

// recorded is a call of a Model in a recording, a line of JSON. An error has its text in Failure.
type recorded struct {
	Request  json.RawMessage
	Response *Response `json:",omitempty"`
	Error    *Error    `json:",omitempty"`
	Failure  string    `json:",omitempty"`
}

// Record returns m with calls that are written to w for [Replay], a line of JSON each when it has ended. What
// is in a prompt is in the recording.
func Record(m Model, w io.Writer) Model {
	var mu sync.Mutex
	return ModelFunc(func(ctx context.Context, r *Request) (*Response, error) {
		resp, err := Generate(ctx, m, r)
		raw, bad := schema.Marshal(r)
		c := recorded{Request: raw, Response: resp}
		if err != nil {
			typed, _ := errors.AsType[*Error](err)
			c.Error = new(*cmp.Or(typed, &Error{Err: err}))
			c.Error.Err, c.Failure = nil, cmp.Or(c.Error.Err, err).Error()
		}
		line, bad2 := schema.Marshal(c)
		mu.Lock()
		defer mu.Unlock()
		if bad = cmp.Or(bad, bad2); bad == nil {
			_, bad = w.Write(append(line, '\n'))
		}
		if bad != nil {
			return nil, fmt.Errorf("recording: %w", bad)
		}
		return resp, err
	})
}

// Replay returns a Model that answers as a recording says: equal requests in the order in which they were
// answered. Every recorded error is an *[Error]. A request that is not there so often is an error, too.
func Replay(recording io.Reader) (Model, error) {
	tape := map[string][]recorded{}
	lines := bufio.NewScanner(recording)
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		var c recorded
		if json.Unmarshal(lines.Bytes(), &c) != nil || c.Response == nil && c.Error == nil {
			return nil, fmt.Errorf("recording: line %d is no call of a model", n)
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
			const why = "the request is not in the recording, or not so often: %s"
			return nil, fmt.Errorf(why, fence.Clip(string(key), maxTold))
		}
		tape[string(key)] = left[1:]
		if c := left[0]; c.Error != nil {
			c.Error.Err = errors.New(c.Failure)
			return nil, c.Error
		}
		return left[0].Response, nil
	}), nil
}
