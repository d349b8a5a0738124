// Package provider has what the adapters of model providers share: how failed
// calls become a [reason.ModelError], and how much of an answer is read.
package provider

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// What is read of a body, in bytes: a line, which JSON's escapes can make six times
// as long as its text, and all. In a stream each token comes with some 300 bytes
// of its own, so all is enough for 200,000 of them.
const (
	maxLine = 8 << 20
	maxBody = 64 << 20
)

// maxMessage bounds what errors quote of a provider's message, in bytes.
const maxMessage = 1 << 10

// Do calls next with a request, and makes an error of all but data with a status
// of 2xx, whose body it bounds. It has the form of the SDKs' middleware,
// and so is told of a failure before an SDK has made its own of it.
func Do(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	resp, err := next(req)
	if err != nil {
		return nil, Fail(req.Context(), err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		// Whatever stands before the provider may refuse too, in a form of its
		// own; what cannot be read says no more than the status.
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		return nil, refused(req, resp, text)
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/html" {
		resp.Body.Close()
		return nil, &reason.ModelError{Status: resp.StatusCode, Err: errors.New("the answer is a web page: is the address right?")}
	}
	resp.Body = &body{ReadCloser: resp.Body}
	return resp, nil
}

// body is one that is read up to the bounds, and whose failures are cutErrors.
type body struct {
	io.ReadCloser
	line, all int // read so far
}

func (b *body) Read(p []byte) (int, error) {
	switch {
	case b.line > maxLine:
		return 0, tooLong("line of a model's answer", maxLine)
	case b.all > maxBody:
		return 0, tooLong("body of a model's answer", maxBody)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), 64<<10)]) // so that the bounds are held closely
	b.all += n
	if end := bytes.LastIndexByte(p[:n], '\n'); end < 0 {
		b.line += n
	} else {
		b.line = n - end - 1
	}
	if err != nil && err != io.EOF {
		err = &cutError{err}
	}
	return n, err
}

// cutError is a failure to read, as opposed to one to understand.
type cutError struct{ error }

func (e *cutError) Unwrap() error { return e.error }

// Text counts the text of an answer that comes in pieces.
type Text struct{ n int }

// Add fails once the pieces are longer than reason.MaxAnswer.
func (t *Text) Add(piece string) error {
	if t.n += len(piece); t.n > reason.MaxAnswer {
		return &reason.ModelError{Err: tooLong("text of a model's answer", reason.MaxAnswer)}
	}
	return nil
}

func tooLong(field string, limit int) error {
	return &store.LimitError{Field: field, Limit: limit, Got: limit + 1} // the rest was not read
}

// Fail returns the error of a call that failed without the provider saying so:
// ctx ended, a limit of the client did, there was no connection, it was cut, or
// the answer makes no sense. It returns a *reason.ModelError in err as it is.
// The addresses that net/http puts into its errors are left out, since they
// can hold keys.
func Fail(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return &reason.ModelError{Err: ended}
	}
	if e, ok := errors.AsType[*reason.ModelError](err); ok {
		return e
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // it comes from a decoder that wanted more
	}
	sent, isURL := errors.AsType[*url.Error](err)
	if isURL {
		err = sent.Err
	}
	again, after := reason.Retryable(err)
	again = again || cut(err) || errors.Is(err, context.DeadlineExceeded) || isURL && !refusedByUs(sent)
	return &reason.ModelError{Again: again, After: after, Err: clean{err}}
}

// Cut returns the error of a stream that ended before its answer did.
func Cut() error {
	return &reason.ModelError{Again: true, Err: io.ErrUnexpectedEOF}
}

// None returns the error of an answer with a status of 2xx that holds none, with
// what the provider says in it of an error, in the form that comes with other
// statuses.
func None(text []byte) error {
	code, message := complaint(text)
	if message == "" {
		message = "the answer is empty"
	}
	return &reason.ModelError{Code: quote(code), Again: true, Err: errors.New(quote(message))}
}

