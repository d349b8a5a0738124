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
			*f = int32(p.four(uint32(*f)))
		case *float32:
			*f = math.Float32frombits(p.four(math.Float32bits(*f)))
		case *int64:
			*f = int64(p.eight(uint64(*f)))
		case *float64:
			*f = math.Float64frombits(p.eight(math.Float64bits(*f)))
		}
	}
}

// four packs a field of four bytes that has these bits, or returns those that it has; eight likewise.
func (p *Packer) four(bits uint32) uint32 {
	field := p.B
	if p.B = field[4:]; p.Read {
		return binary.LittleEndian.Uint32(field)
	}
	binary.LittleEndian.PutUint32(field, bits)
	return bits
}

func (p *Packer) eight(bits uint64) uint64 {
	field := p.B
	if p.B = field[8:]; p.Read {
		return binary.LittleEndian.Uint64(field)
	}
	binary.LittleEndian.PutUint64(field, bits)
	return bits
}
