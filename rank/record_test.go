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
	} {
		got, err := codec.Encode("k", c.record)
		require.NoError(t, err)
		require.Equal(t, c.want, hex.EncodeToString(got))
	}
}
