package act

import (
	"errors"

	"github.com/arc-learn/arc/next/reason"
)

// classify is reason.Classify, but for what a program has printed.
func classify(err error) *reason.Error {
	var e *reason.Error
	if errors.As(err, &e) && e != nil {
		return e
	}
	return nil
}
