package codec

import (
	"cmp"
	"encoding"
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/fxamacker/cbor/v2"
	"github.com/x448/float16"
)

// A record that every step writes would cost a third of a turn if it were
// encoded by reflection. Its plan is made once, from the tags of its type, and
// says where each field lies and how it is written: the bytes are the library's,
// which package codectest checks, at a fifth of the instructions.

// plan says how a type is written.
type plan struct {
	kind   reflect.Kind // Array: bytes, of whatever type
	size   uintptr      // of an element
	elem   *plan        // of a slice, pointer, map
	fields []field      // of a struct, in the order of their numbers
}

// field is a field with a tag like `cbor:"1,keyasint,omitempty"`, with a number
// from 1 to 65535. A State has over a hundred fields, most of them empty, so what
// tells of that is small and side by side.
type field struct {
	offset uint16
	number uint16

	// The field is empty if it is probed and the word at offset+probe is 0: the
	// length of a text or list, or a number. It may be empty in other ways too,
	// where asked is set.
	probed, asked bool
	probe         uint8

	plan *plan
}

// plans are those of types that have been written, nil for those that only the
// library can write.
var plans sync.Map // reflect.Type → *plan

// planOf returns the plan of a struct type, or nil.
func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := newPlan(t, maxDepth)
	plans.Store(t, p)
	return p
}

// maxDepth bounds the plan of a type that holds itself: it has none.
const maxDepth = 16

// newPlan makes the plan of a type, or returns nil if there is none.
func newPlan(t reflect.Type, depth int) *plan {
	if depth == 0 || ownForm(t) || ownForm(reflect.PointerTo(t)) {
		return nil
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float64,
		reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint32, reflect.Uint64:
		return &plan{kind: t.Kind()}
	case reflect.Map:
		if t == reflect.TypeFor[map[string]float64]() || t == reflect.TypeFor[map[string]string]() {
			return &plan{kind: t.Kind(), elem: &plan{kind: t.Elem().Kind()}}
		}
	case reflect.Slice, reflect.Pointer:
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
			return &plan{kind: reflect.Array}
		}
		// Where an element may be nil, the library writes a null.
		if elem := newPlan(t.Elem(), depth-1); elem != nil && !slices.Contains(nilable, elem.kind) {
			return &plan{kind: t.Kind(), elem: elem, size: t.Elem().Size()}
		}
	case reflect.Struct:
		return structPlan(t, depth-1)
	}
	return nil
}

var nilable = []reflect.Kind{reflect.Array, reflect.Slice, reflect.Pointer, reflect.Map}

// ownForm reports whether the library asks a type for its form.
func ownForm(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[cbor.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.BinaryMarshaler]())
}

func structPlan(t reflect.Type, depth int) *plan {
	p := &plan{kind: reflect.Struct}
	for f := range t.Fields() {
		if f.Tag.Get("cbor") == "-" || !f.IsExported() && !f.Anonymous { // as the library has it
			continue
		}
		number, options, _ := strings.Cut(f.Tag.Get("cbor"), ",")
		n, err := strconv.Atoi(number)
		inner := newPlan(f.Type, depth)
		if err != nil || n < 1 || max(n, int(f.Offset)) > math.MaxUint16 || options != "keyasint,omitempty" || inner == nil {
			return nil
		}
		p.fields = append(p.fields, newField(uint16(n), f.Offset, inner, f.Type.Size()))
	}
	slices.SortFunc(p.fields, func(a, b field) int { return cmp.Compare(a.number, b.number) })
	return p
}

func newField(number uint16, offset uintptr, p *plan, size uintptr) field {
	const word = unsafe.Sizeof(uintptr(0))
	f := field{number: number, offset: uint16(offset), plan: p}
	switch p.kind {
	case reflect.Struct:
		return f // all its fields tell
	case reflect.String, reflect.Array, reflect.Slice:
		f.probed, f.probe = true, uint8(word) // behind the address
	default:
		f.probed = size == word
		// A map may have no keys, and a number may be the negative zero.
		f.asked = !f.probed || p.kind == reflect.Map || p.kind == reflect.Float64
	}
	return f
}

// peek reads what stands at an address.
func peek[T any](v unsafe.Pointer) T { return *(*T)(v) }

// empty reports whether a field that no probe decides is left out.
func (p *plan) empty(v unsafe.Pointer) bool {
	switch p.kind {
	case reflect.Bool, reflect.Uint8:
		return peek[uint8](v) == 0
	case reflect.Int32, reflect.Uint32:
		return peek[uint32](v) == 0
	case reflect.Float64:
		return peek[float64](v) == 0
	case reflect.Map:
		return len(peek[map[string]float64](v)) == 0 // of whatever values
	}
	return peek[uint64](v) == 0 // a word is 32 bits here, and the number is not
}

// The major types and simple values of CBOR, as the first byte has them.
const (
	majorUint   = 0 << 5
	majorNegint = 1 << 5
	majorBytes  = 2 << 5
	majorText   = 3 << 5
	majorArray  = 4 << 5
	majorMap    = 5 << 5

	valueFalse = 0xf4
	float16s   = 0xf9
	float32s   = 0xfa
	float64s   = 0xfb
)

