package arc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
)

// checkSame returns ErrTaken if the run is not of an objective's Text, Inputs, Tasks, Scope and
// User, by what is kept of them. The last three count where both name them.
func (s *state) checkSame(o *Objective, san *redact.Sanitizer) error {
	was, other := &s.Objective, ""
	if len(o.Secrets) > 0 {
		san = san.Knowing(slices.Sorted(maps.Values(o.Secrets))...)
	}
	may := func(kept, text string) bool {
		text = strings.ToValidUTF8(text, "\uFFFD")
		return mayBe(kept, text, san.Sanitize)
	}
	holds := func(kept, raw json.RawMessage) bool {
		kept, raw = given(kept), given(raw)
		hide := func(text string) string { return string(san.Under("", json.RawMessage(text))) }
		return mayBe(canonical(kept), canonical(raw), hide)
	}
	switch {
	case !may(was.Text, o.Text):
		other = "another text"
	case !holds(was.Inputs, o.Inputs):
		other = "other inputs"
	case o.Scope != "" && o.Scope != was.Scope:
		other = "another scope"
	case o.User != "" && was.User != "" && !may(was.User, o.User):
		other = "another user"
	case len(o.Tasks) > 0 && len(was.Tasks) > 0 && !slices.EqualFunc(was.Tasks, o.Tasks, func(kept, k reason.Task) bool {
		return may(kept.Objective, k.Objective) && holds(kept.Inputs, k.Inputs)
	}):
		other = "other tasks"
	default:
		return nil
	}
	return fmt.Errorf("%w: run %q was begun with %s", ErrTaken, s.ID, other)
}

// given returns JSON that says something: no inputs are null where an Objective was JSON.
func given(raw json.RawMessage) json.RawMessage {
	if string(bytes.TrimSpace(raw)) == "null" {
		return nil
	}
	return raw
}

// canonical is JSON as it is compared: the order of names says nothing, nor do blanks.
func canonical(raw json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(raw)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(out)
}

// token is what a secret is kept as, also in JSON, where it may have been a number.
var token = regexp.MustCompile(`"?\[REDACTED:[a-z_:0-9]+\]"?`)

// behind finds a word that is added behind a secret.
var behind = regexp.MustCompile(`\s\S*[\pL\pN]`)

// mayBe reports whether a text that is kept may be another one: a token stands for any secret. Where
// as many are found in the text as were, none of them is longer by a word.
func mayBe(kept, text string, hide func(string) string) bool {
	if kept == text {
		return true
	}
	parts := token.Split(kept, -1)
	last := len(parts) - 1
	rest, ok := strings.CutPrefix(text, parts[0])
	for i := 1; ok && i < last; i++ {
		_, rest, ok = strings.Cut(rest, parts[i])
	}
	if last == 0 || !ok || !strings.HasSuffix(rest, parts[last]) {
		return false
	}
	found := token.Split(hide(text), -1)
	for i := 1; i <= last && len(found) == len(parts); i++ {
		if more, ok := strings.CutSuffix(found[i], parts[i]); ok && behind.MatchString(more) {
			return false
		}
	}
	return true
}
