package dash_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/contrib/dash"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "a-token-of-tests"

// pages are all that a dashboard with a queue has.
var pages = []string{
	"/", "/runs", "/approvals", "/proposals", "/memories", "/why", "/chunks", "/ranking", "/fleet", "/health", "/costs", "/queue", "/sensors",
}

// bench is an agent with its dashboard, and a clock that moves when it is told to.
type bench struct {
	*httptest.Server
	st      store.Store
	agent   *arc.Agent
	queue   *queue.Queue
	journal *dash.Journal

	mu       sync.Mutex
	now      time.Time
	made     atomic.Int32 // attempts of the worker that deploys
	say      string       // what everybody says, in every text
	finished chan arc.Event
	hold     chan struct{} // closed when runs whose objective says so may go on
}

func (b *bench) Now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *bench) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

// host is one of a single worker, which does nothing.
func host() arc.Host {
	idle := func(context.Context, act.Work) (act.Result, error) { return act.Result{}, nil }
	return arc.Host{
		Reasoner: reason.ReasonerFunc(func(context.Context, reason.Brief) (reason.Decision, error) {
			return reason.Decision{}, nil
		}),
		Workers: []act.Worker{{Card: rank.Candidate{Name: "worker"}, Executor: act.ExecutorFunc(idle)}},
		Gates:   []act.Gate{act.NoGate},
	}
}

// newBench opens an agent of the scope "acme" whose parts all say the same.
func newBench(t *testing.T, say string, tune func(*dash.Options)) *bench {
	t.Helper()
	b := &bench{
		now: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), say: say, journal: new(dash.Journal),
		finished: make(chan arc.Event, 1000), hold: make(chan struct{}),
	}
	st := store.NewMem()
	b.st = st
	text := func() string {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.say
	}
	done := func(ctx context.Context, w act.Work) (act.Result, error) {
		b.pass(3 * time.Second)
		if strings.HasPrefix(w.Objective, "hold") {
			select {
			case <-b.hold:
			case <-ctx.Done():
				return act.Result{}, ctx.Err()
			}
		}
		if w.Task.Skill == "deploy" {
			b.made.Add(1)
		}
		out, err := json.Marshal(map[string]any{"said": text(), "attempt": w.Attempt})
		return act.Result{Output: out, Usage: act.Usage{TokensIn: 10, TokensOut: 5, CostUSD: 0.01}, Reflection: iar.Reflection{
			Status: iar.Success, Confidence: 0.9, Summary: text(), PotentialIssues: []string{text()},
			AlignmentCheck: map[string]float64{text(): 1},
		}}, err
	}
	host := arc.Host{
		Reasoner: reason.ReasonerFunc(func(_ context.Context, brief reason.Brief) (reason.Decision, error) {
			if strings.HasPrefix(brief.Objective, "away") {
				return reason.Decision{}, &reason.ModelError{Again: true}
			}
			if n := len(brief.Answers); strings.HasPrefix(brief.Objective, "ask") && (n == 0 || n == 1 && brief.Objective == "ask twice") {
				return reason.Decision{Complexity: reason.Unclear, Questions: []string{text()}}, nil
			}
			return reason.Decision{Complexity: reason.Simple, Approach: text(), Tasks: []reason.Task{{
				Objective: text(), Delta: text(), Verify: text(), Skill: "work",
			}}, Usage: reason.Usage{TokensIn: 1000, CostUSD: 0.5}}, nil
		}),
		Workers: []act.Worker{
			{Card: rank.Candidate{Name: "worker", Prior: 0.6}, Executor: act.ExecutorFunc(done), Skills: []string{"work"}},
			{Card: rank.Candidate{Name: "other", Prior: 0.5}, Executor: act.ExecutorFunc(done), Skills: []string{"work"}},
			{Card: rank.Candidate{Name: "deployer"}, Executor: act.ExecutorFunc(done), Skills: []string{"deploy"}, Blast: act.Public},
			{Card: rank.Candidate{Name: "pair"}, Executor: act.ExecutorFunc(done), Skills: []string{"pair"}, Mode: act.Compound},
		},
		Gates: []act.Gate{act.GateFunc(func(_ context.Context, w act.Work, r act.Result) (act.Verdict, error) {
			if strings.HasPrefix(w.Objective, "once") {
				return act.Verdict{Pass: true}, nil
			}
			pass := !strings.HasPrefix(w.Objective, "fail") && (w.Attempt > 1 || w.Task.Skill == "deploy")
			return act.Verdict{Pass: pass, Complaint: text(), Gate: "the third gate " + text()}, nil
		})},
	}
	var err error
	b.agent, err = arc.New(t.Context(), st, host, &arc.Options{
		Scope: "acme", Now: b.Now, Seed: 1, Maintain: -1, Patience: -1, Hooks: arc.Hooks{Event: func(e arc.Event) {
			b.journal.Event(e)
			if e.Kind == arc.EventFinished {
				select {
				case b.finished <- e:
				default: // of runs that no test waits for
				}
			}
		}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.agent.Close()) })
	b.queue, err = queue.Open(t.Context(), st, &queue.Options{Scope: "acme", Now: b.Now, Seed: 1})
	require.NoError(t, err)
	o := &dash.Options{Token: token, Queue: b.queue, Journal: b.journal, Now: b.Now}
	if tune != nil {
		tune(o)
	}
	d, err := dash.New(b.agent, o)
	require.NoError(t, err)
	b.Server = httptest.NewServer(d)
	t.Cleanup(b.Close)
	return b
}

