package reason

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/schema"
)

// Ask asks m for a T by r, which needs a Schema, and once more where the answer cannot be used, with what was
// wrong with it. check, which may be nil, refuses what fits the schema and cannot be used all the same.
//
// The answer is one JSON object of the schema. Words without a "{", or a thought that does not end, may stand
// before it, and a code fence around it; nothing may follow. An answer that is cut off is not completed, and
// no value is coerced. The usage is that of all calls, also of those that failed. An answer that cannot be
// used is an *[Error] of class Invalid.
func Ask[T any](ctx context.Context, m Model, r *Request, check func(*T) error) (T, *Usage, error) {
	var none T
	s, err := schema.Compile(r.Schema)
	if err != nil || s == nil {
		return none, nil, &Error{Class: Invalid, Err: cmp.Or(err, errors.New("the request has no schema"))}
	}
	again := *r
	var usage *Usage
	for try := 1; ; try++ {
		said, v := "(a thought)", none
		resp, err := Generate(ctx, m, &again)
		if err == nil {
			usage, said = usage.Add(resp.Usage), cmp.Or(strings.TrimSpace(resp.Text), "(nothing)")
			v, err = read(resp, s, check)
		} else if e, ok := errors.AsType[*Error](err); ok {
			usage = usage.Add(validUsage(e.Usage))
			if !errors.Is(err, errThought) {
				e = new(*e) // the host's own may be shared
				e.Usage = usage
				return none, usage, e
			}
		} else {
			return none, usage, err
		}
		switch {
		case err == nil:
			return v, usage, nil
		case try == 2, errors.Is(err, errRefused):
			return none, usage, &Error{Class: Invalid, Usage: usage, Err: err}
		}
		again.Messages = append(slices.Clip(again.Messages),
			Message{Role: RoleModel, Text: fence.Clip(said, maxRead)},
			Message{Role: RoleUser, Text: "That cannot be used, and nothing of it was done: " + err.Error() +
				"\nAnswer again with the whole JSON object, and nothing else."})
	}
}

var errRefused = errors.New("the model, or a filter of its provider, refuses to answer")

// read is the one reader of structured answers.
func read[T any](resp *Response, s *schema.Schema, check func(*T) error) (v T, err error) {
	switch resp.Stop {
	case StopFilter:
		return v, fmt.Errorf("%w: %s", errRefused, fence.Clip(resp.Text, maxTold))
	case StopLength:
		return v, errors.New("the answer is cut off at its greatest length; give a shorter one")
	}
	raw, err := Object(resp.Text)
	if err = cmp.Or(err, s.Check(raw)); err != nil {
		return v, err
	}
	raw, _ = schema.Canonical(raw) // Check has read it. Of a member that stands twice the last counts
	if err = json.Unmarshal(raw, &v); err == nil && check != nil {
		err = check(&v)
	}
	return v, err
}

// closing matches a line that is a closing tag. No JSON has one.
var closing = regexp.MustCompile(`(?m)^[ \t]*(?:</[\w:-]+>|\[/\w+\]|◁/\w+▷)[ \t]*\r?$`)

// answered takes off the thought that a model's template has begun, so that its opening tag is missing. In
// free text, such as a page of HTML, a closing tag has none before it.
func answered(text string, structured bool) string {
	for _, m := range slices.Backward(closing.FindAllStringIndex(text, -1)) {
		tag := strings.Replace(strings.TrimSpace(text[m[0]:m[1]]), "/", "", 1)
		opens := strings.ToLower(strings.TrimRight(tag, ">]▷"))
		if structured || !strings.Contains(strings.ToLower(text[:m[0]]), opens) {
			return strings.TrimSpace(text[m[1]:])
		}
	}
	return text
}

// Object returns the one JSON object in an answer without thoughts at its front, as Ask takes it.
func Object(text string) (json.RawMessage, error) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	start := strings.IndexByte(text, '{')
	if start < 0 {
		return nil, errors.New("there is no JSON object in it")
	}
	rest := text[:start]
	for m := later.FindStringSubmatchIndex(rest); m != nil; m = later.FindStringSubmatchIndex(rest) {
		tag, ends := rest[m[2]:m[3]], false
		if _, rest, ends = strings.Cut(rest[m[3]:], "/"+strings.TrimLeft(tag, "<[◁")); !ends {
			return nil, fmt.Errorf("the object is within %s, as a thought is", tag)
		}
	}
	d := json.NewDecoder(strings.NewReader(text[start:]))
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return nil, fmt.Errorf("the object in it is no JSON, or is cut off: %w", err)
	}
	after := strings.TrimSpace(text[start+int(d.InputOffset()):])
	after = strings.TrimSpace(strings.TrimPrefix(after, "```"))
	if after != "" {
		return nil, errors.New("there is something after the object: " + fence.Clip(after, 100))
	}
	return raw, nil
}

