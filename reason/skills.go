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

	"go.yaml.in/yaml/v3"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/store"
)

// Skill is a way of working that the host has written down: a folder with a
// file SKILL.md, and AGENT.md beside it where the work may be delegated.
type Skill struct {
	// Name, from the front matter: what tasks and workers call it. It has 1 to
	// 64 bytes of [A-Za-z0-9._-] and begins with a letter or digit.
	Name string
	// Description, from the front matter: what it is for and when it applies,
	// on one line of at most 1024 characters.
	Description string
	// Body is SKILL.md below the front matter: for the Reasoner.
	Body string
	// Agent is AGENT.md below its front matter, if it has one: for the worker.
	// "": there is no AGENT.md.
	Agent string
}

// errSkill is the error of a skill that is not in the form that Skill
// describes, or whose name another one has.
var errSkill = errors.New("bad skill")

// Bounds of LoadSkills: bytes of a file and of its front matter, characters of
// a description, skills, folders above a file, and entries of folders.
const (
	maxSkillFile        = 64 << 10
	maxSkillFront       = 8 << 10
	maxSkillDescription = 1024
	maxSkills           = 256
	maxSkillDepth       = 8
	maxSkillEntries     = 20_000
)

// LoadSkills reads the skills of a file system: of every folder, the root
// included, that has a SKILL.md. That file begins with front matter, a mapping
// in YAML between two lines "---", whose name and description are required;
// other keys are ignored.
//
//	---
//	name: go-test
//	description: Run and mend Go tests. For tasks that end with "go test".
//	---
//	Run the package's tests first …
//
// The skills, by name, are all that could be read; the map belongs to the
// caller. The error joins a *fs.PathError for each file that could not be read,
// with the file system's error, a *store.LimitError, or the words "bad skill"
// and what is wrong. A name that is given twice belongs to the first in order
// of paths. A text has 64 KiB at most; there are at most 256 skills, below at
// most 8 folders, and the walk ends after 20,000 entries.
//
// The texts are taken for the host's own words. Characters that do not show
// (control, bidirectional and tag characters) are taken out of them, so that a
// model reads what a reviewer has read; line ends become newlines. Files are
// read if their folder lists them as regular files, and folders whose name
// begins with a dot are not: no link leads out of the folder or in a circle.
func LoadSkills(fsys fs.FS) (map[string]Skill, error) {
	if guard.IsNil(fsys) {
		return nil, fmt.Errorf("%w: the file system is nil", errSkill)
	}
	l := skillLoader{fsys: fsys, found: make(map[string]Skill)}
	// What is wrong with one file is in l.errs; a bound of all ends the walk.
	if err := fs.WalkDir(fsys, ".", l.visit); err != nil {
		l.errs = append(l.errs, err)
	}
	return l.found, errors.Join(l.errs...)
}

var skillName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// skillLoader walks over a file system, and keeps what it found and what was
// wrong.
type skillLoader struct {
	fsys    fs.FS
	found   map[string]Skill
	errs    []error
	entries int
}

// tooMany is the error that ends the walk at a bound.
func tooMany(path, field string, limit int) error {
	return &fs.PathError{Op: "skill", Path: path, Err: &store.LimitError{Field: field, Limit: limit, Got: limit + 1}}
}

func (l *skillLoader) bad(path string, err error) {
	l.errs = append(l.errs, &fs.PathError{Op: "skill", Path: path, Err: err})
}

// visit looks at one entry. The error ends the walk.
func (l *skillLoader) visit(name string, d fs.DirEntry, err error) error {
	l.entries++
	switch {
	case err != nil:
		l.bad(name, err)
		if d == nil || d.IsDir() {
			return fs.SkipDir
		}
		return nil
	case l.entries > maxSkillEntries:
		return tooMany(name, "entries of skill folders", maxSkillEntries)
	case d.IsDir():
		return l.folder(name)
	case path.Base(name) == "SKILL.md":
		if len(l.found) == maxSkills {
			return tooMany(name, "skills", maxSkills)
		}
		l.skill(name)
	case path.Base(name) == "AGENT.md":
		if _, err := fs.Stat(l.fsys, path.Join(path.Dir(name), "SKILL.md")); errors.Is(err, fs.ErrNotExist) {
			l.bad(name, fmt.Errorf("%w: no SKILL.md beside it", errSkill))
		}
	}
	return nil
}

// folder decides whether the walk goes into a folder.
func (l *skillLoader) folder(name string) error {
	if name == "." {
		return nil
	}
	if strings.HasPrefix(path.Base(name), ".") {
		return fs.SkipDir
	}
	if depth := strings.Count(name, "/") + 1; depth > maxSkillDepth {
		l.bad(name, &store.LimitError{Field: "folders above a skill", Limit: maxSkillDepth, Got: depth})
		return fs.SkipDir
	}
	return nil
}

