package codec

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// Appender is a record that writes its own CBOR, which is cheaper than having
// it found out by reflection. It must write what reflection would: a map from
// the field numbers, in ascending order, to those fields that are not empty.
// Package codectest checks that.
type Appender interface {
	// AppendCBOR appends the record to buf.
	AppendCBOR(buf []byte) []byte
}

// The major types and simple values of CBOR, as the first byte has them.
const (
	majorUint   = 0 << 5
	majorNegint = 1 << 5
	majorBytes  = 2 << 5
	majorText   = 3 << 5
	majorArray  = 4 << 5
	majorMap    = 5 << 5

	valueTrue = 0xf5
	float16   = 0xf9
	float32s  = 0xfa
	float64s  = 0xfb
)

// Map is a record that is being appended: a struct whose fields all have tags
// like `cbor:"1,keyasint,omitempty"`, with numbers from 1 to 23. Its methods
// add a field unless it is empty, and have to be called in the order of the
// numbers. A Map is for one goroutine.
type Map struct {
	buf   []byte
	start int  // of the record in buf
	n     byte // fields
}

// Open begins a record at the end of buf.
func Open(buf []byte) Map { return Map{buf: append(buf, majorMap), start: len(buf)} }

// Close ends the record and returns the buffer. With at most 23 fields their
// number is in the first byte.
func (m *Map) Close() []byte {
	m.buf[m.start] |= m.n
	return m.buf
}

// field begins a field.
func (m *Map) field(number byte) {
	m.n++
	m.buf = append(m.buf, number)
}

// Most fields of most records are empty. The compiler inlines that check where
// the function is small: Int, Text, Texts and List, of which there are most, are
// split for that.

// Bool adds a bool unless it is false.
func (m *Map) Bool(number byte, v bool) {
	if v {
		m.field(number)
		m.buf = append(m.buf, valueTrue)
	}
}

// Int adds an integer unless it is zero.
func (m *Map) Int(number byte, v int64) {
	if v != 0 {
		m.int(number, v)
	}
}

func (m *Map) int(number byte, v int64) {
	m.field(number)
	if v < 0 {
		m.head(majorNegint, uint64(-1-v))
	} else {
		m.head(majorUint, uint64(v))
	}
}

// Uint adds an integer unless it is zero.
func (m *Map) Uint(number byte, v uint64) {
	if v != 0 {
		m.field(number)
		m.head(majorUint, v)
	}
}

// Float adds a number unless it is zero.
func (m *Map) Float(number byte, v float64) {
	if v != 0 {
		m.FloatPointer(number, &v)
	}
}

// FloatPointer adds a number unless it is nil.
func (m *Map) FloatPointer(number byte, v *float64) {
	if v != nil {
		m.field(number)
		m.float(*v)
	}
}

// Text adds a text unless it is empty.
func (m *Map) Text(number byte, v string) {
	if v != "" {
		m.text(number, v)
	}
}

func (m *Map) text(number byte, v string) {
	m.field(number)
	m.string(v)
}

// Bytes adds bytes unless there are none.
func (m *Map) Bytes(number byte, v []byte) {
	if len(v) > 0 {
		m.field(number)
		m.head(majorBytes, uint64(len(v)))
		m.buf = append(m.buf, v...)
	}
}

