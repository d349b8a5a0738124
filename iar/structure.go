package iar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// maxBytes bounds a reflection as JSON.
const maxBytes = 1 << 20

// fields are those of a reflection, in order: the JSON name, what the value
// should be, and how it is read. Read reports whether it is that.
var fields = [...]struct {
	name, want string
	read       func(r *Result, value json.RawMessage) bool
}{
	{"status", "a string", func(r *Result, value json.RawMessage) bool {
		return json.Unmarshal(value, &r.Reflection.Status) == nil
	}},
	{"confidence", "a number", func(r *Result, value json.RawMessage) (ok bool) {
		r.Reflection.Confidence, ok = number(value)
		return ok
	}},
	{"summary", "a string", func(r *Result, value json.RawMessage) bool {
		return json.Unmarshal(value, &r.Reflection.Summary) == nil
	}},
	{"potential_issues", "an array of strings", (*Result).readIssues},
	{"alignment_check", "an object", (*Result).readAlignment},
}

// Structure checks a reflection as it arrived, and returns it in
// Result.Reflection. It must be one JSON object of at most 1 MiB, with each of
// the five fields once, under its exact name:
//
//   - status is one of the four; summary is a string, maybe an empty one
//   - confidence is a number in [0,1]; an integer is a number
//   - potential_issues are strings; a number or boolean among them becomes text
//   - alignment_check is an object; a boolean in it is 0 or 1, a number lies in
//     [0,1], and any other value goes to Reflection.Aside and does not count
//
// A null field counts as missing, and one in two spellings that differ in case
// as a duplicate. Other fields and a byte order mark in front are ignored.
func (v *Validator) Structure(raw []byte) Result {
	var r Result
	if values, ok := r.values(raw); ok {
		for _, f := range fields {
			value, found := values[f.name]
			if !found || string(value) == "null" {
				r.refuse(f.name, "missing required field: %s", f.name)
			} else if !f.read(&r, value) {
				r.refuse(f.name, "invalid type for field %s: want %s", f.name, f.want)
			}
			if found {
				r.checkRange(f.name)
			}
		}
	}
	r.conclude()
	return r
}

// values returns the values by name. It refuses what is no object, and
// duplicates among the five fields.
func (r *Result) values(raw []byte) (values map[string]json.RawMessage, ok bool) {
	raw = bytes.Trim(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case len(raw) > maxBytes:
		r.refuse("", "%d bytes, more than %d", len(raw), maxBytes)
		return nil, false
	case !json.Valid(raw) || raw[0] != '{':
		r.refuse("", "not one JSON object")
		return nil, false
	}
	values, seen := map[string]json.RawMessage{}, map[string]bool{}
	for name, value := range members(raw) {
		values[name] = value
		for _, f := range fields {
			if strings.EqualFold(name, f.name) {
				if seen[f.name] {
					r.refuse(f.name, "duplicate field: %s", f.name)
				}
				seen[f.name] = true
			}
		}
	}
	return values, true
}

// members yields the members of an object of valid JSON, in its order.
func members(object []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		d := json.NewDecoder(bytes.NewReader(object))
		_, err := d.Token() // the brace
		for err == nil && d.More() {
			var name json.Token
			var value json.RawMessage
			name, err = d.Token()
			if err = errors.Join(err, d.Decode(&value)); !yield(fmt.Sprint(name), value) {
				return
			}
		}
	}
}

// readIssues reads an array of strings, numbers and booleans.
func (r *Result) readIssues(value json.RawMessage) (ok bool) {
	var items []json.RawMessage
	ok = json.Unmarshal(value, &items) == nil
	r.Reflection.PotentialIssues = []string{}
	for _, item := range items {
		text := string(item)
		switch item[0] {
		case '"':
			ok = json.Unmarshal(item, &text) == nil && ok
		case '{', '[', 'n':
			ok = false
			continue
		}
		r.Reflection.PotentialIssues = append(r.Reflection.PotentialIssues, text)
	}
	return ok
}

// readAlignment reads the members of an alignment_check, and refuses duplicates.
func (r *Result) readAlignment(value json.RawMessage) bool {
	if value[0] != '{' {
		return false
	}
	values := map[string]json.RawMessage{}
	for name, v := range members(value) {
		if _, again := values[name]; again {
			r.refuse("alignment_check", "duplicate alignment: %.64q", name)
			continue
		}
		values[name] = v
	}
	r.Reflection.AlignmentCheck, r.Reflection.Aside = split(values)
	return true
}
