package agefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/contrib/agefile"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "below", "secrets.age")
	open := func(password string) *agefile.File {
		f := agefile.New(path, password)
		f.WorkFactor = 10
		return f
	}
	f := open("correct horse")
	host := arc.Host{Secrets: f.Get}
	_, err := host.Secrets(t.Context(), "shop.TOKEN")
	require.ErrorIs(t, err, agefile.ErrNotFound)
	set := func(value string) func(map[string]string) error {
		return func(all map[string]string) error { all["shop.TOKEN"] = value; return nil }
	}
	require.ErrorIs(t, open("").Change(set("x")), agefile.ErrLocked)
	require.NoFileExists(t, path)
	require.NoError(t, f.Change(set("s3cr3t-value")))
	value, err := host.Secrets(t.Context(), "shop.TOKEN")
	require.NoError(t, err)
	require.Equal(t, "s3cr3t-value", value)

	// What another process has changed is seen; what was refused is not kept; a copy is the caller's.
	require.NoError(t, open("correct horse").Change(set("another-value")))
	require.Error(t,
		f.Change(func(all map[string]string) error { delete(all, "shop.TOKEN"); return errors.New("no") }))
	all, err := f.All()
	require.NoError(t, err)
	all["shop.TOKEN"] = "changed"
	value, err = f.Get(t.Context(), "shop.TOKEN")
	require.NoError(t, err)
	require.Equal(t, "another-value", value)

	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "value")
	require.NoError(t, os.Chmod(path, 0o644)) // as another program has made it
	require.NoError(t, f.Change(set("another-value")))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	_, err = open("battery staple").All()
	require.ErrorIs(t, err, agefile.ErrPassword)
	require.ErrorIs(t, open("battery staple").Change(set("x")), agefile.ErrPassword)
	_, err = open("").Get(t.Context(), "shop.TOKEN")
	require.ErrorIs(t, err, agefile.ErrLocked)
}
