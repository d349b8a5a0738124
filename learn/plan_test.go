package learn_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// A plan that fires has no value of the old case that differs now, wherever in the
// plan it stood, and however it was glued to other things.
func TestFiredPlanHasNothingOfTheOldCase(t *testing.T) {
	t.Parallel()
	fired := 0
	rapid.Check(t, func(t *rapid.T) {
		// Half of the plans glue nothing to a value: of the others few fire.
		arounds := []string{"%s", "do %s", "%s now"}
		if rapid.Bool().Draw(t, "glued") {
			arounds = append(arounds, "s3://%s", "x-%s", "%s.go", "'%s'", "=%s;", "%s2", "v%s")
		}
		glued := func(value string) string {
			return fmt.Sprintf(rapid.SampledFrom(arounds).Draw(t, "around"), value)
		}
		say := func(values []string) (text string) {
			for range rapid.IntRange(0, 3).Draw(t, "words") {
				text += " " + glued(rapid.SampledFrom(append(values, "alpha", "beta")).Draw(t, "value"))
			}
			return text
		}
		old := []string{"oldone", "old-two", "77031", "OldFour"}
		now := []string{"newone", "new-two", "88042", "NewFour"}
		in := func(v []string) json.RawMessage {
			return fmt.Appendf(nil, `{"a":%q,"b":%q,"c":%s,"d":[%q]}`, v[0], v[1], v[2], v[3])
		}
		vouched := rapid.Bool().Draw(t, "vouched")
		o := delivered("run", "mend the thing"+say(old))
		o.Situation, o.Case = o.Objective, learn.Case{Vouched: vouched, Inputs: in(old)}
		o.Plan = nil
		for range rapid.IntRange(1, 2).Draw(t, "tasks") {
			o.Plan = append(o.Plan, reason.Task{
				Objective: "do" + say(old), Verify: say(old), Skill: rapid.SampledFrom([]string{"edit", "oldone"}).Draw(t, "skill"),
				Inputs: fmt.Appendf(nil, `{"a":%q,"n":%s,"x":[%q]}`, glued(old[0]), old[2], strings.TrimSpace(say(old))),
			})
		}
		if vouched {
			o.Situation = situation
		}
		p, err := open(t.Context(), store.NewMem(), &learn.Options{FireAfter: 1})
		require.NoError(t, err)
		defer func() { require.NoError(t, p.close()) }()
		_, err = p.learner.Learn(t.Context(), o)
		require.NoError(t, err)

		a := learn.Ask{Scope: scope, Situation: o.Situation, Objective: o.Objective, Case: o.Case}
		for i, v := range old {
			a.Objective = strings.ReplaceAll(a.Objective, v, now[i])
		}
		if a.Inputs = in(now); !vouched {
			a.Situation = a.Objective
		}
		found, err := p.learner.Recall(t.Context(), a)
		require.NoError(t, err)
		chunk, ok := learn.Fire(p.learner.Match(found.Hits, a), nil)
		if !ok {
			return
		}
		fired++
		raw, err := json.Marshal(chunk.Tasks)
		require.NoError(t, err)
		for _, v := range old {
			require.NotContains(t, strings.ToLower(string(raw)), strings.ToLower(v))
		}
	})
	require.Positive(t, fired, "some plans do fire")
}

// Whatever stands in a stored plan, it is decoded without a panic, and what fires
// is a plan that can be run.
func FuzzStoredPlan(f *testing.F) {
	f.Add([]byte(`{"version":2,"situation":"s","words":[{"text":"mend"},{"from":["/thing"]}],"inputs":[{"path":"/thing","kind":"string","quoted":true}],` +
		`"tasks":[{"objective":[{"text":"mend "},{"from":["/thing"]}],"inputs":{"map":[{"name":"n","value":{"from":["/thing"]}}]}}]}`))
	f.Add([]byte(`{"version":2,"words":[{"from":[]}],"tasks":[{"objective":[{"from":["1"]}],"inputs":{"list":[{"raw":null},{}]}}]}`))
	f.Add([]byte(`{"Approach":"x","Tasks":[{"Objective":"mend it"}]}`))
	f.Add([]byte(`{"version":2,"named":[[]],"tasks":[null]}`))
	l, err := learn.New(nil, nil, nil, &learn.Options{FireAfter: 1})
	require.NoError(f, err)
	a := ask("cache")
	a.Objective, a.Vouched = "mend cache", false
	f.Fuzz(func(t *testing.T, raw []byte) {
		hits := []memory.Hit{{Record: memory.Record{ID: "m", Kind: memory.Pattern, Scope: scope, Trusted: true, Plan: raw}}}
		for _, c := range l.Match(hits, a) {
			if len(c.Differs) == 0 {
				require.NoError(t, (&reason.Decision{Tasks: c.Tasks}).Check())
			}
		}
	})
}

