package learn_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// shared has 16 scopes below one Lessons scope, which each delivered six cases of 60 inputs, and returns another case.
func shared(b testing.TB) (*learn.Layer, learn.Case) {
	l, err := learn.New(b.Context(), store.NewMem(), &learn.Options{Seed: 1, Scope: "acme"})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, l.Close()) })
	of := func(scope, n int) (learn.Case, learn.Outcome) {
		in, out := map[string]string{}, map[string]string{}
		for v := range 60 {
			in[fmt.Sprint("v", v)] = fmt.Sprintf("word-%d-%d", v, (scope*7+n*3+v)%50)
			if v%6 == 0 {
				out[fmt.Sprint("p", v)] = in[fmt.Sprint("v", v)]
			}
		}
		inputs, _ := json.Marshal(in)
		call, _ := json.Marshal(out)
		c := learn.Case{Scope: memory.Scope(fmt.Sprint("acme/s", scope)), Lessons: "acme", Text: "set it up", Inputs: inputs}
		return c, learn.Outcome{Verdict: learn.Delivered, Plan: plan("do", string(call))}
	}
	for i := range 16 * 6 {
		c, o := of(i/6, i%6)
		_, err := l.After(b.Context(), learn.Advice{Case: c}, o)
		require.NoError(b, err)
	}
	c, _ := of(20, 9)
	return l, c
}

// What a Before does stays bounded, however many scopes came to a plan, and whether it fires or not.
func TestManyScopes(t *testing.T) {
	l, c := shared(t)
	for _, fires := range []bool{true, false} {
		if !fires { // a value of its own form, which no call says
			c.Inputs = json.RawMessage(string(c.Inputs[:len(c.Inputs)-2]) + `?"}`)
		}
		var a learn.Advice
		work := testing.AllocsPerRun(1, func() {
			var err error
			a, err = l.Before(t.Context(), c)
			require.NoError(t, err)
		})
		require.Equal(t, fires, a.Fires != nil, a.Why)
		require.Less(t, work, 1_000_000.0, "allocations")
	}
}

func BenchmarkManyScopes(b *testing.B) {
	l, c := shared(b)
	for b.Loop() {
		if a, err := l.Before(b.Context(), c); err != nil || a.Fires == nil {
			b.Fatal(err, a.Why)
		}
	}
}

// Two teams mean something else by the same words: each goes by what it has delivered and refused itself.
func TestTeamsMeanTheirOwn(t *testing.T) {
	b := open(t, acme(learn.Options{}))
	ask := func(user, definition string) (learn.Case, *reason.Plan) {
		c := learn.Case{Scope: memory.Scope("acme/" + user), Lessons: "acme", Text: "How many active customers are there?"}
		return c, plan("sql", `{"query":"select count(*) from customers where `+definition+`"}`)
	}
	anna, ordered := ask("sales/anna", "ordered")
	bo, active := ask("product/bo", "logged_in")
	cy, _ := ask("product/cy", "logged_in")
	for range 2 {
		b.deliver(anna, ordered)
	}
	for _, c := range []learn.Case{bo, cy, bo} {
		b.deliver(c, active)
	}
	require.Equal(t, ordered.Calls, b.before(anna).Fires.Calls)
	require.Equal(t, active.Calls, b.before(bo).Fires.Calls)
	wrong := b.before(cy)
	require.NotNil(t, wrong.Fires)
	b.after(wrong, learn.Outcome{Verdict: learn.Failed, Complaint: "not what we mean"})
	di, _ := ask("support/di", "")
	require.Nil(t, b.before(di).Fires, "a no is heard by who has not delivered it")
	require.Equal(t, ordered.Calls, b.before(anna).Fires.Calls, "and is not hers")
	b.deliver(bo, active)
	b.deliver(cy, active)
	require.Equal(t, active.Calls, b.before(di).Fires.Calls)
	a := b.before(anna)
	require.Equal(t, ordered.Calls, a.Fires.Calls)
	b.after(a, learn.Outcome{Verdict: learn.Failed, Complaint: "not any more"})
	require.Nil(t, b.before(anna).Fires, "her own no stops it, and brings her nobody's")
	k, err := b.Known(t.Context(), "acme")
	require.NoError(t, err)
	require.Len(t, k.Suggestions, 1)
	k.Suggestions[0].Retired = true
	_, err = b.Edit(t.Context(), "acme", k.Suggestions[0])
	require.NoError(t, err)
	require.Nil(t, b.before(bo).Fires, "a person has retired it for all")
	k.Suggestions[0].Retired = false
	_, err = b.Edit(t.Context(), "acme", k.Suggestions[0])
	require.NoError(t, err)
	own := anna
	own.Scope = "acme"
	for range 2 {
		b.deliver(own, plan("count", `{"of":"customers"}`))
	}
	k, err = b.Known(t.Context(), "acme")
	require.NoError(t, err)
	require.Len(t, k.Suggestions, 2, "its own, and what those below share")
}

