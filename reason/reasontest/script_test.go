package reasontest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/reasontest"
)

func ExampleScript() {
	m := reasontest.NewScript(
		reasontest.Fail(&reason.ModelError{Status: 429, Again: true}),
		reasontest.Say("four", "teen"),
	)
	for range 3 {
		resp, err := m.Generate(context.Background(), &reason.Request{System: "Count."})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(resp.Text, resp.Stop)
	}
	fmt.Println(m.Requests()[2].System)
	// Output:
	// model call failed with status 429
	// fourteen end
	// reasontest: the script is at its end, after 2 answers
	// Count.
}

func TestScript(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	whole := reasontest.Answer{Pieces: []string{"a", "b"}, Stop: reason.StopLength, Model: "m", Usage: reason.Usage{TokensIn: 1}}
	script := func() *reasontest.Script {
		return reasontest.NewScript(whole, reasontest.Answer{Pieces: []string{"a"}, Err: boom}, reasontest.Answer{},
			reasontest.Answer{Func: func(_ context.Context, r *reason.Request) (*reason.Response, error) {
				return &reason.Response{Text: r.System}, nil
			}})
	}
	req := &reason.Request{System: "s", Messages: []reason.Message{{Text: "x"}}, Temperature: new(0.0)}
	s := script()
	var got []*reason.Response
	for range 5 {
		resp, err := s.Generate(t.Context(), req)
		if err == nil {
			got = append(got, resp)
		}
	}
	require.Equal(t, []*reason.Response{
		{Text: "ab", Stop: reason.StopLength, Model: "m", Usage: whole.Usage}, {}, {Text: "s"},
	}, got)

	s = script()
	var texts []string
	for range 5 {
		text := ""
		for r, err := range s.Stream(t.Context(), req) {
			if err != nil {
				text += " error"
				continue
			}
			text += r.Text + r.Stop + "|"
		}
		texts = append(texts, text)
	}
	require.Equal(t, []string{"a|blength|", "a| error", "|", "s|", " error"}, texts)

	require.Len(t, s.Requests(), 5)
	req.Messages[0].Text, *req.Temperature = "y", 1
	require.Equal(t, "x", s.Requests()[0].Messages[0].Text)
	require.Zero(t, *s.Requests()[0].Temperature)

	ended, end := context.WithCancel(t.Context())
	end()
	_, err := s.Generate(ended, req)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, s.Requests(), 5)
}
