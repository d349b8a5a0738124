// Draw makes the pictures and tables of docs/ from the figures that the comparison of
// recall with its peers has measured.
//
//	go run ./draw FIGURES.json DIR
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/arc-learn/arc/benchmarks/peers/report"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: draw FIGURES.json DIR")
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

// pictures are the files that run writes, and who draws them.
var pictures = []struct {
	file string
	draw func(*report.Report) (string, error)
}{
	{"recall-at-k.svg", recallAtK},
	{"recall-latency.svg", latency},
	{"recall-figures.md", tables},
}

var errNothing = errors.New("no figures to draw")

func run(figures, dir string) error {
	r, err := report.Read(figures)
	if err != nil {
		return err
	}
	for _, p := range pictures {
		svg, err := p.draw(&r)
		if errors.Is(err, errNothing) {
			fmt.Println(p.file+":", err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.file, err)
		}
		if err := os.WriteFile(filepath.Join(dir, p.file), []byte(svg), 0o644); err != nil {
			return err
		}
		fmt.Println(filepath.Join(dir, p.file))
	}
	return nil
}
