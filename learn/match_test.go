package learn

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// did is a case with the call that delivered it: inputs and calls are JSON.
func did(text, inputs string, calls ...string) (Case, []reason.PlanCall) {
	c := Case{Text: text, Inputs: json.RawMessage(inputs)}
	var plan []reason.PlanCall
	for i, in := range calls {
		plan = append(plan, reason.PlanCall{Name: fmt.Sprint("do", i), Inputs: json.RawMessage(in)})
	}
	return c, plan
}

// kept has what is kept of cases that were delivered one after the other, by key.
type kept map[string]*record

func (k kept) deliver(t require.TestingT, c Case, calls []reason.PlanCall) {
	s, why := shapeOf(&c)
	require.Empty(t, why)
	if k[s.key] == nil {
		k[s.key] = &record{}
	}
	n := len(k[s.key].ensure(planID(calls)).Deliveries)
	d := &delivery{ID: fmt.Sprint("\x00", len(k), n), At: time.Unix(1, int64(n)), Text: c.Text, Inputs: c.Inputs, Calls: calls}
	k[s.key].add(planID(calls), d.read())
}

// fire returns the plan that fires, as JSON, or "", and why none does.
func (k kept) fire(t require.TestingT, c Case) (plan []reason.PlanCall, why string) {
	s, why := shapeOf(&c)
	if why != "" {
		return nil, why
	}
	if k[s.key] == nil {
		return nil, "another key"
	}
	for _, p := range plansOf(k[s.key]) {
		if plan, why = p.fire(s, "", nil, nil); why == "" {
			return plan, ""
		}
	}
	return nil, why
}

// What was wrong is read as it was kept when it had the fields of what came of a warning.
func TestFormerStops(t *testing.T) {
	type former struct {
		Advice, Case string
		At           time.Time
		Instead      string
	}
	at := time.Unix(9, 0).UTC()
	raw, err := codec.Marshal(struct{ Wrong []former }{[]former{{Advice: "acme\x00a", At: at}}})
	require.NoError(t, err)
	r := &record{}
	require.NoError(t, codec.Unmarshal(raw, r))
	require.Equal(t, []stop{{Advice: "acme\x00a", At: at}}, r.Wrong)
}

func plansOf(r *record) []*plan { return merge("", []*record{r}, r, none).Plans }

func shown(calls []reason.PlanCall) string {
	var b strings.Builder
	for _, c := range calls {
		v, _ := schema.Read(c.Inputs)
		fmt.Fprintf(&b, "%s%s ", c.Name, encode(v))
	}
	return strings.TrimSpace(b.String())
}

