package a2a_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/contrib/a2a"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

func card(url string) sdk.AgentCard {
	return sdk.AgentCard{
		Name: "greeter", Description: "Greets.", URL: url, Version: "1", ProtocolVersion: "0.3.0",
		PreferredTransport: sdk.TransportProtocolJSONRPC,
		DefaultInputModes:  []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills: []sdk.AgentSkill{{ID: "greet", Name: "greet", Description: "Greets.", Tags: []string{}}},
		Capabilities: sdk.AgentCapabilities{Extensions: []sdk.AgentExtension{
			{URI: "https://protolabs.ai/a2a/ext/blast-v1",
				Params: map[string]any{"skills": map[string]any{"greet": map[string]any{"radius": "fleet"}}}},
			{URI: "https://protolabs.ai/a2a/ext/hitl-mode-v1",
				Params: map[string]any{"skills": map[string]any{"greet": map[string]any{"mode": "notification"}}}},
			{URI: "https://protolabs.ai/a2a/ext/effect-domain-v1",
				Params: map[string]any{"skills": map[string]any{"greet": map[string]any{
					"confidence": .7, "effects": []any{map[string]any{"path": "door.greeted", "op": "inc", "value": 1}},
				}}}},
		}},
	}
}

// open opens an agent, for tests.
func open(t *testing.T, h arc.Host) *arc.Agent {
	a, err := arc.New(t.Context(), store.NewMem(), h, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

// serve returns the URL of an agent that serves as card says.
func serve(t *testing.T, a *arc.Agent) string {
	s := httptest.NewUnstartedServer(nil)
	s.Config.Handler = a2a.Handler(a, card("http://"+s.Listener.Addr().String()), nil)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

func worker(name string, f act.ExecutorFunc) act.Worker {
	return act.Worker{Name: name, Executor: f, Gates: []act.Gate{act.NoGate}}
}

func dial(t *testing.T, url string) act.Worker {
	remote, err := a2a.Dial(t.Context(), url, nil)
	require.NoError(t, err)
	w := remote.Worker()
	w.Gates, w.Skills, w.Blast = []act.Gate{act.NoGate}, nil, act.Self
	return w
}

func TestWorkerOfACard(t *testing.T) {
	_, err := a2a.Dial(t.Context(), "http://me:hidden1@127.0.0.1:1/?key=hidden2", nil)
	require.ErrorContains(t, err, "connection refused")
	require.NotContains(t, err.Error(), "hidden")
	_, err = a2a.Dial(t.Context(), "http://me:hid/den1@127.0.0.1/?key=hidden2", nil)
	require.EqualError(t, err, "a2a: the card: the address is no URL")
	gone := card("http://127.0.0.1:1/")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		require.NoError(t, json.NewEncoder(w).Encode(gone))
	}))
	for _, other := range []string{gone.URL, strings.Replace(s.URL, "http", "https", 1), "file:///etc/passwd", ":"} {
		gone.URL = other
		_, err = a2a.Dial(t.Context(), s.URL, nil)
		require.ErrorContains(t, err, "another host", other)
	}
	gone.URL = s.URL
	gone.AdditionalInterfaces = []sdk.AgentInterface{{Transport: sdk.TransportProtocolJSONRPC, URL: "http://127.0.0.1:1/"}}
	_, err = a2a.Dial(t.Context(), s.URL, nil)
	require.ErrorContains(t, err, "another host")
	gone.AdditionalInterfaces[0].Transport = sdk.TransportProtocolGRPC // which is not used
	gone.URL = strings.Replace(s.URL, "//", "//me:hidden1@", 1) + "/?key=hidden2"
	away := dial(t, s.URL)
	s.Close() // the agent is there no more
	_, err = away.Executor.Execute(t.Context(), &act.Call{Worker: &away, Task: reason.Task{Objective: "hi"}})
	require.ErrorContains(t, err, "connection refused")
	require.NotContains(t, err.Error(), "hidden")
	flood := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for err := error(nil); err == nil; { // until the client leaves
			_, err = w.Write(bytes.Repeat([]byte(" "), 1<<20))
		}
	}))
	defer flood.Close()
	_, err = a2a.Dial(t.Context(), flood.URL, nil)
	require.ErrorContains(t, err, "bytes")
	remote, err := a2a.Dial(t.Context(), serve(t, open(t, arc.Host{})), nil)
	require.NoError(t, err)
	w := remote.Worker()
	require.Equal(t, "greeter", w.Name)
	require.Equal(t, []string{"greet"}, w.Skills)
	require.Equal(t, act.Fleet, w.Blast)
	require.Equal(t, act.Notify, w.Mode)
	require.Zero(t, w.Prior, "its own claim")
	require.Len(t, w.Effects, 1)
	require.Equal(t, "door.greeted", w.Effects[0].Path)
	require.JSONEq(t, "1", string(w.Effects[0].Value))
}

