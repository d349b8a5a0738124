package memory_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// change is what was, what is, and a question about it.
type change struct{ was, is, ask string }

// Changes in five languages beside English: the current fact comes first, the
// other is marked, and nothing is hidden.
var changes = map[string][]change{
	"English": {
		{"The standup is at nine.", "The standup was moved to ten.", "when is the standup today"},
		{"Backups run on Sundays.", "Backups no longer run on Sundays but daily.", "which days do backups run"},
		{"The mascot of the team is a heron.", "The mascot of the team is a badger.", "what is the mascot of the team"},
	},
	"German": {
		{"Jana wohnt in Köln.", "Jana ist nach Bremen umgezogen und wohnt dort.", "Wo wohnt Jana?"},
		{"Das Treffen ist am Montag.", "Das Treffen wurde auf Dienstag verschoben.", "An welchem Tag ist das Treffen?"},
		{"Der Server läuft mit Debian.", "Der Server läuft jetzt mit Alpine.", "Womit läuft der Server?"},
		{"Unser Lieferant ist Weber.", "Unser Lieferant Weber wurde durch Krause ersetzt.", "Wer ist unser Lieferant?"},
		{"Tom trinkt Kaffee.", "Tom trinkt keinen Kaffee mehr, inzwischen nur Tee.", "Was trinkt Tom?"},
		{"Die Miete beträgt 800 Euro.", "Die Miete wurde auf 900 Euro erhöht.", "Wie hoch ist die Miete?"},
		{"Das Projekt heißt Falke.", "Das Projekt Falke wurde in Adler umbenannt.", "Wie heißt das Projekt?"},
		{"Die Leitung hat Frau Stein.", "Die Leitung hat Herr Vogt übernommen.", "Wer hat die Leitung?"},
		{"Der Zug nach Ulm fährt um acht.", "Der Zug nach Ulm fährt ab sofort um neun.", "Um wie viel Uhr fährt der Zug nach Ulm?"},
		{"Das Passwort wird monatlich geändert.", "Das Passwort wird von nun an jährlich geändert.", "Wie oft wird das Passwort geändert?"},
	},
	"Spanish": {
		{"Lucía vive en Sevilla.", "Lucía vive ahora en Bilbao.", "¿Dónde vive Lucía?"},
		{"La reunión es el lunes.", "La reunión del lunes fue aplazada, aplazó todo Ana.", "¿Qué día es la reunión?"},
		{"El servidor usa MySQL.", "El servidor ya no usa MySQL sino Postgres.", "¿Qué base usa el servidor?"},
		{"El precio es de diez euros.", "El precio subió a doce euros.", "¿Cuál es el precio?"},
		{"Mi jefe es Pablo.", "Mi jefe es actualmente Marta.", "¿Quién es mi jefe?"},
		{"El color del logo es azul.", "El color del logo cambió a verde.", "¿De qué color es el logo?"},
		{"El gato come atún.", "El gato come pollo en lugar de atún.", "¿Qué come el gato?"},
		{"La clase de yoga es en el sótano.", "La clase de yoga es desde ahora en el jardín.", "¿Dónde es la clase de yoga?"},
		{"Hugo trabaja en Correos.", "Hugo dejó Correos y trabaja en Renfe.", "¿Dónde trabaja Hugo?"},
		{"El coche de Inés es rojo.", "El coche de Inés, el rojo, lo vendió: tiene uno gris.", "¿De qué color es el coche de Inés?"},
	},
	"French": {
		{"Chloé habite à Lyon.", "Chloé a déménagé, elle habite à Nantes.", "Où habite Chloé ?"},
		{"Le comité se réunit le jeudi.", "Le comité se réunit désormais le mardi.", "Quel jour se réunit le comité ?"},
		{"Le prix du billet est de huit euros.", "Le prix du billet a augmenté, il est de neuf euros.", "Quel est le prix du billet ?"},
		{"Notre fournisseur est Martin.", "Notre fournisseur Martin est remplacé par Leroy.", "Qui est notre fournisseur ?"},
		{"Le cours de danse est à midi.", "Le cours de danse de midi est reporté à treize heures.", "À quelle heure est le cours de danse ?"},
		{"Paul fume la pipe.", "Paul a arrêté la pipe, il ne fume rien.", "Que fume Paul ?"},
		{"Le serveur tourne sous Windows.", "Le serveur tourne maintenant sous Linux.", "Sous quoi tourne le serveur ?"},
		{"La directrice est Mme Petit.", "La directrice est finalement Mme Roux.", "Qui est la directrice ?"},
		{"Le café ouvre à sept heures.", "Le café ouvre à partir de maintenant à six heures.", "À quelle heure ouvre le café ?"},
		{"Le projet s'appelle Orion.", "Le projet Orion est renommé, il s'appelle Vega.", "Comment s'appelle le projet ?"},
	},
	"Chinese": {
		{"小王住在北京。", "小王搬到上海了,住在浦东。", "小王住在哪里?"},
		{"会议在星期一举行。", "会议改到星期三举行。", "会议在星期几举行?"},
		{"服务器使用 MySQL 数据库。", "服务器的数据库换成了 Postgres。", "服务器使用哪个数据库?"},
		{"咖啡的价格是二十元。", "咖啡的价格涨到二十五元。", "咖啡的价格是多少?"},
		{"项目经理是李娜。", "项目经理现在是张伟。", "项目经理是谁?"},
		{"公司的标志是红色的。", "公司的标志改成蓝色的了。", "公司的标志是什么颜色?"},
		{"他每天早上跑步。", "他每天早上不再跑步,去游泳。", "他每天早上做什么?"},
		{"图书馆八点开门。", "图书馆从现在起九点开门。", "图书馆几点开门?"},
		{"陈老师教数学。", "陈老师辞职了,不教数学。", "陈老师教什么?"},
		{"演出取票处在东门。", "演出取票处目前在西门。", "演出取票处在哪里?"},
	},
	"Japanese": {
		{"田中さんは大阪に住んでいる。", "田中さんは東京に引っ越しして住んでいる。", "田中さんはどこに住んでいる?"},
		{"会議は月曜日です。", "会議は火曜日に変更です。", "会議は何曜日?"},
		{"サーバーは古いデータベースを使う。", "サーバーは新しいデータベースに移行した。", "サーバーはどのデータベースを使う?"},
		{"部長は佐藤さんです。", "部長は現在鈴木さんです。", "部長は誰?"},
		{"家賃は八万円です。", "家賃は九万円に値上げされた。", "家賃はいくら?"},
		{"彼は毎朝珈琲を飲む。", "彼は毎朝珈琲をやめて紅茶を飲む。", "彼は毎朝何を飲む?"},
		{"図書館は八時に開く。", "図書館はこれから九時に開く。", "図書館は何時に開く?"},
		{"担当は山本です。", "担当は山本から木村に変わりました。", "担当は誰?"},
		{"遠足は金曜日に行く。", "金曜日の遠足は中止です。", "遠足は何曜日?"},
		{"事務所の色は白です。", "事務所の色は青になりました。", "事務所の色は何?"},
	},
}

