// Approve shows an action that waits for a human, who answers from another
// terminal. In the first:
//
//	go run ./examples/approve
//
// It prints what to say in the second, such as
//
//	go run ./examples/approve -say yes -by ada
//
// The deployment reaches the public, so it is not made before. It waits a day,
// and over a restart too: interrupt the first terminal and begin again.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

func main() {
	var (
		dir  = flag.String("dir", "", "keep the run in `DIR` (default: arc-approve in the user's cache directory)")
		addr = flag.String("addr", "127.0.0.1:7400", "the `ADDRESS` at which the first terminal listens")
		say  = flag.String("say", "", "in the second terminal: `yes` or no")
		by   = flag.String("by", os.Getenv("USER"), "the `NAME` of who says so")
	)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *say != "" {
		err = answer(ctx, os.Stdout, *addr, *say == "yes", *by)
	} else {
		err = wait(ctx, os.Stdout, *dir, *addr)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

// wait runs the deployment, and serves what waits until it is decided.
func wait(ctx context.Context, out io.Writer, dir, addr string) error {
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		dir = filepath.Join(cache, "arc-approve")
	}
	over := make(chan string, 1)
	agent, err := arc.Open(ctx, dir, host(out), &arc.Options{Hooks: arc.Hooks{Event: func(e arc.Event) {
		if e.Kind == arc.EventFinished {
			select {
			case over <- e.Text:
			default: // of several, the first
			}
		}
	}}})
	if err != nil {
		return err
	}
	defer agent.Close()
	p, err := pending(ctx, agent)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(agent.In("")), ReadHeaderTimeout: time.Second}
	go server.Serve(listener) // until Close; its error says so
	defer server.Close()
	fmt.Fprintf(out, "%s waits: %s\n", p.Worker, strings.Join(p.Why, "; "))
	fmt.Fprintf(out, "in another terminal, before %s:\n", p.Until.Local().Format(time.DateTime))
	fmt.Fprintf(out, "  go run ./examples/approve -addr %s -say yes -by ada\n", listener.Addr())
	select {
	case <-ctx.Done():
		return ctx.Err()
	case status := <-over:
		fmt.Fprintf(out, "the run is %s\n", status)
	}
	return nil
}

// pending returns what waits already, or has a deployment wait.
func pending(ctx context.Context, agent *arc.Agent) (*arc.Approval, error) {
	for p, err := range agent.In("").Approvals(ctx) {
		return &p, err
	}
	r, err := agent.Run(ctx, arc.Objective{
		Text:  "deploy version 2",
		Tasks: []reason.Task{{Objective: "deploy version 2 to everybody", Verify: "it answers"}},
	})
	if err == nil && r.Cause != arc.CauseApproval {
		err = fmt.Errorf("the run is %s: %s", r.Status, r.Reason)
	}
	if err != nil {
		return nil, err
	}
	return r.Approval, nil
}

// host is one worker, whose effects reach the public.
func host(out io.Writer) arc.Host {
	return arc.Host{
		Workers: []act.Worker{{
			Card: rank.Candidate{Name: "deployer"}, Blast: act.Public,
			Executor: act.ExecutorFunc(func(_ context.Context, w act.Work) (act.Result, error) {
				fmt.Fprintf(out, "deployer: %s\n", w.Task.Objective)
				return act.Result{Output: json.RawMessage(`"deployed"`), Reflection: iar.Reflection{
					Status: iar.Success, Confidence: 0.9, Summary: "version 2 is out",
					PotentialIssues: []string{}, AlignmentCheck: map[string]float64{"objective": 1},
				}}, nil
			}),
		}},
		Gates: []act.Gate{act.NoGate}, // a real one would ask the service
	}
}

// handler lists what waits, and takes what is said to it. A real one would
// know who asks: this one believes every name.
func handler(v arc.View) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /approvals", func(w http.ResponseWriter, r *http.Request) {
		all := []arc.Approval{}
		for p, err := range v.Approvals(r.Context()) {
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			all = append(all, p)
		}
		_ = json.NewEncoder(w).Encode(all) // a client that has gone
	})
	mux.HandleFunc("POST /rulings", func(w http.ResponseWriter, r *http.Request) {
		var ruling arc.Ruling
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&ruling)
		if err == nil {
			err = v.Rule(r.Context(), ruling)
		}
		switch {
		case errors.Is(err, arc.ErrLate):
			http.Error(w, err.Error(), http.StatusConflict)
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	})
	return mux
}

// answer says the same to all that waits.
func answer(ctx context.Context, out io.Writer, addr string, allow bool, by string) error {
	raw, err := call(ctx, http.MethodGet, "http://"+addr+"/approvals", nil)
	if err != nil {
		return err
	}
	var all []arc.Approval
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Fprintln(out, "nothing waits")
	}
	for _, p := range all {
		body, err := json.Marshal(arc.Ruling{Run: p.Run, Attempt: p.Attempt, Allow: allow, By: by})
		if err != nil {
			return err
		}
		if _, err := call(ctx, http.MethodPost, "http://"+addr+"/rulings", body); err != nil {
			return err
		}
		said := "refused"
		if allow {
			said = "allowed"
		}
		fmt.Fprintf(out, "%s: %s by %s\n", p.Task.Objective, said, by)
	}
	return nil
}

// call makes a request and returns what was answered.
func call(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(raw))
	}
	return raw, err
}
