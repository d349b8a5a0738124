package reason_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason"
)

func TestClassify(t *testing.T) {
	var none *reason.Error
	typed := &reason.Error{Class: reason.RateLimited, Wait: time.Minute}
	for _, c := range []struct {
		err   any // text or error
		class reason.ErrorClass
		wait  time.Duration
	}{
		{"HTTP 403: API rate limit exceeded for user ID 1", reason.RateLimited, 0},
		{"operation error EC2, https response error StatusCode: 403, RequestLimitExceeded: Request limit exceeded.", reason.RateLimited, 0},
		{"https response error StatusCode: 400, ThrottlingException: Rate exceeded", reason.RateLimited, 0},
		{"api error SlowDown: Please reduce your request rate, status code: 503", reason.RateLimited, 0},
		{"https response error StatusCode: 403, api error ExpiredToken: The security token included in the request is expired", reason.Unavailable, 0},
		{"401 Unauthorized: access token has expired", reason.Unavailable, 0},
		{"googleapi: Error 403: Quota exceeded for quota metric 'Queries'", reason.RateLimited, 0},
		{"429 Too Many Requests: You exceeded your current quota, please check your plan and billing details", reason.Permanent, 0},
		{`{"status": 429, "error": {"code":"insufficient_quota"}}`, reason.Permanent, 0},
		{"HTTP 402: Insufficient Balance", reason.Permanent, 0},
		{"400: Your credit balance is too low to access the Anthropic API", reason.Permanent, 0},
		{"rate limit reached, please try again in 1m30s", reason.RateLimited, 90 * time.Second},
		{"status 429, please retry after 12 seconds", reason.RateLimited, 12 * time.Second},
		{"status code 401", reason.Permanent, 0},
		{"HTTP/1.1 403 Forbidden", reason.Permission, 0},
		{"open /etc/shadow: permission denied", reason.Permission, 0},
		{"AccessDenied: not authorized to perform: s3:PutObject", reason.Permission, 0},
		{"HTTP 500: permission denied in a trace", reason.Unavailable, 0},
		{"502 Bad Gateway", reason.Unavailable, 0},
		{"the model is overloaded", reason.Unavailable, 0},
		{"connect ETIMEDOUT 10.0.0.1:443", reason.Unavailable, 0},
		{"getaddrinfo ENOTFOUND api.example.com", reason.Unavailable, 0},
		{"write /var/log: disk quota exceeded", "", 0},
		{"status: 422", reason.Invalid, 0},
		{"HTTP 404", "", 0},
		{"exit status 1", "", 0},
		{"order 403 was not found in 2 files of 500", "", 0},
		{"expected 3, got 4", "", 0},
		{errors.New(""), "", 0},
		{fmt.Errorf("call: %w", typed), reason.RateLimited, time.Minute},
		{fmt.Errorf("call: %w", none), "", 0},
		{"operation error Bedrock Runtime: InvokeModel, https response error StatusCode: 503, RequestID: 1", reason.Unavailable, 0},
		{"operation error Bedrock Runtime: InvokeModel, https response error StatusCode: 403, RequestID: 1", reason.Permission, 0},
		{fmt.Errorf("read: %w", fs.ErrPermission), reason.Permission, 0},
		{context.DeadlineExceeded, reason.Unavailable, 0},
		{fmt.Errorf("HTTP 429: %w", context.Canceled), "", 0},
		{&url.Error{Op: "Post", URL: "x", Err: io.EOF}, reason.Unavailable, 0},
		{io.ErrUnexpectedEOF, reason.Unavailable, 0},
	} {
		err, ok := c.err.(error)
		if !ok {
			err = errors.New(c.err.(string))
		}
		got := reason.Classify(err)
		if c.class == "" {
			require.Nil(t, got, "%v", c.err)
			continue
		}
		require.NotNil(t, got, "%v", c.err)
		require.Equal(t, c.class, got.Class, "%v", c.err)
		require.Equal(t, c.wait, got.Wait, "%v", c.err)
	}
	require.Nil(t, reason.Classify(nil))
}

