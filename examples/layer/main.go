// Layer puts arc's learning around an agent that was there before: a loop on net/http that calls an
// OpenAI-compatible model with tools. Without -url a model of a few lines answers, so that it runs anywhere:
//
//	go run ./examples/layer -url http://localhost:11434/v1 -model qwen3
//
// The check refuses the first answer, and the next ones are warned. Two cases teach the calls of the tools:
// from the third on they are made without asking the model.
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
	"slices"
	"strings"

	"github.com/arc-learn/arc/act/tools"
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

// can is what the loop can do.
var can = map[string]func(in map[string]string) string{
	"lookup": func(in map[string]string) string { return "order " + in["order"] + " was shipped on Monday" },
}

const described = `[{"type":"function","function":{"name":"lookup","description":"where an order is",
	"parameters":{"type":"object","properties":{"order":{"type":"string"}}}}}]`

// agent is what was there before.
type agent struct {
	url, model string
	asked      int // how often the model was
}

// answer asks the model and runs its tools until there is an answer, and returns the calls that it made for a
// case with such inputs.
func (a *agent) answer(ctx context.Context, prompt string, inputs []byte) (string, []reason.PlanCall, error) {
	messages := []message{{Role: "user", Content: prompt}}
	var made []reason.PlanCall
	for {
		m, err := a.ask(ctx, messages)
		if err != nil {
			return "", nil, err
		}
		if len(m.Calls) == 0 {
			return m.Content, made, nil
		}
		messages = append(messages, m)
		for _, c := range m.Calls {
			call := reason.PlanCall{Name: c.Function.Name, Inputs: json.RawMessage(c.Function.Arguments)}
			said := run(call)
			call.ResultDigest = tools.Digest([]byte(said), inputs)
			made = append(made, call)
			messages = append(messages, message{Role: "tool", ID: c.ID, Content: said})
		}
	}
}

// ask is one call of the model.
func (a *agent) ask(ctx context.Context, messages []message) (message, error) {
	a.asked++
	body, err := json.Marshal(map[string]any{
		"model": a.model, "messages": messages, "tools": json.RawMessage(described),
	})
	if err != nil {
		return message{}, err
	}
	url := a.url + "/chat/completions"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return message{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+os.Getenv("OPENAI_API_KEY"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return message{}, err
	}
	defer resp.Body.Close()
	var got struct{ Choices []struct{ Message message } }
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		return message{}, fmt.Errorf("the model: %s: %w", resp.Status, err)
	}
	if len(got.Choices) == 0 {
		return message{}, fmt.Errorf("the model: %s, and no answer", resp.Status)
	}
	return got.Choices[0].Message, nil
}

// run makes a call of a tool.
func run(c reason.PlanCall) string {
	var in map[string]string
	if f := can[c.Name]; f != nil && json.Unmarshal(c.Inputs, &in) == nil {
		return f(in)
	}
	return "no such tool, or its inputs are no strings"
}

func main() {
	a := &agent{}
	flag.StringVar(&a.url, "url", "", "of an OpenAI-compatible API")
	flag.StringVar(&a.model, "model", "", "name of the model")
	flag.Parse()
	if a.url == "" {
		server := httptest.NewServer(http.HandlerFunc(stub))
		defer server.Close()
		a.url = server.URL
	}
	ctx := context.Background()
	layer, err := learn.New(ctx, store.NewMem(), nil) // learn.Open(ctx, dir, nil) keeps it in a directory
	if err != nil {
		log.Fatal(err)
	}
	defer layer.Close()
	for _, order := range []string{"A-71", "A-74", "A-98", "A-55"} {
		a.asked = 0
		outcome, err := handle(ctx, layer, a, order)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s, refused %d times, model asked %d times\n",
			order, outcome.Verdict, len(outcome.Failed), a.asked)
	}
}

// handle answers one customer: Before, the agent with its check, After.
func handle(ctx context.Context, layer *learn.Layer, a *agent, order string) (learn.Outcome, error) {
	text := "Where is my order " + order + "?"
	inputs, err := json.Marshal(map[string]string{"order": order})
	if err != nil {
		return learn.Outcome{}, err
	}
	advice, err := layer.Before(ctx, learn.Case{Situation: "where is it", Text: text, Inputs: inputs})
	if err != nil {
		log.Print(err) // the Advice is empty then, and usable
	}
	prompt := advice.Prompt() + text
	var fired []reason.PlanCall
	if advice.Fires != nil { // its calls are made without asking; the model only writes the answer
		for _, c := range advice.Fires.Calls {
			said, as := run(c), c.ResultDigest
			prompt += "\n" + c.Name + " says: " + said
			c.ResultDigest = tools.Digest([]byte(said), inputs)
			if fired = append(fired, c); c.ResultDigest != as {
				break // the case is another than those that were delivered: the model goes on
			}
		}
	}
	outcome := learn.Outcome{Verdict: learn.Failed}
	for len(outcome.Failed) < 3 {
		answer, made, err := a.answer(ctx, prompt, inputs)
		if err != nil {
			return outcome, err
		}
		outcome.Answer = answer
		outcome.Plan = &reason.Plan{Calls: slices.Concat(fired, made)}
		if strings.Contains(answer, order) { // the check
			outcome.Verdict = learn.Delivered
			break
		}
		complaint := "name the order " + order
		outcome.Failed = append(outcome.Failed, reason.Failure{Complaint: complaint})
		prompt += "\nThat was refused: " + complaint
	}
	_, err = layer.After(ctx, advice, outcome)
	return outcome, err
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
