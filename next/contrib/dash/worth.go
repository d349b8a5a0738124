package dash

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	arc "github.com/arc-learn/arc/next"
	"github.com/arc-learn/arc/next/meta"
	"github.com/arc-learn/arc/next/reason"
)

// worth is the page of what memory is worth, and of what work costs.
type worth struct {
	Saved  string // by learned plans this week, in words
	Known  bool   // it is known
	Held   bool   // cases were held out
	Uplift [][2]string
	Charts []chart // by day
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
	Name                string
	N, Attempts, Calls  int
	Told, Untold        int // of N, whose model calls are known, and whose cost is not
	Tokens              int
	Reported, Estimated *float64
}

// add takes in what nobody, or somebody, has told.
func (b *bill) add(u *reason.Usage) {
	if b.N++; u == nil || u.CostUSD == nil && u.EstimateUSD == nil {
		b.Untold++
	}
	if u != nil {
		b.Told++
		b.Calls, b.Tokens = b.Calls+u.Calls, b.Tokens+u.Input+u.Output
		b.Reported, b.Estimated = sum(b.Reported, u.CostUSD), sum(b.Estimated, u.EstimateUSD)
	}
}

func sum(a, b *float64) *float64 {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return new(*a + *b)
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
	h, err := keep(d, rq, "health", func(ctx context.Context) (arc.Health, error) { return d.agent.Health(ctx, rq.scope) })
	if err != nil {
		return nil, err
	}
	runs, err := d.reports(rq)
	if err != nil {
		return nil, err
	}
	w, u := worth{Held: h.Uplift.Delivered.N > 0, Known: h.Saved.Calls.N > 0}, h.Uplift
	_, w.Saved, _ = strings.Cut(h.Text(), "\nlearned plans: ")
	w.Uplift = [][2]string{
		{"Delivered", interval(u.Delivered, percent)}, {"Model calls a case", interval(u.Calls, plain)}, {"Dollars a case", interval(u.USD, dollars)},
	}
	from := d.opts.Now().AddDate(0, 0, 1-worthDays)
	days := make(map[string]*bill)
	for _, r := range runs {
		at := r.Ended
		if at.IsZero() {
			at = r.Began
		}
		if day(at) < day(from) {
			continue
		}
		if days[day(at)] == nil {
			days[day(at)] = &bill{Name: day(at)}
		}
		usage := r.Usage
		if usage == nil && r.Fired > 0 && r.Deliberations == 0 { // no model was asked
			usage = &reason.Usage{CostUSD: new(0.0)}
		}
		for _, b := range []*bill{days[day(at)], &w.All} {
			b.add(usage)
			b.Attempts += r.Attempts
		}
	}
	byDay := bills{"By day", "Day", "Runs", nil}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(days))) {
		byDay.Rows = append(byDay.Rows, *days[name])
	}
	w.Charts = []chart{
		newChart("Attempts a run", from, days, func(b *bill) (int, int) { return b.Attempts, b.N }),
		newChart("Model calls a run", from, days, func(b *bill) (int, int) { return b.Calls, b.Told }),
	}
	workers, err := workers(rq, from)
	if err != nil {
		return nil, err
	}
	w.Bills = []bills{byDay, {"By worker", "Worker", "Attempts", workers}}
	if d.opts.Queue(rq.scope) != nil {
		var models []bill
		models, err = d.models(rq, from)
		w.Bills = append(w.Bills, bills{"By model of jobs", "Model", "Jobs", models})
	}
	return &w, err
}

// workers are the figures of each worker.
func workers(rq *request, from time.Time) (out []bill, err error) {
	book, err := rq.Book(rq.Context())
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool)
	for name := range book.Known() {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		b := bill{Name: name}
		for i := range worthDays {
			s := book.Day(name, "", from.AddDate(0, 0, i))
			b.N, b.Untold, b.Tokens = b.N+s.Attempts, b.Untold+s.Attempts-s.Priced, b.Tokens+s.TokensIn+s.TokensOut
			b.Reported, b.Estimated = sum(b.Reported, s.CostUSD), sum(b.Estimated, s.EstimateUSD)
		}
		if b.N > 0 {
			out = append(out, b)
		}
	}
	return out, nil
}

// models are the figures of the models of jobs.
func (d *dash) models(rq *request, from time.Time) (out []bill, err error) {
	by := make(map[string]*bill)
	for j, err := range d.opts.Queue(rq.scope).Cycles(rq.Context(), rq.scope, from) {
		if err != nil {
			return nil, err
		}
		name := cmp.Or(j.Model, "not named")
		if by[name] == nil {
			by[name] = &bill{Name: name}
		}
		by[name].add(j.Usage)
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		out = append(out, *by[name])
	}
	return out, nil
}

// interval says a difference, and between what bounds it is.
func interval(i meta.Interval, unit func(float64) string) string {
	signed := func(v float64) string { return map[bool]string{true: "−", false: "+"}[v < 0] + unit(math.Abs(v)) }
	switch {
	case i.N == 0:
		return "no data"
	case i.Low == nil:
		return signed(i.Mean) + ", not certain yet: each side needs twenty cases"
	}
	return fmt.Sprintf("%s, between %s and %s (95 %%), in %s", signed(i.Mean), signed(*i.Low), signed(*i.High), count(i.N, "case"))
}

// chart is a curve of means by day.
type chart struct {
	Title, Words, Line string // Line are its points
	Dots               [][2]float64
	Top, First, Last   string
}

// newChart draws what came to how many, by day, 640 wide and 120 high. Days without any do not break the line.
func newChart(title string, from time.Time, days map[string]*bill, of func(*bill) (sum, n int)) chart {
	c := chart{Title: title, First: from.Local().Format("Jan 2"), Last: from.AddDate(0, 0, worthDays-1).Local().Format("Jan 2")}
	means, top, half := make(map[int]float64), 1.0, [2][2]int{}
	for i := range worthDays {
		if b := days[day(from.AddDate(0, 0, i))]; b != nil {
			if total, n := of(b); n > 0 {
				means[i] = float64(total) / float64(n)
				top = max(top, math.Ceil(means[i]))
				half[i*2/worthDays][0] += total
				half[i*2/worthDays][1] += n
			}
		}
	}
	c.Top = plain(top)
	for _, i := range slices.Sorted(maps.Keys(means)) {
		x, y := math.Round(float64(i)/(worthDays-1)*640), math.Round((1-means[i]/top)*120)
		c.Line += fmt.Sprintf("%g,%g ", x, y)
		c.Dots = append(c.Dots, [2]float64{x, y})
	}
	say := func(h [2]int) string {
		if h[1] == 0 {
			return "no data"
		}
		return fmt.Sprintf("%.1f", float64(h[0])/float64(h[1]))
	}
	c.Words = fmt.Sprintf("%s in the two weeks before, %s in the last two", say(half[0]), say(half[1]))
	return c
}
