package reasontest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason"
)

// acme is an adapter for a protocol of lines of JSON, and bad what is wrong with it.
type acme struct {
	url, key, bad string
	http          *http.Client
}

type acmeLine struct {
	Text, Thought, Signed, Stop string
	Calls                       []reason.ToolCall
	Usage                       *reason.Usage
	Error                       string
}

func (a *acme) Generate(ctx context.Context, r *reason.Request) (*reason.Response, error) {
	s := Seen{Request: *r, Stream: r.OnText != nil}
	switch a.bad {
	case "request":
		s.Temperature = nil
	case "cancel":
		ctx = context.Background()
	}
	body, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	post.Header.Set("Authorization", "Bearer "+a.key)
	resp, err := a.http.Do(post)
	if e, ok := errors.AsType[*reason.Error](err); ok {
		switch a.bad {
		case "refusals":
			e.Wait = 0
		}
		return nil, e
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	out := &reason.Response{}
	var opaque []string
	for d := json.NewDecoder(resp.Body); out.Stop == ""; {
		var l acmeLine
		err := d.Decode(&l)
		if e, ok := errors.AsType[*reason.Error](err); ok && a.bad != "cut" {
			return nil, e
		}
		if err == io.EOF && (out.Text == "" || a.bad != "cut") {
			return nil, &reason.Error{Class: reason.Unavailable, Err: io.ErrUnexpectedEOF}
		}
		if err == io.EOF || err != nil && a.bad == "cut" {
			out.Stop = reason.StopEnd
			break
		}
		if err != nil && a.bad == "malformed" {
			panic(err)
		}
		if err != nil || l.Text+l.Thought+l.Signed+l.Stop == "" && len(l.Calls) == 0 {
			return nil, &reason.Error{Class: reason.Invalid, Err: errors.New("it is no answer")}
		}
		out.Text, out.Stop, out.Calls = out.Text+l.Text, l.Stop, append(out.Calls, l.Calls...)
		if l.Signed != "" && a.bad != "tools" {
			opaque = append(opaque, l.Signed)
		}
		if l.Usage != nil && a.bad != "answer" {
			out.Usage = l.Usage
		}
		if r.OnText != nil && l.Text != "" && a.bad != "stream answer" {
			r.OnText(l.Text)
		}
	}
	switch {
	case a.bad == "stream tools" && r.OnText != nil:
		out.Calls = nil
	case len(opaque) > 0:
		out.Opaque, err = json.Marshal(opaque)
	}
	return out, err
}

func provider(bad string) Provider {
	return Provider{
		Model: func(url, key string) reason.Model {
			return &acme{url, key, bad, &http.Client{Transport: reason.Transport(nil)}}
		},
		Decode: func(r *http.Request) (Seen, error) {
			var s Seen
			err := json.NewDecoder(r.Body).Decode(&s)
			if string(s.Schema) == "null" {
				s.Schema = nil
			}
			return s, err
		},
		Write: func(w http.ResponseWriter, stream bool, a Answer, next func()) {
			e := json.NewEncoder(w)
			e.SetEscapeHTML(false)
			line := func(l acmeLine) { _ = e.Encode(l); w.(http.Flusher).Flush() }
			if a.Thought+a.Signed != "" {
				line(acmeLine{Thought: a.Thought, Signed: a.Signed})
			}
			if !stream {
				a.Pieces = []string{strings.Join(a.Pieces, "")}
			}
			for i, p := range a.Pieces {
				if i > 0 {
					next()
				}
				line(acmeLine{Text: p})
			}
			if !a.Unclosed {
				line(acmeLine{Stop: a.Stop, Calls: a.Calls, Usage: &a.Usage})
			}
		},
	}
}

// reports counts what a rule reports.
type reports struct{ n atomic.Int32 }

func (r *reports) Errorf(string, ...any) { r.n.Add(1) }

func TestCheckModel(t *testing.T) { CheckModel(t, provider("")) }

// Each rule must see the adapter that breaks it.
func TestCheckModelSeesWhatIsBroken(t *testing.T) {
	defer func(d time.Duration) { patience = d }(patience)
	patience = 300 * time.Millisecond
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, stream := range []bool{false, true} {
				bad, found := r.name, new(reports)
				if stream && (bad == "answer" || bad == "tools") {
					bad = "stream " + bad
				}
				hold(t.Context(), found, provider(bad), stream, r.check)
				require.Positive(t, found.n.Load(), bad)
			}
		})
	}
}

func TestScript(t *testing.T) {
	s := NewScript(Say("a ", "b c", "d key ", "= ", "x y\nk:\n", "z"), Call("pay", `{"n":1}`), Fail(io.ErrUnexpectedEOF))
	var pieces []string
	r := new(check).ask()
	r.OnText = func(p string) { pieces = append(pieces, p) }
	resp, err := reason.Generate(t.Context(), s, r)
	require.NoError(t, err)
	require.Equal(t, []string{"a b ", "cd ", "key = x y\n", "k:\nz"}, pieces, "whole words, for who looks for secrets in them")
	require.Equal(t, "a b cd key = x y\nk:\nz", resp.Text)
	resp, err = reason.Generate(t.Context(), s, r)
	require.NoError(t, err)
	require.Equal(t, "call_1", resp.Calls[0].ID)
	_, err = reason.Generate(t.Context(), s, r)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = reason.Generate(t.Context(), s, r)
	require.ErrorContains(t, err, "this is request 4")
	require.Len(t, s.Requests(), 4)
}
