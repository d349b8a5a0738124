package arc_test

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/guard/guardtest"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/reason/model"
	"github.com/arc-learn/arc/store"
)

// A harm is what a part of a host does to its caller.
type harm struct {
	do   func(context.Context) error
	text string // what its texts are, if anything
	both bool   // a good result comes with the error
	mild bool   // it may pass for a good answer
	none bool   // an empty result without an error
	here bool   // where it is called in the caller's goroutine, that is the host's own affair

	over atomic.Bool
}

// meet does the harm, and reports whether the part gives the result that it has.
func (h *harm) meet(ctx context.Context) (good bool, err error) {
	if h.over.Load() {
		return true, nil
	}
	return h.both || h.text != "", h.do(ctx)
}

// say is a text of a part.
func (h *harm) say(text string) string {
	if h.text != "" && !h.over.Load() {
		return h.text
	}
	return text
}

// harms are all that a part can do, by name.
func harms() map[string]func() *harm {
	nothing := func(context.Context) error { return nil }
	out := map[string]func() *harm{
		"panics":          func() *harm { return &harm{do: func(context.Context) error { panic("boom\xff") }} },
		"panics with nil": func() *harm { return &harm{do: func(context.Context) error { panic(nil) }} },
		"ends its goroutine": func() *harm {
			return &harm{do: func(context.Context) error { runtime.Goexit(); return nil }, here: true}
		},
		"hangs": func() *harm {
			return &harm{do: func(ctx context.Context) error {
				select {
				case <-ctx.Done():
				case <-time.After(1000 * time.Hour): // it was given no context that ends
				}
				return ctx.Err()
			}, here: true}
		},
		"ignores its context": func() *harm {
			return &harm{do: func(context.Context) error { <-time.After(1000 * time.Hour); return nil }, here: true}
		},
		"error and result": func() *harm {
			return &harm{do: func(context.Context) error { return errBoom }, both: true}
		},
		"nil and nil":   func() *harm { return &harm{do: nothing, none: true} },
		"huge":          func() *harm { return &harm{do: nothing, text: strings.Repeat("huge ", 1<<20), mild: true} },
		"invalid UTF-8": func() *harm { return &harm{do: nothing, text: "bad \xff\xfe\xc3\x28 text", mild: true} },
	}
	for name, err := range guardtest.Errors() {
		out["error: "+name] = func() *harm { return &harm{do: func(context.Context) error { return err }} }
		out["panics: "+name] = func() *harm { return &harm{do: func(context.Context) error { panic(err) }} }
	}
	return out
}

// An edge plugs a part that does harm into a host.
type edge struct {
	name string
	plug func(h *arc.Host, o *arc.Options, x *harm)
	want arc.Status // "": Run returns an error
	// empty is what comes of an empty result without an error. "": want.
	empty arc.Status
	slow  arc.Status // what comes of a call that hangs. "": want
	here  bool       // the part is called in the goroutine of the caller
	over  func(x *harm) store.Store
}

