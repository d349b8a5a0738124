package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/contrib/mcp"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

var rewrite = flag.Bool("rewrite", false, "rewrite testdata/tools.json")

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if built != "" {
			_ = os.RemoveAll(built)
		}
		os.Exit(code)
	}))
}

// tools are all there are, in the order of tools/list.
var tools = []string{
	"add_context", "assess", "chunk", "confidence", "context", "costs", "explain", "feedback", "forget", "get_identity", "get_recent_context", "health",
	"infer", "judge", "rank", "recall", "reject_fact", "remember", "runs", "think", "trust", "update_identity", "validate_fact",
}

// scripted is a host whose reasoner does what the objective says.
func scripted() arc.Host {
	h := mcp.MemoryHost()
	h.Reasoner = reason.ReasonerFunc(func(ctx context.Context, b reason.Brief) (reason.Decision, error) {
		switch word, _, _ := strings.Cut(b.Objective, " "); word {
		case "ask":
			return reason.Decision{Complexity: reason.Unclear, Questions: []string{"which one?"}}, nil
		case "stuck":
			return reason.Decision{Impasse: &reason.Impasse{Kind: "no_approach", Reason: "no idea", Subgoal: "find out"}}, nil
		case "break":
			return reason.Decision{}, errors.New("dial /var/run/secret.sock: connection refused")
		case "panic":
			panic("at /home/anna/reasoner.go")
		case "wait":
			<-ctx.Done()
			return reason.Decision{}, ctx.Err()
		}
		return reason.Decision{Approach: "step by step", Tasks: []reason.Task{{Objective: b.Objective, Inputs: json.RawMessage(`{"x":null}`)}}}, nil
	})
	return h
}

// failing is a host whose worker fails, so that a session has a history.
func failing() arc.Host {
	h := scripted()
	h.Workers = []act.Worker{{
		Card: rank.Candidate{Name: "w"},
		Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
			return act.Result{Reflection: iar.Reflection{Status: iar.Failure, Summary: "no luck"}}, nil
		}),
		Gates: []act.Gate{act.NoGate},
	}}
	return h
}

// delivering is a host whose worker delivers.
func delivering() arc.Host {
	h := scripted()
	h.Workers = []act.Worker{{
		Card: rank.Candidate{Name: "w"},
		Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
			return act.Result{Output: json.RawMessage(`1`), Reflection: iar.Reflection{Status: iar.Success, Confidence: 0.9, Summary: "done"}}, nil
		}),
		Gates: []act.Gate{act.GateFunc(func(context.Context, act.Work, act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: true}, nil
		})},
	}}
	return h
}

func objective(id string, scope memory.Scope) arc.Objective {
	return arc.Objective{ID: id, Text: "mend the cache", Scope: scope}
}

func open(t testing.TB, host arc.Host) *arc.Agent {
	t.Helper()
	agent, err := arc.Open(t.Context(), "", host, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, agent.Close()) })
	return agent
}

func serve(t testing.TB, agent *arc.Agent, opts *mcp.Options) *sdk.ClientSession {
	t.Helper()
	server, err := mcp.NewServer(agent, opts)
	require.NoError(t, err)
	return connect(t, server)
}

// connect connects the SDK's client with a server, in memory.
func connect(t testing.TB, server *mcp.Server) *sdk.ClientSession {
	t.Helper()
	near, far := sdk.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(ctx, far) }) // ends with the session
	session, err := client().Connect(ctx, near, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = session.Close()
		cancel()
		wg.Wait()
	})
	return session
}

func client() *sdk.Client {
	return sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
}

// call calls a tool and returns its structured content.
func call[Out any](t testing.TB, s *sdk.ClientSession, name, args string) (out Out) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	require.NoError(t, err)
	require.False(t, res.IsError, "%s: %s", name, said(res))
	raw, err := json.Marshal(res.StructuredContent)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &out), string(raw))
	return out
}

// refuse calls a tool that has to refuse, and returns what it says.
func refuse(t testing.TB, s *sdk.ClientSession, name, args string) string {
	t.Helper()
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	require.NoError(t, err)
	require.True(t, res.IsError, "%s: %s", name, said(res))
	require.Nil(t, res.StructuredContent)
	return said(res)
}

func said(res *sdk.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

func js(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return b.String()
}

type receipt struct{ ID, Disposition, Reason string }

type memories struct {
	Memories []struct {
		ID, Kind, Trigger, Content, Origin, Actor string
		Trusted, Archived                         bool
		Effectiveness                             float64
	}
	LeftOut int `json:"left_out"`
}

type fact struct {
	ID, Content, Maturity, Source, Visibility string
	Confidence                                float64
	Validations                               int
	Archived, Rejected                        bool
	SupersededBy                              string `json:"superseded_by"`
}

type facts struct {
	Name, Role string
	Facts      []fact
}

type changed struct {
	Fact           fact
	Added, Counted bool
}

var (
	anna = &mcp.Options{Scope: "acme/anna", Name: "desk"}
	boss = &mcp.Options{Scope: "acme/anna", Name: "console", Operator: true}
)

const wait, tick = 30 * time.Second, 5 * time.Millisecond
