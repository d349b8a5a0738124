package dash

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// learned is the page of plans and warnings, and of why nothing fires for a case.
type learned struct {
	listing
	Plans                   []reason.Suggestion
	Warnings                []reason.Warning
	Fires                   int    // of the plans that have the words
	Text, Situation, Inputs string // of the case that somebody asks about
	Why                     string
}

func (d *dash) learned(rq *request) (any, error) {
	k, err := keep(d, rq, "known", func(ctx context.Context) (reason.Known, error) {
		k, err := rq.Known(ctx)
		slices.SortStableFunc(k.Suggestions, func(a, b reason.Suggestion) int { // what fires, what delivered most
			return cmp.Or(min(1, len(a.Differs))-min(1, len(b.Differs)), b.Delivered-a.Delivered)
		})
		slices.SortStableFunc(k.Warnings, func(a, b reason.Warning) int { // what is open, what came most
			return cmp.Or(min(1, len(a.Instead))-min(1, len(b.Instead)), b.Times-a.Times)
		})
		return k, err
	})
	if err != nil {
		return nil, err
	}
	f := rq.Form
	l := learned{Text: strings.TrimSpace(f.Get("text")), Inputs: strings.TrimSpace(f.Get("inputs"))}
	l.Situation = f.Get("situation")
	ofWarning := func(w *reason.Warning) (kinds, texts []string) {
		if w.Instead == "" {
			return []string{"open"}, []string{w.Skill, w.Complaint}
		}
		return []string{"overcome"}, []string{w.Skill, w.Complaint, w.Instead}
	}
	ofPlan := func(s *reason.Suggestion) (kinds, texts []string) {
		if kinds = []string{"suggested"}; s.Differs == "" {
			kinds = []string{"fires"}
		}
		calls, _ := json.Marshal(s.Calls)
		return kinds, []string{s.Name, string(calls)}
	}
	warnings, found := find(rq, k.Warnings, []string{"open", "overcome"}, ofWarning)
	l.listing, l.Plans = find(rq, k.Suggestions, []string{"fires", "suggested"}, ofPlan)
	l.Fires, l.Warnings = l.Kinds[1].N, found
	l.Kinds = append(l.Kinds, warnings.Kinds[1:]...)
	l.Kinds[0].N += warnings.Kinds[0].N
	if warnings.Pages > l.Pages {
		l.Page, l.Pages, l.Before, l.After = warnings.Page, warnings.Pages, warnings.Before, warnings.After
	}
	if l.Text == "" {
		return &l, nil
	}
	o := arc.Objective{Text: l.Text, Situation: l.Situation}
	if l.Inputs != "" {
		o.Inputs = json.RawMessage(l.Inputs)
	}
	if l.Why, err = rq.Why(rq.Context(), o); err != nil { // what somebody has typed
		l.Why = err.Error()
	}
	return &l, nil
}

// memories is the page of memories: the newest first, or what answers a question.
type memories struct {
	listing
	Hits []memory.Record
}

func (d *dash) memories(rq *request) (any, error) {
	space, err := rq.Memory(rq.Context())
	if err != nil {
		return nil, err
	}
	m, found := memories{}, []memory.Record(nil)
	if q := rq.Form.Get("q"); strings.TrimSpace(q) != "" {
		hits, err := space.Recall(rq.Context(), memory.Query{Text: clip(q, 1000), K: 200, Archived: true})
		if err != nil {
			return nil, err
		}
		for _, h := range hits {
			found = append(found, h.Record)
		}
	} else {
		for r, err := range space.All(rq.Context()) {
			if err != nil {
				return nil, err
			}
			found = append(found, r)
		}
		slices.Reverse(found)
	}
	kinds := []string{"rule", "fact", "failure", "pattern", "episode", untrusted}
	m.listing, m.Hits = find(rq, found, kinds, func(r *memory.Record) (kinds, texts []string) {
		if kinds = []string{string(r.Kind)}; !r.Trusted {
			kinds = append(kinds, untrusted)
		}
		return kinds, nil
	})
	return &m, nil
}

const untrusted = "not vouched for"

func (d *dash) actMemory(rq *request) (string, error) {
	space, err := rq.Memory(rq.Context())
	if err != nil {
		return "", err
	}
	id := memory.ID(rq.Form.Get("id"))
	switch do := rq.Form.Get("do"); do {
	case "trust":
		return "trusted", space.Trust(rq.Context(), id)
	case "forget":
		return "forgotten", space.Forget(rq.Context(), id)
	default:
		return "", fmt.Errorf("%w: %q", errBad, do)
	}
}
