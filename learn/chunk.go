package learn

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/template"
	"github.com/arc-learn/arc/reason"
)

// chunk is a plan with the conditions under which it fires, as a pattern stores
// it. The conditions are what the decision depended on (Laird, Rosenbloom &
// Newell 1986): all of them hold, or it does not fire.
type chunk struct {
	Version int `json:"version"`
	// Situation is that of the case that made it, for a reader, with the names of
	// inputs for their values.
	Situation string `json:"situation"`
	// Vouched: the host gave the situation, and vouches that cases of it share
	// a plan.
	Vouched bool `json:"vouched,omitempty"`
	// Words are those of the situation, or else of the objective, in order. Each
	// part is one, or a reference.
	Words template.Phrase `json:"words"`
	// Objective are the words of the objective of a vouched chunk. Another case
	// may have others, unless there are variables in them.
	Objective template.Phrase `json:"objective,omitempty"`
	// Above are the goals that a subgoal serves.
	Above []string `json:"above,omitempty"`
	// Quotes are the words of the objective that stand in the plan, and Named
	// the values that do: an objective in other words has them too.
	Quotes []string       `json:"quotes,omitempty"`
	Named  []template.Ref `json:"named,omitempty"`
	// Inputs are all values of the inputs, and Conditions those of the objective.
	Inputs     []input           `json:"inputs,omitempty"`
	Conditions map[string]string `json:"conditions,omitempty"`
	// Variables are what is known about the words that differ from case to case.
	Variables []template.Look `json:"variables,omitempty"`
	// Unfit says why it never fires. "": it may.
	Unfit string `json:"unfit,omitempty"`

	Approach template.Phrase `json:"approach,omitempty"`
	Tasks    []step          `json:"tasks"`
}

// version is that of chunks as they are stored. Those of before have no
// conditions: they do not fire.
const version = 2

// step is a task with references in it.
type step struct {
	Objective template.Phrase `json:"objective"`
	Delta     template.Phrase `json:"delta,omitempty"`
	Verify    template.Phrase `json:"verify,omitempty"`
	Skill     string          `json:"skill,omitempty"`
	Worker    string          `json:"worker,omitempty"`
	Effect    *reason.Effect  `json:"effect,omitempty"`
	Inputs    *template.Node  `json:"inputs,omitempty"`
	ranked    bool            // the plan named no worker, or another
}

// input is a value of the inputs. Its Value is left out where it makes no
// difference.
type input struct {
	template.Leaf
	// Quoted: the plan has references to it. Kept: it stands in the plan where it
	// cannot be bound anew.
	Quoted bool `json:"quoted,omitempty"`
	Kept   bool `json:"kept,omitempty"`
}

func (in *input) value() template.Value { return template.Value{Kind: in.Kind, Text: in.Value} }

// maxInputs is the number of values up to which inputs can be bound.
const maxInputs = 1024

// newChunk makes the chunk of an outcome that delivered a goal by deliberation.
// It is the one place where a plan becomes one.
func newChunk(o *Outcome) (chunk, error) {
	c := chunk{
		Version: version, Vouched: o.Vouched, Conditions: maps.Clone(o.Conditions), Above: above(o.Goals), Unfit: o.Unfit,
	}
	all := template.Flatten(o.Inputs, nil)
	if len(all) > maxInputs {
		c.Unfit, all = fmt.Sprintf("its inputs have more than %d values", maxInputs), nil
	}
	q := quoter(all)
	c.Situation = q.Phrase(template.Literal(o.trigger())).Show()
	for i := range o.Plan {
		t := &o.Plan[i]
		n, err := template.NodeOf(t.Inputs)
		if err != nil {
			return c, fmt.Errorf("inputs of task %d: %w", i+1, err)
		}
		c.Tasks = append(c.Tasks, step{
			Objective: template.Literal(t.Objective), Delta: template.Literal(t.Delta), Verify: template.Literal(t.Verify),
			Skill: t.Skill, Worker: t.Worker, Effect: t.Effect, Inputs: n,
			ranked: slices.Contains(o.Ranked, i),
		})
	}
	c.Approach = template.Literal(o.Approach)
	c.quote(q)
	objective, situation := q.Words(template.Words(o.Objective)), q.Words(template.Words(o.Situation))
	c.Words = objective
	if c.Vouched {
		c.Words, c.Objective = situation, objective
	}
	c.depend(o.Inputs, objective, situation)
	return c, nil
}

// quoter finds the values of inputs in texts.
func quoter(leaves []template.Leaf) *template.Quoter {
	var sources []template.Source
	for i := range leaves {
		if l := &leaves[i]; !l.Open {
			v := template.Value{Kind: l.Kind, Text: l.Value}
			sources = append(sources, template.Source{Value: v, From: template.Ref{l.Path}})
		}
	}
	return template.NewQuoter(sources)
}

// quote puts references in the places of values in the plan.
func (c *chunk) quote(q *template.Quoter) {
	c.Tasks = slices.Clone(c.Tasks)
	for i := range c.Tasks {
		s := &c.Tasks[i]
		q.Count(s.Inputs, s.Objective, s.Delta, s.Verify)
	}
	c.Approach = q.Phrase(c.Approach)
	for i := range c.Tasks {
		s := &c.Tasks[i]
		s.Objective, s.Delta, s.Verify = q.Phrase(s.Objective), q.Phrase(s.Delta), q.Phrase(s.Verify)
		s.Inputs = q.Node(s.Inputs)
	}
}

