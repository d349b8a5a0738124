package memory

import (
	"slices"
	"strings"
	"unicode"

	"github.com/clipperhouse/uax29/v2/words"

	"github.com/arc-learn/arc/internal/template"
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
		for phrase := range strings.SplitSeq(list, ",") {
			ws := foldedWords(phrase)
			switch {
			case len(ws) == 0:
			case strings.ContainsFunc(phrase, unsegmented):
				c.runs = append(c.runs, strings.TrimSpace(phrase))
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
	return strings.ContainsFunc(s, unsegmented) && slices.ContainsFunc(c.runs, func(run string) bool { return strings.Contains(s, run) })
}

// foldedWords returns the words of s in lower case.
func foldedWords(s string) (out []string) {
	it := words.FromString(strings.ToLower(strings.ReplaceAll(s, "\u2019", "'")))
	for it.Next() {
		if w := it.Value(); strings.ContainsFunc(w, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			out = append(out, w)
		}
	}
	return out
}

// What says that something has changed.
var changeCues = newCues(
	`moved, moving to, relocated, relocating, switched, switching, changed, replaced, replaces, replacing, swapped, migrated, upgraded,
	downgraded, raised, lowered, increased, reduced, rescheduled, postponed, pushed back, brought forward, cancelled, canceled, called off,
	quit, resigned, retired, dropped, gave up, turned out, no longer, not anymore, any more, anymore, from now on, instead, after all,
	took over, taken over, sold, promoted, became, has become, now, nowadays, these days, currently, renamed, transferred, stopped,
	ended up, broke up, divorced, got married, passed away, corrected, actually, updated, deprecated, in favor of, in favour of, as of,
	has since, used to, formerly, previously, converted`,
	// German
	`umgezogen, gezogen, zog um, gewechselt, wechselte, wechselt, umgestiegen, ersetzt, ersetzte, geändert, verschoben, abgesagt, gekündigt,
	kündigte, aufgehört, nicht mehr, kein mehr, ab jetzt, von nun an, ab sofort, stattdessen, doch nicht, jetzt, inzwischen, mittlerweile,
	neuerdings, verkauft, befördert, übernommen, umbenannt, erhöht, gesenkt, keine mehr, geschieden, aktualisiert`,
	// Spanish
	`se mudó, me mudé, mudado, cambió, cambié, cambiado, cambiamos, reemplazó, reemplazado, sustituyó, aplazado, aplazó, canceló, cancelado,
	renunció, dejó, dejé, ya no, a partir de ahora, desde ahora, en lugar de, en vez de, ahora, actualmente, al final, vendió, ascendido,
	ascendió, jubilado, subió, bajó, se divorció, actualizado, renombrado`,
	// French
	`a déménagé, ai déménagé, déménagé, a changé, ai changé, changé, remplacé, remplace, reporté, annulé, démissionné, a quitté, ai quitté,
	arrêté, ne plus, n'est plus, ne plus, plus maintenant, désormais, dorénavant, à partir de maintenant, maintenant, à la place, au lieu de,
	finalement, actuellement, vendu, promu, promue, augmenté, baissé, divorcé, renommé, est passé, passée à, mis à jour`,
	// Chinese
	`搬到, 搬家, 搬去, 换成, 换了, 改成, 改为, 改到, 更换, 取消, 推迟, 延期, 提前到, 辞职, 不再, 从现在起, 现在, 如今, 目前, 已经改, 卖掉, 卖了, 升职,
	升为, 退休, 离婚, 接替, 取代, 转到, 转为, 升级到, 变成, 涨到, 降到, 更新为, 迁移到, 戒了`,
	// Japanese
	`引っ越し, 引越し, 転居, 変わり, 変更, 変えた, 変えました, 替え, 切り替え, 乗り換え, 中止, 延期, 辞め, 退職, 転職, もう, 今は, 現在, これから, 代わりに,
	やめ, 売っ, 昇進, 引退, 離婚, 移行, 更新, になりました, になった, 値上げ, 値下げ, 移りました, 移った`,
)

// What says that something holds besides.
var besideCues = newCues(
	`also, too, as well, in addition, additionally, besides, another, both, second, along with, likewise, either`,
	`auch, außerdem, zusätzlich, ebenfalls, noch ein, noch eine, sowohl, zweite, zweites`,
	`también, además, otro, otra, ambos, asimismo, segundo`,
	`aussi, également, en plus, de plus, un autre, une autre, deuxième`,
	`也, 还有, 另外, 此外, 同时, 第二, 再买`, `も, また, さらに, そのほか, 二つ目, 加えて`,
)

// What a question about the past has.
var pastCues = newCues(
	`before, previously, originally, initially, formerly, used to, at first, first, earlier, ever, until, history, past, old, former, previous,
	back then, in the beginning, original, how long, since when, last time, over time, when did, when was, when were, when had`,
	`früher, vorher, zuvor, ursprünglich, anfangs, damals, ehemals, jemals, bis wann`,
	`antes, anteriormente, originalmente, al principio, solía, alguna vez, anterior`,
	`avant, auparavant, initialement, au début, autrefois, ancien, ancienne, précédent`,
	`以前, 之前, 原来, 曾经, 最初, 当时, 过去`, `以前, 前は, 元々, もともと, 最初, かつて, 当時, 昔`,
)

// firstPerson are the words of who speaks of themselves.
var firstPerson = newCues(
	`i, i'm, i've, i'll, i'd, my, me, we, we're, we've, our, us`, `ich, mein, meine, meinen, meiner, wir, unser, unsere`,
	`yo, mi, mis, me, nosotros, nuestro, nuestra`, `je, j'ai, mon, ma, mes, nous, notre, nos`, `我, 我们, 咱们`, `私, 僕, 俺, わたし, うち`,
)

// saysSame reports whether two texts say the same: the same words and symbols, but
// for the case of plain words, sentence punctuation and articles.
func saysSame(a, b string) bool {
	return a == b || slices.Equal(withoutArticles(a), withoutArticles(b))
}

func withoutArticles(s string) []string {
	return slices.DeleteFunc(template.Folded(s), func(w string) bool { return w == "an" || w == "the" })
}
