package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arc-learn/arc/memory"
)

// ErrToken is what a verifier returns for a token that does not hold. Any
// other error says that it could not be found out.
var ErrToken = errors.New("invalid token")

// MaxSessions is how many sessions a Handler has in one scope. A further one
// ends the one that has been without a request for the longest: clients often
// do not end theirs.
const MaxSessions = 256

// MinToken is how many bytes HTTPOptions.Token has at least.
const MinToken = 16

// bodyTime is how long the body of a request may take to arrive.
const bodyTime = 30 * time.Second

const sessionID = "Mcp-Session-Id"

// ErrNoToken: a server over HTTP has neither a token nor a verifier.
var ErrNoToken = errors.New("mcp: HTTP needs a token or a verifier")

// HTTPOptions configure Server.HTTP. One of Token and Verify is required, and
// only one is allowed.
type HTTPOptions struct {
	// Token is the secret that clients send as "Authorization: Bearer". They
	// all have Options.Scope. It has MinToken bytes or more, drawn at random.
	Token string
	// Verify says who has a token. It is called for each request, concurrently,
	// with any text at all. Its error is ErrToken for a token that does not
	// hold; the client never sees its words.
	Verify func(ctx context.Context, token string) (Principal, error)
	// Hosts are the names under which clients may reach the server, as in the
	// header Host, without the port; they are also the only origins from which
	// a browser may call it. Empty: localhost, 127.0.0.1 and ::1. Pages that
	// point a name of their own at this machine (DNS rebinding) are kept out
	// by it.
	Hosts []string
	// MaxBody is the largest body of a request, in bytes. 0: 4 MiB, so that
	// arguments that are too large are mostly an error of the tool.
	MaxBody int64
	// Idle is how long a session may be without a request. 0: half an hour.
	Idle time.Duration
}

// Handler serves MCP's streamable HTTP. Close it to end its sessions.
type Handler struct {
	o    HTTPOptions
	s    *Server
	srv  *sdk.Server
	want [sha256.Size]byte // of the token
	next http.Handler
	stop context.CancelFunc // ends the calls under way
	mu   struct {
		sync.Mutex
		sessions map[sdk.Session]use // some of them may have ended
	}
}

// use is whose a session is, and when it was used last.
type use struct {
	caller
	at time.Time
}

// HTTP returns a handler for streamable HTTP. Without a token or a verifier the
// error is ErrNoToken.
func (s *Server) HTTP(opts HTTPOptions) (*Handler, error) {
	h := &Handler{o: opts, s: s, want: sha256.Sum256([]byte(opts.Token))}
	switch {
	case strings.TrimSpace(opts.Token) == "" && opts.Verify == nil:
		return nil, ErrNoToken
	case opts.Token != "" && opts.Verify != nil:
		return nil, errors.New("mcp: both a token and a verifier")
	case strings.ContainsAny(opts.Token, " \t\r\n"):
		return nil, errors.New("mcp: the token has white space in it")
	case opts.Token != "" && len(opts.Token) < MinToken:
		return nil, fmt.Errorf("mcp: token: %d bytes, of at least %d", len(opts.Token), MinToken)
	case opts.MaxBody < 0 || opts.Idle < 0:
		return nil, errors.New("mcp: MaxBody or Idle is negative")
	}
	if opts.Verify == nil {
		fixed := Principal{Name: s.o.Name, Scope: s.o.Scope, Operator: s.o.Operator}
		if err := fixed.check(); err != nil {
			return nil, err
		}
		h.o.Verify = func(_ context.Context, token string) (Principal, error) {
			got := sha256.Sum256([]byte(token))
			if subtle.ConstantTimeCompare(got[:], h.want[:]) != 1 {
				return Principal{}, ErrToken
			}
			return fixed, nil
		}
	}
	h.o.Hosts = slices.Clone(opts.Hosts)
	if len(h.o.Hosts) == 0 {
		h.o.Hosts = []string{"localhost", "127.0.0.1", "::1"}
	}
	if h.o.MaxBody == 0 {
		h.o.MaxBody = sdk.DefaultMaxRequestBodyBytes
	}
	if h.o.Idle == 0 {
		h.o.Idle = 30 * time.Minute
	}
	var done context.Context
	done, h.stop = context.WithCancel(context.Background())
	h.srv = s.build(done, holder)
	h.mu.sessions = map[sdk.Session]use{}
	h.srv.AddReceivingMiddleware(h.note)
	streamable := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return h.srv }, &sdk.StreamableHTTPOptions{
		Logger: s.o.Logger, SessionTimeout: h.o.Idle, MaxRequestBodyBytes: h.o.MaxBody,
		DisableLocalhostProtection: true, // Hosts says who may
	})
	// The SDK binds a session to the user of its token, whom it takes from
	// its own middleware: the token, as a digest, is the user here.
	h.next = auth.RequireBearerToken(verified, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(streamable)
	return h, nil
}

type verifiedKey struct{}

func verified(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	p, ok := ctx.Value(verifiedKey{}).(Principal)
	if !ok {
		return nil, auth.ErrInvalidToken
	}
	h := sha256.Sum256([]byte(token))
	return &auth.TokenInfo{
		UserID: hex.EncodeToString(h[:]), Expiration: p.Expires, Extra: map[string]any{principalKey: p},
	}, nil
}

