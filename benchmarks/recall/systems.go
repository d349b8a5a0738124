package main

import (
	"context"
	"hash/fnv"
	"math"
	"strings"
	"unicode"

	"github.com/blevesearch/bleve/v2"
	"github.com/philippgille/chromem-go"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// arc has a Space, in memory as the others are.
type arc struct {
	bank  *memory.Bank
	space memory.Space
}

func openArc(ctx context.Context) (system, error) {
	b, err := memory.Open(ctx, store.NewGroup(store.NewMem()), nil)
	if err != nil {
		return nil, err
	}
	return &arc{b, b.In("chat")}, nil
}

func (a *arc) add(ctx context.Context, turns []turn) error {
	drafts := make([]memory.Draft, len(turns))
	for i, t := range turns {
		drafts[i] = memory.Draft{Kind: memory.Episode, Actor: t.speaker, Thread: t.session, At: t.at,
			Content: t.text, Key: t.id}
	}
	for len(drafts) > 0 {
		n := min(100, len(drafts))
		if _, err := a.space.RememberAll(ctx, drafts[:n]); err != nil {
			return err
		}
		drafts = drafts[n:]
	}
	return nil
}

func (a *arc) find(ctx context.Context, question string, k int) (ids []string, err error) {
	hits, err := a.space.Recall(ctx, memory.Query{Text: question, K: k})
	for _, h := range hits {
		ids = append(ids, h.Record.Key)
	}
	return ids, err
}

func (a *arc) close() error { return a.bank.Close() }

// words has who says a turn, when, and what: the others know no fields.
func (t turn) words() string {
	return t.speaker + " " + t.at.Format("2 January 2006 Monday") + "\n" + t.text
}

type bleveIndex struct{ bleve.Index }

func openBleve(context.Context) (system, error) {
	m := bleve.NewIndexMapping()
	m.DefaultAnalyzer = "en"
	m.ScoringModel = "bm25"
	x, err := bleve.NewMemOnly(m)
	return bleveIndex{x}, err
}

func (x bleveIndex) add(_ context.Context, turns []turn) error {
	b := x.NewBatch()
	for _, t := range turns {
		if err := b.Index(t.id, map[string]string{"text": t.words()}); err != nil {
			return err
		}
	}
	return x.Batch(b)
}

func (x bleveIndex) find(ctx context.Context, question string, k int) (ids []string, err error) {
	r, err := x.SearchInContext(ctx, bleve.NewSearchRequestOptions(bleve.NewMatchQuery(question), k, 0, false))
	if err != nil {
		return nil, err
	}
	for _, h := range r.Hits {
		ids = append(ids, h.ID)
	}
	return ids, nil
}

func (x bleveIndex) close() error { return x.Close() }

type chromemIndex struct{ c *chromem.Collection }

func openChromem(context.Context) (system, error) {
	c, err := chromem.NewDB().CreateCollection("chat", nil, hashed)
	return chromemIndex{c}, err
}

func (x chromemIndex) add(ctx context.Context, turns []turn) error {
	docs := make([]chromem.Document, len(turns))
	for i, t := range turns {
		docs[i] = chromem.Document{ID: t.id, Content: t.words()}
	}
	return x.c.AddDocuments(ctx, docs, 1)
}

func (x chromemIndex) find(ctx context.Context, question string, k int) (ids []string, err error) {
	hits, err := x.c.Query(ctx, question, min(k, x.c.Count()), nil, nil)
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	return ids, err
}

func (x chromemIndex) close() error { return nil }

// hashed is a vector of length 1 with a place for each word, of 1,024, by its hash.
func hashed(_ context.Context, text string) ([]float32, error) {
	v := make([]float32, 1024)
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		h := fnv.New32a()
		h.Write([]byte(w))
		v[h.Sum32()%uint32(len(v))]++
	}
	length := 0.
	for _, n := range v {
		length += float64(n * n)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(max(length, 1)))
	}
	return v, nil
}
