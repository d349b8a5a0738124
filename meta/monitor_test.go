package meta_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// count returns how many keys a store holds.
func count(t *testing.T, st store.Store) int {
	t.Helper()
	n := 0
	for _, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		n++
	}
	return n
}

func TestBadOutcomes(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*meta.Outcome){
		"no key":                 func(o *meta.Outcome) { o.Key = "" },
		"NUL in the key":         func(o *meta.Outcome) { o.Key = "a\x00" },
		"no session":             func(o *meta.Outcome) { o.Session = "" },
		"session not UTF-8":      func(o *meta.Outcome) { o.Session = "\xff" },
		"newline in the session": func(o *meta.Outcome) { o.Session = "a\nb" },
		"resonance NaN":          func(o *meta.Outcome) { o.Resonance = p(math.NaN()) },
		"resonance 1.1":          func(o *meta.Outcome) { o.Resonance = p(1.1) },
		"resonance -0.1":         func(o *meta.Outcome) { o.Resonance = p(-0.1) },
		"time before 1970":       func(o *meta.Outcome) { o.At = time.Unix(-1, 0) },
		"time in year 9999":      func(o *meta.Outcome) { o.At = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := store.NewMem()
			m := open(t, st)
			o := meta.Outcome{Key: "k", Session: "s"}
			spoil(&o)
			require.ErrorIs(t, m.Record(t.Context(), o), meta.ErrInvalid)
			require.NoError(t, m.Flush(t.Context()))
			require.Zero(t, count(t, st))
		})
	}
	long := strings.Repeat("x", 64<<10+1)
	for name, spoil := range map[string]func(*meta.Outcome){
		"key":      func(o *meta.Outcome) { o.Key = long },
		"session":  func(o *meta.Outcome) { o.Session = long },
		"goal":     func(o *meta.Outcome) { o.Goal = long },
		"approach": func(o *meta.Outcome) { o.Approach = long },
		"note":     func(o *meta.Outcome) { o.Note = long },
	} {
		t.Run("over the limit: "+name, func(t *testing.T) {
			t.Parallel()
			st := store.NewMem()
			m := open(t, st)
			o := meta.Outcome{Key: "k", Session: "s"}
			spoil(&o)
			err := m.Record(t.Context(), o)
			limit, ok := errors.AsType[*store.LimitError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, name, limit.Field)
			require.Less(t, len(err.Error()), 1000, "the text is not in the error")
			require.NoError(t, m.Flush(t.Context()))
			require.Zero(t, count(t, st))
		})
	}
	for _, none := range []store.Store{nil, (*store.Mem)(nil)} {
		_, err := meta.Open(t.Context(), none, nil)
		require.ErrorIs(t, err, meta.ErrInvalid)
	}
	m := open(t, store.NewMem())
	for _, session := range []string{"", "\x00", "\xff"} {
		_, err := m.Assess(t.Context(), session)
		require.ErrorIs(t, err, meta.ErrInvalid)
	}
}

func TestRecordIsIdempotent(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	o := meta.Outcome{Key: "k", Success: true}
	again := func(m *meta.Monitor) {
		o.Success = false // what a second outcome says does not matter
		record(t, m, "s", o)
		a := assess(t, m, "s")
		require.Equal(t, 1, a.Total)
		require.Equal(t, 1, a.Successes)
	}
	m := open(t, st)
	record(t, m, "s", o)
	again(m)
	require.NoError(t, m.Flush(t.Context()))
	again(m)
	record(t, m, "other session", meta.Outcome{Key: "k"})
	require.Equal(t, 1, assess(t, m, "other session").Failures)
	require.NoError(t, m.Close())
	again(open(t, st))
}

func TestTexts(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	m := open(t, st)
	record(t, m, "s", meta.Outcome{
		Goal: "log in with password=hunter2secret", Approach: "try password=hunter2secret\xff",
		Note: "password=hunter2secret was refused",
	})
	a := assess(t, m, "s")
	require.NotContains(t, fmt.Sprint(a), "hunter2secret")
	require.NotContains(t, a.Approach, "\xff")
	require.NoError(t, m.Close())
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		require.NotContains(t, string(e.Value), "hunter2secret")
	}
	require.Equal(t, a, assess(t, open(t, st), "s"), "text that was not UTF-8 can be read back")
}