// An Agent behind A2A is a worker of another: text and data go through, a question is asked of the caller's
// run.
func TestAgentOfAnAgent(t *testing.T) {
	asked := false
	far := open(t,
		arc.Host{Workers: []act.Worker{worker("far", func(_ context.Context, c *act.Call) (*act.Result, error) {
			if len(c.Answers) == 0 {
				asked = true
				return nil, &act.PendingError{Questions: []string{"Which language?"}}
			}
			var in struct{ Name string }
			require.NoError(t, json.Unmarshal(c.Inputs, &in))
			return &act.Result{Output: json.RawMessage(`{"greeting":"hej"}`), Text: "hej " + in.Name + " in " +
				c.Answers[0].Text}, nil
		})}})
	// A server of the SDK refuses an answer that comes before it has put the question away.
	var refused atomic.Bool
	var h http.Handler
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		if bytes.Contains(body, []byte("Danish")) && refused.CompareAndSwap(false, true) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","error":{"code":-32603,"message":"internal error"}}`)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	}))
	defer s.Close()
	h = a2a.Handler(far, card(s.URL), nil)
	near := open(t, arc.Host{Workers: []act.Worker{dial(t, s.URL)}})
	r, err := near.Run(t.Context(),
		arc.Objective{ID: "1", Text: "greet", Inputs: json.RawMessage(`{"name":"Ann"}`)})
	require.NoError(t, err)
	require.Equal(t, arc.Asking, r.Status, r.Text)
	require.Equal(t, "Which language?", r.Text)
	require.True(t, asked)
	r, err = near.In("").Answer(t.Context(), "1", "", "Danish")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status, r.Text)
	require.Contains(t, r.Text, "Danish")
	require.True(t, refused.Load())
	require.JSONEq(t, `{"greeting":"hej"}`, string(r.Output))
	n := 0
	for _, err := range far.In("").Runs(t.Context()) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, 1, n)
}

// remote is an A2A agent made with the SDK alone.
type remote struct {
	state    sdk.TaskState
	says     string
	canceled atomic.Bool
}

func (r *remote) Execute(ctx context.Context, rc *a2asrv.RequestContext, q eventqueue.Queue) error {
	if r.state == "" { // it answers with a message
		return q.Write(ctx, sdk.NewMessage(sdk.MessageRoleAgent,
			sdk.TextPart{Text: cmp.Or(r.says, "hello "+fmt.Sprint(rc.Metadata["x-hitl-mode"]))}))
	}
	if err := q.Write(ctx, sdk.NewStatusUpdateEvent(rc, sdk.TaskStateWorking, nil)); err != nil {
		return err
	}
	if r.state == sdk.TaskStateWorking {
		<-ctx.Done()
		return ctx.Err()
	}
	if r.state == sdk.TaskStateCompleted {
		err := q.Write(ctx, sdk.NewArtifactEvent(rc, sdk.TextPart{Text: "made"},
			sdk.FilePart{File: sdk.FileURI{URI: "https://x/a.pdf"}}, sdk.DataPart{Data: map[string]any{
				"usage": map[string]any{"input_tokens": 90, "output_tokens": 7}, "costUsd": .02, "confidence": .8,
				"worldstate-delta-v1": []any{map[string]any{"path": "door.greeted", "op": "inc", "value": 1}},
			}}))
		if err != nil {
			return err
		}
	}
	e := sdk.NewStatusUpdateEvent(rc, r.state, sdk.NewMessageForTask(sdk.MessageRoleAgent, rc,
		sdk.TextPart{Text: "said"}))
	e.Final = true
	return q.Write(ctx, e)
}

func (r *remote) Cancel(ctx context.Context, rc *a2asrv.RequestContext, q eventqueue.Queue) error {
	r.canceled.Store(true)
	e := sdk.NewStatusUpdateEvent(rc, sdk.TaskStateCanceled, nil)
	e.Final = true
	return q.Write(ctx, e)
}