// A pattern of before has no conditions: it is suggested, and never fires.
func TestPlanWithoutConditionsIsOnlySuggested(t *testing.T) {
	t.Parallel()
	l, err := learn.New(nil, nil, nil, nil)
	require.NoError(t, err)
	r := memory.Record{
		ID: "m", Kind: memory.Pattern, Scope: scope, Trusted: true, Trigger: situation,
		Plan: []byte(`{"Approach":"make the map","Tasks":[{"Objective":"edit for: {{objective}}","Skill":"edit"}]}`),
	}
	r.Stats.Helped = 10
	hits := []memory.Hit{{Record: r}}
	_, fires := learn.Fire(l.Match(hits, ask("the cache")), nil)
	require.False(t, fires)
	got := l.Match(hits, ask("the cache"))
	require.Len(t, got, 1)
	require.Equal(t, []string{"it was stored without its conditions"}, got[0].Differs)
}

// fires learns cases, and says what fires for another one.
func fires(t *testing.T, a learn.Ask, learned ...learn.Outcome) (learn.Chunk, bool) {
	t.Helper()
	p := setup(t, nil)
	for i := range learned {
		_, err := p.learner.Learn(t.Context(), learned[i])
		require.NoError(t, err)
	}
	found, err := p.learner.Recall(t.Context(), a)
	require.NoError(t, err)
	return learn.Fire(p.learner.Match(found.Hits, a), nil)
}

// A plan that delivered twice fires for no objective that means another thing.
func TestNamesThatLookLikeArticlesFireNothing(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"delete a from b", "delete from b"},
		{"run plan a for acme", "run plan for acme"},
		{"order the hepatitis a vaccine for ward three", "order the hepatitis vaccine for ward three"},
		{"compute 5!", "compute 5"},
	} {
		var learned []learn.Outcome
		for _, run := range []string{"one", "two"} {
			o := delivered(run, pair[0])
			o.Situation, o.Case = o.Objective, learn.Case{}
			o.Plan = []reason.Task{{Objective: "do it", Skill: "edit", Worker: "fixer"}}
			learned = append(learned, o)
		}
		a := learn.Ask{Scope: scope, Situation: pair[1], Objective: pair[1]}
		if _, ok := fires(t, a, learned...); ok {
			t.Errorf("the plan for %q fires for %q", pair[0], pair[1])
		}
	}
}

// A value from any hand does not make a command reach beyond what it named.
func TestBoundPathsStayWhereTheyWere(t *testing.T) {
	t.Parallel()
	for _, c := range [][4]string{
		{"rm -rf ", "build", "/", "clean the folder"},
		{"rm -rf ", "build", "/etc", "clean the folder"},
		{"curl --data ", "hello", "@/etc/passwd", "post the text"},
	} {
		var learned []learn.Outcome
		in := func(v string) []byte { return []byte(`{"x":"` + v + `"}`) }
		for _, run := range []string{"one", "two"} {
			o := delivered(run, c[3])
			o.Situation, o.Case = o.Objective, learn.Case{Inputs: in(c[1])}
			o.Plan = []reason.Task{{Objective: c[0] + c[1], Skill: "edit", Worker: "fixer"}}
			learned = append(learned, o)
		}
		a := learn.Ask{Scope: scope, Situation: c[3], Objective: c[3], Case: learn.Case{Inputs: in(c[2])}}
		if chunk, ok := fires(t, a, learned...); ok {
			t.Errorf("%q fires", chunk.Tasks[0].Objective)
		}
	}
}

