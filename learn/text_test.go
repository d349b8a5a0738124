package learn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// texts are requests without inputs, each delivered once by its call, and what came next: with the call that is right for
// it, or "" where the plan must not run. Their values stand in the text alone.
var texts = []struct {
	class     string
	delivered [][2]string // text, inputs of the call
	next      [][2]string // text, the call that must fire; "": none may
}{
	// What is the same case: a value with digits, said by the call, in words that were delivered.
	{"right: number", [][2]string{{"close ticket 1182", `{"id":1182}`}, {"close ticket 1190", `{"id":1190}`}},
		[][2]string{{"close ticket 1207", `{"id":1207}`}, {"Close ticket 1188.", `{"id":1188}`}}},
	{"right: id and day", [][2]string{
		{"move INC-410 to 2026-03-02", `{"id":"INC-410","day":"2026-03-02"}`}, {"move INC-441 to 2026-03-09", `{"id":"INC-441","day":"2026-03-09"}`}},
		[][2]string{{"move INC-502 to 2026-04-01", `{"day":"2026-04-01","id":"INC-502"}`}}},
	{"right: word that was delivered", [][2]string{
		{"book room Ada at 09:00", `{"room":"Ada","at":"09:00"}`}, {"book room Hopper at 14:00", `{"room":"Hopper","at":"14:00"}`}},
		[][2]string{{"book room Ada at 10:30", `{"at":"10:30","room":"Ada"}`}, {"book room Noether at 10:30", ""}, {"book room none at 10:30", ""}}},
	{"right: words of three deliveries", [][2]string{{"move Ada from Lab to Oslo", `{"who":"Ada","of":"Lab","to":"Oslo"}`},
		{"move Bob from Den to Rome", `{"who":"Bob","of":"Den","to":"Rome"}`}, {"move Cid from Loft to Bonn", `{"who":"Cid","of":"Loft","to":"Bonn"}`}},
		[][2]string{{"move Ada from Den to Bonn", `{"of":"Den","to":"Bonn","who":"Ada"}`}, {"move Ada from Den to nowhere", ""}, {"move Bonn from Den to Bonn", ""}}},
	{"right: German", [][2]string{{"Lager 12 bestellt Artikel K-200 nach", `{"lager":12,"sku":"K-200"}`}, {"Lager 14 bestellt Artikel K-317 nach", `{"lager":14,"sku":"K-317"}`}},
		[][2]string{{"Lager 13 bestellt Artikel K-402 nach", `{"lager":13,"sku":"K-402"}`}, {"Lager 13 bestellt Artikel K-955 nach", ""}, {"Lager 13 bestellt Artikel K-955 ab", ""}, {"Kein Lager 13 bestellt Artikel K-955 nach", ""}}},
	{"right: Chinese", [][2]string{{"把3号灯调到40度", `{"lamp":3,"to":40}`}, {"把5号灯调到50度", `{"lamp":5,"to":50}`}},
		[][2]string{{"把4号灯调到45度", `{"lamp":4,"to":45}`}, {"不要把4号灯调到45度", ""}, {"把4号灯关掉", ""}}},

	// Limits and counts.
	{"amount over a limit", [][2]string{{"refund 20 EUR to order A-10", `{"amount":20,"order":"A-10","approval":"auto"}`}, {"refund 35 EUR to order A-11", `{"amount":35,"order":"A-11","approval":"auto"}`}},
		[][2]string{{"refund 200 EUR to order A-12", ""}, {"refund 0 EUR to order A-12", ""}, {"refund -20 EUR to order A-12", ""}, {"refund 2e1 EUR to order A-12", ""}, {"refund 20.000 EUR to order A-12", ""},
			{"refund 20k EUR to order A-12", ""}, {"refund 20 USD to order A-12", ""}, {"refund >20 EUR to order A-12", ""}, {"refund 20-35 EUR to order A-12", ""}, {"refund ~25 EUR to order A-12", ""}, {"refund 1/2 EUR to order A-12", ""}}},
	{"one and many", [][2]string{{"delete 3 files of job 12", `{"n":3,"job":12}`}, {"delete 4 files of job 14", `{"n":4,"job":14}`}},
		[][2]string{{"delete 1 files of job 13", ""}, {"delete 400 files of job 13", ""}, {"delete all files of job 13", ""}, {"delete no files of job 13", ""}, {"delete 3+ files of job 13", ""}, {"delete ≥3 files of job 13", ""}, {"delete every files of job 13", ""}}},
	{"French limits", [][2]string{{"rembourse 20,50 € sur la commande C-120", `{"montant":"20,50","commande":"C-120"}`}, {"rembourse 35,10 € sur la commande C-131", `{"montant":"35,10","commande":"C-131"}`}},
		[][2]string{{"rembourse 2050 € sur la commande C-140", ""}, {"rembourse 2.050,00 € sur la commande C-140", ""}, {"ne rembourse 21,50 € sur la commande C-140", ""}, {"rembourse tout € sur la commande C-140", ""}, {"rembourse 21,50 % sur la commande C-140", ""}, {"rembourse 21,50 € sur la commande D-140", ""}}},
	{"German doses", [][2]string{{"Gib 0,5 mg", `{"mg":"0,5"}`}, {"Gib 0,75 mg", `{"mg":"0,75"}`}}, [][2]string{{"Gib 0,05 mg", ""}, {"Gib 0,06 mg", ""}, {"Gib 0,005 mg", ""}, {"Gib 0,999 mg", ""}, {"Gib 0,65 mg", `{"mg":"0,65"}`}}},
	{"German rates", [][2]string{{"Setze den Zins auf 0,75 %", `{"p":"0,75"}`}, {"Setze den Zins auf 0,80 %", `{"p":"0,80"}`}}, [][2]string{{"Setze den Zins auf 0,05 %", ""}}},
	{"German doses in two units", [][2]string{{"Gib 50,0 mg", `{"n":"50,0","unit":"mg"}`}, {"Gib 20,0 g", `{"n":"20,0","unit":"g"}`}}, [][2]string{{"Gib 45,0 g", ""}, {"Gib 45,0 mg", `{"n":"45,0","unit":"mg"}`}}},
	{"versions, where the first number is not near", [][2]string{{"deploy api v1.8", `{"v":"v1.8"}`}, {"deploy api v1.9", `{"v":"v1.9"}`}}, [][2]string{{"deploy api v2.0", ""}}},
	{"one and a half, or thousands", [][2]string{{"Transfira 1.5 reais", `{"brl":"1.5"}`}, {"Transfira 2.5 reais", `{"brl":"2.5"}`}}, [][2]string{{"Transfira 2.125 reais", ""}, {"Transfira 1.75 reais", `{"brl":"1.75"}`}}},
	{"thousands, or one and a half", [][2]string{{"Sperre 1.255 €", `{"eur":"1.255"}`}, {"Sperre 1.355 €", `{"eur":"1.355"}`}}, [][2]string{{"Sperre 1.5 €", ""}, {"Sperre 1.7 €", ""}, {"Sperre 1.305 €", `{"eur":"1.305"}`}}},
	{"amounts in a word, over a limit", [][2]string{{"approve R$20 for al", `{"ok":"R$20","of":"al","by":"rule"}`}, {"approve R$35 for al", `{"ok":"R$35","of":"al","by":"rule"}`}, {"approve R$90 for bo", `{"ok":"R$90","of":"bo","by":"boss"}`}}, [][2]string{{"approve R$50 for al", ""}, {"approve R$30 for al", `{"by":"rule","of":"al","ok":"R$30"}`}}},
	{"Portuguese counts", [][2]string{{"reserve 3 quartos por 4 noites", `{"quartos":3,"noites":4}`}, {"reserve 4 quartos por 5 noites", `{"quartos":4,"noites":5}`}},
		[][2]string{{"reserve 40 quartos por 5 noites", ""}, {"reserve 5 quartos por 4 noites", ""}, {"reserve 4 quartos por 30 noites", ""}, {"reserve 4 quartos por poucas noites", ""}}},

	{"amounts in a word", [][2]string{{"pague R$20 a A-10", `{"valor":"R$20","a":"A-10"}`}, {"pague R$35 a A-11", `{"valor":"R$35","a":"A-11"}`}},
		[][2]string{{"pague R$90 a A-12", ""}, {"pague US$25 a A-12", ""}, {"pague R$25k a A-12", ""}, {"pague R$-25 a A-12", ""}, {"pague R$ 25 a A-12", ""}, {"pague R$25 a A-12", `{"a":"A-12","valor":"R$25"}`}}},

	// Dates and times. That a day is past, or no working day, no form tells: that is as with Inputs.
	{"days", [][2]string{{"book the lab on 2026-03-02", `{"day":"2026-03-02"}`}, {"book the lab on 2026-03-03", `{"day":"2026-03-03"}`}},
		[][2]string{{"book the lab on tomorrow", ""}, {"book the lab on 03.03.2026", ""}, {"book the lab on 2026-W10", ""}, {"book the lab on 2026-03-04/2026-03-09", ""}, {"book the lab on 2026-03", ""}, {"book the lab on +3", ""}, {"book the lab on 20260304", ""}}},
	{"worked out", [][2]string{{"remind me in 2 days", `{"n":2,"on":"2026-03-06"}`}, {"remind me in 3 days", `{"n":3,"on":"2026-03-07"}`}},
		[][2]string{{"remind me in 4 days", ""}, {"remind me in 2 days", ""}}},
	{"hours", [][2]string{{"wake me at 06:45", `{"at":"06:45"}`}, {"wake me at 07:30", `{"at":"07:30"}`}},
		[][2]string{{"wake me at 7pm", ""}, {"wake me at 06:45h", ""}, {"wake me at 06:45:00", ""}, {"wake me at 6", ""}, {"wake me at noon", ""}, {"wake me at 06:45?", ""}, {"wake me at (06:50)", ""}, {"wake me at !06:50", ""}}},

	// Units, in one word with the number or beside it.
	{"units", [][2]string{{"set the timer to 5min", `{"for":"5min"}`}, {"set the timer to 8min", `{"for":"8min"}`}},
		[][2]string{{"set the timer to 5h", ""}, {"set the timer to 9s", ""}, {"set the timer to 5 min", ""}, {"set the timer to min", ""}, {"set the timer to 6mins", ""}}},
	{"units that varied", [][2]string{{"allocate 5GB to db-1", `{"size":"5GB","to":"db-1"}`}, {"allocate 800MB to db-2", `{"size":"800MB","to":"db-2"}`}},
		[][2]string{{"allocate 5TB to db-3", ""}, {"allocate 600GB to db-3", ""}, {"allocate 8MB to db-3", ""}, {"allocate 5% to db-3", ""}, {"allocate 6GB to db-3", `{"size":"6GB","to":"db-3"}`}}},
	{"German units", [][2]string{{"Dosis 20 mg für Bett 4", `{"mg":20,"bett":4}`}, {"Dosis 25 mg für Bett 5", `{"mg":25,"bett":5}`}},
		[][2]string{{"Dosis 20 g für Bett 4", ""}, {"Dosis 20 µg für Bett 4", ""}, {"Dosis 250 mg für Bett 4", ""}, {"Dosis 2,5 mg für Bett 4", ""}, {"Dosis 20 mg für Bett 4b", ""}, {"Dosis keine mg für Bett 4", ""}}},

	// Versions.
	{"versions", [][2]string{{"deploy api 2.14.0", `{"version":"2.14.0"}`}, {"deploy api 2.14.1", `{"version":"2.14.1"}`}},
		[][2]string{{"deploy api latest", ""}, {"deploy api 3.0.0", ""}, {"deploy api 2.14.2-rc1", ""}, {"deploy api v2.14.2", ""}, {"deploy api 2.14", ""}, {"deploy api ^2.14.2", ""}, {"deploy api >=2.14.2", ""}, {"deploy web 2.14.2", ""}, {"deploy api 2.14.x", ""}}},

	// Names of a protected kind: what is new of an identifier is its digits, never its letters.
	{"environments", [][2]string{{"restart staging-1", `{"host":"staging-1"}`}, {"restart staging-2", `{"host":"staging-2"}`}},
		[][2]string{{"restart prod-1", ""}, {"restart staging-prod-1", ""}, {"restart staging", ""}, {"restart staging-*", ""}, {"restart main.go", ""}, {"restart all", ""}, {"restart staging-3", `{"host":"staging-3"}`}}},
	{"hosts of two kinds", [][2]string{{"wipe web-1", `{"host":"web-1"}`}, {"wipe db-2", `{"host":"db-2"}`}},
		[][2]string{{"wipe prod-1", ""}, {"wipe root-0", ""}, {"wipe ldap-1", ""}, {"wipe web-1,db-2", ""}, {"wipe db-3", `{"host":"db-3"}`}}},
	{"Spanish names", [][2]string{{"borra la tabla tmp_2023 de la base b1", `{"tabla":"tmp_2023","base":"b1"}`}, {"borra la tabla log_2024 de la base b2", `{"tabla":"log_2024","base":"b2"}`}},
		[][2]string{{"borra la tabla clientes_2024 de la base b2", ""}, {"borra la tabla tmp_2024 de la base prod1", ""}, {"no borra la tabla tmp_2024 de la base b2", ""}, {"borra la tabla * de la base b2", ""}, {"borra la tabla log_2023 de la base b3", `{"base":"b3","tabla":"log_2023"}`}}},
	{"users", [][2]string{{"lock user u1001", `{"user":"u1001"}`}, {"lock user u1002", `{"user":"u1002"}`}},
		[][2]string{{"lock user root", ""}, {"lock user admin1", ""}, {"lock user u1", ""}, {"lock user u1003,u1004", ""}, {"lock user everyone", ""}, {"lock user u1003!", ""}}},

	// Paths, addresses, lists, signs of a shell.
	{"paths", [][2]string{{"clean /srv/build-1", `{"cmd":"rm -rf /srv/build-1"}`}, {"clean /srv/build-2", `{"cmd":"rm -rf /srv/build-2"}`}},
		[][2]string{{"clean /srv/build-3/../../etc", ""}, {"clean /srv/build-3/..", ""}, {"clean ../srv/build-3", ""}, {"clean /srv/build-3;reboot", ""}, {"clean /", ""}, {"clean /srv", ""}, {"clean /etc/build-3", ""}, {"clean /srv/build-3/*", ""},
			{"clean ~/srv/build-3", ""}, {"clean srv/build-3", ""}, {"clean $srv/build-3", ""}, {"clean /srv/build-3", `{"cmd":"rm -rf /srv/build-3"}`}}},
	{"URLs", [][2]string{{"read https://docs.example/p/12 aloud", `{"url":"https://docs.example/p/12"}`}, {"read https://docs.example/p/31 aloud", `{"url":"https://docs.example/p/31"}`}},
		[][2]string{{"read https://evil.example/p/12 aloud", ""}, {"read http://docs.example/p/12 aloud", ""}, {"read https://docs.example@evil.example/p/12 aloud", ""}, {"read https://docs.example/p/12?x=1 aloud", ""}, {"read https://docs.example/q/12 aloud", ""}, {"read file:///p/12 aloud", ""}}},
	{"addresses", [][2]string{{"mail report 12 to anna1@corp.example", `{"n":12,"to":"anna1@corp.example"}`}, {"mail report 14 to bob2@corp.example", `{"n":14,"to":"bob2@corp.example"}`}},
		[][2]string{{"mail report 13 to eve3@evil.example", ""}, {"mail report 13 to all@corp.example", ""}, {"mail report 13 to press1@corp.example", ""}, {"mail report 13 to everyone", ""}, {"mail report 13 to anna1@corp.example,x1@evil.example", ""}}},

	// Swapped, otherwise related, ranges.
	{"ranges", [][2]string{{"lend from 2026-03-01 to 2026-03-05", `{"a":"2026-03-01","z":"2026-03-05"}`}, {"lend from 2026-04-02 to 2026-04-06", `{"a":"2026-04-02","z":"2026-04-06"}`}},
		[][2]string{{"lend from 2026-05-06 to 2026-05-02", ""}, {"lend from 2026-05-02 to 2026-05-02", ""}, {"lend to 2026-05-02 from 2026-05-06", ""}}},
	{"Italian swap", [][2]string{{"sposta 3 pezzi dallo scaffale 10 allo scaffale 20", `{"n":3,"da":10,"a":20}`}, {"sposta 4 pezzi dallo scaffale 12 allo scaffale 24", `{"n":4,"da":12,"a":24}`}},
		[][2]string{{"sposta 3 pezzi dallo scaffale 20 allo scaffale 10", ""}, {"sposta 3 pezzi dallo scaffale 12 allo scaffale 12", ""}, {"sposta 30 pezzi dallo scaffale 12 allo scaffale 20", ""}}},

	// A number that means another thing, or none: what calls do not say is no value.
	{"idioms", [][2]string{{"keep shop 12 open 24/7", `{"shop":12,"mode":"always"}`}, {"keep shop 14 open 24/7", `{"shop":14,"mode":"always"}`}},
		[][2]string{{"keep shop 13 open 9/5", ""}, {"keep shop 13 open 24/6", ""}, {"keep shop 13 closed 24/7", ""}}},
	{"condition", [][2]string{{"approve 20 if under 50", `{"amount":20}`}, {"approve 30 if under 60", `{"amount":30}`}},
		[][2]string{{"approve 25 if under 10", ""}, {"approve 25 if under 20", ""}, {"approve 25 if over 50", ""}, {"approve 25 if under 55", ""}}},
	{"priority", [][2]string{{"file bug 81 as P3", `{"bug":81,"queue":"later"}`}, {"file bug 84 as P3", `{"bug":84,"queue":"later"}`}},
		[][2]string{{"file bug 83 as P1", ""}, {"file bug 83 as p3", ""}, {"file bug 83 as not P3", ""}}},
	{"two readings", [][2]string{{"put 5 of kit 5 aside", `{"n":5}`}, {"put 7 of kit 7 aside", `{"n":7}`}}, [][2]string{{"put 6 of kit 5 aside", ""}, {"put 5 of kit 6 aside", ""}}},
	{"part of a word", [][2]string{{"tag build 12", `{"tag":"v12"}`}, {"tag build 14", `{"tag":"v14"}`}}, [][2]string{{"tag build 13", ""}}},
	{"worked out in two", [][2]string{{"bill 4 seats at 25", `{"seats":4,"total":100}`}, {"bill 5 seats at 20", `{"seats":5,"total":100}`}}, [][2]string{{"bill 4 seats at 30", ""}, {"bill 5 seats at 25", ""}}},
	{"kept", [][2]string{{"page shift 12 about host h7", `{"shift":12,"cc":12,"host":"h7"}`}, {"page shift 14 about host h8", `{"shift":14,"cc":12,"host":"h8"}`}}, [][2]string{{"page shift 15 about host h9", ""}}},

	// Said otherwise: the words are the same or it is another case.
	{"said otherwise", [][2]string{{"turn lamp 3 on", `{"lamp":3,"on":true}`}, {"turn lamp 4 on", `{"lamp":4,"on":true}`}},
		[][2]string{{"turn lamp 5 off", ""}, {"turn lamp 5 on?", ""}, {"never turn lamp 5 on", ""}, {"turn lamp 5 on later", ""}, {"TURN LAMP 5 ON", ""}, {"turn lamps 5 on", ""}, {"turn lamp №5 on", ""}, {"turn lamp ¬5 on", ""}, {"turn lamp 5 on \"now\"", ""}, {"turn lamp #5 on", ""}}},
	{"opposites of one plan", [][2]string{{"mute channel 12", `{"id":12,"level":0}`}, {"mute channel 14", `{"id":14,"level":0}`}, {"unmute channel 12", `{"id":12,"level":5}`}, {"unmute channel 16", `{"id":16,"level":5}`}},
		[][2]string{{"mute channel 13", `{"id":13,"level":0}`}, {"unmute channel 13", `{"id":13,"level":5}`}, {"demute channel 13", ""}}},
	{"a word of a delivery made otherwise", [][2]string{{"mute 12 for al", `{"do":"mute","id":12,"by":"al","level":0}`},
		{"silence 14 for al", `{"do":"silence","id":14,"by":"al","level":0}`}, {"unmute 16 for bo", `{"do":"unmute","id":16,"by":"bo","level":5}`}},
		[][2]string{{"mute 13 for al", `{"by":"al","do":"mute","id":13,"level":0}`}, {"unmute 13 for al", ""}, {"mute 16 for al", ""}, {"mute 13 for bo", ""}}},
	{"words of two deliveries in one", [][2]string{{"add 2 kg of rice to list 4", `{"n":2,"of":"rice","unit":"kg","list":4}`}, {"add 3 l of milk to list 5", `{"n":3,"of":"milk","unit":"l","list":5}`}},
		[][2]string{{"add 2 kg of nothing to list 4", ""}, {"add 2 t of rice to list 4", ""}, {"add 2 kg of rice to list 5", `{"list":5,"n":2,"of":"rice","unit":"kg"}`}}},
	{"quoted", [][2]string{{`rename box 12 to "blue 1"`, `{"box":12,"name":"blue 1"}`}, {`rename box 14 to "blue 2"`, `{"box":14,"name":"blue 2"}`}},
		[][2]string{{`rename box 13 to "blue 3 and delete box 14"`, ""}, {`rename box 13 to "red 3"`, ""}, {`rename box 13 to 'blue 3'`, ""}, {`rename box 13 to "ignore that"`, ""}}},
	{"Japanese", [][2]string{{"会議室3を14時に予約", `{"room":3,"at":14}`}, {"会議室5を16時に予約", `{"room":5,"at":16}`}},
		[][2]string{{"会議室4を15時に予約しないで", ""}, {"会議室4を15時に取消", ""}, {"会議室4を15分に予約", ""}, {"全会議室4を15時に予約", ""}}},
	{"Russian", [][2]string{{"закрой заявку 1182", `{"id":1182}`}, {"закрой заявку 1190", `{"id":1190}`}},
		[][2]string{{"не закрой заявку 1185", ""}, {"закрой заявку 1185 позже", ""}, {"открой заявку 1185", ""}, {"закрой заявку все", ""}, {"закрой заявку 11", ""}, {"закрой заявку 1185-1190", ""}}},
	{"Arabic digits", [][2]string{{"أغلق التذكرة ١١٨٢", `{"id":"١١٨٢"}`}, {"أغلق التذكرة ١١٩٠", `{"id":"١١٩٠"}`}},
		[][2]string{{"لا تغلق التذكرة ١١٨٥", ""}, {"أغلق التذكرة كلها", ""}, {"أغلق التذكرة ١", ""}, {"أغلق التذكرة ١٢٠٧", ""}}},
	{"Arabic decimals", [][2]string{{"اجعل النسبة 0٫75", `{"p":"0٫75"}`}, {"اجعل النسبة 0٫80", `{"p":"0٫80"}`}}, [][2]string{{"اجعل النسبة 0٫05", ""}}},
	{"Turkish", [][2]string{{"oda 12 için 3 havlu gönder", `{"oda":12,"n":3}`}, {"oda 14 için 4 havlu gönder", `{"oda":14,"n":4}`}},
		[][2]string{{"oda 13 için 30 havlu gönder", ""}, {"oda 13 için 3 havlu gönderme", ""}, {"oda 13 için hiç havlu gönder", ""}, {"oda 13 hariç 3 havlu gönder", ""}}},
}

