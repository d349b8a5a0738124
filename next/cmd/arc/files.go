package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// writeFile replaces a file, whole or not at all.
func writeFile(file string, data []byte, mode fs.FileMode) error {
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file+".new", data, mode)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	return err
}

// front is the front matter of a text, and what comes below.
func front(text string) (matter, body string) {
	matter, body, ok := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	if !ok {
		return "", text
	}
	return matter, strings.TrimSpace(body)
}
