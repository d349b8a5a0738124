// Package yaml reads documents that people write: an unknown field, a field that is there twice, and a second
// document are errors, and each error has its line.
package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
		return readable(err)
	}
	var second yaml.Node
	if err := d.Decode(&second); err == nil {
		return fmt.Errorf("yaml: line %d: a second document", second.Line)
	} else if !errors.Is(err, io.EOF) {
		return readable(err)
	}
	return nil
}

func readable(err error) error {
	if types, ok := errors.AsType[*yaml.TypeError](err); ok {
		return errors.New("yaml: " + strings.Join(types.Errors, "\n"))
	}
	return err
}
