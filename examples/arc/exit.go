package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/store"
)

// The exit codes; README.md has them as a table.
const (
	exitDone        = 0
	exitError       = 1
	exitUsage       = 2
	exitBlocked     = 3
	exitWaiting     = 4
	exitBusy        = 5
	exitInterrupted = 130
)

// exit is an error with a code of its own. One without words was told already.
type exit struct {
	code int
	text string
}

func (e *exit) Error() string { return e.text }

// misuse is the error of a command that was called the wrong way.
func misuse(format string, args ...any) error {
	return &exit{exitUsage, fmt.Sprintf(format, args...)}
}

// code is the exit code of an error, and what there is to say about it.
func code(err error) (int, string) {
	if e, ok := errors.AsType[*exit](err); ok {
		return e.code, e.text
	}
	switch {
	case err == nil:
		return exitDone, ""
	case errors.Is(err, store.ErrLocked):
		return exitBusy, "another arc is at work in this folder: wait until it has ended, or stop it (arc serve holds the folder, too)"
	case errors.Is(err, context.Canceled):
		return exitInterrupted, "interrupted"
	case errors.Is(err, store.ErrNotFound):
		return exitError, "there is none of that id: " + err.Error()
	case errors.Is(err, arc.ErrRunning):
		return exitBusy, err.Error()
	}
	return exitError, err.Error()
}
