package reason

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// languages by extension, in lower case. What is read as text and not named
// here is counted under its extension.
var languages = map[string]string{
	".go": "Go", ".mod": "Go module", ".py": "Python", ".pyi": "Python", ".ipynb": "Jupyter",
	".js": "JavaScript", ".mjs": "JavaScript", ".cjs": "JavaScript", ".jsx": "JavaScript",
	".ts": "TypeScript", ".mts": "TypeScript", ".cts": "TypeScript", ".tsx": "TypeScript", ".vue": "Vue", ".svelte": "Svelte",
	".rs": "Rust", ".c": "C", ".h": "C", ".cc": "C++", ".cpp": "C++", ".cxx": "C++", ".hpp": "C++", ".hh": "C++",
	".m": "Objective-C", ".mm": "Objective-C", ".swift": "Swift", ".java": "Java", ".kt": "Kotlin", ".kts": "Kotlin",
	".scala": "Scala", ".clj": "Clojure", ".groovy": "Groovy", ".gradle": "Gradle", ".cs": "C#", ".fs": "F#", ".vb": "Visual Basic",
	".rb": "Ruby", ".php": "PHP", ".pl": "Perl", ".pm": "Perl", ".lua": "Lua", ".r": "R", ".jl": "Julia", ".dart": "Dart",
	".ex": "Elixir", ".exs": "Elixir", ".erl": "Erlang", ".hs": "Haskell", ".ml": "OCaml", ".mli": "OCaml", ".zig": "Zig", ".nim": "Nim",
	".s": "Assembly", ".asm": "Assembly", ".sh": "Shell", ".bash": "Shell", ".zsh": "Shell", ".fish": "Shell", ".ps1": "PowerShell", ".bat": "Batch",
	".sql": "SQL", ".proto": "Protocol Buffers", ".graphql": "GraphQL", ".fbs": "FlatBuffers", ".thrift": "Thrift",
	".html": "HTML", ".htm": "HTML", ".css": "CSS", ".scss": "CSS", ".sass": "CSS", ".less": "CSS", ".svg": "SVG", ".xml": "XML",
	".json": "JSON", ".jsonc": "JSON", ".yaml": "YAML", ".yml": "YAML", ".toml": "TOML", ".ini": "INI", ".cfg": "INI", ".tf": "Terraform", ".nix": "Nix",
	".md": "Markdown", ".markdown": "Markdown", ".rst": "reStructuredText", ".adoc": "AsciiDoc", ".tex": "TeX", ".txt": "text", ".csv": "CSV",
}

// prose are the languages of documents and data, which say much about a word
// without being what is to be changed.
var prose = []string{"Markdown", "reStructuredText", "AsciiDoc", "TeX", "text", "CSV", "JSON", "YAML", "XML", "SVG", "HTML", "Jupyter"}

// language returns the language of a file by its name.
func language(name string) string {
	base := path.Base(name)
	ext := strings.ToLower(path.Ext(base))
	switch lang, ok := languages[ext]; {
	case ok:
		return lang
	case strings.HasPrefix(base, "Dockerfile"):
		return "Dockerfile"
	case base == "Makefile" || base == "makefile" || base == "GNUmakefile" || ext == ".mk":
		return "Makefile"
	case ext == "" || len(ext) > 12:
		return "other"
	}
	return ext
}

// dependencies are folders of other people's code and of caches; results are
// those that are built where one of the files named lies beside.
var (
	dependencies = []string{"node_modules", "vendor", "bower_components", "site-packages", "venv", "Pods", "__pycache__"}
	results      = map[string][]string{
		"target": {"Cargo.toml", "pom.xml", "build.sbt"},
		"build":  {"package.json", "build.gradle", "build.gradle.kts", "setup.py", "pubspec.yaml"},
		"dist":   {"package.json", "setup.py", "pyproject.toml"},
		"out":    {"package.json"},
	}
)

