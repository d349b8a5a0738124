package worktree_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/worktree"
)

// An agent edits the repository of a service that runs from it. What breaks the service
// is reverted within the attempt.
func ExampleNew() {
	alive := func(ctx context.Context, _ string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:8080/healthz", nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		return errors.Join(resp.Body.Close(), map[bool]error{false: fmt.Errorf("it says %s", resp.Status)}[resp.StatusCode == http.StatusOK])
	}
	edit := func(ctx context.Context, dir string, w act.Work) (act.Result, error) {
		return (&act.Command{Argv: []string{"editor", w.Run}, Dir: dir}).Execute(ctx, w)
	}
	x, err := worktree.New(context.Background(), worktree.Options{
		Repo: "/srv/site", Guard: worktree.GoSyntax, Health: alive,
		FollowUp: func(_ context.Context, k *worktree.KeptError) error {
			fmt.Println("look at", k.Branch, "since", k.Why)
			return nil
		},
	}, edit)
	if errors.Is(err, worktree.ErrInUse) {
		fmt.Println("another agent has it")
		return
	} else if err != nil {
		fmt.Println(err)
		return
	}
	defer x.Close()
	_, err = x.Execute(context.Background(), act.Work{Key: "run/1", Task: act.Task{Objective: "add a page"}})
	fmt.Println(err)
}
