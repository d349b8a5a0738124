package act

import (
	"errors"

	"github.com/arc-learn/arc/next/reason"
)

// classify stands for reason.Classify until that is there: typed errors alone.
func classify(err error) *reason.Error {
	var e *reason.Error
	if errors.As(err, &e) && e != nil {
		return e
	}
	return nil
}
