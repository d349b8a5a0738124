package main

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
)

// endpoint is a model behind OpenAI's chat completions, as much of it as a chat
// needs, so that the example links nothing but arc. A host takes contrib/openai,
// which also knows schemas, whole answers, and the ways in which endpoints fail.
type endpoint struct {
	base, key, model string
}

func (e *endpoint) Generate(ctx context.Context, req *reason.Request) (*reason.Response, error) {
	var all strings.Builder
	var last *reason.Response
	for piece, err := range e.Stream(ctx, req) {
		if err != nil {
			return nil, err
		}
		all.WriteString(piece.Text)
		last = piece
	}
	last.Text = all.String()
	return last, nil
}

func (e *endpoint) Stream(ctx context.Context, req *reason.Request) iter.Seq2[*reason.Response, error] {
	return func(yield func(*reason.Response, error) bool) {
		body, err := e.open(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		defer body.Close()
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, reason.MaxAnswer)
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data:")
			if !ok {
				continue
			}
			piece, err := parse(strings.TrimSpace(data))
			if !yield(piece, err) || err != nil || piece.Stop != "" {
				return
			}
		}
		// It ended before it said that it would.
		yield(nil, &reason.ModelError{Again: true, Err: errors.Join(io.ErrUnexpectedEOF, lines.Err())})
	}
}

func (e *endpoint) open(ctx context.Context, req *reason.Request) (io.ReadCloser, error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	messages := []message{{"system", req.System}}
	for _, m := range req.Messages {
		messages = append(messages, message{m.Role, m.Text})
	}
	body, err := json.Marshal(map[string]any{"model": e.model, "messages": messages, "stream": true})
	if err != nil {
		return nil, err
	}
	url := strings.TrimRight(e.base, "/") + "/chat/completions"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if e.key != "" {
		r.Header.Set("Authorization", "Bearer "+e.key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, &reason.ModelError{Again: ctx.Err() == nil, Err: err}
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	why, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // not a number: it does not say
	return nil, &reason.ModelError{
		Status: resp.StatusCode, Again: resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500,
		After: time.Duration(max(0, seconds)) * time.Second, Err: errors.Join(fmt.Errorf("%s", why), err),
	}
}

// parse reads one event of the stream. "[DONE]" and a reason to finish end it.
func parse(data string) (*reason.Response, error) {
	if data == "[DONE]" {
		return &reason.Response{Stop: reason.StopEnd}, nil
	}
	var event struct {
		Model   string
		Choices []struct {
			Delta  struct{ Content string }
			Reason string `json:"finish_reason"`
		}
		Error *struct{ Message string }
	}
	if err := json.Unmarshal([]byte(data), &event); err != nil {
		return nil, &reason.ModelError{Again: true, Err: err}
	}
	if event.Error != nil {
		return nil, &reason.ModelError{Again: true, Err: errors.New(event.Error.Message)}
	}
	piece := &reason.Response{Model: event.Model}
	for _, c := range event.Choices {
		piece.Text += c.Delta.Content
		switch c.Reason {
		case "":
		case "stop":
			piece.Stop = reason.StopEnd
		case "length":
			piece.Stop = reason.StopLength
		case "content_filter":
			piece.Stop = reason.StopRefusal
		default:
			piece.Stop = c.Reason
		}
	}
	return piece, nil
}
