package index_test

import (
	"bufio"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
)

// TestForms reports, for files of word pairs in the folder that ARC_FORMS names ("ru.tsv": a word, a tab, a form of
// it), how many forms a bare word finds among all of them, and how many others. Half of the words were held out.
func TestForms(t *testing.T) {
	folder := os.Getenv("ARC_FORMS")
	if folder == "" {
		t.Skip("no data: set ARC_FORMS")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.tsv"))
	require.NoError(t, err)
	for _, file := range files {
		code := strings.TrimSuffix(filepath.Base(file), ".tsv")[:2]
		for _, languages := range [][]string{nil, {code}, {"en", code}} {
			var parts []string
			for held := range uint32(2) {
				parts = append(parts, forms(t, file, held, languages))
			}
			t.Logf("%s %v: %s; held out %s", filepath.Base(file), languages, parts[0], parts[1])
		}
	}
}

func forms(t *testing.T, file string, held uint32, languages []string) string {
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	an, err := text.New(languages...)
	require.NoError(t, err)
	ix, of, bases := index.New(an, nil), map[uint32]string{}, map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		base, form, _ := strings.Cut(lines.Text(), "\t")
		h := fnv.New32a()
		h.Write([]byte(base))
		if h.Sum32()%2 == held {
			of[ix.Insert(index.Analyze(an, index.Doc{Content: form}))] = base
			bases[base]++
		}
	}
	found, first, others := 0, 0, 0
	for base := range bases {
		ms := ix.Search(&index.Query{Text: base})
		for i, m := range ms {
			switch {
			case of[m.Row] != base:
				others++
			default:
				found++
				if i == 0 {
					first++
				}
			}
		}
	}
	n := float64(len(bases))
	return fmt.Sprintf("%.0f words, %.1f %% of their forms found, one of them first %.1f %%, %.2f others a word",
		n, 100*float64(found)/float64(len(of)), 100*float64(first)/n, float64(others)/n)
}
