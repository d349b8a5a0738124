package layout

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/disk"
	"github.com/arc-learn/arc/store/badger/internal/record"
)

// Mark keeps the high-water mark of the commits in a file beside Badger's:
// the id of the store and the sequence number of a commit that was
// acknowledged. A store whose own last commit is older has lost some. The file
// is written in place by each group, and synced within markDelay and at Close:
// after a kill it names the last group, after a power cut perhaps one of the
// second before.
type Mark struct {
	file *os.File
	id   [IDSize]byte
	log  *slog.Logger

	mu struct {
		sync.Mutex
		timer  *time.Timer
		failed bool
	}
	syncs sync.WaitGroup
}

// IDSize is the size of the id of a store.
const IDSize = 16

const (
	markDelay = time.Second
	markMagic = "arcmark1"
	markSize  = len(markMagic) + IDSize + 8 + 4
)

func encodeMark(id [IDSize]byte, seq uint64) []byte {
	b := append([]byte(markMagic), id[:]...)
	b = binary.BigEndian.AppendUint64(b, seq)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, record.Castagnoli))
}

func decodeMark(b []byte) (id [IDSize]byte, seq uint64, err error) {
	if len(b) != markSize || string(b[:len(markMagic)]) != markMagic {
		return id, 0, fmt.Errorf("%w: %s is not a mark", store.ErrDamaged, MarkName)
	}
	body, sum := b[:markSize-4], binary.BigEndian.Uint32(b[markSize-4:])
	if crc32.Checksum(body, record.Castagnoli) != sum {
		return id, 0, fmt.Errorf("%w: %s does not match its checksum", store.ErrDamaged, MarkName)
	}
	copy(id[:], body[len(markMagic):])
	return id, binary.BigEndian.Uint64(body[markSize-12:]), nil
}

// OpenMark opens the mark of the store in a directory, and makes it if it is missing.
func OpenMark(dir string, id [IDSize]byte, seq uint64, log *slog.Logger) (*Mark, error) {
	name := filepath.Join(dir, MarkName)
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		if err := disk.Replace(name, encodeMark(id, seq)); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	m := &Mark{file: f, id: id, log: log}
	m.Move(seq)
	return m, nil
}

// Move notes a commit. A mark that stays behind makes a loss harder to see,
// nothing else: the next group tries again.
func (m *Mark) Move(seq uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.file.WriteAt(encodeMark(m.id, seq), 0); err != nil && !m.mu.failed {
		m.mu.failed = true
		m.log.Warn("writing the mark", "file", m.file.Name(), "error", err)
	}
	if m.mu.timer == nil {
		m.syncs.Add(1)
		m.mu.timer = time.AfterFunc(markDelay, m.expire)
	}
}

func (m *Mark) expire() {
	defer m.syncs.Done()
	m.mu.Lock()
	m.mu.timer = nil
	m.mu.Unlock()
	if err := m.file.Sync(); err != nil {
		m.log.Warn("syncing the mark", "file", m.file.Name(), "error", err)
	}
}

// Close waits for a sync under way and makes the last one. No commit follows.
func (m *Mark) Close() error {
	m.mu.Lock()
	if m.mu.timer != nil && m.mu.timer.Stop() {
		m.syncs.Done()
	}
	m.mu.Unlock()
	m.syncs.Wait()
	return errors.Join(m.file.Sync(), m.file.Close())
}

// ReadMark returns what the mark in a directory says: zero if there is none, which
// is no reason to refuse a store whose data has been verified.
func ReadMark(dir string) (id [IDSize]byte, seq uint64, err error) {
	data, err := os.ReadFile(filepath.Join(dir, MarkName))
	if errors.Is(err, fs.ErrNotExist) {
		return id, 0, nil
	}
	if err != nil {
		return id, 0, err
	}
	return decodeMark(data)
}
