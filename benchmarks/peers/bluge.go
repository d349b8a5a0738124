package main

import (
	"context"
	"path/filepath"
	"strconv"

	"github.com/blugelabs/bluge"
	"github.com/blugelabs/bluge/analysis"
	"github.com/blugelabs/bluge/analysis/lang/en"
)

// blugeEngine is bluge on disk with one stored field, analysed as English,
// written by its offline writer into one segment.
type blugeEngine struct {
	analyzer *analysis.Analyzer
	reader   *bluge.Reader
}

func (e *blugeEngine) name() string { return "bluge" }

func (e *blugeEngine) build(_ context.Context, dir string, docs []doc) error {
	e.analyzer = en.NewAnalyzer()
	config := bluge.DefaultConfig(filepath.Join(dir, "index"))
	w, err := bluge.OpenOfflineWriter(config, 1000, 10)
	if err != nil {
		return err
	}
	for i := range docs {
		d := bluge.NewDocument(strconv.Itoa(i)).
			AddField(bluge.NewTextField("t", docs[i].text).WithAnalyzer(e.analyzer).StoreValue())
		if err := w.Insert(d); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	e.reader, err = bluge.OpenReader(config)
	return err
}

func (e *blugeEngine) search(ctx context.Context, q query) ([]hit, error) {
	match := bluge.NewMatchQuery(q.text).SetField("t").SetAnalyzer(e.analyzer)
	found, err := e.reader.Search(ctx, bluge.NewTopNSearch(q.k, match))
	if err != nil {
		return nil, err
	}
	var hits []hit
	for {
		m, err := found.Next()
		if err != nil || m == nil {
			return hits, err
		}
		var h hit
		var bad error
		err = m.VisitStoredFields(func(field string, value []byte) bool {
			switch field {
			case "_id":
				h.doc, bad = strconv.Atoi(string(value))
			case "t":
				h.text = string(value)
			}
			return true
		})
		if err != nil || bad != nil {
			return nil, err
		}
		hits = append(hits, h)
	}
}

func (e *blugeEngine) close() error { return e.reader.Close() }
