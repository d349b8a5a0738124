package rank_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// count returns how many keys a store holds, but for those of what is learned.
func count(t *testing.T, st store.Store) int {
	t.Helper()
	n := 0
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		switch part(e.Key) {
		case "seen", "slot":
			n++
		}
	}
	return n
}

func TestBadSamples(t *testing.T) {
	t.Parallel()
	good := func() rank.Sample {
		return rank.Sample{Key: "k", Candidate: "c", Situation: rank.Situation{Skill: "s"}}
	}
	long := strings.Repeat("x", 257)
	for name, spoil := range map[string]func(*rank.Sample){
		"no key":               func(s *rank.Sample) { s.Key = "" },
		"NUL in the key":       func(s *rank.Sample) { s.Key = "a\x00b" },
		"no candidate":         func(s *rank.Sample) { s.Candidate = "" },
		"candidate not UTF-8":  func(s *rank.Sample) { s.Candidate = "a\xff" },
		"NUL in the skill":     func(s *rank.Sample) { s.Situation.Skill = "\x00" },
		"newline in situation": func(s *rank.Sample) { s.Situation.Key = "a\nb" },
		"feature NaN":          func(s *rank.Sample) { s.Situation.Features = []float64{1, math.NaN()} },
		"feature infinite":     func(s *rank.Sample) { s.Situation.Features = []float64{math.Inf(-1)} },
		"confidence NaN":       func(s *rank.Sample) { s.Confidence = p(math.NaN()) },
		"confidence infinite":  func(s *rank.Sample) { s.Confidence = p(math.Inf(1)) },
		"confidence 1.1":       func(s *rank.Sample) { s.Confidence = p(1.1) },
		"confidence -0.1":      func(s *rank.Sample) { s.Confidence = p(-0.1) },
		"negative wall":        func(s *rank.Sample) { s.Wall = -5 * time.Second },
		"negative cost":        func(s *rank.Sample) { s.CostUSD = -0.01 },
		"cost NaN":             func(s *rank.Sample) { s.CostUSD = math.NaN() },
		"cost infinite":        func(s *rank.Sample) { s.CostUSD = math.Inf(1) },
		"negative tokens in":   func(s *rank.Sample) { s.TokensIn = -1 },
		"negative tokens out":  func(s *rank.Sample) { s.TokensOut = -1 },
		"reward NaN":           func(s *rank.Sample) { s.Reward = p(math.NaN()) },
		"time before 1970":     func(s *rank.Sample) { s.At = time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC) },
		"time in year 9999":    func(s *rank.Sample) { s.At = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := store.NewMem()
			book := open(t, st, nil)
			s := good()
			spoil(&s)
			require.ErrorIs(t, book.Observe(t.Context(), s), rank.ErrSample)
			require.NoError(t, book.Flush(t.Context()))
			require.Zero(t, count(t, st))
		})
	}
	for name, spoil := range map[string]func(*rank.Sample){
		"key":        func(s *rank.Sample) { s.Key = long },
		"candidate":  func(s *rank.Sample) { s.Candidate = long },
		"skill":      func(s *rank.Sample) { s.Situation.Skill = long },
		"features":   func(s *rank.Sample) { s.Situation.Features = make([]float64, rank.MaxFeatures+1) },
		"cost":       func(s *rank.Sample) { s.CostUSD = 2 * rank.MaxCostUSD },
		"reward":     func(s *rank.Sample) { r := -2.0 * rank.MaxReward; s.Reward = &r },
		"tokens in":  func(s *rank.Sample) { s.TokensIn = rank.MaxTokens + 1 },
		"tokens out": func(s *rank.Sample) { s.TokensOut = rank.MaxTokens + 1 },
	} {
		t.Run("over the limit: "+name, func(t *testing.T) {
			t.Parallel()
			st := store.NewMem()
			book := open(t, st, nil)
			s := good()
			spoil(&s)
			err := book.Observe(t.Context(), s)
			limit, ok := errors.AsType[*store.LimitError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, name, limit.Field)
			require.NoError(t, book.Flush(t.Context()))
			require.Zero(t, count(t, st))
		})
	}
}

