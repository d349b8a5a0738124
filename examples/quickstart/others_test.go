package main

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/examples/quickstart/internal/repair"
)

var (
	othersDir  = flag.String("others", "", "repair broken packages of others: the folder of a manifest.json")
	othersSeed = flag.Uint64("others.seed", 1, "order of the packages of others, and of the crew")
)

// other is a broken package of the manifest: a folder beside it.
type other struct {
	Name    string `json:"name"`
	Class   string `json:"class"`
	Covered bool   `json:"covered"` // a worker says that it mends the class
}

// TestPackagesOfOthers repairs packages that were not broken by who wrote the
// fixers, in two sessions of half each with one memory. It takes a minute.
func TestPackagesOfOthers(t *testing.T) {
	if *othersDir == "" {
		t.Skip("no packages: -others names the folder of a manifest.json")
	}
	raw, err := os.ReadFile(filepath.Join(*othersDir, "manifest.json"))
	require.NoError(t, err)
	var all []other
	require.NoError(t, json.Unmarshal(raw, &all))
	r := rand.New(rand.NewPCG(*othersSeed, 4))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })

	before := t.TempDir()
	require.NoError(t, repair.Copy(before, *othersDir))
	s := bench(t, *othersSeed)
	covered, mended := 0, 0
	for i, half := range [][]other{all[:(len(all)+1)/2], all[(len(all)+1)/2:]} {
		ses := &session{}
		given := 0
		for _, o := range half {
			dir := filepath.Join(*othersDir, o.Name)
			d, err := repair.Check(t.Context(), dir)
			require.NoError(t, err)
			require.False(t, d.OK(), o.Name)
			require.NoError(t, s.repair(t.Context(), ses, job{o.Name, dir, dir, d}))
			p := &ses.Packages[len(ses.Packages)-1]
			t.Logf("session %d: %-22s %-16s %-40s delivered %-5v attempts %2d %s %v",
				i+1, o.Name, o.Class, p.Situation, p.Delivered, p.Attempts, p.Worker, p.Reason)
			if o.Covered {
				covered++
			}
			if !p.Delivered {
				given += p.Attempts
				continue
			}
			if o.Covered {
				mended++
			}
			complaint, err := repair.Verify(t.Context(), dir, p.Dir)
			require.NoError(t, err)
			require.Empty(t, complaint, "%s is delivered", o.Name)
		}
		t.Logf("session %d: %d of %d delivered, %.2f attempts each; %.1f for each that is given up", i+1, ses.Delivered,
			ses.Objectives, float64(ses.Attempts-given)/float64(max(1, ses.Delivered)), float64(given)/float64(max(1, ses.Objectives-ses.Delivered)))
	}
	t.Logf("%d of %d covered packages are repaired", mended, covered)
	require.Equal(t, contents(t, before), contents(t, *othersDir), "no package is changed where it lies")
}

// contents reads all files under a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		files[rel] = string(data)
		return err
	}))
	return files
}
