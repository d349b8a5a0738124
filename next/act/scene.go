package act

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/arc-learn/arc/next/internal/call"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/redact"
)

// scene is what the context of an attempt carries for the calls in it.
type scene struct {
	journal *Journal // nil: none
	opts    *Options
	run     string
	attempt int
	about   string // the task's objective
	worker  string
	fired   bool
	clean   *redact.Sanitizer // of the run; nil: Options.Sanitizer
	vault   vault             // of the call that is under way
	singles *sync.Map         // "tool/refund" → chan struct{}, held while an irreversible call is made
}

type sceneKey struct{}

// of returns the scene of a context, an empty one where there is none.
func of(ctx context.Context) *scene {
	if s, ok := ctx.Value(sceneKey{}).(*scene); ok {
		return s
	}
	return &scene{opts: &Options{}, singles: new(sync.Map)}
}

// WithJournal returns a context in which attempts and steps are kept in j. What is said in them is cleaned by clean,
// which knows the secrets that the run has declared, whoever lists them; nil: by Options.Sanitizer.
func WithJournal(ctx context.Context, j *Journal, clean *redact.Sanitizer) context.Context {
	s := *of(ctx)
	s.journal, s.singles, s.clean = j, new(sync.Map), clean
	return context.WithValue(ctx, sceneKey{}, &s)
}

// Note tells of an event of the attempt that ctx belongs to, cleaned: a line of output, a piece of text.
func Note(ctx context.Context, e Event) { of(ctx).note(e) }

func (s *scene) note(e Event) {
	e.Kind, e.Name = s.cleanText(e.Kind), s.cleanText(e.Name)
	e.Text, e.Data = s.cleanText(e.Text), s.cleanJSON(e.Data, true)
	s.tell(e)
}

// tell notes what is clean. An event without a name has the worker's.
func (s *scene) tell(e Event) {
	if s.journal == nil {
		return
	}
	if e.At.IsZero() {
		e.At = s.opts.now()
	}
	e.Name = cmp.Or(e.Name, s.worker)
	s.journal.note(e)
}

// Secret returns the value of a secret that the worker or tool under way lists; "" if it lists none of the name.
// What the call returns is cleaned of it.
func Secret(ctx context.Context, name string) string { return of(ctx).vault.values[name] }

// alone waits until no other irreversible call of the name is under way. Otherwise two equal calls of one answer
// would both find that nothing has been done.
func (s *scene) alone(ctx context.Context, name string) (free func(), err error) {
	held, _ := s.singles.LoadOrStore(name, make(chan struct{}, 1))
	select {
	case held.(chan struct{}) <- struct{}{}:
		return func() { <-held.(chan struct{}) }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// cleanText cleans prose, cleanJSON data, of the secrets of the call under way as well. In what was made from
// sanitised text the placeholders of secrets stay.
func (s *scene) cleanText(text string) string { return s.vault.clean.Prose(text) }

func (s *scene) cleanJSON(raw json.RawMessage, sanitised bool) json.RawMessage {
	switch {
	case len(raw) == 0:
		return raw
	case sanitised:
		return s.vault.clean.KeepPlaceholders().Data(raw)
	}
	return s.vault.clean.Data(raw)
}

// vault has the secrets that a call gets, and the Sanitizer that knows them.
type vault struct {
	values map[string]string
	clean  *redact.Sanitizer
}

// open asks the host for the secrets of a call, whose inputs may hold placeholders of no others.
func (s *scene) open(ctx context.Context, names []string, inputs json.RawMessage) (v vault, err error) {
	for _, name := range redact.Placeholders(string(inputs)) {
		if !slices.Contains(names, name) {
			return v, fmt.Errorf("%w: [secret %s] stands for a secret that is not listed here", errInputs, name)
		}
	}
	v = vault{map[string]string{}, cmp.Or(s.clean, s.opts.Sanitizer)}
	if len(names) == 0 {
		return v, nil
	}
	for _, name := range names {
		value, e := call.Do(ctx, 0, func(ctx context.Context) (string, error) {
			if s.opts.Secrets == nil {
				return "", errors.New("the host has none")
			}
			return s.opts.Secrets(ctx, name)
		})
		if v.values[name] = value; e != nil {
			err = errors.Join(err, fmt.Errorf("secret %s: %w", name, e))
		}
	}
	if err == nil {
		v.clean, err = v.clean.With(v.values)
	}
	if err != nil {
		err = &reason.Error{Class: reason.Permanent, Err: err}
	}
	return v, err
}
