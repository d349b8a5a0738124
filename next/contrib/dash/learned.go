package dash

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	arc "github.com/arc-learn/arc/next"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/meta/proposal"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/store"
)

// learned is the page of plans and warnings, and of why nothing fires for a case.
type learned struct {
	pager
	Plans                    []reason.Suggestion
	Warnings                 []reason.Warning
	Fires                    int // of all plans
	Q                        string
	Text, Situation, Inputs  string // of the case that somebody asks about
	Why, Wrong               string
	WarningsAll, WarningsMax int
}

const maxWarnings = 100

func (d *dash) learned(rq *request) (any, error) {
	k, err := d.known.get(rq.Context(), rq.scope, func(ctx context.Context) (reason.Known, error) {
		k, err := rq.Known(ctx)
		slices.SortStableFunc(k.Suggestions, func(a, b reason.Suggestion) int { // what fires, then what delivered most
			return cmp.Or(cmp.Compare(min(1, len(a.Differs)), min(1, len(b.Differs))), cmp.Compare(b.Delivered, a.Delivered))
		})
		slices.SortStableFunc(k.Warnings, func(a, b reason.Warning) int { // what is open, then what came most
			return cmp.Or(cmp.Compare(min(1, len(a.Instead)), min(1, len(b.Instead))), cmp.Compare(b.Times, a.Times))
		})
		return k, err
	})
	if err != nil {
		return nil, err
	}
	f := rq.form
	l := learned{Q: f.Get("q"), Text: strings.TrimSpace(f.Get("text")), Situation: f.Get("situation"), Inputs: strings.TrimSpace(f.Get("inputs")), WarningsMax: maxWarnings}
	for _, s := range k.Suggestions {
		if s.Differs == "" {
			l.Fires++
		}
		if has(l.Q, s.Name, steps(s.Calls)) {
			l.Plans = append(l.Plans, s)
		}
	}
	for _, w := range k.Warnings {
		if has(l.Q, w.Skill, w.Complaint, w.Instead) {
			l.WarningsAll++
			if len(l.Warnings) < maxWarnings {
				l.Warnings = append(l.Warnings, w)
			}
		}
	}
	l.pager = newPager(rq, len(l.Plans))
	l.Plans = cut(l.Plans, l.pager)
	if l.Text == "" {
		return &l, nil
	}
	o := arc.Objective{Text: l.Text, Situation: l.Situation}
	if l.Inputs != "" {
		o.Inputs = json.RawMessage(l.Inputs)
	}
	if l.Why, err = rq.Why(rq.Context(), o); err != nil { // what somebody has typed
		l.Wrong = err.Error()
	}
	return &l, nil
}

// steps are the calls of a plan in words.
func steps(calls []reason.PlanCall) string {
	out := make([]string, len(calls))
	for i, c := range calls {
		out[i] = c.Name
		if s := string(c.Inputs); s != "" && s != "{}" && s != "null" {
			out[i] += " " + s
		}
	}
	return strings.Join(out, ", then ")
}

// memories is the page of memories: the newest, or what answers a question.
type memories struct {
	pager
	Hits         []memory.Record
	Kinds        []memory.Kind
	Q, Kind      string
	Trust        string // "no": only those that nobody vouches for
	All, Waiting int    // memories of the scope; those that nobody vouches for
}

func (d *dash) memories(rq *request) (any, error) {
	space, err := rq.Memory(rq.Context())
	if err != nil {
		return nil, err
	}
	f := rq.form
	m := memories{Q: f.Get("q"), Kind: f.Get("kind"), Trust: strings.TrimPrefix(f.Get("trust"), "all"),
		Kinds: []memory.Kind{memory.Rule, memory.Fact, memory.Failure, memory.Pattern, memory.Episode}}
	h, err := space.Health(rq.Context())
	if h.Kinds == nil && err != nil { // an error of the Embedder leaves the counts
		return nil, err
	}
	for _, n := range h.Kinds {
		m.All += n
	}
	m.Waiting = h.Quarantined
	fits := func(r *memory.Record) bool {
		return (m.Kind == "" || string(r.Kind) == m.Kind) && (m.Trust != "no" || !r.Trusted)
	}
	var found []memory.Record
	if strings.TrimSpace(m.Q) == "" {
		for r, err := range space.All(rq.Context()) {
			if err != nil {
				return nil, err
			}
			if fits(&r) {
				found = append(found, r)
			}
		}
		slices.Reverse(found)
	} else {
		hits, err := space.Recall(rq.Context(), memory.Query{Text: clip(m.Q, 1000), K: 200, Archived: true})
		if err != nil {
			return nil, err
		}
		for _, h := range hits {
			if fits(&h.Record) {
				found = append(found, h.Record)
			}
		}
	}
	m.pager = newPager(rq, len(found))
	m.Hits = cut(found, m.pager)
	return &m, nil
}

func (d *dash) actMemory(rq *request) (string, error) {
	space, err := rq.Memory(rq.Context())
	if err != nil {
		return "", err
	}
	id := memory.ID(rq.form.Get("id"))
	if store.CheckID(string(id)) != nil {
		return "", store.ErrNotFound
	}
	switch do := rq.form.Get("do"); do {
	case "trust":
		return "trusted", space.Trust(rq.Context(), id)
	case "forget":
		return "forgotten", space.Forget(rq.Context(), id)
	default:
		return "", fmt.Errorf("%w: %q", errBad, do)
	}
}

// proposals is the page of what the evidence suggests.
type proposals struct {
	watched
	Open, Past []proposal.Proposal
}

func (d *dash) proposals(rq *request) (any, error) {
	var ps proposals
	for p := range d.opts.Proposals(rq.scope).All() {
		if p.Status == proposal.Ready || p.Status == proposal.Gathering {
			ps.Open = append(ps.Open, p)
		} else if len(ps.Past) < perPage {
			ps.Past = append(ps.Past, p)
		}
	}
	slices.SortStableFunc(ps.Open, func(a, b proposal.Proposal) int { return strings.Compare(string(b.Status), string(a.Status)) })
	return &ps, nil
}

func (d *dash) actProposal(rq *request) (string, error) {
	to, ok := map[string]proposal.Status{"approved": proposal.Approved, "rejected": proposal.Rejected, "undone": proposal.Undone}[rq.form.Get("do")]
	if !ok {
		return "", fmt.Errorf("%w: %q", errBad, rq.form.Get("do"))
	}
	_, err := d.opts.Proposals(rq.scope).Decide(rq.Context(), rq.form.Get("id"), to, rq.who, strings.TrimSpace(rq.form.Get("text")))
	return string(to), err
}
