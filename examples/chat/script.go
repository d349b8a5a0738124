package main

import (
	"context"
	"iter"
	"strings"

	"github.com/arc-learn/arc/reason"
)

// script stands in for a model. It repeats what it was told to remember, and
// insists on one mistake until it is held back, as models do.
type script struct{}

func (s script) Generate(_ context.Context, req *reason.Request) (*reason.Response, error) {
	return &reason.Response{Text: s.reply(req), Stop: reason.StopEnd}, nil
}

func (s script) Stream(_ context.Context, req *reason.Request) iter.Seq2[*reason.Response, error] {
	return func(yield func(*reason.Response, error) bool) {
		for word := range strings.SplitAfterSeq(s.reply(req), " ") {
			if !yield(&reason.Response{Text: word}, nil) {
				return
			}
		}
		yield(&reason.Response{Stop: reason.StopEnd}, nil)
	}
}

func (script) reply(req *reason.Request) string {
	memories, asked, _ := strings.Cut(req.Messages[len(req.Messages)-1].Text, question)
	if _, right, ok := strings.Cut(memories, "Right is: "); ok {
		right, _, _ = strings.Cut(right, "\n")
		return "I stand corrected: " + right
	}
	if strings.Contains(plain(asked), "capital of australia") {
		return "The capital of Australia is Sydney."
	}
	if _, note, ok := strings.Cut(memories, "what:\n| "); ok && !strings.HasPrefix(note, "Said: ") {
		note, _, _ = strings.Cut(note, "\n")
		return "You told me: " + note
	}
	return "I am a script and know nothing about that."
}
