package identity

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity/internal/inference"
	"github.com/arc-learn/arc/memory/identity/internal/lists"
	"github.com/arc-learn/arc/memory/identity/internal/names"
	"github.com/arc-learn/arc/memory/identity/internal/rows"
	"github.com/arc-learn/arc/memory/identity/internal/sites"
	"github.com/arc-learn/arc/memory/identity/internal/v2"
	"github.com/arc-learn/arc/redact"
)

// The numbers of the design that this package follows.
const (
	// DefaultHalfLife is the time in which confidence halves.
	DefaultHalfLife = 60 * 24 * time.Hour
	// DemoteBelow is the effective confidence below which Maintain takes a
	// step of maturity back, Project leaves a fact out, and Due asks about it.
	DemoteBelow = 0.3
	// archiveBelow is the effective confidence below which Maintain archives.
	archiveBelow = 0.1
	// validationBoost is what a validation adds to the confidence, up to 1.
	validationBoost = 0.2
)

// Limits, in bytes unless said otherwise. Over one the error is a
// *store.LimitError.
const (
	maxContent  = memory.MaxText // Content of a fact or event
	maxDocument = 16 << 20       // what Import reads
	maxEvents   = 1000           // events that are kept one by one
	maxEvidence = 16             // validations whose reasons are kept
	maxReasons  = 16             // reasons of a rejection that are kept
	maxVariants = 1000
	maxPast     = 256 // former wordings of a fact
)

var (
	// ErrValue: a field of a draft, edit or event is not one of those that
	// its type allows. Nothing was stored.
	ErrValue = errors.New("identity: bad value")
	// ErrFormat: a document is not an identity of version 1 or 2. Nothing
	// was stored.
	ErrFormat = errors.New("identity: not an identity document")
	// ErrKnown: another fact says what an edit would make this one say.
	// Nothing was stored.
	ErrKnown = errors.New("identity: said by another fact")
	// ErrRejected: what is suggested was rejected before. Nothing was stored.
	ErrRejected = errors.New("identity: rejected before")
)

// Options configure an [Identity]. Nil and the zero value are ready.
type Options struct {
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
	// Seed makes ids repeatable. 0: random ones.
	Seed uint64
	// Sanitizer takes secrets out of every text before it is kept. Nil: the
	// zero Sanitizer.
	Sanitizer *redact.Sanitizer
}

// EstimateTokens is how Project counts tokens: one for four bytes of ASCII,
// rounded up, and one for each other character. It errs on the high side for
// English prose and may be some tens of percent off for other text.
func EstimateTokens(text string) int {
	ascii := 0
	for i := range len(text) {
		ascii += lists.Number(text[i] < utf8.RuneSelf)
	}
	return (ascii+3)/4 + utf8.RuneCountInString(text) - ascii
}

// Identity is the identity of one person or project: a view of a Bank that holds
// no state of its own, so that any number of them may work on the same one. All
// methods may be called concurrently.
//
// Every method returns the errors of the store. A change is on disk when its
// method returns; after an error of the store that is not definite, call it
// again.
type Identity struct {
	rows     *rows.Table // below the scope
	now      func() time.Time
	ids      names.Source
	sanitize *redact.Sanitizer
}

// New returns the identity of a scope, such as that of a [memory.Space]. It
// reads nothing yet. A bad scope is [memory.ErrScope]; it is an error too if
// there is no Bank.
func New(bank *memory.Bank, scope memory.Scope, opts *Options) (*Identity, error) {
	if bank == nil {
		return nil, errors.New("identity: no bank")
	}
	own := scope + "/" + memory.Apart
	if err := own.Check(); err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	o := *cmp.Or(opts, &Options{})
	o.Now = guard.Clock(o.Now)
	x := &Identity{now: o.Now, ids: names.Source{Seed: o.Seed}, sanitize: o.Sanitizer}
	x.rows = &rows.Table{Space: bank.In(own), Now: x.clock, Head: headPart}
	return x, nil
}

// clock is the time as it is kept: in UTC, to the microsecond, so that it is
// the same after any export.
func (x *Identity) clock() time.Time { return keptTime(x.now()) }

func keptTime(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// A fact is a record under its own ID, with its text as Content, and all of it as JSON
// in Plan. All else is records of other threads, under the name of the part and their own.
const (
	own            = "identity:"
	profilePart    = own + "profile"
	headPart       = own + "head"
	factPart       = own + "fact"
	rejectionPart  = own + "rejection"
	suggestionPart = own + "suggestion"
	eventPart      = own + "event"
	rollupPart     = own + "rollup"
)

// all returns all facts with their records, the oldest first.
func (x *Identity) all(ctx context.Context) ([]rows.Row[Fact], error) {
	out, err := rows.All[Fact](ctx, x.rows, factPart)
	slices.SortFunc(out, func(a, b rows.Row[Fact]) int { return older(&a.Value, &b.Value) })
	return out, err
}

// standing returns what empties a rejection that was taken back since, with a fact of its words.
func (x *Identity) standing(ctx context.Context) (func(*Rejection), error) {
	list, err := x.all(ctx)
	restored := map[string]time.Time{}
	for i := range list {
		f := &list[i].Value
		texts := []string{f.wordingAt(f.Restored)}
		if f.Source == Inferred {
			texts = append(texts, strings.TrimSuffix(texts[0], inference.Developing))
		}
		for _, p := range f.Past {
			if !p.Until.After(f.Restored) {
				texts = append(texts, p.Content)
			}
		}
		for _, text := range texts {
			restored[rejectionName(text)] = later(restored[rejectionName(text)], f.Restored)
		}
	}
	return func(r *Rejection) {
		if !r.At.IsZero() && !r.At.After(restored[rejectionName(r.Content)]) {
			*r = Rejection{}
		}
	}, err
}

// putFact writes a fact. The text of one that is Local is for no embedder.
func putFact(b *rows.Batch, was rows.Row[Fact], f *Fact) {
	is := memory.Record{
		ID: f.ID, Kind: memory.Fact, Thread: factPart, Actor: f.claim(), Content: factPart, At: f.At, Known: f.Created,
	}
	if f.Visibility.Within(Trusted) {
		is.Content = f.Content
	}
	b.Write(was.Was, is, f)
}

// clean makes text valid and takes secrets out of it.
func (x *Identity) clean(s string) string {
	return x.sanitize.Sanitize(strings.ToValidUTF8(s, "\ufffd"))
}

// encoded is a value as it is stored, nothing of one that cannot be.
func encoded[T any](v *T) []byte {
	raw, _ := json.Marshal(v) // which its put returns
	return raw
}

// scrub makes the texts of a value that JSON can hold valid, and takes secrets out of them.
func scrub[T any](san *redact.Sanitizer, v *T) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrValue, err)
	}
	var clean T
	err = json.Unmarshal(san.JSON(raw), &clean)
	*v = clean
	return err
}

