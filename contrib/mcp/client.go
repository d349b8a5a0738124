package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/tools"
	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/reason"
)

// Hints are what a server claims about a tool. A server that is not trusted may claim anything.
type Hints struct {
	Name        string // in the server's words
	ReadOnly    bool   // changes nothing
	Destructive bool   // takes something away; true where the server does not say
	Idempotent  bool   // a second call with the same inputs changes nothing
}

// ClientOptions are options of a Client. Nil and the zero value are the defaults.
type ClientOptions struct {
	// Tool decides about a tool each time that the server lists it: it may set Mode, Blast, Irreversible,
	// AskAbove, Secrets, and the name and texts of t, by what the server claims or by its own knowledge; false
	// leaves the tool out. It is called concurrently. nil: all tools, with nothing set.
	Tool func(h Hints, t *tools.Tool) bool

	HTTP   *http.Client // of Dial, nil: http.DefaultClient; for credentials and the timeout of a call
	Logger *slog.Logger // nil: nobody is told
}

// Client is an MCP server whose tools an agent calls. It connects at the first use. A server that ends or
// cannot be reached is an outage, a [reason.Error] of reason.Unavailable: the call is not made again by
// itself, since nobody knows what has become of it, and the next call starts the server or connects again. So
// is an answer that cannot be read. It may be used concurrently. Close it.
type Client struct {
	o       ClientOptions
	connect func(*Client) sdk.Transport
	wrong   error           // of the address; nil: none
	open    context.Context // until Close
	close   context.CancelFunc

	turn chan struct{} // held by who uses the field below
	live *session      // nil: none
}

// session is a session with a server.
type session struct {
	*sdk.ClientSession
	over context.Context // ends with it, and its requests with that
	end  context.CancelFunc
}

const (
	connecting     = time.Minute     // to start and to greet
	leaving        = 2 * time.Second // of a program, after the end of its input
	maxLine        = 16 << 20        // bytes of a message, or of an answer over HTTP
	maxTools       = 1000            // of a server, and of pages of its list
	maxSchema      = 64 << 10        // bytes of a tool's schema
	maxDescription = 8 << 10
	maxList        = 512 << 10 // of all tools
	maxName        = 64
	oldest         = "2025-11-25" // the last version with a handshake, which old servers answer
)

// Command returns a Client of a program: cmd returns the command anew each time that it is started. It has
// the environment of cmd, by default that of this process; its standard error is discarded unless cmd says
// otherwise. Its children, and all where the host is killed, end by themselves or by cmd's SysProcAttr.
func Command(cmd func() *exec.Cmd, o *ClientOptions) *Client {
	return newClient(o, func(c *Client) sdk.Transport { return &program{cmd: cmd(), logger: c.o.Logger} })
}

// Dial returns a Client of the server at a URL of streamable HTTP. It follows no redirect.
func Dial(address string, o *ClientOptions) *Client {
	c := newClient(o, func(c *Client) sdk.Transport {
		h := *cmp.Or(c.o.HTTP, http.DefaultClient)
		h.Transport = bounded{cmp.Or(h.Transport, http.DefaultTransport)}
		h.CheckRedirect = func(*http.Request, []*http.Request) error { // it would get what h adds
			return &reason.Error{Class: reason.Permanent, Err: errors.New("mcp: a redirect: dial where it leads")}
		}
		return &sdk.StreamableClientTransport{Endpoint: address, HTTPClient: &h, DisableStandaloneSSE: true}
	})
	if at, err := url.Parse(address); err != nil || at.Host == "" || !strings.HasPrefix(at.Scheme, "http") {
		c.wrong = &reason.Error{Class: reason.Permanent, Err: errors.New("mcp: the address is no URL of http")}
	}
	return c
}

func newClient(o *ClientOptions, connect func(*Client) sdk.Transport) *Client {
	c := &Client{o: *cmp.Or(o, new(ClientOptions)), connect: connect, turn: make(chan struct{}, 1)}
	c.open, c.close = context.WithCancel(context.Background())
	c.o.Logger = cmp.Or(c.o.Logger, slog.New(slog.DiscardHandler))
	return c
}

// Close ends the session, and the program: it is killed if it does not end by itself within two seconds.
func (c *Client) Close() error {
	c.close()
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	return c.leave()
}

