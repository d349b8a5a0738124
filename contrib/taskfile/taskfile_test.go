package taskfile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/contrib/taskfile"
)

func write(t *testing.T, file, text string, mode os.FileMode) {
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), mode))
}

// Every field that a text may have arrives in the draft.
func TestParse(t *testing.T) {
	at := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	got, err := taskfile.Parse([]byte(`[{"subject": "a", "description": "b", "priority": 3, "skills": ["c"],
		"model": "d", "source": "e", "parent": "f", "key": "g", "cron": "0 6 * * 1",
		"at": 2026-11-30T08:00:00Z, "max_retries": 2, "input": {"order": 7}}, {"subject": "h"}]`))
	require.NoError(t, err)
	require.Equal(t, []queue.Draft{{Subject: "a", Description: "b", Priority: 3, Skills: []string{"c"},
		Model: "d", Source: "e", Parent: "f", Key: "g", Cron: "0 6 * * 1", At: at, MaxAttempts: 2,
		Input: []byte(`{"order":7}`)}, {Subject: "h"}}, got)
	for _, wrong := range []string{"subject: no list", "- {subjekt: x}", "- {subject: x, input: {1: [a}}",
		"- {subject: x, input: {x: .nan}}"} {
		_, err := taskfile.Parse([]byte(wrong))
		require.Error(t, err, wrong)
	}
	d := got[0]
	taskfile.Over(&d, queue.Draft{Priority: 1, Key: "new"})
	require.Equal(t, []any{"a", 1, "new"}, []any{d.Subject, d.Priority, d.Key})
}

func TestTemplate(t *testing.T) {
	file, whole := filepath.Join(t.TempDir(), "report.md"), "---\nsubject: write the report\npriority: 2\n"+
		"---\n\nWith figures.\n"
	for _, text := range []string{whole, strings.ReplaceAll(whole, "\n", "\r\n"), "\ufeff" + whole} {
		write(t, file, text, 0o644)
		d, err := taskfile.Template(file)
		require.NoError(t, err)
		require.Equal(t, queue.Draft{Subject: "write the report", Priority: 2, Description: "With figures.",
			Template: "report"}, d)
	}
	write(t, file, "With figures.\n", 0o644)
	d, err := taskfile.Template(file)
	require.NoError(t, err)
	require.Equal(t, queue.Draft{Subject: "report", Description: "With figures.", Template: "report"}, d)
	ruled := "With figures:\n\n---\n\n- of May\n"
	write(t, file, ruled, 0o644)
	d, err = taskfile.Template(file)
	require.NoError(t, err, "a line --- further down is none of a front matter")
	require.Equal(t, strings.TrimSpace(ruled), d.Description)
	write(t, file, "---\nsubject: x\n---", 0o644)
	d, err = taskfile.Template(file)
	require.NoError(t, err)
	require.Equal(t, queue.Draft{Subject: "x", Template: "report"}, d)
	write(t, file, "---\nprio: 2\n---\n", 0o644)
	_, err = taskfile.Template(file)
	require.ErrorContains(t, err, "line 2: field prio not found", "as an editor counts")
	write(t, file, "---\nsubject: x\ncron: 0 6 * * 1\n", 0o644)
	_, err = taskfile.Template(file)
	require.ErrorContains(t, err, "not closed", "else it would be a job that runs at once")
	_, err = taskfile.Template(filepath.Join(t.TempDir(), "none.md"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestSensors(t *testing.T) {
	dir := t.TempDir()
	require.Empty(t, taskfile.Sensors(filepath.Join(dir, "none")))
	write(t, filepath.Join(dir, "mail", "sensor.sh"), "", 0o755)
	write(t, filepath.Join(dir, "mail", "SKILL.md"), "---\nname: mail\nevery: 2h\n---\n", 0o644)
	write(t, filepath.Join(dir, "disk", "sensor"), "", 0o755)
	write(t, filepath.Join(dir, "other", "sensor.txt"), "", 0o644)
	write(t, filepath.Join(dir, "others", "sensors.sh"), "", 0o755)
	all := taskfile.Sensors(dir)
	require.Equal(t, []taskfile.Sensor{
		{Name: "disk", File: filepath.Join(dir, "disk", "sensor"), Every: 5 * time.Minute},
		{Name: "mail", File: filepath.Join(dir, "mail", "sensor.sh"), Every: 2 * time.Hour},
	}, all)
	for out, n := range map[string]int{"": 0, "skip\n": 0, "- {subject: a}\n- {subject: b}\n": 2} {
		got, err := all[0].Look(func(_ context.Context, _ []byte, argv ...string) (string, error) {
			require.Equal(t, all[0].File, argv[0])
			return out, nil
		})(t.Context())
		require.NoError(t, err)
		require.Len(t, got, n)
	}
	_, err := all[0].Look(func(context.Context, []byte, ...string) (string, error) {
		return "- {subject: a}", errors.New("away")
	})(t.Context())
	require.ErrorContains(t, err, "away")
	write(t, filepath.Join(dir, "mail", "SKILL.md"), "---\nevery: 10 minutes\n---\n", 0o644)
	require.Zero(t, taskfile.Sensors(dir)[1].Every, "which queue.Sense refuses")
}
