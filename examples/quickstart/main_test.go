package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A model that refuses in words delivers nothing, though words are a CSV file.
func TestModelThatRefuses(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"I cannot."},`+
			`"finish_reason":"stop"}]}`)
	}))
	defer s.Close()
	t.Setenv("OPENAI_BASE_URL", s.URL)
	out := output(t)
	require.NotContains(t, out, "passed model")
	require.NotContains(t, out, "blocked")
}

// The second session takes less than half the attempts of the first, and all fits a small terminal.
func TestTwoSessions(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL"} {
		t.Setenv(name, "")
	}
	out := output(t)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.LessOrEqual(t, len(lines), 30)
	for _, l := range lines {
		require.LessOrEqual(t, len(l), 80, l)
	}
	require.NotContains(t, out, "blocked")
	m := regexp.MustCompile(`(\d+) attempts in .*, then (\d+) in`).FindStringSubmatch(out)
	require.Len(t, m, 3, out)
	first, _ := strconv.Atoi(m[1])
	second, _ := strconv.Atoi(m[2])
	require.Less(t, 2*second, first)
}

// output is what the program prints.
func output(t *testing.T) string {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = w
	err = run(t.Context(), false)
	os.Stdout = stdout
	require.NoError(t, err)
	require.NoError(t, w.Close())
	out, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(out)
}
