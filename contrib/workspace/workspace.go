// Package workspace lets an agent work in a folder: tools for its files, a shell and other programs as tools,
// coding agents such as Claude Code as workers, and a Source that finds the code an objective speaks of.
//
//	w := &workspace.Workspace{Dir: worktree.Dir, Keep: []string{".git"}} // or Dir: workspace.In("/srv/site")
//	all := append(w.Files(), w.Shell())
//	edit := act.Worker{Name: "edit", Executor: tools.New(model, nil, all...), Gates: gates}
//	host := arc.Host{Workers: []act.Worker{edit}, Sources: []reason.Source{w.Search}}
//
// Tools for files reach nothing outside the folder, by links neither. Programs do what their user may.
package workspace

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/tools"
	"github.com/arc-learn/arc/contrib/command"
	"github.com/arc-learn/arc/reason"
)

// Workspace is a folder that an agent works in. Its methods may be used concurrently.
type Workspace struct {
	// Dir is the folder that a call works in, such as worktree.Dir.
	Dir func(ctx context.Context) string

	// Env is all of the environment of programs, as NAME=value; nil: that of the process. Leave out what a model
	// must not read, such as the keys of providers.
	Env func() []string

	// Keep are files and folders at the top of the folder that write_file refuses to change.
	Keep []string
}

// In is a Dir that is always the same.
func In(dir string) func(context.Context) string { return func(context.Context) string { return dir } }

// Argv is a command line whose program, where it is given by a relative path, is that of the folder.
func (w *Workspace) Argv(ctx context.Context, argv ...string) []string {
	if strings.Contains(argv[0], "/") && !filepath.IsAbs(argv[0]) {
		return append([]string{filepath.Join(w.Dir(ctx), argv[0])}, argv[1:]...)
	}
	return argv
}

// Text runs a program in the folder, as [command.Run] does, and returns what it printed.
func (w *Workspace) Text(ctx context.Context, stdin []byte, argv ...string) (string, error) {
	out, err := w.run(ctx, stdin, nil, argv)
	return strings.ToValidUTF8(string(out), "\uFFFD"), err
}

func (w *Workspace) run(ctx context.Context, stdin []byte, env, argv []string) ([]byte, error) {
	own := os.Environ()
	if w.Env != nil {
		own = w.Env()
	}
	return command.Run(ctx, w.Dir(ctx), append(slices.Clip(own), env...), stdin, w.Argv(ctx, argv...)...)
}

// Program returns t with a Call that runs a program, which gets the inputs as JSON on its standard input and
// the secrets that t lists as variables of its environment. What it prints is JSON, or else a JSON string.
func (w *Workspace) Program(t tools.Tool, argv ...string) tools.Tool {
	names := t.Secrets
	t.Call = func(ctx context.Context, inputs json.RawMessage) (json.RawMessage, error) {
		var env []string
		for _, name := range names {
			env = append(env, name+"="+act.Secret(ctx, name))
		}
		out, err := w.run(ctx, inputs, env, argv)
		if text := bytes.TrimSpace(out); err != nil || json.Valid(text) {
			return text, err
		}
		return json.Marshal(strings.ToValidUTF8(string(out), "\uFFFD"))
	}
	return t
}

// Shell is a tool that runs a command line with sh. It is Gated: a person allows each.
func (w *Workspace) Shell() tools.Tool {
	const about = "Runs a command line with sh, in the working folder."
	t := tools.Func("shell", about, func(ctx context.Context, in struct {
		Command string `json:"command"`
	}) (string, error) {
		return w.Text(ctx, nil, "sh", "-c", in.Command)
	})
	t.Mode = act.Gated
	return t
}

