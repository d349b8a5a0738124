package reason_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

var rewrite = flag.Bool("rewrite", false, "rewrite testdata/answers/rules.tsv")

// specimen is an answer of a model, and what is to become of it. A line of a
// file in testdata/answers has its fields, separated by tabs, with the answer
// quoted as Go quotes.
type specimen struct {
	class  string // accepted, repairable, refusal or empty
	name   string
	stop   string
	answer string
}

func (s specimen) String() string {
	return strings.Join([]string{s.class, s.name, string(s.stop), strconv.QuoteToASCII(s.answer)}, "\t")
}

// corpus returns the answers written by hand and those made by rules.
func corpus(t testing.TB) (all []specimen) {
	t.Helper()
	for _, file := range []string{"hand", "rules"} {
		raw, err := os.ReadFile("testdata/answers/" + file + ".tsv")
		require.NoError(t, err)
		for line := range strings.Lines(string(raw)) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			require.Len(t, f, 4, line)
			answer, err := strconv.Unquote(f[3])
			require.NoError(t, err, line)
			all = append(all, specimen{f[0], file + "/" + f[1], f[2], answer})
		}
	}
	return all
}

// seeds are answers as they should be, for workers with the skills edit and
// test.
var seeds = map[string]string{
	"task":     `{"thought":"t","complexity":"simple","approach":"edit","tasks":[{"objective":"mend it","verify":"go test","skill":"edit"}]}`,
	"tasks":    `{"thought":"braces {} and \"quotes\" \u00e9 \\","complexity":"moderate","approach":"look, then edit","applied":["m1"],"tasks":[{"objective":"look","delta":"it is known","verify":"a list [of {files}!]","skill":"test"},{"objective":"mend it","verify":"go test","skill":"edit","effect":{"domain":"ci","path":"failing"},"inputs":{"files":["a.go","b.go"],"n":9007199254740993}}]}`,
	"impasse":  `{"thought":"t","complexity":"complex","approach":"ask around","impasse":{"kind":"missing_capability","reason":"no key","subgoal":"find the key"}}`,
	"question": `{"thought":"t","complexity":"unclear","approach":"ask","questions":["which one?","since when?"]}`,
}

const (
	accepted   = "accepted"
	repairable = "repairable"
)

// replace is a rule for the seeds that have the text.
func replace(class, from, to string) func(string) (string, string) {
	return func(s string) (string, string) {
		if !strings.Contains(s, from) {
			return "", ""
		}
		return class, strings.Replace(s, from, to, 1)
	}
}

// around is a rule that puts text before and after.
func around(class, before, after string) func(string) (string, string) {
	return func(s string) (string, string) { return class, before + s + after }
}

// cut is a rule that truncates after a share of the answer.
func cut(percent int) func(string) (string, string) {
	return func(s string) (string, string) { return repairable, s[:max(1, len(s)*percent/100-1)] }
}

