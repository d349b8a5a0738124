package learn

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/next/internal/fence"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/store"
)

// step is a call as it stands in a SKILL.md.
type step struct {
	Call   string          `json:"call"`
	Inputs json.RawMessage `json:"inputs,omitempty"`
}

func stepsOf(calls []reason.PlanCall) string {
	steps := make([]step, len(calls))
	for i, c := range calls {
		steps[i] = step{c.Name, c.Inputs}
	}
	var b bytes.Buffer
	_ = json.Indent(&b, encode(steps), "", "  ")
	return b.String()
}

// WriteSkills writes each plan of a scope that fires as dir/NAME/SKILL.md: when it is for, its calls with {name} for
// parameters, and its evidence in the front matter. In a Lessons scope those are also the plans that fire for the scopes
// below it. It returns how many were written. A file that a person has changed stays as it is until
// [Layer.ReadSkills] has read it. One directory is for one scope.
func (l *Layer) WriteSkills(ctx context.Context, scope memory.Scope, dir string) (written int, err error) {
	there := make(map[string]reason.Skill)
	skills, _ := reason.LoadSkills(os.DirFS(dir)) // what cannot be read stays as it is
	for _, s := range skills {
		there[s.Name] = s
	}
	done := make(map[string]bool)
	err = l.each(ctx, scope, func(key string, r *record, p *plan, why string) error {
		id := key + "/" + p.ID
		if why != "" || done[id] { // the scope's own, and then not what scopes below it share
			return nil
		}
		done[id] = true
		name, text := skillOf(id, r, p)
		path := filepath.Join(dir, name, "SKILL.md")
		switch old, err := os.ReadFile(path); {
		case err == nil && (changedSkill(there[name]) || string(old) == text):
			return nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
		written++
		return cmp.Or(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path+".new", []byte(text), 0o644), os.Rename(path+".new", path))
	})
	if err != nil {
		return written, fmt.Errorf("learn: skills: %w", err)
	}
	return written, nil
}

// each calls f for each plan of a scope, by key, in a Lessons scope also for those that the scopes below it share. Why
// says why the plan fires for none of the cases that it delivered; "": it does.
func (l *Layer) each(ctx context.Context, scope memory.Scope, f func(key string, r *record, p *plan, why string) error) error {
	return scan(ctx, l.group.Store(), scope, planKind, func(key string, _ store.Entry, r *record) error {
		if r.Paths == nil {
			return nil // of one case
		}
		plans, _, err := l.plans(ctx, &Case{Scope: scope, Lessons: scope}, key, "")
		for _, p := range plans {
			why := p.why
			for _, d := range p.Deliveries {
				if _, why = p.fire(&shape{in: d.in}, nil, nil); why == "" {
					break
				}
			}
			err = cmp.Or(err, f(key, r, p, why))
		}
		return err
	})
}

// Known returns what a scope has learned, for a person: its plans, in a Lessons scope also those that the scopes below
// it share, and its warnings. The Name of a suggestion are the words of its cases; it differs by why it does not fire
// for any of them, and by nothing if it does. One whose deliveries do not count any more has no calls.
func (l *Layer) Known(ctx context.Context, scope memory.Scope) (k reason.Known, err error) {
	if err := scope.Check(); err != nil {
		return k, fmt.Errorf("learn: %w", err)
	}
	err = l.each(ctx, scope, func(_ string, r *record, p *plan, why string) error {
		sg, _ := p.suggestion(&shape{}, r.Template)
		sg.Name, sg.Differs, sg.Delivered = strings.TrimPrefix(r.Situation+": "+r.Template, ": "), why, p.Delivered
		k.Suggestions = append(k.Suggestions, sg)
		return nil
	})
	return k, cmp.Or(err, scan(ctx, l.group.Store(), scope, warnKind, func(id string, _ store.Entry, _ *record) error {
		ws, err := l.warnings(ctx, &Case{Scope: scope, Lessons: scope}, &shape{}, id)
		k.Warnings = append(k.Warnings, ws...)
		return err
	}))
}

