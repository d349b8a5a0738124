package redact

import (
	"bytes"
	"regexp"
	"strings"
)

// reach is how many bytes a rule looks at from where it begins, so that a scan takes linear time.
const reach = 320

// Classes of bytes.
const (
	alnum = 1 << iota // letters and digits of ASCII
	word              // what names are made of
	ender             // what ends a value without quotes
)

var classes = func() (t [256]byte) {
	for c := range t {
		switch {
		case c-'0' < 10 && c >= '0', c|0x20 >= 'a' && c|0x20 <= 'z':
			t[c] = alnum | word
		case strings.IndexByte("_-.", byte(c)) >= 0:
			t[c] = word
		case c <= ' ', strings.IndexByte("\"'`<>", byte(c)) >= 0:
			t[c] = ender
		}
	}
	return t
}()

func is(c, class byte) bool { return classes[c]&class != 0 }

// window is what a rule sees of text from i on.
func window(text string, i int) string { return text[i:min(len(text), i+reach)] }

// scan returns the secrets of a text in order: tokens of issuers, and of prose what stands where secrets stand.
func scan(text string, prose bool) (spans []span) {
	name := 0 // where the current word begins
	for i := 0; i+1 < len(text); i++ {
		c, found := text[i], len(spans)
		if begins[int(c)<<8|int(text[i+1])] {
			spans = token(spans, text, i, prose)
		}
		if prose && len(spans) == found {
			switch {
			case is(c, word):
				if i == 0 || !is(text[i-1], word) {
					name = i
				}
				if next := text[i+1]; !is(next, word) && next < 0x80 {
					spans = assigned(spans, text, name, i+1)
				} else if c == '-' && name == i && next == '-' {
					spans = privateKey(spans, text, i)
				}
			case c == ':' && strings.HasPrefix(text[i:], "://"):
				spans = inURL(spans, text, i+3)
			case c == '@':
				spans = inDSN(spans, text, i)
			}
		}
		if len(spans) > found {
			i = max(i, spans[len(spans)-1].end-1)
			name = i + 1
		}
	}
	return spans
}

var (
	pemBegin = regexp.MustCompile(`^-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----`)
	pemEnd   = regexp.MustCompile(`^-----END [A-Z0-9 ]{0,60}-----`)
	pemBody  = regexp.MustCompile(`^[A-Za-z0-9+/=\s\\:,.-]*`)
)

// privateKey finds a block of PEM. One without an end goes on as far as it looks like one.
func privateKey(spans []span, text string, i int) []span {
	if !strings.HasPrefix(text[i:], "-----BEGIN ") {
		return spans
	}
	begin := len(pemBegin.FindString(window(text, i)))
	if begin == 0 {
		return spans
	}
	end := i + begin
	if n := strings.Index(text[end:], "-----END "); n >= 0 {
		end += n + len(pemEnd.FindString(window(text, end+n)))
	} else {
		end += len(pemBody.FindString(text[end:]))
	}
	if end-i-begin < 60 {
		return spans
	}
	return append(spans, span{i, end, "private-key"})
}

// inURL finds the password, or a token, before the last @ of what follows a scheme.
func inURL(spans []span, text string, i int) []span {
	s := window(text, i)
	for n := range len(s) {
		if is(s[n], ender) {
			s = s[:n]
			break
		}
	}
	at := strings.IndexByte(s, '@')
	if at < 0 {
		return spans
	}
	if query := strings.IndexAny(s[at:], "?&"); query >= 0 {
		s = s[:at+query]
	}
	s = s[:strings.LastIndexByte(s, '@')]
	user, password, ok := strings.Cut(s, ":")
	if strings.ContainsAny(user, "/?#[@") || port.MatchString(password) || !ok && !random(user) {
		return spans
	}
	if !ok {
		user, password = "", user
	}
	if standIn(password) {
		return spans
	}
	return append(spans, span{i + len(s) - len(password), i + len(s), "url-password"})
}

