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
		answer(w, reasontest.Reply{Stop: reason.StopEnd, Text: `{"thought":"one call","complexity":"simple","approach":"look it up",
			"tasks":[{"objective":"look up order 17","skill":"lookup","verify":"the database says the same"}]}`})
	}))
	defer server.Close()

	client := sdk.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("none"))
	m := openai.New(client, "gpt-oss-120b", &openai.Options{Schema: openai.Object})
	llm, err := reason.NewLLM(m, nil) // an arc.Host has it as its Reasoner
	if err != nil {
		log.Fatal(err)
	}
	d, err := llm.Reason(context.Background(), reason.Brief{Objective: "where is order 17?", Skills: []string{"lookup"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Approach+":", d.Tasks[0].Objective)
	// Output: look it up: look up order 17
}
