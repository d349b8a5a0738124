// Package schema holds JSON of models and hosts to a JSON Schema, and says in a sentence what is wrong.
package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a compiled JSON Schema. A nil Schema accepts every JSON value.
type Schema struct {
	compiled *jsonschema.Schema
	mu       sync.Mutex
	steps    int // that are left to the Check under way; under mu
}

// Compile reads a JSON Schema (draft 2020-12 unless it says otherwise). References to other documents are
// errors. Without a schema, it returns nil.
func Compile(raw json.RawMessage) (*Schema, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	doc, err := Read(raw)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	const at = "schema:///" // a relative one would be told with the folder of the process
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // of no scheme: a schema of a stranger must not open files
	s := &Schema{}
	c.AssertVocabs()
	c.RegisterVocabulary(&jsonschema.Vocabulary{URL: at, Compile: s.count})
	if err = c.AddResource(at, doc); err == nil {
		s.compiled, err = c.Compile(at)
	}
	return s, err
}

// count has each use of a part of the schema count as a step. It does so in the place of the part's format,
// which is checked before what is below the part, so that all ends soon once no step is left.
func (s *Schema) count(ctx *jsonschema.CompilerContext, _ map[string]any) (jsonschema.SchemaExt, error) {
	part := ctx.Enqueue(nil)
	format := *cmp.Or(part.Format, &jsonschema.Format{Validate: func(any) error { return nil }})
	part.Format = &jsonschema.Format{Name: format.Name, Validate: func(v any) error {
		if s.steps--; s.steps < 0 {
			return errSteps
		}
		return format.Validate(v)
	}}
	return nil, nil
}

var errSteps = errors.New("schema: it refers to its parts too often to be checked")

// Check reports how raw differs from the schema, or that it is no JSON: "at '/amount': got string, want
// number". A schema whose references multiply at each level is an error, too.
func (s *Schema) Check(raw json.RawMessage) error {
	v, err := Read(raw)
	if err != nil || s == nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = stepsPerByte * (1024 + len(raw))
	err = s.compiled.Validate(v)
	switch {
	case s.steps < 0:
		return errSteps
	case err == nil:
		return nil
	}
	_, told, _ := strings.Cut(err.Error(), "\n") // below a headline, one flaw a line
	flaws := strings.Split(told, "\n")
	flaws = flaws[:min(len(flaws), maxFlaws)]
	for i, f := range flaws {
		flaws[i] = strings.ReplaceAll(strings.TrimLeft(f, " -"), "<nil>", "null") // as JSON has it
	}
	return errors.New(strings.Join(flaws, "; "))
}

// Canonical returns raw in the one form that equal values have: members in order, no space, numbers without
// an exponent and needless zeros, and of a member that is named twice the last, so that whoever reads it
// reads the same. No text at all counts as {}.
func Canonical(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return json.RawMessage("{}"), nil
	}
	v, err := Read(raw)
	if err != nil {
		return nil, err
	}
	return Marshal(v)
}

// What is deeper, or longer as a plain number, is refused or left as it is: the time that a value takes goes
// with a power of its levels, and with the value of an exponent. No float64 is longer.
const (
	maxDepth     = 128
	maxDigits    = 400
	stepsPerByte = 64
	maxFlaws     = 8 // of an error: a model mends the first ones, and is told of the rest then
)

// Read returns a JSON value with numbers as json.Number as [Canonical] spells them; nil for no text at all.
func Read(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("no JSON: %w", err)
	}
	return spell(v, 0)
}

func spell(v any, depth int) (_ any, err error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("no JSON of at most %d levels", maxDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			if v[name], err = spell(e, depth+1); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, e := range v {
			if v[i], err = spell(e, depth+1); err != nil {
				return nil, err
			}
		}
	case json.Number:
		_, exponent, has := strings.Cut(strings.ToLower(string(v)), "e")
		if e, err := strconv.Atoi(exponent); has && (err != nil || max(e, -e) > maxDigits) {
			return nil, fmt.Errorf("no JSON with exponents of at most %d", maxDigits)
		}
		if n, ok := new(big.Rat).SetString(string(v)); ok && len(v) <= maxDigits {
			digits, _ := n.FloatPrec() // exact, as the number is decimal
			if plain := n.FloatString(digits); len(plain) <= maxDigits {
				return json.Number(plain), nil
			}
		}
	}
	return v, nil
}

// Marshal is json.Marshal that leaves <, > and & as they are: what is shown to models and programs.
func Marshal(v any) (json.RawMessage, error) {
	raw, err := json.Marshal(v)
	if !bytes.Contains(raw, []byte(`\u`)) { // as of most, nothing is escaped for HTML
		return raw, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err = e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Words returns what a JSON string says, and other JSON as it is.
func Words(raw json.RawMessage) (text string) {
	if len(raw) > 0 && json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	return text
}

// TypeOf is the type of a value of [Read] that a parameter of a plan may have, else "".
func TypeOf(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case json.Number:
		return "number"
	case bool:
		return "bool"
	}
	return ""
}

// Rewrite returns a document below a path with f of each value that has no others in it, in the order of
// their paths, which are dotted: "customer.email", "lines.0.sku".
func Rewrite(path string, v any, f func(path string, v any) any) any {
	under := func(k string) string {
		if k == "" || strings.ContainsAny(k, `."`) {
			k = strconv.Quote(k)
		}
		return strings.TrimPrefix(path+"."+k, ".")
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out[k] = Rewrite(under(k), v[k], f)
		}
		if len(v) > 0 {
			return out
		}
	case []any:
		out := make([]any, len(v))
		for i, m := range v {
			out[i] = Rewrite(under(strconv.Itoa(i)), m, f)
		}
		if len(v) > 0 {
			return out
		}
	}
	return f(path, v)
}
