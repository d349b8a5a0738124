package reason

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/fence"
)

// Errors of an answer that is none. Nothing of such an answer is acted on. The
// texts say what is wrong, in words that can be given back to the model.
var (
	// ErrEmpty: the answer says nothing.
	ErrEmpty = errors.New("the answer is empty")
	// ErrFormat: the answer is not what was asked for.
	ErrFormat = errors.New("the answer cannot be used")
	// ErrRefusal: the model, or a filter of its provider, will not answer.
	ErrRefusal = errors.New("the model refuses to answer")
)

// maxDepth is how deep the objects and arrays of an answer may be nested.
const maxDepth = 64

// maxQuoted bounds what a complaint quotes in all, and the quoted answer, in
// bytes; maxFound what it quotes at one place, maxWrong the number of places,
// maxAmong that of the words that are offered at one.
const (
	maxQuoted = 8 << 10
	maxFound  = 120
	maxWrong  = 12
	maxAmong  = 40
)

// answer is what a model has answered.
type answer struct {
	Decision
	applied []string // labels, as the model gave them
	notes   []string // what had to be changed
}

// decode reads a model's answer. offered are the skills that a task can name.
// It takes time in proportion to the answer.
func decode(text string, stop Stop, offered []string) (*answer, error) {
	switch stop {
	case StopRefusal:
		return nil, fmt.Errorf("%w: %s", ErrRefusal, found(text))
	case StopLength:
		return nil, wrong("", "one that is cut off at the bound of its length", "a shorter one, complete")
	}
	a := &answer{}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, string(utf8.RuneError))
		a.notes = append(a.notes, "it had bytes that are no text, which were replaced")
	}
	raw, err := object(text)
	if err != nil {
		return nil, err
	}
	if mendSurrogates(raw) {
		a.notes = append(a.notes, "it had halves of characters, which were replaced")
	}
	var checked json.RawMessage
	if err := json.Unmarshal(raw, &checked); err != nil {
		return nil, badSyntax(raw, err)
	}
	r := &reader{b: raw, offered: offered}
	if r.decision(a); len(r.wrong) > 0 {
		if r.more > 0 {
			r.wrong = append(r.wrong, fmt.Sprintf("and %d more", r.more))
		}
		return nil, fmt.Errorf("%w: %s", ErrFormat, ends(strings.Join(r.wrong, "\n"), maxQuoted))
	}
	return a, nil
}

// wrong is an ErrFormat that says where ("": the answer itself) what was found,
// and what is wanted.
func wrong(path, got, want string) error {
	return fmt.Errorf("%w: %s", ErrFormat, violation(path, got, want))
}

func violation(path, got, want string) string {
	if path != "" {
		path += ": "
	}
	return path + "found " + got + "; wanted " + want
}

// found quotes what was found, escaped and bounded.
func found(s string) string {
	cut := ""
	if len(s) > maxFound {
		s, cut = strings.ToValidUTF8(s[:maxFound], ""), "…"
	}
	return strconv.QuoteToASCII(s) + cut
}

// thought matches what some models put before their answer. Where a template
// has begun the thought for the model, the answer lacks the tag that opens it. The
// last form is that of gpt-oss.
var thought = regexp.MustCompile(`^[^{` + "`" + `][\s\S]*?(</think(ing)?>|<\|channel\|>final<\|message\|>)`)

// object returns a copy of the one JSON object in an answer.
func object(text string) ([]byte, error) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	text = text[len(thought.FindString(text)):]
	start := strings.IndexByte(text, '{')
	if start < 0 {
		return nil, noObject(text)
	}
	end, err := closing(text[start:])
	if err != nil {
		return nil, err
	}
	before := strings.TrimRightFunc(text[:start], unicode.IsSpace)
	after := strings.TrimLeftFunc(text[start+end:], unicode.IsSpace)
	switch {
	case strings.HasSuffix(before, "["):
		return nil, wrong("", "an array", "one object, without brackets around it")
	case strings.Contains(after, "{"):
		return nil, wrong("", "more than one object", "one object, and nothing after it")
	case after != "" && strings.Contains("}]\",:", after[:1]):
		return nil, wrong("", found(after)+" after the object", "nothing after it")
	}
	if strings.TrimSpace(text[start+1:start+end-1]) == "" {
		return nil, fmt.Errorf("%w: wanted one JSON object with tasks, an impasse or questions", ErrEmpty)
	}
	return []byte(text[start : start+end]), nil
}

// refusing matches the words in which models decline.
var refusing = regexp.MustCompile(`(?i)\b(i('m| am) (very |really |so )?(sorry|unable|not able|afraid)|i (can('|no)?t|can not|(won't|will not) (answer|assist|be able|comply|do|generate|help|provide|take part|write)|must decline|decline|refuse)\b|(unable|not able) to (help|assist|comply|answer)|as an ai\b|against my (guidelines|policy))`)