// ServeHTTP serves a request whose host, origin and token are right.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	deadline := http.NewResponseController(w) // a writer that has none fails, and is the host's
	if r.ContentLength != 0 {
		_ = deadline.SetReadDeadline(time.Now().Add(bodyTime)) // net/http reads bodies of those who are refused, too
	}
	p, ok := h.admit(w, r)
	if !ok {
		return
	}
	// All of the body, before anything is held for it.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.o.MaxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		http.Error(w, fmt.Sprintf("the body has more than %d bytes", h.o.MaxBody), http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, "the body did not arrive", http.StatusRequestTimeout)
		return
	}
	_ = deadline.SetReadDeadline(time.Time{}) // as above: a writer that has none needs no reset
	r = r.WithContext(context.WithValue(r.Context(), verifiedKey{}, p))
	r.Body = io.NopCloser(bytes.NewReader(body))
	id := r.Header.Get(sessionID)
	if r.Method == http.MethodDelete { // which waits for the calls of the session
		defer h.s.drop(callerOf(p, id))()
	}
	h.next.ServeHTTP(w, r)
	if id == "" {
		h.makeRoom(p.Scope)
	}
}

// admit returns who may make a request, or refuses it.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request) (Principal, bool) {
	if !h.named(r.Host) {
		http.Error(w, "forbidden: unknown host", http.StatusForbidden)
		return Principal{}, false
	}
	for _, origin := range r.Header.Values("Origin") {
		if u, err := url.Parse(origin); err != nil || !h.named(u.Host) {
			http.Error(w, "forbidden: foreign origin", http.StatusForbidden)
			return Principal{}, false
		}
	}
	fields := strings.Fields(r.Header.Get("Authorization"))
	if len(fields) != 2 || !strings.EqualFold(fields[0], "Bearer") || len(r.Header.Values("Authorization")) != 1 {
		deny(w, `Bearer realm="arc"`, http.StatusUnauthorized)
		return Principal{}, false
	}
	p, err := h.verify(r.Context(), fields[1])
	switch {
	case errors.Is(err, ErrToken):
		deny(w, `Bearer realm="arc", error="invalid_token"`, http.StatusUnauthorized)
	case err != nil:
		h.s.o.Logger.ErrorContext(r.Context(), "token could not be verified", "error", err)
		http.Error(w, "the token cannot be verified now", http.StatusServiceUnavailable)
	}
	return p, err == nil
}

// note keeps up which sessions there are, and when they were used.
func (h *Handler) note(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if c, err := holder(req); err == nil {
			h.mu.Lock()
			if _, known := h.mu.sessions[req.GetSession()]; known || method == "initialize" {
				h.mu.sessions[req.GetSession()] = use{c, time.Now()}
			}
			h.mu.Unlock()
		}
		return next(ctx, method, req)
	}
}

// makeRoom ends the sessions that a scope has too many of.
func (h *Handler) makeRoom(scope memory.Scope) {
	for s, u := range h.surplus(scope) {
		ended := h.s.drop(u.caller)
		if err := s.Close(); err != nil {
			h.s.o.Logger.Warn("session did not end well", "session", u.session, "error", err)
		}
		ended()
	}
}

func (h *Handler) surplus(scope memory.Scope) map[*sdk.ServerSession]use {
	h.mu.Lock()
	defer h.mu.Unlock()
	var live []*sdk.ServerSession
	known := h.mu.sessions
	h.mu.sessions = make(map[sdk.Session]use, len(known)) // without those that have ended
	for s := range h.srv.Sessions() {
		if u, ok := known[s]; ok {
			h.mu.sessions[s] = u
			if u.Scope == scope {
				live = append(live, s)
			}
		}
	}
	slices.SortFunc(live, func(a, b *sdk.ServerSession) int { return known[a].at.Compare(known[b].at) })
	out := map[*sdk.ServerSession]use{}
	for _, s := range live[:max(0, len(live)-MaxSessions)] {
		out[s] = known[s]
	}
	return out
}

func deny(w http.ResponseWriter, challenge string, code int) {
	w.Header().Set("WWW-Authenticate", challenge)
	http.Error(w, http.StatusText(code), code)
}

func (h *Handler) verify(ctx context.Context, token string) (p Principal, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the verifier panicked")
			h.s.o.Logger.ErrorContext(ctx, "panic", "in", "Verify", "panic", r)
		}
	}()
	if p, err = h.o.Verify(ctx, token); err != nil {
		return Principal{}, err
	}
	if err := p.check(); err != nil { // of the host's making, not the client's
		return Principal{}, err
	}
	if !p.Expires.IsZero() && p.Expires.Before(time.Now()) {
		return Principal{}, ErrToken
	}
	return p, nil
}

// named reports whether a host, with or without a port, is one of Hosts.
func (h *Handler) named(host string) bool {
	name := host
	if n, _, err := net.SplitHostPort(host); err == nil {
		name = n
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	return name != "" && slices.ContainsFunc(
		h.o.Hosts, func(allowed string) bool { return strings.EqualFold(allowed, name) },
	)
}

// Close ends the calls under way and the sessions, and waits for them.
func (h *Handler) Close() error {
	h.stop()
	var errs []error
	for session := range h.srv.Sessions() {
		errs = append(errs, session.Close())
	}
	return errors.Join(errs...)
}
