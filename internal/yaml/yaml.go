// Package yaml reads documents that people write: an unknown field, a field that is there twice, a number
// that YAML takes for another one, and a second document are errors, and each error has its line.
package yaml

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Node is a part of a document with its Line, for fields whose reader checks more than the type.
type Node = yaml.Node

// Decode reads the one document of data into v. An empty document is io.EOF.
func Decode(data []byte, v any) (err error) {
	defer func() {
		if r := recover(); r != nil { // the parser is known to panic on strange input
			err = fmt.Errorf("yaml: cannot be read: %v", r)
		}
	}()
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(v); err != nil {
		if types, ok := errors.AsType[*yaml.TypeError](err); ok {
			return errors.New("yaml: " + strings.Join(types.Errors, "\n"))
		}
		return err
	}
	var first, second yaml.Node
	if err := d.Decode(&second); err == nil {
		return fmt.Errorf("yaml: line %d: a second document", second.Line)
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return cmp.Or(yaml.Unmarshal(data, &first), literal(&first))
}

var misread = regexp.MustCompile(`^([-+]?0[0-9_]+|[0-9]{20,})$`) // as octal, and as float64

// literal returns an error where a number is another one than it says.
func literal(n *Node) (err error) {
	for _, c := range n.Content {
		err = cmp.Or(err, literal(c))
	}
	if n.Style == 0 && misread.MatchString(n.Value) {
		err = fmt.Errorf("yaml: line %d: %s would be another number: put it in quotes", n.Line, n.Value)
	}
	return err
}

// Front parts a text into its front matter, between a first line "---" and the next, and what is below it.
// Where nothing closes it, it has none, and closed is false.
func Front(text string) (front, body string, closed bool) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	rest, begun := strings.CutPrefix(text, "---\n")
	if front, body, closed = strings.Cut("\n"+rest+"\n", "\n---\n"); begun && closed {
		return front, strings.TrimSpace(body), true
	}
	return "", strings.TrimSpace(text), !begun
}
