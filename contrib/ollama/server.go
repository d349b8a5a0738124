package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"

	"github.com/arc-learn/arc/internal/provider"
	"github.com/arc-learn/arc/reason"
)

// server is one model on a server.
type server struct {
	base  *url.URL
	model string
	o     Options
}

func connect(base, model string, opts *Options) (server, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return server{}, errors.New("ollama: the base is not the address of a server") // which can hold a password
	}
	if model == "" {
		return server{}, errors.New("ollama: no model is named")
	}
	s := server{base: u, model: model}
	if opts != nil {
		s.o = *opts
		s.o.Parameters = maps.Clone(opts.Parameters)
	}
	if s.o.Client == nil {
		s.o.Client = new(http.Client)
	}
	return s, nil
}

// post returns the body of the server's answer, which the caller closes.
func (s *server) post(ctx context.Context, path string, in map[string]any) (io.ReadCloser, error) {
	in["model"] = s.model
	if s.o.KeepAlive != 0 {
		in["keep_alive"] = s.o.KeepAlive.String()
	}
	text, err := json.Marshal(in)
	if err != nil {
		return nil, &reason.ModelError{Err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base.JoinPath(path).String(), bytes.NewReader(text))
	if err != nil {
		return nil, &reason.ModelError{Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := provider.Do(req, s.o.Client.Do)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