// Who has delivered a plan once, and used it since, is not brought what others mean by the words, in any of its texts.
func TestUserMeansTheirOwn(t *testing.T) {
	b := open(t, acme(learn.Options{}))
	ask := func(user, definition string) (learn.Case, *reason.Plan) {
		c := learn.Case{Scope: memory.Scope("acme/" + user), Lessons: "acme", Text: "How many active customers are there?"}
		return c, plan("sql", `{"query":"select count(*) from customers where `+definition+`"}`)
	}
	anna, ordered := ask("anna", "ordered")
	ben, _ := ask("ben", "ordered")
	cy, active := ask("cy", "logged_in")
	di, _ := ask("di", "logged_in")
	b.deliver(anna, ordered)
	b.deliver(ben, ordered)
	a := b.before(cy)
	require.Equal(t, ordered.Calls, a.Fires.Calls, "shared")
	b.after(a, learn.Outcome{Verdict: learn.Failed, Complaint: "not what we mean"})
	require.Nil(t, b.before(anna).Fires)
	for _, c := range []learn.Case{cy, di, cy} {
		b.deliver(c, active)
	}
	require.Equal(t, active.Calls, b.before(di).Fires.Calls)
	require.Nil(t, b.before(anna).Fires)
	b.deliver(anna, ordered)
	require.Equal(t, ordered.Calls, b.before(anna).Fires.Calls, "her second, and the no was not hers")
	require.Equal(t, active.Calls, b.before(di).Fires.Calls)
}

// A call of the plan that fired failed, and others were made: it fires no more, and these do after two deliveries.
func TestFailedCallStopsItsPlan(t *testing.T) {
	for _, named := range []bool{true, false} {
		b := open(t, acme(learn.Options{}))
		ask := func(country, column string) (learn.Case, *reason.Plan) {
			c := learn.Case{Text: "revenue", Inputs: json.RawMessage(`{"country":"` + country + `"}`)}
			return c, plan("sql", `{"query":"select `+column+` where c = '`+country+`'"}`)
		}
		for _, country := range []string{"Spain", "Malta"} {
			b.deliver(ask(country, "gross"))
		}
		c, p := ask("Italy", "amount")
		a := b.before(c)
		require.NotNil(t, a.Fires)
		o := learn.Outcome{Verdict: learn.Delivered, Plan: p, Failed: []reason.Failure{{Complaint: "the answer was too long"}}}
		if named {
			o.Failed = append(o.Failed, reason.Failure{Task: reason.Task{Skill: "sql"}, Complaint: "no column gross"})
		}
		b.after(a, o)
		c, p = ask("Cuba", "amount")
		fires := b.before(c)
		require.Nil(t, fires.Fires)
		b.deliver(c, p)
		c, p = ask("Chad", "amount")
		if fires = b.before(c); !named {
			require.Nil(t, fires.Fires, "two against two")
			continue
		}
		require.Equal(t, p.Calls, fires.Fires.Calls)
		err := b.Judge(t.Context(), a.Scope, a.ID, learn.Failed, "and that was wrong, too")
		require.NoError(t, err)
		require.Nil(t, b.before(c).Fires)
		err = b.Judge(t.Context(), a.Scope, a.ID, learn.Delivered, "it was right")
		require.NoError(t, err)
		require.Equal(t, p.Calls, b.before(c).Fires.Calls, "and the former plan is stopped still")
	}
}

