package reasontest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/reasontest"
)

// acme is an adapter of a small made-up protocol, and its faults by name.
type acme struct {
	url, key string
	fault    string
	slot     chan struct{}
}

type acmeRequest struct {
	System      string           `json:"system,omitempty"`
	Messages    []reason.Message `json:"messages"`
	Schema      json.RawMessage  `json:"schema,omitempty"`
	MaxTokens   int              `json:"max,omitempty"`
	Temperature *float64         `json:"temperature,omitempty"`
	Stream      bool             `json:"stream,omitempty"`
}

type acmeReply struct {
	Texts   []string `json:"texts"`
	Stop    string   `json:"stop,omitempty"`
	Model   string   `json:"model,omitempty"`
	In, Out int
	Error   string `json:"error,omitempty"`
}

func (a *acme) response(r acmeReply) *reason.Response {
	resp := &reason.Response{Stop: r.Stop, Model: r.Model, Usage: reason.Usage{TokensIn: r.In, TokensOut: r.Out}}
	switch a.fault {
	case "no usage":
		resp.Usage = reason.Usage{}
	case "no model":
		resp.Model = ""
	case "always at its end":
		resp.Stop = reason.StopEnd
	}
	if len(r.Texts) > 0 || a.fault == "panics on an empty answer" {
		resp.Text = r.Texts[0]
	}
	return resp
}

func (a *acme) Generate(ctx context.Context, req *reason.Request) (*reason.Response, error) {
	if a.slot != nil {
		a.slot <- struct{}{}
		defer func() { <-a.slot }()
	}
	body, err := a.post(ctx, req, a.fault == "always streams")
	if a.fault == "neither" && err != nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var read io.Reader = io.LimitReader(body, 8*reason.MaxAnswer)
	if a.fault == "reads without end" {
		read = body
	}
	data, err := io.ReadAll(read)
	if err != nil && a.fault != "takes what it got" {
		return nil, a.broken(ctx, err)
	}
	var r acmeReply
	if a.fault == "takes what it got" && err != nil {
		return &reason.Response{Text: string(data)}, nil
	}
	if err := json.Unmarshal(data, &r); err != nil && a.fault != "believes anything" {
		return nil, &reason.ModelError{Status: 200, Err: err}
	}
	if len(r.Texts) == 0 && a.fault != "takes an empty answer" && a.fault != "panics on an empty answer" && a.fault != "believes anything" {
		return nil, &reason.ModelError{Status: 200, Err: errors.New("an empty answer")}
	}
	if a.fault == "both" {
		return a.response(r), errors.New("deprecated")
	}
	return a.response(r), nil
}

func (a *acme) Stream(ctx context.Context, req *reason.Request) iter.Seq2[*reason.Response, error] {
	return func(yield func(*reason.Response, error) bool) {
		body, err := a.post(ctx, req, true)
		if err != nil {
			yield(nil, err)
			return
		}
		if a.fault != "leaves the stream open" {
			defer body.Close()
		}
		var read io.Reader = body
		if a.fault == "streams all at once" {
			data, _ := io.ReadAll(body)
			read = bytes.NewReader(data)
		}
		lines := bufio.NewScanner(read)
		lines.Buffer(nil, 2*reason.MaxAnswer)
		if a.fault == "reads without end" {
			lines.Buffer(nil, 1<<30)
		}
		for lines.Scan() {
			var r acmeReply
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				yield(nil, a.broken(ctx, err))
				return
			}
			if r.Error != "" && a.fault != "overhears errors" {
				yield(nil, &reason.ModelError{Again: true, Err: a.hide(r.Error)})
				return
			}
			if !yield(a.response(r), nil) || r.Stop != "" {
				return
			}
		}
		err = lines.Err()
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		if ctx.Err() != nil && a.fault == "ends quietly" || a.fault == "takes any end" {
			return
		}
		yield(nil, a.broken(ctx, err))
		if a.fault == "goes on after an error" {
			yield(&reason.Response{}, nil)
		}
	}
}

