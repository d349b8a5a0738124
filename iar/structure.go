package iar

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Limits of a reflection as JSON.
const (
	maxBytes = 1 << 20
	maxDepth = 64
)

var fields = [...]string{"status", "confidence", "summary", "potential_issues", "alignment_check"}

// Structure checks a reflection as it arrived, as JSON; see [Validator.Parse].
func (v *Validator) Structure(raw []byte) Result {
	_, res := v.Parse(raw)
	return res
}

// Parse checks a reflection as it arrived and returns it. It must be one JSON
// object of at most 1 MiB, nested no deeper than 64, with each of the five
// fields once, under its exact name; a field in two spellings that differ in
// case is a duplicate, null is a missing field, other fields are ignored. The
// confidence and each alignment is a number in [0,1]; an integer is a number,
// a boolean or a string is not. Issues are strings; a number or boolean among
// them is taken as its text. An empty summary, no issues and no alignment are
// allowed, and so is a byte order mark in front.
//
// If the result is not valid, the reflection holds what could be read.
func (v *Validator) Parse(raw []byte) (Reflection, Result) {
	var r Reflection
	var res Result
	if found, ok := res.split(raw); ok {
		for i, name := range fields {
			res.read(&r, name, found[i])
		}
	}
	res.finish(&r, r.alignment(nil))
	return r, res
}

// split finds the values of the fields.
func (r *Result) split(raw []byte) (found [len(fields)]json.RawMessage, ok bool) {
	if len(raw) > maxBytes {
		r.add(TooLarge, "", "%d bytes, more than %d", len(raw), maxBytes)
		return found, false
	}
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if depth(raw) > maxDepth {
		r.add(TooDeep, "", "nested deeper than %d", maxDepth)
		return found, false
	}
	raw = bytes.Trim(raw, " \t\r\n")
	if !json.Valid(raw) || raw[0] != '{' {
		r.add(Malformed, "", "not one JSON object")
		return found, false
	}
	counts := [len(fields)]int{}
	members(raw, func(key string, value json.RawMessage) {
		for i, name := range fields {
			if !strings.EqualFold(key, name) {
				continue
			}
			counts[i]++
			if key == name {
				found[i] = value
			}
		}
	})
	for i, n := range counts {
		if n > 1 {
			r.add(Duplicate, fields[i], "duplicate field: %s", fields[i])
		}
	}
	return found, true
}

// depth is how deep the brackets of raw nest, strings left out.
func depth(raw []byte) (deepest int) {
	d := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			d++
			deepest = max(deepest, d)
		case '}', ']':
			d--
		case '"':
			i = stringEnd(raw, i) - 1
		}
	}
	return deepest
}

// stringEnd returns the end of the string literal that begins at i.
func stringEnd(raw []byte, i int) int {
	for i++; i < len(raw) && raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(raw))
}

// valueEnd returns the end of the value of valid JSON that begins at i.
func valueEnd(raw []byte, i int) int {
	for d := 0; i < len(raw); {
		switch raw[i] {
		case '{', '[':
			d++
			i++
		case '}', ']':
			d--
			i++
		case '"':
			i = stringEnd(raw, i)
		default:
			for i++; i < len(raw) && strings.IndexByte("{}[]\",: \t\r\n", raw[i]) < 0; i++ {
			}
		}
		if d == 0 {
			break
		}
	}
	return i
}

// items calls fn for each value inside an object or array of valid JSON, keys
// included.
func items(raw []byte, fn func(value json.RawMessage)) {
	for i := 1; i < len(raw)-1; {
		if strings.IndexByte(",: \t\r\n", raw[i]) >= 0 {
			i++
			continue
		}
		end := valueEnd(raw, i)
		fn(raw[i:end])
		i = end
	}
}

// members calls fn for each member of an object of valid JSON, in its order.
func members(object []byte, fn func(key string, value json.RawMessage)) {
	key, atKey := "", false
	items(object, func(value json.RawMessage) {
		if atKey = !atKey; atKey {
			key = readString(value)
		} else {
			fn(key, value)
		}
	})
}

// read puts the value of a field into ref, or says why it cannot.
func (r *Result) read(ref *Reflection, name string, value json.RawMessage) {
	missing := value == nil || value[0] == 'n'
	if missing {
		r.add(Missing, name, "missing required field: %s", name)
	}
	switch name {
	case "status":
		if !missing && value[0] != '"' {
			r.wrongType(name, "a string")
		} else if !missing {
			ref.Status = Status(readString(value))
		}
		if value != nil && !ref.Status.Valid() {
			r.add(BadValue, name, "invalid status %.64q", string(ref.Status))
		}
	case "confidence":
		if missing {
			return
		}
		c, ok := readNumber(value)
		if !ok {
			r.wrongType(name, "a number")
		} else if ref.Confidence = c; !inUnit(c) {
			r.add(BadValue, name, "confidence %.32s outside [0,1]", value)
		}
	case "summary":
		if !missing && value[0] != '"' {
			r.wrongType(name, "a string")
		} else if !missing {
			ref.Summary = readString(value)
		}
	case "potential_issues":
		if !missing {
			r.readIssues(ref, value)
		}
	case "alignment_check":
		if !missing {
			r.readAlignment(ref, value)
		}
	}
}

func (r *Result) wrongType(name, want string) {
	r.add(WrongType, name, "invalid type for field %s: want %s", name, want)
}

func (r *Result) readIssues(ref *Reflection, value json.RawMessage) {
	const name, want = "potential_issues", "an array of strings"
	if value[0] != '[' {
		r.wrongType(name, want)
		return
	}
	ref.PotentialIssues = []string{}
	bad := false
	items(value, func(item json.RawMessage) {
		switch item[0] {
		case '"':
			ref.PotentialIssues = append(ref.PotentialIssues, readString(item))
		case '{', '[', 'n':
			bad = true
		default:
			ref.PotentialIssues = append(ref.PotentialIssues, string(item))
		}
	})
	if bad {
		r.wrongType(name, want)
	}
}

func (r *Result) readAlignment(ref *Reflection, value json.RawMessage) {
	const name = "alignment_check"
	if value[0] != '{' {
		r.wrongType(name, "an object of numbers")
		return
	}
	ref.AlignmentCheck = map[string]float64{}
	members(value, func(key string, value json.RawMessage) {
		a, ok := readNumber(value)
		switch _, again := ref.AlignmentCheck[key]; {
		case !ok:
			r.wrongType(name, "an object of numbers")
		case again:
			r.add(Duplicate, name, "duplicate alignment: %.64q", key)
		default:
			ref.AlignmentCheck[key] = a
			if !inUnit(a) {
				r.add(BadValue, name, "alignment %.64q is %.32s, outside [0,1]", key, value)
			}
		}
	})
}

// readString returns what a valid string literal stands for; what is not UTF-8
// in it becomes U+FFFD.
func readString(lit json.RawMessage) (s string) {
	if inner := lit[1 : len(lit)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return strings.ToValidUTF8(string(inner), "\uFFFD")
	}
	return unescape(lit)
}

func unescape(lit json.RawMessage) (s string) {
	_ = json.Unmarshal(lit, &s) // the literal was found valid: no error is left
	return s
}

// readNumber returns infinity for a number that is too large for a float64, and
// 0 for -0.
func readNumber(value json.RawMessage) (float64, bool) {
	if c := value[0]; c != '-' && (c < '0' || c > '9') {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(value), 64)
	if err != nil && v == 0 {
		return 0, false
	}
	if v == 0 {
		v = 0 // also for -0
	}
	return v, true
}
