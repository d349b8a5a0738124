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
)

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
// cut or changed is ErrDamaged. After an error, or a crash, part of it may stand there: delete it before the next try.
func Load(ctx context.Context, st Store, prefix string, r io.Reader) (n int, err error) {
	st = Sub(st, prefix)
	for e, err := range st.Scan(ctx, Range{Limit: 1}) {
		if err == nil {
			err = &ConflictError{Key: prefix + e.Key}
		}
		return 0, err
	}
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
