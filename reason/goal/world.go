package goal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

const (
	defaultAge     = 10 * time.Minute
	collectTimeout = 10 * time.Second
	maxDomains     = 1 << 10
	maxData        = 1 << 20 // bytes of JSON in a domain
	maxKeys        = 16
)

// World is what is known of the world, by domain: what was read last, and what workers have reported since.
// It is kept in memory: a process that begins knows nothing until it has read. It may be used concurrently.
//
// A domain holds at most 1 MiB of JSON. Its numbers are float64: write identifiers above 2^53 as strings.
type World struct {
	scope memory.Scope
	now   func() time.Time

	mu      sync.Mutex
	domains map[string]*domain
}

// domain is what is known of a part of the world. Its data is plain JSON that is never changed in place.
type domain struct {
	data      any
	at        time.Time // when it was read; zero: never
	maxAge    time.Duration
	collector *collector
	next      time.Time // when the collector is due
	running   bool      // it has not come back
	failed    string    // why its last call has; "": it has not
}

// collector reads a domain now and then.
type collector struct {
	read          func(ctx context.Context) (any, error)
	every, maxAge time.Duration
}

// NewWorld returns a World for the runs of a scope; nil is time.Now.
func NewWorld(scope memory.Scope, now func() time.Time) *World {
	return &World{scope: scope, now: call.Clock(now), domains: map[string]*domain{}}
}

// Set replaces what is known of a domain by a reading that was made just now. data is any value that encodes
// as JSON; it holds for maxAge, 0: ten minutes. After an error the domain is as it was.
func (w *World) Set(name string, data any, maxAge time.Duration) error {
	plain, err := plainly(data)
	if err == nil && maxAge < 0 {
		err = errors.New("no reading holds for a negative time")
	}
	if err != nil {
		return fmt.Errorf("goal: domain %q: %w", name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	d, err := w.domain(name)
	if err == nil {
		d.data, d.at, d.maxAge = plain, w.now(), cmp.Or(maxAge, defaultAge)
	}
	return err
}

// domain returns a domain, and makes it if there is none. The caller has the lock.
func (w *World) domain(name string) (*domain, error) {
	if w.domains[name] == nil {
		if store.CheckID(name) != nil || strings.Contains(name, ".") || len(w.domains) >= maxDomains {
			const why = "goal: a domain has a name without a dot, and there are at most %d: %.64q"
			return nil, fmt.Errorf(why, maxDomains, name)
		}
		w.domains[name] = new(domain)
	}
	return w.domains[name], nil
}

// Collect has read called for a domain whenever [World.Poll] finds it due: at once for the first time, then
// every so often, 0: a minute. A reading holds for maxAge, 0: three times as long. A collector that the
// domain has is replaced. read returns a value that encodes as JSON, is never called twice at a time, and
// should return when ctx ends, which is after 10 seconds.
func (w *World) Collect(
	name string, read func(ctx context.Context) (any, error), every, maxAge time.Duration,
) error {
	if read == nil || every < 0 || maxAge < 0 {
		return fmt.Errorf("goal: domain %q: a collector is a function, and has no negative times", name)
	}
	every = cmp.Or(every, time.Minute)
	w.mu.Lock()
	defer w.mu.Unlock()
	d, err := w.domain(name)
	if err == nil {
		d.collector, d.next = &collector{read, every, cmp.Or(maxAge, 3*every)}, time.Time{}
	}
	return err
}

// Poll calls the collectors that are due, all at once, and returns when each has answered or its 10 seconds
// are over. One that fails, hangs or panics, or whose answer is no JSON or too much, leaves its domain as it
// was, with its age, and is called again when it is due. One that does not come back keeps its goroutine, and
// is not called again before it does. The error joins those of the collectors.
func (w *World) Poll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, collectTimeout)
	defer cancel()
	at, called := w.now(), 0
	w.mu.Lock()
	ended := make(chan error, len(w.domains))
	for name, d := range w.domains {
		c, was := d.collector, d.at
		if c == nil || d.running || at.Before(d.next) && d.next.Sub(at) <= c.every {
			continue
		}
		d.running, d.next = true, at.Add(c.every)
		called++
		go func() { ended <- w.collect(ctx, name, d, c, at, was) }()
	}
	w.mu.Unlock()
	var errs []error
	for range called {
		select {
		case err := <-ended:
			errs = append(errs, err)
		case <-ctx.Done():
			errs = append(errs, fmt.Errorf("goal: a collector has not come back: %w", ctx.Err()))
			return errors.Join(errs...)
		}
	}
	return errors.Join(errs...)
}

