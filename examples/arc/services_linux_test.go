package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The unit that install writes is one that systemd has nothing against: it belongs to the
// target of a person's own manager, and names the program, the folder and its arguments,
// also with blanks and percent signs in them. systemctl is a stand-in.
func TestServiceOfSystemd(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("SKIPPED: there is no systemd-analyze: the unit is not checked")
	}
	home, bin := t.TempDir(), t.TempDir()
	dir := filepath.Join(home, "my {{notes}} 100%")
	require.NoError(t, os.Mkdir(dir, 0o700))
	works(t, dir, "init")
	text, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	program := filepath.Join(bin, "arc") // not where go test has built it, which would be refused
	require.NoError(t, os.WriteFile(program, text, 0o700))
	calls := filepath.Join(bin, "calls")
	for _, name := range []string{"systemctl", "rpm-ostree"} { // the second has the library take it for systemd
		script := "#!/bin/sh\necho \"$@\" >>" + calls + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700))
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "ARC_TEST_MAIN=1", "HOME="+home, "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	run("services", "install")
	file := filepath.Join(home, ".config", "systemd", "user", "arc-notes.service")
	unit, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(unit), "WantedBy=default.target")
	require.Contains(t, string(unit), `ExecStart="`+program+`" "--dir" "`+strings.NewReplacer("%", "%%", "{", `\x7b`).Replace(dir)+`" "serve"`)
	cmd := exec.Command(analyze, "--user", "verify", file)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_RUNTIME_DIR="+home, "SYSTEMD_LOG_LEVEL=notice")
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, string(said))
	require.Empty(t, string(said))
	said, err = os.ReadFile(calls)
	require.NoError(t, err)
	for _, want := range []string{"enable --user arc-notes.service", "daemon-reload --user", "start --user arc-notes.service"} {
		require.Contains(t, string(said), want)
	}
	run("services", "uninstall")
	require.NoFileExists(t, file)
}
