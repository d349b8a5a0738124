// Quickstart mends broken files and learns who can mend what.
//
//	go run ./examples/quickstart
//
// Six small programs each mend one kind of break. The gate is the parser of the format, for Go the compiler.
// Nobody says which program fits which break: the first session tries, the second knows. Where OPENAI_API_KEY
// or OPENAI_BASE_URL is set, a model that may call the gate as a tool is tried, too, after the programs.
package main

import (
	"cmp"
	"context"
	"embed"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/tools"
	"github.com/arc-learn/arc/contrib/openai"
	"github.com/arc-learn/arc/reason"
)

//go:embed testdata
var broken embed.FS // those of the second session are other files, broken in the same ways

// file is what has to be mended, and the data of an objective.
type file struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

// check is the gate: nil where the format's own parser, or the compiler, takes the file.
func check(ctx context.Context, f file) error {
	switch filepath.Ext(f.Name) {
	case ".json":
		var v any
		return json.Unmarshal([]byte(f.Content), &v)
	case ".yaml":
		var v any
		return yaml.Unmarshal([]byte(f.Content), &v)
	case ".csv":
		_, err := csv.NewReader(strings.NewReader(f.Content)).ReadAll()
		return err
	}
	dir, err := os.MkdirTemp("", "quickstart")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, f.Name), []byte(f.Content), 0o600); err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", os.DevNull, f.Name)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		_, said, _ := strings.Cut(string(out), "\n") // after the package's name
		return fmt.Errorf("%s", strings.SplitN(strings.TrimSpace(said), "\n", 2)[0])
	}
	return nil
}

// programs are the workers: each mends one kind of break, and does harm or nothing elsewhere.
var programs = map[string]func(string) string{
	"commas":  func(s string) string { return regexp.MustCompile(`,(\s*[}\]])`).ReplaceAllString(s, "$1") },
	"quotes":  func(s string) string { return strings.ReplaceAll(s, "'", `"`) },
	"tabs":    func(s string) string { return strings.ReplaceAll(s, "\t", "  ") },
	"imports": func(s string) string { return regexp.MustCompile(`import "\w+"\n`).ReplaceAllString(s, "") },
	"columns": func(s string) string {
		lines := strings.Split(strings.TrimSpace(s), "\n")
		for i, l := range lines {
			lines[i] += strings.Repeat(",", max(0, strings.Count(lines[0], ",")-strings.Count(l, ",")))
		}
		return strings.Join(lines, "\n")
	},
	"braces": func(s string) string {
		return s + strings.Repeat("}", max(0, strings.Count(s, "{")-strings.Count(s, "}")))
	},
}

func worker(name string, mend func(string) string) act.Worker {
	execute := func(_ context.Context, c *act.Call) (*act.Result, error) {
		var f file
		if err := json.Unmarshal(c.Data, &f); err != nil {
			return nil, err
		}
		return &act.Result{Text: mend(f.Content)}, nil
	}
	return act.Worker{Name: name, Executor: act.ExecutorFunc(execute)}
}

// model is a worker too: it sees the file and what the gate says of its drafts.
func model() (act.Worker, bool) {
	url := os.Getenv("OPENAI_BASE_URL")
	if url == "" && os.Getenv("OPENAI_API_KEY") == "" {
		return act.Worker{}, false
	}
	try := func(ctx context.Context, f file) (string, error) {
		if err := check(ctx, f); err != nil {
			return err.Error(), nil
		}
		return "ok", nil
	}
	llm := openai.New(cmp.Or(os.Getenv("OPENAI_MODEL"), "gpt-5-mini"), &openai.Options{URL: url})
	return act.Worker{
		Name: "model", Description: "Mends any file. Answers with the whole file and nothing else.", Price: .01,
		Executor: tools.New(llm, nil, tools.Func("check", "Says whether a file parses or compiles.", try)),
	}, true
}

