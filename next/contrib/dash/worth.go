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
	"github.com/arc-learn/arc/next/rank"
	"github.com/arc-learn/arc/next/reason"
)

// worth is the page of what memory is worth, and of what work costs.
type worth struct {
	watched
	arc.Health
	Days           []bill // with runs, the newest first
	Workers        []bill
	Models         []bill // of jobs
	Attempts       chart
	Calls          chart
	Jobs           bool // there is a queue
	All            bill
	SavedThisWeek  string
	SavedInterval  string
	Uplifts        []uplift
	UpliftIsNoData bool
}

// bill is what somebody, or a day, took. What is not told is not counted as 0.
type bill struct {
	Name                string
	N, Delivered        int
	Attempts, Calls     float64
	Told                int // of N, whose model calls are known
	Untold              int // of N, whose cost is not known
	Tokens              int
	Reported, Estimated *float64
}

func (b *bill) add(u *reason.Usage) {
	if u == nil {
		b.Untold++
		return
	}
	b.Tokens += u.Input + u.Output
	b.Reported, b.Estimated = sum(b.Reported, u.CostUSD), sum(b.Estimated, u.EstimateUSD)
	if u.CostUSD == nil && u.EstimateUSD == nil {
		b.Untold++
	}
}

func sum(a, b *float64) *float64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return new(*a + *b)
}

const worthDays = 28

func (d *dash) value(rq *request) (any, error) {
	h, err := d.worth.get(rq.Context(), rq.scope, func(ctx context.Context) (arc.Health, error) { return d.agent.Health(ctx, rq.scope) })
	if err != nil {
		return nil, err
	}
	runs, err := d.reports(rq)
	if err != nil {
		return nil, err
	}
	w := worth{Health: h, All: bill{Name: fmt.Sprintf("%d days", worthDays)}}
	w.SavedThisWeek, w.SavedInterval = savings(h)
	for _, of := range []struct {
		what string
		i    meta.Interval
		unit func(float64) string
		up   bool // more is better
	}{{"Delivered", h.Uplift.Delivered, percent, true}, {"Model calls a case", h.Uplift.Calls, plain, false}, {"Dollars a case", h.Uplift.USD, dollars, false}} {
		w.Uplifts = append(w.Uplifts, newUplift(of.what, of.i, of.unit, of.up))
	}
	w.UpliftIsNoData = h.Uplift.Delivered.N == 0
	from := d.opts.Now().AddDate(0, 0, 1-worthDays)
	days := make(map[string]*bill)
	for _, r := range runs {
		at := r.Began
		if !r.Ended.IsZero() {
			at = r.Ended
		}
		day := at.Local().Format(time.DateOnly)
		if day < from.Local().Format(time.DateOnly) {
			continue
		}
		if days[day] == nil {
			days[day] = &bill{Name: day}
		}
		for _, b := range []*bill{days[day], &w.All} {
			b.count(r)
		}
	}
	for _, day := range slices.Backward(slices.Sorted(maps.Keys(days))) {
		w.Days = append(w.Days, *days[day])
	}
	w.Attempts = newChart("Attempts a run", from, days, func(b *bill) (float64, int) { return b.Attempts, b.N })
	w.Calls = newChart("Model calls a run", from, days, func(b *bill) (float64, int) { return b.Calls, b.Told })
	if w.Workers, err = d.workers(rq, from); err != nil {
		return nil, err
	}
	w.Models, w.Jobs, err = d.models(rq, from)
	return &w, err
}

// count takes in a run.
func (b *bill) count(r *arc.Report) {
	b.N++
	b.Attempts += float64(r.Attempts)
	if r.Status == arc.Delivered {
		b.Delivered++
	}
	switch {
	case r.Usage != nil:
		b.Calls += float64(r.Usage.Calls)
		b.Told++
		b.add(r.Usage)
	case r.Fired > 0 && r.Deliberations == 0: // no model was asked
		b.Told++
	default:
		b.Untold++
	}
}

// workers are the figures of each worker, the dearest first.
func (d *dash) workers(rq *request, from time.Time) (out []bill, err error) {
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
			var s rank.Stats = book.Day(name, "", from.AddDate(0, 0, i))
			b.N, b.Delivered, b.Untold = b.N+s.Attempts, b.Delivered+s.Delivered, b.Untold+s.Attempts-s.Priced
			b.Tokens += s.TokensIn + s.TokensOut
			b.Reported, b.Estimated = sum(b.Reported, s.CostUSD), sum(b.Estimated, s.EstimateUSD)
		}
		if b.N > 0 {
			out = append(out, b)
		}
	}
	return dearest(out), nil
}

// models are the figures of the models of jobs.
func (d *dash) models(rq *request, from time.Time) (out []bill, jobs bool, err error) {
	q := d.opts.Queue(rq.scope)
	if q == nil {
		return nil, false, nil
	}
	by := make(map[string]*bill)
	for j, err := range q.Cycles(rq.Context(), rq.scope, from) {
		if err != nil {
			return nil, true, err
		}
		name := cmp.Or(j.Model, "not named")
		if by[name] == nil {
			by[name] = &bill{Name: name}
		}
		by[name].N++
		by[name].add(j.Usage)
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		out = append(out, *by[name])
	}
	return dearest(out), true, nil
}

