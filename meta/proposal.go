package meta

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Errors of proposals. Nothing was stored.
var (
	// ErrProposal: a draft lacks something, or its Applier refuses it.
	ErrProposal = errors.New("bad proposal")
	// ErrDecided: the proposal is not open, so there is nothing to decide:
	// it lacks evidence, was decided, or has expired.
	ErrDecided = errors.New("proposal is not open")
)

// ProposalKind says what a Proposal would change.
type ProposalKind string

// The kinds of proposals.
const (
	ChangeGoal     ProposalKind = "goal"
	ChangeConfig   ProposalKind = "config"
	ChangeExecutor ProposalKind = "executor"
)

// ProposalStatus says how far a Proposal is.
type ProposalStatus string

// The statuses, and what follows what:
//
//	Gathering → Pending → Approved → Applied
//	                               → Failed
//	       Gathering, Pending      → Rejected
//	       Gathering, Pending      → Expired
const (
	Gathering ProposalStatus = "gathering" // lacks evidence
	Pending   ProposalStatus = "open"      // may be approved
	Approved  ProposalStatus = "approved"  // is being applied, or was when the process ended
	Applied   ProposalStatus = "applied"
	Failed    ProposalStatus = "failed" // the Applier gave an error, or no answer in time
	Rejected  ProposalStatus = "rejected"
	Expired   ProposalStatus = "expired"
)

// ProposalDraft is a change that would mend something.
type ProposalDraft struct {
	Kind    ProposalKind
	Subject string          // what it is about, such as the skill; at most 256 bytes. Required.
	Change  json.RawMessage // what the Applier applies. Required.
	Reason  string          // the alert, in words
	Samples int             // that the reason rests on
	Needs   int             // samples before it may be approved; 0: 50
}

// Proposal is a change that a person decides about.
type Proposal struct {
	ID       string
	Kind     ProposalKind
	Subject  string
	Change   json.RawMessage
	Reason   string
	Samples  int
	Needs    int
	Status   ProposalStatus
	By, Note string // who decided, and why; of a failed one, what the Applier said
	Made     time.Time
	Decided  time.Time // zero: not yet
	Expires  time.Time // unless it is decided before
}

// Applier changes what proposals are about, for the host.
type Applier interface {
	// Validate returns why the change cannot be applied as it is, such as a
	// field that its schema does not have, or nil.
	Validate(ctx context.Context, p Proposal) error
	// Apply makes the change, all of it or nothing. It is called once for an
	// approved proposal, and again with the same ID if the process ended
	// before that was noted down.
	Apply(ctx context.Context, p Proposal) error
}

// ProposalOptions configure [OpenProposals]. The zero value is ready.
type ProposalOptions struct {
	Now       func() time.Time  // nil: time.Now
	Sanitizer *redact.Sanitizer // nil: the zero Sanitizer
	Expiry    time.Duration     // how long a proposal stays open; 0: 7 days
	// Quiet is how long a subject is left alone after a rejection, unless
	// the evidence has doubled. 0: 7 days.
	Quiet time.Duration
	// Timeout of a call of the Applier; 0: one minute.
	Timeout time.Duration
}

// Proposals keeps proposed changes until they are decided, and the decisions.
// It may be used concurrently, also by several processes over one store: each
// step is a conditional commit, so that only one of them decides.
type Proposals struct {
	st      store.Store
	applier Applier
	o       ProposalOptions
}

