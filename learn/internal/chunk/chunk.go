// Package chunk defines chunks: plans with the conditions under which they are run again.
//
// [New] makes a [Chunk] of a [Case] and the [Plan] that delivered it: values of the inputs become
// references in the plan. [Chunk.Fit] matches it against another case and returns the conditions
// that differ, as text. [Chunk.Bind] puts the values of that case into the plan. [Unify] makes one
// chunk with variables from three of one shape.
//
// The conditions are what the decision depended on (Laird, Rosenbloom & Newell 1986). Package
// template compares them; package learn decides when a chunk may act.
package chunk

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/arc-learn/arc/internal/template"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/reason"
)

// Case is what a plan was made for, or is needed for.
type Case struct {
	Situation string
	Objective string
	// Vouched: the host has named the situation, and vouches that its cases share a plan.
	Vouched    bool
	Inputs     json.RawMessage
	Conditions map[string]string
	Goals      []string // that a subgoal serves, outermost first
	Facts      []string // about the person or project, as they are told
	words      []string // of the Objective, once split
}

// minTrigger is how many letters a trigger has at least: memory rejects a shorter one.
const minTrigger = 10

// Said returns what a case is called: its situation, or the objective if the situation is too short
// for a trigger.
func Said(situation, objective string) string {
	if text.Letters(situation) < minTrigger {
		return objective
	}
	return situation
}

// Trigger returns what a case is called as a trigger: one that is too short gets a few words before it.
func Trigger(said string) string {
	if text.Letters(said) < minTrigger {
		return "what is to be done: " + said
	}
	return said
}

// General returns the text by which chunks of such cases are found if the objective has other words: Said
// with the names of inputs in place of their values if it contains some, or else the situation that the
// host has named. "": neither.
func (c *Case) General() string {
	said := Said(c.Situation, c.Objective)
	if all := template.Flatten(c.Inputs, nil); len(all) > 0 && len(all) <= maxInputs {
		if as := quoter(all).Phrase(template.Literal(said)).Show(); as != said {
			return Trigger(as)
		}
	}
	if c.Vouched && c.Situation != c.Objective {
		return Trigger(said)
	}
	return ""
}

// Plan is a plan that delivered a case.
type Plan struct {
	Approach string
	Tasks    []reason.Task // with their workers
	Ranked   []int         // indices of tasks whose worker the plan did not name
	Facts    []string      // facts that the reasoner named
	Said     uint64        // digest of what the host's sources said; 0: nothing
	Unfit    string        // why it must never fire; "": it may
}

// Chunk is a plan with its conditions, as a pattern stores it. It fires only if all conditions hold.
type Chunk struct {
	Version int `json:"version"`
	// Situation is that of the case that made it, for people, with the names of inputs in place of their
	// values.
	Situation string `json:"situation"`
	// Vouched: the host has named the situation, and vouches that its cases share a plan.
	Vouched bool `json:"vouched,omitempty"`
	// Words are those of the situation, or else of the objective, in order. Each part is a word or a
	// reference.
	Words template.Phrase `json:"words"`
	// Objective has the words of the objective of a vouched chunk. Other cases may have other words, unless
	// there are variables in them.
	Objective template.Phrase `json:"objective,omitempty"`
	// Above are the goals above a subgoal.
	Above []string `json:"above,omitempty"`
	// Quotes are the words of the objective that stand in the plan, Named the values that do. The objective of
	// another case needs them too.
	Quotes []string       `json:"quotes,omitempty"`
	Named  []template.Ref `json:"named,omitempty"`
	// Inputs are all values of the inputs, and Conditions those of the objective.
	Inputs     []input           `json:"inputs,omitempty"`
	Conditions map[string]string `json:"conditions,omitempty"`
	// Facts are digests, in order, of the facts about the person or project from which the plan was made:
	// those that the reasoner named, or that share a word with the plan.
	Facts []string `json:"facts,omitempty"`
	// Heard is when the latest fact was recorded that the reasoner knew when it last made the plan again, in
	// microseconds since 1970. 0: it has made the plan once.
	Heard int64 `json:"heard,omitempty"`
	// Told is one more than how often the plan had acted when the reasoner was last told of news that shares
	// no word with it, and made the plan again. 0: never.
	Told int `json:"told,omitempty"`
	// Said are digests of what the host's sources said each time when the reasoner made the plan. Empty:
	// nothing.
	Said []uint64 `json:"said,omitempty"`
	// Variables describe the words that differ from case to case.
	Variables []template.Look `json:"variables,omitempty"`
	// Unfit says why it never fires. "": it may.
	Unfit string `json:"unfit,omitempty"`

	Approach template.Phrase `json:"approach,omitempty"`
	Tasks    []Step          `json:"tasks"`
}

