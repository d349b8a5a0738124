package rank

import "github.com/arc-learn/arc/internal/codec"

// These records are written for every sample, so they are written field by
// field, by the numbers in their tags.

// AppendCBOR implements codec.Appender.
func (r *record) AppendCBOR(buf []byte) []byte {
	m := codec.Open(buf)
	m.Uint(1, r.Seq)
	m.Int(2, r.At)
	m.Uint(3, uint64(r.Outcome))
	m.FloatPointer(4, r.Confidence)
	m.Int(5, r.Wall)
	m.Float(6, r.Cost)
	m.Int(7, int64(r.In))
	m.Int(8, int64(r.Out))
	m.FloatPointer(9, r.Reward)
	m.Text(10, r.Situation)
	m.Numbers(11, r.Features)
	m.Text(12, r.Key)
	return m.Close()
}

// AppendCBOR implements codec.Appender.
func (r *headRecord) AppendCBOR(buf []byte) []byte {
	m := codec.Open(buf)
	m.Uint(1, r.Seen)
	m.Float(2, r.N)
	m.Float(3, r.Lo)
	m.Float(4, r.Hi)
	m.Bool(5, r.Rewarded)
	m.Float(6, r.Sum2)
	m.Float(7, r.N2)
	m.Float(8, r.Mean)
	m.Float(9, r.Spread2)
	m.Numbers(10, r.Loss)
	m.Numbers(11, r.Transfer)
	return m.Close()
}

// AppendCBOR implements codec.Appender.
func (r *armRecord) AppendCBOR(buf []byte) []byte {
	m := codec.Open(buf)
	m.Int(1, int64(r.Index))
	m.Uint(2, uint64(r.Epoch))
	m.Float(3, r.N)
	m.Float(4, r.Sum)
	m.Numbers(5, r.Up)
	m.Numbers(6, r.Down)
	m.Bool(7, r.Proven)
	return m.Close()
}

// AppendCBOR implements codec.Appender.
func (r *settingRecord) AppendCBOR(buf []byte) []byte {
	m := codec.Open(buf)
	m.Float(1, r.Weight)
	m.Float(2, r.Moved)
	m.Uint(3, r.Used)
	codec.List(&m, 4, r.Cells, appendCell)
	return m.Close()
}

func appendCell(buf []byte, r *cellRecord) []byte {
	m := codec.Open(buf)
	m.Int(1, int64(r.Arm))
	m.Uint(2, uint64(r.Epoch))
	m.Float(3, r.N)
	m.Float(4, r.Sum)
	m.Float(5, r.Weight)
	m.Float(6, r.Moved)
	m.Uint(7, r.Used)
	return m.Close()
}
