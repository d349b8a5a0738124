package reason

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// Case is what is to be done, and what is known of it. Whoever hands one to package learn says what a plan
// depends on; a reasoner, and a worker, is told of the run at hand by it. Run is the run of arc that it
// belongs to, "" outside of the loop.
type Case struct {
	ID, Run    string           `cbor:",omitzero"`  // ID: unique in its Scope, "": learn makes one; Run: of arc
	Scope      memory.Scope     `cbor:",omitzero"`  // "": that of the options
	Lessons    memory.Scope     `cbor:",omitzero"`  // Scope ("") or one above, which shares what is learned
	Also       []memory.Scope   `cbor:",omitzero"`  // other scopes that are recalled from, of the same tenant
	Session    string           `cbor:",omitzero"`  // the thread of its episodes
	At         time.Time        `json:",omitzero"`  // when it came, in the zone of its days; zero: now
	Situation  string           `cbor:",omitzero"`  // the kind of case, in the host's words
	Text       string           `cbor:",omitzero"`  // what is wanted, up to 64 KiB; in a subgoal: that
	Inputs     json.RawMessage  `json:",omitempty"` // an object (else no plan): what varies
	Data       json.RawMessage  `json:",omitempty"` // what no plan depends on, such as a log; see [Case.Check]
	Conditions []string         `cbor:",omitzero"`  // what else must hold for the same plan to be right
	Goals      []string         `cbor:",omitzero"`  // in a subgoal: those above it, outermost first
	Skill      string           `cbor:",omitzero"`  // of the step, for Candidates and for warnings
	Candidates []rank.Candidate `cbor:",omitzero"`  // to be ranked
	Turns      []Message        `cbor:",omitzero"`  // what was said before; the user's count for recall
	Actor      string           `cbor:",omitzero"`  // who asks, of whom episodes are kept; it separates nobody
	Fresh      bool             `cbor:",omitzero"`  // nothing is recalled or fires; the outcome is learned

	Known
	Lineage   []Delivery `cbor:",omitzero"` // the run's, the oldest first
	Answers   []Answer   `cbor:",omitzero"`
	Complaint string     `cbor:",omitzero"` // why the previous decision, or attempt, was refused
}

