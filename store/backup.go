package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// A backup is a line that names the format, frames, and an end. A frame is the
// length of its entries, their checksum, and the entries in key order: the
// lengths of key and value, and these. The end is a frame of no length, the
// number of entries, and a checksum over all frames. Numbers are big-endian.
const (
	backupName   = "arcbackup"
	backupFormat = backupName + "1\n"
	frameSize    = 256 << 10 // a frame is written when it has so many bytes
	maxFrame     = frameSize + MaxKey + MaxValue + 2*binary.MaxVarintLen64
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Backup writes all entries of st to w, as of its beginning, and returns their number. Commits go on
// meanwhile. Backup reads every entry, so that a backup to io.Discard tells whether all of a store is
// readable.
//
// A backup has no revisions: they order the commits of one store.
func Backup(ctx context.Context, st Store, w io.Writer) (entries int, err error) {
	out := bufio.NewWriter(w)
	if _, err := out.WriteString(backupFormat); err != nil {
		return 0, fmt.Errorf("backup: %w", err)
	}
	var frame []byte
	sum := uint32(0)
	write := func() error {
		own := crc32.Checksum(frame, castagnoli)
		sum = crc32.Update(sum, castagnoli, frame)
		head := binary.BigEndian.AppendUint32(nil, uint32(len(frame)))
		_, err := out.Write(binary.BigEndian.AppendUint32(head, own))
		if err == nil {
			_, err = out.Write(frame)
		}
		frame = frame[:0]
		return err
	}
	for e, err := range st.Scan(ctx, Range{}) {
		if err == nil {
			entries++
			frame = binary.AppendUvarint(frame, uint64(len(e.Key)))
			frame = binary.AppendUvarint(frame, uint64(len(e.Value)))
			frame = append(append(frame, e.Key...), e.Value...)
			if len(frame) >= frameSize {
				err = write()
			}
		}
		if err != nil {
			return 0, fmt.Errorf("backup: %w", err)
		}
	}
	if len(frame) > 0 {
		err = write()
	}
	end := binary.BigEndian.AppendUint64(make([]byte, 4), uint64(entries))
	_, werr := out.Write(binary.BigEndian.AppendUint32(end, sum))
	if err = errors.Join(err, werr, out.Flush()); err != nil {
		return 0, fmt.Errorf("backup: %w", err)
	}
	return entries, nil
}

// Verify reads a backup and returns the number of its entries. It returns the error that Restore would: that of r;
// ErrForeign for what does not begin as a backup, or is empty; ErrNewer; or ErrDamaged for a backup that was cut short
// behind its first word, or changed behind its first line. What stands behind its end is not looked at.
func Verify(r io.Reader) (entries int, err error) {
	entries, err = readBackup(r, func(string, []byte) error { return nil })
	if err != nil {
		return 0, fmt.Errorf("verify: %w", err)
	}
	return entries, nil
}

// Restore puts the entries of a backup into st, of any implementation, and returns their number. If st is
// not empty, the error is ErrConflict. After an error Restore deletes what it has put there. A process that
// ends meanwhile leaves a part: use the store only after Restore has returned.
func Restore(ctx context.Context, st Store, r io.Reader) (entries int, err error) {
	for e, err := range st.Scan(ctx, Range{Limit: 1}) {
		if err == nil {
			err = fmt.Errorf("%w: the store is not empty: %q", ErrConflict, e.Key)
		}
		return 0, fmt.Errorf("restore: %w", err)
	}
	var batch []Op
	size := 0
	ours := make(map[Revision]bool) // commits of this call, and
	doubt := make(map[string]bool)  // keys of one that may have been made
	commit := func() error {
		rev, err := st.Commit(ctx, batch...)
		if ours[rev] = err == nil; err != nil && !errors.Is(err, ErrConflict) {
			for _, op := range batch {
				doubt[op.Key] = true
			}
		}
		batch, size = batch[:0], 0
		return err
	}
	entries, err = readBackup(r, func(key string, value []byte) error {
		op := Op{Key: key, Value: bytes.Clone(value), If: Absent}
		if size += len(key) + len(value); len(batch) == MaxCommitOps || size > MaxCommitBytes {
			if err := commit(); err != nil {
				return err
			}
			size = len(key) + len(value)
		}
		batch = append(batch, op)
		return nil
	})
	if err == nil {
		err = commit()
	}
	if err != nil {
		mine := func(e Entry) bool { return ours[e.Rev] || doubt[e.Key] }
		return 0, fmt.Errorf("restore: %w", errors.Join(err, clearAll(context.WithoutCancel(ctx), st, mine)))
	}
	return entries, nil
}

// clearAll deletes every entry for which mine is true.
func clearAll(ctx context.Context, st Store, mine func(Entry) bool) error {
	var ops []Op
	for e, err := range st.Scan(ctx, Range{}) {
		if err != nil {
			return err
		}
		if !mine(e) {
			continue
		}
		if ops = append(ops, Op{Key: e.Key, Delete: true}); len(ops) == MaxCommitBytes/MaxKey {
			if _, err := st.Commit(ctx, ops...); err != nil {
				return err
			}
			ops = ops[:0]
		}
	}
	_, err := st.Commit(ctx, ops...)
	return err
}

// readBackup calls fn with each entry. The value is valid during the call.
func readBackup(r io.Reader, fn func(key string, value []byte) error) (entries int, err error) {
	in := bufio.NewReader(r)
	name := make([]byte, len(backupFormat))
	n, err := io.ReadFull(in, name)
	name = name[:n]
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return 0, fmt.Errorf("%w: it is empty", ErrForeign)
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return 0, err
	case !bytes.HasPrefix(name, []byte(backupName)):
		return 0, fmt.Errorf("%w: it begins with %q, not as a backup", ErrForeign, name)
	case err != nil && strings.HasPrefix(backupFormat, string(name)):
		return 0, errEnds
	case string(name) != backupFormat:
		return 0, fmt.Errorf("%w: the backup begins with %q", ErrNewer, name)
	}
	sum, last := uint32(0), ""
	for {
		var head [8]byte
		if err := readFull(in, head[:]); err != nil {
			return 0, err
		}
		n := binary.BigEndian.Uint32(head[:])
		if n == 0 {
			return entries, checkEnd(in, head, entries, sum)
		}
		if n > maxFrame {
			return 0, fmt.Errorf("%w: a frame of the backup has %d bytes", ErrDamaged, n)
		}
		frame := make([]byte, n)
		if err := readFull(in, frame); err != nil {
			return 0, err
		}
		if crc32.Checksum(frame, castagnoli) != binary.BigEndian.Uint32(head[4:]) {
			return 0, fmt.Errorf("%w: a frame of the backup, behind entry %d, does not match its checksum", ErrDamaged, entries)
		}
		sum = crc32.Update(sum, castagnoli, frame)
		for len(frame) > 0 {
			key, value, rest := cutEntry(frame)
			if key == "" || key <= last {
				return 0, fmt.Errorf("%w: entry %d of the backup", ErrDamaged, entries)
			}
			if err := fn(key, value); err != nil {
				return 0, err
			}
			entries, frame, last = entries+1, rest, key
		}
	}
}

