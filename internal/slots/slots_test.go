package slots_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/slots"
	"github.com/arc-learn/arc/internal/slots/slotstest"
)

func ExampleRead() {
	for _, text := range []string{
		"Alice lives in Paris.",
		"As of March, Alice has moved from Paris to Berlin.",
		"The port of the billing service is now 8081 instead of 8080.",
		"Does Alice live in Rome?",
	} {
		for _, s := range slots.Read(text, "").Statements {
			fmt.Println(s.Words, "=", s.Text, s.Change)
		}
	}
	// Output:
	// alic where = paris false
	// alic where = berlin true
	// bill port servic = 8081 true
}

func TestWhoSpeaksIsMeant(t *testing.T) {
	mine := slots.Read("I live in Paris.", "Alice")
	other := slots.Read("Alice lives in Paris.", "Bob")
	require.Equal(t, other.Statements[0].Key, mine.Statements[0].Key)
	require.Equal(t, slots.Read("The user lives in Rome.", "").Statements[0].Key, mine.Statements[0].Self)
	require.Equal(t, "user where", slots.Read("I live in Paris.", "").Statements[0].Words)
	require.Equal(t, mine.Statements[0].Key, slots.Of("Alice", "home", "Rome", "").Key)
	require.Equal(t, mine.Statements[0].Value, slots.Of("me", "residence", "Paris", "Alice").Value)
}

func TestFormerValuesAreRead(t *testing.T) {
	old := slots.Read("We use Postgres.", "").Statements[0]
	require.True(t, old.Many)
	for _, text := range []string{"We switched from Postgres to MySQL.", "We replaced Postgres with MySQL."} {
		s := slots.Read(text, "").Statements[0]
		require.Equal(t, old.Key, s.Key)
		require.Equal(t, old.Value, s.Former)
	}
}

func TestLongTextsAreDocuments(t *testing.T) {
	require.Empty(t, slots.Read(strings.Repeat("Alice lives in Paris. Bob lives in Rome. ", 3), "").Statements)
	require.Empty(t, slots.Read("Alice lives in Paris."+strings.Repeat(" And so on.", 1000), "").Statements)
	r := slots.Read("Hello there, how are you all doing? Alice lives in Paris.", "")
	require.Equal(t, 8, r.Rest)
	require.Equal(t, 4, r.Used)
}

func FuzzRead(f *testing.F) {
	for _, fact := range slotstest.Corpus(slotstest.Dev, 1)[:60] {
		f.Add(fact.Old+" "+fact.New, fact.Actor)
	}
	for _, trap := range slotstest.Traps {
		f.Add(trap[0], trap[1])
	}
	f.Fuzz(func(t *testing.T, s, actor string) {
		r := slots.Read(s, actor)
		require.Equal(t, r, slots.Read(s, actor))
		require.LessOrEqual(t, len(r.Statements), slots.MaxStatements)
		for _, st := range r.Statements {
			require.NotZero(t, st.Key)
			require.NotZero(t, st.Value)
			require.NotEmpty(t, st.Words)
			require.NotEqual(t, st.Value, st.Former)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	facts := slotstest.Corpus(slotstest.Dev, 1)
	chat := slotstest.Distractors(500, 1)
	b.Run("statements", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			slots.Read(facts[i%len(facts)].New, "")
		}
	})
	b.Run("chat", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			slots.Read(chat[i%len(chat)], "")
		}
	})
}

// vocabulary are the words of the phrasings.
func vocabulary() []string {
	seen := map[string]bool{}
	var out []string
	for _, part := range []slotstest.Part{slotstest.Dev, slotstest.Held} {
		for i, f := range slotstest.Corpus(part, 1) {
			if i%3 > 0 {
				continue
			}
			for w := range strings.FieldsSeq(f.Old + " " + f.New) {
				if !seen[w] {
					seen[w] = true
					out = append(out, w)
				}
			}
		}
	}
	return append(out, ",", ":", ";", ".", "?", "(", ")", "=", "`", "not", "if", "that", "and", "'s", "but", "as", "for", "his", "it", "he")
}

// FuzzWords reads words of the phrasings in any order.
func FuzzWords(f *testing.F) {
	words := vocabulary()
	f.Add([]byte{1, 0, 5, 0, 9, 1, 200, 1, 17, 0})
	f.Add([]byte("The quick brown fox jumps over the lazy dog"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var text strings.Builder
		for i := 0; i+1 < len(b) && i < 60; i += 2 {
			text.WriteString(words[(int(b[i])|int(b[i+1])<<8)%len(words)] + " ")
		}
		r := slots.Read(text.String(), "Ann")
		require.LessOrEqual(t, len(r.Statements), slots.MaxStatements)
	})
}

func TestRandomWordsDoNotPanic(t *testing.T) {
	words := vocabulary()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 14).Draw(t, "words"), " ")
		slots.Read(text, "Ann")
		slots.Ask(text)
	})
}

func FuzzAsk(f *testing.F) {
	for _, fact := range slotstest.Corpus(slotstest.Fresh, 1)[:60] {
		f.Add(fact.Ask)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q := slots.Ask(s)
		require.Equal(t, q, slots.Ask(s))
		require.NotContains(t, q.Keys, uint64(0))
	})
}

// BenchmarkHostile reads the longest texts that ask for the most work: each
// should take about as long as the others.
func BenchmarkHostile(b *testing.B) {
	for _, s := range []string{"x due date ", "x had to move ", "x runs about ", "x : it is ", "a b c d "} {
		text := strings.Repeat(s, 4096/len(s))
		b.Run(s, func(b *testing.B) {
			for b.Loop() {
				slots.Read(text, "")
			}
		})
	}
}
