package reason_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/reasontest"
)

var way = json.RawMessage(`{"type":"object","properties":{"way":{"type":"string"}},"required":["way"],"additionalProperties":false}`)

type answered struct{ Way string }

func request() *reason.Request {
	return &reason.Request{Schema: way, Messages: []reason.Message{{Role: reason.RoleUser, Text: "Which way?"}}}
}

func TestAsk(t *testing.T) {
	const left = `{"way":"left"}`
	for _, c := range []struct{ said, wrong string }{
		{left, ""},
		{" \ufeff\n```json\n" + left + "\n```\n", ""},
		{"Here it is:\n```\n" + left + "```", ""},
		{"<think>I could " + `{"way":"right"}` + ", but</think>\n" + left, ""},
		{"[THINK]" + `{"way":"right"}` + "[/THINK]" + left, ""},
		{"<THINK>a</think> <think>" + `{"way":"right"}` + "</Think>" + left, ""},
		{"◁think▷" + `{"way":"right"}` + "◁/think▷" + left, ""},
		{"<think>a <think>" + `{"way":"right"}` + "</think> b</think>" + left, ""},
		{"<seed:think>" + `{"way":"right"}` + "</seed:think>" + left, ""},
		{"the template began the thought, " + `{"way":"right"}` + "\n</think>\n\n" + left, ""},
		{`{"way":"a <think> in </think> it"}`, ""},
		{"<think>I could " + `{"way":"right"}` + " but that is too harsh, so rather", "thought that never ends"},
		{"<think>a</think>", "nothing but thoughts"},
		{"[THINK] I could " + left, "thought that never ends"},
		{"<think>a<think>b</think>" + left, "thought that never ends"},
		{"", "no JSON object"},
		{"I will not.", "no JSON object"},
		{left + left, "something after"},
		{left + " but that is too harsh", "something after"},
		{"[" + left + "]", "something after"},
		{`{"way":"left`, "cut off"},
		{`{"way":7}`, "'/way': got number, want string"},
		{`{"way":"left","Way":"right"}`, "additional properties 'Way'"},
		{`{"way":"a","way":7}`, "want string"},
		{strings.Repeat(`{"way":`, 500) + "1" + strings.Repeat("}", 500), "levels"},
	} {
		// An answer that cannot be used is asked for again, once, with what was wrong.
		s := reasontest.NewScript(reasontest.Say(c.said), reasontest.Say(`{"way":"second"}`))
		got, usage, err := reason.Ask[answered](t.Context(), s, request(), nil)
		require.NoError(t, err, c.said)
		if c.wrong == "" {
			require.NotEqual(t, "second", got.Way, c.said)
			require.NotEqual(t, "right", got.Way, c.said)
			require.Equal(t, 1, usage.Calls)
			continue
		}
		require.Equal(t, "second", got.Way, c.said)
		require.Len(t, s.Requests(), 2)
		again := s.Requests()[1].Messages
		require.Len(t, again, 3)
		require.Contains(t, again[2].Text, c.wrong, c.said)

		s = reasontest.NewScript(reasontest.Say(c.said), reasontest.Say(c.said))
		_, usage, err = reason.Ask[answered](t.Context(), s, request(), nil)
		var e *reason.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, reason.Invalid, e.Class)
		if !strings.Contains(c.wrong, "thought") {
			require.Equal(t, 2, usage.Calls)
			require.Equal(t, usage, e.Usage)
		}
	}
}

