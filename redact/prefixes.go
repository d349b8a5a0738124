package redact

import (
	"math/bits"
	"strings"
)

// prefixRule is a key that says what it is by how it begins.
type prefixRule struct {
	prefix string
	at     int // index in prefix of a byte that is rare in ordinary text
	kind   string
	body   *[256]bool
	min    int               // shortest body
	ok     func(string) bool // further condition on the body, or nil
}

var (
	alnum   = setOf("")
	word    = setOf("_")
	dashed  = setOf("_-")
	dotted  = setOf("_-.")
	bearers = setOf("-._~+/=")
)

// prefixes are the known keys, at most 64. A longer prefix stands before a
// shorter one that it begins with.
var prefixes = []prefixRule{
	{"ghp_", 3, "github_token", alnum, 16, nil},
	{"gho_", 3, "github_token", alnum, 16, nil},
	{"ghu_", 3, "github_token", alnum, 16, nil},
	{"ghs_", 3, "github_token", dotted, 16, nil},
	{"ghr_", 3, "github_token", alnum, 16, nil},
	{"github_pat_", 10, "github_token", word, 16, nil},
	{"sk-ant-", 2, "anthropic_key", dashed, 8, nil},
	{"sk-proj-", 2, "openai_key", dashed, 8, nil},
	{"sk-svcacct-", 2, "openai_key", dashed, 8, nil},
	{"sk-", 2, "openai_key", dashed, 8, hasKeySegment},
	{"sk_live_", 2, "stripe_key", alnum, 6, isShortKey},
	{"sk_test_", 2, "stripe_key", alnum, 6, isShortKey},
	{"rk_live_", 2, "stripe_key", alnum, 6, isShortKey},
	{"rk_test_", 2, "stripe_key", alnum, 6, isShortKey},
	{"pk_live_", 2, "stripe_key", alnum, 6, isShortKey},
	{"pk_test_", 2, "stripe_key", alnum, 6, isShortKey},
	{"whsec_", 5, "stripe_key", setOf("+/="), 16, nil},
	{"AKIA", 0, "aws_key", alnum, 16, isUpper},
	{"ASIA", 0, "aws_key", alnum, 16, isUpper},
	{"ABIA", 0, "aws_key", alnum, 16, isUpper},
	{"AIza", 0, "google_key", dashed, 30, nil},
	{"ya29.", 4, "google_key", dashed, 20, nil},
	{"GOCSPX-", 6, "google_key", dashed, 20, nil},
	{"xoxa-", 4, "slack_token", dashed, 10, hasDigit},
	{"xoxb-", 4, "slack_token", dashed, 10, hasDigit},
	{"xoxe-", 4, "slack_token", dashed, 10, hasDigit},
	{"xoxe.", 4, "slack_token", dotted, 10, hasDigit},
	{"xoxo-", 4, "slack_token", dashed, 10, hasDigit},
	{"xoxp-", 4, "slack_token", dashed, 10, hasDigit},
	{"xoxr-", 4, "slack_token", dashed, 10, hasDigit},
	{"xoxs-", 4, "slack_token", dashed, 10, hasDigit},
	{"xapp-", 4, "slack_token", dashed, 10, hasDigit},
	{"npm_", 3, "npm_token", alnum, 20, nil},
	{"glpat-", 5, "gitlab_token", dotted, 16, nil},
	{"gldt-", 4, "gitlab_token", dashed, 16, nil},
	{"glrt-", 4, "gitlab_token", dotted, 16, nil},
	{"glptt-", 5, "gitlab_token", dashed, 16, nil},
	{"glcbt-", 5, "gitlab_token", dashed, 16, nil},
	{"eyJ", 2, "jwt", dotted, 16, isJWT},
	{"hf_", 2, "api_key", alnum, 30, nil},
	{"gsk_", 3, "api_key", alnum, 30, nil},
	{"xai-", 3, "api_key", alnum, 40, nil},
	{"r8_", 2, "api_key", alnum, 30, nil},
	{"dop_v1_", 6, "api_key", alnum, 40, nil},
	{"shpat_", 5, "api_key", alnum, 30, nil},
	{"pypi-AgE", 4, "api_key", dashed, 30, nil},
	{"SG.", 2, "api_key", dotted, 40, hasDigit},
}

// byAnchor has, for each byte, the rules that it triggers; byFirst, for each
// byte, the rules whose prefix has that byte just before the trigger or, where
// the prefix begins with the trigger, just after it.
var byAnchor, byNeighbour = func() (anchor, neighbour [256]uint64) {
	for n, r := range prefixes {
		anchor[r.prefix[r.at]] |= 1 << n
		neighbour[r.prefix[neighbourOf(r.at)]] |= 1 << n
	}
	return anchor, neighbour
}()

func neighbourOf(at int) int {
	if at == 0 {
		return 1
	}
	return at - 1
}

// prefix looks for a known key whose trigger is at i; it returns the end of the
// key, or i.
func (sc *scanner) prefix(i int) int {
	t := sc.text
	var near uint64
	if i > 0 {
		near |= byNeighbour[t[i-1]]
	}
	if i+1 < len(t) {
		near |= byNeighbour[t[i+1]]
	}
	for m := byAnchor[t[i]] & near; m != 0; m &= m - 1 {
		r := &prefixes[bits.TrailingZeros64(m)]
		start := i - r.at
		if start < 0 || !strings.HasPrefix(t[start:], r.prefix) || !startsWord(t, start) {
			continue
		}
		body := start + len(r.prefix)
		end := run(t, body, r.body)
		for end > body && t[end-1] == '.' { // the end of a sentence
			end--
		}
		if end-body >= r.min && (r.ok == nil || r.ok(t[body:end])) {
			return sc.found(start, end, r.kind)
		}
		if end > body+maxOrdinary {
			return end
		}
	}
	return i
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

func isUpper(s string) bool { return strings.ToUpper(s) == s }

func isShortKey(s string) bool { return len(s) >= 16 || hasDigit(s) }

// isJWT takes what follows eyJ: the rest of the header, then a payload.
func isJWT(s string) bool {
	head, rest, ok := strings.Cut(s, ".")
	payload, _, _ := strings.Cut(rest, ".")
	return ok && len(head) >= 6 && len(payload) >= 4
}

// hasKeySegment tells sk-… keys from names such as the CSS class
// sk-fading-circle: one part between dashes is long, or has digits and is not
// short.
func hasKeySegment(s string) bool {
	if strings.HasPrefix(s, "ecdsa-") || strings.HasPrefix(s, "ssh-") { // types of SSH keys
		return false
	}
	for part := range strings.SplitSeq(s, "-") {
		if len(part) >= 16 || (len(part) >= 8 && hasDigit(part)) {
			return true
		}
	}
	return false
}
