// Package call runs code of the host in place: under a deadline in its context, with a recover, and with its answer
// checked before anybody uses it.
//
// Code that ignores its context holds its caller. Nothing is run in a goroutine that could be left behind.
package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxAnswer is the bound of all text and bytes in an answer; maxError that of an error's text.
const (
	MaxAnswer = 8 << 20
	maxError  = 16 << 10
	maxDepth  = 32 // of what an answer points to, and of the errors in an error
)

// ErrMalformed is an answer that cannot be used: nothing at all, a typed nil, too much, or no valid UTF-8.
var ErrMalformed = errors.New("malformed answer")

// PanicError is a panic of the host's code.
type PanicError struct {
	Value string // the text of what it panicked with
	Stack string
}

func (e *PanicError) Error() string { return "panic: " + e.Value }

// Do returns the answer of f. A panic of f is a *[PanicError]. An answer that cannot be used is an error that wraps
// [ErrMalformed]: nil where T is a pointer or an interface, text that is no valid UTF-8, more than [MaxAnswer]
// bytes. So is an error that is a typed nil, or that panics when it is asked; the text of a long error is cut. A
// timeout of 0 is none; the deadline's own error is context.DeadlineExceeded.
func Do[T any](ctx context.Context, timeout time.Duration, f func(context.Context) (T, error)) (T, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	var none T
	v, err := recovered(func() (T, error) { return f(ctx) })
	if err != nil {
		return none, checked(err)
	}
	left := MaxAnswer
	if _, err := recovered(func() (T, error) { return none, sound(reflect.ValueOf(&v).Elem(), &left, true, 0) }); err != nil {
		return none, err
	}
	return v, nil
}

func recovered[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{Value: cut(fmt.Sprint(r)), Stack: string(debug.Stack())}
		}
	}()
	return f()
}

func cut(s string) string {
	if len(s) > maxError {
		s = s[:maxError] + " (cut)"
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

// sound returns an error if v cannot be used. Unexported fields are not looked at.
func sound(v reflect.Value, left *int, top bool, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: nested more than %d deep", ErrMalformed, maxDepth)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			if top {
				return fmt.Errorf("%w: a nil %v and no error", ErrMalformed, v.Type())
			}
			return nil
		}
		return sound(v.Elem(), left, top && v.Kind() == reflect.Interface, depth+1)
	case reflect.String:
		*left -= v.Len()
		if !utf8.ValidString(v.String()) {
			return fmt.Errorf("%w: no valid UTF-8", ErrMalformed)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			*left -= v.Len()
			if v.Type() == reflect.TypeFor[json.RawMessage]() && !utf8.Valid(v.Bytes()) {
				return fmt.Errorf("%w: no valid UTF-8", ErrMalformed)
			}
			break
		}
		for i := range v.Len() {
			if err := sound(v.Index(i), left, false, depth+1); err != nil {
				return err
			}
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			if err := errors.Join(sound(key, left, false, depth+1), sound(value, left, false, depth+1)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			if err := sound(v.Field(i), left, false, depth+1); err != nil {
				return err
			}
		}
	}
	if *left < 0 {
		return fmt.Errorf("%w: more than %d bytes", ErrMalformed, MaxAnswer)
	}
	return nil
}

// checked returns err if it and all that it wraps can be asked, with a text that can be kept.
func checked(err error) error {
	s, bad := recovered(func() (string, error) {
		if bad := askable(err, 0); bad != nil {
			return "", bad
		}
		return err.Error(), nil
	})
	switch {
	case bad != nil:
		return fmt.Errorf("%w: an error of type %T that cannot be read: %w", ErrMalformed, err, bad)
	case cut(s) != s:
		return &kept{cut(s), err}
	}
	return err
}

func askable(err error, depth int) error {
	v := reflect.ValueOf(err)
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan:
		if v.IsNil() {
			return fmt.Errorf("a nil %T", err)
		}
	}
	if depth > maxDepth {
		return fmt.Errorf("it wraps more than %d errors", maxDepth)
	}
	var wrapped []error
	switch w := err.(type) {
	case interface{ Unwrap() error }:
		wrapped = []error{w.Unwrap()}
	case interface{ Unwrap() []error }:
		wrapped = w.Unwrap()
	}
	for _, e := range wrapped {
		if e == nil {
			continue
		}
		if bad := askable(e, depth+1); bad != nil {
			return bad
		}
	}
	return nil
}

// kept is an error whose text was cut.
type kept struct {
	text string
	err  error
}

func (e *kept) Error() string { return e.text }
func (e *kept) Unwrap() error { return e.err }
