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

// Ints32 packs fields of four bytes.
func (p *Packer) Ints32(vs ...*int32) {
	for _, v := range vs {
		if p.Read {
			*v = int32(binary.LittleEndian.Uint32(p.B))
		} else {
			binary.LittleEndian.PutUint32(p.B, uint32(*v))
		}
		p.B = p.B[4:]
	}
}

// Ints64 packs fields of eight bytes.
func (p *Packer) Ints64(vs ...*int64) {
	for _, v := range vs {
		if p.Read {
			*v = int64(binary.LittleEndian.Uint64(p.B))
		} else {
			binary.LittleEndian.PutUint64(p.B, uint64(*v))
		}
		p.B = p.B[8:]
	}
}

// Floats packs fields of eight bytes.
func (p *Packer) Floats(vs ...*float64) {
	for _, v := range vs {
		bits := int64(math.Float64bits(*v))
		p.Ints64(&bits)
		*v = math.Float64frombits(uint64(bits))
	}
}

// Floats32 packs fields of four bytes.
func (p *Packer) Floats32(vs ...*float32) {
	for _, v := range vs {
		bits := int32(math.Float32bits(*v))
		p.Ints32(&bits)
		*v = math.Float32frombits(uint32(bits))
	}
}