// thoughts takes the thoughts off the front of an answer, as it comes in pieces: what may yet be a tag is
// held back, and nothing else, so that a stream stays one. A thought is a leading block <x>…</x>, [X]…[/X] or
// ◁x▷…◁/x▷, with blocks of its name nested in it; several may follow one another.
//
// It is in one of three states: between blocks, where buf is what may yet open one; in a block, where buf is
// what may yet be a tag in it; past, where every piece is of the answer. No state goes by where a piece ends,
// so that an answer in one piece and in many is the same.
type thoughts struct {
	buf   string // not decided yet
	name  string // of the block that is open, as its brackets and name, in lower case; "" between blocks
	depth int
	past  bool // the answer has begun
}

var (
	opening = regexp.MustCompile(`^(?:<[A-Za-z][\w:-]{0,63}>|\[[A-Z][A-Z_-]{0,63}\]|◁[^◁▷/\s]{1,64}▷)`)
	// later matches one behind words, where a line or a sentence begins: within one List<String> is a word.
	later = regexp.MustCompile(`(?m)(?:^|[.!?…]\s|[。！？])\s*(` + opening.String()[1:] + `)`)
	// begun matches what may yet become an opening tag.
	begun = regexp.MustCompile(`^(?:<(?:[A-Za-z][\w:-]{0,63})?|\[(?:[A-Z][A-Z_-]{0,63})?|◁[^◁▷/\s]{0,64})$`)
	odd   = regexp.MustCompile(`[^A-Za-z0-9_-]+`) // in the name of a tool
	mark  = regexp.MustCompile(`</?[A-Za-z][\w:-]{0,63}>|\[/?[A-Za-z][A-Za-z_-]{0,63}\]|◁/?[^◁▷/\s]{1,64}▷`)
)

// feed returns what of the answer is known now that piece has come.
func (t *thoughts) feed(piece string) string {
	if t.past {
		return piece
	}
	t.buf += piece
	for {
		if t.name != "" {
			if !t.skip() {
				return ""
			}
			continue
		}
		t.buf = strings.TrimLeft(t.buf, " \t\r\n\ufeff")
		tag := opening.FindString(t.buf)
		switch {
		case tag != "":
			t.name, t.depth = strings.ToLower(tag), 1
			t.buf = t.buf[len(tag):]
		case t.buf == "" || begun.MatchString(t.buf):
			return ""
		default:
			t.past = true
			piece, t.buf = t.buf, ""
			return piece
		}
	}
}

// skip leaves the open block, and reports whether its end has come.
func (t *thoughts) skip() bool {
	at := 0
	for _, m := range mark.FindAllStringIndex(t.buf, -1) {
		tag := strings.ToLower(t.buf[m[0]:m[1]])
		switch {
		case tag == t.name:
			t.depth++
		case strings.Replace(tag, "/", "", 1) == t.name:
			t.depth--
		}
		at = m[1]
		if t.depth == 0 {
			t.buf, t.name = t.buf[at:], ""
			return true
		}
	}
	t.buf = t.buf[at:]
	at = strings.LastIndexAny(t.buf, "<[◁")
	if at < 0 || len(t.buf)-at > maxTag {
		at = len(t.buf)
	}
	t.buf = t.buf[at:] // what may be the beginning of a tag
	return false
}

// errThought is the error of an answer that is a thought and nothing else.
var errThought = errors.New("the answer is a thought that never ends, or nothing but thoughts")

// end returns what is left of the answer when all has come. Where free is set, a block in square brackets
// that never ends is a word in brackets, and a part of the answer.
func (t *thoughts) end(whole string, free bool) (string, error) {
	switch {
	case t.name == "":
		return t.buf, nil
	case free && t.name[0] == '[':
		return whole, nil
	}
	return "", errThought
}
