package memory

import (
	"testing"

	"github.com/arc-learn/arc/internal/codec/codectest"
)

func TestRecordsWriteThemselves(t *testing.T) {
	t.Parallel()
	codectest.Check[counts](t)
	codectest.Check[applied](t)
	codectest.Check[storedReceipt](t)
}
