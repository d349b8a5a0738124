package ollama

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"time"

	"github.com/arc-learn/arc/internal/provider"
	"github.com/arc-learn/arc/reason"
)

// Options configure a Model or an Embedder. The zero value, and nil, are ready.
type Options struct {
	// Client makes the calls, and adds what a proxy before the server asks
	// for. nil: one without a limit of time but that of the context.
	Client *http.Client
	// Parameters are Ollama's own "options" of each call, such as num_ctx, in
	// tokens, or seed. What a reason.Request says goes before them.
	Parameters map[string]any
	// KeepAlive is how long the server keeps the model loaded after a call. 0:
	// as the server is set up; negative: for ever.
	KeepAlive time.Duration
}

// Model is a [reason.Model] and a [reason.Streamer]. New makes one. It is safe
// for concurrent use.
type Model struct{ server }

// New returns the model of that name on the server at base, such as
// "http://localhost:11434". It asks the server for nothing.
func New(base, model string, opts *Options) (*Model, error) {
	s, err := connect(base, model, opts)
	if err != nil {
		return nil, err
	}
	return &Model{s}, nil
}

// Generate asks for a whole answer. A failed call is a *reason.ModelError.
// Response.Raw is the server's answer as a json.RawMessage.
func (m *Model) Generate(ctx context.Context, req *reason.Request) (*reason.Response, error) {
	body, err := m.post(ctx, "api/chat", m.request(req, false))
	if err != nil {
		return nil, err
	}
	defer body.Close()
	resp, err := next(ctx, json.NewDecoder(body))
	if err == nil && resp.Stop == "" {
		err = provider.None(nil)
	}
	if err == nil {
		err = provider.Costing(new(provider.Text).Add(resp.Text), resp.Usage)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// Stream asks for an answer piece by piece.
func (m *Model) Stream(ctx context.Context, req *reason.Request) iter.Seq2[*reason.Response, error] {
	return func(yield func(*reason.Response, error) bool) {
		body, err := m.post(ctx, "api/chat", m.request(req, true))
		if err != nil {
			yield(nil, err)
			return
		}
		defer body.Close()
		var text provider.Text
		for lines := json.NewDecoder(body); ; {
			piece, err := next(ctx, lines)
			if err == nil {
				err = text.Add(piece.Text)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(piece, nil) || piece.Stop != "" {
				return
			}
		}
	}
}

func (m *Model) request(req *reason.Request, stream bool) map[string]any {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var messages []message
	if req.System != "" {
		messages = append(messages, message{"system", req.System})
	}
	for _, msg := range req.Messages {
		messages = append(messages, message{msg.Role, msg.Text})
	}
	options := map[string]any{}
	maps.Copy(options, m.o.Parameters)
	if req.MaxTokens != 0 {
		options["num_predict"] = req.MaxTokens
	}
	if req.Temperature != nil {
		options["temperature"] = *req.Temperature
	}
	out := map[string]any{
		"messages": messages, "stream": stream, "options": options,
		// By default the server leaves out what does not fit, or forgets it while
		// it answers, and says nothing. Servers from before October 2025 still do.
		"truncate": false, "shift": false,
	}
	if req.Schema != nil {
		out["format"] = req.Schema
	}
	return out
}

// next reads one object of an answer: all of it, or a line of a stream. Only the
// last one has a Stop.
func next(ctx context.Context, lines *json.Decoder) (*reason.Response, error) {
	var raw json.RawMessage
	var line struct {
		Model   string
		Message *struct{ Content string }
		Done    bool
		Reason  string `json:"done_reason"`
		In      int    `json:"prompt_eval_count"`
		Out     int    `json:"eval_count"`
		Error   any
	}
	err := lines.Decode(&raw)
	if err == nil {
		err = json.Unmarshal(raw, &line)
	}
	if err != nil {
		return nil, provider.Fail(ctx, err)
	}
	if line.Error != nil || line.Message == nil {
		return nil, provider.None(raw)
	}
	resp := &reason.Response{Text: line.Message.Content, Model: line.Model, Raw: raw}
	if line.Done {
		resp.Usage = reason.Usage{TokensIn: max(0, line.In), TokensOut: max(0, line.Out)}
		switch resp.Stop = line.Reason; resp.Stop {
		case "", "stop":
			resp.Stop = reason.StopEnd
		}
	}
	return resp, nil
}