func (r *remote) url(t *testing.T) string {
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	c := card(s.URL)
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(&c))
	mux.Handle("/", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(r)))
	return s.URL
}

func TestStates(t *testing.T) {
	for state, says := range map[sdk.TaskState]string{
		sdk.TaskStateFailed: "said", sdk.TaskStateRejected: "said", sdk.TaskStateCanceled: "said",
		sdk.TaskStateAuthRequired: "said",
	} {
		_, err := dial(t, (&remote{state: state}).url(t)).Executor.Execute(t.Context(),
			&act.Call{Case: reason.Case{Run: "k"}, Worker: &act.Worker{}})
		require.ErrorContains(t, err, says, state)
	}
	r, err := dial(t, (&remote{}).url(t)).Executor.Execute(t.Context(),
		&act.Call{Case: reason.Case{Run: "k"}, Worker: &act.Worker{Mode: act.Gated}})
	require.NoError(t, err)
	require.Equal(t, "hello gated", r.Text)
	r, err = dial(t, (&remote{state: sdk.TaskStateCompleted}).url(t)).Executor.Execute(t.Context(),
		&act.Call{Case: reason.Case{Run: "k"}, Worker: &act.Worker{}})
	require.NoError(t, err)
	require.Equal(t, "made\n[file left out] https://x/a.pdf", r.Text)
	require.Equal(t, 90, r.Usage.Input)
	require.Equal(t, .02, *r.Usage.CostUSD)
	require.Equal(t, .8, r.Reflection.Confidence)
	require.Len(t, r.Deltas, 1)
}

// What a remote agent says is a stranger's: it is given no secret by naming one. Whole numbers are sent as
// they are.
func TestStrangersAndNumbers(t *testing.T) {
	url := (&remote{says: "[secret DB]"}).url(t)
	var sent []byte
	proxy := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			sent, _ = io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(sent))
		}
		return http.DefaultTransport.RoundTrip(r)
	})}
	far, err := a2a.Dial(t.Context(), url, proxy)
	require.NoError(t, err)
	w := far.Worker()
	w.Gates, w.Skills, w.Blast = []act.Gate{act.NoGate}, nil, act.Self
	r, err := open(t, arc.Host{Workers: []act.Worker{w}}).Run(t.Context(), arc.Objective{
		Text: "look", Tasks: []reason.Task{{Objective: "look", Inputs: json.RawMessage(`{"id":9007199254740993}`)}},
	})
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status, r.Text)
	require.NotContains(t, r.Text, "[secret DB]")
	require.Contains(t, string(sent), "9007199254740993")
}

// A request that is too large is refused before it is all read.
func TestTooLarge(t *testing.T) {
	url := serve(t, open(t, arc.Host{Workers: []act.Worker{worker("near", paint)}}))
	for size, want := range map[int]string{60 << 10: `"completed"`, 64 << 20: "too large"} {
		text := bytes.Repeat([]byte("a"), size)
		body := io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":`+
			`{"kind":"message","messageId":"1","role":"user","parts":[{"kind":"text","text":"`),
			bytes.NewReader(text), strings.NewReader(`"}]}}}`))
		resp, err := http.Post(url, "application/json", body)
		require.NoError(t, err)
		said, err := io.ReadAll(resp.Body)
		require.NoError(t, errors.Join(err, resp.Body.Close()))
		require.Contains(t, string(said[:min(len(said), 1<<20)]), want)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestCancel(t *testing.T) {
	for _, cause := range []error{fmt.Errorf("by somebody: %w", context.Canceled), context.Canceled,
		arc.ErrClosed} {
		far := &remote{state: sdk.TaskStateWorking}
		w := dial(t, far.url(t))
		ctx, cancel := context.WithCancelCause(t.Context())
		timer := time.AfterFunc(300*time.Millisecond, func() { cancel(cause) })
		defer timer.Stop()
		_, err := w.Executor.Execute(ctx, &act.Call{Case: reason.Case{Run: "k"}, Worker: &act.Worker{}})
		require.ErrorIs(t, err, context.Canceled)
		canceled := errors.Is(cause, context.Canceled) && cause != context.Canceled
		require.Equal(t, canceled, far.canceled.Load(),
			"a caller that leaves, or a Shutdown, leaves the task running")
	}
}

