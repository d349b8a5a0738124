package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/arc-learn/arc/store"
)

// Check returns what Run would report, each rule as an error that begins with its name.
func Check(t *testing.T, open func(dir string) (store.Store, error), o Options) error {
	var all []error
	for _, r := range rules {
		if err := r.check(t.TempDir(), open, o); err != nil {
			all = append(all, fmt.Errorf("%s: %w", r.name, err))
		}
	}
	return errors.Join(all...)
}