// post sends req and returns the body of a good answer.
func (a *acme) post(ctx context.Context, req *reason.Request, stream bool) (io.ReadCloser, error) {
	out := acmeRequest{req.System, req.Messages, req.Schema, req.MaxTokens, req.Temperature, stream}
	switch a.fault {
	case "drops the system prompt":
		out.System = ""
	case "drops a temperature of 0":
		if req.Temperature != nil && *req.Temperature == 0 {
			out.Temperature = nil
		}
	case "sends a default temperature":
		out.Temperature = new(1.0)
	case "drops the schema":
		out.Schema = nil
	case "drops the bound":
		out.MaxTokens = 0
	case "changes the request":
		req.Messages[0].Text = strings.TrimSpace(req.Messages[0].Text) + " "
		out.Messages = req.Messages
	case "ignores the context":
		ctx = context.WithoutCancel(ctx)
	}
	body, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		got, err := a.try(ctx, body)
		if err == nil || a.fault != "tries again" || try > 1 {
			return got, err
		}
	}
}

func (a *acme) try(ctx context.Context, body []byte) (io.ReadCloser, error) {
	hr, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url+"/chat", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if a.fault != "sends no key" {
		hr.Header.Set("Authorization", "Bearer "+a.key)
	}
	resp, err := http.DefaultClient.Do(hr)
	if err != nil {
		return nil, a.broken(ctx, err)
	}
	if resp.StatusCode == http.StatusOK || a.fault == "no status" {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	e := &reason.ModelError{
		Status: resp.StatusCode, Again: resp.StatusCode == 429 || resp.StatusCode >= 500,
		After: a.after(resp.Header.Get("Retry-After")), Err: errors.Join(a.hide(string(text)), err),
	}
	switch a.fault {
	case "tells the key":
		e.Err = errors.New(string(text))
	case "always again":
		e.Again = true
	case "never again":
		e.Again = false
	case "plain errors":
		return nil, e.Err
	}
	return nil, e
}

func (a *acme) after(header string) time.Duration {
	if s, err := strconv.Atoi(header); err == nil {
		return time.Duration(max(0, s)) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil && a.fault != "knows no dates" {
		return max(0, time.Until(at))
	}
	return 0
}

func (a *acme) hide(text string) error {
	return errors.New(strings.ReplaceAll(text, a.key, "[key]"))
}

func (a *acme) broken(ctx context.Context, err error) error {
	switch {
	case a.fault == "own words":
		return errors.New("oops")
	case ctx.Err() != nil && a.fault != "blames the network":
		return ctx.Err()
	}
	return &reason.ModelError{Again: true, Err: a.hide(err.Error())}
}

// provider is the protocol of acme, with an adapter that has this fault.
func provider(fault string) reasontest.Provider {
	encode := func(w io.Writer, r acmeReply) { _ = json.NewEncoder(w).Encode(r) }
	return reasontest.Provider{
		Model: func(url, key string) (reason.Model, error) {
			a := &acme{url: url, key: key, fault: fault}
			if fault == "one at a time" {
				a.slot = make(chan struct{}, 1)
			}
			if fault == "does not stream" {
				return reason.ModelFunc(a.Generate), nil
			}
			return a, nil
		},
		Decode: func(r *http.Request) (reasontest.Call, error) {
			var q acmeRequest
			if r.URL.Path != "/chat" || r.Header.Get("Authorization") != "Bearer "+reasontest.Key {
				return reasontest.Call{}, fmt.Errorf("%s without a key", r.URL)
			}
			err := json.NewDecoder(r.Body).Decode(&q)
			return reasontest.Call(q), err
		},
		Answer: func(w http.ResponseWriter, r reasontest.Reply) {
			out := acmeReply{Texts: []string{r.Text}, Stop: r.Stop, Model: r.Model, In: r.Usage.TokensIn, Out: r.Usage.TokensOut}
			if r.Empty {
				out.Texts = nil
			}
			encode(w, out)
		},
		Stream: func(w http.ResponseWriter, r reasontest.Reply) {
			for p := range r.Pieces {
				encode(w, acmeReply{Texts: []string{p}})
			}
			encode(w, acmeReply{Texts: []string{""}, Stop: r.Stop, Model: r.Model, In: r.Usage.TokensIn, Out: r.Usage.TokensOut})
		},
		StreamFail: func(w http.ResponseWriter, message string) { encode(w, acmeReply{Error: message}) },
	}
}
