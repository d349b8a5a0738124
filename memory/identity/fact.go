package identity

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/store"
)

// The categories of facts: who it is, what it can do, what it prefers, its surroundings, its present work.
var categories = []string{"core", "expertise", "preference", "context", "focus"}

// How well a fact is confirmed.
const (
	Candidate   = "candidate"   // inferred, or said once by somebody else
	Established = "established" // stated by the person, or validated twice
	Proven      = "proven"      // validated five times
)

var maturities = []string{Candidate, Established, Proven}

// The sources of facts. Others may be given; they count as Inferred.
const (
	Manual       = "manual" // the person's own word
	Inferred     = "inferred"
	Conversation = "conversation"
)

const maxContent = 4 << 10 // bytes

// Fact is what is known. Its JSON is that of the documents of Export.
type Fact struct {
	ID              string    `json:"id"`
	Category        string    `json:"category"` // core, expertise, preference, context or focus
	Content         string    `json:"content"`
	Confidence      float64   `json:"confidence"` // now, in [0,1]; in a document at LastValidated
	LastValidated   time.Time `json:"lastValidated"`
	ValidationCount int       `json:"validationCount"`
	Maturity        string    `json:"maturity"`
	Source          string    `json:"source"`
	SourceRef       string    `json:"sourceRef,omitempty"` // an address; "browsing:SITE:EVENTS" of Infer
	ArchivedAt      time.Time `json:"archivedAt,omitzero"` // it had faded: out of projections
	Relevance       float64   `json:"-" cbor:"-"`          // to the task of a projection, in [0,1]; of none ½
}

// fact is a Fact as it is kept and exported, with its confidence at LastValidated.
type fact struct {
	Fact
	Reason    string    `json:"reason,omitempty"` // of the last validation
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	Demoted   bool      `json:"demoted,omitempty"` // since the last validation
	Extra     extra     `json:"-" cbor:"extra,omitempty"`
}

// The bounds of an effective confidence.
const (
	high    = 0.7 // above, a fact needs no relevance
	faded   = 0.3 // below, it should be confirmed again
	expired = 0.1 // below, it is archived
)

// effective is the confidence c·½^(age/half-life).
func (f *fact) effective(at time.Time, halfLifeDays float64) float64 {
	age := max(at.Sub(f.LastValidated).Hours()/24, 0)
	return f.Confidence * math.Exp2(-age/halfLifeDays)
}

func (f *fact) check() error {
	why := ""
	switch {
	case store.CheckID(f.ID) != nil || f.ID != strings.TrimSpace(f.ID):
		why = "that is no id"
	case strings.TrimSpace(f.Content) == "":
		why = "it has no content"
	case len(f.Content) > maxContent:
		return store.Limit("content of a fact", len(f.Content), maxContent)
	case !(f.Confidence >= 0 && f.Confidence <= 1):
		why = fmt.Sprintf("its confidence %v is not in [0,1]", f.Confidence)
	case !slices.Contains(categories, f.Category) || !slices.Contains(maturities, f.Maturity):
		why = fmt.Sprintf("its category %q, or its maturity %q, is none that there is", f.Category, f.Maturity)
	case f.ValidationCount < 0 || f.LastValidated.IsZero() || f.CreatedAt.IsZero() || f.UpdatedAt.IsZero():
		why = fmt.Sprintf("it lacks a time, or was validated %d times", f.ValidationCount)
	case f.UpdatedAt.Year() >= 9999: // a change is later, and no year after it can be written
		why = fmt.Sprintf("it is of the year %d", f.UpdatedAt.Year())
	default:
		return nil
	}
	return fmt.Errorf("identity: %w: fact %q: %s", store.ErrInvalid, f.ID, why)
}

// validate confirms f: the boost is to the stored confidence, and maturity never falls.
func (f *fact) validate(reason string, now time.Time) {
	f.ValidationCount++
	f.Confidence = math.Round(1e9*min(1, f.Confidence+0.2)) / 1e9 // .7, not .7000000000000001
	switch {
	case f.ValidationCount >= 5:
		f.Maturity = Proven
	case f.ValidationCount >= 2 && f.Maturity == Candidate:
		f.Maturity = Established
	}
	f.LastValidated, f.UpdatedAt, f.ArchivedAt = now, now, time.Time{}
	f.Demoted, f.Reason = false, cmp.Or(reason, f.Reason)
}