func TestWhatChangedComesFirst(t *testing.T) {
	t.Parallel()
	for language, pairs := range changes {
		s, c := space(t)
		ids := make([][2]memory.ID, len(pairs))
		for i, p := range pairs {
			ids[i][0] = remember(t, s, memory.Draft{Kind: memory.Fact, Content: p.was})
			c.move(time.Hour)
		}
		for i, p := range pairs {
			ids[i][1] = remember(t, s, memory.Draft{Kind: memory.Fact, Content: p.is})
			c.move(time.Hour)
		}
		first, marked := 0, 0
		for i, p := range pairs {
			hits := recall(t, s, memory.Query{Text: p.ask})
			if len(hits) > 0 && hits[0].Record.ID == ids[i][1] {
				first++
			} else {
				t.Logf("%s: %s", language, p.ask)
			}
			for _, h := range hits {
				if h.Record.ID == ids[i][0] && h.Replaced.By == ids[i][1] && h.Replaced.Probability > 0.5 {
					marked++
				}
			}
		}
		t.Logf("%s: of %d, current first %d, the other marked %d", language, len(pairs), first, marked)
		require.GreaterOrEqual(t, 10*first, 9*len(pairs), language)
		require.GreaterOrEqual(t, 10*marked, 9*len(pairs), language)
	}
}

