// Command recall measures how often a question about a long conversation finds the turns that answer it, by
// words alone: arc's memory beside bleve and chromem-go.
//
//	GOWORK=off go run . [-rounds 3] FILE...
//
// A FILE is a set in LoCoMo's form, such as locomo10.json of snap-research/locomo, or the chats of REALTALK
// in that form; .gz is unpacked. Each conversation is an index of its own. The figures are means over the
// questions that name their evidence: the share of it among the first 1 and 10 hits. Times are medians of the
// rounds, the systems in turn.
//
// bleve indexes with its English analyzer, which stems. chromem-go finds by vectors and is given a vector of
// hashed words, since no embedding model is asked here: what it finds says how far vectors without a model
// get, and no more.
package main

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// system finds turns of a conversation.
type system interface {
	add(ctx context.Context, turns []turn) error
	find(ctx context.Context, question string, k int) ([]string, error) // ids, the best first
	close() error
}

var systems = []struct {
	name string
	open func(ctx context.Context) (system, error)
}{{"arc", openArc}, {"bleve", openBleve}, {"chromem-go, hashed words", openChromem}}

type turn struct {
	id, speaker, session, text string
	at                         time.Time
}

type conversation struct {
	turns     []turn
	questions []question
}

type question struct {
	Question string
	Evidence []string
}

func main() {
	log.SetFlags(0)
	rounds := flag.Int("rounds", 3, "of all systems")
	flag.Parse()
	if flag.NArg() == 0 {
		log.Fatal("no FILE: see go doc")
	}
	fmt.Println("| set | questions | system | R@1 | R@10 | µs a question | µs a turn added |\n" +
		"|---|--:|---|--:|--:|--:|--:|")
	for _, path := range flag.Args() {
		cs, err := read(path)
		if err != nil {
			log.Fatal(path, ": ", err)
		}
		figures := make([][]figure, len(systems))
		for range *rounds {
			for i, s := range systems {
				f, err := measure(context.Background(), s.open, cs)
				if err != nil {
					log.Fatal(s.name, ": ", err)
				}
				figures[i] = append(figures[i], f)
			}
		}
		for i, s := range systems {
			first := figures[i][0]
			fmt.Printf("| %s | %d | %s | %.1f | %.1f | %.0f | %.0f |\n", filepath.Base(path), first.questions, s.name,
				first.at1, first.at10, median(figures[i], func(f figure) float64 { return f.ask }),
				median(figures[i], func(f figure) float64 { return f.add }))
		}
	}
}

func median(fs []figure, of func(figure) float64) float64 {
	slices.SortFunc(fs, func(a, b figure) int { return cmp.Compare(of(a), of(b)) })
	return of(fs[len(fs)/2])
}

// figure is what one system did on one set: percent, and microseconds.
type figure struct {
	questions           int
	at1, at10, ask, add float64
}

func measure(
	ctx context.Context, open func(context.Context) (system, error), cs []conversation,
) (f figure, err error) {
	var asked, added time.Duration
	turns := 0
	for _, c := range cs {
		s, err := open(ctx)
		if err != nil {
			return f, err
		}
		began := time.Now()
		if err := s.add(ctx, c.turns); err != nil {
			return f, err
		}
		added += time.Since(began)
		turns += len(c.turns)
		for _, q := range c.questions {
			began = time.Now()
			ids, err := s.find(ctx, q.Question, 10)
			if err != nil {
				return f, err
			}
			asked += time.Since(began)
			f.at1 += share(q.Evidence, ids[:min(1, len(ids))])
			f.at10 += share(q.Evidence, ids)
		}
		f.questions += len(c.questions)
		if err := s.close(); err != nil {
			return f, err
		}
	}
	n := float64(f.questions)
	f.at1, f.at10 = 100*f.at1/n, 100*f.at10/n
	f.ask, f.add = asked.Seconds()*1e6/n, added.Seconds()*1e6/float64(turns)
	return f, nil
}

// share is how much of the evidence is among the ids.
func share(evidence, ids []string) (n float64) {
	for _, e := range evidence {
		if slices.Contains(ids, e) {
			n++
		}
	}
	return n / float64(len(evidence))
}

func read(path string) (out []conversation, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return nil, err
		}
	}
	var raw []struct {
		Conversation map[string]json.RawMessage
		QA           []question
	}
	if err := json.NewDecoder(r).Decode(&raw); err != nil {
		return nil, err
	}
	for _, r := range raw {
		var c conversation
		for n := range len(r.Conversation) {
			name := fmt.Sprint("session_", n)
			if r.Conversation[name] == nil {
				continue
			}
			turns, err := session(name, r.Conversation[name], r.Conversation[name+"_date_time"])
			if err != nil {
				return nil, err
			}
			c.turns = append(c.turns, turns...)
		}
		for _, q := range r.QA {
			q.Evidence = slices.DeleteFunc(q.Evidence, func(e string) bool {
				return !slices.ContainsFunc(c.turns, func(t turn) bool { return t.id == e })
			})
			if len(q.Evidence) > 0 {
				c.questions = append(c.questions, q)
			}
		}
		out = append(out, c)
	}
	return out, nil
}

func session(name string, turns, date json.RawMessage) (out []turn, err error) {
	var raw []struct {
		Speaker, Text string
		ID            string `json:"dia_id"`
		Caption       string `json:"blip_caption"`
		Date          string `json:"date_time"`
	}
	var day string
	if err := json.Unmarshal(turns, &raw); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(date, &day); err != nil {
		return nil, err
	}
	began, err := time.Parse("3:04 pm on 2 January, 2006", day)
	if err != nil {
		return nil, err
	}
	for i, r := range raw {
		at := began.Add(time.Duration(i) * time.Second)
		if r.Date != "" {
			if at, err = time.Parse("2006-01-02T15:04:05", r.Date); err != nil {
				return nil, err
			}
		}
		text := cmp.Or(strings.TrimSpace(r.Caption+"\n"+r.Text), "-")
		out = append(out, turn{id: r.ID, speaker: r.Speaker, session: name, text: text, at: at})
	}
	return out, nil
}
