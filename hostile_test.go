package arc_test

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/guard/guardtest"
	"github.com/arc-learn/arc/memory"
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
}

// edges are the places at which an Agent calls a host.
var edges = []edge{
	{"reasoner", func(h *arc.Host, _ *arc.Options, harm func() error) {
		h.Reasoner = reason.ReasonerFunc(func(context.Context, reason.Brief) (reason.Decision, error) {
			return reason.Decision{}, harm()
		})
	}, arc.Blocked, false},
	{"model", func(h *arc.Host, _ *arc.Options, harm func() error) {
		m := reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) { return nil, harm() })
		h.Reasoner, _ = reason.NewLLM(model.Record(model.Limit(m, &model.LimitOptions{Requests: 1e9}), io.Discard, nil), nil)
	}, arc.Blocked, false},
	{"model with a timeout", func(h *arc.Host, _ *arc.Options, harm func() error) {
		m := reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) { return nil, harm() })
		h.Reasoner, _ = reason.NewLLM(model.Timeout(m, time.Minute), nil)
	}, arc.Blocked, false},
	{"executor", func(h *arc.Host, _ *arc.Options, harm func() error) {
		h.Workers[0].Executor = act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
			return act.Result{}, harm()
		})
	}, arc.Blocked, false},
	{"gate", func(h *arc.Host, _ *arc.Options, harm func() error) {
		h.Gates = []act.Gate{act.GateFunc(func(context.Context, act.Work, act.Result) (act.Verdict, error) {
			return act.Verdict{}, harm()
		})}
	}, arc.Blocked, false},
	{"approver", func(h *arc.Host, o *arc.Options, harm func() error) {
		h.Workers[0].Mode = act.Veto
		h.Approver = act.ApproverFunc(func(context.Context, act.ApprovalRequest) (bool, error) { return true, harm() })
	}, arc.Blocked, false},
	{"source", func(h *arc.Host, _ *arc.Options, harm func() error) {
		h.Sources = []reason.Source{func(context.Context, string, int) ([]reason.Passage, error) { return nil, harm() }}
	}, arc.Delivered, false},
	{"embedder", func(_ *arc.Host, o *arc.Options, harm func() error) {
		o.Memory.Embedder = embedder{func() error { return nil }, harm}
	}, arc.Delivered, false},
	{"policy", func(_ *arc.Host, o *arc.Options, harm func() error) {
		o.Policy = func(*rank.Book) rank.Policy {
			return rank.PolicyFunc(func(context.Context, rank.Situation, []rank.Candidate) ([]rank.Scored, error) {
				return nil, harm()
			})
		}
	}, "", false},
	{"hook", func(_ *arc.Host, o *arc.Options, harm func() error) {
		o.Hooks.Event = func(arc.Event) { _ = harm() }
	}, arc.Delivered, false},
	{"logger", func(h *arc.Host, o *arc.Options, harm func() error) {
		o.Logger = slog.New(wildHandler{harm})
		h.Sources = []reason.Source{func(context.Context, string, int) ([]reason.Passage, error) { return nil, harm() }}
	}, arc.Delivered, false},
	{"clock", func(_ *arc.Host, o *arc.Options, harm func() error) {
		o.Now = func() time.Time { _ = harm(); return time.Now() }
	}, arc.Delivered, true},
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
				a, err := arc.New(t.Context(), store.NewMem(), h, o)
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
				require.NoError(t, a.Close(), name)
			}
		})
	}
}