func TestAskRefuses(t *testing.T) {
	refused := reasontest.NewScript(func(context.Context, *reason.Request) (*reason.Response, error) {
		return &reason.Response{Text: "I will not.", Stop: reason.StopFilter}, nil
	})
	_, _, err := reason.Ask[answered](t.Context(), refused, request(), nil)
	require.ErrorContains(t, err, "refuses to answer: I will not.")
	require.Len(t, refused.Requests(), 1, "a refusal is not asked for again")

	cut := reasontest.NewScript(func(context.Context, *reason.Request) (*reason.Response, error) {
		return &reason.Response{Text: `{"way":"left"}`, Stop: reason.StopLength}, nil
	}, reasontest.Say(`{"way":"right"}`))
	got, _, err := reason.Ask(t.Context(), cut, request(), func(a *answered) error {
		if a.Way == "left" {
			return errors.New("not left")
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, "right", got.Way)

	_, _, err = reason.Ask[answered](t.Context(), cut, &reason.Request{}, nil)
	require.ErrorContains(t, err, "no schema")
	limited := &reason.Error{Class: reason.RateLimited, Usage: &reason.Usage{Input: 3}}
	_, usage, err := reason.Ask[answered](t.Context(), reasontest.NewScript(reasontest.Say("no"), reasontest.Fail(limited)), request(), nil)
	var e *reason.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, reason.RateLimited, e.Class)
	require.Equal(t, 103, usage.Input)
	require.Equal(t, 3, limited.Usage.Input, "the host's error is not changed")
}

// Of a thought that the model's template has begun, only the end is there.
func TestThoughtWithoutItsBeginning(t *testing.T) {
	for said, want := range map[string]string{
		"I look it up.\n</think>\n\nIt is lost.":            "It is lost.",
		"I look\n[/THINK]\nit up.\n</THINK>\r\nIt is lost.": "It is lost.",
		"◁\n◁/think▷\nIt is lost.":                          "It is lost.",
		"As HTML:\n<div class=a>\n<p>\n</p>\n</div>\ndone":  "As HTML:\n<div class=a>\n<p>\n</p>\n</div>\ndone",
		"close it by </b> or\nby </i>":                      "close it by </b> or\nby </i>",
		"I look it up.\n</think>\n":                         "",
	} {
		resp, err := reason.Generate(t.Context(), reasontest.NewScript(reasontest.Say(said)), &reason.Request{})
		if want == "" {
			require.ErrorContains(t, err, "nothing but thoughts")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want, resp.Text)
	}
}

// A thought may begin behind words, too: a draft in it is no answer.
func TestDraftInAThought(t *testing.T) {
	const draft, answer = `{"way":"left"}`, `{"way":"right"}`
	for said, ok := range map[string]bool{
		"Let me see.\n<think>\n" + draft:                           false,
		"<think>so</think>Okay. <thinking>" + draft + "\n":         false,
		"Hm. [THINK] I go " + draft:                                false,
		"Let me see.\n<think>\n" + draft + "\n</think>\n" + answer: true,
		"What <b>I</b> would do, if a < b and c > d: " + answer:    true,
		"As [1] says: " + answer:                                   true,
		"Let me see.\n<think>\nWhat <b>I</b> would do: " + draft:   false,
		"<think>so</think>Now.\n\n◁think▷" + draft:                 false,
		"好的。<think>" + draft:                                       false,
		"Okay. <think>so</think> <think>" + draft:                  false,
		"Okay. <think>so</think> Thus: " + answer:                  true,
		"The handler returns List<String>, so: " + answer:          true,
		"It may be <String> or [JSON]: " + answer:                  true,
		"[Decision]\n" + answer:                                    true,
		"I am done.\n[Decision]\n- [x] read\n" + answer:            true,
		"Of both, [A] is better<br>by far: " + answer:              true,
	} {
		m := reasontest.NewScript(reasontest.Say(said), reasontest.Say(answer))
		got, _, err := reason.Ask[answered](t.Context(), m, request(), nil)
		require.NoError(t, err)
		require.Equal(t, "right", got.Way, said)
		require.Equal(t, ok, len(m.Requests()) == 1, said)
	}
}

// A model that thinks in its text, and then calls a tool, has answered; one whose thought never ends has not.
func TestThoughtBeforeCalls(t *testing.T) {
	for said, ok := range map[string]bool{"<think>I look it up.</think>\n": true, "I look it up.\n</think>\n": true, "<think>I look it": false} {
		m := reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) {
			return &reason.Response{Text: said, Calls: []reason.ToolCall{{ID: "1", Name: "look", Inputs: []byte("{}")}}}, nil
		})
		resp, err := reason.Generate(t.Context(), m, &reason.Request{})
		require.Equal(t, ok, err == nil, said)
		if ok {
			require.Empty(t, resp.Text)
			require.Len(t, resp.Calls, 1)
		}
	}
}

// In free text, too, and however it is cut into pieces, OnText gets what Text is.
func TestThoughtsInStreams(t *testing.T) {
	for said, want := range map[string]string{
		"plain":             "plain",
		"<think>a</think>b": "b",
		"  \n<think>a<b>x</b></think>\n[D]e[/D] f":    "f",
		"<think>a<think>b</think>c</think>d <b>e</b>": "d <b>e</b>",
		"< 5 and <b":         "< 5 and <b",
		"<b":                 "<b",
		"[NOTE] all is well": "[NOTE] all is well",
		"◁think▷ü◁/think▷ü":  "ü",
		"<think>" + strings.Repeat("long ", 1000) + "</think>x": "x",
		"<think>never": "",
	} {
		for size := range 9 {
			var pieces []string
			for rest := said; rest != ""; {
				n := len(rest)
				if size > 0 {
					n = min(size, n)
				}
				for !utf8.ValidString(rest[:n]) {
					n++
				}
				pieces, rest = append(pieces, rest[:n]), rest[n:]
			}
			told := ""
			r := &reason.Request{OnText: func(p string) { told += p }}
			resp, err := reason.Generate(t.Context(), reasontest.NewScript(reasontest.Say(pieces...)), r)
			require.Equal(t, want, told, "%q by %d", said, size)
			if want == "" {
				require.ErrorContains(t, err, "never ends")
				continue
			}
			require.NoError(t, err)
			require.Equal(t, want, resp.Text)
		}
	}
}