// Floats adds a map unless it is empty. Shorter keys come first, and those of
// a length in the order of their bytes.
func (m *Map) Floats(number byte, v map[string]float64) {
	if len(v) == 0 {
		return
	}
	m.field(number)
	m.head(majorMap, uint64(len(v)))
	var few [16]string
	keys := few[:0]
	for k := range v {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	for _, k := range keys {
		m.string(k)
		m.float(v[k])
	}
}

// Numbers adds a list of numbers unless it is empty.
func (m *Map) Numbers(number byte, v []float64) {
	if len(v) > 0 {
		m.list(number, len(v))
		for _, f := range v {
			m.float(f)
		}
	}
}

// Texts adds a list of texts unless it is empty.
func Texts[S ~string](m *Map, number byte, v []S) {
	if len(v) > 0 {
		texts(m, number, v)
	}
}

func texts[S ~string](m *Map, number byte, v []S) {
	m.list(number, len(v))
	for _, s := range v {
		m.string(string(s))
	}
}

// Struct adds a record, which write appends, unless all its fields are empty.
func Struct[T any](m *Map, number byte, v *T, write func([]byte, *T) []byte) {
	start := len(m.buf)
	m.field(number)
	m.buf = write(m.buf, v)
	if len(m.buf) == start+2 && m.buf[start+1] == majorMap {
		m.buf = m.buf[:start]
		m.n--
	}
}

// Pointer adds a record, which write appends, unless it is nil.
func Pointer[T any](m *Map, number byte, v *T, write func([]byte, *T) []byte) {
	if v != nil {
		m.field(number)
		m.buf = write(m.buf, v)
	}
}

// List adds a list of records, which write appends, unless it is empty.
func List[T any](m *Map, number byte, v []T, write func([]byte, *T) []byte) {
	if len(v) > 0 {
		records(m, number, v, write)
	}
}

func records[T any](m *Map, number byte, v []T, write func([]byte, *T) []byte) {
	m.list(number, len(v))
	for i := range v {
		m.buf = write(m.buf, &v[i])
	}
}

// list begins a field that is a list of n.
func (m *Map) list(number byte, n int) {
	m.field(number)
	m.head(majorArray, uint64(n))
}

func (m *Map) string(v string) {
	m.head(majorText, uint64(len(v)))
	m.buf = append(m.buf, v...)
}

// head appends a major type and its argument (RFC 8949, section 3).
func (m *Map) head(major byte, n uint64) {
	switch {
	case n < 24:
		m.buf = append(m.buf, major|byte(n))
	case n <= math.MaxUint8:
		m.buf = append(m.buf, major|24, byte(n))
	case n <= math.MaxUint16:
		m.buf = append(m.buf, major|25, byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		m.buf = binary.BigEndian.AppendUint32(append(m.buf, major|26), uint32(n))
	default:
		m.buf = binary.BigEndian.AppendUint64(append(m.buf, major|27), n)
	}
}

// float appends the shortest form that is v exactly (RFC 8949, section 4.2.1).
// There is one NaN.
func (m *Map) float(v float64) {
	if math.IsNaN(v) {
		m.buf = append(m.buf, float16, 0x7e, 0)
		return
	}
	single := float32(v)
	if float64(single) != v {
		m.buf = binary.BigEndian.AppendUint64(append(m.buf, float64s), math.Float64bits(v))
		return
	}
	bits := math.Float32bits(single)
	if half, exact := halve(bits); exact {
		m.buf = append(m.buf, float16, byte(half>>8), byte(half))
		return
	}
	m.buf = binary.BigEndian.AppendUint32(append(m.buf, float32s), bits)
}

// halve returns the half precision form of a number in single precision, and
// whether it is the same number. Both are those of IEEE 754.
func halve(bits uint32) (half uint16, exact bool) {
	sign := uint16(bits>>16) & 0x8000
	exponent, fraction := int(bits>>23&0xff)-127, bits&(1<<23-1)
	switch {
	case bits<<1 == 0:
		return sign, true
	case exponent == 128: // infinity
		return sign | 0x7c00, fraction == 0
	case -14 <= exponent && exponent <= 15:
		return sign | uint16(exponent+15)<<10 | uint16(fraction>>13), fraction&(1<<13-1) == 0
	case -24 <= exponent && exponent < -14: // below the normal numbers
		fraction |= 1 << 23
		shift := -exponent - 1
		return sign | uint16(fraction>>shift), fraction&(1<<shift-1) == 0
	default:
		return 0, false
	}
}
