package proposal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

const (
	expiry        = 7 * 24 * time.Hour // of a proposal
	quiet         = 7 * 24 * time.Hour // of a subject, after a rejection
	defaultNeeds  = 50
	applyTimeout  = time.Minute
	droppedAtOnce = 100
)

// Options of a [Book]. Nil and the zero value are the defaults.
type Options struct {
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Sanitizer takes secrets out of texts; nil: the zero Sanitizer.
	Sanitizer *redact.Sanitizer
	// Apply makes the change of an approved proposal, all of it or nothing, and
	// returns the change that would undo it; nil if nothing can. It has one
	// minute. Apply is called again with the same ID if the Book has not noted its
	// answer, or by another Book on the store until that has. Nil: no proposal can
	// be approved.
	Apply func(ctx context.Context, p Proposal) (undo json.RawMessage, err error)
	// Tenant whose proposals they are, as memory.Scope.Tenant has it. "": of none.
	Tenant string
}

// Book keeps the proposals of a tenant in a store. It may be used concurrently.
type Book struct {
	opts Options
	st   store.Store
	turn chan struct{} // holds one while a call reads and then commits
	busy sync.Map      // ids of proposals whose verdict is being carried out
}

// Open returns the Book that st holds, empty if there is none. It has
// Options.Apply finish what was approved, or was being undone, when its process
// ended. It leaves damaged proposals as they are.
func Open(ctx context.Context, st store.Store, opts *Options) (*Book, error) {
	b := &Book{st: st, turn: make(chan struct{}, 1)}
	if opts != nil {
		b.opts = *opts
	}
	if b.opts.Now == nil {
		b.opts.Now = time.Now
	}
	err := key.CheckID("Tenant", b.opts.Tenant)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	} else if b.opts.Apply != nil {
		err = b.carryOn(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("proposal: open: %w", err)
	}
	return b, nil
}

// carryOn carries out what a person had decided when the process ended.
func (b *Book) carryOn(ctx context.Context) error {
	for p, err := range b.readable(ctx, "") {
		if err == nil && (p.Status == approved || p.Status == undoing) {
			_, err = b.carryOut(ctx, p)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, guard.ErrTime) {
			return err
		}
	}
	return nil
}

// Propose keeps a change for a person to decide about. If one about the same
// kind and subject is undecided, that one takes over the new change, reason, advice
// and samples. For 7 days after a rejection, or an undo, Propose changes nothing and
// returns that one, unless the samples have doubled. It returns ErrInvalid or a
// *store.LimitError for a bad proposal.
func (b *Book) Propose(ctx context.Context, p Proposal) (Proposal, error) {
	if err := p.flaws(); err != nil {
		return Proposal{}, fmt.Errorf("propose: %w", err)
	}
	san := b.opts.Sanitizer
	p = Proposal{
		Kind: p.Kind, Subject: san.Sanitize(p.Subject), Reason: san.Sanitize(p.Reason), Advice: san.Sanitize(p.Advice),
		Change: san.JSON(slices.Clone(p.Change)), Samples: p.Samples, Needs: cmp.Or(p.Needs, defaultNeeds),
	}
	err := b.alone(ctx, func() (err error) { p, err = b.propose(ctx, p); return err })
	if err != nil {
		return Proposal{}, fmt.Errorf("propose a change of %.64q: %w", p.Subject, err)
	}
	return p, nil
}

// propose stores p, or the undecided proposal that takes it over.
func (b *Book) propose(ctx context.Context, p Proposal) (Proposal, error) {
	now, prefix := b.now(), subjectPrefix(p.Kind, p.Subject)
	var last Proposal
	var latest string // also of one that is damaged
	for q, err := range b.about(ctx, prefix) {
		if err == nil {
			last = q
		} else if !errors.Is(err, store.ErrDamaged) {
			return p, err
		}
		latest = q.ID
	}
	declined := last.Status == rejected || last.Status == undone
	rests := declined && now.Sub(last.Decided).Abs() < quiet && p.Samples < 2*last.Samples
	switch {
	case rests, last.Status == approved, last.Status == undoing:
		return last, nil
	case last.undecided():
		was := last
		last.Change, last.Reason, last.Advice, last.Samples = p.Change, p.Reason, p.Advice, max(p.Samples, last.Samples)
		if last.Samples == was.Samples && last.Reason == was.Reason && last.Advice == was.Advice &&
			bytes.Equal(last.Change, was.Change) {
			return was, nil
		}
		p = last
	default:
		before, _ := strconv.ParseInt(strings.TrimPrefix(latest, prefix), 10, 64) // 0: there is none
		number := max(before+1, now.Unix())                                       // of no proposal that was dropped
		p.ID, p.Made, p.Expires = fmt.Sprintf("%s%010d", prefix, number), now, now.Add(expiry)
	}
	p.gauge()
	return b.commit(ctx, p)
}

