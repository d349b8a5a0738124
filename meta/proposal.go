package meta

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

const (
	proposalExpiry = 7 * 24 * time.Hour
	proposalQuiet  = 7 * 24 * time.Hour // of a subject, after a rejection
	defaultNeeds   = 50
	applyTimeout   = time.Minute
	droppedAtOnce  = 100
)

// The statuses of a Proposal, and what follows what:
//
//	gathering → pending → approved → applied → undoing → undone
//	                               → failed            → applied
//	       gathering, pending      → rejected
//	       gathering, pending      → expired
const (
	gathering = "gathering"
	pending   = "open"
	approved  = "approved"
	applied   = "applied"
	failed    = "failed"
	rejected  = "rejected"
	expired   = "expired"
	undoing   = "undoing"
	undone    = "undone"
)

var kinds = []string{"goal", "config", "executor", "action", "memory"}

// verdicts are what a person can say: of proposals of which statuses, and the
// status that makes of them.
var verdicts = map[string]struct {
	of []string
	to string
}{

	"approve": {[]string{pending}, approved},
	"reject":  {[]string{gathering, pending}, rejected},
	"undo":    {[]string{applied}, undoing},
}

// Proposal is a change that a person decides about. [Monitor.Propose] reads its
// first six fields after ID and Advice, and sets the others.
type Proposal struct {
	ID string `cbor:"-"`
	// Kind of what would change: "goal", "config", "executor", "action" or
	// "memory". Required.
	Kind string `cbor:"1,keyasint"`
	// Subject is what it is about, such as the skill; at most 256 bytes.
	// Required.
	Subject string `cbor:"2,keyasint"`
	// Change is what Options.Apply makes, JSON of at most 64 KiB. Required, unless
	// there is Advice.
	Change json.RawMessage `cbor:"3,keyasint"`
	// Reason is the alert in words, at most 64 KiB.
	Reason string `cbor:"4,keyasint,omitempty"`
	// Samples is the number of samples that Reason rests on, Needs the number
	// that an approval takes; 0: 50.
	Samples int `cbor:"5,keyasint,omitempty"`
	Needs   int `cbor:"6,keyasint,omitempty"`
	// Status is "gathering" while Samples are below Needs, and "open" while the
	// Proposal may be approved. Afterwards it is "rejected", "expired",
	// "approved" (being applied, or was when the process ended), "applied",
	// "failed" (Apply gave an error), "undoing" or "undone".
	Status string `cbor:"7,keyasint"`
	// By and Note say who decided, and why. Note is the error of Apply if it
	// gave one.
	By      string    `cbor:"8,keyasint,omitempty"`
	Note    string    `cbor:"9,keyasint,omitempty"`
	Made    time.Time `cbor:"10,keyasint"`
	Decided time.Time `cbor:"11,keyasint,omitzero"` // zero: not yet
	Expires time.Time `cbor:"12,keyasint"`          // 7 days after Made
	// Undo is the change that Apply returned to undo this one, JSON of at most 64
	// KiB without secrets; nil if it cannot be undone.
	Undo json.RawMessage `cbor:"13,keyasint,omitempty"`

	// Advice says what a person can do about Reason, at most 64 KiB. A Proposal
	// without a Change is advice only: it can be rejected, and expires.
	Advice string `cbor:"14,keyasint,omitempty"`

	rev store.Revision // as read; 0: not stored
}

func (p *Proposal) check() error {
	known := slices.Contains(kinds, p.Kind)
	if !known || strings.TrimSpace(p.Subject) == "" || !p.whole() || min(p.Samples, p.Needs) < 0 {
		return fmt.Errorf("%w: it needs a kind of %v, a subject, a change in JSON or advice, and counts from 0",
			ErrInvalid, kinds)
	}
	return errors.Join(key.CheckID("subject", p.Subject), checkLength("change", len(p.Change)),
		checkLength("reason", len(p.Reason)), checkLength("advice", len(p.Advice)))
}

// whole reports whether there is a change, or advice in its place where none is
// to be made.
func (p *Proposal) whole() bool {
	switch p.Status {
	case approved:
		return json.Valid(p.Change)
	case undoing:
		return json.Valid(p.Undo)
	}
	return json.Valid(p.Change) || p.Change == nil && p.Advice != ""
}

// subjectPrefix begins the ids of the proposals about a subject.
func subjectPrefix(kind, subject string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + subject))
	return fmt.Sprintf("%x-", sum[:12])
}

