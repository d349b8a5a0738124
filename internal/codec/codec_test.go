package codec_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/codec/codectest"
	"github.com/arc-learn/arc/store"
)

type record struct {
	Name  string
	Count int64
	Score float64
	Tags  []string
	At    time.Time
	Sub   map[string]float64
}

func draw(t *rapid.T) record {
	return record{
		Name:  rapid.String().Draw(t, "name"),
		Count: rapid.Int64().Draw(t, "count"),
		Score: rapid.Float64().Draw(t, "score"),
		Tags:  rapid.SliceOfN(rapid.String(), 1, 4).Draw(t, "tags"),
		At:    time.Unix(0, rapid.Int64Range(0, 1<<62).Draw(t, "at")).UTC(),
		Sub:   map[string]float64{"a": rapid.Float64().Draw(t, "a")},
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := draw(t)
		one, err := codec.Encode("k", in)
		require.NoError(t, err)
		two, err := codec.Append([]byte("before"), "k", in)
		require.NoError(t, err)
		require.Equal(t, append([]byte("before"), one...), two)
		var out record
		require.NoError(t, codec.Decode(store.Entry{Key: "k", Value: one}, &out))
		require.Equal(t, in, out)
	})
}

func TestDamageIsNoticed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value, err := codec.Encode("k", draw(t))
		require.NoError(t, err)
		var out record
		require.ErrorIs(t, codec.Decode(store.Entry{Key: "other", Value: value}, &out), store.ErrDamaged)
		cut := rapid.IntRange(0, len(value)-1).Draw(t, "cut")
		require.ErrorIs(t, codec.Decode(store.Entry{Key: "k", Value: value[:cut]}, &out), store.ErrDamaged)
		bad := bytes.Clone(value)
		bad[rapid.IntRange(1, len(bad)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		err = codec.Decode(store.Entry{Key: "k", Value: bad}, &out)
		require.ErrorIs(t, err, store.ErrDamaged)
		require.ErrorContains(t, err, `"k"`)
		newer := bytes.Clone(value)
		newer[0] = codec.Version + 1
		require.ErrorIs(t, codec.Decode(store.Entry{Key: "k", Value: newer}, &out), store.ErrNewer)
	})
}

func FuzzDecode(f *testing.F) {
	value, err := codec.Encode("k", record{Name: "x", Tags: []string{"y"}})
	require.NoError(f, err)
	f.Add(value)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, value []byte) {
		var out record
		if err := codec.Decode(store.Entry{Key: "k", Value: value}, &out); err != nil {
			return
		}
		again, err := codec.Encode("k", out)
		require.NoError(t, err)
		var back record
		require.NoError(t, codec.Decode(store.Entry{Key: "k", Value: again}, &back))
	})
}

// written is a record with a field of each kind that a record can write.
type written struct {
	_ int // in memory alone

	Yes     bool               `cbor:"1,keyasint,omitempty"`
	Int     int                `cbor:"2,keyasint,omitempty"`
	Uint    uint64             `cbor:"3,keyasint,omitempty"`
	Float   float64            `cbor:"4,keyasint,omitempty"`
	Maybe   *float64           `cbor:"5,keyasint,omitempty"`
	Text    string             `cbor:"6,keyasint,omitempty"`
	Bytes   []byte             `cbor:"7,keyasint,omitempty"`
	Floats  map[string]float64 `cbor:"8,keyasint,omitempty"`
	Texts   []string           `cbor:"9,keyasint,omitempty"`
	Struct  inner              `cbor:"10,keyasint,omitempty"`
	Pointer *inner             `cbor:"11,keyasint,omitempty"`
	Numbers []float64          `cbor:"13,keyasint,omitempty"`
	Byte    uint8              `cbor:"14,keyasint,omitempty"`
	Small   int32              `cbor:"15,keyasint,omitempty"`
	Natural uint32             `cbor:"16,keyasint,omitempty"`
	Named   []name             `cbor:"17,keyasint,omitempty"`
	Took    time.Duration      `cbor:"18,keyasint,omitempty"`
	List    []inner            `cbor:"23,keyasint,omitempty"`

	// More than 23 fields, and numbers of two and three bytes.
	W24   bool              `cbor:"24,keyasint,omitempty"`
	W25   bool              `cbor:"25,keyasint,omitempty"`
	W26   inner             `cbor:"26,keyasint,omitempty"`
	W27   bool              `cbor:"27,keyasint,omitempty"`
	W28   bool              `cbor:"28,keyasint,omitempty"`
	W29   bool              `cbor:"29,keyasint,omitempty"`
	Pairs map[string]string `cbor:"30,keyasint,omitempty"`
	W30   bool              `cbor:"255,keyasint,omitempty"`
	W31   bool              `cbor:"256,keyasint,omitempty"`
	W32   []float64         `cbor:"65535,keyasint,omitempty"`
}

type name string

type inner struct {
	Text  string  `cbor:"1,keyasint,omitempty"`
	Inner deepest `cbor:"2,keyasint,omitempty"`
}

