package identity

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"time"
)

// fields are those of a JSON object that is being read. Each reader takes one
// out; what is left is unknown, and what could not be read is damaged.
type fields struct {
	left    map[string]json.RawMessage
	damaged map[string]json.RawMessage
}

// open reads an object; anything else is one without fields, and false.
func open(raw json.RawMessage) (*fields, bool) {
	f := &fields{}
	if json.Unmarshal(raw, &f.left) != nil || f.left == nil {
		return &fields{left: map[string]json.RawMessage{}}, false
	}
	return f, true
}

// take returns a field and removes it. null counts as none.
func (f *fields) take(name string) (json.RawMessage, bool) {
	raw, ok := f.left[name]
	delete(f.left, name)
	return raw, ok && !bytes.Equal(bytes.TrimSpace(raw), []byte("null"))
}

// damage keeps the raw value of a field that could not be read.
func (f *fields) damage(name string, raw json.RawMessage) {
	if f.damaged == nil {
		f.damaged = map[string]json.RawMessage{}
	}
	if _, taken := f.damaged[name]; !taken {
		f.damaged[name] = raw
	}
}

// into reads a field into v, which stays as it is if that fails.
func (f *fields) into(name string, v any) bool {
	raw, ok := f.take(name)
	if !ok {
		return false
	}
	if err := json.Unmarshal(raw, v); err != nil {
		f.damage(name, raw)
		return false
	}
	return true
}

func (f *fields) text(name string) string {
	var s string
	if !f.into(name, &s) {
		return ""
	}
	return s
}

// name reads a text that has to satisfy ok.
func (f *fields) name(name string, ok func(string) bool) string {
	raw := f.left[name]
	s := f.text(name)
	if s != "" && !ok(s) {
		f.damage(name, raw)
		return ""
	}
	return s
}

// number reads a number from low to high; one that is beyond is clamped, and
// its raw value kept. A number in a string is a number.
func (f *fields) number(name string, low, high float64) (float64, bool) {
	raw, ok := f.take(name)
	if !ok {
		return 0, false
	}
	var n json.Number
	var v float64
	err := json.Unmarshal(raw, &n) // takes a string that holds a number, too
	if err == nil {
		v, err = n.Float64()
	}
	if v < low || v > high || err != nil || math.IsNaN(v) {
		f.damage(name, raw)
	}
	if math.IsNaN(v) || err != nil && !math.IsInf(v, 0) {
		return 0, false
	}
	return min(max(v, low), high), true
}

// layouts are the ways in which programs write dates. Those whose order of day
// and month nobody can tell are not among them.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999",
	"2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly, "2006/01/02",
	time.RFC1123, time.RFC1123Z, time.RFC850, time.ANSIC, time.UnixDate, "Mon Jan 02 2006 15:04:05 GMT-0700",
	"January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006",
}

// time reads a date: a text in one of the layouts, or a number of seconds or
// milliseconds since 1970. One that it cannot read is zero, and damaged.
func (f *fields) time(name string) time.Time {
	raw, ok := f.take(name)
	if !ok {
		return time.Time{}
	}
	t, ok := parseTime(raw)
	if !ok {
		f.damage(name, raw)
	}
	return t
}

// until is time for what has happened: a date after now is damaged too.
func (f *fields) until(name string, now time.Time) time.Time {
	raw := f.left[name]
	t := f.time(name)
	if t.After(now) {
		f.damage(name, raw)
		return time.Time{}
	}
	return t
}

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
	if n >= 1e11 { // milliseconds: as seconds it would be after the year 5000
		return keptTime(time.UnixMilli(int64(n))), true
	}
	return keptTime(time.UnixMilli(int64(n * 1000))), true
}

// list reads an array. A single value is an array of one.
func (f *fields) list(name string) []json.RawMessage {
	raw, ok := f.take(name)
	if !ok {
		return nil
	}
	var out []json.RawMessage
	if json.Unmarshal(raw, &out) != nil {
		out = []json.RawMessage{raw}
	}
	return out
}

// plain returns the text of a value: a string as it is, anything else as JSON.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