func TestBadSampleIsReportedWhole(t *testing.T) {
	t.Parallel()
	err := open(t, store.NewMem(), nil).Observe(t.Context(), rank.Sample{CostUSD: -1, Wall: -1, Confidence: p(2)})
	for _, part := range []string{"key", "candidate", "cost", "wall", "confidence"} {
		require.ErrorContains(t, err, part)
	}
}

func TestEdgesOfSamples(t *testing.T) {
	t.Parallel()
	book := open(t, store.NewMem(), nil)
	require.NoError(t, book.Observe(t.Context(), rank.Sample{
		Key: "k", Candidate: "c", Success: true, Wall: math.MaxInt64, Confidence: p(math.Copysign(0, -1)),
		CostUSD: rank.MaxCostUSD, TokensIn: rank.MaxTokens, Reward: p(-3),
		Situation: rank.Situation{Key: "go", Features: make([]float64, rank.MaxFeatures)},
	}))
	s, err := book.Stats(t.Context(), "c", "")
	require.NoError(t, err)
	require.Equal(t, rank.MaxWall, s.Wall, "a huge wall time is clamped")
	require.Equal(t, 1, s.Confident)
	require.Zero(t, s.Confidence)
	require.InDelta(t, rank.MaxCostUSD, s.CostUSD, 0)
	require.InDelta(t, rank.MaxTokens, s.TokensIn, 0)
}

func TestUnknownIsNotFailure(t *testing.T) {
	t.Parallel()
	book := open(t, store.NewMem(), nil)
	for i := range 8 {
		require.NoError(t, book.Observe(t.Context(), rank.Sample{
			Key: fmt.Sprint(i), Candidate: "c", Success: i < 3, Unknown: i >= 4, Confidence: p(0.9), Wall: time.Second,
		}))
	}
	s, err := book.Stats(t.Context(), "c", "")
	require.NoError(t, err)
	require.Equal(t, 8, s.Samples)
	require.Equal(t, 4, s.Known)
	require.InDelta(t, 0.75, s.SuccessRate, 0)
	require.Equal(t, 1, s.HighConfidenceFailures)
	require.Equal(t, 4, s.Confident)

	cs := []rank.Candidate{{Name: "c", Prior: 0.3}}
	ss, err := book.Observed().Score(t.Context(), rank.Situation{}, cs)
	require.NoError(t, err)
	require.Equal(t, rank.Cold, ss[0].Parts.Basis, "four known outcomes are too few")
	require.InDelta(t, 0.3, ss[0].Score, 0)
	require.Equal(t, 8, ss[0].Samples)

	require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: "9", Candidate: "c", Success: true}))
	ss, err = book.Observed().Score(t.Context(), rank.Situation{}, cs)
	require.NoError(t, err)
	require.Equal(t, rank.Warm, ss[0].Parts.Basis)
	require.InDelta(t, 1.6, ss[0].Parts.Success, 1e-15)
}

