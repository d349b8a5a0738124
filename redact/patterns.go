package redact

import (
	"regexp"
	"strings"
)

// Pattern is one kind of secret that a host adds.
type Pattern struct {
	// Kind names the secret in the replacement, as in [REDACTED:kind]: 1 to 32
	// characters of a to z and underscore.
	Kind string
	// Expr finds the secret. Required. Empty matches are ignored.
	Expr *regexp.Regexp
	// Group is the number of the capturing group that holds the secret;
	// 0, the default, is the whole match.
	Group int

	needs string // is in each text that matches
}

// The parts of addresses, in any script.
const script = `\p{Latin}\p{Greek}\p{Cyrillic}`
const user = `[` + script + `0-9._%+'-]+@`
const label = `[` + script + `0-9][` + script + `0-9-]*\.`

// address is an e-mail address, behind the n of an escaped line end perhaps, and no git@,
// version of a package (name@1.2.3-rc.one) or file (icon@2x.png).
var address = regexp.MustCompile(`(?:\\[nrt])?['.-]*(?:git@|` +
	user + `(?:` + label + `)+(?:[0-9]+\.|(?:` + alternatives("$file") + `)(?:[^` + script + `0-9.-]|$))|` +
	`(` + user + `(?:` + label + `)+(?:[` + script + `]{2,}|xn--[a-z0-9-]+)))`)

// privateKeys are keys up to their end line, and those that were cut: lines of nothing else
// than key data. Without any it is a sentence about keys.
var privateKeys = []Pattern{
	keyPattern(`(?s:.*?[A-Za-z0-9+/=]{16}.*?)-----END [^-]{0,70}-----`),
	keyPattern(`[A-Za-z0-9\s+/=\\:,-]*?[A-Za-z0-9+/=]{16}` +
		`(?:[A-Za-z0-9 \t+/=\\:,]*[A-Za-z0-9+/=\\:,])?(?:\r?\n[A-Za-z0-9+/=\\:,]+\r?$)*`),
}

func keyPattern(behind string) Pattern {
	head := `(?m)-----BEGIN [^-]{0,40}PRIVATE KEY[^-]{0,20}-----`
	return Pattern{Kind: "private_key", Expr: regexp.MustCompile(head + behind), needs: "PRIVATE KEY"}
}

// matches records what the patterns find.
func (sc *scanner) matches(patterns []Pattern) {
	for _, p := range patterns {
		if !strings.Contains(sc.text, p.needs) {
			continue
		}
		for _, m := range p.Expr.FindAllStringSubmatchIndex(sc.text, -1) {
			if start, end := m[2*p.Group], m[2*p.Group+1]; start < end {
				sc.found(start, end, p.Kind)
			}
		}
	}
}
