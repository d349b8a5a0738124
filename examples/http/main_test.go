package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAsksItself(t *testing.T) {
	var out strings.Builder
	require.NoError(t, serve(t.Context(), "", "", &out))
	require.True(t, strings.HasPrefix(out.String(), "200 OK\nevent: recalled\n"), out.String())
	require.Contains(t, out.String(), "event: word\ndata: blue \n\n")
	require.Contains(t, out.String(), "event: answer\ndata: \"Air scatters blue light more than red.\"\n")
}

// deskOf is a desk behind a server, both of which end with the test.
func deskOf(t *testing.T) (*desk, string) {
	d, err := newDesk(t.Context(), "")
	require.NoError(t, err)
	srv := httptest.NewServer(d.routes())
	t.Cleanup(func() {
		require.NoError(t, d.agent.Shutdown(context.Background()))
		srv.Close()
	})
	return d, srv.URL
}

func ask(t *testing.T, ctx context.Context, url, key, question string) (int, string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/ask", strings.NewReader(question))
	require.NoError(t, err)
	req.Header.Set("Idempotency-Key", key)
	resp, err := http.DefaultClient.Do(req)
	if ctx.Err() != nil {
		return 0, ""
	}
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if ctx.Err() == nil {
		require.NoError(t, err)
	}
	return resp.StatusCode, string(text)
}

func TestTheSameKeyIsTheSameRun(t *testing.T) {
	d, url := deskOf(t)
	var calls atomic.Int64
	d.model = func(ctx context.Context, q string, word func(string)) (string, error) {
		calls.Add(1)
		return recite(ctx, q, word)
	}
	_, first := ask(t, t.Context(), url, "k", "why?")
	_, again := ask(t, t.Context(), url, "k", "why?")
	require.Contains(t, first, "event: answer")
	require.Contains(t, again, "event: answer")
	_, other := ask(t, t.Context(), url, "k", "how?")
	require.Contains(t, other, "event: refused")
	require.NotContains(t, other, "event: answer")
	require.EqualValues(t, 1, calls.Load())

	code, _ := ask(t, t.Context(), url, "", "")
	require.Equal(t, http.StatusBadRequest, code)
}

// A request ends at its deadline, though the model hangs; asked again, the run goes on.
func TestARequestHasADeadline(t *testing.T) {
	d, url := deskOf(t)
	d.limit = 50 * time.Millisecond
	var calls atomic.Int64
	d.model = func(ctx context.Context, q string, word func(string)) (string, error) {
		if calls.Add(1) == 1 {
			<-ctx.Done()
			word("late")
			return "", ctx.Err()
		}
		return recite(ctx, q, word)
	}
	_, cut := ask(t, t.Context(), url, "k", "why?")
	require.Contains(t, cut, "event: unfinished")
	d.limit = time.Minute
	_, rest := ask(t, t.Context(), url, "k", "why?")
	require.Contains(t, rest, "event: answer")
}

// A client that goes away stops the run, which another request takes up.
func TestAClientGoesAway(t *testing.T) {
	d, url := deskOf(t)
	began := make(chan struct{})
	var calls atomic.Int64
	d.model = func(ctx context.Context, q string, word func(string)) (string, error) {
		if calls.Add(1) == 1 {
			word("one")
			close(began)
			<-ctx.Done()
			return "", ctx.Err()
		}
		return recite(ctx, q, word)
	}
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-began
		leave()
	}()
	_, _ = ask(t, ctx, url, "k", "why?")
	for {
		if _, rest := ask(t, t.Context(), url, "k", "why?"); strings.Contains(rest, "event: answer") {
			break // before it, the run may still be live: arc.ErrRunning
		}
	}
	require.EqualValues(t, 2, calls.Load())
}

func TestAnotherSiteAsks(t *testing.T) {
	_, url := deskOf(t)
	req, err := http.NewRequest(http.MethodPost, url+"/ask", strings.NewReader("why?"))
	require.NoError(t, err)
	req.Header.Set("Origin", "https://elsewhere.example")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
}
