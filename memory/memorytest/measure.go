package memorytest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/arc-learn/arc/memory"
)

// Question is a question whose answer is known.
type Question struct {
	Text     string
	Category string   // reported apart; "": only in the whole
	Gold     []string // the names of all that answers it; empty: nothing does
	Where    string   // whatever else the Recall has to know, such as the scope
}

// Hit is what a recall found: a record, a thread, a file, whatever the gold
// names.
type Hit struct {
	Name      string
	Text      string  // what would go into a prompt; counts against Options.Budgets
	Relevance float64 // higher is surer; compared between questions
}

// Recall returns at most k hits for a question, best first. It does not look
// at the gold.
type Recall func(ctx context.Context, q Question, k int) ([]Hit, error)

// Records recalls the records of s. They are named by name; nil: by their id.
// With a name that several share, such as the Thread, the best counts.
func Records(s memory.Space, name func(*memory.Record) string) Recall {
	if name == nil {
		name = func(r *memory.Record) string { return string(r.ID) }
	}
	return func(ctx context.Context, q Question, k int) ([]Hit, error) {
		found, err := s.Recall(ctx, memory.Query{Text: q.Text, K: k})
		hits := make([]Hit, len(found))
		for i := range found {
			hits[i] = hit(name(&found[i].Record), &found[i])
		}
		return hits, err
	}
}

// Threads recalls the threads of s, by their name. Their text is that of the
// records that come with them.
func Threads(s memory.Space) Recall {
	return func(ctx context.Context, q Question, k int) ([]Hit, error) {
		found, err := s.RecallThreads(ctx, memory.Query{Text: q.Text, K: k})
		hits := make([]Hit, len(found))
		for i, t := range found {
			hits[i] = Hit{Name: t.Thread, Relevance: t.Score}
			for j := range t.Hits {
				hits[i].Text += hit("", &t.Hits[j]).Text + "\n"
			}
		}
		return hits, err
	}
}

func hit(name string, h *memory.Hit) Hit {
	text := strings.TrimSpace(h.Record.Trigger + "\n" + h.Record.Content)
	return Hit{Name: name, Text: text, Relevance: h.Parts.Relevance}
}

// Options configure [Measure]. Nil and the zero value are ready.
type Options struct {
	Cutoffs   []int            // the k of the metrics at k, at least 1; nil: 5, 10 and 50
	Budgets   []int            // in tokens, at least 1; nil: 1000
	Tokens    func(string) int // counts those of a text; nil: one for four bytes
	Resamples int              // of the bootstrap; 0: 1000; negative is an error
	Seed      uint64           // of the bootstrap
}

func (o *Options) fill() error {
	if o.Cutoffs == nil {
		o.Cutoffs = []int{5, 10, 50}
	}
	if o.Budgets == nil {
		o.Budgets = []int{1000}
	}
	if o.Tokens == nil {
		o.Tokens = func(s string) int { return (len(s) + 3) / 4 }
	}
	o.Resamples = cmp.Or(o.Resamples, 1000)
	var errs []error
	for _, n := range slices.Concat(o.Cutoffs, o.Budgets, []int{o.Resamples}) {
		if n < 1 {
			errs = append(errs, fmt.Errorf("cutoffs, budgets and resamples must be positive, not %d", n))
		}
	}
	if len(o.Cutoffs) == 0 {
		errs = append(errs, errors.New("there is no cutoff"))
	}
	return errors.Join(errs...)
}

// outcome is what became of one question: by metric, the value, or NaN where
// the metric does not apply.
type outcome struct {
	category   string
	answerable bool
	top        float64 // relevance of the best hit, 0 without one
	values     []float64
}

// Measure asks all questions and reports what was found. The metrics of a
// question with gold, each in [0,1]:
//
//   - R@k: the share of the gold among the first k
//   - any@k, all@k: whether some of it is there, whether all of it is
//   - NDCG@k: Σ 1/log2(1+rank) over the gold among the first k, divided by that
//     sum for an order that has all gold first (Järvelin and Kekäläinen 2002,
//     with gains of 0 and 1)
//   - MRR: 1/rank of the first gold within the largest cutoff, or 0
//   - budget@n: the share of the gold that is there before the texts together
//     need more than n tokens
//
// and over the questions of a category, if some have gold and some have none:
//
//   - abstain: the probability that the best hit of one that has gold is more
//     relevant than that of one that has none (area under the ROC curve; ties
//     count one half; without a hit, 0)
//
// A hit whose name was there before is passed over. The error of a figure is
// the standard deviation over resamples of the questions, with replacement
// (Efron 1979). Recalls run one after another; the first error ends them.
func Measure(ctx context.Context, recall Recall, questions []Question, opts *Options) (Report, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := o.fill(); err != nil {
		return Report{}, fmt.Errorf("memorytest: %w", err)
	}
	most := slices.Max(o.Cutoffs)
	all := make([]outcome, 0, len(questions))
	for i, q := range questions {
		hits, err := recall(ctx, q, most)
		if err != nil {
			return Report{}, fmt.Errorf("memorytest: question %d: %w", i, err)
		}
		all = append(all, o.judge(&q, hits))
	}
	report := Report{Rows: []Row{o.row("", all)}}
	for _, c := range categories(all) {
		of := slices.DeleteFunc(slices.Clone(all), func(a outcome) bool { return a.category != c })
		report.Rows = append(report.Rows, o.row(c, of))
	}
	return report, nil
}

