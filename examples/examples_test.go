// Package examples runs the examples that need no key.
package examples

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExamples(t *testing.T) {
	for name, says := range map[string]string{
		"approve":  `(?s)usd is 900.*\(the bank moves {"to":"Bo","usd":900}\)\n  delivered: receipt 4711\n`,
		"layer":    `(?s)refused 1 times.*A-55: delivered, refused 0 times, model asked 1 times`,
		"memory":   `0\.\d+ fact     Ann's budget went up to 800 euros.\n(?s).*superseded by`,
		"queue":    `mend the build: did.*\n  tell the team: .*\n  tidy up: `,
		"resume":   `killed\)\nA process:\n  print the label\ndelivered: reserve`,
		"route":    `saved against large, the best single model: \$`,
		"skills":   `(?s)delivered once.*by the plan that fires\n1 skills are written`,
		"warnings": `attempts 2.*\n.* attempts 1.*\n.* attempts 1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), name)
			build := exec.CommandContext(t.Context(), "go", "build", "-C", name, "-o", program, ".")
			build.Env = append(build.Environ(), "GOWORK=off") // one that uses contrib is a module of its own
			out, err := build.CombinedOutput()
			require.NoError(t, err, string(out))
			run := exec.CommandContext(t.Context(), program)
			run.Dir = t.TempDir()
			out, err = run.CombinedOutput()
			require.NoError(t, err, string(out))
			require.Regexp(t, says, string(out))
		})
	}
}
