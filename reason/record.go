package reason

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/schema"
)

// recorded is a call of a Model in a recording, a line of JSON.
type recorded struct {
	Request  json.RawMessage
	Response *Response
}

// Record returns m with calls that are written to w for [Replay], a line of JSON each when it was answered:
// one that failed is not there. What is in a prompt is in the recording.
func Record(m Model, w io.Writer) Model {
	var mu sync.Mutex
	return ModelFunc(func(ctx context.Context, r *Request) (*Response, error) {
		resp, err := Generate(ctx, m, r)
		if err != nil {
			return nil, err
		}
		raw, err := schema.Marshal(r)
		line, err2 := schema.Marshal(recorded{raw, resp})
		mu.Lock()
		defer mu.Unlock()
		if err = cmp.Or(err, err2); err == nil {
			_, err = w.Write(append(line, '\n'))
		}
		if err != nil {
			return nil, fmt.Errorf("recording: %w", err)
		}
		return resp, nil
	})
}

// Replay returns a Model that answers as a recording says: equal requests in the order in which they were
// answered. A request that is not there so often is an error.
func Replay(recording io.Reader) (Model, error) {
	tape := map[string][]*Response{}
	lines := bufio.NewScanner(recording)
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		var c recorded
		if json.Unmarshal(lines.Bytes(), &c) != nil || c.Response == nil {
			return nil, fmt.Errorf("recording: line %d is no call of a model", n)
		}
		tape[string(c.Request)] = append(tape[string(c.Request)], c.Response)
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
		return left[0], nil
	}), nil
}
