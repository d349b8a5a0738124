package redact

import (
	"cmp"
	"slices"
	"strings"
)

// family is how strongly a name says that its value is a secret. Families are sets.
type family uint8

const (
	password family = 1 << iota // whatever follows
	secret                      // secret, api_key: what could be a secret
	short                       // pwd: a password, or the working directory
	weak                        // token: also a word of ordinary text and code
	faint                       // pass: also what tests do
	header                      // Authorization: a scheme and a credential
	keyed                       // stripe_key, heroku: what looks drawn at random

	none family = 0
)

var families = strings.Fields("password secret short weak faint header keyed")

var kinds = map[family]string{password: "password", short: "password", faint: "password", header: "authorization"}

func (f family) kind() string { return cmp.Or(kinds[f], "secret") }

// ending decides what a name that ends so is.
type ending struct {
	text        string
	whole, part bool
	family      family
}

// byLast are the endings by their last letter, in lower case.
var byLast = func() (t [256][]ending) {
	for _, col := range rows(endingTable) {
		for _, text := range col[2:] {
			last := text[len(text)-1]
			t[last] = append(t[last], ending{text, col[1] != "-", col[1] == "part", setIn[family](families, col[0])})
		}
	}
	return t
}()

// stem is a name without what stands behind its words.
func stem(name string) string {
	return strings.TrimRightFunc(name, func(r rune) bool { return !isAlpha(byte(r)) })
}

// familyOf classifies a name such as DB_PASSWORD, apiKey, client-secret or
// «api key»; trailing digits do not count.
func familyOf(name string) family {
	name = stem(name)
	if name == "" || byLast[name[len(name)-1]|0x20] == nil || name == "PWD" || name == "OLDPWD" {
		return none
	}
	var buf [24]byte
	n := len(buf)
	for i := len(name) - 1; i >= 0 && n > 0; i-- {
		if c := name[i]; isAlnum(c) {
			n--
			buf[n] = c | 0x20
		}
	}
	for _, w := range byLast[buf[len(buf)-1]] {
		at, tail := len(name)-len(w.text), len(buf)-len(w.text)
		if tail >= n && string(buf[tail:]) == w.text && !(w.part && at == 0) &&
			!(w.whole && at != 0 && (at < 0 || isAlnum(name[at-1]) && !startsHump(name, at))) {
			return w.family
		}
	}
	return none
}

// familyWithin classifies a name that goes on behind the words that tell, such as
// password_of_prod or apikey_billing: by up to two words less, unless these say
// that it is about a secret rather than one.
func familyWithin(name string) family {
	for range 2 {
		rest, last := cutWord(stem(name))
		if last == "" || rest == "" || slices.Contains(words["about"], last) {
			return none
		}
		if f := familyOf(rest); f&(password|secret) != 0 {
			return f
		}
		name = rest
	}
	return none
}

// startsHump says whether a word of a camelCase name begins at i.
func startsHump(name string, i int) bool { return name[i]-'A' < 26 && name[i-1]-'a' < 26 }

// cutWord cuts the last word off a name in any of the usual notations, in lower case.
func cutWord(name string) (rest, last string) {
	i := len(name)
	for i > 0 && isAlnum(name[i-1]) && (i == len(name) || !startsHump(name, i)) {
		i--
	}
	return name[:i], strings.ToLower(name[i:])
}

// isKeyed says whether v is a secret under a name that alone does not say so: drawn at
// random, and of a key; or a UUID of an issuer. «Using key» is no kind of key.
func isKeyed(name, v string) bool {
	name = stem(name)
	rest, last := cutWord(name)
	rest = strings.ToLower(rest)
	issuer, alone := hasAny(rest, words["issuer"]), rest == "" && hasAny(last, words["issuer"])
	tells := slices.Contains(words["keyed"], last) || rest != "" && slices.Contains(words["keyname"], last)
	other := strings.Contains(rest, " ") || hasAny(rest, words["other"])
	return alone && uuid.MatchString(v) || tells && (issuer || !other) && len(v) <= maxOrdinary &&
		looksRandom(v, issuer, issuer || rest != "" && strings.ToUpper(name) == name)
}