// rules damage, or only disguise, a seed.
var rules = map[string]func(seed string) (class, answer string){
	"plain": around(accepted, "", ""), "fence": around(accepted, "```json\n", "\n```"), "fence bare": around(accepted, "```\n", "\n```\n"),
	"fence tilde": around(accepted, "~~~json\n", "\n~~~"), "fence crlf": around(accepted, "```json\r\n", "\r\n```\r\n"), "bom": around(accepted, "\ufeff", ""),
	"blanks": around(accepted, "\n\n \t", " \r\n\n"), "prose before": around(accepted, "Sure! Here is what I would do:\n\n", ""),
	"prose after": around(accepted, "", "\n\nLet me know if you need more (see [1])."), "prose": around(accepted, "Here you are: ", " That is it!"),
	"think": around(accepted, "<think>maybe {\"tasks\":[{\"objective\":\"rm\"}]} no</think>\n", ""), "thinking": around(accepted, "<thinking>maybe {\"a\":1}</thinking>\n", ""),
	"think, not opened": around(accepted, "maybe {\"tasks\":[{\"objective\":\"rm\"}]} no\n</think>\n\n", ""), "think twice": around(repairable, "<think>a</think>{b}</think>", ""), "think inside": replace(accepted, `"thought":"`, `"thought":"</think>`),
	"think inside, prose before": replace(accepted, `{"thought":"`, `Here it is: {"thought":"</think>`), "end of turn": around(accepted, "", "<|im_end|>"),
	"harmony, analysis": around(accepted, "<|channel|>analysis<|message|>{..}<|end|><|start|>assistant<|channel|>final<|message|>", ""), "harmony": around(accepted, "<|channel|>final<|message|>", "<|return|>"), "xml": around(accepted, "<answer>", "</answer>"),
	"quoted prose": around(accepted, "The \"decision\":\n", "\n(end of \"decision\")"),
	"unknown":      replace(accepted, `"thought"`, `"confidence":"90%","notes":{"a":[1,{"b":null}]},"thought"`), "null fields": replace(accepted, `"thought"`, `"applied2":null,"thought"`),
	"escaped key": replace(accepted, `"thought"`, `"\u0074hought"`), "spaces": func(s string) (string, string) {
		return accepted, strings.NewReplacer(`:[`, " :\r\n[ ", `}]`, "\t}\n ]\n").Replace(s)
	},
	"half a character": replace(accepted, `"thought":"`, `"thought":"\ud83d `), "no text": replace(accepted, `"thought":"`, "\"thought\":\"\xff\xfe"),
	"control escape": replace(accepted, `"thought":"`, `"thought":"\u0000\u202e`),

	"cut 5": cut(5), "cut 20": cut(20), "cut 40": cut(40), "cut 60": cut(60), "cut 80": cut(80), "cut 95": cut(95), "cut last": cut(100),
	"cut in a fence": func(s string) (string, string) { return repairable, "```json\n" + s[:len(s)-2] + "\n```" },
	"twice":          func(s string) (string, string) { return repairable, s + s }, "twice, prose": func(s string) (string, string) { return repairable, s + "\nor rather\n" + s },
	"then cut": func(s string) (string, string) { return repairable, s + "\n" + s[:20] }, "array": around(repairable, "[", "]"), "array of two": func(s string) (string, string) { return repairable, "[" + s + "," + s + "]" },
	"extra brace": around(repairable, "", "}"), "extra bracket": around(repairable, "", "]"), "first brace gone": func(s string) (string, string) { return repairable, s[1:] },
	"wrapped": around(repairable, `{"decision":`, "}"), "as a tool": around(repairable, `{"name":"decide","arguments":`, "}"),
	"a string": func(s string) (string, string) { return repairable, strconv.Quote(s) }, "braces before": around(repairable, "Use {the} plan: ", ""), "braces after": around(repairable, "", " as in {x}"),
	"single quotes": func(s string) (string, string) { return repairable, strings.ReplaceAll(s, `"`, `'`) }, "smart quotes": func(s string) (string, string) { return repairable, strings.ReplaceAll(s, `"`, "\u201d") },
	"trailing comma": func(s string) (string, string) { return repairable, s[:len(s)-1] + ",}" }, "no comma": replace(repairable, `","`, `" "`), "no colon": replace(repairable, `"thought":`, `"thought" `),
	"unquoted key": replace(repairable, `"thought"`, `thought`), "comment": replace(repairable, `{"thought"`, "{ // why\n\"thought\""), "block comment": replace(repairable, `,"approach"`, `, /* how */ "approach"`),
	"raw newline": replace(repairable, `"thought":"`, "\"thought\":\"a\nb"), "raw tab": replace(repairable, `"thought":"`, "\"thought\":\"a\tb"), "raw nul": replace(repairable, `"thought":"`, "\"thought\":\"a\x00b"),
	"bad escape": replace(repairable, `"thought":"`, `"thought":"\x41`), "short escape": replace(repairable, `"thought":"`, `"thought":"\u12`), "python": replace(repairable, `"thought"`, `"final":True,"thought"`), "none": replace(repairable, `"thought"`, `"final":None,"thought"`),
	"nan": replace(repairable, `"thought"`, `"confidence":NaN,"thought"`), "infinity": replace(repairable, `"thought"`, `"confidence":-Infinity,"thought"`), "hexadecimal": replace(repairable, `"thought"`, `"n":0x1f,"thought"`), "leading zero": replace(repairable, `"thought"`, `"n":007,"thought"`),
	"1e999": replace(repairable, `"thought"`, `"n":1e999,"thought"`), "ellipsis": replace(repairable, `,"approach"`, `,...,"approach"`), "equals": replace(repairable, `"thought":`, `"thought"=`), "semicolon": replace(repairable, `,"approach"`, `;"approach"`),
	"mismatched": func(s string) (string, string) { return repairable, s[:len(s)-2] + "}]" }, "deep": replace(repairable, `"thought"`, `"deep":`+strings.Repeat("[", 70)+strings.Repeat("]", 70)+`,"thought"`),
	"thought twice": replace(repairable, `"thought"`, `"thought":"","thought"`), "thought in two cases": replace(repairable, `"thought"`, `"Thought":"","thought"`), "unknown twice": replace(repairable, `"thought"`, `"x":1,"X":2,"thought"`),
	"thought no text": replace(repairable, `"thought":"t"`, `"thought":["t"]`), "thought a number": replace(repairable, `"thought":"t"`, `"thought":1`), "approach an object": replace(repairable, `"approach":"edit"`, `"approach":{"name":"edit"}`),
	"complexity": replace(repairable, `"simple"`, `"easy"`), "complexity in another case": replace(repairable, `"simple"`, `"Simple"`), "complexity a number": replace(repairable, `"simple"`, `1`),
	"complexity with a homoglyph": replace(repairable, `"moderate"`, `"m`+"\u043e"+`derate"`), "unclear tasks": replace(repairable, `"simple"`, `"unclear"`), "Tasks": replace(repairable, `"tasks"`, `"Tasks"`), "TASKS": replace(repairable, `"tasks"`, `"TASKS"`),
	"tasks twice": replace(repairable, `"tasks"`, `"tasks":[],"tasks"`), "tasks with a long s": replace(repairable, `"tasks"`, `"ta`+"\u017f"+`ks"`), "tasks in two cases": replace(repairable, `"tasks"`, `"TaskS":[{"objective":"rm -rf /","verify":"true"}],"tasks"`),
	"no check": replace(repairable, `,"verify":"go test"`, ``), "empty check": replace(repairable, `"verify":"go test"`, `"verify":""`), "blank check": replace(repairable, `"verify":"go test"`, `"verify":" \n"`), "null check": replace(repairable, `"verify":"go test"`, `"verify":null`),
	"check true": replace(repairable, `"verify":"go test"`, `"verify":true`), "check a list": replace(repairable, `"verify":"go test"`, `"verify":["go test"]`), "Verify": replace(repairable, `"verify":"go test"`, `"Verify":"go test"`), "check twice": replace(repairable, `"verify":"go test"`, `"verify":"true","verify":"go test"`),
	"no objective": replace(repairable, `"objective":"mend it",`, ``), "objective a number": replace(repairable, `"objective":"mend it"`, `"objective":7`), "objective twice": replace(repairable, `"objective":"mend it"`, `"objective":"rm -rf /","objective":"mend it"`),
	"a command": replace(repairable, `"objective":"mend it"`, `"command":"rm -rf /","objective":"mend it"`), "a worker": replace(repairable, `"objective":"mend it"`, `"worker":"root","objective":"mend it"`), "an id": replace(repairable, `"objective":"mend it"`, `"id":1,"objective":"mend it"`), "homoglyph key": replace(repairable, `"objective":"mend it"`, `"`+"\u043e"+`bjective":"rm","objective":"mend it"`),
	"unknown skill": replace(repairable, `"skill":"edit"`, `"skill":"deploy"`), "skill in another case": replace(repairable, `"skill":"edit"`, `"skill":"Edit"`), "skill with a homoglyph": replace(repairable, `"skill":"edit"`, `"skill":"ed`+"\u0456"+`t"`), "skill with a blank": replace(repairable, `"skill":"edit"`, `"skill":"edit "`), "skill with nothing": replace(repairable, `"skill":"edit"`, `"skill":"ed\u200bit"`), "skill a list": replace(repairable, `"skill":"edit"`, `"skill":["edit"]`), "skills": replace(repairable, `"skill":"edit"`, `"skills":"edit"`),
	"tasks an object": replace(repairable, `"tasks":[{"objective":"mend it","verify":"go test","skill":"edit"}]`, `"tasks":{"objective":"mend it","verify":"go test"}`), "tasks texts": replace(repairable, `"tasks":[{"objective":"mend it","verify":"go test","skill":"edit"}]`, `"tasks":["mend it"]`), "tasks a text": replace(repairable, `"tasks":[{"objective":"mend it","verify":"go test","skill":"edit"}]`, `"tasks":"mend it"`),
	"tasks nested": replace(repairable, `"tasks":[{"objective":"mend it","verify":"go test","skill":"edit"}]`, `"tasks":[[{"objective":"mend it","verify":"go test"}]]`), "tasks null": replace(repairable, `"tasks":[{"objective":"mend it","verify":"go test","skill":"edit"}]`, `"tasks":null`), "tasks empty": replace(repairable, `"tasks":[{"objective":"mend it","verify":"go test","skill":"edit"}]`, `"tasks":[]`), "null task": replace(repairable, `"tasks":[`, `"tasks":[null,`), "empty task": replace(repairable, `"tasks":[`, `"tasks":[{},`),
	"65 tasks": replace(repairable, `"tasks":[`, `"tasks":[`+strings.Repeat(`{"objective":"x","verify":"y"},`, 64)), "subtasks": replace(repairable, `"objective":"mend it"`, `"tasks":[{"objective":"x","verify":"y"}],"objective":"mend it"`),
	"effect a text": replace(repairable, `"effect":{"domain":"ci","path":"failing"}`, `"effect":"ci.failing"`), "effect without a domain": replace(repairable, `"effect":{"domain":"ci","path":"failing"}`, `"effect":{"path":"failing"}`), "effect with a value": replace(repairable, `"path":"failing"}`, `"path":"failing","value":0}`), "effect twice": replace(repairable, `"domain":"ci"`, `"domain":"prod","domain":"ci"`),
	"inputs twice": replace(repairable, `"n":9007199254740993`, `"n":1,"n":2`), "inputs in two cases": replace(repairable, `"n":9007199254740993`, `"n":1,"N":2`), "inputs 1e999": replace(repairable, `9007199254740993`, `-1e999`), "inputs nan": replace(repairable, `9007199254740993`, `NaN`), "inputs deep": replace(repairable, `9007199254740993`, strings.Repeat(`{"a":`, 70)+"1"+strings.Repeat("}", 70)),
	"applied a text": replace(repairable, `["m1"]`, `"m1"`), "applied a number": replace(repairable, `["m1"]`, `[1]`), "applied blank": replace(repairable, `["m1"]`, `["m1",""]`),
	"tasks and questions": replace(repairable, `"tasks"`, `"questions":["sure?"],"tasks"`), "tasks and an impasse": replace(repairable, `"tasks"`, `"impasse":{"kind":"conflict","subgoal":"x"},"tasks"`), "questions and an impasse": replace(repairable, `"questions"`, `"impasse":{"kind":"conflict","subgoal":"x"},"questions"`),
	"kind": replace(repairable, `"missing_capability"`, `"stuck"`), "kind in another case": replace(repairable, `"missing_capability"`, `"Missing_Capability"`), "no kind": replace(repairable, `"kind":"missing_capability",`, ``), "no subgoal": replace(repairable, `,"subgoal":"find the key"`, ``), "subgoal a list": replace(repairable, `"subgoal":"find the key"`, `"subgoal":["find the key"]`), "impasse with a task": replace(repairable, `"kind":`, `"task":"rm","kind":`), "impasse a text": replace(repairable, `"impasse":{"kind":"missing_capability","reason":"no key","subgoal":"find the key"}`, `"impasse":"no key"`), "impasse a list": replace(repairable, `"impasse":{"kind":"missing_capability","reason":"no key","subgoal":"find the key"}`, `"impasse":[]`), "reason a number": replace(repairable, `"reason":"no key"`, `"reason":404`),
	"question a text": replace(repairable, `["which one?","since when?"]`, `"which one?"`), "question blank": replace(repairable, `"since when?"`, `" "`), "question null": replace(repairable, `"since when?"`, `null`), "question an object": replace(repairable, `"since when?"`, `{"text":"since when?"}`), "question": replace(repairable, `"questions"`, `"question"`), "Questions": replace(repairable, `"questions"`, `"Questions"`),
}

