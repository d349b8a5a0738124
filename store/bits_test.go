package store_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"testing"

	"github.com/stretchr/testify/require"
)

// On machines of 32 bits every package of arc refuses to build, with a sentence that
// says why: all of them import this one, or are of use only with it.
func TestMachinesOf32BitsAreRefused(t *testing.T) {
	t.Parallel()
	for arch, want := range map[string]bool{
		"386": true, "arm": true, "mips": true, "mipsle": true,
		"amd64": false, "arm64": false, "riscv64": false, "ppc64le": false, "s390x": false, "loong64": false,
	} {
		platform := build.Default
		platform.GOARCH = arch
		built, err := platform.MatchFile(".", "bits.go")
		require.NoError(t, err)
		require.Equal(t, want, built, arch)
	}
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "bits.go", nil, 0)
	require.NoError(t, err)
	_, err = new(types.Config).Check("store", files, []*ast.File{f}, nil)
	require.ErrorContains(t, err, `"arc needs a machine of 64 bits: on those of 32, Badger and vectors panic`)
}
