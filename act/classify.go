package act

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/arc-learn/arc/reason"
)

// Classify returns the error of a program or a service that says only in words what has
// happened as one of the kinds that an [Executor] tells apart: permission denied, 401
// and 403 as [ErrDenied]; 429 and rate limits as a [RateLimitError]; timeouts, broken
// connections, 5xx and overload as [Transient]. An error that is of such a kind
// already, or says none of it, is returned as it is: a number alone, a disk quota or a context
// that is too long are none. Classify(nil) is nil.
func Classify(err error) error {
	if err == nil || classed(err) {
		return err
	}
	text := err.Error()
	switch {
	case saysDenied.MatchString(text):
		return fmt.Errorf("%w: %w", ErrDenied, err)
	case saysLimit.MatchString(text) && !saysFull.MatchString(text):
		return &limitedError{RateLimitError{After: told(text)}, err}
	case saysBroken.MatchString(text):
		return Transient(err)
	}
	return err
}

// classed reports whether an error says of which kind it is.
func classed(err error) bool {
	_, limit := errors.AsType[*RateLimitError](err)
	_, transient := errors.AsType[*transientError](err)
	_, model := errors.AsType[*reason.ModelError](err)
	return limit || transient || model || errors.Is(err, ErrDenied)
}

// What failures say, in the words of HTTP, errno, and the services behind them. A status
// counts only where it is called one.
var (
	saysDenied = regexp.MustCompile(`(?i)\b(?:http|status|code|error)[\s:="'/.\d]*\b40[13]\b|` +
		`\b40[13] (?:unauthorized|forbidden)\b|` +
		`\bpermission denied\b|\baccess denied\b|\bnot authori[sz]ed\b|\bEACCES\b|\bEPERM\b`)
	saysLimit = regexp.MustCompile(`(?i)\b(?:http|status|code|error)[\s:="'/.\d]*\b429\b|\b429 too many\b|` +
		`\brate[ _-]?limit|\btoo many requests\b|\busage limit reached\b|\bquota exceeded\b`)
	saysFull   = regexp.MustCompile(`(?i)\bdisk quota\b|\bstorage quota\b|\bEDQUOT\b`)
	saysBroken = regexp.MustCompile(`(?i)\b(?:http|status|code|error)[\s:="'/.\d]*\b(?:50[0234]|529)\b|` +
		`\btime[sd]?[ -]?out\b|\bETIMEDOUT\b|\bECONN(?:RESET|REFUSED|ABORTED)\b|\bENOTFOUND\b|\bEAI_AGAIN\b|` +
		`\bconnection (?:reset|refused)\b|\boverloaded\b|\btemporarily unavailable\b`)
	saysWhen = regexp.MustCompile(`(?i)\b(?:retry|try again)[ -](?:after|in)[\s:=]*` +
		`(\d{1,6})(?:\s?(ms|s|m|h)\b|\s?(?:second|minute)?)`)
)

// told is how long a text says to wait, 0: it does not say.
func told(text string) time.Duration {
	m := saysWhen.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return 0
	}
	unit := map[string]time.Duration{"ms": time.Millisecond, "m": time.Minute, "h": time.Hour}[m[2]]
	if unit == 0 {
		unit = time.Second
	}
	return time.Duration(n) * unit
}

// limitedError is a rate limit that was told in words.
type limitedError struct {
	Limit RateLimitError
	Err   error
}

func (e *limitedError) Error() string   { return e.Err.Error() }
func (e *limitedError) Unwrap() []error { return []error{&e.Limit, e.Err} }
