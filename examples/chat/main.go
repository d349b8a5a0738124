// Chat is an agent in the terminal that remembers from one run to the next:
// what it was told to remember, and what it was told was wrong.
//
//	OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_MODEL=qwen3 go run ./examples/chat
//
// It speaks to any endpoint that is compatible with OpenAI's chat completions
// (OPENAI_BASE_URL, OPENAI_API_KEY, and OPENAI_MODEL or -model), with a limit of
// time and of rate. Without an endpoint it plays with a script that knows next to
// nothing, and insists on one mistake.
//
// With -record FILE the calls of the model are written to a file, without secrets.
// With -replay FILE the model answers from that file: a conversation can be tried
// again with other code around it, as the tests do, and costs nothing.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/model"
)

func main() {
	dir := flag.String("dir", cacheDir(), "keep memory in `DIR`; empty: nowhere")
	name := flag.String("model", os.Getenv("OPENAI_MODEL"), "ask the model `NAME`")
	record := flag.String("record", "", "write the calls of the model to `FILE`")
	replay := flag.String("replay", "", "answer from the calls in `FILE`, without a model")
	flag.Parse()
	if err := start(*dir, *name, *record, *replay); err != nil {
		log.Fatal(err)
	}
}

// start talks over the terminal.
func start(dir, name, record, replay string) error {
	m, who, err := dial(name, replay)
	if err != nil {
		return err
	}
	if record != "" {
		f, err := os.Create(record)
		if err != nil {
			return err
		}
		defer f.Close() // each line is whole in the file once its call has ended
		m = model.Record(m, f, recording)
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	info, err := os.Stdin.Stat()
	piped := err != nil || info.Mode()&os.ModeCharDevice == 0
	fmt.Printf("You are talking to %s.\n/help says what else there is.\n", who)
	return run(dir, m, os.Stdin, os.Stdout, piped, interrupts)
}

func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "" // no home: nothing is kept
	}
	return filepath.Join(dir, "arc-chat")
}

// run talks until in ends, the user says /quit, or an interrupt comes at the
// prompt. An interrupt during an answer stops the answer.
func run(dir string, m reason.Model, in io.Reader, out io.Writer, echo bool, interrupts <-chan os.Signal) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := openChat(ctx, dir, m, out)
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

// read sends the lines of in. Its goroutine may be left in the read of a terminal
// when the program ends: that read cannot be interrupted.
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
