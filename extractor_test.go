package arc_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// portReader is an Extractor that reads a port.
type portReader struct{}

func (portReader) Extract(_ context.Context, r memory.Record, _ []memory.Record) ([]memory.Statement, error) {
	if r.Content != `{"port":5432}` {
		return nil, nil
	}
	return []memory.Statement{{Slot: memory.Slot{Subject: "the database", Attribute: "port", Value: "5432"}, Change: "set", Confidence: 1}}, nil
}

// What an output establishes becomes a fact of the run, as trusted as the output.
func TestFactsOfRuns(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	s := &script{do: func(int, act.Work) (act.Result, error) {
		return act.Result{Output: json.RawMessage(`{"port": 5432}`), Reflection: iar.Reflection{
			Status: iar.Success, Confidence: .9, Summary: "found it", PotentialIssues: []string{}, AlignmentCheck: map[string]float64{},
		}}, nil
	}}
	with := memory.Options{Extractor: portReader{}}
	a, err := arc.New(t.Context(), st, s.host(), &arc.Options{Memory: with})
	require.NoError(t, err)
	report, err := a.Run(t.Context(), arc.Objective{ID: "look", Text: "find the port of the database"})
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, report.Status)
	require.NoError(t, a.Close())

	bank, err := memory.Open(t.Context(), st, &with)
	require.NoError(t, err)
	defer func() { require.NoError(t, bank.Close()) }()
	require.NoError(t, bank.Extract(t.Context()))
	hits, err := bank.In("local").Recall(t.Context(), memory.Query{Text: "port of the database", Kinds: []memory.Kind{memory.Fact}})
	require.NoError(t, err)
	require.Len(t, hits, 1)
	require.Equal(t, "the database port: 5432", hits[0].Record.Content)
	require.False(t, hits[0].Record.Trusted)
	source, err := bank.In("local").Get(t.Context(), hits[0].Record.Links[0].To)
	require.NoError(t, err)
	require.Equal(t, memory.Executor, source.Source.Origin)
}