// leave ends the session, if there is one, and its requests.
func (c *Client) leave() (err error) {
	if c.live != nil {
		c.live.end()
		err = c.live.Close()
		c.live = nil
	}
	return err
}

// session returns the live session, or begins one.
func (c *Client) session(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, connecting)
	defer cancel()
	defer context.AfterFunc(c.open, cancel)()
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
	}
	switch {
	case c.open.Err() != nil:
		return nil, errors.New("mcp: the client is closed")
	case c.wrong != nil:
		return nil, c.wrong
	case ctx.Err() != nil:
		return nil, outage(ctx.Err())
	case c.live != nil && c.live.over.Err() == nil:
		return c.live, nil
	}
	if err := c.leave(); err != nil {
		c.o.Logger.WarnContext(ctx, "mcp: a session did not end well", "error", err)
	}
	live, err := c.begin(ctx, oldest)
	if err != nil && ctx.Err() == nil {
		live, err = c.begin(ctx, "") // a server that knows newer versions only
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) { // there is no such program
		return nil, &reason.Error{Class: reason.Permanent, Err: fmt.Errorf("mcp: %w", err)}
	}
	if err != nil {
		return nil, outage(err)
	}
	s := &session{ClientSession: live}
	s.over, s.end = context.WithCancel(c.open)
	go func() { // until the session ends
		defer s.end()
		_ = live.Wait() // Close returns the same
	}()
	c.live = s
	return s, nil
}

func (c *Client) begin(ctx context.Context, protocol string) (*sdk.ClientSession, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "arc", Version: version}, &sdk.ClientOptions{
		Capabilities:   &sdk.ClientCapabilities{}, // no roots
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		// With a handler, a newer server tells of changes, and the SDK drops the list that it has kept.
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {},
	})
	return client.Connect(ctx, c.connect(c), &sdk.ClientSessionOptions{ProtocolVersion: protocol})
}

// request makes a request. An error is the server's answer, or it is of the connection, which is given up.
func request[T any](ctx context.Context, c *Client, f func(context.Context, *session) (T, error)) (T, error) {
	var v T
	s, err := c.session(ctx)
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return v, err
	}
	calling, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.over, func() { cancel(errors.New("the session with the server has ended")) })()
	if v, err = f(calling, s); err == nil {
		return v, nil
	}
	said := spoken(err)
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && (e.Code < -32005 || e.Code > -32003) { // not the SDK's
		return v, said
	}
	if calling.Err() == nil { // an answer that the SDK cannot read is no end of the connection
		probe, cancel := context.WithTimeout(calling, 5*time.Second)
		defer cancel()
		if s.Ping(probe, nil) == nil {
			return v, &reason.Error{Class: reason.Invalid, Err: said}
		}
	}
	if ctx.Err() != nil {
		return v, ctx.Err()
	}
	defer s.end() // what has ended it is known before
	return v, outage(cmp.Or(context.Cause(calling), err))
}

// spoken is an error in words, without the address of the server, which may have a key in it.
func spoken(err error) error {
	return errors.New("mcp: " + fence.Line(fence.Clip(call.Bare(err).Error(), 1<<10)))
}

// outage returns an error of a connection.
func outage(err error) error {
	own, _ := errors.AsType[*reason.Error](err)
	err = spoken(err)
	if e := cmp.Or(own, reason.Classify(err)); e != nil && e.Class != "" {
		return e
	}
	return &reason.Error{Class: reason.Unavailable, Err: err}
}

// Tools returns the tools that the server has now, of up to 512 KiB in all, or an error. Names are valid for
// every model: letters, digits, "_" and "-", at most 64; another gets a digest of what it was. A schema of no
// use, or with over 30 references, becomes that of any object. Beyond 1,000 tools no further page is read. A
// call's _meta has "arc/idempotency-key": that of act, "/", a digest.
func (c *Client) Tools(ctx context.Context) ([]tools.Tool, error) {
	listed, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	var out []tools.Tool
	size := 0
	for _, as := range slices.Sorted(maps.Keys(listed)) {
		l := listed[as]
		t := tools.Tool{
			Worker: act.Worker{
				Name: as, Input: c.input(ctx, l),
				Description: fence.Text(fence.Clip(cmp.Or(l.Description, l.Title, l.Name), maxDescription)),
			},
			Call: func(ctx context.Context, inputs json.RawMessage) (json.RawMessage, error) {
				return c.call(ctx, l.Name, inputs)
			},
		}
		h := Hints{Name: l.Name, Destructive: true}
		if a := l.Annotations; a != nil {
			h.ReadOnly, h.Idempotent = a.ReadOnlyHint, a.IdempotentHint
			h.Destructive = !a.ReadOnlyHint && (a.DestructiveHint == nil || *a.DestructiveHint)
		}
		if c.o.Tool == nil || c.o.Tool(h, &t) {
			out, size = append(out, t), size+maxName+len(t.Description)+len(t.Input)
		}
	}
	if size > maxList {
		return nil, &reason.Error{Class: reason.Permanent, Err: errors.New("mcp: the list of tools is too long")}
	}
	return out, nil
}

