package iar

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxBytes bounds a reflection as JSON.
const maxBytes = 512 << 10

// Result is what a check of a reflection found.
type Result struct {
	Valid      bool       // the form is right; issues that are Advisory leave it valid
	Issues     []Issue    // in the order of the fields
	Confidence float64    // the reflection's own where it is a number in [0,1], else 0
	Resonance  float64    // see the function [Resonance]
	Reflection Reflection // what was checked; of JSON, what could be read
}

// Issue is one thing wrong with a reflection.
type Issue struct {
	Field string // its JSON name; "" for the whole
	Text  string // for a person
	// Advisory: the form is right, but the fields contradict one another or say nothing.
	Advisory bool
}

// The five fields, in the order in which they are checked.
var names = []string{"status", "confidence", "summary", "potential_issues", "alignment_check"}

// Structure reads a reflection and checks its form. It must be one JSON object of at most 512 KiB that has each of
// the five fields once, under its exact name:
//
//   - status is one of the four statuses, and summary a string, which may be empty
//   - confidence is a number in [0,1]; an integer is a number
//   - potential_issues is an array of strings; a number or boolean in it is read as its text
//   - alignment_check is an object whose numbers are in [0,1]; see [Reflection] for the other values
//
// A null field is missing. The same field in two spellings that differ in case is a duplicate. Other fields and a
// byte order mark are ignored.
func Structure(raw []byte) Result {
	var res Result
	for name, value := range res.members(raw) {
		switch {
		case value == nil || string(value) == "null":
			res.refuse(name, "missing required field: %s", name)
		default:
			if want := res.read(name, value); want != "" {
				res.refuse(name, "invalid type for field %s: want %s", name, want)
			}
		}
		if value != nil {
			res.checkRange(name)
		}
	}
	return res.concluded()
}

// members yields the five fields of an object in their order, with nil for one that is missing. It refuses
// duplicates, and yields nothing of what is no object.
func (res *Result) members(raw []byte) func(yield func(string, json.RawMessage) bool) {
	raw = bytes.TrimSpace(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")))
	if len(raw) > maxBytes {
		res.refuse("", "%d bytes, more than %d", len(raw), maxBytes)
		return func(func(string, json.RawMessage) bool) {}
	}
	if !json.Valid(raw) || raw[0] != '{' {
		res.refuse("", "not one JSON object")
		return func(func(string, json.RawMessage) bool) {}
	}
	values, seen := map[string]json.RawMessage{}, map[string]bool{}
	object(raw, func(name string, value json.RawMessage) {
		values[name] = value
		if folded := strings.ToLower(name); slices.Contains(names, folded) {
			if seen[folded] {
				res.refuse(folded, "duplicate field: %s", folded)
			}
			seen[folded] = true
		}
	})
	return func(yield func(string, json.RawMessage) bool) {
		for _, name := range names {
			if !yield(name, values[name]) {
				return
			}
		}
	}
}

// object calls f with each member of an object of valid JSON, in its order. A map would hide duplicates.
func object(raw []byte, f func(name string, value json.RawMessage)) {
	d := json.NewDecoder(bytes.NewReader(raw))
	_, err := d.Token() // the brace
	for err == nil && d.More() {
		var value json.RawMessage
		name, _ := d.Token()
		err = d.Decode(&value)
		f(fmt.Sprint(name), value)
	}
}

// read sets a field from its value, or says what the value should have been.
func (res *Result) read(name string, value json.RawMessage) (want string) {
	r, ok := &res.Reflection, true
	switch name {
	case "status":
		want, ok = "a string", json.Unmarshal(value, &r.Status) == nil
	case "confidence":
		want = "a number"
		r.Confidence, ok = number(value)
	case "summary":
		want, ok = "a string", json.Unmarshal(value, &r.Summary) == nil
	case "potential_issues":
		want = "an array of strings"
		r.PotentialIssues, ok = texts(value)
	case "alignment_check":
		if want, ok = "an object", value[0] == '{'; ok {
			values := map[string]json.RawMessage{}
			object(value, func(aspect string, v json.RawMessage) {
				if _, again := values[aspect]; again {
					res.refuse(name, "duplicate alignment: %.64q", aspect)
				}
				values[aspect] = v
			})
			r.setAlignment(values)
		}
	}
	if ok {
		return ""
	}
	return want
}

// texts reads an array of strings, numbers and booleans.
func texts(value json.RawMessage) (out []string, ok bool) {
	var items []json.RawMessage
	if json.Unmarshal(value, &items) != nil {
		return nil, false
	}
	out = make([]string, len(items))
	for i, item := range items {
		switch out[i] = string(item); item[0] {
		case '"':
			_ = json.Unmarshal(item, &out[i]) // a string of valid JSON
		case '{', '[', 'n':
			return nil, false
		}
	}
	return out, true
}

// Content checks the values of a reflection, and then whether it fits its task; "" where the task is unknown. Nil
// issues and alignment are empty ones. Three things are Advisory: a failure that claims full alignment, a success
// that claims no alignment at all, and a summary that only repeats the task.
func Content(r Reflection, task string) Result {
	res := Result{Reflection: r}
	for _, name := range names {
		res.checkRange(name)
	}
	if len(r.AlignmentCheck) > 0 {
		aligned := slices.Collect(maps.Values(r.AlignmentCheck))
		switch {
		case r.Status == Failure && slices.Min(aligned) == 1:
			res.advise("alignment_check", "a failure claims full alignment")
		case r.Status == Success && slices.Max(aligned) == 0:
			res.advise("alignment_check", "a success claims no alignment")
		}
	}
	if core := trimmed(task); core != "" && strings.EqualFold(core, trimmed(r.Summary)) {
		res.advise("summary", "the summary only repeats the task")
	}
	return res.concluded()
}

// trimmed is a sentence without the space and punctuation around it.
func trimmed(s string) string { return strings.Trim(s, " \t\r\n.!?:;\"'`") }

// checkRange refuses values of a field that are outside its range.
func (res *Result) checkRange(name string) {
	r := &res.Reflection
	switch name {
	case "status":
		switch r.Status {
		case Success, Failure, Warning, Skipped:
		default:
			res.refuse(name, "invalid status %.64q: want Success, Failure, Warning or Skipped", string(r.Status))
		}
	case "confidence":
		if !inUnit(r.Confidence) {
			res.refuse(name, "confidence %v outside [0,1]", r.Confidence)
		}
	case "alignment_check":
		if raw := r.Aside; len(raw) > 0 && (raw[0] != '{' || !json.Valid(raw)) {
			res.refuse(name, "what is kept aside is no JSON object")
		}
		for _, aspect := range slices.Sorted(maps.Keys(r.AlignmentCheck)) {
			if v := r.AlignmentCheck[aspect]; !inUnit(v) {
				res.refuse(name, "alignment %.64q is %v, outside [0,1]", aspect, v)
			}
		}
	}
}

func (res *Result) refuse(field, format string, args ...any) {
	res.Issues = append(res.Issues, Issue{Field: field, Text: fmt.Sprintf(format, args...)})
}

func (res *Result) advise(field, text string) {
	res.Issues = append(res.Issues, Issue{Field: field, Text: text, Advisory: true})
}

// concluded is res with what follows from the issues and the reflection.
func (res Result) concluded() Result {
	res.Valid = !slices.ContainsFunc(res.Issues, func(i Issue) bool { return !i.Advisory })
	if inUnit(res.Reflection.Confidence) {
		res.Confidence = res.Reflection.Confidence
	}
	res.Resonance = Resonance(res.Reflection)
	return res
}
