package codec

import (
	"encoding/binary"
	"math"
)

// Packer writes fields of a fixed size to the bytes of a sealed record, one after the other, or reads them.
type Packer struct {
	B    []byte // of the fields to come
	Read bool
}

// Pack packs fields of four or eight bytes, which are given by pointers: *int32, *float32, *int64, *float64.
// So one list of the fields of a record says where each is, for whoever reads it and whoever writes it.
func (p *Packer) Pack(fields ...any) {
	for _, field := range fields {
		switch f := field.(type) {
		case *int32:
			*f = int32(p.field(4, uint64(*f)))
		case *float32:
			*f = math.Float32frombits(uint32(p.field(4, uint64(math.Float32bits(*f)))))
		case *int64:
			*f = int64(p.field(8, uint64(*f)))
		case *float64:
			*f = math.Float64frombits(p.field(8, math.Float64bits(*f)))
		}
	}
}

// field packs a field of so many bytes that has these bits, or returns those that it has.
func (p *Packer) field(size int, bits uint64) uint64 {
	var b [8]byte
	field := p.B[:size]
	if p.B = p.B[size:]; p.Read {
		copy(b[:], field)
		return binary.LittleEndian.Uint64(b[:])
	}
	binary.LittleEndian.PutUint64(b[:], bits)
	copy(field, b[:])
	return bits
}