// edges are the places at which an Agent calls a host.
var edges = []edge{
	{name: "reasoner", want: arc.Blocked, plug: func(h *arc.Host, _ *arc.Options, x *harm) {
		h.Reasoner = reason.ReasonerFunc(func(ctx context.Context, b reason.Brief) (reason.Decision, error) {
			good, err := x.meet(ctx)
			if !good {
				return reason.Decision{}, err
			}
			d := plan(x.say(b.Objective))
			d.Approach, d.Reasoning = x.say(d.Approach), x.say(d.Reasoning)
			return d, err
		})
	}},
	{name: "model", want: arc.Blocked, plug: func(h *arc.Host, _ *arc.Options, x *harm) {
		h.Reasoner, _ = reason.NewLLM(model.Record(model.Limit(x, &model.LimitOptions{Requests: 1e9}), io.Discard, nil), nil)
	}},
	{name: "model with a timeout", want: arc.Blocked, slow: arc.Waiting, plug: func(h *arc.Host, _ *arc.Options, x *harm) {
		h.Reasoner, _ = reason.NewLLM(model.Timeout(x, time.Minute), nil)
	}},
	{name: "executor", want: arc.Blocked, plug: func(h *arc.Host, _ *arc.Options, x *harm) {
		h.Workers[0].Executor = act.ExecutorFunc(func(ctx context.Context, w act.Work) (act.Result, error) {
			good, err := x.meet(ctx)
			if !good {
				return act.Result{}, err
			}
			r := done(`"ok"`)
			if r.Reflection.Summary = x.say("did it"); x.text != "" && !x.over.Load() {
				r.Output = json.RawMessage(`"` + x.text + `"`)
			}
			return r, err
		})
	}},
	{name: "answerer", want: arc.Asking, slow: arc.Asking, plug: func(h *arc.Host, _ *arc.Options, x *harm) {
		h.Reasoner = answerer{h.Reasoner, x}
		h.Workers[0].Executor = act.ExecutorFunc(func(_ context.Context, w act.Work) (act.Result, error) {
			if len(w.Answers) == 0 {
				return act.Result{}, &act.InputRequiredError{Questions: []string{"which one?"}}
			}
			return done(`"ok"`), nil
		})
	}},
	{name: "gate", want: arc.Blocked, plug: func(h *arc.Host, _ *arc.Options, x *harm) { h.Gates = []act.Gate{x} }},
	{name: "worker's gate", want: arc.Blocked, plug: func(h *arc.Host, _ *arc.Options, x *harm) {
		h.Workers[0].Gates = []act.Gate{x}
	}},
	{name: "gate of a model", want: arc.Blocked, plug: func(h *arc.Host, _ *arc.Options, x *harm) {
		h.Gates = []act.Gate{act.ModelGate(x, "it works")}
	}},
	{name: "approver", want: arc.Blocked, plug: func(h *arc.Host, _ *arc.Options, x *harm) {
		h.Workers[0].Mode = act.Gated
		h.Approver = act.ApproverFunc(func(ctx context.Context, _ *act.Call) (bool, error) { return x.meet(ctx) })
	}},
	{name: "interceptor before", want: arc.Blocked, empty: arc.Delivered, plug: func(h *arc.Host, _ *arc.Options, x *harm) {
		h.Interceptors = []act.Interceptor{between{before: func(ctx context.Context, c *act.Call) error {
			_, err := x.meet(ctx)
			c.Why = append(c.Why, x.say("why"))
			return err
		}}}
	}},
	{name: "interceptor after", want: arc.Blocked, empty: arc.Delivered, plug: func(h *arc.Host, _ *arc.Options, x *harm) {
		h.Interceptors = []act.Interceptor{between{after: func(ctx context.Context, a *act.Attempt) {
			_, err := x.meet(ctx)
			a.Complaint = x.say(a.Complaint)
			if err != nil {
				a.End, a.Err = act.Failed, err
			}
		}}}
	}},
	{name: "source", want: arc.Delivered, plug: func(h *arc.Host, _ *arc.Options, x *harm) {
		h.Sources = []reason.Source{x.source}
	}},
	{name: "secrets", want: arc.Blocked, plug: func(h *arc.Host, _ *arc.Options, x *harm) {
		h.Secrets = func(ctx context.Context, _ memory.Scope, _ string, names []string) (map[string]string, error) {
			good, err := x.meet(ctx)
			if !good {
				return nil, err
			}
			return map[string]string{"key": x.say("correct horse")}, err
		}
	}},
	{name: "embedder", want: arc.Delivered, plug: func(_ *arc.Host, o *arc.Options, x *harm) { o.Memory.Embedder = x }},
	{name: "extractor", want: arc.Delivered, plug: func(_ *arc.Host, o *arc.Options, x *harm) { o.Memory.Extractor = x }},
	{name: "policy", empty: "", plug: func(_ *arc.Host, o *arc.Options, x *harm) {
		o.Policy = func(b *rank.Book) rank.Policy {
			return rank.PolicyFunc(func(ctx context.Context, s rank.Situation, cs []rank.Candidate) ([]rank.Scored, error) {
				good, err := x.meet(ctx)
				if !good {
					return nil, err
				}
				if x.text != "" && !x.over.Load() {
					return []rank.Scored{{Candidate: rank.Candidate{Name: x.text}}}, err
				}
				ss, _ := b.Observed().Score(ctx, s, cs)
				return ss, err
			})
		}
	}},
	{name: "hook", want: arc.Delivered, plug: func(_ *arc.Host, o *arc.Options, x *harm) {
		o.Hooks.Event = func(arc.Event) { _, _ = x.meet(context.Background()) }
	}},
	{name: "logger", want: arc.Delivered, plug: func(h *arc.Host, o *arc.Options, x *harm) {
		o.Logger = slog.New(wildHandler{x})
		h.Sources = []reason.Source{x.source}
	}},
	{name: "clock", want: arc.Delivered, here: true, plug: func(_ *arc.Host, o *arc.Options, x *harm) {
		o.Now = func() time.Time { _, _ = x.meet(context.Background()); return time.Now() }
	}},
	{name: "tracer", want: arc.Delivered, plug: func(_ *arc.Host, o *arc.Options, x *harm) {
		o.TracerProvider, o.MeterProvider = wildTracer{harm: x}, wildMeter{harm: x}
	}},
	{name: "store", here: true, plug: func(*arc.Host, *arc.Options, *harm) {}, over: func(x *harm) store.Store {
		return &wildStore{Store: store.NewMem(), harm: x}
	}},
}

