package parcel_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/parcel"
	"github.com/arc-learn/arc/store"
)

func written(t require.TestingT, scope string, entries ...store.Entry) []byte {
	var file bytes.Buffer
	w, err := parcel.NewWriter(&file, scope)
	require.NoError(t, err)
	for _, e := range entries {
		require.NoError(t, w.Put(e))
	}
	require.NoError(t, w.Close())
	return file.Bytes()
}

func read(r io.Reader) (scope string, entries []store.Entry, err error) {
	x, err := parcel.NewReader(r)
	if err != nil {
		return "", nil, err
	}
	err = x.Each(func(e store.Entry) error { entries = append(entries, e); return nil })
	return x.Scope, entries, err
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringMatching("[a-z<>&\" \u2028é]{0,9}")
		var entries []store.Entry
		seen := map[string]bool{"": true}
		for range rapid.IntRange(0, 9).Draw(t, "n") {
			e := store.Entry{Key: key.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "key")...), Value: rapid.SliceOf(rapid.Byte()).Draw(t, "value")}
			if !seen[e.Key] {
				seen[e.Key] = true
				entries = append(entries, e)
			}
		}
		file := written(t, "acme", entries...)
		scope, got, err := read(bytes.NewReader(file))
		require.NoError(t, err)
		require.Equal(t, "acme", scope)
		require.Equal(t, entries, got)
		cut := rapid.IntRange(0, len(file)-1).Draw(t, "cut")
		_, _, err = read(bytes.NewReader(file[:cut]))
		require.Error(t, err)
		file[cut] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		_, _, err = read(bytes.NewReader(file))
		require.Error(t, err)
	})
}

func TestBadLines(t *testing.T) {
	t.Parallel()
	e := store.Entry{Key: key.Join("a", "b"), Value: []byte("v")}
	good := string(written(t, "acme", e))
	head, rest, _ := strings.Cut(good, "\n")
	head += "\n"
	for name, c := range map[string]struct {
		file string
		is   error
	}{
		"empty":          {"", store.ErrForeign},
		"another file":   {"# Notes\n", store.ErrForeign},
		"a long line":    {strings.Repeat("x", 3<<20), store.ErrForeign},
		"another JSON":   {`{"a":1}` + "\n", store.ErrForeign},
		"newer":          {`{"arc":"parcel","format":2,"scope":"acme","new":1}` + "\n", store.ErrNewer},
		"older":          {`{"arc":"parcel","format":0,"scope":"acme"}` + "\n", store.ErrDamaged},
		"more members":   {`{"arc":"parcel","format":1,"scope":"acme","more":1}` + "\n", store.ErrDamaged},
		"no end":         {head, store.ErrDamaged},
		"types":          {head + `{"key":"a","value":"dg=="}` + "\n", store.ErrDamaged},
		"no base64":      {head + `{"key":["a"],"value":"?"}` + "\n", store.ErrDamaged},
		"a null":         {head + `null` + "\n", store.ErrDamaged},
		"deep":           {head + strings.Repeat("[", 1<<20) + "\n", store.ErrDamaged},
		"blank":          {head + "\n", store.ErrDamaged},
		"twice a member": {head + `{"key":["a"],"key":["b"],"value":"dg=="}` + "\n", store.ErrDamaged},
		"invalid UTF-8":  {head + "{\"key\":[\"a\xff\"],\"value\":\"dg==\"}\n", store.ErrDamaged},
		"a NUL":          {head + `{"key":["a\u0000b"],"value":"dg=="}` + "\n", store.ErrDamaged},
		"no key":         {head + `{"key":[],"value":"dg=="}` + "\n", store.ErrDamaged},
		"twice a line":   {head + `{"key":["a"],"value":"dg=="}` + "\n" + `{"key":["a"],"value":"dg=="}` + "\n", store.ErrDamaged},
		"spaces":         {head + " " + rest, store.ErrDamaged},
		"lines of DOS":   {strings.ReplaceAll(good, "\n", "\r\n"), store.ErrDamaged},
		"more behind":    {good + "\n", store.ErrDamaged},
		"two":            {good + good, store.ErrDamaged},
		"no last line":   {strings.TrimSuffix(good, "\n"), store.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := read(strings.NewReader(c.file))
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, "line ")
		})
	}
	_, err := parcel.NewReader(strings.NewReader(`{"arc":"parcel","format":0,"scope":"acme"}` + "\n"))
	require.ErrorIs(t, err, store.ErrDamaged, "no version has had this format")
	for name, line := range map[string]string{
		"long line":  strings.Repeat("x", 3<<20),
		"long key":   fmt.Sprintf(`{"key":[%q],"value":"dg=="}`, strings.Repeat("k", 2000)),
		"long value": fmt.Sprintf(`{"key":["a"],"value":%q}`, strings.Repeat("A", 1280<<10)),
	} {
		_, _, err := read(strings.NewReader(head + line + "\n"))
		_, limit := errors.AsType[*store.LimitError](err)
		require.True(t, limit, "%s: %v", name, err)
	}
}

func TestSpool(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	want := bytes.Repeat([]byte("0123456789abcdef"), 300<<10)
	s := parcel.NewSpool(t.Context(), st)
	s.Prefix = "p/"
	_, err := io.Copy(s, bytes.NewReader(want))
	require.NoError(t, err)
	require.NoError(t, s.Rewind())
	got, err := io.ReadAll(s)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))
	n := 0
	for e := range st.Scan(t.Context(), store.Range{}) {
		require.True(t, strings.HasPrefix(e.Key, "p/"))
		n++
	}
	require.Equal(t, 10, n)
}

// FuzzRead reads what others have made: what is accepted is what a Writer writes.
func FuzzRead(f *testing.F) {
	f.Add(written(f, "acme", store.Entry{Key: key.Join("a", "b"), Value: []byte("v")}))
	f.Add([]byte(`{"arc":"parcel","format":1,"scope":"acme"}` + "\n{}\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		scope, entries, err := read(bytes.NewReader(file))
		if err == nil {
			require.Equal(t, string(file), string(written(t, scope, entries...)))
		}
	})
}
