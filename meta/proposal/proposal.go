// Package proposal keeps what should change in a fleet of workers, by the evidence, for a person to decide. A
// host calls [Book.Analyse] now and then, every five minutes for one, and [Book.Decide] with what they say.
//
// # What is proposed
//
//	"goal"    a skill of which fewer than half of at least 10 attempts were delivered: a goal that says so
//	"action"  what people were asked for by at least three runs of a day: an action that would spare them
//	"worker"  a worker that fails more often than not at a skill that others have: to be tried last, or paused
//	"config"  a worker that costs twice as much as another and delivers no more: to be tried last
//
// A host, or an agent with a tool for it, proposes others by [Book.Propose]. Samples are those of the newest
// days, of 31, that have 50: what is seldom tried collects its evidence, too, and what has recovered is left
// alone. An outage is no failure.
//
// # What becomes of it
//
//	Gathering → Ready → Approved → Undone
//	Gathering, Ready  → Rejected, or Expired: nobody has decided in 7 days since it was found or proposed
//
// Changes of workers and configuration are Ready with 50 samples, goals and actions at once. What was
// rejected or undone is not proposed again for 7 days, unless the samples have doubled. What is Approved
// holds: [Book.Policy] ranks workers by it, and a host reads goals, actions and configuration from
// [Book.List], again after each Decide; so to undo is to leave one out. Nothing here changes a worker.
package proposal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Status is how a Proposal stands.
type Status string

// The statuses of a Proposal.
const (
	Gathering Status = "gathering" // has less evidence than an approval takes
	Ready     Status = "ready"     // may be approved
	Approved  Status = "approved"
	Rejected  Status = "rejected"
	Undone    Status = "undone" // was approved
	Expired   Status = "expired"
)

// Proposal is a change that a person decides about. A Book has one for a Kind and Subject, the last.
type Proposal struct {
	ID      string `cbor:"1,keyasint"`           // of the Kind and Subject
	Kind    string `cbor:"2,keyasint"`           // "goal", "action", "worker" or "config"
	Subject string `cbor:"3,keyasint"`           // what it is about, a line of at most 1 KiB
	Reason  string `cbor:"4,keyasint,omitempty"` // the evidence in words; at most 64 KiB
	// Change is what would be new, at most 64 KiB. Of a goal or an action it is a draft in YAML, of a
	// configuration the host's text. That of a worker is JSON, which Policy follows, also in a "config":
	//
	//	{"worker": "w", "skill": "s", "standing": "first", "last" or "paused"}
	Change  string    `cbor:"5,keyasint,omitempty"`
	Samples int       `cbor:"6,keyasint,omitempty"` // that the Reason rests on
	Status  Status    `cbor:"7,keyasint"`           // Propose and Decide set it
	Note    string    `cbor:"8,keyasint,omitempty"` // who has decided, and why: "anna: it was the network"
	At      time.Time `cbor:"10,keyasint"`          // when it was last seen, or decided
}

const (
	kind      = "proposal" // of keys
	needs     = 50         // samples
	fewest    = 10         // attempts at a skill that say that it fails
	escalated = 3          // runs that asked a person for the same
	days      = 31         // that rank.Book.Day has
	day       = 24 * time.Hour
	week      = 7 * day
	maxText   = 64 << 10
)

// Book has the proposals of a scope. It may be used concurrently, also by several processes on one store: it
// keeps nothing in memory, and each call reads what it needs.
type Book struct {
	g     *store.Group
	scope memory.Scope
	now   func() time.Time
	clean *redact.Sanitizer
}

// record is a proposal as it is stored.
type record struct {
	Proposal
	Told time.Time `cbor:"20,keyasint,omitzero"` // when Analyse last returned it
}

// standing is the Change of a proposal about a worker.
type standing struct {
	Worker   string `json:"worker"`
	Skill    string `json:"skill"`
	Standing string `json:"standing"`
}

func (s standing) String() string {
	raw, _ := json.Marshal(s) // three strings
	return string(raw)
}

// places are those of standings in the order of a policy; 0 is that of a worker without one.
var places = map[string]int{"first": -1, "last": 1, "paused": 2}

