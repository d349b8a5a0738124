// Package skills keeps the plans that a learn.Layer has learned as files that a person reads, edits and
// retires: each as DIR/NAME/SKILL.md, the form that coding agents read skills in.
//
//	changed, err := skills.Sync(ctx, layer, "acme", dir)  // at the start: what a person has changed
//	written, err := skills.Write(ctx, layer, "acme", dir) // now and then: what was learned since
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
// wrote is a digest of the calls and of retired, as Write wrote them: where they differ, a person has changed
// them. A file that git puts back as it was is unchanged, and is written anew. A folder that was renamed, or
// whose plan has another name now or is gone, is ignored: delete it. One directory is for one scope.
package skills

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/renameio/v2/maybe"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// step is a call as it stands in a file.
type step struct {
	Call   string          `json:"call"`
	Inputs json.RawMessage `json:"inputs,omitempty"`
}

// Write writes each plan of a scope that fires, and each that a person has changed or retired, and returns
// how many files it wrote. In a Lessons scope those are also the plans that the scopes below it share. A file
// with a change that [Sync] has not taken up stays as it is; a file that is missing is written again.
func Write(ctx context.Context, l *learn.Layer, scope memory.Scope, dir string) (written int, err error) {
	known, err := l.Known(ctx, scope)
	if err != nil {
		return 0, err
	}
	for _, s := range known.Suggestions {
		if s.Differs != "" && !s.Retired && !s.Edited {
			continue // it does not fire
		}
		name, text := file(s)
		path := filepath.Join(dir, name, "SKILL.md")
		old, err := os.ReadFile(path)
		if err == nil {
			plan, wrote, err := load(dir, name)
			unread := stamp(plan) != wrote && stamp(plan) != stamp(s)
			if err != nil || unread || string(old) == text {
				continue // what cannot be read stays as it is
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = maybe.WriteFile(path, []byte(text), 0o600) // it has customers' words
		}
		if err != nil {
			return written, fmt.Errorf("skills: %w", err)
		}
		written++
	}
	return written, nil
}

// Sync takes up what a person has changed in the files of [Write], and then writes as that does. It returns
// how many plans were changed: in their calls, or in retired, true or false, see learn.Layer.Edit. A file
// that cannot be read is an error at the end; one in another folder than its plan's is left out.
func Sync(ctx context.Context, l *learn.Layer, scope memory.Scope, dir string) (edited int, err error) {
	known, err := l.Known(ctx, scope)
	errs := []error{err}
	for _, s := range known.Suggestions {
		name, _ := file(s)
		plan, wrote, err := load(dir, name)
		did := false
		if err == nil && plan.ID == s.ID && stamp(plan) != wrote {
			did, err = l.Edit(ctx, scope, plan)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("skills: %s: %w", name, err))
		}
		if did {
			edited++
		}
	}
	_, err = Write(ctx, l, scope, dir) // what was taken up once must not be again, over a later Edit
	return edited, errors.Join(append(errs, err)...)
}

var fenced = regexp.MustCompile("(?s)^.*?```json\n(.*?)\n```.*$")

// file returns the name and the text of a plan's file.
func file(s reason.Suggestion) (name, text string) {
	other := func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789", r) }
	slug := strings.Join(strings.FieldsFunc(strings.ToLower(s.Name), other), "-")
	slug = strings.TrimRight(slug[:min(len(slug), 48)], "-") // "": the words have no such letter
	name = strings.TrimLeft(slug+"-"+digest(s.ID)[:6], "-")
	what := strings.ReplaceAll(fence.Line(s.Name), "```", "'''")
	description, _ := json.Marshal(fence.Clip("Use for: "+what, 1000)) // a string is JSON
	return name, fmt.Sprintf("---\nname: %s\ndescription: %s\nretired: %t\n"+
		"metadata:\n  delivered: %d\n  plan: %q\n  wrote: %q\n---\n\n"+
		"# When\n\n%s\n\n# Calls\n\nEach {name} stands for a value of the case. "+
		"Change the calls, or retired above: all else is written over.\n\n```json\n%s\n```\n",
		name, description, s.Retired, s.Delivered, s.ID, stamp(s), what, block(s))
}

// folder is that of one plan, and has no others in it.
type folder struct{ fs.FS }

// Glob implements fs.GlobFS.
func (folder) Glob(string) ([]string, error) { return []string{"SKILL.md"}, nil }

// load is a plan as its file has it, and the stamp that Write gave it.
func load(dir, name string) (plan reason.Suggestion, wrote string, err error) {
	found, err := reason.LoadSkills(folder{os.DirFS(filepath.Join(dir, name))})
	if err != nil {
		return plan, "", err
	}
	s := found[0]
	plan.ID, wrote = s.Fields["plan"], s.Fields["wrote"]
	if plan.Retired, err = strconv.ParseBool(s.Fields["retired"]); err != nil {
		return plan, "", errors.New("retired is neither true nor false")
	}
	var steps []step
	if err = json.Unmarshal([]byte(fenced.ReplaceAllString(s.Text, "$1")), &steps); err != nil {
		return plan, "", fmt.Errorf("its calls: %w", err)
	}
	for _, st := range steps {
		plan.Calls = append(plan.Calls, reason.PlanCall{Name: st.Call, Inputs: st.Inputs})
	}
	return plan, wrote, nil
}

// block has the calls of a plan, in one form however they are spelled.
func block(s reason.Suggestion) string {
	steps := make([]step, len(s.Calls))
	for i, c := range s.Calls {
		inputs, _ := schema.Canonical(c.Inputs) // Edit refuses what has none
		steps[i] = step{c.Name, inputs}
	}
	calls, _ := json.MarshalIndent(steps, "", "  ")
	return string(fence.Escaped(calls))
}

// stamp is a digest of what a person can change in a plan.
func stamp(s reason.Suggestion) string { return digest(fmt.Sprint(s.Retired, block(s))) }

func digest(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s)))[:16] }
