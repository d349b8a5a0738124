package dash_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/contrib/dash"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// bench is a dashboard of an Agent with a shop's workers: refund, which a person has to allow;
// look, which answers; ask, which asks; wreck, which no gate passes until it is told "Monday"; and
// hold, which waits for a word; wire, which does what it does and then panics the first time.
type bench struct {
	*httptest.Server
	t     *testing.T
	agent *arc.Agent
	view  arc.View
	queue *queue.Queue
	hold  chan string
	back  atomic.Int64 // how far the clock is back
	runs  int
	wired atomic.Int64 // calls of wire
	log   logged
}

// logged is what a Logger was told.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newBench(t *testing.T, st store.Store, o *arc.Options) *bench {
	t.Helper()
	if st == nil {
		st = store.NewMem()
	}
	b := &bench{t: t, hold: make(chan string)}
	work := func(name string, f func(context.Context, *act.Call) (*act.Result, error)) act.Worker {
		gate := act.GateFunc(func(_ context.Context, _ *act.Call, r *act.Result) (act.Verdict, error) {
			if why, bad := strings.CutPrefix(r.Text, "refused: "); bad {
				return act.Verdict{Complaint: why}, nil
			}
			return act.Verdict{Pass: true}, nil
		})
		return act.Worker{Name: name, Skills: []string{name}, Executor: act.ExecutorFunc(f),
			Gates: []act.Gate{gate}}
	}
	refund := work("refund", func(_ context.Context, c *act.Call) (*act.Result, error) {
		return &act.Result{Text: "Refunded.", Usage: &reason.Usage{Calls: 1, Input: 900, Output: 120,
			EstimateUSD: new(0.0021)}}, nil
	})
	refund.Mode, refund.Irreversible = act.Gated, true
	wire := work("wire", func(context.Context, *act.Call) (*act.Result, error) {
		if b.wired.Add(1) == 1 {
			panic("the connection is gone, once the bank has booked")
		}
		return &act.Result{Text: "Wired."}, nil
	})
	wire.Irreversible = true
	host := arc.Host{
		Reasoner: reasoner{},
		Workers: []act.Worker{
			refund, wire,
			work("look", func(_ context.Context, c *act.Call) (*act.Result, error) {
				return &act.Result{Text: "It was delivered on Friday: " + c.Text}, nil
			}),
			work("ask", func(_ context.Context, c *act.Call) (*act.Result, error) {
				if len(c.Answers) == 0 {
					return nil, &act.PendingError{Questions: []string{"Which of the two accounts is meant?"}}
				}
				return &act.Result{Text: "Closed account " + c.Answers[len(c.Answers)-1].Text + "."}, nil
			}),
			work("wreck", func(_ context.Context, c *act.Call) (*act.Result, error) {
				for _, a := range c.Answers {
					if strings.Contains(a.Text, "Monday") {
						return &act.Result{Text: "Restored."}, nil
					}
				}
				return &act.Result{Text: "refused: the backup of Sunday has no index"}, nil
			}),
			work("hold", func(ctx context.Context, c *act.Call) (*act.Result, error) {
				select {
				case text := <-b.hold:
					return &act.Result{Text: text}, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}),
		},
	}
	opts := arc.Options{Seed: 1, Attempts: 2, Replans: -1}
	if o != nil {
		opts = *o
	}
	clock := func() time.Time { return time.Now().Add(-time.Duration(b.back.Load())) }
	opts.Now, opts.Logger = clock, slog.New(slog.NewTextHandler(io.MultiWriter(t.Output(), &b.log), nil))
	var err error
	b.agent, err = arc.New(t.Context(), st, host, &opts)
	require.NoError(t, err)
	b.view = b.agent.In("")
	group := store.NewGroup(store.Sub(st, memory.Scope("").TenantPrefix()))
	b.queue, err = queue.Open(t.Context(), group, &queue.Options{Now: clock})
	require.NoError(t, err)
	h, err := dash.New(b.agent, &dash.Options{
		Queue: func(memory.Scope) *queue.Queue { return b.queue },
		Scope: func(r *http.Request) (memory.Scope, error) {
			if r.Header.Get("Banned") != "" {
				return "", fmt.Errorf("secret reason")
			}
			return memory.Scope(r.Header.Get("Scope")), nil
		},
		Who:    func(*http.Request) string { return "ada" },
		Logger: opts.Logger,
	})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/dash/", http.StripPrefix("/dash", h))
	b.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		b.CloseClientConnections()
		b.Close()
		require.NoError(t, b.agent.Close())
	})
	return b
}

