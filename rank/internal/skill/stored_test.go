package skill

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/codec"
)

// Records are written as they were when each field was written by hand. Of the
// forms of a number the shortest exact one is written.
func TestStoredBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		record any
		want   string
	}{
		{&headRecord{}, "017a458c53a0"},
		{&headRecord{
			Seen: 70000, N: 12.5, Lo: -1, Hi: 1, Rewarded: true, Sum2: 3.25, N2: 0.1, Mean: 0.5, Spread2: 1e300,
			Loss: []float64{1, 2}, Transfer: []float64{0.25},
		}, "01885e77b4ab011a0001117002f94a4003f9bc0004f93c0005f506f9428007fb3fb999999999999a08f9380009fb7e37e43c" +
			"8800759c0a82f93c00f940000b81f93400"},
		{&armRecord{}, "017a458c53a0"},
		{
			&armRecord{Index: -3, Epoch: 2, N: 4, Sum: 3.5, Up: []float64{0, 1, 2}, Down: []float64{0.1}, Proven: true},
			"01d65e39f9a70122020203f9440004f943000583f90000f93c00f940000681fb3fb999999999999a07f5",
		},
		{&setting{}, "017a458c53a0"},
		{&setting{
			Weight: 1, Moved: 0.125, Used: 9,
			Cells: []cell{{}, {Arm: 1, Epoch: 2, N: 3, Sum: 1.5, Weight: 0.7, Moved: 0.01, Used: 5}},
		}, "01f4ada578a401f93c0002f9300003090482a0a70101020203f9420004f93e0005fb3fe666666666666606fb3f847ae147ae" +
			"147b0705"},
	} {
		got, err := codec.Encode("k", c.record)
		require.NoError(t, err)
		require.Equal(t, c.want, hex.EncodeToString(got))
	}
}
