package identity

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// formatVersion is the version of the documents that Export writes.
const formatVersion = "2.0.0"

const day = 24 * time.Hour

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
	ExcludedDomains []string             `json:"excludedDomains"`
}

// with returns the JSON of v with more fields, except those that it has already.
func with(v any, extra raws) (json.RawMessage, error) {
	own, err := json.Marshal(v)
	if err != nil || len(extra) == 0 {
		return own, err
	}
	var has raws
	if err := json.Unmarshal(own, &has); err != nil {
		return nil, err
	}
	out := bytes.TrimSuffix(own, []byte("}"))
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if _, taken := has[name]; taken {
			continue
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted...), ':'), extra[name]...)
	}
	return append(out, '}'), nil
}

// Export writes the identity as JSON of version 2, with what may be seen
// within a visibility ("": Trusted). With Local it is complete: archived and
// rejected facts, what was rejected, events, and every field that an import
// brought. Otherwise it holds the facts within the visibility, the profile if
// it is, and neither events, rejections, nor unknown fields.
func (x *Identity) Export(ctx context.Context, limit Visibility) ([]byte, error) {
	limit = cmp.Or(limit, Trusted)
	if limit.rank() == 0 {
		return nil, fmt.Errorf("identity: %w: visibility %.32q", ErrValue, string(limit))
	}
	p, err := x.Profile(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := x.all(ctx)
	if err != nil {
		return nil, err
	}
	d := document{Version: formatVersion, UserID: p.UserID, DeviceID: p.DeviceID, Facts: []json.RawMessage{}}
	all := limit == Local
	w := writer{}
	for i := range rows {
		if f := rows[i].v; f.Visibility.Within(limit) {
			extra := f.Extra
			if f.Extra = nil; !all { // whose visibility is not known
				extra, f.Damaged, f.Evidence, f.Past, f.Variants = nil, nil, nil, nil, nil
			}
			w.add(&d.Facts, f, extra)
		}
	}
	core, settings := coreJSON{}, settingsOf(p.Settings)
	if cmp.Or(p.Visibility, Trusted).Within(limit) {
		core = coreJSON{p.Name, p.Role, p.Visibility, p.Updated}
	}
	extra := raws{}
	if all {
		extra = p.Extra
		w.err = cmp.Or(w.err, x.exportRest(ctx, &w, &d))
	} else {
		settings.ExcludedDomains, core.Updated = []string{}, time.Time{}
	}
	d.Core, d.Settings = w.one(core, left(extra["core"])), w.one(settings, left(extra["settings"]))
	whole := w.one(d, extra)
	if w.err != nil {
		return nil, w.err
	}
	var out bytes.Buffer
	err = json.Indent(&out, whole, "", " ")
	return out.Bytes(), err
}

// writer writes JSON. Its first error stays.
type writer struct{ err error }

func (w *writer) one(v any, extra raws) json.RawMessage {
	raw, err := with(v, extra)
	w.err = cmp.Or(w.err, err)
	return raw
}

func (w *writer) add(to *[]json.RawMessage, v any, extra raws) { *to = append(*to, w.one(v, extra)) }

// left are the fields of an object, none of what is no object.
func left(raw json.RawMessage) (out raws) {
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// rollupJSON is the roll-up of a day.
type rollupJSON struct {
	Day    string  `json:"day"`
	Counts []count `json:"counts,omitempty"`
	Others int     `json:"others,omitempty"`
}

func (x *Identity) exportRest(ctx context.Context, w *writer, d *document) error {
	refused, err := x.Rejections(ctx)
	if err != nil {
		return err
	}
	for _, r := range refused {
		w.add(&d.Blocked, r, nil)
	}
	ring, err := each[Event](ctx, x, eventPart)
	if err != nil {
		return err
	}
	for _, r := range ring {
		e, more := r.v, maps.Clone(r.v.Extra)
		if more == nil {
			more = raws{}
		}
		more["id"] = w.one(r.name(), nil)
		if e.Dwell != 0 {
			more["dwellSeconds"] = w.one(e.Dwell.Seconds(), nil)
		}
		e.Extra, e.Dwell = nil, 0
		w.add(&d.Events, e, more)
	}
	days, err := x.days(ctx)
	for _, name := range slices.Sorted(maps.Keys(days)) {
		w.add(&d.Rollups, rollupJSON{name, days[name].v.Counts, days[name].v.Others}, nil)
	}
	return err
}

func settingsOf(s Settings) settingsJSON {
	out := settingsJSON{s.halfLife("").Hours() / 24, nil, s.AutoInfer, append([]string{}, s.ExcludedDomains...)}
	for c, d := range s.HalfLives {
		if out.HalfLives == nil {
			out.HalfLives = map[Category]float64{}
		}
		out.HalfLives[c] = d.Hours() / 24
	}
	return out
}

// checkDocument checks the size and the depth of JSON before it is read.
func checkDocument(data []byte) error {
	if len(data) > maxDocument {
		return &store.LimitError{Field: "document", Limit: maxDocument, Got: len(data)}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	for depth := 0; ; {
		token, err := dec.Token()
		if err != nil {
			return nil // its end; or it is not JSON, which reading it says
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > maxDepth {
				return &store.LimitError{Field: "depth of the document", Limit: maxDepth, Got: depth}
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

// read fills v, a pointer to a struct with names of JSON, field by field; anything but
// an object fills none, and false. A field that it cannot take is damaged. null counts
// as none, a single value as an array of one, a number in a string as a number.
func read(raw json.RawMessage, v any) (object, bool) {
	o := object{left: raws{}, damaged: raws{}}
	if json.Unmarshal(raw, &o.given) != nil || o.given == nil {
		return o, false
	}
	maps.Copy(o.left, o.given)
	to := reflect.ValueOf(v).Elem()
	for i := range to.NumField() {
		name, _, _ := strings.Cut(to.Type().Field(i).Tag.Get("json"), ",")
		if name == "extra" || name == "" {
			continue
		}
		value := o.left[name]
		if delete(o.left, name); value == nil || string(bytes.TrimSpace(value)) == "null" {
			continue
		}
		if !take(value, to.Field(i)) {
			o.damage(name)
		}
	}
	return o, true
}

// take sets a field, and reports whether the value is one for it.
func take(raw json.RawMessage, to reflect.Value) (ok bool) {
	switch field := to.Addr().Interface().(type) {
	case *time.Time:
		*field, ok = parseTime(raw)
	case *float64:
		*field, ok = parseNumber(raw)
	case *int:
		var n float64
		n, ok = parseNumber(raw)
		*field = int(min(max(n, math.MinInt32), math.MaxInt32))
	case *[]json.RawMessage:
		if ok = json.Unmarshal(raw, field) == nil; !ok {
			*field, ok = []json.RawMessage{raw}, true
		}
	default:
		if ok = json.Unmarshal(raw, field) == nil; !ok {
			to.SetZero()
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

// rest is what is left, with what is damaged under its name.
func (o *object) rest() raws { return union(o.left, o.damaged) }

// clamp keeps a number within its range.
func (o *object) clamp(name string, v *float64, low, high float64) {
	if *v < low || *v > high {
		o.damage(name)
		*v = min(max(*v, low), high)
	}
}

// name takes a text back that does not satisfy ok.
func name[T ~string](o *object, field string, v *T, ok func(string) bool) {
	if *v != "" && !ok(string(*v)) {
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
	if math.IsNaN(v) || err != nil && !math.IsInf(v, 0) {
		return 0, false
	}
	return v, true
}

// layouts are the ways in which programs write dates. Those whose order of day
// and month cannot be told are not among them.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999",
	"2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly, "2006/01/02",
	time.RFC1123, time.RFC1123Z, time.RFC850, time.ANSIC, time.UnixDate, "Mon Jan 02 2006 15:04:05 GMT-0700",
	"January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006",
}

// parseTime reads a date: a text in one of the layouts, or a number of seconds or
// milliseconds since 1970.
func parseTime(raw json.RawMessage) (time.Time, bool) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		s, _, _ = strings.Cut(strings.TrimSpace(s), " (") // the name of the zone, as browsers write it
		for _, layout := range layouts {
			if t, err := time.Parse(layout, s); err == nil && goodYear(t.UTC()) && !t.IsZero() {
				return keptTime(t), true
			}
		}
		return time.Time{}, false
	}
	var n float64
	if json.Unmarshal(raw, &n) != nil || n <= 0 || n >= 253402300800000 { // the year 10000, in milliseconds
		return time.Time{}, false
	}
	if n < 1e11 { // seconds: as milliseconds it would be before 1974
		n *= 1000
	}
	return keptTime(time.UnixMilli(int64(n))), true
}

// plain returns the text of a value: a string as it is, anything else as JSON.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(compact(raw))
}

// compact returns JSON as Marshal writes it.
func compact(raw json.RawMessage) json.RawMessage {
	out, err := json.Marshal(raw)
	if err != nil {
		return raw
	}
	return out
}

// scrub makes the texts of a struct valid, and takes secrets out of them.
func scrub(san *redact.Sanitizer, v any) { scrubValue(san, reflect.ValueOf(v).Elem()) }

func scrubValue(san *redact.Sanitizer, v reflect.Value) {
	switch field := v.Addr().Interface().(type) {
	case *raws:
		*field = cleanExtra(san, *field)
		return
	case *time.Time, *json.RawMessage:
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(cleanBy(san, v.String()))
	case reflect.Struct:
		for i := range v.NumField() {
			scrubValue(san, v.Field(i))
		}
	case reflect.Slice:
		if v.Len() == 0 {
			return
		}
		v.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v)) // the caller's stays as it is
		for i := range v.Len() {
			scrubValue(san, v.Index(i))
		}
	case reflect.Map:
		if v.Len() == 0 {
			return
		}
		out := reflect.MakeMap(v.Type())
		for _, k := range v.MapKeys() {
			out.SetMapIndex(reflect.ValueOf(cleanBy(san, k.String())).Convert(v.Type().Key()), v.MapIndex(k))
		}
		v.Set(out)
	}
}

// cleanExtra takes secrets out of fields that are kept as they came.
func cleanExtra(san *redact.Sanitizer, in raws) raws {
	if len(in) == 0 {
		return nil
	}
	out := make(raws, len(in))
	for name, raw := range in {
		// With its name, which may say that it is one.
		wrapped, err := json.Marshal(raws{name: raw})
		if err != nil { // not JSON: kept as a text
			out[cleanBy(san, name)] = slices.Clone(san.JSON(raw))
			continue
		}
		var clean raws
		if err := json.Unmarshal(san.JSON(wrapped), &clean); err != nil {
			panic(err) // the sanitizer keeps JSON what it is
		}
		maps.Copy(out, clean)
	}
	return out
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
