package gist_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/gist"
	"github.com/arc-learn/arc/reason"
)

func TestGist(t *testing.T) {
	t.Parallel()
	require.True(t, gist.Same(" Restart  the Cache.", "restart the cache"))
	require.False(t, gist.Same("restart the cache", "restart the queue"))
	require.True(t, gist.Listed([]string{"a", "Restart the cache!"}, "restart the cache"))
	require.NotEqual(t, gist.Sum("ab", "c"), gist.Sum("a", "bc"))
	plan := func(objective, worker, inputs string) []reason.Task {
		return []reason.Task{{Objective: objective, Worker: worker, Inputs: json.RawMessage(inputs)}}
	}
	require.Equal(t, gist.Plan(plan("Mend it.", "a", `{"x":1,"y":2}`)), gist.Plan(plan("mend it", "b", `{"y":2, "x":1}`)))
	require.NotEqual(t, gist.Plan(plan("mend it", "", `{"x":1}`)), gist.Plan(plan("mend it", "", `{"x":2}`)))
	require.Equal(t, gist.Approach("Patch", nil), gist.Approach("patch.", plan("mend it", "", "")))
	require.Equal(t, gist.Plan(plan("mend it", "", "")), gist.Approach(" ", plan("mend it", "", "")), "without a name, by its tasks")
}
