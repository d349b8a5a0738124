package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// vectors compares queries that have a vector: alone, and with words.
func (b *bench) vectors(ctx context.Context, n int) (err error) {
	docs := corpus(b.z, n, 1, false)
	near := addVectors(docs)
	hybrid := set{name: "hybrid", queries: texts(questions(b.z, docs, true))}
	alone := set{name: "vector"}
	for i, v := range near {
		hybrid.queries[i].vector = v
		alone.queries = append(alone.queries, query{vector: v, k: 10})
		alone.exact = append(alone.exact, nearest(docs, v, 10))
	}
	a, c, w := &arcEngine{}, &chromemEngine{}, &bleveEngine{label: "bleve"}
	for _, e := range []engine{a, c, w} {
		if err := b.index(ctx, "vectors", e, docs); err != nil {
			return fmt.Errorf("%s: %w", e.name(), err)
		}
		defer func() { err = errors.Join(err, e.close()) }()
	}
	if err := b.measure(ctx, []searcher{a, c}, n, alone); err != nil {
		return err
	}
	return b.measure(ctx, []searcher{a, &pairEngine{w, c}}, n, hybrid)
}

// overlap is the share of the exact hits that an engine finds.
func (s *set) overlap(ctx context.Context, e searcher) (float64, error) {
	found := 0
	for i, q := range s.queries {
		hits, err := e.search(ctx, q)
		if err != nil {
			return 0, err
		}
		for _, h := range hits {
			if slices.Contains(s.exact[i], h.doc) {
				found++
			}
		}
	}
	return float64(found) / float64(10*len(s.queries)), nil
}

// fuse merges the rankings of two engines.
func fuse(k int, lists ...[]hit) []hit {
	score := map[int]float64{}
	var all []hit
	for _, hits := range lists {
		for i, h := range hits {
			if score[h.doc] == 0 {
				all = append(all, h)
			}
			score[h.doc] += 1 / float64(60+i+1)
		}
	}
	slices.SortFunc(all, func(a, b hit) int {
		return cmp.Or(cmp.Compare(score[b.doc], score[a.doc]), cmp.Compare(a.doc, b.doc))
	})
	return all[:min(k, len(all))]
}