// OpenProposals returns the proposals that st holds, and has x finish those
// that were approved and not applied when their process ended. Opts may be nil.
// Without a store or an Applier, or with a negative option, it returns
// ErrProposal.
func OpenProposals(ctx context.Context, st store.Store, x Applier, opts *ProposalOptions) (*Proposals, error) {
	if st == nil || guard.IsNil(x) {
		return nil, fmt.Errorf("%w: no store, or no Applier", ErrProposal)
	}
	ps := &Proposals{st: st, applier: x}
	if opts != nil {
		ps.o = *opts
	}
	if min(ps.o.Expiry, ps.o.Quiet, ps.o.Timeout) < 0 {
		return nil, fmt.Errorf("%w: negative option", ErrProposal)
	}
	if ps.o.Now == nil {
		ps.o.Now = time.Now
	}
	ps.o.Expiry = cmp.Or(ps.o.Expiry, 7*24*time.Hour)
	ps.o.Quiet = cmp.Or(ps.o.Quiet, 7*24*time.Hour)
	ps.o.Timeout = cmp.Or(ps.o.Timeout, time.Minute)
	for p, err := range ps.All(ctx) {
		if err == nil && p.Status == Approved {
			_, err = ps.apply(ctx, p.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("meta: open proposals: %w", err)
		}
	}
	return ps, nil
}

// Propose keeps a draft, or adds its evidence to the proposal that is about the
// same subject and not decided yet. After a rejection the subject is left alone
// for a while: the rejected proposal is returned. It returns ErrProposal or a
// *store.LimitError for a draft that cannot be.
func (ps *Proposals) Propose(ctx context.Context, d ProposalDraft) (Proposal, error) {
	if err := d.check(); err != nil {
		return Proposal{}, err
	}
	san := ps.o.Sanitizer
	p := Proposal{
		Kind: d.Kind, Subject: san.Sanitize(d.Subject), Change: san.JSON(slices.Clone(d.Change)), Reason: san.Sanitize(d.Reason),
		Samples: d.Samples, Needs: cmp.Or(d.Needs, 50),
	}
	for {
		got, err := ps.propose(ctx, p)
		if !errors.Is(err, store.ErrConflict) {
			return got, err
		}
	}
}

func (d *ProposalDraft) check() error {
	switch d.Kind {
	case ChangeGoal, ChangeConfig, ChangeExecutor:
	default:
		return fmt.Errorf("%w: kind %.32q", ErrProposal, string(d.Kind))
	}
	if strings.TrimSpace(d.Subject) == "" || !json.Valid(d.Change) || d.Samples < 0 || d.Needs < 0 {
		return fmt.Errorf("%w: it needs a subject, a change in JSON, and counts that are not negative", ErrProposal)
	}
	if err := key.CheckID("subject", d.Subject); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		n    int
	}{{"change", len(d.Change)}, {"reason", len(d.Reason)}} {
		if f.n > MaxText {
			return &store.LimitError{Field: f.name, Limit: MaxText, Got: f.n}
		}
	}
	return nil
}

// propose makes one try.
func (ps *Proposals) propose(ctx context.Context, p Proposal) (Proposal, error) {
	now := ps.now()
	number, last, rev, err := ps.last(ctx, p.Kind, p.Subject)
	if err != nil {
		return Proposal{}, err
	}
	if last != nil {
		switch {
		case last.Status == Approved, last.Status == Rejected && now.Sub(last.Decided) < ps.o.Quiet && p.Samples < 2*last.Samples:
			return *last, nil
		case last.open(now):
			next := *last
			next.Change, next.Reason, next.Samples = p.Change, p.Reason, max(p.Samples, last.Samples)
			next.settle()
			return ps.put(ctx, next, rev)
		}
	}
	p.ID = proposalID(p.Kind, p.Subject, number+1)
	p.Made, p.Expires = now, now.Add(ps.o.Expiry)
	p.settle()
	if err := ps.validate(ctx, p); err != nil {
		return Proposal{}, err
	}
	return ps.put(ctx, p, 0)
}

// settle says whether there is enough evidence.
func (p *Proposal) settle() {
	if p.Status = Gathering; p.Samples >= p.Needs {
		p.Status = Pending
	}
}

// open reports whether the proposal can still be decided.
func (p *Proposal) open(now time.Time) bool {
	return (p.Status == Gathering || p.Status == Pending) && now.Before(p.Expires)
}

func (ps *Proposals) validate(ctx context.Context, p Proposal) error {
	_, err := guard.Do(ctx, ps.o.Timeout, func(ctx context.Context) (struct{}, error) { return struct{}{}, ps.applier.Validate(ctx, p) })
	if err != nil {
		return fmt.Errorf("%w: %s", ErrProposal, ps.o.Sanitizer.Sanitize(err.Error()))
	}
	return nil
}
