package learn_test

import (
	"cmp"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/learn"
)

// traps are requests for which what was delivered is wrong, though they differ from it in little: a word where a name
// stood, a value that no call says, an action on what another plan has named. They were written before any rule was
// tried on them. Each delivery is a text, inputs, the inputs of its call, and its tool if that is not "do". What follows
// is a text, inputs, and the call that is right; "": none may fire.
var traps = []struct {
	class           string
	delivered, next [][]string
}{
	// A word that names nothing, or all, written as names are.
	{"rooms", [][]string{{"book room Ada at 10:30", "", `{"room":"Ada","at":"10:30"}`}, {"book room Hopper at 14:00", "", `{"room":"Hopper","at":"14:00"}`}},
		[][]string{{"book room Hopper at 11:00", "", `{"at":"11:00","room":"Hopper"}`}, {"book room Any at 11:00", "", ""}, {"book room None at 11:00", "", ""}, {"book room Tba at 11:00", "", ""}, {"book room Both at 11:00", "", ""}, {"book room Again at 11:00", "", ""}, {"book room Upstairs at 11:00", "", ""}}},
	{"people", [][]string{{"remove Anna from shift 12", "", `{"who":"Anna","shift":12}`}, {"remove Bert from shift 14", "", `{"who":"Bert","shift":14}`}},
		[][]string{{"remove Everybody from shift 13", "", ""}, {"remove Nobody from shift 13", "", ""}, {"remove Me from shift 13", "", ""}, {"remove Someone from shift 13", "", ""}, {"remove Boss from shift 13", "", ""}, {"remove ANNA from shift 13", "", ""}}},
	{"services", [][]string{{"scale checkout up to 6 replicas", "", `{"service":"checkout","replicas":6}`}, {"scale images up to 4 replicas", "", `{"service":"images","replicas":4}`}, {"scale search up to 5 replicas", "", `{"service":"search","replicas":5}`}, {"scale mail up to 7 replicas", "", `{"service":"mail","replicas":7}`}},
		[][]string{{"scale mail up to 6 replicas", "", `{"replicas":6,"service":"mail"}`}, {"scale it up to 6 replicas", "", ""}, {"scale them up to 6 replicas", "", ""}, {"scale something up to 6 replicas", "", ""}, {"scale neither up to 6 replicas", "", ""}, {"scale gently up to 6 replicas", "", ""}, {"scale back up to 6 replicas", "", ""}}},
	{"doors", [][]string{{"verriegle Tor Nord um 22:00", "", `{"tor":"Nord","um":"22:00"}`}, {"verriegle Tor Süd um 23:00", "", `{"tor":"Süd","um":"23:00"}`}},
		[][]string{{"verriegle Tor Nicht um 22:00", "", ""}, {"verriegle Tor Alle um 22:00", "", ""}, {"verriegle Tor Keins um 22:00", "", ""}, {"verriegle Tor Erst um 22:00", "", ""}, {"entriegle Tor Nord um 22:00", "", ""}}},
	{"patients", [][]string{{"flytta Sven till sal 12", "", `{"vem":"Sven","sal":12}`}, {"flytta Maja till sal 14", "", `{"vem":"Maja","sal":14}`}},
		[][]string{{"flytta Ingen till sal 13", "", ""}, {"flytta Alla till sal 13", "", ""}, {"flytta Inte till sal 13", "", ""}, {"flytta Henne till sal 13", "", ""}}},
	{"suppliers", [][]string{{"zapłać firmie Wisła fakturę 120", "", `{"firma":"Wisła","faktura":120}`}, {"zapłać firmie Odra fakturę 131", "", `{"firma":"Odra","faktura":131}`}},
		[][]string{{"zapłać firmie Każdej fakturę 125", "", ""}, {"zapłać firmie Żadnej fakturę 125", "", ""}, {"nie zapłać firmie Odra fakturę 125", "", ""}}},
	{"wards", [][]string{{"वार्ड 12 में राम को दवा दो", "", `{"ward":12,"who":"राम"}`}, {"वार्ड 14 में सीता को दवा दो", "", `{"ward":14,"who":"सीता"}`}},
		[][]string{{"वार्ड 13 में किसी को दवा दो", "", ""}, {"वार्ड 13 में सब को दवा दो", "", ""}, {"वार्ड 13 में राम को दवा मत दो", "", ""}}},

	// A code that looks drawn by chance, and says something.
	{"commits", [][]string{{"build shop at 4f1c9ae", "", `{"ref":"4f1c9ae"}`}, {"build shop at 7a7a7a1", "", `{"ref":"7a7a7a1"}`}},
		[][]string{{"build shop at release", "", ""}, {"build shop at deadbee", "", ""}, {"build shop at v2.0.1a", "", ""}, {"build shop at 4f1c9a~", "", ""}, {"build shop at HEAD~12", "", ""}, {"build shop at beta2ab", "", ""}, {"build shop at 2a3b4c5 4f1c9ae", "", ""}}},
	{"an empty file", [][]string{{"publish the upload", `{"name":"a-10.pdf","sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}`, `{"file":"a-10.pdf"}`}, {"publish the upload", `{"name":"a-11.pdf","sha256":"60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"}`, `{"file":"a-11.pdf"}`}},
		[][]string{{"publish the upload", `{"name":"a-12.pdf","sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}`, ""}}},
	{"nobody's account", [][]string{{"open the case", `{"case":"C-10","owner":"3f2b8c1e-7d4a-4b0e-9c55-0a1d2e3f4b5c"}`, `{"case":"C-10"}`}, {"open the case", `{"case":"C-11","owner":"b81e4f20-11c9-4e6d-8a3f-5c6d7e8f9a0b"}`, `{"case":"C-11"}`}},
		[][]string{{"open the case", `{"case":"C-12","owner":"b81e4f20-11c9-4e6d-8a3f-5c6d7e8f9a0b"}`, `{"case":"C-12"}`}, {"open the case", `{"case":"C-12","owner":"00000000-0000-0000-0000-000000000000"}`, ""}}},
	{"test events", [][]string{{"charge order A-10", `{"order":"A-10","event":"ev-3a91c4"}`, `{"order":"A-10"}`}, {"charge order A-11", `{"order":"A-11","event":"ev-3c859b"}`, `{"order":"A-11"}`}},
		[][]string{{"charge order A-12", `{"order":"A-12","event":"ev-000000"}`, ""}, {"charge order A-12", `{"order":"A-12","event":"ev-test01"}`, ""}, {"charge order A-12", `{"order":"A-12","event":"ev-dryrun"}`, ""}}},
	{"a lamp of a machine", [][]string{{"log the state of press 12", `{"press":12,"lamp":"#00ff00"}`, `{"press":12,"state":"logged"}`}, {"log the state of press 14", `{"press":14,"lamp":"#0f0f00"}`, `{"press":14,"state":"logged"}`}},
		[][]string{{"log the state of press 13", `{"press":13,"lamp":"#ff0000"}`, ""}}},
	{"gases", [][]string{{"vent tank 12", `{"tank":12,"gas":"H2O"}`, `{"tank":12}`}, {"vent tank 14", `{"tank":14,"gas":"CO2"}`, `{"tank":14}`}},
		[][]string{{"vent tank 13", `{"tank":13,"gas":"CL2"}`, ""}, {"vent tank 13", `{"tank":13,"gas":"H2S"}`, ""}, {"vent tank 13", `{"tank":13,"gas":"PH3"}`, ""}}},
	{"returns", [][]string{{"take back order A-10", `{"order":"A-10","sku":"MUG-12"}`, `{"order":"A-10"}`}, {"take back order A-11", `{"order":"A-11","sku":"MUG-BK"}`, `{"order":"A-11"}`}},
		[][]string{{"take back order A-12", `{"order":"A-12","sku":"BAT-9V"}`, ""}, {"take back order A-12", `{"order":"A-12","sku":"MUG-XX"}`, ""}}},
	{"passes", [][]string{{"open gate 12", `{"gate":12,"pass":"k7f2q9"}`, `{"gate":12}`}, {"open gate 14", `{"gate":14,"pass":"7kq2f9"}`, `{"gate":14}`}},
		[][]string{{"open gate 13", `{"gate":13,"pass":"revok3"}`, ""}, {"open gate 13", `{"gate":13,"pass":"none00"}`, ""}}},
	{"deadlines", [][]string{{"file the reply of case 12", `{"case":12,"due":"2026-03-04T12:00:07Z"}`, `{"case":12}`}, {"file the reply of case 14", `{"case":14,"due":"2026-03-06T08:26:07Z"}`, `{"case":14}`}},
		[][]string{{"file the reply of case 13", `{"case":13,"due":"2026-01-01T00:00:00Z"}`, ""}, {"file the reply of case 13", `{"case":13,"due":"2036-03-05T08:26:07Z"}`, ""}, {"file the reply of case 13", `{"case":13,"due":""}`, ""}}},
	{"readings that only grew", [][]string{{"start pump 12", `{"pump":12,"level":918200}`, `{"pump":12}`}, {"start pump 14", `{"pump":14,"level":918337}`, `{"pump":14}`}, {"start pump 16", `{"pump":16,"level":918474}`, `{"pump":16}`}, {"start pump 18", `{"pump":18,"level":918611}`, `{"pump":18}`}},
		[][]string{{"start pump 13", `{"pump":13,"level":918748}`, ""}, {"start pump 13", `{"pump":13,"level":918400}`, ""}}},

	// What another plan has named is not for every action.
	{"a host that is looked at", [][]string{{"wipe web-1", "", `{"host":"web-1"}`, "wipe"}, {"wipe db-2", "", `{"host":"db-2"}`, "wipe"}, {"show the log of prod-1", "", `{"host":"prod-1"}`, "show"}, {"show the log of prod-2", "", `{"host":"prod-2"}`, "show"}},
		[][]string{{"wipe prod-1", "", ""}, {"wipe prod-2", "", ""}, {"wipe the log of prod-2", "", ""}}},
	{"a user who is listed", [][]string{{"lock user mira", "", `{"user":"mira"}`, "lock"}, {"lock user jan", "", `{"user":"jan"}`, "lock"}, {"list files of user root", "", `{"user":"root"}`, "list"}, {"list files of user all", "", `{"user":"all"}`, "list"}},
		[][]string{{"lock user root", "", ""}, {"lock user all", "", ""}}},
	{"an account that is read", [][]string{{"close account Rhein of client 12", "", `{"account":"Rhein","client":12}`, "close"}, {"close account Main of client 14", "", `{"account":"Main","client":14}`, "close"}, {"show account Tresor of client 13", "", `{"account":"Tresor","client":13}`, "show"}},
		[][]string{{"close account Tresor of client 13", "", ""}}},
	{"a target of another tool", [][]string{{"deploy api to staging", `{"app":"api","env":"staging"}`, `{"app":"api","env":"staging"}`, "deploy"}, {"deploy web to staging", `{"app":"web","env":"staging"}`, `{"app":"web","env":"staging"}`, "deploy"}, {"watch api in production", `{"app":"api","env":"production"}`, `{"app":"api","env":"production"}`, "watch"}, {"watch web in production", `{"app":"web","env":"production"}`, `{"app":"web","env":"production"}`, "watch"}},
		[][]string{{"deploy api to production", `{"app":"api","env":"production"}`, ""}, {"deploy web in production", `{"app":"web","env":"production"}`, ""}}},
	{"stages that varied", [][]string{{"turn on a-1 in beta", `{"flag":"a-1","env":"beta"}`, `{"flag":"a-1","env":"beta"}`}, {"turn on a-2 in internal", `{"flag":"a-2","env":"internal"}`, `{"flag":"a-2","env":"internal"}`}, {"turn on a-3 in canary", `{"flag":"a-3","env":"canary"}`, `{"flag":"a-3","env":"canary"}`}},
		[][]string{{"turn on a-4 in production", `{"flag":"a-4","env":"production"}`, ""}, {"turn on a-4 in everywhere", `{"flag":"a-4","env":"everywhere"}`, ""}}},

	// Words that some deliveries had and others had not.
	{"hesitation", [][]string{{"do not hesitate to cancel order A-10", `{"order":"A-10"}`, `{"order":"A-10"}`}, {"cancel order A-11", `{"order":"A-11"}`, `{"order":"A-11"}`}, {"please cancel order A-13", `{"order":"A-13"}`, `{"order":"A-13"}`}, {"cancel order A-14", `{"order":"A-14"}`, `{"order":"A-14"}`}},
		[][]string{{"cancel order A-12", `{"order":"A-12"}`, `{"order":"A-12"}`}, {"do not cancel order A-12", `{"order":"A-12"}`, ""}, {"please do not cancel order A-12", `{"order":"A-12"}`, ""}, {"hesitate to cancel order A-12", `{"order":"A-12"}`, ""}}},
	{"parts of two sentences", [][]string{{"lock the gate, the shop is closed", "", `{"gate":"locked"}`}, {"lock the gate unless it is locked", "", `{"gate":"locked"}`}, {"lock the gate", "", `{"gate":"locked"}`}},
		[][]string{{"lock the gate unless the shop is closed", "", ""}, {"lock the gate, it is closed", "", ""}, {"the gate is locked", "", ""}}},
	{"thanks", [][]string{{"pay bill 120, thanks", "", `{"bill":120}`}, {"pay bill 131", "", `{"bill":131}`}, {"pay bill 133", "", `{"bill":133}`}},
		[][]string{{"pay bill 125, no thanks", "", ""}, {"thanks, pay bill 125 tomorrow", "", ""}, {"pay bill 125, later, thanks", "", ""}}},

	// Amounts, units, lists, and values that go together.
	{"freight", [][]string{{"load 12 kg on truck 3", "", `{"kg":12,"truck":3}`}, {"load 15 kg on truck 4", "", `{"kg":15,"truck":4}`}},
		[][]string{{"load 12 lb on truck 3", "", ""}, {"load 12 t on truck 3", "", ""}, {"load 12kg on truck 3", "", ""}, {"load 1,2 kg on truck 3", "", ""}, {"load 12 kg on truck 3/4", "", ""}, {"unload 12 kg on truck 3", "", ""}}},
	{"pills", [][]string{{"donnez 2 cachets au lit 12", "", `{"n":2,"lit":12}`}, {"donnez 3 cachets au lit 14", "", `{"n":3,"lit":14}`}},
		[][]string{{"donnez 20 cachets au lit 12", "", ""}, {"donnez 0 cachets au lit 12", "", ""}, {"donnez 2 cachets au lit 120", "", ""}, {"donnez ½ cachets au lit 12", "", ""}, {"donnez moins de 2 cachets au lit 12", "", ""}}},
	{"dns", [][]string{{"point a.example to 192.0.2.10", "", `{"name":"a.example","to":"192.0.2.10"}`}, {"point b.example to 192.0.2.14", "", `{"name":"b.example","to":"192.0.2.14"}`}},
		[][]string{{"point a.example to 192.0.2.12", "", `{"name":"a.example","to":"192.0.2.12"}`}, {"point a.example to 127.0.0.1", "", ""}, {"point a.example to 192.0.2.0/24", "", ""}, {"point *.example to 192.0.2.12", "", ""}, {"point example to 192.0.2.12", "", ""}, {"point a.example to nowhere", "", ""}}},
	{"own and others", [][]string{{"reset password of u-1 for u-1", `{"of":"u-1","by":"u-1"}`, `{"user":"u-1"}`}, {"reset password of u-2 for u-2", `{"of":"u-2","by":"u-2"}`, `{"user":"u-2"}`}},
		[][]string{{"reset password of u-3 for u-3", `{"of":"u-3","by":"u-3"}`, `{"user":"u-3"}`}, {"reset password of u-3 for u-4", `{"of":"u-3","by":"u-4"}`, ""}, {"reset password of u-3 for u-1", `{"of":"u-3","by":"u-1"}`, ""}}},
	{"Japanese", [][]string{{"佐藤さんに12番の資料を送って", "", `{"to":"佐藤","doc":12}`}, {"田中さんに14番の資料を送って", "", `{"to":"田中","doc":14}`}},
		[][]string{{"全員さんに13番の資料を送って", "", ""}, {"田中さんに13番の資料を送らないで", "", ""}, {"誰かさんに13番の資料を送って", "", ""}}},
}

// Of no trap fires a plan, also where more was delivered than two cases of it.
func TestTraps(t *testing.T) {
	n := 0
	for _, k := range traps {
		b := open(t, acme(learn.Options{}))
		of := func(row []string) learn.Case { return learn.Case{Text: row[0], Inputs: json.RawMessage(row[1])} }
		for _, d := range k.delivered {
			b.deliver(of(d), plan(cmp.Or(append(d, "", "")[3], "do"), d[2]))
		}
		for _, row := range k.next {
			a, got := b.before(of(row)), ""
			if a.Fires != nil {
				got = string(a.Fires.Calls[0].Inputs)
			} else {
				n++
			}
			require.Equal(t, row[2], got, "%s: %s %s: %s", k.class, row[0], row[1], a.Why)
		}
	}
	t.Logf("%d kinds, %d of which nothing fires", len(traps), n)
}
