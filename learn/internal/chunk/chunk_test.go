package chunk_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/learn/internal/chunk"
	"github.com/arc-learn/arc/reason"
)

// stopping is the case of a service that is to be stopped, and the plan for it.
func stopping(service string) (chunk.Case, chunk.Plan) {
	of := chunk.Case{
		Situation: "a service is stuck", Objective: "stop " + service + " in production", Vouched: true,
		Inputs:     json.RawMessage(fmt.Sprintf(`{"service": %q, "force": false, "pid": 17}`, service)),
		Conditions: map[string]string{"region": "eu"},
	}
	return of, chunk.Plan{Approach: "ask it to stop", Tasks: []reason.Task{{
		Objective: "stop the service " + service, Skill: "ops",
		Inputs: json.RawMessage(fmt.Sprintf(`{"name": %q}`, service)),
	}}}
}

// stored is a chunk as it comes back from a store.
func stored(t require.TestingT, of chunk.Case, by chunk.Plan) *chunk.Chunk {
	c, err := chunk.New(of, by)
	require.NoError(t, err)
	raw, err := c.Encode()
	require.NoError(t, err)
	c, err = chunk.Decode(raw)
	require.NoError(t, err)
	return c
}

// TestBind binds a plan to the inputs of another case, as values of their own types.
func TestBind(t *testing.T) {
	was, by := stopping("search")
	c := stored(t, was, by)
	is, want := stopping("mail")
	b, differs := c.Fit(&is)
	require.Empty(t, differs)
	approach, tasks, err := c.Bind(&b)
	require.NoError(t, err)
	require.Equal(t, want.Approach, approach)
	require.Equal(t, "stop the service mail", tasks[0].Objective)
	require.JSONEq(t, `{"name": "mail"}`, string(tasks[0].Inputs))
}

// TestFitTakesNullForNone fits a plan without inputs to null ones, and one of a version that kept
// the null to none.
func TestFitTakesNullForNone(t *testing.T) {
	was, by := stopping("search")
	for _, inputs := range []string{"", "null", " null "} {
		was.Inputs = json.RawMessage(inputs)
		c, err := chunk.New(was, by)
		require.NoError(t, err)
		raw, err := c.Encode()
		require.NoError(t, err)
		require.NotContains(t, string(raw), `"inputs":[`)
		before := strings.Replace(string(raw), "{", `{"inputs":[{"path":"","kind":"null"}],`, 1)
		for _, raw := range []string{string(raw), before} {
			c, err = chunk.Decode(json.RawMessage(raw))
			require.NoError(t, err)
			for _, now := range []string{"", "null", "{}"} {
				is := was
				is.Inputs = json.RawMessage(now)
				_, differs := c.Fit(&is)
				require.Empty(t, differs, "%q, and now %q", inputs, now)
			}
		}
	}
}

// TestFitSaysWhatDiffers changes one part of a case at a time.
func TestFitSaysWhatDiffers(t *testing.T) {
	was, by := stopping("search")
	c := stored(t, was, by)
	for want, change := range map[string]func(*chunk.Case){
		`condition region is "us", and was "eu"`:                    func(a *chunk.Case) { a.Conditions = map[string]string{"region": "us"} },
		"condition region is not given, and was \"eu\"":             func(a *chunk.Case) { a.Conditions = nil },
		"it serves another goal":                                    func(a *chunk.Case) { a.Goals = []string{"move to another region"} },
		`it reads "two services are stuck", not "service is stuck"`: func(a *chunk.Case) { a.Situation = "two services are stuck" },
		"the host names a situation for one of the two only":        func(a *chunk.Case) { a.Vouched = false },
		`input force is "true", not "false"`:                        func(a *chunk.Case) { a.Inputs = json.RawMessage(`{"service": "search", "force": true, "pid": 17}`) },
		"input pid is of type string, not number":                   func(a *chunk.Case) { a.Inputs = json.RawMessage(`{"service": "search", "force": false, "pid": "17"}`) },
		"input dry is given": func(a *chunk.Case) {
			a.Inputs = json.RawMessage(`{"service": "search", "force": false, "pid": 17, "dry": 1}`)
		},
		`the objective does not name "search", the value of input service`: func(a *chunk.Case) { a.Objective = "stop it in production" },
	} {
		is, _ := stopping("search")
		change(&is)
		_, differs := c.Fit(&is)
		require.Contains(t, differs, want)
	}
}

