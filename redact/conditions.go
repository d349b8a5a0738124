package redact

import (
	b64 "encoding/base64"
	"strings"
)

// conditions of rules that their form alone does not say, given what stands before and
// after the mark.
var conditions = map[string]func(before, after string) bool{
	"isRandom": isRandom, "withDigit": withDigit, "isAirtable": isAirtable, "hasKeySegment": hasKeySegment,
	"isShortKey": isShortKey, "isBotID": isBotID, "isJWT": isJWT, "isJWTInBase64": isJWTInBase64,
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

func withDigit(_, s string) bool { return hasDigit(s) }

func isShortKey(_, s string) bool { return len(s) >= 16 || hasDigit(s) }

// isRandom tells drawn letters from names and words.
func isRandom(_, s string) bool {
	return strings.ContainsAny(s, "0123456789") && strings.ToLower(s) != s && strings.ToUpper(s) != s && entropy(s) >= 3.5
}

// isBotID takes what stands before :AA… in a token of Telegram, in the path of
// its API behind «bot».
func isBotID(before, _ string) bool {
	return strings.Trim(strings.TrimPrefix(before, "bot"), "0123456789") == ""
}

// isAirtable takes the 14 characters, dot and 64 hex digits after pat.
func isAirtable(_, s string) bool {
	return s[14] == '.' && strings.Trim(s[15:], "0123456789abcdef") == "" && strings.IndexByte(s[:14], '.') < 0
}

// isJWT takes what follows eyJ: the rest of the header, then a payload.
func isJWT(_, s string) bool {
	head, rest, ok := strings.Cut(s, ".")
	payload, _, _ := strings.Cut(rest, ".")
	return ok && len(head) >= 6 && len(payload) >= 4
}

// isJWTInBase64 takes what follows ZXlK, which is eyJ in base64, if it decodes to
// the rest of a token.
func isJWTInBase64(_, s string) bool {
	s = strings.TrimRight(s[:min(len(s), 4096)], "=")
	raw, err := b64.RawStdEncoding.DecodeString(s[:len(s)&^3])
	if err != nil {
		raw, err = b64.RawURLEncoding.DecodeString(s[:len(s)&^3])
	}
	return err == nil && isJWT("", string(raw))
}

// hasKeySegment tells sk-… keys from names such as the CSS class
// sk-fading-circle: one part between dashes is long, or has digits and is not
// short.
func hasKeySegment(_, s string) bool {
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
