package learn_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act/tools"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// A loop that the host keeps: what two cases had in common is done without thinking from the third on.
func ExampleLayer() {
	ctx := context.Background()
	layer, err := learn.New(ctx, store.NewMem(), nil) // learn.Open(ctx, dir, nil) keeps it in a directory
	if err != nil {
		panic(err)
	}
	defer layer.Close()
	for _, order := range []string{"SO-1041", "SO-1042", "SO-1043"} {
		inputs, _ := json.Marshal(map[string]string{"order": order})
		advice, err := layer.Before(ctx, learn.Case{Text: "Refund order " + order + ".", Inputs: inputs})
		if err != nil {
			panic(err)
		}
		plan := advice.Fires
		if plan == nil {
			fmt.Println("thinks:", advice.Why)
			plan = &reason.Plan{Calls: []reason.PlanCall{{Name: "refund", Inputs: json.RawMessage(`{"id":"` + order + `"}`)}}}
		}
		fmt.Printf("%s %s\n", plan.Calls[0].Name, plan.Calls[0].Inputs)
		if _, err := layer.After(ctx, advice, learn.Outcome{Verdict: learn.Delivered, Plan: plan}); err != nil {
			panic(err)
		}
	}
	next, err := layer.Before(ctx, learn.Case{Text: "Refund order SO-7.", Inputs: json.RawMessage(`{"order":"SO-7"}`)})
	fmt.Println(next.Why, err)
	// Output:
	// thinks: no plan was learned of these words and inputs
	// refund {"id":"SO-1041"}
	// thinks: it was delivered once
	// refund {"id":"SO-1042"}
	// refund {"id":"SO-1043"}
	// order is "SO-7", which has another form than before <nil>
}

// A host logs what a Layer does, see docs/recipes.md.
func before(ctx context.Context, l *learn.Layer, c learn.Case) learn.Advice {
	start := time.Now()
	a, err := l.Before(ctx, c)
	slog.InfoContext(ctx, "before", "id", a.ID, "scope", a.Scope, "fires", a.Fires != nil, "why", a.Why,
		"held_out", l.HeldOut(&a.Case), "suggestions", len(a.Suggestions), "took", time.Since(start), "error", err)
	return a // after an error it says nothing
}

func after(ctx context.Context, l *learn.Layer, a learn.Advice, o learn.Outcome) error {
	start := time.Now()
	learned, err := l.After(ctx, a, o)
	slog.InfoContext(ctx, "after", "id", a.ID, "verdict", o.Verdict, "fired", a.Fires != nil,
		"ready", learned.Ready, "note", learned.Note, "took", time.Since(start), "error", err)
	return err // call it again with the same Advice
}

func TestLogged(t *testing.T) {
	var said bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&said, nil)))
	l, err := learn.New(t.Context(), store.NewMem(), &learn.Options{Scope: "acme"})
	require.NoError(t, err)
	defer l.Close()
	a := before(t.Context(), l, learn.Case{Text: "hello"})
	require.NoError(t, after(t.Context(), l, a, learn.Outcome{Verdict: learn.Delivered, Answer: "Good morning."}))
	before(t.Context(), l, learn.Case{Scope: "boss", Text: "hello"})
	for _, what := range []string{"fires=false why=\"no plan", "verdict=delivered", "of another tenant"} {
		require.Contains(t, said.String(), what)
	}
}

