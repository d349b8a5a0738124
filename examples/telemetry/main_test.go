package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	require.Contains(t, out.String(), `
  invoke_agent greeter      status=delivered tokens_in=900 tokens_out=40
    search_memory           memories=0
    plan greeter            tokens_in=900 tokens_out=40
      chat small            tokens_in=900 tokens_out=40
    execute_tool speaker    attempt=1 end=finished
    arc.verify              verdict=rejected
    arc.learn               learned=0
    execute_tool speaker    attempt=2 end=finished
    arc.verify              verdict=passed
    arc.learn               learned=1

`)
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 80+1, line)
	}
}

func TestCounters(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	for _, line := range []string{
		"  arc.runs                 1  run.status=delivered",
		"  arc.attempts             2  attempt.end=finished tool.name=speaker",
		"  arc.gate.rejections      1  gate.verdict=rejected tool.name=speaker",
	} {
		require.Contains(t, out.String(), line+"\n")
	}
}