// Three services that were restarted do not make a plan for a point in time.
func TestAVariableIsNoAdverb(t *testing.T) {
	t.Parallel()
	for _, other := range []string{"tomorrow", "later", "immediately", "gracefully", "twice", "half", "today", "latest", "whatever"} {
		var learned []learn.Outcome
		for _, thing := range []string{"billing", "search", "mail"} {
			o := delivered(thing, "please deploy "+thing)
			o.Situation, o.Case = o.Objective, learn.Case{}
			o.Plan = []reason.Task{{Objective: "roll out " + thing, Skill: "edit", Worker: "fixer"}}
			learned = append(learned, o)
		}
		a := learn.Ask{Scope: scope, Situation: "please deploy " + other, Objective: "please deploy " + other}
		if chunk, ok := fires(t, a, learned...); ok {
			t.Errorf("%q fires", chunk.Tasks[0].Objective)
		}
	}
}

// Nor one for what is not to be done.
func TestAVariableIsNoNegation(t *testing.T) {
	t.Parallel()
	for _, other := range []string{"nicht", "nie", "Keinen", "никогда", "dont", "cancel", "jamais"} {
		var learned []learn.Outcome
		for _, thing := range []string{"billing", "search", "mail"} {
			o := delivered(thing, thing+" jetzt neu starten")
			o.Situation, o.Case = o.Objective, learn.Case{}
			o.Plan = []reason.Task{{Objective: "systemctl restart " + thing, Skill: "edit", Worker: "fixer"}}
			learned = append(learned, o)
		}
		a := learn.Ask{Scope: scope, Situation: other + " jetzt neu starten", Objective: other + " jetzt neu starten"}
		if chunk, ok := fires(t, a, learned...); ok {
			t.Errorf("%q fires", chunk.Tasks[0].Objective)
		}
	}
}

// A number of the plan's own is not that of the inputs.
func TestANumberOfThePlanIsNotThatOfTheInputs(t *testing.T) {
	t.Parallel()
	var learned []learn.Outcome
	in := func(v string) []byte { return []byte(`{"replicas":` + v + `}`) }
	for _, run := range []string{"one", "two"} {
		o := delivered(run, "scale the web service")
		o.Situation, o.Case = o.Objective, learn.Case{Inputs: in("3")}
		o.Plan = []reason.Task{{Objective: "scale as the inputs say", Verify: "the health check passes 3 times in a row", Inputs: in("3"), Skill: "edit", Worker: "fixer"}}
		learned = append(learned, o)
	}
	a := learn.Ask{Scope: scope, Situation: "scale the web service", Objective: "scale the web service", Case: learn.Case{Inputs: in("50")}}
	if chunk, ok := fires(t, a, learned...); ok {
		require.Equal(t, "the health check passes 3 times in a row", chunk.Tasks[0].Verify)
	}
}

// What the plan has of the old case, glued, inflected or written in another way, keeps it from firing for another
// one, where the host vouches for the situation too.
func TestVouchedPlanHasNothingOfTheOldCase(t *testing.T) {
	t.Parallel()
	for _, c := range [][4]string{ // value, plan, other value, what must not stand in a plan that fires
		{`"eu"`, "deploy to eu-west-1", `"us"`, "eu-west-1"},
		{`"de"`, "translate with locale de_DE", `"fr"`, "de_DE"},
		{`"ny"`, "write report_ny.csv", `"ca"`, "report_ny"},
		{`"cat"`, "feed the cats", `"dog"`, "cats"},
		{`"api"`, "restart all apis", `"web"`, "apis"},
		{`1000`, "transfer 1,000 euros", `2000`, "1,000"},
		{`0.5`, "set the share to .5", `0.9`, ".5"},
		{`"q1"`, "close Q1-2026", `"q2"`, "Q1"},
		{`"Ann"`, "mail ann@example.com", `"Bob"`, "ann@"},
		{`"x7"`, "mount /dev/x7p1", `"x8"`, "x7p1"},
		{`true`, "delete with force=true", `false`, "true"},
		{`"müller"`, "mail MÜLLER-GmbH", `"maier"`, "MÜLLER"},
		{`["eu"]`, "deploy to eu-west-1", `["us"]`, "eu-west-1"},
		{`{"r":"eu"}`, "deploy to eu-west-1", `{"r":"us"}`, "eu-west-1"},
	} {
		var learned []learn.Outcome
		in := func(v string) learn.Case { return learn.Case{Vouched: true, Inputs: fmt.Appendf(nil, `{"x":%s}`, v)} }
		for _, run := range []string{"one", "two"} {
			o := delivered(run, "do what the ticket says")
			o.Situation, o.Case = "a ticket of the usual kind", in(c[0])
			o.Plan = []reason.Task{{Objective: c[1], Skill: "edit", Worker: "fixer"}}
			learned = append(learned, o)
		}
		a := learn.Ask{Scope: scope, Situation: "a ticket of the usual kind", Objective: "do what the ticket says", Case: in(c[2])}
		if chunk, ok := fires(t, a, learned...); ok && strings.Contains(chunk.Tasks[0].Objective, c[3]) {
			t.Errorf("learned with %s, fires with %s: %q", c[0], c[2], chunk.Tasks[0].Objective)
		}
	}
}