// checkEnd compares what was read with the end of the backup. head has the first bytes of that.
func checkEnd(in *bufio.Reader, head [8]byte, entries int, sum uint32) error {
	end := append(make([]byte, 0, 16), head[4:]...)
	end = end[:12]
	if err := readFull(in, end[4:]); err != nil {
		return err
	}
	if binary.BigEndian.Uint64(end) != uint64(entries) || binary.BigEndian.Uint32(end[8:]) != sum {
		return fmt.Errorf("%w: the backup lost a frame: %d entries were read", ErrDamaged, entries)
	}
	return nil
}

// cutEntry returns the first entry of a frame, whose key is empty if it is not
// whole.
func cutEntry(frame []byte) (key string, value, rest []byte) {
	k, n := binary.Uvarint(frame)
	if n <= 0 {
		return "", nil, nil
	}
	v, m := binary.Uvarint(frame[n:])
	if m <= 0 || k > MaxKey || v > MaxValue || uint64(len(frame)-n-m) < k+v {
		return "", nil, nil
	}
	rest = frame[n+m:]
	return string(rest[:k]), rest[k : k+v], rest[k+v:]
}

var errEnds = fmt.Errorf("%w: the backup ends too early", ErrDamaged)

func readFull(in *bufio.Reader, b []byte) error {
	_, err := io.ReadFull(in, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errEnds
	}
	return err
}