// skillOf returns the name and the file of a plan.
func skillOf(id string, r *record, p *plan) (name, text string) {
	sg, _ := p.suggestion(&shape{}, r.Template)
	when, steps, only := cmp.Or(r.Situation, r.Template), fence.Visible(stepsOf(sg.Calls)), ""
	slug := strings.Trim(plainLetters.ReplaceAllString(strings.ToLower(when+" "+summary(sg.Calls)), "-"), "-")
	name = strings.TrimRight(slug[:min(len(slug), 48)], "-") + "-" + digest(id)[:6]
	if len(r.Conditions) > 0 {
		only = "Only where: " + oneLine(strings.Join(r.Conditions, "; "), 1000) + "\n\n"
	}
	return name, fmt.Sprintf("---\nname: %s\ndescription: %s\nretired: false\nmetadata:\n  delivered: %d\n  failed: %d\n"+
		"  last: %s\n  plan: %q\n  wrote: %q\n---\n\n# When\n\n%s\n\n%s# Calls\n\n"+
		"Each {name} stands for a value of the case.\n\n```json\n%s\n```\n",
		name, encode("Use for: "+oneLine(when, 400)), p.Delivered, p.Failed, p.Last.UTC().Format(time.RFC3339), id, digest(steps),
		oneLine(r.Template, 4000), only, steps)
}

func oneLine(s string, most int) string {
	return head(strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "```", "'''"), most)
}

var (
	plainLetters = regexp.MustCompile(`[^a-z0-9]+`)
	braced       = regexp.MustCompile(`\{([^{}]+)\}`)
	fenced       = regexp.MustCompile("(?s)```json\n(.*?)\n```")
)

// block is the JSON of a skill's calls, "" if there is none.
func block(s reason.Skill) string {
	if b := fenced.FindStringSubmatch(s.Text); b != nil {
		return b[1]
	}
	return ""
}

// changedSkill reports whether a person has changed a file, or retired its plan.
func changedSkill(s reason.Skill) bool {
	return s.Fields["retired"] != "false" || s.Fields["wrote"] != digest(block(s))
}

// ReadSkills takes up what a person has changed in the files of [Layer.WriteSkills], and returns how many plans that
// concerns. Changed calls are suggested until a plan with them fires, which takes two deliveries; the former plan does
// not fire. A plan with retired: true neither fires nor is suggested, until that is taken back. What is changed in a
// Lessons scope holds for the scopes below it. A file that cannot be read is left out, and an error at the end; one that
// somebody else has written is left out.
func (l *Layer) ReadSkills(ctx context.Context, scope memory.Scope, dir string) (changed int, err error) {
	skills, err := reason.LoadSkills(os.DirFS(dir))
	errs := []error{err}
	for _, s := range skills {
		if s.Fields["plan"] == "" {
			continue
		}
		did, err := l.take(ctx, scope, s)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Name, err))
		}
		if did {
			changed++
		}
	}
	if err := errors.Join(errs...); err != nil {
		return changed, fmt.Errorf("learn: %w", err)
	}
	return changed, nil
}

// take takes up a file.
func (l *Layer) take(ctx context.Context, scope memory.Scope, s reason.Skill) (changed bool, err error) {
	calls, err := callsOf(block(s))
	if err != nil {
		return false, err
	}
	key, id, _ := strings.Cut(s.Fields["plan"], "/")
	if err := store.CheckID(key); err != nil {
		return false, err
	}
	known, _, err := l.plans(ctx, &Case{Scope: scope, Lessons: scope}, key, "")
	if err != nil {
		return false, err
	}
	err = l.group.Update(ctx, func(b *store.Batch) error {
		return edit(ctx, b, scope.Key(planKind, key), func(r *record) (bool, error) {
			if r.plan(id) == nil && !slices.ContainsFunc(known, func(p *plan) bool { return p.ID == id }) {
				return false, fmt.Errorf("no plan %q is known in %q", s.Fields["plan"], scope)
			}
			p, retired := r.of(id), s.Fields["retired"] == "true" // its deliveries stay where they are
			changed, p.Retired = p.Retired != retired, retired
			if !retired && changedSkill(s) && !samePlan(p.Edit, calls) {
				p.Edit, changed = calls, true
				p.stop(stop{At: l.opts.Now()})
			}
			return changed, nil
		})
	})
	return changed, err
}

// callsOf reads the calls of a SKILL.md.
func callsOf(block string) (calls []reason.PlanCall, err error) {
	var steps []step
	if err := json.Unmarshal([]byte(block), &steps); err != nil {
		return nil, fmt.Errorf("its calls: %w", err)
	}
	for _, st := range steps {
		if _, err := decode(st.Inputs); err != nil || st.Call == "" {
			return nil, errors.New("a call has no name, or inputs that are no JSON")
		}
		calls = append(calls, reason.PlanCall{Name: st.Call, Inputs: st.Inputs})
	}
	return calls, nil
}