// Both sides end and begin again while a task is under way: it is one run, and its client follows it on.
func TestRestarts(t *testing.T) {
	began, followed, release := make(chan bool, 9), make(chan bool, 1), make(chan bool)
	host := arc.Host{Workers: []act.Worker{worker("far",
		func(ctx context.Context, _ *act.Call) (*act.Result, error) {
			began <- true
			select {
			case <-release:
				return &act.Result{Text: "done"}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})}}
	begin := func(st store.Store, h arc.Host) *arc.Agent {
		a, err := arc.New(t.Context(), st, h, nil)
		require.NoError(t, err)
		return a
	}
	var h http.Handler
	var down sync.RWMutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		down.RLock()
		defer down.RUnlock()
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if h.ServeHTTP(w, r); bytes.Contains(body, []byte("tasks/get")) {
			select {
			case followed <- true:
			default:
			}
		}
	}))
	defer s.Close()
	farStore, nearStore := store.NewMem(), store.NewMem()
	far := begin(farStore, host)
	h = a2a.Handler(far, card(s.URL), nil)
	nearHost := arc.Host{Workers: []act.Worker{dial(t, s.URL)}}
	near := begin(nearStore, nearHost)
	left := make(chan error, 1)
	go func() {
		_, err := near.Run(context.Background(), arc.Objective{ID: "1", Text: "go"})
		left <- err
	}()
	<-began
	<-followed // its id is kept
	require.NoError(t, near.Close())
	require.ErrorIs(t, <-left, arc.ErrClosed)
	down.Lock()
	require.NoError(t, far.Close())
	far = begin(farStore, host)
	h = a2a.Handler(far, card(s.URL), nil)
	down.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	near = begin(nearStore, nearHost)
	close(release)
	r, err := near.In("").Wait(ctx, "1")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status, r.Text)
	require.Equal(t, "done", r.Text)
	require.Equal(t, 1, r.Attempts)
	n := 0
	for range far.In("").Runs(t.Context()) {
		n++
	}
	require.Equal(t, 1, n)
	require.NoError(t, errors.Join(near.Close(), far.Close()))
}

// strangers are told apart by the header User.
type userKey struct{}

func (u user) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User", string(u))
	return http.DefaultTransport.RoundTrip(r)
}

type user string

func (u user) client(t *testing.T, url string) *a2aclient.Client {
	web := &http.Client{Transport: u}
	c, err := agentcard.NewResolver(web).Resolve(t.Context(), url)
	require.NoError(t, err)
	client, err := a2aclient.NewFromCard(t.Context(), c, a2aclient.WithJSONRPCTransport(web))
	require.NoError(t, err)
	return client
}

// A message that is sent again, at once, after its end or after a restart, is the same run; an answer answers
// once.
func TestSentAgain(t *testing.T) {
	var calls atomic.Int64
	a := open(t,
		arc.Host{Workers: []act.Worker{worker("pay", func(_ context.Context, c *act.Call) (*act.Result, error) {
			calls.Add(1)
			if len(c.Answers) < 2 && c.Text == "ask" {
				return nil, &act.PendingError{Questions: []string{fmt.Sprint(len(c.Answers), "?")}}
			}
			return &act.Result{Text: fmt.Sprint("paid ", c.Answers)}, nil
		})}})
	send := func(url string, m *sdk.Message) *sdk.Task {
		sent, err := user("").client(t, url).SendMessage(t.Context(), &sdk.MessageSendParams{Message: m})
		if !assert.NoError(t, err) {
			return &sdk.Task{}
		}
		return sent.(*sdk.Task)
	}
	url, first := serve(t, a), sdk.NewMessage(sdk.MessageRoleUser, sdk.TextPart{Text: "pay"})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			task := send(url, first)
			assert.Equal(t, sdk.TaskStateCompleted, task.Status.State, task.Status.Message)
		})
	}
	all.Wait()
	require.Len(t, send(serve(t, a), first).Artifacts, 1)
	require.EqualValues(t, 1, calls.Load())

	task := send(url, sdk.NewMessage(sdk.MessageRoleUser, sdk.TextPart{Text: "ask"}))
	one := sdk.NewMessageForTask(sdk.MessageRoleUser, task, sdk.TextPart{Text: "one"})
	for range 2 {
		require.Equal(t, "1?", send(url, one).Status.Message.Parts[0].(sdk.TextPart).Text)
	}
}

