package reason

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Transport is the RoundTripper of adapters: it sends by base (nil: http.DefaultTransport), and makes an
// *[Error] of an answer with another status than 2xx ([Refusal], without the request's credentials), of a web
// page, of a body over 32 MiB, of a connection that breaks and of an address that cannot be one.
func Transport(base http.RoundTripper) http.RoundTripper {
	return &transport{cmp.Or(base, http.DefaultTransport)}
}

type transport struct{ base http.RoundTripper }

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(r)
	if err != nil { // by adapters it is told without the address, which may have a key in it
		class, odd := Unavailable, strings.Contains(err.Error(), "invalid header") // a line end in a key
		if odd || r.URL.Host == "" || r.URL.Scheme != "http" && r.URL.Scheme != "https" {
			class = Permanent // a wrong address is no outage, which would be waited for
		}
		own, _ := errors.AsType[*Error](err) // of base, which may know that there is no key
		return nil, cmp.Or(own, &Error{Class: class, Err: err})
	}
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		defer resp.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRead)) // of one that breaks, the status is enough
		return nil, Refusal(resp.StatusCode, resp.Header, []byte(withoutKey(r.Header, string(body))))
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html"):
		resp.Body.Close()
		return nil, &Error{Class: Permanent, Err: errors.New("the answer is a web page: is the address right?")}
	}
	resp.Body = &body{ReadCloser: resp.Body, left: maxBody}
	return resp, nil
}

// Post sends body as JSON to base+path for an adapter, by a client with a [Transport], and adds to the
// header. An error of class Permanent names the model, the host, and env, the variable that has the key.
func Post(
	ctx context.Context, c *http.Client, base, path string, h http.Header, body any, model, env string,
) (*http.Response, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	to, err := url.JoinPath(base, path) // before its query
	r, odd := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(string(raw)))
	if cmp.Or(err, odd) != nil {
		return nil, &Error{Class: Permanent, Err: errors.New("Options.URL is no URL")}
	}
	r.Header = h
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(r)
	if e, ok := errors.AsType[*Error](err); ok {
		if err = e; e.Class == Permanent {
			e.Err = fmt.Errorf("%w (the model is %q at %s://%s, the key that of %s)",
				e.Err, model, r.URL.Scheme, r.URL.Host, env)
		}
	}
	return resp, err
}

// withoutKey returns a text without the credentials of a request. What has fewer than 8 bytes is none: a
// local endpoint is given "x" or "none", and that stands in other words, too.
func withoutKey(h http.Header, s string) string {
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		value := h.Get(name)
		value = value[strings.LastIndexByte(value, ' ')+1:] // without a scheme such as Bearer
		if len(value) >= 8 {
			s = strings.ReplaceAll(s, value, "[key]")
		}
	}
	return s
}

type body struct {
	io.ReadCloser
	left int
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, &Error{Class: Invalid, Err: fmt.Errorf("the answer has more than %d bytes", maxBody)}
	}
	if err != nil && err != io.EOF {
		err = &Error{Class: Unavailable, Err: err}
	}
	return n, err
}
