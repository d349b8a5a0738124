// Recall finds the paragraphs of your notes that answer a question, and says
// why these, and why not those of another file.
//
//	go run ./examples/recall
//	go run ./examples/recall -dir ~/notes -not travel.md when does the passport expire
//
// Notes are the files below a folder that end in .md or .txt. They are indexed
// in memory, anew each time.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

//go:embed notes
var builtIn embed.FS

func main() {
	dir := flag.String("dir", "", "folder of notes; empty: a few that are built in")
	not := flag.String("not", "", "explain why the paragraphs of this file are not first")
	k := flag.Int("k", 3, "number of paragraphs")
	flag.Parse()
	question := strings.Join(flag.Args(), " ")
	if question == "" {
		question, *not = "Why did the restore take four hours?", "deploy.md"
	}
	files, err := fs.Sub(builtIn, "notes")
	if err != nil {
		log.Fatal(err)
	}
	if *dir != "" {
		files = os.DirFS(*dir)
	}
	if err := run(context.Background(), os.Stdout, files, memory.Query{Text: question, K: *k}, *not); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, files fs.FS, q memory.Query, not string) (err error) {
	drafts, err := load(files)
	if err != nil {
		return err
	}
	bank, err := memory.Open(ctx, store.NewMem(), &memory.Options{Seed: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bank.Close()) }()
	notes := bank.In("notes")
	receipts, err := notes.RememberAll(ctx, drafts)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n", q.Text)
	fmt.Fprintf(out, "(%d paragraphs; words stand as stems, with their weight in the question)\n\n", len(receipts))

	hits, err := notes.Recall(ctx, q)
	if err != nil {
		return err
	}
	if len(hits) == 0 {
		fmt.Fprintln(out, "Nothing in the notes is about that.")
	}
	for i, h := range hits {
		x, err := notes.Explain(ctx, q, h.Record.ID)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%d. %s, under %q\n", i+1, h.Record.Thread, h.Record.Trigger)
		for line := range strings.SplitSeq(h.Record.Content, "\n") {
			fmt.Fprintln(out, wrap("   | ", line))
		}
		why(out, x)
	}
	if err := whichFiles(ctx, out, notes, q); err != nil || not == "" {
		return err
	}
	return whyNot(ctx, out, notes, q, not, receipts)
}

// why prints what the score of a paragraph is made of, and the stems of the
// question's words with the weight of each.
func why(out io.Writer, x memory.Explanation) {
	fmt.Fprintf(out, "   score %.2f: relevance %.2f, effectiveness %.2f, recency %.2f\n",
		x.Score, x.Parts.Relevance, x.Parts.Effectiveness, x.Parts.Recency)
	var has, lacks []string
	for _, w := range x.Words {
		word := fmt.Sprintf("%s %.0f%%", w.Text, 100*w.Weight)
		if w.Found {
			has = append(has, word)
		} else {
			lacks = append(lacks, word)
		}
	}
	fmt.Fprintln(out, wrap("   ", "has "+list(has)))
	fmt.Fprintln(out, wrap("   ", "lacks "+list(lacks)))
	fmt.Fprintf(out, "%s\n\n", wrap("   ", x.Reason))
}

// whichFiles prints the files that are about the question as wholes, best first.
func whichFiles(ctx context.Context, out io.Writer, notes memory.Space, q memory.Query) error {
	threads, err := notes.RecallThreads(ctx, q)
	if err != nil {
		return err
	}
	var names []string
	for _, t := range threads {
		if t.Score < 0.005 {
			break // a word or two that many files have
		}
		names = append(names, fmt.Sprintf("%s %.2f", t.Thread, t.Score))
	}
	if len(names) > 0 {
		fmt.Fprintf(out, "%s\n\n", wrap("", "By file: "+strings.Join(names, ", ")))
	}
	return nil
}

// width is that of a terminal, in characters.
const width = 80

// wrap breaks a text between words, into lines that begin with prefix.
func wrap(prefix, text string) string {
	lines := []string{prefix}
	for _, word := range strings.SplitAfter(text, " ") {
		last := &lines[len(lines)-1]
		if *last != prefix && utf8.RuneCountInString(*last+strings.TrimSpace(word)) > width {
			lines = append(lines, prefix)
			last = &lines[len(lines)-1]
		}
		*last += word
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func list(words []string) string {
	if len(words) == 0 {
		return "none of the words"
	}
	return strings.Join(words, ", ")
}

// whyNot explains the best paragraph of a file.
func whyNot(ctx context.Context, out io.Writer, notes memory.Space, q memory.Query, file string, all []memory.Receipt) error {
	var best memory.Explanation
	for _, r := range all {
		rec, err := notes.Get(ctx, r.ID)
		if err != nil {
			return err
		}
		if rec.Thread != file {
			continue
		}
		x, err := notes.Explain(ctx, q, r.ID)
		if err != nil {
			return err
		}
		if best.ID == "" || x.Rank > 0 && (best.Rank == 0 || x.Rank < best.Rank) {
			best = x
		}
	}
	if best.ID == "" {
		fmt.Fprintf(out, "There is no %s among the notes.\n", file)
		return nil
	}
	fmt.Fprintf(out, "And %s? The best of it:\n", file)
	why(out, best)
	return nil
}
