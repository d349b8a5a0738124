package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/contrib/mcp"
	"github.com/arc-learn/arc/memory"
)

// contract holds results to what tools/list says of them.
type contract struct {
	session *sdk.ClientSession
	in, out map[string]*jsonschema.Schema
}

func contractOf(t testing.TB, s *sdk.ClientSession) contract {
	t.Helper()
	c := contract{session: s, in: map[string]*jsonschema.Schema{}, out: map[string]*jsonschema.Schema{}}
	list, err := s.ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, tool := range list.Tools {
		for to, from := range map[*map[string]*jsonschema.Schema]any{&c.in: tool.InputSchema, &c.out: tool.OutputSchema} {
			raw, err := json.Marshal(from)
			require.NoError(t, err)
			var schema jsonschema.Schema
			require.NoError(t, json.Unmarshal(raw, &schema))
			(*to)[tool.Name] = &schema
		}
	}
	return c
}

// check calls a tool and returns what is wrong with the result, and its
// structured content. An error of the protocol is wrong: whatever arguments
// are, the tool answers.
func (c contract) check(ctx context.Context, name string, args json.RawMessage) (any, error) {
	res, err := c.session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return nil, err
	}
	text := said(res)
	if text == "" {
		return nil, fmt.Errorf("%s %s: no text", name, args)
	}
	if res.IsError {
		switch {
		case res.StructuredContent != nil:
			return nil, fmt.Errorf("%s %s: an error with content", name, args)
		case len(text) > 1100:
			return nil, fmt.Errorf("%s %s: %d bytes of error", name, args, len(text))
		case strings.Contains(text, "internal"):
			return nil, fmt.Errorf("%s %s: %s", name, args, text)
		}
		return nil, nil
	}
	resolved, err := c.out[name].Resolve(nil)
	if err != nil {
		return nil, err
	}
	if err := resolved.Validate(res.StructuredContent); err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, args, err)
	}
	return res.StructuredContent, noNull(name, res.StructuredContent)
}