// verify is the gate of all workers: what it passes is delivered, and what it refuses is tried otherwise.
var verify = act.GateFunc(func(ctx context.Context, c *act.Call, r *act.Result) (act.Verdict, error) {
	var f file
	if err := json.Unmarshal(c.Data, &f); err != nil {
		return act.Verdict{}, err
	}
	err := check(ctx, file{Name: f.Name, Content: r.Text})
	if err == nil && 2*len(r.Text) < len(f.Content) { // a model's refusal in words is a CSV file, too
		err = fmt.Errorf("most of the file is gone")
	}
	if err != nil {
		return act.Verdict{Complaint: err.Error()}, nil
	}
	return act.Verdict{Pass: true}, nil
})

// places are what differs between two errors of one kind: numbers, quoted words, the file's name.
var places = regexp.MustCompile(`\d+|"[^"]*"|'[^']+'|\./\S+:`)

func main() {
	verbose := flag.Bool("v", false, "print every event")
	flag.Parse()
	if err := run(context.Background(), *verbose); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, verbose bool) error {
	dir, err := os.MkdirTemp("", "arc-quickstart")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	host := arc.Host{Gates: []act.Gate{verify}}
	for name, mend := range programs {
		host.Workers = append(host.Workers, worker(name, mend))
	}
	if m, ok := model(); ok {
		host.Workers = append(host.Workers, m)
	}
	agent, err := arc.Open(ctx, dir, host, &arc.Options{Attempts: 2 * len(host.Workers), Seed: 1})
	if err != nil {
		return err
	}
	defer agent.Close()
	fmt.Printf("%d programs mend files; nobody says which mends what. The gate is the parser.\n", len(programs))
	first, err := session(ctx, agent, "1", verbose)
	if err != nil {
		return err
	}
	second, err := session(ctx, agent, "2", verbose)
	if err != nil {
		return err
	}
	fmt.Printf("\n%d attempts in %v, then %d in %v: %d attempts saved.\n", first.attempts, first.took,
		second.attempts, second.took, first.attempts-second.attempts)
	if usage := first.usage.Add(second.usage); usage != nil {
		fmt.Printf("The model took %d tokens.\n", usage.Input+usage.Output)
	}
	fmt.Println("Next: examples/hello, a model with tools; examples/layer, memory in your loop.")
	return nil
}

// total is what a session took.
type total struct {
	attempts int
	took     time.Duration
	usage    *reason.Usage // nil: no model was asked
}

// session has all files of a folder mended, one after the other.
func session(ctx context.Context, agent *arc.Agent, number string, verbose bool) (sum total, err error) {
	fmt.Printf("\nSession %s\n", number)
	began := time.Now()
	names, err := fs.Glob(broken, "testdata/"+number+"/*")
	if err != nil {
		return sum, err
	}
	for _, name := range names {
		content, err := fs.ReadFile(broken, name)
		if err != nil {
			return sum, err
		}
		f := file{Name: path.Base(name), Content: string(content)}
		flaw := check(ctx, f)
		if flaw == nil {
			return sum, fmt.Errorf("%s is not broken", name)
		}
		data, err := json.Marshal(f)
		if err != nil {
			return sum, err
		}
		// Cases are equal whose Situation is equal: the format, and the error without its places.
		o := arc.Objective{ID: name, Text: "mend " + f.Name, Data: data}
		o.Situation = filepath.Ext(f.Name) + places.ReplaceAllString(flaw.Error(), "")
		by := "" // the worker that delivered
		for e, err := range agent.Events(ctx, o) {
			if err != nil {
				return sum, err
			}
			if e.Kind == "passed" {
				by = e.Name
			}
			if verbose {
				fmt.Printf("    %s %s %s\n", e.Kind, e.Name, e.Text)
			}
		}
		r, err := agent.In("").Report(ctx, o.ID)
		if err != nil {
			return sum, err
		}
		fmt.Printf("  %-12s %-38.38s %-9s %-7s %d\n", f.Name, flaw, r.Status, by, r.Attempts)
		sum.attempts, sum.usage = sum.attempts+r.Attempts, sum.usage.Add(r.Usage)
	}
	sum.took = time.Since(began).Round(10 * time.Millisecond)
	return sum, nil
}
