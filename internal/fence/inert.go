package fence

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// A control word is a word by which a chat template tells who speaks, and where a
// turn ends, such as <|im_end|>, <start_of_turn> and [/INST]. Some servers obey
// such a word in any text: a fenced text with one would end its turn and begin
// another, for example that of the system.

//go:embed tokens.txt
var tokens string

// words are the control words of tokens.txt that stand in brackets, as named makes
// them.
var words = sync.OnceValue(func() map[string]bool {
	out := make(map[string]bool)
	for _, w := range strings.Fields(tokens) {
		w = strings.ReplaceAll(strings.ReplaceAll(w, "<<", "<"), ">>", ">")
		if k := bracket(&openers, w); k >= 0 {
			if inner, ok := inside(w, k); ok {
				out[named(inner, k)] = true
			}
		}
	}
	return out
})

// inert returns s with a space in each control word, which makes the word text.
func inert(s string) string {
	var out strings.Builder
	from := 0
	for i := 0; i < len(s); i++ {
		at := i // where the space goes
		switch s[i] {
		case '<', '[', ']', '>', 0xef:
			at += opens(s[i:])
		case ':':
			if !heads(s[:i]) {
				continue
			}
		default:
			continue
		}
		if at > i || s[i] == ':' {
			out.WriteString(s[from:at])
			out.WriteByte(' ')
			from = at
		}
	}
	if from == 0 {
		return s
	}
	return out.String() + s[from:]
}

// longest is the number of bytes of a control word, at most.
const longest = 72

// opens returns the length of the bracket by which a control word begins s, or 0 if
// none does.
func opens(s string) int {
	k := bracket(&openers, s)
	switch {
	case k >= 0:
		if inner, ok := inside(s, k); ok && (piped(inner) || words()[named(inner, k)]) {
			return len(openers[k])
		}
		if strings.HasPrefix(s, "[e~[") {
			return 1
		}
	case strings.HasPrefix(s, "]~b]"), strings.HasPrefix(s, "]~!b["):
		return 1
	case strings.HasPrefix(s, ">>"): // >>ANSWER<<
		word := strings.TrimLeft(s[2:min(len(s), longest)], "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
		if len(word) < min(len(s), longest)-2 && strings.HasPrefix(word, "<<") {
			return 1
		}
	}
	return 0
}

// Brackets and bars, in the wide forms too that some tokenizers take for them: two
// kinds of pairs.
var (
	openers = [...]string{"<", "[", "\uff1c", "\uff3b", "\ufe64"}
	closers = [...]string{">", "]", "\uff1e", "\uff3d", "\ufe65"}
)

const (
	stroke     = "|"
	wideStroke = "\uff5c"
)

// bracket returns which bracket of a list s begins with, -1 for none.
func bracket(list *[5]string, s string) int {
	return slices.IndexFunc(list[:], func(b string) bool { return strings.HasPrefix(s, b) })
}

// inside returns what stands between the bracket that s begins with, which is the
// k-th, and the next of its kind, if that closes, on the same line.
func inside(s string, k int) (inner string, ok bool) {
	for i := len(openers[k]); i < min(len(s), longest); i++ {
		switch s[i] {
		case '\n':
			return "", false
		case '<', '[', '>', ']', 0xef:
			if c := bracket(&closers, s[i:]); c >= 0 && (c^k)&1 == 0 {
				return s[len(openers[k]):i], true
			}
			if c := bracket(&openers, s[i:]); c >= 0 && (c^k)&1 == 0 {
				return "", false
			}
		}
	}
	return "", false
}

// piped reports whether a word stands between bars, as in <|user|>, or behind a
// wide one.
func piped(inner string) bool {
	rest, wide := strings.CutPrefix(strings.TrimPrefix(inner, "/"), wideStroke)
	if wide {
		return true
	}
	rest, ok := strings.CutPrefix(rest, stroke)
	if !ok {
		return false
	}
	rest, ok = strings.CutSuffix(rest, stroke)
	return (ok || strings.HasSuffix(rest, wideStroke)) && rest != ""
}

// named is a word in the k-th bracket as it is looked up: without the stroke that
// ends what it began, with one zero for a number, and in lower case, unless it is a
// single word, which says something else there.
func named(inner string, k int) string {
	inner = strings.TrimPrefix(inner, "/")
	if strings.ContainsAny(inner, "_:") {
		inner = strings.ToLower(inner)
	}
	b := []byte(openers[k&1])
	for _, c := range []byte(inner) {
		if '0' <= c && c <= '9' {
			c = '0'
		}
		if c != '0' || b[len(b)-1] != '0' {
			b = append(b, c)
		}
	}
	return string(b)
}

// heads reports whether s, before a colon, ends in a word that heads a turn where
// no special tokens do: USER, ASSISTANT, or one behind ###.
func heads(s string) bool {
	start := len(s)
	for start > 0 && len(s)-start < longest && isLetter(s[start-1]) {
		start--
	}
	word, before := s[start:], s[:start]
	switch word {
	case "USER", "ASSISTANT":
		return true
	case "Instruction", "Response", "Input", "Output", "Human", "Assistant", "System", "User":
		return strings.HasSuffix(strings.TrimRight(before[max(0, len(before)-longest):], " "), "###") ||
			strings.HasSuffix(before, "GPT4 Correct ")
	}
	return false
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
