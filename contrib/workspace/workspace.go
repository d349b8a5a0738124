// Package workspace lets an agent work in a folder: tools for its files, a shell and other programs as tools,
// coding agents such as Claude Code as workers, and a Source that finds the code an objective speaks of.
//
//	w := &workspace.Workspace{Dir: worktree.Dir, Keep: []string{".git"}} // or Dir: workspace.In("/srv/site")
//	all := append(w.Files(), w.Shell())
//	edit := act.Worker{Name: "edit", Executor: tools.New(model, nil, all...), Gates: gates}
//	host := arc.Host{Workers: []act.Worker{edit}, Sources: []reason.Source{w.Search}}
//
// Tools for files reach nothing outside the folder but what a hard link reads. Programs do as users may.
package workspace

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/tools"
	"github.com/arc-learn/arc/contrib/command"
	"github.com/arc-learn/arc/reason"
)

// Workspace is a folder that an agent works in. Its methods may be used concurrently.
type Workspace struct {
	// Dir is the folder a call works in, such as worktree.Dir; required. [act.CallOf] says whose call it is.
	Dir func(ctx context.Context) string

	// Env is all of the environment of programs, as NAME=value; nil: that of the process. Leave out what a model
	// must not read, such as the keys of providers.
	Env func() []string

	// Keep are files and folders at the top of the folder that the tools for files refuse to change.
	Keep []string

	mu    sync.Mutex        // held by a tool for files: of two edits the second sees the first
	known map[[32]byte]bool // digests of what attempts have read or written whole
}

// In is a Dir that is always the same. Of "", the folder of the process, each call is an error.
func In(dir string) func(context.Context) string {
	return func(context.Context) string { return dir }
}

// Text runs a program in the folder, as [command.Run] does, and returns what it printed.
func (w *Workspace) Text(ctx context.Context, stdin []byte, argv ...string) (string, error) {
	out, err := w.run(ctx, stdin, nil, argv)
	return strings.ToValidUTF8(string(out), "\uFFFD"), err
}

func (w *Workspace) run(ctx context.Context, stdin []byte, env, argv []string) ([]byte, error) {
	own, dir := os.Environ(), w.Dir(ctx)
	if dir == "" { // which would be that of the process
		return nil, errors.New("the attempt has no folder to work in")
	}
	if w.Env != nil {
		own = w.Env()
	}
	return command.Run(ctx, dir, append(slices.Clip(own), env...), stdin, argv...)
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
	t := tools.Func("shell", "Runs a command line in the working folder.", func(ctx context.Context, in struct {
		Command string `json:"command"`
	}) (string, error) {
		return w.Text(ctx, nil, "sh", "-c", in.Command)
	})
	t.Mode = act.Gated
	return t
}

// Files are tools for text files in UTF-8 of up to 1 MiB:
//
//	list_files {path}            the names in a folder; without a path, in the working one
//	read_file {path, from}       the text; of a long one, and with from, some 16 KiB of lines from that one on
//	write_file {path, text}      a new file, or all of one that is there
//	edit_file {path, old, new}   puts new in the place of old, which has to stand there once, to the letter
//
// write_file replaces a text that the attempt has read or written whole, and no other: so a plan reads the
// file first, and is left where that has changed. An edit, and a restart, want it read again. What was not
// shown, such as a token, is not replaced by what stood for it, and nothing is written through a link: a file
// is written beside, as its name with "~arc", and renamed. A full disk or a kill leaves it as it was.
func (w *Workspace) Files() []tools.Tool {
	if w.Dir == nil {
		panic("workspace: a Workspace without Dir")
	}
	return []tools.Tool{
		tool(w, "list_files", "Lists a folder, or the working one.", func(p *place, in struct {
			Path string `json:"path,omitempty"`
		}) (string, error) {
			entries, err := fs.ReadDir(p.FS(), cmp.Or(in.Path, "."))
			var b strings.Builder
			for _, e := range entries {
				b.WriteString(fs.FormatDirEntry(e) + "\n")
			}
			return b.String(), err
		}),
		tool(w, "read_file", "Reads a text file. Of a long one, some lines.", func(p *place, in struct {
			Path string `json:"path"`
			From int    `json:"from,omitempty" jsonschema:"the first line to read; 1 if there is none"`
		}) (string, error) {
			text, err := p.text(in.Path)
			if err != nil {
				return "", err
			}
			if in.From <= 1 && len(text) <= maxShown {
				p.known[p.digest(in.Path, text)] = true
				return text, nil
			}
			var b strings.Builder
			n, to, from := 0, 0, max(1, in.From)
			for line := range strings.Lines(text) {
				if n++; n == from || n > from && n == to+1 && b.Len()+len(line) <= maxShown {
					b.WriteString(line)
					to = n
				}
			}
			return fmt.Sprintf("(lines %d to %d of %d)\n%s", from, to, n, &b), nil
		}),
		tool(w, "write_file", "Writes a text file, whole. Read one that is there first.", func(p *place, in struct {
			Path string `json:"path"`
			Text string `json:"text"`
		}) (string, error) {
			old, err := p.text(in.Path)
			switch {
			case errors.Is(err, fs.ErrNotExist): // a new one
			case err != nil:
				return "", err
			case !p.known[p.digest(in.Path, old)]:
				return "", fmt.Errorf("%s is not as you have read it whole: read it, or use edit_file", in.Path)
			case in.Text == "":
				return "", errors.New("there is no text")
			}
			p.known[p.digest(in.Path, in.Text)] = true
			return "written", p.write(in.Path, old, in.Text)
		}),
		tool(w, "edit_file", "Puts a text in the place of one that a file has once.", func(p *place, in struct {
			Path string `json:"path"`
			Old  string `json:"old" jsonschema:"to the letter, with so much around it that it stands there once"`
			New  string `json:"new"`
		}) (string, error) {
			text, err := p.text(in.Path)
			if n := strings.Count(text, in.Old); err == nil && n != 1 {
				err = fmt.Errorf("old stands in %s %d times, to the letter, and has to stand there once", in.Path, n)
			}
			if err != nil {
				return "", err
			}
			return "edited", p.write(in.Path, text, strings.Replace(text, in.Old, in.New, 1))
		}),
	}
}

