// Package call runs code of the host in place: under a deadline in its context, with a recover, and with its
// answer checked before anybody uses it.
//
// Code that ignores its context holds its caller. Nothing is run in a goroutine that could be left behind.
package call

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/fence"
)

// MaxAnswer is the bound of all text and bytes in an answer; maxError that of an error's text, which is more
// than anybody keeps of one: who does takes out its secrets first, then cuts, so that no half of one is left.
const (
	MaxAnswer = 8 << 20
	maxError  = 256 << 10
	maxDepth  = 32 // of what an answer points to, and of the errors in an error
)

// ErrMalformed is an answer that cannot be used: nothing at all, a typed nil, too much, or no valid UTF-8.
var ErrMalformed = errors.New("malformed answer")

// PanicError is a panic of the host's code, by the text of what it panicked with.
type PanicError struct{ Value string }

func (e *PanicError) Error() string { return "panic: " + e.Value }

// Do returns the answer of f. A panic of f is a *[PanicError]. An answer that cannot be used is an error that
// wraps [ErrMalformed]: nil where T is a pointer or an interface, text that is no valid UTF-8, more than
// [MaxAnswer] bytes. So is an error that is or wraps a typed nil; the text of a long error is cut. A timeout
// of 0 is none; the deadline's own error is context.DeadlineExceeded.
func Do[T any](ctx context.Context, most time.Duration, f func(context.Context) (T, error)) (v T, err error) {
	if most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, most)
		defer cancel()
	}
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{cut(fmt.Sprint(r))}
		}
		if err != nil {
			v = *new(T)
		}
	}()
	if v, err = f(ctx); err != nil {
		if err = cmp.Or(flaw(err, 0), err); cut(err.Error()) != err.Error() {
			err = Reworded(err, cut(err.Error()))
		}
		return v, err
	}
	left := MaxAnswer
	return v, sound(reflect.ValueOf(&v).Elem(), &left, 0)
}

// None reports whether a host has given nothing where it should have given a part: nil, or a typed nil.
func None(part any) bool { return part == nil || isNil(reflect.ValueOf(part)) }

func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan:
		return v.IsNil()
	}
	return false
}

func cut(s string) string { return fence.Clip(strings.ToValidUTF8(s, "\ufffd"), maxError) }

// sound returns an error if v cannot be used. Unexported fields are not looked at.
func sound(v reflect.Value, left *int, depth int) error {
	valid, err, kind := true, error(nil), v.Kind()
	list := kind == reflect.Slice || kind == reflect.Array
	switch {
	case isNil(v) && depth == 0 && (kind == reflect.Pointer || kind == reflect.Interface):
		return fmt.Errorf("%w: a nil %v and no error", ErrMalformed, v.Type())
	case isNil(v):
	case depth > maxDepth:
		return fmt.Errorf("%w: nested more than %d deep", ErrMalformed, maxDepth)
	case kind == reflect.Interface:
		return sound(v.Elem(), left, depth)
	case kind == reflect.Pointer:
		return sound(v.Elem(), left, depth+1)
	case kind == reflect.String:
		*left -= v.Len()
		valid = utf8.ValidString(v.String())
	case list && v.Type().Elem().Kind() <= reflect.Complex128: // numbers
		*left -= v.Len()
		valid = v.Type() != reflect.TypeFor[json.RawMessage]() || utf8.Valid(v.Bytes())
	case list:
		for i := 0; i < v.Len() && err == nil; i++ {
			err = sound(v.Index(i), left, depth+1)
		}
	case kind == reflect.Map:
		for all := v.MapRange(); err == nil && all.Next(); {
			err = cmp.Or(sound(all.Key(), left, depth+1), sound(all.Value(), left, depth+1))
		}
	case kind == reflect.Struct:
		for i := 0; i < v.NumField() && err == nil; i++ {
			if v.Field(i).CanInterface() {
				err = sound(v.Field(i), left, depth+1)
			}
		}
	}
	switch {
	case !valid:
		return fmt.Errorf("%w: no valid UTF-8", ErrMalformed)
	case *left < 0:
		return fmt.Errorf("%w: more than %d bytes", ErrMalformed, MaxAnswer)
	}
	return err
}

// flaw says why an error, or one that it wraps, cannot be asked.
func flaw(err error, depth int) (bad error) {
	switch {
	case isNil(reflect.ValueOf(err)):
		return fmt.Errorf("%w: a nil %T as an error", ErrMalformed, err)
	case depth > maxDepth:
		return fmt.Errorf("%w: an error that wraps more than %d errors", ErrMalformed, maxDepth)
	}
	wrapped := []error{errors.Unwrap(err)}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		wrapped = all.Unwrap()
	}
	for _, e := range wrapped {
		if e != nil && bad == nil {
			bad = flaw(e, depth+1)
		}
	}
	return bad
}

// Clock is the clock that a host has given; nil: time.Now.
func Clock(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	return now
}

// Reworded returns err with another text: one that was cut or cleaned, and may be kept.
func Reworded(err error, text string) error { return &reworded{text, err} }

type reworded struct {
	text string
	err  error
}

func (e *reworded) Error() string { return e.text }
func (e *reworded) Unwrap() error { return e.err }

// Bare is an error of a request without its address, which may have a key in it.
func Bare(err error) error {
	switch at, ok := errors.AsType[*url.Error](err); {
	case ok && at.Op == "parse": // Err quotes parts of it
		return errors.New("the address is no URL")
	case ok:
		return at.Err
	}
	return err
}
