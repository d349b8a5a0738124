package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/telemetry"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

func TestClassTellsNothingOfWhatFailed(t *testing.T) {
	t.Parallel()
	secret := errors.New("canary")
	for want, err := range map[string]error{
		"":         nil,
		"_OTHER":   secret,
		"429":      &reason.ModelError{Status: 429, Err: secret},
		"model":    &reason.ModelError{Code: "canary", Err: secret},
		"panic":    &guard.PanicError{Value: secret},
		"timeout":  guard.ErrTime,
		"exited":   guard.ErrExited,
		"canceled": context.Canceled,
		"refused":  reason.ErrDecision,
		"format":   reason.ErrFormat,
		"refusal":  reason.ErrRefusal,
		"closed":   store.ErrClosed,
		"conflict": store.ErrConflict,
		"limit":    &store.LimitError{Field: "canary"},
	} {
		require.Equal(t, want, telemetry.Class(err))
		if err != nil {
			require.Equal(t, want, telemetry.Class(fmt.Errorf("canary: %w", err)))
		}
	}
	require.Equal(t, "timeout", telemetry.Class(context.DeadlineExceeded))
	require.Equal(t, "limit", telemetry.Class(fmt.Errorf("%w: %w", reason.ErrModel, &store.LimitError{})), "what is more is said first")
}

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	text := "x"
	for len(text) < 1<<14 {
		text += "é"
	}
	require.Equal(t, text[:8191]+" …", telemetry.Cut(text))
	require.Equal(t, "short", telemetry.Cut("short"))
}
