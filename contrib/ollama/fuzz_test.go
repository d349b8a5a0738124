package ollama_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/contrib/ollama"
	"github.com/arc-learn/arc/reason"
)

// canned is a server that answers the same to whatever it is asked.
type canned struct {
	status int
	kind   string
	body   []byte
}

func (s canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: s.status, Header: http.Header{"Content-Type": {s.kind}}, Body: io.NopCloser(bytes.NewReader(s.body)), Request: r,
	}, nil
}

// FuzzAnswer reads any bytes as the answer of a server: there is a Response or an
// error, of a call as of a stream, and nothing panics.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		`{"message":{"content":"yes"},"done":true,"done_reason":"stop","prompt_eval_count":-1,"eval_count":99999999999999999999}`,
		"{\"message\":{\"content\":\"y\"}}\n{\"done\":true}\n{}", `{"embeddings":[[1,2],[3]]}`, `{"embeddings":[[1e999],[null]]}`,
		`{`, `null`, `[]`, "data: {}\n\n", "\xff", `{"error":{"message":"no"}}`,
	} {
		f.Add(200, []byte(body))
		f.Add(400, []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		for _, kind := range []string{"application/json", "text/event-stream"} {
			opts := &ollama.Options{Client: &http.Client{Transport: canned{status, kind, body}}}
			m := must(ollama.New("http://server.invalid", "m", opts))
			resp, err := m.Generate(t.Context(), &reason.Request{MaxTokens: 10})
			require.True(t, (resp != nil) != (err != nil), "%v, %v", resp, err)
			ended := false
			for resp, err := range m.Stream(t.Context(), &reason.Request{MaxTokens: 10}) {
				require.False(t, ended, "after an error")
				require.True(t, (resp != nil) != (err != nil), "%v, %v", resp, err)
				ended = err != nil
			}
			es, err := must(ollama.NewEmbedder("http://server.invalid", "m", opts)).Embed(t.Context(), []string{"a", "b"})
			require.True(t, err != nil || len(es) == 2)
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