// fill has runs of all kinds, memories, a job and an approval.
func (b *bench) fill(t *testing.T, runs int) {
	t.Helper()
	ctx := t.Context()
	for i := range runs {
		if i >= 200 { // as cheap as runs are
			_, err := b.agent.Run(ctx, arc.Objective{
				ID: fmt.Sprintf("run-%d", i), Text: "once more", Fresh: true, Episodes: []memory.Scope{},
				Tasks: []reason.Task{{Objective: "once more", Skill: "work"}},
			})
			require.NoError(t, err)
			continue
		}
		kind := [...]string{"mend", "fail", "ask"}[i%3]
		_, err := b.agent.Run(ctx, arc.Objective{
			ID: fmt.Sprintf("run-%d", i), Text: kind + " " + b.say, Situation: b.say, Session: "session",
			Conditions: map[string]string{"branch": b.say}, Inputs: json.RawMessage(`{"number":7}`),
		})
		require.NoError(t, err)
		b.pass(time.Minute)
	}
	if runs == 0 {
		return
	}
	b.deploy(t)
	for _, k := range []memory.Kind{memory.Fact, memory.Pattern, memory.Episode} {
		_, err := b.agent.In("").Memory().Remember(ctx, memory.Draft{
			Kind: k, Trigger: "a situation: " + b.say, Content: b.say, Actor: "ada", Thread: "thread",
			Source: memory.Source{Origin: memory.User, Ref: "ticket"},
		})
		require.NoError(t, err)
	}
	_, err := b.queue.Sense(ctx, queue.Sensor{Name: "inbox", Read: func(context.Context, string) (queue.Reading, error) {
		return queue.Reading{Cursor: "1"}, nil
	}})
	require.NoError(t, err)
	_, _, err = b.queue.Enqueue(ctx, queue.Draft{Subject: strings.Join(strings.Fields(b.say), " "), Description: b.say, Source: "human"})
	require.NoError(t, err)
}

// deploy begins a run that waits for a human.
func (b *bench) deploy(t *testing.T) *arc.Report {
	t.Helper()
	r, err := b.agent.Run(t.Context(), arc.Objective{ID: "deploy", Text: b.say, Tasks: []reason.Task{{
		Objective: b.say, Delta: b.say, Verify: b.say, Skill: "deploy", Inputs: json.RawMessage(`{"to":"all"}`),
	}}})
	require.NoError(t, err)
	require.NotNil(t, r.Approval)
	return r
}

// get asks for a page with the token, and returns what it says.
func (b *bench) get(t *testing.T, path string, header ...string) (int, string) {
	t.Helper()
	return b.send(t, http.MethodGet, path, "", header...)
}

// send is ask for a status, and a text that ends with where the answer leads.
func (b *bench) send(t *testing.T, method, path, form string, header ...string) (int, string) {
	t.Helper()
	resp, text := b.ask(t, method, path, form, header...)
	return resp.StatusCode, text + "\n" + resp.Header.Get("Location")
}

// ask sends a form with the token and with headers, of which "" leaves one out, and
// follows no redirect.
func (b *bench) ask(t *testing.T, method, path, form string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, b.URL+path, strings.NewReader(form))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i+1] == "" {
			r.Header.Del(header[i])
		}
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(raw)
}

// enter has a person come in by the form.
func (b *bench) enter(t *testing.T, token, name string) *http.Response {
	t.Helper()
	form := url.Values{"token": {token}, "name": {name}}.Encode()
	resp, _ := b.ask(t, http.MethodPost, "/enter", form, "Authorization", "", "Origin", b.URL)
	return resp
}
