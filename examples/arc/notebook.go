package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/store"
)

// notebook keeps MEMORY.md and the memory of a scope in step. Each list item and
// paragraph of the file is a fact. What a person adds is remembered as a User's; what a
// person takes out is archived, unless arc has learned it: then it stays known, and is
// not written again. What arc learns is appended below "## Learned". The base is what
// the file was when both agreed, so that a change of one side is told from one of the other.
// A base of which memory knows nothing is of another scope or store: the file is read anew.
type notebook struct {
	file, base string
	space      memory.Space
	forgotten  []memory.ID // by a person's word, so that their lines go
	// swap replaces the file if it is still as it was read: os.ErrExist if it is not.
	swap func(file string, was, is []byte) error
}

const (
	notebookRef    = "MEMORY.md"
	notebookTokens = 2000
	learnedHeading = "## Learned"
	flagged        = "[FLAG]"
)

// line is a fact of the file.
type line struct {
	Text string    `json:"text"`
	ID   memory.ID `json:"id"`
	Own  bool      `json:"own,omitempty"` // arc has learned it
}

// agreed is the base as it is stored. Next is there while the file is being written:
// after a crash it is not known which of the two the file is.
type agreed struct {
	Was  []line      `json:"was"`
	Next []line      `json:"next,omitempty"`
	Told []memory.ID `json:"told,omitempty"` // learned, and once in the file
}

// noted is what a sync did. Full says that the file has more than notebookTokens, with
// nothing left in it that arc may take out.
type noted struct {
	Read, Aside, Written, Dropped int
	Full, Changed, Committed      bool
	Long                          []string `json:",omitempty"` // lines that no memory holds, by how they begin
}

// String is what was done, in words.
func (n noted) String() string {
	words := []string{}
	for _, w := range []struct {
		n    int
		what string
	}{{n.Read, "read"}, {n.Aside, "put aside"}, {n.Written, "written"}, {n.Dropped, "taken out, and still known"}} {
		if w.n > 0 {
			words = append(words, plural(w.n, "line", "lines")+" "+w.what)
		}
	}
	for _, l := range n.Long {
		words = append(words, fmt.Sprintf("%q is too long for a line", l))
	}
	if n.Full {
		words = append(words, fmt.Sprintf("over %d tokens: shorten it", notebookTokens))
	}
	if len(words) == 0 {
		return "nothing new"
	}
	return strings.Join(words, ", ")
}

