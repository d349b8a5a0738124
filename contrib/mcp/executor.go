package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/fence"
)

// ErrToolChanged: the server describes a tool in another way than it did when
// the host approved it, or has it no more. It comes with act.ErrDenied, so the
// worker is not asked again for the task.
var ErrToolChanged = errors.New("the tool is not the one that was approved")

// ErrCached: the server wants its list of tools kept, so that a look at it would
// show the past. Add Fresh to the session's client. With a call, it comes with
// act.ErrDenied.
var ErrCached = errors.New("mcp: the list of tools may be an old one: add mcp.Fresh to the client")

// MaxOutput is the default of ExecutorOptions.MaxOutput.
const MaxOutput = 256 << 10

const maxTools = 1000 // that a server may list, and pages of them

// ExecutorOptions configure NewExecutor.
type ExecutorOptions struct {
	// Digest is that of the tool as the host has approved it: see Digest. "":
	// what the server says when NewExecutor is called is approved.
	Digest string
	// Arguments makes the tool's arguments, a JSON object, of the work. Nil:
	// the task's inputs, which then have to be an object or empty.
	Arguments func(w act.Work) (json.RawMessage, error)
	// Confidence is how sure the host is of what the tool answers, in [0,1].
	// It stands in the reflection, as MCP has no word for it. 0: 0.8.
	Confidence float64
	// MaxOutput is the largest output, in bytes; a larger one is a failure. 0:
	// MaxOutput. The session has read the whole answer by then: a host that
	// does not trust the server's size gives the transport an http.Client that
	// bounds bodies.
	MaxOutput int
}

// Executor calls one tool of a remote MCP server. It is safe for concurrent
// use. It does not own the session, and opens no other when that one breaks:
// the attempt fails, and the host decides.
type Executor struct {
	session *sdk.ClientSession
	name    string
	o       ExecutorOptions
}

var _ act.Executor = (*Executor)(nil)

// NewExecutor returns an Executor for a tool of a session. The error is
// ErrToolChanged if the tool is not there or is not the one of opts.Digest,
// ErrCached if the session's client keeps lists of tools, and otherwise that of
// the session.
//
// A server can change what a tool is told to be, after somebody has looked at
// it, so that a model comes to use it for something else. Therefore each call
// is preceded by a look at the tool, and a changed one is not called.
func NewExecutor(
	ctx context.Context, session *sdk.ClientSession, tool string, opts *ExecutorOptions,
) (*Executor, error) {
	if session == nil {
		return nil, errors.New("mcp: the session is nil")
	}
	e := &Executor{session: session, name: tool}
	if opts != nil {
		e.o = *opts
	}
	if !(e.o.Confidence >= 0 && e.o.Confidence <= 1) || e.o.MaxOutput < 0 {
		return nil, errors.New("mcp: Confidence is not in [0,1], or MaxOutput is negative")
	}
	if e.o.Confidence == 0 {
		e.o.Confidence = 0.8
	}
	if e.o.MaxOutput == 0 {
		e.o.MaxOutput = MaxOutput
	}
	if e.o.Arguments == nil {
		e.o.Arguments = func(w act.Work) (json.RawMessage, error) { return w.Task.Inputs, nil }
	}
	digest, err := e.look(ctx)
	if err != nil {
		return nil, err
	}
	if e.o.Digest == "" {
		e.o.Digest = digest
	}
	if digest != e.o.Digest {
		return nil, fmt.Errorf("mcp: %q: %w", tool, ErrToolChanged)
	}
	return e, nil
}

// Digest identifies a tool by all that its server says about it to a model or
// a client: name, title, description, schemas and annotations. Keep it with
// the approval.
func Digest(t *sdk.Tool) (string, error) {
	raw, err := json.Marshal(map[string]any{
		"name": t.Name, "title": t.Title, "description": t.Description,
		"in": t.InputSchema, "out": t.OutputSchema, "annotations": t.Annotations,
	})
	if err != nil {
		return "", fmt.Errorf("mcp: tool %q: %w", t.Name, err)
	}
	var plain any // so that a schema has one form, whatever its Go type
	if err := json.Unmarshal(raw, &plain); err != nil {
		return "", err
	}
	if raw, err = json.Marshal(plain); err != nil {
		return "", err
	}
	h := sha256.Sum256(raw)
	return hex.EncodeToString(h[:]), nil
}

// Digest returns that of the approved tool.
func (e *Executor) Digest() string { return e.o.Digest }

// look asks the server what the tool is now.
func (e *Executor) look(ctx context.Context) (string, error) {
	digest, listed := "", 0
	page := new(sdk.ListToolsParams)
	for range maxTools { // pages: a server may send empty ones for ever
		res, err := e.session.ListTools(ctx, page)
		if err != nil {
			return "", fmt.Errorf("mcp: list tools: %w", err)
		}
		if res.TTLMs > 0 {
			return "", ErrCached
		}
		if listed += len(res.Tools); listed > maxTools {
			break
		}
		for _, t := range res.Tools {
			if t.Name != e.name {
				continue
			}
			d, err := Digest(t)
			if err != nil {
				return "", err
			}
			if digest != "" && d != digest {
				return "", fmt.Errorf("mcp: %q is listed twice: %w", e.name, ErrToolChanged)
			}
			digest = d
		}
		switch {
		case res.NextCursor != "":
			page = &sdk.ListToolsParams{Cursor: res.NextCursor}
		case digest == "":
			return "", fmt.Errorf("mcp: no tool %q: %w", e.name, ErrToolChanged)
		default:
			return digest, nil
		}
	}
	return "", fmt.Errorf("mcp: the server lists more than %d tools or pages", maxTools)
}

