package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/schema"
)

func TestSchema(t *testing.T) {
	s, err := schema.Compile(json.RawMessage(`{"type":"object","additionalProperties":false,"required":["amount"],
		"properties":{"amount":{"type":"number","minimum":0},"to":{"type":"object","properties":{"iban":{"type":"string"}}},
			"skill":{"enum":[null]},"worker":{"enum":[null,"ann"]}}}`))
	require.NoError(t, err)
	for in, want := range map[string]string{
		`{"amount":5}`:                     "",
		`{"amount":"5"}`:                   "at '/amount': got string, want number",
		`{}`:                               "missing property 'amount'",
		`{"amount":5,"Amount":6}`:          "additional properties 'Amount' not allowed",
		`{"amount":5,"to":{"iban":7}}`:     "at '/to/iban': got number, want string",
		`{"amount":5`:                      "no JSON",
		`{"amount":5} {"amount":6}`:        "no JSON",
		strings.Repeat("[", 20_000):        "no JSON",
		`{"amount":1e99999999999999999}`:   "exponent",
		`{"amount":1E-9999}`:               "exponent",
		`{"amount":1.5e+300}`:              "",
		`{"amount":-1, "to": {"iban": 7}}`: "; ",
		`{"amount":5,"skill":""}`:          "at '/skill': value must be null", // whom it is told does not know Go
		`{"amount":5,"worker":"bo"}`:       "value must be one of null, 'ann'",
	} {
		err := s.Check(json.RawMessage(in))
		if want == "" {
			require.NoError(t, err, in)
			continue
		}
		require.ErrorContains(t, err, want, in)
	}
	many := "[" + strings.Repeat("1e999999,", 10_000) + "1]" // each took .2 s
	require.Error(t, s.Check(json.RawMessage(many)))
	for _, bad := range []string{`{"type":"thing"}`, `{"maximum":1e99999}`, `{`, `{"$ref":"file:///etc/passwd"}`, `{"$ref":"https://example.org/x"}`} {
		_, err := schema.Compile(json.RawMessage(bad))
		require.Error(t, err, bad)
	}
	require.NoError(t, (*schema.Schema)(nil).Check(json.RawMessage(`[]`)))
}

// References of a stranger's schema may multiply at each level of a value. No time would do for such.
func TestStepsAreBounded(t *testing.T) {
	object := strings.Repeat(`{"a":`, 30) + "1" + strings.Repeat("}", 30)
	array := strings.Repeat("[", 30) + "1" + strings.Repeat("]", 30)
	const a, n = `{"properties":{"a":{"$ref":"#/$defs/n"}}}`, `{"$ref":"#/$defs/n"}`
	for part, value := range map[string]string{
		`"allOf":[` + a + `,` + a + `]`:                                    object,
		`"properties":{"a":` + n + `},"patternProperties":{"a":` + n + `}`: object,
		`"type":"object","anyOf":[` + a + `,` + a + `]`:                    object,
		`"type":"object","oneOf":[` + a + `,` + a + `]`:                    object,
		`"type":"object","if":` + a + `,"else":` + a:                       object,
		`"properties":{"a":` + n + `},"dependentSchemas":{"a":` + a + `}`:  object,
		`"items":` + n + `,"contains":` + n:                                array,
		`"type":"array","items":` + n + `,"contains":` + n:                 array,
	} {
		for _, use := range []string{n, `{"not":` + n + `}`} {
			s, err := schema.Compile(json.RawMessage(`{"allOf":[` + use + `],"$defs":{"n":{` + part + `}}}`))
			require.NoError(t, err)
			require.ErrorContains(t, s.Check(json.RawMessage(value)), "too often", part)
			require.NotContains(t, fmt.Sprint(s.Check(json.RawMessage(`1`))), "too often", "the next one begins anew")
		}
	}
	s, err := schema.Compile(json.RawMessage(`{"items":{"anyOf":[{"type":"string"},{"type":"number"}]}}`))
	require.NoError(t, err)
	require.NoError(t, s.Check(json.RawMessage("["+strings.Repeat("1,", 200_000)+"1]")), "a long value has more of them")
	s, err = schema.Compile(json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#","format":"date"}`))
	require.NoError(t, err)
	require.NoError(t, s.Check(json.RawMessage(`"2026-11-30"`)))
	require.ErrorContains(t, s.Check(json.RawMessage(`"30.11."`)), "date", "formats are checked as before")
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		` { "b":1, "a": "<x>" } `: `{"a":"<x>","b":1}`,
		`{"a":1,"a":2}`:           `{"a":2}`,
		``:                        `{}`,
		`12345678901234567890123`: `12345678901234567890123`,
		`[12.0, 1.20e1, 12]`:      `[12,12,12]`,
		`[-0, 0.0, 1e-3, -2.50]`:  `[0,0,0.001,-2.5]`,
		`{"a":[{"b":1E2}]}`:       `{"a":[{"b":100}]}`,
		`0e400`:                   `0`,
		`9007199254740993.0`:      `9007199254740993`,
	} {
		got, err := schema.Canonical(json.RawMessage(in))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	for _, bad := range []string{` `, `{}{}`, `{`, strings.Repeat("[", 20_000)} {
		_, err := schema.Canonical(json.RawMessage(bad))
		require.Error(t, err)
	}
}

// Whatever a model writes, nothing panics, and what is canonical stays as it is.
func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"amount":1e999999999,"to":{"iban":[1,{"a":null}]}}`))
	f.Add([]byte("{\"a\":\"\\ud800<\xff\",\"a\":-0}"))
	s, err := schema.Compile(json.RawMessage(`{"type":"object","properties":{"amount":{"type":"number","minimum":0}}}`))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, raw []byte) {
		_ = s.Check(raw)
		once, err := schema.Canonical(raw)
		if err != nil {
			return
		}
		twice, err := schema.Canonical(once)
		require.NoError(t, err)
		require.Equal(t, string(once), string(twice))
	})
}
