package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/store"
)

// Three devices that exchange by one file, in any order, come to know the same. What any
// of them has rejected is rejected everywhere.
func TestIdentitySyncProperty(t *testing.T) {
	dir, round := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		bank, err := memory.Open(t.Context(), store.NewMem(), nil)
		require.NoError(t, err)
		defer bank.Close()
		round++
		file := filepath.Join(dir, fmt.Sprint(round, ".json"))
		now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
		var devices []*identity.Identity
		for i := range 3 {
			x, err := identity.New(bank, memory.Scope(fmt.Sprint("device/", i)), &identity.Options{Now: func() time.Time {
				now = now.Add(time.Minute)
				return now
			}})
			require.NoError(t, err)
			devices = append(devices, x)
		}
		rejected := map[string]bool{}
		sync := func(x *identity.Identity) {
			_, err := exchange(t.Context(), x, file, identity.Local)
			require.NoError(t, err)
		}
		for range rapid.IntRange(1, 20).Draw(t, "actions") {
			x := rapid.SampledFrom(devices).Draw(t, "device")
			text := fmt.Sprintf("knows subject %d", rapid.IntRange(1, 5).Draw(t, "subject"))
			facts, err := x.List(t.Context(), identity.Filter{})
			require.NoError(t, err)
			switch at := slices.IndexFunc(facts, func(f identity.View) bool { return f.Content == text }); {
			case rapid.Bool().Draw(t, "sync"):
				sync(x)
			case at >= 0 && rapid.Bool().Draw(t, "reject"):
				_, err := x.Reject(t.Context(), facts[at].ID, "no")
				require.NoError(t, err)
				rejected[text] = true
			case !rejected[text]: // adding by hand takes a rejection back
				_, err := x.Add(t.Context(), identity.Draft{Content: text, Category: identity.Expertise})
				require.NoError(t, err)
			}
		}
		for range 2 {
			for _, i := range rapid.Permutation([]int{0, 1, 2}).Draw(t, "order") {
				sync(devices[i])
			}
		}
		known := func(x *identity.Identity) (all []string) {
			facts, err := x.List(t.Context(), identity.Filter{Archived: true})
			require.NoError(t, err)
			for _, f := range facts {
				require.Equal(t, rejected[f.Content], !f.Rejected.IsZero(), "%s", f.Content)
				all = append(all, fmt.Sprint(f.ID, f.Content, f.Maturity, f.Confidence, f.Validations, f.Rejected, f.Archived))
			}
			slices.Sort(all)
			return all
		}
		require.Equal(t, known(devices[0]), known(devices[1]))
		require.Equal(t, known(devices[0]), known(devices[2]))
	})
}

func TestIdentityCommands(t *testing.T) {
	one, two, file := made(t, "notes"), made(t, "notes"), filepath.Join(t.TempDir(), "me.json")
	tea := decoded[identity.Fact](t, one, "identity", "add", "--text", "prefers tea")
	works(t, one, "identity", "add", "--text", "is at home in the evening", "--private")
	works(t, one, "identity", "confirm", "--id", string(tea.ID))
	works(t, one, "identity", "sync", "--file", file)
	require.Contains(t, works(t, two, "identity", "sync", "--file", file), "1 added")
	require.NotContains(t, works(t, two, "identity"), "evening")
	out := works(t, two, "identity", "reject", "--id", string(tea.ID), "--reason", "it is coffee now")
	require.Contains(t, out, "rejected   "+tea.Content)
	works(t, two, "identity", "sync", "--file", file, "--all")
	works(t, one, "identity", "sync", "--file", file)
	require.NotContains(t, works(t, one, "identity"), "tea")
}