// skill reads one skill by the path of its SKILL.md.
func (l *skillLoader) skill(name string) {
	var s Skill
	text, err := l.text(name)
	if err == nil {
		s, err = parseSkill(text)
	}
	if _, again := l.found[s.Name]; err == nil && again {
		err = fmt.Errorf("%w: name %q is given twice", errSkill, s.Name)
	}
	if err != nil {
		l.bad(name, err)
		return
	}
	agent := path.Join(path.Dir(name), "AGENT.md")
	text, err = l.text(agent)
	if err == nil {
		_, s.Agent, err = cutFront(text)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.bad(agent, err) // the skill is of no use without what its worker has to know
		return
	}
	l.found[s.Name] = s
}

// text returns what shows of a file.
func (l *skillLoader) text(name string) (string, error) {
	entries, err := fs.ReadDir(l.fsys, path.Dir(name))
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(entries, func(d fs.DirEntry) bool { return d.Name() == path.Base(name) })
	if i < 0 {
		return "", fs.ErrNotExist
	}
	if !entries[i].Type().IsRegular() {
		return "", fmt.Errorf("%w: not a regular file", errSkill)
	}
	f, err := l.fsys.Open(name)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSkillFile+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	switch {
	case len(data) > maxSkillFile:
		return "", &store.LimitError{Field: "text of a skill", Limit: maxSkillFile, Got: len(data)}
	case !utf8.Valid(data):
		return "", fmt.Errorf("%w: not valid UTF-8", errSkill)
	}
	return fence.Visible(string(data)), nil
}

// parseSkill returns the skill of a SKILL.md.
func parseSkill(text string) (Skill, error) {
	front, body, err := cutFront(text)
	if err != nil {
		return Skill{}, err
	}
	s := Skill{Body: body}
	switch err := s.readFront(front); {
	case err != nil:
		return Skill{}, err
	case s.Name == "":
		return Skill{}, fmt.Errorf("%w: the front matter has no name", errSkill)
	case !skillName.MatchString(s.Name):
		return Skill{}, fmt.Errorf("%w: name %.70q is not 1 to 64 of [A-Za-z0-9._-] after a letter or digit",
			errSkill, s.Name)
	case s.Description == "":
		return Skill{}, fmt.Errorf("%w: the front matter has no description", errSkill)
	}
	if n := utf8.RuneCountInString(s.Description); n > maxSkillDescription {
		return Skill{}, &store.LimitError{Field: "description of a skill", Limit: maxSkillDescription, Got: n}
	}
	return s, nil
}

// cutFront splits a text into its front matter, "" if it has none, and what
// comes below.
func cutFront(text string) (front, body string, err error) {
	line, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(line, " \t") != "---" {
		return "", strings.TrimSpace(text), nil
	}
	start := rest
	for more := true; more; {
		var line string
		n := len(start) - len(rest)
		line, rest, more = strings.Cut(rest, "\n")
		if strings.TrimRight(line, " \t") != "---" {
			continue
		}
		if n > maxSkillFront {
			return "", "", &store.LimitError{Field: "front matter of a skill", Limit: maxSkillFront, Got: n}
		}
		return start[:n], strings.TrimSpace(rest), nil
	}
	return "", "", fmt.Errorf("%w: the front matter is not closed by a line ---", errSkill)
}

// readFront sets what the front matter says. It reads the nodes of the YAML and
// not values, so that an alias is never expanded.
func (s *Skill) readFront(front string) error {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(front), &doc); err != nil {
		return fmt.Errorf("%w: front matter: %s", errSkill, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return fmt.Errorf("%w: the front matter is no mapping", errSkill)
	}
	pairs := doc.Content[0].Content
	seen := make(map[string]bool)
	for i := 0; i+1 < len(pairs); i += 2 {
		k, v := pairs[i], pairs[i+1]
		if k.Kind != yaml.ScalarNode {
			continue
		}
		if seen[k.Value] {
			return fmt.Errorf("%w: front matter: line %d: %.70q is given twice", errSkill, k.Line, k.Value)
		}
		seen[k.Value] = true
		field := map[string]*string{"name": &s.Name, "description": &s.Description}[k.Value]
		if field == nil {
			continue
		}
		if v.Kind != yaml.ScalarNode || v.ShortTag() != "!!str" {
			return fmt.Errorf("%w: front matter: line %d: %s is not text", errSkill, k.Line, k.Value)
		}
		*field = fence.Line(v.Value) // once more: YAML has escapes
	}
	return nil
}
