package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

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
	if d := s.HalfLives[c]; d > 0 {
		return d
	}
	if s.HalfLife > 0 {
		return s.HalfLife
	}
	return DefaultHalfLife
}

// Profile returns the profile, which is empty until it is written.
func (x *Identity) Profile(ctx context.Context) (Profile, error) {
	r, err := fetch[Profile](ctx, x, profileID)
	return r.v, err
}

// UpdateProfile has change work on the profile and stores what comes out,
// which it returns. If another writer was in between, change is called again
// on what that one left. An error or panic of change comes back, with nothing
// stored, and so does ErrValue for a profile that cannot be kept.
func (x *Identity) UpdateProfile(ctx context.Context, change func(*Profile) error) (Profile, error) {
	var p Profile
	err := x.change(ctx, func(b *batch) error {
		r, err := fetch[Profile](ctx, x, profileID)
		if err != nil {
			return err
		}
		p = r.v
		if lost := guard.Call(func() { err = change(&p) }); lost != nil {
			err = lost
		}
		err = guard.Error(err)
		if err == nil {
			err = x.cleanProfile(&p)
		}
		if err != nil {
			return fmt.Errorf("identity: profile: %w", err)
		}
		p.Updated = x.clock()
		b.putProfile(r, &p)
		return nil
	})
	if err != nil {
		return Profile{}, err
	}
	return p, nil
}

func (b *batch) putProfile(was row[Profile], p *Profile) {
	put(b, was, memory.Record{ID: profileID, Thread: string(profileID)}, p)
}

func (x *Identity) cleanProfile(p *Profile) error {
	for _, s := range []string{p.Name, p.Role, p.UserID, p.DeviceID} {
		if len(s) > maxContent {
			return &store.LimitError{Field: "profile", Limit: maxContent, Got: len(s)}
		}
	}
	scrub(x.sanitize, p)
	if p.Visibility != "" && p.Visibility.rank() == 0 {
		return fmt.Errorf("%w: visibility %.32q", ErrValue, string(p.Visibility))
	}
	if p.Settings.HalfLife < 0 {
		return fmt.Errorf("%w: half-life %v", ErrValue, p.Settings.HalfLife)
	}
	lives := make(map[Category]time.Duration, len(p.Settings.HalfLives))
	for c, d := range p.Settings.HalfLives {
		if d < 0 || !isName(string(c)) {
			return fmt.Errorf("%w: half-life %v of category %.32q", ErrValue, d, string(c))
		}
		lives[c] = d
	}
	if len(lives) > 0 {
		p.Settings.HalfLives = lives
	}
	var domains []string
	for _, d := range p.Settings.ExcludedDomains {
		d = strings.Trim(strings.ToLower(strings.TrimSpace(d)), ".")
		if d == "" || key.CheckID("excluded domain", d) != nil {
			return fmt.Errorf("%w: excluded domain %.64q", ErrValue, d)
		}
		domains = append(domains, strings.TrimPrefix(d, "www."))
	}
	p.Settings.ExcludedDomains = slices.Compact(domains)
	for _, name := range []string{"version", "userId", "deviceId", "facts", "blocked", "events", "rollups"} {
		if _, taken := p.Extra[name]; taken {
			return fmt.Errorf("%w: extra field %q is one of the format", ErrValue, name)
		}
	}
	return nil
}
