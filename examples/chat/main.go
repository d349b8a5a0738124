// Chat is a conversation with a model that remembers: what was said is found again in the next conversation, and
// facts are kept by what they are about, so that a new address replaces the old one, until a person vouches for one.
//
//	OPENAI_API_KEY=… go run ./examples/chat
//	go run ./examples/chat -url http://localhost:11434/v1 -model qwen3
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/arc-learn/arc/contrib/openai"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

func main() {
	url, name := flag.String("url", "", "of an OpenAI-compatible API"), flag.String("model", "gpt-5-mini", "its model")
	flag.Parse()
	ctx := context.Background()
	layer, err := learn.Open(ctx, "chat.arc", &learn.Options{Scope: "home/me"})
	check(err)
	defer layer.Close()
	model := openai.New(*name, &openai.Options{URL: *url})
	var turns []reason.Message
	for in := bufio.NewScanner(os.Stdin); ; {
		fmt.Print("> ")
		if !in.Scan() {
			return
		}
		c := learn.Case{Text: in.Text(), Turns: turns, Session: "chat", Situation: "chat", Actor: "me"}
		advice, err := layer.Before(ctx, c)
		if err != nil {
			log.Print(err) // the Advice is empty then, and usable
		}
		turns = append(turns, reason.Message{Role: reason.UserRole, Text: c.Text})
		answer, err := model.Generate(ctx, &reason.Request{
			System:   "You talk with a person, briefly.\n\n" + advice.Prompt(),
			Messages: turns,
			OnText:   func(s string) { fmt.Print(s) },
		})
		fmt.Println()
		if err != nil {
			log.Print(err)
			turns = turns[:len(turns)-1]
			continue
		}
		turns = append(turns, reason.Message{Role: reason.ModelRole, Text: answer.Text})
		// Nothing has checked the answer, so nothing is learned of it but what was said.
		if _, err := layer.After(ctx, advice, learn.Outcome{Verdict: learn.Unknown, Worker: *name, Usage: answer.Usage, Answer: answer.Text}); err != nil {
			log.Print(err)
		}
		c.Turns = turns
		from := memory.Draft{Thread: c.Session, At: time.Now()}
		if _, err := reason.Facts(ctx, model, layer.Memory("home/me"), turns, from); err != nil { // one more call
			log.Print(err)
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