// between is an Interceptor of one half.
type between struct {
	before func(context.Context, *act.Call) error
	after  func(context.Context, *act.Attempt)
}

func (b between) Before(ctx context.Context, c *act.Call) error {
	if b.before == nil {
		return nil
	}
	return b.before(ctx, c)
}

func (b between) After(ctx context.Context, _ *act.Call, a *act.Attempt) {
	if b.after != nil {
		b.after(ctx, a)
	}
}

// Generate makes a harm a reason.Model: of a planner, and of a judge.
func (h *harm) Generate(ctx context.Context, r *reason.Request) (*reason.Response, error) {
	good, err := h.meet(ctx)
	if !good {
		return nil, err
	}
	return &reason.Response{Text: h.say(`{"why": "seen", "pass": true, "complaint": ""}`)}, err
}

// answerer is a reasoner whose answers do harm.
type answerer struct {
	reason.Reasoner
	harm *harm
}

func (a answerer) Answer(ctx context.Context, _ reason.Brief, _ []string) (string, reason.Usage, error) {
	good, err := a.harm.meet(ctx)
	if !good {
		return "", reason.Usage{}, err
	}
	return a.harm.say("the left one"), reason.Usage{}, err
}

// Verify makes it an act.Gate.
func (h *harm) Verify(ctx context.Context, _ act.Work, _ act.Result) (act.Verdict, error) {
	good, err := h.meet(ctx)
	return act.Verdict{Pass: good && h.text == "" || h.over.Load(), Complaint: h.say("")}, err
}

// source is a reason.Source.
func (h *harm) source(ctx context.Context, _ string, _ int) ([]reason.Passage, error) {
	good, err := h.meet(ctx)
	if !good {
		return nil, err
	}
	return []reason.Passage{{Text: h.say("the pump is old")}}, err
}

// Extract makes it a memory.Extractor.
func (h *harm) Extract(ctx context.Context, _ memory.Record, _ []memory.Record) ([]memory.Statement, error) {
	good, err := h.meet(ctx)
	if !good {
		return nil, err
	}
	st := memory.Statement{Slot: memory.Slot{Subject: h.say("pump"), Attribute: "age", Value: h.say("old")}, Change: "set", Confidence: 1}
	if h.text != "" {
		st.Replaces = []memory.ID{memory.ID(h.text)}
	}
	return []memory.Statement{st}, err
}

// Model and Embed make it a memory.Embedder.
func (h *harm) Model() string { return "m" }

func (h *harm) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	good, err := h.meet(ctx)
	if !good {
		return nil, err
	}
	return make([][]float32, len(texts)), err
}

type wildTracer struct {
	tracenoop.TracerProvider
	harm *harm
}

func (w wildTracer) Tracer(string, ...trace.TracerOption) trace.Tracer {
	_, _ = w.harm.meet(context.Background())
	return nil
}

type wildMeter struct {
	metricnoop.MeterProvider
	harm *harm
}

func (w wildMeter) Meter(string, ...metric.MeterOption) metric.Meter {
	_, _ = w.harm.meet(context.Background())
	return nil
}

// wildStore does harm from its third commit on.
type wildStore struct {
	store.Store
	harm    *harm
	commits atomic.Int32
}

func (w *wildStore) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if w.commits.Add(1) > 2 {
		good, err := w.harm.meet(ctx)
		if !good || err != nil {
			return 0, err
		}
	}
	return w.Store.Commit(ctx, ops...)
}

type wildHandler struct{ harm *harm }