// collect calls a collector that is due, of a domain that was read at was. An answer that comes late is none.
func (w *World) collect(ctx context.Context, name string, d *domain, c *collector, at, was time.Time) error {
	data, err := call.Do(ctx, 0, c.read)
	if err = cmp.Or(err, ctx.Err()); err == nil {
		data, err = plainly(data)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	d.running, d.failed = false, ""
	if err != nil {
		d.failed = ": " + clip(err.Error())
		return fmt.Errorf("goal: domain %q: %w", name, err)
	}
	if d.collector == c && d.at.Equal(was) { // nobody has read it since
		d.data, d.at, d.maxAge = data, at, c.maxAge
	}
	return nil
}

// OnEvent is for arc.Options: it applies the deltas of tasks that passed in the World's scope, also of runs
// that are no dispatches, until the domains are read anew. "set" puts a value in its place, "inc" adds to a
// number that is known, "push" appends to a list. One that does not fit what was read changes nothing; the
// domain stays as old as its reading. What runs in other processes report, the next reading has.
func (w *World) OnEvent(scope memory.Scope, _ string, e arc.Event) {
	var deltas []reason.Delta
	if scope != w.scope || e.Kind != "passed" || json.Unmarshal(e.Data, &deltas) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, delta := range deltas {
		w.change(delta)
	}
}

// change applies a delta. The caller has the lock.
func (w *World) change(delta reason.Delta) {
	p, err := parsePlace(delta.Path)
	d := w.domains[p.domain]
	if err != nil || d == nil || d.at.IsZero() {
		return
	}
	by, err := plainly(delta.Value)
	data, fits := with(d.data, p.keys, delta.Op, by)
	if err != nil || !fits {
		return
	}
	if data, err = plainly(data); err == nil { // else it is too much
		d.data = data
	}
}

// value returns what is known of a place, and when it was read. The error says why nothing is.
func (w *World) value(p place) (any, time.Time, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := cmp.Or(w.domains[p.domain], new(domain))
	if d.at.IsZero() {
		return nil, time.Time{}, fmt.Errorf("%s was never read%s", p.domain, d.failed)
	}
	if age := w.now().Sub(d.at); age > d.maxAge || age < -d.maxAge { // the clock was set back
		return nil, time.Time{}, fmt.Errorf("%s was read %v ago%s", p.domain, age.Round(time.Second), d.failed)
	}
	v, ok := get(d.data, p.keys)
	if !ok {
		return nil, time.Time{}, fmt.Errorf("there is no %s in %s", strings.Join(p.keys, "."), p.domain)
	}
	return v, d.at, nil
}

// plainly returns a value as JSON has it.
func plainly(v any) (plain any, err error) {
	raw, err := json.Marshal(v)
	if err == nil {
		err = store.Limit("data", len(raw), maxData)
	}
	if err == nil {
		err = json.Unmarshal(raw, &plain)
	}
	return plain, err
}

// text is a plain value as JSON, or a string as it is.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	raw, _ := json.Marshal(v) // it is plain
	return string(raw)
}

func clip(s string) string { return fence.Clip(s, 200) }

var errPlace = errors.New(`not a place such as "domains.ci.data.failing"`)

// place is a value in the world: a domain, and the keys within what was read.
type place struct {
	domain string
	keys   []string
}

// parsePlace reads "domains.ci.data.jobs.0.name" or, as deltas and effects have it, "ci.jobs.0.name". A
// number is the index of a list.
func parsePlace(s string) (place, error) {
	parts := strings.Split(s, ".")
	if len(parts) > 2 && parts[0] == "domains" && parts[2] == "data" {
		parts = slices.Delete(parts[1:], 1, 2)
	}
	if len(parts) > maxKeys || slices.Contains(parts, "") {
		return place{}, errPlace
	}
	return place{parts[0], parts[1:]}, nil
}

// get returns what stands below a plain value.
func get(v any, keys []string) (any, bool) {
	if len(keys) == 0 {
		return v, true
	}
	switch v := v.(type) {
	case []any:
		if i, ok := index(v, keys[0]); ok {
			return get(v[i], keys[1:])
		}
	case map[string]any:
		for n := range keys { // a key may have dots
			if below, ok := v[strings.Join(keys[:n+1], ".")]; ok {
				if found, ok := get(below, keys[n+1:]); ok {
					return found, true
				}
			}
		}
	}
	return nil, false
}

func index(list []any, key string) (int, bool) {
	i, err := strconv.Atoi(key)
	return i, err == nil && i >= 0 && i < len(list)
}

// with returns a plain value in which the one below it is changed; the former value stays as it is, since a
// reading is handed out without a lock, and only what lies on the way to the change is copied. It
// reports false where the change does not fit. Objects that are missing on the way are made.
func with(v any, keys []string, op string, by any) (changed any, ok bool) {
	if len(keys) == 0 {
		return change(v, op, by)
	}
	if list, ok := v.([]any); ok {
		i, ok := index(list, keys[0])
		if !ok {
			return nil, false
		}
		list = slices.Clone(list)
		list[i], ok = with(list[i], keys[1:], op, by)
		return list, ok
	}
	object, ok := v.(map[string]any)
	if !ok && v != nil {
		return nil, false
	}
	object = maps.Clone(object)
	if object == nil {
		object = map[string]any{}
	}
	key, rest := keys[0], keys[1:]
	for n := range keys { // a key may have dots
		if name := strings.Join(keys[:n+1], "."); object[name] != nil {
			key, rest = name, keys[n+1:]
			break
		}
	}
	object[key], ok = with(object[key], rest, op, by)
	return object, ok
}

// change returns a value after a change. What is missing is no 0 to add to.
func change(v any, op string, by any) (any, bool) {
	switch op {
	case "set":
		return by, true
	case "inc":
		was, ok := v.(float64)
		add, number := by.(float64)
		return was + add, ok && number
	case "push":
		list, ok := v.([]any)
		return append(slices.Clone(list), by), ok || v == nil
	}
	return nil, false
}

// overlaps reports whether one place is the other, or above it.
func (p place) overlaps(q place) bool {
	n := min(len(p.keys), len(q.keys))
	return p.domain == q.domain && slices.Equal(p.keys[:n], q.keys[:n])
}
