// Package guardtest has the errors and calls of a host that means harm.
package guardtest

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
)

// typed is an error whose methods need a receiver.
type typed struct{ text string }

func (e *typed) Error() string { return e.text }

// hostile is an error whose methods do what they are given to do.
type hostile struct {
	text   func() string
	unwrap func() error
	is, as func() bool
}

func (e *hostile) Error() string {
	if e.text == nil {
		return "hostile"
	}
	return e.text()
}

func (e *hostile) Is(error) bool { return e.is != nil && e.is() }
func (e *hostile) As(any) bool   { return e.as != nil && e.as() }
func (e *hostile) Unwrap() error {
	if e.unwrap == nil {
		return nil
	}
	return e.unwrap()
}

// list wraps itself.
type list struct{ errs []error }

func (e *list) Error() string   { return "list" }
func (e *list) Unwrap() []error { return e.errs }

// slice cannot be compared.
type slice []error

func (e slice) Error() string { return "slice" }

// Errors returns errors by what is wrong with them. It takes a while.
func Errors() map[string]error {
	var null *typed
	self := new(hostile)
	self.unwrap = func() error { return self }
	circle := &list{}
	circle.errs = []error{circle, nil, circle}
	long := error(errors.New("the last of many"))
	for range 1_000_000 {
		inner := long
		long = &hostile{unwrap: func() error { return inner }}
	}
	boom := func() bool { panic("boom") }
	return map[string]error{
		"nil pointer":         null,
		"error panics":        &hostile{text: func() string { panic("boom") }},
		"error panics nil":    &hostile{text: func() string { panic(nil) }},
		"error panics itself": &hostile{text: func() string { panic(self) }},
		"error exits":         &hostile{text: func() string { runtime.Goexit(); return "" }},
		"unwrap panics":       &hostile{unwrap: func() error { panic("boom") }},
		"unwrap exits":        &hostile{unwrap: func() error { runtime.Goexit(); return nil }},
		"is panics":           &hostile{is: boom},
		"is claims all":       &hostile{is: func() bool { return true }},
		"as panics":           &hostile{as: boom},
		"as claims all":       &hostile{as: func() bool { return true }},
		"wraps itself":        self,
		"lists itself":        circle,
		"long chain":          long,
		"not comparable":      slice{errors.New("a")},
		"wrapped":             fmt.Errorf("outer: %w", null),
		"joined":              errors.Join(errors.New("a"), null, self),
		"invalid UTF-8":       errors.New("a\xff\xfe\x00b"),
		"huge":                errors.New(strings.Repeat("x", 8<<20)),
	}
}
