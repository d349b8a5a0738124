package store

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Copy writes all entries of st below prefix to w, as of one state of the store, and returns their number: a
// gzip, which has a checksum, of a JSON object for each. A tenant keeps its name: its scopes are in the keys.
func Copy(ctx context.Context, st Store, prefix string, w io.Writer) (n int, err error) {
	out := gzip.NewWriter(w)
	lines := json.NewEncoder(out)
	for e, err := range Sub(st, prefix).Scan(ctx, Range{}) {
		if err := cmp.Or(err, lines.Encode(map[string][]byte{e.Key: e.Value})); err != nil {
			return n, err
		}
		n++
	}
	return n, out.Close()
}

// Load writes what Copy wrote below prefix, in several commits, and returns the number of entries.
// ErrConflict: there is something. ErrDamaged: the copy is damaged. After an error, delete what was written.
func Load(ctx context.Context, st Store, prefix string, r io.Reader) (n int, err error) {
	st = Sub(st, prefix)
	for e, err := range st.Scan(ctx, Range{Limit: 1}) {
		return 0, cmp.Or(err, error(&ConflictError{Key: prefix + e.Key}))
	}
	in, err := gzip.NewReader(r)
	if err != nil {
		return 0, fmt.Errorf("%w: it is no copy: %w", ErrDamaged, err)
	}
	lines, ops, size := json.NewDecoder(in), []Op(nil), 0
	for {
		var entry map[string][]byte
		err := lines.Decode(&entry)
		last := errors.Is(err, io.EOF) // and the checksum is right
		if err != nil && !last {
			return n, fmt.Errorf("%w: the copy, after %d entries: %w", ErrDamaged, n, err)
		}
		if last || len(ops) == maxCommitOps || size > maxCommitBytes/2 {
			if _, err := st.Commit(ctx, ops...); err != nil || last {
				return n, err
			}
			ops, size = nil, 0
		}
		for key, value := range entry {
			ops = append(ops, Op{Key: key, Value: value, If: Absent})
			size, n = size+len(prefix)+len(key)+len(value), n+1
		}
	}
}
