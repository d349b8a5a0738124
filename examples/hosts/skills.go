package main

import (
	"embed"
	"io/fs"

	"github.com/arc-learn/arc/reason"
)

//go:embed skills
var files embed.FS

// loadSkills reads SKILL.md, for who decides, and AGENT.md, for who works. The
// error names bad files; the others are there.
func loadSkills(fsys fs.FS) (map[string]reason.Skill, error) {
	skills, err := reason.LoadSkills(fsys)
	if _, ok := skills["scale"]; ok {
		return skills, nil // all that this host needs
	}
	return nil, err
}
