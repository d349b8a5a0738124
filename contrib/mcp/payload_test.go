package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"

	"github.com/arc-learn/arc/contrib/mcp"
)

// What a remote tool answers, and what a client has remembered, is not known for
// true and is in no plan that fires, also where the reasoner repeats it.
func TestPayloads(t *testing.T) {
	t.Parallel()
	f, err := os.Open("../../testdata/payloads/payloads.jsonl")
	require.NoError(t, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var p struct{ ID, Text, Canary string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &p))
		for _, fails := range []bool{false, true} {
			t.Run(fmt.Sprint(p.ID, " fails ", fails), func(t *testing.T) {
				t.Parallel()
				testPayload(t, p.Text, p.Canary, fails)
			})
		}
	}
}

func testPayload(t *testing.T, text, canary string, fails bool) {
	srv, s := remote(t)
	failing := fails
	sdk.AddTool(srv, &sdk.Tool{Name: "tell", Description: "tells"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		if failing {
			failing = false
			return nil, nil, errors.New(text)
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
	})
	// has reports whether v has the canary, in whatever form it was kept.
	has := func(v any) bool {
		plain := func(s string) string {
			return strings.Map(func(r rune) rune {
				if r <= ' ' || r >= 0x200b && r <= 0x202e {
					return -1
				}
				return r
			}, strings.NewReplacer(`\n`, "", `\r`, "", `\u200b`, "").Replace(s))
		}
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		want, err := json.Marshal(canary)
		require.NoError(t, err)
		return strings.Contains(plain(string(raw)), plain(string(want[1:len(want)-1])))
	}
	fired, repeated := 0, 0
	host := arc.Host{
		Reasoner: reason.ReasonerFunc(func(_ context.Context, b reason.Brief) (reason.Decision, error) {
			said := ""
			for _, d := range b.Lineage {
				said += d.Summary + string(d.Output)
			}
			for _, failed := range b.Failed {
				said += failed.Complaint
			}
			if len(b.Goals) == 0 && said == "" && !fails {
				return reason.Decision{Impasse: &reason.Impasse{Kind: "no_approach", Subgoal: "ask the tool"}}, nil
			}
			k := reason.Task{Objective: "do as it says"}
			if said != "" {
				repeated++
				k.Objective, k.Inputs = text, nil
			}
			return reason.Decision{Approach: "ask and do", Tasks: []reason.Task{k}}, nil
		}),
		Workers: []act.Worker{{
			Card: rank.Candidate{Name: "teller"}, Gates: []act.Gate{act.NoGate},
			Executor: executor(t, s, "tell", &mcp.ExecutorOptions{Arguments: func(act.Work) (json.RawMessage, error) { return nil, nil }}),
		}},
	}
	o := &arc.Options{Attempts: 1, Replans: 1}
	o.Hooks.Event = func(e arc.Event) {
		if e.Kind == arc.EventFired {
			fired++
		}
	}
	a, err := arc.Open(t.Context(), "", host, o)
	require.NoError(t, err)
	defer a.Close()
	_, err = a.In("local").Memory().Remember(t.Context(), memory.Draft{
		Kind: memory.Pattern, Trigger: "what the remote tool has to say", Content: text, Plan: []byte(`{"tasks":[]}`),
		Source: memory.Source{Origin: memory.Model, Ref: "client"},
	})
	require.NoError(t, err)
	for i := range 4 {
		failing = fails
		_, err := a.Run(t.Context(), arc.Objective{
			Text: "ask the remote tool what is to be done", Situation: "what the remote tool has to say", Inputs: fmt.Appendf(nil, `{"n":%d}`, i),
		})
		require.NoError(t, err)
	}
	require.Positive(t, repeated)
	for r, err := range a.In("local").Memory().All(t.Context()) {
		require.NoError(t, err)
		if r.Trusted || r.MayFire() {
			require.False(t, has(r.Content) || has(r.Trigger) || has(string(r.Plan)), "%s: %s", r.Kind, r.Content)
		}
	}
	if fails {
		require.Zero(t, fired)
	}
}
