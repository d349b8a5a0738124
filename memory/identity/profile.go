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
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Profile is what an identity has beside its facts: labels that do not fade,
// and settings.
type Profile struct {
	Name, Role string     // the core of the format
	Visibility Visibility // how far Name and Role go; "": Trusted
	UserID     string
	DeviceID   string
	Settings   Settings
	// Extra holds fields of imported documents that this package does not
	// know, and a whole document of version 1 under "v1". It is exported again.
	Extra map[string]json.RawMessage
}

// Settings of an identity. They are stored with it.
type Settings struct {
	// HalfLife is the time in which confidence halves. 0: DefaultHalfLife.
	HalfLife time.Duration
	// HalfLives are those of single categories, for what lasts longer than
	// the rest, or less long. 0, or none: HalfLife.
	HalfLives map[Category]time.Duration
	// AutoInfer has Maintain add what Infer would suggest, as candidates.
	AutoInfer bool
	// ExcludedDomains are hosts that nothing is learned from, their
	// subdomains included: Observe drops events with such an address.
	ExcludedDomains []string
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

// storedProfile is a Profile on disk.
type storedProfile struct {
	Name       string                     `cbor:"1,keyasint,omitempty"`
	Role       string                     `cbor:"2,keyasint,omitempty"`
	Visibility Visibility                 `cbor:"3,keyasint,omitempty"`
	UserID     string                     `cbor:"4,keyasint,omitempty"`
	DeviceID   string                     `cbor:"5,keyasint,omitempty"`
	Settings   storedSettings             `cbor:"6,keyasint,omitzero"`
	Extra      map[string]json.RawMessage `cbor:"7,keyasint,omitempty"`
}

type storedSettings struct {
	HalfLife        time.Duration              `cbor:"1,keyasint,omitempty"`
	HalfLives       map[Category]time.Duration `cbor:"2,keyasint,omitempty"`
	AutoInfer       bool                       `cbor:"3,keyasint,omitempty"`
	ExcludedDomains []string                   `cbor:"4,keyasint,omitempty"`
}

func (p *storedProfile) open() Profile {
	return Profile{p.Name, p.Role, p.Visibility, p.UserID, p.DeviceID, Settings(p.Settings), p.Extra}
}

func (p *Profile) stored() storedProfile {
	return storedProfile{p.Name, p.Role, p.Visibility, p.UserID, p.DeviceID, storedSettings(p.Settings), p.Extra}
}

// Profile returns the profile, which is empty until somebody writes it.
func (x *Identity) Profile(ctx context.Context) (Profile, error) {
	r, err := fetch[storedProfile](ctx, x, profilePart, "")
	return r.v.open(), err
}

// UpdateProfile has change work on the profile and stores what comes out,
// which it returns. If another writer was in between, change is called again
// on what that one left. An error or panic of change comes back, with nothing
// stored, and so does ErrValue for a profile that cannot be kept.
func (x *Identity) UpdateProfile(ctx context.Context, change func(*Profile) error) (Profile, error) {
	var p Profile
	err := x.change(ctx, func(b *batch) error {
		r, err := fetch[storedProfile](ctx, x, profilePart, "")
		if err != nil {
			return err
		}
		p = r.v.open()
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
		b.put(profilePart, "", r.rev, p.stored())
		return nil
	})
	if err != nil {
		return Profile{}, err
	}
	return p, nil
}

func (x *Identity) cleanProfile(p *Profile) error {
	for _, s := range []*string{&p.Name, &p.Role, &p.UserID, &p.DeviceID} {
		if len(*s) > MaxContent {
			return &store.LimitError{Field: "profile", Limit: MaxContent, Got: len(*s)}
		}
		*s = x.clean(*s)
	}
	if p.Visibility != "" && p.Visibility.rank() == 0 {
		return fmt.Errorf("%w: visibility %.32q", ErrValue, string(p.Visibility))
	}
	if p.Settings.HalfLife < 0 {
		return fmt.Errorf("%w: half-life %v", ErrValue, p.Settings.HalfLife)
	}
	lives := make(map[Category]time.Duration, len(p.Settings.HalfLives))
	for c, d := range p.Settings.HalfLives {
		if c = Category(x.clean(string(c))); d < 0 || !isName(string(c)) {
			return fmt.Errorf("%w: half-life %v of category %.32q", ErrValue, d, string(c))
		}
		lives[c] = d
	}
	if len(lives) > 0 {
		p.Settings.HalfLives = lives
	}
	var domains []string
	for _, d := range p.Settings.ExcludedDomains {
		d = strings.Trim(strings.ToLower(strings.TrimSpace(x.clean(d))), ".")
		if d == "" || key.CheckID("excluded domain", d) != nil {
			return fmt.Errorf("%w: excluded domain %.64q", ErrValue, d)
		}
		domains = append(domains, strings.TrimPrefix(d, "www."))
	}
	p.Settings.ExcludedDomains = slices.Compact(domains)
	p.Extra = cleanExtra(x.sanitize, p.Extra)
	for _, name := range []string{"version", "userId", "deviceId", "facts", "blocked", "events", "rollups"} {
		if _, taken := p.Extra[name]; taken {
			return fmt.Errorf("%w: extra field %q is one of the format", ErrValue, name)
		}
	}
	return nil
}

// cleanExtra takes secrets out of fields that are kept as they came.
func cleanExtra(san *redact.Sanitizer, in map[string]json.RawMessage) map[string]json.RawMessage {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]json.RawMessage, len(in))
	for name, raw := range in {
		// With its name, which may say that it is one.
		wrapped, err := json.Marshal(map[string]json.RawMessage{name: raw})
		if err != nil { // not JSON: kept as a text
			out[cleanBy(san, name)] = slices.Clone(san.JSON(raw))
			continue
		}
		var clean map[string]json.RawMessage
		if err := json.Unmarshal(san.JSON(wrapped), &clean); err != nil {
			panic(err) // the sanitizer keeps JSON what it is
		}
		for name, raw := range clean {
			out[name] = raw
		}
	}
	return out
}
