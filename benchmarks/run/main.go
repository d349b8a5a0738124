// Command run measures everything that docs/benchmarks.md says, and writes it, with its pictures:
//
//	go run ./benchmarks/run -data DIR [-keep DIR] [-only REGEXP]
//
// The page is page.md with each command's figures below it. A block of code whose first line begins with
// "run" names a folder and has one command; the command stays, and what it printed follows: the rows of
// tables with "table", else the lines that "lines" matches. "chart=NAME column=N" makes docs/NAME.svg of a
// table's column N, by the columns before it.
//
// -data is the directory with the recorded sets ($DATA in commands). With -keep, what commands print is kept
// there, and those are not run again that -only does not match; so that a part can be measured anew. A
// command that fails ends it.
package main

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed page.md
var page string

var (
	block   = regexp.MustCompile("(?m)^```run (.*)\n((?:.*\n)+?)```\n")
	options = regexp.MustCompile(`(\w+)=("[^"]*"|\S+)`)
	columns = regexp.MustCompile(` *\t *`)
	place   = regexp.MustCompile(`^\s*\w+_test\.go:\d+: `)
)

func main() {
	log.SetFlags(0)
	data := flag.String("data", "", "directory with the recorded sets")
	keep := flag.String("keep", "", "directory for what commands print")
	only := flag.String("only", "", "run commands that match; with -keep")
	flag.Parse()
	if *data == "" {
		log.Fatal("no -data: see go doc")
	}
	root, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/arc-learn/arc").Output()
	if err != nil {
		log.Fatal(err)
	}
	r := runner{root: strings.TrimSpace(string(root)), data: *data, keep: *keep, only: regexp.MustCompile(*only)}
	text := block.ReplaceAllStringFunc(page, func(s string) string {
		m := block.FindStringSubmatch(s)
		out, err := r.section(m[1], strings.TrimSpace(m[2]))
		if err != nil {
			log.Fatal(m[2], err)
		}
		return out
	})
	if err := os.WriteFile(filepath.Join(r.root, "docs", "benchmarks.md"), []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}
}

type runner struct {
	root, data, keep string
	only             *regexp.Regexp
}

// section is a command with what it printed.
func (r *runner) section(head, command string) (string, error) {
	o := map[string]string{"dir": ".", "column": "1"}
	for _, m := range options.FindAllStringSubmatch(head, -1) {
		o[m[1]] = strings.Trim(m[2], `"`)
	}
	printed, err := r.output(o["dir"], command)
	if err != nil {
		return "", err
	}
	shown := "`" + command + "`"
	if o["dir"] != "." {
		shown = "`cd " + o["dir"] + " && " + command + "`"
	}
	lines, err := regexp.Compile(o["lines"])
	if err != nil {
		return "", err
	}
	var kept []string
	for line := range strings.Lines(printed) {
		line = columns.ReplaceAllString(place.ReplaceAllString(strings.TrimRight(line, "\n"), ""), "  ")
		wanted := strings.HasPrefix(line, "|") || // and an empty line, so that tables stay apart
			line == "" && len(kept) > 0 && kept[len(kept)-1] != ""
		if o["lines"] != "" {
			wanted = lines.MatchString(line)
		}
		if wanted {
			kept = append(kept, line)
		}
	}
	if n := len(kept); n > 0 && kept[n-1] == "" {
		kept = kept[:n-1]
	}
	if len(kept) == 0 {
		return "", fmt.Errorf(": no figures in\n%s", printed)
	}
	if name := o["chart"]; name != "" {
		svg, err := chart(kept, o["column"], o["title"])
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(r.root, "docs", name+".svg"), svg, 0o644); err != nil {
			return "", err
		}
		shown = "![" + o["title"] + "](" + name + ".svg)\n\n" + shown
	}
	figures := strings.Join(kept, "\n")
	if o["lines"] != "" {
		figures = "```\n" + figures + "\n```"
	}
	return shown + "\n\n" + figures + "\n", nil
}

// output is what a command prints, or has printed.
func (r *runner) output(dir, command string) (string, error) {
	kept := filepath.Join(r.keep, regexp.MustCompile(`\W+`).ReplaceAllString(dir+" "+command, "_")+".txt")
	if r.keep != "" && !(r.only.String() != "" && r.only.MatchString(command)) {
		if b, err := os.ReadFile(kept); err == nil {
			return string(b), nil
		}
	}
	log.Print(dir, ": ", command)
	var out bytes.Buffer
	cmd := exec.Command("bash", "-c", command)
	cmd.Dir, cmd.Env = filepath.Join(r.root, dir), append(os.Environ(), "DATA="+r.data)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf(": %w\n%s", err, out.String())
	}
	if r.keep == "" {
		return out.String(), nil
	}
	return out.String(), os.WriteFile(kept, out.Bytes(), 0o644)
}
