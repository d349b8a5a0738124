package openai_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/arc-learn/arc/contrib/openai"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/reasontest"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, reasontest.Reply{Text: `{"answer":42}`, Stop: reason.StopEnd, Usage: reason.Usage{TokensOut: 6}})
	}))
	defer server.Close()

	client := sdk.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("none"))
	m := openai.New(client, "gpt-oss-120b", &openai.Options{Schema: openai.Object})
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
