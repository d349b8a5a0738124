package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/store"
)

// shelf answers as an implementer's Get does, with the checks that package
// store has for it.
type shelf map[string]string

func (s shelf) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := store.CheckContext(ctx); err != nil {
		return store.Entry{}, err
	}
	if err := store.CheckKey(key); err != nil {
		return store.Entry{}, err
	}
	v, ok := s[key]
	if !ok {
		return store.Entry{}, store.NotFound(key)
	}
	return store.Entry{Key: key, Value: []byte(v)}, nil
}

func TestChecksRefuseWhatMemRefuses(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		key  string
		want error
	}{
		"no context":    {nil, "a", nil},
		"ended context": {ended, "a", context.Canceled},
		"empty key":     {t.Context(), "", store.ErrKey},
		"not UTF-8":     {t.Context(), "\xff", store.ErrKey},
		"long key":      {t.Context(), strings.Repeat("k", store.MaxKey+1), &store.LimitError{Field: "key", Limit: store.MaxKey, Got: store.MaxKey + 1}},
		"missing key":   {t.Context(), "b", store.ErrNotFound},
	} {
		for _, st := range []interface {
			Get(ctx context.Context, key string) (store.Entry, error)
		}{shelf{"a": "1"}, store.NewMem()} {
			_, err := st.Get(c.ctx, c.key)
			require.Error(t, err, name)
			if limit, ok := errors.AsType[*store.LimitError](err); ok {
				require.Equal(t, c.want, limit, name)
			} else if c.want != nil {
				require.ErrorIs(t, err, c.want, name)
			}
		}
	}
	require.ErrorContains(t, store.NotFound("a/b"), `"a/b"`)
	e, err := shelf{"a": "1"}.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "1", string(e.Value))
}

func TestCheckOpsFindsKeysThatAreNamedTwice(t *testing.T) {
	t.Parallel()
	key := rapid.StringMatching(`(a{0,2}\x00)?[ab]{0,2}\x00?(b{7,9})?c`) // many share their end, and a NUL is no padding
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(key, 0, 40).Draw(t, "keys")
		distinct := make(map[string]bool)
		ops := make([]store.Op, len(keys))
		for i, k := range keys {
			distinct[k], ops[i].Key = true, k
		}
		if err := store.CheckOps(ops); len(distinct) == len(keys) {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, store.ErrKey)
		}
	})
}