// noObject says what an answer without an object is.
func noObject(text string) error {
	bare := strings.Trim(fence.Visible(text), "` \t\r\n")
	bare = strings.TrimSpace(strings.TrimPrefix(bare, "json"))
	if slices.Contains([]string{"", "null", "[]", `""`}, strings.Join(strings.Fields(bare), "")) {
		return fmt.Errorf("%w: wanted one JSON object with tasks, an impasse or questions", ErrEmpty)
	}
	head := strings.ReplaceAll(bare[:min(len(bare), 1000)], "\u2019", "'")
	if refusing.MatchString(head) {
		return fmt.Errorf("%w: %s", ErrRefusal, found(bare))
	}
	return wrong("", found(bare), "one JSON object")
}

// closing returns the length of the object that s begins with.
func closing(s string) (int, error) {
	var open []byte
	inText := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if len(open) == maxDepth {
				return 0, wrong("", fmt.Sprintf("objects and arrays nested more than %d deep", maxDepth), "a flatter one")
			}
			open = append(open, c+2) // the bracket that closes it
		case c == '}' || c == ']':
			if open[len(open)-1] != c {
				return 0, wrong("", found(around(s, i))+", where brackets do not match", "JSON")
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				return i + 1, nil
			}
		}
	}
	return 0, wrong("", "an object that is cut off after "+found(s[max(0, len(s)-40):]), "a complete one")
}

func around(s string, i int) string { return s[max(0, i-30):min(len(s), i+30)] }

func badSyntax(raw []byte, err error) error {
	at := len(raw)
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = int(s.Offset)
	}
	return wrong("", found(around(string(raw), at))+", where it is not JSON", "JSON ("+strings.TrimPrefix(err.Error(), "json: ")+")")
}

// mendSurrogates replaces escapes of halves of characters by that of U+FFFD,
// as decoding them would, and reports whether there were any.
func mendSurrogates(b []byte) (mended bool) {
	half := func(i int, low byte) bool { // whether b[i:] is the escape of a half, \ud8… to \udb… or \udc… to \udf…
		if i+6 > len(b) || b[i] != '\\' || b[i+1] != 'u' {
			return false
		}
		n, err := strconv.ParseUint(string(b[i+2:i+6]), 16, 16)
		return err == nil && byte(n>>10) == low
	}
	const first, second = 0xd800 >> 10, 0xdc00 >> 10
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] != '\\':
		case half(i, first) && half(i+6, second):
			i += 11
		case half(i, first) || half(i, second):
			copy(b[i:], `\ufffd`)
			mended = true
			i += 5
		default:
			i++
		}
	}
	return mended
}

// reader walks over valid JSON, once, and notes what is wrong.
type reader struct {
	b       []byte
	i       int
	offered []string
	wrong   []string
	more    int // that are not in wrong
}

// place is where in an answer a value is.
type place struct {
	up  *place
	key string // of an object; "": an element
	n   int
}

func (p *place) String() string {
	switch {
	case p.up == nil:
		return "" // the answer itself
	case p.key == "":
		return fmt.Sprintf("%s[%d]", p.up, p.n)
	case p.up.up == nil:
		return key(p.key)
	}
	return p.up.String() + "." + key(p.key)
}

// key is a key as it is written in a path.
func key(k string) string {
	plain := k != "" && !strings.ContainsFunc(k, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	})
	if plain && len(k) <= maxFound {
		return k
	}
	return found(k)
}

func (r *reader) bad(p *place, got, want string) {
	if len(r.wrong) == maxWrong {
		r.more++
		return
	}
	at := p.String()
	if len(at) > 2*maxFound {
		at = at[:maxFound] + "…" + at[len(at)-maxFound:]
	}
	r.wrong = append(r.wrong, violation(at, got, want))
}

// peek returns the first byte of the next token.
func (r *reader) peek() byte {
	for strings.IndexByte(" \t\r\n", r.b[r.i]) >= 0 {
		r.i++
	}
	return r.b[r.i]
}

