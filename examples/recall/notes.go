package main

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/arc-learn/arc/memory"
)

// written is the date of files without one, as the built-in notes.
var written = time.Date(2024, 7, 1, 0, 0, 0, 0, time.UTC)

// load makes a draft of each paragraph of the notes in files: the file is its
// thread, the headings that it stands under are its trigger.
func load(files fs.FS) ([]memory.Draft, error) {
	var drafts []memory.Draft
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		ext := path.Ext(name)
		if d.IsDir() || ext != ".md" && ext != ".txt" {
			return nil
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		at := written
		if info, err := d.Info(); err == nil && !info.ModTime().IsZero() {
			at = info.ModTime()
		}
		for i, p := range paragraphs(string(text)) {
			drafts = append(drafts, memory.Draft{
				Kind:    memory.Episode, // what stands there twice is kept twice
				Trigger: p.heading,
				Content: p.text,
				Thread:  name,
				Key:     fmt.Sprintf("%s#%d", name, i),
				At:      at.Add(time.Duration(i) * time.Microsecond), // in their order
				Source:  memory.Source{Ref: name},
			})
		}
		return nil
	})
	return drafts, err
}

type paragraph struct{ heading, text string }

// paragraphs splits a Markdown or plain text at blank lines. Blocks between
// fences stay whole.
func paragraphs(text string) (ps []paragraph) {
	var headings, lines []string
	end := func() {
		if p := strings.TrimSpace(strings.Join(lines, "\n")); p != "" {
			ps = append(ps, paragraph{strings.Join(headings, " > "), p})
		}
		lines = lines[:0]
	}
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		title := strings.TrimLeft(line, "#")
		level := len(line) - len(title)
		switch {
		case fenced:
			lines = append(lines, line)
		case level > 0 && strings.HasPrefix(title, " "):
			end()
			headings = append(headings[:min(level-1, len(headings))], strings.TrimSpace(title))
		case strings.TrimSpace(line) == "":
			end()
		default:
			lines = append(lines, line)
		}
	}
	end()
	return ps
}
