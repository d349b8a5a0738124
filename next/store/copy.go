package store

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// A copy is copyHead; for each entry the length of the key, the key, the length of the value, the value; a zero;
// and the SHA-256 of all before. Lengths are uvarints.
const copyHead = "arc copy 1\n"

// Loading is the key, below the prefix, that stands there while [Load] is at work, and after a crash in it: what
// is below the prefix is not complete then, and Load begins anew.
const Loading = "!loading"

// Copy writes all entries of st below prefix to w, as of one state of the store, and returns their number.
func Copy(ctx context.Context, st Store, prefix string, w io.Writer) (int, error) {
	sum, n := sha256.New(), 0
	out := bufio.NewWriter(io.MultiWriter(w, sum))
	out.WriteString(copyHead) // an error of out stays until Flush
	for e, err := range Sub(st, prefix).Scan(ctx, Range{}) {
		if err != nil {
			return n, err
		}
		if e.Key == Loading {
			return n, fmt.Errorf("%w: a Load has not ended", ErrDamaged)
		}
		for _, part := range [][]byte{[]byte(e.Key), e.Value} {
			out.Write(binary.AppendUvarint(nil, uint64(len(part))))
			out.Write(part)
		}
		n++
	}
	out.WriteByte(0)
	if err := out.Flush(); err != nil {
		return n, err
	}
	_, err := w.Write(sum.Sum(nil))
	return n, err
}

// Load writes what Copy wrote below prefix, where nothing may be, and returns the number of entries. A copy that is
// cut or changed is ErrDamaged, and what was written of it is deleted. The key [Loading] marks what is incomplete.
func Load(ctx context.Context, st Store, prefix string, r io.Reader) (int, error) {
	part := Sub(st, prefix)
	for e, err := range part.Scan(ctx, Range{Limit: 1}) {
		if err != nil {
			return 0, err
		}
		if e.Key != Loading {
			return 0, &ConflictError{Key: prefix + e.Key}
		}
	}
	if _, err := part.Commit(ctx, Op{Key: Loading}); err != nil {
		return 0, err
	}
	n, err := 0, clearAfter(ctx, part, Loading)
	if err == nil {
		n, err = load(ctx, part, bufio.NewReader(r))
	}
	if err == nil {
		_, err = part.Commit(ctx, Op{Key: Loading, Delete: true})
	}
	if err != nil {
		return 0, errors.Join(err, clearAfter(context.WithoutCancel(ctx), part, ""))
	}
	return n, nil
}

func load(ctx context.Context, st Store, r *bufio.Reader) (n int, err error) {
	sum := sha256.New()
	read := func(max int) ([]byte, error) {
		size, err := binary.ReadUvarint(r)
		if err != nil || size > uint64(max) {
			return nil, fmt.Errorf("%w: copy ends or has no length after %d entries", ErrDamaged, n)
		}
		part := make([]byte, size)
		if _, err = io.ReadFull(r, part); err != nil {
			return nil, fmt.Errorf("%w: copy ends after %d entries: %w", ErrDamaged, n, err)
		}
		sum.Write(binary.AppendUvarint(nil, size))
		sum.Write(part)
		return part, nil
	}
	head := make([]byte, len(copyHead))
	if _, err := io.ReadFull(r, head); err != nil || string(head) != copyHead {
		return 0, fmt.Errorf("%w: no copy of a store", ErrDamaged)
	}
	sum.Write(head)
	b := NewBatch(st)
	for {
		key, err := read(MaxKey)
		if err != nil {
			return n, err
		}
		if len(key) == 0 {
			break
		}
		value, err := read(MaxValue)
		if err != nil {
			return n, err
		}
		if len(b.ops) == MaxCommitOps || b.bytes+len(key)+len(value) > MaxCommitBytes/2 {
			if _, err := b.Commit(ctx); err != nil {
				return n, err
			}
			b = NewBatch(st)
		}
		if err := b.Put(string(key), value, Absent); err != nil {
			return n, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		n++
	}
	want := make([]byte, sha256.Size)
	if _, err := io.ReadFull(r, want); err != nil || !bytes.Equal(want, sum.Sum(nil)) {
		return n, fmt.Errorf("%w: the sum of the copy is wrong", ErrDamaged)
	}
	_, err = b.Commit(ctx)
	return n, err
}

// clearAfter deletes the entries of st that sort after a key, the last first: so the mark of a Load goes last.
func clearAfter(ctx context.Context, st Store, key string) error {
	var keys []string
	for e, err := range st.Scan(ctx, Range{After: key}) {
		if err != nil {
			return err
		}
		keys = append(keys, e.Key)
	}
	slices.Reverse(keys)
	for some := range slices.Chunk(keys, 1024) {
		ops := make([]Op, len(some))
		for i, key := range some {
			ops[i] = Op{Key: key, Delete: true}
		}
		if _, err := st.Commit(ctx, ops...); err != nil {
			return err
		}
	}
	return nil
}
