package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/store"
)

// desk is a person and an agent at one MEMORY.md, and what either has made of it.
type desk struct {
	t    *rapid.T
	n    *notebook
	book memory.Space

	next    int
	said    []string // by the person, and not taken out
	outs    []string // taken out by the person, of their own
	learned []memory.ID
	pending []memory.ID          // not told yet
	gone    map[memory.ID]bool   // arc's lines that the person has taken out or changed
	lessons map[string]memory.ID // by their lines
	unsure  bool                 // a sync has failed: arc's lines are left alone
	dropped int
	fail    string // how the next swap fails: before, after or race
}

// top is how many lines the person does not touch.
const top = 6

func (d *desk) read() []string {
	text, err := os.ReadFile(d.n.file)
	require.NoError(d.t, err)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func (d *desk) save(lines []string) {
	require.NoError(d.t, os.WriteFile(d.n.file, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

func (d *desk) unique() string {
	d.next++
	return fmt.Sprintf("what person says in %d about %s", d.next, rapid.SampledFrom([]string{"tea", "ports", "deploys"}).Draw(d.t, "of"))
}

// edit is one change of the person's.
func (d *desk) edit() {
	lines := d.read()
	add := func(text string) {
		at := rapid.IntRange(top, len(lines)).Draw(d.t, "at")
		lines = slices.Insert(lines, at, rapid.SampledFrom([]string{"- ", "* ", "  - "}).Draw(d.t, "mark")+text)
		d.said = append(d.said, text)
	}
	var bullets []int
	for i, l := range lines {
		text := strings.TrimSpace(l)
		_, own := d.lessons[strings.TrimPrefix(text, "- ")]
		if i >= top && strings.Trim(text[:min(2, len(text))], "-* ") == "" && text != "" && (!own || !d.unsure) {
			bullets = append(bullets, i)
		}
	}
	what := rapid.SampledFrom([]string{"add", "add", "again", "out", "change", "flag", "move", "blank"}).Draw(d.t, "what")
	switch {
	case what == "again" && len(d.outs) > 0:
		text := d.outs[0]
		d.outs = d.outs[1:]
		add(text)
	case what == "blank":
		lines = slices.Insert(lines, rapid.IntRange(top, len(lines)).Draw(d.t, "at"), "")
	case what == "add" || what == "again" || len(bullets) == 0:
		add(d.unique())
	default:
		at := rapid.SampledFrom(bullets).Draw(d.t, "bullet")
		text := strings.TrimSpace(strings.TrimLeft(lines[at], " -*"))
		if what == "move" {
			l := lines[at]
			lines = slices.Delete(lines, at, at+1)
			lines = slices.Insert(lines, rapid.IntRange(top, len(lines)).Draw(d.t, "to"), l)
			break
		}
		d.takenOut(text)
		switch what {
		case "out":
			lines = slices.Delete(lines, at, at+1)
		case "change":
			d.said = append(d.said, d.unique())
			lines[at] = "- " + d.said[len(d.said)-1]
		case "flag":
			d.said = append(d.said, fmt.Sprintf("%s %d %s", flagged, d.next, clip(text, 80)))
			d.next++
			lines[at] = "- " + d.said[len(d.said)-1]
		}
	}
	d.save(lines)
}

func (d *desk) takenOut(text string) {
	if id, own := d.lessons[text]; own {
		d.gone[id] = true
		return
	}
	i := slices.Index(d.said, text)
	require.GreaterOrEqual(d.t, i, 0, text)
	d.said = slices.Delete(d.said, i, i+1)
	d.outs = append(d.outs, text)
}

// learn has the agent learn something.
func (d *desk) learn() {
	d.next++
	r, err := d.book.Remember(d.t.Context(), memory.Draft{
		Kind: memory.Pattern, Trigger: fmt.Sprintf("the situation number %d", d.next), Content: fmt.Sprintf("do %d, then look", d.next),
	})
	require.NoError(d.t, err)
	rec, err := d.book.Get(d.t.Context(), r.ID)
	require.NoError(d.t, err)
	d.lessons[lesson(rec)] = r.ID
	d.learned, d.pending = append(d.learned, r.ID), append(d.pending, r.ID)
}

func (d *desk) sync() {
	done, err := d.n.sync(d.t.Context(), d.pending)
	if d.unsure = err != nil; err == nil {
		d.pending = nil
		d.dropped += done.Dropped
	}
	d.fail = ""
}

var errCut = errors.New("cut off")

func (d *desk) swap(file string, was, is []byte) error {
	how := d.fail
	d.fail = ""
	switch how {
	case "race":
		d.unsure = true // arc has lines under way
		d.edit()
	case "before":
		return errCut
	case "after":
		return errors.Join(errCut, swapFile(file, was, is))
	}
	return swapFile(file, was, is)
}

func (d *desk) check() {
	ctx := d.t.Context()
	d.sync()
	d.sync()
	require.False(d.t, d.unsure)
	text := strings.Join(d.read(), "\n")
	p := &page{lines: d.read()}
	there := map[string]int{}
	for _, it := range p.items() {
		there[it.text]++
	}
	facts := map[string][]memory.Record{}
	for r, err := range d.book.All(ctx) {
		require.NoError(d.t, err)
		if r.Kind == memory.Fact {
			facts[r.Content] = append(facts[r.Content], r)
		}
	}
	for _, s := range d.said {
		require.Equal(d.t, 1, there[s], "%q in\n%s", s, text)
		// Said again after another was said that is like it, it is current again, and the
		// archived one is what was said before.
		used := slices.DeleteFunc(facts[s], func(r memory.Record) bool { return r.Archived })
		require.Len(d.t, used, 1, s)
		require.Equal(d.t, memory.User, used[0].Source.Origin)
		require.False(d.t, used[0].Trusted)
	}
	for _, s := range d.outs {
		require.Zero(d.t, there[s], "%q in\n%s", s, text)
		for _, r := range facts[s] { // none, if it was gone before arc looked
			require.True(d.t, r.Archived, s)
		}
	}
	missing := 0
	for l, id := range d.lessons {
		r, err := d.book.Get(ctx, id)
		require.NoError(d.t, err)
		require.False(d.t, r.Archived, "what arc has learned stays")
		if d.gone[id] {
			require.Zero(d.t, there[l], l)
		} else if there[l] == 0 {
			missing++
		} else {
			require.Equal(d.t, 1, there[l], "%q in\n%s", l, text)
		}
	}
	require.LessOrEqual(d.t, missing, d.dropped, text)
	if identity.EstimateTokens(text) > notebookTokens {
		for l := range d.lessons {
			require.Zero(d.t, there[l], "it is too long, with arc's lines in it")
		}
	}
}

// A person and the agent change MEMORY.md by turns, at once, and across crashes: nothing
// is lost, and nothing is there twice.
func TestNotebookProperty(t *testing.T) {
	dir := t.TempDir()
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		bank, err := memory.Open(t.Context(), store.NewMem(), nil)
		require.NoError(t, err)
		defer bank.Close()
		round++
		d := &desk{t: t, book: bank.In("local"), gone: map[memory.ID]bool{}, lessons: map[string]memory.ID{}}
		d.n = &notebook{file: filepath.Join(dir, fmt.Sprint(round, ".md")), base: filepath.Join(dir, fmt.Sprint(round, ".json")), space: d.book, swap: d.swap}
		d.save([]string{"# Memory", "", "<!-- a comment -->", "```", "- no fact", "```"})
		for range rapid.IntRange(1, 60).Draw(t, "edits") {
			switch rapid.SampledFrom([]string{"edit", "edit", "edit", "learn", "learn", "sync", "sync", "race", "before", "after"}).Draw(t, "action") {
			case "edit":
				d.edit()
			case "learn":
				d.learn()
			case "race":
				d.fail = "race"
				d.sync()
			case "before":
				d.fail = "before"
				d.sync()
			case "after":
				d.fail = "after"
				d.sync()
			default:
				d.sync()
			}
		}
		d.check()
	})
}

// A file that has grown long loses arc's oldest lines, never a person's.
func TestNotebookStaysShort(t *testing.T) {
	bank, err := memory.Open(t.Context(), store.NewMem(), nil)
	require.NoError(t, err)
	defer bank.Close()
	book := bank.In("local")
	n := &notebook{file: filepath.Join(t.TempDir(), "MEMORY.md"), base: filepath.Join(t.TempDir(), "base"), space: book, swap: swapFile}
	require.NoError(t, os.WriteFile(n.file, []byte("# Memory\n\n- [FLAG] the port is 8080\n- tea\n"), 0o600))
	dropped := 0
	for i := range 200 {
		r, err := book.Remember(t.Context(), memory.Draft{
			Kind: memory.Pattern, Trigger: fmt.Sprintf("the situation number %d", i), Content: fmt.Sprintf("do %d, then look whether it is so", i),
		})
		require.NoError(t, err)
		done, err := n.sync(t.Context(), []memory.ID{r.ID})
		require.NoError(t, err)
		require.False(t, done.Full)
		dropped += done.Dropped
	}
	text, err := os.ReadFile(n.file)
	require.NoError(t, err)
	require.LessOrEqual(t, identity.EstimateTokens(string(text)), notebookTokens)
	require.Contains(t, string(text), "- [FLAG] the port is 8080\n- tea\n")
	require.Contains(t, string(text), "the situation number 199")
	require.NotContains(t, string(text), "the situation number 0\"")
	require.Equal(t, 200, dropped+strings.Count(string(text), "the situation number"))
	require.NoError(t, os.Remove(n.file)) // and it comes back
	_, err = n.sync(t.Context(), nil)
	require.NoError(t, err)
	again, err := os.ReadFile(n.file)
	require.NoError(t, err)
	require.Contains(t, string(again), "- [FLAG] the port is 8080")
}

// The file is committed, alone, where there is a repository that wants it.
func TestNotebookInGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	dir := made(t, "notes")
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-c", "user.name=ada", "-c", "user.email=ada@example.com"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"} {
		t.Setenv(name, "ada@example.com")
	}
	git("init", "-q", ".")
	git("add", "notes")
	works(t, dir, "do")
	require.Equal(t, "docs(memory): 1 line written\ndocs(memory): 1 line read\n", git("log", "--format=%s"))
	require.Equal(t, "MEMORY.md\n", git("show", "--name-only", "--format="))
	require.Contains(t, git("status", "--porcelain"), "A  notes/welcome.md")
	file := filepath.Join(dir, "MEMORY.md")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(text, "\nThe printer is on\nfloor two.\n"...), 0o600))
	require.Contains(t, works(t, dir, "memory", "sync"), "1 line read")
	hits := decoded[[]memory.Hit](t, dir, "memory", "search", "--text", "which floor has the printer?")
	require.Equal(t, "The printer is on floor two.", hits[0].Record.Content)
	out, n := command(t, dir, "memory", "edit", "--id", string(hits[0].Record.ID), "--text", "x")
	require.Equal(t, exitError, n, out)
	works(t, dir, "memory", "forget", "--id", string(hits[0].Record.ID), "--yes")
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, string(now), "printer")
	require.Len(t, strings.Split(strings.TrimSpace(git("log", "--format=%s")), "\n"), 4)
}