func TestCorpusIsUpToDate(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	out.WriteString("# Made by the rules of corpus_test.go; go test -rewrite makes it again.\n")
	for _, seed := range sortedKeys(seeds) {
		for _, rule := range sortedKeys(rules) {
			if class, answer := rules[rule](seeds[seed]); class != "" {
				out.WriteString(specimen{class, seed + "/" + rule, reason.StopEnd, answer}.String() + "\n")
			}
		}
	}
	if *rewrite {
		require.NoError(t, os.WriteFile("testdata/answers/rules.tsv", []byte(out.String()), 0o600))
	}
	got, err := os.ReadFile("testdata/answers/rules.tsv")
	require.NoError(t, err)
	require.Equal(t, out.String(), string(got))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// once is a model that gives one answer for ever.
func once(s specimen) reason.Model {
	return reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) {
		return &reason.Response{Text: s.answer, Stop: s.stop}, nil
	})
}

func withMemory() reason.Brief {
	b := brief()
	b.Memories = append(b.Memories, hit("pattern", "p", "x"))
	return b
}

func TestCorpusIsSortedRight(t *testing.T) {
	t.Parallel()
	all := corpus(t)
	require.GreaterOrEqual(t, len(all), 300)
	wants := map[string]error{repairable: reason.ErrFormat, "refusal": reason.ErrRefusal, "empty": reason.ErrEmpty}
	for _, s := range all {
		d, err := llm(t, once(s), nil).Reason(t.Context(), withMemory())
		if s.class == accepted {
			require.NoError(t, err, "%s: %s", s.name, s.answer)
			require.NoError(t, d.Check(), s.name)
			if seed, ok := strings.CutPrefix(s.name, "rules/"); ok {
				requireSameDecision(t, seeds[strings.Split(seed, "/")[0]], d, s.name)
			}
			continue
		}
		require.Contains(t, wants, s.class, s.name)
		require.ErrorIs(t, err, wants[s.class], "%s: %s", s.name, s.answer)
		require.Equal(t, reason.Decision{}, d, s.name)
	}
}

