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

	"github.com/arc-learn/arc/internal/guard"
)

// schema is a JSON Schema that values are held to.
type schema struct{ compiled *jsonschema.Schema }

// newSchema compiles a schema. What it refers to must stand in it: nothing is loaded.
func newSchema(text json.RawMessage) (*schema, error) {
	const here = "schema:///" // a relative one is told with the host's folder
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
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

// check returns an error that says what is wrong with a value and where, by JSON
// pointers. No value is null.
func (s *schema) check(value json.RawMessage) error {
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
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
	return errors.New(strings.Join(wrong, "; "))
}

// Schema returns a gate that passes results whose Output satisfies a JSON Schema
// (draft 2020-12 unless it names another). Its complaint says what is wrong, and where. The
// error says what is wrong with the schema.
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
