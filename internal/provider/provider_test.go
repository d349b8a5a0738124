package provider_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/provider"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

func as(t *testing.T, err error) *reason.ModelError {
	t.Helper()
	e, ok := errors.AsType[*reason.ModelError](err)
	require.True(t, ok, "%v", err)
	return e
}

// refused returns the error of an answer, by status, body and headers.
func refused(t *testing.T, status int, text string, headers ...string) error {
	t.Helper()
	resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text))}
	for i := 0; i < len(headers); i += 2 {
		resp.Header.Set(headers[i], headers[i+1])
	}
	got, err := provider.Do(request(t), func(*http.Request) (*http.Response, error) { return resp, nil })
	require.Nil(t, got)
	return err
}

func request(t *testing.T, headers ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost", nil)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}

func TestStatusSaysWhetherToTryAgain(t *testing.T) {
	for status, again := range map[int]bool{
		400: false, 401: false, 403: false, 404: false, 408: true, 409: true, 413: false, 422: false, 425: true,
		429: true, 500: true, 501: false, 502: true, 503: true, 504: true, 505: false, 529: true,
	} {
		e := as(t, refused(t, status, ""))
		require.Equal(t, again, e.Again, status)
		require.Equal(t, status, e.Status)
	}
	require.False(t, as(t, refused(t, 429, `{"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}}`)).Again, "a spent quota does not come back")
	require.False(t, as(t, refused(t, 500, "", "x-should-retry", "false")).Again)
	require.True(t, as(t, refused(t, 400, "", "x-should-retry", "true")).Again)
}

func TestRetryAfter(t *testing.T) {
	const date = "Sat, 21 Nov 2026 16:00:00 GMT"
	for _, c := range []struct {
		value string
		want  time.Duration
	}{
		{"", 0}, {"7", 7 * time.Second}, {"0.5", time.Second / 2}, {"-3", 0}, {"soon", 0}, {"NaN", 0},
		{"1e300", math.MaxInt64}, {"+Inf", math.MaxInt64},
		{"Sat, 21 Nov 2026 16:01:30 GMT", 90 * time.Second},
		{"Sat, 21 Nov 2026 15:00:00 GMT", 0},
		{"Sat, 21 Nov 9026 15:00:00 GMT", math.MaxInt64},
	} {
		e := as(t, refused(t, 429, "", "Retry-After", c.value, "Date", date))
		require.Equal(t, c.want, e.After, c.value)
	}
	e := as(t, refused(t, 429, "", "Retry-After", "7", "Retry-After-Ms", "250"))
	require.Equal(t, 250*time.Millisecond, e.After)
	far := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	e = as(t, refused(t, 503, "", "Retry-After", far))
	require.InDelta(t, time.Hour, e.After, float64(time.Minute), "without a Date it is ours that counts")
}

func TestErrorsHoldNoKeys(t *testing.T) {
	const key = "verysecretandwithoutanyform"
	for _, header := range []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		for _, value := range []string{key, "Bearer " + key} {
			_, err := provider.Do(request(t, header, value), func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 401, Body: io.NopCloser(strings.NewReader(`{"error":"bad key ` + key + `"}`))}, nil
			})
			require.ErrorContains(t, err, "bad key")
			require.NotContains(t, err.Error(), key)
		}
	}
	const known = "sk-proj-0123456789abcdefghijABCDEFGHIJ0123456789"
	require.NotContains(t, refused(t, 401, `{"error":{"code":"`+known+`","message":"bad key `+known+`"}}`).Error(), known)
	require.NotContains(t, provider.None([]byte(`{"error":"bad key `+known+`"}`)).Error(), known)
	err := provider.Fail(t.Context(), &url.Error{Op: "Post", URL: "https://h/?key=" + key, Err: errors.New("no route, " + known)})
	require.NotContains(t, err.Error(), key)
	require.NotContains(t, err.Error(), known)
	require.Contains(t, err.Error(), "no route")
	require.Less(t, len(provider.None([]byte(`{"error":"`+strings.Repeat("long ", 1<<20)+`"}`)).Error()), 2<<10)
}

func TestWhatProvidersSay(t *testing.T) {
	for text, want := range map[string]reason.ModelError{
		`{"error":{"message":"no","type":"bad_request","code":"too_long"}}`: {Code: "too_long", Err: errors.New("no")},
		`{"type":"error","error":{"type":"bad_request","message":"no"}}`:    {Code: "bad_request", Err: errors.New("no")},
		`{"error":{"message":"no","code":400}}`:                             {Err: errors.New("no")},
		`{"error":"no"}`:                                                    {Err: errors.New("no")},
		`{"error":null}`:                                                    {},
		`{"error":7}`:                                                       {},
		`[]`:                                                                {},
		`<html>no</html>`:                                                   {},
		``:                                                                  {},
	} {
		want.Status = 400
		require.Equal(t, &want, as(t, refused(t, 400, text)), text)
	}
	e := as(t, provider.None([]byte(`{"error":{"message":"later","type":"overloaded_error"}}`)))
	require.Equal(t, &reason.ModelError{Code: "overloaded_error", Again: true, Err: errors.New("later")}, e)
	require.ErrorContains(t, provider.None(nil), "is empty")
	require.ErrorContains(t, provider.Told(`{"text":"half of","error":{"message":"upstream has gone"}}`), "upstream has gone")
	require.NoError(t, provider.Told(`{"text":"all of it","error":{"code":0,"message":""}}`))
}