// depend notes what the plan depends on: which inputs it quotes or keeps, and which
// words of the objective.
func (c *chunk) depend(inputs json.RawMessage, objective, situation template.Phrase) {
	quoted, left := c.quoted(), c.residue()
	c.Quotes = left.Quotes(objective)
	objective.Refs(func(r template.Ref) {
		if slices.ContainsFunc(r, func(path string) bool { return quoted[path] }) {
			c.Named = append(c.Named, r)
		}
	})
	if c.Unfit != "" {
		return
	}
	closed := func(path string) bool {
		for q := range quoted {
			if strings.HasPrefix(q, path+"/") {
				return false
			}
		}
		return true
	}
	leaves := template.Flatten(inputs, closed)
	var paths template.Phrase // of all cases of the chunk, as its words
	for _, l := range leaves {
		paths = append(paths, template.Part{Text: l.Path})
	}
	for _, l := range leaves {
		in := input{Leaf: l, Quoted: quoted[l.Path]}
		in.Kept = !in.Open && left.Keeps(in.value(), objective, situation, paths)
		if c.Vouched && !in.Quoted && !in.Kept && in.Kind != template.Bool {
			in.Value = "" // it may be anything
		}
		c.Inputs = append(c.Inputs, in)
	}
}

// above are goals as they are compared.
func above(goals []string) (out []string) {
	for _, g := range goals {
		out = append(out, strings.Join(template.Folded(g), " "))
	}
	return out
}

// refs calls fn for each reference of the tasks.
func (c *chunk) refs(fn func(template.Ref)) {
	for i := range c.Tasks {
		s := &c.Tasks[i]
		s.Objective.Refs(fn)
		s.Delta.Refs(fn)
		s.Verify.Refs(fn)
		if s.Inputs != nil {
			s.Inputs.Refs(fn)
		}
	}
}

// quoted are the paths and variables that the tasks refer to.
func (c *chunk) quoted() map[string]bool {
	out := make(map[string]bool)
	c.refs(func(r template.Ref) {
		for _, path := range r {
			out[path] = true
		}
	})
	return out
}

// residue is what of the plan is not bound anew.
func (c *chunk) residue() *template.Residue {
	var skills []string
	for i := range c.Tasks {
		skills = append(skills, c.Tasks[i].Skill)
	}
	left := template.NewResidue(skills)
	left.Phrase(c.Approach)
	for i := range c.Tasks {
		s := &c.Tasks[i]
		if !s.ranked {
			left.Names(s.Worker)
		}
		if s.Effect != nil {
			left.Names(s.Effect.Domain, s.Effect.Path)
		}
		left.Phrase(s.Objective)
		left.Phrase(s.Delta)
		left.Phrase(s.Verify)
		if s.Inputs != nil {
			left.Node(s.Inputs)
		}
	}
	return left
}

// stored returns the chunk as a pattern stores it.
func (c *chunk) stored() (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// errNoChunk: a pattern has another kind of plan.
var errNoChunk = errors.New("no chunk")

// decodeChunk is the reverse. What it returns can be bound and shown.
func decodeChunk(raw json.RawMessage) (*chunk, error) {
	c := new(chunk)
	if err := json.Unmarshal(raw, c); err != nil {
		return nil, err
	}
	if c.Version != version || len(c.Tasks) == 0 {
		return nil, errNoChunk
	}
	whole := true
	check := func(r template.Ref) { whole = whole && len(r) > 0 }
	c.refs(check)
	slices.Concat(c.Words, c.Objective, c.Approach).Refs(check)
	for _, r := range c.Named {
		check(r)
	}
	if !whole {
		return nil, fmt.Errorf("%w: a reference to nothing", errNoChunk)
	}
	return c, nil
}

// fingerprint is a number for what the conditions are: memory takes texts with other
// numbers for other lessons.
func (c *chunk) fingerprint() uint32 {
	conditions := *c
	conditions.Approach, conditions.Tasks, conditions.Situation = nil, nil, ""
	if len(c.Variables) == 0 {
		conditions.Objective = nil
	}
	conditions.Words = slices.Clone(c.Words)
	for i := range conditions.Words {
		conditions.Words[i].Text = template.Fold(conditions.Words[i].Text)
	}
	conditions.Inputs = slices.Clone(c.Inputs)
	for i := range conditions.Inputs {
		if in := &conditions.Inputs[i]; in.Quoted && !in.Kept {
			in.Value = ""
		}
	}
	slices.SortFunc(conditions.Inputs, func(a, b input) int { return strings.Compare(a.Path, b.Path) })
	if !c.Vouched {
		conditions.Quotes, conditions.Named = nil, nil
	}
	raw, err := json.Marshal(conditions)
	if err != nil {
		return 0 // strings, numbers and maps of them: there is no error
	}
	sum := sha256.Sum256(raw)
	return binary.BigEndian.Uint32(sum[:])
}

// legacy is a plan as patterns had it before they had conditions.
type legacy struct {
	Approach string
	Tasks    []reason.Task
}
