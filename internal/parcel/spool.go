package parcel

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/arc-learn/arc/store"
)

// maxPiece is the size of a piece in bytes.
const maxPiece = 512 << 10

// Spool stores a stream in pieces, so that it can be read again. Write to it, call Rewind, then read.
type Spool struct {
	// Prefix is the beginning of the pieces' keys. It has to be set before more bytes are written than
	// the longest line has.
	Prefix string

	ctx    context.Context
	st     store.Store
	out    *bufio.Writer
	pieces int // written
	read   int
	rest   []byte // of the piece that was read last
}

// NewSpool returns an empty Spool.
func NewSpool(ctx context.Context, st store.Store) *Spool {
	s := &Spool{ctx: ctx, st: st}
	s.out = bufio.NewWriterSize(pieces{s}, maxLine)
	return s
}

func (s *Spool) piece(n int) string { return fmt.Sprintf("%s%016x", s.Prefix, n) }

// Write implements io.Writer.
func (s *Spool) Write(p []byte) (int, error) { return s.out.Write(p) }

// Rewind ends writing and begins reading.
func (s *Spool) Rewind() error { return s.out.Flush() }

// pieces writes to the store.
type pieces struct{ *Spool }

// Write implements io.Writer.
func (s pieces) Write(p []byte) (n int, err error) {
	for n < len(p) {
		part := p[n:min(len(p), n+maxPiece)]
		if _, err := s.st.Commit(s.ctx, store.Op{Key: s.piece(s.pieces), Value: part}); err != nil {
			return n, err
		}
		s.pieces++
		n += len(part)
	}
	return n, nil
}

// Read implements io.Reader.
func (s *Spool) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		if s.read == s.pieces {
			return 0, io.EOF
		}
		e, err := s.st.Get(s.ctx, s.piece(s.read))
		if err != nil {
			return 0, err
		}
		s.rest, s.read = e.Value, s.read+1
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}