func dearest(bs []bill) []bill {
	cost := func(b bill) float64 {
		if s := sum(b.Reported, b.Estimated); s != nil {
			return *s
		}
		return 0
	}
	slices.SortStableFunc(bs, func(a, b bill) int { return cmp.Or(cmp.Compare(cost(b), cost(a)), cmp.Compare(b.N, a.N)) })
	return bs
}

// savings say what learned plans have saved this week, and how sure that is.
func savings(h arc.Health) (saved, between string) {
	calls, usd := h.Saved.Calls, h.Saved.USD
	if calls.N == 0 {
		return "", ""
	}
	word := "saved about "
	if calls.Mean > 0 {
		word = "took about " // a loss is told, too
	}
	saved = word + count(int(math.Round(math.Abs(calls.Mean)*float64(calls.N))), "model call")
	if usd.N > 0 {
		saved += " and " + map[bool]string{true: "", false: "cost "}[(usd.Mean <= 0) == (calls.Mean <= 0)] + dollars(math.Abs(usd.Mean)*float64(usd.N))
	}
	if calls.Mean > 0 {
		saved += " more"
	}
	saved += " in " + count(calls.N, "run")
	if calls.Low != nil {
		return saved, fmt.Sprintf("Between %s and %s model calls a run, with 95 %% confidence.", plain(-*calls.High), plain(-*calls.Low))
	}
	return saved, "How sure that is cannot be said yet: it takes twenty runs with plans, and twenty without."
}

// uplift is a difference that memory makes, drawn on a line about 0.
type uplift struct {
	What, Value, Between, Tone string
	N                          int
	Low, Mean, High            float64 // on a line of 0 to 100, whose middle is no difference
	Known                      bool
}

func newUplift(what string, i meta.Interval, unit func(float64) string, up bool) uplift {
	signed := func(v float64) string {
		return strings.Replace(fmt.Sprintf("%+.0f", math.Copysign(1, v)), "1", unit(math.Abs(v)), 1)
	}
	u := uplift{What: what, N: i.N}
	if i.N == 0 {
		return u
	}
	u.Value = signed(i.Mean)
	if i.Low == nil {
		u.Between = "not certain yet: each side needs twenty cases"
		return u
	}
	u.Known, u.Between = true, fmt.Sprintf("between %s and %s", signed(*i.Low), signed(*i.High))
	if *i.Low > 0 || *i.High < 0 {
		u.Tone = map[bool]string{true: "good", false: "bad"}[(i.Mean > 0) == up]
	}
	span := max(math.Abs(*i.Low), math.Abs(*i.High), 1e-9)
	at := func(v float64) float64 { return math.Round(500+v/span*480) / 10 }
	u.Low, u.Mean, u.High = at(*i.Low), at(i.Mean), at(*i.High)
	return u
}

// Width is that of the interval on the line.
func (u uplift) Width() float64 { return math.Round((u.High-u.Low)*10) / 10 }

// chart is a curve of means by day.
type chart struct {
	Title, Words string
	Line         string // its points
	Dots         [][2]float64
	Top          string
	First, Last  string // days
}

// The size of a chart, and its margins.
const (
	chartWidth, chartHeight = 640.0, 120.0
)

func newChart(title string, from time.Time, days map[string]*bill, of func(*bill) (sum float64, n int)) chart {
	c := chart{Title: title, First: from.Local().Format("Jan 2"), Last: from.AddDate(0, 0, worthDays-1).Local().Format("Jan 2")}
	means, top := make([]float64, worthDays), 0.0
	var half [2]meta.Sample
	for i := range means {
		means[i] = -1
		if b := days[from.AddDate(0, 0, i).Local().Format(time.DateOnly)]; b != nil {
			if total, n := of(b); n > 0 {
				means[i] = total / float64(n)
				half[i*2/worthDays].N += n
				half[i*2/worthDays].Sum += total
			}
		}
		top = max(top, means[i])
	}
	if top = max(1, math.Ceil(top)); half[0].N+half[1].N == 0 {
		return c
	}
	c.Top = plain(top)
	for i, m := range means {
		if m < 0 {
			continue // days without runs do not break the line
		}
		x, y := math.Round(float64(i)/(worthDays-1)*chartWidth), math.Round((1-m/top)*chartHeight)
		c.Line += fmt.Sprintf("%g,%g ", x, y)
		c.Dots = append(c.Dots, [2]float64{x, y})
	}
	say := func(s meta.Sample) string {
		if s.N == 0 {
			return "no data"
		}
		return fmt.Sprintf("%.1f", s.Sum/float64(s.N))
	}
	c.Words = fmt.Sprintf("%s in the two weeks before, %s in the last two", say(half[0]), say(half[1]))
	return c
}