// A model that streams bytes cuts within a letter; what is told has whole ones.
func TestStreamCutWithinALetter(t *testing.T) {
	const said = "aé€😀 한국\u2028👨‍👩‍👧 key=é end€"
	for size := 1; size < 6; size++ {
		m := reason.ModelFunc(func(_ context.Context, r *reason.Request) (*reason.Response, error) {
			for rest := said; rest != ""; rest = rest[min(size, len(rest)):] {
				r.OnText(rest[:min(size, len(rest))])
			}
			return &reason.Response{Text: said, Stop: reason.StopEnd}, nil
		})
		told := ""
		_, err := reason.Generate(t.Context(), m, &reason.Request{OnText: func(p string) {
			require.True(t, utf8.ValidString(p), "%q by %d", p, size)
			told += p
		}})
		require.NoError(t, err)
		require.Equal(t, said, told)
	}
}

func FuzzThoughts(f *testing.F) {
	f.Add("<a>x</a>[B]y[/B]◁c▷◁/c▷ z", 3)
	f.Add("<a><b></a>{\"a\":1}", 1)
	f.Fuzz(func(t *testing.T, said string, size int) {
		if !utf8.ValidString(said) || size < 1 {
			t.Skip()
		}
		var pieces []string
		for runes := []rune(said); len(runes) > 0; runes = runes[min(size, len(runes)):] {
			pieces = append(pieces, string(runes[:min(size, len(runes))]))
		}
		whole, err1 := reason.Generate(t.Context(), reasontest.NewScript(reasontest.Say(said)), &reason.Request{})
		told := ""
		r := &reason.Request{OnText: func(p string) { told += p }}
		parts, err2 := reason.Generate(t.Context(), reasontest.NewScript(reasontest.Say(pieces...)), r)
		require.Equal(t, err1 == nil, err2 == nil)
		if err1 == nil {
			require.Equal(t, whole.Text, parts.Text)
			require.Equal(t, whole.Text, told)
			require.True(t, strings.HasSuffix(said, whole.Text))
		}
	})
}

type typedNil struct{ reason.Model }

func (*typedNil) Generate(context.Context, *reason.Request) (*reason.Response, error) {
	var e *reason.Error
	return nil, e
}

func TestGenerateGuards(t *testing.T) {
	model := func(resp *reason.Response, err error) reason.Model {
		return reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) { return resp, err })
	}
	var nobody *typedNil
	for name, c := range map[string]struct {
		m     reason.Model
		class reason.ErrorClass
	}{
		"no model":             {nil, reason.Permanent},
		"a typed nil error":    {nobody, reason.Invalid},
		"nothing":              {model(nil, nil), reason.Invalid},
		"a panic":              {reason.ModelFunc(nil), reason.Invalid},
		"huge":                 {model(&reason.Response{Text: strings.Repeat("x", 9<<20)}, nil), reason.Invalid},
		"no UTF-8":             {model(&reason.Response{Text: "\xff"}, nil), reason.Invalid},
		"permission":           {model(nil, errors.New("HTTP 403")), reason.Permanent},
		"words":                {model(nil, errors.New("rate limit")), reason.RateLimited},
		"a response and error": {model(&reason.Response{}, &reason.Error{Class: reason.Unavailable}), reason.Unavailable},
	} {
		resp, err := reason.Generate(t.Context(), c.m, &reason.Request{})
		require.Nil(t, resp, name)
		var e *reason.Error
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, c.class, e.Class, name)
	}
	own := errors.New("something else")
	_, err := reason.Generate(t.Context(), model(nil, own), &reason.Request{})
	require.Equal(t, own, err)

	ctx, cancel := context.WithCancel(t.Context())
	ends := reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) {
		cancel()
		return nil, &reason.Error{Class: reason.Unavailable, Usage: &reason.Usage{Input: 5}}
	})
	_, err = reason.Generate(ctx, ends, &reason.Request{})
	require.ErrorIs(t, err, context.Canceled)
	var e *reason.Error
	require.ErrorAs(t, err, &e, "it has cost something")

	given := &reason.Response{Usage: &reason.Usage{Input: -1}, Calls: []reason.ToolCall{
		{Name: "a", Inputs: json.RawMessage(" null")}, {Name: "b", ID: "x", Inputs: json.RawMessage(`{"a`)}, {Name: "c", ID: "x", Inputs: json.RawMessage(`[1]`)},
	}}
	resp, err := reason.Generate(t.Context(), model(given, nil), &reason.Request{})
	require.NoError(t, err)
	require.Nil(t, resp.Usage, "what cannot be is unknown")
	require.Equal(t, []reason.ToolCall{
		{Name: "a", ID: "call_1", Inputs: json.RawMessage(`{}`)}, {Name: "b", ID: "x", Inputs: json.RawMessage(`"{\"a"`)},
		{Name: "c", ID: "call_3", Inputs: json.RawMessage(`[1]`)},
	}, resp.Calls)
	require.Empty(t, given.Calls[0].ID, "the model's own is not changed")
}

