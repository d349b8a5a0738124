package dash

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// reports are the runs of the scope, the newest first, without their outputs. They are kept, and those that
// have changed since are read again.
func (d *dash) reports(rq *request) ([]*arc.Report, error) {
	was := d.kept.runs(rq.scope, runs{})
	ids, mark, old := rq.Changed(was.mark)
	if old == nil && len(ids) == 0 {
		return was.all, nil
	}
	v, err, _ := d.kept.flight.Do(fmt.Sprint("runs\x00", rq.scope, "\x00", mark), func() (any, error) {
		ctx := context.WithoutCancel(rq.Context()) // others wait for it, too
		all, read := []*arc.Report(nil), rq.Runs(ctx)
		if old == nil {
			slices.Sort(ids)
			all = slices.DeleteFunc(slices.Clone(was.all), func(r *arc.Report) bool {
				_, changed := slices.BinarySearch(ids, r.ID)
				return changed
			})
			read = func(yield func(*arc.Report, error) bool) {
				for _, id := range slices.Compact(ids) {
					if r, err := rq.Report(ctx, id); !errors.Is(err, store.ErrNotFound) && !yield(r, err) { // else deleted
						return
					}
				}
			}
		}
		for r, err := range read {
			if err != nil {
				return nil, err
			}
			r.Output, r.Failed, r.Text = nil, nil, clip(r.Text, 2000)
			all = append(all, r)
		}
		slices.SortStableFunc(all, func(a, b *arc.Report) int {
			return cmp.Or(b.Began.Compare(a.Began), strings.Compare(b.ID, a.ID))
		})
		return d.kept.runs(rq.scope, runs{mark, all}).all, nil
	})
	all, _ := v.([]*arc.Report)
	return all, err
}

// runs are the reports of a scope as of a mark of View.Changed.
type runs struct {
	mark uint64
	all  []*arc.Report
}

// waits reports whether a run waits for a person.
func waits(r *arc.Report) bool {
	return r.Status == arc.Asking || len(r.Approvals) > 0
}

func open(r *arc.Report) bool { return waits(r) || r.Status == arc.Running || r.Status == arc.Waiting }

// now is the page of what a person should know now.
type now struct {
	Asks, Running, Failed, Lately []*arc.Report // the last two are those of the last week
	Below                         []*arc.Report // that wait, of scopes below this one
}

func (d *dash) now(rq *request) (any, error) {
	all, err := d.reports(rq)
	n, since := now{}, d.opts.Now().AddDate(0, 0, -7)
	for _, r := range all {
		late := r.Ended.After(since)
		switch {
		case waits(r):
			n.Asks = append(n.Asks, r)
		case open(r):
			n.Running = append(n.Running, r)
		case late && cmp.Or(r.Verdict, learn.Verdict(r.Status)) == learn.Delivered:
			n.Lately = append(n.Lately, r)
		case late && r.Status != arc.Canceled: // blocked, or judged wrong
			n.Failed = append(n.Failed, r)
		}
	}
	slices.Reverse(n.Asks) // who waits longest comes first
	var none error
	n.Below, none = keep(d, rq, "below", func(ctx context.Context) (below []*arc.Report, err error) {
		for r, e := range rq.Unfinished(ctx) {
			if err = e; e == nil && waits(r) && (len(all) == 0 || r.Scope != all[0].Scope) { // else it is in all
				below = append(below, r)
			}
		}
		return below, err
	})
	return &n, cmp.Or(err, none)
}

// runList is the page of all runs.
type runList struct {
	listing
	Runs []*arc.Report
}

func (d *dash) list(rq *request) (any, error) {
	all, err := d.reports(rq)
	kinds := []string{"running", "waiting", "asking", "delivered", "blocked", "canceled", "judged wrong"}
	l, runs := find(rq, all, kinds, func(r **arc.Report) (kinds, texts []string) {
		wrong := map[learn.Verdict]string{learn.Failed: "judged wrong"}[(*r).Verdict]
		return []string{cmp.Or(wrong, string((*r).Status))}, []string{(*r).ID, (*r).Objective, (*r).Text}
	})
	return &runList{listing: l, Runs: runs}, err
}

// run is the page of one run.
type run struct {
	*arc.Report
	Asked   arc.Objective
	Story   []arc.Event // lines of output that follow one another are one
	Earlier int         // events that are left out
	ByPlan  bool        // it was delivered by a learned plan alone
}

const maxStory = 300

