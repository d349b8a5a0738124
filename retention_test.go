package arc_test

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

var (
	retentionRuns = flag.Int("retention.runs", 2000, "runs of TestRetentionBoundsTheStore")
	retentionDisk = flag.Bool("retention.disk", false, "TestRetentionBoundsTheStore keeps them in Badger")
)

func idsOf(t *testing.T, v arc.View, f arc.Filter) (ids []string) {
	t.Helper()
	for r, err := range v.Runs(t.Context(), f) {
		require.NoError(t, err)
		ids = append(ids, r.ID)
	}
	return ids
}

func TestRetention(t *testing.T) {
	t.Parallel()
	c, s := newClock(), &script{}
	s.decide = func(_ int, b reason.Brief) (reason.Decision, error) {
		if strings.Contains(b.Objective, "unclear") {
			return reason.Decision{Complexity: reason.Unclear, Questions: []string{"which?"}}, nil
		}
		return plan(b.Objective), nil
	}
	st := store.NewMem()
	a := agentOn(t, st, s.host(), &arc.Options{Now: c.Now, Retention: arc.Retention{Count: 2}})
	run(t, a, arc.Objective{ID: "asks", Text: "an unclear thing", Scope: "acme"})
	old := run(t, a, arc.Objective{ID: "old", Text: "mend the pool", Scope: "acme"})
	c.Add(91 * 24 * time.Hour)
	for n := range 3 {
		run(t, a, arc.Objective{ID: fmt.Sprint("new", n), Text: "mend the cache", Scope: "acme"})
		run(t, a, arc.Objective{ID: fmt.Sprint("new", n), Text: "mend the cache", Scope: "ajax"})
		c.Add(time.Hour)
	}
	require.NoError(t, a.Prune(t.Context()))
	require.Equal(t, []string{"new2", "new1", "asks"}, idsOf(t, a.In("acme"), arc.Filter{}))
	require.Equal(t, []string{"new2", "new1"}, idsOf(t, a.In("ajax"), arc.Filter{}))
	_, err := a.In("acme").Memory().Get(t.Context(), old.Learned[0])
	require.NoError(t, err, "memories stay")

	samples := func() int {
		r, err := a.In("acme").Rank(t.Context(), "", reason.Task{Skill: "work"})
		require.NoError(t, err)
		return r[0].Samples
	}
	require.Equal(t, 4, samples(), "what a run has taught stays")
	c.Add((400-90)*24*time.Hour - time.Hour)
	_, err = a.Maintain(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, 3, samples(), "until it is older than Samples")
	require.Equal(t, []string{"asks"}, idsOf(t, a.In("acme"), arc.Filter{}))
	require.Equal(t, []string{"new2", "new1"}, idsOf(t, a.In("ajax"), arc.Filter{}), "Maintain is for one tenant")
}

// A number of runs that is no number keeps all, as a negative age does.
func TestNegativeRetentionKeeps(t *testing.T) {
	t.Parallel()
	c := newClock()
	a := agent(t, (&script{}).host(), &arc.Options{Now: c.Now, Retention: arc.Retention{Count: -1}})
	for n := range 3 {
		run(t, a, arc.Objective{ID: fmt.Sprint("run ", n), Text: "mend the cache"})
	}
	require.NoError(t, a.Prune(t.Context()))
	require.Len(t, idsOf(t, a.In(""), arc.Filter{}), 3)
}

// A store that has seen 400 days of runs is not more than twice one that has
// seen the 90 days which are kept.
func TestRetentionBoundsTheStore(t *testing.T) {
	const days, window = 400, 90
	perDay := max(1, *retentionRuns/days)
	size := func(days int) (keys, bytes int, heap uint64) {
		c, dir := newClock(), t.TempDir()
		var st store.Store = store.NewMem()
		if *retentionDisk {
			disk, err := badger.Open(dir, nil)
			require.NoError(t, err)
			st = disk
		}
		h, n := arc.Host{Gates: []act.Gate{act.NoGate}}, 0
		for _, name := range []string{"one", "two"} {
			h.Workers = append(h.Workers, act.Worker{
				Card: rank.Candidate{Name: name, Prior: 0.5}, Skills: []string{"work"},
				Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
					n++
					return done(fmt.Sprintf(`"%s %d"`, strings.Repeat("x", n%3*1500), n)), nil
				}),
			})
		}
		a, err := arc.New(t.Context(), st, h, &arc.Options{Now: c.Now, Seed: 1})
		require.NoError(t, err)
		for day := range days {
			for n := range perDay {
				text := fmt.Sprintf("mend thing %d", n%20)
				run(t, a, arc.Objective{ID: fmt.Sprintf("run-%d-%d", day, n), Text: text, Tasks: plan(text).Tasks})
				c.Add(24 * time.Hour / time.Duration(perDay))
			}
			require.NoError(t, a.Prune(t.Context()))
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		require.NoError(t, a.Close())
		for e, err := range st.Scan(t.Context(), store.Range{}) {
			require.NoError(t, err)
			keys, bytes = keys+1, bytes+len(e.Key)+len(e.Value)
		}
		if disk, ok := st.(*badger.Store); ok { // bytes are those of the files then
			require.NoError(t, disk.Maintain(t.Context()))
			bytes = 0
			require.NoError(t, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					var info fs.FileInfo
					info, err = d.Info()
					bytes += int(info.Size())
				}
				return err
			}))
		}
		require.NoError(t, st.Close())
		return keys, bytes, m.HeapAlloc
	}
	keys, bytes, heap := size(window)
	allKeys, allBytes, allHeap := size(days)
	t.Logf("%d runs: %d keys and %d bytes, heap %d; after %d days of them %d keys and %d bytes, heap %d",
		days*perDay, keys, bytes, heap, days, allKeys, allBytes, allHeap)
	require.Less(t, allKeys, 2*keys)
	require.Less(t, allBytes, 2*bytes)
	require.Less(t, allHeap, 2*heap)
}
