// Layer puts arc's learning around a loop of forty lines on net/http that calls an OpenAI-compatible model with tools.
// Without -url a model of a few lines answers, so that it runs anywhere:
//
//	go run ./examples/layer -url http://localhost:11434/v1/chat/completions -model qwen3
//
// The check refuses the first answer, and the next ones are warned. Two cases teach the calls of the tools: from the
// third on they are made without asking the model.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Calls   []call `json:"tool_calls,omitempty"`
	ID      string `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// tools are what the loop can do.
var tools = map[string]func(in map[string]string) string{
	"lookup": func(in map[string]string) string { return "order " + in["order"] + " was shipped on Monday" },
}

const described = `[{"type":"function","function":{"name":"lookup","description":"where an order is",
	"parameters":{"type":"object","properties":{"order":{"type":"string"}}}}}]`

var url, model = flag.String("url", "", "chat completions"), flag.String("model", "", "name of the model")

// loop is the agent that was there before: it asks the model and runs its tools until there is an answer.
func loop(ctx context.Context, messages []message) (answer string, made []reason.PlanCall, asked int, err error) {
	for {
		body, _ := json.Marshal(map[string]any{"model": *model, "messages": messages, "tools": json.RawMessage(described)})
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, *url, bytes.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+os.Getenv("OPENAI_API_KEY"))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", nil, asked, err
		}
		var got struct{ Choices []struct{ Message message } }
		err = json.NewDecoder(resp.Body).Decode(&got)
		if resp.Body.Close(); err != nil || len(got.Choices) == 0 {
			return "", nil, asked, fmt.Errorf("the model: %s %v", resp.Status, err)
		}
		asked++
		m := got.Choices[0].Message
		if len(m.Calls) == 0 {
			return m.Content, made, asked, nil
		}
		messages = append(messages, m)
		for _, c := range m.Calls {
			made = append(made, reason.PlanCall{Name: c.Function.Name, Inputs: []byte(c.Function.Arguments)})
			messages = append(messages, message{Role: "tool", ID: c.ID, Content: run(made[len(made)-1])})
		}
	}
}

func run(c reason.PlanCall) string {
	var in map[string]string
	if f := tools[c.Name]; f != nil && json.Unmarshal(c.Inputs, &in) == nil {
		return f(in)
	}
	return "no such tool, or its inputs are no strings"
}

func main() {
	flag.Parse()
	if *url == "" {
		*url = httptest.NewServer(http.HandlerFunc(stub)).URL
	}
	ctx := context.Background()
	layer, err := learn.New(ctx, store.NewMem(), nil) // learn.Open(ctx, dir, nil) keeps it in a directory
	if err != nil {
		log.Fatal(err)
	}
	defer layer.Close()
	for _, order := range []string{"A-71", "A-74", "A-98", "A-55"} {
		text := "Where is my order " + order + "?"
		inputs, _ := json.Marshal(map[string]string{"order": order})
		advice, err := layer.Before(ctx, learn.Case{Situation: "where is it", Text: text, Inputs: inputs})
		if err != nil {
			log.Print(err) // the loop goes on without
		}
		o, prompt, asked := learn.Outcome{}, advice.Prompt()+text, 0
		for i := 0; advice.Fires != nil && i < len(advice.Fires.Calls); i++ { // the model is asked for the answer alone
			prompt += "\n" + advice.Fires.Calls[i].Name + " says: " + run(advice.Fires.Calls[i])
		}
		for attempt := 1; attempt <= 3 && o.Verdict != learn.Delivered; attempt++ {
			answer, made, n, err := loop(ctx, []message{{Role: "user", Content: prompt}})
			if err != nil {
				log.Fatal(err)
			}
			asked, o.Answer = asked+n, answer
			if advice.Fires == nil {
				o.Plan = &reason.Plan{Calls: made}
			}
			if o.Verdict = learn.Delivered; !strings.Contains(answer, order) { // the check
				o.Verdict = learn.Failed
				o.Failed = append(o.Failed, reason.Failure{Complaint: "name the order " + order})
				prompt += "\nThat was refused: name the order " + order
			}
		}
		if _, err := layer.After(ctx, advice, o); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s, attempts %d, model asked %d times\n", order, o.Verdict, len(o.Failed)+1, asked)
	}
}

// stub is a model that looks the order up, and names it in its answer only where the prompt says so.
func stub(w http.ResponseWriter, r *http.Request) {
	var in struct{ Messages []message }
	_ = json.NewDecoder(r.Body).Decode(&in)
	said, out := in.Messages[0].Content, message{Role: "assistant"}
	order := strings.TrimRight(strings.Fields(said[strings.Index(said, "my order "):])[2], "?")
	switch {
	case len(in.Messages) == 1 && !strings.Contains(said, "lookup says"):
		out.Calls = []call{{ID: "1", Type: "function"}}
		out.Calls[0].Function.Name, out.Calls[0].Function.Arguments = "lookup", `{"order":"`+order+`"}`
	case strings.Contains(said, "name the order"):
		out.Content = "Your order " + order + " was shipped on Monday."
	default:
		out.Content = "It was shipped on Monday."
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": out}}})
}
