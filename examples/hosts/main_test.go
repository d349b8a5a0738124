package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/memorytest"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/storetest"
)

func Example() {
	fmt.Println(run(context.Background(), os.Stdout))
	// Output:
	// scale web to 3: delivered, 3 replicas
	// web is slow in the evening: delivered, 5 replicas
	// blocked: task 1 was not delivered in 1 attempt;
	//   the last, by scaler: denied: approval was refused
	// scale web to 30: blocked, 5 replicas
	// web: "5 replicas run"
	// notes/evenings.md:1: "# Evenings\n\nThe web is slow below five replicas."
	// goal of 2 replicas, after a failure: 2 replicas
	// the store saw commits: true
	// <nil>
}

func TestParts(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) store.Store { return &audited{Store: store.NewMem()} })
	require.NoError(t, memorytest.CheckEmbedder(t.Context(), letters{}))
	s, err := customers()
	require.NoError(t, err)
	require.NoError(t, memorytest.CheckSanitizer(s, []memorytest.Secret{{Text: "for KD-12345678 only", Value: "KD-12345678"}}, []string{"KD-12"}))
}
