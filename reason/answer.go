package reason

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/reason/internal/shape"
)

// Errors of an answer that cannot be used. Nothing of such an answer is acted
// on. The texts say what is wrong, in words that can be given back to the
// model.
var (
	// ErrFormat: the answer is not what was asked for, or empty.
	ErrFormat = errors.New("the answer cannot be used")
	// ErrRefusal: the model, or a filter of its provider, will not answer.
	ErrRefusal = errors.New("the model refuses to answer")
)

// An answer is read in three steps: object finds the one JSON object in it, a
// reader holds that to the schema and says what is wrong at which place, and
// encoding/json decodes it. Decision.Check has the bounds of the whole. No step
// changes what the model has said, with two exceptions: bytes that are no text
// become U+FFFD, and forms that were left blank count as left out.

// answer is what a model has answered.
type answer struct {
	Thought      string
	Complexity   Complexity
	Approach     string
	Applied      []string // labels of memories, as the model gave them
	Tasks        []Task
	Alternatives []Alternative
	Preferences  []Preference
	Impasse      *Impasse
	Questions    []string

	mended bool // it had bytes that are no text
}

// decode reads a model's answer, which was asked for by schema, into what a points to.
// It takes time in proportion to the answer.
func decode(text, stop string, schema json.RawMessage, a any) error {
	raw, err := object(text, stop)
	if err != nil {
		return err
	}
	var s shape.Shape
	if err := json.Unmarshal(schema, &s); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	complaints, deep := s.Check(raw)
	if deep {
		return wrong(fmt.Sprintf("objects and arrays nested more than %d deep", shape.MaxNested), "a flatter one")
	}
	if len(complaints) > 0 {
		return fmt.Errorf("%w: %s", ErrFormat, ends(strings.Join(complaints, "\n"), maxQuoted))
	}
	if err := json.Unmarshal([]byte(raw), a); err != nil {
		return wrong("an object that is not JSON", "JSON ("+err.Error()+")")
	}
	return nil
}

// tidy takes out forms that were left blank.
func (a *answer) tidy() {
	if a.Impasse != nil && *a.Impasse == (Impasse{}) {
		a.Impasse = nil
	}
	for _, alt := range append(a.Alternatives, Alternative{Tasks: a.Tasks}) {
		for i := range alt.Tasks {
			t := &alt.Tasks[i]
			if t.Effect != nil && *t.Effect == (Effect{}) {
				t.Effect = nil
			}
			if string(t.Inputs) == "null" {
				t.Inputs = nil
			}
		}
	}
}

// wrong is an ErrFormat about the answer itself: what was found, and what is
// wanted.
func wrong(got, want string) error {
	return fmt.Errorf("%w: found %s; wanted %s", ErrFormat, got, want)
}

// thought matches what some models put before their answer. Where a template
// has begun the thought for the model, the answer lacks the tag that opens it.
// The last form is that of gpt-oss.
var thought = regexp.MustCompile(`^[^{` + "`" + `][\s\S]*?(</think(ing)?>|<\|channel\|>final<\|message\|>)`)

// object returns the one JSON object in an answer that is complete.
func object(text, stop string) (string, error) {
	switch stop {
	case StopRefusal:
		return "", fmt.Errorf("%w: %s", ErrRefusal, shape.Quote(text))
	case StopLength:
		return "", wrong("one that is cut off at the bound of its length", "a shorter one, complete")
	}
	text = strings.TrimSpace(strings.TrimPrefix(strings.ToValidUTF8(text, string(utf8.RuneError)), "\ufeff"))
	var raw json.RawMessage
	end := len(thought.FindString(text))
	start := strings.IndexByte(text[:end], '{')
	// A tag within an object is a text of it.
	if start < 0 || json.NewDecoder(strings.NewReader(text[start:])).Decode(&raw) != nil || start+len(raw) < end {
		text = text[end:]
	}
	if start = strings.IndexByte(text, '{'); start < 0 {
		return "", noObject(text)
	}
	before, text := strings.TrimRightFunc(text[:start], unicode.IsSpace), text[start:]
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&raw); err != nil {
		return "", badSyntax(text, err)
	}
	after := strings.TrimLeftFunc(text[len(raw):], unicode.IsSpace)
	switch {
	case strings.HasSuffix(before, "["):
		return "", wrong("an array", "one object, without brackets around it")
	case strings.Contains(after, "{"):
		return "", wrong("more than one object", "one object, and nothing after it")
	case after != "" && strings.Contains("}]\",:", after[:1]):
		return "", wrong(shape.Quote(after)+" after the object", "nothing after it")
	case strings.TrimSpace(string(raw[1:len(raw)-1])) == "":
		return "", errEmpty
	}
	return string(raw), nil
}

// errEmpty is the error of an answer that says nothing.
var errEmpty = wrong("nothing", "one JSON object with tasks, alternatives, an impasse or questions")

// refusing matches the words in which models decline.
var refusing = regexp.MustCompile(`(?i)\b(` +
	`i('m| am) (very |really |so )?(sorry|unable|not able|afraid)|` +
	`i (can('|no)?t|can not|must decline|decline|refuse)\b|` +
	`i (won't|will not) (answer|assist|be able|comply|do|generate|help|provide|take part|write)\b|` +
	`(unable|not able) to (help|assist|comply|answer)|as an ai\b|against my (guidelines|policy))`)

// noObject says what an answer without an object is.
func noObject(said string) error {
	bare := strings.Trim(fence.Visible(said), "` \t\r\n")
	bare = strings.TrimSpace(strings.TrimPrefix(bare, "json"))
	if slices.Contains([]string{"", "null", "[]", `""`}, strings.Join(strings.Fields(bare), "")) {
		return errEmpty
	}
	if refusing.MatchString(strings.ReplaceAll(text.Cut(bare, 1000), "\u2019", "'")) {
		return fmt.Errorf("%w: %s", ErrRefusal, shape.Quote(bare))
	}
	return wrong(shape.Quote(bare), "one JSON object")
}

// badSyntax says where an object is not JSON.
func badSyntax(text string, err error) error {
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok || errors.Is(err, io.ErrUnexpectedEOF) {
		return wrong("an object that is cut off after "+shape.Quote(text[max(0, len(text)-40):]), "a complete one")
	}
	at := int(syntax.Offset)
	around := text[max(0, at-30):min(len(text), at+30)]
	return wrong(shape.Quote(around)+", where it is not JSON", "JSON ("+syntax.Error()+")")
}

// ends returns the beginning and the end of a text, limit bytes together.
func ends(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return text.Cut(s, limit/2) + "\n(" + strconv.Itoa(len(s)-limit) + " bytes left out)\n" +
		strings.ToValidUTF8(s[len(s)-limit/2:], "")
}

// maxQuoted bounds what a complaint quotes in all, and the quoted answer, in bytes.
const maxQuoted = 8 << 10