// Of what holds besides, nothing is marked, and each is found first by its words.
func TestWhatHoldsBesides(t *testing.T) {
	t.Parallel()
	for _, p := range []change{
		{"Mia speaks German.", "Mia also speaks Spanish.", "does Mia speak German"},
		{"Leo plays chess on Fridays.", "Leo bought a red bicycle.", "what does Leo play on Fridays"},
		{"Nina spricht Dänisch.", "Nina spricht außerdem Finnisch.", "Spricht Nina Dänisch?"},
		{"小李会说法语。", "小李也会说德语。", "小李会说法语吗?"},
		// Of somebody else, of something of another's, planned, excepted, of other days, and one more.
		{"My favourite film is the Batman film.", "My nephew's favourite film is now the Spider film.", "which film do I like most"},
		{"Amara builds client apps with Flutter.", "Lior's team builds client apps with Kotlin now.", "with what does Amara build client apps"},
		{"Demo day at Fernlight is on Fridays.", "Fernlight might replace demo day on Fridays by clips.", "when is demo day at Fernlight"},
		{"The search service runs three pods.", "The search service ran twelve pods, changed for one weekend.", "how many pods does the search service run"},
		{"I play football on Wednesday nights.", "I switched to football on Wednesday nights when I was a student.", "what do I play on Wednesday nights"},
		{"The page lists themes of the app.", "An extra page lists themes of the app now.", "what does the page list"},
		{"The document archive runs on PostgreSQL.", "The ticket system switched from PostgreSQL to MySQL.", "what does the document archive run on"},
		{"Das Archiv läuft auf PostgreSQL.", "Die Tickets sind von PostgreSQL umgezogen.", "Worauf läuft das Archiv?"},
		{"Meine Eltern wohnen in Bonn am Rhein.", "Meine Schwester ist nach Köln am Rhein umgezogen.", "Wo wohnen meine Eltern am Rhein?"},
		{"Mis padres viven en Vigo cerca del mar.", "Mi hermana se mudó a Cádiz cerca del mar.", "¿Dónde viven mis padres cerca del mar?"},
		{"Mes parents habitent Brest au bord de mer.", "Ma sœur a déménagé à Nice au bord de mer.", "Où habitent mes parents au bord de mer ?"},
		{"我父母住在上海浦东。", "我妹妹搬到上海浦西。", "我父母住在上海哪里?"},
		{"両親は大阪の北区に住んでいる。", "妹は大阪の西区に引っ越した。", "両親は大阪のどこに住んでいる?"},
	} {
		t.Run(p.is, func(t *testing.T) {
			t.Parallel()
			s, c := space(t)
			first := remember(t, s, memory.Draft{Kind: memory.Fact, Content: p.was})
			c.move(time.Hour)
			remember(t, s, memory.Draft{Kind: memory.Fact, Content: p.is})
			hits := recall(t, s, memory.Query{Text: p.ask})
			require.Equal(t, first, hits[0].Record.ID, p.ask)
			require.Zero(t, hits[0].Replaced)
		})
	}
}

// What perhaps replaces a record is brought in, whatever words it has; it is
// known after the store is opened again, and gone with its record. As of then,
// and for a question about the past, nothing is put before anything.
func TestGuesses(t *testing.T) {
	t.Parallel()
	st, c := store.NewMem(), newClock()
	b, err := memory.Open(t.Context(), st, &memory.Options{Now: c.now, Seed: 1})
	require.NoError(t, err)
	s := b.In("acme")
	old := remember(t, s, memory.Draft{Kind: memory.Fact, Content: "The lighthouse lamp burns oil."})
	for range 12 {
		remember(t, s, memory.Draft{Kind: memory.Episode, Content: "something that burns in the harbour"})
	}
	c.move(time.Hour)
	by := remember(t, s, memory.Draft{Kind: memory.Fact, Content: "The lighthouse lamp was converted to current."})
	q := memory.Query{Text: "what burns in the lighthouse lamp", K: 3}
	check := func(s memory.Space, q memory.Query, first memory.ID) {
		t.Helper()
		require.Equal(t, first, recall(t, s, q)[0].Record.ID)
	}
	check(s, q, by)
	require.Equal(t, memory.Replaced{By: by, Probability: 0.75, Evidence: memory.ByCue}, recall(t, s, q)[1].Replaced)
	then := q
	then.At = epoch.Add(time.Minute)
	check(s, then, old)
	check(s, memory.Query{Text: "what burned in the lighthouse lamp before"}, old)
	require.NoError(t, b.Close())
	b, err = memory.Open(t.Context(), st, &memory.Options{Now: c.now, Seed: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	s = b.In("acme")
	check(s, q, by)
	require.Equal(t, by, recall(t, s, q)[1].Replaced.By)
	r, err := s.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "The lighthouse lamp burns oil."})
	require.NoError(t, err)
	require.Equal(t, memory.Stored, r.Disposition, "it holds again")
	require.NoError(t, s.Forget(t.Context(), r.ID))
	require.NoError(t, s.Forget(t.Context(), by))
	check(s, q, old)
}

