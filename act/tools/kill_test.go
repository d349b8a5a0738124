package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/tools"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

var kills = flag.Int("kills", 8, "how often TestKill kills the process")

// office is where the process of TestKill acts: a model, a shop, and a person, over HTTP. It outlives the
// process.
type office struct {
	t      *testing.T
	mu     sync.Mutex
	kill   func() // kills the process
	at     int    // kill at this request
	delay  time.Duration
	before bool // before it is served

	requests int
	killed   int
	called   map[string]int  // how often each call was made, of this case
	kept     map[string]bool // steps that the journal has acknowledged
	paid     int
	answer   string
}

// serve serves a request of the process and kills it when its time has come.
func (o *office) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // killed in the middle
	}
	o.mu.Lock()
	o.requests++
	now := o.requests == o.at
	o.mu.Unlock()
	if now && o.before {
		o.shoot(0)
		return
	}
	reply := o.reply(r.URL.Path, body)
	w.Header().Set("Content-Length", fmt.Sprint(len(reply)))
	_, _ = w.Write(reply)
	w.(http.Flusher).Flush()
	if now {
		o.shoot(o.delay)
	}
}

func (o *office) shoot(delay time.Duration) {
	for end := time.Now().Add(delay); time.Now().Before(end); { // a timer is too coarse for a commit
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.killed++
	o.kill()
}

func (o *office) reply(path string, body []byte) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch verb, name, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/"); verb {
	case "model":
		var r reason.Request
		require.NoError(o.t, json.Unmarshal(body, &r))
		raw, err := json.Marshal(support(&r))
		require.NoError(o.t, err)
		return raw
	case "tool":
		what := name + " " + string(body)
		o.called[what]++
		if o.kept[what] {
			o.t.Errorf("a finished call was made again: %s", what)
		}
		if name == "refund" {
			o.paid++
		}
		return []byte(fmt.Sprintf(`"%s of %s"`, name, strings.ReplaceAll(string(body), `"`, "'")))
	case "kept":
		o.kept[string(body)] = true
	case "answer":
		o.answer = string(body)
	case "ask": // a person who looks into the books
		var a act.Approval
		require.NoError(o.t, json.Unmarshal(body, &a))
		unknown := strings.Contains(strings.Join(a.Why, ""), "its end is not known")
		if o.paid > 0 && !unknown {
			o.t.Errorf("asked for what was paid, and not told so: %+v", a)
		}
		raw, err := json.Marshal(act.Ruling{Approval: a.ID, By: "anna", Allow: o.paid == 0, Note: "I have looked"})
		require.NoError(o.t, err)
		return raw
	}
	return []byte(`{}`)
}

// support is the model: two looks at once, then a refund with another look, then the answer by what it was
// shown.
func support(r *reason.Request) *reason.Response {
	var shown []string
	answers := 0
	for _, m := range r.Messages {
		switch m.Role {
		case reason.RoleModel:
			answers++
		case reason.RoleTool:
			shown = append(shown, m.Text)
		}
	}
	switch answers {
	case 0:
		return calls("look", `{"at":"order"}`, "look", `{"at":"stock"}`, "look", `{"at":"mail"}`)
	case 1:
		return calls("refund", `{"amount":50}`, "look", `{"at":"policy"}`)
	}
	return says(strings.Join(shown, "; "))
}

// TestKill kills a process that works on one case after the other at any point, and starts it again, until
// each case has its answer. No finished call is made again, every case is paid once, and the answer is right.
func TestKill(t *testing.T) {
	if dir := os.Getenv("ARC_KILL_DIR"); dir != "" {
		work(t, dir, os.Getenv("ARC_KILL_OFFICE"))
		return
	}
	rng := rand.New(rand.NewPCG(1, uint64(*kills)))
	o := &office{t: t}
	server := httptest.NewServer(o)
	defer server.Close()
	deadline, cases := time.Now().Add(time.Minute+time.Duration(*kills)*time.Second), 0
	for ; o.killed < *kills; cases++ {
		dir := t.TempDir()
		o.mu.Lock()
		o.called, o.kept, o.paid, o.answer = map[string]int{}, map[string]bool{}, 0, ""
		o.mu.Unlock()
		for runs := 0; !o.answered(); runs++ {
			require.Less(t, time.Now(), deadline)
			cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
			cmd.Env = append(os.Environ(), "ARC_KILL_DIR="+filepath.Join(dir, "store"), "ARC_KILL_OFFICE="+server.URL)
			out := new(bytes.Buffer)
			cmd.Stdout, cmd.Stderr = out, out
			o.mu.Lock()
			o.requests, o.at, o.before = 0, 1+rng.IntN(16), rng.IntN(3) == 0
			o.delay = time.Duration(rng.IntN(3000)) * time.Microsecond
			if runs == 5 {
				o.at = 0 // it may come to its end
			}
			require.NoError(t, cmd.Start())
			killed := o.killed
			o.kill = func() { _ = cmd.Process.Kill() }
			o.mu.Unlock()
			if err := cmd.Wait(); err != nil {
				o.mu.Lock()
				require.Greater(t, o.killed, killed, "it ended by itself: %s", out)
				o.mu.Unlock()
			}
		}
		o.mu.Lock()
		require.Equal(t, 1, o.paid)
		require.Regexp(t, `^look of {'at':'order'}; look of {'at':'stock'}; look of {'at':'mail'}; `+
			`(refund of {'amount':50}|.*denied by anna: I have looked|.*not known.*); look of {'at':'policy'}$`, o.answer)
		o.mu.Unlock()
	}
	t.Logf("%d kills in %d cases", o.killed, cases)
}

