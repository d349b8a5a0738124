package index_test

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/next/internal/index"
	"github.com/arc-learn/arc/next/internal/text"
)

// dialogue is a conversation of LoCoMo or REALTALK as an Index, with the questions about it.
type dialogue struct {
	ix        *index.Index
	names     []string // of turns, by row
	texts     []string
	speakers  []string
	questions []question
	end       time.Time
}

type question struct {
	text     string
	gold     []string
	category int
}

// dialogues reads the file that a variable of the environment names, or skips the test: see docs/benchmarks.md.
func dialogues(t *testing.T, variable string) (out []dialogue) {
	path := os.Getenv(variable)
	if path == "" {
		t.Skip("no data: set " + variable)
	}
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		r, err = gzip.NewReader(f)
		require.NoError(t, err)
	}
	var raw []struct {
		Conversation map[string]json.RawMessage
		QA           []struct {
			Question string
			Evidence []string
			Category int
		}
	}
	require.NoError(t, json.NewDecoder(r).Decode(&raw))
	an, err := text.New()
	require.NoError(t, err)
	for _, c := range raw {
		d := dialogue{ix: index.New(an)}
		for n := range len(c.Conversation) {
			d.read(t, c.Conversation, fmt.Sprintf("session_%d", n))
		}
		for _, q := range c.QA {
			gold := slices.DeleteFunc(q.Evidence, func(e string) bool { return !slices.Contains(d.names, e) })
			if len(gold) > 0 {
				d.questions = append(d.questions, question{q.Question, gold, q.Category})
			}
		}
		out = append(out, d)
	}
	return out
}

func (d *dialogue) read(t *testing.T, c map[string]json.RawMessage, session string) {
	var turns []struct {
		Speaker, Text string
		ID            string `json:"dia_id"`
		Caption       string `json:"blip_caption"`
		Date          string `json:"date_time"`
	}
	var date string
	if c[session] == nil || !regexp.MustCompile(`^session_\d+$`).MatchString(session) {
		return
	}
	require.NoError(t, json.Unmarshal(c[session], &turns))
	require.NoError(t, json.Unmarshal(c[session+"_date_time"], &date))
	at, err := time.Parse("3:04 pm on 2 January, 2006", date)
	require.NoError(t, err)
	for i, turn := range turns {
		content, when := strings.TrimSpace(turn.Caption+"\n"+turn.Text), at.Add(time.Duration(i)*time.Second)
		if turn.Date != "" {
			when, err = time.Parse("2006-01-02T15:04:05", turn.Date)
			require.NoError(t, err)
		}
		d.ix.Insert(d.ix.Analyze(index.Doc{Content: cmp.Or(content, "-"), Actor: turn.Speaker, Thread: session, At: when}))
		d.names, d.texts, d.end = append(d.names, turn.ID), append(d.texts, content), when
		if !slices.Contains(d.speakers, turn.Speaker) {
			d.speakers = append(d.speakers, turn.Speaker)
		}
	}
}

func (d *dialogue) search(q string, k int) []index.Match {
	f := d.ix.Search(&index.Query{Text: q, At: d.end, K: k, Gate: .8})
	f = f[:min(k, len(f))]
	return f
}

// TestDialogues reports recall at 1, 5, 10 and 50 and within 1,000 tokens, and how well Answer tells questions that
// have no answer: of category 5, and of another conversation with the names exchanged.
func TestDialogues(t *testing.T) {
	for _, variable := range []string{"ARC_LOCOMO", "ARC_REALTALK"} {
		t.Run(variable, func(t *testing.T) {
			ds := dialogues(t, variable)
			var sums [5]float64
			n := 0.0
			var answered, unanswered, others []float64
			for i, d := range ds {
				for _, q := range d.questions {
					found := d.search(q.text, 50)
					n++
					for c, k := range []int{1, 5, 10, 50} {
						sums[c] += d.share(q, found[:min(k, len(found))])
					}
					budget, m := 1000, 0
					for ; m < len(found); m++ {
						if budget -= (len(d.texts[found[m].Row]) + 3) / 4; budget < 0 {
							break
						}
					}
					sums[4] += d.share(q, found[:m])
					if p := answer(d.search(q.text, 10)); q.category == 5 {
						unanswered = append(unanswered, p)
					} else {
						answered = append(answered, p)
					}
				}
				other := ds[(i+1)%len(ds)]
				names := strings.NewReplacer(other.speakers[0], d.speakers[0], other.speakers[1], d.speakers[1])
				for _, q := range other.questions {
					others = append(others, answer(d.search(names.Replace(q.text), 10)))
				}
			}
			for i := range sums {
				sums[i] *= 100 / n
			}
			t.Logf("%.0f questions: R@1 %.1f, R@5 %.1f, R@10 %.1f, R@50 %.1f, in 1,000 tokens %.1f", n, sums[0], sums[1], sums[2], sums[3], sums[4])
			t.Logf("AUROC: category 5 %.3f, of others %.3f, both %.3f", auroc(answered, unanswered), auroc(answered, others),
				auroc(answered, append(unanswered, others...)))
		})
	}
}

// share is how much of a question's evidence the matches have.
func (d *dialogue) share(q question, ms []index.Match) float64 {
	n := 0.0
	for _, m := range ms {
		if slices.Contains(q.gold, d.names[m.Row]) {
			n++
		}
	}
	return n / float64(len(q.gold))
}

// auroc is how likely one of yes is greater than one of no.
func auroc(yes, no []float64) float64 {
	wins := 0.0
	for _, y := range yes {
		for _, n := range no {
			wins += float64(cmp.Compare(y, n)+1) / 2
		}
	}
	return wins / float64(len(yes)*len(no))
}

// answer is how likely a question has an answer in what it found.
func answer(ms []index.Match) float64 {
	if len(ms) == 0 {
		return 0
	}
	return ms[0].Relevance
}
