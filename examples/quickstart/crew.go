package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/examples/quickstart/internal/repair"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// skill is what every member of the crew claims to have.
const skill = "repair-go"

// inputs is what an objective hands to the reasoner and the crew.
type inputs struct {
	Name      string    `json:"name"`   // of the package, as the objective has it
	Module    string    `json:"module"` // root of the module as it was found
	Package   string    `json:"package"`
	Diagnosis diagnosis `json:"diagnosis"`
}

// diagnosis stands in the inputs as one text: a plan fires again where inputs
// have the shape that they had, and not all that fails has a trace.
type diagnosis struct{ repair.Diagnosis }

func (d diagnosis) MarshalText() ([]byte, error)     { return json.Marshal(d.Diagnosis) }
func (d *diagnosis) UnmarshalText(text []byte) error { return json.Unmarshal(text, &d.Diagnosis) }

// output is what a member of the crew hands to the gate.
type output struct {
	Package string   `json:"package"` // a copy, edited
	Edits   []string `json:"edits"`
}

// host wires the crew: the reasoner, one worker for each fixer in an order
// drawn from the seed, all with the same prior, and one gate.
func host(scratch string, seed uint64) arc.Host {
	h := arc.Host{
		Reasoner: reason.ReasonerFunc(decide),
		Gates:    []act.Gate{act.GateFunc(verify)},
	}
	for _, f := range repair.Fixers() {
		h.Workers = append(h.Workers, act.Worker{
			Card:     rank.Candidate{Name: f.Name, Prior: 0.5},
			Executor: executor{f, scratch},
			Skills:   []string{skill},
		})
	}
	r := rand.New(rand.NewPCG(seed, 1))
	r.Shuffle(len(h.Workers), func(i, j int) { h.Workers[i], h.Workers[j] = h.Workers[j], h.Workers[i] })
	return h
}

// crew knows from the samples of its members who need not be asked.
type crew struct {
	rank.Policy            // Learned
	book        *rank.Book // of the only tenant; nil: it has not run yet
}

func (c *crew) policy(b *rank.Book) rank.Policy {
	c.Policy, c.book = b.Learned(nil), b
	return c
}

// enough is how many packages that fail in one step a member looks at before it
// is taken to have nothing to do there.
const enough = 6

// strangers returns who delivers where other steps fail, and has found no edit to
// make in at least looks packages that fail in the step of a situation. Who has not
// delivered yet is none: its kind may not have come up.
func (c *crew) strangers(ctx context.Context, situation string, looks int) (names []string, err error) {
	if c.book == nil {
		return nil, nil
	}
	step, _, _ := strings.Cut(situation, " ")
	looked, delivered, edited := map[string]int{}, map[string]bool{}, map[string]bool{}
	for s, err := range c.book.Samples(ctx, time.Time{}) {
		if err != nil {
			return nil, err
		}
		delivered[s.Candidate] = delivered[s.Candidate] || s.Success
		if at, _, _ := strings.Cut(s.Situation.Key, " "); at == step {
			looked[s.Candidate]++
			edited[s.Candidate] = edited[s.Candidate] || s.Success || s.Confidence != nil && *s.Confidence > unsure
		}
	}
	for _, f := range repair.Fixers() {
		if delivered[f.Name] && looked[f.Name] >= looks && !edited[f.Name] {
			names = append(names, f.Name)
		}
	}
	if len(names) == len(repair.Fixers()) {
		return nil, nil
	}
	return names, nil
}

// Score implements rank.Policy: strangers come after those who may know the step,
// those who have looked often enough last.
func (c *crew) Score(ctx context.Context, at rank.Situation, cs []rank.Candidate) ([]rank.Scored, error) {
	order, err := c.Policy.Score(ctx, at, cs)
	for _, looks := range [...]int{1, enough} {
		last, e := c.strangers(ctx, at.Key, looks)
		err = errors.Join(err, e)
		slices.SortStableFunc(order, func(a, b rank.Scored) int { return place(last, a) - place(last, b) })
	}
	return order, err
}