func (h wildHandler) Enabled(ctx context.Context, _ slog.Level) bool {
	_, _ = h.harm.meet(ctx)
	return true
}

func (h wildHandler) Handle(ctx context.Context, _ slog.Record) error {
	_, err := h.harm.meet(ctx)
	return err
}

func (h wildHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h wildHandler) WithGroup(string) slog.Handler      { return h }

// Whatever a part of the host does, the process lives, the run ends with an honest
// status, the last one committed, which is found again, and the next run is none the
// worse. A bubble ends when all its goroutines have: none is left.
func TestHostsThatDoHarm(t *testing.T) {
	t.Parallel()
	harms := harms()
	for _, e := range edges {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			for _, name := range slices.Sorted(maps.Keys(harms)) {
				x := harms[name]()
				if e.here && x.here || e.over != nil && x.none { // a store that lies
					continue
				}
				synctest.Test(t, func(t *testing.T) { suffers(t, e, name, x) })
			}
		})
	}
}

func suffers(t *testing.T, e edge, name string, x *harm) {
	h, o := (&script{}).host(), &arc.Options{Attempts: 2, Refusals: 2, Seed: 1}
	e.plug(&h, o, x)
	st := store.Store(store.NewMem())
	if e.over != nil {
		st = e.over(x)
	}
	a, err := arc.New(t.Context(), st, h, o)
	require.NoError(t, err, name)
	defer func() {
		_ = a.Close()          // of a test that has failed
		idle(2000 * time.Hour) // calls that hang end
	}()
	mend := arc.Objective{ID: "x", Text: "mend the pump"}
	if h.Secrets != nil {
		a = forgetful(t, a, st, h, o, &mend)
	}
	r, err := a.Run(t.Context(), mend)
	want := e.want
	if x.none && e.empty != "" {
		want = e.empty
	}
	if strings.HasPrefix(name, "hangs") || strings.HasPrefix(name, "ignores") {
		want = cmp.Or(e.slow, want)
	}
	switch {
	case want == "" && !(x.mild && err == nil):
		require.Error(t, err, name)
		require.True(t, utf8.ValidString(err.Error()))
	default:
		require.NoError(t, err, name)
		if !x.mild {
			require.Equal(t, want, r.Status, "%s: %s", name, r.Reason)
		}
		require.Contains(t, []arc.Status{arc.Delivered, arc.Blocked, e.slow}, r.Status, name)
		require.True(t, utf8.ValidString(r.Reason), name)
		require.LessOrEqual(t, len(r.Reason), 20<<10, name)
		require.Equal(t, r.Status == arc.Blocked || r.Status == arc.Waiting, r.Reason != "", name)
		again, err := a.Run(t.Context(), mend)
		require.NoError(t, err, name)
		require.Equal(t, r.Status, again.Status, name)
		require.Equal(t, r.Reason, again.Reason, name)
	}
	_, err = a.In("local").Memory().Recall(t.Context(), memory.Query{Text: "pump"})
	require.NoError(t, err, name)
	x.over.Store(true)
	if e.name != "model" && e.name != "model with a timeout" && e.over == nil {
		r, err = a.Run(t.Context(), arc.Objective{ID: "y", Text: "paint the fence"})
		require.NoError(t, err, name)
		require.Equal(t, arc.Delivered, r.Status, "%s, afterwards: %s", name, r.Reason)
	}
	if err := a.Close(); e.over == nil {
		require.NoError(t, err, name)
	}
}

// The same of a queue's handler: each attempt is recorded, and the next job is done.
func TestHandlersThatDoHarm(t *testing.T) {
	t.Parallel()
	harms := harms()
	for _, name := range slices.Sorted(maps.Keys(harms)) {
		x := harms[name]()
		synctest.Test(t, func(t *testing.T) {
			q, err := queue.Open(t.Context(), store.NewMem(), nil)
			require.NoError(t, err)
			d, err := q.Dispatch(func(ctx context.Context, _ queue.Job) (queue.Result, error) {
				good, err := x.meet(ctx)
				if !good {
					return queue.Result{}, err
				}
				return queue.Result{Summary: x.say("did it"), Detail: x.say("all of it")}, err
			}, nil)
			require.NoError(t, err)
			defer func() {
				_ = d.Close(context.Background())
				idle(4000 * time.Hour)
			}()
			over := func(subject string) queue.Job {
				j, _, err := q.Enqueue(t.Context(), queue.Draft{Subject: subject})
				require.NoError(t, err)
				for j.State == queue.Pending || j.State == queue.Active {
					idle(time.Second)
					j, err = q.Get(t.Context(), j.ID)
					require.NoError(t, err)
				}
				return j
			}
			j := over("mend the pump")
			require.Equal(t, x.mild || x.none, j.State == queue.Completed, "%s: %s", name, j.Error)
			require.True(t, utf8.ValidString(j.Summary+j.Detail+j.Error))
			require.Less(t, len(j.Summary)+len(j.Detail)+len(j.Error), 1<<20)
			n := 0
			for _, err := range q.Cycles(t.Context(), time.Time{}) {
				require.NoError(t, err)
				n++
			}
			require.Equal(t, j.Attempts, n, name)
			x.over.Store(true)
			require.Equal(t, queue.Completed, over("paint the fence").State, name)
		})
	}
}