// All of a customer is erased, but for what is shared at a Lessons scope above.
func ExampleLayer_Erase() {
	ctx, st := context.Background(), store.NewMem()
	layer, err := learn.New(ctx, st, &learn.Options{Scope: "acme"})
	check(err)
	defer layer.Close()
	c := learn.Case{Scope: "acme/anna", Text: "Where is my order?", Actor: "anna"}
	advice, err := layer.Before(ctx, c)
	check(err)
	_, err = layer.After(ctx, advice, learn.Outcome{Verdict: learn.Delivered, Worker: "ava", Plan: &reason.Plan{
		Calls: []reason.PlanCall{{Name: "lookup", Inputs: json.RawMessage(`{"who":"anna"}`)}},
	}})
	check(err)

	check(layer.Erase(ctx, "acme/anna"))
	err = layer.Judge(ctx, "acme/anna", advice.ID, learn.Failed, "it never came")
	fmt.Println(errors.Is(err, store.ErrNotFound))
	for range st.Scan(ctx, store.Range{Prefix: store.Scope("acme").TenantPrefix()}) {
		fmt.Println("there is something left")
	}
	fmt.Println(layer.Erase(ctx, "rival/bo"))
	// Output:
	// true
	// learn: invalid input: the scope "rival/bo" is of another tenant than "acme"
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// loop is yours. ask has the model call tools until it answers.
type loop struct {
	tool  func(reason.PlanCall) (result []byte)
	ask   func(prompt string) (answer string, made []reason.PlanCall, took *reason.Usage)
	check func(answer string) (complaint string) // the gate
}

func (l loop) answer(ctx context.Context, layer *learn.Layer, order string) string {
	inputs, _ := json.Marshal(map[string]string{"order": order})
	c := learn.Case{Situation: "where is it", Text: "Where is order " + order + "?", Inputs: inputs}
	advice, err := layer.Before(ctx, c)
	if err != nil {
		log.Print(err) // the advice is empty then, and usable
	}
	prompt := advice.Prompt() + c.Text // what is known
	var made []reason.PlanCall
	if advice.Fires != nil {
		for _, call := range advice.Fires.Calls {
			result, before := l.tool(call), call.ResultDigest
			prompt += "\n" + call.Name + " returned " + string(result)
			call.ResultDigest = tools.Digest(result, inputs)
			if made = append(made, call); call.ResultDigest != before {
				break // a new result: the model goes on
			}
		}
	}
	answer, more, took := l.ask(prompt)
	outcome := learn.Outcome{Verdict: learn.Delivered, Answer: answer, Usage: took}
	outcome.Plan = &reason.Plan{Calls: append(made, more...)}
	if outcome.Complaint = l.check(answer); outcome.Complaint != "" {
		outcome.Verdict = learn.Failed
	}
	if _, err := layer.After(ctx, advice, outcome); err != nil {
		log.Print(err) // nothing was learned, and the answer is there
	}
	return answer
}

// The layer around a loop that a host keeps, as README.md has it.
func ExampleLayer_around() {
	ctx := context.Background()
	layer, err := learn.New(ctx, store.NewMem(), nil)
	check(err)
	defer layer.Close()
	asked := 0
	l := loop{
		tool: func(c reason.PlanCall) []byte { return []byte(`{"shipped":"Monday"}`) },
		ask: func(prompt string) (answer string, made []reason.PlanCall, took *reason.Usage) {
			asked++ // for the answer
			if !strings.Contains(prompt, "lookup returned") {
				asked++ // and before it for the call
				order := strings.TrimSuffix(prompt[strings.LastIndex(prompt, " ")+1:], "?")
				c := reason.PlanCall{Name: "lookup", Inputs: json.RawMessage(`{"order":"` + order + `"}`)}
				c.ResultDigest = tools.Digest([]byte(`{"shipped":"Monday"}`))
				made = append(made, c)
			}
			return "It was shipped on Monday.", made, &reason.Usage{Calls: asked}
		},
		check: func(answer string) string {
			if !strings.Contains(answer, "shipped") {
				return "the answer does not say where the order is"
			}
			return ""
		},
	}
	for _, order := range []string{"A-1041", "A-1077", "A-2207", "A-7"} {
		asked = 0
		answer := l.answer(ctx, layer, order)
		fmt.Println(order, answer, "asked:", asked)
	}
	// Output:
	// A-1041 It was shipped on Monday. asked: 2
	// A-1077 It was shipped on Monday. asked: 2
	// A-2207 It was shipped on Monday. asked: 1
	// A-7 It was shipped on Monday. asked: 2
}