// Files are the tools list_files, read_file and write_file, for text in UTF-8. write_file writes through no link;
// what a full disk does not take leaves a file as it was, and a kill may leave a part of it.
func (w *Workspace) Files() []tools.Tool {
	type file struct {
		Path string `json:"path,omitempty"`
		Text string `json:"text,omitempty"`
	}
	tool := func(name, about string, f func(r *os.Root, in file) (string, error)) tools.Tool {
		return tools.Func(name, about, func(ctx context.Context, in file) (string, error) {
			root, err := os.OpenRoot(w.Dir(ctx))
			if err != nil {
				return "", err
			}
			defer root.Close()
			info, err := root.Stat(in.Path)
			if err == nil && !info.IsDir() && (!info.Mode().IsRegular() || info.Size() > 1<<20) {
				return "", fmt.Errorf("%s is no file, or has over 1 MiB", in.Path)
			}
			return f(root, in)
		})
	}
	return []tools.Tool{
		tool("list_files", "Lists a folder, or the working one.", func(r *os.Root, in file) (string, error) {
			entries, err := fs.ReadDir(r.FS(), cmp.Or(in.Path, "."))
			var b strings.Builder
			for _, e := range entries {
				b.WriteString(fs.FormatDirEntry(e) + "\n")
			}
			return b.String(), err
		}),
		tool("read_file", "Reads a text file.", func(r *os.Root, in file) (string, error) {
			data, err := r.ReadFile(in.Path)
			if err == nil && !utf8.Valid(data) {
				err = fmt.Errorf("%s is no text in UTF-8", in.Path)
			}
			return string(data), err
		}),
		tool("write_file", "Writes a text file, whole.", func(r *os.Root, in file) (string, error) {
			top, _, _ := strings.Cut(filepath.ToSlash(filepath.Clean(in.Path)), "/")
			if slices.ContainsFunc(w.Keep, func(name string) bool { return strings.EqualFold(name, top) }) {
				return "", fmt.Errorf("%s is the person's", in.Path)
			}
			for p := filepath.Clean(in.Path); p != filepath.Dir(p); p = filepath.Dir(p) {
				if info, err := r.Lstat(p); err == nil && info.Mode()&fs.ModeSymlink != 0 { // into what is kept, say
					return "", fmt.Errorf("%s is a link: write to where it leads", p)
				}
			}
			old, _ := r.ReadFile(in.Path) // of which a model has seen 16 KiB, without tokens: see tools.New
			token := strings.Contains(in.Text, "[redacted:") && !bytes.Contains(old, []byte("[redacted:"))
			if token || len(old) > 16<<10 || !utf8.Valid(old) || len(old) > 0 && in.Text == "" {
				return "", fmt.Errorf("%s has what you were not shown, or there is no text: a program can edit it", in.Path)
			}
			err := r.MkdirAll(filepath.Dir(in.Path), 0o777)
			if err == nil {
				err = r.WriteFile(in.Path, []byte(in.Text), 0o666)
			}
			if err != nil && len(old) > 0 { // a full disk has room for what it had
				err = errors.Join(err, r.WriteFile(in.Path, old, 0o666))
			}
			return "written", err
		}),
	}
}

// Search is a reason.Source: of the folder's git repository, the five files in which most of the objective's
// words of four letters and more stand, each cut to its share of the tokens. It needs a repository.
func (w *Workspace) Search(ctx context.Context, objective string, tokens int) (out []string, err error) {
	hits := map[string]int{}
	for _, word := range slices.Compact(slices.Sorted(strings.FieldsSeq(strings.ToLower(objective)))) {
		if word = strings.Trim(word, ".,:;!?()\"'`"); utf8.RuneCountInString(word) < 4 {
			continue
		}
		found, _ := w.Text(ctx, nil, "git", "grep", "-liFI", "-e", word) // its exit code is 1 where it finds none
		for f := range strings.Lines(found) {
			hits[strings.TrimSpace(f)]++
		}
	}
	files := slices.SortedFunc(maps.Keys(hits), func(x, y string) int {
		return cmp.Or(hits[y]-hits[x], strings.Compare(x, y))
	})
	for _, f := range files[:min(len(files), 5)] {
		data, err := os.ReadFile(filepath.Join(w.Dir(ctx), f))
		if err == nil && utf8.Valid(data) {
			text := string(data[:min(len(data), 3*tokens/5)]) // three bytes count as a token
			out = append(out, f+"\n"+strings.ToValidUTF8(text, ""))
		}
	}
	return out, ctx.Err()
}

// CodingAgent reads the answers of an executor that runs a coding agent, such as command.New of «claude -p
// --output-format json»: the result, and what it took. An answer of another form is left as it is.
func CodingAgent(agent act.Executor) act.Executor {
	return act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
		r, err := agent.Execute(ctx, c)
		if err != nil {
			return r, err
		}
		var answer struct {
			Type    string         `json:"type"`
			Result  string         `json:"result"`
			IsError bool           `json:"is_error"`
			Cost    *float64       `json:"total_cost_usd"`
			Usage   map[string]any `json:"usage"`
		}
		if json.Unmarshal(r.Output, &answer) != nil || answer.Type != "result" {
			return r, nil
		}
		tokens := func(of string) int { n, _ := answer.Usage[of].(float64); return int(n) }
		u := reason.Usage{Calls: 1, Output: tokens("output_tokens"), Cached: tokens("cache_read_input_tokens")}
		u.Input = tokens("input_tokens") + u.Cached + tokens("cache_creation_input_tokens")
		r.Usage, u.CostUSD = &u, answer.Cost
		r.Text = answer.Result
		if r.Output, err = json.Marshal(answer.Result); err == nil && answer.IsError {
			err = &reason.Error{Usage: r.Usage, Err: errors.New(answer.Result)}
		}
		return r, err
	})
}