// The cases of the rows differ from two deliveries in one thing. What fires says the calls for the case at hand.
func TestFire(t *testing.T) {
	type row struct{ text, inputs, want string } // want "": it must not fire
	for _, c := range []struct {
		name string
		a, b [3]string // text, inputs, inputs of the call
		rows []row
	}{
		{"unit", [3]string{"give it", `{"n":500,"unit":"mg"}`, `{"n":500,"unit":"mg"}`},
			[3]string{"give it", `{"n":2,"unit":"g"}`, `{"n":2,"unit":"g"}`}, []row{
				{"give it", `{"n":400,"unit":"mg"}`, `do0{"n":400,"unit":"mg"}`},
				{"give it", `{"n":3,"unit":"g"}`, `do0{"n":3,"unit":"g"}`},
				{"give it", `{"n":400,"unit":"g"}`, ""},
				{"give it", `{"n":3,"unit":"mg"}`, ""},
			}},
		{"turn on", [3]string{"turn on dark mode", `{"user":"al"}`, `{"user":"al","mode":"dark"}`},
			[3]string{"turn on dark mode", `{"user":"bo"}`, `{"user":"bo","mode":"dark"}`}, []row{
				{"turn on dark mode", `{"user":"cy"}`, `do0{"mode":"dark","user":"cy"}`},
				{"Turn  on dark mode.", `{"user":"cy"}`, `do0{"mode":"dark","user":"cy"}`},
				{"turn off dark mode", `{"user":"cy"}`, ""},
				{"do not turn on dark mode", `{"user":"cy"}`, ""},
				{"turn on dark mode?", `{"user":"cy"}`, ""},
				{"TURN ON dark mode", `{"user":"cy"}`, ""},
				{"turn on dark mode", `{"user":"cy","until":"noon"}`, ""},
				{"turn on dark mode", `{"user":["cy"]}`, ""},
				{"turn on dark mode", `{"user":"cy; rm -rf /"}`, ""},
				{"turn on dark mode", `{"user":""}`, ""},
				{"turn on dark mode", `{"user":null}`, ""},
				{"turn on dark mode", `{"user":"cy","user":"al"}`, ""},
			}},
		{"an amount that no call says", [3]string{"grant the discount", `{"amount":"50.00"}`, `{"ok":true}`},
			[3]string{"grant the discount", `{"amount":"60.00"}`, `{"ok":true}`}, []row{
				{"grant the discount", `{"amount":"99.00"}`, ""},
				{"grant the discount", `{"amount":"60.00"}`, `do0{"ok":true}`},
			}},
		{"dates that no call says", [3]string{"book", `{"from":"2026-03-01","to":"2026-03-05"}`, `{"nights":4}`},
			[3]string{"book", `{"from":"2026-04-01","to":"2026-04-05"}`, `{"nights":4}`}, []row{
				{"book", `{"from":"2026-05-01","to":"2026-05-09"}`, ""},
			}},
		{"a reading", [3]string{"triage", `{"bp":"120/80"}`, `{"triage":"routine"}`},
			[3]string{"triage", `{"bp":"125/85"}`, `{"triage":"routine"}`}, []row{
				{"triage", `{"bp":"210/99"}`, ""},
			}},
		{"German", [3]string{"Licht an in Küche", `{"raum":"Küche"}`, `{"raum":"Küche"}`},
			[3]string{"Licht an in Bad", `{"raum":"Bad"}`, `{"raum":"Bad"}`}, []row{
				{"Licht an in Flur", `{"raum":"Flur"}`, `do0{"raum":"Flur"}`},
				{"Licht aus in Flur", `{"raum":"Flur"}`, ""},
			}},
		{"target", [3]string{"deploy api to staging", `{"app":"api","env":"staging"}`, `{"app":"api","ns":"staging"}`},
			[3]string{"deploy web to staging", `{"app":"web","env":"staging"}`, `{"app":"web","ns":"staging"}`}, []row{
				{"deploy cms to staging", `{"app":"cms","env":"staging"}`, `do0{"app":"cms","ns":"staging"}`},
				{"deploy cms to production", `{"app":"cms","env":"production"}`, ""},
				{"deploy staging to staging", `{"app":"staging","env":"staging"}`, ""},
				{"deploy api and web to staging", `{"app":"api and web","env":"staging"}`, ""},
			}},
		{"amount", [3]string{"refund 20 for A-10", `{"n":20,"id":"A-10"}`, `{"n":20,"memo":"refund of A-10, 20 EUR"}`},
			[3]string{"refund 35 for A-11", `{"n":35,"id":"A-11"}`, `{"n":35,"memo":"refund of A-11, 35 EUR"}`}, []row{
				{"refund 52 for A-12", `{"n":52,"id":"A-12"}`, `do0{"memo":"refund of A-12, 52 EUR","n":52}`},
				{"refund 53 for A-12", `{"n":53,"id":"A-12"}`, ""},
				{"refund 13 for A-12", `{"n":13,"id":"A-12"}`, ""},
				{"refund 200 for A-12", `{"n":200,"id":"A-12"}`, ""},
				{"refund -20 for A-12", `{"n":-20,"id":"A-12"}`, ""},
				{"refund 0 for A-12", `{"n":0,"id":"A-12"}`, ""},
				{"refund 2e1 for A-12", `{"n":2e1,"id":"A-12"}`, ""},
				{"refund 20 for B-12", `{"n":20,"id":"B-12"}`, ""},
				{"refund 20 for A-12345", `{"n":20,"id":"A-12345"}`, ""},
			}},
		{"relations", [3]string{"from 2026-01-05 to 2026-01-09 by ann", `{"from":"2026-01-05","to":"2026-01-09","by":"ann","for":"ann"}`, `{"a":"2026-01-05","z":"2026-01-09","who":"ann"}`},
			[3]string{"from 2026-02-02 to 2026-02-06 by bob", `{"from":"2026-02-02","to":"2026-02-06","by":"bob","for":"bob"}`, `{"a":"2026-02-02","z":"2026-02-06","who":"bob"}`}, []row{
				{"from 2026-03-02 to 2026-03-06 by eve", `{"from":"2026-03-02","to":"2026-03-06","by":"eve","for":"eve"}`, `do0{"a":"2026-03-02","who":"eve","z":"2026-03-06"}`},
				{"from 2026-03-06 to 2026-03-02 by eve", `{"from":"2026-03-06","to":"2026-03-02","by":"eve","for":"eve"}`, ""},
				{"from 2026-03-02 to 2026-03-06 by eve", `{"from":"2026-03-02","to":"2026-03-06","by":"eve","for":"ann"}`, ""},
			}},
		{"path", [3]string{"clean /srv/abc", `{"dir":"/srv/abc"}`, `{"cmd":"rm -rf /srv/abc/*"}`},
			[3]string{"clean /srv/bcd", `{"dir":"/srv/bcd"}`, `{"cmd":"rm -rf /srv/bcd/*"}`}, []row{
				{"clean /srv/c", `{"dir":"/srv/c"}`, `do0{"cmd":"rm -rf /srv/c/*"}`},
				{"clean /srv/d.e", `{"dir":"/srv/d.e"}`, `do0{"cmd":"rm -rf /srv/d.e/*"}`},
				{"clean /srv/a;b", `{"dir":"/srv/a;b"}`, ""},
				{"clean /srv/a b", `{"dir":"/srv/a b"}`, ""},
				{"clean /srv/a/b", `{"dir":"/srv/a/b"}`, ""},
				{"clean /", `{"dir":"/"}`, ""},
				{"clean /srv/../etc", `{"dir":"/srv/../etc"}`, ""},
				{"clean /srv/c/", `{"dir":"/srv/c/"}`, ""},
				{"clean /srv/*", `{"dir":"/srv/*"}`, ""},
				{"clean -f", `{"dir":"-f"}`, ""},
			}},
		{"computed", [3]string{"invoice 4 at 25", `{"seats":4,"price":25}`, `{"total":100,"memo":"4 at 25"}`},
			[3]string{"invoice 5 at 30", `{"seats":5,"price":30}`, `{"total":150,"memo":"5 at 30"}`}, []row{
				{"invoice 4 at 26", `{"seats":4,"price":26}`, ""},
			}},
		{"unsaid", [3]string{"book it", `{"room":"Ada","limit":5}`, `{"room":"Ada"}`},
			[3]string{"book it", `{"room":"Bob","limit":9}`, `{"room":"Bob"}`}, []row{
				{"book it", `{"room":"Cid","limit":9}`, `do0{"room":"Cid"}`},
				{"book it", `{"room":"Cid","limit":7}`, ""},
			}},
		{"two readings", [3]string{"x", `{"a":"p","b":"p"}`, `{"c":"to p"}`},
			[3]string{"x", `{"a":"q","b":"q"}`, `{"c":"to q"}`}, []row{
				{"x", `{"a":"r","b":"r"}`, `do0{"c":"to r"}`},
				{"x", `{"a":"r","b":"s"}`, ""},
			}},
		{"one inside the other", [3]string{"x", `{"a":"p","b":"p q"}`, `{"c":"to p q"}`},
			[3]string{"x", `{"a":"r","b":"r q"}`, `{"c":"to r q"}`}, []row{
				{"x", `{"a":"t","b":"u q"}`, ""},
			}},
		{"two values in one place", [3]string{"x", `{"a":"p","b":"p q"}`, `{"c":"to p q","d":"p"}`},
			[3]string{"x", `{"a":"r","b":"r q"}`, `{"c":"to r q","d":"r"}`}, []row{
				{"x", `{"a":"t","b":"u q"}`, ""},
			}},
		{"a part is kept", [3]string{"x", `{"a":"xa orders ya"}`, `{"c":"xa orders ya","of":"all orders"}`},
			[3]string{"x", `{"a":"xb orders yb"}`, `{"c":"xb orders yb","of":"all orders"}`}, []row{
				{"x", `{"a":"xc orders yc"}`, `do0{"c":"xc orders yc","of":"all orders"}`},
				{"x", `{"a":"xc sales yc"}`, ""},
			}},
		{"begins", [3]string{"x", `{"id":"A-10"}`, `{"c":"A-10"}`}, [3]string{"x", `{"id":"A-x"}`, `{"c":"A-x"}`}, []row{
			{"x", `{"id":"A-7"}`, `do0{"c":"A-7"}`},
			{"x", `{"id":"B-7"}`, ""},
			{"x", `{"id":" "}`, ""},
		}},
		{"a number in a text", [3]string{"x", `{"n":2,"id":"A-2"}`, `{"n":2,"id":"A-2"}`}, [3]string{"x", `{"n":3,"id":"A-3"}`, `{"n":3,"id":"A-3"}`}, []row{
			{"x", `{"n":4,"id":"A-4"}`, `do0{"id":"A-4","n":4}`},
			{"x", `{"n":4,"id":"A-3"}`, ""},
		}},
		{"digits of a weight", [3]string{"Weigh", `{"d":"50 kg"}`, `{"w":"50 kg"}`}, [3]string{"Weigh", `{"d":"60 kg"}`, `{"w":"60 kg"}`}, []row{
			{"Weigh", `{"d":"55 kg"}`, `do0{"w":"55 kg"}`}, {"Weigh", `{"d":"5 kg"}`, ""}, {"Weigh", `{"d":"½ kg"}`, ""}, {"Weigh", `{"d":"٥ kg"}`, ""}, {"Weigh", `{"d":"² kg"}`, ""}, {"Weigh", `{"d":"٥٥ kg"}`, ""},
		}},
		{"digits of an ID", [3]string{"Open", `{"d":"A-1041"}`, `{"w":"A-1041"}`}, [3]string{"Open", `{"d":"A-1077"}`, `{"w":"A-1077"}`}, []row{
			{"Open", `{"d":"A-2207"}`, `do0{"w":"A-2207"}`}, {"Open", `{"d":"A-71"}`, ""}, {"Open", `{"d":"A-٧١"}`, ""}, {"Open", `{"d":"A-٢٢٠٧"}`, ""},
		}},
		{"letters that look alike", [3]string{"Reset", `{"d":"k.maier"}`, `{"w":"k.maier"}`}, [3]string{"Reset", `{"d":"j.weiß"}`, `{"w":"j.weiß"}`}, []row{
			{"Reset", `{"d":"a.gül"}`, `do0{"w":"a.gül"}`}, {"Reset", `{"d":"k.mаier"}`, ""}, {"Reset", `{"d":"κ.maier"}`, ""},
		}},
		{"names in two scripts", [3]string{"Reset", `{"d":"ivanov"}`, `{"w":"ivanov"}`}, [3]string{"Reset", `{"d":"Петров"}`, `{"w":"Петров"}`}, []row{
			{"Reset", `{"d":"Сидоров"}`, `do0{"w":"Сидоров"}`}, {"Reset", `{"d":"sidorov"}`, `do0{"w":"sidorov"}`},
		}},
		{"digits of an Arabic amount", [3]string{"ادفع", `{"d":"٥٠٠"}`, `{"w":"٥٠٠"}`}, [3]string{"ادفع", `{"d":"٦٠٠"}`, `{"w":"٦٠٠"}`}, []row{
			{"ادفع", `{"d":"٥٥٠"}`, `do0{"w":"٥٥٠"}`}, {"ادفع", `{"d":"550"}`, ""}, {"ادفع", `{"d":"ابج"}`, ""},
		}},
		{"a number that is a text in the inputs", [3]string{"x", `{"n":"12"}`, `{"n":12}`}, [3]string{"x", `{"n":"13"}`, `{"n":13}`}, []row{
			{"x", `{"n":"14"}`, ""},
		}},
		{"a choice that nobody said", [3]string{"x", `{"a":"p"}`, `{"c":"p","fast":true}`}, [3]string{"x", `{"a":"q"}`, `{"c":"q","fast":false}`}, []row{
			{"x", `{"a":"r"}`, ""},
		}},
		{"a choice that another goes with by chance", [3]string{"x", `{"n":5,"urgent":false}`, `{"n":5,"ask":false}`}, [3]string{"x", `{"n":20,"urgent":true}`, `{"n":20,"ask":true}`}, []row{
			{"x", `{"n":18,"urgent":false}`, ""},
		}},
		{"a choice that was said", [3]string{"x", `{"n":5,"how":{"ask":false}}`, `{"n":5,"ask":false}`}, [3]string{"x", `{"n":20,"how":{"ask":true}}`, `{"n":20,"ask":true}`}, []row{
			{"x", `{"n":18,"how":{"ask":false}}`, `do0{"ask":false,"n":18}`},
		}},
		{"without members", [3]string{"x", `{"a":"p"}`, `{"c":"p","o":{},"l":[]}`}, [3]string{"x", `{"a":"q"}`, `{"c":"q","o":{},"l":[]}`}, []row{
			{"x", `{"a":"r"}`, `do0{"c":"r","l":[],"o":{}}`},
		}},
		{"worked out", [3]string{"remind al tomorrow", `{"a":"al"}`, `{"a":"al","on":"2026-03-06T09:00"}`},
			[3]string{"remind bo tomorrow", `{"a":"bo"}`, `{"a":"bo","on":"2026-03-06T09:00"}`}, []row{
				{"remind cy tomorrow", `{"a":"cy"}`, ""},
				{"remind bo tomorrow", `{"a":"bo"}`, ""},
			}},
		{"worked out, and said by the next case", [3]string{"remind al on Friday", `{"a":"al","today":"2026-03-02"}`, `{"a":"al","today":"2026-03-02","on":"2026-03-06"}`},
			[3]string{"remind bo on Friday", `{"a":"bo","today":"2026-03-04"}`, `{"a":"bo","today":"2026-03-04","on":"2026-03-06"}`}, []row{
				{"remind cy on Friday", `{"a":"cy","today":"2026-03-06"}`, ""},
			}},
		{"worked out, as a name", [3]string{"book for al tomorrow", `{"a":"al"}`, `{"a":"al","on":{"2026-03-06":true}}`},
			[3]string{"book for bo tomorrow", `{"a":"bo"}`, `{"a":"bo","on":{"2026-03-06":true}}`}, []row{
				{"book for cy tomorrow", `{"a":"cy"}`, ""},
			}},
		{"a day that was said", [3]string{"remind al on 2026-03-06", `{"a":"al"}`, `{"a":"al","on":"2026-03-06T09:00"}`},
			[3]string{"remind bo on 2026-03-06", `{"a":"bo"}`, `{"a":"bo","on":"2026-03-06T09:00"}`}, []row{
				{"remind cy on 2026-03-06", `{"a":"cy"}`, `do0{"a":"cy","on":"2026-03-06T09:00"}`},
				{"remind cy on 2026-03-07", `{"a":"cy"}`, ""},
			}},
		{"words that calls have by chance", [3]string{"mail all of al, not bo, on monday", `{"a":"al","of":"bo"}`, `{"a":"al","of":"all on monday","x":"not bo"}`},
			[3]string{"mail all of cy, not bo, on monday", `{"a":"cy","of":"bo"}`, `{"a":"cy","of":"all on monday","x":"not bo"}`}, []row{
				{"mail all of di, not bo, on monday", `{"a":"di","of":"bo"}`, `do0{"a":"di","of":"all on monday","x":"not bo"}`},
				{"mail all of di, not bo, on friday", `{"a":"di","of":"bo"}`, ""},
				{"mail none of di, not bo, on monday", `{"a":"di","of":"bo"}`, ""},
				{"mail all of di, and bo, on monday", `{"a":"di","of":"bo"}`, ""},
				{"mail all of di, not al, on monday", `{"a":"di","of":"al"}`, ""},
				{"mail all of di, not bo or di, on monday", `{"a":"di","of":"bo"}`, ""},
				{"mail all of bo, not bo, on monday", `{"a":"bo","of":"bo"}`, ""},
			}},
		{"kept", [3]string{"tell", `{"who":"ann"}`, `{"to":"ann","cc":"ann"}`},
			[3]string{"tell", `{"who":"bob"}`, `{"to":"bob","cc":"ann"}`}, []row{
				{"tell", `{"who":"cat"}`, ""},
			}},
		{"kept inside of a word", [3]string{"tell", `{"who":"anna"}`, `{"to":"anna","of":"annas"}`},
			[3]string{"tell", `{"who":"otto"}`, `{"to":"otto","of":"annas"}`}, []row{
				{"tell", `{"who":"irma"}`, ""}, {"tell", `{"who":"anna"}`, `do0{"of":"annas","to":"anna"}`},
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := kept{}
			for _, d := range [][3]string{c.a, c.b} {
				of, calls := did(d[0], d[1], d[2])
				k.deliver(t, of, calls)
			}
			for _, r := range c.rows {
				of, _ := did(r.text, r.inputs)
				calls, why := k.fire(t, of)
				require.Equal(t, r.want, shown(calls), "%s %s: %s", r.text, r.inputs, why)
				require.Equal(t, r.want == "", why != "", r.text)
			}
		})
	}
}

