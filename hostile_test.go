package arc_test

import (
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
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/guard/guardtest"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/model"
	"github.com/arc-learn/arc/store"
)

// hostilities are what a part of a host can do to its caller, by name.
func hostilities() map[string]func() error {
	out := map[string]func() error{
		"panics":             func() error { panic("boom\xff") },
		"panics with nil":    func() error { panic(nil) },
		"ends its goroutine": func() error { runtime.Goexit(); return nil },
	}
	for name, err := range guardtest.Errors() {
		out[name] = func() error { return err }
		out["panics: "+name] = func() error { panic(err) }
	}
	return out
}

// An edge plugs a part that does harm into a host.
type edge struct {
	name string
	plug func(h *arc.Host, o *arc.Options, harm func() error)
	want arc.Status // "": Run returns an error
	here bool       // the part is called where a goroutine that ends is the host's own
	over func(harm func() error) store.Store
}

// edges are the places at which an Agent calls a host.
var edges = []edge{
	{"reasoner", func(h *arc.Host, _ *arc.Options, harm func() error) {
		h.Reasoner = reason.ReasonerFunc(func(context.Context, reason.Brief) (reason.Decision, error) {
			return reason.Decision{}, harm()
		})
	}, arc.Blocked, false, nil},
	{"model", func(h *arc.Host, _ *arc.Options, harm func() error) {
		m := reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) { return nil, harm() })
		h.Reasoner, _ = reason.NewLLM(model.Record(model.Limit(m, &model.LimitOptions{Requests: 1e9}), io.Discard, nil), nil)
	}, arc.Blocked, false, nil},
	{"model with a timeout", func(h *arc.Host, _ *arc.Options, harm func() error) {
		m := reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) { return nil, harm() })
		h.Reasoner, _ = reason.NewLLM(model.Timeout(m, time.Minute), nil)
	}, arc.Blocked, false, nil},
	{"executor", func(h *arc.Host, _ *arc.Options, harm func() error) {
		h.Workers[0].Executor = act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
			return act.Result{}, harm()
		})
	}, arc.Blocked, false, nil},
	{"gate", func(h *arc.Host, _ *arc.Options, harm func() error) {
		h.Gates = []act.Gate{act.GateFunc(func(context.Context, act.Work, act.Result) (act.Verdict, error) {
			return act.Verdict{}, harm()
		})}
	}, arc.Blocked, false, nil},
	{"approver", func(h *arc.Host, o *arc.Options, harm func() error) {
		h.Workers[0].Mode = act.Veto
		h.Approver = act.ApproverFunc(func(context.Context, *act.Call) (bool, error) { return true, harm() })
	}, arc.Blocked, false, nil},
	{"source", func(h *arc.Host, _ *arc.Options, harm func() error) {
		h.Sources = []reason.Source{func(context.Context, string, int) ([]reason.Passage, error) { return nil, harm() }}
	}, arc.Delivered, false, nil},
	{"embedder", func(_ *arc.Host, o *arc.Options, harm func() error) {
		o.Memory.Embedder = embedder{func() error { return nil }, harm}
	}, arc.Delivered, false, nil},
	{"policy", func(_ *arc.Host, o *arc.Options, harm func() error) {
		o.Policy = func(*rank.Book) rank.Policy {
			return rank.PolicyFunc(func(context.Context, rank.Situation, []rank.Candidate) ([]rank.Scored, error) {
				return nil, harm()
			})
		}
	}, "", false, nil},
	{"hook", func(_ *arc.Host, o *arc.Options, harm func() error) {
		o.Hooks.Event = func(arc.Event) { _ = harm() }
	}, arc.Delivered, false, nil},
	{"logger", func(h *arc.Host, o *arc.Options, harm func() error) {
		o.Logger = slog.New(wildHandler{harm})
		h.Sources = []reason.Source{func(context.Context, string, int) ([]reason.Passage, error) { return nil, harm() }}
	}, arc.Delivered, false, nil},
	{"clock", func(_ *arc.Host, o *arc.Options, harm func() error) {
		o.Now = func() time.Time { _ = harm(); return time.Now() }
	}, arc.Delivered, true, nil},
	{"tracer", func(_ *arc.Host, o *arc.Options, harm func() error) {
		o.TracerProvider, o.MeterProvider = wildTracer{harm: harm}, wildMeter{harm: harm}
	}, arc.Delivered, false, nil},
	{"store", func(*arc.Host, *arc.Options, func() error) {}, "", true, func(harm func() error) store.Store {
		return &wildStore{Store: store.NewMem(), harm: harm}
	}},
}

