// Package batch puts the records of one write together.
package batch

import (
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Batch is a write. Its keys and values lie side by side, and outlive it.
type Batch struct {
	Ops  []store.Op
	Keys key.Block
	buf  []byte // what is encoded
}

// Reset makes ready for the next write, whose keys are of so many bytes.
func (b *Batch) Reset(keys int) {
	clear(b.Ops)
	b.Ops, b.Keys, b.buf = b.Ops[:0], key.Block{}, make([]byte, 0, 512)
	b.Keys.Grow(keys)
}

// Put adds the write of a record, which is a pointer to a struct.
func (b *Batch) Put(k string, record any) error {
	start := len(b.buf)
	buf, err := codec.Append(b.buf, k, record)
	if err == nil {
		b.buf = buf
		b.Ops = append(b.Ops, store.Op{Key: k, Value: buf[start:len(buf):len(buf)]})
	}
	return err
}