// What is erased is in no file of .arc, and a person's own lines stay in the person's file.
func TestEraseLeavesAPersonsLines(t *testing.T) {
	dir := made(t, "notes")
	file := filepath.Join(dir, "MEMORY.md")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(text, "\n- zanzibar is my own line\n"...), 0o644))
	works(t, dir, "do")
	works(t, dir, "erase", "--scope", "local", "--yes")
	base, err := os.ReadFile(filepath.Join(dir, ".arc", "notebook.json"))
	if err == nil {
		require.NotContains(t, string(base), "zanzibar", "erased, and still kept")
	}
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, string(text), "What worked", "arc has learned it")
	works(t, dir, "memory", "sync")
	require.NotContains(t, works(t, dir, "memory"), "What worked", "the erased comes back as a person's word")
	works(t, dir, "do")
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "zanzibar", "the person's line")
}

// Each item of a numbered list is a fact, as README.md says of list items.
func TestNumberedItemsAreFacts(t *testing.T) {
	p := page{lines: []string{"1. the office is in Lyon", "2. the server is in Paris", "", "3) the backup is in Rome"}}
	require.Len(t, p.items(), 3)
}

// The byte order mark that some editors write is no part of the first line.
func TestByteOrderMarkIsNoText(t *testing.T) {
	p := page{lines: []string{"\ufeff# Memory", "- the office is in Lyon"}}
	require.Len(t, p.items(), 1)
	p = page{lines: []string{"\ufeff- the office is in Lyon"}}
	require.Equal(t, "the office is in Lyon", p.items()[0].text)
}