// reasoner makes the first word of an objective its one task's skill.
type reasoner struct{}

func (reasoner) Decide(_ context.Context, b *reason.Brief) (*reason.Decision, error) {
	skill, _, _ := strings.Cut(b.Text, " ")
	return &reason.Decision{Approach: "by " + skill,
		Tasks: []reason.Task{{Objective: b.Text, Skill: skill, Inputs: b.Inputs}},
		Usage: &reason.Usage{Calls: 1, Input: 1200, Output: 80, CostUSD: new(0.0034)}}, nil
}

func (b *bench) run(text, inputs string) *arc.Report {
	b.t.Helper()
	b.runs++
	o := arc.Objective{ID: fmt.Sprintf("%06d", b.runs), Text: text} // so that the same ones are held out
	if inputs != "" {
		o.Inputs = json.RawMessage(inputs)
	}
	r, err := b.agent.Run(b.t.Context(), o)
	require.NoError(b.t, err)
	return r
}

// order is an objective whose plan fires from the third on.
func (b *bench) order(n int) *arc.Report {
	return b.run(fmt.Sprintf("look where order SO-%d is", n), fmt.Sprintf(`{"order":"SO-%d"}`, n))
}

// fill has something on every page.
func (b *bench) fill() (asks, waits, failed *arc.Report) {
	b.t.Helper()
	for n := range 9 {
		b.back.Store(int64(time.Duration(20-2*n) * 24 * time.Hour))
		b.order(1041 + n)
	}
	b.back.Store(int64(3 * time.Hour))
	failed = b.run("wreck the index and restore it from the backup of the customer database", "")
	require.Equal(b.t, arc.Blocked, failed.Status)
	b.back.Store(0)
	asks = b.run("ask for the account of Bloom & Partners that is to be closed", "")
	waits = b.run("refund order SO-1041 in full", `{"order":"SO-1041","amount":120}`)
	space, err := b.view.Memory(b.t.Context())
	require.NoError(b.t, err)
	for _, d := range []memory.Draft{
		{Kind: memory.Rule, Content: "Write to customers in the language of their last mail."},
		{Kind: memory.Fact, Content: "Bloom & Partners pay by invoice, within 30 days.", Actor: "Bo"},
		{Kind: memory.Fact, Content: "The warehouse in Gdańsk is closed on Mondays.",
			Source: memory.Source{Origin: memory.Web, Ref: "https://example.com/hours"}},
	} {
		_, err := space.Remember(b.t.Context(), d)
		require.NoError(b.t, err)
	}
	for i, s := range []string{"Answer the mail of Marta Bloom", "Check the stock of SKU-7",
		"Send the weekly report"} {
		_, _, err := b.queue.Add(b.t.Context(), queue.Draft{Subject: s, Priority: 3 + i, Source: "human",
			Model: "small"})
		require.NoError(b.t, err)
	}
	j, err := b.queue.Claim(b.t.Context())
	require.NoError(b.t, err)
	j.State, j.Summary = queue.Blocked, "exhausted: the mail server refuses the password"
	require.NoError(b.t, b.queue.End(b.t.Context(), j, nil))
	return asks, waits, failed
}

// get returns a page.
func (b *bench) get(path string, header ...string) (int, string) {
	b.t.Helper()
	return b.do("GET", path, nil, header...)
}

// post does what a form does, and returns the page that follows.
func (b *bench) post(path string, form url.Values, header ...string) (int, string) {
	b.t.Helper()
	return b.do("POST", path, strings.NewReader(form.Encode()), header...)
}

func (b *bench) do(method, path string, body io.Reader, header ...string) (int, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.URL+"/dash/"+path, body)
	require.NoError(b.t, err)
	if body != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := b.Client().Do(r)
	require.NoError(b.t, err)
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	require.NoError(b.t, err)
	return answer.StatusCode, string(raw)
}
