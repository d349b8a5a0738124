package rank

import (
	"encoding/hex"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/codec"
)

// Records are written as they were when each field was written by hand. Of the
// forms of a number the shortest exact one is written.
func TestStoredBytes(t *testing.T) {
	t.Parallel()
	zero, some := 0.0, 0.9
	for _, c := range []struct {
		record any
		want   string
	}{
		{&record{}, "017a458c53a0"},
		{&record{Seq: 1, Confidence: &zero, Reward: &zero}, "013d5146b3a3010104f9000009f90000"},
		{&record{
			Seq: 300, At: 1781524800000000000, Outcome: 2, Confidence: &some, Wall: 1500000000, Cost: 0.0125,
			In: 1200, Out: -1,
			Reward: &some, Situation: "leak", Key: "run/1",
			Features: []float64{0, 1, -0.5, 1e-7, math.Pi, 65504, 65536, 6e-8, math.Inf(1), math.NaN()},
		}, "011f1546c7ac0119012c021b18b93f5dde8c8000030204fb3feccccccccccccd051a59682f0006fb3f8999999999999a0719" +
			"04b0082009fb3feccccccccccccd0a646c65616b0b8af90000f93c00f9b800fb3e7ad7f29abcaf48fb400921fb" +
			"54442d18f97bfffa47800000fb3e701b2b29a4692bf97c00f97e000c6572756e2f31"},
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
