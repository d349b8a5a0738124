package storetest

import (
	"errors"
	"fmt"
	"testing"
)

// Check returns what Run would report, each rule as an error that begins with its name.
func Check(t *testing.T, open Open, o Options) error {
	var all []error
	for _, r := range rules {
		if err := r.check(t.TempDir(), open, o); err != nil {
			all = append(all, fmt.Errorf("%s: %w", r.name, err))
		}
	}
	return errors.Join(all...)
}