// TestEncodeKeepsAll holds what a case is told of a chunk that was stored against what
// it is told of the chunk as it was made.
func TestEncodeKeepsAll(t *testing.T) {
	word := rapid.StringMatching(`[a-zA-Z0-9"\\<&é世-]{1,8}`)
	rapid.Check(t, func(t *rapid.T) {
		of, by := stopping(word.Draw(t, "service"))
		of.Situation, by.Approach = word.Draw(t, "situation"), word.Draw(t, "approach")
		made, err := chunk.New(of, by)
		require.NoError(t, err)
		again := stored(t, of, by)
		is, _ := stopping(word.Draw(t, "another"))
		b, differs := made.Fit(&is)
		b2, differs2 := again.Fit(&is)
		require.Equal(t, differs, differs2)
		approach, tasks, failed := made.Bind(&b)
		approach2, tasks2, failed2 := again.Bind(&b2)
		require.Equal(t, []any{approach, tasks, failed == nil}, []any{approach2, tasks2, failed2 == nil})
		require.Equal(t, made.Wording(), again.Wording())
		require.Equal(t, made.Trigger(), again.Trigger())
	})
}

// TestUnify draws one chunk with a variable from three cases of one shape, and none from
// two, or where the plan does not name the word that differs.
func TestUnify(t *testing.T) {
	restart := func(what, plan string) *chunk.Chunk {
		return stored(t, chunk.Case{Situation: "restart the " + what + " service", Objective: "restart the " + what + " service"},
			chunk.Plan{Approach: "by its name", Tasks: []reason.Task{{Objective: plan}}})
	}
	three := []*chunk.Chunk{
		restart("mail", "systemctl restart mail"), restart("search", "systemctl restart search"), restart("login", "systemctl restart login"),
	}
	require.True(t, chunk.Joins(three))
	_, ok := chunk.Unify(three[:2])
	require.False(t, ok)
	general, ok := chunk.Unify(three)
	require.True(t, ok)
	raw, err := general.Encode()
	require.NoError(t, err)
	general, err = chunk.Decode(raw)
	require.NoError(t, err)
	is := chunk.Case{Situation: "restart the billing service", Objective: "restart the billing service"}
	b, differs := general.Fit(&is)
	require.Empty(t, differs)
	_, tasks, err := general.Bind(&b)
	require.NoError(t, err)
	require.Equal(t, "systemctl restart billing", tasks[0].Objective)

	three[2] = restart("login", "systemctl restart everything")
	_, ok = chunk.Unify(three)
	require.False(t, ok)
}

// TestDecodeRefuses holds what is no chunk.
func TestDecodeRefuses(t *testing.T) {
	for _, raw := range []string{``, `[]`, `{}`, `{"version": 1, "tasks": [{"objective": []}]}`, `{"version": 2, "tasks": []}`} {
		_, err := chunk.Decode(json.RawMessage(raw))
		require.Error(t, err, raw)
	}
	_, ok := chunk.DecodeUnconditional(json.RawMessage(`{"Tasks": []}`))
	require.False(t, ok)
	p, ok := chunk.DecodeUnconditional(json.RawMessage(`{"Approach": "a", "Tasks": [{"Objective": "b"}]}`))
	require.True(t, ok)
	require.Equal(t, "a", p.Approach)
}

// TestFactsAreConditions: those that the plan names or says something of are told again, in
// whatever order; others are not missed.
func TestFactsAreConditions(t *testing.T) {
	was, by := stopping("search")
	was.Facts = []string{"wants a drain before all", "has the alias searcher", "likes tea"}
	by.Facts, by.Approach = was.Facts[1:2], "drain it, then stop it"
	c := stored(t, was, by)
	require.Len(t, c.Facts, 2)
	for n, told := range [][]string{
		{"Has the alias searcher", "is new", "wants a drain before all"}, {"wants a drain before all", "likes tea"}, nil,
	} {
		is := was
		is.Facts = told
		_, differs := c.Fit(&is)
		if n == 0 {
			require.Empty(t, differs)
			continue
		}
		require.Equal(t, []string{fmt.Sprintf("%d of 2 facts that it was made with are not told", n)}, differs)
	}
	was.Facts = nil
	d := stored(t, was, by)
	require.Empty(t, d.Facts)
	require.NotEqual(t, d.Wording(), c.Wording())
	require.False(t, c.Alike(d))
}
