package tools

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/schema"
)

// Digest identifies a result of a tool, whatever the values of the case's inputs are: it counts the name of
// an input in the place of its value, if that has two characters or more. So the states of order A-1 and of
// A-2 in two cases have one digest if nothing else differs. Where a value stands inside a word or number, as
// 10 in 100, it may be there by chance, and none is replaced. It is the ResultDigest of a [reason.PlanCall].
func Digest(result json.RawMessage, inputs ...json.RawMessage) string {
	names := map[string]string{} // dotted paths, by the strings and numbers there as they are written in JSON
	name := func(path string, v any) any {
		raw, err := schema.Marshal(v)
		text, of := strings.Trim(string(raw), `"`), schema.TypeOf(v)
		was, taken := names[text]
		if err == nil && (of == "string" || of == "number") && len(text) > 1 && (!taken || path < was) {
			names[text] = path
		}
		return v
	}
	for _, raw := range inputs {
		v, _ := schema.Read(raw) // what is no JSON names nothing
		schema.Rewrite("", v, name)
	}
	// Of two values that begin alike the longer one is tried first.
	values := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	swap := []string{`\n`, " ", `\t`, " "} // their letters belong to no word
	for _, v := range values {
		swap = append(swap, v, "\x01"+names[v]+"\x02")
	}
	raw, err := schema.Canonical(result)
	if err != nil {
		raw = result // a text
	}
	text := strings.NewReplacer(swap...).Replace(string(raw))
	if strings.Contains(text, "\x01") && inside.MatchString(text) {
		text = string(raw)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// inside matches a name whose value stands inside a word or a number.
var inside = regexp.MustCompile(`(?:[\pL\pN]|\pN[.,])\x01|\x02(?:[\pL\pN]|[.,]\pN)`)
