package survey

import (
	"context"
	"io/fs"
)

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

// Bounded returns the text of a survey with its bounds, and how many files it passed over for each reason.
func Bounded(ctx context.Context, fsys fs.FS, files int, bytes int64) (text string, skipped map[string]int, err error) {
	s, err := newSurvey(ctx, &tree{fsys: fsys, maxFiles: files, maxBytes: bytes}, "")
	if err != nil {
		return "", nil, err
	}
	return s.text(maxLines), s.tree.skipped, nil
}
