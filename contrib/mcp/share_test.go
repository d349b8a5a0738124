package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/contrib/mcp"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// sharing starts arc-mcp on a directory that others may have open.
func sharing(t *testing.T, dir, tmp, scope string, args ...string) (*sdk.ClientSession, *exec.Cmd, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	cmd := exec.Command(binary(t), append([]string{"-dir", dir, "-scope", scope}, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	cmd.Stderr = &log
	s, err := client().Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	require.NoError(t, err)
	return s, cmd, &log
}

// shortTemp is a directory whose name leaves room for that of a socket.
func shortTemp(t *testing.T) string {
	t.Helper()
	tmp, err := os.MkdirTemp("", "a")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(tmp)) })
	return tmp
}

// Several clients have one directory; when the one that has it open is killed, the
// others go on, and nothing that was acknowledged is missing.
func TestClientsShareADirectory(t *testing.T) {
	t.Parallel()
	dir, tmp := t.TempDir(), shortTemp(t)
	first, owner, _ := sharing(t, dir, tmp, "me")
	second, _, log := sharing(t, dir, tmp, "me")
	third, _, _ := sharing(t, dir, tmp, "you")
	call[receipt](t, second, "remember", `{"content":"the port is 7400","key":"a"}`)
	require.Len(t, call[memories](t, first, "recall", `{"query":"which port?"}`).Memories, 1)
	require.Empty(t, call[memories](t, third, "recall", `{"query":"which port?"}`).Memories, "another scope")

	require.NoError(t, owner.Process.Kill())
	_ = first.Close()
	for n := range 20 {
		for _, s := range []*sdk.ClientSession{second, third} {
			key := fmt.Sprintf(`{"content":"room %d is blue","key":"room-%d"}`, n, n)
			_, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "remember", Arguments: json.RawMessage(key)})
			if err != nil { // it was under way when the owner was killed
				require.ErrorContains(t, err, "the server has changed")
				call[receipt](t, s, "remember", key)
			}
		}
	}
	require.Len(t, call[memories](t, second, "recall", `{"query":"which port?","limit":1}`).Memories, 1)
	require.Len(t, call[memories](t, third, "recall", `{"query":"blue room","limit":50}`).Memories, 20)
	require.NoError(t, second.Close())
	require.NoError(t, third.Close())
	require.NotContains(t, log.String(), "panic")
}

// What an owner would refuse, a client hears, whether it owns the directory or not.
func TestAClientWithoutAScopeIsToldSo(t *testing.T) {
	t.Parallel()
	dir, tmp := t.TempDir(), shortTemp(t)
	first, _, _ := sharing(t, dir, tmp, "me")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary(t), "-dir", dir, "-scope", "")
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	in, err := cmd.StdinPipe() // which stays open, as a client's does
	require.NoError(t, err)
	defer in.Close()
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "scope")
	require.NoError(t, first.Close())
}