// What was worked out of «last month» is another one later, however it is spelled.
func TestYearIsNoConstant(t *testing.T) {
	for where, fires := range map[string]bool{
		"month = '2025-01'": false, "y = 2025 and m = 1": false, "day >= 20250101": false, "at like '01/2025'": false,
		"id < 20251": true, "limit 3000": true, "net 0.0.0.0/0 at 12:30": true, "of 550e8400-e29b-41d4-a716-446655440000": true, "by 1.5": true,
		"at 令和8年10月1日": false, "at 10月1日": false, "at ２０２６-１０-０１": false, "at R8/10/1": false, "at 民國115年10月1日": false, "at 115/10/01": false, "at 01/10/2569": false,
		"y = 2569 and m = 10": false, "at ٢٠٢٦-١٠-٠١": false, "at 01/04/1448": false, "at ٠١/١٠/٢٠٢٦": false, "at ०१-१०-२०२६": false, "at 01.10.": false, "at 1.10.26": false, "at 01/10/26": false, "at 10/01": false, "at 10월 1일": false,
	} {
		b := open(t, acme(learn.Options{}))
		c, p := learn.Case{Text: "Revenue of last month"}, plan("sql", `{"query":"select sum(x) from t where `+where+`"}`)
		for range 2 {
			b.deliver(c, p)
		}
		a := b.before(c)
		require.Equal(t, fires, a.Fires != nil, "%s: %s", where, a.Why)
		c.Text = "Revenue of 2025, January the 01/2025 or 20250101"
		if !strings.Contains(where, "2025") {
			c.Text = "Revenue " + where
		}
		for range 2 {
			b.deliver(c, p)
		}
		require.NotNil(t, b.before(c).Fires, "the case says it: %s", where)
	}
}

// The wording of two cases is shown where it stands in a call; a name and a single case's words are not.
func TestSuggestionHasTheWording(t *testing.T) {
	b := open(t, acme(learn.Options{}))
	ask := func(text, country string) learn.Case {
		return learn.Case{Text: text, Inputs: json.RawMessage(`{"country":"` + country + `"}`)}
	}
	query := func(country string) *reason.Plan {
		return plan("sql", `{"query":"select count(*) from orders where open and land = '`+country+`' and by = 'Kim'"}`)
	}
	shown := func() string {
		s := b.before(ask("number of unshipped things in Spain", "Spain")).Suggestions
		require.Len(t, s, 1)
		return string(s[0].Calls[0].Inputs)
	}
	b.deliver(ask("How many orders are open in Poland?", "Poland"), query("Poland"))
	require.JSONEq(t, `{"query":"{query}"}`, shown())
	b.deliver(ask("How many orders are open in Italy?", "Italy"), query("Italy"))
	require.JSONEq(t, `{"query":"select count(*) from orders where open and land = '{country}' and by = 'Kim'"}`, shown())

	b = open(t, acme(learn.Options{}))
	for _, country := range []string{"Poland", "Italy"} {
		b.deliver(ask("How many orders are open for Kim in "+country+"?", country), query(country))
	}
	require.JSONEq(t, `{"query":"{query}"}`, shown(), "Kim is of these cases")
}

// Of many complaints in one situation the latest are told, a case's own among them.
func TestLatestWarningsAreTold(t *testing.T) {
	b := open(t, acme(learn.Options{}))
	for _, city := range strings.Fields("aa bb cc dd ee ff gg hh ii jj kk ll aa") {
		c := learn.Case{Situation: "question", Text: "churn in " + city}
		b.after(b.before(c), learn.Outcome{Verdict: learn.Failed, Complaint: "the query of " + city + " is slow as " + city})
		told := b.before(c).Warnings
		require.Contains(t, told[0].Complaint, city)
		require.LessOrEqual(t, len(told), 8)
	}
	c := learn.Case{Scope: "acme/di", Lessons: "acme", Situation: "question", Text: "churn in zz"}
	for _, city := range strings.Fields("aa bb cc dd ee ff gg hh") {
		for _, scope := range []memory.Scope{"acme/bo", "acme/cy"} {
			o := learn.Case{Scope: scope, Lessons: "acme", Situation: "question", Text: "churn in " + city}
			b.after(b.before(o), learn.Outcome{Verdict: learn.Failed, Complaint: "no index of " + city + " as " + city})
		}
	}
	b.after(b.before(c), learn.Outcome{Verdict: learn.Failed, Complaint: "zz is no city"})
	require.Contains(t, b.before(c).Warnings[0].Complaint, "zz", "its own is told, whoever shares others")
}

