package dash

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Local serves pages to this machine, at an address such as "127.0.0.1:8080", until ctx ends, and returns
// their URL. All users of the machine may act. An address that other machines see is an error; a request by a
// name that is not this machine's comes from a page of another site, and is refused.
func Local(ctx context.Context, addr string, pages http.Handler) (home string, err error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", err
	}
	if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		err = fmt.Errorf("dash: %s is seen by other machines, and nobody is asked who they are", addr)
		return "", errors.Join(err, l.Close())
	}
	own := func(w http.ResponseWriter, r *http.Request) {
		if host := (&url.URL{Host: r.Host}).Hostname(); host != "localhost" && !net.ParseIP(host).IsLoopback() {
			http.Error(w, "this is the dashboard of "+addr, http.StatusForbidden)
			return
		}
		pages.ServeHTTP(w, r)
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(own)}
	go server.Serve(l) // ends with ctx
	context.AfterFunc(ctx, func() { server.Close() })
	return "http://" + l.Addr().String(), nil
}
