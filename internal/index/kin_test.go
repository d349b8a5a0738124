package index_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
)

// The kin of a text are found by its rarest words, of which only the first two may be in
// more records than are looked at, and share what all their words weigh.
func TestKin(t *testing.T) {
	t.Parallel()
	ix := index.New()
	for row, content := range []string{
		"heron lamp harbour", "the heron sleeps", "lamp harbour boat", "harbour boat", "boat", "the heron lamp harbour boat",
	} {
		ix.Put(uint32(row), doc("", content, ""))
	}
	kin := func(content string, words, postings int, skip ...uint32) map[uint32]float64 {
		q := index.Query{Terms: text.Append(nil, content), K: 10, Skip: func(row uint32) bool {
			return len(skip) > 0 && skip[0] == row
		}}
		found := map[uint32]float64{}
		for _, k := range ix.Kin(new(index.Scratch), q, words, postings) {
			found[k.Row] = k.Share
		}
		return found
	}
	all := kin("the heron lamp harbour boat", 20, 100, 5)
	require.Len(t, all, 5)
	require.NotContains(t, all, uint32(5))
	share := func(words ...string) (sum float64) {
		total := 0.0
		for _, w := range []string{"heron", "lamp", "harbour", "boat"} {
			total += ix.Weight(text.Append(nil, w)[0])
		}
		for _, w := range words {
			sum += ix.Weight(text.Append(nil, w)[0])
		}
		return sum / total
	}
	require.InDelta(t, share("heron", "lamp", "harbour"), all[0], 1e-9)
	require.InDelta(t, share("heron"), all[1], 1e-9)
	require.InDelta(t, share("lamp", "harbour", "boat"), all[2], 1e-9)
	few := kin("the heron lamp harbour boat", 20, 1)
	require.NotContains(t, few, uint32(3), "the two rarest words are not in it")
	require.InDelta(t, share("lamp", "harbour", "boat"), few[2], 1e-9)
	require.Len(t, kin("the heron lamp harbour boat", 1, 100), 3)
	require.Empty(t, kin("sleeps alone", 20, 100), "one record has one of them, and none the other")
}