type deepest struct {
	Int int64 `cbor:"1,keyasint,omitempty"`
}

// tree holds itself, and so has no plan: the library writes it.
type tree struct {
	Name string `cbor:"1,keyasint,omitempty"`
	Kids []tree `cbor:"2,keyasint,omitempty"`
}

func TestTypeWithoutPlanIsWrittenByTheLibrary(t *testing.T) {
	t.Parallel()
	want := tree{Name: "a", Kids: []tree{{Name: "b"}}}
	got, err := codec.Encode("k", &want)
	require.NoError(t, err)
	var back tree
	require.NoError(t, codec.Decode(store.Entry{Key: "k", Value: got}, &back))
	require.Equal(t, want, back)
	_, err = codec.Encode("k", &record{})
	require.NoError(t, err)
	_, err = codec.Encode("k", (*written)(nil))
	require.NoError(t, err)
}

func TestPlan(t *testing.T) {
	t.Parallel()
	codectest.Check[written](t)
}

func TestPlanEdges(t *testing.T) {
	t.Parallel()
	same := func(w *written) {
		t.Helper()
		got, err := codec.Encode("k", w)
		require.NoError(t, err)
		want, err := codec.Encode("k", [1]any{w})
		require.NoError(t, err)
		require.Equal(t, want[6:], got[5:])
	}
	half := 0.5
	same(&written{
		Yes: true, Int: 1, Uint: 1, Float: 1, Maybe: &half, Text: "a", Bytes: []byte("a"), Floats: map[string]float64{"a": 1}, Pairs: map[string]string{"a": "b"},
		Texts: []string{"a"}, Struct: inner{Text: "a"}, Pointer: &inner{}, Numbers: []float64{1}, Byte: 1, Small: 1, Natural: 1,
		Named: []name{"a"}, Took: 1, List: []inner{{}}, W24: true, W25: true, W26: inner{Text: "a"}, W27: true, W28: true,
		W29: true, W30: true,
	})
	for shift := range 64 {
		for _, d := range []uint64{0, 1, 2} {
			n := 1<<shift - d
			same(&written{Uint: n, Int: int(n)})
		}
	}
	for exponent := -160; exponent < 140; exponent++ {
		for _, fraction := range []float64{1, 1 + 0x1p-10, 1 + 0x1p-11, 1 + 0x1p-13, 1 + 0x1p-23, 1 + 0x1p-24, 2 - 0x1p-10, 2 - 0x1p-23} {
			same(&written{Float: math.Ldexp(fraction, exponent), Maybe: new(-math.Ldexp(fraction, exponent))})
		}
	}
	for _, f := range []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64} {
		same(&written{Float: f, Maybe: &f, Floats: map[string]float64{"": f}})
	}
	for _, n := range []int{23, 24, 255, 256, 65535, 65536} {
		same(&written{Text: strings.Repeat("x", n), Bytes: make([]byte, n), Texts: make([]string, n)})
	}
}

func TestAllocations(t *testing.T) {
	w := &written{Text: "text", Floats: map[string]float64{"b": 1, "a": 2, "aa": 3}, Pairs: map[string]string{"b": "", "aa": "x"}, List: make([]inner, 2)}
	buf := make([]byte, 0, 1<<10)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := codec.Append(buf, "k", w); err != nil {
			t.Error(err)
		}
	}))
}

// omitting has structs that are not zero, and of which nothing is written.
type omitting struct {
	Zero  inner      `cbor:"1,keyasint,omitzero"`
	Texts listed     `cbor:"2,keyasint,omitzero"`
	Outer structured `cbor:"3,keyasint,omitempty"`
}

type structured struct {
	Texts listed `cbor:"1,keyasint,omitzero"`
}

type listed struct {
	Texts []string `cbor:"1,keyasint,omitempty"`
}

// nulls has elements that are nil.
type nulls struct {
	Pointers []*inner             `cbor:"1,keyasint,omitempty"`
	Bytes    [][]byte             `cbor:"2,keyasint,omitempty"`
	Maps     []map[string]float64 `cbor:"3,keyasint,omitempty"`
	Lists    *[]string            `cbor:"4,keyasint,omitempty"`
	Pointer  **inner              `cbor:"5,keyasint,omitempty"`
}

// What a plan would not write as the library does, the library writes.
func TestPlanLeavesOddTypesToTheLibrary(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		&omitting{}, &omitting{Texts: listed{Texts: []string{}}}, &omitting{Outer: structured{listed{[]string{}}}},
		&nulls{Pointers: []*inner{nil}}, &nulls{Bytes: [][]byte{nil}}, &nulls{Maps: []map[string]float64{nil}},
		&nulls{Lists: new([]string)}, &nulls{Pointer: new(*inner)},
	} {
		got, err := codec.Encode("k", v)
		require.NoError(t, err)
		want, err := codec.Encode("k", [1]any{v})
		require.NoError(t, err)
		require.Equal(t, want[6:], got[5:], "%+v", v)
	}
}
