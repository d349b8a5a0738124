package notebook_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/contrib/notebook"
	"github.com/arc-learn/arc/store"
)

// A run that is blocked leaves a line in the notes.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "notebook")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "MEMORY.md")
	notes := notebook.New(path)
	agent, err := arc.New(ctx, store.NewMem(), arc.Host{}, &arc.Options{OnEvent: notes.OnEvent})
	if err != nil {
		panic(err)
	}
	defer agent.Close()
	report, err := agent.Run(ctx, arc.Objective{Text: "water the plants"}) // there is no worker
	if err != nil {
		panic(err)
	}
	if err := notes.Write(ctx, agent, 0); err != nil {
		panic(err)
	}
	text, err := notebook.Read(path)
	fmt.Println(report.Status, strings.Contains(text, "## Learned"), strings.Contains(text, "water the plants"), err)
	// Output: blocked true true <nil>
}