// Profile is what an identity has beside its facts: labels that do not fade,
// and settings.
type Profile struct {
	// Name and Role are the core of the format.
	Name string `cbor:"1,keyasint,omitempty"`
	Role string `cbor:"2,keyasint,omitempty"`
	// Visibility is how far Name and Role go. "": Trusted.
	Visibility Visibility `cbor:"3,keyasint,omitempty"`
	UserID     string     `cbor:"4,keyasint,omitempty"`
	DeviceID   string     `cbor:"5,keyasint,omitempty"`
	Settings   Settings   `cbor:"6,keyasint,omitzero"`
	// Extra holds fields of imported documents that this package does not
	// know, and a whole document of version 1 under "v1". It is exported again.
	Extra map[string]json.RawMessage `cbor:"7,keyasint,omitempty"`
	// Updated is when UpdateProfile wrote it last.
	Updated time.Time `cbor:"130,keyasint,omitzero"`
}

// Settings of an identity. They are stored with it.
type Settings struct {
	// HalfLife is the time in which confidence halves. 0: DefaultHalfLife.
	HalfLife time.Duration `cbor:"1,keyasint,omitempty"`
	// HalfLives are those of single categories, for what lasts longer than
	// the rest, or less long. 0, or none: HalfLife.
	HalfLives map[Category]time.Duration `cbor:"2,keyasint,omitempty"`
	// AutoInfer has Maintain add what Infer would suggest, as candidates.
	AutoInfer bool `cbor:"3,keyasint,omitempty"`
	// ExcludedDomains are hosts that nothing is learned from, their
	// subdomains included: Observe drops events with such an address.
	ExcludedDomains []string `cbor:"4,keyasint,omitempty"`
}

func (s Settings) halfLife(c Category) time.Duration {
	return cmp.Or(max(s.HalfLives[c], 0), max(s.HalfLife, 0), DefaultHalfLife)
}

// Profile returns the profile, which is empty until it is written.
func (x *Identity) Profile(ctx context.Context) (Profile, error) {
	r, err := rows.Get[Profile](ctx, x.rows, profilePart)
	return r.Value, err
}

// UpdateProfile has change work on the profile and stores what comes out,
// which it returns. If another writer was in between, change is called again
// on what that one left. An error or panic of change comes back, with nothing
// stored, and so does ErrValue for a profile that cannot be kept.
func (x *Identity) UpdateProfile(ctx context.Context, change func(*Profile) error) (p Profile, err error) {
	err = x.rows.Change(ctx, func(b *rows.Batch) error {
		r, err := rows.Get[Profile](ctx, x.rows, profilePart)
		if err != nil {
			return err
		}
		p = r.Value
		if lost := guard.Call(func() { err = change(&p) }); lost != nil {
			err = lost
		}
		lives := map[Category]time.Duration{}
		for c, d := range p.Settings.HalfLives {
			if d != 0 { // else it is none
				lives[Category(x.clean(string(c)))] = d
			}
		}
		p.Settings.HalfLives = nil // a number under a name that says secret would be one
		if err = guard.Error(err); err == nil {
			err = scrub(x.sanitize, &p)
		}
		if p.Settings.HalfLives = lives; err == nil {
			err = p.check()
		}
		p.Updated = x.clock()
		rows.Put(b, r, profilePart, "", time.Time{}, &p)
		return err
	})
	return orNone(p, err)
}

// orNone returns v, or the zero value with an error.
func orNone[T any](v T, err error) (T, error) {
	if err != nil {
		v = *new(T)
	}
	return v, err
}

// check tells what of a profile cannot be kept.
func (p *Profile) check() error {
	if err := over("profile", max(len(p.Name), len(p.Role), len(p.UserID), len(p.DeviceID)), maxContent); err != nil {
		return err
	}
	if p.Visibility != "" && p.Visibility.rank() == 0 {
		return bad("visibility", p.Visibility)
	}
	if p.Settings.HalfLife < 0 {
		return bad("half-life", p.Settings.HalfLife)
	}
	for c, d := range p.Settings.HalfLives {
		if d < 0 || !v2.IsName(c) {
			return bad("half-life of a category", c)
		}
	}
	for i, d := range p.Settings.ExcludedDomains {
		host := sites.HostOf(strings.TrimPrefix(strings.TrimSpace(d), "*."))
		if p.Settings.ExcludedDomains[i] = host; host == "" {
			return bad("excluded domain", d)
		}
	}
	p.Settings.ExcludedDomains = lists.Once(p.Settings.ExcludedDomains, strings.Compare)
	if name := v2.Own(p.Extra); name != "" {
		return bad("extra field", name)
	}
	return nil
}
