package iar

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Limits of a reflection as JSON.
const (
	maxBytes = 1 << 20
	maxDepth = 64
)

// Structure checks a reflection as it arrived, and returns it in
// Result.Reflection. It must be one JSON object of at most 1 MiB, nested no
// deeper than 64, with each of the five fields once, under its exact name:
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
	values := r.values(raw)
	for _, name := range fields {
		if values == nil {
			break
		}
		value, found := values[name]
		if !found || string(value) == "null" {
			r.refuse(name, "missing required field: %s", name)
		} else if want := r.read(name, value); want != "" {
			r.refuse(name, "invalid type for field %s: want %s", name, want)
		}
		if found {
			r.checkRange(name)
		}
	}
	r.conclude()
	return r
}

// values returns the values by name. It refuses what is no object, and
// duplicates among the five fields.
func (r *Result) values(raw []byte) map[string]json.RawMessage {
	raw = bytes.Trim(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case len(raw) > maxBytes:
		r.refuse("", "%d bytes, more than %d", len(raw), maxBytes)
		return nil
	case depth(raw) > maxDepth:
		r.refuse("", "nested deeper than %d", maxDepth)
		return nil
	case !json.Valid(raw) || raw[0] != '{':
		r.refuse("", "not one JSON object")
		return nil
	}
	values, seen := map[string]json.RawMessage{}, map[string]bool{}
	for _, m := range members(raw) {
		values[m.name] = m.value
		for _, name := range fields {
			if strings.EqualFold(m.name, name) {
				if seen[name] {
					r.refuse(name, "duplicate field: %s", name)
				}
				seen[name] = true
			}
		}
	}
	return values
}

// depth is how deep the brackets of raw nest, those in strings left out.
func depth(raw []byte) (deepest int) {
	open, quoted, escaped := 0, false, false
	for _, c := range raw {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{', c == '[':
			open++
			deepest = max(deepest, open)
		case c == '}', c == ']':
			open--
		}
	}
	return deepest
}

type member struct {
	name  string
	value json.RawMessage
}

// members returns the members of an object of valid JSON, in its order.
func members(object []byte) (ms []member) {
	d := json.NewDecoder(bytes.NewReader(object))
	_, err := d.Token() // the brace
	for err == nil && d.More() {
		var name json.Token
		var m member
		if name, err = d.Token(); err == nil {
			m.name, _ = name.(string) // as every name of a valid object
			err = d.Decode(&m.value)
		}
		ms = append(ms, m)
	}
	return ms // the object is valid: no error is left
}

// read puts the value of a field into the reflection. It returns what the
// field should be if the value has another type, else "".
func (r *Result) read(name string, value json.RawMessage) (want string) {
	ref, ok := &r.Reflection, true
	switch name {
	case "status":
		want, ok = "a string", json.Unmarshal(value, &ref.Status) == nil
	case "confidence":
		want = "a number"
		ref.Confidence, ok = number(value)
	case "summary":
		want, ok = "a string", json.Unmarshal(value, &ref.Summary) == nil
	case "potential_issues":
		want = "an array of strings"
		ref.PotentialIssues, ok = readIssues(value)
	case "alignment_check":
		want = "an object"
		if ok = value[0] == '{'; ok {
			ref.AlignmentCheck, ref.Aside = split(r.aspects(value))
		}
	}
	if ok {
		return ""
	}
	return want
}

// readIssues reads an array of strings, numbers and booleans.
func readIssues(value json.RawMessage) (out []string, ok bool) {
	var items []json.RawMessage
	ok = json.Unmarshal(value, &items) == nil
	out = []string{}
	for _, item := range items {
		text := string(item)
		switch item[0] {
		case '"':
			ok = json.Unmarshal(item, &text) == nil && ok
		case '{', '[', 'n':
			ok = false
			continue
		}
		out = append(out, text)
	}
	return out, ok
}

// aspects returns the members of an alignment_check, and refuses duplicates.
func (r *Result) aspects(object []byte) map[string]json.RawMessage {
	values := map[string]json.RawMessage{}
	for _, m := range members(object) {
		if _, again := values[m.name]; again {
			r.refuse("alignment_check", "duplicate alignment: %.64q", m.name)
			continue
		}
		values[m.name] = m.value
	}
	return values
}
