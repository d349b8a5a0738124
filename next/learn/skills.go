package learn

import (
	"bytes"
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

	"github.com/arc-learn/arc/next/internal/yaml"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/store"
)

// edit is a plan as a person has written it. It is suggested until it was delivered twice.
type edit struct {
	Plan  string // the ID of the plan that it was written over
	Calls []reason.PlanCall
	At    time.Time
}

// manual is a plan of a scope as a SKILL.md.
type manual struct {
	name, key string
	*contender
	calls []byte // of the plan, as JSON
}

// step is a call as it stands in a SKILL.md.
type step struct {
	Call   string          `json:"call"`
	Inputs json.RawMessage `json:"inputs,omitempty"`
}

// WriteSkills writes each plan of a scope that fires as dir/NAME/SKILL.md: when it is for, its calls with {name} for
// parameters, and its evidence in the front matter. It returns how many were written. A file that a person has
// changed stays as it is until [Layer.ReadSkills] has read it. One directory is for one scope.
func (l *Layer) WriteSkills(ctx context.Context, scope memory.Scope, dir string) (written int, err error) {
	err = l.manuals(ctx, scope, func(r *record, m *manual) error {
		path := filepath.Join(dir, m.name, "SKILL.md")
		old, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil {
			if s, err := parseSkill(old); err != nil || s.retired || s.wrote != digest(string(s.calls)) {
				return nil // a person's
			}
		}
		text := m.text(r)
		if bytes.Equal(old, text) {
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path+".new", text, 0o644); err != nil {
			return err
		}
		written++
		return os.Rename(path+".new", path)
	})
	if err != nil {
		return written, fmt.Errorf("learn: skills: %w", err)
	}
	return written, nil
}

// manuals calls f for each plan of a scope that fires.
func (l *Layer) manuals(ctx context.Context, scope memory.Scope, f func(*record, *manual) error) error {
	st := l.group.Store()
	for e, err := range st.Scan(ctx, store.Range{Prefix: scope.Prefix(planKind)}) {
		if err != nil {
			return err
		}
		_, _, key, _ := store.ParseKey(e.Key)
		r, _, err := load[record](ctx, st, e.Key)
		if err != nil {
			return err
		}
		for _, p := range r.contenders(scope) {
			if err := l.valid(ctx, p); err != nil {
				return err
			}
			ready := slices.ContainsFunc(p.of, func(d *compared) bool {
				_, why := p.fire(d.shape)
				return why == ""
			})
			sg, ok := p.suggestion(&shape{}, r.Template)
			if !ready || !ok {
				continue
			}
			m := &manual{key: key, contender: p, calls: stepsOf(sg.Plan.Calls)}
			m.name = slug(r.Situation+" "+summary(sg.Plan.Calls)) + "-" + digest(key + p.ID)[:6]
			if err := f(&r, m); err != nil {
				return err
			}
		}
	}
	return nil
}

func stepsOf(calls []reason.PlanCall) []byte {
	steps := make([]step, len(calls))
	for i, c := range calls {
		steps[i] = step{c.Name, c.Inputs}
	}
	var b bytes.Buffer
	if json.Indent(&b, encode(steps), "", "  ") != nil {
		return nil
	}
	return b.Bytes()
}

// text is the SKILL.md.
func (m *manual) text(r *record) []byte {
	var b bytes.Buffer
	when := r.Situation
	if when == "" {
		when = r.Template
	}
	fmt.Fprintf(&b, "---\nname: %s\ndescription: %s\nretired: false\nmetadata:\n", m.name, encode(oneLine("Use for: "+when, 400)))
	fmt.Fprintf(&b, "  delivered: %d\n  failed: %d\n  last: %s\n  plan: %q\n  wrote: %q\n---\n\n", m.Delivered, m.Failed,
		m.Last.UTC().Format(time.RFC3339), m.key+"/"+m.ID, digest(string(m.calls)))
	fmt.Fprintf(&b, "# When\n\n%s\n\n", oneLine(r.Template, 4000))
	if len(r.Conditions) > 0 {
		fmt.Fprintf(&b, "Only where: %s\n\n", oneLine(strings.Join(r.Conditions, "; "), 1000))
	}
	fmt.Fprintf(&b, "# Calls\n\nEach {name} stands for a value of the case.\n\n```json\n%s\n```\n", m.calls)
	return b.Bytes()
}