// requireSameDecision holds a decision to the seed that it was disguised as,
// but for the thought.
func requireSameDecision(t *testing.T, seed string, d reason.Decision, name string) {
	t.Helper()
	want, err := llm(t, once(specimen{answer: seed}), nil).Reason(t.Context(), withMemory())
	require.NoError(t, err)
	want.Reasoning, d.Reasoning = "", ""
	for _, tasks := range [][]reason.Task{want.Tasks, d.Tasks} {
		for i := range tasks {
			if tasks[i].Inputs != nil {
				tasks[i].Inputs = []byte(strings.Join(strings.Fields(string(tasks[i].Inputs)), ""))
			}
		}
	}
	require.Equal(t, want, d, name)
}

// Nothing of a damaged answer is ever executed: an agent whose model gives
// nothing else ends without an attempt.
func TestDamagedAnswersAreNotActedOn(t *testing.T) {
	t.Parallel()
	var now specimen
	done := 0
	llm := llm(t, reason.ModelFunc(func(ctx context.Context, req *reason.Request) (*reason.Response, error) {
		return once(now).Generate(ctx, req)
	}), nil)
	worker := func(name string) act.Worker {
		return act.Worker{
			Card: rank.Candidate{Name: name}, Skills: []string{name}, Effects: []reason.Effect{{Domain: "ci", Path: "failing"}},
			Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
				done++
				return act.Result{Reflection: iar.Reflection{
					Status: iar.Success, Confidence: 1, Summary: "done", PotentialIssues: []string{}, AlignmentCheck: map[string]float64{"objective": 1},
				}}, nil
			}),
		}
	}
	a, err := arc.Open(t.Context(), "", arc.Host{Reasoner: llm, Workers: []act.Worker{worker("edit"), worker("test")}, Gates: []act.Gate{act.NoGate}}, &arc.Options{Seed: 1})
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	for i, s := range corpus(t) {
		now, done = s, 0
		r, err := a.Run(t.Context(), arc.Objective{ID: fmt.Sprint(i), Text: "mend it", Fresh: true})
		require.NoError(t, err, s.name)
		if s.class != accepted {
			require.Equal(t, arc.Blocked, r.Status, s.name)
			require.Zero(t, done, s.name)
			continue
		}
		switch want := strings.Count(s.answer, `"verify"`); {
		case r.Status == arc.Delivered:
			require.Equal(t, want, done, s.name)
		default:
			require.Zero(t, done, "%s: %s", s.name, r.Reason)
			require.Zero(t, want, s.name)
		}
	}
}