var (
	port = regexp.MustCompile(`^[0-9]{1,5}[/?]`)
	// dsn is a data source name without a scheme: user:password@tcp(host:port)/name, user:password@host:port.
	dsn = regexp.MustCompile(`([^\s"'` + "`" + `<>=(:/?#,;]+):([^\s"'` + "`" + `<>]+)@$`)
	// host is what follows its @.
	host = regexp.MustCompile(`^(?:[a-z0-9]*\(|/\w|[\w.-]+:[0-9]{2,5}\b)`)
)

// inDSN finds the password before an @ without a scheme.
func inDSN(spans []span, text string, i int) []span {
	if !host.MatchString(window(text, i+1)) {
		return spans
	}
	from := i
	for from > 0 && i-from < reach/2 && !is(text[from-1], ender) {
		from--
	}
	if m := dsn.FindStringSubmatchIndex(text[from : i+1]); m != nil && !standIn(text[from+m[4]:i]) {
		return append(spans, span{from + m[4], i, "url-password"})
	}
	return spans
}

// Families say how surely a name tells that its value is a secret.
type family int

const (
	none   family = iota
	within        // password_hint: a value that looks like a password
	keyed         // key, token: a value that looks drawn by chance
	sure          // password, secret: any value that can be one
	header        // Authorization: any value behind a scheme
	cookie
)

// endings are the ends of names, in small letters without digits and marks, by their last three letters.
var endings = func() map[string][]ending {
	out := map[string][]ending{}
	for f, names := range map[family]string{
		sure:   "password passwd passphrase passcode secret secrete dbpass mypass userpass rootpass adminpass dbpwd userpwd apikey secretkey privatekey secretaccesskey",
		keyed:  "key token auth pass pwd cred creds credential credentials accesskeyid pat dsn bearer webhook",
		header: "authorization", cookie: "cookie",
	} {
		for _, name := range strings.Fields(names) {
			last := name[len(name)-3:]
			out[last] = append(out[last], ending{[]byte(name), f})
		}
	}
	return out
}()

type ending struct {
	text   []byte
	family family
}

// familyOf classifies names such as DB_PASSWORD, apiKey, client-secret and token2 by their ends.
func familyOf(name string) (f family) {
	var buf [40]byte
	n := len(buf)
	for i := len(name) - 1; i >= 0 && n > 0; i-- {
		if c := name[i] | 0x20; c >= 'a' && c <= 'z' {
			n--
			buf[n] = c
		}
	}
	if n > len(buf)-3 {
		return none
	}
	low := buf[n:]
	for _, e := range endings[string(buf[len(buf)-3:])] {
		if bytes.HasSuffix(low, e.text) {
			f = max(f, e.family)
		}
	}
	if f == none && (bytes.Contains(low, []byte("passw")) || bytes.Contains(low, []byte("secret"))) {
		return within
	}
	return f
}

// assignment is what follows a name: a sign, and a value in quotes or without.
var assignment = regexp.MustCompile(`^["'` + "`" + `\[\])\\0-9]{0,4}[ \t]{0,8}(is |was |(?:string )?[=:<>|!?+~.,(]{1,4}|)` +
	`[ \t\r\n]{0,40}[@\\]{0,2}(?:"+([^"\n]+)"|'+([^'\n]+)'|` + "`+([^`\n]+)`" + `|([^\s"'` + "`" + `<>;&]+))`)

// compared is a value before the name that it is compared with.
var compared = regexp.MustCompile(`(?:"([^"\n]+)"|'([^'\n]+)')\s?[!=]==?\s?$`)

