// Package codectest checks how records are written.
package codectest

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/store"
)

// Check checks that a T is written as the library writes it, and that it reads
// back as it was. Values are drawn for every field.
func Check[T any](t *testing.T) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		v := new(T)
		Draw(t, reflect.ValueOf(v).Elem())
		got, err := codec.Encode("k", v)
		require.NoError(t, err)
		require.Equal(t, reflected(t, v), got[envelope:])
		var back T
		require.NoError(t, codec.Decode(store.Entry{Key: "k", Value: got}, &back))
		again, err := codec.Encode("k", &back)
		require.NoError(t, err)
		require.Equal(t, got, again)
	})
}

// envelope is how long an envelope is without the record.
const envelope = 5

// reflected returns the CBOR of v as the library writes it: it writes lists.
func reflected(t *rapid.T, v any) []byte {
	list, err := codec.Encode("k", [1]any{v})
	require.NoError(t, err)
	return list[envelope+1:]
}

// Draw draws all the exported fields of v, and what they hold.
func Draw(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if rapid.IntRange(0, 3).Draw(t, "empty struct") == 0 {
			return // field by field it would hardly ever be
		}
		for f, field := range v.Fields() {
			if f.IsExported() {
				Draw(t, field)
			}
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "pointer") {
			v.Set(reflect.New(v.Type().Elem()))
			Draw(t, v.Elem())
		}
	case reflect.Slice:
		n := rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 30)).Draw(t, "length")
		if v.Type().Elem().Kind() == reflect.Struct {
			n = min(n, 3)
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			Draw(t, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rapid.IntRange(0, 20).Draw(t, "size") {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			Draw(t, key)
			Draw(t, value)
			v.SetMapIndex(key, value)
		}
	default:
		drawScalar(t, v)
	}
}

func drawScalar(t *rapid.T, v reflect.Value) {
	empty := rapid.IntRange(0, 3).Draw(t, "empty") == 0
	switch {
	case empty:
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(rapid.Int64().Draw(t, "int") >> (64 - v.Type().Bits()))
	case v.CanUint():
		v.SetUint(rapid.Uint64().Draw(t, "uint") >> (64 - v.Type().Bits()))
	case v.CanFloat():
		v.SetFloat(rapid.OneOf(
			rapid.Float64(),
			rapid.Map(rapid.Float32(), func(f float32) float64 { return float64(f) }),
			rapid.Map(rapid.IntRange(-70000, 70000), func(i int) float64 { return float64(i) / 8 }),
			rapid.Float64Range(0, 1),
		).Draw(t, "float"))
	case v.Kind() == reflect.String:
		v.SetString(rapid.OneOf(rapid.String(), rapid.StringN(0, -1, 300)).Draw(t, "text"))
	default:
		t.Fatalf("draws no %v", v.Type())
	}
}
