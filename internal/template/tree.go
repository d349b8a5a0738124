package template

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/arc-learn/arc/internal/spelling"
)

// Ref says where a value comes from: a path into the inputs, such as "/order/id",
// or the number of a variable. If it names several, they all had that value, and
// it can be bound only where they agree again.
type Ref []string

// Variable reports whether the reference is to a variable.
func (r Ref) Variable() bool { return len(r) == 1 && r[0] != "" && r[0][0] != '/' }

// Part is a piece of a text: literal, or the text of a value.
type Part struct {
	Text string `json:"text,omitempty"`
	From Ref    `json:"from,omitempty"`
}

// Phrase is a text with references in it.
type Phrase []Part

// Node is a JSON value with references in it. One of the first five fields is set.
type Node struct {
	Raw  json.RawMessage `json:"raw,omitempty"`  // a literal
	From Ref             `json:"from,omitempty"` // a value, of its own type
	Text Phrase          `json:"text,omitempty"` // a string
	List []Node          `json:"list,omitempty"`
	Map  []Member        `json:"map,omitempty"`
	// Number is set if From is a variable that stands for a number.
	Number bool `json:"number,omitempty"`
}

// Member is one of an object, in the order that the plan has.
type Member struct {
	Name  string `json:"name"`
	Value Node   `json:"value"`
}

// Kind is the type of a JSON value.
type Kind string

// The kinds.
const (
	String Kind = "string"
	Number Kind = "number"
	Bool   Kind = "boolean"
	Null   Kind = "null"
	List   Kind = "list"
	Object Kind = "object"
)

// kindOf tells the type of a JSON value by its first byte.
func kindOf(raw []byte) Kind {
	switch raw[0] {
	case '"':
		return String
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	case '[':
		return List
	case '{':
		return Object
	}
	return Number
}

// Value is one that a reference can stand for: a string as it is, anything else as
// its JSON.
type Value struct {
	Kind Kind
	Text string
}

// raw returns the value as JSON.
func (v Value) raw() json.RawMessage {
	if v.Kind != String {
		return json.RawMessage(v.Text)
	}
	return spelling.JSON(v.Text)
}

// scalar returns a JSON value that is no list and no object.
func scalar(raw []byte) Value {
	v := Value{kindOf(raw), string(raw)}
	var text string
	if v.Kind == String && json.Unmarshal(raw, &text) == nil {
		v.Text = text
	}
	return v
}

// elements returns what a compact JSON list or object holds, with its names: those
// of a list are positions.
func elements(raw []byte) (names []string, values []json.RawMessage) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil, nil
	}
	for list := kindOf(raw) == List; dec.More(); {
		name := strconv.Itoa(len(names))
		if !list {
			token, err := dec.Token()
			if err != nil {
				return names, values
			}
			name, _ = token.(string) // as every key of an object is
		}
		var v json.RawMessage
		if dec.Decode(&v) != nil {
			return names, values
		}
		names, values = append(names, name), append(values, v)
	}
	return names, values
}

// maxNesting is how deep values are looked for in JSON. What is deeper is taken as
// it is.
const maxNesting = 32

// Leaf is a value in JSON, at a path as JSON pointers have it (RFC 6901).
type Leaf struct {
	Path string `json:"path"`
	Kind Kind   `json:"kind"`
	// Open: it is a list or an object, whose values follow.
	Open bool `json:"open,omitempty"`
	// Value is its JSON or, of a string, the string; "" if it is open.
	Value string `json:"value,omitempty"`
}

// last is the last step of the path.
func (l *Leaf) last() string { return unescape(l.Path[strings.LastIndexByte(l.Path, '/')+1:]) }

// Flatten returns the values of JSON, each list and object before what is in it.
// closed says which lists are taken as one value; nil: none. An empty object and a
// null have no values, as no JSON.
func Flatten(raw json.RawMessage, closed func(path string) bool) (out []Leaf) {
	var b bytes.Buffer
	if len(raw) == 0 || json.Compact(&b, raw) != nil || b.String() == "{}" || b.String() == "null" {
		return nil
	}
	return appendLeaves(nil, b.Bytes(), "", closed)
}

func appendLeaves(out []Leaf, raw []byte, path string, closed func(path string) bool) []Leaf {
	l := Leaf{Path: path, Kind: kindOf(raw)}
	if l.Kind != List && l.Kind != Object {
		l.Value = scalar(raw).Text
		return append(out, l)
	}
	if strings.Count(path, "/") >= maxNesting || l.Kind == List && closed != nil && closed(path) {
		l.Value = string(raw)
		return append(out, l)
	}
	names, values := elements(raw)
	if len(values) == 0 {
		l.Value = string(raw)
		return append(out, l)
	}
	l.Open = true
	out = append(out, l)
	for i, v := range values {
		out = appendLeaves(out, v, path+"/"+escape(names[i]), closed)
	}
	return out
}

func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

func unescape(step string) string {
	return strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
}

// Literal returns a text as a phrase without references.
func Literal(text string) Phrase {
	if text == "" {
		return nil
	}
	return Phrase{{Text: text}}
}

// NodeOf returns JSON as a node without references, nil for none.
func NodeOf(raw json.RawMessage) (*Node, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return nil, err
	}
	return &Node{Raw: b.Bytes()}, nil
}

// Refs calls fn for each reference of a phrase.
func (p Phrase) Refs(fn func(Ref)) {
	for _, part := range p {
		if part.From != nil {
			fn(part.From)
		}
	}
}

// Refs calls fn for each reference of a node.
func (n *Node) Refs(fn func(Ref)) {
	if n.From != nil {
		fn(n.From)
	}
	n.Text.Refs(fn)
	for i := range n.List {
		n.List[i].Refs(fn)
	}
	for i := range n.Map {
		n.Map[i].Value.Refs(fn)
	}
}

// Label names an input or a variable for a reader.
func Label(path string) string {
	switch {
	case path == "":
		return "the input"
	case path[0] == '/':
		return "input " + unescape(strings.ReplaceAll(path[1:], "/", "."))
	}
	return "word {{" + path + "}}"
}

// Show returns a phrase for a reader, with names in braces for references.
func (p Phrase) Show() string {
	var b strings.Builder
	for _, part := range p {
		switch {
		case part.From == nil:
			b.WriteString(part.Text)
		case part.From.Variable():
			b.WriteString("{{" + part.From[0] + "}}")
		case part.From[0] == "":
			b.WriteString("{inputs}")
		default:
			b.WriteString("{" + strings.TrimPrefix(Label(part.From[0]), "input ") + "}")
		}
	}
	return b.String()
}

// Line is Show of a phrase of words.
func (p Phrase) Line() string {
	out := make([]string, len(p))
	for i := range p {
		out[i] = p[i : i+1].Show()
	}
	return strings.Join(out, " ")
}
