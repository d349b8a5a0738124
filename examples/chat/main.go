// Chat is a conversation with a model that remembers. What was said is found again in the next conversation,
// and facts are kept by what they are about: a new address replaces the old one, until a person vouches for
// one.
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
	url := flag.String("url", "", "of an OpenAI-compatible API")
	name := flag.String("model", "gpt-5-mini", "its model")
	flag.Parse()
	if err := talk(context.Background(), *url, *name); err != nil {
		log.Fatal(err)
	}
}

// me is the tenant and the user of whoever talks: nothing of another scope is found in it.
const me = "home/me"

func talk(ctx context.Context, url, name string) error {
	layer, err := learn.Open(ctx, "chat.arc", &learn.Options{Scope: me})
	if err != nil {
		return err
	}
	defer layer.Close()
	model := openai.New(name, &openai.Options{URL: url})
	var turns []reason.Message
	for in := bufio.NewScanner(os.Stdin); ; {
		fmt.Print("> ")
		if !in.Scan() {
			return in.Err()
		}
		c := learn.Case{Text: in.Text(), Turns: turns, Session: "chat", Situation: "chat", Actor: "me"}
		advice, err := layer.Before(ctx, c)
		if err != nil {
			log.Print(err) // the Advice is empty then, and usable
		}
		turns = append(turns, reason.Message{Role: reason.RoleUser, Text: c.Text})
		answer, err := reason.Generate(ctx, model, &reason.Request{ // which takes thoughts off
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
		turns = append(turns, reason.Message{Role: reason.RoleModel, Text: answer.Text})
		// Nothing has checked the answer, so nothing is learned of it but what was said.
		said := learn.Outcome{Verdict: learn.Unknown, Worker: name, Usage: answer.Usage, Answer: answer.Text}
		if _, err := layer.After(ctx, advice, said); err != nil {
			log.Print(err)
		}
		// One more call of the model: which facts are in what was said. layer.Forget of the ID deletes them, too.
		from := memory.Draft{Thread: c.Session, At: time.Now(), Source: memory.Source{Run: advice.ID}}
		if _, err := reason.RememberFacts(ctx, model, layer.Memory(me), turns[len(turns)-2:], from); err != nil {
			log.Print(err)
		}
	}
}
