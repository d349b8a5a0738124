package identity

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"reflect"
	"strings"
	"time"
)

// formatVersion is the version of the documents that Export writes.
const formatVersion = "2.0.0"

// raws are fields of an object as they came.
type raws = map[string]json.RawMessage

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
	Day string `json:"day"`
	rollup
}

// jsonOf returns v, which JSON can hold, with more fields, except those that it has already.
func jsonOf[T any](v T, more raws) json.RawMessage {
	fields := union(fieldsOf(encoded(&v)), more)
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
	rows, err2 := x.all(ctx)
	d := document{Version: formatVersion, UserID: p.UserID, DeviceID: p.DeviceID, Facts: []json.RawMessage{}}
	all := limit == Local
	for _, r := range rows {
		if f := r.v; f.Visibility.Within(limit) {
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
	d.Core, d.Settings = jsonOf(core, fieldsOf(p.Extra["core"])), jsonOf(settings, fieldsOf(p.Extra["settings"]))
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
	ring, err2 := each[Event](ctx, x, eventPart)
	for _, r := range ring {
		e := r.v
		more := jsonOf(eventMore{r.name(), e.Dwell.Seconds()}, e.Extra)
		e.Dwell, e.Extra = 0, nil
		d.Events = append(d.Events, jsonOf(e, fieldsOf(more)))
	}
	days, err3 := each[rollup](ctx, x, rollupPart)
	for _, r := range days {
		if len(r.v.Counts)+r.v.Others > 0 { // else it knows keys alone
			d.Rollups = append(d.Rollups, jsonOf(rollupJSON{r.name(), rollup{r.v.Counts, r.v.Others, nil}}, nil))
		}
	}
	return errors.Join(err, err2, err3)
}

// checkDocument checks the size and the depth of JSON before it is read.
func checkDocument(data []byte) error {
	if err := over("document", len(data), maxDocument); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	for depth := 0; ; {
		token, err := dec.Token()
		if err != nil {
			return nil // its end; or it is not JSON, which reading it says
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			if err := over("depth of the document", depth, maxDepth); err != nil {
				return err
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

const maxDepth = 64

// object is a JSON object that was read: given are all of its fields, left those that
// were not known, damaged those that could not be taken as they are.
type object struct{ given, left, damaged raws }

// fieldsOf are the fields of an object, none of what is no object.
func fieldsOf(raw json.RawMessage) (out raws) {
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// read fills v, a pointer to a struct with names of JSON, field by field; anything but
// an object fills none, and false. A field that it cannot take is damaged, and stays as it
// was. null counts as none, a single value as an array of one, a number in a string as a
// number.
func read(raw json.RawMessage, v any) (object, bool) {
	o := object{given: fieldsOf(raw), left: raws{}, damaged: raws{}}
	maps.Copy(o.left, o.given)
	to := reflect.ValueOf(v).Elem()
	for i := range to.NumField() {
		name, _, _ := strings.Cut(to.Type().Field(i).Tag.Get("json"), ",")
		if name == "extra" {
			continue
		}
		value := o.left[name]
		delete(o.left, name)
		if value != nil && string(value) != "null" && !take(value, to.Field(i).Addr().Interface()) {
			o.damage(name)
		}
	}
	return o, o.given != nil
}

// take sets a field, and reports whether the value is one for it.
func take(raw json.RawMessage, to any) (ok bool) {
	switch field := to.(type) {
	case *time.Time:
		*field, ok = parseTime(raw)
	case *float64:
		var v float64
		if v, ok = parseNumber(raw); ok {
			*field = v
		}
	case *int:
		var v float64
		if v, ok = parseNumber(raw); ok && v >= 0 && v <= math.MaxInt32 {
			*field = int(v)
			return true
		}
		return false
	case *[]json.RawMessage:
		if json.Unmarshal(raw, field) != nil {
			*field = []json.RawMessage{raw}
		}
		return true
	default:
		if ok = json.Unmarshal(raw, to) == nil; !ok {
			reflect.ValueOf(to).Elem().SetZero()
		}
	}
	return ok
}

// damage notes that the value of a field was not taken as it is.
func (o *object) damage(name string) {
	if raw, given := o.given[name]; given && o.damaged[name] == nil {
		o.damaged[name] = raw
	}
}

// clamp keeps a number within its range.
func (o *object) clamp(name string, v *float64, low, high float64) {
	if *v < low || *v > high {
		o.damage(name)
		*v = min(max(*v, low), high)
	}
}

// expect takes a text back that does not satisfy ok.
func expect[T ~string](o *object, field string, v *T, ok func(T) bool) {
	if *v != "" && !ok(*v) {
		o.damage(field)
		*v = ""
	}
}

func parseNumber(raw json.RawMessage) (float64, bool) {
	var n json.Number
	if json.Unmarshal(raw, &n) != nil { // takes a string that holds a number, too
		return 0, false
	}
	v, err := n.Float64() // infinite beyond the largest
	return v, !math.IsNaN(v) && (err == nil || math.IsInf(v, 0))
}

// layouts are the ways in which programs write dates. Those whose order of day
// and month cannot be told are not among them.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly, "2006/01/02",
	time.RFC1123, time.RFC1123Z, time.RFC850, time.ANSIC, time.UnixDate, "Mon Jan 02 2006 15:04:05 GMT-0700",
	"January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006",
}

// parseTime reads a date: a text in one of the layouts, or a number of seconds or
// milliseconds since 1970.
func parseTime(raw json.RawMessage) (time.Time, bool) {
	var s string
	var n float64
	switch {
	case json.Unmarshal(raw, &s) == nil:
		s, _, _ = strings.Cut(strings.TrimSpace(s), " (") // the name of the zone, as browsers write it
		for _, layout := range layouts {
			if t, err := time.Parse(layout, s); err == nil && checkYear(t.UTC()) == nil && !t.IsZero() {
				return keptTime(t), true
			}
		}
	case json.Unmarshal(raw, &n) == nil && n > 0 && n < 253402300800000: // the year 10000, in milliseconds
		if n < 1e11 { // seconds: as milliseconds it would be before 1974
			n *= 1000
		}
		return keptTime(time.UnixMilli(int64(n))), true
	}
	return time.Time{}, false
}

// plain returns the text of a value: a string as it is, anything else as JSON.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// union returns the fields of both, those of a where both have one.
func union(a, b raws) raws {
	if len(b) == 0 {
		return a
	}
	out := maps.Clone(b)
	maps.Copy(out, a)
	return out
}