// TestReopened: a monitor that was opened again, or that has put the session
// out of memory, cannot be told from one that was not; and both agree with
// counting.
func TestReopened(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		st := store.NewMem()
		open := func(st store.Store) *meta.Monitor {
			m, err := meta.Open(t.Context(), st, &meta.Options{Now: func() time.Time { return noon }})
			require.NoError(rt, err)
			return m
		}
		reopened, continued := open(st), open(store.NewMem())
		name := rapid.SampledFrom([]string{"", "a", "b"})
		total, successes, run := 0, 0, 0
		for range rapid.IntRange(1, 4).Draw(rt, "lives") {
			for range rapid.IntRange(1, 30).Draw(rt, "outcomes") {
				o := meta.Outcome{
					Session: "s", Key: fmt.Sprint(total), Goal: name.Draw(rt, "goal"), Approach: name.Draw(rt, "approach"),
					Success: rapid.IntRange(0, 4).Draw(rt, "success") == 0,
				}
				total++
				run++
				if o.Success {
					successes++
					run = 0
				}
				for _, m := range []*meta.Monitor{reopened, continued} {
					require.NoError(rt, m.Record(t.Context(), o))
					require.NoError(rt, m.Record(t.Context(), o))
				}
			}
			require.NoError(rt, reopened.Close())
			reopened = open(st)
			got, err := reopened.Assess(t.Context(), "s")
			require.NoError(rt, err)
			want, err := continued.Assess(t.Context(), "s")
			require.NoError(rt, err)
			require.Equal(rt, want, got)
			require.Equal(rt, [3]int{total, successes, run}, [3]int{got.Total, got.Successes, got.Failures})
		}
		require.NoError(rt, reopened.Close())
		require.NoError(rt, continued.Close())
	})
}

// TestManyOutcomesOfAGroup records more outcomes at once than a session keeps, all of them
// once more.
func TestManyOutcomesOfAGroup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sessions, outcomes int }{
		"one group": {1, 300}, "several groups": {1, 3000}, "two sessions of the same keys": {2, 700},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := store.NewMem()
			m := open(t, st)
			resonance := 0.0
			for i := range c.outcomes {
				resonance = float64(i) / 3000
				for s := range c.sessions {
					record(t, m, fmt.Sprint(s), meta.Outcome{
						Key: fmt.Sprint(i), Goal: "g", Note: fmt.Sprint("note ", i), Success: i%3 == 0, Resonance: &resonance,
					})
				}
			}
			resonance = -1 // is the caller's
			for i := range c.outcomes {
				record(t, m, fmt.Sprint(i%c.sessions), meta.Outcome{Key: fmt.Sprint(i)})
			}
			check := func(m *meta.Monitor) {
				kept := make([]int, c.sessions)
				for o, err := range m.Outcomes(t.Context()) {
					require.NoError(t, err)
					s, err := strconv.Atoi(o.Session)
					require.NoError(t, err)
					i := c.outcomes - 256 + kept[s]
					kept[s]++
					require.Equal(t, meta.Outcome{
						Key: fmt.Sprint(i), Session: o.Session, Goal: "g", Note: fmt.Sprint("note ", i),
						Success: i%3 == 0, Resonance: p(float64(i) / 3000), At: noon,
					}, o)
				}
				for s := range kept {
					require.Equal(t, 256, kept[s])
					a := assess(t, m, fmt.Sprint(s))
					require.Equal(t, []int{c.outcomes, (c.outcomes + 2) / 3}, []int{a.Total, a.Successes})
				}
			}
			check(m)
			require.NoError(t, m.Close())
			m = open(t, st)
			record(t, m, "0", meta.Outcome{Key: "3"}, meta.Outcome{Key: "299"})
			check(m)
			require.Equal(t, c.sessions*(c.outcomes+256+1)+2, count(t, st), "markers, slots, totals, and odds")
		})
	}
}

