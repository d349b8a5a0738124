package detach_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/detach"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// filled sets all that can be reached from a value: lists have one element.
func filled(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		filled(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		filled(value)
		v.SetMapIndex(reflect.Zero(v.Type().Key()), value)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				filled(f)
			}
		}
	}
}

// shared returns the paths at which two values of one shape refer to the same memory.
func shared(path string, a, b reflect.Value) (at []string) {
	same := false
	switch a.Kind() {
	case reflect.Pointer:
		if !a.IsNil() {
			same, at = a.Pointer() == b.Pointer(), shared(path, a.Elem(), b.Elem())
		}
	case reflect.Slice:
		for i := range a.Len() {
			same = a.Pointer() == b.Pointer()
			at = append(at, shared(path, a.Index(i), b.Index(i))...)
		}
	case reflect.Map:
		same = !a.IsNil() && a.Pointer() == b.Pointer()
	case reflect.Struct:
		for i := range a.NumField() {
			if f := a.Type().Field(i); f.IsExported() {
				at = append(at, shared(path+"."+f.Name, a.Field(i), b.Field(i))...)
			}
		}
	}
	if same {
		at = append(at, path)
	}
	return at
}

// apart fills a value, copies it, and has the copy detached.
func apart[T any](t *testing.T, copied func(*T) T) {
	t.Helper()
	var was T
	filled(reflect.ValueOf(&was).Elem())
	is := copied(&was)
	require.Equal(t, was, is)
	require.Empty(t, shared("", reflect.ValueOf(was), reflect.ValueOf(is)))
}

// Nothing that is detached shares memory with what it was made of, fields of tomorrow
// included.
func TestNothingIsShared(t *testing.T) {
	t.Parallel()
	apart(t, func(d *reason.Decision) reason.Decision {
		is := *d
		detach.Decision(&is)
		return is
	})
	apart(t, func(ks *[]reason.Task) []reason.Task { return detach.Tasks(*ks) })
	apart(t, func(ds *[]act.Delivery) []act.Delivery { return detach.Deliveries(*ds) })
	apart(t, func(hs *[]memory.Hit) []memory.Hit { return detach.Hits(*hs) })
}
