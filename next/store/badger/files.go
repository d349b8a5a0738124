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
	"strings"
	"syscall"

	"github.com/dgraph-io/badger/v4"

	"github.com/arc-learn/arc/next/store"
)

// A store's directory has these files, and Badger's in a folder for each generation, of which the last one counts.
const (
	formatName = "arc.store" // says that the directory is a store, and of which version
	lockName   = "arc.lock"  // is locked while the store is open
	markName   = "arc.mark"  // how far the acknowledged commits have come
	unfinished = "g.tmp"     // a generation that is being written

	format = "arc store 1\n"
)

var generationName = regexp.MustCompile(`^g[0-9]{6}$`)

// prepare makes a directory that is missing or empty a store's, and locks it. It leaves one alone that is something
// else.
func prepare(dir string) (lock *os.File, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		if errors.Is(err, syscall.ENOTDIR) {
			err = fmt.Errorf("%w: it is not a directory", store.ErrForeign)
		}
		return nil, err
	}
	said, err := os.ReadFile(filepath.Join(dir, formatName))
	isNew := errors.Is(err, fs.ErrNotExist)
	switch {
	case isNew:
		err = checkEmpty(dir)
	case err == nil && !strings.HasPrefix(string(said), "arc store "):
		err = fmt.Errorf("%w: %s is damaged, or of another program", store.ErrForeign, formatName)
	case err == nil && string(said) != format:
		err = fmt.Errorf("%w: its format is %q, and %q is known", store.ErrNewer, said, format)
	}
	if err != nil {
		return nil, err
	}
	if lock, err = lockFile(filepath.Join(dir, lockName)); err != nil || !isNew {
		return lock, err
	}
	if err = replace(filepath.Join(dir, formatName), []byte(format)); err == nil {
		err = syncDir(filepath.Dir(dir))
	}
	return lock, err
}

// checkEmpty refuses a directory that has the files of something else.
func checkEmpty(dir string) error {
	there, err := os.ReadDir(dir)
	for _, f := range there {
		switch f.Name() {
		case lockName, formatName + ".tmp", "lost+found": // what a kill has left, and a disk of its own
		case markName, "CURRENT", badger.ManifestFilename:
			return fmt.Errorf("%w: it was written by Badger, or by arc before v0.1.0, from which nothing "+
				"upgrades; choose another directory", store.ErrForeign)
		default:
			return fmt.Errorf("%w: %s is in it; choose an empty directory", store.ErrForeign, f.Name())
		}
	}
	return err
}

// generations returns the folder that counts, which need not exist yet, and those that do not.
func generations(dir string) (name string, others []string, err error) {
	there, err := os.ReadDir(dir) // in order
	for _, f := range there {
		if f.Name() == unfinished || generationName.MatchString(f.Name()) {
			others = append(others, f.Name())
		}
	}
	last := len(others) - 1
	if last < 0 || others[last] == unfinished {
		return "g000001", others, err
	}
	return others[last], others[:last], err
}

// openMark opens the file that says how far the commits had come: what is missing at the end of the last log would
// not be seen otherwise.
func openMark(name string, last uint64) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	var b [12]byte
	n, _ := f.ReadAt(b[:], 0) // a mark that cannot be read is none
	marked := binary.BigEndian.Uint64(b[:])
	if n == len(b) && crc32.Checksum(b[:8], castagnoli) == binary.BigEndian.Uint32(b[8:]) && marked > last {
		err = fmt.Errorf("%w: %d of %d commits are there; to go on with those, remove %s", store.ErrDamaged,
			last, marked, name)
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// moveMark notes a commit. It is synced by Close alone, so a power cut leaves an older one, which claims less.
func (s *Store) moveMark(seq uint64) {
	var b [12]byte
	binary.BigEndian.PutUint64(b[:], seq)
	binary.BigEndian.PutUint32(b[8:], crc32.Checksum(b[:8], castagnoli))
	_, _ = s.mark.WriteAt(b[:], 0) // a mark that stays behind makes damage harder to see, and nothing else
}

// replace makes data the durable content of a file, or leaves the file as it was.
func replace(name string, data []byte) error {
	f, err := os.OpenFile(name+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(name+".tmp", name)
	}
	return errors.Join(err, syncDir(filepath.Dir(name)))
}

const (
	leastInodes = 8
	leastFiles  = 2 // a log and a table
)

// checkRoom returns store.ErrFull while too little is free, besides so many bytes. Badger writes through memory
// maps, where a full disk ends the process, and it forgets a table for which it cannot make a file.
func (s *Store) checkRoom(more int64) error {
	free, inodes, err := freeSpace(s.dir)
	if err != nil {
		return typed(fmt.Errorf("free space: %w", err))
	}
	if need := s.opts.MinFree + more; free < need {
		return fmt.Errorf("%w: %d MiB are free on the disk, %d are needed", store.ErrFull, free>>20, need>>20)
	}
	if inodes < leastInodes {
		return fmt.Errorf("%w: %d inodes are free, %d are needed", store.ErrFull, inodes, leastInodes)
	}
	for range leastFiles {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return typed(err)
		}
		defer f.Close() // all at once; nothing was written
	}
	return nil
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

func isErrno(err error) bool {
	_, is := errors.AsType[syscall.Errno](err)
	return is
}
