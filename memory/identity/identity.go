// Package identity keeps what is known about one person or project, in a form that can be taken elsewhere:
// facts that fade unless they are confirmed, and the few of them that are worth telling for a task.
//
// An [Identity] is of one scope. Add keeps a [Fact]; Validate and Reject say whether it holds; Project
// chooses the facts for a task; Observe takes events, of which Infer suggests further facts; Export and
// Import move the whole as JSON. These are the functions of the eight tools of the Arete v2 design.
//
// # How a fact lives
//
// Its confidence halves every 60 days after its last validation. That is computed at each read and never
// written back. A fact rises from [Candidate] to [Established] with its second validation and to [Proven]
// with its fifth; one that a person states begins as Established. Maintain takes back one step of maturity
// below an effective confidence of 0.3, and archives below 0.1. Nothing but Reject deletes a fact.
//
// Facts are the tenant's own records under the scope, so what deletes the scope deletes them. All methods may
// be called concurrently, and by several processes on a shared store: each change is one conditional commit,
// and is durable when its method returns. Texts pass the sanitizer before they are kept; what cannot be
// kept is a store.ErrInvalid. A projection reads all facts of the scope: it is made for hundreds of them.
//
// Begin with fact.go, which is a fact's life; event.go infers, project.go chooses, document.go has the JSON.
package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// ErrRejected is returned for a fact that was rejected before.
var ErrRejected = errors.New("identity: rejected before")

// Identity is what is known about whom a scope is of. Create one with [New].
type Identity struct {
	group *store.Group
	scope store.Scope
	now   func() time.Time
	clean *redact.Sanitizer
	words *text.Analyzer
}

// New returns the Identity of a scope. The group is over the part of its tenant, see store.Sub, beside an
// Agent or a Layer. Of the options it takes Now, Languages and Sanitizer; nil is here the default one.
func New(group *store.Group, scope store.Scope, o *memory.Options) (*Identity, error) {
	opts := *cmp.Or(o, &memory.Options{})
	words, err := text.New(opts.Languages...)
	if err := errors.Join(scope.Check(), err); err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	return &Identity{group, scope, call.Clock(opts.Now), opts.Sanitizer, words}, nil
}

// Kinds of keys.
const (
	factKind    = "identity-fact"
	blockedKind = "identity-rejected"
	eventKind   = "identity-event"
	dayKind     = "identity-day"
	stateKind   = "identity" // the profile, and the ends of the ring of events
)

// Profile is what an identity has beside facts.
type Profile struct {
	Name, Role   string  `json:"-" cbor:"-"`
	HalfLifeDays float64 `json:"decayHalfLifeDays"` // of a fact's confidence; 0: 60
	AutoInfer    bool    `json:"autoInfer"`         // Maintain adds what Infer suggests, as candidates

	// ExcludedDomains are those of which, and below which, nothing is learned; as in addresses ("xn--…").
	ExcludedDomains []string `json:"excludedDomains"`
}

const defaultHalfLife = 60

// profile is a Profile as it is kept and exported.
type profile struct {
	DeviceID string `json:"deviceId"`
	Core     struct {
		Name string `json:"name,omitempty"`
		Role string `json:"role,omitempty"`
	} `json:"core"`
	Settings Profile `json:"settings"` // but for Name and Role, which a document has in core
	Extra    extra   `json:"-" cbor:"extra,omitempty"`
}

// profile loads the profile, with defaults where nothing was set.
func (x *Identity) profile(ctx context.Context, r codec.Reader) (profile, store.Condition, error) {
	p, c, err := codec.Load[profile](ctx, r, x.scope.Key(stateKind, "profile"))
	p.Settings.HalfLifeDays = cmp.Or(p.Settings.HalfLifeDays, defaultHalfLife)
	return p, c, err
}

// Profile returns the profile, with defaults where nothing was set.
func (x *Identity) Profile(ctx context.Context) (Profile, error) {
	p, _, err := x.profile(ctx, x.group.Store())
	p.Settings.Name, p.Settings.Role = p.Core.Name, p.Core.Role
	return p.Settings, err
}

// SetProfile replaces the profile.
func (x *Identity) SetProfile(ctx context.Context, p Profile) error {
	p.HalfLifeDays = cmp.Or(p.HalfLifeDays, defaultHalfLife)
	if !(p.HalfLifeDays > 0) || math.IsInf(p.HalfLifeDays, 0) {
		return fmt.Errorf("identity: %w: a half-life of %v days", store.ErrInvalid, p.HalfLifeDays)
	}
	p.ExcludedDomains = slices.Clone(p.ExcludedDomains)
	for i, d := range p.ExcludedDomains {
		p.ExcludedDomains[i] = x.clean.Prose(d)
	}
	return x.group.Update(ctx, func(b *store.Batch) error {
		was, c, err := x.profile(ctx, b)
		if err != nil {
			return err
		}
		was.Core.Name, was.Core.Role = x.clean.Prose(p.Name), x.clean.Prose(p.Role)
		was.Settings = p
		return codec.Put(b, x.scope.Key(stateKind, "profile"), was, c)
	})
}

// clock is the time to the millisecond, which documents keep.
func (x *Identity) clock() time.Time { return x.now().UTC().Truncate(time.Millisecond) }

// all returns the records of a kind, in the order of their ids.
func all[T any](ctx context.Context, x *Identity, kind string) (ids []string, out []T, err error) {
	prefix := x.scope.Key(kind, "")
	for e, err := range x.group.Store().Scan(ctx, store.Range{Prefix: prefix}) {
		var v T
		if err = cmp.Or(err, codec.Unmarshal(e.Value, &v)); err != nil {
			return nil, nil, err
		}
		ids, out = append(ids, e.Key[len(prefix):]), append(out, v)
	}
	return ids, out, nil
}