// paint waits, asks for a colour, fails or greets, by the text of its task.
func paint(ctx context.Context, c *act.Call) (*act.Result, error) {
	switch {
	case c.Text == "wait":
		<-ctx.Done()
		return nil, ctx.Err()
	case c.Text == "paint" && len(c.Answers) == 0:
		return nil, &act.PendingError{Questions: []string{"which colour?"}}
	case c.Text == "paint":
		return &act.Result{Text: "painted " + c.Answers[0].Text}, nil
	case c.Text == "fail":
		return nil, errors.New("no ink")
	}
	return &act.Result{Text: "hello", Output: json.RawMessage(`{"n":1}`)}, nil
}

// A server that has begun anew reads a task from its run: its state, its answer, what it asks; it can be
// answered, again too, and canceled. Runs that came by another way are no tasks.
func TestRestart(t *testing.T) {
	a := open(t, arc.Host{Workers: []act.Worker{worker("near", paint)}})
	begin := func(text, session string) *sdk.Task {
		m := sdk.NewMessage(sdk.MessageRoleUser, sdk.TextPart{Text: text})
		m.ContextID = session
		sent, err := user("").client(t, serve(t, a)).SendMessage(t.Context(),
			&sdk.MessageSendParams{Message: m, Config: &sdk.MessageSendConfig{Blocking: new(text != "wait")}})
		require.NoError(t, err)
		return sent.(*sdk.Task)
	}
	get := func(task *sdk.Task) *sdk.Task {
		got, err := user("").client(t, serve(t, a)).GetTask(t.Context(), &sdk.TaskQueryParams{ID: task.ID})
		require.NoError(t, err)
		require.Equal(t, task.ContextID, got.ContextID)
		return got
	}
	hello := begin("hi", "a session. of mine")
	got := get(hello)
	require.Equal(t, sdk.TaskStateCompleted, got.Status.State)
	require.Equal(t, hello.Artifacts[0].Parts, got.Artifacts[0].Parts)

	asks := begin("paint", "")
	got = get(asks)
	require.Equal(t, sdk.TaskStateInputRequired, got.Status.State)
	require.Equal(t, sdk.TextPart{Text: "which colour?"}, got.Status.Message.Parts[0])
	red := sdk.NewMessageForTask(sdk.MessageRoleUser, asks, sdk.TextPart{Text: "red"})
	_, err := user("").client(t, serve(t, a)).SendMessage(t.Context(), &sdk.MessageSendParams{Message: red})
	require.NoError(t, err)
	got = get(asks)
	require.Equal(t, sdk.TaskStateCompleted, got.Status.State)
	require.Equal(t, sdk.TextPart{Text: "painted red"}, got.Artifacts[0].Parts[0])

	slow := begin("wait", "")
	require.Equal(t, sdk.TaskStateWorking, get(slow).Status.State)
	_, err = user("").client(t, serve(t, a)).CancelTask(t.Context(), &sdk.TaskIDParams{ID: slow.ID})
	require.NoError(t, err)
	require.Equal(t, sdk.TaskStateCanceled, get(slow).Status.State)

	_, err = a.Run(t.Context(), arc.Objective{ID: "other", Text: "hi"})
	require.NoError(t, err)
	for _, id := range []sdk.TaskID{"other", "other.x.other", "a2a-none.x.y", "a2a-none", ""} {
		_, err := user("").client(t, serve(t, a)).GetTask(t.Context(), &sdk.TaskQueryParams{ID: id})
		require.Error(t, err, id)
	}
}

