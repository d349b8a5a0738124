package reason

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/arc-learn/arc/internal/fence"
)

// ErrorClass says what can be done about an error of a model, worker or tool.
type ErrorClass string

const (
	RateLimited ErrorClass = "rate_limited" // wait; spends no attempt
	Unavailable ErrorClass = "unavailable"  // server error, connection, timeout: another try may succeed
	Permanent   ErrorClass = "permanent"    // wrong key, wrong model, empty account: a person has to act
	Permission  ErrorClass = "permission"   // not allowed; not retried
	Invalid     ErrorClass = "invalid"      // malformed request or answer
)

// Error is an error with a class.
type Error struct {
	Class  ErrorClass    // "": a failure like any other
	Status int           // of HTTP; 0: none
	Wait   time.Duration // before another try makes sense; 0: not known
	Usage  *Usage        // what the failed call took; nil: unknown
	Err    error         `json:"-"` // in words, and part of the chain; JSON has no place for it
}

func (e *Error) Error() string {
	status, words := "", ""
	if e.Status > 0 {
		status = fmt.Sprintf("status %d", e.Status)
	}
	if e.Err != nil {
		words = e.Err.Error()
	}
	said := func(s string) bool { return s != "" }
	return strings.Join(only([]string{string(e.Class), status, words}, said), ": ")
}

func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// Classify says what can be done about an error that a model, worker or tool has returned, by its type, then
// by an HTTP status in it, then by its words; of words the specific ones decide before the general ones, and
// before a status: "403: API rate limit exceeded" is RateLimited. A typed *Error is returned as it is.
//
// It returns nil for a failure like any other, whose words tell no class, for a nil err, and for the end of a
// canceled context. Do not return that nil as an error: a nil *Error in one is not nil. Only what was
// returned as an error is read, and no output of a program that failed.
func Classify(err error) *Error {
	if err == nil || errors.Is(err, context.Canceled) {
		return nil
	}
	if e, typed := errors.AsType[*Error](err); typed {
		return e // nil where it is a typed nil
	}
	text := err.Error()
	text = text[:min(len(text), maxRead)]
	e := &Error{Status: statusIn(text), Wait: waitIn(text), Err: err}
	switch {
	case errors.Is(err, fs.ErrPermission):
		e.Class = Permission
	case errors.Is(err, context.DeadlineExceeded), unreachable(err):
		e.Class = Unavailable
	default:
		e.Class = classOf(e.Status, "", text, e.Wait > 0)
	}
	if e.Class == "" {
		return nil
	}
	return e
}

// Refusal returns the error of a provider's answer with a status that is not 2xx: its class, the code and
// words of the body, and the wait that it asks for in Retry-After, Retry-After-Ms or the body. It is for
// adapters. Other than for [Classify], a 4xx that asks for no wait is Permanent: the key, the model or the
// request is wrong, and a person has to act.
func Refusal(status int, h http.Header, body []byte) *Error {
	body = body[:min(len(body), maxRead)]
	code, words := complaint(body)
	e := &Error{Status: status, Wait: cmp.Or(waitOf(h), waitIn(string(body)))}
	e.Class = classOf(status, code, words+" "+string(body), e.Wait > 0)
	switch {
	case status >= 400 && status < 500 && (e.Class == Permission || e.Class == Invalid || e.Class == ""):
		e.Class = Permanent // the same request would be refused again
	case e.Class == "":
		e.Class = Invalid
	}
	words = cmp.Or(fence.Line(words), http.StatusText(status), "no words")
	if code != "" && !strings.Contains(words, code) {
		words = code + ": " + words
	}
	e.Err = errors.New(fence.Clip(words, maxTold))
	return e
}

// complaint returns the code and the words of a provider's error. The forms in use are an object or its list,
// with an "error" (an object or words) or the like in it.
func complaint(body []byte) (code, words string) {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer map[string]json.RawMessage
	if json.Unmarshal(body, &outer) != nil {
		return "", "" // a page of a proxy
	}
	inner := outer
	if given := outer["error"]; len(given) > 0 {
		inner = nil
		if json.Unmarshal(given, &inner) != nil {
			return "", word(given)
		}
	}
	code = word(inner["code"])
	if _, err := strconv.Atoi(code); code == "" || err == nil { // a number that repeats the status says less
		code = cmp.Or(word(inner["type"]), word(inner["status"]), code)
	}
	return fence.Clip(code, 100), cmp.Or(word(inner["message"]), word(inner["detail"]), word(inner["msg"]))
}

// word is the string or number that raw is, "" for anything else.
func word(raw json.RawMessage) (s string) {
	var n json.Number
	if json.Unmarshal(raw, &s) != nil && json.Unmarshal(raw, &n) == nil {
		s = n.String()
	}
	return s
}

