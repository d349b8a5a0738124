package store

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Loading is the key that stands below the prefix while [Load] is at work, and after a crash in it: what is there
// is not complete then. Load begins anew, and Copy refuses it.
const Loading = "!loading"

// line is a line of a copy, in JSON: an entry, or at the end the SHA-256 of all lines before.
type line struct {
	Key   string `json:"key,omitempty"`
	Value []byte `json:"value,omitempty"`
	Sum   string `json:"sha256,omitempty"`
}

// Copy writes all entries of st below prefix to w, as of one state of the store, and returns their number.
func Copy(ctx context.Context, st Store, prefix string, w io.Writer) (n int, err error) {
	sum, out := sha256.New(), bufio.NewWriter(w)
	lines := json.NewEncoder(io.MultiWriter(out, sum))
	for e, err := range Sub(st, prefix).Scan(ctx, Range{}) {
		if err == nil && e.Key == Loading {
			err = fmt.Errorf("%w: a Load below %q has not ended", ErrDamaged, prefix)
		}
		if err == nil {
			err = lines.Encode(line{Key: e.Key, Value: e.Value})
		}
		if err != nil {
			return n, err
		}
		n++
	}
	end := json.NewEncoder(out).Encode(line{Sum: hex.EncodeToString(sum.Sum(nil))})
	return n, errors.Join(end, out.Flush())
}

// Load writes what Copy wrote below prefix, where nothing may be, and returns the number of entries. A copy that is
// cut or changed is ErrDamaged. After an error nothing is left, unless the store fails to delete it, too.
func Load(ctx context.Context, st Store, prefix string, r io.Reader) (n int, err error) {
	part := Sub(st, prefix)
	for e, err := range part.Scan(ctx, Range{Limit: 1}) {
		if err != nil {
			return 0, err
		}
		if e.Key != Loading {
			return 0, &ConflictError{Key: prefix + e.Key}
		}
	}
	if _, err = part.Commit(ctx, Op{Key: Loading}); err != nil {
		return 0, err
	}
	if err = clearAfter(ctx, part, Loading); err == nil {
		n, err = load(ctx, part, r)
	}
	if err == nil {
		_, err = part.Commit(ctx, Op{Key: Loading, Delete: true})
	}
	if err != nil {
		return 0, errors.Join(err, clearAfter(context.WithoutCancel(ctx), part, ""))
	}
	return n, nil
}

func load(ctx context.Context, st Store, r io.Reader) (n int, err error) {
	sum, b, lines := sha256.New(), NewBatch(st), bufio.NewScanner(r)
	lines.Buffer(nil, 2*MaxValue+8*MaxKey)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return n, fmt.Errorf("%w: line %d of the copy: %w", ErrDamaged, n+1, err)
		}
		if l.Sum != "" {
			if l.Sum != hex.EncodeToString(sum.Sum(nil)) || lines.Scan() {
				return n, fmt.Errorf("%w: the sum of the copy is wrong", ErrDamaged)
			}
			_, err = b.Commit(ctx)
			return n, err
		}
		fmt.Fprintf(sum, "%s\n", lines.Bytes())
		if len(b.ops) == MaxCommitOps || b.bytes > MaxCommitBytes/2 {
			if _, err := b.Commit(ctx); err != nil {
				return n, err
			}
			b = NewBatch(st)
		}
		if err := b.Put(l.Key, l.Value, Absent); err != nil {
			return n, fmt.Errorf("%w: line %d of the copy: %w", ErrDamaged, n+1, err)
		}
		n++
	}
	err = fmt.Errorf("%w: the copy ends after %d entries", ErrDamaged, n)
	return n, errors.Join(err, lines.Err())
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
	for some := range slices.Chunk(keys, 512) {
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
