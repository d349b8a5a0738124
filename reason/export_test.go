package reason

import (
	"encoding/json"
)

// ErrEmpty is the error of an answer that says nothing.
var ErrEmpty = errEmpty

// ErrSkill is the error of a bad skill.
var ErrSkill = errSkill

// Schema is the schema of an answer, for tests of what a model is asked.
func Schema(skills []string) json.RawMessage { return schemaOf(skills) }

// Choose is the decision procedure itself.
func Choose(proposed []string, ps []Preference) (outcome string, candidates []string) {
	return prefer(proposed, ps)
}
