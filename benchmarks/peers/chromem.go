package main

import (
	"context"
	"runtime"
	"strconv"

	"github.com/philippgille/chromem-go"
)

// chromemEngine is chromem-go in memory, which compares with every vector on
// all processors.
type chromemEngine struct{ c *chromem.Collection }

func (e *chromemEngine) name() string { return "chromem-go" }

func (e *chromemEngine) build(ctx context.Context, _ string, docs []doc) (err error) {
	if e.c, err = chromem.NewDB().CreateCollection("m", nil, nil); err != nil {
		return err
	}
	for at := 0; at < len(docs); at += 1000 {
		var batch []chromem.Document
		for i := at; i < min(at+1000, len(docs)); i++ {
			batch = append(batch, chromem.Document{ID: strconv.Itoa(i), Embedding: docs[i].vector, Content: docs[i].text})
		}
		if err := e.c.AddDocuments(ctx, batch, runtime.NumCPU()); err != nil {
			return err
		}
	}
	return nil
}

func (e *chromemEngine) search(ctx context.Context, q query) ([]hit, error) {
	res, err := e.c.QueryEmbedding(ctx, q.vector, q.k, nil, nil)
	if err != nil {
		return nil, err
	}
	hits := make([]hit, len(res))
	for i, r := range res {
		if hits[i].doc, err = strconv.Atoi(r.ID); err != nil {
			return nil, err
		}
		hits[i].text = r.Content
	}
	return hits, nil
}

func (e *chromemEngine) close() error { return nil }

// pairEngine asks two engines one after the other, one for the words and one
// for the vector, and merges by the ranks (1/(60+rank), as is usual).
type pairEngine struct{ words, vectors engine }

func (e *pairEngine) name() string { return e.vectors.name() + " and " + e.words.name() }

func (e *pairEngine) search(ctx context.Context, q query) ([]hit, error) {
	a, err := e.words.search(ctx, q)
	if err != nil {
		return nil, err
	}
	b, err := e.vectors.search(ctx, q)
	if err != nil {
		return nil, err
	}
	return fuse(q.k, a, b), nil
}
