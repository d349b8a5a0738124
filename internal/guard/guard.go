// Package guard calls host code that may panic, hang, or leave its goroutine.
package guard

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// ErrExited is the error of a callback that ended its goroutine, as
// runtime.Goexit and testing's FailNow do.
var ErrExited = errors.New("callback ended its goroutine")

// PanicError is a panic of a callback, recovered at the edge.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value of the panic if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error) // not an error: nothing to unwrap
	return err
}

type answer[T any] struct {
	v   T
	err error
}

// Do calls fn in a goroutine with a context that ends after limit, and waits
// for it no longer than that. A panic comes back as a *PanicError, a lost
// goroutine as ErrExited, a function that does not return in time as
// context.DeadlineExceeded (or the error of ctx): it is left behind, and what
// it returns later is dropped.
func Do[T any](ctx context.Context, limit time.Duration, fn func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan answer[T], 1)
	go func() {
		a := answer[T]{err: ErrExited}
		defer func() {
			if r := recover(); r != nil {
				a = answer[T]{err: &PanicError{Value: r, Stack: debug.Stack()}}
			}
			done <- a
		}()
		v, err := fn(ctx)
		a = answer[T]{v, err}
	}()
	select {
	case a := <-done:
		return a.v, a.err
	case <-ctx.Done():
		select {
		case a := <-done: // both were ready: the answer counts
			return a.v, a.err
		default:
		}
		var zero T
		return zero, ctx.Err()
	}
}

// Call calls fn in the caller's goroutine and turns a panic into a
// *PanicError. It is for callbacks that take no time, such as hooks.
func Call(fn func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{Value: r, Stack: debug.Stack()}
		}
	}()
	fn()
	return nil
}
