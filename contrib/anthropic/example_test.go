package anthropic_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/arc-learn/arc/contrib/anthropic"
	"github.com/arc-learn/arc/reason"
)

func Example() {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.URL.Path, r.Header.Get("X-Api-Key"))
		fmt.Fprint(w, `{"role": "assistant", "content": [{"type": "text", "text": "It is on its way."}],
			"stop_reason": "end_turn", "usage": {"input_tokens": 9, "output_tokens": 5}}`)
	}))
	defer endpoint.Close()
	m := anthropic.New("claude-sonnet-4-5", &anthropic.Options{URL: endpoint.URL, Key: "sk-local"})
	answer, err := reason.Generate(context.Background(), m, &reason.Request{
		System:   "We are a help desk.",
		Messages: []reason.Message{{Role: reason.RoleUser, Text: "Where is A-7?"}},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.Text, answer.Stop, answer.Usage.Input, answer.Usage.Output)
	// Output:
	// /v1/messages sk-local
	// It is on its way. end 9 5
}
