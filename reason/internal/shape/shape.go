// Package shape holds the answer of a model to a JSON Schema, and says in words that the
// model can act on what was found where, and what is wanted there. It is stricter than
// encoding/json, which takes keys that come twice, or in two cases, in silence.
package shape

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/text"
)

// Shape is what of a JSON Schema an answer is held to.
type Shape struct {
	Type        string // "", without an Enum: anything
	Enum        []string
	Description string
	Properties  map[string]*Shape
	Required    []string
	Items       *Shape
	Ref         string                `json:"$ref"` // to the one definition
	Defs        struct{ Task *Shape } `json:"$defs"`
}

// anything is the shape of what was not asked for.
var anything = &Shape{}

// String says what is wanted, in the words of a complaint.
func (s *Shape) String() string {
	words := slices.DeleteFunc(slices.Clone(s.Enum), func(w string) bool { return w == "" })
	switch {
	case len(words) > 0:
		quoted := fmt.Sprintf("%+q", words[:min(len(words), maxAmong)])
		quoted = strings.ReplaceAll(quoted[1:len(quoted)-1], `" "`, `", "`)
		if more := len(words) - maxAmong; more > 0 {
			quoted += fmt.Sprintf(", %d more", more)
		}
		return "one of " + quoted + ", to the letter"
	case s.Enum != nil:
		return "no such field"
	case s.Type == "object":
		return "an object with " + strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", ")
	case s.Type == "array":
		return "an array"
	case s.Type == "boolean":
		return "true or false"
	}
	return strings.TrimSuffix("a text: "+s.Description, ": ")
}

// property returns the property that equals a key in any case, "" if there is
// none.
func (s *Shape) property(key string) string {
	for known := range s.Properties {
		if fold(known) == fold(key) {
			return known
		}
	}
	return ""
}

// MaxNested is how deep the objects and arrays of an answer may be nested.
const MaxNested = 64

// maxFound bounds what a complaint quotes at one place, in bytes, maxWrong the number of
// places, maxAmong that of the words that are offered at one.
const (
	maxFound = 120
	maxWrong = 12
	maxAmong = 40
)

// reader reads valid JSON, holds it to a shape, and notes what is wrong at
// which place. It notes too what encoding/json takes silently: keys that come
// twice, or in two cases, and numbers that are too large.
type reader struct {
	text  string
	dec   *json.Decoder // of text, with UseNumber
	task  *Shape        // that references are to
	path  []string      // keys, and indices in brackets
	wrong []string
	more  int // complaints that are not in wrong
	deep  bool
}

// Check holds a valid JSON text to the shape. It returns what is wrong with it, at most 12
// complaints and how many more there are, and whether it is nested more than 64 deep: then
// the complaints say nothing.
func (s *Shape) Check(text string) (wrong []string, deep bool) {
	r := &reader{text: text, task: s.Defs.Task, dec: json.NewDecoder(strings.NewReader(text))}
	r.dec.UseNumber()
	r.value(s)
	if r.more > 0 {
		r.wrong = append(r.wrong, fmt.Sprintf("and %d more", r.more))
	}
	return r.wrong, r.deep
}

// token returns the next token. It cannot fail: the text is valid.
func (r *reader) token() json.Token {
	t, err := r.dec.Token()
	if err != nil {
		panic(err)
	}
	return t
}

// within runs f one step down.
func (r *reader) within(step string, f func()) {
	r.path = append(r.path, step)
	f()
	r.path = r.path[:len(r.path)-1]
}

// bad notes what was found at the place, and what is wanted there.
func (r *reader) bad(got, want string) {
	if len(r.wrong) == maxWrong {
		r.more++
		return
	}
	at := strings.ReplaceAll(strings.Join(r.path, "."), ".[", "[")
	if len(at) > 2*maxFound {
		at = at[:maxFound] + "…" + at[len(at)-maxFound:]
	}
	r.wrong = append(r.wrong, at+": found "+got+"; wanted "+want)
}

// value reads the next value and reports whether it says anything: null, a
// blank text and an object in which nothing is filled in count as left out.
func (r *reader) value(s *Shape) (says bool) {
	r.deep = r.deep || len(r.path) > MaxNested
	start := r.dec.InputOffset()
	ok, said := s.Type == "" && s.Enum == nil, ""
	switch t := r.token().(type) {
	case nil:
		return false
	case string:
		ok, said, says = ok || s.Type == "string" || t == "" || slices.Contains(s.Enum, t), t, fence.Line(t) != ""
	case json.Number:
		if _, err := t.Float64(); err != nil {
			r.bad(Quote(t.String()), "a number that can be held")
		}
		says = true
	case json.Delim:
		if t == '{' {
			ok = ok || s.Type == "object"
			says = r.object(s, ok)
		} else {
			ok = ok || s.Type == "array"
			says = r.array(s, ok)
		}
	default:
		ok, says = ok || s.Type == "boolean", true
	}
	if !ok {
		if said == "" {
			said = strings.TrimLeft(r.text[start:r.dec.InputOffset()], ":, \t\r\n")
		}
		r.bad(Quote(said), s.String())
	}
	return says || !ok
}

// array reads an array, each element by the shape of the elements if an array
// is wanted here. An element that says nothing is wrong.
func (r *reader) array(s *Shape, wanted bool) bool {
	items := s.Items
	switch {
	case !wanted || items == nil:
		items = anything
	case items.Ref != "":
		items = r.task
	}
	n := 0
	for ; r.dec.More(); n++ {
		r.within("["+strconv.Itoa(n)+"]", func() {
			if !r.value(items) && items != anything {
				r.bad("nothing", items.String())
			}
		})
	}
	r.token() // the bracket that closes it
	return n > 0
}

// object reads an object. The answer itself may lack what is required, and have
// what was not asked for: both are harmless there.
func (r *reader) object(s *Shape, wanted bool) bool {
	root := len(r.path) == 0
	seen := make(map[string]string)
	var given []string
	for r.dec.More() {
		k := r.token().(string)
		r.within(keyOf(k), func() {
			f := s.Properties[k]
			if f == nil {
				f = anything
			}
			if r.value(f) {
				given = append(given, k)
			}
			switch before, again := seen[fold(k)]; {
			case again && before == k:
				r.bad("it twice", "each key once")
			case f != anything:
			case again && s.property(k) == "":
				r.bad("it besides "+keyOf(before), "each key once")
			case !wanted:
			case s.property(k) != "":
				r.bad("a field "+Quote(k), "it written "+strconv.Quote(s.property(k)))
			case !root && s.Properties != nil:
				r.bad("a field "+Quote(k), "no such field")
			}
			seen[fold(k)] = k
		})
	}
	r.token() // the brace that closes it
	for _, k := range s.Required {
		if wanted && !root && len(given) > 0 && !slices.Contains(given, k) {
			r.within(k, func() { r.bad("nothing", s.Properties[k].String()) })
		}
	}
	return len(given) > 0
}

// keyOf is a key as it is written in a path.
func keyOf(k string) string {
	odd := func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	}
	if k != "" && len(k) <= maxFound && !strings.ContainsFunc(k, odd) {
		return k
	}
	return Quote(k)
}

// fold maps keys that differ only in case to one text, as lenient decoders do.
func fold(k string) string { return strings.ToUpper(strings.ToLower(k)) }

// Quote quotes what was found, escaped and bounded.
func Quote(s string) string {
	if short := text.Cut(s, maxFound); short != s {
		return strconv.QuoteToASCII(short) + "…"
	}
	return strconv.QuoteToASCII(s)
}
