package repair

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// steps are what a package must pass, in order. Build and vet say where the
// problem is; test says only that there is one. The test step leaves vet out
// because it just ran.
var steps = []struct {
	name string
	args []string
}{
	{"build", []string{"build", "-o", os.DevNull, "."}},
	{"vet", []string{"vet", "."}},
	{"test", []string{"test", "-vet=off", "-timeout=20s", "."}},
}

// maxOutput bounds what is kept of a step's output, in bytes.
const maxOutput = 4096

// Diagnosis is what the first failing step reported.
type Diagnosis struct {
	Step  string        // build, vet or test; "" when all three passed
	Text  string        // the step's output, trimmed and cut to 4 KiB
	Trace []Place       // lines that a panic of the tests went through
	Wall  time.Duration `json:"-"` // how long the check took
}

// Place is a line of a file of the package.
type Place struct {
	File string
	Line int
}

// OK reports whether build, vet and tests passed.
func (d Diagnosis) OK() bool { return d.Step == "" }

// Check runs go build, go vet and go test on the package in dir and stops at
// the first that fails. An error means that a step could not be run at all,
// or that ctx ended.
func Check(ctx context.Context, dir string) (Diagnosis, error) { return checkFrom(ctx, dir, "build") }

// checkFrom starts at a step.
func checkFrom(ctx context.Context, dir, from string) (Diagnosis, error) {
	start := time.Now()
	for _, s := range steps {
		if s.name == from {
			from = ""
		} else if from != "" {
			continue
		}
		out, err := goTool(ctx, dir, s.args...)
		if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && ctx.Err() == nil {
			return Diagnosis{Step: s.name, Text: trimOutput(out), Trace: traceOf(out), Wall: time.Since(start)}, nil
		}
		if err != nil {
			return Diagnosis{}, fmt.Errorf("go %s in %s: %w", s.name, dir, errors.Join(ctx.Err(), err))
		}
	}
	return Diagnosis{Wall: time.Since(start)}, nil
}

// goTool runs the go command in dir, offline, outside any workspace.
func goTool(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOPROXY=off", "GOTOOLCHAIN=local", "PWD="+dir)
	cmd.WaitDelay = 2 * time.Second // a test binary may outlive the go command and hold the pipe
	return cmd.CombinedOutput()
}

var frame = regexp.MustCompile(`(?m)^\t/.*/([^/\s]+\.go):(\d+)`)

// traceOf finds the lines that a panic went through, but those of tests.
func traceOf(out []byte) (places []Place) {
	for _, m := range frame.FindAllSubmatch(out, -1) {
		n, err := strconv.Atoi(string(m[2]))
		p := Place{string(m[1]), n}
		if err == nil && !strings.HasSuffix(p.File, "_test.go") && !slices.Contains(places, p) {
			places = append(places, p)
		}
	}
	return places
}

// trimOutput drops the package headers, stack traces and the closing FAIL
// lines.
func trimOutput(out []byte) string {
	var kept []string
	for line := range strings.Lines(string(bytes.TrimSpace(out))) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "exit status") {
			continue
		}
		kept = append(kept, line)
	}
	text, _, _ := strings.Cut(strings.Join(kept, "\n"), "\n\ngoroutine ") // the panic says it all
	if len(text) > maxOutput {
		text = strings.ToValidUTF8(text[:maxOutput], "") + "\n…"
	}
	return strings.TrimSpace(text)
}
