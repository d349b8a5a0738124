package succession

import (
	"slices"
	"strings"
	"unicode"

	"github.com/arc-learn/arc/memory/internal/phrase"
)

// cues are phrases, by what a text with one of them says. Those of all languages
// apply to every text: none is a word of use in another one here. Words are in
// lower case; phrases in Han, Hiragana or Katakana are found anywhere in a text.
type cues struct {
	first map[string][][]string // by the first word, the words after it
	runs  []string
}

func newCues(lists ...string) *cues {
	c := &cues{first: make(map[string][][]string)}
	for _, list := range lists {
		for cue := range strings.SplitSeq(list, ",") {
			ws := phrase.Words(cue)
			switch {
			case len(ws) == 0:
			case strings.ContainsFunc(cue, unsegmented):
				c.runs = append(c.runs, strings.TrimSpace(cue))
			default:
				c.first[ws[0]] = append(c.first[ws[0]], ws[1:])
			}
		}
	}
	return c
}

// unsegmented reports whether a script writes no spaces between words.
func unsegmented(r rune) bool {
	return r >= '⺀' && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// in reports whether a text, of which ws are the folded words, has a cue.
func (c *cues) in(s string, ws []string) bool {
	for i, w := range ws {
		for _, rest := range c.first[w] {
			if len(rest) <= len(ws)-i-1 && slices.Equal(rest, ws[i+1:i+1+len(rest)]) {
				return true
			}
		}
	}
	within := func(run string) bool { return strings.Contains(s, run) }
	return strings.ContainsFunc(s, unsegmented) && slices.ContainsFunc(c.runs, within)
}

// What says that something has changed.
var changeCues = newCues(
	`moved, moving to, relocated, relocating, switched, switching, changed, replaced, replaces, replacing, swapped,
	migrated, upgraded, downgraded, raised, lowered, increased, reduced, rescheduled, postponed, pushed back,
	brought forward, cancelled, canceled, called off, quit, resigned, retired, dropped, gave up, turned out, no longer,
	not anymore, any more, anymore, from now on, instead, after all, took over, taken over, sold, promoted, became,
	has become, now, nowadays, these days, currently, renamed, transferred, stopped, ended up, broke up, divorced,
	got married, passed away, corrected, actually, updated, deprecated, in favor of, in favour of, as of, has since,
	used to, formerly, previously, converted`,
	// German
	`umgezogen, gezogen, zog um, gewechselt, wechselte, wechselt, umgestiegen, ersetzt, ersetzte, geändert, verschoben,
	abgesagt, gekündigt, kündigte, aufgehört, nicht mehr, kein mehr, ab jetzt, von nun an, ab sofort, stattdessen,
	doch nicht, jetzt, inzwischen, mittlerweile, neuerdings, verkauft, befördert, übernommen, umbenannt, erhöht, gesenkt,
	keine mehr, geschieden, aktualisiert`,
	// Spanish
	`se mudó, me mudé, mudado, cambió, cambié, cambiado, cambiamos, reemplazó, reemplazado, sustituyó, aplazado, aplazó,
	canceló, cancelado, renunció, dejó, dejé, ya no, a partir de ahora, desde ahora, en lugar de, en vez de, ahora,
	actualmente, al final, vendió, ascendido, ascendió, jubilado, subió, bajó, se divorció, actualizado, renombrado`,
	// French
	`a déménagé, ai déménagé, déménagé, a changé, ai changé, changé, remplacé, remplace, reporté, annulé, démissionné,
	a quitté, ai quitté, arrêté, ne plus, n'est plus, ne plus, plus maintenant, désormais, dorénavant,
	à partir de maintenant, maintenant, à la place, au lieu de, finalement, actuellement, vendu, promu, promue, augmenté,
	baissé, divorcé, renommé, est passé, passée à, mis à jour`,
	// Chinese
	`搬到, 搬家, 搬去, 换成, 换了, 改成, 改为, 改到, 更换, 取消, 推迟, 延期, 提前到, 辞职, 不再, 从现在起, 现在, 如今, 目前, 已经改, 卖掉, 卖了, 升职,
	升为, 退休, 离婚, 接替, 取代, 转到, 转为, 升级到, 变成, 涨到, 降到, 更新为, 迁移到, 戒了`,
	// Japanese
	`引っ越し, 引越し, 転居, 変わり, 変更, 変えた, 変えました, 替え, 切り替え, 乗り換え, 中止, 延期, 辞め, 退職, 転職, もう, 今は, 現在, これから, 代わりに,
	やめ, 売っ, 昇進, 引退, 離婚, 移行, 更新, になりました, になった, 値上げ, 値下げ, 移りました, 移った`,
)

// What says that the earlier holds: that something does besides, or is planned, excepted,
// or of other days.
var holdsCues = newCues(
	`also, too, as well, in addition, additionally, besides, another, both, second, along with, likewise, either,
	extra, additional, one more, nearly, almost, years ago`,
	`auch, außerdem, zusätzlich, ebenfalls, noch ein, noch eine, sowohl, zweite, zweites, weitere,
	weiteres, weiterer, zusätzliche`,
	`también, además, otro, otra, ambos, asimismo, segundo, adicional, uno más, una más`,
	`aussi, également, en plus, de plus, un autre, une autre, deuxième, supplémentaire, un de plus, une de plus`,
	`也, 还有, 另外, 此外, 同时, 第二, 再买, 额外`, `も, また, さらに, そのほか, 二つ目, 加えて, 追加`,
	`planned, planning, plans, plan to, intend to, intends to, intending, considering, thinking of,
	thinking about, toying with, weighing,
	would like to, i'd like to, we'd like to, hope to, hopes to, hoping to, might, proposed,
	undecided, nothing has been decided,
	temporarily, for one, just for, only for, just to try, except for, except when, until it,
	when i was, when we were, when he was, when she was, as a child, as a kid, as a boy, as a girl,
	as a teenager, as a student,
	student days, school days, back then, growing up`,
	`geplant, plane, planen, plant, vorhaben, überlege, überlegen, überlegt, erwägt, erwägen, möchte,
	würde gern, hofft, vorübergehend,
	nur für, ausnahmsweise, als kind, damals, zu schulzeiten, studienzeit`,
	`planea, planeo, planeamos, previsto, pensando en, considerando, quisiera, me gustaría, espera,
	temporalmente, solo por, sólo por,
	excepto, de niño, de niña, cuando era, en aquel entonces`,
	`prévoit, prévoyons, prévu, prévue, envisage, envisageons, songe à, aimerait, aimerais, espère,
	temporairement, seulement pour, sauf,
	quand j'étais, à l'époque, étant enfant`,
	`计划, 打算, 考虑, 想要, 希望, 也许, 可能会, 暂时, 仅限, 除了, 小时候, 当年, 那时`,
	`予定, 計画, つもり, 検討, 考えてい, たいと思, 一時的, だけは, を除いて, 子供の頃, 学生時代, 当時`,
)

// people are those whom a text may be about, of one sort each.
var people = []*cues{
	newCues(`sister, sisters, schwester, hermana, sœur, soeur, 姐姐, 妹, 姉`),
	newCues(`brother, brothers, bruder, hermano, frère, 哥哥, 弟, 兄`),
	newCues(`sibling, siblings, twin, geschwister, hermanos, 兄弟姐妹, 双子`),
	newCues(`mother, mum, mom, mutter, mama, madre, mère, maman, 妈, 母`),
	newCues(`father, dad, vater, papa, padre, père, 爸, 父`),
	newCues(`parents, folks, eltern, padres, 父母, 両親`),
	newCues(`husband, wife, partner, spouse, girlfriend, boyfriend, fiancé, fiancée, mann, ehemann,
		ehefrau, partnerin, marido, esposo, esposa,
		pareja, mari, épouse, compagnon, compagne, 丈夫, 老公, 妻, 老婆, 女朋友, 男朋友, 夫, 彼女, 彼氏`),
	newCues(`son, sons, sohn, hijo, fils, 儿子, 息子`),
	newCues(`daughter, daughters, tochter, hija, fille, 女儿, 娘`),
	newCues(`nephew, niece, neffe, nichte, sobrino, sobrina, neveu, nièce, 侄, 外甥, 甥, 姪`),
	newCues(`cousin, cousine, primo, prima, 表哥, 表弟, 堂, いとこ`),
	newCues(`aunt, uncle, tante, onkel, tía, tío, oncle, 阿姨, 叔, 舅, 叔母, 叔父`),
	newCues(`grandmother, grandma, gran, oma, großmutter, abuela, mamie, 奶奶, 外婆, 祖母`),
	newCues(`grandfather, grandpa, opa, großvater, abuelo, papi, 爷爷, 外公, 祖父`),
	newCues(`friend, friends, freund, freundin, amigo, amiga, ami, amie, 朋友, 友人, 友達`),
	newCues(`neighbour, neighbours, neighbor, neighbors, nachbar, nachbarin, vecino, vecina, voisin,
		voisine, 邻居, 隣人`),
	newCues(`roommate, flatmate, housemate, mitbewohner, mitbewohnerin, compañero de piso,
		colocataire, 室友, ルームメイト`),
	newCues(`colleague, colleagues, coworker, teammate, kollege, kollegin, compañero, colega, collègue, 同事, 同僚`),
	newCues(`boss, manager, supervisor, chef, chefin, jefe, jefa, patron, patronne, 老板, 上司`),
	newCues(`landlord, landlady, tenant, tenants, vermieter, mieter, casero, inquilino, propriétaire,
		locataire, 房东, 大家さん`),
}

// whom is how many words name whom a text is about.
const whom = 4

// ofAnother reports whether a text begins with a person, an owner or a thing that an
// earlier text does not name: «my sister moved» changes nothing about me.
func ofAnother(s string, ws []string, old string, was []string) bool {
	if len(ws) == 0 || speakers.in("", ws[:1]) {
		return false
	}
	owner := strings.HasSuffix(ws[0], "'s")
	ws, was = owners(ws[:min(whom, len(ws))]), owners(was)
	named := func(w string) bool { return slices.Contains(was, w) }
	switch {
	case articles.in("", ws[:1]):
		if len(ws) > 2 && !slices.ContainsFunc(ws[1:3], named) {
			return true
		}
	case owner && !contracted.in("", ws[:1]) && !named(ws[0]):
		return true
	}
	return slices.ContainsFunc(people, func(c *cues) bool { return c.in(s, ws) && !c.in(old, was) })
}

// owners returns the words without the 's of who owns something.
func owners(ws []string) []string {
	out := slices.Clone(ws)
	for i := range out {
		out[i] = strings.TrimSuffix(out[i], "'s")
	}
	return out
}

// speakers speak of themselves; what is before an 's that is a verb's owns nothing.
var (
	speakers = newCues(`i, i'm, i've, i'd, i'll, we, we're, we've, we'd, we'll, ich, wir, yo,
		nosotros, je, j'ai, nous`)
	articles   = newCues(`the, a, an, der, die, das, ein, eine, el, la, los, las, un, una, le, les, une`)
	contracted = newCues(`it, that, there, here, what, he, she, who, let`)
)

// What a question about the past has.
var pastCues = newCues(
	`before, previously, originally, initially, formerly, used to, at first, first, earlier, ever, until, history, past,
	old, former, previous, back then, in the beginning, original, how long did, how long was, how long were, how long had,
	since when, last time, over time, when did, when was, when were, when had`,
	`früher, vorher, zuvor, ursprünglich, anfangs, damals, ehemals, jemals, bis wann`,
	`antes, anteriormente, originalmente, al principio, solía, alguna vez, anterior`,
	`avant, auparavant, initialement, au début, autrefois, ancien, ancienne, précédent`,
	`以前, 之前, 原来, 曾经, 最初, 当时, 过去`, `以前, 前は, 元々, もともと, 最初, かつて, 当時, 昔`,
)

// firstPerson are the words of who speaks of themselves.
var firstPerson = newCues(
	`i, i'm, i've, i'll, i'd, my, me, we, we're, we've, our, us`, `ich, mein, meine, meinen, meiner, wir, unser, unsere`,
	`yo, mi, mis, me, nosotros, nuestro, nuestra`, `je, j'ai, mon, ma, mes, nous, notre, nos`,
	`我, 我们, 咱们`, `私, 僕, 俺, わたし, うち`,
)
