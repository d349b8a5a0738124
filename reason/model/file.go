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

// line is one line: the header, or a call that was answered. The types below differ
// from those of reason in the names of their fields only, so that reason can
// rename its own.
type line struct {
	Arc     string `json:"arc,omitempty"`
	Version int    `json:"version,omitempty"`
	Streams *bool  `json:"streams,omitempty"` // the recorded model does, so the replayed one does

	Request *request `json:"request,omitempty"`
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
	Pieces []string `json:"pieces"` // one, unless it was streamed
	Stop   string   `json:"stop,omitempty"`
	Model  string   `json:"model,omitempty"`
	Usage  usage    `json:"usage,omitzero"`
}

type usage struct {
	TokensIn   int     `json:"in,omitempty"`
	TokensOut  int     `json:"out,omitempty"`
	CostUSD    float64 `json:"cost_usd,omitempty"`
	APICostUSD float64 `json:"api_cost_usd,omitempty"`
	CacheRead  int     `json:"cache_read,omitempty"`
	CacheWrite int     `json:"cache_write,omitempty"`
}

// readFile returns the calls of a recording, and whether its model streams. The
// first line must be a header; a line that is not as it was written is an error,
// so that a test never runs on half of its recording.
func readFile(r io.Reader) (calls []line, streams bool, err error) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	n := 1
	for ; err == nil && in.Scan(); n++ {
		var l line
		bad := json.Unmarshal(in.Bytes(), &l)
		switch {
		case l.Arc == fileKind && l.Version > fileVersion:
			err = fmt.Errorf("%w: version %d", store.ErrNewer, l.Version)
		case l.Arc == fileKind && l.Version == fileVersion && bad == nil:
			streams = streams || l.Streams != nil && *l.Streams
		case n == 1:
			err = errForeign
		case bad != nil || !l.isCall():
			err = fmt.Errorf("%w: %w", store.ErrDamaged, cmp.Or(bad, errors.New("not a recorded call")))
		case l.Error == nil && !l.Left:
			calls = append(calls, l)
		}
	}
	if err != nil {
		n--
	} else if err = in.Err(); errors.Is(err, bufio.ErrTooLong) {
		err = &store.LimitError{Field: "line of recorded calls", Limit: maxLine, Got: maxLine + 1}
	} else if err == nil && n == 1 {
		err = errForeign
	}
	if err != nil {
		return nil, false, fmt.Errorf("recorded calls: line %d: %w", n, err)
	}
	return calls, streams, nil
}

var errForeign = errors.New("not a file of recorded calls")

// isCall reports whether a call has what it must have.
func (l *line) isCall() bool {
	a := l.Answer
	return l.Request != nil && (a != nil || l.Error != nil) &&
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
