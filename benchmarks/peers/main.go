// Peers measures arc's recall beside bleve, bluge, SQLite FTS5 and chromem-go,
// in one process and by turns, and keeps the figures in a file that the
// program in draw makes pictures of.
//
//	go run -tags sqlite_fts5 . -out figures.json
//	go run -tags sqlite_fts5 . -out figures.json -part words -n 1000,10000
//	go run -tags sqlite_fts5 . -out figures.json -part million
//	go run -tags sqlite_fts5 . -out figures.json -part locomo -locomo FILE
//
// A later run replaces the figures that it measures and keeps the others.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/arc-learn/arc/benchmarks/peers/report"
)

func main() {
	out := flag.String("out", "figures.json", "file of the figures")
	part := flag.String("part", "locomo,writes,words,vectors", "what to measure; million is arc alone with 1,000,000 memories")
	sizes := flag.String("n", "1000,10000,100000", "numbers of memories, for words; vectors take the last")
	runs := flag.Int("runs", 5, "runs, of which the median counts")
	locomo := flag.String("locomo", os.Getenv("ARC_LOCOMO"), "file of LoCoMo conversations; default $ARC_LOCOMO; empty: that part is skipped")
	machine := flag.String("machine", fmt.Sprintf("%d CPUs, %s/%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH), "what to say of the machine")
	flag.Parse()
	if err := run(context.Background(), *out, *part, *sizes, *runs, *locomo, *machine); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out, parts, sizes string, runs int, locomo, machine string) (err error) {
	rep, err := report.Read(out)
	if err != nil {
		return err
	}
	rep.Machine, rep.Date, rep.Runs, rep.Versions = machine, time.Now().Format(time.DateOnly), runs, versions()
	dir, err := os.MkdirTemp("", "arc-peers")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var ns []int
	for s := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1000 {
			return fmt.Errorf("-n %q: want numbers of 1000 and more", sizes)
		}
		ns = append(ns, n)
	}
	if newSQLite() == nil {
		fmt.Println("without SQLite FTS5: it takes cgo and -tags sqlite_fts5")
	}
	b := &bench{z: newZipf(), dir: dir, runs: runs, rep: &rep, file: out}
	for p := range strings.SplitSeq(parts, ",") {
		switch p {
		case "locomo":
			err = b.locomo(ctx, locomo)
		case "writes":
			err = b.writes(ctx)
		case "words":
			for _, n := range ns {
				err = errors.Join(err, b.words(ctx, n, true), b.clear())
			}
		case "vectors":
			err = b.vectors(ctx, ns[len(ns)-1])
		case "million":
			err = b.words(ctx, 1_000_000, false)
		default:
			err = fmt.Errorf("no part %q", p)
		}
		if err = errors.Join(err, b.clear()); err != nil {
			return err
		}
	}
	return nil
}

// versions returns those of the peers and of Go.
func versions() map[string]string {
	v := map[string]string{"go": runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	names := map[string]string{
		"github.com/blevesearch/bleve/v2": "bleve", "github.com/blugelabs/bluge": "bluge", "github.com/dgraph-io/badger/v4": "badger",
		"github.com/mattn/go-sqlite3": "SQLite FTS5", "github.com/philippgille/chromem-go": "chromem-go",
	}
	for _, d := range info.Deps {
		if name := names[d.Path]; name != "" {
			v[name] = strings.TrimPrefix(d.Version, "v")
		}
	}
	return v
}