// What the SDK's client is told of a run: as it goes on, when it asks, and when somebody ends it. A task is
// there for callers of its scope only.
func TestTasks(t *testing.T) {
	a := open(t, arc.Host{Workers: []act.Worker{worker("near", paint)}})
	var h http.Handler
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, r.Header.Get("User"))))
	}))
	defer s.Close()
	h = a2a.Handler(a, card(s.URL), func(ctx context.Context) (memory.Scope, error) {
		name := ctx.Value(userKey{}).(string)
		if name == "eve" {
			return "", errors.New("who is eve?")
		}
		require.NotEqual(t, "mallory", name)
		if name == "panic" {
			panic("a host's bug")
		}
		return memory.Scope("acme/" + name), nil
	})
	for _, from := range []string{"https://pages.example", "null"} { // a page that somebody visits
		body := `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"1","role":"user"}}}`
		page, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(body))
		require.NoError(t, err)
		page.Header.Set("Origin", from)
		page.Header.Set("User", "mallory")
		resp, err := http.DefaultClient.Do(page)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusForbidden, resp.StatusCode)
	}
	anna, bob := user("anna").client(t, s.URL), user("bob").client(t, s.URL)
	say := func(text string) *sdk.MessageSendParams {
		return &sdk.MessageSendParams{Message: sdk.NewMessage(sdk.MessageRoleUser, sdk.TextPart{Text: text})}
	}
	for text, want := range map[string]string{
		"hi":    "submitted working artifact completed ",
		"paint": "submitted working input-required ",
		"fail":  "submitted working failed ",
	} {
		got := ""
		for e, err := range anna.SendStreamingMessage(t.Context(), say(text)) {
			require.NoError(t, err)
			switch e := e.(type) {
			case *sdk.Task:
				got += string(e.Status.State) + " "
			case *sdk.TaskStatusUpdateEvent:
				got += string(e.Status.State) + " "
			case *sdk.TaskArtifactUpdateEvent:
				got += "artifact "
			}
		}
		require.Equal(t, want, got)
	}

	sent, err := anna.SendMessage(t.Context(), say("paint"))
	require.NoError(t, err)
	task := sent.(*sdk.Task)
	require.Equal(t, sdk.TaskStateInputRequired, task.Status.State)
	reply := func() *sdk.MessageSendParams {
		return &sdk.MessageSendParams{Message: sdk.NewMessageForTask(sdk.MessageRoleUser, task,
			sdk.TextPart{Text: "red"})}
	}
	_, err = bob.GetTask(t.Context(), &sdk.TaskQueryParams{ID: task.ID})
	require.ErrorIs(t, err, sdk.ErrTaskNotFound)
	_, err = bob.CancelTask(t.Context(), &sdk.TaskIDParams{ID: task.ID})
	require.ErrorContains(t, err, "not found")
	_, err = bob.SendMessage(t.Context(), reply())
	require.ErrorContains(t, err, "not found")
	sent, err = anna.SendMessage(t.Context(), reply())
	require.NoError(t, err)
	task = sent.(*sdk.Task)
	require.Equal(t, sdk.TaskStateCompleted, task.Status.State)
	require.Equal(t, sdk.TextPart{Text: "painted red"}, task.Artifacts[0].Parts[0])
	_, err = user("eve").client(t, s.URL).SendMessage(t.Context(), say("hi"))
	require.Error(t, err)

	failed := func(m *sdk.MessageSendParams) string {
		sent, err := anna.SendMessage(t.Context(), m)
		require.NoError(t, err)
		require.Equal(t, sdk.TaskStateFailed, sent.(*sdk.Task).Status.State)
		return sent.(*sdk.Task).Status.Message.Parts[0].(sdk.TextPart).Text
	}
	require.Contains(t, failed(say("")), "neither Text nor Tasks")

	slow := say("wait")
	slow.Config = &sdk.MessageSendConfig{Blocking: new(false)}
	live, err := anna.SendMessage(t.Context(), slow)
	require.NoError(t, err)
	id := live.(*sdk.Task).ID
	for _, err := range bob.ResubscribeToTask(t.Context(), &sdk.TaskIDParams{ID: id}) {
		require.ErrorIs(t, err, sdk.ErrTaskNotFound, "also while it is under way")
	}
	theirs := &sdk.MessageSendParams{Message: sdk.NewMessage(sdk.MessageRoleUser, sdk.TextPart{Text: "hi"})}
	theirs.Message.TaskID = id
	_, err = bob.SendMessage(t.Context(), theirs)
	require.ErrorIs(t, err, sdk.ErrTaskNotFound)

	for _, err := range user("panic").client(t, s.URL).ResubscribeToTask(t.Context(), &sdk.TaskIDParams{ID: id}) {
		require.Error(t, err)
	}

	for range 5 { // who says it first, Execute or Cancel, is chance
		slow := say("wait")
		slow.Config = &sdk.MessageSendConfig{Blocking: new(false)}
		sent, err = anna.SendMessage(t.Context(), slow)
		require.NoError(t, err)
		task, err = anna.CancelTask(t.Context(), &sdk.TaskIDParams{ID: sent.(*sdk.Task).ID})
		require.NoError(t, err)
		require.Equal(t, sdk.TaskStateCanceled, task.Status.State)
		r, err := a.In("acme/anna").Report(t.Context(), task.ContextID) // that of a first message is the run's ID
		require.NoError(t, err)
		require.Equal(t, arc.Canceled, r.Status)
	}
	require.NoError(t, a.Close())
	require.Equal(t, "internal error", failed(say("hi")), "what is the host's is in its log")
}

