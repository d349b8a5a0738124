package learn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
)

func TestLessonsSayWhatHasChanged(t *testing.T) {
	t.Parallel()
	p := setup(t, nil)
	learned := func(o learn.Outcome) learn.Lessons {
		t.Helper()
		l, err := p.learner.Learn(t.Context(), o)
		require.NoError(t, err)
		return l
	}
	require.Equal(t, learn.Lessons{}, learned(attempt("one", "the cache", false)), "another attempt follows")

	l := learned(delivered("two", "the cache"))
	require.NotEmpty(t, l.Chunk.ID)
	require.Equal(t, learn.Lessons{Chunk: memory.Receipt{ID: l.Chunk.ID, Disposition: memory.Stored}}, l)

	chunk := l.Chunk.ID
	l = learned(blocked("three", "the pool"))
	require.NotEmpty(t, l.Failure.ID)
	require.Equal(t, learn.Lessons{Failure: memory.Receipt{ID: l.Failure.ID, Disposition: memory.Stored}}, l)

	counts := func() []int {
		r, err := p.bank.In(scope).Get(t.Context(), chunk)
		require.NoError(t, err)
		return []int{r.Stats.Helped, r.Stats.Misled}
	}
	o := attempt("four", "the index", false)
	o.Fired, o.Injected = chunk, p.hits(t, chunk)
	require.Equal(t, learn.Lessons{}, learned(o))
	require.Equal(t, []int{0, 1}, counts())

	o = attempt("five", "the index", true)
	o.Task, o.Goal = learn.Delivered, learn.Delivered
	o.Fired, o.Injected = chunk, p.hits(t, chunk)
	require.Equal(t, learn.Lessons{}, learned(o))
	require.Equal(t, []int{1, 1}, counts())
}
