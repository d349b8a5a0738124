package act

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/reason"
)

// Class says as what an attempt ends whose executor returns an error, and of one that is
// Away when to try again; 0: not known. The first row that fits an error of the chain counts:
//
//	permission   ErrDenied, 401, 403, also in words  Denied    the worker is not asked again for the task
//	rate limit   RateLimitError                      Away      the call is repeated, others are tried, the run waits
//	transient    Transient                           Away      as that
//	broken       what reason.Retryable says          Away      as that, but the call is not repeated
//	timeout      the deadline                        TimedOut  others are tried first
//	permanent    Permanent, other status of a model  Rejected  as Denied, and the worker is blamed
//	unknown      all else                            Failed    the worker tries once more, with the complaint
func Class(err error) (end End, after time.Duration) {
	again, after := reason.Retryable(err)
	switch {
	case errors.Is(err, ErrDenied), forbidden(err):
		return Denied, 0
	case errors.Is(err, guard.ErrTime), !again && errors.Is(err, context.DeadlineExceeded):
		return TimedOut, 0
	case again:
		return Away, after
	case final(err):
		return Rejected, 0
	}
	return Failed, 0
}

// forbidden reports whether a provider refused a call for want of permission, or
// something else says so in words.
func forbidden(err error) bool {
	if e, ok := errors.AsType[*reason.ModelError](err); ok {
		return !e.Again && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
	}
	return errors.Is(Classify(err), ErrDenied)
}

// final reports whether an error, which may not be tried again, says so.
func final(err error) bool {
	if e, ok := errors.AsType[*reason.ModelError](err); ok && e.Status >= http.StatusBadRequest {
		return true
	}
	_, says := errors.AsType[interface {
		error
		Retryable() (bool, time.Duration)
	}](err)
	return says || errors.Is(err, exec.ErrNotFound)
}

// Classify returns the error of a program or a service that says only in words what has
// happened as one of the kinds that [Class] tells apart: permission denied, 401
// and 403 as [ErrDenied]; 429 and rate limits as a [RateLimitError]; timeouts, broken
// connections, 5xx and overload as [Transient]; other 4xx, 501 and commands that are not there
// as [Permanent]. An error that is of such a kind already, or says none of it, is returned as it
// is: a number alone, a disk quota or a context that is too long are none. Classify(nil) is nil.
func Classify(err error) error {
	if err == nil || classed(err) {
		return err
	}
	return classify(err, err.Error())
}

// classify is Classify by the words of a text.
func classify(err error, text string) error {
	switch {
	case saysDenied.MatchString(text):
		return fmt.Errorf("%w: %w", ErrDenied, err)
	case saysSpent.MatchString(text):
		return Permanent(err)
	case saysLimit.MatchString(text) && !saysFull.MatchString(text):
		return &limitedError{RateLimitError{After: told(text)}, err}
	case saysBroken.MatchString(text):
		return Transient(err)
	case saysFinal.MatchString(text):
		return Permanent(err)
	}
	return err
}

// classed reports whether an error says of which kind it is, or was looked at.
func classed(err error) bool {
	_, limit := errors.AsType[*RateLimitError](err)
	_, marked := errors.AsType[*markedError](err)
	_, told := errors.AsType[*toldError](err)
	_, model := errors.AsType[*reason.ModelError](err)
	return limit || marked || told || model || errors.Is(err, ErrDenied)
}

// What failures say, in the words of HTTP, gRPC, errno, and the services behind them.
var (
	saysDenied = says(`40[13]`, `\b40[13][\s:-]+(?:unauthorized|forbidden)\b|`+
		`\bcode = (?:PermissionDenied|Unauthenticated)\b|\binvalid (?:x-)?api[ _-]?key\b|`+
		`\bpermission denied\b|\baccess denied\b|\bnot authori[sz]ed\b|\bEACCES\b|\bEPERM\b`)
	saysSpent = regexp.MustCompile(`(?i)\binsufficient_quota\b`)
	saysLimit = says(`429`, `\b429[\s:-]+too many\b|\bcode = ResourceExhausted\b|`+
		`\brate[ _-]?limit|\btoo many requests\b|\busage limit reached\b|\bquota exceeded\b`)
	saysFull   = regexp.MustCompile(`(?i)\bdisk quota\b|\bstorage quota\b|\bEDQUOT\b`)
	saysBroken = says(`408|50[0234]|529`, `\b(?:408|50[0234])[\s:-]+(?:request|internal|bad|service|gateway)\b|`+
		`\bcode = (?:Unavailable|DeadlineExceeded|Aborted)\b|\b(?:service|temporarily) unavailable\b|\bbad gateway\b|`+
		`\btime[sd]?[ -]?out\b|\bETIMEDOUT\b|\bECONN(?:RESET|REFUSED|ABORTED)\b|\bENOTFOUND\b|\bEAI_AGAIN\b|`+
		`\bconnection (?:reset|refused)\b|\boverloaded\b`)
	saysFinal = says(`40[0456]|41[0135]|422|501`, `\b40[045][\s:-]+(?:bad|not|method)\b|`+
		`\bcode = (?:InvalidArgument|NotFound|Unimplemented)\b|\bcommand not found\b|\bexec format error\b`)
	saysWhen = regexp.MustCompile(`(?i)\b(?:retry|try again)[ -](?:after|in)[\s:=]*` +
		`(\d{1,6})(?:\s?(ms|s|m|h)\b|\s?(?:second|minute)?)`)
)

// says matches words, and statuses where they are called so or begin the text.
func says(statuses, words string) *regexp.Regexp {
	const called = `\b(?:(?:http|response|status|error)[ _-]?)*(?:http|status|code|error)[\s:="'/.(\d]*\b`
	return regexp.MustCompile(`(?i)` + called + `(?:` + statuses + `)\b|^\W{0,3}(?:` + statuses + `):|` + words)
}

// told is how long a text says to wait, 0: it does not say.
func told(text string) time.Duration {
	m := saysWhen.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // of six digits at most
	units := map[string]time.Duration{"ms": time.Millisecond, "m": time.Minute, "h": time.Hour}
	return time.Duration(n) * cmp.Or(units[m[2]], time.Second)
}

// limitedError is a rate limit that was told in words.
type limitedError struct {
	Limit RateLimitError
	Err   error
}

func (e *limitedError) Error() string   { return e.Err.Error() }
func (e *limitedError) Unwrap() []error { return []error{&e.Limit, e.Err} }