func (x *Identity) draft(d Fact) (fact, error) {
	now := x.clock()
	f := fact{CreatedAt: now, UpdatedAt: now, Fact: Fact{
		Content: strings.TrimSpace(x.clean.Prose(d.Content)), Category: cmp.Or(d.Category, "context"),
		Source: cmp.Or(x.clean.Prose(d.Source), Manual), SourceRef: x.clean.Prose(d.SourceRef),
		Maturity: Candidate, Confidence: cmp.Or(d.Confidence, 0.5), LastValidated: now,
	}}
	if f.Source == Manual {
		f.Maturity, f.ValidationCount, f.Confidence = Established, 1, cmp.Or(d.Confidence, 1)
	}
	f.ID = nameOf("fact", f.Category, text.Fold(f.Content))
	return f, f.check()
}

// nameOf makes an id of words: a UUID of version 8, the same for the same words.
func nameOf(parts ...string) string {
	h := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	h[6], h[8] = h[6]&15|8<<4, h[8]&63|128
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// Add adds a fact, of whose fields these count: Content, which is required and has at most 4 KiB, Category
// ("": context), Source ("": Manual), SourceRef, and Confidence in (0,1] (0: 1 of a Manual one, ½ else). One
// in the same words and category is validated instead, if the new one is Manual, and else stays as it is.
// What was rejected is an error that wraps [ErrRejected], unless it is Manual: a person may think again.
func (x *Identity) Add(ctx context.Context, d Fact) (Fact, error) {
	f, err := x.draft(d)
	if err != nil {
		return Fact{}, err
	}
	return x.keep(ctx, f)
}

func (x *Identity) keep(ctx context.Context, f fact) (Fact, error) {
	var kept fact
	err := x.group.Update(ctx, func(b *store.Batch) (err error) {
		kept, err = x.add(ctx, b, f)
		return err
	})
	return x.aged(ctx, kept, err)
}

// add stages a fact, or the validation of one that says the same. An id is a hash of category and words, so
// equal facts of two processes meet; one whose words were changed since keeps its id, and is looked for. That
// reads what is committed: what an earlier function of the commit has staged is met by its id alone.
func (x *Identity) add(ctx context.Context, b *store.Batch, f fact) (fact, error) {
	_, c, err := codec.Load[string](ctx, b, x.blocked(f.Content))
	if err == nil && c != store.Absent {
		if f.Source != Manual {
			return f, fmt.Errorf("%w: %q", ErrRejected, f.Content)
		}
		err = b.Delete(x.blocked(f.Content), c)
	}
	if err != nil {
		return f, err
	}
	ids, facts, err := all[fact](ctx, x, factKind)
	same := func(o fact) bool { return o.Category == f.Category && text.Fold(o.Content) == text.Fold(f.Content) }
	if i := slices.IndexFunc(facts, same); i >= 0 { // imported, or changed by Update, it has another id
		f.ID = ids[i]
	}
	key := x.scope.Key(factKind, f.ID)
	was, c, err2 := codec.Load[fact](ctx, b, key)
	if err := cmp.Or(err, err2); err != nil {
		return f, err
	}
	switch {
	case c != store.Absent && !same(was): // it was changed by Update since
		f.ID = nameOf(f.ID, f.CreatedAt.String())
		key, c = x.scope.Key(factKind, f.ID), store.Absent
	case c != store.Absent && f.Maturity == Candidate:
		return was, nil
	case c != store.Absent:
		was.validate("", f.CreatedAt)
		f = was
	}
	return f, codec.Put(b, key, f, c)
}

// aged returns a fact with its confidence as it is now, unless there was an error.
func (x *Identity) aged(ctx context.Context, f fact, err error) (Fact, error) {
	if err != nil {
		return Fact{}, err
	}
	p, err := x.Profile(context.WithoutCancel(ctx)) // what was kept is told
	f.Confidence = f.effective(x.clock(), p.HalfLifeDays)
	return f.Fact, err
}

// Get returns a fact, or an error that wraps [store.ErrNotFound].
func (x *Identity) Get(ctx context.Context, id string) (Fact, error) {
	f, _, err := x.find(ctx, x.group.Store(), id)
	return x.aged(ctx, f, err)
}

// find returns a fact that must be there.
func (x *Identity) find(ctx context.Context, r codec.Reader, id string) (fact, store.Condition, error) {
	f, c, err := codec.Load[fact](ctx, r, x.scope.Key(factKind, id))
	if err == nil && c == store.Absent {
		err = fmt.Errorf("identity: fact %s: %w", id, store.ErrNotFound)
	}
	return f, c, err
}

// change changes a fact in one commit. The function says whether it has, and may be called more than once.
func (x *Identity) change(ctx context.Context, id string, change func(*fact) (bool, error)) (Fact, error) {
	var f fact
	err := x.group.Update(ctx, func(b *store.Batch) (err error) {
		var c store.Condition
		if f, c, err = x.find(ctx, b, id); err != nil {
			return err
		}
		was := f.UpdatedAt
		if changed, err := change(&f); err != nil || !changed {
			return err
		}
		if !f.UpdatedAt.After(was) { // of another device, whose clock is ahead: see Import
			f.UpdatedAt = was.Add(time.Millisecond)
		}
		return codec.Put(b, x.scope.Key(factKind, id), f, c)
	})
	return x.aged(ctx, f, err)
}

// List returns all facts, archived ones too, by category and then the most confident first.
func (x *Identity) List(ctx context.Context) ([]Fact, error) {
	_, facts, err := all[fact](ctx, x, factKind)
	p := Profile{}
	if err == nil && len(facts) > 0 { // most identities have none
		p, err = x.Profile(ctx)
	}
	out, now := make([]Fact, len(facts)), x.clock()
	for i, f := range facts {
		out[i], out[i].Confidence = f.Fact, f.effective(now, p.HalfLifeDays)
	}
	slices.SortStableFunc(out, func(a, b Fact) int {
		return cmp.Or(cmp.Compare(slices.Index(categories, a.Category), slices.Index(categories, b.Category)),
			cmp.Compare(b.Confidence, a.Confidence), strings.Compare(a.Content, b.Content))
	})
	return out, err
}

// Update changes the fact with the ID of d: its Content, Category and SourceRef, each where d has one. An
// established or proven fact fades from now on, and leaves the archive; a Candidate, which nobody has
// confirmed, fades on as before.
func (x *Identity) Update(ctx context.Context, d Fact) (Fact, error) {
	d.Content, d.SourceRef = strings.TrimSpace(x.clean.Prose(d.Content)), x.clean.Prose(d.SourceRef)
	now := x.clock()
	return x.change(ctx, d.ID, func(f *fact) (bool, error) {
		f.Content, f.Category = cmp.Or(d.Content, f.Content), cmp.Or(d.Category, f.Category)
		f.SourceRef, f.UpdatedAt = cmp.Or(d.SourceRef, f.SourceRef), now
		if f.Maturity != Candidate {
			f.LastValidated, f.ArchivedAt = now, time.Time{}
		}
		return true, f.check()
	})
}

// Validate confirms a fact: its confidence rises by .2, counts from now, and its maturity may rise. The ID of
// what Infer suggests makes that an established fact.
func (x *Identity) Validate(ctx context.Context, id, reason string) (Fact, error) {
	reason, now := x.clean.Prose(reason), x.clock()
	known, err := x.change(ctx, id, func(f *fact) (bool, error) {
		f.validate(reason, now)
		return true, nil
	})
	if !errors.Is(err, store.ErrNotFound) {
		return known, err
	}
	suggested, err := x.suggested(ctx, id)
	if err != nil {
		return Fact{}, err
	}
	f, err := x.draft(suggested)
	if err != nil {
		return Fact{}, err
	}
	f.validate(reason, now)
	f.Maturity = Established
	return x.keep(ctx, f)
}

// blocked is the key of what is not suggested and not added by inference again. Its value is the reason; of
// the words only their name is kept.
func (x *Identity) blocked(content string) string {
	return x.scope.Key(blockedKind, blockName(content))
}

func blockName(content string) string { return nameOf("blocked", strings.ToLower(text.Fold(content))) }

// Reject deletes a fact or a suggestion, and remembers not to suggest again what has the same words and signs
// in the same order, whatever its case, width and spaces. What is said in other words is new.
func (x *Identity) Reject(ctx context.Context, id, reason string) error {
	reason = x.clean.Prose(reason)
	return x.group.Update(ctx, func(b *store.Batch) error {
		f, c, err := x.find(ctx, b, id)
		if err == nil {
			err = b.Delete(x.scope.Key(factKind, id), c)
		} else if errors.Is(err, store.ErrNotFound) {
			f.Fact, err = x.suggested(ctx, id)
		}
		if err != nil {
			return err
		}
		return codec.Put(b, x.blocked(f.Content), reason, store.Any)
	})
}