// Who boasts gains nothing by it: what is reported counts as what came of it, by
// the last 200 samples, and the same after a restart.
func TestCalibratedConfidence(t *testing.T) {
	t.Parallel()
	says := map[string]float64{"boaster": 0.95, "modest": 0.6}
	cs := []rank.Candidate{{Name: "boaster"}, {Name: "modest"}}
	for _, calibrated := range []bool{false, true} {
		st := store.NewMem()
		open := func() *rank.Book {
			b, err := rank.Open(t.Context(), st, &rank.Options{Calibrated: calibrated})
			require.NoError(t, err)
			return b
		}
		parts := func(b *rank.Book) map[string]rank.Parts {
			ss, err := b.Observed().Score(t.Context(), rank.Situation{}, cs)
			require.NoError(t, err)
			return map[string]rank.Parts{ss[0].Candidate.Name: ss[0].Parts, ss[1].Candidate.Name: ss[1].Parts}
		}
		book := open()
		for i := range 600 { // the first 300 are good, and slide out
			for name, c := range says {
				require.NoError(t, book.Observe(t.Context(), rank.Sample{
					Key: fmt.Sprint(name, i), Candidate: name, Success: i < 300 || i%5 < 3, Confidence: &c,
				}))
			}
		}
		got := parts(book)
		require.InDelta(t, 0.6*2, got["boaster"].Success, 1e-12)
		require.InDelta(t, 0.5*0.6, got["modest"].Confidence, 0.005)
		if calibrated {
			require.InDelta(t, 0.5*0.6, got["boaster"].Confidence, 0.01)
		} else {
			require.InDelta(t, 0.5*0.95, got["boaster"].Confidence, 1e-12)
		}
		require.NoError(t, book.Close())
		book = open()
		require.Equal(t, got, parts(book))
		stats, err := book.Stats(t.Context(), "boaster", "")
		require.NoError(t, err)
		require.InDelta(t, 0.95, stats.Confidence, 1e-12, "what was reported is kept")
		require.NoError(t, book.Close())
	}
}

func TestObserveIsIdempotent(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	s := rank.Sample{Key: "k", Candidate: "c", Success: true}
	again := func(book *rank.Book) {
		s.Success = false // what a second sample says does not matter
		require.NoError(t, book.Observe(t.Context(), s))
		got, err := book.Stats(t.Context(), "c", "")
		require.NoError(t, err)
		require.Equal(t, 1, got.Samples)
		require.Equal(t, 1, got.Successes)
	}
	book := open(t, st, nil)
	require.NoError(t, book.Observe(t.Context(), s))
	again(book)
	require.NoError(t, book.Flush(t.Context()))
	again(book)
	for i := range 2 * rank.Window { // push it out of the window
		require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: fmt.Sprint(i), Candidate: "d"}))
	}
	require.NoError(t, book.Close())
	again(open(t, st, nil))
}

func TestZeroTimeIsNow(t *testing.T) {
	t.Parallel()
	now := noon
	book := open(t, store.NewMem(), &rank.Options{Now: func() time.Time { return now }})
	require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: "k", Candidate: "c", CostUSD: 0.5}))
	health := func() rank.Health {
		h, err := book.Health(t.Context(), "c")
		require.NoError(t, err)
		return h
	}
	require.Equal(t, rank.Health{Known: 1, CostUSD: 0.5}, health())
	now = noon.Add(rank.Day)
	require.Equal(t, 1, health().Known, "the day includes its ends")
	now = now.Add(1)
	require.Equal(t, rank.Health{SuccessRate: 1}, health(), "nothing known is neutral")
	require.Zero(t, health().Known)
	stats, err := book.Stats(t.Context(), "c", "")
	require.NoError(t, err)
	require.Equal(t, 1, stats.Samples, "the window does not go by time")
}