// All yields all proposals, those of one subject in the order in which they were
// made. In place of one that is damaged it yields its ID and store.ErrDamaged, and
// goes on; it ends after any other error.
func (b *Book) All(ctx context.Context) iter.Seq2[Proposal, error] { return b.about(ctx, "") }

// about yields the proposals whose ids begin with a prefix.
func (b *Book) about(ctx context.Context, prefix string) iter.Seq2[Proposal, error] {
	return func(yield func(Proposal, error) bool) {
		for e, err := range b.st.Scan(ctx, store.Range{Prefix: b.keyOf(prefix)}) {
			var p Proposal
			if err == nil {
				p, err = b.asOfNow(e)
			}
			if !yield(p, err) || err != nil && !errors.Is(err, store.ErrDamaged) {
				return
			}
		}
	}
}

// readable is about without those that are damaged.
func (b *Book) readable(ctx context.Context, prefix string) iter.Seq2[Proposal, error] {
	return func(yield func(Proposal, error) bool) {
		for p, err := range b.about(ctx, prefix) {
			if !errors.Is(err, store.ErrDamaged) && !yield(p, err) {
				return
			}
		}
	}
}

// Decide takes a person's verdict on a proposal, with a name and a reason:
//
//   - "approve": has Options.Apply make the change of an open one, and returns it
//     as applied, or as failed with the error of Apply in Note
//   - "reject": closes one that is open or gathers evidence, and deletes one that
//     is damaged
//   - "undo": has Options.Apply make the Undo of an applied one, unless a later
//     change of its subject was applied, and returns it as undone, or as still
//     applied with the error of Apply in Note
//
// An error of Apply is no error of Decide, unless Apply has not returned in its minute: then it may still make the
// change, and the proposal stays "approved", or "undoing". Decide returns store.ErrConflict if
// the proposal's status does not allow the verdict, or one is being carried out,
// store.ErrNotFound for an unknown id, and ErrInvalid for another verdict or
// without Options.Apply.
//
// Once the verdict is stored, it is carried out though ctx ends. If the process
// ends before the answer of Apply is noted, Open calls Apply again, and so does
// the same verdict again after an error of the store or of time.
func (b *Book) Decide(ctx context.Context, id, verdict, by, note string) (p Proposal, err error) {
	to, ok := map[string]string{"approve": approved, "reject": rejected, "undo": undoing}[verdict]
	applies := to != rejected
	switch {
	case !ok || applies && b.opts.Apply == nil:
		err = fmt.Errorf("%w: verdict %.32q, Options.Apply given: %t", ErrInvalid, verdict, b.opts.Apply != nil)
	case key.CheckID("id", id) != nil:
		err = store.ErrNotFound
	default:
		err = b.alone(ctx, func() (err error) {
			if _, busy := b.busy.LoadOrStore(id, true); busy {
				return fmt.Errorf("%w: it is being carried out", store.ErrConflict)
			}
			if p, err = b.rule(ctx, id, to, by, note); err != nil || !applies {
				b.busy.Delete(id)
			}
			return err
		})
	}
	if err == nil && applies {
		p, err = b.carryOut(context.WithoutCancel(ctx), p)
		b.busy.Delete(id)
	}
	if errors.Is(err, store.ErrNotFound) {
		err = store.ErrNotFound // without the key
	}
	if err != nil {
		err = fmt.Errorf("%.32s proposal %.64q: %w", verdict, id, err)
	}
	return p, err
}

// rule stores the verdict that makes the status of a proposal.
func (b *Book) rule(ctx context.Context, id, to, by, note string) (p Proposal, err error) {
	p, err = b.get(ctx, id)
	if to == rejected && errors.Is(err, store.ErrDamaged) {
		_, err = b.st.Commit(ctx, store.Op{Key: b.keyOf(id), Delete: true, If: store.At(p.rev)})
		return Proposal{ID: id, Status: rejected}, err
	}
	if err != nil || to != rejected && p.Status == to { // its answer was not noted
		return p, err
	}
	if err := b.allows(ctx, &p, to); err != nil {
		return p, err
	}
	at, san := b.now(), b.opts.Sanitizer
	if to == approved { // the last of two changes holds, though the clock was put back
		for other, err := range b.readable(ctx, "") {
			if err != nil {
				return p, err
			}
			if other.Status == applied && !other.Decided.Before(at) {
				at = other.Decided.Add(time.Microsecond)
			}
		}
	}
	p.Status, p.By, p.Note, p.Decided = to, san.Sanitize(by), san.Sanitize(note), at
	return b.commit(ctx, p)
}

