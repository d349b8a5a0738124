package stored

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/codec"
	coding "github.com/arc-learn/arc/internal/vector"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/memory/internal/vectors"
	"github.com/arc-learn/arc/store"
)

// CountsSize is as much as most counters take, in bytes.
const CountsSize = 64

// AppendCounts appends the writes of changes to ops, under the Counts of a Place. Their keys share memory,
// and so do their values, behind buf.
func AppendCounts(ops []store.Op, buf []byte, prefix string, changes ...table.Change) ([]store.Op, error) {
	var keys strings.Builder
	keys.Grow((len(prefix) + ident.Length) * len(changes))
	buf = slices.Grow(buf, CountsSize*len(changes))
	var id [ident.Length]byte
	for _, c := range changes {
		at, start := keys.Len(), len(buf)
		keys.WriteString(prefix)
		keys.Write(c.Entry.AppendName(id[:0]))
		k := keys.String()[at:]
		var err error
		if buf, err = codec.Append(buf, k, c.Counts); err != nil {
			return nil, err
		}
		ops = append(ops, store.Op{Key: k, Value: buf[start:len(buf):len(buf)]})
	}
	return ops, nil
}

// CountsOf returns the counters of an entry, or store.ErrDamaged if they can be of no record.
func CountsOf(e store.Entry) (*tally.Counts, error) {
	c := new(tally.Counts)
	if err := codec.Decode(e, c); err != nil {
		return nil, err
	}
	if !c.Valid() {
		return nil, fmt.Errorf("%w: %q: impossible counts", store.ErrDamaged, e.Key)
	}
	c.Rev = e.Rev
	return c, nil
}

// vector is a vector on disk, beside the record.
type vector struct {
	Numbers []byte `cbor:"1,keyasint"`           // packed; none: the text has no vector
	Model   string `cbor:"2,keyasint,omitempty"` // that has made it
}

// PutVector is the write of a vector that a model has made.
func PutVector(k, model string, x []float32) (store.Op, error) {
	return Put(k, vector{vectors.Pack(x), model})
}

// VectorOf returns the vector of an entry, nil if its text has none, and its model.
func VectorOf(e store.Entry) (model string, x []float32, err error) {
	var s vector
	if err := codec.Decode(e, &s); err != nil {
		return "", nil, err
	}
	if x, err = vectors.Unpack(s.Numbers); err != nil {
		return "", nil, fmt.Errorf("%w: %q: %v", store.ErrDamaged, e.Key, err)
	}
	return s.Model, x, nil
}

// CodedVector is a vector of the store, coded for searches. Dim is 0 if the text has none.
type CodedVector struct {
	Key, Model string
	Dim        int
	Code       coding.Code
	Err        error // it is damaged
}

// CodeVectors returns the vectors of entries.
func CodeVectors(entries []store.Entry) []CodedVector {
	out := make([]CodedVector, len(entries))
	for i, e := range entries {
		model, x, err := VectorOf(e)
		out[i].Key, out[i].Model, out[i].Err = e.Key, model, err
		if x != nil && out[i].Code.Make(x) == nil {
			out[i].Dim = len(x)
		}
	}
	return out
}

// Guess is what a record perhaps replaces.
type Guess struct {
	Old         string         `cbor:"1,keyasint"`
	Probability float64        `cbor:"2,keyasint"`
	Evidence    table.Evidence `cbor:"3,keyasint"`
}

// GuessesOf returns what an entry says that a record perhaps replaces.
func GuessesOf(e store.Entry) (kept []Guess, err error) {
	if err := codec.Decode(e, &kept); err != nil {
		return nil, err
	}
	for _, g := range kept {
		if g.Old == "" || !(g.Probability >= 0 && g.Probability <= 1) {
			return nil, fmt.Errorf("%w: %q: impossible guess", store.ErrDamaged, e.Key)
		}
	}
	return kept, nil
}