// object reads an object of the keys known: it calls field for each of them,
// with the reader at the value, which field has to read. Other keys are wrong
// if strict, and those that equal a known one but for case always are, as are
// any two keys that equal each other but for case. Without known keys, field is
// called for all.
func (r *reader) object(p *place, known []string, strict bool, field func(k string, p *place)) {
	seen := make(map[string]string)
	r.i++ // {
	for r.peek() != '}' {
		if r.b[r.i] == ',' {
			r.i++
			continue
		}
		k := r.text()
		r.peek()
		r.i++ // :
		at, folded := &place{up: p, key: k}, fold(k)
		before, again := seen[folded]
		seen[folded] = k
		if known == nil || slices.Contains(known, k) {
			field(k, at)
		} else {
			r.value(at)
			i := slices.IndexFunc(known, func(k string) bool { return fold(k) == folded })
			switch {
			case i >= 0:
				r.bad(at, "a field "+found(k), "it written "+strconv.Quote(known[i]))
				continue
			case strict:
				r.bad(at, "a field "+found(k), "no such field")
				continue
			}
		}
		switch {
		case again && before == k:
			r.bad(at, "it twice", "each key once")
		case again && !slices.Contains(known, k): // else it was wrong before
			r.bad(at, "it besides "+key(before), "each key once")
		}
	}
	r.i++
}

// array calls elem for each element, with the reader at it.
func (r *reader) array(p *place, elem func(p *place)) {
	r.i++ // [
	for n := 0; r.peek() != ']'; {
		if r.b[r.i] == ',' {
			r.i++
			continue
		}
		elem(&place{up: p, n: n})
		n++
	}
	r.i++
}

// text reads a string.
func (r *reader) text() string {
	r.peek()
	start, plain := r.i, true
	for r.i++; r.b[r.i] != '"'; r.i++ {
		if r.b[r.i] == '\\' {
			r.i++
			plain = false
		}
	}
	r.i++
	if plain {
		return string(r.b[start+1 : r.i-1])
	}
	var s string
	if err := json.Unmarshal(r.b[start:r.i], &s); err != nil {
		panic(err) // it was checked
	}
	return s
}

// value reads any value, and returns it as it is written.
func (r *reader) value(p *place) []byte {
	c := r.peek()
	start := r.i
	switch c {
	case '{':
		r.object(p, nil, false, func(_ string, p *place) { r.value(p) })
	case '[':
		r.array(p, func(p *place) { r.value(p) })
	case '"':
		r.text()
	default:
		for r.i < len(r.b) && strings.IndexByte(" \t\r\n,]}", r.b[r.i]) < 0 {
			r.i++
		}
		raw := string(r.b[start:r.i])
		if _, err := strconv.ParseFloat(raw, 64); errors.Is(err, strconv.ErrRange) {
			r.bad(p, found(raw), "a number that can be held")
		}
	}
	return r.b[start:r.i]
}

// is reports whether a value of the kind that c begins comes next. null is no
// value, and another one is wrong; both are read.
func (r *reader) is(p *place, c byte, want string) bool {
	switch got := r.peek(); {
	case got == c:
		return true
	case got == 'n':
		r.value(p)
	default:
		v := r.value(p)
		r.bad(p, found(string(v[:min(len(v), maxFound+1)])), want)
	}
	return false
}

// string reads a text into s.
func (r *reader) string(p *place, s *string) {
	if !r.is(p, '"', "a text") {
		return
	}
	if *s = r.text(); len(*s) > maxText {
		r.bad(p, fmt.Sprintf("%d bytes", len(*s)), fmt.Sprintf("at most %d", maxText))
	}
}

// strings reads an array of texts into list.
func (r *reader) strings(p *place, list *[]string) {
	if !r.is(p, '[', "an array of texts") {
		return
	}
	r.array(p, func(p *place) {
		var s string
		if r.string(p, &s); fence.Line(s) == "" {
			r.bad(p, "nothing", "a text")
		}
		*list = append(*list, s)
	})
}

// one reads one of several words; "" is none.
func one[T ~string](r *reader, p *place, to *T, words []T) {
	if !r.is(p, '"', among(words)) {
		return
	}
	s := r.text()
	if *to = T(s); s != "" && !slices.Contains(words, *to) {
		r.bad(p, found(s), among(words))
	}
}

func among[T ~string](words []T) string {
	if len(words) == 0 {
		return "no such field"
	}
	var quoted []string
	for _, w := range words[:min(len(words), maxAmong)] {
		quoted = append(quoted, strconv.QuoteToASCII(string(w)))
	}
	if more := len(words) - len(quoted); more > 0 {
		quoted = append(quoted, fmt.Sprintf("%d more", more))
	}
	return "one of " + strings.Join(quoted, ", ") + ", to the letter"
}

// The keys of an answer and of what is in it.
var (
	answerKeys  = []string{"thought", "complexity", "approach", "applied", "tasks", "impasse", "questions"}
	taskKeys    = []string{"objective", "delta", "verify", "skill", "effect", "inputs"}
	effectKeys  = []string{"domain", "path"}
	impasseKeys = []string{"kind", "reason", "subgoal"}
)

