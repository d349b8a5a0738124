package template

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/text"
)

// denials are words, without accents, of languages in Latin, Cyrillic and Greek letters
// that turn a statement around, besides the English ones of package text. Some mean
// something else in another language: a plan then fires once too seldom.
var denials = func() map[string]bool {
	all := make(map[string]bool)
	for w := range strings.FieldsSeq(bare(`
dont doesnt didnt cant wont shouldnt mustnt isnt arent wasnt hasnt havent couldnt wouldnt aint nope nay non refrain
refuse skip forbid forbidden prohibit prohibited prevent instead cancel abort undo halt cease omit ignore exclude
excluding nicht nichts kein keine keinen keinem keiner keines nie niemals niemand ohne nein weder statt stattdessen
außer vermeide vermeiden ne n pas jamais rien aucun aucune sans ni nul nulle sauf personne évite éviter évitez nunca
jamás nada nadie ningún ninguno ninguna sin tampoco salvo excepto evita evitar evite mai niente nessun nessuno nessuna
senza tranne não nem nenhum nenhuma ninguém sem exceto niet niets geen nooit zonder behalve inte ej icke aldrig inget
ingen inga utan utom ikke ikkje aldri intet uden uten undtatt ekki aldrei ei älä älköön älkää ilman ära mitte ilma nem
soha nélkül nincs nigdy bez żaden żadna żadne niczego nikdy žádný žádná nic není žiadny nikdar nije nisu nemoj nemojte
nikad nikada nikoli brez nu niciodată fără nici niciun nicio niekada nav nekad değil yok asla hayır olmadan không đừng
chớ chưa tidak tak jangan bukan tanpa belum hindi huwag hapana ddim peidiwch gabe não nuk не нет ни нельзя никогда без
ничего никто нечего ні немає ніколи няма никога недей недейте нико никад немој μη μην δεν δε όχι ποτέ χωρίς ούτε
storniere stornieren storno abbrechen brich widerrufe widerrufen verwerfe rückgängig annulliere unterlasse annule
annuler annulez annulation arrête arrêter arrêtez cesse cesser interromps révoque révoquer abandonne cancela cancelar
cancele anula anular anule detén detener deshaz deshacer revoca revocar interrumpe annulla annullare annulli ferma
fermare interrompi revocare pare parar desfaça desfazer revogue revogar interrompa annuleer annuleren herroep staak
avbryt avbryta avboka ångra upphäv stoppa avlys annuller annullere afbryd fortryd peruuta peruuttaa keskeytä lopeta
tühista katkesta lõpeta anuluj anulować odwołaj cofnij wycofaj przerwij wstrzymaj zatrzymaj zruš zrušit zrušte zrušiť
zastav přeruš otkaži otkazati poništi prekini zaustavi prekliči ustavi anulează oprește întrerupe atšauk nutrauk atcel
iptal vazgeç durdur hủy huỷ dừng ngừng batalkan hentikan urungkan kanselahin itigil ghairi canslo отмени отменить
отмените отмена останови остановить остановите прекрати прекратить прерви аннулируй аннулировать отзови скасуй
скасувати скасуйте зупини зупинити припини спри откажи поништи прекини заустави ακύρωσε ακυρώστε ακύρωση σταμάτα
σταματήστε αναίρεσε`)) {
		all[w] = true
	}
	return all
}()

var apostrophes = strings.NewReplacer("\u2019", "'", "\u2018", "'", "\u02bc", "'", "\u00b4", "'", "`", "'")

// bare returns a text without accents, and each letter and apostrophe in one form.
func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(apostrophes.Replace(fence.Visible(s))))
}

// Denies reports whether a word turns a statement around: of English, or one of many
// other languages that does so by itself, or a sign.
func Denies(word string) bool {
	if strings.ContainsAny(word, "🚫⛔🛑❌✗✘¬") {
		return true
	}
	return slices.ContainsFunc(text.Plain.Append(nil, bare(word)), func(t text.Term) bool {
		first, _, _ := strings.Cut(t.Text, "'") // n'arrête
		return t.Mark && !strings.ContainsAny(t.Text, "0123456789") || denials[t.Text] || denials[first]
	})
}

// Foreign reports whether a word has letters of a script whose negations are not
// known, as they can be parts of words, or of two that look alike.
func Foreign(word string) bool {
	word = bare(word)
	has := func(s *unicode.RangeTable) bool {
		return strings.ContainsFunc(word, func(r rune) bool { return unicode.Is(s, r) })
	}
	latin, cyrillic, greek := has(unicode.Latin), has(unicode.Cyrillic), has(unicode.Greek)
	return latin && cyrillic || latin && greek || cyrillic && greek || strings.ContainsFunc(word, func(r rune) bool {
		return unicode.IsLetter(r) && !unicode.In(r, unicode.Latin, unicode.Cyrillic, unicode.Greek)
	})
}
