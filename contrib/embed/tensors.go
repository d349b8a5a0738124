package embed

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// maxHeader is the length of a safetensors header, in bytes, beyond which it
// is refused.
const maxHeader = 1 << 20

// tensor is one array of a safetensors file.
type tensor struct {
	Type    string    `json:"dtype"`
	Shape   []int64   `json:"shape"`
	Offsets [2]uint64 `json:"data_offsets"`
	data    []byte
}

// sizes of the types of numbers that are read.
var sizes = map[string]int64{"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I8": 1, "I32": 4, "I64": 8}

// tensors reads a safetensors file: the length of the header in eight bytes,
// the header in JSON, and the numbers, little endian. The arrays share file.
func tensors(file []byte) (map[string]tensor, error) {
	if len(file) < 8 {
		return nil, fmt.Errorf("%w: too short", ErrModel)
	}
	n := binary.LittleEndian.Uint64(file)
	if n > maxHeader || n > uint64(len(file)-8) {
		return nil, fmt.Errorf("%w: header of %d bytes", ErrModel, n)
	}
	data := file[8+n:]
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(file[8:8+n], &raw); err != nil {
		return nil, fmt.Errorf("%w: header: %v", ErrModel, err)
	}
	out := make(map[string]tensor)
	for name, m := range raw {
		if name == "__metadata__" {
			continue
		}
		var t tensor
		if err := json.Unmarshal(m, &t); err != nil {
			return nil, fmt.Errorf("%w: tensor %.64q: %v", ErrModel, name, err)
		}
		from, to := t.Offsets[0], t.Offsets[1]
		if from > to || to > uint64(len(data)) {
			return nil, fmt.Errorf("%w: tensor %.64q lies outside of the file", ErrModel, name)
		}
		t.data = data[from:to]
		out[name] = t
	}
	return out, nil
}

// count returns the number of numbers, after checking that the data has as
// many. The type has to be one that is read.
func (t tensor) count(name string) (int, error) {
	size, ok := sizes[t.Type]
	if !ok {
		return 0, fmt.Errorf("%w: %s of type %.16q", ErrUnsupported, name, t.Type)
	}
	n := int64(1)
	for _, d := range t.Shape {
		if d <= 0 || d > math.MaxInt32 || n > math.MaxInt32/d {
			return 0, fmt.Errorf("%w: %s has a bad shape", ErrModel, name)
		}
		n *= d
	}
	if n*size != int64(len(t.data)) {
		return 0, fmt.Errorf("%w: %s has %d bytes, not %d", ErrModel, name, len(t.data), n*size)
	}
	return int(n), nil
}

// floats returns the numbers, all of which are finite.
func (t tensor) floats(name string) ([]float32, error) {
	n, err := t.count(name)
	if err != nil {
		return nil, err
	}
	out := make([]float32, n)
	for i := range out {
		x := t.float(i)
		if x-x != 0 {
			return nil, fmt.Errorf("%w: %s holds a number that is not finite", ErrModel, name)
		}
		out[i] = x
	}
	return out, nil
}

func (t tensor) float(i int) float32 {
	d := t.data
	switch t.Type {
	case "F32":
		return math.Float32frombits(binary.LittleEndian.Uint32(d[4*i:]))
	case "F64":
		return float32(math.Float64frombits(binary.LittleEndian.Uint64(d[8*i:])))
	case "F16":
		return half(binary.LittleEndian.Uint16(d[2*i:]))
	case "BF16":
		return math.Float32frombits(uint32(binary.LittleEndian.Uint16(d[2*i:])) << 16)
	}
	return float32(t.int(i))
}

func (t tensor) int(i int) int64 {
	d := t.data
	switch t.Type {
	case "I64":
		return int64(binary.LittleEndian.Uint64(d[8*i:]))
	case "I32":
		return int64(int32(binary.LittleEndian.Uint32(d[4*i:])))
	}
	return int64(int8(d[i]))
}

// half returns the number of an IEEE 754 half.
func half(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exp, frac := uint32(h>>10&31), uint32(h&1023)
	switch exp {
	case 0: // below 2^-14: no leading one
		return math.Float32frombits(sign | math.Float32bits(float32(frac)/(1<<24)))
	case 31: // infinite, or no number
		return math.Float32frombits(sign | 255<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
