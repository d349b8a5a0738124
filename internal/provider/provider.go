// Package provider is what the adapters of model providers share: the bounds of
// what they read, and the [reason.ModelError] that a failed call becomes.
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

	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Bounds of what is read of a body, in bytes. Escapes of JSON make a line up to
// six times as long as its text. A stream has some 300 bytes for each token, so
// maxBody is enough for 200,000 tokens.
const (
	maxLine = 8 << 20
	maxBody = 64 << 20
)

// maxMessage is how many bytes of a provider's message an error quotes.
const maxMessage = 1 << 10

// Do sends req by next. It bounds the body of an answer with a status of 2xx, and
// makes an error of every other answer, and of a web page. Do has the form of the
// SDKs' middleware, because there it sees a failure before the SDK rewrites it.
func Do(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	resp, err := next(req)
	if err != nil {
		return nil, Fail(req.Context(), err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		// A proxy before the provider refuses in a form of its own. When the body
		// cannot be read, the error has the status alone.
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		return nil, statusError(req, resp, text)
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/html" {
		resp.Body.Close()
		return nil, &reason.ModelError{Status: resp.StatusCode, Err: errWebPage}
	}
	resp.Body = &body{ReadCloser: resp.Body}
	return resp, nil
}

var errWebPage = errors.New("the answer is a web page: is the address right?")

// body reads up to maxLine and maxBody. A failure to read is a cutError.
type body struct {
	io.ReadCloser
	line, all int // bytes read so far, of the last line and of all
}

func (b *body) Read(p []byte) (int, error) {
	switch {
	case b.line > maxLine:
		return 0, tooLong("line of a model's answer", maxLine)
	case b.all > maxBody:
		return 0, tooLong("body of a model's answer", maxBody)
	}
	// Small reads exceed the bounds by 64 KiB at most.
	n, err := b.ReadCloser.Read(p[:min(len(p), 64<<10)])
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

// cutError is a failure to read an answer; a failure to decode it is not one.
type cutError struct{ error }

func (e *cutError) Unwrap() error { return e.error }

// Text counts the bytes of an answer that comes in pieces.
type Text struct{ n int }

// Add counts a piece. It fails when the pieces exceed reason.MaxAnswer.
func (t *Text) Add(piece string) error {
	if t.n += len(piece); t.n > reason.MaxAnswer {
		return &reason.ModelError{Err: tooLong("text of a model's answer", reason.MaxAnswer)}
	}
	return nil
}

func tooLong(field string, limit int) error {
	// The rest was not read, so Got is the least that it can be.
	return &store.LimitError{Field: field, Limit: limit, Got: limit + 1}
}

// Fail returns the error of a call that failed without an answer of the provider:
// ctx or a time limit of the client ended, a connection failed or was cut, or the
// answer could not be decoded. A stream that ends before its answer does failed by
// io.ErrUnexpectedEOF. Unless ctx has ended, a *reason.ModelError in err is returned as it is; else
// of it its Usage alone.
// Addresses are left out of errors of net/http, since they can hold keys.
func Fail(ctx context.Context, err error) error {
	e, ok := errors.AsType[*reason.ModelError](err)
	if ended := ctx.Err(); ended != nil && ok {
		return &reason.ModelError{Err: ended, Usage: e.Usage}
	} else if ended != nil {
		return &reason.ModelError{Err: ended}
	} else if ok {
		return e
	}
	if err == io.EOF { // of a decoder, which wanted more
		err = io.ErrUnexpectedEOF
	}
	sent, isURL := errors.AsType[*url.Error](err)
	if isURL {
		err = sent.Err
	}
	again, after := reason.Retryable(err)
	again = again || cut(err) || errors.Is(err, context.DeadlineExceeded) || isURL && !permanent(sent)
	return &reason.ModelError{Again: again, After: after, Err: clean{err}}
}

// None returns the error of an answer with a status of 2xx and no text. It quotes
// the error in the body, where one stands in the form of other statuses.
func None(text []byte) error {
	code, message := complaint(text)
	if message == "" {
		message = "the answer is empty"
	}
	return &reason.ModelError{Code: quote(code), Again: true, Err: errors.New(quote(message))}
}

// Told returns the error in an answer with a status of 2xx that has a text too, as of one
// that failed half-way; nil if there is none.
func Told(text string) error {
	if _, message := complaint([]byte(text)); message == "" {
		return nil
	}
	return None([]byte(text))
}

// Costing returns err with what the call has cost all the same, if err is a
// *reason.ModelError that does not say.
func Costing(err error, used reason.Usage) error {
	e, ok := err.(*reason.ModelError)
	if !ok || e.Usage != (reason.Usage{}) {
		return err
	}
	said := *e // the host's own may be shared
	said.Usage = used
	return &said
}

// cut reports whether err says that an answer was cut off.
func cut(err error) bool {
	if _, ok := errors.AsType[*store.LimitError](err); ok {
		return false
	}
	if _, ok := errors.AsType[*cutError](err); ok || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return true
	}
	s, ok := errors.AsType[*json.SyntaxError](err)
	return ok && s.Error() == "unexpected end of JSON input"
}

// permanent reports whether another try fails in the same way: the certificate of
// the server is bad, or the client does not know the scheme of the address.
func permanent(err *url.Error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	return certificate || strings.Contains(err.Err.Error(), "unsupported protocol scheme")
}

// clean is an error with a text without secrets.
type clean struct{ error }

func (e clean) Error() string { return quote(e.error.Error()) }
func (e clean) Unwrap() error { return e.error }

// statusError returns the error of an answer with a status other than 2xx.
func statusError(req *http.Request, resp *http.Response, text []byte) error {
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

// complaint returns the code and the message of a provider's error. It reads
// {"error":{"message":…}} with a code or a type, and {"error":"…"}. In a text of
// another form both are empty.
func complaint(text []byte) (code, message string) {
	var whole struct{ Error json.RawMessage }
	_ = json.Unmarshal(text, &whole) // of another form: Error is empty
	var parts struct {
		Code, Type any
		Message    string
	}
	if json.Unmarshal(whole.Error, &parts) != nil {
		_ = json.Unmarshal(whole.Error, &message) // neither: it is empty
	}
	for _, v := range []any{parts.Code, parts.Type} {
		if s, ok := v.(string); ok && code == "" {
			code = s
		}
	}
	return code, parts.Message + message
}

// again reports whether another try may help after a status. X-Should-Retry, of
// OpenAI and Anthropic, decides where it is set. A spent quota is a 429 that lasts.
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

// after returns the wait that a provider asks for, or 0. Retry-After-Ms (OpenAI)
// has milliseconds; Retry-After has seconds or a date (RFC 9110, 10.2.3). A date
// counts from the Date of the answer, so that the clocks need not agree.
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

// duration returns n units, at most the longest Duration. It returns 0 when n is
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

// without returns message with "[key]" for each credential of the request.
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

// quote returns a provider's words for an error: valid UTF-8, without secrets, of
// at most maxMessage bytes.
func quote(s string) string {
	var secrets redact.Sanitizer
	return text.Shorten(secrets.Sanitize(strings.ToValidUTF8(s[:min(len(s), 64<<10)], "\uFFFD")), maxMessage)
}

// System returns instructions that ask for JSON by the schema, for providers that
// take no schema. Instructions that hold the schema already are returned as they
// are.
func System(instructions string, schema json.RawMessage) string {
	if schema == nil || strings.Contains(instructions, string(schema)) {
		return instructions
	}
	return strings.TrimSpace(instructions + "\n\nAnswer with one JSON object, and nothing else: " +
		"no fences and no words around it. It must satisfy this JSON Schema:\n" + string(schema))
}