// The words of errors, from the specific to the general. These, yes, no, and dates are all that words decide.
var (
	// An account without money is no rate limit, though some providers give it that status.
	emptyAccount = regexp.MustCompile(`(?i)insufficient[_ -]?(quota|balance|credit|fund)|current[_ -]quota|` +
		`credit balance is too low|payment required|billing[_ -](hard[_ -])?(limit|not[_ -]active|error)|` +
		`out of credits?|no credits? (left|remaining)|available credits|arrear|account[ _-]?overdue|欠费|余额不足`)
	// The code of an empty account decides alone. Its words are also those of a minute's quota, used up.
	emptyCode = regexp.MustCompile(
		`(?i)^(insufficient_|exceeded_current_quota|billing_|arrear|account.?overdue)`)

	tooOften = regexp.MustCompile(`(?i)rate[_ -]?limit|too[_ ]?many[_ ]?requests|throttl|request[_ -]?limit|` +
		`slow[_ ]?down|resource[_ ]exhausted|quota|(requests|tokens) per (second|minute|day)|concurrency limit`)
	// A token that has expired is refreshed by the host; the next try has a new one.
	expired = regexp.MustCompile(`(?i)(token|credentials?|session|signature|request)[a-z]*[_ ]?` +
		`(has |have |is |was |are )?expired|expired[_ -]?(token|credential|session)`)
	away = regexp.MustCompile(`(?i)overloaded|(temporarily|currently|service)[_ ]?unavailable|timed[_ ]out|` +
		`(gateway|request|i/o|connection|connect|read|handshake)[_ ]time-?out|connection (reset|refused|closed)|` +
		`broken pipe|unexpected eof|no such host|bad gateway|try again later|internal server error|` +
		`is unreachable|\b(ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EPIPE|ECONN(RESET|REFUSED|ABORTED)|E(HOST|NET)UNREACH)\b`)
	notAllowed = regexp.MustCompile(`(?i)(permission|access)[_ ]?(is )?denied|\bforbidden\b|\bE(ACCES|PERM)\b|` +
		`net/http: invalid header|not (authorized|permitted)|unauthori[zs]ed[_ ]?(operation|access)`)
)

// classOf is the table behind [Classify] and [Refusal]. Words come before a status, as providers answer 403
// to too many requests and 429 to an account without money; of words those that name one cause come first.
func classOf(status int, code, words string, waits bool) ErrorClass {
	switch {
	case emptyCode.MatchString(code), status == http.StatusPaymentRequired:
		return Permanent
	case status == http.StatusTooManyRequests && waits:
		return RateLimited
	case emptyAccount.MatchString(words) && !strings.Contains(words, "RESOURCE_EXHAUSTED"):
		return Permanent
	case tooOften.MatchString(strings.ReplaceAll(strings.ToLower(words), "disk quota", "")): // that is no rate
		return RateLimited
	case expired.MatchString(words):
		return Unavailable
	}
	if class := statuses[status]; class != "" || status >= 400 && status < 500 {
		return class
	}
	switch {
	case status >= 500, away.MatchString(words):
		return Unavailable
	case notAllowed.MatchString(words):
		return Permission
	}
	return ""
}

// statuses are those that say what other ones of their hundred do not.
var statuses = map[int]ErrorClass{
	400: Invalid, 401: Permanent, 403: Permission, 408: Unavailable, 409: Unavailable, 413: Invalid,
	422: Invalid, 425: Unavailable, 429: RateLimited, 501: Invalid,
}

// unreachable reports whether err is the network's.
func unreachable(err error) bool {
	var n net.Error
	return errors.As(err, &n) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNREFUSED) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

var statusWord = regexp.MustCompile(
	`(?i)\b(?:http(?:/[\d.]+)?|status(?:[ _-]?code)?)["']?\s*[:=]?\s*([45]\d\d)\b|` +
		`\b([45]\d\d) (?:Bad Request|Unauthorized|Payment Required|Forbidden|Request Timeout|Conflict|` +
		`Too Many Requests|Internal Server Error|Bad Gateway|Service Unavailable|Gateway Timeout)`)

// statusIn is the HTTP status that words tell, 0 for none.
func statusIn(words string) int {
	groups := statusWord.FindStringSubmatch(words)
	if groups == nil {
		return 0
	}
	n, _ := strconv.Atoi(groups[1] + groups[2]) // one of them matched, three digits
	return n
}

// waitOf is the wait of Retry-After-Ms, or of Retry-After: seconds, or a date, which counts from the Date of
// the answer, so that the clocks need not agree.
func waitOf(h http.Header) time.Duration {
	if ms := duration(h.Get("Retry-After-Ms")); ms > 0 {
		return ms / 1000
	}
	until, err := http.ParseTime(h.Get("Retry-After"))
	if err != nil {
		return duration(h.Get("Retry-After"))
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, until.Sub(now))
}

var waitWord = regexp.MustCompile(`(?i)"retry_?delay"\s*:\s*"([\d.]+s)"|` +
	`"retry_?after(?:_seconds)?"\s*:\s*"?([\d.]+)|` +
	`\b(?:try again|retry(?:ing)?)(?: after| in)? (?:after |in )?((?:\d+(?:\.\d+)?(?:ms|h|m|s))+)\b|` +
	`\b(?:try again|retry(?:ing)?)(?: after| in)? (?:after |in )?(\d+(?:\.\d+)?) sec|\bretry-after: ?(\d+)\b`)

// waitIn is the wait that words ask for: Gemini's retryDelay, "try again in 1m20s", "retry after 12 seconds".
func waitIn(words string) time.Duration {
	for i, group := range waitWord.FindStringSubmatch(words) {
		if i == 0 || group == "" {
			continue
		}
		if d, err := time.ParseDuration(group); err == nil {
			return d
		}
		return duration(group)
	}
	return 0
}

// duration is a number of seconds that somebody has written.
func duration(seconds string) time.Duration {
	n, err := strconv.ParseFloat(seconds, 64)
	if err != nil || !(n > 0 && n < 1e8) { // three years are no wait
		return 0
	}
	return time.Duration(n * float64(time.Second))
}
