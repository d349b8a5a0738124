package model_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/model"
	"github.com/arc-learn/arc/reason/reasontest"
)

func TestPrice(t *testing.T) {
	t.Parallel()
	used := reason.Usage{TokensIn: 1_000_000, TokensOut: 100_000, CacheRead: 400_000, CacheWrite: 100_000}
	paid := used
	paid.CostUSD = 7
	for name, c := range map[string]struct {
		rate model.Rate
		used reason.Usage
		want float64
	}{
		"in and out":       {model.Rate{In: 3, Out: 15}, used, 4.5},
		"caches":           {model.Rate{In: 3, Out: 15, CacheRead: .3, CacheWrite: 3.75}, used, 3.495},
		"nothing reported": {model.Rate{In: 3, Out: 15}, reason.Usage{}, 0},
		"the model's own":  {model.Rate{In: 3, Out: 15}, paid, 7},
		"negative":         {model.Rate{In: -3, Out: 15}, used, 1.5},
		"no numbers":       {model.Rate{In: math.NaN(), Out: math.Inf(1), CacheRead: 1}, used, .4},
	} {
		failed := &reason.ModelError{Status: 503, Again: true, Usage: c.used}
		m := model.Price(reasontest.NewScript(
			reasontest.Answer{Pieces: []string{"a", "b"}, Stop: reason.StopEnd, Usage: c.used},
			reasontest.Answer{Pieces: []string{"a", "b"}, Stop: reason.StopEnd, Usage: c.used},
			reasontest.Fail(fmt.Errorf("gateway: %w", failed)),
		), c.rate)
		want := c.used
		want.CostUSD = c.want
		resp, err := m.Generate(t.Context(), ask("x"))
		require.NoError(t, err, name)
		require.InDelta(t, c.want, resp.Usage.CostUSD, 1e-9, name)
		_, last, err := read(streamOf(t, m, ask("x")))
		require.NoError(t, err, name)
		require.Equal(t, resp.Usage, last.Usage, name)

		_, err = m.Generate(t.Context(), ask("x"))
		e, ok := errors.AsType[*reason.ModelError](err)
		require.True(t, ok, name)
		require.Equal(t, resp.Usage, e.Usage, name)
		require.ErrorContains(t, err, "gateway: ", name)
		require.ErrorIs(t, err, failed, name)
		again, _ := reason.Retryable(err)
		require.True(t, again, name)
		require.Equal(t, c.used, failed.Usage, name)
	}
}

func ExamplePrice() {
	client := reasontest.NewScript(reasontest.Answer{ // in place of a real one
		Pieces: []string{"forty-two"}, Usage: reason.Usage{TokensIn: 2000, TokensOut: 400},
	})
	m := model.Price(client, model.Rate{In: 3, Out: 15}) // US dollars for a million tokens
	resp, err := m.Generate(context.Background(), &reason.Request{System: "What is the answer?"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("$%.3f\n", resp.Usage.CostUSD)
	// Output: $0.012
}