// A model that does what the complaint says, and otherwise knows nothing but how
// to answer anew, mends what can be mended in one round. What it answers anew
// always passes, so the answers that it changes at a place are counted apart:
// only they tell whether complaints say what to do.
func TestComplaintsLeadToRepairs(t *testing.T) {
	t.Parallel()
	var repaired, total, changed int
	for _, s := range corpus(t) {
		if s.class != repairable {
			continue
		}
		asked, anew := 0, false
		model := reason.ModelFunc(func(_ context.Context, req *reason.Request) (*reason.Response, error) {
			if asked++; asked == 1 {
				return &reason.Response{Text: s.answer, Stop: s.stop}, nil
			}
			var text string
			text, anew = mend(req.Messages[0].Text)
			return &reason.Response{Text: text}, nil
		})
		_, err := llm(t, model, nil).Reason(t.Context(), withMemory())
		require.LessOrEqual(t, asked, 2, s.name)
		if total++; anew {
			require.NoError(t, err, s.name)
			continue
		}
		if changed++; err == nil {
			repaired++
		} else {
			t.Logf("%s: not repaired: %v", s.name, err)
		}
	}
	t.Logf("%d answers: %d made anew, %d of %d others repaired", total, total-changed, repaired, changed)
	require.GreaterOrEqual(t, changed, 100)
	require.GreaterOrEqual(t, float64(repaired), 0.95*float64(changed))
}