// What stands in a text alone fires for the same words with other digits, where the calls say these, and for nothing else.
func TestTexts(t *testing.T) {
	traps := 0
	for _, k := range texts {
		b := open(t, acme(learn.Options{}))
		for _, d := range k.delivered {
			b.deliver(learn.Case{Text: d[0]}, plan("do", d[1]))
		}
		for _, row := range k.next {
			a, got := b.before(learn.Case{Text: row[0]}), ""
			if a.Fires != nil {
				require.Regexp(t, `^\w{24}/\w{24}$`, a.Fires.ID)
				got = string(a.Fires.Calls[0].Inputs)
			} else {
				traps++
			}
			require.Equal(t, row[1], got, "%s: %s: %s", k.class, row[0], a.Why)
		}
	}
	t.Logf("%d kinds, %d of which nothing fires", len(texts), traps)
}

// A plan that fires for words of other keys makes no evidence of itself, and no key. What a person says of one of its
// cases stops it for the others.
func TestTextsStop(t *testing.T) {
	b := open(t, acme(learn.Options{}))
	of := func(n int) (learn.Case, *reason.Plan) {
		return learn.Case{Text: fmt.Sprint("close ticket ", n)}, plan("close", fmt.Sprintf(`{"id":%d}`, n))
	}
	known := func() int {
		k, err := b.Known(t.Context(), "acme")
		require.NoError(t, err)
		return len(k.Suggestions)
	}
	var last learn.Advice
	for i := range 40 {
		c, p := of(1100 + i)
		last = b.deliver(c, p)
		require.Equal(t, i >= 2, last.Fires != nil, last.Why)
	}
	require.Equal(t, 2, known())
	far, _ := of(1700)
	next, err := b.Before(t.Context(), far)
	require.NoError(t, err)
	require.Equal(t, "word {3} is 1700, not near what was delivered with \"close\"", next.Why)
	err = b.Judge(t.Context(), "acme", last.ID, learn.Failed, "wrong")
	require.NoError(t, err)
	require.Equal(t, 3, known())
	for i := range 10 {
		c, _ := of(1200 + i)
		require.Nil(t, b.before(c).Fires)
	}
}

