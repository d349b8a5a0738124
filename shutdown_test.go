package arc_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/telemetry/telemetrytest"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// stall is a call that does not return before it is freed, whatever its context says.
type stall struct {
	once     sync.Once
	at, free chan struct{}
}

func newStall() *stall { return &stall{at: make(chan struct{}), free: make(chan struct{})} }

func (s *stall) hang() {
	s.once.Do(func() { close(s.at) })
	<-s.free
}

// stuckStore hangs in the calls that when picks, and refuses a commit that hung.
type stuckStore struct {
	store.Store
	*stall
	when func(op, key string) bool
}

func (s stuckStore) Get(ctx context.Context, key string) (store.Entry, error) {
	if s.when("get", key) {
		s.hang()
	}
	return s.Store.Get(ctx, key)
}

func (s stuckStore) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	if s.when("scan", r.Prefix) {
		s.hang()
	}
	return s.Store.Scan(ctx, r)
}

func (s stuckStore) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	for _, op := range ops {
		if s.when("commit", op.Key) {
			s.hang()
			return 0, errBoom
		}
	}
	return s.Store.Commit(ctx, ops...)
}

func (s stuckStore) Close() error {
	if s.when("close", "") {
		s.hang()
	}
	return s.Store.Close()
}

// stuckEmbedder hangs in the calls that when picks.
type stuckEmbedder struct{ hang func(text string) }

func (stuckEmbedder) Model() string { return "m" }

func (e stuckEmbedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i := range out {
		e.hang(texts[i])
		out[i] = []float32{1, 0}
	}
	return out, nil
}

// stuckHandler hangs with every record.
type stuckHandler struct {
	slog.Handler
	*stall
}

func (h stuckHandler) Handle(context.Context, slog.Record) error { h.hang(); return nil }

// stuckError hangs when it is looked at.
type stuckError struct{ *stall }

func (e stuckError) Error() string { e.hang(); return "boom" }

// stage is what a kind of hanging part is set up on.
type stage struct {
	*stall
	armed atomic.Bool // the Agent is open
	t     *testing.T
	host  arc.Host
	o     arc.Options
	when  func(op, key string) bool // in which the store hangs
	call  func(a *arc.Agent)        // what is under way; nil: a run
	own   bool                      // the Agent closes the store
}

func (s *stage) inWorker(context.Context, act.Work) (act.Result, error) {
	s.hang()
	return done(`1`), nil
}

func (s *stage) inGate(context.Context, act.Work, act.Result) (act.Verdict, error) {
	s.hang()
	return act.Verdict{Pass: true}, nil
}

func (s *stage) inReasoner(_ context.Context, b reason.Brief) (reason.Decision, error) {
	s.hang()
	return plan(b.Objective), nil
}

func (s *stage) inStore(op, part string) {
	s.when = func(o, key string) bool { return s.armed.Load() && o == op && strings.Contains(key, part) }
}

func (s *stage) inEmbedder(part string) {
	s.o.Memory.Embedder = stuckEmbedder{func(text string) {
		if strings.Contains(text, part) {
			s.hang()
		}
	}}
}

func (s *stage) inTelemetry(call string) {
	rec := &telemetrytest.Recorder{Fault: func(c string) {
		if strings.Contains(c, call) {
			s.hang()
		}
	}}
	s.o.TracerProvider, s.o.MeterProvider = rec.Tracing(), rec.Metering()
}

// remember is a call of the host's.
func (s *stage) remember(a *arc.Agent) {
	_, _ = a.In("").Memory().Remember(s.t.Context(), memory.Draft{Kind: memory.Fact, Content: "the cellar is dry", Source: memory.Source{Origin: memory.Host}})
}