// What a plan repeats of its objective means the opposite where a negation turns the
// objective around: the host vouches for the situation, not for that.
func TestVouchedPlanIsNotThatOfTheOpposite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		was, plan, now string
		fires          bool
	}{
		{"scale web to 3", "scale web to 3", "do not scale web to 3", false},
		{"scale web to 3", "scale web to 3", "please don't scale web to 3 tonight", false},
		{"delete all logs", "delete all logs", "delete no logs", false},
		{"do not scale web", "look at web", "scale web", false},
		{"stop web, never db", "stop web and leave db", "never stop web, db", false},
		{"stop web, never db", "stop web and leave db", "stop web now, and never db", true},
		{"scale web to 3", "scale web to 3", "the release is out: scale web to 3", true},
		{"scale web to 3", "do what the ticket says", "do not scale web to 3", true}, // the worker reads it
		{"scale web to 3", "scale web to 3", "dont scale web to 3", false},
		{"scale web to 3", "scale web to 3", "don´t scale web to 3", false},
		{"scale web to 3", "scale web to 3", "**don’t**! scale web to 3", false},
		{"scale web to 3", "scale web to 3", "n\u200bot: scale web to 3", false},
		{"scale web to 3", "scale web to 3", "nоt: scale web to 3", false}, // its o is Cyrillic
		{"scale web to 3", "scale web to 3", "🚫 scale web to 3", false},
		{"scale web to 3", "scale web to 3", "scale web to 3? No.", false},
		{"no, scale web to 3", "scale web to 3", "no, scale web to 3 at once", true},
		{"no, scale web to 3", "scale web to 3", "no scale web to 3", false},
		{"I said don't. Scale web", "Scale web", "I said don't scale web", false},
		{"skaliere web auf 3", "skaliere web auf 3", "bitte skaliere web nicht auf 3", false},
		{"skaliere web auf 3", "skaliere web auf 3", "bitte skaliere web sofort auf 3", true},
		{"arrête web", "arrête web", "n'arrête pas web", false},
		{"arrête web", "arrête web", "jamais arrête web", false},
		{"reinicia web", "reinicia web", "no reinicia web", false},
		{"reinicia web", "reinicia web", "NUNCA reinicia web", false},
		{"останови web", "останови web", "не останови web", false},
		{"останови web", "останови web", "сейчас останови web", true},
		{"reinicie web", "reinicie web", "não reinicie web", false},
		{"restart web", "restart web", "web を restart しないで", false},
		{"restart web", "restart web", "别 restart web", false},
		{"请 restart web", "restart web", "别 restart web", false},
		{"请 restart web", "restart web", "请 restart web now", true},
		{"退款订单", "退款", "不要退款订单", false},
		{"退款订单", "退款", "取消退款订单", false},
		{"退款订单", "退款", "退款订单", true},
		{"注文を返金する", "注文を返金", "注文を返金しないで", false},
		{"주문을 환불", "주문을 환불하라", "주문을 환불하지 마라", false},
		{"คืนเงิน", "คืนเงิน", "อย่าคืนเงิน", false},
		{"верни заказ", "верни заказ", "отмени: верни заказ", false},
		{"erstatte web", "erstatte web", "storniere: erstatte web", false},
		{"rembourse web", "rembourse web", "annule: rembourse web", false},
	} {
		vouched := learn.Case{Vouched: true}
		var learned []learn.Outcome
		for _, run := range []string{"one", "two"} {
			o := delivered(run, c.was)
			o.Situation, o.Case = "a ticket of the usual kind", vouched
			o.Plan = []reason.Task{{Objective: c.plan, Skill: "edit", Worker: "fixer"}}
			learned = append(learned, o)
		}
		a := learn.Ask{Scope: scope, Situation: "a ticket of the usual kind", Objective: c.now, Case: vouched}
		_, ok := fires(t, a, learned...)
		require.Equal(t, c.fires, ok, "%q, learned from %q", c.now, c.was)
	}
}