// allows returns why a verdict cannot give a proposal the status to, or nil.
func (b *Book) allows(ctx context.Context, p *Proposal, to string) error {
	switch {
	case to == rejected && p.undecided():
		return nil
	case to == approved && p.Status == open && p.Change == nil:
		return fmt.Errorf("%w: it is advice only: %s", store.ErrConflict, p.Advice)
	case to == approved && p.Status == open:
		return nil
	case to == undoing && p.Status == applied:
		return b.undoable(ctx, p)
	}
	return fmt.Errorf("%w: it is %s, with %d of %d samples", store.ErrConflict, p.Status, p.Samples, p.Needs)
}

// undoable returns why an applied proposal cannot be undone, or nil.
func (b *Book) undoable(ctx context.Context, p *Proposal) error {
	if p.Undo == nil {
		return fmt.Errorf("%w: nothing undoes it", store.ErrConflict)
	}
	for later, err := range b.readable(ctx, subjectPrefix(p.Kind, p.Subject)) {
		if err != nil {
			return err
		}
		if later.ID > p.ID && (later.Status == applied || later.Status == undoing) {
			return fmt.Errorf("%w: %q was applied later", store.ErrConflict, later.ID)
		}
	}
	return nil
}

// carryOut has Apply make the change of a proposal that is approved, or the Undo
// of one that is being undone, and notes the answer.
func (b *Book) carryOut(ctx context.Context, p Proposal) (Proposal, error) {
	asked, done, otherwise := p, applied, failed
	if p.Status == undoing {
		asked.Change, done, otherwise = p.Undo, undone, applied
	}
	undo, err := guard.Do(ctx, applyTimeout, func(ctx context.Context) (json.RawMessage, error) {
		return b.opts.Apply(ctx, asked)
	})
	if ctx.Err() != nil || errors.Is(err, guard.ErrTime) {
		return p, cmp.Or(ctx.Err(), err) // whether it was applied is unknown: again, with the same ID
	}
	san := b.opts.Sanitizer
	if err != nil {
		p.Status, p.Note = otherwise, san.Sanitize(err.Error())
	} else if p.Status = done; done == applied && len(undo) <= maxText && json.Valid(undo) {
		p.Undo = san.JSON(slices.Clone(undo))
	}
	noted, err := b.commit(ctx, p)
	if !errors.Is(err, store.ErrConflict) {
		return noted, err
	}
	is, err := b.get(ctx, p.ID) // another Book was faster
	if err == nil && is.Status == undone && p.Status == applied {
		again := is // it may have been undone before this Apply was done
		again.Change = is.Undo
		_, err = guard.Do(ctx, applyTimeout, func(ctx context.Context) (json.RawMessage, error) {
			return b.opts.Apply(ctx, again)
		})
	}
	return is, err
}

// get reads a proposal.
func (b *Book) get(ctx context.Context, id string) (p Proposal, err error) {
	e, err := b.st.Get(ctx, b.keyOf(id))
	if err == nil {
		p, err = b.asOfNow(e)
	}
	return p, err
}

// Drop deletes the proposals of which fn says so. One that is applied goes without
// being undone. One that is damaged stays: then the error joins its store.ErrDamaged,
// and the others have gone.
func (b *Book) Drop(ctx context.Context, fn func(Proposal) bool) error {
	err := b.alone(ctx, func() error {
		var ops []store.Op
		var damaged error
		for p, err := range b.All(ctx) {
			if errors.Is(err, store.ErrDamaged) {
				damaged = errors.Join(damaged, err)
				continue
			}
			if err != nil {
				return err
			}
			if fn(p) {
				ops = append(ops, store.Op{Key: b.keyOf(p.ID), Delete: true, If: store.At(p.rev)})
			}
		}
		for some := range slices.Chunk(ops, droppedAtOnce) {
			if _, err := b.st.Commit(ctx, some...); err != nil {
				return err
			}
		}
		return damaged
	})
	if err != nil {
		return fmt.Errorf("drop proposals: %w", err)
	}
	return nil
}

// alone calls fn, which reads and then commits, while no other call does.
func (b *Book) alone(ctx context.Context, fn func() error) error {
	if err := store.CheckContext(ctx); err != nil {
		return err
	}
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
		return fn()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// now is the time as exactly as it is stored.
func (b *Book) now() time.Time { return b.opts.Now().UTC().Truncate(time.Microsecond) }

func (b *Book) keyOf(id string) string { return key.Under(b.opts.Tenant, "meta", "proposal", id) }

// asOfNow reads a proposal as it stands: one that no person decided in time has
// expired.
func (b *Book) asOfNow(e store.Entry) (Proposal, error) {
	p, err := decode(e)
	p.ID = strings.TrimPrefix(e.Key, b.keyOf(""))
	p.lapse(b.now())
	return p, err
}

// commit writes a proposal in place of the revision that was read.
func (b *Book) commit(ctx context.Context, p Proposal) (Proposal, error) {
	k := b.keyOf(p.ID)
	value, err := codec.Encode(k, p)
	if err == nil {
		p.rev, err = b.st.Commit(ctx, store.Op{Key: k, Value: value, If: store.At(p.rev)})
	}
	return p, err
}
