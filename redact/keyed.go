package redact

import "strings"

// Values that look drawn at random are secrets also under names that alone do
// not say so: STRIPE_KEY, heroku, "auth".

// keyed looks for such a value at i, after the separator of a, whose name is
// none that says secret; it returns where to go on.
func (sc *scanner) keyed(a assignment, i int) int {
	t := sc.text
	start := i
	for n := 0; start < len(t) && isBlank(t[start]) && n < 16; n++ {
		start++
	}
	quoted := false
	for n := 0; start < len(t) && (t[start] == '\\' || isQuote(t[start])) && n < 8; n++ {
		quoted = true
		start++
	}
	end := run(t[:min(len(t), start+maxOrdinary+1)], start, values)
	if a.sep == code && !quoted || end-start > maxOrdinary {
		return i
	}
	if end < len(t) && strings.IndexByte("([{:", t[end]) >= 0 {
		return i
	}
	v := strings.TrimRight(t[start:end], ".")
	name := t[a.keyStart:a.keyEnd]
	query := a.keyStart > 0 && (t[a.keyStart-1] == '?' || t[a.keyStart-1] == '&') && strings.EqualFold(name, "key")
	if !isKeyed(name, v) && !(query && strings.ToLower(v) == v && looksRandom(v, true, true)) {
		return i
	}
	return sc.found(start, start+len(v), secret.kind())
}

// isKeyed says whether v under that name is a secret.
func isKeyed(name, v string) bool {
	if len(v) < 16 || len(v) > maxOrdinary || len(name) < 3 {
		return false
	}
	name = strings.TrimRight(name, "0123456789_-. ")
	last := strings.ToLower(lastWord(name))
	rest := strings.ToLower(name[:len(name)-len(last)])
	issuer := hasIssuer(rest) || rest == "" && hasIssuer(last)
	switch last {
	case "key", "keys", "pat", "auth", "cred", "creds", "sk":
		if rest == "" && last != "auth" || !issuer && hasAny(rest, notSecret) {
			return false
		}
	case "phpsessid", "jsessionid", "sig":
	default:
		if rest != "" || !issuer {
			return false
		}
	}
	isEnv := rest != "" && strings.ToUpper(name) == name
	return looksRandom(v, issuer, issuer || isEnv)
}

// lastWord returns the last word of a name in any of the usual notations.
func lastWord(name string) string {
	i := len(name)
	for i > 0 && isAlnum(name[i-1]) {
		i--
		if i > 0 && name[i]-'A' < 26 && name[i-1]-'a' < 26 {
			break
		}
	}
	return name[i:]
}

// looksRandom says whether v has a part that looks drawn at random: long, of
// letters and digits, with entropy. Hex and UUIDs only count if asked for, as
// ordinary texts are full of those of commits, files and requests.
func looksRandom(v string, uuid, hex bool) bool {
	if uuid && isUUID(v) {
		return true
	}
	if strings.IndexByte(v, '/') >= 0 && (strings.ToLower(v) == v || v[0] == '/' || v[0] == '.') {
		return false // a path
	}
	for len(v) >= 16 {
		n := strings.IndexAny(v, "-_.~%")
		part := v
		if n >= 0 {
			part, v = v[:n], v[n+1:]
		} else {
			v = ""
		}
		if len(part) < 16 {
			continue
		}
		sh := shapeOf(part)
		if sh.letters < 2 || numbers(part) < 2 || entropy(part) < 3 {
			continue
		}
		if hex || strings.Trim(part, "0123456789abcdefABCDEF") != "" {
			return true
		}
	}
	return false
}

// numbers counts the runs of digits: a name has one at most, as a rule.
func numbers(s string) (n int) {
	for i := range len(s) {
		if isDigit(s[i]) && (i == 0 || !isDigit(s[i-1])) {
			n++
		}
	}
	return n
}

func isUUID(v string) bool {
	if len(v) != 36 {
		return false
	}
	for i := range len(v) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (v[i] == '-') || !dash && !isHex(v[i]) {
			return false
		}
	}
	return true
}

func hasIssuer(name string) bool { return len(name) >= 3 && hasAny(name, issuers) }

func hasAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
