package reason_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/reason"
)

func TestCheck(t *testing.T) {
	task := []reason.Task{{Objective: "do"}}
	two := []reason.Decision{{Approach: "a", Tasks: task}, {Approach: "b", Tasks: task}}
	for want, d := range map[string]*reason.Decision{
		"no decision":        nil,
		"exactly one":        {},
		"exactly one ":       {Tasks: task, Questions: []string{"?"}},
		"exactly one  ":      {Tasks: task, Use: "plan 1"},
		"has no objective":   {Tasks: []reason.Task{{Objective: " "}}},
		"more than 64 tasks": {Tasks: slices.Repeat(task, 65)},
		"are no JSON":        {Tasks: []reason.Task{{Objective: "x", Inputs: json.RawMessage(`{`)}}},
		"bytes; at most":     {Tasks: []reason.Task{{Objective: strings.Repeat("x", 200<<10)}}},
		"kind of impasse":    {Impasse: "tie", Reasoning: "x"},
		"neither why":        {Impasse: "no_approach"},
		"question is empty":  {Questions: []string{" "}},
		"that of another":    {Alternatives: append(two, two[0])},
		"has no tasks":       {Alternatives: []reason.Decision{{Approach: "a"}}},
		"names no":           {Alternatives: two, Preferences: []reason.Preference{{Approach: "c", Is: "best"}}},
		"not one of [":       {Alternatives: two, Preferences: []reason.Preference{{Approach: "a", Is: "good"}}},
		"need a than":        {Alternatives: two, Preferences: []reason.Preference{{Approach: "a", Is: "better"}}},
		"alternatives, or 8": {Alternatives: make([]reason.Decision, 9)},
	} {
		require.ErrorContains(t, d.Check(), strings.TrimSpace(want), want)
	}
	for _, d := range []*reason.Decision{
		{Tasks: task}, {Use: "plan 1"}, {Questions: []string{"Which?"}},
		{Impasse: "conflict", Reasoning: "x"},
		{Alternatives: two, Preferences: []reason.Preference{{Approach: "a", Is: "indifferent", Than: "b"}}},
	} {
		require.NoError(t, d.Check())
	}
}

// The cases of Soar's manual and kernel: what is acceptable, the preferences, and the candidates that are left.
func TestChoose(t *testing.T) {
	for _, c := range []struct{ name, acceptable, preferences, outcome, left string }{
		{"none", "ab", "reject a, prohibit b", "no_approach", ""},
		{"tie3", "abc", "", "nothing tells", "abc"},
		{"reject-to-one", "ab", "reject a", "", "b"},
		{"prohibit", "ab", "prohibit b", "", "a"},
		{"better", "ab", "better a b", "", "a"},
		{"worse", "ab", "worse a b", "", "b"},
		{"conflict", "ab", "better a b, better b a", "each of these", "ab"},
		{"better-cycle3", "abc", "better a b, better b c, better c a", "each of these", "abc"},
		{"require+prohibit", "ab", "require a, prohibit a", "more is required", "a"},
		{"require-wins", "abc", "require b", "", "b"},
		{"constraint-beats-conflict", "ab", "require a, require b, better a b, better b a", "more is required", "ab"},
		{"best", "abc", "best c", "", "c"},
		{"worst", "ab", "worst b", "", "a"},
		{"one-unary-indifferent-tie", "abc", "indifferent a", "nothing tells", "abc"},
		{"binary-indifferent", "ab", "indifferent a b", "", "a"},
		{"conflict-plus-third", "abc", "better a b, better b a", "", "c"},
	} {
		d := &reason.Decision{}
		for _, name := range c.acceptable {
			d.Alternatives = append(d.Alternatives, reason.Decision{
				Approach: string(name), Tasks: []reason.Task{{Objective: "by " + string(name)}},
			})
		}
		for _, p := range strings.Split(c.preferences, ", ") {
			if words := append(strings.Fields(p), ""); len(words) > 2 {
				d.Preferences = append(d.Preferences, reason.Preference{Is: words[0], Approach: words[1], Than: words[2]})
			}
		}
		require.NoError(t, d.Check(), c.name)
		got := d.Choose()
		if c.outcome == "" {
			require.Empty(t, got.Impasse, c.name)
			require.Equal(t, c.left, got.Approach, c.name)
			require.Equal(t, "by "+c.left, got.Tasks[0].Objective, c.name)
			continue
		}
		require.Empty(t, got.Tasks, c.name)
		require.Contains(t, got.Impasse+got.Reasoning, c.outcome, c.name)
		for _, name := range c.left {
			require.Contains(t, got.Reasoning, `"`+string(name)+`"`, c.name)
		}
	}
	one := &reason.Decision{Questions: []string{"?"}}
	require.Equal(t, one, one.Choose())
}

