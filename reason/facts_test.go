package reason_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/reasontest"
	"github.com/arc-learn/arc/store"
)

// A long conversation has facts, too, and one that cannot be kept does not lose the others.
func TestFactsOfALongConversation(t *testing.T) {
	b, err := memory.Open(t.Context(), store.NewMem(), nil)
	require.NoError(t, err)
	script := reasontest.NewScript(
		reasontest.Say(`{"facts":[{"content":"anna likes tea","slot":"","replaces":[]},{"content":" ","slot":"","replaces":[]}],"holds":[]}`),
		reasontest.Say(`{"facts":[{"content":"anna likes tea","slot":"","replaces":[-1,99]}],"holds":[0,7]}`))
	turns := []reason.Message{{Role: reason.UserRole, Text: strings.Repeat("é word ", 40_000) + "I like tea"}}
	ids, err := reason.Facts(t.Context(), script, b.In("acme"), turns, memory.Draft{})
	require.NoError(t, err)
	require.Len(t, ids, 1)
	require.Contains(t, script.Requests()[1].Messages[2].Text, "fact 2 has no content")
}

// What is missing is told in words.
func TestErrorsInWords(t *testing.T) {
	_, _, err := reason.Ask[struct{}](t.Context(), reasontest.NewScript(), &reason.Request{}, nil)
	require.EqualError(t, err, "invalid: the request has no schema")
	_, err = reason.Replay(strings.NewReader("{}\n"))
	require.EqualError(t, err, "recording: line 1 is no call of a model")
}