// decision reads the answer.
func (r *reader) decision(a *answer) {
	root := &place{}
	r.object(root, answerKeys, false, func(k string, p *place) {
		switch k {
		case "thought":
			r.string(p, &a.Reasoning)
		case "complexity":
			one(r, p, &a.Complexity, []Complexity{Simple, Moderate, Complex, Unclear})
		case "approach":
			r.string(p, &a.Approach)
		case "applied":
			r.strings(p, &a.applied)
		case "tasks":
			r.tasks(p, &a.Tasks)
		case "impasse":
			r.impasse(p, a)
		case "questions":
			r.strings(p, &a.Questions)
		}
	})
	var given []string
	for name, has := range map[string]bool{"tasks": len(a.Tasks) > 0, "impasse": a.Impasse != nil, "questions": len(a.Questions) > 0} {
		if has {
			given = append(given, name)
		}
	}
	slices.Sort(given)
	switch {
	case len(r.wrong) > 0:
	case len(given) == 0:
		r.bad(root, "no tasks, no impasse and no questions", "exactly one of them")
	case len(given) > 1:
		r.bad(root, strings.Join(given, " and "), "exactly one of them")
	case a.Complexity == Unclear && len(a.Tasks) > 0:
		r.bad(&place{up: root, key: "complexity"}, `"unclear" with tasks`, "questions, or another complexity")
	}
}

func (r *reader) tasks(p *place, to *[]Task) {
	if !r.is(p, '[', "an array of tasks") {
		return
	}
	r.array(p, func(p *place) {
		if r.peek() == 'n' {
			r.bad(p, "null", "a task")
		}
		if !r.is(p, '{', "a task") {
			return
		}
		var t Task
		r.task(p, &t)
		*to = append(*to, t)
	})
	if len(*to) > MaxTasks {
		r.bad(p, fmt.Sprintf("%d tasks", len(*to)), fmt.Sprintf("at most %d", MaxTasks))
	}
}

func (r *reader) task(p *place, t *Task) {
	r.object(p, taskKeys, true, func(k string, p *place) {
		switch k {
		case "objective":
			r.string(p, &t.Objective)
		case "delta":
			r.string(p, &t.Delta)
		case "verify":
			r.string(p, &t.Verify)
		case "skill":
			one(r, p, &t.Skill, r.offered)
		case "effect":
			r.effect(p, t)
		case "inputs":
			if raw := r.value(p); string(raw) != "null" {
				t.Inputs = json.RawMessage(raw)
			}
			if len(t.Inputs) > maxText {
				r.bad(p, fmt.Sprintf("%d bytes", len(t.Inputs)), fmt.Sprintf("at most %d", maxText))
			}
		}
	})
	r.needs(p, "objective", t.Objective, "what to do")
	r.needs(p, "verify", t.Verify, "how to check it: without that it is no task")
}

// needs notes a field without which its object is of no use.
func (r *reader) needs(p *place, k, v, want string) {
	if fence.Line(v) == "" {
		r.bad(&place{up: p, key: k}, "nothing", "a text: "+want)
	}
}

func (r *reader) effect(p *place, t *Task) {
	if !r.is(p, '{', "an object with a domain and a path") {
		return
	}
	t.Effect = &Effect{}
	r.object(p, effectKeys, true, func(k string, p *place) {
		switch k {
		case "domain":
			r.string(p, &t.Effect.Domain)
		case "path":
			r.string(p, &t.Effect.Path)
		}
	})
	if *t.Effect == (Effect{}) {
		t.Effect = nil // a form that was left blank
		return
	}
	r.needs(p, "domain", t.Effect.Domain, "what is to change")
}

func (r *reader) impasse(p *place, a *answer) {
	if !r.is(p, '{', "an object with a kind, a reason and a subgoal") {
		return
	}
	a.Impasse = &Impasse{}
	r.object(p, impasseKeys, true, func(k string, p *place) {
		switch k {
		case "kind":
			one(r, p, &a.Impasse.Kind, impasseKinds)
		case "reason":
			r.string(p, &a.Impasse.Reason)
		case "subgoal":
			r.string(p, &a.Impasse.Subgoal)
		}
	})
	if *a.Impasse == (Impasse{}) {
		a.Impasse = nil // a form that was left blank
		return
	}
	if a.Impasse.Kind == "" {
		r.bad(&place{up: p, key: "kind"}, "nothing", among(impasseKinds))
	}
	r.needs(p, "subgoal", a.Impasse.Subgoal, "what to achieve first")
}

var impasseKinds = []ImpasseKind{NoApproach, Conflict, MissingCapability, RepeatedFailure}

// fold maps keys that equal one another but for case to one text, as decoders
// do that are lenient about case.
func fold(k string) string {
	if !strings.ContainsFunc(k, func(r rune) bool { return r > unicode.MaxASCII }) {
		return strings.ToUpper(k)
	}
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, k)
}
