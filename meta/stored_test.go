package meta

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/codec"
)

// Records are written as they were when each field was written by hand.
func TestStoredBytes(t *testing.T) {
	t.Parallel()
	zero, some := 0.0, 0.9
	for _, c := range []struct {
		record any
		want   string
	}{
		{&totals{}, "017a458c53a0"},
		{&totals{Outcomes: 1000, Successes: 990, Failures: 3}, "01acd0d5cba3011903e8021903de0303"},
		{&record{}, "017a458c53a0"},
		{&record{Number: 7, At: -1, Resonance: &zero}, "01a944c63fa30107022008f90000"},
		{&record{
			Number: 1 << 40, At: 1781524800000000000, Success: true, Key: "run/1", Goal: "the server leaks",
			Approach: "look first",
			Note:     "done", Resonance: &some,
		}, "0107fac11ea8011b0000010000000000021b18b93f5dde8c800003f5046572756e2f31057074686520736572766572206c65" +
			"616b73066a6c6f6f6b2066697273740764646f6e6508fb3feccccccccccccd"},
	} {
		got, err := codec.Encode("k", c.record)
		require.NoError(t, err)
		require.Equal(t, c.want, hex.EncodeToString(got))
	}
}
