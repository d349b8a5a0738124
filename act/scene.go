package act

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// scene is what the context of an attempt carries for the calls in it.
type scene struct {
	journal *Journal // nil: none
	host    host
	call    *Call             // the attempt's, as the Runner got it
	path    string            // of the step under way: what the names of steps in it begin with
	key     string            // of the call under way
	secrets map[string]string // of the call under way, by name
	clean   *redact.Sanitizer // knows those of the run, and of the calls under way
}

type sceneKey struct{}

// of returns the scene of a context, an empty one where there is none.
func of(ctx context.Context) *scene {
	s, _ := ctx.Value(sceneKey{}).(*scene)
	return cmp.Or(s, nowhere)
}

var nowhere = &scene{call: &Call{Worker: &Worker{}}}

// CallOf returns the Call of the attempt that ctx belongs to, an empty one outside; it must not be changed.
func CallOf(ctx context.Context) *Call { return of(ctx).call }

// IdempotencyKey returns 24 hex digits that no other call of a worker, tool or step has than the one that ctx
// belongs to; "" outside of one, and for a Call without a Run. A call that is made again because its end is
// not known keeps its key, in any process; an irreversible one also in another attempt of the run. A call
// that is made again after an error that says that nothing was done gets another. If one call sends two
// things, make each a [Step], or add what tells them apart. A run with the ID of a deleted one has its keys.
func IdempotencyKey(ctx context.Context) string { return of(ctx).key }

// WithJournal returns a context in which attempts and steps are kept in j. What is said in them is cleaned by
// clean (nil: [redact.New] of no options), which knows the secrets that the run has declared.
func WithJournal(ctx context.Context, j *Journal, clean *redact.Sanitizer) context.Context {
	s := *of(ctx)
	s.journal, s.clean, s.path = j, clean, ""
	return context.WithValue(ctx, sceneKey{}, &s)
}

// journaled returns the scene with a Journal: where it has none, with one that is forgotten afterwards.
func (s *scene) journaled() *scene {
	if s.journal == nil {
		own := *s
		s, own.journal = &own, NewJournal(store.NewGroup(store.NewMem()), "", nil, nil, nil)
	}
	return s
}

// Note tells of an event of the attempt that ctx belongs to, cleaned: a line of output, a piece of text.
// Without a Name it has the worker's. Of the Kind "output" each line is an event of its own.
func Note(ctx context.Context, e Event) { of(ctx).note(e) }

func (s *scene) note(e Event) {
	if s.journal == nil {
		return
	}
	e.Kind, e.Name = s.clean.Prose(e.Kind), cmp.Or(s.clean.Prose(e.Name), s.call.Worker.Name)
	e.Text, e.Data = s.clean.Prose(e.Text), s.cleanJSON(e.Data, true)
	if e.Kind != "output" {
		s.journal.note(e)
		return
	}
	for line := range strings.Lines(e.Text) { // cleaned as a whole: a secret may have several
		e.Text = strings.TrimRight(line, "\r\n")
		s.journal.note(e)
	}
}

// Secret returns a secret that the worker or tool under way lists, else "". Its result is cleaned of it.
func Secret(ctx context.Context, name string) string { return of(ctx).secrets[name] }

// cleanJSON cleans data. What was made from sanitised text keeps placeholders of secrets.
func (s *scene) cleanJSON(raw json.RawMessage, sanitised bool) json.RawMessage {
	switch {
	case len(raw) == 0:
		return raw
	case sanitised:
		return s.clean.KeepPlaceholders().Data(raw)
	}
	return s.clean.Data(raw)
}

// open gives the scene these secrets alone. One that is missing is Permanent, unless their store is away.
func (s *scene) open(ctx context.Context, names []string) (err error) {
	s.secrets = map[string]string{}
	for _, name := range names {
		value, bad := call.Do(ctx, 0, func(ctx context.Context) (string, error) {
			if s.host.secrets == nil {
				return "", errors.New("the host has none")
			}
			return s.host.secrets(ctx, name)
		})
		s.secrets[name] = value
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("secret %s: %w", name, bad))
		}
	}
	if err == nil && len(names) > 0 {
		s.clean, err = s.clean.With(s.secrets)
	}
	if class := reason.Classify(err); err != nil && (class == nil || outcomes[class.Class] != rank.Away) {
		err = &reason.Error{Class: reason.Permanent, Err: err}
	}
	return err
}
