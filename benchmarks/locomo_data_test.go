package benchmarks

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/memorytest"
)

// LoCoMo (Maharana et al. 2024) is not part of the repository: its licence is
// CC BY-NC.
var locomoFile = flag.String("locomo", os.Getenv("ARC_LOCOMO"),
	"file of LoCoMo conversations, as published; default $ARC_LOCOMO")

// conversation is what is said between two speakers, as drafts in order, and
// questions about it. Gold names turns by their Key, and Where is the scope.
type conversation struct {
	scope     memory.Scope
	end       time.Time // of the last session
	drafts    []memory.Draft
	questions []memorytest.Question
}

// locomo reads the conversations, or skips the test.
func locomo(t *testing.T) []conversation {
	t.Helper()
	if *locomoFile == "" {
		t.Skip("no data: set -locomo or ARC_LOCOMO to the file of LoCoMo conversations")
	}
	return chats(t, given(t, *locomoFile, "locomo"), "locomo")
}

// chats reads what has the form of LoCoMo.
func chats(t *testing.T, data []byte, scope string) []conversation {
	t.Helper()
	var raw []struct {
		Conversation map[string]json.RawMessage
		QA           []struct {
			Question string
			Evidence []string
			Category int
		}
	}
	require.NoError(t, json.Unmarshal(data, &raw))
	var out []conversation
	for i, r := range raw {
		c := conversation{scope: memory.Scope(fmt.Sprint(scope, "/", i))}
		for _, n := range sessions(t, r.Conversation) {
			c.read(t, r.Conversation, n)
		}
		turns := map[string]bool{}
		for _, d := range c.drafts {
			turns[d.Key] = true
		}
		for _, q := range r.QA {
			question := memorytest.Question{Text: q.Question, Category: strconv.Itoa(q.Category), Where: string(c.scope)}
			for _, e := range q.Evidence {
				if turns[e] {
					question.Gold = append(question.Gold, e)
				}
			}
			if question.Gold != nil { // a few cite nothing that exists
				c.questions = append(c.questions, question)
			}
		}
		out = append(out, c)
	}
	return out
}

var sessionName = regexp.MustCompile(`^session_(\d+)$`)

func sessions(t *testing.T, conversation map[string]json.RawMessage) []int {
	var out []int
	for name := range conversation {
		if m := sessionName.FindStringSubmatch(name); m != nil {
			out = append(out, int(number(t, m[1])))
		}
	}
	slices.Sort(out)
	return out
}

// read adds the turns of a session. They follow one another by a second, since
// only the session has a date.
func (c *conversation) read(t *testing.T, raw map[string]json.RawMessage, n int) {
	var turns []struct {
		Speaker, Text string
		ID            string `json:"dia_id"`
		Caption       string `json:"blip_caption"`
		Date          string `json:"date_time"` // of the turn, in REALTALK
	}
	name := fmt.Sprintf("session_%d", n)
	require.NoError(t, json.Unmarshal(raw[name], &turns))
	var date string
	require.NoError(t, json.Unmarshal(raw[name+"_date_time"], &date))
	at, err := time.Parse("3:04 pm on 2 January, 2006", date)
	require.NoError(t, err)
	for i, turn := range turns {
		text := turn.Text
		if turn.Caption != "" {
			text = turn.Caption + "\n" + text // before it, so that a question stays at the end
		}
		when := at.Add(time.Duration(i) * time.Second)
		if turn.Date != "" {
			when, err = time.Parse("2006-01-02T15:04:05", turn.Date)
			require.NoError(t, err)
		}
		c.drafts = append(c.drafts, memory.Draft{
			Kind: memory.Episode, Content: cmp.Or(text, "-"), Actor: turn.Speaker, Thread: name, Key: turn.ID,
			At: when,
		})
		c.end = c.drafts[len(c.drafts)-1].At
	}
}

// ofOthers are questions about the conversation that nothing in it answers:
// those about another, with the names of the speakers exchanged.
func (c *conversation) ofOthers(other *conversation) (out []memorytest.Question) {
	ours, theirs := c.speakers(), other.speakers()
	names := strings.NewReplacer(theirs[0], ours[0], theirs[1], ours[1])
	for _, q := range other.questions {
		out = append(out, memorytest.Question{Text: names.Replace(q.Text), Where: string(c.scope)})
	}
	return out
}

func (c *conversation) speakers() (out []string) {
	for _, d := range c.drafts {
		if !slices.Contains(out, d.Actor) {
			out = append(out, d.Actor)
		}
	}
	return out
}

// undated is the conversation with nothing but the date of its sessions: what
// comes after what is told by the order in which it is remembered.
func (c conversation) undated() conversation {
	c.drafts = slices.Clone(c.drafts)
	for i := range c.drafts[1:] {
		if d, before := &c.drafts[i+1], &c.drafts[i]; d.Thread == before.Thread {
			d.At = before.At
		}
	}
	return c
}

// byThread is the question with the threads of its gold in place of the turns.
func (c *conversation) byThread(q memorytest.Question) memorytest.Question {
	var gold []string
	for _, d := range c.drafts {
		if slices.Contains(q.Gold, d.Key) && !slices.Contains(gold, d.Thread) {
			gold = append(gold, d.Thread)
		}
	}
	q.Gold = gold
	return q
}