// cut reports whether the answer of a provider was cut off.
func cut(err error) bool {
	if _, ok := errors.AsType[*store.LimitError](err); ok {
		return false
	}
	if _, ok := errors.AsType[*cutError](err); ok || errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	s, ok := errors.AsType[*json.SyntaxError](err)
	return ok && s.Error() == "unexpected end of JSON input"
}

// refusedByUs reports whether a request failed for a reason that will be the
// same the next time.
func refusedByUs(err *url.Error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	return certificate || strings.Contains(err.Err.Error(), "unsupported protocol scheme")
}

// clean is an error whose text has no secrets.
type clean struct{ error }

func (e clean) Error() string { return quote(e.error.Error()) }
func (e clean) Unwrap() error { return e.error }

// refused returns the error of an answer with a status that is not 2xx.
func refused(req *http.Request, resp *http.Response, text []byte) error {
	code, message := complaint(text)
	e := &reason.ModelError{
		Status: resp.StatusCode, Code: quote(code),
		Again: again(resp, code), After: after(resp.Header),
	}
	if message != "" {
		e.Err = errors.New(quote(without(req, message)))
	}
	return e
}

// complaint reads what providers say of an error: {"error":{"message":…}} with
// a code or a type, or {"error":"…"}.
func complaint(text []byte) (code, message string) {
	var whole struct{ Error json.RawMessage }
	_ = json.Unmarshal(text, &whole) // what is not of the form stays empty, here and below
	var parts struct {
		Code, Type any
		Message    string
	}
	if json.Unmarshal(whole.Error, &parts) != nil {
		_ = json.Unmarshal(whole.Error, &message) // it may be neither; then there is none
	}
	for _, v := range []any{parts.Code, parts.Type} {
		if s, ok := v.(string); ok && code == "" {
			code = s
		}
	}
	return code, parts.Message + message
}

// again says what a status means for another try. The header is one of OpenAI's
// and Anthropic's; a spent quota is a 429 that does not pass.
func again(resp *http.Response, code string) bool {
	if should, err := strconv.ParseBool(resp.Header.Get("X-Should-Retry")); err == nil {
		return should
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
		return code != "insufficient_quota"
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return resp.StatusCode >= 500
}

// after reads how long to wait: milliseconds (an OpenAI header), else seconds or
// a date (RFC 9110, 10.2.3). A date is held against that of the answer, so
// that the clocks need not agree.
func after(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return duration(ms, time.Millisecond)
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		return duration(s, time.Second)
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, until.Sub(now))
}

// duration is n units, as far as a Duration can hold them; 0 for what is
// negative or not a number.
func duration(n float64, unit time.Duration) time.Duration {
	switch n *= float64(unit); {
	case n >= math.MaxInt64:
		return math.MaxInt64
	case n > 0:
		return time.Duration(n)
	}
	return 0
}

// without returns message without the credentials that the request carried.
func without(req *http.Request, message string) string {
	for _, name := range [...]string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		value := req.Header.Get(name)
		if _, token, ok := strings.Cut(value, " "); ok {
			value = token // of a scheme such as Bearer
		}
		if value != "" {
			message = strings.ReplaceAll(message, value, "[key]")
		}
	}
	return message
}

// quote returns a provider's words as errors may carry them.
func quote(s string) string {
	var secrets redact.Sanitizer
	s = secrets.Sanitize(strings.ToValidUTF8(s[:min(len(s), 64<<10)], "\uFFFD"))
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + "…"
	}
	return s
}

// System returns instructions that also ask for JSON by the schema, for
// providers that take none. Instructions that hold the schema stay as they are.
func System(instructions string, schema json.RawMessage) string {
	if schema == nil || strings.Contains(instructions, string(schema)) {
		return instructions
	}
	return strings.TrimSpace(instructions + "\n\nAnswer with one JSON object, and nothing else: no fences and no words around it. " +
		"It must satisfy this JSON Schema:\n" + string(schema))
}
