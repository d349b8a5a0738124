package reason_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

func ExampleLoadSkills() {
	files := fstest.MapFS{ // os.DirFS("skills") or an embed.FS in a host
		"go/test/SKILL.md":  {Data: []byte("---\nname: go-test\ndescription: Mend Go tests.\n---\nRun the tests first.\n")},
		"go/test/AGENT.md":  {Data: []byte("Change no test.\n")},
		"release/SKILL.md":  {Data: []byte("---\nname: release\n")},
		"release/notes.txt": {Data: []byte("not read")},
	}
	skills, err := reason.LoadSkills(files)
	fmt.Println(err)
	var s reason.Skill = skills["go-test"]
	fmt.Printf("%s: %s %s %s\n", s.Name, s.Description, s.Body, s.Agent)
	// Output:
	// skill release/SKILL.md: bad skill: the front matter is not closed by a line ---
	// go-test: Mend Go tests. Run the tests first. Change no test.
}

// skill returns the text of a SKILL.md.
func skill(name, body string) string {
	return "---\nname: " + name + "\ndescription: of " + name + "\n---\n" + body
}

func skillFS(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func TestSkillsAreFoundAtAnyDepth(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("d/", 8)
	skills, err := reason.LoadSkills(skillFS(map[string]string{
		"SKILL.md":           skill("root", "r"),
		"a/SKILL.md":         skill("z", "z"),
		"a/b/SKILL.md":       skill("y", "y"),
		"a/b/AGENT.md":       "---\ntools: all\n---\nfor the agent",
		"a/b/SKILL.md.orig":  "not a skill",
		".git/x/SKILL.md":    "not looked at",
		deep + "SKILL.md":    skill("deep", "d"),
		"a/README/AGENTS.md": "something else",
	}))
	require.NoError(t, err)
	require.Equal(t, []string{"deep", "root", "y", "z"}, slices.Sorted(maps.Keys(skills)))
	require.Equal(t, reason.Skill{Name: "y", Description: "of y", Body: "y", Agent: "for the agent"}, skills["y"])
}

func TestFrontMatterIsReadAsPeopleWriteIt(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"plain":     "---\nname: n\ndescription: one two\n---\nbody",
		"quoted":    "---\n\"name\": 'n'\ndescription: \"one\\u0020two\"\n---\nbody\n",
		"folded":    "---\nname: n\ndescription: >-\n  one\n  two\n---\n\nbody\n\n",
		"literal":   "---\nname: n\ndescription: |\n  one\n  two\n---\nbody",
		"more keys": "---\nname: n # who\nlicense: MIT\nmetadata: {a: [1, 2]}\n? [x]\n: y\ndescription: one two\n---\nbody",
		"CRLF, BOM": "\ufeff---\r\nname: n\r\ndescription: one two\r\n---\r\nbody\r\n",
		"old Mac":   "---\rname: n\rdescription: one two\r---\rbody",
		"spaces":    "--- \t\nname: n\ndescription:   one two  \n--- \nbody",
		"hidden":    "---\nname: n\ndescription: \"one\\u202e two\\U000E0041\"\n---\nbo\u200bdy\x1b",
		"anchor":    "---\nname: &a n\nother: *a\ndescription: one two\n---\nbody",
	} {
		skills, err := reason.LoadSkills(skillFS(map[string]string{"s/SKILL.md": text}))
		require.NoError(t, err, name)
		require.Equal(t, map[string]reason.Skill{"n": {Name: "n", Description: "one two", Body: "body"}}, skills, name)
	}
	skills, err := reason.LoadSkills(skillFS(map[string]string{"SKILL.md": "---\nname: n\ndescription: d\n---\na\n---\nb\n"}))
	require.NoError(t, err)
	require.Equal(t, "a\n---\nb", skills["n"].Body, "a rule in the text is no front matter")
}

