package tools

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arc-learn/arc/next/act"
	"github.com/arc-learn/arc/next/internal/schema"
)

// digest identifies a result, whatever the values of the case: where a value of the inputs stands, its name counts.
// So the state of order A-1 in one case and that of order A-2 in another are the same if they differ in nothing else.
func digest(result json.RawMessage, c *act.Call) string {
	values := map[string]string{} // names by values
	for _, inputs := range []json.RawMessage{c.Task.Inputs, c.Inputs} {
		if v, err := decode(inputs); err == nil {
			collect(v, "", values)
		}
	}
	v, err := decode(result)
	if err != nil {
		return "" // it equals nothing
	}
	order := make([]string, 0, len(values))
	for value := range values {
		order = append(order, value)
	}
	slices.SortFunc(order, func(a, b string) int { // a value that contains another comes first
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	raw, err := schema.Marshal(named(v, order, values))
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

func decode(raw json.RawMessage) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	return v, d.Decode(&v)
}

// collect finds the values of inputs that can be told from other text, by their dotted paths.
func collect(v any, path string, values map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			collect(e, strings.TrimPrefix(path+"."+name, "."), values)
		}
	case []any:
		for i, e := range v {
			collect(e, fmt.Sprintf("%s.%d", path, i), values)
		}
	case string, json.Number:
		text := fmt.Sprint(v)
		if was, taken := values[text]; text != "" && (!taken || path < was) {
			values[text] = path
		}
	}
}

// named returns v with the values of inputs replaced by their names.
func named(v any, order []string, values map[string]string) any {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			v[name] = named(e, order, values)
		}
	case []any:
		for i, e := range v {
			v[i] = named(e, order, values)
		}
	case json.Number:
		if name, ok := values[v.String()]; ok {
			return "{" + name + "}"
		}
	case string:
		for _, value := range order {
			v = replaced(v, value, "{"+values[value]+"}")
		}
		return v
	}
	return v
}

// replaced replaces a value where it stands as a whole word.
func replaced(text, value, name string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, value)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		end := i + len(value)
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[end:])
		b.WriteString(text[:i])
		if wordly(before) || wordly(after) {
			b.WriteString(value)
		} else {
			b.WriteString(name)
		}
		text = text[end:]
	}
}

// wordly reports whether r, beside a value, makes it part of a longer word. utf8.RuneError is the text's end.
func wordly(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