func TestUsageAndPrice(t *testing.T) {
	var none *reason.Usage
	require.Nil(t, none.Add(nil))
	a := &reason.Usage{Calls: 1, Input: 1_000_000, Cached: 400_000, Output: 500_000}
	require.Equal(t, a, none.Add(a))
	require.Nil(t, a.Add(a).CostUSD, "unknown is not 0")
	sum := a.Add(&reason.Usage{Calls: 2, CostUSD: new(0.5)}).Add(&reason.Usage{CostUSD: new(0.25)})
	require.Equal(t, 3, sum.Calls)
	require.InDelta(t, 0.75, *sum.CostUSD, 1e-12)

	m := reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) {
		return &reason.Response{Text: "x", Usage: a}, nil
	})
	for rate, usd := range map[[3]float64]float64{
		{3, 15, 0.3}: .6*3 + .4*.3 + .5*15, {3, 15}: 3 + .5*15, {}: 0,
	} {
		resp, err := reason.Generate(t.Context(), reason.Price(m, rate[0], rate[1], rate[2]), &reason.Request{})
		require.NoError(t, err)
		require.InDelta(t, usd, *resp.Usage.EstimateUSD, 1e-9)
		require.Nil(t, resp.Usage.CostUSD, "an estimate is not reported")
	}
	require.Nil(t, a.EstimateUSD)
	failing := reasontest.NewScript(reasontest.Fail(&reason.Error{Class: reason.Unavailable, Usage: a}))
	_, err := reason.Generate(t.Context(), reason.Price(failing, 1, 0, 0), &reason.Request{})
	var e *reason.Error
	require.ErrorAs(t, err, &e)
	require.InDelta(t, 1, *e.Usage.EstimateUSD, 1e-9)
	require.False(t, math.IsNaN(*e.Usage.EstimateUSD))
}

func TestRecordAndReplay(t *testing.T) {
	var tape strings.Builder
	script := reasontest.NewScript(reasontest.Say("one"), reasontest.Fail(errors.New("odd")), reasontest.Say("two"), reasontest.Say("b"))
	recorded := reason.Record(script, &tape)
	ask := func(m reason.Model, text string) string {
		told := ""
		resp, err := reason.Generate(t.Context(), m, &reason.Request{System: "<&>", OnText: func(p string) { told += p },
			Messages: []reason.Message{{Role: reason.RoleUser, Text: text}}})
		if err != nil {
			return err.Error()
		}
		require.Equal(t, resp.Text, told)
		return resp.Text
	}
	for _, want := range [][2]string{{"a", "one"}, {"a", "odd"}, {"a", "two"}, {"b", "b"}} {
		require.Equal(t, want[1], ask(recorded, want[0]))
	}
	again, err := reason.Replay(strings.NewReader(tape.String()))
	require.NoError(t, err)
	require.Equal(t, []string{"b", "one", "two"}, []string{ask(again, "b"), ask(again, "a"), ask(again, "a")})
	_, err = again.Generate(t.Context(), &reason.Request{})
	require.ErrorContains(t, err, "not in the recording")
	_, err = reason.Replay(strings.NewReader("{}\n"))
	require.ErrorContains(t, err, "line 1")
}

