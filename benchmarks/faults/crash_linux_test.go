package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// P1, P3, P4: a process that is killed at any moment.
func TestKills(t *testing.T) {
	r, f, dir := random(t), newFigures(t), filepath.Join(t.TempDir(), "store")
	var all []played
	for n := range *rounds {
		c := begin(t, order{Do: "write", Dir: dir, Round: fmt.Sprint("r", n), Value: 1 << r.IntN(13)})
		c.wait(10*time.Second, "open")
		<-time.After(time.Duration(r.IntN(600)) * time.Millisecond)
		all = append(all, c.kill())
		f.add(all[n])
		f.look(dir, all[max(0, n-2):]...)
	}
	f.look(dir, all...)
	f.done("")
	require.NotZero(t, f.acked)
}

// disk makes a file system of its own in a file, and mounts it.
type disk struct{ image, dir string }

func newDisk(t *testing.T, image string) disk {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: a file system of its own takes root")
	}
	d := disk{image, filepath.Join(t.TempDir(), "disk")}
	require.NoError(t, os.Mkdir(d.dir, 0o700))
	// The journal is committed by syncs alone in the time that a round takes.
	out, err := exec.Command("mount", "-o", "loop,commit=300", d.image, d.dir).CombinedOutput()
	if err != nil {
		t.Skipf("SKIPPED: no loop device: %v: %s", err, out)
	}
	t.Cleanup(func() { d.remove() })
	return d
}

// remove unmounts the disk, at once though a store that did not open has files open.
func (d disk) remove() { _ = exec.Command("umount", "--lazy", d.dir).Run() } // once is enough

// cutPower has a child write to a new disk until it is killed, and returns the
// disk as its device has it then: what was only in the memory of the machine is
// gone, and the file system recovers as it is mounted.
func cutPower(t *testing.T, o order, after time.Duration) (played, disk) {
	image := filepath.Join(t.TempDir(), "image")
	f, err := os.Create(image)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(500<<20))
	require.NoError(t, f.Close())
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", image).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: mkfs.ext4: %v: %s", err, out)
	}
	before := newDisk(t, image)
	o.Dir = filepath.Join(before.dir, "store")
	c := begin(t, o)
	c.wait(10*time.Second, "open", "refused")
	<-time.After(after)
	p := c.kill()
	out, err := exec.Command("cp", "--sparse=always", image, image+".cut").CombinedOutput()
	require.NoError(t, err, "%s", out)
	before.remove()
	require.NoError(t, os.Remove(image))
	return p, newDisk(t, image+".cut")
}

// P2, P3: a power cut.
func TestPowerCuts(t *testing.T) {
	r, f := random(t), newFigures(t)
	for n := range *rounds {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			o := order{Do: "write", Round: "r", Value: 1 << r.IntN(14)}
			p, left := cutPower(t, o, time.Duration(100+r.IntN(2000))*time.Millisecond)
			f.add(p)
			f.look(filepath.Join(left.dir, "store"), p)
		})
	}
	f.done("")
}

// The control of TestPowerCuts: what was not synced is lost by such a cut. If it
// were not, the cut would be none. A child looks, since a store that is cut so may end
// the process that opens it, or keep its files open.
func TestPowerCutsTakeWhatWasNotSynced(t *testing.T) {
	missing, acked := 0, 0
	t.Run("0", func(t *testing.T) {
		p, disk := cutPower(t, order{Do: "control", Round: "r", Value: 1 << 10}, time.Second)
		found := begin(t, order{Do: "left", Dir: filepath.Join(disk.dir, "store"), Round: "r"}).stop().acked
		acked = len(p.acked)
		for at := range p.acked {
			if !found[at] {
				missing++
			}
		}
	})
	if acked == 0 {
		t.Skip("SKIPPED: as the cuts")
	}
	t.Logf("figures: %s | 1 round | %d groups acknowledged | %d missing, as must be", t.Name(), acked, missing)
	require.NotZero(t, missing, "the cut takes nothing: it proves nothing")
}

// strace returns the command that injects a fault, or skips.
func strace(t *testing.T, inject string) []string {
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("SKIPPED: there is no strace")
	}
	call, _, _ := strings.Cut(inject, ":")
	args := []string{path, "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e", "inject=" + inject}
	if out, err := exec.Command(path, "-o", "/dev/null", "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: strace may not trace: %s", out)
	}
	return args
}

// P4: a kill at a system call that changes the directory. The counter of strace
// is that of a thread.
func TestKillPoints(t *testing.T) {
	r, f := random(t), newFigures(t)
	for _, call := range []string{"ftruncate", "openat", "renameat", "unlinkat", "msync", "fsync", "fdatasync", "fallocate", "linkat"} {
		for n := range *rounds {
			at := 1 + n
			if n >= 10 || call == "openat" {
				at = 1 + r.IntN(60)
			}
			below := strace(t, fmt.Sprintf("%s:signal=SIGKILL:when=%d", call, at))
			dir := filepath.Join(t.TempDir(), "store")
			c := begin(t, order{Do: "write", Dir: dir, Round: "r", Value: 16 << 10, Most: 200, Clean: true}, below...)
			p := c.settle()
			if strings.Contains(p.ended, "killed") {
				p.ended = ""
			}
			f.add(p)
			f.look(dir, p)
			require.NoError(t, os.RemoveAll(dir)) // a hundred rounds fill a disk
		}
	}
	f.done("")
}

// settle waits for a child that ends by itself.
func (c *child) settle() played {
	c.waitOver(60 * time.Second)
	return c.end()
}

// P7: a system call fails, once or from then on. The error of the commit that meets
// it says that the outcome is unknown, which is no sentinel.
func TestIOErrors(t *testing.T) {
	r, f := random(t), newFigures(t)
	f.unknown = true
	for _, fault := range []string{
		"msync:error=EIO", "fsync:error=EIO", "fdatasync:error=EIO", "ftruncate:error=ENOSPC", "fallocate:error=ENOSPC",
		"openat:error=EMFILE", "openat:error=ENOSPC", "renameat:error=EIO", "unlinkat:error=EIO",
	} {
		for n := range *rounds {
			at := 1 + r.IntN(8)
			switch {
			case strings.HasPrefix(fault, "openat"):
				at = 10 + r.IntN(40)
			}
			onward := ""
			if n%2 == 1 {
				onward = "+"
			}
			below := strace(t, fmt.Sprintf("%s:when=%d%s", fault, at, onward))
			dir := filepath.Join(t.TempDir(), "store")
			c := begin(t, order{Do: "write", Dir: dir, Round: "r", Value: 16 << 10, Most: 300, Clean: true}, below...)
			p := c.settle()
			f.add(p)
			if f.look(dir, p); f.worse() {
				t.Logf("by %s at call %d%s", fault, at, onward)
			}
			require.NoError(t, os.RemoveAll(dir))
		}
	}
	f.done("")
}
