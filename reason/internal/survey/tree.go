package survey

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/store"
)

// Bounds of a walk: files and bytes that are read, folders above a file, bytes
// of a file.
const (
	maxFiles   = 20_000
	maxBytes   = 256 << 20
	maxFolders = 32
	maxFile    = 1 << 20
)

// tree walks over the texts of a file system that people have written.
type tree struct {
	fsys     fs.FS
	kinds    []string // extensions of the files that are looked at; nil: all
	maxFiles int
	maxBytes int64

	files   int            // that were looked at
	read    int64          // bytes
	skipped map[string]int // by reason, files, and folders with all that is in them
	stopped string         // the bound at which the walk ended; "": it saw everything
}

// walk calls visit for each text, by levels of folders and in order of names,
// so that a walk that ends at a bound has seen what is nearest the root. The
// error is that of the root, or of a ctx that has ended before.
func (t *tree) walk(ctx context.Context, visit func(name string, text []byte)) error {
	if err := store.CheckContext(ctx); err != nil {
		return err
	}
	if guard.IsNil(t.fsys) {
		return errors.New("source: the file system is nil")
	}
	t.skipped = make(map[string]int)
	for level, depth := []string{"."}, 0; len(level) > 0; depth++ {
		var next []string
		for _, dir := range level {
			entries, err := fs.ReadDir(t.fsys, dir)
			if err != nil && dir == "." && len(entries) == 0 {
				return fmt.Errorf("source: %w", err)
			}
			if err != nil {
				t.skipped["unreadable"]++
			}
			for _, d := range entries {
				name := path.Join(dir, d.Name())
				if d.IsDir() {
					if why := skipFolder(d.Name(), depth, entries); why != "" {
						t.skipped[why]++
					} else {
						next = append(next, name)
					}
					continue
				}
				if t.stopped = t.bound(ctx); t.stopped != "" {
					return nil
				}
				if t.kinds != nil && !slices.Contains(t.kinds, strings.ToLower(path.Ext(name))) {
					continue
				}
				if text, why := t.text(name, d); why != "" {
					t.skipped[why]++
				} else {
					visit(name, text)
				}
			}
		}
		level = next
	}
	return nil
}

// bound returns the bound that the next file would pass, or "".
func (t *tree) bound(ctx context.Context) string {
	switch {
	case ctx.Err() != nil:
		return "when the time was up"
	case t.files >= t.maxFiles:
		return fmt.Sprintf("at the bound of %d files", t.maxFiles)
	case t.read >= t.maxBytes:
		return fmt.Sprintf("at the bound of %d bytes", t.maxBytes)
	}
	return ""
}

// text returns what is in a file, or why it is passed over.
func (t *tree) text(name string, d fs.DirEntry) (text []byte, why string) {
	t.files++
	if !d.Type().IsRegular() {
		return nil, "no regular file"
	}
	if why := skipName(d.Name()); why != "" {
		return nil, why
	}
	f, err := t.fsys.Open(name)
	if err != nil {
		return nil, "unreadable"
	}
	text, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	t.read += int64(len(text))
	if errors.Join(err, f.Close()) != nil {
		return nil, "unreadable"
	}
	return text, skipText(text)
}

// Folders of other people's code and of caches, those that are built, and the
// files beside which they are.
var (
	dependencyFolders = strings.Fields("node_modules vendor bower_components site-packages venv Pods __pycache__")
	resultFolders     = strings.Fields("target build dist out")
	buildFiles        = strings.Fields(`Cargo.toml pom.xml build.sbt package.json build.gradle build.gradle.kts setup.py
		pyproject.toml pubspec.yaml`)
)

// skipFolder returns why a folder is passed over, or "".
func skipFolder(name string, depth int, beside []fs.DirEntry) string {
	built := func(d fs.DirEntry) bool { return slices.Contains(buildFiles, d.Name()) }
	switch {
	case strings.HasPrefix(name, ".") && name != ".github":
		return "hidden"
	case slices.Contains(dependencyFolders, name):
		return "dependencies"
	case slices.Contains(resultFolders, name) && slices.ContainsFunc(beside, built):
		return "build results"
	case depth >= maxFolders:
		return "too deep"
	}
	return ""
}

// Files that are not text, or not written by people, by extension, name and
// ending.
var (
	binaryKinds = strings.Fields(`.png .jpg .jpeg .gif .webp .ico .bmp .tiff .pdf .zip .gz .tgz .bz2 .xz .zst .7z .rar .tar
		.jar .war .class .pyc .o .a .so .dylib .dll .exe .wasm .bin .dat .db .sqlite .parquet .mp3 .mp4 .mov .avi .wav
		.ogg .webm .woff .woff2 .ttf .otf .eot .onnx .safetensors .gguf .pt`)
	lockNames = strings.Fields(`go.sum go.work.sum package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock
		Cargo.lock poetry.lock uv.lock Pipfile.lock Gemfile.lock composer.lock mix.lock pubspec.lock flake.lock
		Podfile.lock gradle.lockfile`)
	generatedEnds = strings.Fields(".min.js .min.css .map .pb.go _pb2.py _pb2_grpc.py .pb.cc .pb.h .g.dart")
)

// skipName returns why a file is passed over by its name, or "".
func skipName(base string) string {
	lower := strings.ToLower(base)
	switch {
	case slices.Contains(lockNames, base):
		return "lock file"
	case slices.Contains(binaryKinds, path.Ext(lower)):
		return "binary"
	case slices.ContainsFunc(generatedEnds, func(end string) bool { return strings.HasSuffix(lower, end) }):
		return "generated"
	}
	return ""
}

// generatedLine is a comment by which generators mark what they write: Go's
// convention (go help generate), and the one word of many others.
var generatedLine = regexp.MustCompile(`(?m)^\W{0,8}(Code generated .*DO NOT EDIT\.?|(\w+ )?@generated\b.*)\s*$`)

// skipText returns why a file is passed over by what is in it, or "". Git looks
// for a NUL in the first 8 KiB as well; a first line of over 4 KiB is a
// machine's.
func skipText(text []byte) string {
	head := text[:min(len(text), 8<<10)]
	line := bytes.IndexByte(head, '\n')
	switch {
	case len(text) > maxFile:
		return "large"
	case bytes.IndexByte(head, 0) >= 0:
		return "binary"
	case generatedLine.Match(head[:min(len(head), 2<<10)]), len(head) > 4<<10 && (line < 0 || line > 4<<10):
		return "generated"
	}
	return ""
}
