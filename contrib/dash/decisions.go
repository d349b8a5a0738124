package dash

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/store"
)

const (
	maxWaiting = 500 // approvals that are shown, and proposals
	maxDecided = 50
	maxAnswer  = 64 << 10 // bytes that View.Answer takes
)

// approvals are the attempts that wait for a human, in the scope at hand.
func (d *desk) approvals(q *ask) (any, error) {
	all, err := d.pending(q)
	if len(all) > 0 {
		return all, err // to renew it would take away what is being typed
	}
	return live{body: all, runs: true}, err
}

func (d *desk) pending(q *ask) ([]arc.Approval, error) {
	out := []arc.Approval{}
	for r, err := range q.view.Runs(q.Context(), arc.Filter{Status: arc.Waiting, Scope: q.scope}) {
		if err != nil || len(out) == maxWaiting {
			return out, err
		}
		if r.Approval != nil {
			out = append(out, *r.Approval)
		}
	}
	return out, nil
}

// rule takes in what the viewer says to an approval.
func (d *desk) rule(q *ask) (path, word string, err error) {
	id := q.PostFormValue("run")
	attempt, err := strconv.Atoi(q.PostFormValue("attempt"))
	allow := q.PostFormValue("say") == "allow"
	if err != nil || !allow && q.PostFormValue("say") != "refuse" {
		return "", "", fmt.Errorf("%w: an attempt, and allow or refuse", errBad)
	}
	r, err := d.report(q, id)
	if err != nil {
		return "", "", err
	}
	by, note := q.viewer.Name, q.PostFormValue("note")
	if d.token && allow && r.Approval != nil && r.Approval.Need > 1 {
		by, note = byToken, strings.TrimSpace(by+": "+note) // a name that is typed in proves nothing
	}
	err = q.view.Rule(q.Context(), arc.Ruling{Run: id, Attempt: attempt, Allow: allow, By: by, Note: note})
	switch {
	case errors.Is(err, arc.ErrLate):
		return "/approvals", "late", nil
	case errors.Is(err, arc.ErrRunning), errors.Is(err, store.ErrConflict):
		return "/approvals", "busy", nil
	case allow && err == nil:
		r, err := d.report(q, id)
		if err == nil && r.Approval != nil && len(r.Approval.AllowedBy) < r.Approval.Need {
			return "/approvals", "agreed", nil
		}
		return "/approvals", "allowed", err
	}
	return "/approvals", "refused", err
}

// proposalList has what can be decided about, and the latest of the others.
type proposalList struct {
	Open    []proposal.Proposal
	Decided []proposal.Proposal
}

func (d *desk) proposals(q *ask) (any, error) {
	var l proposalList
	latest := func(most int) {
		slices.SortStableFunc(l.Decided, func(a, b proposal.Proposal) int { return b.Decided.Compare(a.Decided) })
		l.Decided = l.Decided[:min(len(l.Decided), most)]
	}
	for p, err := range q.view.Proposals(q.Context()) {
		if errors.Is(err, store.ErrDamaged) {
			continue // Health tells of it
		}
		if err != nil {
			return nil, err
		}
		if p.Status == "open" || p.Status == "gathering" {
			l.Open = append(l.Open, p)
		} else if l.Decided = append(l.Decided, p); len(l.Decided) == 10*maxDecided {
			latest(maxDecided)
		}
	}
	slices.SortStableFunc(l.Open, func(a, b proposal.Proposal) int {
		return cmp.Or(-cmp.Compare(a.Status, b.Status), b.Made.Compare(a.Made))
	})
	l.Open = l.Open[:min(len(l.Open), maxWaiting)]
	latest(maxDecided)
	return l, nil
}

// decideProposal takes a person's verdict on a proposal.
func (d *desk) decideProposal(q *ask) (path, word string, err error) {
	id, note := q.PostFormValue("id"), q.PostFormValue("note")
	var p proposal.Proposal
	switch q.PostFormValue("say") {
	case "approve":
		word = "approved"
		p, err = q.view.Approve(q.Context(), id, q.viewer.Name, note)
		if p.Status == "failed" {
			word = "failed"
		}
	case "reject":
		word = "rejected"
		p, err = q.view.Reject(q.Context(), id, q.viewer.Name, note)
	case "undo":
		word = "undone"
		p, err = q.view.Undo(q.Context(), id, q.viewer.Name, note)
		if p.Status == "applied" {
			word = "failed"
		}
	default:
		err = fmt.Errorf("%w: approve, reject or undo", errBad)
	}
	if errors.Is(err, store.ErrConflict) {
		return "/proposals", "late", nil
	}
	return "/proposals", word, err
}

// tellRun takes what the viewer says to a run: an answer to what it asks, or whether
// what it delivered is right.
func (d *desk) tellRun(q *ask) (path, word string, err error) {
	id, text := q.PostFormValue("id"), strings.TrimSpace(q.PostFormValue("text"))
	r, err := d.report(q, id)
	if err != nil {
		return "", "", err
	}
	switch say := q.PostFormValue("say"); {
	case say == "answer" && (r.Status != arc.Asking || q.PostForm.Has("asked") && q.PostFormValue("asked") != asked(r.Questions)):
		return "/run", "late", nil
	case say == "answer" && len(text) > maxAnswer:
		return "", "", &store.LimitError{Field: "answer", Limit: maxAnswer, Got: len(text)}
	case say == "answer" && text != "":
		// Answer returns when the run has ended, asks or waits, at the latest with the
		// Agent. The viewer does not wait for it.
		ctx := context.WithoutCancel(q.Context())
		go func() {
			if _, err := q.view.Answer(ctx, id, text); err != nil {
				d.logger.ErrorContext(ctx, "dash: answer", "run", id, "error", err)
			}
		}()
		return "/run", "answered", nil
	case say == "right" || say == "wrong":
		err = q.view.Judge(q.Context(), id, arc.Verdict{Right: say == "right", Why: text, Source: q.viewer.Name})
		if errors.Is(err, arc.ErrNotDelivered) || errors.Is(err, arc.ErrRunning) {
			return "/run", "late", nil
		}
		return "/run", "judged", err
	}
	return "", "", fmt.Errorf("%w: an answer, right or wrong", errBad)
}

// asked names questions, in the form that answers them: an answer sent twice answers no other one.
func asked(questions []string) string {
	sum := sha256.Sum256([]byte(strings.Join(questions, "\x00")))
	return base64url(sum[:12])
}

// report reads a run in the scope at hand.
func (d *desk) report(q *ask, id string) (*arc.Report, error) {
	r, err := q.view.Report(q.Context(), id)
	if err == nil && !r.Scope.Within(q.scope) {
		err = fmt.Errorf("run: %w", store.ErrNotFound)
	}
	return r, err
}
