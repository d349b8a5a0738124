// Package strictyaml reads documents that people write: an unknown field, a field that is there
// twice, and a second document are errors, and each error has its line.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/arc-learn/arc/internal/guard"
)

// maxReported bounds the problems of one document that an error lists.
const maxReported = 100

// Decode decodes one document into v, and returns its top node, which has the lines. Words
// replaces names of Go types in errors by what a writer understands; nil: none. The error is
// io.EOF if the document is empty.
func Decode(data []byte, v any, words *strings.Replacer) (top *yaml.Node, err error) {
	// The parser is foreign code: its panics are errors.
	if lost := guard.Call(func() { top, err = decodeOne(data, v, words) }); lost != nil {
		return nil, lost
	}
	return top, err
}

func decodeOne(data []byte, v any, words *strings.Replacer) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(v); errors.Is(err, io.EOF) {
		return nil, io.EOF
	} else if err != nil {
		return nil, found(err, words)
	}
	var doc, second yaml.Node
	if err := d.Decode(&second); err == nil {
		return nil, fmt.Errorf("line %d: a second document", second.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, found(err, words)
	}
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, found(err, words)
	}
	return doc.Content[0], nil
}

// goType matches where the parser names a Go type that the writer does not know.
var goType = regexp.MustCompile(`(?m) (?:in type .*|into (?:\[\])?[a-z]\w*\.\w+)$`)

// found returns what the parser has found, with its lines.
func found(err error, words *strings.Replacer) error {
	text, te := strings.ReplaceAll(err.Error(), "yaml: ", ""), new(yaml.TypeError)
	if errors.As(err, &te) {
		text = strings.Join(te.Errors, "\n")
	}
	text = strings.ReplaceAll(text, "into time.Duration", "into a duration")
	if words != nil {
		text = words.Replace(text)
	}
	return listed(strings.Split(goType.ReplaceAllString(text, ""), "\n"))
}

// Field returns the value of a field of a mapping; nil if it has none.
func Field(n *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// List returns the elements of the list in a field of a mapping. An empty one is an error: the parser skips it.
func List(n *yaml.Node, name string) ([]*yaml.Node, error) {
	list := Field(n, name)
	if list == nil || list.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("line %d: no %s: the document needs a list under the key %[2]s", n.Line, name)
	}
	empty := make(Problems)
	for _, n := range list.Content {
		if n.ShortTag() == "!!null" {
			empty.Add(n, "an empty entry")
		}
	}
	return list.Content, empty.Err()
}

// Problems are what is wrong with a document, by line. Several may stand in one line.
type Problems map[int][]string

// Add adds a problem in the line of a node.
func (p Problems) Add(n *yaml.Node, problem string) {
	p[n.Line] = append(p[n.Line], fmt.Sprintf("line %d: %s", n.Line, problem))
}

// Err returns the problems in the order of their lines as one error; nil if there are none.
func (p Problems) Err() error {
	var all []string
	for _, line := range slices.Sorted(maps.Keys(p)) {
		all = append(all, p[line]...)
	}
	return listed(all)
}

// listed returns the first of the problems as one error, and how many there are more;
// nil if there are none.
func listed(problems []string) error {
	if n := len(problems) - maxReported; n > 0 {
		problems = append(problems[:maxReported], fmt.Sprintf("and %d more", n))
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "\n"))
}