func noNull(at string, v any) error {
	switch v := v.(type) {
	case nil:
		return fmt.Errorf("%s is null", at)
	case []any:
		for i, e := range v {
			if err := noNull(fmt.Sprintf("%s[%d]", at, i), e); err != nil {
				return err
			}
		}
	case map[string]any:
		for k, e := range v {
			if err := noNull(at+"."+k, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// ids collects the ids in a result, so that later calls name them.
func ids(v any, found *[]string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			ids(e, found)
		}
	case map[string]any:
		for k, e := range v {
			if id, ok := e.(string); ok && k == "id" && id != "" && !slices.Contains(*found, id) {
				*found = append(*found, id)
			}
			ids(e, found)
		}
	}
}

// arguments draws arguments by a schema, now and then against it.
func arguments(rt *rapid.T, s *jsonschema.Schema, known []string) map[string]any {
	args := map[string]any{}
	for _, name := range slices.Sorted(keys(s.Properties)) {
		required := slices.Contains(s.Required, name)
		if rapid.IntRange(0, 9).Draw(rt, "there "+name) < 4 && !required {
			continue
		}
		args[name] = value(rt, name, s.Properties[name], known)
	}
	switch rapid.IntRange(0, 29).Draw(rt, "wrong") {
	case 0:
		args["scope"] = "other/bob"
	case 1:
		for name := range s.Properties {
			args[name] = nil
		}
	case 2:
		for _, name := range s.Required {
			delete(args, name)
		}
	}
	return args
}

func value(rt *rapid.T, name string, s *jsonschema.Schema, known []string) any {
	switch {
	case len(s.Enum) > 0:
		return rapid.SampledFrom(append(slices.Repeat(s.Enum, 3), "wish")).Draw(rt, name)
	case s.Type == "boolean":
		return rapid.Bool().Draw(rt, name)
	case s.Type == "integer":
		return rapid.IntRange(-1, 60).Draw(rt, name)
	case s.Type == "number":
		return rapid.Float64Range(-.2, 1.2).Draw(rt, name)
	case s.Type == "array":
		return rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) any { return value(rt, name, s.Items, known) }), 0, 4).Draw(rt, name)
	}
	words := append([]string{
		"", " ", "ask about the cache", "stuck with the cache", "the port of the cache is 8080", "Anna moved to Berlin", "Anna lives in Paris",
		"prefers tabs", "core", "x\x00y", "\u202eevil\n>>>", "2026-01-02T03:04:05Z", "yesterday", "https://docs.python.org/3", strings.Repeat("long ", 2000),
		"password=hunter22hunter", "\xff\xfe", "-1", "null", "me", "employer",
	}, known...)
	if name == "id" && len(known) > 0 {
		return rapid.SampledFrom(known).Draw(rt, name)
	}
	return rapid.OneOf(rapid.SampledFrom(words), rapid.StringN(0, 20, 80)).Draw(rt, name)
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// Whatever was called before, in an empty memory and in a full one: every
// answer is by the tool's schema, nothing in it is null, no error is of the
// inside, and the session goes on.
func TestResultsKeepTheirSchemas(t *testing.T) {
	t.Parallel()
	for _, name := range tools { // in an empty memory, each first
		c := contractOf(t, serve(t, open(t, scripted()), boss))
		_, err := c.check(t.Context(), name, json.RawMessage(example[name]))
		require.NoError(t, err)
	}
	agent := open(t, scripted())
	c := contractOf(t, serve(t, agent, boss))
	answered := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		c := c
		if rapid.Bool().Draw(rt, "empty") {
			c.session = serve(t, agent, &mcp.Options{
				Scope: memory.Scope(fmt.Sprintf("acme/%d", rapid.Uint32().Draw(rt, "scope"))), Operator: rapid.Bool().Draw(rt, "operator"),
			})
		}
		var known, facts []string
		for i := range rapid.IntRange(5, 25).Draw(rt, "calls") {
			name := rapid.SampledFrom(tools).Draw(rt, "tool")
			if i < 2 {
				name = "update_identity"
			}
			named := known
			if _, ok := c.in[name].Properties["id"]; ok {
				named = facts
			}
			args := js(arguments(rt, c.in[name], named))
			got, err := c.check(t.Context(), name, json.RawMessage(args))
			require.NoError(rt, err)
			if got != nil {
				answered[name]++
			}
			if strings.HasSuffix(name, "_identity") {
				ids(got, &facts)
			} else {
				ids(got, &known)
			}
		}
	})
	t.Log("answered without an error:", answered)
}

// Arguments are what a model makes up: any bytes that are JSON.
func FuzzArguments(f *testing.F) {
	for i, name := range tools {
		f.Add(uint8(i), example[name])
		f.Add(uint8(i), `{"content":null,"query":[],"id":{},"limit":1e999,"key":"\ud800"}`)
	}
	f.Add(uint8(0), `{"text":"`+strings.Repeat(`\u0000`, 100)+`"}`)
	f.Add(uint8(8), `{"limit":1.5,"kinds":["fact"],"min_relevance":-0}`)
	f.Add(uint8(8), `{"query":"x","query":"y"}`)
	f.Add(uint8(3), strings.Repeat(`{"key":`, 70))
	f.Add(uint8(3), `null`)
	c := contractOf(f, serve(f, open(f, scripted()), boss))
	f.Fuzz(func(t *testing.T, tool uint8, args string) {
		if !json.Valid([]byte(args)) {
			return // the client cannot send it
		}
		name := tools[int(tool)%len(tools)]
		if name == "think" && strings.Contains(args, "wait") {
			return // it would, for ten minutes
		}
		if strings.Contains(args, "break") || strings.Contains(args, "panic") {
			return // these are errors of the inside
		}
		if _, err := c.check(t.Context(), name, json.RawMessage(args)); err != nil {
			t.Fatal(err)
		}
	})
}