// Owners come and go while all clients call.
func TestOwnersComeAndGo(t *testing.T) {
	t.Parallel()
	dir, tmp := t.TempDir(), shortTemp(t)
	for range 3 {
		var all sync.WaitGroup
		for i := range 3 {
			s, _, _ := sharing(t, dir, tmp, "me")
			all.Go(func() {
				for n := range 5 * (i + 1) {
					args := json.RawMessage(fmt.Sprintf(`{"content":"lamp %d of %d is on","key":"lamp-%d-%d"}`, n, i, n, i))
					if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "remember", Arguments: args}); err != nil {
						_, err = s.CallTool(t.Context(), &sdk.CallToolParams{Name: "remember", Arguments: args})
						if err != nil {
							t.Error(err)
						}
					}
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	s, _, _ := sharing(t, dir, tmp, "me")
	require.Len(t, call[memories](t, s, "recall", `{"query":"lamp","limit":50}`).Memories, 30)
	require.NoError(t, s.Close())
}

// A client that does not own the directory reads the answers of a batch, too, which it sends last.
func TestABatchIsAnsweredByTheOwner(t *testing.T) {
	t.Parallel()
	dir, tmp := t.TempDir(), shortTemp(t)
	owner, _, _ := sharing(t, dir, tmp, "me")
	cmd := exec.Command(binary(t), "-dir", dir, "-scope", "me")
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	cmd.Stdin = strings.NewReader(hello + "[" + recallOf("one") + "," + recallOf("two") + "]\n")
	out, err := cmd.Output()
	require.NoError(t, err)
	for _, id := range []string{"hello", "one", "two"} {
		require.Contains(t, string(out), fmt.Sprintf(`"id":%q,"result"`, id))
	}
	require.NoError(t, owner.Close())
}

// An owner that had too many files open lets clients in again.
func TestClientsAreLetInAgain(t *testing.T) {
	t.Parallel()
	dir, tmp := t.TempDir(), shortTemp(t)
	cmd := exec.Command("sh", "-c", `ulimit -n 64; exec "$0" "$@"`, binary(t), "-dir", dir, "-scope", "me")
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	owner, err := client().Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	require.NoError(t, err)
	sockets, err := filepath.Glob(filepath.Join(tmp, "*", "*.sock"))
	require.NoError(t, err)
	require.Len(t, sockets, 1)
	var silent []net.Conn
	for range 100 {
		conn, err := net.Dial("unix", sockets[0])
		require.NoError(t, err)
		silent = append(silent, conn)
	}
	_, err = silent[0].Read(make([]byte, 1)) // the owner waits for a hello of it for five seconds
	require.ErrorIs(t, err, io.EOF)
	for _, conn := range silent {
		require.NoError(t, conn.Close())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	other := exec.CommandContext(ctx, binary(t), "-dir", dir, "-scope", "me")
	other.Env, other.Stdin = cmd.Env, strings.NewReader(hello+recallOf("one")+"\n")
	out, err := other.Output()
	require.NoError(t, err)
	require.Contains(t, string(out), `"id":"one","result"`)
	require.NoError(t, owner.Close())
}

// A directory that could not be closed well is an error, also at the end by a signal.
func TestAFailedCloseIsTold(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "arc")
	var log bytes.Buffer
	cmd := exec.Command(binary(t), "-dir", dir, "-scope", "me")
	cmd.Env, cmd.Stderr = append(os.Environ(), "TMPDIR="+shortTemp(t)), &log
	in, err := cmd.StdinPipe() // which stays open
	require.NoError(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.WriteString(in, hello+recallOf("one")+"\n")
	require.NoError(t, err)
	for lines := bufio.NewScanner(out); lines.Scan() && !strings.Contains(lines.Text(), `"one"`); {
	}
	require.NoError(t, os.RemoveAll(dir)) // where Close writes what is in memory only
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Error(t, cmd.Wait())
	require.Contains(t, log.String(), "no such file")
}

// What a directory of sockets that others can enter holds is not spoken to.
func TestSocketsAreTheUsersOwn(t *testing.T) {
	t.Parallel()
	dir, tmp := t.TempDir(), shortTemp(t)
	require.NoError(t, os.Mkdir(fmt.Sprintf("%s/arc-mcp-%d", tmp, os.Getuid()), 0o755))
	s, _, log := sharing(t, dir, tmp, "me")
	require.NoError(t, s.Close())
	require.Contains(t, log.String(), "cannot be shared")
}

func TestOperatorsPutThingsRight(t *testing.T) {
	t.Parallel()
	agent := open(t, delivering())
	plain := serve(t, agent, anna)
	boss := serve(t, agent, boss)
	bob := serve(t, agent, &mcp.Options{Scope: "acme/bob", Operator: true})

	said := call[receipt](t, plain, "remember", `{"content":"the port is 7400"}`)
	id := fmt.Sprintf(`{"id":%q}`, said.ID)
	require.Contains(t, refuse(t, plain, "trust", id), "operator")
	require.Contains(t, refuse(t, bob, "trust", id), "not found")
	require.True(t, call[struct{ Done bool }](t, boss, "trust", id).Done)
	require.True(t, call[memories](t, plain, "recall", `{"query":"which port?"}`).Memories[0].Trusted)
	require.Contains(t, refuse(t, plain, "forget", id), "operator")
	require.Contains(t, refuse(t, bob, "forget", id), "not found")

	why := call[struct {
		Returned bool
		Rank     int
		Reason   string
	}](t, plain, "explain", fmt.Sprintf(`{"id":%q,"query":"which port?"}`, said.ID))
	require.True(t, why.Returned)
	require.Equal(t, 1, why.Rank)
	whyNot := call[struct {
		Returned bool
		Reason   string
	}](t, plain, "explain", fmt.Sprintf(`{"id":%q,"query":"the weather in Rome"}`, said.ID))
	require.False(t, whyNot.Returned)
	require.NotEmpty(t, whyNot.Reason)
	require.True(t, call[struct{ Done bool }](t, boss, "forget", id).Done)
	require.Empty(t, call[memories](t, plain, "recall", `{"query":"which port?"}`).Memories)

	other := call[receipt](t, plain, "remember", `{"content":"the host is beta"}`)
	require.True(t, call[struct{ Done bool }](t, plain, "forget", fmt.Sprintf(`{"id":%q}`, other.ID)).Done, "its own, unverified")

	_, err := agent.Run(t.Context(), objective("run-1", "acme/anna"))
	require.NoError(t, err)
	_, err = agent.Run(t.Context(), objective("run-2", "acme/bob"))
	require.NoError(t, err)
	runs := call[struct {
		Runs []struct{ ID, Status string }
	}](t, plain, "runs", `{"status":"delivered"}`).Runs
	require.Len(t, runs, 1)
	require.Equal(t, "run-1", runs[0].ID)
	workers := call[struct {
		Workers []struct{ Worker string }
	}](t, plain, "rank", `{"task":"mend it"}`).Workers
	require.Len(t, workers, 1)

	require.Contains(t, refuse(t, plain, "judge", `{"run":"run-1","right":true}`), "operator")
	require.Contains(t, refuse(t, boss, "judge", `{"run":"run-2","right":true}`), "not found")
	require.True(t, call[struct{ Done bool }](t, boss, "judge", `{"run":"run-1","right":false,"why":"it leaks again"}`).Done)
	require.Contains(t, refuse(t, plain, "chunk", `{"session":"run-1"}`), "operator")
	require.Len(t, call[struct{ Plans []receipt }](t, boss, "chunk", `{"session":"run-1"}`).Plans, 1)
	require.Empty(t, call[struct{ Plans []receipt }](t, boss, "chunk", `{"session":"run-2"}`).Plans, "of another scope")
}

// A scope above sees no runs of those below, and an id of theirs is as unknown as one that
// never was.
func TestRunsAreThoseOfTheScope(t *testing.T) {
	t.Parallel()
	agent := open(t, delivering())
	for _, o := range []arc.Objective{objective("bobs", "acme/bob"), objective("teams", "acme"), objective("late", "acme/bob")} {
		_, err := agent.Run(t.Context(), o)
		require.NoError(t, err)
	}
	type runs struct{ Runs []struct{ ID string } }
	s := serve(t, agent, &mcp.Options{Scope: "acme"})
	require.Equal(t, runs{[]struct{ ID string }{{"teams"}}}, call[runs](t, s, "runs", `{"limit":1}`))
	require.Empty(t, call[runs](t, s, "runs", `{"after":"teams"}`).Runs)
	for _, scope := range []memory.Scope{"acme", "acme/anna", "other"} {
		s := serve(t, agent, &mcp.Options{Scope: scope})
		unknown := refuse(t, s, "runs", `{"after":"nobodys"}`)
		require.Equal(t, unknown, refuse(t, s, "runs", `{"after":"bobs"}`), scope)
	}
}

// What was observed of workers is of the runs of all users of a tenant.
func TestRankTellsOperatorsAloneTheFigures(t *testing.T) {
	t.Parallel()
	h := delivering()
	h.Workers[0].Executor = act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
		said := iar.Reflection{Status: iar.Success, Confidence: 0.9, Summary: "done"}
		return act.Result{Output: json.RawMessage(`1`), Usage: act.Usage{CostUSD: 3.21}, Reflection: said}, nil
	})
	agent := open(t, h)
	for i := range 9 {
		_, err := agent.Run(t.Context(), objective(fmt.Sprint("bobs-", i), "acme/bob"))
		require.NoError(t, err)
	}
	ask := &sdk.CallToolParams{Name: "rank", Arguments: json.RawMessage(`{"task":"mend the cache"}`)}
	res, err := serve(t, agent, anna).CallTool(t.Context(), ask)
	require.NoError(t, err)
	require.NotContains(t, said(res), "$3.2")
	require.JSONEq(t, `{"workers":[{"worker":"w","score":0,"samples":0,"reason":""}],
		"note":"Workers are observed by skill, and none is named: the order is by what is known without one."}`, js(res.StructuredContent))
	res, err = serve(t, agent, boss).CallTool(t.Context(), ask)
	require.NoError(t, err)
	require.Contains(t, said(res), "$3.2")
}

// Workers are observed by skill. Who names none hears what is known, and what is missing.
func TestRankWithoutASkill(t *testing.T) {
	t.Parallel()
	h := delivering()
	h.Workers[0].Skills = []string{"edit", "build"}
	other := h.Workers[0]
	other.Card.Name, other.Skills = "v", []string{"edit"}
	h.Workers = append(h.Workers, other)
	h.Reasoner = reason.ReasonerFunc(func(_ context.Context, b reason.Brief) (reason.Decision, error) {
		return reason.Decision{Approach: "do it", Tasks: []reason.Task{{Objective: b.Objective, Skill: "edit"}}}, nil
	})
	agent := open(t, h)
	type order struct {
		Workers []struct{ Worker string }
		Note    string
	}
	boss, plain := serve(t, agent, boss), serve(t, agent, anna)
	got := call[order](t, boss, "rank", `{"task":"mend the cache"}`)
	require.Len(t, got.Workers, 2)
	require.Contains(t, got.Note, "No attempt of the last week is known.")

	for i := range 3 {
		_, err := agent.Run(t.Context(), objective(fmt.Sprint("run-", i), "acme/bob"))
		require.NoError(t, err)
	}
	for args, missing := range map[string]string{
		`{"task":"mend the cache"}`:                 "Workers are observed by skill, and none is named",
		`{"task":"mend the cache","skill":"paint"}`: "No worker can take such a task.",
	} {
		got = call[order](t, boss, "rank", args)
		require.Contains(t, got.Note, missing)
		require.Regexp(t, `Successes of the last week: [vw] at edit \d of \d`, got.Note)
		res, err := boss.CallTool(t.Context(), &sdk.CallToolParams{Name: "rank", Arguments: json.RawMessage(args)})
		require.NoError(t, err)
		require.Contains(t, said(res), got.Note)

		got = call[order](t, plain, "rank", args)
		require.Contains(t, got.Note, missing)
		require.NotContains(t, got.Note, "edit", "what is observed is of all users")
	}
	got = call[order](t, boss, "rank", `{"task":"mend the cache","skill":"edit"}`)
	require.Len(t, got.Workers, 2)
	require.Empty(t, got.Note)
}
