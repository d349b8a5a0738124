package store

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
)

// line is a line of a copy, in JSON: an entry, or at the end the SHA-256 of all lines before.
type line struct {
	Key   string `json:"key,omitempty"`
	Value []byte `json:"value,omitempty"`
	Sum   string `json:"sha256,omitempty"`
}

func sumOf(lines hash.Hash) string { return fmt.Sprintf("%x", lines.Sum(nil)) }

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
	return n, errors.Join(lines.Encode(line{Sum: sumOf(sum)}), out.Flush())
}

// Load writes what Copy wrote below prefix, where nothing may be, and returns the number of entries. A copy that is
// cut or changed is an error, ErrDamaged in most cases. After an error, or a crash, part of it may stand there: delete
// it before the next try.
func Load(ctx context.Context, st Store, prefix string, r io.Reader) (n int, err error) {
	st = Sub(st, prefix)
	for e, err := range st.Scan(ctx, Range{Limit: 1}) {
		return 0, cmp.Or(err, error(&ConflictError{Key: prefix + e.Key}))
	}
	sum, lines := sha256.New(), bufio.NewScanner(r)
	lines.Buffer(nil, 2*maxValue+8*maxKey)
	var ops []Op
	size := 0
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return n, fmt.Errorf("%w: line %d of the copy: %w", ErrDamaged, n+1, err)
		}
		last := l.Sum != ""
		if last && (l.Sum != sumOf(sum) || lines.Scan()) {
			return n, fmt.Errorf("%w: the sum of the copy is wrong", ErrDamaged)
		}
		if last || len(ops) == maxCommitOps || size > maxCommitBytes/2 {
			if _, err := st.Commit(ctx, ops...); err != nil || last {
				return n, err
			}
			ops, size = nil, 0
		}
		fmt.Fprintf(sum, "%s\n", lines.Bytes())
		ops = append(ops, Op{Key: l.Key, Value: l.Value, If: Absent})
		size += len(l.Key) + len(l.Value)
		n++
	}
	err = fmt.Errorf("%w: the copy ends after %d entries", ErrDamaged, n)
	return n, errors.Join(err, lines.Err())
}