// Check returns a [store.ErrInvalid] unless all scopes are of one tenant, Lessons is the Scope or above it,
// ID, Session and Actor pass [store.CheckID], Data and Inputs are JSON, and nothing is longer than its bound
// (Text and Inputs 64 KiB, Data 256 KiB, Turns as JSON 1 MiB, Situation 4 KiB, Skill [store.MaxID]). A JSON
// string as Data is a person's message: it recalls memories, too, and the episode has it in place of Text.
func (c *Case) Check() error {
	for _, s := range append([]memory.Scope{c.Scope, c.Lessons}, c.Also...) {
		if err := s.Check(); err != nil {
			return err
		}
		if s.Tenant() != c.Scope.Tenant() {
			return fmt.Errorf("%w: the scope %q is of another tenant than %q", store.ErrInvalid, s, c.Scope)
		}
	}
	if !c.Lessons.Contains(c.Scope) {
		return fmt.Errorf("%w: the lessons of %q are not above it: %q", store.ErrInvalid, c.Scope, c.Lessons)
	}
	for _, name := range []string{c.ID, c.Session, c.Actor} {
		if err := store.CheckID(cmp.Or(name, "none")); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	if len(c.Data) > 0 && !json.Valid(c.Data) || len(c.Inputs) > 0 && !json.Valid(c.Inputs) {
		return fmt.Errorf("%w: data or inputs are no JSON", store.ErrInvalid)
	}
	turns, err := schema.Marshal(c.Turns)
	return cmp.Or(err, store.Limit("data", len(c.Data), 256<<10), store.Limit("turns", len(turns), 1<<20),
		store.Limit("text", len(c.Text), 64<<10), store.Limit("inputs", len(c.Inputs), 64<<10),
		store.Limit("situation", len(c.Situation), 4<<10), store.Limit("skill", len(c.Skill), store.MaxID))
}

// Use returns the plan of a suggestion, by its name, with its parameters filled: by inputs, an object by
// their names, and for the rest by the inputs of the case, whose paths are dotted. The error names a
// parameter that nobody fills, an unknown name, a value of another JSON type than the parameter had, and a
// call that would name a secret by halves.
func (c *Case) Use(name string, inputs json.RawMessage) (*Plan, error) {
	i := slices.IndexFunc(c.Suggestions, func(s Suggestion) bool { return s.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("no suggestion has the name %q", name)
	}
	s, values := c.Suggestions[i], make(map[string]any)
	of, err := schema.Read(c.Inputs)
	given, err2 := schema.Read(inputs)
	object, ok := given.(map[string]any)
	if err = cmp.Or(err, err2); err != nil || !ok && given != nil {
		return nil, fmt.Errorf("the inputs of %s: %w", name, cmp.Or(err, errors.New("no JSON object")))
	}
	schema.Rewrite("", of, func(path string, v any) any { values[path] = v; return v })
	for k, v := range object {
		want, known := s.Parameters[k]
		if !known {
			names := slices.Sorted(maps.Keys(s.Parameters))
			return nil, fmt.Errorf("%s has no parameter %q, but %q", name, k, names)
		}
		want = cmp.Or(want, schema.TypeOf(values[k]))
		if got := schema.TypeOf(v); got == "" || want != "" && got != want {
			return nil, fmt.Errorf("%s wants a %s for %q", name, cmp.Or(want, "string, number or bool"), k)
		}
		values[k] = v
	}
	// The calls are filled as JSON text, in one pass, so that no value is looked into for another parameter.
	// A string that is {name} and nothing else becomes the value in its own type; a longer one gets its text.
	var swap, apart []string // apart: no two values stand together
	for _, p := range slices.Sorted(maps.Keys(s.Parameters)) {
		v, ok := values[p]
		whole, err := schema.Marshal(v)
		if want := s.Parameters[p]; !ok || err != nil || want != "" && schema.TypeOf(v) != want {
			return nil, fmt.Errorf("%s wants a %s for %q", name, cmp.Or(want, "value"), p)
		}
		at, _ := schema.Marshal("{" + p + "}")
		swap = append(swap, string(at), string(whole), inside(at), inside(whole))
		apart = append(apart, string(at), string(whole), inside(at), "\x00"+inside(whole)+"\x00")
	}
	fill, parted := strings.NewReplacer(swap...), strings.NewReplacer(apart...)
	named := func(in string) int { return len(fence.Secrets(in)) }
	out := &Plan{Calls: slices.Clone(s.Calls)}
	for i, call := range out.Calls {
		if len(call.Inputs) == 0 {
			continue
		}
		raw, err := schema.Canonical(call.Inputs) // as the parameters are written
		if err == nil {
			out.Calls[i].Inputs, err = schema.Canonical(json.RawMessage(fill.Replace(string(raw))))
		}
		if named(fill.Replace(string(raw))) > named(parted.Replace(string(raw))) {
			err = cmp.Or(err, errors.New("several parameters together name a secret"))
		}
		if err != nil {
			return nil, fmt.Errorf("the inputs of %s: %w", call.Name, err)
		}
	}
	return out, nil
}

// inside is a value of JSON as it stands in a string.
func inside(raw json.RawMessage) string {
	return strings.TrimSuffix(strings.TrimPrefix(string(raw), `"`), `"`)
}

// SameCalls reports whether calls have the same names and inputs, however these are spelled.
func SameCalls(a, b []PlanCall) bool {
	return slices.EqualFunc(a, b, func(x, y PlanCall) bool {
		if x.Name != y.Name || string(x.Inputs) == string(y.Inputs) {
			return x.Name == y.Name
		}
		v, err := schema.Canonical(x.Inputs)
		w, err2 := schema.Canonical(y.Inputs)
		return cmp.Or(err, err2) == nil && string(v) == string(w)
	})
}