// assigned finds what is given to the name text[from:to].
func assigned(spans []span, text string, from, to int) []span {
	name := text[from:to]
	f := familyOf(name)
	if f == none || name[len(name)-1] == '-' {
		return spans
	}
	s := window(text, to)
	if before := text[max(0, from-reach):from]; f == sure && strings.HasSuffix(strings.TrimRight(before, " "), "=") {
		if m := compared.FindStringSubmatchIndex(before); m != nil {
			from -= len(before)
			return append(spans, span{from + max(m[2], m[4]), from + max(m[3], m[5]), "secret"})
		}
	}
	m := assignment.FindStringSubmatchIndex(s)
	if m == nil {
		return spans
	}
	sign, start, end := strings.TrimPrefix(s[m[2]:m[3]], "string "), to+max(m[4], m[6], m[8], m[10]), to+max(m[5], m[7], m[9], m[11])
	quoted := m[10] < 0
	for !quoted && end == to+reach && end < len(text) && !is(text[end], ender) {
		end++ // it goes on outside the window
	}
	v := strings.TrimRight(text[start:end], `\.,)]}`)
	called := strings.HasPrefix(sign, ",") || strings.HasPrefix(sign, "(")
	ok, kind := false, "secret"
	switch {
	case f == cookie && called:
	case f == cookie:
		return cookies(spans, text, start, name)
	case f == header || strings.EqualFold(name, "bearer"):
		start += len(scheme.FindString(window(text, start)))
		v = value.FindString(window(text, start))
		ok, kind = strong(v) && len(v) >= 8, "authorization"
	case !quoted && (called || codes.MatchString(v)):
	case !quoted && f != sure && strings.Contains(v, ","):
	case f == within:
		ok = quoted && symbol.MatchString(v)
	case f == keyed || strings.HasPrefix(sign, ","):
		ok = (sign != "" || name[0] == '-') && random(v)
	case quoted:
		ok = strong(v) || !called && sign != ""
	case sign == "":
		ok = strong(v) && name[0] == '-'
	default:
		ok = strong(v) || sign == "=" && m[3] == start-to
	}
	if !ok || standIn(v) {
		return spans
	}
	if f == sure && strings.Contains(strings.ToLower(name), "pass") {
		kind = "password"
	}
	return append(spans, span{start, start + len(v), kind})
}

var (
	scheme = regexp.MustCompile(`^["'\\]{0,2}[A-Za-z][A-Za-z0-9-]{1,15} +`)
	value  = regexp.MustCompile("^[^\\s\"'`<>,;]+")
	pair   = regexp.MustCompile("=([^\\s\"'`;]+)")
)

// cookies finds the values of the cookies from i to the end of the line; of Set-Cookie, the first one.
func cookies(spans []span, text string, i int, name string) []span {
	line, _, _ := strings.Cut(text[i:min(len(text), i+16*reach)], "\n")
	most := -1
	if strings.HasPrefix(strings.ToLower(name), "set") {
		most = 1
	}
	for _, m := range pair.FindAllStringSubmatchIndex(line, most) {
		if v := line[m[2]:m[3]]; len(v) >= 4 && !standIn(v) {
			spans = append(spans, span{i + m[2], i + m[3], "cookie"})
		}
	}
	return spans
}

var (
	digit  = regexp.MustCompile(`[0-9]`)
	letter = regexp.MustCompile(`[A-Za-z]`)
	symbol = regexp.MustCompile(`[!@#$%^&*?]`)
	// codes match a name, a call or an expression of a program.
	codes = regexp.MustCompile(`^[A-Za-z_]\w*(?:[.\[(:]|->|::)|^[&*(\[{]`)
	// stands match a variable, a pattern, a mask or another placeholder.
	stands = regexp.MustCompile(`^(?:\$|[{<%(*/]|\[(?:secret |redacted:|[A-Z_]+\]?$)|\.+$)|(?i:x{5})`)
)

// strong reports whether a value looks like a password: letters with digits or symbols, or many digits.
func strong(v string) bool {
	if !letter.MatchString(v) {
		return len(v) >= 6 && digit.MatchString(v)
	}
	return len(v) >= 4 && (digit.MatchString(v) || symbol.MatchString(v))
}

// random reports whether a value looks drawn by chance: long, of letters and digits, no path and no URL.
func random(v string) bool {
	return len(v) >= 10 && !strings.ContainsAny(v, " \t") && !strings.Contains(v, "//") &&
		digit.MatchString(v) && letter.MatchString(v) && bits(v) >= 2.9
}

// standIn reports whether a value stands for a secret.
func standIn(v string) bool {
	return v == "" || stands.MatchString(v[:min(len(v), reach)]) || len(v) >= 8 && bits(v) < 2
}
