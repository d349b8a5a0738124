package badger

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Versions that a reader still needs are not cleared away.
func TestSnapshotsKeepWhatIsRead(t *testing.T) {
	var r snapshots
	r.init(5)
	none := func() {}
	a := r.begin()
	require.EqualValues(t, 5, a)
	require.EqualValues(t, 5, r.advance(6, none))
	b, c := r.begin(), r.begin()
	require.EqualValues(t, 6, b)
	r.end(a)
	require.EqualValues(t, 6, r.advance(8, none))
	r.end(b)
	require.EqualValues(t, 6, r.advance(9, none))
	r.end(c)
	require.EqualValues(t, 10, r.advance(10, none))
	require.EqualValues(t, 10, r.last())
	require.Empty(t, r.mu.open)
}