// skipFolder returns why a folder is passed over, or "".
func skipFolder(name string, beside []fs.DirEntry) string {
	switch {
	case strings.HasPrefix(name, ".") && name != ".github":
		return "hidden"
	case slices.Contains(dependencies, name):
		return "dependencies"
	case slices.ContainsFunc(beside, func(d fs.DirEntry) bool { return slices.Contains(results[name], d.Name()) }):
		return "build results"
	}
	return ""
}

var (
	binaries = []string{
		".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".bmp", ".tiff", ".pdf", ".zip", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar", ".tar",
		".jar", ".war", ".class", ".pyc", ".o", ".a", ".so", ".dylib", ".dll", ".exe", ".wasm", ".bin", ".dat", ".db", ".sqlite", ".parquet",
		".mp3", ".mp4", ".mov", ".avi", ".wav", ".ogg", ".webm", ".woff", ".woff2", ".ttf", ".otf", ".eot", ".onnx", ".safetensors", ".gguf", ".pt",
	}
	locks = []string{
		"go.sum", "go.work.sum", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "Cargo.lock",
		"poetry.lock", "uv.lock", "Pipfile.lock", "Gemfile.lock", "composer.lock", "mix.lock", "pubspec.lock", "flake.lock", "Podfile.lock", "gradle.lockfile",
	}
	generatedNames = []string{".min.js", ".min.css", ".map", ".pb.go", "_pb2.py", "_pb2_grpc.py", ".pb.cc", ".pb.h", ".g.dart"}
)

// skipName returns why a file is passed over by its name, or "".
func skipName(base string) string {
	lower := strings.ToLower(base)
	switch {
	case slices.Contains(locks, base):
		return "lock file"
	case slices.Contains(binaries, path.Ext(lower)):
		return "binary"
	case slices.ContainsFunc(generatedNames, func(end string) bool { return strings.HasSuffix(lower, end) }):
		return "generated"
	}
	return ""
}

// generatedLine is a comment by which generators mark what they write: Go's
// convention (go help generate), and the one word of many others.
var generatedLine = regexp.MustCompile(`(?m)^\W{0,8}(Code generated .*DO NOT EDIT\.?|(\w+ )?@generated\b.*)\s*$`)

const (
	surveyHead = 8 << 10 // as far as git looks for a NUL
	maxColumns = 4 << 10 // a line that nobody wrote
)

// skipText returns why a file is passed over by what is in it, or "".
func skipText(text []byte) string {
	head := text[:min(len(text), surveyHead)]
	switch line := bytes.IndexByte(head, '\n'); {
	case bytes.IndexByte(head, 0) >= 0:
		return "binary"
	case marked(head[:min(len(head), 2<<10)]), len(head) > maxColumns && (line < 0 || line > maxColumns):
		return "generated"
	}
	return ""
}

func marked(head []byte) bool {
	return (bytes.Contains(head, []byte("DO NOT EDIT")) || bytes.Contains(head, []byte("@generated"))) && generatedLine.Match(head)
}

// entryNames are files that say how to build, run or read what is there.
var entryNames = map[string]string{
	"Makefile": "make", "makefile": "make", "GNUmakefile": "make", "justfile": "just", "Taskfile.yml": "task", "CMakeLists.txt": "CMake",
	"meson.build": "Meson", "BUILD.bazel": "Bazel", "build.zig": "Zig build", "build.gradle": "Gradle", "build.gradle.kts": "Gradle", "pom.xml": "Maven",
	"build.sbt": "sbt", "Dockerfile": "container", "docker-compose.yml": "containers", "docker-compose.yaml": "containers", "compose.yaml": "containers",
	"go.work": "Go workspace", "Cargo.toml": "Rust package", "pyproject.toml": "Python project", "setup.py": "Python project", "requirements.txt": "Python dependencies",
	"Gemfile": "Ruby project", "composer.json": "PHP project", "mix.exs": "Elixir project", "Package.swift": "Swift package", "pubspec.yaml": "Dart package",
	"deno.json": "Deno project", "index.html": "web page", "manage.py": "Django commands", "__main__.py": "Python program", "Procfile": "processes",
	"README.md": "read me", "README": "read me", "README.rst": "read me", "README.txt": "read me", "AGENTS.md": "for agents", "CLAUDE.md": "for agents",
}

