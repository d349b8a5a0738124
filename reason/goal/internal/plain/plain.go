// Package plain has values as JSON has them: nil, bool, float64, string, []any and
// map[string]any.
package plain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/arc-learn/arc/internal/depth"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/store"
)

// Limits of a value.
const (
	maxSize  = 1 << 20 // bytes of JSON
	maxShown = 200     // bytes of a text that Short leaves
)

// Of returns v as a plain value of its own. It is the one way in for what a host, a
// worker or a file says. Field names it in the error.
func Of(field string, v any) (out any, err error) {
	var raw []byte
	if p := guard.Call(func() { raw, err = json.Marshal(v) }); p != nil {
		err = p
	}
	err = guard.Error(err)
	if err == nil && len(raw) > maxSize {
		return nil, &store.LimitError{Field: field, Limit: maxSize, Got: len(raw)}
	}
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not JSON: %w", field, err)
	}
	if err := depth.Check(field, raw); err != nil {
		return nil, err
	}
	return out, nil
}

// JSON returns a value as JSON, or the name of its type where it is not plain and cannot
// be written.
func JSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	var err error
	if p := guard.Call(func() { err = enc.Encode(v) }); p != nil || err != nil {
		return fmt.Sprintf("%T", v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Cut returns a text as valid UTF-8, without what is over a limit in bytes.
func Cut(s string, limit int) string { return text.Shorten(strings.ToValidUTF8(s, ""), limit) }

// Short cuts a text for a reason.
func Short(s string) string { return Cut(s, maxShown) }
