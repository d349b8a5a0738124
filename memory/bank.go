package memory

import (
	"context"
	"errors"
	"iter"

	"github.com/arc-learn/arc/store"
)

var errStub = errors.New("stub")

// Bank holds the memories of all scopes.
type Bank struct{ st store.Store }

// Open loads the memories of st.
func Open(ctx context.Context, st store.Store, opts *Options) (*Bank, error) {
	return &Bank{st}, nil
}

// Space is the view of one scope.
type Space struct {
	b     *Bank
	scope Scope
}

// In returns the view of one scope.
func (b *Bank) In(s Scope) Space { return Space{b, s} }

// Flush writes what is pending.
func (b *Bank) Flush(ctx context.Context) error { return nil }

// Close flushes and stops.
func (b *Bank) Close() error { return nil }

func (s Space) Remember(ctx context.Context, d Draft) (Receipt, error) { return Receipt{}, errStub }
func (s Space) RememberAll(ctx context.Context, ds []Draft) ([]Receipt, error) {
	return nil, errStub
}
func (s Space) Recall(ctx context.Context, q Query) ([]Hit, error)              { return nil, errStub }
func (s Space) RecallThreads(ctx context.Context, q Query) ([]ThreadHit, error) { return nil, errStub }
func (s Space) Explain(ctx context.Context, q Query, id ID) (Explanation, error) {
	return Explanation{}, errStub
}
func (s Space) Feedback(ctx context.Context, f Feedback) error      { return errStub }
func (s Space) Get(ctx context.Context, id ID) (Record, error)      { return Record{}, errStub }
func (s Space) Trust(ctx context.Context, id ID) error              { return errStub }
func (s Space) Forget(ctx context.Context, id ID) error             { return errStub }
func (s Space) Revoke(ctx context.Context, src Source) (int, error) { return 0, errStub }
func (s Space) Health(ctx context.Context) (Health, error)          { return Health{}, errStub }
func (s Space) Decay(ctx context.Context) (DecayReport, error)      { return DecayReport{}, errStub }
func (s Space) Consolidate(ctx context.Context) (ConsolidateReport, error) {
	return ConsolidateReport{}, errStub
}
func (s Space) All(ctx context.Context) iter.Seq2[Record, error] {
	return func(func(Record, error) bool) {}
}

// Similarity tells how alike two texts are.
func Similarity(a, b string) float64 { return 0 }

// Render fences recalled text as data.
func Render(hits []Hit) string { return "" }

type prior struct{ mean, weight float64 }

func posterior(p prior, helped, failed, misled float64) float64 {
	return (p.mean*p.weight + helped) / (p.weight + helped + misled + 0.2*failed)
}