// names are the metrics of a question, in the order of outcome.values.
func (o *Options) names() []string {
	var out []string
	for _, metric := range []string{"R", "NDCG", "any", "all"} {
		for _, k := range o.Cutoffs {
			out = append(out, fmt.Sprintf("%s@%d", metric, k))
		}
	}
	out = append(out, "MRR")
	for _, n := range o.Budgets {
		out = append(out, fmt.Sprintf("budget@%d", n))
	}
	return out
}

func (o *Options) judge(q *Question, hits []Hit) outcome {
	gold := map[string]bool{}
	for _, g := range q.Gold {
		gold[g] = true
	}
	out := outcome{category: q.Category, answerable: len(gold) > 0}
	if len(hits) > 0 {
		out.top = hits[0].Relevance
	}
	seen := map[string]bool{}
	hits = slices.DeleteFunc(slices.Clone(hits), func(h Hit) bool {
		before := seen[h.Name]
		seen[h.Name] = true
		return before
	})
	var recall, gain, some, every []float64
	for _, k := range o.Cutoffs {
		found, dcg, ideal := 0.0, 0.0, 0.0
		for rank, h := range hits[:min(k, len(hits))] {
			if gold[h.Name] {
				found++
				dcg += 1 / math.Log2(float64(rank+2))
			}
		}
		for rank := range min(k, len(gold)) {
			ideal += 1 / math.Log2(float64(rank+2))
		}
		recall = append(recall, found/float64(len(gold))) // NaN without gold
		gain = append(gain, dcg/ideal)
		some = append(some, indicator(found > 0))
		every = append(every, indicator(found == float64(len(gold))))
	}
	out.values = slices.Concat(recall, gain, some, every)
	first := slices.IndexFunc(hits, func(h Hit) bool { return gold[h.Name] })
	out.values = append(out.values, indicator(first >= 0)/float64(max(first, 0)+1))
	for _, budget := range o.Budgets {
		found := 0.0
		for _, h := range hits {
			if budget -= o.Tokens(h.Text); budget < 0 {
				break
			}
			found += indicator(gold[h.Name])
		}
		out.values = append(out.values, found/float64(len(gold)))
	}
	return out
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func categories(all []outcome) []string {
	seen := map[string]bool{}
	for _, a := range all {
		seen[a.category] = true
	}
	delete(seen, "")
	return slices.Sorted(maps.Keys(seen))
}

// row sums up the outcomes of a category. Resamples are drawn from all its
// questions, those without gold too.
func (o *Options) row(category string, all []outcome) Row {
	row := Row{Category: category, Questions: len(all)}
	for _, a := range all {
		if !a.answerable {
			row.Unanswerable++
		}
	}
	names := append(o.names(), "abstain")
	value := summarize(all, len(names))
	sum, squares, times := make([]float64, len(names)), make([]float64, len(names)), make([]float64, len(names))
	rng := rand.New(rand.NewPCG(o.Seed, uint64(len(all))))
	sample := make([]outcome, len(all))
	for range o.Resamples {
		for i := range sample {
			sample[i] = all[rng.IntN(len(all))]
		}
		for i, v := range summarize(sample, len(names)) {
			if !math.IsNaN(v) {
				d := v - value[i] // about the value, for the sake of precision
				sum[i], squares[i], times[i] = sum[i]+d, squares[i]+d*d, times[i]+1
			}
		}
	}
	for i, name := range names {
		if !math.IsNaN(value[i]) {
			mean := sum[i] / times[i]
			row.Metrics = append(row.Metrics, Metric{name, value[i], math.Sqrt(max(0, squares[i]/times[i]-mean*mean))})
		}
	}
	return row
}

// summarize returns the means over the questions with gold, and abstain; NaN
// where there is nothing to take it of.
func summarize(all []outcome, n int) []float64 {
	out := make([]float64, n)
	answerable := 0.0
	var with, without []float64
	for _, a := range all {
		if !a.answerable {
			without = append(without, a.top)
			continue
		}
		with = append(with, a.top)
		answerable++
		for i, v := range a.values {
			out[i] += v
		}
	}
	for i := range out {
		out[i] /= answerable // NaN without any
	}
	out[n-1] = above(with, without)
	return out
}

// above returns the probability that one of a is larger than one of b, with
// ties as one half; NaN if one of them is empty.
func above(a, b []float64) float64 {
	slices.Sort(a)
	slices.Sort(b)
	sum, less, upTo := 0.0, 0, 0
	for _, v := range a {
		for less < len(b) && b[less] < v {
			less++
		}
		for upTo = max(upTo, less); upTo < len(b) && b[upTo] == v; {
			upTo++
		}
		sum += float64(less+upTo) / 2
	}
	return sum / float64(len(a)*len(b))
}
