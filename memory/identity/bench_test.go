package identity_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// BenchmarkProject is the choice of ten facts for a task, by how many facts
// there are, from the store on.
func BenchmarkProject(b *testing.B) {
	for _, n := range []int{100, 1000} {
		for name, open := range map[string]func() (store.Store, error){
			"mem":    func() (store.Store, error) { return store.NewMem(), nil },
			"badger": func() (store.Store, error) { return badger.Open(b.TempDir(), nil) },
		} {
			b.Run(fmt.Sprintf("%s/facts=%d", name, n), func(b *testing.B) {
				st, err := open()
				require.NoError(b, err)
				defer func() { require.NoError(b, st.Close()) }()
				c := &clock{t: start}
				x, err := identity.New(bankOf(b, st), "acme/ann", &identity.Options{Now: c.now})
				require.NoError(b, err)
				for i := range n {
					_, err := x.Add(b.Context(), identity.Draft{Content: fmt.Sprintf("has worked on service number %d of the %d in the billing department", i*7919%n, i%13), Category: identity.Context, Confidence: 0.3 + 0.7*float64(i%97)/97})
					require.NoError(b, err)
				}
				b.ReportAllocs()
				for b.Loop() {
					p, err := x.Project(b.Context(), "why is billing service 7 slow?", identity.Budget{Tokens: 250})
					require.NoError(b, err)
					require.NotEmpty(b, p.Facts)
				}
			})
		}
	}
}
