package benchmarks

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The further sets are not part of the repository. A benchmark whose set is not
// given is skipped.
var (
	realtalkFile  = flag.String("realtalk", os.Getenv("ARC_REALTALK"), "file of REALTALK chats; default $ARC_REALTALK")
	lettaFile     = flag.String("letta", os.Getenv("ARC_LETTA"), "file of Letta's memory updates; default $ARC_LETTA")
	pairsFile     = flag.String("pairs", os.Getenv("ARC_PAIRS"), "file of changes and of what holds beside it; default $ARC_PAIRS")
	precisionFile = flag.String("precisionmembench", os.Getenv("ARC_PRECISIONMEMBENCH"),
		"file of PrecisionMemBench's single turns; default $ARC_PRECISIONMEMBENCH")
)

// given returns the content of a file that a flag names, unpacked, or skips the
// test.
func given(t *testing.T, path, name string) []byte {
	t.Helper()
	if path == "" {
		t.Skipf("no data: set -%s", name)
	}
	f, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	var in io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		in, err = gzip.NewReader(f)
		require.NoError(t, err)
	}
	data, err := io.ReadAll(in)
	require.NoError(t, err)
	return data
}

// changing is a group of facts about people, with changes of some of them.
type changing struct {
	Facts   []string
	Updates []struct {
		Question string
		Old      int // which of the facts changes
		New      string
	}
}

func letta(t *testing.T) (out []changing) {
	t.Helper()
	require.NoError(t, json.Unmarshal(given(t, *lettaFile, "letta"), &out))
	return out
}

// pair is a fact and a later one: of its change, or true beside it. Others are
// true as well.
type pair struct {
	Source, Kind       string
	Both               bool
	Old, New, Question string
	Others             []string
}

func pairs(t *testing.T) (out []pair) {
	t.Helper()
	require.NoError(t, json.Unmarshal(given(t, *pairsFile, "pairs"), &out))
	return out
}
