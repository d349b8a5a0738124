// Package schema holds JSON that comes from models and hosts to a JSON Schema, and says in a sentence what is wrong
// with it.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Schema is a compiled JSON Schema. A nil Schema accepts every JSON value.
type Schema struct{ compiled *jsonschema.Schema }

// Compile reads a JSON Schema (draft 2020-12 unless it says otherwise). References to other documents are errors.
// Without a schema, it returns nil.
func Compile(raw json.RawMessage) (*Schema, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if err := bounded(raw); err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("schema is no JSON: %w", err)
	}
	const at = "schema:///" // a relative one would be told with the folder of the process
	c := jsonschema.NewCompiler()
	c.UseLoader(nothing{})
	if err := c.AddResource(at, doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(at)
	if err != nil {
		return nil, err
	}
	return &Schema{compiled}, nil
}

// nothing loads no documents: a schema of a stranger must not open files.
type nothing struct{}

func (nothing) Load(url string) (any, error) {
	return nil, errors.New("no reference to other documents")
}

// Check reports how raw differs from the schema, or that it is no JSON: "amount: got string, want number". More than
// maxDepth levels are refused. The time it takes is that of the schema: one whose references double at each level
// never ends.
func (s *Schema) Check(raw json.RawMessage) error {
	if err := bounded(raw); err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("no JSON: %w", err)
	}
	if s == nil {
		return nil
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](s.compiled.Validate(v))
	if !ok {
		return nil
	}
	var all []string
	collect(invalid, &all)
	if len(all) > maxFlaws {
		all = append(all[:maxFlaws], "…")
	}
	return errors.New(strings.Join(all, "; "))
}

// The library's time goes with a power of the levels of objects and arrays, and with the value of an exponent, at
// some of which it panics.
const (
	maxDepth    = 128
	maxExponent = 3 // digits: what is larger is no float64 either
)

// bounded reports whether raw has more levels, or an exponent of more digits.
func bounded(raw json.RawMessage) error {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("no JSON of at most %d levels", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		case (c == 'e' || c == 'E') && i > 0 && '0' <= raw[i-1] && raw[i-1] <= '9':
			exponent := bytes.TrimLeft(raw[i+1:], "+-")
			if len(exponent)-len(bytes.TrimLeft(exponent, "0123456789")) > maxExponent {
				return fmt.Errorf("no JSON with exponents of at most %d digits", maxExponent)
			}
		}
	}
	return nil
}

// maxFlaws bounds how many flaws an error names: a model mends the first ones, and is told of the rest then.
const maxFlaws = 8

// collect appends the flaws that have no further cause.
func collect(e *jsonschema.ValidationError, all *[]string) {
	if len(e.Causes) > 0 {
		for _, c := range e.Causes {
			if len(*all) <= maxFlaws {
				collect(c, all)
			}
		}
		return
	}
	text := e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	if len(e.InstanceLocation) > 0 {
		text = strings.Join(e.InstanceLocation, ".") + ": " + text
	}
	*all = append(*all, text)
}

// Canonical returns raw in the one form that equal values have: members in order, no space, numbers without an exponent
// and needless zeros, and of a member that is named twice the last, so that whoever reads it reads the same. No text
// at all counts as {}.
func Canonical(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return json.RawMessage("{}"), nil
	}
	if err := bounded(raw); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one JSON value")
	}
	return Marshal(canonical(v))
}

// maxDigits bounds the numbers that Canonical spells anew, which are those of a float64.
const maxDigits = 400

func canonical(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			v[name] = canonical(e)
		}
	case []any:
		for i, e := range v {
			v[i] = canonical(e)
		}
	case json.Number:
		if n, ok := new(big.Rat).SetString(string(v)); ok && len(v) <= maxDigits {
			digits, _ := n.FloatPrec() // exact, as the number is decimal
			if plain := n.FloatString(digits); len(plain) <= maxDigits {
				return json.Number(plain)
			}
		}
	}
	return v
}

// Marshal is json.Marshal that leaves <, > and & as they are: what is shown to models and programs.
func Marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
