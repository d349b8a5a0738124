package redact

import (
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

var families = bits[family]("password secret short weak faint header keyed")

// bits gives each of the names one of the bits, and "*" all of them.
func bits[T ~uint8 | ~uint16](list string) map[string]T {
	set := map[string]T{"*": ^T(0)}
	for i, name := range strings.Fields(list) {
		set[name] = 1 << i
	}
	return set
}

func (f family) kind() string {
	switch f {
	case password, short, faint:
		return "password"
	case header:
		return "authorization"
	}
	return "secret"
}

// ending decides what a name that ends so is.
type ending struct {
	text        string
	whole, part bool
	family      family
}

// byLast are the endings by their last letter, in either case.
var byLast = func() (t [256][]ending) {
	for _, s := range sections["ending"] {
		for _, text := range s.words {
			e := ending{text, slices.Contains(s.flags, "whole"), slices.Contains(s.flags, "part"), families[s.flags[0]]}
			c := text[len(text)-1]
			t[c] = append(t[c], e)
			t[c-'a'+'A'] = t[c]
		}
	}
	return t
}()

// stem is a name without what stands behind its words.
func stem(name string) string {
	for name != "" && !isAlpha(name[len(name)-1]) {
		name = name[:len(name)-1]
	}
	return name
}

// familyOf classifies a name such as DB_PASSWORD, apiKey, client-secret or
// «api key»; trailing digits do not count.
func familyOf(name string) family {
	name = stem(name)
	if name == "" || byLast[name[len(name)-1]] == nil || name == "PWD" || name == "OLDPWD" {
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
	tail := buf[n:]
	for _, w := range byLast[name[len(name)-1]] {
		if len(tail) < len(w.text) || string(tail[len(tail)-len(w.text):]) != w.text {
			continue
		}
		at := len(name) - len(w.text)
		if w.whole && at != 0 && (at < 0 || isAlnum(name[at-1]) && !startsHump(name, at)) || w.part && at == 0 {
			continue
		}
		return w.family
	}
	return none
}

// familyWithin classifies a name that goes on behind the words that tell, such as
// password_of_prod or apikey_billing: by up to two words less, unless these say
// that it is about a secret rather than one.
func familyWithin(name string) family {
	for range 2 {
		name = stem(name)
		last := lastWord(name)
		if last == "" || len(last) == len(name) || about[strings.ToLower(last)] {
			return none
		}
		name = name[:len(name)-len(last)]
		if f := familyOf(name); f&(password|secret) != 0 {
			return f
		}
	}
	return none
}

// startsHump says whether a word of a camelCase name begins at i.
func startsHump(name string, i int) bool { return name[i]-'A' < 26 && name[i-1]-'a' < 26 }

// lastWord returns the last word of a name in any of the usual notations.
func lastWord(name string) string {
	i := len(name)
	for i > 0 && isAlnum(name[i-1]) && (i == len(name) || !startsHump(name, i)) {
		i--
	}
	return name[i:]
}

// isKeyed says whether v is a secret under a name that alone does not say so: drawn at
// random, and of a key, or of an issuer.
func isKeyed(name, v string) bool {
	if len(v) < 16 || len(v) > maxOrdinary || len(name) < 3 {
		return false
	}
	name = stem(name)
	last := strings.ToLower(lastWord(name))
	rest := strings.ToLower(name[:len(name)-len(last)])
	of := rest // what names the issuer
	switch last {
	case "key", "keys", "pat", "auth", "cred", "creds", "sk":
		if rest == "" && last != "auth" {
			return false
		}
	case "phpsessid", "jsessionid", "sig":
	default:
		if rest != "" || len(last) < 3 || !hasAny(last, issuers) {
			return false
		}
		of = last
	}
	issuer := hasAny(of, issuers)
	if !issuer && hasAny(rest, otherKeys) {
		return false
	}
	isEnv := rest != "" && strings.ToUpper(name) == name
	return looksRandom(v, issuer, issuer || isEnv)
}

func hasAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