// forgetful is an Agent that has to ask for the secrets of a run that another began.
func forgetful(t *testing.T, a *arc.Agent, st store.Store, h arc.Host, o *arc.Options, of *arc.Objective) *arc.Agent {
	ctx, cancel := context.WithCancel(t.Context())
	w := h
	w.Reasoner = reason.ReasonerFunc(func(context.Context, reason.Brief) (reason.Decision, error) {
		cancel()
		return reason.Decision{}, ctx.Err()
	})
	require.NoError(t, a.Close())
	a, err := arc.New(t.Context(), st, w, o)
	require.NoError(t, err)
	of.Text, of.Secrets = "mend the pump with correct horse", act.Secrets{"key": "correct horse"}
	_, err = a.Run(ctx, *of)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, a.Close())
	of.Secrets = nil
	a, err = arc.New(t.Context(), st, h, o)
	require.NoError(t, err)
	return a
}

// What is no UTF-8 in a part's texts keeps no run from being read again.
func TestTextsThatAreNoUTF8(t *testing.T) {
	t.Parallel()
	const bad = "bad \xff\xfe\xc3\x28 text"
	plans := func(change func(*reason.Decision)) func(*script) {
		return func(s *script) {
			s.decide = func(_ int, b reason.Brief) (reason.Decision, error) {
				d := plan(b.Objective)
				change(&d)
				return d, nil
			}
		}
	}
	does := func(change func(*act.Result)) func(*script) {
		return func(s *script) {
			s.do = func(int, act.Work) (act.Result, error) {
				r := done(`"ok"`)
				change(&r)
				return r, nil
			}
		}
	}
	for name, c := range map[string]func(*script){
		"complaint": func(s *script) { s.judge = fail(bad) },
		"approach":  plans(func(d *reason.Decision) { d.Approach, d.Reasoning = bad, bad }),
		"task":      plans(func(d *reason.Decision) { d.Tasks[0].Objective, d.Tasks[0].Delta, d.Tasks[0].Verify = bad, bad, bad }),
		"worker":    plans(func(d *reason.Decision) { d.Tasks[0].Worker = bad }),
		"skill":     plans(func(d *reason.Decision) { d.Tasks[0].Skill = bad }),
		"inputs":    plans(func(d *reason.Decision) { d.Tasks[0].Inputs = json.RawMessage(`"` + bad + `"`) }),
		"applied":   plans(func(d *reason.Decision) { d.Applied = []memory.ID{bad} }),
		"questions": plans(func(d *reason.Decision) { d.Tasks, d.Questions = nil, []string{bad} }),
		"impasse": plans(func(d *reason.Decision) {
			d.Tasks, d.Impasse = nil, &reason.Impasse{Kind: "no_approach", Reason: bad, Subgoal: bad}
		}),
		"impasse's kind": plans(func(d *reason.Decision) {
			d.Tasks, d.Impasse = nil, &reason.Impasse{Kind: bad, Reason: bad, Subgoal: "x"}
		}),
		"alternatives": plans(func(d *reason.Decision) {
			d.Alternatives = []reason.Alternative{{Approach: bad, Tasks: d.Tasks}, {Approach: "b", Tasks: d.Tasks}}
			d.Tasks = nil
		}),
		"summary":      does(func(r *act.Result) { r.Reflection.Summary = bad }),
		"issues":       does(func(r *act.Result) { r.Reflection.PotentialIssues = []string{bad} }),
		"alignment":    does(func(r *act.Result) { r.Reflection.AlignmentCheck = map[string]float64{bad: 1} }),
		"aside":        does(func(r *act.Result) { r.Reflection.Aside = json.RawMessage(`{"a":"` + bad + `"}`) }),
		"status":       does(func(r *act.Result) { r.Reflection.Status = iar.Status(bad) }),
		"output":       does(func(r *act.Result) { r.Output = json.RawMessage(`"` + bad + `"`) }),
		"large output": does(func(r *act.Result) { r.Output = json.RawMessage(`"` + bad + strings.Repeat("x", 300_000) + `"`) }),
		"delta": does(func(r *act.Result) {
			r.Deltas = []act.Delta{{Domain: bad, Path: bad, Value: json.RawMessage(`"` + bad + `"`)}}
		}),
		"utilized": does(func(r *act.Result) { r.Utilized, r.Misled = []memory.ID{bad}, []memory.ID{bad} }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, st := &script{}, store.NewMem()
			c(s)
			o := arc.Objective{ID: "x", Text: "mend the pump"}
			a := agentOn(t, st, s.host(), nil)
			r := run(t, a, o)
			require.NoError(t, a.Close())
			a = agentOn(t, st, s.host(), nil)
			again := run(t, a, o)
			require.Equal(t, r.Status, again.Status)
			require.Equal(t, r.Reason, again.Reason)
			require.True(t, utf8.ValidString(r.Reason))
			for _, d := range again.Deliveries {
				require.True(t, utf8.ValidString(d.Summary))
				require.True(t, utf8.Valid(d.Output))
			}
			_, err := a.In("local").Memory().Recall(context.Background(), memory.Query{Text: "pump"})
			require.NoError(t, err)
		})
	}
}

