package guard

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of what is taken over from a foreign error.
const (
	maxText    = 16 << 10    // bytes of its text
	maxChain   = 256         // errors in its chain that are looked at
	errorLimit = time.Second // how long its methods are waited for, together
)

// Error returns err as one that does no harm whenever it is looked at: its text
// is bounded and valid UTF-8, and its chain holds what is known and nothing of
// the host's. Methods of an error of the host's own type are called here, once,
// and never later; they may panic, hang, cycle, or end their goroutine, and a
// nil pointer of such a type is an error like others. errors.Is and errors.As
// find in it
//
//   - errors of the standard library and of arc, wherever Unwrap leads to them;
//   - the context's errors and those of sentinels that its Is claims to be;
//   - what its methods Retryable and, of a net.Error, Timeout have said;
//   - the host's own errors by identity, and by their own type.
//
// An error that is wholly known comes back as it is.
func Error(err error, sentinels ...error) error {
	if err == nil {
		return nil
	}
	if v := reflect.ValueOf(err); v.Kind() == reflect.Pointer && !v.IsNil() && v.Type().Elem().PkgPath() == storage {
		return err // holds nothing of a host's, and is what most look-ups give
	}
	w := walk{left: maxChain, sentinels: sentinels}
	return w.whole(err)
}

// Returned is what a part of the host has returned, with an error that does no
// harm: see [Error].
func Returned[T any](v T, err error) (T, error) { return v, Error(err) }

