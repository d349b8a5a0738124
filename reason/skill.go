package reason

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/yaml"
)

// Skill is a way of working that the host has written down, see [LoadSkills].
type Skill struct {
	Name        string            // what tasks and workers call it: letters, digits, ".", "_", "-"; at most 64
	Description string            // what it is for, in one line of at most 1,024 bytes
	Text        string            // SKILL.md below its front matter, for the reasoner
	Agent       string            // AGENT.md below its front matter, for the worker; "": there is none
	Fields      map[string]string // what else the front matter says, and its metadata, but for lists and maps
}

var skillName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// LoadSkills reads the skills of a folder: each NAME/SKILL.md, with AGENT.md beside it where the work can be
// delegated. SKILL.md begins with front matter, of which name and description are read, with a # in them:
//
//	---
//	name: go-test
//	description: Run and mend Go tests. For tasks that end with "go test".
//	---
//	Run the package's tests first …
//
// A file is UTF-8 of at most 64 KiB. Characters that do not show are taken out, so that a model reads what a
// reviewer has read. The skills, by name, are all that could be read; the error joins a *fs.PathError for
// each file that could not. Links are followed as fsys does.
func LoadSkills(fsys fs.FS) ([]Skill, error) {
	files, err := fs.Glob(fsys, "*/SKILL.md")
	errs := []error{err}
	var out []Skill
	named := make(map[string]string) // the file of a name
	for _, file := range files {
		s, err := loadSkill(fsys, file)
		if first := named[s.Name]; err == nil && first != "" {
			err = fmt.Errorf("the name %q is given twice, and first in %s", s.Name, first)
		}
		if err != nil {
			errs = append(errs, &fs.PathError{Op: "skill", Path: file, Err: err})
			continue
		}
		named[s.Name] = file
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return out, errors.Join(errs...)
}

func loadSkill(fsys fs.FS, file string) (s Skill, err error) {
	front, body, err := document(fsys, file)
	if err != nil {
		return s, err
	}
	var fields map[string]yaml.Node
	if err := yaml.Decode([]byte(front), &fields); err != nil && !errors.Is(err, io.EOF) { // it is empty
		return s, fmt.Errorf("front matter: %w", err)
	}
	for name, to := range map[string]*string{"name": &s.Name, "description": &s.Description} {
		n := fields[name]
		err := n.Decode(to)
		if *to = fence.Line(*to); err != nil || *to == "" {
			return s, fmt.Errorf("the front matter between two lines --- has no text under %s", name)
		}
	}
	s.Description = fence.Line(s.Description + " " + fields["description"].LineComment) // "see issue #12"
	delete(fields, "name")
	delete(fields, "description")
	if meta := fields["metadata"]; len(meta.Content) > 0 { // null would empty them
		_ = meta.Decode(&fields) // adds to them; what is no map has none
	}
	s.Fields = make(map[string]string)
	for name, n := range fields {
		if n.Value != "" {
			s.Fields[name] = n.Value
		}
	}
	switch {
	case !skillName.MatchString(s.Name):
		return s, fmt.Errorf("the name %.70q is not 1 to 64 of [A-Za-z0-9._-] after a letter or digit", s.Name)
	case len(s.Description) > 1024:
		return s, errors.New("the description has more than 1,024 bytes")
	}
	s.Text = body
	_, s.Agent, err = document(fsys, path.Join(path.Dir(file), "AGENT.md"))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return s, err
}

// document returns the front matter of a file, "" if it has none, and what comes below.
func document(fsys fs.FS, file string) (front, body string, err error) {
	f, err := fsys.Open(file)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSkill+1))
	switch {
	case err != nil:
		return "", "", err
	case len(data) > maxSkill:
		return "", "", fmt.Errorf("more than %d bytes", maxSkill)
	case !utf8.Valid(data):
		return "", "", errors.New("not UTF-8")
	}
	front, body, closed := yaml.Front(fence.Visible(string(data)))
	if !closed {
		err = errors.New("the front matter is not closed by a line ---")
	}
	return front, body, err
}
