package main

import (
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The second session takes less than half the attempts of the first, and all fits a small terminal.
func TestTwoSessions(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL"} {
		t.Setenv(name, "")
	}
	r, w, err := os.Pipe()
	require.NoError(t, err)
	stdout, args := os.Stdout, os.Args
	os.Stdout, os.Args = w, args[:1]
	main()
	os.Stdout, os.Args = stdout, args
	require.NoError(t, w.Close())
	out, err := io.ReadAll(r)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.LessOrEqual(t, len(lines), 30)
	for _, l := range lines {
		require.LessOrEqual(t, len(l), 80, l)
	}
	require.NotContains(t, string(out), "blocked")
	m := regexp.MustCompile(`(\d+) attempts in .*, then (\d+) in`).FindStringSubmatch(string(out))
	require.Len(t, m, 3, string(out))
	first, _ := strconv.Atoi(m[1])
	second, _ := strconv.Atoi(m[2])
	require.Less(t, 2*second, first)
}