// stuck are kinds of hanging parts, and what a Shutdown says of them.
var stuck = []struct {
	name string
	left string // a part of the error; "": none
	set  func(s *stage)
}{
	{"reasoner", "", func(s *stage) { s.host.Reasoner = reason.ReasonerFunc(s.inReasoner) }},
	{"reasoner without a limit", `run "local/run"`, func(s *stage) {
		s.host.Reasoner, s.o.ReasonTimeout = reason.ReasonerFunc(s.inReasoner), -1
	}},
	{"model", "", func(s *stage) {
		llm, err := reason.NewLLM(reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) {
			s.hang()
			return nil, errBoom
		}), nil)
		require.NoError(s.t, err)
		s.host.Reasoner = llm
	}},
	{"executor", "", func(s *stage) { s.host.Workers[0].Executor = act.ExecutorFunc(s.inWorker) }},
	{"executor without a limit", `run "local/run"`, func(s *stage) {
		s.host.Workers[0].Executor, s.o.AttemptTimeout = act.ExecutorFunc(s.inWorker), -1
	}},
	{"error of an executor", "", func(s *stage) {
		s.host.Workers[0].Executor = act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
			return act.Result{}, stuckError{s.stall}
		})
	}},
	{"gate", "", func(s *stage) { s.host.Gates[0] = act.GateFunc(s.inGate) }},
	{"gate without a limit", `run "local/run"`, func(s *stage) {
		s.host.Gates[0], s.o.GateTimeout = act.GateFunc(s.inGate), -1
	}},
	{"gate of a worker", "", func(s *stage) { s.host.Workers[0].Gates = []act.Gate{act.GateFunc(s.inGate)} }},
	{"approver", "", func(s *stage) {
		s.host.Workers[0].Mode = act.Gated
		s.host.Approver = act.ApproverFunc(func(context.Context, *act.Call) (bool, error) { s.hang(); return true, nil })
	}},
	{"source", "", func(s *stage) {
		s.host.Sources = []reason.Source{func(context.Context, string, int) ([]reason.Passage, error) { s.hang(); return nil, nil }}
	}},
	{"policy", "", func(s *stage) {
		s.o.Policy = func(*rank.Book) rank.Policy {
			return rank.PolicyFunc(func(_ context.Context, _ rank.Situation, cs []rank.Candidate) ([]rank.Scored, error) {
				s.hang()
				return nil, errBoom
			})
		}
	}},
	{"policy of a new tenant", `run "other/run"`, func(s *stage) {
		n := 0
		s.o.Policy = func(b *rank.Book) rank.Policy {
			if n++; n > 1 {
				s.hang()
			}
			return b.Observed()
		}
		s.call = func(a *arc.Agent) {
			_, _ = a.Run(s.t.Context(), arc.Objective{ID: "run", Scope: "other", Text: "mend the cache"})
		}
	}},
	{"hook", `run "local/run"`, func(s *stage) { s.o.Hooks.Event = func(arc.Event) { s.hang() } }},
	{"consumer of events", `run "local/run"`, func(s *stage) {
		s.call = func(a *arc.Agent) {
			for range a.Events(s.t.Context(), arc.Objective{ID: "run", Text: "mend the cache"}) {
				s.hang()
			}
		}
	}},
	{"logger", "", func(s *stage) {
		s.o.Logger = slog.New(stuckHandler{slog.NewTextHandler(s.t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}), s.stall})
	}},
	{"clock", `run "local/run"`, func(s *stage) {
		var late atomic.Bool
		s.o.Now = func() time.Time {
			if late.Load() {
				s.hang()
			}
			return time.Now()
		}
		s.host.Workers[0].Executor = act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
			late.Store(true)
			return done(`1`), nil
		})
	}},
	{"embedder of a query", "", func(s *stage) { s.inEmbedder("mend") }},
	{"embedder of a record", "", func(s *stage) { s.inEmbedder("cellar"); s.call = s.remember }},
	{"clock before a run", "", func(s *stage) {
		s.o.Now = func() time.Time {
			if s.armed.Load() {
				s.hang()
			}
			return time.Now()
		}
	}},
	{"tracer", "", func(s *stage) { s.inTelemetry("Start") }},
	{"span", "", func(s *stage) { s.inTelemetry("End") }},
	{"meter", "", func(s *stage) { s.inTelemetry("Record") }},
	{"commit of a run", `run "local/run"`, func(s *stage) { s.inStore("commit", "run") }},
	{"commit of what was learned", `run "local/run"`, func(s *stage) { s.inStore("commit", "meta") }},
	{"commit of a memory", "store", func(s *stage) { s.inStore("commit", "mem"); s.call = s.remember }},
	{"look-up of a run", `run "local/run"`, func(s *stage) { s.inStore("get", "run") }},
	{"commit of the background", "background", func(s *stage) {
		s.inStore("commit", "upkeep")
		s.call, s.o.Maintain = s.remember, time.Second
	}},
	{"scan of the background", "background", func(s *stage) {
		s.inStore("scan", "due")
		s.call = func(*arc.Agent) { idle(2 * time.Second) }
	}},
	{"worker of a run that was due", "", func(s *stage) {
		away := outage(time.Now().Add(time.Minute))
		s.host.Reasoner, s.o.Patience = away, -1
		s.host.Workers[0].Executor = act.ExecutorFunc(s.inWorker)
	}},
	{"gate of a run that was due", `run "local/run"`, func(s *stage) {
		s.host.Reasoner, s.o.Patience = outage(time.Now().Add(time.Minute)), -1
		s.host.Gates[0], s.o.GateTimeout = act.GateFunc(s.inGate), -1
	}},
	{"close of the store", "store", func(s *stage) {
		s.inStore("close", "")
		s.own, s.call = true, func(*arc.Agent) { s.once.Do(func() { close(s.at) }) }
	}},
}

