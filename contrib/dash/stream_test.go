package dash_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/contrib/dash"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// open asks for a stream until the function that it returns is called, which waits for
// its end.
func open(t *testing.T, d *dash.Dash, query string) (*wire, func()) {
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/stream"+query, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	w, ended := &wire{ResponseRecorder: httptest.NewRecorder()}, make(chan struct{})
	go func() {
		defer close(ended)
		d.ServeHTTP(w, r)
	}()
	synctest.Wait()
	return w, func() {
		cancel()
		<-ended
	}
}

// wire is a recorder that is read while it is written.
type wire struct {
	*httptest.ResponseRecorder
	mu       sync.Mutex
	deadline time.Time
}

func (w *wire) SetWriteDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deadline = t
	return nil
}

// idle reports whether no write is to end at some time, for which HTTP/2 would reset the stream.
func (w *wire) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.deadline.IsZero()
}

func (w *wire) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ResponseRecorder.Write(b)
}

func (w *wire) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

func (w *wire) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Body.String()
}

func notices(w *wire) int { return strings.Count(w.text(), "event: changed\n") }

// A stream tells of events of its scope and run, seldom enough, says that it lives, and
// ends with its request or after a minute.
func TestStreamsTellOfEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := deployer(nil)
		defer agent.Close()
		journal := new(dash.Journal)
		d, err := dash.New(agent, &dash.Options{Token: token, Journal: journal, Scopes: []memory.Scope{"acme/ada", "acme"}})
		require.NoError(t, err)
		ada, closeAda := open(t, d, "")
		all, closeAll := open(t, d, "?scope=acme")
		one, closeOne := open(t, d, "?scope=acme&run=one")
		pass := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		}
		told := func() [3]int { return [3]int{notices(ada), notices(all), notices(one)} }
		require.Equal(t, "text/event-stream", ada.Header().Get("Content-Type"))
		require.Contains(t, ada.Header().Get("Content-Security-Policy"), "default-src 'none'")
		require.Equal(t, [3]int{1, 1, 1}, told(), "what happened before")
		require.True(t, ada.idle(), "it is not cut off while nothing happens")
		pass(time.Second)
		for _, e := range []arc.Event{{Scope: "evil", Run: "one"}, {Scope: "acme/adam", Run: "two"}} {
			journal.Event(e)
		}
		pass(time.Second)
		require.Equal(t, [3]int{1, 2, 1}, told())
		for range 1000 {
			journal.Event(arc.Event{Scope: "acme/ada", Run: "one"})
		}
		pass(time.Second)
		require.LessOrEqual(t, notices(ada), 3, "a thousand at once are one or two")
		require.Greater(t, notices(one), 1)
		require.NotContains(t, ada.text(), "\n:\n")
		pass(20 * time.Second)
		require.Contains(t, ada.text(), "\n:\n", "it lives")
		pass(time.Minute)
		before := told()
		journal.Event(arc.Event{Scope: "acme/ada", Run: "one"})
		pass(time.Second)
		require.Equal(t, before, told(), "they have ended by themselves")
		closeAda()
		closeAll()
		closeOne()
	})
}

// There are so many streams, and what is more is told to poll. None is there without
// the token, of a scope that may not be seen, or without a Journal.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := deployer(nil)
		defer agent.Close()
		d, err := dash.New(agent, &dash.Options{Token: token, Journal: new(dash.Journal), Scopes: []memory.Scope{"acme"}})
		require.NoError(t, err)
		var closers []func()
		for range 64 {
			w, stop := open(t, d, "")
			require.Equal(t, 1, notices(w))
			closers = append(closers, stop)
		}
		w, stop := open(t, d, "")
		stop()
		require.Equal(t, http.StatusNoContent, w.Code)
		closers[0]()
		w, stop = open(t, d, "")
		require.Equal(t, 1, notices(w))
		for _, c := range append(closers[1:], stop) {
			c()
		}
		w, stop = open(t, d, "?scope=evil")
		stop()
		require.Equal(t, http.StatusNotFound, w.Code)
		w = &wire{ResponseRecorder: httptest.NewRecorder()}
		d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/stream", nil))
		require.Equal(t, http.StatusUnauthorized, w.Code)
		plain, err := dash.New(agent, &dash.Options{Token: token})
		require.NoError(t, err)
		w, stop = open(t, plain, "")
		stop()
		require.Equal(t, http.StatusNotFound, w.Code)
	})
}

