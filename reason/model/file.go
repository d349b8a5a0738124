package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// A file of recorded calls has one JSON object in each line: a header, then the
// calls in the order in which they ended. Files may be put one behind another.
const (
	fileKind    = "model calls"
	fileVersion = 1
	maxLine     = 16 << 20
)

// header is the first line.
type header struct {
	Arc     string `json:"arc"`
	Version int    `json:"version"`
	Streams bool   `json:"streams"` // the model does
}

// record is one call.
type record struct {
	Request *request `json:"request"`
	Answer  *answer  `json:"answer,omitempty"` // also what came before an error
	Error   *failure `json:"error,omitempty"`
	Left    bool     `json:"left,omitempty"` // the caller broke the stream off
}

type request struct {
	System      string          `json:"system,omitempty"`
	Messages    []message       `json:"messages,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	MaxTokens   int             `json:"max_tokens,omitempty"`
	Temperature *float64        `json:"temperature,omitempty"`
}

type message struct {
	Role string `json:"role"`
	Text string `json:"text"`
}

type answer struct {
	Pieces []string    `json:"pieces"` // one, unless it was streamed
	Stop   reason.Stop `json:"stop,omitempty"`
	Model  string      `json:"model,omitempty"`
	Usage  *usage      `json:"usage,omitempty"`
}

type usage struct {
	TokensIn   int     `json:"in,omitempty"`
	TokensOut  int     `json:"out,omitempty"`
	CostUSD    float64 `json:"cost_usd,omitempty"`
	APICostUSD float64 `json:"api_cost_usd,omitempty"`
}

type failure struct {
	Text   string `json:"text"`
	Model  bool   `json:"model_error,omitempty"` // it was a *reason.ModelError
	Status int    `json:"status,omitempty"`
	Code   string `json:"code,omitempty"`
	Again  bool   `json:"again,omitempty"`
	After  string `json:"after,omitempty"` // such as "2s"
}

// requestOf is req as it is written: without secrets.
func requestOf(req *reason.Request, s *redact.Sanitizer) *request {
	r := &request{System: req.System, MaxTokens: req.MaxTokens, Schema: schemaOf(req.Schema, s)}
	if req.Temperature != nil {
		r.Temperature = new(*req.Temperature)
	}
	texts := []*string{&r.System}
	for _, m := range req.Messages {
		r.Messages = append(r.Messages, message{s.Sanitize(m.Role), m.Text})
	}
	for i := range r.Messages {
		texts = append(texts, &r.Messages[i].Text)
	}
	scrub(s, texts...)
	return r
}

// schemaOf is a schema with its keys in order; one that is not JSON becomes a
// string.
func schemaOf(schema json.RawMessage, s *redact.Sanitizer) json.RawMessage {
	if len(schema) == 0 {
		return nil
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil || dec.More() {
		v = s.Sanitize(string(schema))
	}
	return s.JSON(encode(v))
}

// scrub takes secrets out of texts that stand one behind another: those that
// begin in one and end in a later one, and those within one. A secret may begin
// where a text does and go on in the next, which shows only when these two are
// looked at alone. It goes on until nothing is left to do, so that what was
// scrubbed once stays as it is.
func scrub(s *redact.Sanitizer, texts ...*string) {
	texts = slices.DeleteFunc(texts, func(t *string) bool { return *t == "" })
	for range 8 {
		changed := clean(s, texts...)
		for i := range texts {
			changed = clean(s, texts[i:min(i+2, len(texts))]...) || changed
			changed = clean(s, texts[i]) || changed
		}
		if !changed {
			return
		}
	}
}

// clean takes secrets out of the text that texts make up together, and reports
// whether there were any.
func clean(s *redact.Sanitizer, texts ...*string) bool {
	var joined strings.Builder
	for _, t := range texts {
		joined.WriteString(*t)
	}
	before := joined.String()
	after := s.Sanitize(before)
	if after == before {
		return false
	}
	spread(before, after, texts)
	return true
}

// spread replaces texts, which joined are before, by such as joined are after,
// in which tokens stand for secrets. What stays goes where it was, and a token
// to the text in which the secret begins. If the two cannot be laid side by
// side, all goes to the first text: what is joined is without secrets, however
// it is cut.
func spread(before, after string, texts []*string) {
	out := make([]strings.Builder, len(texts))
	at, end := 0, len(*texts[0]) // the text that is written to, and where it ends in before
	put := func(pos int, s string, whole bool) {
		for s != "" {
			for pos >= end && at < len(texts)-1 {
				at++
				end += len(*texts[at])
			}
			n := len(s)
			if !whole && at < len(texts)-1 {
				n = min(n, end-pos)
			}
			out[at].WriteString(s[:n])
			s, pos = s[n:], pos+n
		}
	}
	pos, rest := 0, after // how far before and after are done
	for rest != "" {
		token := redacted.FindStringIndex(rest)
		if token == nil {
			token = []int{len(rest), len(rest)}
		}
		keep := rest[:token[0]]
		found := strings.Index(before[pos:], keep)
		if token[0] == len(rest) { // the end of all
			found = len(before) - pos - len(keep)
		}
		if found < 0 || !strings.HasPrefix(before[pos+found:], keep) {
			*texts[0] = after
			for _, t := range texts[1:] {
				*t = ""
			}
			return
		}
		put(pos+found, keep, false)
		pos += found + len(keep)
		put(pos, rest[token[0]:token[1]], true)
		rest = rest[token[1]:]
	}
	for i, t := range texts {
		*t = out[i].String()
	}
}

// redacted is what a sanitizer puts in place of a secret.
var redacted = regexp.MustCompile(`\[REDACTED:[a-z0-9_]+\]`)

// request is r as a model gets it.
func (r *request) request() *reason.Request {
	req := &reason.Request{System: r.System, Schema: r.Schema, MaxTokens: r.MaxTokens, Temperature: r.Temperature}
	for _, m := range r.Messages {
		req.Messages = append(req.Messages, reason.Message(m))
	}
	return req
}

// failureOf is err as it is written.
func failureOf(err error) *failure {
	f := &failure{Text: err.Error()}
	var after time.Duration
	f.Again, after = reason.Retryable(err)
	if after > 0 {
		f.After = after.String()
	}
	if e, ok := errors.AsType[*reason.ModelError](err); ok {
		f.Model, f.Status, f.Code, f.Text = true, e.Status, e.Code, ""
		if e.Err != nil {
			f.Text = e.Err.Error()
		}
	}
	return f
}

// error is f as a model gives it.
func (f *failure) error() error {
	after, err := time.ParseDuration(f.After)
	if err != nil {
		after = 0 // "", since others are refused when a file is read
	}
	if f.Model {
		e := &reason.ModelError{Status: f.Status, Code: f.Code, Again: f.Again, After: after}
		if f.Text != "" {
			e.Err = errors.New(f.Text)
		}
		return e
	}
	return &replayed{failure: *f, after: after}
}

// replayed is an error of which only the text is known, and what to do.
type replayed struct {
	failure
	after time.Duration
}

func (e *replayed) Error() string             { return e.Text }
func (e *replayed) Is(target error) bool      { return target == reason.ErrModel }
func (e *replayed) Retryable() bool           { return e.Again }
func (e *replayed) RetryAfter() time.Duration { return e.after }

// FileError says where a file of recorded calls cannot be read. It wraps
// store.ErrNewer if a newer version of arc has written it, store.ErrDamaged if a
// line is not as it was written, a *store.LimitError if it is too long, or what
// the reader says; else the file is none of recorded calls.
type FileError struct {
	Line int // from 1
	Err  error
}

// Error is the text of the error.
func (e *FileError) Error() string { return fmt.Sprintf("recorded calls: line %d: %v", e.Line, e.Err) }

// Unwrap returns Err.
func (e *FileError) Unwrap() error { return e.Err }

var errForeign = errors.New("not a file of recorded calls")

// readFile reads recorded calls, and whether their model streams.
func readFile(r io.Reader) (records []*record, streams bool, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 0
	fail := func(err error) ([]*record, bool, error) { return nil, false, &FileError{Line: n, Err: err} }
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		var h header
		isHeader := strict(line, &h) == nil
		switch {
		case isHeader && h.Arc == fileKind && h.Version == fileVersion:
			streams = streams || h.Streams
			continue
		case isHeader && h.Arc == fileKind && h.Version > fileVersion:
			return fail(fmt.Errorf("%w: version %d", store.ErrNewer, h.Version))
		case n == 1:
			return fail(errForeign)
		}
		rec := new(record)
		if err := strict(line, rec); err != nil {
			return fail(fmt.Errorf("%w: %w", store.ErrDamaged, err))
		}
		if err := rec.check(); err != nil {
			return fail(fmt.Errorf("%w: %w", store.ErrDamaged, err))
		}
		records = append(records, rec)
	}
	n++
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

// strict decodes one JSON object without unknown fields into v.
func strict(line []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("more than one value")
	}
	return nil
}

func (rec *record) check() error {
	switch a := rec.Answer; {
	case rec.Request == nil:
		return errors.New("no request")
	case a == nil && rec.Error == nil:
		return errors.New("neither answer nor error")
	case a != nil && len(a.Pieces) == 0:
		return errors.New("an answer without pieces")
	case a != nil && a.Usage != nil && !reason.Usage(*a.Usage).Valid():
		return errors.New("usage is negative")
	case rec.Left && (a == nil || rec.Error != nil):
		return errors.New("broken off, but not within an answer")
	}
	if f := rec.Error; f != nil && f.After != "" {
		if d, err := time.ParseDuration(f.After); err != nil || d < 0 {
			return fmt.Errorf("after is %q", f.After)
		}
	}
	return nil
}

// encode writes v as one line of JSON that people can read.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // no type here can fail, and numbers are checked before
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