// input returns the schema of a tool's inputs.
func (c *Client) input(ctx context.Context, t *sdk.Tool) json.RawMessage {
	raw, err := json.Marshal(t.InputSchema)
	refs := bytes.Count(bytes.ToLower(raw), []byte(`ref":`)) // two at each level double the steps of a check
	if err == nil {
		_, err = schema.Compile(raw)
	}
	if err != nil || t.InputSchema == nil || len(raw) > maxSchema || refs > 30 {
		c.o.Logger.WarnContext(ctx, "mcp: the schema of a tool is not used", "tool", t.Name, "error", err)
		return json.RawMessage(`{"type":"object"}`)
	}
	return raw
}

// list returns the server's tools by the names that models have for them. It ends at the same cursor.
func (c *Client) list(ctx context.Context) (map[string]*sdk.Tool, error) {
	tools, cursor := map[string]*sdk.Tool{}, ""
	for range maxTools {
		page, err := request(ctx, c, func(ctx context.Context, s *session) (*sdk.ListToolsResult, error) {
			return s.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		})
		if err != nil {
			return nil, err
		}
		for _, t := range page.Tools {
			if t != nil && t.Name != "" && tools[name(t.Name)] == nil {
				tools[name(t.Name)] = t
			}
		}
		if page.NextCursor == "" || page.NextCursor == cursor || len(tools) >= maxTools {
			break
		}
		cursor = page.NextCursor
	}
	return tools, nil
}

var invalid = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// name is what models call a tool of the server. It follows from the server's name alone, so that it means
// the same tool whatever else is listed: a valid one is kept, another has a digest of it.
func name(of string) string {
	if !invalid.MatchString(of) && len(of) <= maxName {
		return of
	}
	as := invalid.ReplaceAllString(of, "_")
	return as[:min(len(as), maxName-9)] + "_" + fence.Mark(of)[:8]
}

func (c *Client) call(ctx context.Context, name string, inputs json.RawMessage) (json.RawMessage, error) {
	p := &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(cmp.Or(string(inputs), "{}"))}
	if key := act.IdempotencyKey(ctx); key != "" { // code of the host may call several tools in one call
		p.Meta = sdk.Meta{"arc/idempotency-key": key + "/" + fence.Mark(name, string(inputs))}
	}
	res, err := request(ctx, c, func(ctx context.Context, s *session) (*sdk.CallToolResult, error) {
		return s.CallTool(ctx, p)
	})
	if e, ok := errors.AsType[*reason.Error](err); ok && e.Class == reason.Invalid { // it may have been done
		e.Class = reason.Unavailable
	}
	if err != nil {
		return nil, err
	}
	return result(res)
}

// Executor returns an executor as [tools.New] does, with the tools that the server has when an attempt
// begins, and others, whose names the server's do not take. So a server that changes its list is followed.
func (c *Client) Executor(m reason.Model, o *tools.Options, others ...tools.Tool) act.Executor {
	return act.ExecutorFunc(func(ctx context.Context, call *act.Call) (*act.Result, error) {
		mine, err := c.Tools(ctx)
		if err != nil {
			return nil, err
		}
		mine = slices.DeleteFunc(mine, func(t tools.Tool) bool {
			return slices.ContainsFunc(others, func(own tools.Tool) bool { return own.Name == t.Name })
		})
		return tools.New(m, o, append(mine, others...)...).Execute(ctx, call)
	})
}