// encode appends the value at an address, and shows its texts to see, if there is one.
func (p *plan) encode(buf []byte, v unsafe.Pointer, see seen) []byte {
	switch p.kind {
	case reflect.Bool:
		return append(buf, valueFalse+peek[uint8](v))
	case reflect.Uint8:
		return head(buf, majorUint, uint64(peek[uint8](v)))
	case reflect.Uint32:
		return head(buf, majorUint, uint64(peek[uint32](v)))
	case reflect.Uint64:
		return head(buf, majorUint, peek[uint64](v))
	case reflect.Int32:
		return appendInt(buf, int64(peek[int32](v)))
	case reflect.Int:
		return appendInt(buf, int64(peek[int](v)))
	case reflect.Int64:
		return appendInt(buf, peek[int64](v))
	case reflect.Float64:
		return appendFloat(buf, peek[float64](v))
	case reflect.String:
		if see != nil {
			see("", peek[string](v), nil)
		}
		return appendText(buf, peek[string](v))
	case reflect.Array:
		b := peek[[]byte](v)
		if see != nil {
			see("", "", b)
		}
		return append(head(buf, majorBytes, uint64(len(b))), b...)
	case reflect.Map:
		if see != nil {
			p.seeKeys(v, see)
		}
		if p.elem.kind == reflect.String {
			return appendPairs(buf, peek[map[string]string](v), appendText)
		}
		return appendPairs(buf, peek[map[string]float64](v), appendFloat)
	case reflect.Pointer:
		return p.elem.encode(buf, peek[unsafe.Pointer](v), see)
	case reflect.Slice:
		list := peek[[]struct{}](v) // of whatever elements
		buf = head(buf, majorArray, uint64(len(list)))
		for i := range list {
			buf = p.elem.encode(buf, unsafe.Add(unsafe.Pointer(unsafe.SliceData(list)), uintptr(i)*p.size), see)
		}
		return buf
	}
	return p.encodeStruct(buf, v, see)
}

// encodeStruct appends a struct: the fields that are not empty, by their numbers.
func (p *plan) encodeStruct(buf []byte, v unsafe.Pointer, see seen) []byte {
	start, n := len(buf), byte(0)
	buf = append(buf, majorMap)
	for i := range p.fields {
		f := &p.fields[i]
		at := unsafe.Add(v, f.offset)
		if f.probed && peek[uintptr](unsafe.Add(at, f.probe)) == 0 || f.asked && f.plan.empty(at) {
			continue
		}
		was := len(buf)
		buf = head(buf, majorUint, uint64(f.number))
		value := len(buf)
		buf = f.plan.encode(buf, at, see)
		if f.plan.kind == reflect.Struct && buf[value] == majorMap {
			buf = buf[:was] // all its fields are empty
			continue
		}
		n++
	}
	if n < 24 {
		buf[start] |= n
		return buf
	}
	buf[start] |= 24
	return slices.Insert(buf, start+1, n)
}

// seen is called with the texts of what is written.
type seen = func(name, text string, raw []byte)

// seeKeys calls see with the keys of a map, and with texts under them.
func (p *plan) seeKeys(v unsafe.Pointer, see seen) {
	if p.elem.kind == reflect.String {
		for k, text := range peek[map[string]string](v) {
			see("", k, nil)
			see(k, text, nil)
		}
		return
	}
	for k := range peek[map[string]float64](v) {
		see("", k, nil)
	}
}

// head appends a major type and its argument (RFC 8949, section 3).
func head(buf []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(buf, major|byte(n))
	case n <= math.MaxUint8:
		return append(buf, major|24, byte(n))
	case n <= math.MaxUint16:
		return append(buf, major|25, byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(buf, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(buf, major|27), n)
}

func appendInt(buf []byte, v int64) []byte {
	if v < 0 {
		return head(buf, majorNegint, uint64(-1-v))
	}
	return head(buf, majorUint, uint64(v))
}

func appendText(buf []byte, v string) []byte {
	return append(head(buf, majorText, uint64(len(v))), v...)
}

// appendPairs appends a map. Shorter keys come first, and those of a length in
// the order of their bytes (RFC 8949, section 4.2.3).
func appendPairs[V any](buf []byte, v map[string]V, value func([]byte, V) []byte) []byte {
	buf = head(buf, majorMap, uint64(len(v)))
	var few [16]string
	keys := few[:0]
	for k := range v {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	for _, k := range keys {
		buf = value(appendText(buf, k), v[k])
	}
	return buf
}

// appendFloat appends the shortest form that is v exactly (RFC 8949, section
// 4.2.1). There is one NaN.
func appendFloat(buf []byte, v float64) []byte {
	if math.IsNaN(v) {
		return append(buf, float16s, 0x7e, 0)
	}
	single := float32(v)
	if float64(single) != v {
		return binary.BigEndian.AppendUint64(append(buf, float64s), math.Float64bits(v))
	}
	if half := float16.Fromfloat32(single); half.Float32() == single {
		return binary.BigEndian.AppendUint16(append(buf, float16s), half.Bits())
	}
	return binary.BigEndian.AppendUint32(append(buf, float32s), math.Float32bits(single))
}
