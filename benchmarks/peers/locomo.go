package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/arc-learn/arc/benchmarks/peers/report"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// conversation is one of LoCoMo (Maharana et al. 2024, snap-research/locomo):
// turns of two speakers in sessions, and questions with the turns that hold
// their evidence. The data is not part of the repository.
type conversation struct {
	docs      []doc // a turn each; the thread is its session
	ids       []string
	questions []question
}

type question struct {
	text     string
	category int
	gold     map[int]bool // indices of docs
}

// depths are the k of recall at k.
var depths = []int{1, 3, 5, 10, 20, 50}

var evidence = regexp.MustCompile(`D\d+:\d+`)

// readLocomo reads conversations.
func readLocomo(file string) ([]conversation, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []struct {
		Conversation map[string]json.RawMessage
		QA           []struct {
			Question string
			Category int
			Evidence []string
		}
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var out []conversation
	for _, c := range all {
		var conv conversation
		if err := conv.turns(c.Conversation); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		index := map[string]int{}
		for i, id := range conv.ids {
			index[id] = i
		}
		for _, qa := range c.QA {
			q := question{text: qa.Question, category: qa.Category, gold: map[int]bool{}}
			for _, id := range evidence.FindAllString(strings.Join(qa.Evidence, " "), -1) {
				if i, ok := index[id]; ok {
					q.gold[i] = true
				}
			}
			if len(q.gold) > 0 {
				conv.questions = append(conv.questions, q)
			}
		}
		out = append(out, conv)
	}
	return out, nil
}

// turns reads the sessions in order.
func (c *conversation) turns(fields map[string]json.RawMessage) error {
	for s := 1; ; s++ {
		name := "session_" + strconv.Itoa(s)
		if fields[name+"_date_time"] == nil {
			return nil
		}
		if fields[name] == nil {
			continue
		}
		var date string
		if err := json.Unmarshal(fields[name+"_date_time"], &date); err != nil {
			return err
		}
		at, err := time.Parse("3:04 pm on 2 January, 2006", date)
		if err != nil {
			return err
		}
		var turns []struct {
			Speaker, Text string
			ID            string `json:"dia_id"`
			Caption       string `json:"blip_caption"`
		}
		if err := json.Unmarshal(fields[name], &turns); err != nil {
			return err
		}
		for i, t := range turns {
			text := t.Text
			if t.Caption != "" {
				text += " [" + t.Caption + "]"
			}
			c.ids = append(c.ids, t.ID)
			c.docs = append(c.docs, doc{text: text, thread: name, actor: t.Speaker, at: at.Add(time.Duration(i) * time.Second)})
		}
	}
}

// ranker answers a question with turns and with sessions, best first.
type ranker interface {
	rank(ctx context.Context, text string) (turns []int, sessions []string, err error)
	close() error
}

// locomo measures the share of the evidence that is found at each depth.
func (b *bench) locomo(ctx context.Context, file string) error {
	if file == "" {
		fmt.Println("locomo: skipped; -locomo FILE or ARC_LOCOMO names the file of conversations")
		return nil
	}
	conversations, err := readLocomo(file)
	if err != nil {
		return err
	}
	type peer struct {
		name string
		open func(*conversation) (ranker, error)
	}
	peers := []peer{{"arc", func(c *conversation) (ranker, error) { return newArcRanker(ctx, c) }}}
	for _, make := range []func() engine{
		func() engine { return &bleveEngine{label: "bleve", small: true} },
		func() engine { return &bleveEngine{label: "bleve, BM25", small: true, bm25: true} },
		func() engine { return &blugeEngine{} },
		newSQLite,
	} {
		if e := make(); e != nil {
			peers = append(peers, peer{e.name(), func(c *conversation) (ranker, error) { return b.newPeerRanker(ctx, c, make()) }})
		}
	}
	for _, p := range peers {
		var t tally
		for i := range conversations {
			r, err := p.open(&conversations[i])
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			err = t.ask(ctx, r, &conversations[i])
			if err = errors.Join(err, r.close()); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
		if err := b.tell(p.name, &t); err != nil {
			return err
		}
	}
	return nil
}

// tally sums recall over questions.
type tally struct {
	sums  map[figure]float64
	count map[int]int // questions by category; 0: all
}

type figure struct {
	level       string
	category, k int
}

func (t *tally) ask(ctx context.Context, r ranker, c *conversation) error {
	if t.sums == nil {
		t.sums, t.count = map[figure]float64{}, map[int]int{}
	}
	for _, q := range c.questions {
		turns, sessions, err := r.rank(ctx, q.text)
		if err != nil {
			return err
		}
		gold := map[string]bool{}
		for i := range q.gold {
			gold[c.docs[i].thread] = true
		}
		for _, category := range []int{0, q.category} {
			t.count[category]++
			for _, k := range depths {
				t.sums[figure{"turn", category, k}] += share1(turns, q.gold, k)
				t.sums[figure{"session", category, k}] += share1(sessions, gold, k)
			}
		}
	}
	return nil
}

// share1 is the share of gold among the first k.
func share1[T comparable](ranked []T, gold map[T]bool, k int) float64 {
	n := 0
	for _, x := range ranked[:min(k, len(ranked))] {
		if gold[x] {
			n++
		}
	}
	return float64(n) / float64(len(gold))
}

func (b *bench) tell(name string, t *tally) error {
	for _, level := range []string{"turn", "session"} {
		for category := range 6 {
			n := t.count[category]
			if n == 0 {
				continue
			}
			line := fmt.Sprintf("locomo       %-14s %-8s category %d (%4d)", name, level, category, n)
			for _, k := range depths {
				v := 100 * t.sums[figure{level, category, k}] / float64(n)
				line += fmt.Sprintf("  @%d %5.1f", k, v)
				b.rep.AddRecall(report.Recall{Engine: name, Level: level, Category: category, K: k, Value: v, Questions: n})
			}
			if err := b.save("%s", line); err != nil {
				return err
			}
		}
	}
	return nil
}

// arcRanker is a Space with the turns of one conversation.
type arcRanker struct {
	bank  *memory.Bank
	space memory.Space
	docs  map[memory.ID]int
}

func newArcRanker(ctx context.Context, c *conversation) (*arcRanker, error) {
	bank, err := memory.Open(ctx, store.NewMem(), nil)
	if err != nil {
		return nil, err
	}
	r := &arcRanker{bank: bank, space: bank.In("locomo"), docs: map[memory.ID]int{}}
	var drafts []memory.Draft
	for i := range c.docs {
		drafts = append(drafts, draft(i, &c.docs[i]))
	}
	receipts, err := r.space.RememberAll(ctx, drafts)
	if err != nil {
		return nil, errors.Join(err, bank.Close())
	}
	for i, receipt := range receipts {
		r.docs[receipt.ID] = i
	}
	return r, nil
}

func (r *arcRanker) rank(ctx context.Context, text string) (turns []int, sessions []string, err error) {
	hits, err := r.space.Recall(ctx, memory.Query{Text: text, K: depths[len(depths)-1]})
	if err != nil {
		return nil, nil, err
	}
	for _, h := range hits {
		turns = append(turns, r.docs[h.Record.ID])
	}
	threads, err := r.space.RecallThreads(ctx, memory.Query{Text: text, K: depths[len(depths)-1]})
	for _, t := range threads {
		sessions = append(sessions, t.Thread)
	}
	return turns, sessions, err
}

func (r *arcRanker) close() error { return r.bank.Close() }

// peerRanker is a peer with a document per turn, the speaker's name before the
// text. Its sessions are those of its turns, in their order.
type peerRanker struct {
	e engine
	c *conversation
}

func (b *bench) newPeerRanker(ctx context.Context, c *conversation, e engine) (ranker, error) {
	dir, err := os.MkdirTemp(b.dir, filepath.Base(e.name()))
	if err != nil {
		return nil, err
	}
	docs := make([]doc, len(c.docs))
	for i, d := range c.docs {
		docs[i].text = d.actor + ": " + d.text
	}
	return &peerRanker{e, c}, e.build(ctx, dir, docs)
}

func (r *peerRanker) rank(ctx context.Context, text string) (turns []int, sessions []string, err error) {
	hits, err := r.e.search(ctx, query{text: text, k: 500})
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	for _, h := range hits {
		turns = append(turns, h.doc)
		if s := r.c.docs[h.doc].thread; !seen[s] {
			seen[s] = true
			sessions = append(sessions, s)
		}
	}
	return turns, sessions, nil
}

func (r *peerRanker) close() error { return r.e.close() }
