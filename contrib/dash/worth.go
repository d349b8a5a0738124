package dash

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/reason"
)

// worth is the page of what memory is worth, and of what work costs.
type worth struct {
	Saved  string // by learned plans this week, in words
	Known  bool   // it is known
	Held   bool   // cases were held out
	Uplift [][2]string
	Bills  []bills
	All    bill
}

// bills are a table.
type bills struct {
	Title, Of, Each string
	Rows            []bill
}

// bill is what somebody, or a day, took. What is not told is not counted as 0.
type bill struct {
	Name      string
	N, Untold int // and of these, whose cost is not known
	reason.Usage
}

// Tokens are those of input and output.
func (b bill) Tokens() int { return b.Input + b.Output }

// add takes in a run, and what nobody, or somebody, has told of it.
func (b *bill) add(r *arc.Report) {
	u := r.Usage
	if b.N++; u == nil || u.CostUSD == nil && u.EstimateUSD == nil {
		b.Untold++
	}
	if u != nil {
		b.Usage = *b.Usage.Add(u)
	}
}

// Cost says an amount, and whether one that is missing is unknown.
func (b bill) Cost(usd *float64) string {
	if usd == nil && b.Untold == 0 {
		return "none"
	}
	return amount(usd)
}

const worthDays = 28

// day names that of a time, for people and in order.
func day(t time.Time) string { return t.Local().Format(time.DateOnly) }

func (d *dash) value(rq *request) (any, error) {
	from := d.opts.Now().AddDate(0, 0, 1-worthDays)
	h, err := keep(d, rq, "health", func(ctx context.Context) (arc.Health, error) {
		return rq.View.Health(ctx)
	})
	runs, noRuns := d.reports(rq)
	workers, noWorkers := workers(rq, from)
	if err = cmp.Or(err, noRuns, noWorkers); err != nil {
		return nil, err
	}
	w := worth{Held: h.Uplift.Delivered.N > 0, Uplift: Uplift(h.Uplift)}
	_, w.Saved, w.Known = strings.Cut(h.Text(), "\nlearned plans: about ")
	days := make([]bill, worthDays)
	for i := range days {
		days[i].Name = day(from.AddDate(0, 0, worthDays-1-i)) // the newest first
	}
	for _, r := range runs {
		on := day(cmp.Or(r.Ended, r.Began))
		if i := slices.IndexFunc(days, func(b bill) bool { return b.Name == on }); i >= 0 {
			days[i].add(r)
			w.All.add(r)
		}
	}
	days = slices.DeleteFunc(days, func(b bill) bool { return b.N == 0 })
	w.Bills = []bills{{"By day", "Day", "Runs", days}, {"By worker", "Worker", "Attempts", workers}}
	return &w, nil
}

// workers are the figures of each worker.
func workers(rq *request, from time.Time) ([]bill, error) {
	book, err := rq.Book(rq.Context())
	if err != nil {
		return nil, err
	}
	var out []bill
	for name := range book.Candidates() {
		if n := len(out); n > 0 && out[n-1].Name == name {
			continue // at another skill
		}
		b := bill{Name: name}
		for i := range worthDays {
			s := book.Day(name, "", from.AddDate(0, 0, i))
			b.N, b.Untold = b.N+s.Attempts, b.Untold+s.Attempts-s.Priced
			b.Usage = *b.Usage.Add(&s.Usage)
		}
		out = append(out, b)
	}
	return out, nil
}

// Uplift says in words what a treatment changes, for each figure its name and the difference: with its 95 %
// interval, or that this is not known yet, or that there is no data.
func Uplift(u meta.Uplift) [][2]string {
	return [][2]string{
		{"Delivered", interval(u.Delivered, percent)},
		{"Model calls a case", interval(u.Calls, plain)},
		{"Dollars a case", interval(u.USD, dollars)},
	}
}

// interval says a difference, and between what bounds it is.
func interval(i meta.Interval, unit func(float64) string) string {
	signed := func(v float64) string {
		if v < 0 {
			return "−" + unit(-v)
		}
		return "+" + unit(v)
	}
	switch {
	case i.N == 0:
		return "no data"
	case i.Margin == nil:
		return signed(i.Mean) + ", not certain yet: each side needs twenty cases"
	}
	low, high := signed(i.Mean-*i.Margin), signed(i.Mean+*i.Margin)
	return fmt.Sprintf("%s, between %s and %s (95 %%), in %s", signed(i.Mean), low, high, count(i.N, "case"))
}
