package template

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Binding gives the values of a case to references.
type Binding struct {
	Now map[string]Value
	Was map[string]Value // of the case that the plan was made for
}

// Errors of binding. Their texts follow the name of an input.
var (
	ErrAbsent    = errors.New("is not given")
	errAmbiguous = errors.New("cannot be told from another one that had the same value")
	errUnsafe    = errors.New("has a value that cannot stand in a text of the plan")
	errEmpty     = errors.New("is empty")
	errNumber    = errors.New("is no number")
)

// Get returns the value of a reference. Values of several sources agree if they are
// the same in a text: in JSON, all sources are of one type.
func (b *Binding) Get(r Ref) (v Value, err error) {
	for i, path := range r {
		now, ok := b.Now[path]
		switch {
		case !ok:
			return v, fmt.Errorf("%s %w", Label(path), ErrAbsent)
		case i > 0 && now.Text != v.Text:
			return v, fmt.Errorf("%s %w", Label(path), errAmbiguous)
		}
		if i == 0 {
			v = now
		}
	}
	return v, nil
}

// Text returns a phrase with its references bound.
func (b *Binding) Text(p Phrase) (string, error) {
	if len(p) == 1 && p[0].From == nil {
		return p[0].Text, nil
	}
	var out strings.Builder
	for _, part := range p {
		if part.From == nil {
			out.WriteString(part.Text)
			continue
		}
		v, err := b.Get(part.From)
		if err != nil {
			return "", err
		}
		if was := b.Was[part.From[0]]; v != was && !harmless(v, was) {
			return "", fmt.Errorf("%s %w", Label(part.From[0]), errUnsafe)
		}
		out.WriteString(v.Text)
	}
	return out.String(), nil
}

// harmless reports whether a value, which may come from any hand, can take the
// place of another in a text that a shell or a database may run: a name, a number,
// a path below where the other is, or words where there were words.
func harmless(v, was Value) bool {
	switch v.Kind {
	case Number:
		return !strings.ContainsAny(v.Text, "eE") && (v.Text[0] != '-' || strings.HasPrefix(was.Text, "-"))
	case String:
		if !lettered(v.Text) || v.Text[0] == '-' || strings.Contains(v.Text, "..") || strings.TrimSpace(v.Text) != v.Text {
			return false
		}
		for word := range strings.FieldsSeq(v.Text) {
			first := word[:1]
			switch {
			case first == "-" && len(word) > 1: // an option
				return false
			case (first == "/" || first == "@") && !strings.Contains(" "+was.Text, " "+first): // a file elsewhere
				return false
			}
		}
		if strings.Contains(v.Text, ":/") && !strings.Contains(was.Text, ":/") {
			return false
		}
		return !strings.ContainsFunc(v.Text, func(r rune) bool {
			if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune("_-./:@+", r) {
				return false
			}
			return !strings.ContainsRune(" ?&=#%", r) || !strings.ContainsRune(was.Text, r)
		})
	}
	return false
}

// JSON returns a node with its references bound.
func (b *Binding) JSON(n *Node) (json.RawMessage, error) {
	switch {
	case n.From != nil:
		v, err := b.Get(n.From)
		switch {
		case err != nil:
			return nil, err
		case n.Number && !Numeric(v.Text):
			return nil, fmt.Errorf("%s %w", Label(n.From[0]), errNumber)
		case n.Number:
			v.Kind = Number
		case v.Text == "" && v != b.Was[n.From[0]]:
			return nil, fmt.Errorf("%s %w", Label(n.From[0]), errEmpty)
		}
		return v.raw(), nil
	case n.Text != nil:
		text, err := b.Text(n.Text)
		return Value{String, text}.raw(), err
	case n.Raw != nil:
		return n.Raw, nil
	}
	out := []byte{'['}
	if n.Map != nil {
		out[0] = '{'
	}
	for i := range n.List {
		raw, err := b.JSON(&n.List[i])
		if err != nil {
			return nil, err
		}
		out = append(append(out, raw...), ',')
	}
	for i := range n.Map {
		raw, err := b.JSON(&n.Map[i].Value)
		if err != nil {
			return nil, err
		}
		out = append(append(out, Value{String, n.Map[i].Name}.raw()...), ':')
		out = append(append(out, raw...), ',')
	}
	end := byte(']')
	if n.Map != nil {
		end = '}'
	}
	return append(bytes.TrimSuffix(out, []byte{','}), end), nil
}

// Numeric reports whether a word is a JSON number.
func Numeric(s string) bool {
	return s != "" && kindOf([]byte(s)) == Number && json.Valid([]byte(s))
}

// Look says what a word looks like. A variable takes words that look like those
// that it was drawn from.
type Look string

// The looks.
const (
	aWord   Look = "word"
	aNumber Look = "number"
	aName   Look = "name"
)

// LookOf returns the look of a word.
func LookOf(w string) Look {
	switch {
	case Numeric(w):
		return aNumber
	case !strings.ContainsFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }):
		return aWord
	}
	return aName
}

// Matches reports whether words are those of a phrase of words, and binds its
// variables.
func (b *Binding) Matches(p Phrase, ws []string, looks []Look) bool {
	at := 0
	for _, part := range p {
		want := part.Text
		switch {
		case part.From.Variable():
			if at >= len(ws) || !b.bindWord(part.From[0], ws[at], looks) {
				return false
			}
			at++
			continue
		case part.From != nil:
			v, err := b.Get(part.From)
			if err != nil {
				return false
			}
			n := len(Folded(v.Text))
			if at+n > len(ws) || !slices.EqualFunc(Folded(v.Text), ws[at:at+n], func(f, w string) bool { return f == Fold(w) }) {
				return false
			}
			at += n
			continue
		}
		if at >= len(ws) || ws[at] != want && Fold(ws[at]) != Fold(want) {
			return false
		}
		at++
	}
	return at == len(ws)
}

// unnamed are words that name no single thing, or say when, how often, how much or how,
// besides the function words.
var unnamed = strings.Fields("anybody anyone anything everybody everyone everything nobody none nothing others rest " +
	"somebody someone something whatever whichever whoever whomever anywhere everywhere nowhere somewhere wherever " +
	"now today tonight tomorrow yesterday later soon sooner earlier eventually already again once twice thrice " +
	"always never often seldom sometimes ever whenever meanwhile afterwards beforehand first last latest newest oldest " +
	"next previous half double most least less fewer several many much few little enough fast faster slow slower " +
	"well better best worse worst together apart instead anyway somehow otherwise back forward backward")

// vague reports whether a word in lower case is one of these or, by its end, an adverb.
func vague(w string) bool { return slices.Contains(unnamed, w) || strings.HasSuffix(w, "ly") }

// bindWord binds a variable to a word that looks like those that it was drawn from, and
// does not turn the statement around.
// An identifier names a thing as plain words do; these may do more than that.
func (b *Binding) bindWord(name, word string, looks []Look) bool {
	v := Value{String, word}
	if old, ok := b.Now[name]; ok {
		return old == v
	}
	read := v
	if Numeric(word) {
		read.Kind = Number
	}
	look, low := LookOf(word), strings.ToLower(word)
	alike := slices.Contains(looks, look) || look == aName && slices.Contains(looks, aWord)
	if !alike || functionWord(low) || vague(low) || Denies(word) || !harmless(read, Value{}) {
		return false
	}
	b.Now[name] = v
	return true
}