// An answer that was refused is not recalled as what was said, whoever refused it and when.
func TestRefusedAnswerIsNotRecalled(t *testing.T) {
	b := open(t, acme(learn.Options{}))
	said := func(c learn.Case) (out string) {
		for _, h := range append(b.before(c).Memories, b.before(c).Background...) {
			out += h.Record.Content + "\n"
		}
		return out
	}
	c := learn.Case{Text: "Answer.", Data: json.RawMessage(`"What is the churn in Poland?"`), Actor: "anna"}
	b.after(b.before(c), learn.Outcome{Verdict: learn.Failed, Complaint: "implausible", Worker: "model", Answer: "It is 88 %."})
	require.NotContains(t, said(c), "88 %")
	require.Contains(t, said(c), "What is the churn in Poland?")
	a := b.before(c)
	b.after(a, learn.Outcome{Verdict: learn.Delivered, Worker: "model", Answer: "It is 77 %."})
	require.Contains(t, said(c), "77 %")
	for _, verdict := range []learn.Verdict{learn.Failed, learn.Delivered, learn.Failed} {
		err := b.Judge(t.Context(), "acme", a.ID, verdict, "")
		require.NoError(t, err)
		hits, err := b.Memory("acme").Recall(t.Context(), memory.Query{Text: "Answer: churn in Poland"})
		require.NoError(t, err)
		require.Equal(t, verdict == learn.Delivered, strings.Contains(fmt.Sprint(hits), "77 %"))
		require.Contains(t, fmt.Sprint(hits), "churn in Poland?", "what she has said stays")
		n := 0
		for r, err := range b.Memory("acme").All(t.Context()) {
			require.NoError(t, err)
			if r.Kind == memory.Episode && r.Source.Run == a.ID {
				n++
				require.Contains(t, r.Content, "churn in Poland?")
			}
		}
		require.Equal(t, 1, n, "whatever verdicts there were")
	}
}

// Nothing of a scope is left, whichever package has kept it there.
func TestEraseOfEverybody(t *testing.T) {
	st, ctx := store.NewMem(), t.Context()
	l, err := learn.New(ctx, st, &learn.Options{Scope: "acme"})
	require.NoError(t, err)
	part, anna := store.Sub(st, memory.Scope("acme").TenantPrefix()), memory.Scope("acme/anna")
	_, err = part.Commit(ctx, store.Op{Key: anna.Key("identity-fact", "1"), Value: []byte("speaks Polish")},
		store.Op{Key: memory.Scope("acme/anna2").Key("identity-fact", "1"), Value: []byte("speaks Thai")})
	require.NoError(t, err)
	_, err = l.After(ctx, learn.Advice{Case: learn.Case{Scope: anna, Text: "hello"}}, learn.Outcome{Verdict: learn.Failed, Complaint: "no"})
	require.NoError(t, err)
	require.NoError(t, l.Erase(ctx, anna))
	for e, err := range part.Scan(ctx, store.Range{}) {
		require.NoError(t, err)
		require.NotContains(t, e.Key, "acme/anna/")
		require.NotContains(t, string(e.Value), "Polish")
	}
	_, err = part.Get(ctx, memory.Scope("acme/anna2").Key("identity-fact", "1"))
	require.NoError(t, err, "another's")
}

