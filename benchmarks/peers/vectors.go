package main

import "context"

// vectors compares queries that have both words and a vector.
func (b *bench) vectors(ctx context.Context, n int) error {
	docs := corpus(b.z, n, 1, false)
	near := addVectors(docs, 1)
	qs := texts(questions(b.z, docs, 1, true))
	for i := range qs {
		qs[i].vector = near[i%len(near)]
	}
	return b.compare(ctx, "vectors", []engine{
		&chromemEngine{},
		&pairEngine{&bleveEngine{label: "bleve"}, &chromemEngine{}},
	}, docs, []set{{"hybrid", qs}})
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
	sortHits(all, score)
	return all[:min(k, len(all))]
}
