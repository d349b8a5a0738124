package reason

import (
	"context"
	"encoding/json"
	"io/fs"
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

// Relevant returns the paths that a survey finds for an objective.
func Relevant(ctx context.Context, fsys fs.FS, objective string) ([]string, error) {
	s, err := newSurvey(ctx, &tree{fsys: fsys, maxFiles: maxFiles, maxBytes: maxBytes}, objective)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, m := range s.relevant {
		paths = append(paths, m.name)
	}
	return paths, nil
}

// Survey returns the text of a survey with its bounds, and how many files it passed over for each reason.
func Survey(ctx context.Context, fsys fs.FS, files int, bytes int64) (text string, skipped map[string]int, err error) {
	s, err := newSurvey(ctx, &tree{fsys: fsys, maxFiles: files, maxBytes: bytes}, "")
	if err != nil {
		return "", nil, err
	}
	return s.text(maxLines), s.tree.skipped, nil
}