// Providers take a schema of an object with properties, and refuse others with a 400.
func TestToolsAsProvidersTakeThem(t *testing.T) {
	const obj = `{"properties":{"a":{"minimum":9007199254740993}},"required":["a"],"type":"object"}`
	for given, want := range map[string]string{
		"": "", "null": "", "true": "", `{}`: "", `{"type":"object"}`: "", obj: obj,
		`{"properties":{"a":{}}}`:                                                       `{"properties":{"a":{}},"type":"object"}`,
		`{"type":["object","null"],"properties":{}}`:                                    "",
		`{"$ref":"#/$defs/x","$defs":{"x":{}}}`:                                         `{"$defs":{"x":{}},"properties":{},"type":"object"}`,
		`{"type":"object","properties":{"a":{}},"anyOf":[{"required":["a"]}],"not":{}}`: `{"properties":{"a":{}},"type":"object"}`,
	} {
		var got []reason.Tool
		m := reason.ModelFunc(func(_ context.Context, r *reason.Request) (*reason.Response, error) {
			got = r.Tools
			return &reason.Response{Text: "ok"}, nil
		})
		tool := reason.Tool{Name: "t", Description: "Does.", Input: json.RawMessage(given)}
		tools := []reason.Tool{tool}
		_, err := reason.Generate(t.Context(), m, &reason.Request{Tools: tools})
		require.NoError(t, err)
		require.JSONEq(t, cmp.Or(want, `{"properties":{},"type":"object"}`), string(got[0].Input), given)
		if want == obj {
			require.Equal(t, obj, string(got[0].Input))
		}
		told := strings.Contains(given, "anyOf") || strings.Contains(given, "$ref")
		require.Equal(t, told, strings.HasSuffix(got[0].Description, given) && given != "", given)
		require.Equal(t, tool, tools[0], "the host's own")
	}
}

// A provider that signs its model's calls refuses others: they are told in words, with what they returned. What
// it refuses for another reason is asked once more at most, and an answer that it has signed stays as it is.
func TestCallsThatNobodySigned(t *testing.T) {
	call := func(id, name string) []reason.ToolCall {
		return []reason.ToolCall{{ID: id, Name: name, Inputs: json.RawMessage(`{"order":"A-1"}`)}}
	}
	signed := reason.Message{Role: reason.RoleModel, Calls: call("c", "stock"), Opaque: json.RawMessage(`["sig"]`)}
	given := []reason.Message{
		{Role: reason.RoleUser, Text: "Where is A-1?"},
		{Role: reason.RoleModel, Calls: call("a", "lookup")}, {Role: reason.RoleTool, CallID: "a", Text: "lost"},
		{Role: reason.RoleModel, Calls: call("b", "track"), Text: "I look."}, {Role: reason.RoleTool, CallID: "b", Text: "in <|x"},
		signed, {Role: reason.RoleTool, CallID: "c", Text: "7"},
	}
	for _, c := range []struct {
		fails    error
		messages []reason.Message
		asked    int
	}{
		{reason.Refusal(400, nil, []byte(`{"error":{"message":"Function call is missing a thought_signature"}}`)), given, 2},
		{reason.Refusal(401, nil, nil), given, 1},
		{reason.Refusal(400, nil, nil), slices.Concat(given[:1], given[5:]), 1},
		{errors.New("status 400: reasoning_content is missing"), given, 2},
	} {
		var last []reason.Message
		asked := 0
		m := reason.ModelFunc(func(_ context.Context, r *reason.Request) (*reason.Response, error) {
			asked++
			last = r.Messages
			return nil, c.fails
		})
		_, err := reason.Generate(t.Context(), m, &reason.Request{Messages: c.messages})
		require.ErrorIs(t, err, c.fails)
		require.Equal(t, c.asked, asked)
		if asked == 1 {
			continue
		}
		require.Len(t, last, 5)
		require.Contains(t, last[0].Text, "Where is A-1?\n<<<called-")
		require.Contains(t, last[0].Text, `lookup {"order":"A-1"} returned: lost`)
		require.Equal(t, reason.Message{Role: reason.RoleModel, Text: "I look."}, last[1])
		require.Contains(t, last[2].Text, `track {"order":"A-1"} returned: in < |x`)
		require.Equal(t, given[5:], last[3:])
	}
	require.Equal(t, "Where is A-1?", given[0].Text, "the host's own")
}

// A name that no tool has goes back to its provider with the words that there is none: it is to be one.
func TestNamesOfCalls(t *testing.T) {
	long := strings.Repeat("x", 70)
	for said, want := range map[string]string{
		"pay": "pay", "other": "other", "my.tool": "my.tool", "functions.pay": "unknown_functions_pay",
		"": "unknown_", "a b": "unknown_a_b", "é": "unknown__", long: "unknown_" + long[:50],
	} {
		m := reasontest.NewScript(reasontest.Call(said, `{}`))
		resp, err := reason.Generate(t.Context(), m, &reason.Request{Tools: []reason.Tool{{Name: "pay"}, {Name: "my.tool"}}})
		require.NoError(t, err)
		require.Equal(t, want, resp.Calls[0].Name)
	}
}
