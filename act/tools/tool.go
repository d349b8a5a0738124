// Package tools has an executor in which a model calls tools, durably: every answer of the model and every
// call of a tool is a step of the attempt, so an attempt that goes on after a crash or an approval asks for
// nothing and calls nothing that it has already.
//
// Begin with run in tools.go, which is the whole loop; plan.go says when two results are the same. One rule
// holds it together: what the model has seen is what a step has kept. So an attempt that goes on shows it the
// same again, to the letter, and its next answer is one to what really happened.
package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Tool is something that a model may call, under the conditions of an [act.Worker]. [Func] makes one of a Go
// function; the tools of an MCP server are made by contrib/mcp. In Input, OpenAPI's nullable says nothing.
type Tool struct {
	// Name, Description, Input (nil: any object), Mode, Blast, Irreversible, AskAbove, Secrets, and Timeout,
	// whose end is an error of Call; 0: that of the attempt
	act.Worker

	// Call makes the call, those of one answer concurrently. Inputs fit the schema; the result is JSON, of which
	// the model sees a string as it is. It sees an error, too, and may try again: of an Irreversible tool an
	// error says that nothing was done, so return one of class reason.Unavailable where that is not known.
	Call func(ctx context.Context, inputs json.RawMessage) (json.RawMessage, error)

	wrong error          // of Func
	input *schema.Schema // compiled, of a Tool that was checked
}

// Func returns a Tool that calls f. Its schema is made of In, a struct or a map: names by json tags, texts by
// jsonschema tags, required what has no omitempty. A type without one, such as a tree, is an error of the
// executor; one that reads JSON its own way (netip.Addr, ",string" in a tag) wants a Tool with an own Input.
func Func[In, Out any](name, description string, f func(context.Context, In) (Out, error)) Tool {
	t := Tool{Worker: act.Worker{Name: name, Description: description}}
	s, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
	}})
	if err == nil {
		plain(s)
		t.Input, err = json.Marshal(s)
	}
	if err == nil && s.Type != "object" {
		err = fmt.Errorf("its input is a %s; a model gives an object", s.Type)
	}
	t.wrong = err
	t.Call = func(ctx context.Context, inputs json.RawMessage) (json.RawMessage, error) {
		var in In
		if err := json.Unmarshal(inputs, &in); err != nil {
			return nil, err
		}
		out, err := f(ctx, in)
		if err != nil {
			return nil, err
		}
		return schema.Marshal(out)
	}
	return t
}

// plain gives each value of a schema one type, and a bare true words: not every provider takes a list of
// types, of which one is null, or a schema that is no object. What may be null may be left out, too.
func plain(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" }); len(s.Types) < 2 {
		s.Type, s.Types = cmp.Or(s.Type, strings.Join(s.Types, "")), nil
	}
	if reflect.DeepEqual(*s, jsonschema.Schema{}) {
		s.Description = "any JSON value"
	}
	for _, p := range s.Properties {
		plain(p)
	}
	plain(s.Items)
	if a := s.AdditionalProperties; a != nil && !reflect.DeepEqual(*a, jsonschema.Schema{}) {
		plain(a)
	}
}

// check returns the tools by name, what the model is told of them, and all that is wrong with them.
func check(ts []Tool) (byName map[string]*Tool, cards []reason.Tool, _ error) {
	byName = map[string]*Tool{}
	var wrong []error
	for _, t := range ts {
		if len(t.Input) == 0 {
			t.Input = json.RawMessage(`{"type":"object"}`)
		}
		input, err := schema.Compile(t.Input)
		t.input = input
		switch {
		case store.CheckID(t.Name) != nil || byName[t.Name] != nil:
			err = errors.New("its name is empty, too long, or another's")
		case t.wrong != nil:
			err = t.wrong
		case t.Call == nil:
			err = errors.New("nothing to call")
		case t.Mode.String() == "?", t.Blast.String() == "?":
			err = errors.New("there is no such mode or blast")
		case t.Executor != nil, len(t.Gates)+len(t.Skills)+len(t.Effects) > 0, t.Prior+t.Price != 0, t.ByName:
			err = errors.New("a tool has no Executor, Gates, Skills, Effects, Prior, Price or ByName")
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("tool %q: %w", t.Name, err))
		}
		byName[t.Name] = &t
		cards = append(cards, reason.Tool{Name: t.Name, Description: t.Description, Input: t.Input})
	}
	return byName, cards, errors.Join(wrong...)
}