// Whatever came of a case, nothing of its words is left once it is forgotten, and what others have taught stays.
func TestForget(t *testing.T) {
	st, ctx, scope := store.NewMem(), t.Context(), memory.Scope("acme/anna")
	l, err := learn.New(ctx, st, &learn.Options{Scope: "acme", Seed: 1})
	require.NoError(t, err)
	has := func(word string) (keys []string) {
		for e, err := range st.Scan(ctx, store.Range{}) {
			require.NoError(t, err)
			if strings.Contains(strings.ToLower(string(e.Value)), word) {
				keys = append(keys, e.Key)
			}
		}
		return keys
	}
	tell := func(text string, o learn.Outcome) string { // Fresh: what a case is told, its outcome has the words of
		a, err := l.Before(ctx, learn.Case{Scope: scope, Lessons: "acme", Text: text, Situation: "chat", Actor: "anna", Fresh: true})
		require.NoError(t, err)
		_, err = l.After(ctx, a, o)
		require.NoError(t, err)
		return a.ID
	}
	note := plan("note", `{"what":"my epilepsy"}`)
	refused := []reason.Failure{{Task: reason.Task{Skill: "note"}, Complaint: "epilepsy is no date"}}
	for _, o := range []learn.Outcome{
		{Answer: "Epilepsy can be treated."}, {Answer: "Epilepsy?", Failed: refused},
		{Verdict: learn.Delivered, Plan: note, Answer: "Epilepsy it is.", Failed: refused, Worker: "m"},
		{Verdict: learn.Failed, Plan: note, Complaint: "not epilepsy, epilepsies", Answer: "Epilepsy."},
	} {
		ids := []string{tell("Note that I have epilepsy.", o), tell("Note that I have epilepsy!", o)}
		err := l.Judge(ctx, scope, ids[1], learn.Failed, "it was not about epilepsy")
		require.NoError(t, err)
		_, err = l.Memory(scope).Remember(ctx, memory.Draft{Kind: memory.Fact, Content: "Anna has epilepsy.",
			Source: memory.Source{Origin: memory.Model, Run: ids[0]}})
		require.NoError(t, err)
		tell("Note that I have a dog.", learn.Outcome{Verdict: learn.Delivered, Plan: plan("note", `{"what":"a dog"}`), Answer: "A dog."})
		require.NotEmpty(t, has("epileps"))
		for _, id := range ids {
			require.NoError(t, l.Forget(ctx, scope, id))
			require.ErrorIs(t, l.Forget(ctx, scope, id), store.ErrNotFound)
		}
		require.Empty(t, has("epileps"))
	}
	a, err := l.Before(ctx, learn.Case{Scope: scope, Text: "Note that I have a dog.", Situation: "chat", Actor: "anna"})
	require.NoError(t, err)
	require.Equal(t, plan("note", `{"what":"a dog"}`).Calls, a.Fires.Calls)
	require.Error(t, l.Forget(ctx, scope, ""))
	require.Error(t, l.Forget(ctx, "bloom", "any"))
}

// A name that a check said of one case stays hidden, however often it says the same of others.
func TestNamesOfACaseStayHidden(t *testing.T) {
	b := open(t, acme(learn.Options{}))
	for _, order := range []string{"A-17", "B-2", "C-3"} {
		a := b.before(learn.Case{Situation: "close", Text: "close " + order})
		require.NotContains(t, strings.ReplaceAll(a.Prompt(), order, ""), "A-17")
		b.after(a, learn.Outcome{Verdict: learn.Failed, Complaint: "order " + order + " is closed"})
	}
	require.Len(t, b.before(learn.Case{Situation: "close", Text: "close D-4"}).Warnings, 1)
}

// What a case was refused for is told once: as a warning where that is of its own situation, else as a memory.
func TestRefusalIsToldOnce(t *testing.T) {
	b := open(t, acme(learn.Options{}))
	c := learn.Case{Situation: "letter", Text: "write the letter"}
	b.after(b.before(c), learn.Outcome{Verdict: learn.Failed, Complaint: "the margin is too narrow"})
	a := b.before(c)
	require.Len(t, a.Warnings, 1)
	require.Empty(t, a.Background)
	c.Situation = "post"
	a = b.before(c)
	require.Empty(t, a.Warnings)
	require.Len(t, a.Background, 1)
}

