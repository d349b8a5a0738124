package rank

import (
	"testing"

	"github.com/arc-learn/arc/internal/codec/codectest"
)

func TestRecordsWriteThemselves(t *testing.T) {
	t.Parallel()
	codectest.Check[record](t)
	codectest.Check[headRecord](t)
	codectest.Check[armRecord](t)
	codectest.Check[settingRecord](t)
}
