package badger

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A generation is idle when it no longer counts and its last reader has ended.
func TestSnapshotsKeepWhatIsRead(t *testing.T) {
	var r snapshots
	newGen := func() *generation { return &generation{idle: make(chan struct{})} }
	first, second := newGen(), newGen()
	r.init(first, 5)
	a, seq := r.begin()
	require.Same(t, first, a)
	require.EqualValues(t, 5, seq)
	r.advance(6, func() {})
	b, seq := r.begin()
	require.EqualValues(t, 6, seq)
	r.end(a)
	r.switchTo(second)
	select {
	case <-first.idle:
		t.Fatal("it is still read")
	default:
	}
	c, _ := r.begin()
	require.Same(t, second, c)
	r.end(b)
	<-first.idle
	r.end(c)
	third := newGen()
	r.switchTo(third)
	<-second.idle
	require.EqualValues(t, 6, r.last())
}