func TestFailedCalls(t *testing.T) {
	require.True(t, as(t, provider.Fail(t.Context(), &url.Error{Err: errors.New("connection refused")})).Again)
	require.True(t, as(t, provider.Fail(t.Context(), &url.Error{Err: context.DeadlineExceeded})).Again, "the client's own limit")
	require.False(t, as(t, provider.Fail(t.Context(), &url.Error{Err: &tls.CertificateVerificationError{Err: errors.New("expired")}})).Again)
	_, err := http.Get("nothing://here")
	require.False(t, as(t, provider.Fail(t.Context(), err)).Again)
	require.True(t, as(t, provider.Fail(t.Context(), json.Unmarshal([]byte(`{"a":`), new(any)))).Again, "cut off")
	require.False(t, as(t, provider.Fail(t.Context(), json.Unmarshal([]byte(`<html>`), new(any)))).Again, "another language")
	eof := provider.Fail(t.Context(), io.EOF)
	require.True(t, as(t, eof).Again)
	require.ErrorIs(t, eof, io.ErrUnexpectedEOF)
	require.True(t, as(t, provider.Fail(t.Context(), fmt.Errorf("error parsing response json: %w", io.EOF))).Again, "an empty body")
	require.True(t, as(t, provider.None(nil)).Again)
	require.False(t, as(t, refused(t, 200, "<p>sign in", "Content-Type", "text/html; charset=utf-8")).Again)

	inner := provider.None([]byte(`{"error":"overloaded"}`))
	require.Same(t, inner, provider.Fail(t.Context(), inner))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	used := reason.Usage{TokensIn: 7}
	require.Equal(t, &reason.ModelError{Err: context.Canceled, Usage: used},
		provider.Fail(ctx, &reason.ModelError{Again: true, Err: io.ErrUnexpectedEOF, Usage: used}))
	err = provider.Fail(ctx, errors.New("operation was canceled"))
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, as(t, err).Again)
}

func TestBodiesAreBounded(t *testing.T) {
	read := func(r io.Reader) (int, error) {
		resp, err := provider.Do(request(t), func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(r)}, nil
		})
		require.NoError(t, err)
		n, err := io.Copy(io.Discard, resp.Body)
		return int(n), err
	}
	for line, most := range map[string]int{"a": 9 << 20, "\n": 65 << 20, "a\n\na": 65 << 20} {
		n, err := read(endless(line))
		_, ok := errors.AsType[*store.LimitError](err)
		require.True(t, ok, "%v", err)
		require.Less(t, n, most)
		require.Greater(t, n, most-2<<20)
		require.False(t, as(t, provider.Fail(t.Context(), err)).Again, "it would be as long again")
	}

	n, err := read(strings.NewReader("all"))
	require.NoError(t, err)
	require.Equal(t, 3, n)

	_, err = read(iotest.ErrReader(errors.New("reset by peer")))
	require.True(t, as(t, provider.Fail(t.Context(), err)).Again)

	var text provider.Text
	require.NoError(t, text.Add(strings.Repeat("a", reason.MaxAnswer)))
	long := text.Add("b")
	_, ok := errors.AsType[*store.LimitError](long)
	require.True(t, ok)
	require.Equal(t, 7, as(t, provider.Costing(long, reason.Usage{TokensOut: 7})).Usage.TokensOut)
}

// endless is read as the same text again and again.
type endless string

func (e endless) Read(p []byte) (n int, _ error) {
	for n+len(e) <= len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

func TestSystem(t *testing.T) {
	require.Equal(t, "Be kind.", provider.System("Be kind.", nil))
	got := provider.System("Be kind.", json.RawMessage(`{"type":"object"}`))
	require.True(t, strings.HasPrefix(got, "Be kind.\n\n"))
	require.True(t, strings.HasSuffix(got, `{"type":"object"}`))
	require.Equal(t, got, provider.System(got, json.RawMessage(`{"type":"object"}`)), "once is enough")
	require.True(t, strings.HasPrefix(provider.System("", json.RawMessage(`{}`)), "Answer"))
}

func TestCosting(t *testing.T) {
	t.Parallel()
	used := reason.Usage{TokensIn: 7}
	failed := &reason.ModelError{Code: "x"}
	require.Equal(t, &reason.ModelError{Code: "x", Usage: used}, provider.Costing(failed, used))
	require.Zero(t, failed.Usage, "it may be shared")
	said := &reason.ModelError{Usage: reason.Usage{TokensOut: 1}}
	require.Same(t, said, provider.Costing(said, used))
	require.NoError(t, provider.Costing(nil, used))
}