func (d *dash) run(rq *request) (any, error) {
	id := rq.Form.Get("id")
	if store.CheckID(id) != nil {
		return nil, store.ErrNotFound
	}
	rep, err := rq.Report(rq.Context(), id)
	if err != nil {
		return nil, err
	}
	r := &run{Report: rep, ByPlan: rep.Status == arc.Delivered && rep.Fired > 0}
	if r.Asked, err = rq.Objective(rq.Context(), id); err != nil {
		return nil, err
	}
	for e, err := range rq.Journal(rq.Context(), id) {
		if err != nil {
			return nil, err
		}
		if last := len(r.Story) - 1; e.Kind == "output" && last >= 0 &&
			r.Story[last].Kind == e.Kind && r.Story[last].Name == e.Name {
			r.Story[last].Text += "\n" + e.Text
			continue
		}
		r.Story = append(r.Story, e)
	}
	if !rq.Form.Has("all") {
		r.Earlier = max(0, len(r.Story)-maxStory)
		r.Story = r.Story[r.Earlier:]
	}
	return r, nil
}

// actRun answers, rules, cancels, tries again or judges.
func (d *dash) actRun(rq *request) (string, error) {
	ctx, id, text := rq.Context(), rq.Form.Get("id"), strings.TrimSpace(rq.Form.Get("text"))
	if store.CheckID(id) != nil {
		return "", store.ErrNotFound
	}
	if scope := memory.Scope(rq.Form.Get("scope")); scope != "" { // of a run that is open, here or below
		none := arc.ErrState
		for r, err := range rq.Unfinished(ctx) {
			if none = cmp.Or(err, none); err == nil && r.ID == id && r.Scope == scope {
				rq.View, none = d.agent.In(scope), nil
			}
		}
		if none != nil {
			return "", none
		}
	}
	switch do := rq.Form.Get("do"); do {
	case "answer":
		if text == "" {
			return "empty", nil
		}
		return "answered", d.goOn(rq, id, func(ctx context.Context) (*arc.Report, error) {
			return rq.Answer(ctx, id, rq.Form.Get("question"), text)
		})
	case "retry":
		return "retried", d.goOn(rq, id, func(ctx context.Context) (*arc.Report, error) {
			return rq.Retry(ctx, id, text)
		})
	case "allow", "done", "deny":
		ruling := act.Ruling{Approval: rq.Form.Get("approval"), By: rq.who, Note: text, Allow: do != "deny"}
		switch made := strings.TrimSpace(rq.Form.Get("result")); {
		case do == "done" && made == "":
			return "empty", nil
		case ruling.Allow && made != "": // who says what it returned does not want it made again
			if ruling.Result = json.RawMessage(made); made == "null" || !json.Valid(ruling.Result) {
				ruling.Result, _ = json.Marshal(made)
			}
		}
		if err := rq.Decide(ctx, ruling); err != nil {
			return "", err
		}
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // for the run to take it up
		defer cancel()
		asks := func(a act.Approval) bool { return a.ID == ruling.Approval && a.Mode != act.Compound }
		until(ctx, rq, id, func(r *arc.Report) bool { return !slices.ContainsFunc(r.Approvals, asks) })
		return map[bool]string{true: "allowed", false: "denied"}[ruling.Allow], nil
	case "cancel":
		return "canceled", rq.View.Cancel(ctx, id, cmp.Or(text, "canceled by "+rq.who))
	case "right", "wrong":
		verdict := map[string]learn.Verdict{"right": learn.Delivered, "wrong": learn.Failed}[do]
		return "judged", rq.Judge(ctx, id, verdict, text)
	default:
		return "", fmt.Errorf("%w: %q", errBad, do)
	}
}

// goOn has a run go on, and returns once that is committed, or it has stopped again.
func (d *dash) goOn(rq *request, id string, f func(context.Context) (*arc.Report, error)) error {
	was, err := rq.Report(rq.Context(), id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(rq.Context())
	defer cancel(nil)
	go func() { // the run outlives the request: it ends when it stops, or with the Agent
		_, err := f(context.WithoutCancel(ctx))
		if err != nil { // nobody may wait for it any more
			d.opts.Logger.Info("dash: a run goes on", "run", id, "error", err)
		}
		cancel(err)
	}()
	moved := until(ctx, rq, id, func(r *arc.Report) bool { return r.Status != was.Status })
	if err := context.Cause(ctx); !moved && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// until follows a run until something is so, and reports whether it is before ctx ends.
func until(ctx context.Context, rq *request, id string, so func(*arc.Report) bool) bool {
	for _, err := range rq.Watch(ctx, "") {
		if err != nil {
			break
		}
		if r, err := rq.Report(ctx, id); err == nil && so(r) {
			return true
		}
	}
	return false
}
