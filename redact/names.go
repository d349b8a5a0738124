package redact

import "strings"

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
	text        string // lower-case, without separators
	whole, part bool   // only as a word of its own; only behind other words
	family      family
}

// endings are tried in order; the first that fits counts.
var endings = []ending{
	{"pagetoken", false, false, none},
	{"nexttoken", false, false, none},
	{"continuationtoken", false, false, none},
	{"eostoken", false, false, none},
	{"bostoken", false, false, none},
	{"padtoken", false, false, none},
	{"unktoken", false, false, none},
	{"septoken", false, false, none},
	{"masktoken", false, false, none},
	{"stoptoken", false, false, none},
	{"pertoken", false, false, none},
	{"costtoken", false, false, none},
	{"password", false, false, password},
	{"passwords", false, false, password},
	{"passwd", false, false, password},
	{"passphrase", false, false, password},
	{"passcode", false, false, password},
	{"pwd", true, false, short},
	{"pass", true, true, password},
	{"pw", true, true, password},
	{"pass", true, false, faint},
	{"secret", false, false, secret},
	{"secrete", false, false, secret},
	{"secrets", false, false, secret},
	{"credential", false, false, secret},
	{"credentials", false, false, secret},
	{"apikey", false, false, secret},
	{"appkey", false, false, secret},
	{"secretkey", false, false, secret},
	{"accesskey", false, false, secret},
	{"privatekey", false, false, secret},
	{"authkey", false, false, secret},
	{"signingkey", false, false, secret},
	{"encryptionkey", false, false, secret},
	{"masterkey", false, false, secret},
	{"accountkey", false, false, secret},
	{"sharedkey", false, false, secret},
	{"storagekey", false, false, secret},
	{"subscriptionkey", false, false, secret},
	{"licensekey", false, false, secret},
	{"servicekey", false, false, secret},
	{"hmackey", false, false, secret},
	{"sshkey", false, false, secret},
	{"jwt", true, false, secret},
	{"bearer", true, false, secret},
	{"token", false, false, weak},
	{"authorization", false, false, header},
}

// byLast are the endings by their last letter, in either case.
var byLast = func() (t [256][]ending) {
	for _, e := range endings {
		c := e.text[len(e.text)-1]
		t[c] = append(t[c], e)
		t[c-'a'+'A'] = t[c]
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

// about are words behind a name of a secret for what is none itself.
var about = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`
		policy length len min max hash hashed digest field label prompt error errors message msg help url
		uri link reset file path dir name names id ids hint regex pattern type kind strength required expiry
		expires ttl age at date time changed updated created count size index store manager provider service
		client request response handler helper util utils input form page view button title text placeholder
		description ref arn version scope scopes source status state format prefix suffix list map set key
		keys confirm confirmation encoder validator check checker test tests spec rule rules env var
		variable param params option options config conf settings`) {
		m[w] = true
	}
	return m
}()

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