// Fresh has a client of the SDK keep no list of tools, which it does for as long
// as a server says, so that an Executor sees the tools as they are now. Add it
// before the client connects:
//
//	client.AddSendingMiddleware(mcp.Fresh)
func Fresh(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		if list, ok := res.(*sdk.ListToolsResult); ok && list != nil {
			list.TTLMs = 0
		}
		return res, err
	}
}

// Execute calls the tool. Its structured content is the output, or else its
// text as a JSON string. Whole numbers above 2^53 are exact where the text repeats the
// structured content, and a warning where it does not. A tool that reports an error has failed, with its
// text as the complaint; a broken session is an error.
func (e *Executor) Execute(ctx context.Context, w act.Work) (act.Result, error) {
	args, err := e.o.Arguments(w)
	if err != nil {
		return act.Result{}, err
	}
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	if t := bytes.TrimSpace(args); t[0] != '{' || !json.Valid(t) {
		return e.failed("the inputs of the task are not a JSON object"), nil
	}
	digest, err := e.look(ctx)
	if err == nil && digest != e.o.Digest {
		err = fmt.Errorf("mcp: %q: %w", e.name, ErrToolChanged)
	}
	if errors.Is(err, ErrToolChanged) || errors.Is(err, ErrCached) {
		return act.Result{}, fmt.Errorf("%w: %w", act.ErrDenied, err)
	}
	if err != nil {
		return act.Result{}, err
	}
	res, err := e.session.CallTool(ctx, &sdk.CallToolParams{Name: e.name, Arguments: args})
	if err != nil {
		return act.Result{}, fmt.Errorf("mcp: call %q: %w", e.name, err)
	}
	return e.result(res), nil
}

func (e *Executor) result(res *sdk.CallToolResult) act.Result {
	var said strings.Builder
	others := 0
	for _, c := range res.Content {
		t, ok := c.(*sdk.TextContent)
		if !ok {
			others++
			continue
		}
		if said.Len() > 0 {
			said.WriteByte('\n')
		}
		said.WriteString(t.Text)
		if said.Len() > e.o.MaxOutput {
			break
		}
	}
	if res.IsError {
		return e.failed(said.String())
	}
	if res.NeedsInput() {
		return e.failed("the tool asks for further input, which an executor has not")
	}
	var out any = said.String()
	inexact := false
	if res.StructuredContent != nil {
		out, inexact = res.StructuredContent, rounded(res.StructuredContent)
	}
	if text := said.String(); inexact && repeats(text, out) {
		out, inexact = json.RawMessage(text), false
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return e.failed("the output is not JSON")
	}
	if len(raw) > e.o.MaxOutput || said.Len() > e.o.MaxOutput && res.StructuredContent == nil {
		return e.failed(fmt.Sprintf("the output has more than %d bytes", e.o.MaxOutput))
	}
	r := iar.Reflection{
		Status: iar.Success, Confidence: e.o.Confidence, Summary: "the tool " + fence.Line(e.name) + " has answered",
	}
	if others > 0 && res.StructuredContent == nil {
		r.Status = iar.Warning
		r.PotentialIssues = []string{fmt.Sprintf("%d parts of the answer are not text, and were left out", others)}
	}
	if inexact {
		r.Status = iar.Warning
		r.PotentialIssues = []string{"whole numbers above 2^53 may be other ones than the tool has sent"}
	}
	return act.Result{Output: raw, Reflection: r}
}

// rounded reports whether a value has a whole number that may be another one than was
// sent: the SDK reads numbers as float64.
func rounded(v any) bool {
	switch v := v.(type) {
	case float64:
		return math.Abs(v) >= 1<<53
	case []any:
		return slices.ContainsFunc(v, rounded)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), rounded)
	}
	return false
}

// repeats reports whether a text says what structured content does, as MCP asks of tools.
func repeats(text string, content any) bool {
	var said any
	return json.Unmarshal([]byte(text), &said) == nil && reflect.DeepEqual(said, content)
}

// failed reports what a tool says about its failure, as one line of at most a
// kilobyte: it goes into the next attempt's brief.
func (e *Executor) failed(why string) act.Result {
	if why = fence.Line(why[:min(len(why), 8<<10)]); len(why) > 1<<10 {
		why = why[:1<<10] + " (cut)"
	}
	why = strings.ToValidUTF8(why, "")
	if why == "" {
		why = "no reason was given"
	}
	return act.Result{Reflection: iar.Reflection{
		Status: iar.Failure, Confidence: 0, Summary: "the tool " + fence.Line(e.name) + " failed",
		PotentialIssues: []string{why},
	}}
}
