package meta

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// storedProposal is a Proposal as it is stored, under
//
//	meta proposal <hash of kind and subject>-<number>
type storedProposal struct {
	Kind    ProposalKind   `cbor:"1,keyasint"`
	Subject string         `cbor:"2,keyasint"`
	Change  []byte         `cbor:"3,keyasint"`
	Reason  string         `cbor:"4,keyasint,omitempty"`
	Samples int            `cbor:"5,keyasint,omitempty"`
	Needs   int            `cbor:"6,keyasint,omitempty"`
	Status  ProposalStatus `cbor:"7,keyasint"`
	By      string         `cbor:"8,keyasint,omitempty"`
	Note    string         `cbor:"9,keyasint,omitempty"`
	Made    time.Time      `cbor:"10,keyasint"`
	Decided time.Time      `cbor:"11,keyasint,omitzero"`
	Expires time.Time      `cbor:"12,keyasint"`
}

func proposalPrefix(kind ProposalKind, subject string) string {
	sum := sha256.Sum256([]byte(string(kind) + "\x00" + subject))
	return hex.EncodeToString(sum[:12]) + "-"
}

func proposalID(kind ProposalKind, subject string, number int) string {
	return fmt.Sprintf("%s%08d", proposalPrefix(kind, subject), number)
}

func proposalKey(id string) string { return key.Join(space, "proposal", id) }

func decodeProposal(e store.Entry) (Proposal, error) {
	var s storedProposal
	if err := codec.Decode(e, &s); err != nil {
		return Proposal{}, err
	}
	parts := key.Split(e.Key)
	p := Proposal{
		Kind: s.Kind, Subject: s.Subject, Change: s.Change, Reason: s.Reason, Samples: s.Samples, Needs: s.Needs,
		Status: s.Status, By: s.By, Note: s.Note, Made: s.Made, Decided: s.Decided, Expires: s.Expires,
	}
	switch s.Status {
	case Gathering, Pending, Approved, Applied, Failed, Rejected, Expired:
	default:
		return p, fmt.Errorf("%w: %q has the status %.32q", store.ErrDamaged, e.Key, string(s.Status))
	}
	if len(parts) != 3 || !json.Valid(s.Change) || s.Samples < 0 || s.Needs < 0 {
		return p, fmt.Errorf("%w: %q is not a proposal", store.ErrDamaged, e.Key)
	}
	p.ID = parts[2]
	return p, nil
}

// now is the time as exactly as it is stored.
func (ps *Proposals) now() time.Time { return ps.o.Now().UTC().Truncate(time.Microsecond) }

// put writes a proposal in place of the revision that was read, 0 for none.
func (ps *Proposals) put(ctx context.Context, p Proposal, rev store.Revision) (Proposal, error) {
	k := proposalKey(p.ID)
	v, err := codec.Encode(k, storedProposal{
		p.Kind, p.Subject, p.Change, p.Reason, p.Samples, p.Needs, p.Status, p.By, p.Note, p.Made, p.Decided, p.Expires,
	})
	if err != nil {
		return p, err
	}
	_, err = ps.st.Commit(ctx, store.Op{Key: k, Value: v, If: store.At(rev)})
	return p, err
}

// last returns the last proposal about a subject and its number, nil and 0 if
// there is none.
func (ps *Proposals) last(ctx context.Context, kind ProposalKind, subject string) (number int, p *Proposal, rev store.Revision, err error) {
	for e, err := range ps.st.Scan(ctx, store.Range{Prefix: proposalKey(proposalPrefix(kind, subject))}) {
		if err != nil {
			return 0, nil, 0, err
		}
		one, err := decodeProposal(e)
		if err != nil {
			return 0, nil, 0, err
		}
		number, p, rev = number+1, &one, e.Rev
	}
	return number, p, rev, nil
}