// sync brings file and memory together, and tells in the file what was learned.
func (n *notebook) sync(ctx context.Context, learned []memory.ID) (done noted, err error) {
	for range 10 {
		var b agreed
		if text, err := os.ReadFile(n.base); err == nil {
			if err := json.Unmarshal(text, &b); err != nil {
				return done, err
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return done, err
		}
		if strange, err := n.strange(ctx, b); err != nil {
			return done, err
		} else if strange {
			b = agreed{}
		}
		was, err := os.ReadFile(n.file)
		missing := errors.Is(err, fs.ErrNotExist)
		if err != nil && !missing {
			return done, err
		}
		done.Long = nil
		p := page{lines: strings.Split(strings.TrimSuffix(string(was), "\n"), "\n"), done: &done}
		if missing {
			p.lines = []string{"# Memory", "", learnedHeading}
		}
		next, err := n.read(ctx, &p, b, missing)
		if err != nil {
			return done, err
		}
		if next, err = n.learn(ctx, &p, next, &b, learned); err != nil {
			return done, err
		}
		next = p.consolidate(next)
		is := []byte(strings.Join(p.lines, "\n") + "\n")
		if missing && len(next) == 0 || bytes.Equal(was, is) && b.Next == nil && slices.Equal(b.Was, next) {
			return done, nil
		}
		b.Next = next
		err = writeJSON(n.base, b)
		if err == nil && !bytes.Equal(was, is) {
			err = n.swap(n.file, was, is)
		}
		if errors.Is(err, fs.ErrExist) {
			continue // a person was faster: what is there now counts
		}
		if err != nil {
			return done, err
		}
		done.Changed = true
		for _, l := range next {
			if l.Own && !slices.Contains(b.Told, l.ID) {
				b.Told = append(b.Told, l.ID)
			}
		}
		b.Was, b.Next = next, nil
		return done, writeJSON(n.base, b)
	}
	return done, fmt.Errorf("%s changes all the time", n.file)
}

// erase takes what arc has learned out of the file, where the next sync would read it as a
// person's, and removes the base, which repeats what is erased.
func (n *notebook) erase() error {
	var b agreed
	base, err := os.ReadFile(n.base)
	if err == nil {
		err = json.Unmarshal(base, &b)
	}
	was, err2 := os.ReadFile(n.file)
	if err = errors.Join(err, err2); err == nil {
		p := page{lines: strings.Split(strings.TrimSuffix(string(was), "\n"), "\n")}
		for _, l := range slices.Concat(b.Was, b.Next) {
			if l.Own {
				p.remove(l.Text)
			}
		}
		err = n.swap(n.file, was, []byte(strings.Join(p.lines, "\n")+"\n"))
	}
	return cmp.Or(os.Remove(n.base), err)
}

// strange reports whether memory knows no line of a base.
func (n *notebook) strange(ctx context.Context, b agreed) (bool, error) {
	for _, l := range b.Was {
		if slices.Contains(n.forgotten, l.ID) {
			return false, nil
		}
		if _, err := n.space.Get(ctx, l.ID); !errors.Is(err, store.ErrNotFound) {
			return false, err
		}
	}
	return len(b.Was) > 0, nil
}

// read takes in what a person has changed. It returns the lines of the page, with those
// that were being written when a process ended.
func (n *notebook) read(ctx context.Context, p *page, b agreed, missing bool) (next []line, err error) {
	known := map[string]line{}
	for _, l := range slices.Concat(b.Was, b.Next) {
		known[l.Text] = l
	}
	there := map[string]bool{}
	for _, it := range p.items() {
		l, ok := known[it.text]
		switch r, err := n.space.Get(ctx, l.ID); {
		case there[it.text]: // said twice in the file: one fact
			continue
		case len(it.text) > memory.MaxText:
			p.done.Long = append(p.done.Long, clip(it.text, 40))
			continue
		case ok && errors.Is(err, store.ErrNotFound): // for good, but what a person has written stands
			if l.Own || slices.Contains(n.forgotten, l.ID) {
				p.remove(it.text)
				continue
			}
			ok = false
		case ok && err != nil:
			return nil, err
		case ok && !l.Own && r.Archived: // unused, or taken out and put back: it stands there
			if err := n.space.Archive(ctx, l.ID, false); err != nil {
				return nil, err
			}
		}
		if !ok {
			r, err := n.space.Remember(ctx, memory.Draft{
				Kind: memory.Fact, Content: it.text, Source: memory.Source{Origin: memory.User, Ref: notebookRef},
			})
			if err != nil {
				return nil, err
			}
			p.done.Read++
			l = line{Text: it.text, ID: r.ID}
		}
		there[it.text] = true
		next = append(next, l)
	}
	for _, l := range slices.Concat(b.Was, b.Next) {
		if there[l.Text] {
			continue
		}
		there[l.Text] = true
		switch unwritten := l.Own && !slices.Contains(b.Was, l); {
		case missing || unwritten: // no person has taken it out
			if _, err := n.space.Get(ctx, l.ID); err == nil {
				next = append(next, l)
				p.add(l.Text, l.Own)
			}
		case !l.Own && !slices.ContainsFunc(next, func(o line) bool { return o.ID == l.ID }):
			if err := n.putAside(ctx, l.ID, p.done); err != nil {
				return nil, err
			}
		}
	}
	return next, nil
}

// putAside archives a fact that a person has taken out of the file, if it is from there.
func (n *notebook) putAside(ctx context.Context, id memory.ID, done *noted) error {
	r, err := n.space.Get(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && (r.Archived || r.Source.Ref != notebookRef) {
		return nil
	}
	if err == nil {
		done.Aside++
		err = n.space.Archive(ctx, id, true)
	}
	return err
}

// learn appends what was learned and was not in the file before.
func (n *notebook) learn(ctx context.Context, p *page, next []line, b *agreed, learned []memory.ID) ([]line, error) {
	for _, id := range learned {
		r, err := n.space.Get(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		l := line{Text: lesson(r), ID: r.ID, Own: true}
		same := func(o line) bool { return o.ID == l.ID || o.Text == l.Text }
		if slices.Contains(b.Told, l.ID) || slices.ContainsFunc(next, same) {
			continue
		}
		p.done.Written++
		p.add(l.Text, true)
		next = append(next, l)
	}
	return next, nil
}

// caseNumber ends the text of a pattern, and says nothing to people.
var caseNumber = regexp.MustCompile(` Case \d+\.$`)

// lesson is what a record taught, in a line.
func lesson(r memory.Record) string {
	text := caseNumber.ReplaceAllString(strings.ReplaceAll(oneLine(r.Content), "<!--", "<! --"), "")
	if r.Trigger != "" {
		when := map[memory.Kind]string{memory.Failure: "Avoid"}[r.Kind]
		if when == "" {
			when = "For"
		}
		text = fmt.Sprintf("%s %q: %s", when, clip(oneLine(r.Trigger), 100), text)
	}
	return clip(oneLine(text), 240)
}

// page is the text of the file, by lines.
type page struct {
	lines []string
	done  *noted
}

// listMark begins a list item.
var listMark = regexp.MustCompile(`^([-*+]|\d{1,9}[.)])$`)

// item is a list item or a paragraph, with the lines that it takes.
type item struct {
	text        string
	first, last int
}

// items returns the facts of the page: no headings, comments, fenced code or rules.
func (p *page) items() (all []item) {
	fence, comment, open := "", false, false
	for i, raw := range p.lines {
		text := strings.TrimSpace(strings.TrimPrefix(raw, "\ufeff")) // the mark before a file's first line
		switch {
		case fence != "":
			if strings.HasPrefix(text, fence) {
				fence = ""
			}
			continue
		case comment:
			comment = !strings.Contains(text, "-->")
			continue
		case strings.HasPrefix(text, "```"), strings.HasPrefix(text, "~~~"):
			fence, open = text[:3], false
			continue
		case strings.HasPrefix(text, "<!--"):
			comment, open = !strings.Contains(text, "-->"), false
			continue
		case text == "", strings.HasPrefix(text, "#"), strings.Trim(text, "-*_ ") == "":
			open = false
			continue
		}
		mark, rest, bullet := strings.Cut(text, " ")
		bullet = bullet && listMark.MatchString(mark)
		if bullet {
			text = strings.TrimSpace(rest)
		}
		text = oneLine(strings.ToValidUTF8(text, "\uFFFD"))
		if open && !bullet {
			last := &all[len(all)-1]
			last.text, last.last = strings.TrimSpace(last.text+" "+text), i
			continue
		}
		all, open = append(all, item{text, i, i}), true
	}
	return slices.DeleteFunc(all, func(it item) bool { return it.text == "" })
}

// remove takes out the items of a text.
func (p *page) remove(text string) {
	for {
		all := p.items()
		at := slices.IndexFunc(all, func(it item) bool { return it.text == text })
		if at < 0 {
			return
		}
		p.lines = slices.Delete(p.lines, all[at].first, all[at].last+1)
	}
}

// add writes an item: arc's own below the heading for them, another at the end of what is
// before that.
func (p *page) add(text string, own bool) {
	at := slices.IndexFunc(p.lines, func(l string) bool { return strings.TrimSpace(l) == learnedHeading })
	if at < 0 {
		p.lines = append(p.lines, "", learnedHeading)
		at = len(p.lines) - 1
	}
	if own {
		at++
		for at < len(p.lines) && !strings.HasPrefix(p.lines[at], "#") {
			at++
		}
	}
	for at > 0 && strings.TrimSpace(p.lines[at-1]) == "" {
		at--
	}
	more := []string{"- " + text}
	if strings.HasPrefix(strings.TrimSpace(p.lines[max(0, at-1)]), "#") {
		more = []string{"", more[0]}
	}
	p.lines = slices.Insert(p.lines, at, more...)
}

// consolidate takes out arc's oldest lines until the page is short enough. They stay
// known: arc memory finds them.
func (p *page) consolidate(next []line) []line {
	for identity.EstimateTokens(strings.Join(p.lines, "\n")) > notebookTokens {
		at := slices.IndexFunc(next, func(l line) bool { return l.Own && !strings.Contains(l.Text, flagged) })
		if at < 0 {
			p.done.Full = true
			break
		}
		p.remove(next[at].Text)
		next = slices.Delete(next, at, at+1)
		p.done.Dropped++
	}
	return next
}

// swapFile replaces a file as a whole if it is still as it was read.
func swapFile(file string, was, is []byte) error {
	now, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(now, was) {
		return fs.ErrExist
	}
	return replaceFile(file, is, 0o644)
}

func writeJSON(file string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return replaceFile(file, text, 0o600)
}

// commitFile commits a file alone, if it lies in a git repository that does not ignore
// it and it has changed. What else is staged stays staged.
func commitFile(ctx context.Context, dir, file, message string) (bool, error) {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir, cmd.WaitDelay = dir, time.Second
		cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true")
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("git %s: %w: %s", args[0], err, clip(oneLine(string(out)), 200))
		}
		return string(out), err
	}
	if _, err := git("rev-parse", "--is-inside-work-tree"); err != nil {
		return false, nil // no repository, or no git
	}
	if _, err := git("check-ignore", "-q", "--", file); err == nil {
		return false, nil
	}
	if out, err := git("status", "--porcelain", "--", file); err != nil || strings.TrimSpace(out) == "" {
		return false, err
	}
	if _, err := git("add", "--", file); err != nil {
		return false, err
	}
	_, err := git("commit", "-q", "-m", message, "--only", "--", file)
	return err == nil, err
}