// result returns what a tool has answered: JSON where that is all of it, or else the texts of all parts.
func result(r *sdk.CallToolResult) (json.RawMessage, error) {
	var parts []string
	for _, c := range r.Content {
		if part := words(c); part != "" {
			parts = append(parts, part)
		}
	}
	text := strings.Join(parts, "\n")
	var said any
	told := json.Unmarshal([]byte(text), &said) == nil && reflect.DeepEqual(said, r.StructuredContent)
	if data := r.StructuredContent; data != nil && !told {
		raw, err := schema.Marshal(data)
		if err != nil {
			return nil, fmt.Errorf("mcp: structured content: %w", err)
		}
		text = strings.TrimPrefix(text+"\n"+string(raw), "\n")
	}
	switch {
	case r.NeedsInput():
		return nil, errors.New("the tool asks for input, which nobody here can give: " + fence.Text(text))
	case r.IsError:
		return nil, errors.New(cmp.Or(fence.Text(text), "the tool failed, and gives no reason"))
	}
	if t := strings.TrimSpace(text); r.StructuredContent != nil || t != "" && strings.Contains("{[", t[:1]) {
		if v, err := schema.Read(json.RawMessage(t)); err == nil {
			raw, err := schema.Marshal(v) // in which what hides a text, and a line end, stand only within strings
			return json.RawMessage(strings.ReplaceAll(fence.Text(string(raw)), "\n", `\n`)), err
		}
	}
	return schema.Marshal(fence.Text(text))
}

// words returns a part of an answer as text. What is none is named with its size, and left out.
func words(c sdk.Content) string {
	switch c := c.(type) {
	case *sdk.TextContent:
		return strings.TrimPrefix(c.Text, "\ufeff")
	case *sdk.EmbeddedResource:
		if c.Resource != nil && len(c.Resource.Blob) == 0 {
			return strings.TrimPrefix(c.Resource.Text, "\ufeff")
		}
	case *sdk.ResourceLink:
		return strings.TrimSpace(fmt.Sprintf("[%s: %s] %s", c.Name, c.URI, c.Description))
	}
	raw, _ := json.Marshal(c) // of what came as JSON
	return fmt.Sprintf("[%T left out, %d bytes]", c, len(raw))
}

// bounded is a RoundTripper whose answers have a bound.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxLine)
	}
	return resp, err
}

// lines reads messages of JSON-RPC, one a line, as they are in the world: with a byte order mark, and with
// lines between them that are none, at which the SDK would end the session.
type lines struct {
	in     *bufio.Scanner
	logger *slog.Logger
	close  func() error
	ready  []byte // to be read
}

// stream returns the transport of a pair of streams.
func stream(in io.Reader, out io.WriteCloser, logger *slog.Logger, close func() error) *sdk.IOTransport {
	l := &lines{in: bufio.NewScanner(in), logger: logger, close: close}
	l.in.Buffer(nil, maxLine)
	return &sdk.IOTransport{Reader: l, Writer: out}
}

func (l *lines) Read(p []byte) (int, error) {
	for len(l.ready) == 0 {
		if !l.in.Scan() {
			return 0, cmp.Or(l.in.Err(), io.EOF)
		}
		line := bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(l.in.Bytes()), []byte("\ufeff")))
		switch {
		case bytes.Contains(line, []byte(`"jsonrpc"`)) && line[0] != '"' && json.Valid(line): // a log may be JSON
			l.ready = append(bytes.Clone(line), '\n')
		case len(line) > 0:
			l.logger.Warn("mcp: a line that is no message is left out", "line", fence.Clip(string(line), 200))
		}
	}
	n := copy(p, l.ready)
	l.ready = l.ready[n:]
	return n, nil
}

func (l *lines) Close() error { return l.close() }

// kept is an output that is not closed.
type kept struct{ io.Writer }

func (kept) Close() error { return nil }

// program is a transport to a program over its standard input and output.
type program struct {
	cmd    *exec.Cmd
	logger *slog.Logger
}

func (p *program) Connect(ctx context.Context) (sdk.Connection, error) {
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.cmd.WaitDelay = leaving // its own children may hold the pipes
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	return stream(out, kept{in}, p.logger, func() error {
		err := in.Close()
		kill := time.AfterFunc(leaving, func() { _ = p.cmd.Process.Kill() }) // an error: it has ended
		defer kill.Stop()
		var exit *exec.ExitError
		if ended := p.cmd.Wait(); !errors.As(ended, &exit) { // how it ends is its own matter
			err = errors.Join(err, ended)
		}
		return err
	}).Connect(ctx)
}
