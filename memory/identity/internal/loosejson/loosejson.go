// Package loosejson reads the JSON of other programs field by field: what it cannot take is kept
// as it came, and so is what it does not know.
package loosejson

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"strings"
	"time"
)

// Fields are fields of an object as they came.
type Fields = map[string]json.RawMessage

// Object is a JSON object that was read: Given are all of its fields, Left those that
// were not known, Damaged those that could not be taken as they are.
type Object struct{ Given, Left, Damaged Fields }

// FieldsOf are the fields of an object, none of what is no object.
func FieldsOf(raw json.RawMessage) (out Fields) {
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// Read fills v, a pointer to a struct with names of JSON, field by field, those of embedded
// structs too; anything but
// an object fills none, and false. A field that it cannot take is damaged, and stays as it
// was. null counts as none, a single value as an array of one, a number in a string as a
// number.
func Read(raw json.RawMessage, v any) (Object, bool) {
	o := Object{Given: FieldsOf(raw), Left: Fields{}, Damaged: Fields{}}
	maps.Copy(o.Left, o.Given)
	o.readInto(reflect.ValueOf(v).Elem())
	return o, o.Given != nil
}

func (o *Object) readInto(to reflect.Value) {
	for i := range to.NumField() {
		name, _, _ := strings.Cut(to.Type().Field(i).Tag.Get("json"), ",")
		switch value := o.Left[name]; {
		case to.Type().Field(i).Anonymous:
			o.readInto(to.Field(i))
		case name == "extra":
		case value != nil && string(value) != "null" && !take(value, to.Field(i).Addr().Interface()):
			o.Damage(name)
			fallthrough
		default:
			delete(o.Left, name)
		}
	}
}

// Rest returns what is not known, and what is damaged under its name behind "damaged.".
func (o *Object) Rest() Fields {
	out := maps.Clone(o.Left)
	for name, raw := range o.Damaged {
		out["damaged."+name] = raw
	}
	return out
}

// take sets a field, and reports whether the value is one for it.
func take(raw json.RawMessage, to any) (ok bool) {
	switch field := to.(type) {
	case *time.Time:
		*field, ok = Time(raw)
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

// Damage notes that the value of a field was not taken as it is.
func (o *Object) Damage(name string) {
	if raw, given := o.Given[name]; given && o.Damaged[name] == nil {
		o.Damaged[name] = raw
	}
}

// Clamp keeps a number within its range.
func (o *Object) Clamp(name string, v *float64, low, high float64) {
	if *v < low || *v > high {
		o.Damage(name)
		*v = min(max(*v, low), high)
	}
}

// Past takes a time back that is after another one.
func (o *Object) Past(name string, t *time.Time, now time.Time) {
	if t.After(now) {
		o.Damage(name)
		*t = time.Time{}
	}
}

// Expect takes a text back that does not satisfy ok.
func Expect[T ~string](o *Object, field string, v *T, ok func(T) bool) {
	if *v != "" && !ok(*v) {
		o.Damage(field)
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
	"2006-01-02 15:04:05.999999999", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04",
	time.DateOnly, "2006/01/02",
	time.RFC1123, time.RFC1123Z, time.RFC850, time.ANSIC, time.UnixDate, "Mon Jan 02 2006 15:04:05 GMT-0700",
	"January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006",
}

// kept is a time as exactly as it is kept.
func kept(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// Time reads a date: a text in one of the layouts, or a number of seconds or
// milliseconds since 1970.
func Time(raw json.RawMessage) (time.Time, bool) {
	var s string
	var n float64
	switch {
	case json.Unmarshal(raw, &s) == nil:
		s, _, _ = strings.Cut(strings.TrimSpace(s), " (") // the name of the zone, as browsers write it
		for _, layout := range layouts {
			t, err := time.Parse(layout, s)
			if t = kept(t); err == nil && 1 <= t.Year() && t.Year() <= 9999 && !t.IsZero() {
				return t, true
			}
		}
	case json.Unmarshal(raw, &n) == nil && n > 0 && n < 253402300800000: // the year 10000, in milliseconds
		if n < 1e11 { // seconds: as milliseconds it would be before 1974
			n *= 1000
		}
		return kept(time.UnixMilli(int64(n))), true
	}
	return time.Time{}, false
}

// Plain returns the text of a value: a string as it is, anything else as JSON.
func Plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// Union returns the fields of both, those of a where both have one.
func Union(a, b Fields) Fields {
	if len(b) == 0 {
		return a
	}
	out := maps.Clone(b)
	maps.Copy(out, a)
	return out
}

// With returns v, which JSON can hold, with more fields, except those that it has already.
func With(v any, more Fields) json.RawMessage {
	raw, _ := json.Marshal(v)
	raw, _ = json.Marshal(Union(FieldsOf(raw), more)) // in the order of names
	return raw
}

// Pluck takes a text out; anything else stays.
func Pluck(f Fields, name string) (s string) {
	if json.Unmarshal(f[name], &s) == nil {
		delete(f, name)
	}
	return s
}

// Elements are those of an array. A single value is an array of one, and null is none.
func Elements(raw json.RawMessage) (out []json.RawMessage) {
	if raw != nil && string(raw) != "null" && json.Unmarshal(raw, &out) != nil {
		return []json.RawMessage{raw}
	}
	return out
}