// A flag that the plan does not repeat decided which plan it was: the host vouches
// for the situation, not for a dry run in place of a real one.
func TestVouchedPlanIsNotThatOfTheOtherFlag(t *testing.T) {
	t.Parallel()
	learned := func(run, inputs, plan string) learn.Outcome {
		o := delivered(run, "roll it out")
		o.Situation, o.Case = "a rollout", learn.Case{Vouched: true, Inputs: json.RawMessage(inputs)}
		o.Plan = []reason.Task{{Objective: plan, Skill: "edit", Worker: "fixer"}}
		return o
	}
	dry := []learn.Outcome{learned("one", `{"dry":true,"n":1}`, "print it"), learned("two", `{"dry":true,"n":2}`, "print it")}
	real := []learn.Outcome{learned("three", `{"dry":false,"n":1}`, "do it"), learned("four", `{"dry":false,"n":2}`, "do it")}
	ask := func(inputs string) learn.Ask {
		return learn.Ask{
			Scope: scope, Situation: "a rollout", Objective: "roll it out",
			Case: learn.Case{Vouched: true, Inputs: json.RawMessage(inputs)},
		}
	}
	_, ok := fires(t, ask(`{"dry":false,"n":3}`), dry...)
	require.False(t, ok, "what was learned dry does not run")
	chunk, ok := fires(t, ask(`{"dry":true,"n":3}`), append(dry, real...)...)
	require.True(t, ok)
	require.Equal(t, "print it", chunk.Tasks[0].Objective)
	chunk, ok = fires(t, ask(`{"dry":false,"n":3}`), append(dry, real...)...)
	require.True(t, ok)
	require.Equal(t, "do it", chunk.Tasks[0].Objective)

	quoted := learned("five", `{"dry":true}`, "roll it out")
	quoted.Plan[0].Inputs = json.RawMessage(`{"dry":true}`)
	again := quoted
	again.Key, again.GoalKey, again.Run = "six/1", "six", "six"
	chunk, ok = fires(t, ask(`{"dry":false}`), quoted, again)
	require.True(t, ok, "what the plan repeats is bound")
	require.JSONEq(t, `{"dry":false}`, string(chunk.Tasks[0].Inputs))
}

// A plan that repeats nothing but values of the inputs does not fire for the opposite either.
func TestVouchedPlanOfValuesIsNotThatOfTheOpposite(t *testing.T) {
	t.Parallel()
	for now, want := range map[string]bool{
		"do not kill db": false, "kill nothing but db": false, "tue db nicht": false, "please kill db now": true, "db: kill it": true,
	} {
		in := func(v string) learn.Case {
			return learn.Case{Vouched: true, Inputs: fmt.Appendf(nil, `{"service":%q}`, v)}
		}
		var learned []learn.Outcome
		for _, run := range []string{"one", "two"} {
			o := delivered(run, "kill web")
			o.Situation, o.Case = "a ticket of the usual kind", in("web")
			o.Plan = []reason.Task{{Objective: "end web", Skill: "edit", Worker: "fixer"}}
			learned = append(learned, o)
		}
		_, ok := fires(t, learn.Ask{Scope: scope, Situation: "a ticket of the usual kind", Objective: now, Case: in("db")}, learned...)
		require.Equal(t, want, ok, now)
	}
}

