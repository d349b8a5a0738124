package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/contrib/mcp"
	"github.com/arc-learn/arc/memory"
)

const token = "correct-horse-battery-staple"

func handler(t testing.TB, agent *arc.Agent, opts mcp.HTTPOptions) *httptest.Server {
	t.Helper()
	s, err := mcp.NewServer(agent, anna)
	require.NoError(t, err)
	var h *mcp.Handler
	h, err = s.HTTP(opts)
	require.NoError(t, err)
	web := httptest.NewServer(http.HandlerFunc(h.ServeHTTP))
	t.Cleanup(func() {
		require.NoError(t, h.Close())
		web.Close()
	})
	return web
}

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b != "" {
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

func dial(t testing.TB, url, token string) (*sdk.ClientSession, error) {
	t.Helper()
	s, err := client().Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}, MaxRetries: -1,
	}, nil)
	if err == nil {
		t.Cleanup(func() { _ = s.Close() })
	}
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	return s, err
}

func TestHTTPNeedsAToken(t *testing.T) {
	t.Parallel()
	agent := open(t, scripted())
	s, err := mcp.NewServer(agent, anna)
	require.NoError(t, err)
	_, err = s.HTTP(mcp.HTTPOptions{})
	require.ErrorIs(t, err, mcp.ErrNoToken)
	_, err = s.HTTP(mcp.HTTPOptions{Token: " \t"})
	require.ErrorIs(t, err, mcp.ErrNoToken)
	verify := func(context.Context, string) (mcp.Principal, error) { return mcp.Principal{}, nil }
	for _, o := range []mcp.HTTPOptions{{Token: token, Verify: verify}, {Token: "two or three words"}, {Token: token, MaxBody: -1}, {Token: token[:mcp.MinToken-1]}} {
		_, err = s.HTTP(o)
		require.Error(t, err)
	}
	nobody, err := mcp.NewServer(agent, nil)
	require.NoError(t, err)
	_, err = nobody.HTTP(mcp.HTTPOptions{Token: token})
	require.ErrorIs(t, err, memory.ErrScope)

	web := handler(t, agent, mcp.HTTPOptions{Token: token})
	for _, wrong := range []string{"", "wrong", token + "x", token[1:]} {
		_, err := dial(t, web.URL, wrong)
		require.Error(t, err)
		require.Contains(t, err.Error(), "Unauthorized")
	}
	session, err := dial(t, web.URL, token)
	require.NoError(t, err)
	for _, name := range tools {
		res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(example[name])})
		require.NoError(t, err)
		require.Equal(t, refusesExample[name], res.IsError, "%s: %s", name, said(res))
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// send posts a message by hand, and returns status, headers and body.
func send(t testing.TB, url, body string, header map[string]string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range header {
		req.Header.Set(k, v)
		if k == "Host" {
			req.Host = v
		}
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, res.Header, string(text)
}

func TestWhoMayCallOverHTTP(t *testing.T) {
	t.Parallel()
	web := handler(t, open(t, scripted()), mcp.HTTPOptions{Token: token, MaxBody: 4 << 10})
	auth := "Bearer " + token
	for _, c := range []struct {
		what   string
		header map[string]string
		code   int
	}{
		{"with the token", map[string]string{"Authorization": auth}, 200},
		{"in another case", map[string]string{"Authorization": "bearer " + token}, 200},
		{"from a page of this machine", map[string]string{"Authorization": auth, "Origin": "http://localhost:3000"}, 200},
		{"without a token", nil, 401},
		{"with a wrong one", map[string]string{"Authorization": "Bearer x"}, 401},
		{"with another scheme", map[string]string{"Authorization": "Basic " + token}, 401},
		{"with two words", map[string]string{"Authorization": auth + " x"}, 401},
		{"from a foreign page", map[string]string{"Authorization": auth, "Origin": "https://evil.example"}, 403},
		{"from a file", map[string]string{"Authorization": auth, "Origin": "null"}, 403},
		{"by another name", map[string]string{"Authorization": auth, "Host": "evil.example"}, 403},
		{"by another name, with a port", map[string]string{"Authorization": auth, "Host": "evil.example:80"}, 403},
		{"by a name that begins well", map[string]string{"Authorization": auth, "Host": "localhost.evil.example"}, 403},
	} {
		code, header, body := send(t, web.URL, initialize, c.header)
		require.Equal(t, c.code, code, "%s: %s", c.what, body)
		require.Equal(t, code == 401, strings.HasPrefix(header.Get("WWW-Authenticate"), "Bearer"), c.what)
		if code != 200 {
			require.NotContains(t, body, token)
			require.Empty(t, header.Get("Mcp-Session-Id"))
		}
	}
	code, _, _ := send(t, web.URL+"?access_token="+token, initialize, nil)
	require.Equal(t, 401, code, "a token in an address ends up in logs")
	code, _, _ = send(t, web.URL, initialize+strings.Repeat(" ", 5<<10), map[string]string{"Authorization": auth})
	require.Equal(t, http.StatusRequestEntityTooLarge, code)
}

// What is too large for a tool is the tool's error, and the session goes on.
func TestBoundsOverHTTP(t *testing.T) {
	t.Parallel()
	web := handler(t, open(t, scripted()), mcp.HTTPOptions{Token: token})
	s, err := dial(t, web.URL, token)
	require.NoError(t, err)
	require.Contains(t, refuse(t, s, "remember", js(map[string]any{"content": strings.Repeat("x", mcp.MaxArguments)})), "at most")
	call[memories](t, s, "recall", `{}`)
	code, _, _ := send(t, web.URL, strings.Repeat(" ", 5<<20), map[string]string{"Authorization": "Bearer " + token})
	require.Equal(t, 413, code)
}

// Who opens one session after the other loses those that are not used, even
// while they have a call under way, and nobody else does.
func TestSessionsAreBoundedByScope(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	web := handler(t, open(t, scripted()), mcp.HTTPOptions{Verify: func(_ context.Context, token string) (mcp.Principal, error) {
		expires := time.Now().Add(time.Hour + time.Duration(requests.Add(1))*time.Second) // another one each time
		return mcp.Principal{Scope: memory.Scope(token), Expires: expires}, nil
	}})
	his, err := dial(t, web.URL, "bob")
	require.NoError(t, err)
	hers, err := dial(t, web.URL, "anna")
	require.NoError(t, err)
	lost, err := dial(t, web.URL, "anna")
	require.NoError(t, err)
	answer := make(chan error, 1)
	go func() {
		_, err := lost.CallTool(t.Context(), &sdk.CallToolParams{Name: "think", Arguments: map[string]any{"objective": "wait for it"}})
		answer <- err
	}()
	for range mcp.MaxSessions - 2 {
		code, _, _ := send(t, web.URL, initialize, map[string]string{"Authorization": "Bearer anna"})
		require.Equal(t, 200, code)
	}
	call[memories](t, hers, "recall", `{}`)
	for range mcp.MaxSessions - 1 {
		code, _, _ := send(t, web.URL, initialize, map[string]string{"Authorization": "Bearer anna"})
		require.Equal(t, 200, code)
	}
	<-answer // its session has ended
	call[memories](t, hers, "recall", `{}`)
	call[memories](t, his, "recall", `{}`)
	_, err = lost.CallTool(t.Context(), &sdk.CallToolParams{Name: "recall"})
	require.Error(t, err)
}

// pipes is a listener on connections in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A body that does not come holds nothing for longer than half a minute,
// whoever sends it.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	agent := open(t, scripted())
	s, err := mcp.NewServer(agent, anna)
	require.NoError(t, err)
	for auth, want := range map[string]string{"Bearer " + token: "408", "Bearer x": "401", "": "401"} {
		synctest.Test(t, func(t *testing.T) {
			h, err := s.HTTP(mcp.HTTPOptions{Token: token})
			require.NoError(t, err)
			conns := make(pipes)
			web := &http.Server{Handler: h}
			var wg sync.WaitGroup
			wg.Go(func() { _ = web.Serve(conns) })
			near, far := net.Pipe()
			conns <- far
			start := time.Now()
			go func() {
				_, _ = io.WriteString(near, "POST / HTTP/1.1\r\nHost: localhost\r\nAuthorization: "+auth+"\r\nContent-Length: 100\r\n\r\n{")
			}()
			answer, err := io.ReadAll(near)
			require.NoError(t, err)
			require.Contains(t, string(answer), "HTTP/1.1 "+want)
			require.Less(t, time.Since(start), time.Minute)
			close(conns)
			require.NoError(t, web.Close())
			require.NoError(t, h.Close())
			wg.Wait()
		})
	}
}

