package redact

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// family is how surely a name says that its value is a secret. Families form sets.
type family uint8

const (
	password family = 1 << iota // any value is a secret
	secret                      // secret, api_key: a value that can be one
	short                       // pwd: a password, or the working directory
	weak                        // token: also a word of ordinary text and code
	faint                       // pass: also what tests do
	header                      // Authorization: a scheme and a credential
	keyed                       // stripe_key, heroku: a value that looks random

	none family = 0
)

var families = strings.Fields("password secret short weak faint header keyed")

var kinds = map[family]string{password: "password", short: "password", faint: "password", header: "authorization"}

func (f family) kind() string { return cmp.Or(kinds[f], "secret") }

// ending classifies the names that end with a text: whole says that it has to be a whole
// word, part that it must not be the whole name.
type ending struct {
	text        string
	whole, part bool
	family      family
}

// byLast has the endings by their last byte, in lower case.
var byLast = func() (t [256][]ending) {
	for _, col := range rows(endingTable) {
		for _, text := range col[2:] {
			last := text[len(text)-1]
			t[last] = append(t[last], ending{text, col[1] != "-", col[1] == "part", setIn[family](families, col[0])})
		}
	}
	return t
}()

// stem returns a name without the digits and marks at its end.
func stem(name string) string {
	return strings.TrimRightFunc(name, func(r rune) bool { return !isAlpha(byte(r)) })
}

// native matches a name of a password at the end of a text, in letters that identifiers seldom have. With the
// letter before, it has at most 16 bytes.
var native = regexp.MustCompile(`(?:^|[^\pL])(?i:contrase(?:ñ|n\x{303})a|hasło|пароль|şifre)$`)

func isWide(r rune) bool { return r >= utf8.RuneSelf }

// familyOf classifies a name such as DB_PASSWORD, apiKey, client-secret or «api key» by its
// ending. Digits at its end do not count.
func familyOf(name string) family {
	if last := name[max(0, len(name)-16):]; strings.IndexFunc(last, isWide) >= 0 && native.MatchString(last) {
		return password
	}
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

// familyWithin classifies a name without its last word or two, such as password_of_prod or
// apikey_billing, unless these say that it is about a secret (password_policy).
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

// startsHump reports whether a word of a camelCase name begins at i.
func startsHump(name string, i int) bool { return name[i]-'A' < 26 && name[i-1]-'a' < 26 }

// cutWord splits a name, in camelCase or with separators, before its last word. That is
// returned in lower case.
func cutWord(name string) (rest, last string) {
	i := len(name)
	for i > 0 && isAlnum(name[i-1]) && (i == len(name) || !startsHump(name, i)) {
		i--
	}
	return name[:i], strings.ToLower(name[i:])
}

// isKeyed reports whether name and v together say secret: the name is that of a key and v
// looks random, or the name is an issuer's and v is a UUID. «Using key» is no kind of key.
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