// Other letters in the text are another key, and one delivery is not enough.
func TestFireTakesTwo(t *testing.T) {
	k := kept{}
	for i, room := range []string{"Ada", "Bob", "Cid"} {
		of, calls := did("book "+room, "", `{"room":"`+room+`"}`)
		_, why := k.fire(t, of)
		require.NotEmpty(t, why)
		k.deliver(t, of, calls)
		if i == 0 {
			_, why = k.fire(t, of)
			require.Equal(t, "it was delivered once", why)
			k.deliver(t, of, calls)
			again, _ := k.fire(t, of)
			require.Equal(t, `do0{"room":"Ada"}`, shown(again))
		}
	}
}

// Pairs of deliveries that mean different calls for a case speak for none, and words of a task go along only where all
// that they say is of the case at hand.
func TestFireSaysOneThing(t *testing.T) {
	k, words := kept{}, kept{}
	for i, call := range []string{`{"c":%q,"d":%q}`, `{"c":%q,"d":%q}`, `{"d":%q,"c":%q}`, `{"d":%q,"c":%q}`} {
		a, b := fmt.Sprint("al", i), fmt.Sprint("bo", i)
		of, calls := did("x", fmt.Sprintf(`{"a":%q,"b":%q}`, a, b), fmt.Sprintf(call, a, b), `{}`, `{}`)
		if k.deliver(t, of, calls); i < 2 {
			calls[0].Text, calls[1].Text, calls[2].Text = "ask "+a, "ask "+a+" of "+[]string{"Ann", "Bob"}[i], "and al0"
			words.deliver(t, of, calls)
		}
	}
	now, _ := did("x", `{"a":"al7","b":"bo7"}`)
	_, why := k.fire(t, now)
	require.Contains(t, why, "made otherwise")
	calls, _ := words.fire(t, now)
	require.Len(t, calls, 3)
	require.Equal(t, []string{"ask al7", "", ""}, []string{calls[0].Text, calls[1].Text, calls[2].Text})
}