// A plan that delivered cases in these words, and like ones in others, is suggested once; and what a person has
// written comes before what has delivered more.
func TestSuggestionsInOrder(t *testing.T) {
	b := open(t, acme(learn.Options{}))
	c := learn.Case{Text: "ship the parcel today"}
	b.deliver(learn.Case{Text: "ship the parcel today, please"}, plan("ship", `{"by":"van"}`))
	b.deliver(c, plan("ship", `{"by":"van"}`))
	require.Len(t, b.before(c).Suggestions, 1)
	b.deliver(c, plan("call", `{}`))
	b.after(b.before(c), learn.Outcome{Verdict: learn.Failed, Complaint: "no", Plan: plan("call", `{}`)})
	require.Equal(t, "ship", b.before(c).Suggestions[0].Calls[0].Name)
	k, err := b.Known(t.Context(), "acme")
	require.NoError(t, err)
	i := slices.IndexFunc(k.Suggestions, func(s reason.Suggestion) bool { return s.Calls[0].Name == "call" })
	s := k.Suggestions[i]
	s.Calls = plan("call", `{"who":"the customer"}`).Calls
	_, err = b.Edit(t.Context(), "acme", s)
	require.NoError(t, err)
	require.Equal(t, s.Calls, b.before(c).Suggestions[0].Calls)
}

// What a third scope did otherwise speaks for no value of a case: unmute is level 5 there, and fires nothing here.
func TestValueOfAScopeThatDisagrees(t *testing.T) {
	b := open(t, acme(learn.Options{}))
	of := func(scope memory.Scope, do string, id int) learn.Case {
		in := fmt.Sprintf(`{"do":%q,"id":%d}`, do, id)
		return learn.Case{Scope: scope, Lessons: "acme", Text: "set it", Inputs: json.RawMessage(in)}
	}
	for i, do := range []string{"mute", "silence", "unmute"} {
		call := fmt.Sprintf(`{"id":%d,"level":%d}`, 12+i, i/2*5)
		b.deliver(of(memory.Scope(fmt.Sprint("acme/s", i)), do, 12+i), plan("set", call))
	}
	a := b.before(of("acme/new", "mute", 13))
	require.Equal(t, `{"id":13,"level":0}`, string(a.Fires.Calls[0].Inputs))
	require.Nil(t, b.before(of("acme/new", "unmute", 13)).Fires)
}

// What two scopes came to first fires for the others, who deliver nothing of their own by it. However many come to
// something else later, that does not fire for a newcomer, and the first does again once others have delivered it.
func TestLaterScopesDecideNothing(t *testing.T) {
	b, n := open(t, acme(learn.Options{})), 1000
	ask := func(user, more string) (learn.Case, *reason.Plan) {
		n++
		to := fmt.Sprintf(`{"to":"c%d"`, n)
		c := learn.Case{Scope: memory.Scope("acme/" + user), Lessons: "acme", Text: "Mail it.", Inputs: json.RawMessage(to + "}")}
		return c, plan("mail", to+more+"}")
	}
	fires := func() string {
		c, right := ask("newcomer", "")
		a := b.before(c)
		if a.Fires == nil {
			return "nothing"
		}
		require.Equal(t, right.Calls, a.Fires.Calls)
		return "the first"
	}
	for i := range 9 {
		b.deliver(ask(fmt.Sprint("h", i), ""))
	}
	require.Equal(t, "the first", fires())
	for range 3 {
		for i := range 7 {
			b.deliver(ask(fmt.Sprint("m", i), `,"copy":"them"`))
			fires()
		}
	}
	require.Equal(t, "nothing", fires())
	for i := range 4 {
		b.deliver(ask(fmt.Sprint("h", 20+i), ""))
	}
	require.Equal(t, "the first", fires())
}

// Nor does it where the first have delivered so much since that their first deliveries are not kept.
func TestLaterScopesWaitForever(t *testing.T) {
	b, n := open(t, acme(learn.Options{})), 1
	ask := func(user string) learn.Case {
		in := fmt.Sprintf(`{"n":%d}`, n)
		return learn.Case{Scope: memory.Scope("acme/" + user), Lessons: "acme", Text: "Send it.", Inputs: json.RawMessage(in)}
	}
	deliver := func(skill string, users []string, at ...int) {
		for i := range at {
			n = at[i]
			b.deliver(ask(users[i%2]), plan(skill, fmt.Sprintf(`{"x":%d}`, n)))
		}
	}
	far := make([]int, 12) // from what was before, so that nothing fires
	for i := range far {
		far[i] = int(math.Pow10(i + 1))
	}
	honest, evil := []string{"h1", "h2"}, []string{"e1", "e2"}
	deliver("send", honest, 1, 2)
	deliver("sell", evil, 1, 2)
	deliver("send", honest, far...)
	deliver("sell", evil, far[:10]...)
	n = 2000
	require.Nil(t, b.before(ask("newcomer")).Fires)
}