func TestRefusal(t *testing.T) {
	for _, c := range []struct {
		status        int
		header, body  string
		class         reason.ErrorClass
		wait          time.Duration
		code, message string
	}{
		{429, "", `[{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED",` +
			`"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"39s"}]}}]`,
			reason.RateLimited, 39 * time.Second, "RESOURCE_EXHAUSTED", "exceeded your current quota"},
		{429, "Retry-After: 3600", `{"error":{"message":"slow"}}`, reason.RateLimited, time.Hour, "", "slow"},
		{429, "Retry-After: 1.5", ``, reason.RateLimited, 1500 * time.Millisecond, "", "Too Many Requests"},
		{429, "Retry-After: Sat, 28 Nov 2026 15:00:30 GMT", ``, reason.RateLimited, 30 * time.Second, "", ""},
		{429, "Retry-After: -5", ``, reason.RateLimited, 0, "", ""},
		{429, "Retry-After: 1e30", ``, reason.RateLimited, 0, "", ""},
		{429, "Retry-After-Ms: 250", ``, reason.RateLimited, 250 * time.Millisecond, "", ""},
		{429, "", `{"error":{"type":"rate_limit_exceeded","message":"Please try again in 250ms."}}`,
			reason.RateLimited, 250 * time.Millisecond, "rate_limit_exceeded", ""},
		{429, "", `{"error":{"message":"Your account is suspended, please check your plan and billing details","type":` +
			`"exceeded_current_quota_error"}}`, reason.Permanent, 0, "exceeded_current_quota_error", "suspended"},
		{429, "Retry-After: 60", `{"error":{"code":"insufficient_quota","type":"insufficient_quota"}}`, reason.Permanent, time.Minute,
			"insufficient_quota", ""},
		{429, "", `{"error":{"code":"1113","message":"您的账户已欠费，请充值后重试。"}}`, reason.Permanent, 0, "1113", "欠费"},
		{429, "Retry-After: 60", `{"error":{"message":"You exceeded your current quota"}}`, reason.RateLimited, time.Minute, "", ""},
		{429, "", `{"error":{"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED"}}`,
			reason.RateLimited, 0, "RESOURCE_EXHAUSTED", ""},
		{402, "", `{"error":{"message":"Insufficient Balance"}}`, reason.Permanent, 0, "", "Insufficient Balance"},
		{400, "", `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access"}}`,
			reason.Permanent, 0, "invalid_request_error", "credit balance"},
		{404, "", `{"error":{"code":"model_not_found","message":"no such model"}}`, reason.Permanent, 0, "model_not_found", ""},
		{404, "", `{"error":"model 'qwen' not found"}`, reason.Permanent, 0, "", "model 'qwen' not found"},
		{403, "", `{"message":"rate limit exceeded"}`, reason.RateLimited, 0, "", "rate limit"},
		{403, "", `{"detail":"no"}`, reason.Permanent, 0, "", "no"},
		{401, "", `<html>Sign in</html>`, reason.Permanent, 0, "", "Unauthorized"},
		{400, "", `{"object":"error","message":"max_tokens is too large","code":400}`, reason.Permanent, 0, "400", "max_tokens"},
		{418, "", ``, reason.Permanent, 0, "", "teapot"},
		{529, "", `{"error":{"type":"overloaded_error","message":"Overloaded"}}`, reason.Unavailable, 0, "overloaded_error", ""},
	} {
		h := http.Header{"Date": {"Sat, 28 Nov 2026 15:00:00 GMT"}}
		if k, v, ok := strings.Cut(c.header, ": "); ok {
			h.Set(k, v)
		}
		e := reason.Refusal(c.status, h, []byte(c.body))
		require.Equal(t, []any{c.class, c.wait, c.status}, []any{e.Class, e.Wait, e.Status}, "%d %s", c.status, c.body)
		require.ErrorContains(t, e, c.message)
		require.ErrorContains(t, e, c.code)
	}
	huge := reason.Refusal(500, nil, []byte(`{"error":"`+strings.Repeat("ü\u202e", 1<<20)+`"}`))
	require.Less(t, len(huge.Error()), 2<<10)
}

// vault is the transport of a host, which has no key.
type vault struct{}

func (vault) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, &reason.Error{Class: reason.Permanent, Err: errors.New("no key")}
}

// What a provider's server does, by the transport of adapters.
func TestTransport(t *testing.T) {
	for name, c := range map[string]struct {
		handle func(w http.ResponseWriter)
		class  reason.ErrorClass
		words  string
	}{
		"a key that is echoed": {func(w http.ResponseWriter) {
			w.WriteHeader(401)
			_, _ = io.WriteString(w, `{"error":"wrong key sk-123456"}`)
		}, reason.Permanent, "wrong key [key]"},
		"a web page": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}, reason.Permanent, "web page"},
		"huge": {func(w http.ResponseWriter) {
			for range 33 {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		}, reason.Invalid, "more than"},
		"broken": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "half")
		}, reason.Unavailable, "unexpected EOF"},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { c.handle(w) }))
		defer srv.Close()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer sk-123456")
		resp, err := (&http.Client{Transport: reason.Transport(nil)}).Do(r)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		e := reason.Classify(err)
		require.NotNil(t, e, name)
		require.Equal(t, c.class, e.Class, name)
		require.ErrorContains(t, e, c.words, name)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":"max exceeded"}`, http.StatusTooManyRequests)
	}))
	defer srv.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer x")
	_, err = (&http.Client{Transport: reason.Transport(nil)}).Do(r)
	require.ErrorContains(t, err, "max exceeded", "a placeholder is no key")
	for _, address := range []string{"localhost:8080/v1", "api.example.com", "https:///v1"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, nil)
		require.NoError(t, err)
		_, err = (&http.Client{Transport: reason.Transport(nil)}).Do(r)
		require.Equal(t, reason.Permanent, reason.Classify(err).Class, "%s: %v", address, err)
	}
	for _, key := range []string{"sk-12\n3456", "sk-123456\x00"} { // waiting mends no key
		h := http.Header{"Authorization": {"Bearer " + key}}
		c := &http.Client{Transport: reason.Transport(nil)}
		_, err := reason.Post(t.Context(), c, srv.URL, "/v1", h, nil, "small", "SMALL_KEY")
		require.Equal(t, reason.Permanent, reason.Classify(err).Class, "%v", err)
		require.ErrorContains(t, err, "the key that of SMALL_KEY")
		require.NotContains(t, err.Error(), "sk-12")
	}
	_, err = (&http.Client{Transport: reason.Transport(vault{})}).Do(r)
	require.Equal(t, reason.Permanent, reason.Classify(err).Class, "what the transport of a host knows: %v", err)
}
