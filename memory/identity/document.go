package identity

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/arc-learn/arc/memory/identity/internal/loosejson"
	"github.com/arc-learn/arc/memory/identity/internal/rollup"
	"github.com/arc-learn/arc/memory/identity/internal/rows"
)

// formatVersion is the version of the documents that Export writes.
const formatVersion = "2.0.0"

// The JSON of version 2. The fields up to Settings are those of the format;
// the others are what this package keeps beside them, and fields that it does
// not know are kept and written again.
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

type coreJSON struct {
	Name       string     `json:"name,omitempty"`
	Role       string     `json:"role,omitempty"`
	Visibility Visibility `json:"visibility,omitempty"`
	Updated    time.Time  `json:"updatedAt,omitzero"`
}

type settingsJSON struct {
	HalfLifeDays    float64              `json:"decayHalfLifeDays"`
	HalfLives       map[Category]float64 `json:"categoryHalfLifeDays,omitempty"`
	AutoInfer       bool                 `json:"autoInfer"`
	ExcludedDomains []any                `json:"excludedDomains"`
}

// eventMore is what an event has in a document beside its fields.
type eventMore struct {
	ID    string  `json:"id"`
	Dwell float64 `json:"dwellSeconds,omitempty"`
}

// rollupJSON is the roll-up of a day.
type rollupJSON struct {
	Date string `json:"day"`
	rollup.Day
}

// jsonOf returns v, which JSON can hold, with more fields, except those that it has already.
func jsonOf[T any](v T, more loosejson.Fields) json.RawMessage {
	fields := loosejson.Union(loosejson.FieldsOf(encoded(&v)), more)
	return encoded(&fields)
}

// Export writes the identity as JSON of version 2, with what may be seen
// within a visibility ("": Trusted). With Local it is complete: archived and
// rejected facts, what was rejected, events, and every field that an import
// brought. Otherwise it holds the facts within the visibility, the profile if
// it is, and neither events, rejections, nor unknown fields.
func (x *Identity) Export(ctx context.Context, limit Visibility) ([]byte, error) {
	if limit = cmp.Or(limit, Trusted); limit.rank() == 0 {
		return nil, bad("visibility", limit)
	}
	p, err := x.Profile(ctx)
	list, err2 := x.all(ctx)
	d := document{Version: formatVersion, UserID: p.UserID, DeviceID: p.DeviceID, Facts: []json.RawMessage{}}
	all := limit == Local
	for _, r := range list {
		if f := r.Value; f.Visibility.Within(limit) {
			extra := f.Extra
			if f.Extra = nil; !all { // whose visibility is not known
				extra, f.Damaged, f.Evidence, f.Past, f.Variants = nil, nil, nil, nil, nil
			}
			d.Facts = append(d.Facts, jsonOf(f, extra))
		}
	}
	core := coreJSON{p.Name, p.Role, p.Visibility, p.Updated}
	if !cmp.Or(p.Visibility, Trusted).Within(limit) {
		core = coreJSON{}
	}
	settings := settingsJSON{p.Settings.halfLife("").Hours() / 24, map[Category]float64{}, p.Settings.AutoInfer, []any{}}
	for c, life := range p.Settings.HalfLives {
		settings.HalfLives[c] = life.Hours() / 24
	}
	if all {
		for _, domain := range p.Settings.ExcludedDomains {
			settings.ExcludedDomains = append(settings.ExcludedDomains, domain)
		}
		err = errors.Join(err, err2, x.exportRest(ctx, &d))
	} else {
		p.Extra, core.Updated = nil, time.Time{}
	}
	d.Core = jsonOf(core, loosejson.FieldsOf(p.Extra["core"]))
	d.Settings = jsonOf(settings, loosejson.FieldsOf(p.Extra["settings"]))
	whole := jsonOf(d, p.Extra)
	if err = errors.Join(err, err2); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Indent(&out, whole, "", " ")
	return out.Bytes(), err
}

func (x *Identity) exportRest(ctx context.Context, d *document) error {
	refused, err := x.Rejections(ctx)
	for _, r := range refused {
		d.Blocked = append(d.Blocked, jsonOf(r, nil))
	}
	ring, err2 := rows.All[Event](ctx, x.rows, eventPart)
	for _, r := range ring {
		e := r.Value
		more := jsonOf(eventMore{r.Name(), e.Dwell.Seconds()}, e.Extra)
		e.Dwell, e.Extra = 0, nil
		d.Events = append(d.Events, jsonOf(e, loosejson.FieldsOf(more)))
	}
	days, err3 := rows.All[rollup.Day](ctx, x.rows, rollupPart)
	for _, r := range days {
		day := rollupJSON{r.Name(), r.Value}
		if day.Marks = nil; len(day.Counts)+day.Others > 0 { // else it knows keys alone
			d.Rollups = append(d.Rollups, jsonOf(day, nil))
		}
	}
	return errors.Join(err, err2, err3)
}