// A plan that copies a list of its inputs is bound row by row: equal values of other
// rows stand for nothing in it. One that has chosen among the rows is not.
func TestCopiedRowsAreBoundByTheirPlace(t *testing.T) {
	t.Parallel()
	rows := func(states ...string) json.RawMessage {
		var all []string
		for i, state := range states {
			all = append(all, fmt.Sprintf(`{"id":%d,"state":%q,"owner":"ann"}`, 100+i, state))
		}
		return json.RawMessage(`{"rows":[` + strings.Join(all, ",") + `]}`)
	}
	learned := func(in, plan json.RawMessage) (out []learn.Outcome) {
		for _, run := range []string{"one", "two"} {
			o := delivered(run, "sum up the rows")
			o.Situation, o.Case = "a summary", learn.Case{Vouched: true, Inputs: in}
			o.Plan = []reason.Task{{Objective: "sum up", Skill: "edit", Worker: "fixer", Inputs: plan}}
			out = append(out, o)
		}
		return out
	}
	ask := func(in json.RawMessage) learn.Ask {
		return learn.Ask{
			Scope: scope, Situation: "a summary", Objective: "sum up the rows", Case: learn.Case{Vouched: true, Inputs: in},
		}
	}
	many := slices.Repeat([]string{"open"}, 150)
	now := slices.Clone(many)
	now[3] = "closed"
	chunk, ok := fires(t, ask(rows(now...)), learned(rows(many...), rows(many...))...)
	require.True(t, ok)
	require.JSONEq(t, string(rows(now...)), string(chunk.Tasks[0].Inputs))

	some := learned(rows("open", "closed", "open"), rows("open"))
	_, ok = fires(t, ask(rows("shut", "closed", "open")), some...)
	require.False(t, ok, "which of the open ones it was is not known")
}

// A value of the old case that stands in the effect, the worker or the skill of a plan keeps it from firing, too.
func TestEffectAndWorkerAreOfTheCase(t *testing.T) {
	t.Parallel()
	for name, task := range map[string]reason.Task{
		"effect": {Objective: "scale up", Skill: "edit", Effect: &reason.Effect{Domain: "cluster", Path: "data.frankfurt.replicas"}},
		"domain": {Objective: "scale up", Skill: "edit", Effect: &reason.Effect{Domain: "cluster-frankfurt", Path: "replicas"}},
		"worker": {Objective: "scale up", Skill: "edit", Worker: "deployer-frankfurt"},
		"skill":  {Objective: "scale up", Skill: "deploy_frankfurt"},
		"inputs": {Objective: "scale up", Skill: "edit", Inputs: []byte(`{"cluster-frankfurt":3}`)},
	} {
		var learned []learn.Outcome
		in := func(v string) learn.Case {
			return learn.Case{Vouched: true, Inputs: fmt.Appendf(nil, `{"region":%q}`, v)}
		}
		for _, run := range []string{"one", "two"} {
			o := delivered(run, "there is too much load")
			o.Situation, o.Case, o.Plan = "a region has too much load", in("frankfurt"), []reason.Task{task}
			learned = append(learned, o)
		}
		a := learn.Ask{Scope: scope, Situation: "a region has too much load", Objective: "there is too much load", Case: in("dublin")}
		if chunk, ok := fires(t, a, learned...); ok {
			t.Errorf("%s: fires in dublin: %+v", name, chunk.Tasks[0])
		}
	}
}

// The same without a named situation, where the plan quotes the value once and has it glued elsewhere.
func TestAQuotedValueIsKeptWhereItIsGlued(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		was, now string
		task     reason.Task
	}{
		{"eu", "us", reason.Task{Objective: "deploy to eu, from the bucket eu-west-1", Skill: "edit"}},
		{"frankfurt", "dublin", reason.Task{Objective: "scale frankfurt", Skill: "edit", Effect: &reason.Effect{Domain: "cluster", Path: "data.frankfurt.replicas"}}},
		{"frankfurt", "dublin", reason.Task{Objective: "scale frankfurt", Skill: "edit", Worker: "deployer-frankfurt"}},
		{"cat", "dog", reason.Task{Objective: "find the cat, then feed the cats", Skill: "edit"}},
	} {
		var learned []learn.Outcome
		in := func(v string) learn.Case { return learn.Case{Inputs: fmt.Appendf(nil, `{"x":%q}`, v)} }
		for _, run := range []string{"one", "two"} {
			o := delivered(run, "do what the ticket says")
			o.Situation, o.Case, o.Plan = o.Objective, in(c.was), []reason.Task{c.task}
			learned = append(learned, o)
		}
		a := learn.Ask{Scope: scope, Situation: "do what the ticket says", Objective: "do what the ticket says", Case: in(c.now)}
		if chunk, ok := fires(t, a, learned...); ok {
			t.Errorf("%s: fires %q, effect %+v, worker %q", c.now, chunk.Tasks[0].Objective, chunk.Tasks[0].Effect, chunk.Tasks[0].Worker)
		}
	}
}