// Whatever hangs, a Shutdown or Close returns in time and says what it has left
// behind, which changes nothing more and ends once it can.
func TestStopsInTime(t *testing.T) {
	for _, kind := range stuck {
		for name, stop := range map[string]func(a *arc.Agent) error{
			"Close": (*arc.Agent).Close,
			"Shutdown": func(a *arc.Agent) error {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				defer cancel()
				return a.Shutdown(ctx)
			},
		} {
			t.Run(kind.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { stopsInTime(t, kind.set, kind.left, stop) })
			})
		}
	}
}

func stopsInTime(t *testing.T, set func(*stage), left string, stop func(*arc.Agent) error) {
	mem := store.NewMem()
	s := &stage{stall: newStall(), t: t, host: (&script{}).host(), o: arc.Options{Now: time.Now, Seed: 1, Grace: 5 * time.Second}}
	s.call = func(a *arc.Agent) { _, _ = a.Run(t.Context(), arc.Objective{ID: "run", Text: "mend the cache"}) }
	set(s)
	st := store.Store(mem)
	if s.when != nil {
		st = stuckStore{mem, s.stall, s.when}
	}
	a, err := arc.New(t.Context(), st, s.host, &s.o)
	require.NoError(t, err)
	if s.own {
		a.Own()
	}
	s.armed.Store(true)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.call(a)
	}()
	select {
	case <-s.at:
	case <-time.After(time.Hour):
		require.Fail(t, "nothing hangs")
	}

	begin := time.Now()
	err = stop(a)
	require.LessOrEqual(t, time.Since(begin), 6*time.Second)
	busy, isBusy := errors.AsType[*arc.BusyError](err)
	require.Equal(t, left != "", isBusy, "%v", err)
	if isBusy {
		require.Contains(t, busy.Parts, left)
	}
	before := entries(t, mem)
	close(s.free)
	<-ended
	synctest.Wait()
	if s.own {
		require.NoError(t, a.Close())
		return
	}
	require.Equal(t, before, entries(t, mem), "what was late has changed nothing")
	begin, err = time.Now(), a.Close()
	_, isBusy = errors.AsType[*arc.BusyError](err)
	require.False(t, isBusy, "%v", err)
	require.Zero(t, time.Since(begin))

	b := agentOn(t, mem, (&script{}).host(), realTime())
	if r, err := b.In("").Resume(t.Context(), "run"); !errors.Is(err, store.ErrNotFound) {
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)
	}
}

// entries is all that a store holds.
func entries(t *testing.T, st store.Store) (all []string) {
	t.Helper()
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		if err != nil {
			require.ErrorIs(t, err, store.ErrClosed)
		}
		all = append(all, fmt.Sprintf("%q: %x at %d", e.Key, e.Value, e.Rev))
	}
	return all
}

// A caller waits for no other's time, and a later one for what was left behind.
func TestSecondShutdownDoesNotWaitForTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStall()
		a, err := arc.New(t.Context(), store.NewMem(), (&script{}).host(), &arc.Options{Hooks: arc.Hooks{Event: func(arc.Event) { s.hang() }}})
		require.NoError(t, err)
		var all sync.WaitGroup
		all.Go(func() { _, _ = a.Run(t.Context(), arc.Objective{Text: "mend the cache"}) })
		<-s.at
		all.Go(func() { require.NoError(t, a.Shutdown(t.Context()), "it has all the time") })
		for range 2 {
			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			require.IsType(t, &arc.BusyError{}, a.Shutdown(ctx))
			require.LessOrEqual(t, time.Since(begin), 2*time.Second)
		}
		close(s.free)
		all.Wait()
		require.NoError(t, a.Close())
		//lint:ignore SA1012 that it is refused is the test
		require.ErrorContains(t, a.Shutdown(nil), "nil")
	})
}