// What was equal in two deliveries by chance, as the nights between two days, is refuted by a third.
func TestFireIsTrueOfAllDeliveries(t *testing.T) {
	for nights, fires := range map[int]bool{4: true, 9: false} {
		k := kept{}
		for day, nights := range map[int]int{1: 4, 11: 4, 20: nights} {
			in := fmt.Sprintf(`{"from":"2026-03-%02d","to":"2026-03-%02d"}`, day, day+nights)
			of, calls := did("book", in, fmt.Sprintf(`{ "nights": %d, %s`, nights, in[1:]))
			k.deliver(t, of, calls)
		}
		now, _ := did("book", `{"from":"2026-03-02","to":"2026-03-06"}`)
		_, why := k.fire(t, now)
		require.Equal(t, fires, why == "", why)
	}
}

// What two deliveries have in common by chance, such as who asked, is not what decides: a value that only a delivery
// made otherwise had, and a number that is not between those of the deliveries made alike, may be what does.
func TestFireAgainstNoDelivery(t *testing.T) {
	k := kept{}
	for _, d := range [][2]string{
		{`{"id":"A-10","n":12,"kind":"green","by":"cy"}`, `{"id":"A-10","n":12,"queue":2}`},
		{`{"id":"A-12","n":9,"kind":"red","by":"al"}`, `{"id":"A-12","n":9,"queue":1}`},
		{`{"id":"A-13","n":14,"kind":"blue","by":"cy"}`, `{"id":"A-13","n":14,"queue":2}`},
	} {
		of, calls := did("do it", d[0], d[1])
		k.deliver(t, of, calls)
	}
	for in, want := range map[string]string{
		`{"id":"A-14","n":13,"kind":"blue","by":"cy"}`:  `do0{"id":"A-14","n":13,"queue":2}`,
		`{"id":"A-14","n":12,"kind":"green","by":"cy"}`: `do0{"id":"A-14","n":12,"queue":2}`,
		`{"id":"A-14","n":12,"kind":"red","by":"cy"}`:   "", // red was queue 1
		`{"id":"A-14","n":9,"kind":"blue","by":"cy"}`:   "", // so was 9
		`{"id":"A-14","n":11,"kind":"blue","by":"cy"}`:  "", // between 9 and 12
		`{"id":"A-14","n":15,"kind":"blue","by":"cy"}`:  "",
		`{"id":"A-12","n":13,"kind":"blue","by":"cy"}`:  "",
		`{"id":"A-14","n":13,"kind":"gray","by":"cy"}`:  "",
	} {
		of, _ := did("do it", in)
		calls, why := k.fire(t, of)
		require.Equal(t, want, shown(calls), "%s: %s", in, why)
	}
}

