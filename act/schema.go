package act

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/arc-learn/arc/internal/depth"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/store"
)

// maxDepth is how deep the objects and arrays of a schema, and of a value that is held to one, may
// be nested: the library's time goes with the cube of a schema's depth, and the length of its
// error with the square of a value's. maxWrong is how many places a complaint names.
const (
	maxDepth = 256
	maxWrong = 12
)

// shallow returns an error for JSON that is nested too deep.
func shallow(text json.RawMessage) error {
	if n := depth.Of(text); n > maxDepth {
		return &store.LimitError{Field: "depth", Limit: maxDepth, Got: n}
	}
	return nil
}

// schema is a JSON Schema that values are held to.
type schema struct{ compiled *jsonschema.Schema }

// newSchema compiles a schema. What it refers to must stand in it: nothing is loaded.
func newSchema(text json.RawMessage) (*schema, error) {
	const here = "schema:///" // a relative one is told with the host's folder
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = shallow(text)
	}
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource(here, doc); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	compiled, err := c.Compile(here)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return &schema{compiled}, nil
}

// once returns an error for a JSON value in which an object has a key twice: some readers take
// the first of the two, and the schema has seen the last.
func once(d *json.Decoder) error {
	t, err := d.Token()
	if open, ok := t.(json.Delim); ok && err == nil {
		for seen := (map[json.Token]bool{}); err == nil && d.More(); {
			if open == '{' {
				k, _ := d.Token()
				if seen[k] {
					return fmt.Errorf("the key %.70q comes twice", k)
				}
				seen[k] = true
			}
			err = once(d)
		}
		_, _ = d.Token() // the bracket that closes it
	}
	return err
}

// check returns an error that says what is wrong with a value and where, by JSON
// pointers. No value is null.
func (s *schema) check(value json.RawMessage) error {
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err == nil {
		err = shallow(value)
	}
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(value))
		d.UseNumber()
		err = once(d)
	}
	if err != nil {
		return err
	}
	// Foreign code, which panics at 1e9999999: a model may have written it.
	if p := guard.Call(func() { err = s.compiled.Validate(v) }); p != nil || err == nil {
		return p
	}
	_, lines, _ := strings.Cut(err.Error(), "\n") // the first names the schema
	var wrong []string
	for line := range strings.Lines(lines) {
		wrong = append(wrong, strings.TrimPrefix(strings.TrimSpace(line), "- "))
	}
	slices.Sort(wrong) // the library goes through maps
	if more := len(wrong) - maxWrong; more > 0 {
		wrong = append(wrong[:maxWrong], fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(wrong, "; "))
}

// Schema returns a gate that passes results whose Output satisfies a JSON Schema
// (draft 2020-12 unless it names another). Its complaint says what is wrong, and where. The
// error says what is wrong with the schema; it is a *store.LimitError where objects and arrays
// are nested deeper than 256, as no Output may be either.
func Schema(text json.RawMessage) (Gate, error) {
	s, err := newSchema(text)
	if err != nil {
		return nil, err
	}
	return Named("schema", GateFunc(func(_ context.Context, _ Work, r Result) (Verdict, error) {
		if err := s.check(r.Output); err != nil {
			return Verdict{Complaint: "the output does not satisfy its schema: " + err.Error()}, nil
		}
		return Verdict{Pass: true}, nil
	})), nil
}
