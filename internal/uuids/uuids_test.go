package uuids_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/uuids"
)

func TestDraw(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	one := uuids.Draw(at, 1, 1)
	require.Equal(t, one, uuids.Draw(at, 1, 1))
	require.NotEqual(t, one, uuids.Draw(at, 1, 2))
	require.NotEqual(t, one, uuids.Draw(at, uuids.Salted(1, "b"), 1), "replicas draw ids of their own")
	require.Less(t, one, uuids.Draw(at.Add(time.Millisecond), 1, 1), "the later is behind the earlier")
	id, err := uuid.Parse(one)
	require.NoError(t, err)
	require.Equal(t, uuid.Version(7), id.Version())
	require.Equal(t, uuid.RFC4122, id.Variant())
	sec, _ := id.Time().UnixTime()
	require.Equal(t, at.Unix(), sec)
}