// An address that two scopes had, and no case said, is theirs: it is suggested to a third. A name is no address.
func TestAddressOfOthers(t *testing.T) {
	for call, fires := range map[string]bool{
		`"mail":"evil@evil.example"`: false, `"iban":"DE89 3704-0440"`: false, `"iban":"DE89370400440532013000"`: false,
		`"iban":"DE89 3704 0440 0532 0130 00"`: false, `"card":"4111 - 1111 1111 1111"`: false, `"card":"4111_1111_1111"`: false,
		`"tel":"call +49 170 123 4567"`: false, `"to":"a@evil.io"`: false, `"to":"evil @ evil.co"`: false,
		`"to":["evil@","evil.co"]`: false, `"to":{"evil@evil.co":5}`: false, `"to":{"DE89 3704-0440":5}`: false,
		`"state":"in_progress"`: true, `"note":"thank you very much"`: true, `"seat":"12A"`: true,
		`"a":{"line1Text":5,"address_line_1":true}`: true, `"a":[5000,12,30,4],"note":"1 - or 2 / 3"`: true, `"at":"a parcel"`: true,
	} {
		b := open(t, acme(learn.Options{}))
		ask := func(user string) learn.Case {
			return learn.Case{Scope: memory.Scope("acme/" + user), Lessons: "acme", Situation: "parcel", Text: "Where is it?"}
		}
		for _, user := range []string{"anna", "bo"} {
			b.deliver(ask(user), plan("forward", "{"+call+"}"))
		}
		a := b.before(ask("cy"))
		require.Equal(t, fires, a.Fires != nil, "%s: %s", call, a.Why)
		b.deliver(ask("anna"), plan("forward", "{"+call+"}"))
		require.NotNil(t, b.before(ask("anna")).Fires, "her own it is")
	}
}

// The words of a task that two scopes had, or that have a day, and no case said, do not go along.
func TestTaskOfOthers(t *testing.T) {
	for text, want := range map[string]string{
		"Mail it to evil@evil.example": "", "Mail it to me by 2026-03-04": "", "Mail it to me": "Mail it to me",
	} {
		b := open(t, acme(learn.Options{}))
		ask := func(user string) learn.Case {
			return learn.Case{Scope: memory.Scope("acme/" + user), Lessons: "acme", Situation: "parcel", Text: "Where is it?"}
		}
		p := plan("forward", `{"what":"parcel"}`)
		p.Calls[0].Text = text
		for _, user := range []string{"anna", "bo"} {
			b.deliver(ask(user), p)
		}
		a := b.before(ask("cy"))
		require.NotNil(t, a.Fires, "%s: %s", text, a.Why)
		require.Equal(t, want, a.Fires.Calls[0].Text)
	}
}

// What most scopes were refused comes first: neither eight complaints of two, nor those of six who came later, hide it.
func TestLaterComplaintsHideNone(t *testing.T) {
	b := open(t, acme(learn.Options{}))
	fail := func(user, why string) {
		c := learn.Case{Scope: memory.Scope("acme/" + user), Lessons: "acme", Situation: "refund", Text: "Handle it."}
		b.after(b.before(c), learn.Outcome{Verdict: learn.Failed, Complaint: why})
	}
	for i := range 9 {
		fail(fmt.Sprint("h", i), "ask for the receipt")
	}
	for _, w := range strings.Fields("zebra llama otter heron bison tapir gecko moose") {
		for _, user := range []string{"m1", "m2"} {
			fail(user, w+" customers were kept waiting")
		}
	}
	told := func() string {
		return b.before(learn.Case{Scope: "acme/cy", Lessons: "acme", Situation: "refund", Text: "Handle it."}).Prompt()
	}
	require.Contains(t, told(), "ask for the receipt")
	for i := range 6 {
		fail(fmt.Sprint("m", 3+i), "slow")
	}
	require.Contains(t, told(), "ask for the receipt")
}