// version is the version of stored chunks. Earlier ones have no conditions, and do not fire.
const version = 2

// Step is a task with references in it.
type Step struct {
	Objective template.Phrase `json:"objective"`
	Delta     template.Phrase `json:"delta,omitempty"`
	Verify    template.Phrase `json:"verify,omitempty"`
	Skill     string          `json:"skill,omitempty"`
	Worker    string          `json:"worker,omitempty"`
	Effect    *reason.Effect  `json:"effect,omitempty"`
	Inputs    *template.Node  `json:"inputs,omitempty"`
	ranked    bool            // the plan named another worker, or none
}

// input is a value of the inputs. Its Value is empty if it may differ.
type input struct {
	template.Leaf
	// Quoted: the plan has references to it. Kept: it stands in the plan at a place where it cannot be bound
	// anew, or something in the plan may be computed from it.
	Quoted bool `json:"quoted,omitempty"`
	Kept   bool `json:"kept,omitempty"`
}

func (in *input) value() template.Value { return template.Value{Kind: in.Kind, Text: in.Value} }

// maxInputs is the largest number of values that inputs may have to be bound.
const maxInputs = 1024

// New makes a chunk of a plan that deliberation has made and that delivered a case. No other function does.
func New(of Case, by Plan) (*Chunk, error) {
	c := &Chunk{
		Version: version, Vouched: of.Vouched, Conditions: maps.Clone(of.Conditions), Above: above(of.Goals), Unfit: by.Unfit,
	}
	all := template.Flatten(of.Inputs, nil)
	if len(all) > maxInputs {
		c.Unfit, all = fmt.Sprintf("its inputs have more than %d values", maxInputs), nil
	}
	q := quoter(all)
	c.Situation = q.Phrase(template.Literal(Said(of.Situation, of.Objective))).Show()
	for i := range by.Tasks {
		t := &by.Tasks[i]
		n, err := template.NodeOf(t.Inputs)
		if err != nil {
			return nil, fmt.Errorf("inputs of task %d: %w", i+1, err)
		}
		c.Tasks = append(c.Tasks, Step{
			Objective: template.Literal(t.Objective), Delta: template.Literal(t.Delta), Verify: template.Literal(t.Verify),
			Skill: t.Skill, Worker: t.Worker, Effect: t.Effect, Inputs: n,
			ranked: slices.Contains(by.Ranked, i),
		})
	}
	c.Approach = template.Literal(by.Approach)
	c.quote(q)
	objective, situation := q.Words(template.Words(of.Objective)), q.Words(template.Words(of.Situation))
	c.Words = objective
	if c.Vouched {
		c.Words, c.Objective = situation, objective
	}
	c.depend(of.Inputs, objective, situation)
	c.Facts = c.rests(&of, by.Facts)
	if by.Said != 0 {
		c.Said = []uint64{by.Said}
	}
	return c, nil
}

// rests returns the digests of the facts from which the plan was made.
func (c *Chunk) rests(of *Case, named []string) (digests []string) {
	shares := c.Sharing(of)
	for _, fact := range of.Facts {
		if slices.Contains(named, fact) || shares(fact) {
			digests = append(digests, digest(fact))
		}
	}
	slices.Sort(digests)
	return slices.Compact(digests)
}