// A chunk is found by its situation also where that has little but values of the inputs, for which the
// chunk has names.
func TestPlanOfAShortSituationIsFound(t *testing.T) {
	t.Parallel()
	for _, vouched := range []bool{true, false} {
		p := setup(t, nil)
		given := func(kind, file string) (situation, objective string, c learn.Case) {
			situation, objective = "convert "+kind, "convert "+file
			if !vouched {
				situation = objective
			}
			return situation, objective, learn.Case{Vouched: vouched, Inputs: fmt.Appendf(nil, `{"Kind":%q,"File":%q}`, kind, file)}
		}
		for i := range 2 {
			o := delivered(fmt.Sprint("run", i), "")
			o.Situation, o.Objective, o.Case = given("png", fmt.Sprintf("f%d.png", i))
			o.Plan = []reason.Task{{Objective: o.Objective, Skill: "edit", Inputs: o.Inputs}}
			_, err := p.learner.Learn(t.Context(), o)
			require.NoError(t, err)
		}
		a := learn.Ask{Scope: scope}
		a.Situation, a.Objective, a.Case = given("gif", "x9.gif")
		found, err := p.learner.Recall(t.Context(), a)
		require.NoError(t, err)
		chunk, ok := learn.Fire(p.learner.Match(found.Hits, a), nil)
		require.True(t, ok, "vouched: %t", vouched)
		require.Equal(t, "convert x9.gif", chunk.Tasks[0].Objective)
		require.JSONEq(t, `{"Kind":"gif","File":"x9.gif"}`, string(chunk.Tasks[0].Inputs))
	}
}

// converted is a delivered goal whose kind decides who can do it.
func converted(run, kind, worker string) learn.Outcome {
	o := delivered(run, "")
	o.Situation, o.Objective = "convert a file of one kind", "convert "+kind
	o.Case = learn.Case{Vouched: true, Inputs: fmt.Appendf(nil, `{"kind":%q}`, kind)}
	o.Plan = []reason.Task{{Objective: o.Objective, Skill: "edit", Worker: worker}}
	return o
}

// A chunk serves two values of an input, each delivered by another worker: it names neither.
func TestAChunkOfTwoWorkersNamesNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		learned []learn.Outcome
		want    string
	}{
		"one worker":  {[]learn.Outcome{converted("1", "image", "painter"), converted("2", "text", "painter")}, "painter"},
		"two workers": {[]learn.Outcome{converted("1", "image", "painter"), converted("2", "text", "writer")}, ""},
		"and again": {[]learn.Outcome{
			converted("1", "image", "painter"), converted("2", "text", "writer"), converted("3", "image", "painter"),
		}, ""},
		"the same value": {[]learn.Outcome{converted("1", "image", "painter"), converted("2", "image", "writer")}, "painter"},
	} {
		p := setup(t, nil)
		var id memory.ID
		for i, o := range c.learned {
			lessons, err := p.learner.Learn(t.Context(), o)
			require.NoError(t, err)
			if i == 0 {
				id = lessons.Chunk.ID
				continue
			}
			require.Equal(t, id, lessons.Chunk.Into, name)
		}
		a := learn.Ask{Scope: scope, Situation: "convert a file of one kind", Objective: "convert text"}
		a.Case = learn.Case{Vouched: true, Inputs: []byte(`{"kind":"text"}`)}
		chunk, ok := learn.Fire(p.learner.Match(p.hits(t, id), a), nil)
		require.True(t, ok, name)
		require.Equal(t, c.want, chunk.Tasks[0].Worker, name)
		require.Equal(t, "convert text", chunk.Tasks[0].Objective)
		r, err := p.bank.In(scope).Get(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, c.want != "", strings.Contains(r.Content, ", done by painter"), r.Content)
		require.Equal(t, len(c.learned)-1, r.Stats.Helped, name)
	}
}