// Choosing again and again takes each alternative at most once, none that is ruled out, and ends.
func TestChooseEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c", "d"}[:rapid.IntRange(1, 4).Draw(t, "n")]
		d := &reason.Decision{}
		for _, n := range names {
			d.Alternatives = append(d.Alternatives, reason.Decision{Approach: n, Tasks: []reason.Task{{Objective: n}}})
		}
		for range rapid.IntRange(0, 6).Draw(t, "preferences") {
			p := reason.Preference{Approach: rapid.SampledFrom(names).Draw(t, "approach")}
			p.Is = rapid.SampledFrom([]string{"require", "prohibit", "reject", "best", "worst", "better", "worse", "indifferent"}).Draw(t, "is")
			if p.Is == "better" || p.Is == "worse" {
				p.Than = rapid.SampledFrom(names).Draw(t, "than")
			}
			d.Preferences = append(d.Preferences, p)
		}
		if err := d.Check(); err != nil {
			t.Fatal(err)
		}
		taken := map[string]bool{}
		for rest := d; len(rest.Alternatives) > 0; {
			got := rest.Choose()
			if got.Impasse != "" {
				break
			}
			if taken[got.Approach] || len(got.Tasks) != 1 || got.Tasks[0].Objective != got.Approach {
				t.Fatalf("%q again, or with the tasks of another", got.Approach)
			}
			taken[got.Approach] = true
			rest = &reason.Decision{Alternatives: got.Alternatives, Preferences: got.Preferences}
		}
		for _, p := range d.Preferences {
			if (p.Is == "prohibit" || p.Is == "reject") && taken[p.Approach] {
				for _, q := range d.Preferences {
					if q.Is == "require" && q.Approach == p.Approach && p.Is == "reject" {
						return // required, and so taken all the same
					}
				}
				t.Fatalf("%q is ruled out", p.Approach)
			}
		}
	})
}

func TestLoadSkills(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	good := "---\nname: go-test\ndescription: Run\u202e Go tests.\nlicense: MIT\nmetadata:\n  a: [b]\n---\n\nRun them.\n\n---\nmore\n"
	skills, err := reason.LoadSkills(fstest.MapFS{
		"b/SKILL.md":      file(good),
		"b/AGENT.md":      file("---\nmodel: x\n---\nYou test."),
		"a/SKILL.md":      file("\ufeff---\r\nname: a\r\ndescription: C# code, issue #12\r\nlicense: MIT\r\n---"),
		"c/SKILL.md":      file(good),
		"d/SKILL.md":      file("no front matter"),
		"e/SKILL.md":      file("---\nname: e\n"),
		"f/SKILL.md":      file("---\nname: [f]\ndescription: x\n---\n"),
		"g/SKILL.md":      file("---\nname: \"../g\"\ndescription: x\n---\n"),
		"h/SKILL.md":      file("---\nname: h\ndescription: \xff\n---\n"),
		"i/SKILL.md":      file("---\nname: i\ndescription: x\n---\n" + strings.Repeat("x", 64<<10)),
		"j/SKILL.md":      file("---\nname: j\nname: k\ndescription: x\n---\n"),
		"k/SKILL.md":      file("---\nname: k\ndescription: ~\n---\n"),
		"deep/x/SKILL.md": file(good),
		"README.md":       file("x"),
	})
	require.Equal(t, []reason.Skill{
		{Name: "a", Description: "C# code, issue #12", Fields: map[string]string{"license": "MIT"}},
		{Name: "go-test", Description: "Run Go tests.", Text: "Run them.\n\n---\nmore", Agent: "You test.", Fields: map[string]string{"license": "MIT"}},
	}, skills)
	for name, want := range map[string]string{
		"c": "given twice, and first in b/SKILL.md", "d": "d/SKILL.md: the front matter between two lines --- has no text under",
		"e": "not closed", "f": "f/SKILL.md: the front matter between two lines --- has no text under name",
		"g": "not 1 to 64", "h": "not UTF-8", "i": "more than 65536 bytes", "j": "line 2", "k": "no text under description",
	} {
		require.ErrorContains(t, err, "skill "+name+"/SKILL.md: ")
		require.ErrorContains(t, err, want)
	}
}

// A value that is a secret's placeholder may stand twice in a call; what two values have halves of must not,
// whatever else the case names.
func TestUseOfSecrets(t *testing.T) {
	for text, want := range map[string]string{
		`{"from":"{a}","to":"to {a}"}`: `{"from":"[secret KEY]","to":"to [secret KEY]"}`,
		`{"as":"[secret B] {a}"}`:      `{"as":"[secret B] [secret KEY]"}`,
		`{"as":"{b}{c}"}`:              "",
		`{"as":"{a} {b}{c}"}`:          "",
		`{"as":"{b}KEY]"}`:             "",
	} {
		c := reason.Case{Inputs: json.RawMessage(`{"a":"[secret KEY]","b":"[secret ","c":"KEY]"}`)}
		c.Suggestions = []reason.Suggestion{{Name: "plan 1", Parameters: map[string]string{"a": "", "b": "", "c": ""},
			Plan: reason.Plan{Calls: []reason.PlanCall{{Name: "pay", Inputs: json.RawMessage(text)}}}}}
		p, err := c.Use("plan 1", nil)
		if want == "" {
			require.ErrorContains(t, err, "together name a secret", text)
			continue
		}
		require.NoError(t, err, text)
		require.JSONEq(t, want, string(p.Calls[0].Inputs))
	}
}