// Propose keeps a change for a person to decide about. If one about the same
// kind and subject is undecided, that one takes over the new change, reason, advice
// and samples. For 7 days after a rejection, or an undo, Propose changes nothing and
// returns that one, unless the samples have doubled. It returns ErrInvalid or a
// *store.LimitError for a bad proposal.
func (m *Monitor) Propose(ctx context.Context, p Proposal) (Proposal, error) {
	if err := p.check(); err != nil {
		return Proposal{}, fmt.Errorf("propose: %w", err)
	}
	san := m.opts.Sanitizer
	p = Proposal{
		Kind: p.Kind, Subject: san.Sanitize(p.Subject), Reason: san.Sanitize(p.Reason),
		Change: san.JSON(slices.Clone(p.Change)), Advice: san.Sanitize(p.Advice), Samples: p.Samples, Needs: cmp.Or(p.Needs, defaultNeeds),
	}
	change := func() (err error) { p, err = m.propose(ctx, p); return err }
	err := m.exclusive(ctx, "propose a change of", p.Subject, change)
	if err != nil {
		return Proposal{}, err
	}
	return p, nil
}

// propose stores p or the undecided proposal that takes it over. The caller has
// the turn.
func (m *Monitor) propose(ctx context.Context, p Proposal) (Proposal, error) {
	now, prefix := m.microseconds(), subjectPrefix(p.Kind, p.Subject)
	var last Proposal
	for q, err := range m.proposals(ctx, prefix) {
		if err != nil {
			return p, err
		}
		last = q
	}
	declined := last.Status == rejected || last.Status == undone
	rests := declined && now.Sub(last.Decided) < proposalQuiet && p.Samples < 2*last.Samples
	if rests || last.Status == approved || last.Status == undoing {
		return last, nil
	}
	if last.Status == gathering || last.Status == pending {
		was := last
		last.Change, last.Reason, last.Advice, last.Samples = p.Change, p.Reason, p.Advice, max(p.Samples, last.Samples)
		if last.Samples == was.Samples && last.Reason == was.Reason && last.Advice == was.Advice &&
			bytes.Equal(last.Change, was.Change) {
			return was, nil
		}
		p = last
	} else {
		before, _ := strconv.ParseInt(strings.TrimPrefix(last.ID, prefix), 10, 64) // 0: there is none
		number := max(before+1, now.Unix())                                        // of no proposal that was dropped
		p.ID, p.Made, p.Expires = fmt.Sprintf("%s%08d", prefix, number), now, now.Add(proposalExpiry)
	}
	if p.Status = gathering; p.Samples >= p.Needs {
		p.Status = pending
	}
	return m.storeProposal(ctx, p)
}

// Proposals yields all proposals, those of one subject in the order in which
// they were made. It ends after the first error.
func (m *Monitor) Proposals(ctx context.Context) iter.Seq2[Proposal, error] {
	return m.proposals(ctx, "")
}