// mains are what a program of a language has in one of its files.
var mains = map[string]*regexp.Regexp{
	"Go":     regexp.MustCompile(`(?m)^func main\(\)`),
	"Python": regexp.MustCompile(`(?m)^if __name__ == ['"]__main__['"]`),
	"Rust":   regexp.MustCompile(`(?m)^(pub )?(async )?fn main\(`),
	"C":      regexp.MustCompile(`(?m)^(int|void)\s+main\s*\(`),
	"C++":    regexp.MustCompile(`(?m)^(int|void|auto)\s+main\s*\(`),
	"Java":   regexp.MustCompile(`\bpublic static void main\(`),
	"Kotlin": regexp.MustCompile(`(?m)^(suspend )?fun main\(`),
	"C#":     regexp.MustCompile(`\bstatic (async )?(void|int|Task|Task<int>) Main\(`),
	"Swift":  regexp.MustCompile(`(?m)^@main\b`),
	"Dart":   regexp.MustCompile(`(?m)^(void|Future<void>) main\(`),
}

var (
	goModule   = regexp.MustCompile(`(?m)^module\s+(\S+)`)
	sampleDirs = []string{"testdata", "fixtures", "__fixtures__", "__tests__"}
)

const entryScript = "script"

// entry returns why a file is a place to begin, or "".
func (s *surveyor) entry(name string, text []byte) string {
	if slices.ContainsFunc(strings.Split(name, "/"), func(dir string) bool { return slices.Contains(sampleDirs, dir) }) {
		return ""
	}
	base, lang := path.Base(name), language(name)
	if why := entryNames[base]; why != "" {
		return why
	}
	switch {
	case base == "go.mod":
		if m := goModule.FindSubmatch(text); m != nil {
			return "Go module " + string(m[1])
		}
		return "Go module"
	case base == "package.json":
		return packageJSON(text)
	case path.Dir(name) == ".github/workflows":
		return "continuous integration"
	case lang == "Go":
		// One file of a folder is enough: the one with main.
		if dir := path.Dir(name); !s.programs[dir] && hasMain(lang, name, text) && bytes.Contains(text, []byte("package main")) {
			s.programs[dir] = true
			return "Go program"
		}
		return ""
	case hasMain(lang, name, text):
		return lang + " program"
	case bytes.HasPrefix(text, []byte("#!")):
		return entryScript
	}
	return ""
}

func hasMain(lang, name string, text []byte) bool {
	return mains[lang] != nil && !isTest(name) && bytes.Contains(text, []byte("ain")) && mains[lang].Match(text)
}

// packageJSON says what a package of npm starts with.
func packageJSON(text []byte) string {
	var p struct {
		Main string          `json:"main"`
		Bin  json.RawMessage `json:"bin"`
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return "npm package, damaged"
	}
	why := "npm package"
	if p.Main != "" {
		why += ", main " + p.Main
	}
	var one string
	var many map[string]string
	switch {
	case len(p.Bin) == 0:
	case json.Unmarshal(p.Bin, &one) == nil:
		why += ", bin " + one
	case json.Unmarshal(p.Bin, &many) == nil:
		var files []string
		for _, f := range many {
			files = append(files, f)
		}
		slices.Sort(files)
		why += ", bin " + strings.Join(slices.Compact(files), " ")
	}
	return why
}

// isTest reports whether a file is for tests, by the customs of languages.
func isTest(name string) bool {
	base := strings.ToLower(path.Base(name))
	stem := strings.TrimSuffix(base, path.Ext(base))
	return strings.HasSuffix(stem, "_test") || strings.HasPrefix(stem, "test_") || strings.HasSuffix(stem, ".test") ||
		strings.HasSuffix(stem, ".spec") || strings.HasSuffix(path.Base(name), "Test.java") ||
		slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(dir string) bool {
			return dir == "test" || dir == "tests" || slices.Contains(sampleDirs, dir)
		})
}