// blockOf returns the text of a fenced block of a prompt.
func blockOf(prompt, name string) string {
	var lines []string
	inside := false
	for line := range strings.Lines(prompt) {
		switch {
		case strings.HasPrefix(line, "<<<"+name+"-"):
			inside = true
		case strings.HasPrefix(line, name+"-"):
			inside = false
		case inside:
			lines = append(lines, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "| "))
		}
	}
	return strings.Join(lines, "\n")
}

var complaint = regexp.MustCompile(`^(?:([A-Za-z_]\S*|"\S*): )?found (.*); wanted (.*)$`)

// mend returns the answer that is quoted in a prompt, changed as the complaint
// in it says, or, where that is about the answer as a whole, one made anew.
func mend(prompt string) (answer string, anew bool) {
	fresh := fmt.Sprintf(`{"thought":"anew","complexity":"simple","approach":"edit","tasks":[{"objective":%q,"verify":"go test"}]}`, blockOf(prompt, "objective"))
	previous := blockOf(prompt, "answer")
	var tree any
	start, end := strings.IndexByte(previous, '{'), strings.LastIndexByte(previous, '}')
	if start < 0 || end < start || json.Unmarshal([]byte(previous[start:end+1]), &tree) != nil {
		return fresh, true
	}
	for line := range strings.Lines(blockOf(prompt, "wrong")) {
		line = strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "the answer cannot be used: ")
		m := complaint.FindStringSubmatch(line)
		root, _ := tree.(map[string]any)
		forms := slices.DeleteFunc([]string{"tasks", "alternatives", "impasse", "questions"}, func(k string) bool { return root[k] == nil })
		switch {
		case strings.Contains(line, "give one of these four") && len(forms) > 1:
			for _, k := range forms[1:] {
				delete(root, k)
			}
		case strings.Contains(line, "an unclear objective calls for questions"):
			root["complexity"] = "simple"
		case m == nil, m[1] == "":
			return fresh, true
		case m[2] == "it twice": // reading it has left one
		default:
			tree = change(tree, "", steps(m[1]), m[3])
		}
	}
	out, err := json.Marshal(tree)
	if err != nil {
		return fresh, true
	}
	return string(out), false
}

