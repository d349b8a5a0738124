package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"

	"github.com/arc-learn/arc/reason"
)

//go:embed notes
var notes embed.FS

// sources say what the host knows about an objective: how the service stands,
// and what its notes say.
func sources(svc *service, notes fs.FS) []reason.Source {
	stands := func(ctx context.Context, _ string, _ int) ([]reason.Passage, error) {
		return []reason.Passage{{Name: "web", Text: fmt.Sprintf("%d replicas run", svc.replicas.Load())}}, ctx.Err()
	}
	return []reason.Source{stands, reason.NewDocuments(notes)}
}

// known writes what a reasoner is shown about an objective.
func known(ctx context.Context, out io.Writer, sources []reason.Source, objective string) error {
	for _, source := range sources {
		passages, err := source(ctx, objective, 200)
		if err != nil {
			return err
		}
		for _, p := range passages {
			fmt.Fprintf(out, "%s: %q\n", p.Name, p.Text)
		}
	}
	return nil
}
