// Package guard calls host code that may panic, hang, or leave its goroutine.
package guard

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/arc-learn/arc/store"
)

// ErrExited is the error of a callback that ended its goroutine, as
// runtime.Goexit and testing's FailNow do.
var ErrExited = errors.New("callback ended its goroutine")

// ErrTime is the error of a callback that did not return within its limit.
var ErrTime = errors.New("no answer in time")

// PanicError is the error of a callback that panicked.
type PanicError struct {
	Text  string // of the value of the panic
	Err   error  // the value if it was an error, as [Error] makes it
	Stack []byte
}

func (e *PanicError) Error() string { return "panic: " + e.Text }

// Unwrap returns the value of the panic if it was an error.
func (e *PanicError) Unwrap() error { return e.Err }

// Recovered returns the error of a panic with this value. It has to be called by the function
// that recovered, since it records the stack.
func Recovered(value any) *PanicError {
	p := &PanicError{Text: fmt.Sprintf("%T", value), Stack: debug.Stack()}
	switch v := value.(type) {
	case error:
		p.Err = Error(v)
		p.Text = p.Err.Error()
	case string:
		p.Text = Text(v)
	default:
		if text, ok := ask(new(walk), func() string { return Text(fmt.Sprint(v)) }); ok {
			p.Text = text
		}
	}
	return p
}

// answer is a call, and its result once the call has signalled that.
type answer[A, T any] struct {
	limited
	fn  func(context.Context, A) (T, error)
	arg A
	v   T
	err error
	// late: the call returned after its limit, or after its context had ended.
	late bool
}

// speak makes the call, and signals its end.
func (a *answer[A, T]) speak(said chan<- bool) {
	defer func() {
		if r := recover(); r != nil {
			a.err = Recovered(r)
		}
		a.late = a.Err() != nil
		said <- true
	}()
	a.v, a.err = Returned(a.fn(&a.limited, a.arg))
}

// exited reports whether the call may have ended its goroutine.
func (a *answer[A, T]) exited() bool { return a.err == ErrExited }

// Do calls fn in a goroutine, that of the context's [Line] if it is free, with a context that
// ends after limit. It waits for fn until then, or until ctx ends. It returns the error of fn
// as [Error] makes it, a panic as a *PanicError, and ErrExited if fn ended its goroutine. If
// fn does not return within limit, or fails after it, the error is ErrTime; if ctx has ended
// it is that of ctx; the value comes with both if fn returned it within a grace of 100 ms. A
// call that does not return is left behind, and what it returns later is dropped.
//
// A negative limit means none: fn is called in the caller's goroutine, which it may keep for
// ever or end.
func Do[T any](ctx context.Context, limit time.Duration, fn func(context.Context) (T, error)) (T, error) {
	type call = func(context.Context) (T, error)
	return With(ctx, limit, fn, func(ctx context.Context, fn call) (T, error) { return fn(ctx) })
}

// With is Do for a function that captures nothing: it gets arg, and a call takes one
// allocation.
func With[A, T any](
	ctx context.Context, limit time.Duration, arg A, fn func(context.Context, A) (T, error),
) (T, error) {
	if err := store.CheckContext(ctx); err != nil {
		var zero T
		return zero, err
	}
	if limit < 0 {
		return here(ctx, arg, fn)
	}
	a := &answer[A, T]{err: ErrExited, fn: fn, arg: arg}
	a.limited.Context, a.deadline = ctx, time.Now().Add(limit)
	return a.reply(ctx, lineOf(ctx, a, limit).wait(a, &a.limited))
}

// reply is what a call comes to that has returned, or not.
func (a *answer[A, T]) reply(ctx context.Context, returned bool) (v T, err error) {
	if returned && a.err == nil {
		v = a.v // late, it is there for the usage that it reports
	}
	switch {
	case returned && a.err == nil && !a.late:
		return v, nil
	case ctx.Err() != nil:
		return v, ctx.Err()
	case !returned || a.late:
		return v, ErrTime
	}
	return v, a.err
}

// here calls fn in the caller's goroutine.
func here[A, T any](ctx context.Context, arg A, fn func(context.Context, A) (T, error)) (v T, err error) {
	var zero T
	if lost := Call(func() { v, err = Returned(fn(ctx, arg)) }); lost != nil {
		return zero, lost
	}
	switch {
	case err == nil:
		return v, nil
	case ctx.Err() != nil:
		err = ctx.Err()
	}
	return zero, err
}

// Call calls fn in the caller's goroutine and turns a panic into a *PanicError. It sets no
// limit: it is for functions that take no time, such as hooks, or have limits of their own.
func Call(fn func()) (err error) {
	returned := false
	defer func() {
		if r := recover(); !returned {
			err = Recovered(r) // r may be nil, with GODEBUG=panicnil=1
		}
	}()
	fn()
	returned = true
	return nil
}

// IsNil reports whether v is nil or an interface that holds a nil pointer,
// func, map, chan or slice: a part that would panic when called.
func IsNil(v any) bool {
	if v == nil {
		return true
	}
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Chan, reflect.Slice:
		return rv.IsNil()
	default:
		return false
	}
}
