package reason

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
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
	Body        string // SKILL.md below the front matter: for who decides on tasks
	Agent       string // AGENT.md, less its front matter if it has one: for who does the work; "": there is none
}

// Skills are the skills of a host, by name. They do not change, and are safe
// for concurrent use. A nil *Skills has none.
type Skills struct{ byName []Skill }

// Get returns the skill of that name.
func (s *Skills) Get(name string) (Skill, bool) {
	if s == nil {
		return Skill{}, false
	}
	i, ok := slices.BinarySearchFunc(s.byName, name, func(k Skill, name string) int { return strings.Compare(k.Name, name) })
	if !ok {
		return Skill{}, false
	}
	return s.byName[i], true
}

// All returns the skills, sorted by name. The slice belongs to the caller.
func (s *Skills) All() []Skill {
	if s == nil {
		return nil
	}
	return slices.Clone(s.byName)
}

// SkillError says what is wrong with a file or folder of skills.
type SkillError struct {
	Path string // within the file system
	Err  error
}

// Error is the text of the error.
func (e *SkillError) Error() string { return fmt.Sprintf("skill %q: %v", e.Path, e.Err) }

// Unwrap returns Err.
func (e *SkillError) Unwrap() error { return e.Err }

// ErrSkill is the error of a skill that is not in the form that Skill
// describes, or whose name another one has.
var ErrSkill = errors.New("bad skill")

// Bounds of LoadSkills: bytes of a file and of its front matter, characters of
// a description, skills, folders above a file, and entries of folders.
const (
	maxSkillFile        = 64 << 10
	maxSkillFront       = 8 << 10
	maxSkillName        = 64
	maxSkillDescription = 1024
	maxSkills           = 256
	maxSkillDepth       = 8
	maxSkillEntries     = 20_000
)

// LoadSkills reads the skills of a file system, such as os.DirFS or an
// embed.FS: of every folder, the root included, that has a SKILL.md. That file
// begins with front matter, a mapping in YAML between two lines "---", whose
// name and description are required; other keys are ignored.
//
//	---
//	name: go-test
//	description: Run and mend Go tests. For tasks that end with "go test".
//	---
//	Run the package's tests first …
//
// The Skills are never nil and have all that could be read. The error joins a
// *[SkillError] for each file that could not, with ErrSkill, the file system's
// error, or a *store.LimitError in it. A name that is given twice belongs to
// the first in order of paths. A text has 64 KiB at most; there are at most 256
// skills, below at most 8 folders, and the walk ends after 20,000 entries.
//
// The texts are taken for the host's own words. What does not show (control,
// bidirectional and tag characters) is taken out of them, so that a model reads
// what a reviewer has read; line ends become newlines. Files are read only if
// they are regular files by their folder's account, and folders whose name
// begins with a dot are not: no link leads out of the folder or in a circle.
func LoadSkills(fsys fs.FS) (*Skills, error) {
	if guard.IsNil(fsys) {
		return &Skills{}, fmt.Errorf("%w: the file system is nil", ErrSkill)
	}
	l := skillLoader{fsys: fsys}
	// What is wrong with one file is in l.errs; a bound of all ends the walk.
	if err := fs.WalkDir(fsys, ".", l.visit); err != nil {
		l.errs = append(l.errs, err)
	}
	slices.SortFunc(l.found, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return &Skills{byName: l.found}, errors.Join(l.errs...)
}

type skillLoader struct {
	fsys    fs.FS
	found   []Skill
	errs    []error
	entries int
}

func (l *skillLoader) bad(path string, err error) {
	l.errs = append(l.errs, &SkillError{Path: path, Err: err})
}

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
		return &SkillError{Path: name, Err: &store.LimitError{Field: "entries of skill folders", Limit: maxSkillEntries, Got: l.entries}}
	case d.IsDir():
		return l.folder(name)
	case path.Base(name) == "SKILL.md":
		if len(l.found) == maxSkills {
			return &SkillError{Path: name, Err: &store.LimitError{Field: "skills", Limit: maxSkills, Got: maxSkills + 1}}
		}
		l.skill(name)
	case path.Base(name) == "AGENT.md":
		if _, err := fs.Stat(l.fsys, path.Join(path.Dir(name), "SKILL.md")); errors.Is(err, fs.ErrNotExist) {
			l.bad(name, fmt.Errorf("%w: no SKILL.md beside it", ErrSkill))
		}
	}
	return nil
}

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
	text, err := l.text(name)
	if err != nil {
		l.bad(name, err)
		return
	}
	s, err := parseSkill(text)
	if err != nil {
		l.bad(name, err)
		return
	}
	if slices.ContainsFunc(l.found, func(k Skill) bool { return k.Name == s.Name }) {
		l.bad(name, fmt.Errorf("%w: name %q is given twice", ErrSkill, s.Name))
		return
	}
	agent := path.Join(path.Dir(name), "AGENT.md")
	switch text, err := l.text(agent); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil: // the skill is of no use without what its worker has to know
		l.bad(agent, err)
		return
	default:
		_, body, err := cutFront(text)
		if err != nil {
			l.bad(agent, err)
			return
		}
		s.Agent = body
	}
	l.found = append(l.found, s)
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
		return "", fmt.Errorf("%w: not a regular file", ErrSkill)
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
		return "", fmt.Errorf("%w: not valid UTF-8", ErrSkill)
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
	if err := s.readFront(front); err != nil {
		return Skill{}, err
	}
	switch {
	case s.Name == "":
		return Skill{}, fmt.Errorf("%w: the front matter has no name", ErrSkill)
	case !skillName(s.Name):
		return Skill{}, fmt.Errorf("%w: name %.70q is not 1 to %d of [A-Za-z0-9._-] after a letter or digit", ErrSkill, s.Name, maxSkillName)
	case s.Description == "":
		return Skill{}, fmt.Errorf("%w: the front matter has no description", ErrSkill)
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
	return "", "", fmt.Errorf("%w: the front matter is not closed by a line ---", ErrSkill)
}

// readFront sets what the front matter says. It reads the nodes of the YAML
// and not values, so that an alias is never expanded.
func (s *Skill) readFront(front string) error {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(front), &doc); err != nil {
		return fmt.Errorf("%w: front matter: %s", ErrSkill, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return fmt.Errorf("%w: the front matter is no mapping", ErrSkill)
	}
	pairs := doc.Content[0].Content
	seen := make(map[string]bool)
	for i := 0; i+1 < len(pairs); i += 2 {
		k, v := pairs[i], pairs[i+1]
		if k.Kind != yaml.ScalarNode {
			continue
		}
		if seen[k.Value] {
			return fmt.Errorf("%w: front matter: line %d: %.70q is given twice", ErrSkill, k.Line, k.Value)
		}
		seen[k.Value] = true
		field := map[string]*string{"name": &s.Name, "description": &s.Description}[k.Value]
		if field == nil {
			continue
		}
		if v.Kind != yaml.ScalarNode || v.ShortTag() != "!!str" {
			return fmt.Errorf("%w: front matter: line %d: %s is not text", ErrSkill, k.Line, k.Value)
		}
		*field = fence.Line(v.Value) // once more: YAML has escapes
	}
	return nil
}

func skillName(s string) bool {
	if len(s) > maxSkillName || strings.ContainsAny(s[:1], "._-") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r >= utf8.RuneSelf || !(r == '.' || r == '_' || r == '-' ||
			'0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	})
}