// A context that is nil is an error of every method, and no panic.
func TestNilContext(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	bank, err := memory.Open(t.Context(), st, nil)
	require.NoError(t, err)
	book, err := rank.Open(t.Context(), st, nil)
	require.NoError(t, err)
	monitor, err := meta.Open(t.Context(), st, nil)
	require.NoError(t, err)
	runner, err := act.NewRunner(act.Options{Workers: (&script{}).host().Workers, Gates: []act.Gate{act.NoGate}})
	require.NoError(t, err)
	q, err := queue.Open(t.Context(), st, nil)
	require.NoError(t, err)
	person, err := identity.New(bank, "a/b", nil)
	require.NoError(t, err)
	llm, err := reason.NewLLM(&harm{}, nil)
	require.NoError(t, err)
	a := agent(t, (&script{}).host(), nil)
	for _, v := range []any{
		a, a.In("local"), bank, bank.In("a"), book, book.Observed(), book.Weighted(), book.Learned(nil), monitor, runner, st,
		q, person, llm, &act.Command{Argv: []string{"true"}}, act.ModelGate(&harm{}, "it works"), &goal.World{},
	} {
		of := reflect.ValueOf(v)
		for i := range of.NumMethod() {
			m, name := of.Method(i), of.Type().String()+"."+of.Type().Method(i).Name
			if m.Type().NumIn() == 0 || m.Type().In(0) != reflect.TypeFor[context.Context]() || name == "*arc.Agent.Shutdown" {
				continue
			}
			in := []reflect.Value{reflect.Zero(m.Type().In(0))}
			for j := 1; j < m.Type().NumIn() && !(m.Type().IsVariadic() && j == m.Type().NumIn()-1); j++ {
				in = append(in, reflect.New(m.Type().In(j)).Elem())
			}
			func() {
				defer func() {
					if r := recover(); r != nil {
						t.Errorf("%s: %v", name, r)
					}
				}()
				out := m.Call(in)
				failed := false
				switch last := out[len(out)-1]; last.Kind() {
				case reflect.Func: // an iterator
					for _, err := range last.Seq2() {
						failed = failed || !err.IsNil()
					}
				case reflect.Struct:
					failed = last.Interface().(act.Attempt).End == act.Failed
				default:
					failed = !last.IsNil()
				}
				if !failed {
					t.Errorf("%s: no error", name)
				}
			}()
		}
	}
	require.NoError(t, bank.Close())
	require.NoError(t, book.Close())
	require.NoError(t, monitor.Close())
}