// All yields the proposals, each as it stands, those of one subject in the order
// in which they were made. One that has expired says so, whether or not Expire
// has noted it down. It ends after the first error.
func (ps *Proposals) All(ctx context.Context) iter.Seq2[Proposal, error] {
	return func(yield func(Proposal, error) bool) {
		for e, err := range ps.st.Scan(ctx, store.Range{Prefix: key.Prefix(space, "proposal")}) {
			var p Proposal
			if err == nil {
				p, err = decodeProposal(e)
			}
			if err == nil && p.overdue(ps.now()) {
				p.expire()
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// overdue reports whether the proposal was not decided in time.
func (p *Proposal) overdue(now time.Time) bool {
	return (p.Status == Gathering || p.Status == Pending) && !p.open(now)
}

func (p *Proposal) expire() {
	p.Note = "nobody decided in time"
	if p.Status == Gathering {
		p.Note = fmt.Sprintf("%d of %d samples came in time", p.Samples, p.Needs)
	}
	p.Status, p.Decided = Expired, p.Expires
}

// Expire notes down which proposals have expired, and returns how many.
func (ps *Proposals) Expire(ctx context.Context) (int, error) {
	n := 0
	for p, err := range ps.All(ctx) {
		if err != nil {
			return n, fmt.Errorf("expire proposals: %w", err)
		}
		if p.Status != Expired {
			continue
		}
		e, err := ps.st.Get(ctx, proposalKey(p.ID))
		if err != nil {
			return n, fmt.Errorf("expire proposal %q: %w", p.ID, err)
		}
		now, err := decodeProposal(e)
		if err != nil || !now.overdue(ps.now()) {
			continue // noted down already, or decided since
		}
		_, err = ps.put(ctx, p, e.Rev)
		switch {
		case errors.Is(err, store.ErrConflict):
		case err != nil:
			return n, fmt.Errorf("expire proposal %q: %w", p.ID, err)
		default:
			n++
		}
	}
	return n, nil
}

// decide moves an open proposal on, and returns it with its revision.
func (ps *Proposals) decide(ctx context.Context, id string, to ProposalStatus, by, note string) (Proposal, error) {
	for {
		e, err := ps.st.Get(ctx, proposalKey(id))
		if err != nil {
			return Proposal{}, err
		}
		p, err := decodeProposal(e)
		if err != nil {
			return p, err
		}
		if !p.open(ps.now()) || to == Approved && p.Status != Pending {
			return p, fmt.Errorf("%w: %s, %d of %d samples", ErrDecided, p.Status, p.Samples, p.Needs)
		}
		p.Status, p.By, p.Note, p.Decided = to, ps.o.Sanitizer.Sanitize(by), ps.o.Sanitizer.Sanitize(note), ps.now()
		p, err = ps.put(ctx, p, e.Rev)
		if !errors.Is(err, store.ErrConflict) {
			return p, err
		}
	}
}

// Reject closes a proposal that is open or gathers evidence, and keeps why. It
// returns ErrDecided if it is neither, store.ErrNotFound for an unknown id.
func (ps *Proposals) Reject(ctx context.Context, id, by, note string) (Proposal, error) {
	p, err := ps.decide(ctx, id, Rejected, by, note)
	if err != nil {
		err = fmt.Errorf("reject proposal %q: %w", id, err)
	}
	return p, err
}

// Approve has the Applier apply an open proposal, and returns it as applied, or
// as failed with the Applier's reason in Note, which is no error of Approve. It
// returns ErrDecided if the proposal is not open, ErrProposal if the Applier
// does not take it as it is now, and store.ErrNotFound for an unknown id. If
// Approve ends after the approval and before the change was noted down,
// OpenProposals goes on.
func (ps *Proposals) Approve(ctx context.Context, id, by, note string) (Proposal, error) {
	e, err := ps.st.Get(ctx, proposalKey(id))
	if err != nil {
		return Proposal{}, fmt.Errorf("approve proposal %q: %w", id, err)
	}
	p, err := decodeProposal(e)
	if err == nil && p.Status == Pending {
		err = ps.validate(ctx, p)
	}
	if err == nil {
		_, err = ps.decide(ctx, id, Approved, by, note)
	}
	if err == nil {
		p, err = ps.apply(ctx, id)
	}
	if err != nil {
		return p, fmt.Errorf("approve proposal %q: %w", id, err)
	}
	return p, nil
}

// apply has an approved proposal applied, and notes down what came of it.
func (ps *Proposals) apply(ctx context.Context, id string) (Proposal, error) {
	e, err := ps.st.Get(ctx, proposalKey(id))
	if err != nil {
		return Proposal{}, err
	}
	p, err := decodeProposal(e)
	if err != nil || p.Status != Approved {
		return p, err
	}
	_, err = guard.Do(ctx, ps.o.Timeout, func(ctx context.Context) (struct{}, error) { return struct{}{}, ps.applier.Apply(ctx, p) })
	if ctx.Err() != nil {
		return p, ctx.Err() // nobody knows whether it was applied: again, with the same ID
	}
	p.Status = Applied
	if err != nil {
		p.Status, p.Note = Failed, ps.o.Sanitizer.Sanitize(err.Error())
	}
	return ps.put(ctx, p, e.Rev)
}