func TestBadSkillsAreNamedAndOthersLoad(t *testing.T) {
	t.Parallel()
	bomb := "---\na: &a [x, x]\n"
	for c := 'b'; c < 'n'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c, *%c, *%c, *%c, *%c]\n", c, c, c-1, c-1, c-1, c-1, c-1)
	}
	bad := map[string]string{
		"empty":          "",
		"no front":       "# A skill",
		"late front":     "\n---\nname: n\ndescription: d\n---\n",
		"not closed":     "---\nname: n\ndescription: d\n",
		"empty front":    "---\n---\nbody",
		"a list":         "---\n- name\n---\n",
		"a word":         "---\nname\n---\n",
		"not YAML":       "---\nname: [n\n---\n",
		"tabs":           "---\nname:\n\t- n\n---\n",
		"no name":        "---\ndescription: d\n---\n",
		"blank name":     "---\nname: ' '\ndescription: d\n---\n",
		"no description": "---\nname: n\n---\n",
		"null":           "---\nname: n\ndescription:\n---\n",
		"number":         "---\nname: 7\ndescription: d\n---\n",
		"name is a list": "---\nname: [n]\ndescription: d\n---\n",
		"name twice":     "---\nname: n\ndescription: d\nname: m\n---\n",
		"key twice":      "---\nname: n\ndescription: d\nx: 1\nx: 2\n---\n",
		"alias as text":  "---\nother: &a d\nname: n\ndescription: *a\n---\n",
		"alias bomb":     bomb + "name: n\ndescription: *m\n---\n",
		"unknown alias":  "---\nname: n\ndescription: d\nx: *nowhere\n---\n",
		"path as name":   "---\nname: ../n\ndescription: d\n---\n",
		"dot":            "---\nname: .n\ndescription: d\n---\n",
		"space in name":  "---\nname: a b\ndescription: d\n---\n",
		"homoglyph":      "---\nname: dеploy\ndescription: d\n---\n",
		"long name":      "---\nname: " + strings.Repeat("n", 65) + "\ndescription: d\n---\n",
		"bad UTF-8":      "---\nname: n\ndescription: d\n---\n\xff",
		"used name":      skill("good", ""),
	}
	for name, text := range bad {
		skills, err := reason.LoadSkills(skillFS(map[string]string{"a/SKILL.md": skill("good", ""), "b/SKILL.md": text, "c/SKILL.md": skill("fine", "")}))
		require.ErrorIs(t, err, reason.ErrSkill, name)
		one, ok := errors.AsType[*fs.PathError](err)
		require.True(t, ok, name)
		require.Equal(t, "b/SKILL.md", one.Path, name)
		require.ErrorContains(t, err, `skill b/SKILL.md: bad skill: `, name)
		require.Len(t, skills, 2, name)
	}
	over := map[string]string{
		"text":         skill("n", strings.Repeat("x", 64<<10)),
		"front matter": "---\nname: n\ndescription: d\n" + strings.Repeat("# comment\n", 900) + "---\n",
		"description":  "---\nname: n\ndescription: " + strings.Repeat("é", 1025) + "\n---\n",
	}
	for name, text := range over {
		skills, err := reason.LoadSkills(skillFS(map[string]string{"SKILL.md": text, "c/SKILL.md": skill("fine", "")}))
		limit, ok := errors.AsType[*store.LimitError](err)
		require.True(t, ok, "%s: %v", name, err)
		require.Contains(t, limit.Field, name)
		require.Greater(t, limit.Got, limit.Limit)
		require.Len(t, skills, 1, name)
	}
}

func TestAgentFilesAreCheckedToo(t *testing.T) {
	t.Parallel()
	skills, err := reason.LoadSkills(skillFS(map[string]string{
		"alone/AGENT.md": "x",
		"bad/SKILL.md":   skill("bad", ""), "bad/AGENT.md": "a\xff",
		"long/SKILL.md": skill("long", ""), "long/AGENT.md": strings.Repeat("x", 64<<10+1),
		"open/SKILL.md": skill("open", ""), "open/AGENT.md": "---\nx: y\n",
		"fine/SKILL.md": skill("fine", ""), "fine/AGENT.md": strings.Repeat("x", 64<<10),
	}))
	require.Len(t, skills, 1)
	var paths []string
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		paths = append(paths, e.(*fs.PathError).Path)
	}
	require.Equal(t, []string{"alone/AGENT.md", "bad/AGENT.md", "long/AGENT.md", "open/AGENT.md"}, paths)
}

func TestSkillWalkIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path     func(i int) string
		n, found int
	}{
		"skills":  {func(i int) string { return fmt.Sprintf("s%03d/SKILL.md", i) }, 257, 256},
		"entries": {func(i int) string { return fmt.Sprintf("x%05d.txt", i) }, 20_001, 0},
		"folders": {func(int) string { return strings.Repeat("d/", 9) + "SKILL.md" }, 1, 0},
	} {
		files := map[string]string{}
		for i := range c.n {
			files[c.path(i)] = skill(fmt.Sprintf("n%d", i), "")
		}
		skills, err := reason.LoadSkills(skillFS(files))
		limit, ok := errors.AsType[*store.LimitError](err)
		require.True(t, ok, name)
		require.Contains(t, limit.Field, name)
		require.Len(t, skills, c.found, name)
	}
}

// broken fails where a path is named in it.
type broken struct {
	fstest.MapFS
	fail map[string]error
}

func (b broken) Open(name string) (fs.File, error) {
	if err := b.fail[name]; err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return b.MapFS.Open(name)
}

func (b broken) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := b.fail[name]; err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return b.MapFS.ReadDir(name)
}

func TestUnreadableSkillsAreReported(t *testing.T) {
	t.Parallel()
	files := skillFS(map[string]string{"a/SKILL.md": skill("a", ""), "b/SKILL.md": skill("b", ""), "c/d/SKILL.md": skill("c", "")})
	files["e/SKILL.md"] = &fstest.MapFile{Mode: fs.ModeNamedPipe}
	files["f/SKILL.md"] = &fstest.MapFile{Mode: fs.ModeDir}
	skills, err := reason.LoadSkills(broken{files, map[string]error{"a/SKILL.md": fs.ErrPermission, "c": fs.ErrPermission}})
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorContains(t, err, `skill a/SKILL.md: `)
	require.ErrorContains(t, err, `skill c: `)
	require.ErrorContains(t, err, `skill e/SKILL.md: bad skill: not a regular file`)
	require.Len(t, skills, 1)

	skills, err = reason.LoadSkills(os.DirFS(filepath.Join(t.TempDir(), "missing")))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Empty(t, skills)
	_, err = reason.LoadSkills(nil)
	require.ErrorIs(t, err, reason.ErrSkill)
	_, err = reason.LoadSkills(fstest.MapFS(nil))
	require.ErrorIs(t, err, reason.ErrSkill)
}

func TestLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte(skill("secret", "s")), 0o600))
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "SKILL.md"), []byte(skill("a", "x")), 0o600))
	require.NoError(t, os.Symlink(dir, filepath.Join(dir, "a", "circle")))
	require.NoError(t, os.Symlink(secret, filepath.Join(dir, "SKILL.md")))
	skills, err := reason.LoadSkills(os.DirFS(dir))
	require.ErrorContains(t, err, "not a regular file")
	require.Len(t, skills, 1)
}

func FuzzSkill(f *testing.F) {
	f.Add(skill("n", "body"), "agent")
	f.Add("---\nname: \"\\u202en\"\ndescription: >\n  x\n---\n", "---\n---\n")
	f.Add("---\na: &a [*a]\n<<: *a\nname: !!str 7\ndescription: !x y\n---", "")
	f.Add("---\n%YAML 1.1\n--- \n", "\ufeff---\r\n")
	f.Add("---\n{name: n, description: d}\n---\n", "a")
	f.Fuzz(func(t *testing.T, text, agent string) {
		files := skillFS(map[string]string{"SKILL.md": text, "AGENT.md": agent, "z/SKILL.md": skill("other", "")})
		skills, err := reason.LoadSkills(files)
		again, _ := reason.LoadSkills(files)
		require.Equal(t, again, skills)
		all := skills
		require.Contains(t, []int{1, 2}, len(all))
		if len(all) == 1 {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		for _, s := range all {
			require.Regexp(t, `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`, s.Name)
			require.NotEmpty(t, s.Description)
			require.NotContains(t, s.Description, "\n")
			for _, text := range []string{s.Description, s.Body, s.Agent} {
				require.True(t, utf8.ValidString(text))
				require.Equal(t, text, fence.Visible(text))
				require.False(t, strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }))
			}
		}
	})
}
