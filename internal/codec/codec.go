// Package codec encodes the values that arc's packages keep in a store.
//
// A value is an envelope: one byte of format version, four bytes of CRC-32C,
// and the record in CBOR (RFC 8949, core deterministic encoding). The checksum
// covers the key as well: a value that is found under another key is damage,
// not a record.
package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"reflect"
	"sync"
	"unsafe"

	"github.com/fxamacker/cbor/v2"

	"github.com/arc-learn/arc/store"
)

// Version is the format version that Encode writes.
const Version = 1

const header = 5

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	encMode    = must(encOptions().UserBufferEncMode())
	decMode    = must(decOptions().DecMode())
)

// DecodeShort reads lists that have maxShort elements in all, and one more for each so
// many bytes of the record.
const (
	maxShort = 1 << 13
	perShort = 32
)

func decOptions() cbor.DecOptions {
	return cbor.DecOptions{
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
		MaxNestedLevels:  64,
		MaxArrayElements: 1 << 20,
		MaxMapPairs:      1 << 20,
		TimeTag:          cbor.DecTagIgnored,
		UTF8:             cbor.UTF8DecodeInvalid, // what a host's part has said is read as it was written
	}
}

func encOptions() cbor.EncOptions {
	o := cbor.CoreDetEncOptions()
	o.Time = cbor.TimeRFC3339Nano
	return o
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // the options above are constants: they fail always or never
	}
	return v
}

// buffers hold what is being encoded by reflection, scratches what is made for
// Encode.
var (
	buffers   = sync.Pool{New: func() any { return new(bytes.Buffer) }}
	scratches = sync.Pool{New: func() any { return new([]byte) }}
)

// Encode returns the envelope of v for storing under key.
func Encode(key string, v any) ([]byte, error) {
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	value, err := Append((*scratch)[:0], key, v)
	if err != nil {
		return nil, err
	}
	*scratch = value
	return bytes.Clone(value), nil
}

// Append appends the envelope of v for storing under key to buf.
func Append(buf []byte, key string, v any) ([]byte, error) { return AppendSeen(buf, key, v, nil) }

// AppendSeen is Append of a value whose texts see is called with as they are written,
// unless it is nil: texts, under a name if they are those of a map, and bytes. The value
// is a pointer to a struct of which each field has a number, or is left out.
func AppendSeen(buf []byte, key string, v any, see func(name, text string, raw []byte)) ([]byte, error) {
	start := len(buf)
	buf, err := appendBody(append(buf, Version, 0, 0, 0, 0), v, see)
	if err != nil {
		return nil, fmt.Errorf("encode %q: %w", key, err)
	}
	value := buf[start:]
	binary.BigEndian.PutUint32(value[1:], sum(key, value[header:]))
	return buf, nil
}

func appendBody(buf []byte, v any, see func(name, text string, raw []byte)) ([]byte, error) {
	if r := reflect.ValueOf(v); r.Kind() == reflect.Pointer && !r.IsNil() {
		if p := planOf(r.Type().Elem()); p != nil {
			return p.encode(buf, r.UnsafePointer(), see), nil
		}
	}
	if see != nil {
		return buf, fmt.Errorf("%T has no plan", v)
	}
	w := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(w)
	w.Reset()
	err := encMode.MarshalToBuffer(v, w)
	return append(buf, w.Bytes()...), err
}

func sum(key string, body []byte) uint32 {
	// The conversion copies nothing: Update reads the bytes and keeps none.
	crc := crc32.Update(0, castagnoli, unsafe.Slice(unsafe.StringData(key), len(key)))
	return crc32.Update(crc, castagnoli, body)
}

// Move returns the value of e as it is to be stored under another key. The errors
// are those of Decode.
func Move(e store.Entry, key string) ([]byte, error) {
	body, err := verified(e)
	if err != nil {
		return nil, err
	}
	value := bytes.Clone(e.Value)
	binary.BigEndian.PutUint32(value[1:], sum(key, body))
	return value, nil
}

// Decode reads the envelope of e into v. It returns store.ErrDamaged or
// store.ErrNewer, with the key, for a value that it cannot trust.
func Decode(e store.Entry, v any) error {
	body, err := verified(e)
	if err != nil {
		return err
	}
	if err := decMode.Unmarshal(body, v); err != nil {
		return fmt.Errorf("%w: %q: %v", store.ErrDamaged, e.Key, err)
	}
	return nil
}

// DecodeShort is Decode of what may have been made up: an element of a list takes a byte,
// and may be a struct of hundreds. Lists of more than 8,192 elements in all, for a record
// of some size a few more, are damage.
func DecodeShort(e store.Entry, v any) error {
	_, err := verified(e)
	if err == nil && Short(e.Value) != nil {
		err = fmt.Errorf("%w: %q has lists of too many elements", store.ErrDamaged, e.Key)
	}
	if err != nil {
		return err
	}
	return Decode(e, v)
}

// Short returns a *store.LimitError for the envelope of a value that DecodeShort would refuse.
func Short(value []byte) error {
	body := value[header:]
	if len(body) <= maxShort { // an element takes a byte
		return nil
	}
	limit := maxShort + len(body)/perShort
	if got := elements(body); got > uint64(limit) {
		return &store.LimitError{Field: "elements of lists", Limit: limit, Got: int(min(got, math.MaxInt32))}
	}
	return nil
}

// elements returns how many elements the lists of a record say to have, with those that
// are in them; too many for one that does not say.
func elements(body []byte) (n uint64) {
	for at := 0; at < len(body); {
		kind, arg := body[at]>>5, uint64(body[at]&31)
		at++
		switch {
		case arg > 27:
			return math.MaxUint64 // without a length: no encoding of ours
		case arg > 23:
			size := 1 << (arg - 24)
			if at+size > len(body) {
				return n // Decode says so
			}
			arg = 0
			for _, b := range body[at : at+size] {
				arg = arg<<8 | uint64(b)
			}
			at += size
		}
		switch kind {
		case 2, 3: // bytes, text
			if arg > uint64(len(body)-at) {
				return n
			}
			at += int(arg)
		case 4:
			n += min(arg, math.MaxUint32)
		}
	}
	return n
}

// Unreadable reports whether an error is, or joins, one of Decode: other records can be read.
func Unreadable(err error) bool {
	return errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrNewer)
}

// verified returns the record of e in CBOR.
func verified(e store.Entry) ([]byte, error) {
	switch {
	case len(e.Value) < header:
		return nil, fmt.Errorf("%w: %q holds %d bytes", store.ErrDamaged, e.Key, len(e.Value))
	case e.Value[0] > Version:
		return nil, fmt.Errorf("%w: %q has format %d", store.ErrNewer, e.Key, e.Value[0])
	case e.Value[0] == 0:
		return nil, fmt.Errorf("%w: %q has format 0", store.ErrDamaged, e.Key)
	}
	body := e.Value[header:]
	if sum(e.Key, body) != binary.BigEndian.Uint32(e.Value[1:header]) {
		return nil, fmt.Errorf("%w: %q does not match its checksum", store.ErrDamaged, e.Key)
	}
	return body, nil
}
