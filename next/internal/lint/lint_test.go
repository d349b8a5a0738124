package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module, home = "github.com/arc-learn/arc", "github.com/arc-learn/arc/next"

// lowest are the packages at the bottom, with what they may import of arc.
var lowest = map[string][]string{
	"store": {}, "iar": {"store"}, "redact": {"store"}, "store/badger": {"store"},
	"internal/codec": {"store"}, "internal/call": {"store"}, "internal/fence": {"store"}, "internal/yaml": {"store"},
}

func TestImportsAndCalls(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, filepath.Dir(path))
		allowed, low := lowest[filepath.ToSlash(rel)]
		test := strings.HasSuffix(path, "_test.go")
		for _, i := range file.Imports {
			imported, _ := strconv.Unquote(i.Path.Value)
			of, ours := strings.CutPrefix(imported, home+"/")
			if strings.HasPrefix(imported, module) && imported != home && !ours {
				t.Errorf("%s imports %s, which is not in next/", path, imported)
			}
			if ours && low && !test && !slices.Contains(allowed, of) {
				t.Errorf("%s imports %s", path, imported)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && test && s.Sel.Name == "Sleep" {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && !strings.Contains(path, "lint") {
					t.Logf("%s calls time.Sleep: right only in a bubble of synctest", path)
				}
			}
			return true
		})
		return nil
	})
	require.NoError(t, err)
}
