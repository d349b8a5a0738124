package chunk_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
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

// TestBindsOneValueToAName: of two inputs of one name none is told from the other.
func TestBindsOneValueToAName(t *testing.T) {
	twice, by := stopping("search")
	once, _ := stopping("mail")
	twice.Inputs = json.RawMessage(`{"service": "search", "force": false, "pid": 17, "service": "mail"}`)
	_, differs := stored(t, twice, by).Fit(&once)
	require.Equal(t, []string{"input service was given twice"}, differs)
	_, differs = stored(t, twice, by).Fit(&twice)
	require.NotEmpty(t, differs)

	once, by = stopping("search")
	_, differs = stored(t, once, by).Fit(&twice)
	require.Equal(t, []string{"input service is given twice"}, differs)
}

// TestKeptHoweverItIsComposed: a value whose letters and marks are apart, as in names of files, stands in a plan that
// has them as one.
func TestKeptHoweverItIsComposed(t *testing.T) {
	for _, v := range []string{"Zoe\u0301", "か\u3099んばれ", "o\u0302te\u0301"} {
		of, by := stopping(v)
		of.Objective = "stop it in production"
		by.Tasks[0].Objective, by.Tasks[0].Inputs = "stop the service "+norm.NFC.String(v), nil
		c := stored(t, of, by)
		is := of
		is.Inputs = json.RawMessage(`{"service": "mail", "force": false, "pid": 17}`)
		_, differs := c.Fit(&is)
		require.NotEmpty(t, differs, v)
	}
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

// TestFitOfWhatAPlanComputes changes inputs that a plan quotes. What it has computed from them, or says of
// them in another form, cannot be bound.
func TestFitOfWhatAPlanComputes(t *testing.T) {
	for _, c := range []struct {
		was, plan, now string
		fits           bool
	}{
		{`{"seats": 4, "price": 25}`, "invoice 100 for 4 seats at 25", `{"seats": 6, "price": 25}`, false},
		{`{"have": 30, "want": 75}`, "add 45 to 30, which makes 75", `{"have": 40, "want": 75}`, false},
		{`{"bill": "90 EUR", "people": 4}`, "each of 4 pays 22.50 of 90 EUR", `{"bill": "60 EUR", "people": 4}`, false},
		{`{"price": 200, "percent": 5}`, "raise 200 to 210, by 5 percent", `{"price": 300, "percent": 5}`, false},
		{`{"bills": [120, 80, 45]}`, "pay 245: 120, 80 and 45", `{"bills": [121, 80, 45]}`, false},
		{`{"of": [{"n": 2, "eur": 5}, {"n": 3, "eur": 7}]}`, "31 in all: 2 at 5, 3 at 7", `{"of": [{"n": 2, "eur": 5}, {"n": 4, "eur": 7}]}`, false},
		{`{"gb": 8}`, "grow it to 8 GB, 8589934592 bytes", `{"gb": 16}`, false},
		{`{"hours": 2}`, "sleep 7200 s, 2 hours", `{"hours": 5}`, false},
		{`{"replicas": 3}`, "three replicas: set it to 3", `{"replicas": 7}`, false},
		{`{"start": "09:00", "minutes": 90}`, "block 9:00 to 10:30", `{"start": "14:00", "minutes": 90}`, false},
		{`{"at": "2026-11-28T09:00:00Z"}`, "at 2026-11-28T09:00:00Z, remind at 8:45", `{"at": "2026-11-28T14:00:00Z"}`, false},
		{`{"area": 37, "each": 12}`, "buy 4 cans: 37 by 12", `{"area": 50, "each": 12}`, false},
		{`{"build": 41}`, "42 comes after 41", `{"build": 57}`, false},
		{`{"version": "1.4.2"}`, "release 1.4.3 after 1.4.2", `{"version": "2.0.0"}`, false},
		{`{"xs": ["b", "c", "d"]}`, "first d, then b, then c", `{"xs": ["z", "y", "x"]}`, false},
		{`{"day": "2026-11-28"}`, "book Saturday, 2026-11-28", `{"day": "2026-12-01"}`, false},
		{`{"month": "2026-11"}`, "report November, 2026-11", `{"month": "2026-12"}`, false},
		{`{"name": "Jörg"}`, "create joerg for Jörg", `{"name": "Uwe"}`, false},
		{`{"name": "Joerg"}`, "create Jörg for Joerg", `{"name": "Uwe"}`, false},

		{`{"seats": 4, "price": 25}`, "invoice 4 seats at 25, due in 30 days", `{"seats": 6, "price": 35}`, true},
		{`{"replicas": 8}`, "set it to 8, wait 30 s, try 3 times", `{"replicas": 9}`, true},
		{`{"day": "2026-11-28"}`, "book 2026-11-28 from 9:00 to 17:00", `{"day": "2026-12-01"}`, true},
		{`{"xs": ["b", "c", "d"]}`, "b, c and d: first b, then the rest", `{"xs": ["z", "y", "x"]}`, true},
		{`{"of": [{"id": "p", "by": "ann"}, {"id": "q", "by": "bob"}]}`, "close p, q; tell ann, bob", `{"of": [{"id": "v", "by": "cy"}, {"id": "w", "by": "di"}]}`, true},
		{`{"version": "1.4.2"}`, "release 1.4.2 within 10.5 s", `{"version": "2.0.0"}`, true},
		{`{"start": "09:00"}`, "begin at 09:00", `{"start": "14:00"}`, true},
		{`{"n": 0, "m": 0}`, "pass n=0 within 10 s", `{"n": 0, "m": 0}`, true},
	} {
		was := chunk.Case{Objective: "do it", Situation: "do it", Inputs: json.RawMessage(c.was)}
		of := stored(t, was, chunk.Plan{Tasks: []reason.Task{{Objective: c.plan}}})
		_, differs := of.Fit(&was)
		require.Empty(t, differs, c.plan)
		was.Inputs = json.RawMessage(c.now)
		_, differs = of.Fit(&was)
		require.Equal(t, c.fits, len(differs) == 0, "%s: %v", c.plan, differs)
	}
}

// TestFitOfWhatAPlanSaysOtherwise has a named situation, and words of the objective that the plan has in
// another form.
func TestFitOfWhatAPlanSaysOtherwise(t *testing.T) {
	for _, c := range [][3]string{
		{"scale web to 3", "three replicas of web", "scale web to 5"},
		{"scale web to three", "web: replicas=3", "scale web to five"},
		{"invoice 4 seats at 25 EUR", "invoice 100 EUR", "invoice 6 seats at 25 EUR"},
		{"book R1 for 2026-11-28", "book R1 for Saturday", "book R1 for 2026-12-01"},
		{"close the account of Berlin", "close the Berliner account", "close the account of Paris"},
	} {
		is := chunk.Case{Situation: "as so often", Vouched: true, Objective: c[0]}
		of := stored(t, is, chunk.Plan{Tasks: []reason.Task{{Objective: c[1]}}})
		_, differs := of.Fit(&is)
		require.Empty(t, differs, c)
		is = chunk.Case{Situation: "as so often", Vouched: true, Objective: c[2]}
		_, differs = of.Fit(&is)
		require.NotEmpty(t, differs, c)
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

// TestBindRefusesWhatAShellReadsOtherwise has values that stand in a text where those of the case did, and do
// something else there.
func TestBindRefusesWhatAShellReadsOtherwise(t *testing.T) {
	refused := func(c *chunk.Chunk, is chunk.Case) bool {
		b, differs := c.Fit(&is)
		_, _, err := c.Bind(&b)
		return len(differs) > 0 || err != nil
	}
	input := func(v string) chunk.Case {
		raw, err := json.Marshal(map[string]string{"what": v})
		require.NoError(t, err)
		return chunk.Case{Situation: "remove it", Objective: "remove it", Inputs: raw}
	}
	remove := func(is chunk.Case, what string) *chunk.Chunk {
		return stored(t, is, chunk.Plan{Tasks: []reason.Task{{Objective: "rm -rf " + what}}})
	}
	for was, now := range map[string][]string{
		"/srv/a":  {"/", "//", "/.", "", " ", "/srv/../etc", "-f"},
		"a.txt":   {".", "./.", "@", "/", "~", "*"},
		"two old": {"two -new", "-v two", "two --all", "two $x"},
	} {
		c := remove(input(was), was)
		require.False(t, refused(c, input("srv-b")), was)
		for _, v := range now {
			require.True(t, refused(c, input(v)), "%q for %q", v, was)
		}
	}

	word := func(v string) chunk.Case {
		return chunk.Case{Situation: "remove file " + v, Objective: "remove file " + v}
	}
	var three []*chunk.Chunk
	for _, v := range []string{"a.txt", "7", "b.txt"} {
		three = append(three, remove(word(v), v))
	}
	c, ok := chunk.Unify(three)
	require.True(t, ok)
	require.False(t, refused(c, word("c.txt")))
	require.False(t, refused(c, word("8")))
	for _, v := range []string{".", "1e9", "-8", "..", "/x", "*"} {
		require.True(t, refused(c, word(v)), v)
	}
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
