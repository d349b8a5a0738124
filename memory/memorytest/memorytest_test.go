package memorytest_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/memorytest"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// canned recalls what is written down for a question, whatever k is.
type canned map[string][]memorytest.Hit

func (c canned) recall(_ context.Context, q memorytest.Question, _ int) ([]memorytest.Hit, error) {
	hits, ok := c[q.Where+q.Text]
	if !ok {
		return nil, errors.New("unknown question")
	}
	return hits, nil
}

func hits(names string, relevance float64) []memorytest.Hit {
	var out []memorytest.Hit
	for _, n := range strings.Fields(names) {
		out = append(out, memorytest.Hit{Name: n, Text: "12345678", Relevance: relevance})
		relevance /= 2
	}
	return out
}

func measure(t *testing.T, c canned, qs []memorytest.Question, o *memorytest.Options) memorytest.Report {
	t.Helper()
	r, err := memorytest.Measure(t.Context(), c.recall, qs, o)
	require.NoError(t, err)
	return r
}

// The figures are worked out by hand.
func TestMetrics(t *testing.T) {
	t.Parallel()
	r := measure(t, canned{
		"two of three": hits("x a x b y c", 0.9), // the second x is passed over: x a b y c
		"nothing":      hits("x y", 0.8),
		"none to find": hits("x", 0.85),
		"no hits":      nil,
	}, []memorytest.Question{
		{Text: "two of three", Category: "1", Gold: []string{"a", "b", "c", "a"}},
		{Text: "nothing", Category: "2", Gold: []string{"a"}},
		{Text: "none to find", Category: "2"},
		{Text: "hits", Category: "2", Where: "no "},
	}, &memorytest.Options{Cutoffs: []int{1, 3}, Budgets: []int{5, 100}})
	gain := (1/math.Log2(3) + 1/math.Log2(4)) / (1 + 1/math.Log2(3) + 1/math.Log2(4))
	for name, want := range map[string]float64{
		"R@1": 0, "R@3": 2. / 3, "NDCG@1": 0, "NDCG@3": gain, "any@1": 0, "any@3": 1, "all@1": 0, "all@3": 0,
		"MRR": 0.5, "budget@5": 1. / 3, "budget@100": 1,
	} {
		require.InDelta(t, want, r.Metric("1", name).Value, 1e-12, name)
		require.InDelta(t, want/2, r.Metric("", name).Value, 1e-12, name)
		require.Zero(t, r.Metric("1", name).Error, "one question")
		require.Positive(t, r.Metric("", name).Error+indicator(want == 0), name)
	}
	require.InDelta(t, 0.75, r.Metric("", "abstain").Value, 1e-12, "0.9 > 0.85 > 0.8 > no hit")
	require.InDelta(t, 0.5, r.Metric("2", "abstain").Value, 1e-12)
	require.Zero(t, r.Metric("1", "abstain"), "all have gold")
	require.Equal(t, []string{"", "1", "2"}, []string{r.Rows[0].Category, r.Rows[1].Category, r.Rows[2].Category})
	require.Equal(t, memorytest.Row{Category: "2", Questions: 3, Unanswerable: 2, Metrics: r.Rows[2].Metrics}, r.Rows[2])
	require.Equal(t, memorytest.Metric{Name: "R@1"}, r.Rows[1].Metrics[0])
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// The error of a share is the one that the binomial distribution has.
func TestErrorOfAShare(t *testing.T) {
	t.Parallel()
	c, qs := canned{}, []memorytest.Question(nil)
	for i := range 400 {
		q := memorytest.Question{Text: strings.Repeat("?", i), Gold: []string{"a"}}
		qs = append(qs, q)
		c[q.Text] = hits([]string{"a", "b"}[i%4/3], 1)
	}
	m := measure(t, c, qs, nil).Metric("", "R@5")
	require.InDelta(t, 0.75, m.Value, 1e-12)
	require.InDelta(t, math.Sqrt(0.75*0.25/400), m.Error, 0.002)
	require.Equal(t, m, measure(t, c, qs, nil).Metric("", "R@5"), "seeded")
	require.NotEqual(t, m, measure(t, c, qs, &memorytest.Options{Seed: 1}).Metric("", "R@5"))
}

// Abstain agrees with counting the pairs.
func TestAbstainCountsPairs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c, qs, pairs, sum := canned{}, []memorytest.Question(nil), 0.0, 0.0
		with := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 8).Draw(rt, "with")
		without := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 8).Draw(rt, "without")
		for _, x := range with {
			qs = append(qs, memorytest.Question{Text: strings.Repeat("a", len(qs)), Gold: []string{"g"}})
			c[qs[len(qs)-1].Text] = hits("x", float64(x))
			for _, y := range without {
				pairs++
				sum += indicator(x > y) + indicator(x == y)/2
			}
		}
		for _, y := range without {
			qs = append(qs, memorytest.Question{Text: strings.Repeat("a", len(qs))})
			c[qs[len(qs)-1].Text] = hits("x", float64(y))
		}
		require.InDelta(rt, sum/pairs, measure(t, c, qs, &memorytest.Options{Resamples: 1}).Metric("", "abstain").Value, 1e-12)
	})
}

