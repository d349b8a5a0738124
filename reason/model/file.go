package model

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// A recording has one JSON object in each line: a header, then the calls in the
// order in which they ended.
//
//	{"arc":"model calls","version":1,"streams":true}
//	{"request":{"system":"Be brief.","max_tokens":10},"answer":{"pieces":["forty","-two"],"stop":"end"}}
//
// Recordings may be put one behind another, header and all. A reader ignores
// fields that it does not know; a change that it must not ignore raises the
// version.
const (
	fileKind    = "model calls"
	fileVersion = 1
	maxLine     = 16 << 20
)

// header is the first line. Streams says whether the recorded model does, so that
// the replayed one can be called in the same ways.
type header struct {
	Arc     string `json:"arc"`
	Version int    `json:"version"`
	Streams bool   `json:"streams"`
}

// record is one call that was answered. The types below differ from those of
// reason in the names of their fields only, so that reason can rename its own.
type record struct {
	Request *request `json:"request"`
	Answer  *answer  `json:"answer,omitempty"`

	// Earlier versions of arc wrote failed calls too. Replay passes them over.
	Error json.RawMessage `json:"error,omitempty"`
	Left  bool            `json:"left,omitempty"`
}

type request struct {
	System      string           `json:"system,omitempty"`
	Messages    []reason.Message `json:"messages,omitempty"`
	Schema      json.RawMessage  `json:"schema,omitempty"`
	MaxTokens   int              `json:"max_tokens,omitempty"`
	Temperature *float64         `json:"temperature,omitempty"`
}

type answer struct {
	Pieces []string    `json:"pieces"` // one, unless it was streamed
	Stop   reason.Stop `json:"stop,omitempty"`
	Model  string      `json:"model,omitempty"`
	Usage  usage       `json:"usage,omitzero"`
}

type usage struct {
	TokensIn   int     `json:"in,omitempty"`
	TokensOut  int     `json:"out,omitempty"`
	CostUSD    float64 `json:"cost_usd,omitempty"`
	APICostUSD float64 `json:"api_cost_usd,omitempty"`
}

// readFile returns the calls of a recording, and whether its model streams. The
// first line must be a header; a line that is not as it was written is an error,
// so that a test never runs on half of its recording.
func readFile(r io.Reader) (records []*record, streams bool, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 1
	fail := func(err error) ([]*record, bool, error) {
		return nil, false, fmt.Errorf("recorded calls: line %d: %w", n, err)
	}
	for ; lines.Scan(); n++ {
		var line struct {
			header
			record
		}
		err := json.Unmarshal(lines.Bytes(), &line)
		switch {
		case line.Arc == fileKind && line.Version > fileVersion:
			return fail(fmt.Errorf("%w: version %d", store.ErrNewer, line.Version))
		case line.Arc == fileKind && line.Version == fileVersion && err == nil:
			streams = streams || line.Streams
		case n == 1:
			return fail(errForeign)
		case err != nil || !line.isCall():
			return fail(fmt.Errorf("%w: %w", store.ErrDamaged, cmp.Or(err, errInvalid)))
		case line.Error == nil && !line.Left:
			records = append(records, &line.record)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fail(&store.LimitError{Field: "line of recorded calls", Limit: maxLine, Got: maxLine + 1})
	case err != nil:
		return fail(err)
	case n == 1:
		return fail(errForeign)
	}
	return records, streams, nil
}

var (
	errForeign = errors.New("not a file of recorded calls")
	errInvalid = errors.New("not a recorded call")
)

// isCall reports whether a record has what it must have.
func (r *record) isCall() bool {
	a := r.Answer
	return r.Request != nil && (a != nil || r.Error != nil) &&
		(a == nil || len(a.Pieces) > 0 && reason.Usage(a.Usage).Valid())
}

// encode returns v as one line of JSON, without escapes of HTML.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// JSON lacks NaN and the infinities: RecordingOptions.wire refuses a temperature
	// and reason.Usage.Valid a cost of these.
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return b.Bytes()
}