// Who logs out is out: the browser has no pass any more, and a copy of it opens nothing.
func TestLeave(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mend it", func(o *dash.Options) { o.Secure, o.Base = true, "/dash" })
	pass := func() *http.Cookie {
		resp, _ := b.ask(t, http.MethodGet, "/dash/?token="+token, "", "Authorization", "")
		return resp.Cookies()[0]
	}
	mine, other := pass(), pass()
	require.True(t, mine.Secure)
	header := func(c *http.Cookie) []string {
		return []string{"Authorization", "", "Cookie", c.Name + "=" + c.Value, "Origin", b.URL}
	}
	code, text := b.get(t, "/dash/runs", header(mine)...)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, text, `action="/dash/leave"`)
	_, text = b.get(t, "/dash/runs")
	require.NotContains(t, text, "/leave", "who has the token has no pass to hand back")

	code, _ = b.send(t, http.MethodPost, "/dash/leave", "x=", "Authorization", "", "Cookie", mine.Name+"="+mine.Value)
	require.Equal(t, http.StatusForbidden, code, "another site logs nobody out")
	code, _ = b.get(t, "/dash/leave", header(mine)...)
	require.Equal(t, http.StatusNotFound, code, "nor does a link")
	resp, _ := b.ask(t, http.MethodPost, "/dash/leave", "", header(mine)...)
	require.Equal(t, http.StatusSeeOther, resp.StatusCode)
	require.Negative(t, resp.Cookies()[0].MaxAge)
	for _, path := range []string{"/dash/runs", "/dash/leave", "/dash/stream"} {
		code, _ = b.get(t, path, header(mine)...)
		require.Equal(t, http.StatusUnauthorized, code, path)
	}
	code, _ = b.get(t, "/dash/runs", header(other)...)
	require.Equal(t, http.StatusOK, code)
}

// A pass that is handed back is void, however many were before.
func TestEveryPassIsTakenBack(t *testing.T) {
	t.Parallel()
	agent, err := arc.New(t.Context(), store.NewMem(), host(), &arc.Options{Scope: "acme"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, agent.Close()) })
	var board *dash.Dash
	send := func(method, path string, c *http.Cookie) *http.Response {
		r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		if r.Header.Set("Origin", "http://example.com"); c != nil {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder()
		board.ServeHTTP(w, r)
		return w.Result()
	}
	var other *http.Cookie
	within := false
	now := func() time.Time { // is the host's code, and may itself look
		if !within && other != nil {
			within = true
			send(http.MethodGet, "/static/none", other)
			within = false
		}
		return time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	}
	board, err = dash.New(agent, &dash.Options{Token: token, Now: now})
	require.NoError(t, err)
	enter := func() *http.Cookie { return send(http.MethodGet, "/?token="+token, nil).Cookies()[0] }
	other = enter()
	for range 2 {
		require.Equal(t, http.StatusSeeOther, send(http.MethodPost, "/leave", enter()).StatusCode)
	}
	other = nil
	for range 10_000 {
		last := enter()
		require.Equal(t, http.StatusSeeOther, send(http.MethodPost, "/leave", last).StatusCode)
		require.Equal(t, http.StatusUnauthorized, send(http.MethodGet, "/static/none", last).StatusCode)
	}
	require.Equal(t, http.StatusNotFound, send(http.MethodGet, "/static/none", enter()).StatusCode)
}