// The SDK's own samples: its client against an Agent, and an Agent against its server.
func TestSamples(t *testing.T) {
	a := open(t,
		arc.Host{Workers: []act.Worker{worker("near", func(context.Context, *act.Call) (*act.Result, error) {
			return &act.Result{Text: "hello"}, nil
		})}})
	build := func(name string) string {
		out := filepath.Join(t.TempDir(), "sample")
		said, err := exec.Command("go", "build", "-o", out,
			"github.com/a2aproject/a2a-go/examples/helloworld/"+name).CombinedOutput()
		require.NoError(t, err, string(said))
		return out
	}
	said, err := exec.Command(build("client"), "-card-url", serve(t, a)).CombinedOutput()
	require.NoError(t, err, string(said))
	require.Contains(t, string(said), "State:completed")

	port := free(t)
	server := exec.CommandContext(t.Context(), build("server/jsonrpc"), "-port", fmt.Sprint(port))
	require.NoError(t, server.Start())
	var w act.Worker
	require.Eventually(t, func() bool {
		remote, err := a2a.Dial(t.Context(), fmt.Sprint("http://127.0.0.1:", port), nil)
		if err == nil {
			w = remote.Worker()
		}
		return err == nil
	}, 20*time.Second, 50*time.Millisecond)
	w.Gates, w.Skills = []act.Gate{act.NoGate}, nil
	r, err := open(t, arc.Host{Workers: []act.Worker{w}}).Run(t.Context(), arc.Objective{Text: "Hello"})
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status, r.Text)
	require.Contains(t, r.Text, "Hello")
}

func free(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// hand serves an agent by hand: f returns the result of the nth call of a method, or an error that begins
// with "!".
func hand(t *testing.T, f func(method string, n int) string) act.Worker {
	calls := map[string]int{}
	s := httptest.NewUnstartedServer(nil)
	far := card("http://" + s.Listener.Addr().String())
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			assert.NoError(t, json.NewEncoder(w).Encode(far))
			return
		}
		var q struct {
			ID     json.RawMessage
			Method string
		}
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&q))
		calls[q.Method]++
		member, result := "result", f(q.Method, calls[q.Method])
		if strings.HasPrefix(result, "!") {
			member, result = "error", result[1:]
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%q:%s}`, q.ID, member, result)
	})
	s.Start()
	t.Cleanup(s.Close)
	return dial(t, s.URL)
}

// A look at a task that fails is an outage, after which the attempt follows the same task: it is not sent by
// another one. What is rejected is not tried again either.
func TestSentOnce(t *testing.T) {
	for answer, want := range map[string]reason.ErrorClass{
		`!{"code":-32603,"message":"hiccup"}`:                                    reason.Unavailable,
		`{"kind":"task","id":"T","contextId":"c","status":{"state":"rejected"}}`: reason.Permission,
	} {
		w := hand(t, func(method string, _ int) string {
			if method == "message/send" {
				return `{"kind":"task","id":"T","contextId":"c","status":{"state":"submitted"}}`
			}
			return answer
		})
		_, err := w.Executor.Execute(t.Context(), &act.Call{Worker: &w, Task: reason.Task{Objective: "hi"}})
		failed, _ := errors.AsType[*reason.Error](err)
		require.NotNil(t, failed, "%v", err)
		require.Equal(t, want, failed.Class)
	}
}

// All data of an answer is there, of a message as well.
func TestAllData(t *testing.T) {
	const parts = `"parts":[{"kind":"data","data":{"a":1}},{"kind":"data","data":{"b":2}}]`
	for _, answer := range []string{
		`{"kind":"message","messageId":"m","role":"agent",` + parts + `}`,
		`{"kind":"task","id":"T","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a",` +
			parts + `}]}`,
	} {
		w := hand(t, func(string, int) string { return answer })
		r, err := w.Executor.Execute(t.Context(), &act.Call{Worker: &w, Task: reason.Task{Objective: "hi"}})
		require.NoError(t, err)
		require.JSONEq(t, `{"a":1}`, string(r.Output))
		require.JSONEq(t, `{"b":2}`, r.Text)
	}
}