func place(last []string, s rank.Scored) int {
	if slices.Contains(last, s.Candidate.Name) {
		return 1
	}
	return 0
}

// sameSituation is how alike two situations must be, by memory.Similarity, for
// the reasoner to follow what worked in the other.
const sameSituation = 0.8

// decide is the reasoner. It knows the diagnostics and what memory recalls,
// and asks for one task; whom to try first it knows only from a plan that worked
// in a situation like this one.
func decide(_ context.Context, b reason.Brief) (reason.Decision, error) {
	var in inputs
	if err := json.Unmarshal(b.Inputs, &in); err != nil {
		return reason.Decision{}, err
	}
	problems := strings.Count(in.Diagnosis.Text, "\n") + 1
	d := reason.Decision{
		Complexity: reason.Simple,
		Approach:   "edit the source where it says: " + b.Situation,
		Reasoning:  fmt.Sprintf("%d lines of diagnostics; nothing is known about this situation", problems),
		Tasks: []reason.Task{{
			Objective: b.Objective,
			Delta:     "the package works",
			Verify:    "go build, go vet and go test pass, and the tests are unchanged",
			Skill:     skill,
		}},
	}
	if problems > 3 {
		d.Complexity = reason.Moderate
	}
	for _, known := range b.Suggestions {
		if worker := known.Tasks[0].Worker; memory.Similarity(known.Situation, b.Situation) >= sameSituation {
			d.Tasks[0].Worker, d.Applied = worker, []memory.ID{known.ID}
			d.Reasoning = fmt.Sprintf("%s delivered in this situation before", worker)
			break
		}
	}
	return d, nil
}

// executor has a fixer edit a copy of the package. It claims success when the
// fixer says that the copy passes, and hands in every copy: whether it is
// repaired is for the gate to say.
type executor struct {
	fixer   repair.Fixer
	scratch string
}

func (e executor) Execute(ctx context.Context, w act.Work) (act.Result, error) {
	var in inputs
	if err := json.Unmarshal(w.Inputs, &in); err != nil {
		return act.Result{}, err
	}
	rel, err := filepath.Rel(in.Module, in.Package)
	if err != nil {
		return act.Result{}, err
	}
	module := filepath.Join(e.scratch, e.fixer.Name)
	if err := repair.Copy(module, in.Module); err != nil {
		return act.Result{}, err
	}
	dir := filepath.Join(module, rel)
	out, err := e.fixer.Apply(ctx, dir, in.Diagnosis.Diagnosis)
	if err != nil {
		return act.Result{}, err
	}
	raw, err := json.Marshal(output{dir, out.Edits})
	if err != nil {
		return act.Result{}, err
	}
	return act.Result{Output: raw, Reflection: reflection(out)}, nil
}

// unsure is the confidence of a fixer that has found no edit to make.
const unsure = 0.1

// reflection is what a fixer can honestly say of its own work: it has run what
// failed, not what comes before.
func reflection(out repair.Outcome) iar.Reflection {
	if !out.Changed {
		return iar.Reflection{
			Status: iar.Warning, Confidence: unsure, Summary: fmt.Sprintf("found no edit to make, and tried %d", out.Tried),
			PotentialIssues: []string{"the mistake is of another kind"},
			AlignmentCheck:  map[string]float64{"edited": 0},
		}
	}
	return iar.Reflection{
		Status: iar.Success, Confidence: 0.8, Summary: strings.Join(out.Edits, "; "),
		PotentialIssues: []string{},
		AlignmentCheck:  map[string]float64{"edited": 1},
	}
}

// verify is the gate.
func verify(ctx context.Context, w act.Work, r act.Result) (act.Verdict, error) {
	var in inputs
	var out output
	if err := json.Unmarshal(w.Inputs, &in); err != nil {
		return act.Verdict{}, err
	}
	if err := json.Unmarshal(r.Output, &out); err != nil {
		return act.Verdict{}, err
	}
	complaint, err := repair.Verify(ctx, in.Package, out.Package)
	return act.Verdict{Pass: err == nil && complaint == "", Complaint: complaint}, err
}
