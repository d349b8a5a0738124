package ollama_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/arc-learn/arc/contrib/ollama"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/reasontest"
)

// withKey sets the key that a proxy before a server asks for.
type withKey struct {
	http.RoundTripper
	key string
}

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return k.RoundTripper.RoundTrip(r)
}

func TestModel(t *testing.T) {
	reasontest.CheckModel(t, reasontest.Provider{
		Model: func(url, key string) (reason.Model, error) {
			c := client(t)
			c.Transport = withKey{c.Transport, key}
			return ollama.New(url, "small", &ollama.Options{Client: c})
		},
		Decode: decode,
		Answer: func(w http.ResponseWriter, r reasontest.Reply) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			send(w, end(r, r.Text))
		},
		Stream: func(w http.ResponseWriter, r reasontest.Reply) {
			w.Header().Set("Content-Type", "application/x-ndjson")
			for piece := range r.Pieces {
				send(w, map[string]any{"model": r.Model, "message": map[string]any{"role": "assistant", "content": piece}, "done": false})
			}
			send(w, end(r, ""))
		},
		Fail: func(w http.ResponseWriter, status int, _, message string) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.WriteHeader(status)
			send(w, map[string]any{"error": message})
		},
		StreamFail: func(w http.ResponseWriter, message string) { send(w, map[string]any{"error": message}) },
		Lacks:      []string{"stop refusal"},
	})
}

// decode reads a request as the server does.
func decode(r *http.Request) (reasontest.Call, error) {
	if r.Method != http.MethodPost || r.URL.Path != "/api/chat" || r.Header.Get("Authorization") != "Bearer "+reasontest.Key {
		return reasontest.Call{}, fmt.Errorf("%s %s, or the key is missing", r.Method, r.URL)
	}
	in := struct {
		Model    string
		Messages []struct{ Role, Content string }
		Stream   *bool
		Format   json.RawMessage
		Options  struct {
			Temperature *float64
			Most        int `json:"num_predict"`
		}
	}{}
	err := json.NewDecoder(r.Body).Decode(&in)
	if err != nil || in.Model != "small" {
		return reasontest.Call{}, fmt.Errorf("model %q: %w", in.Model, err)
	}
	call := reasontest.Call{
		Schema: in.Format, MaxTokens: in.Options.Most, Temperature: in.Options.Temperature,
		Stream: in.Stream == nil || *in.Stream, // the server's default
	}
	for _, m := range in.Messages {
		if m.Role == "system" {
			call.System += m.Content
		} else {
			call.Messages = append(call.Messages, reason.Message{Role: m.Role, Text: m.Content})
		}
	}
	return call, nil
}

// end is the answer, or the last line of a stream.
func end(r reasontest.Reply, text string) map[string]any {
	finish := "stop"
	if r.Stop == reason.StopLength {
		finish = "length"
	}
	out := map[string]any{
		"model": r.Model, "done": true, "done_reason": finish,
		"prompt_eval_count": r.Usage.TokensIn, "eval_count": r.Usage.TokensOut,
	}
	if !r.Empty {
		out["message"] = map[string]any{"role": "assistant", "content": text}
	}
	return out
}

func send(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }
