package meta

import (
	"testing"

	"github.com/arc-learn/arc/internal/codec/codectest"
)

func TestRecordsWriteThemselves(t *testing.T) {
	t.Parallel()
	codectest.Check[totals](t)
	codectest.Check[record](t)
}