// digest returns a digest of a fact. Its text is not stored, since the fact may be erased.
func digest(fact string) string {
	sum := sha256.Sum256([]byte(strings.Join(template.Folded(fact), " ")))
	return hex.EncodeToString(sum[:8])
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
func (c *Chunk) quote(q *template.Quoter) {
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

// depend records what the plan depends on: which inputs it quotes or keeps, and which words of the objective.
func (c *Chunk) depend(inputs json.RawMessage, objective, situation template.Phrase) {
	quoted := c.quoted()
	closed := func(path string) bool {
		for q := range quoted {
			if strings.HasPrefix(q, path+"/") {
				return false
			}
		}
		return true
	}
	ordered := c.ordered()
	var leaves []template.Leaf
	if c.Unfit == "" {
		leaves = template.Flatten(inputs, closed)
	}
	var paths template.Phrase // common to all cases of the chunk, as its words are
	for _, l := range leaves {
		paths = append(paths, template.Part{Text: l.Path})
	}
	left := c.residue(objective, situation, paths)
	left.Compute(inputs, objective, situation)
	c.Quotes = left.Quotes(objective)
	objective.Refs(func(r template.Ref) {
		if slices.ContainsFunc(r, func(path string) bool { return quoted[path] }) {
			c.Named = append(c.Named, r)
		}
	})
	for _, l := range leaves {
		in := input{Leaf: l, Quoted: quoted[l.Path]}
		in.Kept = !in.Open && (left.Keeps(in.value()) || ordered[element.ReplaceAllString(in.Path, "")])
		if c.Vouched && !in.Quoted && !in.Kept && in.Kind != template.Bool {
			in.Value = "" // the value may differ
		}
		c.Inputs = append(c.Inputs, in)
	}
}

// element matches the position of an element in a list, and what follows, in a path.
var element = regexp.MustCompile(`/(\d+)(?:/.*)?$`)

// ordered returns the lists of which the plan names elements in another order than theirs: why is not known.
func (c *Chunk) ordered() map[string]bool {
	out, named := make(map[string]bool), make(map[string][]string)
	c.refs(func(r template.Ref) {
		m := element.FindStringSubmatch(r[0])
		if m == nil || len(r) > 1 {
			return
		}
		list, at := element.ReplaceAllString(r[0], ""), m[1]
		before := named[list]
		if slices.Contains(before, at) {
			return
		}
		if n := len(before); n > 0 {
			last := before[n-1]
			out[list] = out[list] || len(at) < len(last) || len(at) == len(last) && at < last
		}
		named[list] = append(before, at)
	})
	return out
}

// above returns goals as they are compared.
func above(goals []string) (out []string) {
	for _, g := range goals {
		out = append(out, strings.Join(template.Folded(g), " "))
	}
	return out
}

// refs calls fn for each reference of the tasks.
func (c *Chunk) refs(fn func(template.Ref)) {
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

// quoted returns the paths and variables to which the tasks refer.
func (c *Chunk) quoted() map[string]bool {
	out := make(map[string]bool)
	c.refs(func(r template.Ref) {
		for _, path := range r {
			out[path] = true
		}
	})
	return out
}

// residue returns what of the plan is not bound anew, beside the texts of its case.
func (c *Chunk) residue(texts ...template.Phrase) *template.Residue {
	var skills []string
	for i := range c.Tasks {
		skills = append(skills, c.Tasks[i].Skill)
	}
	left := template.NewResidue(skills, texts...)
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

// Sharing returns a function that reports whether the plan shares a word with a text that its case does not have.
func (c *Chunk) Sharing(of *Case) func(text string) bool {
	left := sync.OnceValue(func() *template.Residue {
		return c.residue(template.Literal(of.Objective), template.Literal(of.Situation))
	})
	return func(text string) bool { return left().Shares(text) }
}

// Encode returns the chunk as a pattern stores it.
func (c *Chunk) Encode() (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// errNoChunk is the error of a pattern with another kind of plan.
var errNoChunk = errors.New("no chunk")

// Decode reads what Encode has returned. The result can be bound and shown.
func Decode(raw json.RawMessage) (*Chunk, error) {
	c := new(Chunk)
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

// DecodeUnconditional reads a plan that was stored without conditions.
func DecodeUnconditional(raw json.RawMessage) (p Plan, ok bool) {
	var old struct {
		Approach string
		Tasks    []reason.Task
	}
	if json.Unmarshal(raw, &old) != nil || (&reason.Decision{Tasks: old.Tasks}).Check() != nil {
		return p, false
	}
	return Plan{Approach: old.Approach, Tasks: old.Tasks}, true
}

// Unnamed returns the chunk without the workers of tasks that other workers have done, and whether there is one:
// which worker is for which values is for the ranking to learn.
func (c *Chunk) Unnamed(done []reason.Task) (*Chunk, bool) {
	n, changed := *c, false
	n.Tasks = slices.Clone(c.Tasks)
	for i := range n.Tasks {
		if s := &n.Tasks[i]; s.Worker != "" && s.Worker != done[i].Worker {
			s.Worker, changed = "", true
		}
	}
	return &n, changed
}