func TestSecretInSituation(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	book := open(t, st, &rank.Options{Sync: true})
	require.NoError(t, book.Observe(t.Context(), rank.Sample{
		Key: "k", Candidate: "c", Situation: rank.Situation{Key: "password=hunter2secret"},
	}))
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		require.NotContains(t, e.Key+string(e.Value), "hunter2secret")
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, explore := range []float64{-0.1, 1.1, math.NaN(), math.Inf(1)} {
		_, err := rank.Open(t.Context(), store.NewMem(), &rank.Options{Explore: explore})
		require.ErrorIs(t, err, rank.ErrOptions)
	}
	for _, none := range []store.Store{nil, (*store.Mem)(nil)} {
		_, err := rank.Open(t.Context(), none, nil)
		require.ErrorIs(t, err, rank.ErrOptions)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := rank.Open(ctx, store.NewMem(), nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	book := open(t, st, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cs := []rank.Candidate{{Name: "c"}}
	require.ErrorIs(t, book.Observe(ctx, rank.Sample{Key: "k", Candidate: "c"}), context.Canceled)
	_, err := book.Observed().Score(ctx, rank.Situation{}, cs)
	require.ErrorIs(t, err, context.Canceled)
	_, err = book.Weighted().Score(ctx, rank.Situation{}, cs)
	require.ErrorIs(t, err, context.Canceled)
	_, err = book.Stats(ctx, "c", "")
	require.ErrorIs(t, err, context.Canceled)
	_, err = book.Health(ctx, "c")
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, book.Close())
	require.Zero(t, count(t, st))
}

func TestClosed(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	book := open(t, st, nil)
	require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: "k", Candidate: "c"}))
	require.NoError(t, book.Close())
	require.NoError(t, book.Close())
	require.ErrorIs(t, book.Observe(t.Context(), rank.Sample{Key: "l", Candidate: "c"}), store.ErrClosed)
	_, err := book.Observed().Score(t.Context(), rank.Situation{}, []rank.Candidate{{Name: "c"}})
	require.ErrorIs(t, err, store.ErrClosed)
	_, err = book.Weighted().Score(t.Context(), rank.Situation{}, []rank.Candidate{{}})
	require.ErrorIs(t, err, store.ErrClosed)
	_, err = book.Stats(t.Context(), "c", "")
	require.ErrorIs(t, err, store.ErrClosed)
	_, err = book.Health(t.Context(), "d")
	require.ErrorIs(t, err, store.ErrClosed)
	require.Equal(t, 2, count(t, st), "Close does not close the store, and has written the sample")
}

func TestSync(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	book := open(t, st, &rank.Options{Sync: true})
	require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: "k", Candidate: "c"}))
	require.Equal(t, 2, count(t, st))
}

func TestConcurrentObserve(t *testing.T) {
	t.Parallel()
	const workers, samples = 8, 100
	st := store.NewMem()
	book := open(t, st, nil)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			cs := []rank.Candidate{{Name: "c0"}, {Name: "c1"}, {Name: "c2"}}
			for i := range samples { // every worker brings the same samples
				s := rank.Sample{Key: fmt.Sprint(i), Candidate: fmt.Sprintf("c%d", i%3), Success: i%2 == 0}
				s.Situation.Features = []float64{float64(i % 5)}
				if book.Observe(t.Context(), s) != nil {
					t.Error("observe failed")
				}
				for _, policy := range policies(book) {
					if _, err := policy.Score(t.Context(), s.Situation, cs); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	total := 0
	for i := range 3 {
		s, err := book.Stats(t.Context(), fmt.Sprintf("c%d", i), "")
		require.NoError(t, err)
		total += s.Samples
	}
	require.Equal(t, samples, total)
	require.NoError(t, book.Close())
	require.Equal(t, 2*samples, count(t, st))
}

// broken is a store whose commits fail while it is told to.
type broken struct {
	store.Store
	fail atomic.Bool
}

var errDisk = errors.New("disk on fire")

func (b *broken) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if b.fail.Load() {
		return 0, errDisk
	}
	return b.Store.Commit(ctx, ops...)
}

func TestFailedWriteSurfaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &broken{Store: store.NewMem()}
		book, err := rank.Open(t.Context(), st, nil)
		require.NoError(t, err)
		st.fail.Store(true)
		require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: "1", Candidate: "c"}))
		<-time.After(time.Second) // the group is written behind, and fails
		synctest.Wait()
		require.ErrorIs(t, book.Observe(t.Context(), rank.Sample{Key: "2", Candidate: "c"}), errDisk)
		stats, err := book.Stats(t.Context(), "c", "")
		require.NoError(t, err)
		require.Equal(t, 2, stats.Samples, "the sample of the call that reports counts too")

		require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: "2", Candidate: "c"}), "reported once")
		<-time.After(time.Second)
		require.ErrorIs(t, book.Observe(t.Context(), rank.Sample{Key: "1", Candidate: "c"}), errDisk,
			"also to a call that adds nothing")
		require.ErrorIs(t, book.Flush(t.Context()), errDisk)
		require.ErrorIs(t, book.Close(), errDisk)
	})
}

