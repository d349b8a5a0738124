package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/redact"
)

// scene is what the context of an attempt carries for the calls in it.
type scene struct {
	journal Journal // nil: none
	opts    *Options
	run     string
	attempt int
	fired   bool
	vault   *vault    // of the call that is under way
	singles *sync.Map // "tool/refund" → chan struct{}, held while an irreversible call is made
}

type sceneKey struct{}

// of returns the scene of a context, an empty one where there is none.
func of(ctx context.Context) *scene {
	if s, ok := ctx.Value(sceneKey{}).(*scene); ok {
		return s
	}
	return &scene{opts: &Options{}, singles: new(sync.Map), vault: new(vault)}
}

// WithJournal returns a context in which attempts and steps are kept in j.
func WithJournal(ctx context.Context, j Journal) context.Context {
	s := *of(ctx)
	s.journal, s.singles = j, new(sync.Map)
	return context.WithValue(ctx, sceneKey{}, &s)
}

// Note tells of an event of the attempt that ctx belongs to, cleaned: a line of output, a piece of text.
func Note(ctx context.Context, e Event) { of(ctx).note(e) }

func (s *scene) note(e Event) {
	e.Text, e.Data = s.cleanText(e.Text), s.cleanJSON(e.Data, true)
	s.tell(e)
}

// tell notes what is clean.
func (s *scene) tell(e Event) {
	if s.journal == nil {
		return
	}
	if e.At.IsZero() {
		e.At = s.opts.now()
	}
	s.journal.Note(e)
}

// Secret returns the value of a secret that the worker or tool under way lists. What the call returns is cleaned of
// it.
func Secret(ctx context.Context, name string) (string, error) {
	v := of(ctx).vault
	if !slices.Contains(v.names, name) {
		return "", &reason.Error{Class: reason.Invalid, Err: fmt.Errorf("secret %s is not listed", name)}
	}
	return v.open(ctx, name)
}

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

// cleanText cleans prose, cleanJSON data, of the secrets that the call under way got as well. In what was made from
// sanitised text the placeholders of secrets stay.
func (s *scene) cleanText(text string) string { return s.vault.sanitizer().Prose(text) }

func (s *scene) cleanJSON(raw json.RawMessage, sanitised bool) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	clean := s.vault.sanitizer()
	if sanitised {
		clean = clean.KeepPlaceholders()
	}
	return clean.Data(raw)
}

// vault has the secrets that one call gets.
type vault struct {
	names []string
	find  func(ctx context.Context, name string) (string, error)

	mu    sync.Mutex
	known map[string]string // those that it got, by name; under mu
	clean *redact.Sanitizer // that knows them; under mu
}

func (v *vault) sanitizer() *redact.Sanitizer {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.clean
}

// open asks the host for a secret.
func (v *vault) open(ctx context.Context, name string) (string, error) {
	value, err := "", errors.New("the host has no secrets")
	if v.find != nil {
		value, err = v.find(ctx, name)
	}
	if err == nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		known := map[string]string{name: value}
		maps.Copy(known, v.known)
		var clean *redact.Sanitizer
		if clean, err = v.clean.With(known); err == nil {
			v.known, v.clean = known, clean
			return value, nil
		}
	}
	return "", &reason.Error{Class: reason.Permanent, Err: fmt.Errorf("secret %s: %w", name, err)}
}

// listed returns an error for inputs that hold the placeholder of a secret that the call does not get.
func (v *vault) listed(inputs json.RawMessage) error {
	for _, name := range redact.Placeholders(string(inputs)) {
		if !slices.Contains(v.names, name) {
			return fmt.Errorf("[secret %s] stands for a secret that is not listed here", name)
		}
	}
	return nil
}

// fill puts secrets in the place of their placeholders.
func (v *vault) fill(ctx context.Context, inputs json.RawMessage) (json.RawMessage, error) {
	values := map[string]string{}
	for _, name := range redact.Placeholders(string(inputs)) {
		value, err := v.open(ctx, name)
		if err != nil {
			return nil, err
		}
		values[name] = value
	}
	if len(values) == 0 {
		return inputs, nil
	}
	return redact.Fill(inputs, values), nil
}

// cleanError is an error with a text that may be kept.
type cleanError struct {
	text string
	err  error
}

func (e *cleanError) Error() string { return e.text }
func (e *cleanError) Unwrap() error { return e.err }