// Open returns the Book of a scope, if what is there can be read. The Group is over the part of a tenant, see
// store.Sub, where an Agent or a Layer has the same store; a nil now is time.Now.
func Open(ctx context.Context, g *store.Group, scope memory.Scope, now func() time.Time) (*Book, error) {
	if err := scope.Check(); err != nil {
		return nil, fmt.Errorf("proposal: %w", err)
	}
	b := &Book{g: g, scope: scope, now: call.Clock(now), clean: redact.New(nil)}
	_, err := b.List(ctx)
	return b, err
}

// List returns the proposals that have one of the statuses (none: all), the latest first.
func (b *Book) List(ctx context.Context, statuses ...Status) (all []Proposal, err error) {
	for r, err := range codec.Records[record](ctx, b.g.Store(), store.Range{Prefix: b.scope.Key(kind, "")}) {
		if err != nil {
			return nil, fmt.Errorf("proposal: %w", err)
		}
		if r.lapse(b.now()); len(statuses) == 0 || slices.Contains(statuses, r.Status) {
			all = append(all, r.Proposal)
		}
	}
	slices.SortFunc(all, func(x, y Proposal) int {
		return cmp.Or(y.At.Compare(x.At), strings.Compare(x.ID, y.ID))
	})
	return all, nil
}

func (p *Proposal) undecided() bool { return p.Status == Gathering || p.Status == Ready }

// lapse has a proposal expire that nobody has decided about.
func (p *Proposal) lapse(now time.Time) {
	if p.undecided() && now.Sub(p.At) > week {
		p.Status = Expired
	}
}

// Propose keeps a change for a person to decide about: Kind, Subject, Reason, Change and Samples of p count.
// It returns what is kept then. A proposal of the kind and subject that is undecided takes the new texts and
// samples; one that rests stays as it is: it is Approved, or was rejected or undone, as said above.
func (b *Book) Propose(ctx context.Context, p Proposal) (Proposal, error) {
	kept, _, err := b.propose(ctx, p, false)
	return kept, err
}

// propose reports, too, whether the proposal is news to who is told of it: new, or not told in the last hour.
// A kind and a subject have one record, whatever was decided about it before: one that rests is left as it
// is, also its time, so that the week counts from the decision; any other is a new one, with its draft.
func (b *Book) propose(ctx context.Context, p Proposal, tell bool) (kept Proposal, news bool, err error) {
	p.Subject, p.Reason, p.Change = b.clean.Prose(p.Subject), b.clean.Prose(p.Reason), b.clean.Prose(p.Change)
	if err := p.check(); err != nil {
		return Proposal{}, false, err
	}
	p.ID, p.Note = idOf(&p), ""
	kept, err = b.change(ctx, p.ID, func(r *record) error {
		now := b.now().UTC()
		news = false // also where a conflict has this run again
		if r.rests(p.Samples, now) {
			return nil
		}
		news = tell && now.Sub(r.Told) >= time.Hour
		p.Change = cmp.Or(p.Change, r.Change) // as it was drafted
		p.Status, p.At = Ready, now
		if p.Samples < needs && !p.drafted() {
			p.Status = Gathering
		}
		if r.Proposal = p; news {
			r.Told = now
		}
		return nil
	})
	return kept, news, err
}

func idOf(p *Proposal) string { return fence.Mark(p.Kind, p.Subject) }

// rests reports whether a proposal is not to be made again now.
func (r *record) rests(samples int, now time.Time) bool {
	refused := r.Status == Rejected || r.Status == Undone
	return r.Status == Approved || refused && now.Sub(r.At) < week && samples < max(1, 2*r.Samples)
}

// drafted reports whether the change is a text that a person reads before it is used.
func (p *Proposal) drafted() bool { return p.Kind == "goal" || p.Kind == "action" }

