package redact

import (
	"slices"
	"strings"
)

// family is how strongly a name says that its value is a secret.
type family uint8

const (
	none     family = iota
	password        // whatever follows
	secret          // secret, api_key: what could be a secret
	short           // pwd: a password, or the working directory
	weak            // token: also a word of ordinary text and code
	faint           // pass: also what tests do
	header          // Authorization: a scheme and a credential
)

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
	families := map[string]family{
		"password": password, "secret": secret, "short": short, "weak": weak, "faint": faint, "header": header,
	}
	for _, s := range sections(wordTable) {
		if s.name != "ending" {
			continue
		}
		for _, text := range s.words {
			e := ending{text, slices.Contains(s.flags, "whole"), slices.Contains(s.flags, "part"), families[s.flags[0]]}
			c := text[len(text)-1]
			t[c] = append(t[c], e)
			t[c-'a'+'A'] = t[c]
		}
	}
	return t
}()

// familyOf classifies a name such as DB_PASSWORD, apiKey, client-secret or
// «api key»; trailing digits do not count.
func familyOf(name string) family {
	name = strings.TrimRight(name, "0123456789_-. ")
	if name == "" || byLast[name[len(name)-1]] == nil || name == "PWD" || name == "OLDPWD" {
		return none
	}
	var buf [24]byte
	n := len(buf)
	for i := len(name) - 1; i >= 0 && n > 0; i-- {
		c := name[i]
		if c == '_' || c == '-' || c == '.' || c == ' ' {
			continue
		}
		if c-'A' < 26 {
			c |= 0x20
		}
		n--
		buf[n] = c
	}
	tail := buf[n:]
	for _, w := range byLast[name[len(name)-1]] {
		if len(tail) < len(w.text) || string(tail[len(tail)-len(w.text):]) != w.text {
			continue
		}
		if at := len(name) - len(w.text); w.whole && !isWholeWord(name, at) || w.part && at == 0 {
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
		name = strings.TrimRight(name, "0123456789_-. ")
		last := lastWord(name)
		if last == "" || len(last) == len(name) || about[strings.ToLower(last)] {
			return none
		}
		name = name[:len(name)-len(last)]
		if f := familyOf(name); f == password || f == secret {
			return f
		}
	}
	return none
}

// isWholeWord says whether the last word of a name begins at i.
func isWholeWord(name string, i int) bool {
	if i <= 0 {
		return i == 0
	}
	return !isAlnum(name[i-1]) || (name[i]-'A' < 26 && name[i-1]-'a' < 26)
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
