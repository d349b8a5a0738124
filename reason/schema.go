package reason

import (
	"bytes"
	_ "embed"
	"encoding/json"
)

//go:embed prompt/schema.json
var schemaText []byte

// schemaOf returns the JSON Schema of the answer of a model that is asked for a
// decision. skills are those that a task can name.
func schemaOf(skills []string) json.RawMessage {
	names, err := json.Marshal(append([]string{""}, skills...))
	if err != nil {
		panic(err) // strings are always encoded
	}
	var w bytes.Buffer
	if err := json.Compact(&w, schemaText); err != nil {
		panic(err) // the text is this package's own
	}
	return bytes.ReplaceAll(w.Bytes(), []byte(`[""]`), names)
}
