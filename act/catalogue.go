package act

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/strictyaml"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// ActionOptions say what actions of a file may be done by.
type ActionOptions struct {
	// Executors are those that a file may name.
	Executors map[string]Executor
	// Commands allows programs: its Dir, Env, MaxOutput and Confidence are theirs. nil: a
	// file with argv is refused.
	Commands *Command
}

// maxActions bounds a file of actions, in bytes.
const maxActions = 1 << 20

// action is the form of one in a file.
type action struct {
	Name         string
	Skills       []string
	Effects      []reason.Effect
	Inputs       any
	Blast, Mode  string
	Irreversible bool
	Approvers    int
	Prior        float64
	Rate         Rate
	Executor     string
	Argv         []string
}

// LoadActions reads workers from a file in YAML: what each can do and change, what it
// takes, how far it reaches, and which of the host's executors, or which program, does it.
//
//	actions:
//	  - name: restarter
//	    skills: [ops]
//	    effects: [{domain: service, path: data.up}]
//	    inputs: {type: object, required: [host], properties: {host: {type: string}}}
//	    blast: repo                     # self (the default), project, repo, fleet, public
//	    mode: gated                     # autonomous (the default), notification, veto, …
//	    prior: 0.6                      # also: irreversible, approvers, rate: {in: 3, out: 15}
//	    executor: restart               # of ActionOptions.Executors
//	  - name: prober
//	    argv: [./probe, --quick]        # a Command, where ActionOptions.Commands allows it
//
// The file is taken whole or not at all: the error has a line NAME:LINE for each flaw, and
// then there are no workers. A host that loads it again while it works hands the workers to
// Agent.SetWorkers, and a bad file leaves those of before.
func LoadActions(fsys fs.FS, name string, opts *ActionOptions) (workers []Worker, err error) {
	if opts == nil {
		opts = new(ActionOptions)
	}
	if guard.IsNil(fsys) {
		return nil, errors.New("actions: the file system is nil")
	}
	data, err := fs.ReadFile(fsys, name)
	if err == nil && len(data) > maxActions {
		err = &store.LimitError{Field: "actions", Limit: maxActions, Got: len(data)}
	}
	if err != nil {
		return nil, fmt.Errorf("actions: %w", err)
	}
	if workers, err = parseActions(data, opts); err != nil {
		return nil, fmt.Errorf("actions:\n%s", lineOf.ReplaceAllString(err.Error(), name+":$1: "))
	}
	return workers, nil
}

// lineOf matches the beginning of a problem.
var lineOf = regexp.MustCompile(`(?m)^line (\d+): `)

// written are the names of types as the writer of a file knows them.
var written = strings.NewReplacer("into act.action", "as an action", "into []act.action", "as a list of actions")

// parseActions returns the workers of a file, or what is wrong with it by line.
func parseActions(data []byte, opts *ActionOptions) ([]Worker, error) {
	var form struct{ Actions []action }
	doc, err := strictyaml.Decode(data, &form, written)
	if errors.Is(err, io.EOF) {
		return nil, errors.New("line 1: no actions")
	} else if err != nil {
		return nil, err
	}
	lines, err := strictyaml.List(doc, "actions")
	if err == nil && len(lines) == 0 {
		err = fmt.Errorf("line %d: no actions", doc.Line)
	}
	if err != nil {
		return nil, err
	}
	var workers []Worker
	wrong := make(strictyaml.Problems)
	seen := make(map[string]bool)
	for i, a := range form.Actions {
		flawed := false
		bad := func(is bool, field, format string, args ...any) {
			if is {
				at := cmp.Or(strictyaml.Field(lines[i], field), lines[i])
				wrong.Add(at, fmt.Sprintf("action %q: ", a.Name)+fmt.Sprintf(format, args...))
				flawed = true
			}
		}
		w := a.worker(opts, bad)
		bad(seen[a.Name], "name", "another has this name")
		seen[a.Name] = true
		if !flawed { // else it would be told twice. Gates are the host's.
			err := (&Options{Workers: []Worker{w}, Gates: []Gate{NoGate}}).check()
			bad(err != nil, "", "%v", err)
		}
		workers = append(workers, w)
	}
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	return workers, nil
}

// worker is who does an action. It tells bad what is wrong with it.
func (a *action) worker(opts *ActionOptions, bad func(is bool, field, format string, args ...any)) Worker {
	w := Worker{
		Card: rank.Candidate{Name: a.Name, Prior: a.Prior}, Executor: opts.Executors[a.Executor],
		Skills: a.Skills, Effects: a.Effects, Irreversible: a.Irreversible, Approvers: a.Approvers, Rate: a.Rate,
		Blast: labelled(a.Blast, Self, Public), Mode: labelled(a.Mode, Autonomous, Compound),
	}
	bad(w.Blast > Public, "blast", "unknown blast %q", a.Blast)
	bad(w.Mode > Compound, "mode", "unknown mode %q", a.Mode)
	for _, e := range a.Effects {
		bad(e.Domain == "" || e.Path == "", "effects", "an effect has no domain or no path")
	}
	if a.Inputs != nil {
		text, err := json.Marshal(a.Inputs)
		bad(err != nil, "inputs", "%v", err)
		w.Input = text
	}
	switch {
	case (a.Executor == "") == (len(a.Argv) == 0):
		bad(true, "executor", "it needs an executor or argv, and not both")
	case a.Executor != "":
		bad(guard.IsNil(w.Executor), "executor", "the host has no executor %q", a.Executor)
	case opts.Commands == nil:
		bad(true, "argv", "programs are not allowed")
	default:
		c := *opts.Commands
		c.Argv = a.Argv
		w.Executor = &c
	}
	return w
}

// labelled is the value that a text names, the first if it is empty, or one behind the last.
func labelled[T interface {
	~int
	fmt.Stringer
}](text string, first, last T) T {
	v := first
	for text != "" && v <= last && v.String() != text {
		v++
	}
	return v
}
