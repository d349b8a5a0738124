package faults

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// ruin is a directory with a store that is to be damaged.
type ruin struct {
	state, dir string
	content    string // as read says it
}

// ruins returns a store that was closed, the same for damage that leaves no trace in
// the times of its files, and one whose process ended in the middle of its work, less
// than a second after its last commits.
func ruins(t *testing.T) []ruin {
	var rs []ruin
	for _, state := range []string{"closed", "killed"} {
		dir := filepath.Join(memory(t), "store")
		for n := range 2 { // the second one finds tables
			clean := n == 0 || state == "closed"
			o := order{Do: "write", Dir: dir, Round: fmt.Sprint("r", n), Value: 1 << 10, Most: 100, Clean: clean}
			p := begin(t, o).settle()
			require.Empty(t, p.late)
			require.Len(t, p.acked, writers*o.Most)
		}
		whole := copied(t, dir)
		p := begin(t, order{Do: "read", Dir: whole}).settle()
		require.NotEmpty(t, p.content)
		rs = append(rs, ruin{state, dir, p.content})
		if state == "closed" {
			rs = append(rs, ruin{"rotten", dir, p.content})
		}
	}
	return rs
}

// memory returns a directory in memory, where there is one: what is damaged here
// does not depend on the disk.
func memory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "faults")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a disk in memory forgets it at last
	return dir
}

// copied returns a copy of a directory, with its holes.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(memory(t), "copy")
	out, err := exec.Command("cp", "-a", dir, to).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return to
}

var digits = regexp.MustCompile(`[0-9]+`)

// classes returns a file of each class in a directory, the largest, by the name of
// the class.
func classes(t *testing.T, dir string) map[string]string {
	found, size := map[string]string{}, map[string]int64{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if class := digits.ReplaceAllString(rel, "N"); info.Size() > size[class] {
			found[class], size[class] = rel, info.Size()
		}
		return err
	}))
	return found
}

// sums are the hashes of all files below a directory.
func sums(t *testing.T, dir string) map[string]string {
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, size := filled(t, path)
		all[path] = fmt.Sprintf("%d %x", size, sha256.Sum256(data))
		return nil
	}))
	return all
}

// filled returns the bytes of a file up to the last that is not zero, and its size:
// logs are much longer than what is in them.
func filled(t *testing.T, path string) (data []byte, size int64) {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	for at := int64(0); ; {
		from, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
		if err != nil {
			break // there is none any more
		}
		to, err := unix.Seek(int(f.Fd()), from, unix.SEEK_HOLE)
		require.NoError(t, err)
		data = slices.Grow(data, int(to)-len(data))[:to] // zeros between
		_, err = f.ReadAt(data[from:to], from)
		require.NoError(t, err)
		at = to
	}
	return bytes.TrimRight(data, "\x00"), info.Size()
}

// put writes bytes to a place of a file, which has the size then.
func put(t *testing.T, path string, data []byte, at, size int64) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteAt(data, at)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(size))
}

// ways are those in which a file is damaged.
var ways = []string{"cut", "zero", "flip"}

// P6, P9: a file is damaged. The store holds what it held, or says that it is
// damaged; a directory that it refuses it leaves to the byte, so that it is whole
// once the bytes are put back.
func TestDamage(t *testing.T) {
	r, counts, bad := random(t), map[string]int{}, map[string]int{}
	for _, ruin := range ruins(t) {
		files := classes(t, ruin.dir)
		for _, class := range slices.Sorted(maps.Keys(files)) {
			for _, how := range ways {
				for range *places {
					counts["copies"]++
					for _, what := range damaged(t, ruin, files[class], how, r.Float64(), 1<<r.IntN(8), counts) {
						bad[what+": "+ruin.state+" "+class+" "+how]++
					}
				}
			}
		}
	}
	t.Logf("figures: %s | %v", t.Name(), counts)
	for _, what := range slices.Sorted(maps.Keys(bad)) {
		t.Errorf("%d × %s", bad[what], what)
	}
}

// damaged damages a copy and returns what must not be.
func damaged(t *testing.T, ruin ruin, file, how string, place float64, bit byte, counts map[string]int) (bad []string) {
	dir := copied(t, ruin.dir)
	defer func() { require.NoError(t, os.RemoveAll(dir)) }()
	name := filepath.Join(dir, file)
	whole, size := filled(t, name)
	if len(whole) == 0 {
		counts["empty"]++
		return nil
	}
	info, err := os.Stat(name)
	require.NoError(t, err)
	at := int64(place * float64(len(whole)))
	switch piece := whole[at:min(at+512, int64(len(whole)))]; {
	case how == "cut":
		require.NoError(t, os.Truncate(name, at))
	case how == "flip":
		put(t, name, []byte{piece[0] ^ bit}, at, size)
	case len(bytes.Trim(piece, "\x00")) == 0:
		counts["unchanged"]++
		return nil
	default:
		put(t, name, make([]byte, len(piece)), at, size)
	}
	if ruin.state == "rotten" {
		require.NoError(t, os.Chtimes(name, info.ModTime(), info.ModTime()))
	}
	note := func(what string) { counts[what]++; bad = append(bad, what) }
	before := sums(t, dir)
	p := begin(t, order{Do: "read", Dir: dir}).settle()
	switch {
	case p.ended != "":
		note("host ended")
	case p.damage != "":
		counts["reported by a read"]++
		if len(p.untyped) > 0 {
			note("untyped error")
		}
	case p.refused == "" && p.content == ruin.content:
		counts["harmless"]++
	case p.refused == "":
		note("silent loss")
	default:
		counts["refused"]++
		if len(p.untyped) > 0 {
			note("untyped error")
		}
		if !maps.Equal(before, sums(t, dir)) {
			note("changed though refused")
		}
	}
	if p.damage != "" || p.refused != "" {
		put(t, name, whole[at:], at, size)
		if p := begin(t, order{Do: "read", Dir: dir}).settle(); p.content != ruin.content {
			note("not whole again")
		}
	}
	return bad
}
