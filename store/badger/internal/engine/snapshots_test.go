package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A generation is idle when it no longer counts and its last reader has ended.
func TestSnapshotsKeepWhatIsRead(t *testing.T) {
	var r Snapshots
	newGen := func() *Generation { return &Generation{idle: make(chan struct{})} }
	first, second := newGen(), newGen()
	r.Init(first, 5)
	a, seq := r.Begin()
	require.Same(t, first, a)
	require.EqualValues(t, 5, seq)
	r.Advance(6, func() {})
	b, seq := r.Begin()
	require.EqualValues(t, 6, seq)
	r.End(a)
	r.SwitchTo(second)
	select {
	case <-first.idle:
		t.Fatal("it is still read")
	default:
	}
	c, _ := r.Begin()
	require.Same(t, second, c)
	r.End(b)
	<-first.idle
	r.End(c)
	third := newGen()
	r.SwitchTo(third)
	<-second.idle
	require.EqualValues(t, 6, r.Last())
}
