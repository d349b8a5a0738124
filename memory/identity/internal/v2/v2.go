// Package v2 reads and writes documents of version 2 of the format, as far as they are not
// facts, rejections, events and roll-ups, which it leaves as they are.
package v2

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory/identity/internal/loosejson"
	"github.com/arc-learn/arc/memory/identity/internal/sites"
)

// version is that of the documents that are written.
const version = "2.0.0"

// Document is a document.
type Document struct {
	UserID, DeviceID string
	Core
	Settings
	Facts, Blocked, Events, Rollups []json.RawMessage
	// Extra holds what is not known, or could not be read: of the whole, and under "core"
	// and "settings" that of these.
	Extra loosejson.Fields
}

// Core is what has a field of its own about the person.
type Core struct {
	Name       string    `json:"name,omitempty"`
	Role       string    `json:"role,omitempty"`
	Visibility string    `json:"visibility,omitempty"`
	Updated    time.Time `json:"updatedAt,omitzero"`
}

// Settings are those of an identity.
type Settings struct {
	HalfLife        time.Duration
	HalfLives       map[string]time.Duration // by category
	AutoInfer       bool
	ExcludedDomains []string
}

// document and settings are what JSON has of them.
type document struct {
	Version  string            `json:"version"`
	UserID   string            `json:"userId,omitempty"`
	DeviceID string            `json:"deviceId"`
	Facts    []json.RawMessage `json:"facts"`
	Core     json.RawMessage   `json:"core"`
	Settings json.RawMessage   `json:"settings"`

	Blocked []json.RawMessage `json:"blocked,omitempty"`
	Events  []json.RawMessage `json:"events,omitempty"`
	Rollups []json.RawMessage `json:"rollups,omitempty"`
}

type settings struct {
	HalfLifeDays    float64            `json:"decayHalfLifeDays"`
	HalfLives       map[string]float64 `json:"categoryHalfLifeDays,omitempty"`
	AutoInfer       bool               `json:"autoInfer"`
	ExcludedDomains []any              `json:"excludedDomains"`
}

// own are the fields of a document that are not its Extra; core and settings are both.
var own = []string{"version", "userId", "deviceId", "facts", "blocked", "events", "rollups"}

// Own returns the first of some fields that is one of a document's own, or "".
func Own(extra loosejson.Fields) string {
	for _, name := range own {
		if _, taken := extra[name]; taken {
			return name
		}
	}
	return ""
}

// IsID reports whether s can be an id or a reference, or is empty.
func IsID[T ~string](s T) bool { return key.CheckID("", string(s)) == nil }

// IsName reports whether s can be a category, a source or a kind of event.
func IsName[T ~string](s T) bool { return s != "" && len(s) <= 64 && IsID(s) }

const (
	day      = 24 * time.Hour
	mostDays = float64(math.MaxInt64 / day) // 292 years
)

func lasting(days float64) time.Duration {
	return time.Duration(min(days, mostDays) * float64(day)).Round(time.Millisecond)
}

// JSON returns the document as it is written.
func (d *Document) JSON() ([]byte, error) {
	s := settings{d.HalfLife.Hours() / 24, map[string]float64{}, d.AutoInfer, []any{}}
	for c, life := range d.HalfLives {
		s.HalfLives[c] = life.Hours() / 24
	}
	for _, domain := range d.ExcludedDomains {
		s.ExcludedDomains = append(s.ExcludedDomains, domain)
	}
	whole := loosejson.With(document{
		Version: version, UserID: d.UserID, DeviceID: d.DeviceID, Facts: append([]json.RawMessage{}, d.Facts...),
		Core:     loosejson.With(d.Core, loosejson.FieldsOf(d.Extra["core"])),
		Settings: loosejson.With(s, loosejson.FieldsOf(d.Extra["settings"])),
		Blocked:  d.Blocked, Events: d.Events, Rollups: d.Rollups,
	}, d.Extra)
	var out bytes.Buffer
	err := json.Indent(&out, whole, "", " ")
	return out.Bytes(), err
}

// Read takes a document apart, whose version was checked, at a time.
func Read(data []byte, now time.Time) Document {
	var w document
	o, _ := loosejson.Read(data, &w)
	delete(o.Damaged, "version")
	d := Document{
		UserID: w.UserID, DeviceID: w.DeviceID,
		Facts: w.Facts, Blocked: w.Blocked, Events: w.Events, Rollups: w.Rollups,
	}
	part := func(field string, raw json.RawMessage, v any) loosejson.Object {
		of, ok := loosejson.Read(raw, v)
		if raw != nil && !ok {
			o.Damage(field)
		}
		return of
	}
	rest := func(field string, of loosejson.Object) {
		if left := loosejson.Union(of.Left, of.Damaged); len(left) > 0 {
			o.Left[field] = loosejson.With(left, nil)
		}
	}
	co := part("core", w.Core, &d.Core)
	loosejson.Expect(&co, "visibility", &d.Visibility, func(v string) bool {
		return slices.Contains([]string{"public", "trusted", "local"}, v)
	})
	co.Past("updatedAt", &d.Updated, now)
	rest("core", co)
	var s settings
	so := part("settings", w.Settings, &s)
	so.Clamp("decayHalfLifeDays", &s.HalfLifeDays, 0, mostDays)
	d.Settings = Settings{HalfLife: lasting(s.HalfLifeDays), HalfLives: map[string]time.Duration{}, AutoInfer: s.AutoInfer}
	for c, days := range s.HalfLives {
		life := lasting(days)
		kept := IsName(c) && life > 0
		if kept {
			d.HalfLives[c] = life
		}
		if !kept || days > mostDays {
			so.Damage("categoryHalfLifeDays")
		}
	}
	for _, v := range s.ExcludedDomains {
		address, _ := v.(string)
		if domain := sites.HostOf(address); domain != "" {
			d.ExcludedDomains = append(d.ExcludedDomains, domain)
		} else {
			so.Damage("excludedDomains")
		}
	}
	rest("settings", so)
	d.Extra = o.Rest()
	return d
}
