package arc_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// A run of one task, in memory, with recall from 100 memories.
func BenchmarkRun(b *testing.B) {
	a, err := arc.New(b.Context(), store.NewMem(), arc.Host{
		Reasoner: planned(arctest.Tasks("", task("write", ""))), Workers: []act.Worker{(&arctest.Worker{}).As("ann")},
	}, nil)
	require.NoError(b, err)
	defer a.Close()
	m, err := a.In("acme").Memory(b.Context())
	require.NoError(b, err)
	for n := range 100 {
		_, err := m.Remember(b.Context(), memory.Draft{Kind: memory.Fact, Content: fmt.Sprintf("letter %d goes to street %d", n, n*7)})
		require.NoError(b, err)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		r, err := a.Run(b.Context(), arc.Objective{Scope: "acme", Text: fmt.Sprint("write letter ", n)})
		require.NoError(b, err)
		require.Equal(b, arc.Delivered, r.Status)
	}
}
