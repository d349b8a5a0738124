package main

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan"
	index "github.com/blevesearch/bleve_index_api"
)

// bleveEngine is bleve on disk with one stored field, analysed as English, in
// one segment.
type bleveEngine struct {
	label string
	bm25  bool // not its default scoring
	small bool // leave the segments as they come
	index bleve.Index
}

func (e *bleveEngine) name() string { return e.label }

func (e *bleveEngine) build(ctx context.Context, dir string, docs []doc) (err error) {
	text := bleve.NewTextFieldMapping()
	text.Analyzer = en.AnalyzerName
	text.Store = true
	text.IncludeInAll = false
	text.IncludeTermVectors = false
	text.DocValues = false
	m := bleve.NewIndexMapping()
	m.DefaultMapping = bleve.NewDocumentStaticMapping()
	m.DefaultMapping.AddFieldMappingsAt("t", text)
	if e.bm25 {
		m.ScoringModel = index.BM25Scoring
	}
	if e.index, err = bleve.New(filepath.Join(dir, "index"), m); err != nil {
		return err
	}
	batch := e.index.NewBatch()
	for i := range docs {
		if err := batch.Index(strconv.Itoa(i), map[string]any{"t": docs[i].text}); err != nil {
			return err
		}
		if batch.Size() == 1000 || i == len(docs)-1 {
			if err := e.index.Batch(batch); err != nil {
				return err
			}
			batch.Reset()
		}
	}
	if e.small {
		return nil
	}
	advanced, err := e.index.Advanced()
	if err != nil {
		return err
	}
	s, ok := advanced.(*scorch.Scorch)
	if !ok {
		return errors.New("bleve: the index is not a scorch")
	}
	return s.ForceMerge(ctx, &mergeplan.SingleSegmentMergePlanOptions)
}

func (e *bleveEngine) search(ctx context.Context, q query) ([]hit, error) {
	match := bleve.NewMatchQuery(q.text)
	match.SetField("t")
	req := bleve.NewSearchRequestOptions(match, q.k, 0, false)
	req.Fields = []string{"t"}
	res, err := e.index.SearchInContext(ctx, req)
	if err != nil {
		return nil, err
	}
	hits := make([]hit, len(res.Hits))
	for i, h := range res.Hits {
		if hits[i].doc, err = strconv.Atoi(h.ID); err != nil {
			return nil, err
		}
		hits[i].text, _ = h.Fields["t"].(string)
	}
	return hits, nil
}

func (e *bleveEngine) close() error { return e.index.Close() }
