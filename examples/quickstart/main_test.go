package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/examples/quickstart/internal/repair"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs the program as main does.
func start(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestBadCommandLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	foreign := filepath.Join(dir, "foreign", "memory")
	require.NoError(t, os.MkdirAll(foreign, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(foreign, "precious.txt"), []byte("mine"), 0o644))
	for name, args := range map[string][]string{
		"unknown flag":      {"-frob"},
		"no number":         {"-seed", "x"},
		"argument":          {"now"},
		"write alone":       {"-write"},
		"no such package":   {"-package", filepath.Join(dir, "none")},
		"package is a file": {"-package", file},
		"no Go files":       {"-package", dir},
		"dir is a file":     {"-dir", file},
		"foreign dir":       {"-dir", filepath.Dir(foreign)},
	} {
		code, out, errs := start(t, args...)
		require.Equal(t, exitUsage, code, "%s: %s", name, errs)
		require.Empty(t, out, name)
		require.True(t, strings.HasPrefix(errs, "quickstart: "), "%s: %q", name, errs)
		require.Equal(t, 1, strings.Count(errs, "\n"), "%s: %q", name, errs)
	}
	data, err := os.ReadFile(filepath.Join(foreign, "precious.txt"))
	require.NoError(t, err)
	require.Equal(t, "mine", string(data))
}

func TestHelp(t *testing.T) {
	t.Parallel()
	code, out, errs := start(t, "-h")
	require.Equal(t, exitOK, code)
	require.Empty(t, errs)
	for _, flag := range []string{"-dir", "-seed", "-json", "-package", "-write", "-h"} {
		require.Contains(t, out, "\n  "+flag+" ")
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	require.Equal(t, exitInterrupted, run(ctx, []string{"-json", "-dir", t.TempDir()}, &out, &errs))
	require.Empty(t, out.String())
	require.Equal(t, 1, strings.Count(errs.String(), "\n"), errs.String())
}

// Three families are enough to see it learn: what the first session finds out,
// the second knows, and so does the next run over the same directory.
func TestLearnsFromSessionToSession(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command about 100 times")
	}
	t.Parallel()
	c := config{dir: t.TempDir(), seed: 1, only: []string{"nil map", "missing import", "copied lock"}}
	var text bytes.Buffer
	first, err := work(t.Context(), c, newPrinter(&text))
	require.NoError(t, err)
	require.True(t, first.complete(), text.String())
	require.NotContains(t, text.String(), "\x1b", "plain when it is not a terminal")
	require.Contains(t, text.String(), c.dir)
	for line := range strings.Lines(strings.ReplaceAll(text.String(), c.dir, "")) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 81, "columns, and an end: %q", line)
	}

	require.Zero(t, first.Known)
	one, two := first.Sessions[0], first.Sessions[1]
	require.Equal(t, 6, one.Objectives)
	require.Equal(t, 3, two.Objectives)
	require.LessOrEqual(t, one.perDelivery(), float64(len(repair.Fixers())+1)/2, "random order")
	require.LessOrEqual(t, two.perDelivery(), 0.6*one.perDelivery(), text.String())
	require.GreaterOrEqual(t, 10*two.ByChunk, 7*two.Delivered, text.String())
	require.Equal(t, len(first.Resonance), one.Attempts+two.Attempts)
	require.GreaterOrEqual(t, first.Memory.Kinds["pattern"], 3)
	require.Len(t, first.Ranking, len(repair.Fixers()))
	for _, s := range first.Sessions {
		for _, p := range s.Packages {
			cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", ".")
			cmd.Dir, cmd.Env = p.Dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s: %s", p.Name, out)
		}
	}

	again, err := work(t.Context(), c, newPrinter(&text))
	require.NoError(t, err)
	require.Equal(t, first.Memory.Total, again.Known)
	require.LessOrEqual(t, again.Sessions[0].perDelivery(), 0.6*one.perDelivery(), text.String())
	require.GreaterOrEqual(t, 10*again.Sessions[0].ByChunk, 7*again.Sessions[0].Delivered, text.String())
}

// user writes a package that a user might have, two directories deep in a
// module.
func user(t *testing.T, body string) (dir, file string) {
	t.Helper()
	root := t.TempDir()
	dir = filepath.Join(root, "lib", "words")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	write := func(path, text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o644)) }
	write(filepath.Join(root, "go.mod"), "module example.com/user\n\ngo 1.26\n")
	write(filepath.Join(root, "lib", "lib.go"), "package lib\n\nfunc Two() int { return 2 }\n")
	write(filepath.Join(dir, "words_test.go"), "package words\n\nimport \"testing\"\n\nfunc TestCount(t *testing.T) {\n\tif got := Count([]string{\"a\", \"b\", \"a\"}); got[\"a\"] != 2 {\n\t\tt.Errorf(\"Count: got %v, want 2 of a\", got)\n\t}\n}\n")
	file = filepath.Join(dir, "words.go")
	write(file, "package words\n\nimport \"example.com/user/lib\"\n\nvar two = lib.Two()\n\nfunc Count(words []string) map[string]int {\n"+body+"}\n")
	return dir, file
}

