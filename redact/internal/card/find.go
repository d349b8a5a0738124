package card

import (
	"regexp"
	"strings"
)

// filler is the set of bytes that numbers and the gaps between their groups consist of. It has all bytes
// outside ASCII, since some gaps are typographic spaces.
var filler = func() (set [256]bool) {
	for c := range set {
		set[c] = isDigit(byte(c)) || strings.IndexByte(" -+%", byte(c)) >= 0 || c > '~'
	}
	return set
}()

// Find calls found for each card number in t, in order: member reports whether it is the value of a member
// in JSON. Name is the field that holds t, or ""; begins reports whether a word can begin at t[i].
//
// Find probes every thirteenth byte only, since a number has at least that many digits: it covers a probe, and the
// six bytes on one side of it. Looked is how many other bytes it read.
func Find(t, name string, begins func(t string, i int) bool, found func(from, to int, member bool)) (looked int) {
	for i := least - 1; i < len(t); i += least {
		c, behind := t[i], t[i:min(len(t), i+7)]
		if filler[c] && (isDigit(c) || c == 0x80 || isDigit(t[i-1]) || len(behind) > 1 && isDigit(behind[1])) &&
			(filler[t[i-6]] && filler[t[i-3]] || len(behind) == 7 && filler[behind[6]] && filler[behind[3]]) {
			end := around(t, i, name, begins, found)
			looked += end - i
			i = end
		}
	}
	return looked
}

// around looks for numbers in the digits and gaps around t[i], and returns where these end.
func around(t string, i int, name string, begins func(string, int) bool, found func(int, int, bool)) (end int) {
	at, digits := i, 0
	for at > 0 && filler[t[at-1]] {
		at--
	}
	for end = at; end < len(t) && filler[t[end]]; end++ {
		if isDigit(t[end]) {
			digits++
		}
	}
	for digits >= least && at <= end-least {
		next := at
		for next < end && isDigit(t[next]) {
			next++
		}
		if next < at+4 {
			at = max(next, at+1)
			continue
		}
		if at > 0 && strings.IndexByte("%x", t[at-1]) >= 0 { // behind %20, \x20
			at += 2
		} else if at > 0 && t[at-1] == 'u' { // and \u0020
			at += 4
		}
		n, sure := length(t[at:end])
		if n > 0 && begins(t, at) && stands(t, at, at+n, name, sure) {
			found(at, at+n, member.MatchString(t[max(0, at-16):at]))
			next = at + n
		}
		at = next
	}
	return end
}

// The text before a number, and behind it, that decides what it is.
var (
	// told is a word about cards, before the number or behind it.
	told = regexp.MustCompile(`(?i:card|karte|carte|tarjeta|cart[aã]o|kaart|kort|` +
		`visa|amex|unionpay|maestro|卡)|\bPAN\b|\bpan"`)
	// odd ends in the midst of something: a path, a signed or a decimal number.
	odd = regexp.MustCompile(`(?:[_/-]|[0-9]\.|(?:^|[^A-Za-z.])\.)$`)

	// counted names another kind of number: an order, a phone, an id.
	counted = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:order|track|tracking|shipment|parcel|invoice|ticket|reference|ref|` +
		`trace|span|hash|checksum|seed|timestamp|nonce|(?:tele)?phone|tel|fax|mobile|imei|iccid|serial|isbn|ean|upc|gtin|` +
		`sku|barcode)s?(?:[ _-]?(?:no|nr|num|number|nummer|id|code|is|was))*[^a-z0-9]{0,8}$|` +
		`(?-i:I[Dd]|\bid|_id)[^a-z0-9]{0,8}$|(?:^|\s)#$`)
	// tabled ends with one more group, as in an IBAN or a hex dump.
	tabled = regexp.MustCompile(`(?:^|[^\w./:-])(?:[0-9A-Fa-f]{4,8}|[A-Z]{2}[0-9]{2}) $`)

	// member ends with the key of a JSON member.
	member = regexp.MustCompile(`"\s*:\s*$`)
	// goesOn begins with more of the same number or word; others with further groups.
	goesOn = regexp.MustCompile(`^(?:\w|\.[0-9])`)
	others = regexp.MustCompile(`^(?:-[0-9A-Za-z]|(?: [0-9A-Fa-f]{4,5}){2})`)
)

// round is the end of a round duration in nanoseconds: 30 days are 2592000000000000.
const round = "000000000000"

// stands reports whether t[start:end] is a number of its own and none of another kind. Without a word about
// cards it has to be sure.
func stands(t string, start, end int, name string, sure bool) bool {
	before, behind := t[max(0, start-64):start], t[end:min(len(t), end+64)]
	if goesOn.MatchString(behind) {
		return false
	}
	if len(before) == start {
		before = name + ": " + before
	}
	before = before[strings.LastIndexByte(before, ']')+1:] // [REDACTED:payment_card] is no word about cards
	behind, _, _ = strings.Cut(behind, "[")
	if told.MatchString(before) || told.MatchString(behind) {
		return true
	}
	other := tabled
	if bare := !strings.ContainsFunc(t[start:end], func(r rune) bool { return r < '0' || r > '9' }); bare {
		// In JSON a number without quotes is an id or a duration rather than a card.
		other, sure = counted, sure && !member.MatchString(before) && !strings.HasSuffix(t[start:end], round)
	}
	return sure && !odd.MatchString(before) && !others.MatchString(behind) && !other.MatchString(before)
}
