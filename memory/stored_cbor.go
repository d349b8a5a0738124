package memory

import "github.com/arc-learn/arc/internal/codec"

// Counters and marks are written for every feedback, so they are written field
// by field, by the numbers in their tags.

// AppendCBOR implements codec.Appender.
func (c *counts) AppendCBOR(buf []byte) []byte {
	m := codec.Open(buf)
	m.Int(1, int64(c.Helped))
	m.Int(2, int64(c.Failed))
	m.Int(3, int64(c.Misled))
	m.Int(4, int64(c.Exposed))
	m.Int(5, int64(c.LastUsed))
	m.Int(6, int64(c.Said))
	m.Bool(7, c.Archived)
	codec.List(&m, 8, c.Situations, appendSituation)
	m.Int(9, int64(c.Quiet))
	codec.Ints(&m, 10, c.Earlier)
	return m.Close()
}

func appendSituation(buf []byte, s *situation) []byte {
	m := codec.Open(buf)
	m.Uint(1, s.Hash)
	m.Int(2, int64(s.Helped))
	m.Int(3, int64(s.Failed))
	m.Int(4, int64(s.Misled))
	m.Int(5, int64(s.Quiet))
	return m.Close()
}

// AppendCBOR implements codec.Appender.
func (a applied) AppendCBOR(buf []byte) []byte {
	m := codec.Open(buf)
	m.Int(1, int64(a.At))
	return m.Close()
}

// AppendCBOR implements codec.Appender.
func (r storedReceipt) AppendCBOR(buf []byte) []byte {
	m := codec.Open(buf)
	m.Text(1, string(r.Disposition))
	m.Text(2, string(r.Into))
	m.Text(3, r.Reason)
	return m.Close()
}
