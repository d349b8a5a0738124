package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// small mounts a disk in memory with the limits given.
func small(t *testing.T, limits string) (dir string, ease func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: mounting takes root")
	}
	dir = t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, limits); err != nil {
		t.Skipf("SKIPPED: mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }) // a child that hangs may hold it
	return dir, func() {
		require.NoError(t, unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=2g,nr_inodes=0"))
	}
}

// scarce has a child write until it meets an error, and for a while longer, eases
// its lot, and has it close, in most rounds; in the others it is killed.
func scarce(t *testing.T, f *figures, n int, o order, dir string, during func(c *child), ease func()) {
	o.Do, o.Dir, o.Round, o.Clean = "write", filepath.Join(dir, "store"), fmt.Sprint("r", n), true
	c := begin(t, o)
	c.wait(10*time.Second, "open", "refused")
	if during != nil {
		during(c)
	}
	c.wait(15*time.Second, "error", "refused")
	<-time.After(time.Second)
	var p played
	switch n % 3 {
	case 0:
		p = c.stop()
	case 1:
		ease()
		p = c.stop()
	default:
		p = c.kill()
	}
	ease()
	f.add(p)
	f.look(o.Dir, p)
}

// P5, P6: few inodes are left.
func TestFewInodes(t *testing.T) {
	r, f := random(t), newFigures(t)
	for n := range *rounds {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			dir, ease := small(t, fmt.Sprintf("size=2g,nr_inodes=%d", 16+r.IntN(32)))
			scarce(t, f, n, order{Value: 512 << r.IntN(6)}, dir, nil, ease)
		})
	}
	f.done("")
}

// P5, P6: few descriptors are left.
func TestFewDescriptors(t *testing.T) {
	r, f := random(t), newFigures(t)
	for n := range *rounds {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			o := order{Value: 512 << r.IntN(6), Files: 16 + r.Uint64N(32)}
			scarce(t, f, n, o, t.TempDir(), nil, func() {})
		})
	}
	f.done("")
}

// P5: little memory is left to map, for the files of a store and for the process.
func TestLittleMemory(t *testing.T) {
	r, f := random(t), newFigures(t)
	for n := range *rounds {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			o := order{Value: 512 << r.IntN(6), More: (100 + r.Uint64N(400)) << 20}
			scarce(t, f, n, o, t.TempDir(), nil, func() {})
		})
	}
	f.done("")
}

// P5: the store fills the disk itself.
func TestDiskFilledByTheStore(t *testing.T) {
	r, f := random(t), newFigures(t)
	for n := range *rounds {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			dir, ease := small(t, fmt.Sprintf("size=%dm", 140+r.IntN(200)))
			scarce(t, f, n, order{Value: 1 << (10 + r.IntN(7))}, dir, nil, ease)
		})
	}
	f.done("")
}

// P5: another process fills the disk to the last byte.
func TestDiskFilledByAnother(t *testing.T) {
	r, f := random(t), newFigures(t)
	for n := range *rounds {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			dir, ease := small(t, fmt.Sprintf("size=%dm", 300+r.IntN(200)))
			rate := 50 + r.IntN(151) // MB/s
			fill := func(c *child) { require.NoError(t, fillUp(c, filepath.Join(dir, "filler"), rate)) }
			scarce(t, f, n, order{Value: 1 << (10 + r.IntN(7))}, dir, fill, func() {
				_ = os.Remove(filepath.Join(dir, "filler")) // the first time
				ease()
			})
		})
	}
	f.done("")
}

// fillUp writes a file until no byte is free, at rate MB/s, or the child has ended.
func fillUp(c *child, name string, rate int) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer file.Close()
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for block := make([]byte, 1<<20); len(block) > 0; {
		select {
		case <-c.over:
			return nil
		case <-tick.C:
		}
		if _, err := file.Write(block); errors.Is(err, unix.ENOSPC) {
			block = block[:len(block)/2]
		} else if err != nil && !strings.Contains(err.Error(), "short write") {
			return err
		}
	}
	return nil
}