// One tenant's slow calls are in nobody else's way.
func TestCallsAreBoundedByScope(t *testing.T) {
	t.Parallel()
	web := handler(t, open(t, scripted()), mcp.HTTPOptions{Verify: func(_ context.Context, token string) (mcp.Principal, error) {
		return mcp.Principal{Scope: memory.Scope(token)}, nil
	}})
	hers, err := dial(t, web.URL, "anna")
	require.NoError(t, err)
	his, err := dial(t, web.URL, "bob")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range mcp.MaxCalls + 1 {
		wg.Go(func() {
			_, _ = hers.CallTool(ctx, &sdk.CallToolParams{Name: "think", Arguments: map[string]any{"objective": "wait for it"}})
		})
	}
	require.Eventually(t, func() bool {
		res, err := hers.CallTool(ctx, &sdk.CallToolParams{Name: "health"})
		return err == nil && res.IsError
	}, wait, tick)
	call[map[string]any](t, his, "health", `{}`)
	cancel()
	wg.Wait() // what the server has not heard of yet ends with the handler
}

// Ending a session ends its calls, and nobody else's.
func TestCallsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	web := handler(t, open(t, scripted()), mcp.HTTPOptions{Verify: func(_ context.Context, token string) (mcp.Principal, error) {
		return mcp.Principal{Scope: memory.Scope(token)}, nil
	}})
	begin := func() (map[string]string, chan string) {
		headers := map[string]string{"Authorization": "Bearer anna"}
		_, h, _ := send(t, web.URL, initialize, headers)
		headers["Mcp-Session-Id"] = h.Get("Mcp-Session-Id")
		send(t, web.URL, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, headers)
		answer := make(chan string)
		go func() {
			_, _, body := send(t, web.URL, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"think","arguments":{"objective":"wait for it"}}}`, headers)
			answer <- body
		}()
		return headers, answer
	}
	one, answerOne := begin()
	two, answerTwo := begin()
	end := func(headers map[string]string, token string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, web.URL, nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Mcp-Session-Id", headers["Mcp-Session-Id"])
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode
	}
	require.Equal(t, 403, end(one, "bob"))
	require.Equal(t, 204, end(one, "anna"))
	<-answerOne
	select {
	case body := <-answerTwo:
		t.Error("ended with the other session: ", body)
	default:
	}
	require.Equal(t, 204, end(two, "anna"))
	<-answerTwo
}

// Each token reaches its own scope and nothing else, whatever it names.
func TestTenantsAreApart(t *testing.T) {
	t.Parallel()
	agent := open(t, scripted())
	web := handler(t, agent, mcp.HTTPOptions{Verify: func(_ context.Context, token string) (mcp.Principal, error) {
		switch token {
		case "anna-token":
			return mcp.Principal{Name: "anna", Scope: "acme/anna"}, nil
		case "bob-token":
			return mcp.Principal{Name: "bob", Scope: "globex/bob"}, nil
		}
		return mcp.Principal{}, mcp.ErrToken
	}})
	hers, err := dial(t, web.URL, "anna-token")
	require.NoError(t, err)
	his, err := dial(t, web.URL, "bob-token")
	require.NoError(t, err)
	_, err = dial(t, web.URL, "eve-token")
	require.ErrorContains(t, err, "Unauthorized")

	kept := call[receipt](t, hers, "remember", `{"content":"the vault opens with seven","key":"k"}`)
	learned := call[changed](t, hers, "update_identity", `{"content":"likes sailing boats"}`)
	call[map[string]any](t, hers, "add_context", `{"topic":"sailing","key":"k"}`)

	require.Empty(t, call[memories](t, his, "recall", `{"query":"vault opens seven"}`).Memories)
	require.Empty(t, call[memories](t, his, "recall", `{}`).Memories)
	require.Empty(t, call[facts](t, his, "get_identity", `{"archived":true}`).Facts)
	require.Empty(t, call[struct{ Events []any }](t, his, "get_recent_context", `{}`).Events)
	require.Zero(t, call[struct{ Total int }](t, his, "health", `{}`).Total)
	require.Equal(t, refuse(t, his, "reject_fact", `{"id":"nobody","reason":"x"}`),
		refuse(t, his, "reject_fact", js(map[string]any{"id": learned.Fact.ID, "reason": "x"})))
	fb := call[struct {
		Counted int
		Unknown []string
	}](t, his, "feedback", js(map[string]any{"key": "k", "misled": []string{kept.ID}, "delivered": false}))
	require.Zero(t, fb.Counted)
	require.Equal(t, []string{kept.ID}, fb.Unknown)
	other := call[receipt](t, his, "remember", `{"content":"the vault opens with nine","key":"k"}`)
	require.Equal(t, "stored", other.Disposition, "keys are each tenant's own")

	r, err := agent.In("acme/anna").Memory().Get(t.Context(), memory.ID(kept.ID))
	require.NoError(t, err)
	require.Zero(t, r.Stats)
	require.Equal(t, "mcp/anna", r.Source.Ref)
}

// A session is of no use without the token that has opened it, and ends to
// work when that does.
func TestASessionBelongsToItsToken(t *testing.T) {
	t.Parallel()
	var revoked atomic.Bool
	web := handler(t, open(t, scripted()), mcp.HTTPOptions{Verify: func(_ context.Context, token string) (mcp.Principal, error) {
		switch {
		case revoked.Load():
			return mcp.Principal{}, mcp.ErrToken
		case token == "old":
			return mcp.Principal{Scope: "acme/anna", Expires: time.Unix(1, 0)}, nil
		case token == "down":
			return mcp.Principal{}, errors.New("dial ldap.internal: refused")
		case token == "broken":
			panic("verifier")
		case token == "lost":
			return mcp.Principal{Scope: ""}, nil
		}
		return mcp.Principal{Scope: memory.Scope("acme/" + token)}, nil
	}})
	code, header, _ := send(t, web.URL, initialize, map[string]string{"Authorization": "Bearer anna"})
	require.Equal(t, 200, code)
	id := header.Get("Mcp-Session-Id")
	require.NotEmpty(t, id)
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	headers := func(token string) map[string]string {
		return map[string]string{"Authorization": "Bearer " + token, "Mcp-Session-Id": id}
	}
	code, _, _ = send(t, web.URL, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, headers("anna"))
	require.Equal(t, 202, code)
	code, _, body := send(t, web.URL, list, headers("anna"))
	require.Equal(t, 200, code)
	require.Contains(t, body, "recall")
	code, _, body = send(t, web.URL, list, headers("bob"))
	require.Equal(t, 403, code)
	require.NotContains(t, body, "recall")
	for token, want := range map[string]int{"old": 401, "down": 503, "broken": 503, "lost": 503} {
		code, _, body = send(t, web.URL, initialize, map[string]string{"Authorization": "Bearer " + token})
		require.Equal(t, want, code, token)
		require.NotContains(t, body, "ldap")
	}
	revoked.Store(true)
	code, _, _ = send(t, web.URL, list, headers("anna"))
	require.Equal(t, 401, code)
}

func TestHostsOfAHandler(t *testing.T) {
	t.Parallel()
	web := handler(t, open(t, scripted()), mcp.HTTPOptions{Token: token, Hosts: []string{"arc.example", "::1"}})
	for host, want := range map[string]int{"arc.example": 200, "ARC.example:8443": 200, "[::1]:80": 200, "[::1]": 200, "127.0.0.1": 403, "example": 403} {
		code, _, _ := send(t, web.URL, initialize, map[string]string{"Authorization": "Bearer " + token, "Host": host})
		require.Equal(t, want, code, host)
	}
}
