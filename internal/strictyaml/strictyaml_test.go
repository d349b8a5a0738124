package strictyaml_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/strictyaml"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	var v struct{ A, B int }
	words := strings.NewReplacer("into int", "as a number")
	n, err := strictyaml.Decode([]byte("a: 1\nb: 2"), &v, words)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 1, 2}, []int{v.A, v.B, strictyaml.Field(n, "a").Line, strictyaml.Field(n, "b").Line})
	require.Nil(t, strictyaml.Field(n, "c"))
	require.Nil(t, strictyaml.Field(strictyaml.Field(n, "a"), "a"))
	for in, want := range map[string]string{
		"":              io.EOF.Error(),
		"a: 1\nc: 2":    "line 2: field c not found",
		"a: 1\na: 2":    `line 2: mapping key "a" already defined at line 1`,
		"a: x\nb: y":    "line 1: cannot unmarshal !!str `x` as a number\nline 2: cannot unmarshal !!str `y` as a number",
		"a: 1\n---\n{}": "line 2: a second document",
		"a: 1\n---\n{":  "line 3: did not find expected node content",
	} {
		_, err := strictyaml.Decode([]byte(in), &v, words)
		require.EqualError(t, err, want, "%q", in)
	}
	type named struct{ A int }
	var list struct{ All []named }
	_, err = strictyaml.Decode([]byte("all: [{b: 1}, x]\nal: 1"), &list, nil)
	require.EqualError(t, err, "line 1: field b not found\nline 1: cannot unmarshal !!str `x`\nline 2: field al not found")
}

func TestList(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{"all: [1, 2]": 2, "all: []": 0, "all: [1, null, 2]": -1, "all:\n  -\n  - 1": -1, "all: 5": -1, "<<: {all: [1]}": -1, "[1]": -1} {
		var v any
		n, err := strictyaml.Decode([]byte(in), &v, nil)
		require.NoError(t, err)
		list, err := strictyaml.List(n, "all")
		require.Equal(t, want < 0, err != nil, in)
		if err == nil {
			require.Len(t, list, want)
		}
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	p := make(strictyaml.Problems)
	require.NoError(t, p.Err())
	n, err := strictyaml.Decode([]byte("\n\na: 1"), new(map[string]int), strings.NewReplacer())
	require.NoError(t, err)
	for range 102 {
		p.Add(n, "bad")
	}
	require.ErrorContains(t, p.Err(), "line 3: bad\nline 3: bad\n")
	require.ErrorContains(t, p.Err(), "\nand 2 more")
}
