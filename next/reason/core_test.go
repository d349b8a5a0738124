package reason

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

type scripted []string

func (s *scripted) Generate(_ context.Context, r *Request) (*Response, error) {
	out := (*s)[0]
	*s = (*s)[1:]
	return &Response{Text: out, Stop: StopEnd, Usage: &Usage{Input: 1}}, nil
}

func TestCore(t *testing.T) {
	m := &scripted{`<think>I could {"approach":"delete"} but that is too harsh, so rather`, "<THINK>a</THINK>\n[THINK]x[/THINK]```json\n" + `{"tasks":[{"objective":"a","inputs":null}],"impasse":null,"thought":null}` + "\n```"}
	d, err := (&LLM{Model: m}).Decide(t.Context(), &Brief{Objective: "do it", Workers: []Card{{Name: "w", Input: json.RawMessage(`{"type":"object"}`)}}})
	require.NoError(t, err)
	require.Equal(t, "a", d.Tasks[0].Objective)
	require.Equal(t, 2, d.Usage.Calls)
}
