package succession_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/internal/phrase"
	"github.com/arc-learn/arc/memory/internal/succession"
)

// content weighs all words of a text alike.
func content(s string) (c succession.Content) {
	for _, w := range phrase.Words(s) {
		c = append(c, succession.Word{Text: w, Weight: 1})
	}
	return c
}

// What replaces the first of two texts, by which evidence.
func TestReplaced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		old, text string
		fact      bool
		want      float64
	}{
		{"I live in Oslo", "I moved, I live in Bergen now", false, .75},
		{"the port is 8080", "the port is 9090", true, .6},
		{"the port is 8080", "the port is 9090", false, 0}, // not of who speaks
		{"my port is 8080", "my port is 9090", false, 0},   // no fact, and no word of change
		{"I live in Oslo", "I also live in Bergen now", false, 0},
		{"I live in Oslo", "My sister moved, she lives in Bergen now", false, 0},
		{"I live in Oslo", "I like tea now", false, 0},
		{"I live in Oslo", "Do I live in Bergen now?", true, 0},
		{"我住在奥斯陆", "我现在住在卑尔根", true, .75},
		{"我住在奥斯陆", "我现在住在卑尔根吗？", true, 0},
		{"the port is 8080", "the port is 8080.", true, 0},
		{"the database is on host A", "the main gateway is on host A now", true, 0},
	} {
		later, old := succession.Tell(c.text, c.fact), succession.Tell(c.old, c.fact)
		var got float64
		if b, ok := later.Belief(c.fact); ok && later.MayReplace() {
			all := []succession.Earlier{{Name: "old", Telling: old, Content: content(c.old)}}
			if names := later.Replaced(b, content(c.text), all); names != nil {
				require.Equal(t, []string{"old"}, names)
				got = b.Probability
			}
		}
		require.Equal(t, c.want, got, c.text)
	}
}

// The most alike is replaced, not what shares less.
func TestMostAlike(t *testing.T) {
	t.Parallel()
	text := "the staging database runs on host seven now"
	later := succession.Tell(text, true)
	belief, ok := later.Belief(true)
	require.True(t, ok && belief.Change && later.Changes())
	var all []succession.Earlier
	for name, old := range map[string]string{
		"near": "the staging database runs on host three", "far": "the staging database is large", "none": strings.Repeat("word ", 50),
	} {
		all = append(all, succession.Earlier{Name: name, Telling: succession.Tell(old, true), Content: content(old)})
	}
	require.Equal(t, []string{"near"}, later.Replaced(belief, content(text), all))
	require.Empty(t, later.Replaced(belief, content("other"), all))
	require.False(t, later.OfSame(succession.Telling{}))
	require.True(t, succession.Tell("我搬到卑尔根了", false).Changes())
}

func TestAsksOfPast(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]bool{
		"Where did she live before?": true, "Wo hat sie früher gewohnt?": true, "她以前住在哪里": true,
		"Where does she live?": false, "": false,
	} {
		require.Equal(t, want, succession.AsksOfPast(question), question)
	}
}

func TestSaysSame(t *testing.T) {
	t.Parallel()
	require.True(t, succession.SaysSame("The port is 80.", "the port is 80"))
	require.False(t, succession.SaysSame("the port is 80", "the port is -80"))
	require.False(t, succession.SaysSame("use C", "use C++"))
}
