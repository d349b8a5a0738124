//go:build unix

package queue_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/store"
)

// folder writes files below a directory.
func folder(dir string, files map[string]string) error {
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			return err
		}
	}
	return nil
}

func TestSensorsOfSkills(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, folder(dir, map[string]string{
		"mail/sensor.yaml": "every: 10m\njitter: 1m\ntimeout: 20s\nargv: [./look.sh, a b]\n",
		"mail/look.sh": `#!/bin/sh
echo "{\"subject\": \"after $ARC_CURSOR\", \"description\": \"$1 in $(pwd -P) with $SECRET\", \"template\": \"letter\", \"at\": \"2100-07-01T13:00:00Z\"}"
echo '{"cursor": "17"}'
`,
		"one/sensor.yaml": "argv: [echo, '{\"subject\": \"one\"}']", "none/sensor.yaml": "argv: ['true']",
		"fails/sensor.yaml": "argv: [sh, -c, 'echo HTTP 429 >&2; exit 1']", "talks/sensor.yaml": "argv: [echo, hello]",
		"unknown/sensor.yaml": `argv: [echo, '{"subjct": "x"}']`, "slow/sensor.yaml": "timeout: 50ms\nargv: [sleep, '60']",
		"bad/sensor.yaml": "every: 1m\nargs: [x]", "empty/sensor.yaml": "every: 1m", "span/sensor.yaml": "every: soon\nargv: [x]",
		"negative/sensor.yaml": "every: -1s\nargv: [x]", "two/sensor.yaml": "argv: [x]\n---\nevery: 1h",
	}))
	base := act.Command{Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}}
	none, err := queue.LoadSensors(base)
	require.NoError(t, err)
	require.Empty(t, none, "what the host does not name")
	_, err = queue.LoadSensors(base, "bad", "two", "empty", "span", "negative", "absent", "..", "mail/../mail", "")
	for _, bad := range []string{
		`"bad": sensor.yaml: line 2: field args not found`, `"two": sensor.yaml: line 2: a second document`, `"empty": sensor.yaml: no argv`, `"span"`, `"negative"`, `"absent"`,
		`"..": no name`, `"mail/../mail": no name`, `"": no name`,
	} {
		require.ErrorContains(t, err, bad)
	}
	sensors, err := queue.LoadSensors(base, "mail", "one", "none", "fails", "talks", "unknown", "slow")
	require.NoError(t, err)
	require.Equal(t, 10*time.Minute, sensors[0].Every)
	require.Equal(t, time.Minute, sensors[0].Jitter)
	require.Equal(t, 20*time.Second, sensors[0].Timeout)

	t.Setenv("SECRET", "of the host")
	q, err := queue.Open(t.Context(), store.NewMem(), &queue.Options{
		Templates: map[string]queue.Draft{"letter": {Priority: 2}}, Alone: true,
	})
	require.NoError(t, err)
	found, err := q.Sense(t.Context(), sensors...)
	for _, bad := range []string{`"fails"`, `"talks"`, `"unknown"`, `"slow"`} {
		require.ErrorContains(t, err, "sensor "+bad)
	}
	var limit *act.RateLimitError
	require.ErrorAs(t, err, &limit)
	require.Len(t, found, 2)
	require.Equal(t, "after ", found[0].Subject)
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "mail"))
	require.NoError(t, err)
	require.Equal(t, "a b in "+real+" with ", found[0].Description)
	require.Equal(t, 2, found[0].Priority)
	require.Equal(t, 2100, found[0].At.Year())
	require.Equal(t, "one", found[1].Subject)
	is := stands(t, t.Context(), q)
	require.Equal(t, "17", is["mail"].Cursor)
	require.Contains(t, is["fails"].Error, "429")
}

// A skill brings a program that looks into its folder; the host allows it by name.
func ExampleLoadSensors() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "arc-skills-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	err = folder(dir, map[string]string{
		"mail/sensor.yaml": "every: 10m\nargv: [sh, look.sh]\n",
		"mail/look.sh":     "for f in inbox/*; do echo '{\"subject\": \"answer '$f'\", \"key\": \"'$f'\"}'; done",
		"mail/inbox/ann":   "hello", "mail/inbox/ben": "hi",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	sensors, err := queue.LoadSensors(act.Command{Dir: dir}, "mail")
	if err != nil {
		fmt.Println(err)
		return
	}
	q, err := queue.Open(ctx, store.NewMem(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := q.Sense(ctx, sensors...)
	for _, j := range found {
		fmt.Println(j.Subject)
	}
	fmt.Println(err)
	// Output:
	// answer inbox/ann
	// answer inbox/ben
	// <nil>
}