// Whatever fires says the values of the case at hand in place of the former ones, and nothing of those.
func TestFireProperty(t *testing.T) {
	fired := 0
	rapid.Check(t, func(t *rapid.T) {
		heads := rapid.SliceOfN(rapid.SampledFrom([]string{"", "", "x-", "SO-"}), 3, 3).Draw(t, "heads")
		tail := rapid.StringMatching(`[a-e]{3,4}`)
		if rapid.Bool().Draw(t, "numbered") {
			tail = rapid.StringMatching(`[1-9]{3}`)
		}
		around := rapid.SampledFrom([]string{"%s", "%s", "%s", "%s", "%s", "do %s now", "for %s", "https://h.example/%s", "'%s'", "%s2", "v%s", "=%s;", "of %s"})
		fixed := rapid.SampledFrom([]string{"", "alpha", "beta 7"})
		says := make([][2]string, rapid.IntRange(1, 4).Draw(t, "says"))
		for i := range says {
			says[i] = [2]string{around.Draw(t, "around"), fixed.Draw(t, "fixed")}
		}
		names := []string{"a", "b", "c"}
		var texts, ins, calls [3]string
		var values [3][]string
		sloppy := rapid.IntRange(-12, 2).Draw(t, "sloppy") // the second delivery says a value of the first
		for n, set := range []string{"old", "was", "new"} {
			in, call := map[string]any{}, map[string]any{}
			texts[n] = "mend"
			for i, name := range names {
				v := heads[i] + set + tail.Draw(t, name)
				values[n] = append(values[n], v)
				in[name] = v
				if i > 0 {
					texts[n] += " " + v
				}
			}
			for i, s := range says {
				v := values[n][i%3]
				if n == 1 && i == sloppy {
					v = values[0][i%3]
				}
				call[fmt.Sprint("p", i)] = strings.TrimSpace(fmt.Sprintf(s[0], v) + " " + s[1])
			}
			ins[n], calls[n] = string(encode(in)), string(encode(call))
		}
		k := kept{}
		for n := range 2 {
			of, plan := did(texts[n], ins[n], calls[n])
			k.deliver(t, of, plan)
		}
		of, want := did(texts[2], ins[2], calls[2])
		got, why := k.fire(t, of)
		if why != "" {
			return
		}
		fired++
		require.Equal(t, shown(want), shown(got))
		for _, old := range slices.Concat(values[0], values[1]) {
			require.NotContains(t, shown(got), old)
		}
	})
	t.Logf("fired %d", fired)
	require.True(t, fired > 0 || testing.Short(), "of a hundred random cases some fire, of twenty maybe none")
}