func oneLine(s string, most int) string {
	s = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "```", "'''")
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}

// slug is a name of lower-case letters, digits and hyphens.
func slug(s string) string {
	var words []string
	n := 0
	for _, w := range runs(strings.ToLower(s)) {
		if w = plainLetters.FindString(w); w != "" && n+len(w) < 48 {
			words = append(words, w)
			n += len(w) + 1
		}
	}
	if len(words) == 0 {
		return "plan"
	}
	return strings.Join(words, "-")
}

var (
	plainLetters = regexp.MustCompile(`^[a-z0-9]+$`)
	braced       = regexp.MustCompile(`\{([^{}]+)\}`)
	fenced       = regexp.MustCompile("(?s)```json\n(.*?)\n```")
)

// skillFile is what ReadSkills reads in a SKILL.md.
type skillFile struct {
	plan, wrote string
	retired     bool
	calls       []byte
	steps       []step
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
	s.calls = []byte(block[1])
	if err := json.Unmarshal(s.calls, &s.steps); err != nil {
		return s, fmt.Errorf("its calls: %w", err)
	}
	for _, st := range s.steps {
		if _, err := decode(st.Inputs); err != nil || st.Call == "" {
			return s, errors.New("a call has no name, or inputs that are no JSON")
		}
	}
	return s, nil
}

// ReadSkills takes up what a person has changed in the files of [Layer.WriteSkills], and returns how many plans that
// concerns. Changed calls are suggested until they were delivered twice; until then the former plan does not fire.
// A plan with retired: true neither fires nor is suggested, until that is taken back. A file that cannot be read is
// left out, and an error at the end.
func (l *Layer) ReadSkills(ctx context.Context, scope memory.Scope, dir string) (changed int, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*", "SKILL.md"))
	if err != nil {
		return 0, fmt.Errorf("learn: skills: %w", err)
	}
	var errs []error
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err == nil {
			var s skillFile
			if s, err = parseSkill(text); err == nil {
				var did bool
				if did, err = l.take(ctx, scope, &s); did {
					changed++
				}
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("learn: %s: %w", path, err))
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
	err = l.group.Update(ctx, func(b *store.Batch) error {
		changed = false
		at := scope.Key(planKind, key)
		r, rev, err := load[record](ctx, b, at)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(r.Plans, func(p plan) bool { return p.ID == id })
		if i < 0 {
			return fmt.Errorf("no plan %q is known in %q", s.plan, scope)
		}
		if p := &r.Plans[i]; p.Retired != s.retired {
			p.Retired, changed = s.retired, true
		}
		if !s.retired && s.wrote != digest(string(s.calls)) {
			e := edit{Plan: id, At: l.opts.Now()}
			for _, st := range s.steps {
				e.Calls = append(e.Calls, reason.PlanCall{Name: st.Call, Inputs: st.Inputs})
			}
			same := func(o edit) bool { return o.Plan == id && samePlan(o.Calls, e.Calls) }
			if !slices.ContainsFunc(r.Edits, same) {
				r.Edits = append(slices.DeleteFunc(r.Edits, func(o edit) bool { return o.Plan == id }), e)
				r.Stops = append(r.Stops, stop{Plan: id, At: e.At})
				changed = true
			}
		}
		if !changed {
			return nil
		}
		return put(b, at, &r, rev)
	})
	return changed, err
}

// suggestion shows a plan as a person has written it, while it was delivered less than twice since.
func (e *edit) suggestion(found []*contender) (s reason.Suggestion, ok bool) {
	id, since := planID(e.Calls), 0
	for _, p := range found {
		for _, d := range p.of {
			if p.ID == id && d.At.After(e.At) {
				since++
			}
		}
	}
	for _, c := range e.Calls {
		for _, m := range braced.FindAllStringSubmatch(string(c.Inputs), -1) {
			if !slices.Contains(s.Parameters, m[1]) {
				s.Parameters = append(s.Parameters, m[1])
			}
		}
	}
	s.Plan.Calls, s.Delivered = slices.Clone(e.Calls), since
	return s, since < 2
}
