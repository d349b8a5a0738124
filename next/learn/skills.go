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

	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/internal/yaml"
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
	done := make(map[string]bool)
	err = l.each(ctx, scope, func(key string, r *record, p *plan, why string) error {
		id := key + "/" + p.ID
		if why != "" || done[id] { // the scope's own, and then not what scopes below it share
			return nil
		}
		done[id] = true
		wrote, err := writeSkill(dir, id, r, p)
		if wrote {
			written++
		}
		return err
	})
	if err != nil {
		return written, fmt.Errorf("learn: skills: %w", err)
	}
	return written, nil
}

// each calls f for each plan of a scope, by key, in a Lessons scope also for those that the scopes below it share. Why
// says why the plan fires for none of the cases that it delivered; "": it does.
func (l *Layer) each(ctx context.Context, scope memory.Scope, f func(key string, r *record, p *plan, why string) error) error {
	for e, err := range l.group.Store().Scan(ctx, store.Range{Prefix: scope.Prefix(planKind)}) {
		var r record
		if err == nil {
			err = codec.Unmarshal(e.Value, &r)
		}
		_, _, key, _ := store.ParseKey(e.Key)
		var plans []*plan
		if err == nil && r.Paths != nil { // of a key, not of one case
			plans, _, err = l.plans(ctx, &Case{Scope: scope, Lessons: scope}, key, "")
		}
		for _, p := range plans {
			why := ""
			for _, d := range p.Deliveries {
				if _, why = p.fire(d.shape, nil, nil); why == "" {
					break
				}
			}
			err = cmp.Or(err, f(key, &r, p, why))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Known returns what a scope has learned, for a person: its plans, in a Lessons scope also those that the scopes below
// it share, and its warnings. The Name of a suggestion are the words of its cases; it differs by why it does not fire
// for any of them, and by nothing if it does.
func (l *Layer) Known(ctx context.Context, scope memory.Scope) (k reason.Known, err error) {
	c := &Case{Scope: scope, Lessons: scope}
	err = cmp.Or(scope.Check(), l.each(ctx, scope, func(_ string, r *record, p *plan, why string) error {
		sg, ok := p.suggestion(&shape{}, r.Template)
		if !ok { // its deliveries do not count any more
			for _, call := range p.Deliveries[0].Calls {
				sg.Calls = append(sg.Calls, reason.PlanCall{Name: call.Name})
			}
		}
		sg.Name, sg.Differs, sg.Delivered = strings.TrimPrefix(r.Situation+": "+r.Template, ": "), why, p.Delivered
		k.Suggestions = append(k.Suggestions, sg)
		return nil
	}))
	for e, no := range l.group.Store().Scan(ctx, store.Range{Prefix: scope.Prefix(warnKind)}) {
		_, _, id, _ := store.ParseKey(e.Key)
		if err = cmp.Or(err, no); err == nil {
			var ws []reason.Warning
			ws, err = l.warnings(ctx, c, &shape{}, id)
			k.Warnings = append(k.Warnings, ws...)
		}
	}
	if err != nil {
		return k, fmt.Errorf("learn: %w", err)
	}
	return k, nil
}

// writeSkill writes the file of a plan, unless a person has changed it or it says the same.
func writeSkill(dir, id string, r *record, p *plan) (wrote bool, err error) {
	sg, _ := p.suggestion(&shape{}, r.Template)
	when, steps := cmp.Or(r.Situation, r.Template), stepsOf(sg.Calls)
	name := slug(when+" "+summary(p.Deliveries[0].Calls)) + "-" + digest(id)[:6]
	path := filepath.Join(dir, name, "SKILL.md")
	only := ""
	if len(r.Conditions) > 0 {
		only = "Only where: " + oneLine(strings.Join(r.Conditions, "; "), 1000) + "\n\n"
	}
	text := fmt.Sprintf("---\nname: %s\ndescription: %s\nretired: false\nmetadata:\n  delivered: %d\n  failed: %d\n"+
		"  last: %s\n  plan: %q\n  wrote: %q\n---\n\n# When\n\n%s\n\n%s# Calls\n\n"+
		"Each {name} stands for a value of the case.\n\n```json\n%s\n```\n",
		name, encode("Use for: "+oneLine(when, 400)), p.Delivered, p.Failed, p.Last.UTC().Format(time.RFC3339), id, digest(steps),
		oneLine(r.Template, 4000), only, steps)
	if old, err := os.ReadFile(path); err == nil {
		if s, err := parseSkill(old); err != nil || s.retired || s.wrote != digest(s.block) || string(old) == text {
			return false, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	err = cmp.Or(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path+".new", []byte(text), 0o644))
	if err != nil {
		return false, err
	}
	return true, os.Rename(path+".new", path)
}

func oneLine(s string, most int) string {
	s = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "```", "'''")
	return head(s, most)
}

// slug is a name of lower-case letters, digits and hyphens, of at most 48.
func slug(s string) string {
	name := strings.Trim(plainLetters.ReplaceAllString(strings.ToLower(s), "-"), "-")
	return cmp.Or(strings.TrimRight(name[:min(len(name), 48)], "-"), "plan")
}

var (
	plainLetters = regexp.MustCompile(`[^a-z0-9]+`)
	braced       = regexp.MustCompile(`\{([^{}]+)\}`)
	fenced       = regexp.MustCompile("(?s)```json\n(.*?)\n```")
)

// skillFile is what ReadSkills reads in a SKILL.md.
type skillFile struct {
	plan, wrote, block string
	retired            bool
	calls              []reason.PlanCall
}

func parseSkill(text []byte) (s skillFile, err error) {
	head, body, ok := strings.Cut(strings.TrimPrefix(strings.ReplaceAll(string(text), "\r\n", "\n"), "---\n"), "\n---\n")
	if !ok {
		return s, errors.New("no front matter between two lines of ---")
	}
	front := map[string]any{}
	if err := yaml.Decode([]byte(head), &front); err != nil {
		return s, err
	}
	s.retired, _ = front["retired"].(bool)
	meta, _ := front["metadata"].(map[string]any)
	s.plan, _ = meta["plan"].(string)
	s.wrote, _ = meta["wrote"].(string)
	block := fenced.FindStringSubmatch(body)
	if s.plan == "" || block == nil {
		return s, errors.New("no plan in its metadata, or no block of JSON")
	}
	var steps []step
	s.block = block[1]
	if err := json.Unmarshal([]byte(s.block), &steps); err != nil {
		return s, fmt.Errorf("its calls: %w", err)
	}
	for _, st := range steps {
		if _, err := decode(st.Inputs); err != nil || st.Call == "" {
			return s, errors.New("a call has no name, or inputs that are no JSON")
		}
		s.calls = append(s.calls, reason.PlanCall{Name: st.Call, Inputs: st.Inputs})
	}
	return s, nil
}

// ReadSkills takes up what a person has changed in the files of [Layer.WriteSkills], and returns how many plans that
// concerns. Changed calls are suggested until they were delivered twice; until then the former plan does not fire.
// A plan with retired: true neither fires nor is suggested, until that is taken back. What is changed in a Lessons scope
// holds for the scopes below it. A file that cannot be read is left out, and an error at the end.
func (l *Layer) ReadSkills(ctx context.Context, scope memory.Scope, dir string) (changed int, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*", "SKILL.md"))
	if err != nil {
		return 0, fmt.Errorf("learn: skills: %w", err)
	}
	var errs []error
	for _, path := range paths {
		did := false
		text, err := os.ReadFile(path)
		s, err2 := parseSkill(text)
		if err = cmp.Or(err, err2); err == nil {
			did, err = l.take(ctx, scope, &s)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("learn: %s: %w", path, err))
		}
		if did {
			changed++
		}
	}
	return changed, errors.Join(errs...)
}

// take takes up a file.
func (l *Layer) take(ctx context.Context, scope memory.Scope, s *skillFile) (changed bool, err error) {
	key, id, _ := strings.Cut(s.plan, "/")
	if err := store.CheckID(key); err != nil {
		return false, err
	}
	known, over, err := l.plans(ctx, &Case{Scope: scope, Lessons: scope}, key, "")
	if err != nil {
		return false, err
	}
	if over[0].plan(id) == nil && !slices.ContainsFunc(known, func(p *plan) bool { return p.ID == id }) {
		return false, fmt.Errorf("no plan %q is known in %q", s.plan, scope)
	}
	err = l.group.Update(ctx, func(b *store.Batch) error {
		return edit(ctx, b, scope.Key(planKind, key), func(r *record) (bool, error) {
			p := r.of(id) // its deliveries stay where they are
			changed, p.Retired = p.Retired != s.retired, s.retired
			if !s.retired && s.wrote != digest(s.block) && !samePlan(p.Edit, s.calls) {
				p.Edit, p.Edited, changed = s.calls, l.opts.Now(), true
			}
			return changed, nil
		})
	})
	return changed, err
}

// edits shows the plans that a person has written over those of a record, each while it was delivered less than twice
// since.
func (r *record) edits(found []*plan) (out []reason.Suggestion) {
	for _, e := range r.Plans {
		id, since := planID(&reason.Plan{Calls: e.Edit}), make(map[string]bool) // one delivery may be the scope's own and shared
		for _, p := range found {
			for _, d := range p.Deliveries {
				if p.ID == id && !p.exact && d.At.After(e.Edited) {
					since[string(d.scope)+" "+d.ID] = true
				}
			}
		}
		if e.Edit != nil && !e.Retired && len(since) < 2 {
			out = append(out, reason.Suggestion{Plan: reason.Plan{Calls: slices.Clone(e.Edit)}, Parameters: parameters(e.Edit),
				Delivered: len(since)})
		}
	}
	return out
}
