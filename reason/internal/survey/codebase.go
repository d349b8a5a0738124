// Package survey tells what of a file system an objective is about: its code as one
// survey ([Codebase]), and its documents by sections ([Sections]). Both read what people
// have written, within bounds, and rank it by the words that it shares with the objective.
package survey

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/text"
)

// Bounds of what a survey shows: lines of a list, kinds of files, terms of a
// file, bytes of a path.
const (
	maxLines = 20
	maxKinds = 10
	maxTerms = 5
	maxPath  = 160
)

// Codebase surveys the code in fsys in at most room bytes: the files that an objective is
// about, the files at which programs start, and the numbers of files by kind. Where room is
// short, the lists lose their last lines and say how many.
func Codebase(ctx context.Context, fsys fs.FS, objective string, room int) (string, error) {
	s, err := newSurvey(ctx, &tree{fsys: fsys, maxFiles: maxFiles, maxBytes: maxBytes}, objective)
	if err != nil {
		return "", err
	}
	for lines := maxLines; ; lines-- {
		if text := s.text(lines); len(text) <= room || lines == 0 {
			return text, nil
		}
	}
}

// survey is what is found in a codebase.
type survey struct {
	tree     *tree
	kinds    map[string]int // files, by extension, or by name if they have none
	entries  []string       // nearest the root first
	relevant []scored
}

// newSurvey reads a tree. A walk that ends at a bound is no error.
func newSurvey(ctx context.Context, t *tree, objective string) (*survey, error) {
	m, err := newMatcher(objective, 8)
	if err != nil {
		return nil, err
	}
	s := &survey{tree: t, kinds: make(map[string]int)}
	err = t.walk(ctx, func(name string, text []byte) {
		s.kinds[strings.ToLower(cmp.Or(path.Ext(name), path.Base(name)))]++
		if slices.Contains(entryNames, path.Base(name)) && !samplePaths.MatchString(name) {
			s.entries = append(s.entries, clipLine(name))
		}
		m.match(name, text, fileWeight(name))
	})
	s.relevant = m.best(maxLines)
	return s, err
}

// Extensions of texts: documents, data, and, with these, all in which the name
// of a file in an objective may end.
var (
	documentKinds = strings.Fields(".md .markdown .rst .adoc .txt")
	dataKinds     = strings.Fields(".tex .csv .json .jsonc .yaml .yml .xml .svg .html .htm .ipynb")
	textKinds     = slices.Concat(documentKinds, dataKinds, strings.Fields(`
		.go .mod .py .pyi .js .mjs .cjs .jsx .ts .mts .cts .tsx .vue
		.svelte .rs .c .h .cc .cpp .cxx .hpp .hh .m .mm .swift .java .kt .kts .scala .clj .groovy .gradle .cs .fs .vb .rb
		.php .pl .pm .lua .r .jl .dart .ex .exs .erl .hs .ml .mli .zig .nim .s .asm .sh .bash .zsh .fish .ps1 .bat .sql
		.proto .graphql .fbs .thrift .css .scss .sass .less .toml .ini .cfg .tf .nix`))
)

// IsText reports whether files of an extension, in lower case, hold text.
func IsText(ext string) bool { return slices.Contains(textKinds, ext) }

// fileWeight is less for what is probably not to be changed by itself.
func fileWeight(name string) float64 {
	ext := strings.ToLower(path.Ext(name))
	switch {
	case testPaths.MatchString(name):
		return 0.5
	case slices.Contains(documentKinds, ext) || slices.Contains(dataKinds, ext):
		return 0.4
	}
	return 1
}

// What is for samples and tests, by the customs of languages, and the names of
// files at which to begin reading: how to build, run and read what is there,
// and where programs start.
var (
	samplePaths = regexp.MustCompile(`(^|/)(testdata|fixtures|__fixtures__|__tests__)/`)
	testPaths   = regexp.MustCompile(samplePaths.String() +
		`|(^|/)tests?/|(?i:_test|\.test|\.spec)(\.[^./]*)?$|(^|/)(?i:test_)[^/]*$|Test\.java$`)
	entryNames = strings.Fields(`Makefile makefile GNUmakefile justfile Taskfile.yml CMakeLists.txt meson.build BUILD.bazel
		build.zig build.gradle build.gradle.kts pom.xml build.sbt Dockerfile docker-compose.yml docker-compose.yaml
		compose.yaml go.mod go.work Cargo.toml package.json pyproject.toml setup.py requirements.txt Gemfile composer.json
		mix.exs Package.swift pubspec.yaml deno.json index.html manage.py Procfile README.md README README.rst README.txt
		AGENTS.md CLAUDE.md ci.yml main.go main.py __main__.py app.py main.rs main.c main.cc main.cpp Main.java Main.kt
		Program.cs main.swift main.dart index.js index.ts`)
)

// text writes the survey with at most so many lines of each list.
func (s *survey) text(lines int) string {
	var relevant []string
	for _, m := range s.relevant {
		terms := strings.Join(m.terms[:min(len(m.terms), maxTerms)], " ")
		relevant = append(relevant, clipLine(m.name)+" ("+clipLine(terms)+")")
	}
	text := "files: " + counts(s.kinds) + "\n"
	if len(s.tree.skipped) > 0 {
		text += "passed over: " + counts(s.tree.skipped) + "\n"
	}
	if s.tree.stopped != "" {
		text += "this is not all: the survey ended " + s.tree.stopped + "\n"
	}
	return text + lineList("relevant to the objective, best first:", relevant, lines) +
		lineList("where to begin:", s.entries, lines)
}

// counts lists what there is most of, and how many there are of it.
func counts(of map[string]int) string {
	keys := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(of[b], of[a]), strings.Compare(a, b))
	})
	shown := keys[:min(len(keys), maxKinds)]
	for i, k := range shown {
		shown[i] = fmt.Sprintf("%s %d", clipLine(k), of[k])
	}
	if more := len(keys) - len(shown); more > 0 {
		return fmt.Sprintf("%s, and of %d more kinds", strings.Join(shown, ", "), more)
	}
	return strings.Join(shown, ", ")
}

// lineList is a list of at most so many of the items, "" if there are none.
func lineList(title string, items []string, lines int) string {
	if len(items) == 0 {
		return ""
	}
	text := title + "\n"
	for _, item := range items[:min(len(items), lines)] {
		text += "- " + item + "\n"
	}
	if more := len(items) - lines; more > 0 {
		text += fmt.Sprintf("(%d more)\n", more)
	}
	return text
}

// clipLine returns the visible part of s on one line, cut if it is long.
func clipLine(s string) string { return text.Shorten(fence.Line(s), maxPath) }