// What is shown of another case has no value of it, and filled by the case at hand it is the plan.
func TestSuggestion(t *testing.T) {
	k := kept{}
	for _, d := range [][3]string{
		{"refund A-10 for Marta: broken", `{"id":"A-10","fast":true,"note":"x"}`, `{"id":"A-10","fast":true,"note":"broken, says Marta","limit":150}`},
		{"refund A-77 for Marta: broken", `{"id":"A-77","fast":true,"note":"x"}`, `{"id":"A-77","fast":true,"note":"broken, says Marta","limit":150}`},
	} {
		of, calls := did(d[0], d[1], d[2])
		k.deliver(t, of, calls)
	}
	require.Len(t, k, 1)
	now, _ := did("refund B-3 for Uwe: late", `{"id":"B-3","fast":false,"note":"x"}`)
	s, why := shapeOf(&now)
	require.Empty(t, why)
	for _, r := range k {
		got := plansOf(r)[0].suggestion(s, now.Text)
		require.Equal(t, `do0{"fast":"{fast}","id":"{id}","limit":150,"note":"{note 2}"}`, shown(got.Plan.Calls))
		require.ElementsMatch(t, []string{"fast", "id", "note 2"}, slices.Collect(maps.Keys(got.Parameters)))
		got.Name = "plan 1"
		now.Suggestions = []reason.Suggestion{got}
		a := Advice{Case: now}
		_, err := a.Use("plan 1", nil)
		require.ErrorContains(t, err, `"note 2"`)
		p, err := a.Use("plan 1", json.RawMessage(`{"note 2":"late, says Uwe"}`))
		require.NoError(t, err)
		require.Equal(t, `do0{"fast":false,"id":"B-3","limit":150,"note":"late, says Uwe"}`, shown(p.Calls))
	}
}