// The name of a worker that the ranking has chosen is none of the plan's words.
func TestARankedWorkerIsNotOfTheCase(t *testing.T) {
	t.Parallel()
	for ranked, want := range map[bool]bool{true: true, false: false} {
		var learned []learn.Outcome
		for _, run := range []string{"1", "2"} {
			o := converted(run, "image", "image")
			if ranked {
				o.Ranked = []int{0}
			}
			learned = append(learned, o)
		}
		a := learn.Ask{Scope: scope, Situation: "convert a file of one kind", Objective: "convert text"}
		a.Case = learn.Case{Vouched: true, Inputs: []byte(`{"kind":"text"}`)}
		_, ok := fires(t, a, learned...)
		require.Equal(t, want, ok, "ranked: %t", ranked)
	}
}

// What the host has named is what a plan is found by, however rare the words of the
// objective are beside it, and however often its own are said.
func TestNamedSituationIsFoundByItsName(t *testing.T) {
	t.Parallel()
	p := setup(t, nil)
	o := delivered("run-1", "where is ORD-1, which I have ordered for my daughter's birthday?")
	o.Situation, o.Case = "order status", named("ORD-1")
	o.Plan[0].Objective = "look up ORD-1"
	for _, key := range []string{"run-1", "run-2"} {
		o.Key, o.GoalKey, o.Run = key, key, key
		_, err := p.learner.Learn(t.Context(), o)
		require.NoError(t, err)
	}
	var said []memory.Draft
	for i := range 60 {
		said = append(said, memory.Draft{Kind: memory.Episode, Content: fmt.Sprintf(`{"order":"ORD-%d","status":"shipped"}`, i)})
	}
	_, err := p.bank.In(scope).RememberAll(t.Context(), said)
	require.NoError(t, err)
	a := learn.Ask{
		GoalKey: "run-3", Scope: scope, Situation: o.Situation, Case: named("ORD-7"),
		Objective: "Good morning! ORD-7, the toaster in cream white, is late, and Aunt Ingeborg visits on Sunday.",
	}
	found, err := p.learner.Recall(t.Context(), a)
	require.NoError(t, err)
	chunk, ok := learn.Fire(p.learner.Match(found.Hits, a), nil)
	require.True(t, ok)
	require.Equal(t, "look up ORD-7", chunk.Tasks[0].Objective)
}

// A value stands next to signs of scripts that are written without spaces: it is bound anew there, and what is said
// around it is the same or the plan does not fire.
func TestPlansInScriptsWithoutSpaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		was, plan string
		not       []string
	}{
		{"退款订单%s", "为订单%s退款", []string{"不要退款订单%s", "取消订单%s的退款", "先别给订单%s退款", "退款订单%s，但不要通知客户", "查询订单%s"}},
		{"退款订单：%s，谢谢", "订单：%s，退款", []string{"退款订单：不%s，谢谢"}},
		{"退款订单%s", "执行退款流程", []string{"不要退款订单%s"}},
		{"注文%sを返金する", "注文%sを返金してください", []string{"注文%sを返金しないで"}},
		{"주문 %s를 환불", "주문 %s를 환불하라", []string{"주문 %s를 환불하지 마라"}},
		{"คืนเงินคำสั่งซื้อ%s", "คืนเงินคำสั่งซื้อ%sทันที", []string{"อย่าคืนเงินคำสั่งซื้อ%s"}},
	} {
		of := func(id string) learn.Case {
			return learn.Case{Vouched: true, Inputs: fmt.Appendf(nil, `{"order":%q}`, id)}
		}
		say := func(text, id string) string { return strings.ReplaceAll(text, "%s", id) }
		var learned []learn.Outcome
		for _, id := range []string{"A-17", "B-4"} {
			o := delivered(id, say(c.was, id))
			o.Situation, o.Case = "退款一个订单", of(id)
			o.Plan = []reason.Task{{Objective: say(c.plan, id), Skill: "edit", Worker: "fixer"}}
			learned = append(learned, o)
		}
		a := learn.Ask{Scope: scope, Situation: "退款一个订单", Objective: say(c.was, "C-99"), Case: of("C-99")}
		chunk, ok := fires(t, a, learned...)
		require.True(t, ok, c.was)
		require.Equal(t, say(c.plan, "C-99"), chunk.Tasks[0].Objective)
		for _, not := range c.not {
			a.Objective = say(not, "C-99")
			_, ok := fires(t, a, learned...)
			require.False(t, ok, not)
		}
	}
}
