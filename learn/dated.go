package learn

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/arc-learn/arc/reason"
)

// A reasoner knows the date, and writes it where an objective says "today". Such a plan is for that day. It also knows
// what complaints have told: a plan with a value from one is for that case.

// days matches dates in digits, and dates with names of months.
var days = regexp.MustCompile(`\b(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)\d{2}|` +
	english + ` \d{1,2}(?:st|nd|rd|th)?\b|\d{1,2}(?:st|nd|rd|th|\.)? ` + english + `|` +
	`\d{1,2}(?:\.|er|º|°)? (?:de |di )?(?i:` + strings.Join(strings.Fields(months), "|") + `)|` +
	`\d{1,2}\s?[月월]\s?\d{1,2}\s?[日号號일])`)

const english = `(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|` +
	`Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b\.?`

// months begin the names of months as they stand behind a day in other languages.
const months = `
janvier février mars avril mai juin juillet août septembre octobre novembre décembre enero febrero marzo abril mayo
junio julio agosto septiembre setiembre octubre noviembre diciembre gennaio febbraio aprile maggio giugno luglio
settembre ottobre dicembre janeiro fevereiro março maio junho julho setembro outubro novembro dezembro januar februar
märz juni juli oktober dezember desember maart mei augustus marts maj augusti tammikuu helmikuu maaliskuu huhtikuu
toukokuu kesäkuu heinäkuu elokuu syyskuu lokakuu marraskuu joulukuu stycznia lutego marca kwietnia czerwca lipca
sierpnia września października listopada grudnia ledna února března dubna května června července srpna září října
prosince ianuarie februarie martie aprilie iunie iulie septembrie octombrie noiembrie decembrie ocak şubat mart nisan
mayıs haziran temmuz ağustos eylül ekim kasım aralık января февраля марта апреля мая июня июля августа сентября
октября ноября декабря січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня
ιανουαρίου φεβρουαρίου μαρτίου απριλίου μαΐου ιουνίου ιουλίου αυγούστου σεπτεμβρίου οκτωβρίου νοεμβρίου δεκεμβρίου`

// words matches words and numbers, with what joins their parts.
var words = regexp.MustCompile(`[\p{L}\d]+(?:[-_./:,'][\p{L}\d]+)*`)

// valuesOf returns the words of a text that have a digit, in lower case, without those of one or two characters: these
// stand in much.
func valuesOf(text string) []string {
	return slices.DeleteFunc(words.FindAllString(strings.ToLower(text), -1), func(w string) bool {
		return len(w) < 3 || !strings.ContainsAny(w, "0123456789")
	})
}

// alone returns why the plan is for its case alone, or "": it names a date that the case does not, or a value that a
// complaint told and the case does not have.
func (o *Outcome) alone() string {
	var few [16]string
	var told []string
	for i := range o.Failed {
		told = append(told, valuesOf(o.Failed[i].Complaint)...)
	}
	for _, text := range (&reason.Decision{Tasks: o.Plan}).Texts(few[:0]) {
		if !strings.ContainsAny(text, "0123456789") {
			continue
		}
		for _, day := range days.FindAllString(text, -1) {
			if !o.says(day) {
				return fmt.Sprintf("its plan names a day which its case does not: %s", day)
			}
		}
		if len(told) == 0 {
			continue
		}
		for _, v := range valuesOf(text) {
			if slices.Contains(told, v) && !o.says(v) {
				return fmt.Sprintf("its plan has from a complaint what its case does not say: %s", v)
			}
		}
	}
	return ""
}

// says reports whether the case contains a text, in whatever case.
func (o *Outcome) says(text string) bool {
	texts := append([]string{o.Objective, o.Situation, string(o.Inputs)}, o.Goals...)
	for _, said := range o.Conditions {
		texts = append(texts, said)
	}
	text = strings.ToLower(text)
	return slices.ContainsFunc(texts, func(said string) bool { return strings.Contains(strings.ToLower(said), text) })
}
