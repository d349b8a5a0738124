// Package skills keeps the plans that a learn.Layer has learned as files that a person reads, edits and
// retires: each as DIR/NAME/SKILL.md, the form that coding agents read skills in.
//
//	changed, err := skills.Read(ctx, layer, "acme", dir) // what a person has changed since
//	…
//	written, err := skills.Write(ctx, layer, "acme", dir)
//
// A file has what the plan is for, its calls with {name} for parameters, and its evidence:
//
//	---
//	name: small-refund-refund-order-order-5f1c2a
//	description: "Use for: small refund: refund order {order}"
//	retired: false
//	metadata:
//	  delivered: 2
//	  plan: "…"
//	  wrote: "…"
//	---
//
// plan and wrote tell which plan it is, and whether a person has changed the calls. Once a person has, the file
// holds, also as it was before, or where View.Edit has changed the plan since. One directory is for one scope.
package skills

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/renameio/v2/maybe"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// step is a call as it stands in a file.
type step struct {
	Call   string          `json:"call"`
	Inputs json.RawMessage `json:"inputs,omitempty"`
}

// Write writes each plan of a scope that fires, and returns how many files it wrote. In a Lessons scope those
// are also the plans that fire for the scopes below it. A file that a person has changed stays as it is until
// [Read] has read it; a file that is missing is written again.
func Write(ctx context.Context, l *learn.Layer, scope memory.Scope, dir string) (written int, err error) {
	there := make(map[string]reason.Skill)
	found, _ := reason.LoadSkills(os.DirFS(dir)) // what cannot be read stays as it is
	for _, s := range found {
		there[s.Name] = s
	}
	known, err := l.Known(ctx, scope)
	if err != nil {
		return 0, err
	}
	for _, s := range known.Suggestions {
		if s.Differs != "" {
			continue // it does not fire
		}
		name, text := file(s)
		path := filepath.Join(dir, name, "SKILL.md")
		old, err := os.ReadFile(path)
		if err == nil && (s.Edited || changed(there[name]) || string(old) == text) {
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return written, fmt.Errorf("skills: %w", err)
		}
		err = cmp.Or(os.MkdirAll(filepath.Dir(path), 0o755), maybe.WriteFile(path, []byte(text), 0o644))
		if err != nil {
			return written, fmt.Errorf("skills: %w", err)
		}
		written++
	}
	return written, nil
}

// Read takes up what a person has changed in the files of [Write], and returns how many plans that concerns:
// calls that were changed, and retired: true, see learn.Layer.Edit. A file that cannot be read is left out,
// and an error at the end; one that somebody else has written is left out.
func Read(ctx context.Context, l *learn.Layer, scope memory.Scope, dir string) (edited int, err error) {
	known, wrong := l.Known(ctx, scope)
	found, err := reason.LoadSkills(os.DirFS(dir))
	errs := []error{wrong, err}
	for _, s := range found {
		if s.Fields["plan"] == "" {
			continue
		}
		plan := reason.Suggestion{Plan: reason.Plan{ID: s.Fields["plan"]}, Retired: s.Fields["retired"] == "true"}
		written := func(k reason.Suggestion) bool { return k.ID == plan.ID && k.Edited }
		if changed(s) || slices.ContainsFunc(known.Suggestions, written) {
			var steps []step
			if err := json.Unmarshal([]byte(block(s)), &steps); err != nil {
				errs = append(errs, fmt.Errorf("skills: %s: its calls: %w", s.Name, err))
				continue
			}
			for _, st := range steps {
				plan.Calls = append(plan.Calls, reason.PlanCall{Name: st.Call, Inputs: st.Inputs})
			}
		}
		did, err := l.Edit(ctx, scope, plan)
		if err != nil {
			errs = append(errs, fmt.Errorf("skills: %s: %w", s.Name, err))
		}
		if did {
			edited++
		}
	}
	return edited, errors.Join(errs...)
}

var (
	others = regexp.MustCompile(`[^a-z0-9]+`)
	fenced = regexp.MustCompile("(?s)^.*?```json\n(.*?)\n```.*$")
)

// file returns the name and the text of a plan's file.
func file(s reason.Suggestion) (name, text string) {
	steps := make([]step, len(s.Calls))
	for i, c := range s.Calls {
		steps[i] = step{c.Name, c.Inputs}
	}
	calls, _ := json.MarshalIndent(steps, "", "  ") // inputs of a plan are JSON
	slug := strings.Trim(others.ReplaceAllString(strings.ToLower(s.Name), "-"), "-")
	slug = strings.TrimRight(slug[:min(len(slug), 48)], "-") // "": the words have no such letter
	name = strings.TrimLeft(slug+"-"+digest(s.ID)[:6], "-")
	what := strings.ReplaceAll(strings.Join(strings.Fields(s.Name), " "), "```", "'''")
	short := []rune("Use for: " + what)
	description, _ := json.Marshal(string(short[:min(len(short), 250)])) // a string is JSON
	return name, fmt.Sprintf("---\nname: %s\ndescription: %s\nretired: false\n"+
		"metadata:\n  delivered: %d\n  plan: %q\n  wrote: %q\n---\n\n"+
		"# When\n\n%s\n\n# Calls\n\nEach {name} stands for a value of the case.\n\n```json\n%s\n```\n",
		name, description, s.Delivered, s.ID, digest(string(calls)), what, calls)
}

func digest(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s)))[:16] }

// block is the JSON of a skill's calls; where there is none, its text.
func block(s reason.Skill) string { return fenced.ReplaceAllString(s.Text, "$1") }

// changed reports whether a person has changed a file, or retired its plan.
func changed(s reason.Skill) bool {
	return s.Fields["retired"] != "false" || s.Fields["wrote"] != digest(block(s))
}
