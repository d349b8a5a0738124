package badger

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

	"github.com/dgraph-io/badger/v4"

	"github.com/arc-learn/arc/store"
)

// mark keeps the high-water mark of the commits in a file beside Badger's:
// the id of the store and the sequence number of a commit that was
// acknowledged. A store whose own last commit is older has lost some. The file
// is replaced as a whole, at most once in markDelay and at Close.
type mark struct {
	name string
	id   [idSize]byte
	last func() uint64
	log  *slog.Logger

	mu struct {
		sync.Mutex
		seq    uint64 // on disk
		timer  *time.Timer
		closed bool
	}
}

const (
	idSize    = 16
	markDelay = time.Second
	markMagic = "arcmark1"
	markSize  = len(markMagic) + idSize + 8 + 4
)

func encodeMark(id [idSize]byte, seq uint64) []byte {
	b := append([]byte(markMagic), id[:]...)
	b = binary.BigEndian.AppendUint64(b, seq)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func decodeMark(b []byte) (id [idSize]byte, seq uint64, err error) {
	if len(b) != markSize || string(b[:len(markMagic)]) != markMagic {
		return id, 0, fmt.Errorf("%w: %s is not a mark", store.ErrDamaged, markName)
	}
	body, sum := b[:markSize-4], binary.BigEndian.Uint32(b[markSize-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return id, 0, fmt.Errorf("%w: %s does not match its checksum", store.ErrDamaged, markName)
	}
	copy(id[:], body[len(markMagic):])
	return id, binary.BigEndian.Uint64(body[markSize-12:]), nil
}

// schedule sees to it that the mark is written soon.
func (m *mark) schedule() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.timer == nil && !m.mu.closed {
		m.mu.timer = time.AfterFunc(markDelay, m.expire)
	}
}

func (m *mark) expire() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.timer = nil
	if m.mu.closed {
		return
	}
	// A mark that stays behind makes a loss harder to see, nothing else: the
	// next commit tries again.
	if err := m.writeLocked(); err != nil {
		m.log.Warn("writing the mark", "file", m.name, "error", err)
	}
}

func (m *mark) write() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writeLocked()
}

func (m *mark) writeLocked() error {
	seq := m.last()
	if seq == m.mu.seq {
		return nil
	}
	if err := replaceFile(m.name, encodeMark(m.id, seq)); err != nil {
		return err
	}
	m.mu.seq = seq
	return nil
}

// close writes the mark a last time, if it is to be trusted, and waits for a
// write under way. It is idempotent.
func (m *mark) close(trusted bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.closed = true
	if m.mu.timer != nil {
		m.mu.timer.Stop()
		m.mu.timer = nil
	}
	if !trusted {
		return nil
	}
	return m.writeLocked()
}

// replaceFile makes data the durable content of a file, or leaves the file as
// it was.
func replaceFile(name string, data []byte) error {
	f, err := os.OpenFile(name+tmpSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(name+tmpSuffix, name); err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

// readMark returns what the mark on disk says: zero if there is none, which
// is no reason to refuse a store whose data has been verified.
func readMark(name string) (id [idSize]byte, seq uint64, err error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return id, 0, nil
	}
	if err != nil {
		return id, 0, err
	}
	return decodeMark(data)
}

// load reads where the commits stand, compares that with the mark, and gives a
// new store its id.
func (s *Store) load() error {
	last := s.db.MaxVersion()
	txn := s.db.NewTransactionAt(last, false)
	defer txn.Discard()
	m := &mark{name: filepath.Join(s.dir, markName), last: s.reads.last, log: s.log}
	seq, err := revision(txn, []byte(seqKey))
	if err != nil {
		return err
	}
	err = read(txn, []byte(idKey), func(_ uint64, id []byte) { copy(m.id[:], id) })
	isNew := last == 0 && isNotFound(err)
	if err != nil && !isNew {
		return fmt.Errorf("%w: the id of the store: %v", store.ErrDamaged, err)
	}
	if seq < last {
		return fmt.Errorf("%w: the last commit is %d, but there are versions up to %d", store.ErrDamaged, seq, last)
	}
	if err := m.compare(isNew, seq); err != nil {
		return fmt.Errorf("%w; to go on without what is missing, remove %s", err, markName)
	}
	if isNew {
		if seq, err = s.create(m.id[:]); err != nil {
			return err
		}
	}
	s.reads.init(seq)
	s.db.SetDiscardTs(seq)
	s.mark = m
	return m.write()
}

func (m *mark) compare(isNew bool, seq uint64) error {
	id, marked, err := readMark(m.name)
	switch {
	case err != nil:
		return err
	case marked > 0 && !isNew && id != m.id:
		return fmt.Errorf("%w: %s belongs to another store", store.ErrDamaged, markName)
	case seq < marked:
		return fmt.Errorf("%w: the last %d commits are missing", store.ErrDamaged, marked-seq)
	case marked == 0 && !isNew:
		m.log.Warn("the mark is missing and is written anew", "file", m.name)
	}
	m.mu.seq = marked
	return nil
}

// create makes the first commit, with the id of the store.
func (s *Store) create(id []byte) (seq uint64, err error) {
	randomID(id)
	txn := s.db.NewTransactionAt(0, true)
	defer txn.Discard()
	const first = 1
	for key, value := range map[string][]byte{idKey: id, seqKey: nil} {
		rec, sum := newRecord([]byte(key), value)
		seal(rec, sum, first)
		if err := txn.SetEntry(badger.NewEntry([]byte(key), rec)); err != nil {
			return 0, err
		}
	}
	return first, commitAt(txn, first)
}
