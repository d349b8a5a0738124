package openai_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/arc-learn/arc/contrib/openai"
	"github.com/arc-learn/arc/reason"
)

func Example() {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.URL.Path, r.Header.Get("Authorization"))
		fmt.Fprint(w, `{"choices": [{"message": {"role": "assistant", "content": "It is on its way."},
			"finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 5}}`)
	}))
	defer endpoint.Close()
	m := openai.New("qwen3", &openai.Options{URL: endpoint.URL + "/v1", Key: "sk-local"})
	answer, err := reason.Generate(context.Background(), m, &reason.Request{
		System:   "We are a help desk.",
		Messages: []reason.Message{{Role: reason.RoleUser, Text: "Where is A-7?"}},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.Text, answer.Stop, answer.Usage.Input, answer.Usage.Output)
	// Output:
	// /v1/chat/completions Bearer sk-local
	// It is on its way. end 9 5
}