// proposals yields those whose ids begin with a prefix.
func (m *Monitor) proposals(ctx context.Context, prefix string) iter.Seq2[Proposal, error] {
	return func(yield func(Proposal, error) bool) {
		for e, err := range m.st.Scan(ctx, store.Range{Prefix: m.proposalKey(prefix)}) {
			var p Proposal
			if err == nil {
				p, err = m.decodeProposal(e)
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// Drop deletes the proposals of which fn says so. One that is applied goes without
// being undone.
func (m *Monitor) Drop(ctx context.Context, fn func(Proposal) bool) error {
	return m.exclusive(ctx, "drop", "proposals", func() error {
		var ops []store.Op
		for p, err := range m.Proposals(ctx) {
			if err != nil {
				return err
			}
			if fn(p) {
				ops = append(ops, store.Op{Key: m.proposalKey(p.ID), Delete: true, If: store.At(p.rev)})
			}
		}
		for some := range slices.Chunk(ops, droppedAtOnce) {
			if _, err := m.st.Commit(ctx, some...); err != nil {
				return err
			}
		}
		return nil
	})
}

// Decide takes a person's verdict on a proposal, with a name and a reason:
//
//   - "approve": has Options.Apply make the change of an open one, and returns it
//     as applied, or as failed with the error of Apply in Note
//   - "reject": closes one that is open or gathers evidence
//   - "undo": has Options.Apply make the Undo of an applied one, unless a later
//     change of its subject was applied, and returns it as undone, or as still
//     applied with the error of Apply in Note
//
// An error of Apply is no error of Decide. Decide returns store.ErrConflict if
// the proposal's status does not allow the verdict, store.ErrNotFound for an
// unknown id, and ErrInvalid for another verdict or without Options.Apply. If the
// process ends before the answer of Apply is noted, Open calls Apply again.
func (m *Monitor) Decide(ctx context.Context, id, verdict, by, note string) (p Proposal, err error) {
	v, ok := verdicts[verdict]
	applies := v.to != rejected
	if !ok || applies && m.opts.Apply == nil {
		return p, fmt.Errorf("decide proposal %q: %w: verdict %.32q, Options.Apply given: %t",
			id, ErrInvalid, verdict, m.opts.Apply != nil)
	}
	if key.CheckID("id", id) != nil {
		return p, fmt.Errorf("decide proposal %q: %w", id, store.ErrNotFound)
	}
	err = m.exclusive(ctx, verdict+" proposal", id, func() (err error) {
		e, err := m.st.Get(ctx, m.proposalKey(id))
		if err == nil {
			p, err = m.decodeProposal(e)
		}
		if err != nil {
			return err
		}
		if !slices.Contains(v.of, p.Status) {
			return fmt.Errorf("%w: it is %s, with %d of %d samples", store.ErrConflict, p.Status, p.Samples, p.Needs)
		}
		if v.to == approved && p.Change == nil {
			return fmt.Errorf("%w: it is advice only: %s", store.ErrConflict, p.Advice)
		}
		if v.to == undoing {
			if err := m.undoable(ctx, &p); err != nil {
				return err
			}
		}
		san := m.opts.Sanitizer
		p.Status, p.By, p.Note, p.Decided = v.to, san.Sanitize(by), san.Sanitize(note), m.microseconds()
		p, err = m.storeProposal(ctx, p)
		return err
	})
	if err == nil && applies {
		if p, err = m.carryOut(ctx, p); err != nil {
			err = fmt.Errorf("%s proposal %q: %w", verdict, id, err)
		}
	}
	return p, err
}

// undoable returns why an applied proposal cannot be undone, or nil.
func (m *Monitor) undoable(ctx context.Context, p *Proposal) error {
	if p.Undo == nil {
		return fmt.Errorf("%w: nothing undoes it", store.ErrConflict)
	}
	for later, err := range m.proposals(ctx, subjectPrefix(p.Kind, p.Subject)) {
		if err != nil {
			return err
		}
		if later.ID > p.ID && (later.Status == applied || later.Status == undoing) {
			return fmt.Errorf("%w: %q was applied later", store.ErrConflict, later.ID)
		}
	}
	return nil
}

// carryOut has an approved proposal applied, or one that is being undone, and
// notes what came of it.
func (m *Monitor) carryOut(ctx context.Context, p Proposal) (Proposal, error) {
	asked, done, otherwise := p, applied, failed
	if p.Status == undoing {
		asked.Change, done, otherwise = p.Undo, undone, applied
	}
	undo, err := guard.Do(ctx, applyTimeout, func(ctx context.Context) (json.RawMessage, error) {
		return m.opts.Apply(ctx, asked)
	})
	if ctx.Err() != nil {
		return p, ctx.Err() // whether it was applied is unknown: again, with the same ID
	}
	if err != nil {
		p.Status, p.Note = otherwise, m.opts.Sanitizer.Sanitize(err.Error())
		return m.storeProposal(ctx, p)
	}
	if p.Status = done; done == applied && len(undo) <= maxText && json.Valid(undo) {
		p.Undo = m.opts.Sanitizer.JSON(slices.Clone(undo))
	}
	return m.storeProposal(ctx, p)
}

// finishProposals carries out what was approved when the process ended.
func (m *Monitor) finishProposals(ctx context.Context) error {
	if m.opts.Apply == nil {
		return nil
	}
	for p, err := range m.Proposals(ctx) {
		if err == nil && (p.Status == approved || p.Status == undoing) {
			_, err = m.carryOut(ctx, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// microseconds is the time as exactly as a proposal's is stored.
func (m *Monitor) microseconds() time.Time { return m.opts.Now().UTC().Truncate(time.Microsecond) }

// decodeProposal reads a proposal as it stands: one that no person decided in
// time has expired.
func (m *Monitor) decodeProposal(e store.Entry) (p Proposal, err error) {
	if err := codec.Decode(e, &p); err != nil {
		return p, err
	}
	if !p.whole() {
		return p, fmt.Errorf("%w: %q is not a proposal", store.ErrDamaged, e.Key)
	}
	p.ID, p.rev = strings.TrimPrefix(e.Key, m.proposalKey("")), e.Rev
	if (p.Status == gathering || p.Status == pending) && !m.microseconds().Before(p.Expires) {
		p.Note = "no person decided in time"
		if p.Status == gathering {
			p.Note = fmt.Sprintf("%d of %d samples came in time", p.Samples, p.Needs)
		}
		p.Status, p.Decided = expired, p.Expires
	}
	return p, nil
}

// storeProposal writes a proposal in place of the revision that was read.
func (m *Monitor) storeProposal(ctx context.Context, p Proposal) (Proposal, error) {
	k := m.proposalKey(p.ID)
	v, err := codec.Encode(k, p)
	if err == nil {
		p.rev, err = m.st.Commit(ctx, store.Op{Key: k, Value: v, If: store.At(p.rev)})
	}
	return p, err
}