// Text returns s bounded and as valid UTF-8.
func Text(s string) string {
	if len(s) > maxText {
		s = s[:maxText-4] + " …"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// safeError stands for an error of the host's own type, or one that wraps such.
type safeError struct {
	text   string
	theirs error   // for comparisons only: no method of it is called
	found  []error // what is known in its chain
}

func (e *safeError) Error() string   { return e.text }
func (e *safeError) Unwrap() []error { return e.found }

// Is compares target with the host's error.
func (e *safeError) Is(target error) bool { return identical(e.theirs, target) }

// As gives the host's error to a caller that knows its type.
func (e *safeError) As(target any) bool {
	to := reflect.ValueOf(target).Elem()
	if to.Kind() == reflect.Interface || reflect.TypeOf(e.theirs) != to.Type() {
		return false
	}
	to.Set(reflect.ValueOf(e.theirs))
	return true
}

// retry is what an error has said about another try.
type retry struct {
	again bool
	after time.Duration
}

func (r *retry) Error() string                    { return fmt.Sprintf("again: %t, after %v", r.again, r.after) }
func (r *retry) Retryable() (bool, time.Duration) { return r.again, r.after }

// netError is what a net.Error has said.
type netError struct{ timeout, temporary bool }

func (e *netError) Error() string   { return fmt.Sprintf("timeout: %t", e.timeout) }
func (e *netError) Timeout() bool   { return e.timeout }
func (e *netError) Temporary() bool { return e.temporary }

// walk looks through the chain of an error.
type walk struct {
	left      int     // how many errors are still looked at
	hung      bool    // a method of the host's did: no other is called
	sentinels []error // what an Is of the host's is asked about, with the context's
}

// whole returns a harmless form of err with a text of its own.
func (w *walk) whole(err error) error {
	out := w.safe(err)
	if _, was := err.(*safeError); was {
		return err
	}
	if s, ok := out.(*safeError); ok {
		if text, ok := ask(w, err.Error); ok {
			s.text = Text(text)
		}
		return s
	}
	text := fmt.Sprintf("%T without a text", err)
	if !try(func() { text = out.Error() }) || len(text) > maxText || !utf8.ValidString(text) {
		return &safeError{text: Text(text), theirs: err, found: []error{out}}
	}
	return out
}

// safe returns a harmless form of err, or err itself.
func (w *walk) safe(err error) error {
	w.left--
	v := reflect.ValueOf(err)
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return &safeError{text: fmt.Sprintf("a nil %T", err), theirs: err}
	case known(v.Type()):
		return w.known(err, v)
	}
	s := &safeError{text: fmt.Sprintf("%T without a text", err), theirs: err}
	if x, ok := err.(interface{ Retryable() (bool, time.Duration) }); ok {
		if r, ok := ask(w, func() *retry { again, after := x.Retryable(); return &retry{again, after} }); ok {
			s.found = append(s.found, r)
		}
	}
	if x, ok := err.(interface {
		Timeout() bool
		Temporary() bool
	}); ok {
		if n, ok := ask(w, func() *netError { return &netError{x.Timeout(), x.Temporary()} }); ok {
			s.found = append(s.found, n)
		}
	}
	if x, ok := err.(interface{ Is(error) bool }); ok {
		for _, sentinel := range slices.Concat(w.sentinels, contexts) {
			if is, _ := ask(w, func() bool { return x.Is(sentinel) }); is {
				s.found = append(s.found, sentinel)
			}
		}
	}
	inner, _ := ask(w, func() []error { return slices.Clone(unwrap(err)) })
	s.found, _ = w.all(s.found, inner) // s takes the place of err, changed or not
	return s
}

// known returns a harmless form of an error whose type is known, but which may
// hold others that are not.
func (w *walk) known(err error, v reflect.Value) error {
	switch err.(type) {
	case *safeError, *PanicError:
		return err
	}
	if v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct {
		if c, ok := w.fields(v); ok {
			return c
		}
	}
	inner, changed := w.all(nil, unwrap(err))
	if !changed {
		return err
	}
	return &safeError{text: fmt.Sprintf("%T", err), theirs: err, found: inner}
}

// fields returns the error that v points to with its exported fields harmless:
// the error itself if they are. It reports false of one with no such field that
// is an error.
func (w *walk) fields(v reflect.Value) (out error, ok bool) {
	c := reflect.Value{}
	for i := range v.Elem().NumField() {
		f := v.Elem().Field(i)
		if !v.Elem().Type().Field(i).IsExported() || f.Type() != errorType {
			continue
		}
		ok = true
		if f.IsNil() {
			continue
		}
		inner, is := f.Interface().(error), errLong
		if w.left > 0 {
			is = w.whole(inner)
		}
		if !identical(is, inner) {
			if !c.IsValid() {
				c = reflect.New(v.Type().Elem())
				c.Elem().Set(v.Elem())
			}
			c.Elem().Field(i).Set(reflect.ValueOf(is))
		}
	}
	if c.IsValid() {
		v = c
	}
	return v.Interface().(error), ok
}

// all appends harmless forms of errs to list, and reports whether one of them
// is not the error itself.
func (w *walk) all(list, errs []error) (out []error, changed bool) {
	for _, err := range errs {
		switch {
		case w.left <= 0:
			return list, true
		case err == nil:
			continue
		}
		is := w.safe(err)
		changed = changed || !identical(is, err)
		list = append(list, is)
	}
	return list, changed
}

// unwrap returns what err wraps.
func unwrap(err error) []error {
	switch x := err.(type) {
	case interface{ Unwrap() error }:
		return []error{x.Unwrap()}
	case interface{ Unwrap() []error }:
		return x.Unwrap()
	}
	return nil
}

// contexts are the errors of a context.
var contexts = []error{context.Canceled, context.DeadlineExceeded}

// errLong takes the place of what is too far down a chain.
var errLong = fmt.Errorf("a chain of more than %d errors", maxChain)

var errorType = reflect.TypeFor[error]()

// module is the path of arc's own packages.
var module = strings.TrimSuffix(reflect.TypeFor[walk]().PkgPath(), "internal/guard")

// storage is the package whose errors name a key or a limit.
var storage = module + "store"

// standard are the packages of the standard library whose errors are known to
// do no harm. A module cannot take their paths.
var standard = map[string]bool{
	"errors": true, "fmt": true, "context": true, "io": true, "io/fs": true, "os": true, "os/exec": true, "syscall": true,
	"internal/poll": true, "net": true, "net/url": true, "net/http": true, "net/textproto": true, "runtime": true,
	"encoding/json": true, "strconv": true, "bufio": true, "time": true, "crypto/tls": true, "crypto/x509": true,
}

// known reports whether methods of errors of a type are known to do no harm.
func known(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	p := t.PkgPath()
	if standard[p] {
		return true
	}
	p, ours := strings.CutPrefix(p, module)
	return ours && !strings.HasSuffix(p, "test") && !strings.HasPrefix(p, "examples/") && !strings.HasPrefix(p, "contrib/")
}

// Own reports whether v is of a type of arc's that calls no function of the
// host's.
func Own(v any) bool {
	t := reflect.TypeOf(v)
	return t.Kind() != reflect.Func && known(t)
}

// identical compares two errors without calling anything of theirs.
func identical(a, b error) bool {
	same := false
	try(func() { same = a == b }) // a type that cannot be compared panics
	return same
}

// try calls fn and reports whether it has returned.
func try(fn func()) (ok bool) {
	defer func() { _ = recover() }() // ok stays false
	fn()
	return true
}

// ask returns what a method of the host's says, and whether it says anything in
// time. It is called in a goroutine, which it may end.
func ask[T any](w *walk, method func() T) (answer T, ok bool) {
	if w.hung {
		return answer, false
	}
	said := make(chan T, 1)
	go func() {
		defer close(said)
		try(func() { said <- method() })
	}()
	timer := time.NewTimer(errorLimit)
	defer timer.Stop()
	select {
	case answer, ok = <-said:
		return answer, ok
	case <-timer.C:
		w.hung = true
		return answer, false
	}
}
