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
		"詩": false, "ũ": false, "詩 的 作者": false, "ŭ": false,
	} {
		require.Equal(t, want, aboutAsker(question), question)
	}
}

func TestByOther(t *testing.T) {
	t.Parallel()
	require.True(t, byOther(&Record{Actor: "Assistant"}))
	require.True(t, byOther(&Record{Actor: "Ann's agent", Source: Source{Origin: Model}}))
	require.False(t, byOther(&Record{Actor: "user", Source: Source{Origin: Web}}))
	require.False(t, byOther(&Record{Actor: "Ann", Source: Source{Origin: User}}))
	require.False(t, byOther(new(Record)))
}

func TestNameOf(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"", "user", "Human", "ASSISTANT", "tool"} {
		require.Empty(t, nameOf(role))
	}
	require.Equal(t, "Bot Smith", nameOf("Bot Smith"))
}