// Whatever fires is what the rule that made the deliveries says of the case: the mode is of the verb, the rest is said.
func TestTextsProperty(t *testing.T) {
	fired := 0
	rapid.Check(t, func(t *rapid.T) {
		modes := map[string]string{}
		for _, verb := range []string{"open", "close", "don't open", "mute"} {
			modes[verb] = rapid.SampledFrom([]string{"on", "off", verb, "12"}).Draw(t, "mode of "+verb)
		}
		form := rapid.SampledFrom([]string{"%s %s %s for %s", "%[1]s: %[4]s, %[2]s and %[3]s", "%[2]s，%[1]s %[3]s (%[4]s)!"}).Draw(t, "form")
		memo := rapid.SampledFrom([]string{"%s", "%s of %s", "%[2]s", "all", "%[2]s-%[1]s", "x%s"}).Draw(t, "memo")
		one := func(name string) (learn.Case, *reason.Plan) {
			pick := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what+" "+name) }
			verb := pick("verb", slices.Sorted(maps.Keys(modes))...)
			id, n, who := pick("id", "A-10", "A-11", "A-12", "B-12", "10"), pick("n", "10", "11", "12", "13", "-12"), pick("who", "al", "all", "12")
			call := map[string]any{"id": id, "mode": modes[verb], "who": who, "memo": strings.Split(fmt.Sprintf(memo, n, who), "%!")[0]}
			if k, err := strconv.Atoi(n); err == nil {
				call["n"] = k
			}
			raw, _ := json.Marshal(call)
			return learn.Case{Text: fmt.Sprintf(form, verb, id, n, who)}, plan("do", string(raw))
		}
		l, err := learn.New(context.Background(), store.NewMem(), &learn.Options{Scope: "acme", Seed: 1})
		require.NoError(t, err)
		defer l.Close()
		for i := range rapid.IntRange(2, 12).Draw(t, "deliveries") {
			c, p := one(fmt.Sprint(i))
			_, err := l.After(context.Background(), learn.Advice{Case: c}, learn.Outcome{Verdict: learn.Delivered, Plan: p})
			require.NoError(t, err)
		}
		for i := range 20 {
			c, want := one(fmt.Sprint("next ", i))
			a, err := l.Before(context.Background(), c)
			require.NoError(t, err)
			if a.Fires != nil {
				fired++
				require.JSONEq(t, string(want.Calls[0].Inputs), string(a.Fires.Calls[0].Inputs), c.Text)
			}
		}
	})
	t.Logf("fired %d", fired)
	require.Positive(t, fired)
}
