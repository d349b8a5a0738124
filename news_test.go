package arc_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// news is a plan that has become a habit, and a fact that is recorded after that.
type news struct {
	ID, Half, Objective, Approach, Task, Fact string

	Bears  bool // a colleague who hears of the fact thinks again
	Shares bool // a word of the objective or the task
}

func allNews(t *testing.T) (all []news) {
	t.Helper()
	f, err := os.Open("testdata/news.jsonl")
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var n news
		require.NoError(t, json.Unmarshal(lines.Bytes(), &n))
		all = append(all, n)
	}
	require.Len(t, all, 200)
	return all
}

// habit is an Agent for which a plan has become a habit.
type habit struct {
	*testing.T
	news
	a     *arc.Agent
	asked int // how often the reasoner was
}

func newHabit(t *testing.T, n news) *habit {
	t.Helper()
	h := &habit{T: t, news: n}
	s := &script{decide: func(int, reason.Brief) (reason.Decision, error) {
		h.asked++
		return reason.Decision{Approach: n.Approach, Tasks: []reason.Task{{Objective: n.Task}}}, nil
	}}
	h.a = agentOn(t, store.NewMem(), s.host(), &arc.Options{Now: time.Now, Seed: 1, Maintain: -1})
	for h.acts() {
		require.Less(t, h.asked, 10, "%s becomes no habit", n.ID)
	}
	return h
}

// acts has the habit act, and reports whether it was reasoned about.
func (h *habit) acts() (reasoned bool) {
	h.Helper()
	before := h.asked
	require.Equal(h, arc.Delivered, run(h.T, h.a, arc.Objective{Text: h.Objective, Scope: "acme"}).Status)
	return h.asked > before
}

func (h *habit) hears(fact string) {
	h.Helper()
	_, err := h.a.In("acme").Memory().Remember(h.Context(), memory.Draft{Kind: memory.Fact, Content: fact})
	require.NoError(h, err)
}

// words are the first four letters of a text's words.
func words(s string) (out []string) {
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		out = append(out, w[:min(4, len(w))])
	}
	return out
}

// TestNewsThatBearsOnAPlan: whoever wrote the data had not seen the code. The reasoner hears of all
// that bears on a plan before that acts again, and of what does not, once.
func TestNewsThatBearsOnAPlan(t *testing.T) {
	t.Parallel()
	type cell struct{ told, of int }
	got := map[news]*cell{}
	for _, n := range allNews(t) {
		h := newHabit(t, n)
		require.False(t, h.acts())
		h.hears(n.Fact)
		told := h.acts()
		require.True(t, told || !n.Bears, n)
		require.False(t, h.acts(), "%s is told once", n.ID)
		k := news{Half: n.Half, Bears: n.Bears, Shares: n.Shares}
		if got[k] == nil {
			got[k] = new(cell)
		}
		got[k].of++
		if told {
			got[k].told++
		}
	}
	for k, c := range got {
		t.Logf("%s, bears %v, shares a word %v: told of %d of %d", k.Half, k.Bears, k.Shares, c.told, c.of)
	}
}

// TestNewsInABusyScope: where facts about other things are recorded all the time, a plan acts four
// times at most before the reasoner hears of one that bears on it, and reasons one time in five.
func TestNewsInABusyScope(t *testing.T) {
	t.Parallel()
	all := allNews(t)
	for i, n := range all {
		if !n.Bears || n.Shares || i%4 != 0 {
			continue
		}
		h := newHabit(t, n)
		begun, runs, unheard := h.asked, 0, 0
		said := words(n.Objective + " " + n.Approach + " " + n.Task)
		for j, other := range all {
			if other.Bears || other.Shares || slices.ContainsFunc(words(other.Fact), func(w string) bool { return slices.Contains(said, w) }) {
				continue
			}
			h.hears(other.Fact)
			if j == i/2 {
				h.hears(n.Fact)
				unheard = 1
			}
			runs++
			switch reasoned := h.acts(); {
			case reasoned:
				unheard = 0
			case unheard > 0:
				unheard++
				require.LessOrEqual(t, unheard, 5, n)
			}
		}
		require.LessOrEqual(t, h.asked-begun, runs/5+2, n)
	}
}

// TestNewsWhenTheClockWasPutBack: a plan hears of what is recorded after it, though the clock stood ahead
// when the plan was made, also after a restart and in another scope that the run recalls from.
func TestNewsWhenTheClockWasPutBack(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	for _, ahead := range []time.Duration{0, time.Second, time.Hour, day, 29 * day, 31 * day, 3 * 365 * day} {
		for _, scope := range []memory.Scope{"acme", "acme/team"} {
			for _, restarts := range []bool{false, true} {
				st, asked, now := store.NewMem(), 0, time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC).Add(ahead)
				s := &script{decide: func(int, reason.Brief) (reason.Decision, error) {
					asked++
					return plan("run the deploy script for web"), nil
				}}
				open := func() *arc.Agent {
					return agentOn(t, st, s.host(), &arc.Options{Now: func() time.Time { now = now.Add(time.Millisecond); return now }, Seed: 1, Maintain: -1})
				}
				a := open()
				deploy := func() {
					now = now.Add(time.Second)
					o := arc.Objective{Text: "deploy the web service", Scope: "acme", Also: []memory.Scope{"acme/team"}}
					require.Equal(t, arc.Delivered, run(t, a, o).Status)
				}
				for range 4 {
					deploy()
				}
				require.Equal(t, 2, asked, "a habit")
				now = now.Add(-ahead)
				if restarts {
					require.NoError(t, a.Close())
					a = open()
				}
				_, err := a.In(scope).Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "The deploy script for web is broken."})
				require.NoError(t, err)
				deploy()
				require.Equal(t, 3, asked, "ahead %v, told in %s, restarts %v", ahead, scope, restarts)
			}
		}
	}
}

// A plan that says what a fact told it fires no more once that is forgotten, in a script without spaces too.
func TestPlanOfAForgottenFact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ fact, objective, task string }{
		{"the payment gateway stands in Shanghai", "restart the payment gateway", "restart the machine in Shanghai"},
		{"支付网关在上海机房", "重启支付网关", "重启上海机房的机器"},
		{"決済サーバーは東京にある", "決済サーバーを再起動", "東京の機械を再起動"},
		{"결제 서버는 서울에 있다", "결제 서버를 다시 시작", "서울에서 기계를 다시 시작"},
	} {
		asked := 0
		s := &script{decide: func(int, reason.Brief) (reason.Decision, error) { asked++; return plan(c.task), nil }}
		a := agentOn(t, store.NewMem(), s.host(), &arc.Options{Now: time.Now, Seed: 1, Maintain: -1})
		mem := a.In("acme").Memory()
		r, err := mem.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: c.fact})
		require.NoError(t, err)
		for range 4 {
			run(t, a, arc.Objective{Text: c.objective, Scope: "acme"})
		}
		require.Equal(t, 2, asked, c.task)
		require.NoError(t, mem.Forget(t.Context(), r.ID))
		run(t, a, arc.Objective{Text: c.objective, Scope: "acme"})
		require.Equal(t, 3, asked, c.task)
	}
}