// ofOthers is a shape of requests: five instances, and cases that its plan is wrong for, written by another hand.
type ofOthers struct {
	ID, Situation    string
	Instances, Never []struct {
		Text   string
		Inputs json.RawMessage
		Limit  bool // the plan fires: a word for many has the form of a name
		Plan   []struct {
			Skill  string
			Inputs json.RawMessage
		}
	}
}

// others reads the shapes of the file that ARC_REPEATS names, or else those of testdata.
func others(t *testing.T) (out []ofOthers) {
	f, err := os.Open(cmp.Or(os.Getenv("ARC_REPEATS"), filepath.Join("testdata", "others.jsonl")))
	require.NoError(t, err)
	defer f.Close()
	for lines := json.NewDecoder(bufio.NewReader(f)); lines.More(); {
		var s ofOthers
		require.NoError(t, lines.Decode(&s))
		out = append(out, s)
	}
	return out
}

func (s ofOthers) at(i int) (Case, []reason.PlanCall) {
	c := Case{Situation: s.Situation, Text: s.Instances[i].Text, Inputs: s.Instances[i].Inputs}
	var calls []reason.PlanCall
	for _, p := range s.Instances[i].Plan {
		calls = append(calls, reason.PlanCall{Name: p.Skill, Inputs: p.Inputs})
	}
	return c, calls
}