const brokenBody = "\tvar n map[string]int\n\tfor _, w := range words {\n\t\tn[w]++\n\t}\n\treturn n\n"

func TestRepairsThePackageOfTheUser(t *testing.T) {
	t.Parallel()
	dir, file := user(t, brokenBody)
	was, err := os.ReadFile(file)
	require.NoError(t, err)
	memory := t.TempDir()

	code, out, errs := start(t, "-dir", memory, "-package", dir)
	require.Equal(t, exitOK, code, errs)
	require.Contains(t, out, "DELIVERED by maps")
	require.Contains(t, out, "\n-\tvar n map[string]int\n+\tvar n = make(map[string]int)\n")
	is, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(was), string(is), "without -write it is left alone")

	code, out, errs = start(t, "-dir", memory, "-package", dir, "-write", "-json")
	require.Equal(t, exitOK, code, errs)
	var r result
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, 1, r.Sessions[0].Delivered)
	require.Equal(t, 1, r.Sessions[0].Attempts, "the pattern of the first run names who can")
	is, err = os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(is), "make(map[string]int)")

	code, out, errs = start(t, "-dir", memory, "-package", dir)
	require.Equal(t, exitOK, code, errs)
	require.Contains(t, out, "nothing to repair")
}

func TestSaysWhenNoWorkerCanRepairIt(t *testing.T) {
	t.Parallel()
	dir, file := user(t, "\treturn nil\n")
	code, out, errs := start(t, "-dir", t.TempDir(), "-package", dir, "-write")
	require.Equal(t, exitFailed, code, errs)
	require.Contains(t, out, "BLOCKED after 10 attempts\n    looked at it, and found no edit to make:\n"+
		"      bounds, conditions, conversions, imports, locks, maps, results, spelling,\n"+
		"      unused, verbs\n    None of them can mend it")
	is, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(is), "return nil")
}

// A package that no worker can mend is given up sooner once those that mend
// what fails in other steps have looked at enough of its kind.
func TestGivesUpSoonerWhatNoWorkerCanRepair(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command about 100 times")
	}
	t.Parallel()
	var text bytes.Buffer
	s := bench(t, 1)
	s.out, s.config.only = newPrinter(&text), []string{"missing import", "unused variable", "misspelled member"}
	known, err := sessionsOf(s.config)
	require.NoError(t, err)
	ses, err := s.session(t.Context(), "one", known[0])
	require.NoError(t, err)
	require.Equal(t, ses.Objectives, ses.Delivered, text.String())

	hard, err := repair.Load(os.DirFS("testdata/hard"), "*.txtar")
	require.NoError(t, err)
	var attempts []int
	for i := range enough + 1 {
		dir := filepath.Join(s.scratch, "hard", strconv.Itoa(i))
		require.NoError(t, hard[0].Unpack(dir))
		d, err := repair.Check(t.Context(), dir)
		require.NoError(t, err)
		before := contents(t, dir)
		text.Reset()
		require.NoError(t, s.repair(t.Context(), ses, job{"hard" + strconv.Itoa(i), dir, dir, d}))
		require.False(t, ses.Packages[len(ses.Packages)-1].Delivered)
		require.Equal(t, before, contents(t, dir))
		attempts = append(attempts, ses.Packages[len(ses.Packages)-1].Attempts)
	}
	crew := len(repair.Fixers())
	require.Equal(t, crew, attempts[0])
	require.Equal(t, crew-3, attempts[enough], "%v", attempts)
	require.Contains(t, text.String(), "BLOCKED after 7 attempts\n    looked at it, and found no edit to make:\n"+
		"      bounds, conditions, conversions, locks, maps, results, verbs\n"+
		"    not asked, as they mend what fails in other steps:\n      imports, spelling, unused\n    None of them can mend it")
}

func TestDoesNotOverwriteWhatTheUserChangedMeanwhile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.go")
	require.NoError(t, os.WriteFile(path, []byte("new"), 0o600))
	require.ErrorContains(t, rewrite(path, []byte("old"), []byte("repaired")), "changed meanwhile")
	require.NoError(t, rewrite(path, []byte("new"), []byte("repaired")))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestDiff(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	(&printer{w: &b}).diff("a.go", "1\n2\n3\n4\n5", "1\n2\nx\n4\n5\n6")
	require.Equal(t, "\na.go\n 2\n-3\n+x\n 4\n 5\n+6\n", b.String())
	b.Reset()
	(&printer{w: &b, colour: true}).diff("a.go", "a", "b")
	require.Contains(t, b.String(), "\x1b[31m-a\x1b[0m\n\x1b[32m+b\x1b[0m\n")
}

func TestSparkline(t *testing.T) {
	t.Parallel()
	require.Equal(t, "▁▅█", sparkline([]float64{0, 0.5, 1}, 10))
	require.Equal(t, "▁█", sparkline([]float64{-1, 0, 1, 2}, 2))
	require.Empty(t, sparkline(nil, 10))
}
