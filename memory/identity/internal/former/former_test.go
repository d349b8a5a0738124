package former_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity/internal/former"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/store"
)

func TestGroups(t *testing.T) {
	st := store.NewMem()
	put := func(k string) {
		_, err := st.Commit(t.Context(), store.Op{Key: k, Value: []byte("x")})
		require.NoError(t, err)
	}
	for i := range 70 {
		put(key.Join("identity", "f", "acme", fmt.Sprintf("%03d", i)))
	}
	put(key.Join("identity", "f", "acme/ann", "a"))
	put(key.Join("identity", "p", "acme/ann"))
	put(key.Join("identityx", "p", "acme/ann"))
	var got []string
	for g, err := range former.Groups(t.Context(), st) {
		require.NoError(t, err)
		got = append(got, fmt.Sprint(g.Part, " ", g.Scope, " ", g.Records[0].Name, " ", len(g.Records)))
	}
	require.Equal(t, []string{"f acme 000 64", "f acme 064 6", "f acme/ann a 1", "p acme/ann acme/ann 1"}, got)
	for range former.Groups(t.Context(), st) {
		break
	}
	put(key.Join("identity", "f", "acme", "a", "b"))
	var failed error
	for _, err := range former.Groups(t.Context(), st) {
		failed = err
	}
	require.ErrorIs(t, failed, store.ErrDamaged)
}

func TestOwner(t *testing.T) {
	bank, err := memory.Open(t.Context(), store.NewMem(), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, bank.Close()) }()
	long := memory.Scope("acme/" + strings.Repeat(strings.Repeat("x", 128)+"/", 4) + "end")
	hashed := former.Place{Part: "f", Scope: memory.Scope("#" + ident.Name(string(long)))}
	_, known := hashed.Owner(bank)
	require.False(t, known)
	_, err = bank.In(long).Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "tea"})
	require.NoError(t, err)
	for p, want := range map[former.Place]memory.Scope{hashed: long, {Scope: "acme"}: "acme", {}: ""} {
		got, known := p.Owner(bank)
		require.True(t, known)
		require.Equal(t, want, got)
	}
}