// After two deliveries, and after four, each other instance is tried, and every case that must not fire.
func TestFireOfOthers(t *testing.T) {
	for _, n := range []int{2, 4} {
		fires, tried := map[string]int{}, 0
		for _, s := range others(t) {
			for i := 2; i < 5; i++ {
				k := kept{}
				for j := range 5 {
					if j != i && (n == 4 || j < 2) {
						c, calls := s.at(j)
						k.deliver(t, c, calls)
					}
				}
				tried++
				c, want := s.at(i)
				if got, why := k.fire(t, c); why == "" {
					fires[strings.Split(s.ID, "-")[1]]++
					require.Equal(t, shown(want), shown(got), s.ID)
				}
				for _, trap := range s.Never {
					_, why := k.fire(t, Case{Situation: s.Situation, Text: trap.Text, Inputs: trap.Inputs})
					require.True(t, why != "" || trap.Limit, "%s: %s %s", s.ID, trap.Text, trap.Inputs)
				}
			}
		}
		t.Logf("from %d deliveries: of %d repeats fire %v", n, tried, fires)
	}
}

// With all shapes delivered twice in one scope, the right plan is suggested first, and filled it is the plan. The
// figures are logged.
func TestSuggestionsOfOthers(t *testing.T) {
	shapes := others(t)
	l, err := New(t.Context(), store.NewMem(), &Options{Seed: 1})
	require.NoError(t, err)
	defer l.Close()
	for _, s := range shapes {
		for i := range 2 {
			c, calls := s.at(i)
			a, err := l.Before(t.Context(), c)
			require.NoError(t, err)
			_, err = l.After(t.Context(), a, Outcome{Verdict: Delivered, Plan: &reason.Plan{Calls: calls}})
			require.NoError(t, err)
		}
	}
	fired, first, any, right, given, whole, silent := 0, 0, 0, 0, 0, 0, 0
	for _, s := range shapes {
		for i := 2; i < 5; i++ {
			c, calls := s.at(i)
			a, err := l.Before(t.Context(), c)
			require.NoError(t, err)
			whole += len(shown(calls))
			if a.Fires != nil {
				fired++
				require.Equal(t, shown(calls), shown(a.Fires.Calls))
				continue
			}
			if a.Why == "" {
				silent++
			}
			for k, sg := range a.Suggestions {
				if summary(sg.Plan.Calls) != summary(calls) {
					continue
				}
				any++
				if k > 0 {
					t.Logf("%s: right plan at %d; first %s", s.ID, k, summary(a.Suggestions[0].Plan.Calls))
				} else {
					first++
				}
				inputs := fillOf(sg, calls, c)
				if p, err := a.Use(sg.Name, inputs); err == nil && shown(p.Calls) == shown(calls) {
					right++
				}
				given += len(inputs) + len(sg.Name)
				break
			}
		}
	}
	t.Logf("of %d: %d fire, right plan suggested %d, first %d, right when filled %d; output %d of %d bytes; %d without a why",
		3*len(shapes), fired, any, first, right, given, whole, silent)
}

// fillOf is what a model would give for the parameters that the case's inputs do not say.
func fillOf(sg reason.Suggestion, calls []reason.PlanCall, c Case) json.RawMessage {
	s, _ := shapeOf(&c)
	given := make(map[string]any)
	for i, call := range sg.Plan.Calls {
		of, _ := schema.Read(call.Inputs)
		want, _ := schema.Read(calls[i].Inputs)
		values := leaves(want)
		for _, l := range leaves(of) {
			name, ok := strings.CutPrefix(word(l.v), "{")
			name, ok2 := strings.CutSuffix(name, "}")
			at := slices.IndexFunc(values, func(v leaf) bool { return v.path == l.path })
			said := slices.ContainsFunc(s.in, func(v leaf) bool { return v.path == name })
			if _, is := sg.Parameters[name]; ok && ok2 && !said && at >= 0 && is {
				given[name] = values[at].v
			}
		}
	}
	return encode(given)
}

// What a model, a person or another program has written is read or refused.
func FuzzRead(f *testing.F) {
	f.Add("refund A-1.", `{"id":"A-1","n":[1,{"a":null}],"":""}`)
	f.Add("\xff{id}", `{"id":"\ufffd","id":1}`)
	f.Add("a day, as a path and escaped", `{"1":{"1":[1]},"d":"2024\/05\/01"}`)
	f.Fuzz(func(t *testing.T, text, inputs string) {
		c, calls := did(text, inputs, inputs)
		s, why := shapeOf(&c)
		if why != "" {
			return
		}
		again, _ := shapeOf(&c)
		require.Equal(t, s.key, again.key)
		k := kept{}
		k.deliver(t, c, calls)
		k.deliver(t, c, calls)
		got, why := k.fire(t, c)
		if v, err := schema.Read(c.Inputs); err == nil && v != nil {
			require.Empty(t, why)
			require.Equal(t, shown(calls), shown(got))
		}
	})
}
