package badger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/dgraph-io/ristretto/v2/z"

	"github.com/arc-learn/arc/store"
)

// A store's directory has the header and a folder of Badger's for each generation. The last one counts.
const (
	headerName = "arc.store"
	unfinished = "g.tmp" // a generation that is being written
	format     = "arc store 3\n"
)

var generationName = regexp.MustCompile(`^g[0-9]{6}$`)

// header is a file that says that a directory is a store and of which version, and how far the acknowledged
// commits have come: what is missing at the end of Badger's last log would not be seen otherwise. It is
// locked while the store is open.
type header struct {
	*os.File
	mark   uint64 // as it was opened
	mapped []byte // what the file has
}

// there reports whether the directory is still the store's: not moved, deleted, replaced.
func (h header) there() bool {
	is, _ := h.Stat()
	at, err := os.Stat(h.Name())
	return err == nil && os.SameFile(at, is)
}

// openHeader makes a directory that is missing or empty a store's, and locks it. Any other it leaves alone.
func openHeader(dir string) (h header, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return h, err
	}
	name := filepath.Join(dir, headerName)
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		switch folders, foreign, err := list(dir); {
		case err != nil:
			return h, err
		case len(folders) > 0:
			return h, fmt.Errorf("%w: %s is missing", store.ErrDamaged, headerName)
		case foreign != "":
			return h, fmt.Errorf("%w: %s is in it; one of before v0.1.0 is not upgraded", store.ErrForeign, foreign)
		}
	}
	if h.File, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return h, err
	}
	if err := lock(h.File); err != nil {
		return h, err
	}
	var b [len(format) + 12]byte
	n, _ := h.ReadAt(b[:], 0) // what cannot be read is not there
	said, mark := string(b[:len(format)]), b[len(format):]
	switch {
	case n == 0:
		_, err = h.WriteAt([]byte(format), 0)
		err = errors.Join(err, h.Sync(), syncDir(dir), syncDir(filepath.Dir(dir)))
	case said != format && strings.HasPrefix(said, "arc store "):
		return h, fmt.Errorf("%w: its format is %q, and %q is known", store.ErrVersion, said, format)
	case said != format:
		return h, fmt.Errorf("%w: %s", store.ErrDamaged, headerName)
	case crc32.Checksum(mark[:8], castagnoli) == binary.BigEndian.Uint32(mark[8:]):
		h.mark = binary.BigEndian.Uint64(mark)
	}
	if err = errors.Join(err, h.Truncate(int64(len(b)))); err == nil {
		h.mapped, err = z.Mmap(h.File, true, int64(len(b)))
	}
	return h, err
}

// moveMark notes a commit, in the file's memory: a file that is written and looked at by turns has a new time
// each time, which each sync would write. Close alone syncs it: a power cut leaves one that claims less.
func (h header) moveMark(seq uint64) {
	mark := h.mapped[len(format):]
	binary.BigEndian.PutUint64(mark, seq)
	binary.BigEndian.PutUint32(mark[8:], crc32.Checksum(mark[:8], castagnoli))
}

// release closes what is open. The header is last, since it has the lock.
func (s *disk) release() (err error) {
	for _, gen := range append(s.mu.old, s.mu.gen) {
		if gen != nil && s.header.there() { // else Badger would write its last table into what is there now
			err = errors.Join(err, gen.close())
		}
	}
	if s.header.File != nil {
		if s.header.mapped != nil {
			err = errors.Join(err, z.Munmap(s.header.mapped))
		}
		err = errors.Join(err, s.header.Sync(), s.header.Close())
	}
	return err
}

// list returns the folders of generations in order, first an unfinished one, or a foreign file.
func list(dir string) (folders []string, foreign string, err error) {
	there, err := os.ReadDir(dir)
	for _, f := range there {
		if name := f.Name(); name == unfinished || generationName.MatchString(name) {
			folders = append(folders, name)
		} else if name != headerName && name != "lost+found" { // which a disk of its own has
			foreign = name
		}
	}
	return folders, foreign, err
}

func syncDir(dir string) error {
	if runtime.GOOS == "windows" { // which has no such call
		return nil
	}
	return z.SyncDir(dir)
}

// What must be free for a commit: bytes for what Badger still writes after the last accepted one, 96 MiB at
// most, and for what others take until it is looked again; inodes and two descriptors for a log and a table.
const minFree, leastInodes, lookEvery = 256 << 20, 8, 10 * time.Millisecond

// checkRoom returns why nothing may be written: store.ErrFull while too little is free, besides so many
// bytes. Badger writes through memory maps: a full disk ends the process, and a table without file is lost.
func (s *disk) checkRoom(more int64) error {
	if s.mu.err != nil {
		return s.mu.err
	} else if !s.header.there() {
		return fmt.Errorf("its directory was moved, deleted or replaced: %s", s.dir)
	}
	if more == 0 && time.Since(s.looked) < lookEvery {
		return nil
	}
	free, inodes, err := freeSpace(s.dir)
	if err != nil {
		return typed(fmt.Errorf("free space: %w", err))
	}
	if need := minFree + more; free < need || inodes < leastInodes {
		return fmt.Errorf("%w: %d MiB and %d inodes are free on the disk, %d MiB and %d inodes are needed",
			store.ErrFull, free>>20, inodes, need>>20, leastInodes)
	}
	a, b, err := os.Pipe() // takes two descriptors
	if err != nil {
		return typed(err)
	}
	s.looked = time.Now()
	return errors.Join(a.Close(), b.Close())
}

// typed adds store.ErrFull to an error of the operating system that says what is lacking.
func typed(err error) error {
	for _, lack := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, lack) && !errors.Is(err, store.ErrFull) {
			return fmt.Errorf("%w: %w", store.ErrFull, err)
		}
	}
	return err
}

// damage says that what could not be read is damaged, unless the operating system had another reason.
func damage(what string, err error) error {
	if _, is := errors.AsType[syscall.Errno](err); is && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%w: %s: %w", store.ErrDamaged, what, err)
}