// What a part has returned stays as it was, whatever the part does with it later.
func TestPartsThatChangeWhatTheyReturned(t *testing.T) {
	t.Parallel()
	s, d, r := &script{}, plan("mend"), done(`{"a":1}`)
	d.Tasks[0].Inputs = json.RawMessage(`{"b":2}`)
	r.Reflection.PotentialIssues = []string{"as it was"}
	r.Deltas = []act.Delta{{Domain: "d", Path: "p", Value: json.RawMessage(`3`)}}
	s.decide = func(int, reason.Brief) (reason.Decision, error) { return d, nil }
	s.do = func(_ int, w act.Work) (act.Result, error) {
		d.Tasks[0].Objective, d.Tasks[0].Skill = "changed", "changed"
		copy(d.Tasks[0].Inputs, "xxxxxxx")
		require.Equal(t, "mend", w.Task.Objective)
		require.Equal(t, `{"b":2}`, string(w.Task.Inputs))
		return r, nil
	}
	s.judge = func(_ act.Work, got act.Result) (act.Verdict, error) {
		copy(r.Output, "xxxxxxx")
		r.Reflection.PotentialIssues[0], r.Deltas[0].Value[0] = "changed", 'x'
		r.Reflection.AlignmentCheck["changed"] = 0
		require.Equal(t, []string{"as it was"}, got.Reflection.PotentialIssues)
		require.Equal(t, map[string]float64{"objective": 1}, got.Reflection.AlignmentCheck)
		return act.Verdict{Pass: true}, nil
	}
	got := run(t, agent(t, s.host(), nil), arc.Objective{Text: "mend the pump"})
	require.Equal(t, arc.Delivered, got.Status)
	require.Equal(t, `{"a":1}`, string(got.Deliveries[0].Output))
	require.Equal(t, `3`, string(got.Deliveries[0].Deltas[0].Value))
	require.Equal(t, "mend", got.Deliveries[0].Task.Objective)
}

// Without bounds a host is called on the goroutine of the run, where its panics
// are no other than elsewhere.
func TestHostsCalledInPlace(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*script){
		"reasoner": func(s *script) { s.decide = func(int, reason.Brief) (reason.Decision, error) { panic("boom") } },
		"executor": func(s *script) { s.do = func(int, act.Work) (act.Result, error) { panic("boom") } },
		"gate":     func(s *script) { s.judge = func(act.Work, act.Result) (act.Verdict, error) { panic("boom") } },
		"none":     func(*script) {},
	} {
		s := &script{}
		change(s)
		a := agent(t, s.host(), &arc.Options{ReasonTimeout: -1, AttemptTimeout: -1, GateTimeout: -1})
		r := run(t, a, arc.Objective{Text: "mend the pump"})
		require.Equal(t, name == "none", r.Status == arc.Delivered, name)
		require.Equal(t, name != "none", strings.Contains(r.Reason, "panic: boom"), "%s: %s", name, r.Reason)
	}
}

// What parts of a host say moves no terminal that shows why a run has ended, what
// happened in it, and how the workers do.
func TestReasonsMoveNoTerminal(t *testing.T) {
	t.Parallel()
	const evil = "\x1b[2J\x1b]0;owned\x07done\r\u202eecila\u009b31m\b"
	s := &script{judge: fail("refused: " + evil)}
	s.decide = func(_ int, b reason.Brief) (reason.Decision, error) {
		d := plan(b.Objective)
		d.Approach = evil
		return d, nil
	}
	var texts []string
	h := s.host()
	h.Workers[0].Card.Name = "mender"
	a := agent(t, h, &arc.Options{Attempts: 1, Hooks: arc.Hooks{Event: func(e arc.Event) { texts = append(texts, e.Text, e.Goal) }}})
	r := run(t, a, arc.Objective{Text: "mend the pump"})
	require.Equal(t, arc.Blocked, r.Status)
	require.Contains(t, r.Reason, "refused: [2J")
	health, err := a.Health(t.Context(), "local")
	require.NoError(t, err)
	ranked := rank.Explain([]rank.Scored{{Candidate: rank.Candidate{Name: evil + "\n1. other 9.9"}}})
	require.Equal(t, 1, strings.Count(ranked, "\n"))
	for _, text := range append(texts, r.Reason, health.String(), ranked) {
		require.NotContains(t, text, "\x1b")
		require.False(t, strings.ContainsFunc(text, func(c rune) bool {
			return c != '\n' && c != '\t' && unicode.In(c, unicode.Cc, unicode.Cf)
		}), "%q", text)
	}
}
