// Package skills keeps the plans that a learn.Layer has learned as files that a person reads, edits and
// retires: each as DIR/NAME/SKILL.md, the form that coding agents read skills in.
//
//	changed, err := skills.Read(ctx, layer, "acme", dir)  // at the start: what a person has changed
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
// wrote is a digest of calls and retired as Write wrote them: others are a person's. A file that is put back
// as it was, as by git, says nothing, and is written anew. One directory is for one scope.
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
	"strconv"
	"strings"

	"github.com/google/renameio/v2/maybe"

	"github.com/arc-learn/arc/internal/fence"
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
// with a change that [Read] has not taken up stays as it is; a file that is missing is written again.
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
		if s.Differs != "" && !s.Retired && !s.Edited {
			continue // it does not fire
		}
		name, text := file(s)
		path := filepath.Join(dir, name, "SKILL.md")
		old, err := os.ReadFile(path)
		if err == nil {
			plan, err := parse(there[name])
			unread := stamp(plan) != there[name].Fields["wrote"] && stamp(plan) != stamp(s)
			if err != nil || unread || string(old) == text {
				continue
			}
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = cmp.Or(os.MkdirAll(filepath.Dir(path), 0o755), maybe.WriteFile(path, []byte(text), 0o644))
		}
		if err != nil {
			return written, fmt.Errorf("skills: %w", err)
		}
		written++
	}
	return written, nil
}

// Read takes up what a person has changed in the files of [Write], and then writes as that does. It returns
// how many plans were changed: in their calls, or in retired, true or false, see learn.Layer.Edit. A file
// that cannot be read is an error at the end; one of somebody else, or under another name, is left out.
func Read(ctx context.Context, l *learn.Layer, scope memory.Scope, dir string) (edited int, err error) {
	found, err := reason.LoadSkills(os.DirFS(dir))
	errs := []error{err}
	for _, s := range found {
		if !strings.HasSuffix(s.Name, digest(s.Fields["plan"])[:6]) {
			continue
		}
		plan, err := parse(s)
		did := false
		if err == nil && stamp(plan) != s.Fields["wrote"] {
			did, err = l.Edit(ctx, scope, plan)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("skills: %s: %w", s.Name, err))
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
	what := strings.ReplaceAll(strings.Join(strings.Fields(s.Name), " "), "```", "'''")
	description, _ := json.Marshal(fence.Clip("Use for: "+what, 1000)) // a string is JSON
	return name, fmt.Sprintf("---\nname: %s\ndescription: %s\nretired: %t\n"+
		"metadata:\n  delivered: %d\n  plan: %q\n  wrote: %q\n---\n\n"+
		"# When\n\n%s\n\n# Calls\n\nEach {name} stands for a value of the case. "+
		"Change the calls, or retired above: all else is written over.\n\n```json\n%s\n```\n",
		name, description, s.Retired, s.Delivered, s.ID, stamp(s), what, block(s))
}

// parse is a plan as its file has it.
func parse(s reason.Skill) (plan reason.Suggestion, err error) {
	plan.ID = s.Fields["plan"]
	if plan.Retired, err = strconv.ParseBool(s.Fields["retired"]); err != nil {
		return plan, errors.New("retired is neither true nor false")
	}
	var steps []step
	if err = json.Unmarshal([]byte(fenced.ReplaceAllString(s.Text, "$1")), &steps); err != nil {
		return plan, fmt.Errorf("its calls: %w", err)
	}
	for _, st := range steps {
		plan.Calls = append(plan.Calls, reason.PlanCall{Name: st.Call, Inputs: st.Inputs})
	}
	return plan, nil
}

// block has the calls of a plan.
func block(s reason.Suggestion) string {
	steps := make([]step, len(s.Calls))
	for i, c := range s.Calls {
		steps[i] = step{c.Name, c.Inputs}
	}
	calls, _ := json.MarshalIndent(steps, "", "  ") // inputs of a plan are JSON
	return string(calls)
}

// stamp is a digest of what a person can change in a plan.
func stamp(s reason.Suggestion) string { return digest(fmt.Sprint(s.Retired, block(s))) }

func digest(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s)))[:16] }
