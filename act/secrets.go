package act

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Secrets are values that are never kept, by name. Printed or encoded as JSON, they
// show nothing but their number.
type Secrets map[string]string

// String tells how many there are.
func (s Secrets) String() string { return fmt.Sprintf("%d secrets", len(s)) }

// GoString is String.
func (s Secrets) GoString() string { return s.String() }

// MarshalJSON encodes how many there are.
func (s Secrets) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, "%q", s), nil }

// Bounds of Secrets: their number, and the bytes of each.
const (
	maxSecrets  = 32
	minSecret   = 6
	secretBytes = 64 << 10
)

// Check returns every problem with secrets that a run is to have; none of them may
// stand in one of its ids.
func (s Secrets) Check(ids ...string) error {
	var errs []error
	if len(s) == 0 {
		return nil
	}
	if len(s) > maxSecrets {
		errs = append(errs, &store.LimitError{Field: "secrets", Limit: maxSecrets, Got: len(s)})
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		v := s[name]
		errs = append(errs, key.CheckID("name of a secret", name))
		switch {
		case name == "":
			errs = append(errs, errors.New("a secret has no name"))
		case len(v) < minSecret || strings.Trim(v, v[:1]) == "":
			errs = append(errs, fmt.Errorf("secret %.256q has fewer than %d bytes, or says nothing", name, minSecret))
		case len(v) > secretBytes:
			errs = append(errs, &store.LimitError{Field: "secret " + name, Limit: secretBytes, Got: len(v)})
		case slices.ContainsFunc(ids, func(id string) bool { return strings.Contains(id, v) }):
			errs = append(errs, fmt.Errorf("secret %.256q stands in an id", name))
		}
	}
	return errors.Join(errs...)
}