func TestReport(t *testing.T) {
	t.Parallel()
	r := measure(t, canned{"q": hits("a", 1), "r": nil}, []memorytest.Question{
		{Text: "q", Category: "with", Gold: []string{"a"}}, {Text: "r", Category: "without"},
	}, &memorytest.Options{Cutoffs: []int{1}, Budgets: []int{}})
	require.Contains(t, r.String(), "R@1  100.0±0.0  100.0±0.0        -")
	data, err := json.Marshal(r)
	require.NoError(t, err, "no NaN in it")
	var back memorytest.Report
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, r.String(), back.String())
	empty := measure(t, nil, nil, nil)
	require.Zero(t, empty.Metric("", "R@5"))
	require.Contains(t, empty.String(), "questions")
}

func TestMeasureRefuses(t *testing.T) {
	t.Parallel()
	for _, o := range []memorytest.Options{
		{Cutoffs: []int{0}}, {Cutoffs: []int{}}, {Budgets: []int{-1}}, {Resamples: -1},
	} {
		_, err := memorytest.Measure(t.Context(), canned{}.recall, nil, &o)
		require.Error(t, err)
	}
	_, err := memorytest.Measure(t.Context(), canned{}.recall, []memorytest.Question{{Text: "q"}}, nil)
	require.ErrorContains(t, err, "question 0: unknown question")
}

func TestTokens(t *testing.T) {
	t.Parallel()
	o := memorytest.Options{Budgets: []int{1}, Tokens: func(string) int { return 1 }}
	r := measure(t, canned{"q": hits("a b", 1)}, []memorytest.Question{{Text: "q", Gold: []string{"a", "b"}}}, &o)
	require.InDelta(t, 0.5, r.Metric("", "budget@1").Value, 1e-12)
}

func TestSpaceIsMeasured(t *testing.T) {
	t.Parallel()
	bank, err := memory.Open(t.Context(), store.NewMem(), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, bank.Close()) }()
	s := bank.In("acme/chat")
	at := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	for i, line := range []string{"the cat is called Minka", "the dog is called Rex", "Minka likes fish"} {
		_, err := s.Remember(t.Context(), memory.Draft{
			Kind: memory.Episode, Content: line, Thread: []string{"pets", "pets", "food"}[i], At: at.Add(time.Duration(i) * time.Hour),
		})
		require.NoError(t, err)
	}
	questions := []memorytest.Question{{Text: "what fish does Minka like?", Gold: []string{"food"}}}
	o := memorytest.Options{Cutoffs: []int{1}}
	byThread := memorytest.Records(s, func(r *memory.Record) string { return r.Thread })
	for _, recall := range []memorytest.Recall{byThread, memorytest.Threads(s)} {
		r, err := memorytest.Measure(t.Context(), recall, questions, &o)
		require.NoError(t, err)
		require.InDelta(t, 1, r.Metric("", "R@1").Value, 0)
		require.InDelta(t, 1, r.Metric("", "budget@1000").Value, 0)
	}
}

func TestSanitizers(t *testing.T) {
	t.Parallel()
	badge := regexp.MustCompile(`badge (\d{4})`)
	s, err := redact.New(&redact.Options{Patterns: []redact.Pattern{{Kind: "badge", Expr: badge, Group: 1}}})
	require.NoError(t, err)
	own := []memorytest.Secret{{Text: "she showed badge 4711", Value: "4711"}}
	require.NoError(t, memorytest.CheckSanitizer(s, own, []string{"room 4711"}))
	require.NoError(t, memorytest.CheckSanitizer(&redact.Sanitizer{}, nil, nil))
	require.ErrorContains(t, memorytest.CheckSanitizer(&redact.Sanitizer{}, own, nil), "survives")
}

type sanitizer func(string) string

func (f sanitizer) Sanitize(text string) string { return f(text) }

// Each rule finds the sanitizer that breaks it.
func TestBrokenSanitizers(t *testing.T) {
	t.Parallel()
	var s redact.Sanitizer
	var calls atomic.Int64
	for what, broken := range map[string]sanitizer{
		"survives":         func(text string) string { return text },
		"ordinary":         func(text string) string { return s.Sanitize(strings.ToLower(text)) },
		"is sanitised":     func(text string) string { return strings.ReplaceAll(s.Sanitize(text), "[RED", "[[RED") },
		"which is not":     func(text string) string { return strings.ReplaceAll(s.Sanitize(text), "REDACTED", "\xff") },
		"an empty text":    func(text string) string { return s.Sanitize(text) + strings.Repeat("!", int(indicator(text == ""))) },
		"at the same":      func(text string) string { return s.Sanitize(text) + strings.Repeat("!", int(max(0, calls.Add(1)-60))) },
		"the secret of \"": func(text string) string { return strings.ReplaceAll(text, "ghp_", "gh_") },
	} {
		require.ErrorContains(t, memorytest.CheckSanitizer(broken, nil, nil), what)
	}
}