func TestFailedWriteIsTriedAgain(t *testing.T) {
	t.Parallel()
	st := &broken{Store: store.NewMem()}
	book := open(t, st, nil)
	st.fail.Store(true)
	for i := range 10 {
		require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: fmt.Sprint(i), Candidate: "c", Success: true}))
	}
	require.ErrorIs(t, book.Flush(t.Context()), errDisk)
	st.fail.Store(false)
	require.NoError(t, book.Close())
	s, err := open(t, st, nil).Stats(t.Context(), "c", "")
	require.NoError(t, err)
	require.Equal(t, 10, s.Samples)
}

// TestRefusedSample fills the writer behind a store that takes nothing: what
// is refused then must not count, and must be welcome later.
func TestRefusedSample(t *testing.T) {
	t.Parallel()
	st := &broken{Store: store.NewMem()}
	book := open(t, st, nil)
	st.fail.Store(true)
	counted, refused := 0, ""
	for i := 0; refused == ""; i++ {
		require.Less(t, i, 10_000)
		key := fmt.Sprint(i)
		if err := book.Observe(t.Context(), rank.Sample{Key: key, Candidate: "c", Situation: rank.Situation{Skill: key}}); err == nil {
			counted++
			continue
		}
		s, err := book.Stats(t.Context(), "c", key)
		require.NoError(t, err)
		if s.Samples == 0 {
			refused = key
		} else {
			counted++
		}
	}
	st.fail.Store(false)
	require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: refused, Candidate: "c", Situation: rank.Situation{Skill: refused}}))
	require.NoError(t, book.Close())
	require.Equal(t, 2*(counted+1), count(t, st))
}

func TestDamage(t *testing.T) {
	t.Parallel()
	stored := func(t *testing.T) (store.Store, []string) {
		st := store.NewMem()
		book := open(t, st, nil)
		for i := range 5 {
			require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: fmt.Sprint(i), Candidate: "c"}))
		}
		require.NoError(t, book.Close())
		var slots []string
		for e, err := range st.Scan(t.Context(), store.Range{Prefix: "rank\x00slot"}) {
			require.NoError(t, err)
			slots = append(slots, e.Key)
		}
		require.Len(t, slots, 5)
		return st, slots
	}
	check := func(t *testing.T, st store.Store, told int) { // one sample is gone, the others count
		for n := 4; n < 6; n++ {
			var damaged []error
			book := open(t, st, &rank.Options{Damaged: func(err error) { damaged = append(damaged, err) }})
			ss, err := book.Observed().Score(t.Context(), rank.Situation{}, []rank.Candidate{{Name: "c"}, {Name: "d"}})
			require.NoError(t, err)
			require.Equal(t, n, ss[0].Samples+ss[1].Samples, "the other has none")
			require.Len(t, damaged, told)
			for _, err := range damaged {
				require.ErrorIs(t, err, store.ErrDamaged)
			}
			require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: "x", Candidate: "c"}))
			require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: "2", Candidate: "c"}), "it was observed")
			require.NoError(t, book.Close())
		}
	}
	t.Run("flipped bit", func(t *testing.T) {
		t.Parallel()
		st, slots := stored(t)
		e, err := st.Get(t.Context(), slots[2])
		require.NoError(t, err)
		e.Value[len(e.Value)-1] ^= 1
		_, err = st.Commit(t.Context(), store.Op{Key: e.Key, Value: e.Value})
		require.NoError(t, err)
		check(t, st, 1)
	})
	t.Run("missing sample", func(t *testing.T) {
		t.Parallel()
		st, slots := stored(t)
		_, err := st.Commit(t.Context(), store.Op{Key: slots[2], Delete: true})
		require.NoError(t, err)
		check(t, st, 0)
	})
	t.Run("sample of another slot", func(t *testing.T) {
		t.Parallel()
		st, slots := stored(t)
		e, err := st.Get(t.Context(), slots[2])
		require.NoError(t, err)
		_, err = st.Commit(t.Context(), store.Op{Key: slots[3], Value: e.Value})
		require.NoError(t, err)
		check(t, st, 1)
	})
}
