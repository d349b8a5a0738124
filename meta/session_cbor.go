package meta

import "github.com/arc-learn/arc/internal/codec"

// Both records of a session are written for every outcome, so they are written
// field by field, by the numbers in their tags.

// AppendCBOR implements codec.Appender.
func (t *totals) AppendCBOR(buf []byte) []byte {
	m := codec.Open(buf)
	m.Uint(1, t.Outcomes)
	m.Uint(2, t.Successes)
	m.Uint(3, t.Failures)
	return m.Close()
}

// AppendCBOR implements codec.Appender.
func (r *record) AppendCBOR(buf []byte) []byte {
	m := codec.Open(buf)
	m.Uint(1, r.Number)
	m.Int(2, r.At)
	m.Bool(3, r.Success)
	m.Text(4, r.Key)
	m.Text(5, r.Goal)
	m.Text(6, r.Approach)
	m.Text(7, r.Note)
	m.FloatPointer(8, r.Resonance)
	return m.Close()
}