// steps takes a path apart: keys, quoted or not, and [n].
func steps(path string) (out []string) {
	for path != "" {
		switch path[0] {
		case '.':
			path = path[1:]
		case '"':
			q, err := strconv.QuotedPrefix(path)
			if err != nil {
				return out
			}
			k, _ := strconv.Unquote(q)
			out, path = append(out, k), path[len(q):]
		case '[':
			n, rest, _ := strings.Cut(path[1:], "]")
			out, path = append(out, n), rest
		default:
			i := strings.IndexAny(path, ".[")
			if i < 0 {
				i = len(path)
			}
			out, path = append(out, path[:i]), path[i:]
		}
	}
	return out
}

// errGone says that a value is to be left out.
var errGone = errors.New("gone")

// change returns v, the value of key, with what is at the path changed as it is wanted.
func change(v any, key string, path []string, want string) any {
	if len(path) == 0 {
		return wanted(v, key, want)
	}
	switch v := v.(type) {
	case map[string]any:
		k := path[0]
		now := change(v[k], k, path[1:], want)
		if name, ok := strings.CutPrefix(want, "it written "); ok && len(path) == 1 {
			to, _ := strconv.Unquote(name)
			delete(v, k)
			if v[to] != nil {
				return v
			}
			k = to
		}
		if v[k] = now; now == errGone {
			delete(v, k)
		}
		return v
	case []any:
		if n, err := strconv.Atoi(path[0]); err == nil && n < len(v) {
			v[n] = change(v[n], key, path[1:], want)
		}
		return v
	}
	return v
}

// wanted returns the value that v, which is at a key, has to be.
func wanted(v any, key, want string) any {
	task := map[string]any{"objective": "do it", "verify": "look"}
	switch {
	case want == "no such field" || want == "each key once":
		return errGone
	case want == "an object with domain, path":
		return map[string]any{"domain": "ci", "path": "failing"}
	case want == "an object with kind, reason, subgoal":
		return map[string]any{"kind": "conflict", "reason": fmt.Sprint(v), "subgoal": "find a way"}
	case strings.HasPrefix(want, "an object with delta, effect, inputs, objective"):
		return task
	case want == "an array" && key == "tasks":
		return []any{task}
	case want == "an array":
		return []any{"m1"}
	case strings.HasPrefix(want, "one of "):
		q, _ := strconv.QuotedPrefix(strings.TrimPrefix(want, "one of "))
		s, _ := strconv.Unquote(q)
		return s
	case want == "a text" || strings.HasPrefix(want, "a text: "):
		return "some text"
	case want == "a number that can be held":
		return 0
	}
	return v // such as "it written ": the key is what is to be changed
}

