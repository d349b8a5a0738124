package ollama_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/arc-learn/arc/contrib/ollama"
	"github.com/arc-learn/arc/reason"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"message":{"content":"{\"answer\":42}"},"done":true,"done_reason":"stop","eval_count":6}`)
	}))
	defer server.Close()

	m, err := ollama.New(server.URL, "qwen3", &ollama.Options{Parameters: map[string]any{"num_ctx": 65536}})
	if err != nil {
		log.Fatal(err)
	}
	resp, err := m.Generate(context.Background(), &reason.Request{
		System:   "Answer with a number.",
		Messages: []reason.Message{{Role: "user", Text: "six times seven?"}},
		Schema:   []byte(`{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"]}`),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.Text, resp.Stop, resp.Usage.TokensOut)
	// Output: {"answer":42} end 6
}
