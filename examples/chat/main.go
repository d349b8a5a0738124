// Chat is an agent in the terminal that remembers from one run to the next:
// what it was told to remember, and what it was told was wrong.
//
//	OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_MODEL=qwen3 go run ./examples/chat
//
// It speaks to any endpoint that is compatible with OpenAI's chat completions
// (OPENAI_BASE_URL, OPENAI_API_KEY, and OPENAI_MODEL or -model). Without an
// endpoint it plays with a script that knows next to nothing, and insists on one
// mistake.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/arc-learn/arc/reason"
)

func main() {
	dir := flag.String("dir", cacheDir(), "where memory is kept; empty: nowhere")
	name := flag.String("model", os.Getenv("OPENAI_MODEL"), "the model to ask")
	flag.Parse()
	model, who := reason.Model(script{}), "a script, since OPENAI_BASE_URL is not set"
	if base := os.Getenv("OPENAI_BASE_URL"); base != "" {
		model = &endpoint{base: base, key: os.Getenv("OPENAI_API_KEY"), model: *name, client: &http.Client{Timeout: 5 * time.Minute}}
		who = *name + " at " + base
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	info, err := os.Stdin.Stat()
	piped := err != nil || info.Mode()&os.ModeCharDevice == 0
	fmt.Printf("You are talking to %s. /help says what else there is.\n", who)
	if err := run(*dir, model, os.Stdin, os.Stdout, piped, interrupts); err != nil {
		log.Fatal(err)
	}
}

func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "" // no home: nothing is kept
	}
	return filepath.Join(dir, "arc-chat")
}

// run talks until in ends, somebody says /quit, or there is an interrupt at
// the prompt. An interrupt during an answer stops the answer.
func run(dir string, model reason.Model, in io.Reader, out io.Writer, echo bool, interrupts <-chan os.Signal) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := openChat(ctx, dir, model, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.agent.Close()) }()
	lines := read(ctx, in)
	for {
		fmt.Fprint(out, "> ")
		select {
		case <-interrupts:
			fmt.Fprintln(out)
			return nil
		case line, ok := <-lines:
			if !ok {
				fmt.Fprintln(out)
				return nil
			}
			if echo {
				fmt.Fprintln(out, line)
			}
			turn, stop := context.WithCancel(ctx)
			done := make(chan error, 1)
			go func() { done <- c.turn(turn, line) }()
			select {
			case <-interrupts:
				stop()
				err = <-done
			case err = <-done:
			}
			stop()
			switch {
			case errors.Is(err, errQuit):
				return nil
			case errors.Is(err, context.Canceled):
				fmt.Fprintln(out, "\n(stopped)")
			case err != nil:
				return err
			}
		}
	}
}

// read sends the lines of in. Its goroutine may stay behind in a read of a
// terminal, which nothing can interrupt, when the program ends.
func read(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		s := bufio.NewScanner(in)
		for s.Scan() {
			select {
			case lines <- s.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}