type wildTracer struct {
	tracenoop.TracerProvider
	harm func() error
}

func (w wildTracer) Tracer(string, ...trace.TracerOption) trace.Tracer { _ = w.harm(); return nil }

type wildMeter struct {
	metricnoop.MeterProvider
	harm func() error
}

func (w wildMeter) Meter(string, ...metric.MeterOption) metric.Meter { _ = w.harm(); return nil }

// wildStore does harm from its third commit on.
type wildStore struct {
	store.Store
	harm    func() error
	commits atomic.Int32
}

func (w *wildStore) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if w.commits.Add(1) > 2 {
		return 0, w.harm()
	}
	return w.Store.Commit(ctx, ops...)
}

type embedder struct{ model, embed func() error }

func (e embedder) Model() string { _ = e.model(); return "m" }
func (e embedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	return make([][]float32, len(texts)), e.embed()
}

type wildHandler struct{ harm func() error }

func (h wildHandler) Enabled(context.Context, slog.Level) bool  { _ = h.harm(); return true }
func (h wildHandler) Handle(context.Context, slog.Record) error { return h.harm() }
func (h wildHandler) WithAttrs([]slog.Attr) slog.Handler        { _ = h.harm(); return h }
func (h wildHandler) WithGroup(string) slog.Handler             { _ = h.harm(); return h }

// Whatever a part of the host does, the process lives, and the run ends with an
// honest status: the last one committed, which is found again.
func TestHostsThatDoHarm(t *testing.T) {
	t.Parallel()
	harms := hostilities()
	for _, e := range edges {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			for _, name := range slices.Sorted(maps.Keys(harms)) {
				if e.here && name == "ends its goroutine" {
					continue
				}
				h, o := (&script{}).host(), &arc.Options{Attempts: 2, Refusals: 2, Seed: 1}
				e.plug(&h, o, harms[name])
				st := store.Store(store.NewMem())
				if e.over != nil {
					st = e.over(harms[name])
				}
				a, err := arc.New(t.Context(), st, h, o)
				require.NoError(t, err, name)
				r, err := a.Run(t.Context(), arc.Objective{ID: "x", Text: "mend the pump"})
				if e.want == "" {
					require.Error(t, err, name)
					require.True(t, utf8.ValidString(err.Error()))
				} else {
					require.NoError(t, err, name)
					require.Equal(t, e.want, r.Status, name)
					require.True(t, utf8.ValidString(r.Reason), name)
					require.LessOrEqual(t, len(r.Reason), 20<<10, name)
					require.Equal(t, e.want == arc.Blocked, r.Reason != "", name)
					again, err := a.Run(t.Context(), arc.Objective{ID: "x", Text: "mend the pump"})
					require.NoError(t, err, name)
					require.Equal(t, r.Status, again.Status, name)
					require.Equal(t, r.Reason, again.Reason, name)
				}
				_, err = a.In("local").Memory().Recall(t.Context(), memory.Query{Text: "pump"})
				require.NoError(t, err, name)
				if err := a.Close(); e.over == nil {
					require.NoError(t, err, name)
				}
			}
		})
	}
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
			d.Tasks, d.Impasse = nil, &reason.Impasse{Kind: reason.NoApproach, Reason: bad, Subgoal: bad}
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
	a := agent(t, (&script{}).host(), nil)
	for _, v := range []any{a, a.In("local"), bank, bank.In("a"), book, book.Observed(), book.Weighted(), book.Learned(nil), monitor, runner, st} {
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