func (p *Proposal) check() error {
	var s standing
	unread := json.Unmarshal([]byte(p.Change), &s) != nil || s.Worker == "" || places[s.Standing] == 0
	switch {
	case !slices.Contains([]string{"goal", "action", "worker", "config"}, p.Kind),
		strings.TrimSpace(p.Subject) == "", p.Samples < 0:
		return fmt.Errorf("proposal: %w: it has a kind, a subject, and samples from 0", store.ErrInvalid)
	case len(p.Subject) > 1<<10, len(p.Reason) > maxText, len(p.Change) > maxText:
		return fmt.Errorf("proposal: %w: a subject has at most 1 KiB, a text 64", store.ErrInvalid)
	case p.Kind == "worker" && unread:
		return fmt.Errorf("proposal: %w: a change is a worker, a skill, a standing: %q", store.ErrInvalid, p.Change)
	}
	return nil
}

// Decide takes a person's decision: Approved of a proposal that is Ready; Rejected, with a note that says
// why, of one that is Gathering or Ready; Undone of one that is Approved. An unknown id is store.ErrNotFound.
func (b *Book) Decide(ctx context.Context, id string, to Status, by, note string) (p Proposal, err error) {
	if by == "" || to == Rejected && note == "" {
		return p, fmt.Errorf("proposal: %w: a decision has a name, and a rejection a note", store.ErrInvalid)
	}
	return b.change(ctx, id, func(r *record) error {
		if r.ID == "" {
			return fmt.Errorf("proposal %q: %w", id, store.ErrNotFound)
		}
		r.lapse(b.now())
		switch {
		case to == Approved && r.Status == Ready, to == Rejected && r.undecided(),
			to == Undone && r.Status == Approved:
			r.Status, r.At = to, b.now().UTC()
			r.Note = strings.TrimSuffix(b.clean.Prose(by)+": "+b.clean.Prose(note), ": ")
			return nil
		}
		const no = "proposal: %w: one that is %s, of %d samples, becomes %s"
		return fmt.Errorf(no, store.ErrInvalid, r.Status, r.Samples, to)
	})
}

// change has f change a record, which has no ID if it is not there, and returns it as it is kept.
func (b *Book) change(ctx context.Context, id string, f func(*record) error) (kept Proposal, err error) {
	key := b.scope.Key(kind, id)
	err = b.g.Update(ctx, func(batch *store.Batch) error {
		r, c, err := codec.Load[record](ctx, batch, key)
		if err != nil {
			return fmt.Errorf("proposal: %w", err)
		}
		was := r
		if err := f(&r); err != nil {
			return err
		}
		if kept = r.Proposal; r == was {
			return nil
		}
		return codec.Put(batch, key, &r, c)
	})
	return kept, err
}

// Policy returns a rank.Policy, for arc.Options and for goal.Open, that orders as another one does, and puts
// workers first or last by the proposals that are Approved. One that is paused gets no task that another
// worker can take. next is asked each time, since the figures of an Agent are there once that is open.
func (b *Book) Policy(next func(ctx context.Context) (rank.Policy, error)) rank.Policy {
	return &policy{b, next}
}

type policy struct {
	*Book
	next func(ctx context.Context) (rank.Policy, error)
}

func (p *policy) Score(ctx context.Context, t rank.Task, cs []rank.Candidate) ([]rank.Scored, error) {
	next, err := p.next(ctx)
	if err != nil {
		return nil, err
	}
	standings, err := p.standings(ctx, t.Skill)
	if err != nil {
		return nil, err
	}
	scored, err := next.Score(ctx, t, cs)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(scored, func(x, y rank.Scored) int {
		return places[standings[x.Name]] - places[standings[y.Name]]
	})
	paused := func(s rank.Scored) bool { return standings[s.Name] == "paused" }
	if i := slices.IndexFunc(scored, paused); i > 0 { // they come last; where all are paused, none is
		scored = scored[:i]
	}
	return scored, nil
}

// standings returns those of workers at a skill, by what is approved; the last decision counts.
func (b *Book) standings(ctx context.Context, skill string) (map[string]string, error) {
	approved, err := b.List(ctx, Approved) // the latest first
	of := map[string]string{}
	for _, p := range approved {
		var s standing
		if p.drafted() || json.Unmarshal([]byte(p.Change), &s) != nil {
			continue
		}
		if s.Skill == skill && of[s.Worker] == "" {
			of[s.Worker] = s.Standing
		}
	}
	return of, err
}
