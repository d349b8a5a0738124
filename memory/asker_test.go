package memory

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAboutAsker(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]bool{
		"": false, "what is the plan": false, "Where is my bicycle?": true, "what do I like": true, "I\u2019ve lost it, where?": true,
		"which of OUR servers": true, "what did you tell me": false, "what have you said to me": false, "you told me a name": false,
		"you've suggested a book to me": false, "the book you have recommended to me": false, "you have my number": true,
		"can you tell me": true, "did I tell you": true, "mine": true, "the museum": false, "Ännä me": true,
	} {
		require.Equal(t, want, aboutAsker(question), question)
	}
}

func TestBySelf(t *testing.T) {
	t.Parallel()
	require.True(t, bySelf(&Record{Actor: "User"}))
	require.True(t, bySelf(&Record{Actor: "Ann", Source: Source{Origin: User}}))
	require.False(t, bySelf(&Record{Actor: "assistant"}))
	require.False(t, bySelf(&Record{Source: Source{Origin: Model}}))
}
