package asker_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/internal/asker"
)

func TestAbout(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]bool{
		"": false, "what is the plan": false, "Where is my bicycle?": true, "what do I like": true, "I\u2019ve lost it, where?": true,
		"which of OUR servers": true, "what did you tell me": false, "what have you said to me": false, "you told me a name": false,
		"you've suggested a book to me": false, "the book you have recommended to me": false, "you have my number": true,
		"can you tell me": true, "did I tell you": true, "mine": true, "the museum": false, "Ännä me": true,
		"詩": false, "ũ": false, "詩 的 作者": false, "ŭ": false,
	} {
		require.Equal(t, want, asker.About(question), question)
	}
}

func TestOther(t *testing.T) {
	t.Parallel()
	require.True(t, asker.Other("Assistant", false))
	require.True(t, asker.Other("Ann's agent", true))
	require.False(t, asker.Other("user", true))
	require.False(t, asker.Other("Ann", false))
	require.False(t, asker.Other("", false))
}

func TestName(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"", "user", "Human", "ASSISTANT", "tool"} {
		require.Empty(t, asker.Name(role))
	}
	require.Equal(t, "Bot Smith", asker.Name("Bot Smith"))
}
