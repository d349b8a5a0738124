package benchmarks

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/memorytest"
)

// chatter makes chats between a user, whose messages are short and hold facts,
// and an assistant, whose messages are long and repeat the words of the facts.
// It is made by rules, to see that lengths and roles act in the right
// direction; how much they give on real chats it cannot say.
type chatter struct {
	*rand.Rand
	common *rand.Zipf
	topic  int
}

var functionWords = strings.Fields("the a of to and in is that it for on with as this be are have was not but can i you my your so if at do what how")

// word makes a word of a number, the same for the same.
func word(kind string, n int) string {
	for ; n > 0; n /= 20 {
		kind += string(rune('b' + n%20))
	}
	return kind + "o"
}

func (c *chatter) topical() string {
	return word(word("t", c.topic), int(60*c.Float64()*c.Float64()))
}

// words makes a text, of which a share is about the topic.
func (c *chatter) words(n int, share float64) []string {
	out := make([]string, n/2+c.IntN(n))
	for i := range out {
		switch r := c.Float64(); {
		case r < 0.45:
			out[i] = functionWords[c.IntN(len(functionWords))]
		case r < 0.45+share:
			out[i] = c.topical()
		default:
			out[i] = word("g", int(c.common.Uint64()))
		}
	}
	return out
}

// session adds rounds of two messages each, and asks for the facts in them.
func (c *chatter) session(to *conversation, rounds int) {
	c.topic++
	thread := fmt.Sprintf("session %d", c.topic)
	type fact struct{ attribute, thing string }
	var facts []fact
	say := func(actor string, words []string) {
		to.end = to.end.Add(time.Minute)
		to.drafts = append(to.drafts, memory.Draft{
			Kind: memory.Episode, Actor: actor, Thread: thread, Content: strings.Join(words, " "),
			At: to.end, Key: fmt.Sprint(len(to.drafts)),
		})
	}
	for range rounds {
		message := c.words(60, 0.2)
		if c.Float64() < 0.6 {
			f := fact{c.topical(), c.topical()}
			facts = append(facts, f)
			message = append(message, "my", f.attribute, f.thing, "is", word("v", c.IntN(300)))
			to.questions = append(to.questions, memorytest.Question{
				Text: fmt.Sprintf("What is my %s %s with the %s?", f.attribute, f.thing, c.topical()),
				Gold: []string{fmt.Sprint(len(to.drafts))}, Where: string(to.scope),
			})
		}
		say("user", message)
		answer := c.words(400, 0.3)
		for _, f := range facts {
			for range c.IntN(6) {
				answer[c.IntN(len(answer))] = f.attribute
				answer[c.IntN(len(answer))] = f.thing
			}
		}
		say("assistant", answer)
	}
}

// Without lengths and roles, long answers hide the short messages that they
// are about.
func TestLongChats(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	c := &chatter{Rand: rng, common: rand.NewZipf(rng, 1.05, 6, 2999)}
	var cs []conversation
	var questions []memorytest.Question
	for i := range 4 {
		chat := conversation{scope: memory.Scope(fmt.Sprintf("chats/%d", i)), end: time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)}
		for range 8 {
			c.session(&chat, 16)
			chat.end = chat.end.AddDate(0, 0, 3)
		}
		cs, questions = append(cs, chat), append(questions, chat.questions...)
	}
	old := measure(t, "plain BM25", scan(cs, newPlain), questions)
	measure(t, "the score by scanning", scan(cs, newNaive), questions)
	got := measure(t, "the Bank", ingest(t, cs, 0).records, questions)
	require.GreaterOrEqual(t, got.Metric("", "R@10").Value, old.Metric("", "R@10").Value+0.1)
}
