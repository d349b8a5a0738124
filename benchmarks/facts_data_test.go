package benchmarks

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"iter"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason"
)

// The further sets are not part of the repository. A benchmark whose set is not
// given is skipped.
var (
	realtalkFile  = flag.String("realtalk", os.Getenv("ARC_REALTALK"), "file of REALTALK chats; default $ARC_REALTALK")
	lettaFile     = flag.String("letta", os.Getenv("ARC_LETTA"), "file of Letta's memory updates; default $ARC_LETTA")
	pairsFiles    = flag.String("pairs", "testdata/pairs-a.json,testdata/pairs-b.json", "files of changes and of what holds beside it")
	record        = flag.Bool("record", false, "write what a model has not answered yet into the file NAME-answers.json beside pairs of NAME.json")
	readAll       = flag.Bool("readall", false, "have all texts of TestPairsRead read, and not the later one alone")
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

// pairs yields the files of pairs.
func pairs(t *testing.T) iter.Seq2[string, []pair] {
	return func(yield func(string, []pair) bool) {
		for path := range strings.SplitSeq(*pairsFiles, ",") {
			var ps []pair
			require.NoError(t, json.Unmarshal(given(t, path, "pairs"), &ps))
			if !yield(path, ps) {
				return
			}
		}
	}
}

// answers is a model that gives the answers of a file, by what it is asked. Where there
// is none it fails, and done writes what is missing into the file.
type answers struct {
	path    string
	System  string
	Calls   []*call
	known   map[string]*call
	missing int
}

// call is what a model was asked beside the system prompt, and what it said; "": not yet.
type call struct {
	Text, Answer string
}

func recorded(t *testing.T, path string) *answers {
	t.Helper()
	m := &answers{path: path, known: map[string]*call{}}
	data, err := os.ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, m))
	}
	for _, c := range m.Calls {
		m.known[c.Text] = c
	}
	return m
}

func (m *answers) Generate(_ context.Context, req *reason.Request) (*reason.Response, error) {
	if req.System != m.System { // what was said to another prompt does not count
		m.System, m.Calls, m.known = req.System, nil, map[string]*call{}
	}
	text := req.Messages[0].Text
	c := m.known[text]
	if c == nil {
		c = &call{Text: text}
		m.known[text], m.Calls = c, append(m.Calls, c)
		m.missing++
	}
	if c.Answer == "" {
		return nil, errors.New("no answer yet")
	}
	return &reason.Response{Text: c.Answer}, nil
}

// done writes the calls that have no answer yet into the file, if that is wanted.
func (m *answers) done(t *testing.T) {
	if m.missing == 0 {
		return
	}
	t.Logf("%d of %d calls have no answer in %s", m.missing, len(m.Calls), m.path)
	if *record {
		data, err := json.MarshalIndent(m, "", " ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(m.path, data, 0o644))
	}
}