// TestTextThatGrows has a text whose tokens are longer than what they stand for, so that
// no record can hold it. The call says so.
func TestTextThatGrows(t *testing.T) {
	t.Parallel()
	x, err := redact.New(&redact.Options{Patterns: []redact.Pattern{{Kind: "x", Expr: regexp.MustCompile("x")}}})
	require.NoError(t, err)
	m, err := meta.Open(t.Context(), store.NewMem(), &meta.Options{Sanitizer: x})
	require.NoError(t, err)
	long := strings.Repeat("x ", 32<<10)
	o := meta.Outcome{Key: "k", Session: "s", Goal: long, Approach: long, Note: long}
	var limit *store.LimitError
	require.ErrorAs(t, m.Record(t.Context(), o), &limit)
	require.Equal(t, store.MaxValue, limit.Limit)
	o.Goal, o.Approach = "", ""
	require.NoError(t, m.Record(t.Context(), o))
	require.NoError(t, m.Record(t.Context(), o))
	require.NoError(t, m.Flush(t.Context()))
	require.Equal(t, 1, assess(t, m, "s").Total)
	require.NoError(t, m.Close())
}

// TestTextsThatRepeat: a text is looked through again where it is not the one before, in
// whatever order they come.
func TestTextsThatRepeat(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	m := open(t, st)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 300 {
				o := meta.Outcome{Key: fmt.Sprint(i), Session: fmt.Sprint(g), Goal: fmt.Sprint("goal ", i%90), Approach: "token: abc"}
				if i%2 == 0 {
					o.Note = fmt.Sprintf("password=hunter2secret%d", i%8)
				}
				if err := m.Record(t.Context(), o); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	n := 0
	for o, err := range m.Outcomes(t.Context()) {
		require.NoError(t, err)
		n++
		want := ""
		if i, _ := strconv.Atoi(o.Key); i%2 == 0 {
			want = "password=[REDACTED:password]"
		}
		require.Equal(t, want, o.Note)
	}
	require.Equal(t, 4*256, n)
}

// TestManySessions has more sessions than stay in memory, each with writes
// that may still be on their way when it is read back.
func TestManySessions(t *testing.T) {
	t.Parallel()
	m := open(t, store.NewMem())
	const sessions = 5000
	for round := range 2 {
		for i := range sessions {
			record(t, m, fmt.Sprint(i), meta.Outcome{Key: fmt.Sprint(round), Approach: "a"})
		}
	}
	for i := range sessions {
		a := assess(t, m, fmt.Sprint(i))
		require.Equal(t, 2, a.Total)
		require.Equal(t, 2, a.Same)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	m := open(t, st)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := meta.Open(ctx, st, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, m.Record(ctx, meta.Outcome{Key: "k", Session: "s"}), context.Canceled)
	_, err = m.Assess(ctx, "s")
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, m.Close())
	require.Zero(t, count(t, st))
}

func TestClosed(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	m := open(t, st)
	record(t, m, "s", meta.Outcome{})
	require.NoError(t, m.Close())
	require.NoError(t, m.Close())
	require.ErrorIs(t, m.Record(t.Context(), meta.Outcome{Key: "l", Session: "s"}), store.ErrClosed)
	for _, session := range []string{"s", "not in memory"} {
		_, err := m.Assess(t.Context(), session)
		require.ErrorIs(t, err, store.ErrClosed)
		_, err = m.Chances(t.Context(), session, "g", "a")
		require.ErrorIs(t, err, store.ErrClosed)
	}
	require.Equal(t, 5, count(t, st), "Close does not close the store, and has written the outcome")
}

func TestFlush(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	m, err := meta.Open(t.Context(), st, nil)
	require.NoError(t, err)
	require.NoError(t, m.Record(t.Context(), meta.Outcome{Key: "k", Session: "s"}))
	require.NoError(t, m.Flush(t.Context()))
	require.Equal(t, 5, count(t, st), "marker, totals, slot, and the odds of all and of the approach")
	require.NoError(t, m.Close())
}

func TestConcurrentRecord(t *testing.T) {
	t.Parallel()
	const workers, outcomes = 8, 100
	st := store.NewMem()
	m := open(t, st)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range outcomes { // every worker brings the same outcomes
				o := meta.Outcome{Session: "s", Key: fmt.Sprint(i), Approach: "a", Success: i == 0}
				if err := m.Record(t.Context(), o); err != nil {
					t.Error(err)
				}
				if _, err := m.Assess(t.Context(), fmt.Sprint("s", i%2)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	a := assess(t, m, "s")
	require.Equal(t, outcomes, a.Total)
	require.Equal(t, 1, a.Successes)
	require.NoError(t, m.Close())
	require.Equal(t, 2*outcomes+3, count(t, st))
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
		m, err := meta.Open(t.Context(), st, nil)
		require.NoError(t, err)
		st.fail.Store(true)
		require.NoError(t, m.Record(t.Context(), meta.Outcome{Key: "1", Session: "s"}))
		<-time.After(time.Second) // the group is written behind, and fails
		synctest.Wait()
		require.ErrorIs(t, m.Record(t.Context(), meta.Outcome{Key: "2", Session: "s"}), errDisk)
		require.Equal(t, 2, assess(t, m, "s").Failures, "the outcome of the call that reports counts too")
		<-time.After(time.Second)
		require.ErrorIs(t, m.Record(t.Context(), meta.Outcome{Key: "2", Session: "s"}), errDisk,
			"also to a call that adds nothing")
		require.ErrorIs(t, m.Flush(t.Context()), errDisk)
		require.ErrorIs(t, m.Close(), errDisk)
	})
}

func TestFailedWriteIsTriedAgain(t *testing.T) {
	t.Parallel()
	st := &broken{Store: store.NewMem()}
	m := open(t, st)
	st.fail.Store(true)
	record(t, m, "s", meta.Outcome{}, meta.Outcome{}, meta.Outcome{})
	require.ErrorIs(t, m.Flush(t.Context()), errDisk)
	st.fail.Store(false)
	require.NoError(t, m.Close())
	require.True(t, assess(t, open(t, st), "s").Pivot)
}

// TestRefusedOutcome fills the writer behind a store that takes nothing: what
// is refused then must not count, and must be welcome later.
func TestRefusedOutcome(t *testing.T) {
	t.Parallel()
	st := &broken{Store: store.NewMem()}
	m := open(t, st)
	st.fail.Store(true)
	counted, refused := 0, ""
	for i := 0; refused == ""; i++ {
		require.Less(t, i, 10_000)
		o := meta.Outcome{Key: fmt.Sprint(i), Session: "s"}
		if m.Record(t.Context(), o) != nil && assess(t, m, "s").Total == counted {
			refused = o.Key
			continue
		}
		counted++
	}
	st.fail.Store(false)
	require.NoError(t, m.Record(t.Context(), meta.Outcome{Key: refused, Session: "s"}))
	require.NoError(t, m.Close())
	require.Equal(t, counted+1, assess(t, open(t, st), "s").Total)
}

// Damage costs what is damaged, and no further outcome of the session.
func TestDamage(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(store.Entry) store.Op{
		"flipped bit": func(e store.Entry) store.Op {
			e.Value[len(e.Value)-1] ^= 1
			return store.Op{Key: e.Key, Value: e.Value}
		},
		"cut off": func(e store.Entry) store.Op {
			return store.Op{Key: e.Key, Value: e.Value[:3]}
		},
	} {
		for _, kind := range []string{"totals", "slot"} {
			t.Run(name+" in "+kind, func(t *testing.T) {
				t.Parallel()
				st := store.NewMem()
				m := open(t, st)
				record(t, m, "s", meta.Outcome{}, meta.Outcome{})
				require.NoError(t, m.Close())
				for e, err := range st.Scan(t.Context(), store.Range{Prefix: "meta\x00" + kind, Limit: 1}) {
					require.NoError(t, err)
					_, err = st.Commit(t.Context(), harm(e))
					require.NoError(t, err)
				}
				m = open(t, st)
				require.LessOrEqual(t, assess(t, m, "s").Total, 2)
				_, err := m.Chances(t.Context(), "s", "g", "a")
				require.NoError(t, err)
				require.NoError(t, m.Record(t.Context(), meta.Outcome{Key: "new", Session: "s"}))
				require.NoError(t, m.Record(t.Context(), meta.Outcome{Key: "0", Session: "s"}))
				require.Equal(t, 3, assess(t, m, "s").Total, "what was recorded is known")
				require.NoError(t, m.Forget(t.Context(), "s"))
				record(t, m, "other", meta.Outcome{})
			})
		}
	}
	t.Run("missing outcome", func(t *testing.T) {
		t.Parallel()
		st := store.NewMem()
		m := open(t, st)
		record(t, m, "s", meta.Outcome{}, meta.Outcome{})
		require.NoError(t, m.Close())
		_, err := st.Commit(t.Context(), store.Op{Key: "meta\x00slot\x00s\x001", Delete: true})
		require.NoError(t, err)
		require.Equal(t, 2, assess(t, open(t, st), "s").Total)
	})
}