// By vectors, a Fact is perhaps replaced by a later one in other words, if it is by far the nearest
// or the later one speaks of a change. One that says that it holds besides, or is far from the question,
// leaves it first.
func TestGuessesByMeaning(t *testing.T) {
	t.Parallel()
	const other, was, is = "The soup is something.", "The red automobile stands beside the lake.", "My vehicle is kept at the pond."
	const ask = "where is the red automobile, at a lake"
	for name, x := range map[string]struct {
		other, was, is, ask string
		e                   memory.Embedder
		first               bool
	}{
		"in other words":        {other, was, is, ask, &thesaurus{}, true},
		"without an Embedder":   {other, was, is, ask, nil, false},
		"besides":               {other, was, "Another vehicle is kept at the pond.", ask, &thesaurus{}, false},
		"of the past":           {other, was, is, "where was the red automobile before, at a lake", &thesaurus{}, false},
		"far from the question": {other, "The automobile at the lake is defective.", "A failed broth at the pond.", "which red automobile", &thesaurus{}, false},
		"about something else":  {other, was, "Tonight we eat broth.", ask, &thesaurus{}, false},
		"another is as near":    {"Some car with soup is at the pond.", was, is, ask, &thesaurus{}, false},
		"of a change":           {"Some car with soup is at the pond.", was, "My vehicle moved to the pond.", ask, &thesaurus{}, true},
		"no other":              {"", was, is, ask, &thesaurus{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, c := store.NewMem(), newClock()
			b := openWith(t, st, c, x.e)
			if x.other != "" {
				remember(t, b.In("acme"), fact(x.other))
			}
			old := remember(t, b.In("acme"), fact(x.was))
			c.move(time.Hour)
			by := remember(t, b.In("acme"), fact(x.is))
			for range 2 { // and after it is opened again
				require.NoError(t, b.Embed(t.Context()))
				hits := recall(t, b.In("acme"), memory.Query{Text: x.ask})
				if x.first {
					require.Equal(t, by, hits[0].Record.ID)
					require.Equal(t, memory.Replaced{By: by, Probability: 0.5, Evidence: memory.ByMeaning}, hits[1].Replaced)
				} else {
					require.Equal(t, old, hits[0].Record.ID)
					require.Zero(t, hits[0].Replaced)
				}
				require.NoError(t, b.Close())
				b = openWith(t, st, c, x.e)
			}
		})
	}
}

func ExampleReplaced() {
	ctx := context.Background()
	bank, err := memory.Open(ctx, store.NewMem(), &memory.Options{Embedder: &thesaurus{}})
	if err != nil {
		panic(err)
	}
	space, day := bank.In("acme/ops"), time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for i, content := range []string{"The soup is hot.", "The red automobile stands beside the lake.", "My vehicle is kept at the pond."} {
		if _, err := space.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: content, At: day.AddDate(0, i, 0)}); err != nil {
			panic(err)
		}
	}
	if err := bank.Embed(ctx); err != nil {
		panic(err)
	}
	hits, err := space.Recall(ctx, memory.Query{Text: "where is the red automobile, at a lake"})
	if err != nil {
		panic(err)
	}
	for _, h := range hits {
		fmt.Println(h.Record.Content, h.Replaced.Evidence == memory.ByMeaning)
	}
	if err := bank.Close(); err != nil {
		panic(err)
	}
	// Output:
	// My vehicle is kept at the pond. false
	// The red automobile stands beside the lake. true
}

// What is in quarantine and matches best does not bring an old fact back to the first place:
// the first is the trusted one that is current.
func TestCurrentComesFirstBesideQuarantine(t *testing.T) {
	t.Parallel()
	b := open(t, store.NewMem(), &clock{})
	s := b.In("acme/ann")
	for i, d := range []memory.Draft{
		{Content: "the depot is led by Ann Moro"},
		{Content: "the depot is no longer led by Ann Moro but by Bo Lind"},
		{Content: "who leads the depot? the depot is led by Eve", Source: memory.Source{Origin: memory.Web}},
	} {
		d.Kind, d.At = memory.Fact, epoch.AddDate(0, 0, -9+i)
		_, err := s.Remember(t.Context(), d)
		require.NoError(t, err)
	}
	q := memory.Query{Text: "who leads the depot?"}
	hits := recall(t, s, q)
	require.Contains(t, hits[0].Record.Content, "Bo Lind", contents(hits))
	x, err := s.Explain(t.Context(), q, hits[0].Record.ID)
	require.NoError(t, err)
	require.Equal(t, 1, x.Rank)
}

// A question that names one of two of whom the same is told asks about that one.
func TestTheSameOfAnother(t *testing.T) {
	t.Parallel()
	for question, contents := range map[string][2]string{
		"Does Ilse keep bees on the roof?":     {"Ilse keeps bees on the roof of the school", "Omar keeps bees on the roof of the school"},
		"What is the favourite colour of Bea?": {"The favourite colour of Bea is blue", "The favourite colour of Noor is blue"},
	} {
		s, _ := space(t)
		for _, c := range contents {
			remember(t, s, memory.Draft{Kind: memory.Fact, Content: c})
		}
		require.Equal(t, contents[0], recall(t, s, memory.Query{Text: question})[0].Record.Content, question)
	}
	s, _ := space(t)
	for _, c := range []string{"The build server of the team runs on Debian.", "The build server of the team runs on Alpine."} {
		remember(t, s, memory.Draft{Kind: memory.Fact, Content: c})
	}
	hits := recall(t, s, memory.Query{Text: "Does the build server run on Debian?"})
	require.Contains(t, hits[0].Record.Content, "Alpine", "the name is what has changed")
}
