// Extract has a model read what is remembered, and recalls what holds now though
// no text says so in the words of the question. The model is a script.
//
//	go run ./examples/extract
package main

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// model answers as a language model would that is asked what a text states, and which of
// the earlier notes, one of a line, that ends.
func model(_ context.Context, req *reason.Request) (*reason.Response, error) {
	const answer = `{"statements":[{"subject":"Ann","attribute":"home","value":"%s",
		"change":"set","from":"","confidence":0.95,"replaces":[%s]}]}`
	said, city, over := req.Messages[0].Text, "", []string(nil)
	for line := range strings.Lines(said) {
		number, note, ok := strings.Cut(line, ". ")
		if ok && strings.Contains(note, "Paris") && strings.Contains(said, "Lyon") {
			over = append(over, number)
		}
		for _, c := range []string{"Paris", "Lyon"} {
			if strings.HasPrefix(line, "| ") && strings.Contains(line, c) {
				city = c
			}
		}
	}
	if city == "" {
		return &reason.Response{Text: `{"statements":[]}`}, nil
	}
	return &reason.Response{Text: fmt.Sprintf(answer, city, strings.Join(over, ","))}, nil
}

func main() {
	ctx := context.Background()
	extractor, err := reason.NewExtractor(reason.ModelFunc(model))
	if err != nil {
		log.Fatal(err)
	}
	// An Agent takes it as Options.Memory.Extractor.
	bank, err := memory.Open(ctx, store.NewMem(), &memory.Options{Extractor: extractor})
	if err != nil {
		log.Fatal(err)
	}
	defer bank.Close()
	space := bank.In("acme/ann")
	say := func(month time.Month, text string) {
		d := memory.Draft{Kind: memory.Episode, Actor: "Ann", Content: text, At: time.Date(2026, month, 2, 9, 0, 0, 0, time.UTC)}
		if _, err := space.Remember(ctx, d); err != nil {
			log.Fatal(err)
		}
	}
	say(time.March, "The new flat is in Paris, fourth floor.")
	say(time.June, "Lunch at noon?")
	say(time.September, "Boxes everywhere, but Lyon has the better bread.")
	if err := bank.Extract(ctx); err != nil {
		log.Fatal(err)
	}
	hits, err := space.Recall(ctx, memory.Query{Text: "Where is Ann's home?", Kinds: []memory.Kind{memory.Fact}})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range hits {
		fmt.Println(h.Record.Content)
		if h.Superseded != nil {
			fmt.Println("no longer:", h.Superseded.Content)
		}
		source, err := space.Get(ctx, h.Record.Links[0].To)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("said:", source.Content)
	}
	hits, err = space.Recall(ctx, memory.Query{Text: "the flat", Kinds: []memory.Kind{memory.Episode}})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range hits {
		fmt.Printf("perhaps replaced: %t: %s\n", h.Replaced.By != "", h.Record.Content)
	}
}