// Bytes of a file, and what tools.New shows a model, beside a line that says which part it is.
const maxFile, maxShown = 1 << 20, 16<<10 - 64

// tool is a tool for a file.
func tool[In any](w *Workspace, name, about string, f func(p *place, in In) (string, error)) tools.Tool {
	return tools.Func(name, about, func(ctx context.Context, in In) (string, error) {
		root, err := os.OpenRoot(w.Dir(ctx))
		if err != nil {
			return "", err
		}
		defer root.Close()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.known == nil || len(w.known) > 1<<14 { // who is forgotten reads again
			w.known = map[[32]byte]bool{}
		}
		return f(&place{w, root, act.CallOf(ctx).Key()}, in)
	})
}

// place is the folder of a call of an attempt. mu is held.
type place struct {
	*Workspace
	*os.Root
	attempt string
}

// text reads a file.
func (p *place) text(path string) (string, error) {
	info, err := p.Stat(filepath.Clean(path)) // as write has it
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile) {
		err = fmt.Errorf("%s is no file, or has over 1 MiB", path)
	}
	if err != nil {
		return "", err
	}
	data, err := p.ReadFile(filepath.Clean(path))
	if err == nil && !utf8.Valid(data) {
		err = fmt.Errorf("%s is no text in UTF-8", path)
	}
	return string(data), err
}

func (p *place) digest(path, text string) [32]byte {
	return sha256.Sum256([]byte(p.attempt + "\x00" + filepath.Clean(path) + "\x00" + text))
}

// write puts a text in the place of another. The path is cleaned: Root would follow a link before a "..".
func (p *place) write(path, old, text string) error {
	path = filepath.Clean(path)
	top, _, _ := strings.Cut(filepath.ToSlash(path), "/")
	if slices.ContainsFunc(p.Keep, func(name string) bool { return strings.EqualFold(name, top) }) {
		return fmt.Errorf("%s is the person's", path)
	}
	for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
		if info, err := p.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 { // into what is kept, say
			return fmt.Errorf("%s is a link: write to where it leads", at)
		}
	}
	if strings.Count(text, "[redacted:") > strings.Count(old, "[redacted:") {
		return errors.New("[redacted:…] stands for what you were not shown: use edit_file for the rest")
	}
	info, missing := p.Stat(path)
	if len(text) > maxFile || missing == nil && info.Mode()&0o200 == 0 {
		return fmt.Errorf("%s is read-only, or would have over 1 MiB", path)
	}
	beside := path + "~arc"
	err := p.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil {
		_ = p.Remove(beside)
		err = p.WriteFile(beside, []byte(text), 0o666)
	}
	if err == nil && missing == nil {
		err = p.Chmod(beside, info.Mode().Perm())
	}
	if err == nil {
		return p.Rename(beside, path)
	}
	_ = p.Remove(beside)
	return err
}

// Search is a reason.Source: of the folder's git repository, the five files in which most of the objective's
// words of four letters and more stand, each cut behind a word to its share of the tokens.
func (w *Workspace) Search(ctx context.Context, objective string, tokens int) (out []string, err error) {
	hits := map[string]int{}
	for _, word := range slices.Compact(slices.Sorted(strings.FieldsSeq(strings.ToLower(objective)))) {
		if word = strings.Trim(word, ".,:;!?()\"'`"); utf8.RuneCountInString(word) < 4 {
			continue
		}
		// Its exit code is 1 where it finds none.
		found, _ := w.Text(ctx, nil, "git", "-c", "core.fsmonitor=false", "grep", "--no-color", "-zliFIe", word)
		for f := range strings.FieldsFuncSeq(found, func(r rune) bool { return r == 0 }) {
			hits[f]++
		}
	}
	files := slices.SortedFunc(maps.Keys(hits), func(x, y string) int {
		return cmp.Or(hits[y]-hits[x], strings.Compare(x, y))
	})
	for _, f := range files[:min(len(files), 5)] {
		data, err := os.ReadFile(filepath.Join(w.Dir(ctx), f))
		if err == nil && utf8.Valid(data) { // three bytes count as a token
			if n := 3 * tokens / 5; n < len(data) { // whole words: of half a secret nobody knows what it is
				data = data[:bytes.LastIndexAny(data[:n], " \n")+1]
			}
			out = append(out, f+"\n"+string(data))
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