// Another scope in arc.yaml, or a store that is new, takes nothing out of a person's file.
func TestAnotherScopeKeepsTheNotebook(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string){
		"scope": func(t *testing.T, dir string) {
			file := filepath.Join(dir, "arc.yaml")
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Contains(t, string(text), "scope: local")
			require.NoError(t, os.WriteFile(file, bytes.Replace(text, []byte("scope: local"), []byte("scope: anna"), 1), 0o644))
		},
		"store": func(t *testing.T, dir string) { require.NoError(t, os.RemoveAll(filepath.Join(dir, ".arc", "store"))) },
	} {
		dir := made(t, "notes")
		file := filepath.Join(dir, "MEMORY.md")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, append(text, "\n- [FLAG] zanzibar is my own line\n"...), 0o644))
		works(t, dir, "memory", "sync")
		change(t, dir)
		works(t, dir, "memory", "sync")
		text, err = os.ReadFile(file)
		require.NoError(t, err)
		if !bytes.Contains(text, []byte("zanzibar")) {
			t.Errorf("%s: the person's line is gone from MEMORY.md:\n%s", name, text)
		}
	}
}

// One line that cannot be kept keeps no other from being read, and is named.
func TestALongLineKeepsNoOtherOut(t *testing.T) {
	dir := made(t, "notes")
	file := filepath.Join(dir, "MEMORY.md")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	text = append(text, "\n- "+strings.Repeat("a", 70000)+"\n- the office is in Lyon\n"...)
	require.NoError(t, os.WriteFile(file, text, 0o644))
	out, _ := command(t, dir, "memory", "sync")
	t.Log(out)
	require.Contains(t, works(t, dir, "memory", "list"), "Lyon")
}
