package lint_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// raised lists the ceilings that the newest change of budget.txt, committed or
// not, raises where docs/decisions.md does not change with it. A new row
// raises nothing: its package is a decision of its own.
func raised(dir string) []string {
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		cmd.Env = withoutGit(os.Environ())
		out, _ := cmd.Output() // no repository, or no such commit: no ceilings
		return string(out)
	}
	after, _ := os.ReadFile(filepath.Join(dir, filepath.FromSlash(budgetFile)))
	was, is := "HEAD", ""
	if before := git("show", "HEAD:./"+budgetFile); before == string(after) {
		is = strings.TrimSpace(git("log", "-1", "--format=%H", "--", budgetFile))
		was = is + "^"
	}
	if is == "" && was != "HEAD" {
		return nil // no commit has it
	}
	changed := strings.Fields(git("diff", "--name-only", was, is, "--"))
	if is == "" {
		changed = strings.Fields(git("diff", "--name-only", was, "--"))
	}
	if slices.Contains(changed, "docs/decisions.md") {
		return nil
	}
	old, now := parseBudget(git("show", was+":./"+budgetFile)), parseBudget(string(after))
	var out []string
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if v, ok := old[key]; ok && now[key] > v {
			out = append(out, fmt.Sprintf("%s rises from %s to %s without a line in docs/decisions.md",
				key, format(v), format(now[key])))
		}
	}
	return out
}

// withoutGit drops what a git hook tells its children about its repository.
func withoutGit(env []string) []string {
	return slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "GIT_") })
}

func TestRaised(t *testing.T) {
	t.Parallel()
	require.Empty(t, raised(filepath.Join("..", "..")))
}

func TestRaisedIsFound(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	commit := func() {
		for _, args := range [][]string{{"init", "-q"}, {"add", "."},
			{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--no-verify", "-m", "m"}} {
			cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
			cmd.Env = withoutGit(os.Environ())
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
		}
	}
	write("docs/decisions.md", "one\n")
	write(budgetFile, "store 10 4 0 1 0 0\nverb take 5\n")
	commit()
	require.Empty(t, raised(dir), "the first")
	write(budgetFile, "store 10 4 0 1.5 0 0\niar 9 9 9 9 9 9\nverb take 6\n")
	want := []string{
		"arrows store rises from 1 to 1.5 without a line in docs/decisions.md",
		"verb take rises from 5 to 6 without a line in docs/decisions.md",
	}
	require.Equal(t, want, raised(dir), "not committed")
	commit()
	require.Equal(t, want, raised(dir), "committed")
	write("docs/decisions.md", "one\ntwo\n")
	write(budgetFile, "store 20 4 0 1.5 0 0\n")
	require.Empty(t, raised(dir), "decided")
	commit()
	require.Empty(t, raised(dir), "decided and committed")
	write("other", "a later commit")
	commit()
	require.Empty(t, raised(dir), "a later commit")
}
