// Package meta watches whether an approach is working: it keeps one small record of each session's outcomes,
// and assesses it.
//
//	sessions := meta.New(group)
//	err := sessions.Record(ctx, "acme/anna", "thread 7", meta.Outcome{Goal: "fix the build", Approach: "patch"})
//	a, err := sessions.Assess(ctx, "acme/anna", "thread 7", meta.Signs{}) // a.Step, a.Evidence
//
// [Assess] is a pure function of a [Session], of the tenant's [Odds] and of what a run tells of itself
// ([Signs]). The rules of thumb are the first Arc's; beside them are the odds as counted so far, and what
// speaks for a fresh context, for a person or for giving up, each with its evidence in words. What was never
// recorded is no data, not health.
//
// [Difference] compares treated cases with those held out, by an interval that may be looked at any time.
package meta

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/next/iar"
	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/store"
)

// A record has maxOutcomes outcomes, whose texts are cut to maxText bytes.
const maxOutcomes, maxText = 64, 256

// Outcome is how a try at a goal ended. Goal and Approach are words; equal ones mean the same.
type Outcome struct {
	Goal, Approach string
	Delivered      bool
	At             time.Time
	Reflections    []iar.Reflection `cbor:"-"` // that the try made; only their resonance is kept
}

// Session is the record of a session. It is a plain value.
type Session struct {
	Total, Delivered int
	Failures         int         // since the last delivery
	Recent           []Outcome   // the last 64, oldest first
	Resonance        iar.Tracker // of the reflections
}

// add adds an outcome, and returns how many tries had failed before, as failed does.
func (s *Session) add(o Outcome) (same, all int) {
	o.Goal, o.Approach = cut(o.Goal), cut(o.Approach)
	same, all = s.failed(o.Goal, o.Approach)
	for _, r := range o.Reflections {
		s.Resonance.Record(o.Goal, r)
	}
	o.Reflections = nil
	s.Total++
	s.Failures++
	if o.Delivered {
		s.Delivered++
		s.Failures = 0
	}
	s.Recent = append(s.Recent[max(0, len(s.Recent)+1-maxOutcomes):], o)
	return same, all
}

// cut is a text of at most maxText bytes.
func cut(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxText)], "") }

// failed counts the tries at a goal that failed since it was last delivered: by an approach, and by all.
func (s *Session) failed(goal, approach string) (same, all int) {
	for _, o := range slices.Backward(s.Recent) {
		switch {
		case o.Goal != goal:
			continue
		case o.Delivered:
			return same, all
		case o.Approach == approach:
			same++
		}
		all++
	}
	return same, all
}

// Sessions are those of a tenant. It may be used concurrently.
type Sessions struct{ group *store.Group }

// New returns the sessions in a group, which is over a tenant's sub-store or a store of its own.
func New(g *store.Group) *Sessions { return &Sessions{g} }

// Record adds an outcome to a session, which is made where it is missing.
func (s *Sessions) Record(ctx context.Context, scope store.Scope, session string, o Outcome) error {
	return s.group.Update(ctx, func(b *store.Batch) error { return s.Stage(ctx, b, scope, session, o) })
}

// Stage is Record for a step's batch, which begins where the group does.
func (s *Sessions) Stage(ctx context.Context, b *store.Batch, scope store.Scope, session string, o Outcome) error {
	key, err := sessionKey(scope, session)
	if err != nil {
		return err
	}
	var same, all int
	if err := change(ctx, b, key, func(s *Session) { same, all = s.add(o) }); err != nil {
		return err
	}
	return change(ctx, b, oddsKey(scope), func(odds *Odds) { odds.count(same, all, o.Delivered) })
}

// Session returns the record of a session, and an empty one for a session without outcomes.
func (s *Sessions) Session(ctx context.Context, scope store.Scope, session string) (Session, error) {
	var record Session
	key, err := sessionKey(scope, session)
	if err == nil {
		_, err = load(ctx, s.group.Store(), key, &record)
	}
	return record, err
}

// Assess assesses a session by what is stored, and by what a run tells of itself.
func (s *Sessions) Assess(ctx context.Context, scope store.Scope, session string, g Signs) (Assessment, error) {
	record, err := s.Session(ctx, scope, session)
	if err != nil {
		return Assessment{}, err
	}
	var odds Odds
	if _, err := load(ctx, s.group.Store(), oddsKey(scope), &odds); err != nil {
		return Assessment{}, err
	}
	return Assess(&record, &odds, g), nil
}

func sessionKey(scope store.Scope, session string) (string, error) {
	if err := errors.Join(scope.Check(), store.CheckID(session)); err != nil {
		return "", fmt.Errorf("meta: %w", err)
	}
	return scope.Key("session", session), nil
}

// oddsKey is that of the tenant's odds, which are counts without words.
func oddsKey(scope store.Scope) string { return store.Scope(scope.Tenant()).Key("odds", "all") }

type reader interface {
	Get(ctx context.Context, key string) (store.Entry, error)
}

// load reads a record into v, and leaves v as it is where there is none.
func load(ctx context.Context, from reader, key string, v any) (store.Revision, error) {
	e, err := from.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	if err == nil {
		err = codec.Unmarshal(e.Value, v)
	}
	if err != nil {
		return 0, fmt.Errorf("meta: %s: %w", key, err)
	}
	return e.Rev, nil
}

// change stages a record as f changes it.
func change[T any](ctx context.Context, b *store.Batch, key string, f func(*T)) error {
	var v T
	at, err := load(ctx, b, key, &v)
	if err != nil {
		return err
	}
	f(&v)
	value, err := codec.Marshal(&v)
	if err != nil {
		return fmt.Errorf("meta: %s: %w", key, err)
	}
	return b.Put(key, value, store.At(at))
}
