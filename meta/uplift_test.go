package meta_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/uplift"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/store"
)

func TestEpisodesAreKeptAndCountOnce(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	m := open(t, st)
	for i := range 60 {
		e := meta.Episode{Key: fmt.Sprint(i), Treatments: []string{"a", "b", "a"}, Treated: i%2 == 0, Chance: 0.5, Success: i%2 == 0}
		require.NoError(t, m.RecordEpisode(t.Context(), e))
		require.NoError(t, m.RecordEpisode(t.Context(), e))
	}
	want, err := m.Uplift(t.Context(), "a")
	require.NoError(t, err)
	require.Positive(t, want.Low)
	require.Equal(t, [2]int{30, 30}, [2]int{want.Treated, want.Withheld})
	require.Equal(t, [2]float64{1, 0}, [2]float64{want.With, want.Without})
	require.NoError(t, m.Close())
	m = open(t, st)
	for _, name := range []string{"a", "b"} {
		got, err := m.Uplift(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for i := range 60 {
		require.NoError(t, m.RecordEpisode(t.Context(), meta.Episode{Key: fmt.Sprint("c", i), Treatments: []string{"c"}, Treated: i%2 == 0, Chance: 0.5, Success: i%2 == 1}))
	}
	u, err := m.Uplift(t.Context(), "c")
	require.NoError(t, err)
	require.Negative(t, u.High)
	require.True(t, strings.HasPrefix(u.String(), "harms by -"), u)
}

func TestBadEpisodes(t *testing.T) {
	t.Parallel()
	m := open(t, store.NewMem())
	for name, spoil := range map[string]func(*meta.Episode){
		"no key":         func(e *meta.Episode) { e.Key = "" },
		"no treatment":   func(e *meta.Episode) { e.Treatments = nil },
		"empty name":     func(e *meta.Episode) { e.Treatments = []string{""} },
		"long name":      func(e *meta.Episode) { e.Treatments = []string{strings.Repeat("x", 257)} },
		"too many":       func(e *meta.Episode) { e.Treatments = make([]string, 65) },
		"chance 0":       func(e *meta.Episode) { e.Chance = 0 },
		"chance 1":       func(e *meta.Episode) { e.Chance = 1 },
		"chance is NaN":  func(e *meta.Episode) { e.Chance = math.NaN() },
		"NUL in the key": func(e *meta.Episode) { e.Key = "a\x00" },
	} {
		e := meta.Episode{Key: "k", Treatments: []string{"t"}, Chance: 0.5}
		spoil(&e)
		require.ErrorIs(t, m.RecordEpisode(t.Context(), e), meta.ErrInvalid, name)
	}
	_, err := m.Uplift(t.Context(), "")
	require.ErrorIs(t, err, meta.ErrInvalid)
	_, err = m.Uplift(t.Context(), "a\x00")
	require.ErrorIs(t, err, meta.ErrInvalid)
}

// A damaged experiment begins anew.
func TestDamagedTrial(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	k := key.Join("meta", "uplift", "a")
	v, err := codec.Encode(k, uplift.Trial{Treated: uplift.Arm{Episodes: 1, Successes: 2}})
	require.NoError(t, err)
	_, err = st.Commit(t.Context(), store.Op{Key: k, Value: v})
	require.NoError(t, err)
	m := open(t, st)
	for n := range 2 {
		u, err := m.Uplift(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, n, u.Treated+u.Withheld)
		require.NoError(t, m.RecordEpisode(t.Context(), meta.Episode{Key: "k", Treatments: []string{"a"}, Chance: 0.5}))
	}
}

func ExampleMonitor_Uplift() {
	m, _ := meta.Open(context.Background(), store.NewMem(), nil)
	defer m.Close()
	for i := range 200 {
		treated := i%4 != 0 // a host draws this by chance
		e := meta.Episode{Key: fmt.Sprint(i), Treatments: []string{"memory"}, Treated: treated, Chance: 0.75, Success: treated || i%8 == 0}
		if err := m.RecordEpisode(context.Background(), e); err != nil {
			fmt.Println(err)
		}
	}
	u, _ := m.Uplift(context.Background(), "memory")
	fmt.Println(u)
	// Output:
	// helps by +49.9 points (+24.2 to +75.6; 100 % of 150 with, 50 % of 50 without)
}

// Where all was delivered with memory and without, an estimate that says otherwise is drift of the
// scores: the interval tells what is known.
func TestUpliftThatCannotBeToldIsARange(t *testing.T) {
	t.Parallel()
	u := meta.Uplift{Mean: -.05, Low: -.4, High: .3, Treated: 40, Withheld: 12, With: 1, Without: 1}
	require.Equal(t, "cannot tell yet: between -40.0 and +30.0 points (100 % of 40 with, 100 % of 12 without)", u.String())
}