// Answers of the greatest size, of the kinds on which readers take longer than
// they should, are read in time, and what is over the bound is not read.
func TestLargeAnswers(t *testing.T) {
	t.Parallel()
	const mib = reason.MaxAnswer
	for name, c := range map[string]struct {
		answer string
		want   error
	}{
		"braces": {strings.Repeat("{", mib), reason.ErrFormat}, "brackets": {"{" + strings.Repeat("[", mib-1), reason.ErrFormat},
		"quotes": {strings.Repeat(`"`, mib), reason.ErrFormat}, "quotes inside": {"{" + strings.Repeat(`"`, mib-1), reason.ErrFormat},
		"backslashes": {`{"` + strings.Repeat(`\`, mib-2), reason.ErrFormat}, "empty objects": {strings.Repeat("{}", mib/2), reason.ErrFormat},
		"half characters": {`{"thought":"` + strings.Repeat(`\ud800`, (mib-20)/6) + `"}`, reason.ErrFormat},
		"keys":            {"{" + strings.Repeat(`"a":0,`, mib/6-1) + `"b":0}`, reason.ErrFormat},
		"zeros":           {`{"a":[` + strings.Repeat("0,", mib/2-10) + `0]}`, reason.ErrFormat},
		"one number":      {`{"a":` + strings.Repeat("9", mib-20) + `}`, reason.ErrFormat},
		"blanks":          {strings.Repeat(" ", mib), reason.ErrEmpty}, "prose": {strings.Repeat("so, I'm ", mib/8), reason.ErrFormat},
		"thinking": {strings.Repeat("<think>", mib/7), reason.ErrFormat}, "no text": {strings.Repeat("\xff", mib), reason.ErrFormat},
		"thought":        {`{"thought":"` + strings.Repeat("x", 65<<10) + `","questions":["?"]}`, reason.ErrFormat},
		"tasks":          {`{"tasks":[` + strings.Repeat(`{"objective":"`+strings.Repeat("x", 60<<10)+`","verify":"y"},`, 2) + `{"objective":"` + strings.Repeat("x", 60<<10) + `","verify":"y"}]}`, reason.ErrFormat},
		"strange places": {strings.Repeat(`{"`+strings.Repeat("\u00e9", 100)+`":`, 60) + "{" + strings.Repeat(`"":1e999,`, 20) + `"":0}` + strings.Repeat("}", 60), reason.ErrFormat},
		"over":           {good + strings.Repeat(" ", mib), reason.ErrModel}, "50 MB": {strings.Repeat("x", 50<<20), reason.ErrModel},
	} {
		_, err := llm(t, once(specimen{answer: c.answer}), nil).Reason(t.Context(), brief())
		require.ErrorIs(t, err, c.want, name)
		require.LessOrEqual(t, len(err.Error()), 9<<10, name)
	}
	large := strings.Replace(good, `"t"`, `"`+strings.Repeat("x", 64<<10)+`"`, 1) + strings.Repeat(" ", mib-70<<10)
	_, err := llm(t, once(specimen{answer: large}), nil).Reason(t.Context(), brief())
	require.NoError(t, err)
}

// encode writes a decision as a model would.
func encode(t testing.TB, d reason.Decision) string {
	t.Helper()
	out := map[string]any{"complexity": d.Complexity, "approach": d.Approach, "thought": d.Reasoning}
	tasks := []map[string]any{}
	for _, k := range d.Tasks {
		task := map[string]any{"objective": k.Objective, "delta": k.Delta, "verify": k.Verify, "skill": k.Skill}
		if k.Inputs != nil {
			task["inputs"] = k.Inputs
		}
		if k.Effect != nil {
			task["effect"] = map[string]any{"domain": k.Effect.Domain, "path": k.Effect.Path}
		}
		tasks = append(tasks, task)
	}
	out["tasks"] = tasks
	if i := d.Impasse; i != nil {
		out["impasse"] = map[string]any{"kind": i.Kind, "reason": i.Reason, "subgoal": i.Subgoal}
	}
	if d.Questions != nil {
		out["questions"] = d.Questions
	}
	raw, err := json.Marshal(out)
	require.NoError(t, err)
	return string(raw)
}

// What is accepted can be acted on, names only what it was offered, and stays
// what it is when it is said again.
func FuzzAnswer(f *testing.F) {
	for _, s := range corpus(f) {
		f.Add(s.answer)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		b := withMemory()
		d, err := llm(t, once(specimen{answer: answer}), nil).Reason(t.Context(), b)
		if err != nil {
			require.True(t, errors.Is(err, reason.ErrFormat) || errors.Is(err, reason.ErrEmpty) || errors.Is(err, reason.ErrRefusal) || len(answer) > reason.MaxAnswer, "%v", err)
			require.Equal(t, reason.Decision{}, d)
			return
		}
		require.NoError(t, d.Check())
		for _, task := range d.Tasks {
			require.NotEmpty(t, strings.TrimSpace(task.Verify))
			require.True(t, task.Skill == "" || slices.Contains(b.Skills, task.Skill))
			require.True(t, task.Inputs == nil || json.Valid(task.Inputs))
		}
		for _, id := range d.Applied {
			require.EqualValues(t, "p", id)
		}
		again, err := llm(t, once(specimen{answer: encode(t, d)}), nil).Reason(t.Context(), b)
		require.NoError(t, err)
		d.Applied, again.Applied = nil, nil
		d.Tasks, again.Tasks = compact(t, d.Tasks), compact(t, again.Tasks)
		require.Equal(t, d, again)
	})
}

// compact returns the tasks with their inputs as encoding/json writes them.
func compact(t testing.TB, tasks []reason.Task) []reason.Task {
	t.Helper()
	for i := range tasks {
		if tasks[i].Inputs != nil {
			raw, err := json.Marshal(tasks[i].Inputs)
			require.NoError(t, err)
			tasks[i].Inputs = raw
		}
	}
	return tasks
}
