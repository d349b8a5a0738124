package meta_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/store"
)

// TestSharedMonitorsComeToWhatOneDoes has three Monitors of one store record, some of it at
// two of them, beside one of its own. When all is folded, each has what the one has.
func TestSharedMonitorsComeToWhatOneDoes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
		mem := store.NewMem()
		open := func(st store.Store, shared bool) *meta.Monitor {
			m, err := meta.Open(t.Context(), st, &meta.Options{Now: func() time.Time { return now }, Shared: shared, Tenant: "acme"})
			require.NoError(r, err)
			return m
		}
		all := []*meta.Monitor{open(mem, true), open(mem, true), open(mem, true)}
		one := open(store.NewMem(), false)
		defer one.Close()
		pick := func() *meta.Monitor { return all[rapid.IntRange(0, len(all)-1).Draw(r, "monitor")] }
		n := 0
		both := func(do func(*meta.Monitor) error) {
			n++
			require.NoError(r, do(one))
			require.NoError(r, do(pick()))
			if rapid.IntRange(0, 4).Draw(r, "again") == 0 {
				require.NoError(r, do(pick())) // which may not know
			}
		}
		r.Repeat(map[string]func(*rapid.T){
			"record": func(r *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(r, "outcomes") {
					o := meta.Outcome{
						Key: fmt.Sprint("o", n), Session: fmt.Sprint("s", n%3), Goal: "mend it", Approach: fmt.Sprint(n % 2),
						Success: rapid.Bool().Draw(r, "success"), At: now,
					}
					both(func(m *meta.Monitor) error { return m.Record(t.Context(), o) })
				}
			},
			"episode": func(r *rapid.T) {
				e := meta.Episode{
					Key: fmt.Sprint("e", n), Treatments: []string{"memory"}, Chance: 0.5,
					Treated: rapid.Bool().Draw(r, "treated"), Success: rapid.Bool().Draw(r, "success"),
				}
				both(func(m *meta.Monitor) error { return m.RecordEpisode(t.Context(), e) })
			},
			"conclude": func(r *rapid.T) {
				e := meta.Ending{Run: fmt.Sprint("run", n), Situation: "it is broken", Delivered: rapid.Bool().Draw(r, "delivered")}
				both(func(m *meta.Monitor) error { return m.Conclude(t.Context(), "acme/ann", e) })
			},
			"forget": func(r *rapid.T) {
				for _, m := range all { // what is not written yet cannot be forgotten by others
					require.NoError(r, m.Flush(t.Context()))
				}
				require.NoError(r, one.Forget(t.Context(), "s1"))
				require.NoError(r, pick().Forget(t.Context(), "s1"))
			},
			"refresh": func(*rapid.T) { require.NoError(r, pick().Refresh(t.Context())) },
			"reopen": func(*rapid.T) {
				i := rapid.IntRange(0, len(all)-1).Draw(r, "monitor")
				require.NoError(r, all[i].Close())
				all[i] = open(mem, true)
			},
		})
		for _, m := range all {
			require.NoError(r, m.Flush(t.Context()))
		}
		all = append(all, open(mem, true))
		for _, m := range all {
			require.NoError(r, m.Refresh(t.Context()))
			want, err := one.Uplift(t.Context(), "memory")
			require.NoError(r, err)
			got, err := m.Uplift(t.Context(), "memory")
			require.NoError(r, err)
			want.Mean, want.Low, want.High = got.Mean, got.Low, got.High // they depend a little on the order
			require.Equal(r, want, got)
			require.Equal(r, recorded(r, t, one), recorded(r, t, m))
			past, _, err := one.Past(t.Context(), "acme/ann", "")
			require.NoError(r, err)
			theirs, _, err := m.Past(t.Context(), "acme/ann", "")
			require.NoError(r, err)
			require.Len(r, theirs, len(past))
		}
		for _, m := range all {
			require.NoError(r, m.Close())
		}
		alone := open(mem, false) // what lies there is for the only opener
		defer alone.Close()
		require.Equal(r, recorded(r, t, one), recorded(r, t, alone))
	})
}

func recorded(r *rapid.T, t *testing.T, m *meta.Monitor) map[string]bool {
	keys := make(map[string]bool)
	for o, err := range m.Outcomes(t.Context()) {
		require.NoError(r, err)
		keys[fmt.Sprint(o.Session, " ", o.Key, " ", o.Success)] = true
	}
	return keys
}
