package pipeline_test

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/memory/internal/pipeline"
	"github.com/arc-learn/arc/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// entries yields n entries, and then the error, if it is one.
func entries(n int, err error) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for i := range n {
			if !yield(store.Entry{Key: strconv.Itoa(i)}, nil) {
				return
			}
		}
		if err != nil {
			yield(store.Entry{}, err)
		}
	}
}

func keys(es []store.Entry) (out []string) {
	for _, e := range es {
		out = append(out, e.Key)
	}
	return out
}

func TestOrder(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 256, 10000} {
		var got []string
		err := pipeline.Run(context.Background(), entries(n, nil), keys, func(batch []string) error {
			got = append(got, batch...)
			return nil
		})
		require.NoError(t, err)
		require.Len(t, got, n)
		for i, k := range got {
			require.Equal(t, strconv.Itoa(i), k)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	bad := errors.New("bad")
	none := func([]string) error { return nil }
	require.ErrorIs(t, pipeline.Run(context.Background(), entries(9999, bad), keys, none), bad)
	require.ErrorIs(t, pipeline.Run(context.Background(), entries(9999, nil), keys, func([]string) error { return bad }), bad)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, pipeline.Run(ctx, entries(9999, nil), keys, none), context.Canceled)
}