// work is the process: it goes on with its one case.
func work(t *testing.T, dir, office string) {
	post := func(ctx context.Context, path string, v any) ([]byte, error) {
		raw, isRaw := v.([]byte)
		if !isRaw {
			var err error
			if raw, err = json.Marshal(v); err != nil {
				return nil, err
			}
		}
		r, err := http.NewRequestWithContext(ctx, "POST", office+"/"+path, bytes.NewReader(raw))
		if err != nil {
			return nil, err
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, &reason.Error{Class: reason.Unavailable, Err: err}
		}
		defer response.Body.Close()
		return io.ReadAll(response.Body)
	}
	tool := func(name string) tools.Tool {
		return tools.Tool{Worker: act.Worker{Name: name}, Call: func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
			return post(ctx, "tool/"+name, []byte(in))
		}}
	}
	refund := tool("refund")
	refund.Irreversible, refund.Mode = true, act.Gated
	m := remote(func(ctx context.Context, r *reason.Request) ([]byte, error) {
		own := *r
		own.OnText = nil
		return post(ctx, "model", struct {
			reason.Request
			OnText any
		}{Request: own})
	})
	st, err := badger.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	defer st.Close()
	r, err := act.NewRunner([]act.Worker{{
		Name: "support", Executor: tools.New(m, nil, tool("look"), refund), Gates: []act.Gate{act.NoGate},
	}}, nil, 0, nil)
	require.NoError(t, err)
	// Which step the store has acknowledged is told to the office before anything else is done.
	j := act.NewJournal(store.NewGroup(&telling{st, func(value []byte) {
		var made struct{ Tool, Inputs json.RawMessage }
		if json.Unmarshal(value, &made) == nil {
			_, _ = post(t.Context(), "kept", []byte(strings.Trim(string(made.Tool), `"`)+" "+string(made.Inputs)))
		}
	}}), "run/7/", nil, nil, nil)
	for {
		ctx := act.WithJournal(t.Context(), j, nil)
		a := r.Run(ctx, &act.Call{Case: reason.Case{Run: "7"}, Attempt: 1, Worker: r.Workers()[0], Task: reason.Task{Objective: "help"}})
		if a.Outcome != "" {
			require.Equal(t, rank.Delivered, a.Outcome, a.Complaint)
			_, err := post(t.Context(), "answer", []byte(a.Result.Text))
			require.NoError(t, err)
			return
		}
		for _, p := range asks(a) {
			raw, err := post(t.Context(), "ask", p)
			require.NoError(t, err)
			var ruling act.Ruling
			require.NoError(t, json.Unmarshal(raw, &ruling))
			require.NoError(t, act.Rule(t.Context(), j, ruling))
		}
	}
}

type remote func(ctx context.Context, r *reason.Request) ([]byte, error)

func (f remote) Generate(ctx context.Context, r *reason.Request) (*reason.Response, error) {
	raw, err := f(ctx, r)
	if err != nil {
		return nil, err
	}
	var response reason.Response
	return &response, json.Unmarshal(raw, &response)
}

// telling is a store that tells which calls it has committed.
type telling struct {
	store.Store
	tell func(value []byte)
}

func (s *telling) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	rev, err := s.Store.Commit(ctx, ops...)
	for _, op := range ops {
		var step struct{ Value []byte }
		if err == nil && strings.Contains(op.Key, "/call ") && codec.Unmarshal(op.Value, &step) == nil {
			s.tell(step.Value)
		}
	}
	return rev, err
}

func (o *office) answered() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.answer != ""
}
