package memory

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/store"
)

// Records are written as they were when each field was written by hand.
func TestStoredBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		record any
		want   string
	}{
		{&tally.Counts{}, "017a458c53a0"},
		{&tally.Counts{Helped: 1, LastUsed: 1781524800000000, Earlier: []tally.Instant{1781438400000000}}, "01ce5825bca30101" +
			"051b0006544990dcd0000a811b0006543573057000"},
		{&tally.Counts{
			Helped: 23, Failed: 24, Misled: 255, Exposed: 256, LastUsed: -1, Said: 65536, Archived: true,
			Situations: []tally.Situation{{}, {Hash: 1<<64 - 1, Helped: 1, Failed: 2, Misled: 3, Quiet: 4}},
			Quiet:      7, Earlier: []tally.Instant{0, 1 << 40},
		}, "019fb7a59baa01170218180318ff041901000520061a0001000007f50882a0a5011bffffffffffffffff0201030204030504" +
			"09070a82001b0000010000000000"},
		{applied{}, "017a458c53a0"},
		{applied{At: 1781524800000000}, "01ad6e38aaa1011b0006544990dcd000"},
		{storedReceipt{}, "017a458c53a0"},
		{storedReceipt{Disposition: Merged, Into: "k1", Reason: "forgotten"}, "0186d69c62a301666d657267656402626b" +
			"310369666f72676f7474656e"},
	} {
		got, err := codec.Encode("k", c.record)
		require.NoError(t, err)
		require.Equal(t, c.want, hex.EncodeToString(got))
	}
	var back tally.Counts
	raw, err := hex.DecodeString("01ce5825bca30101051b0006544990dcd0000a811b0006543573057000")
	require.NoError(t, err)
	require.NoError(t, codec.Decode(store.Entry{Key: "k", Value: raw}, &back))
	require.Equal(t, tally.Counts{Helped: 1, LastUsed: 1781524800000000, Earlier: []tally.Instant{1781438400000000}}, back)
}
