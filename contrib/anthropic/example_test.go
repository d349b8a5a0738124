package anthropic_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/arc-learn/arc/contrib/anthropic"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/reasontest"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		stream(w, reasontest.Reply{Pieces: slices.Values([]string{"forty", "-two"}), Stop: reason.StopEnd, Usage: reason.Usage{TokensOut: 6}})
	}))
	defer server.Close()

	client := sdk.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("none"))
	m := anthropic.New(client, "claude-sonnet-5", nil)
	req := &reason.Request{Messages: []reason.Message{{Role: "user", Text: "six times seven?"}}}
	for piece, err := range m.Stream(context.Background(), req) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(piece.Text, piece.Stop, piece.Usage.TokensOut)
	}
	// Output:
	// forty  0
	// -two  0
	//  end 6
}
