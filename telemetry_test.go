package arc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/telemetry/telemetrytest"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/embed"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/model"
	"github.com/arc-learn/arc/reason/reasontest"
	"github.com/arc-learn/arc/store"
)

func TestTelemetryOfARun(t *testing.T) {
	t.Parallel()
	var rec telemetrytest.Recorder
	s := &script{
		decide: func(_ int, b reason.Brief) (reason.Decision, error) {
			d := plan(b.Objective)
			d.Usage = reason.Usage{TokensIn: 100, TokensOut: 10}
			return d, nil
		},
		judge: func(w act.Work, _ act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: w.Attempt > 1, Complaint: "again"}, nil
		},
	}
	h := s.host()
	h.Workers[0].Executor = act.ExecutorFunc(func(ctx context.Context, w act.Work) (act.Result, error) {
		_, span := rec.Tracing().Tracer("host").Start(ctx, "of the host")
		defer span.End()
		r := done(`"ok"`)
		r.Usage = reason.Usage{TokensIn: 7}
		return r, nil
	})
	a := agent(t, h, &arc.Options{TracerProvider: rec.Tracing(), MeterProvider: rec.Metering(), Name: "mender", Now: newClock().Now})
	r := run(t, a, arc.Objective{ID: "r1", Session: "s1", Text: "mend the cache"})
	require.Equal(t, arc.Delivered, r.Status)
	require.Equal(t, `invoke_agent mender operation.name=invoke_agent conversation.id=s1 arc.run.id=r1 arc.run.status=delivered usage.input_tokens=114
  search_memory operation.name=search_memory conversation.id=s1 arc.run.id=r1 memory.record.count=0
  plan mender operation.name=plan conversation.id=s1 arc.run.id=r1 usage.input_tokens=100
  execute_tool worker operation.name=execute_tool conversation.id=s1 arc.run.id=r1 tool.call.id=r1/1 arc.attempt.end=finished usage.input_tokens=7
    of the host
  arc.verify conversation.id=s1 arc.run.id=r1 tool.call.id=r1/1 arc.gate.verdict=rejected
  arc.learn conversation.id=s1 arc.run.id=r1 arc.learn.count=0
  execute_tool worker operation.name=execute_tool conversation.id=s1 arc.run.id=r1 tool.call.id=r1/2 arc.attempt.end=finished usage.input_tokens=7
    of the host
  arc.verify conversation.id=s1 arc.run.id=r1 tool.call.id=r1/2 arc.gate.verdict=passed
  arc.learn conversation.id=s1 arc.run.id=r1 arc.learn.count=1
`, rec.Tree("gen_ai.operation.name", "gen_ai.conversation.id", "arc.run.id", "gen_ai.tool.call.id", "arc.attempt.end",
		"arc.gate.verdict", "arc.run.status", "gen_ai.memory.record.count", "arc.learn.count", "gen_ai.usage.input_tokens"))
	require.Equal(t, trace.SpanKindInternal, rec.Spans()[0].Kind)
	require.Equal(t, []string{
		"arc.recall.hits 0 arc.recall.withheld=false",
		"gen_ai.execute_tool.duration 0 gen_ai.tool.name=worker",
		"arc.attempts 1 arc.attempt.end=finished gen_ai.tool.name=worker",
		"arc.gate.rejections 1 arc.gate.verdict=rejected gen_ai.tool.name=worker",
		"gen_ai.execute_tool.duration 0 gen_ai.tool.name=worker",
		"arc.attempts 1 arc.attempt.end=finished gen_ai.tool.name=worker",
		"arc.runs 1 arc.run.status=delivered",
		"gen_ai.invoke_agent.duration 0 gen_ai.agent.name=mender",
	}, rec.Metrics())
	require.Equal(t, []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92},
		rec.Bounds("gen_ai.execute_tool.duration"))

	before := len(rec.Spans())
	_, err := a.Run(t.Context(), arc.Objective{ID: "r1", Text: "mend the cache"})
	require.NoError(t, err)
	require.Len(t, rec.Spans(), before, "a run that is over is not run again")
}

// A call that does not finish its run, and the one that does, have a span each
// with the id of the run.
func TestTelemetryAcrossResume(t *testing.T) {
	t.Parallel()
	var rec telemetrytest.Recorder
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &script{do: func(n int, _ act.Work) (act.Result, error) {
		if n == 1 {
			cancel()
			return act.Result{}, context.Canceled
		}
		return done(`1`), nil
	}}
	a := agent(t, s.host(), &arc.Options{TracerProvider: rec.Tracing(), MeterProvider: rec.Metering()})
	_, err := a.Run(ctx, arc.Objective{ID: "r1", Text: "mend the cache"})
	require.ErrorIs(t, err, context.Canceled)
	_, err = a.In("").Resume(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, `invoke_agent arc arc.run.id=r1 arc.run.resumed=false arc.run.status=interrupted error.type=canceled ERROR
  search_memory arc.run.id=r1
  plan arc arc.run.id=r1
  execute_tool worker arc.run.id=r1 arc.attempt.end=canceled error.type=canceled ERROR
invoke_agent arc arc.run.id=r1 arc.run.resumed=true arc.run.status=delivered
  execute_tool worker arc.run.id=r1 arc.attempt.end=finished
  arc.verify arc.run.id=r1
  arc.learn arc.run.id=r1
`, rec.Tree("arc.run.id", "arc.run.resumed", "arc.attempt.end", "arc.run.status", "error.type"))
	require.Contains(t, rec.Metrics(), "arc.runs 1 arc.run.status=interrupted")
	require.Contains(t, rec.Metrics(), "arc.runs 1 arc.run.status=delivered")
	require.NotContains(t, strings.Join(rec.Metrics(), "\n"), "attempt.end=canceled", "that is not an attempt")

	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	s.do = func(int, act.Work) (act.Result, error) { cancel(); return act.Result{}, context.Canceled }
	once := arc.Objective{ID: "once", Text: "mend the cache", Once: true}
	_, err = a.Run(ctx, once)
	require.ErrorIs(t, err, context.Canceled)
	run(t, a, once)
	require.Contains(t, rec.Metrics(), "arc.attempts 1 arc.attempt.end=interrupted gen_ai.tool.name=worker")

	for range a.Events(t.Context(), arc.Objective{ID: "r2", Text: "mend the cache"}) {
		break
	}
	spans := rec.Spans()
	i := slices.IndexFunc(spans, func(s *telemetrytest.Span) bool { return s.Attrs["arc.run.id"] == "r2" })
	require.Equal(t, "interrupted", spans[i].Attrs["arc.run.status"])
	require.Empty(t, spans[i].Attrs["error.type"], "leaving the loop is no error")
	require.Equal(t, 1, spans[i].Ends)
	func() {
		defer func() { require.Equal(t, "consumer", recover()) }()
		for range a.Events(t.Context(), arc.Objective{ID: "r3", Text: "mend the cache"}) {
			panic("consumer")
		}
	}()
	i = slices.IndexFunc(rec.Spans(), func(s *telemetrytest.Span) bool { return s.Attrs["arc.run.id"] == "r3" })
	require.Equal(t, "panic", rec.Spans()[i].Attrs["error.type"])
	require.Equal(t, 1, rec.Spans()[i].Ends)
}

func TestTelemetryOfFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script *script
		want   []string // of error.type and arc.*, by span
		metric string
	}{
		"reasoner": {&script{decide: func(int, reason.Brief) (reason.Decision, error) {
			return reason.Decision{}, &reason.ModelError{Status: 429, Err: errBoom}
		}}, []string{"plan arc error.type=429 ERROR", "invoke_agent arc error.type=blocked ERROR"}, "arc.runs 1 arc.run.status=blocked"},
		"decision": {&script{decide: func(int, reason.Brief) (reason.Decision, error) { return reason.Decision{}, nil }},
			[]string{"plan arc error.type=refused ERROR"}, "arc.runs 1 arc.run.status=blocked"},
		"question": {&script{decide: func(int, reason.Brief) (reason.Decision, error) {
			return reason.Decision{Questions: []string{"which?"}}, nil
		}}, []string{"invoke_agent arc\n"}, "arc.runs 1 arc.run.status=asking"},
		"worker": {&script{do: func(int, act.Work) (act.Result, error) { panic("boom") }},
			[]string{"execute_tool worker error.type=panicked ERROR"}, "arc.attempts 1 arc.attempt.end=panicked gen_ai.tool.name=worker"},
		"gate": {&script{judge: func(act.Work, act.Result) (act.Verdict, error) { return act.Verdict{}, errBoom }},
			[]string{"arc.verify error.type=_OTHER ERROR"}, "arc.gate.rejections 1 arc.gate.verdict=error gen_ai.tool.name=worker"},
	} {
		var rec telemetrytest.Recorder
		run(t, agent(t, c.script.host(), &arc.Options{TracerProvider: rec.Tracing(), MeterProvider: rec.Metering()}), arc.Objective{Text: "mend the cache"})
		for _, line := range c.want {
			require.Contains(t, rec.Tree("error.type"), line, name)
		}
		require.Contains(t, rec.Metrics(), c.metric, name)
	}
}

func TestTelemetryOfChunksAndPivots(t *testing.T) {
	t.Parallel()
	var rec telemetrytest.Recorder
	a := agent(t, (&script{}).host(), &arc.Options{MeterProvider: rec.Metering()})
	for range 3 {
		run(t, a, arc.Objective{Text: "mend the cache"})
	}
	require.Contains(t, rec.Metrics(), "arc.chunk.fires 1")
	require.Contains(t, rec.Metrics(), "arc.recall.hits 2 arc.recall.withheld=false", "the lesson and the episode")

	failing := (&script{judge: fail("no")}).host()
	a = agent(t, failing, &arc.Options{MeterProvider: rec.Metering()})
	for i := range 4 {
		run(t, a, arc.Objective{Text: fmt.Sprint("mend cache ", i), Session: "s"})
	}
	require.Contains(t, rec.Metrics(), "arc.pivots 1")
	require.Empty(t, rec.Spans(), "there is no tracer")
}

func TestTelemetryOfEmbedders(t *testing.T) {
	t.Parallel()
	var rec telemetrytest.Recorder
	hashed := embed.Hashed{Dim: 64}
	a := agent(t, (&script{}).host(), &arc.Options{TracerProvider: rec.Tracing(), MeterProvider: rec.Metering(), Memory: memory.Options{Embedder: hashed}})
	_, err := a.In("").Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "the cache is cold"})
	require.NoError(t, err)
	run(t, a, arc.Objective{Text: "mend the cache"})
	tree := rec.Tree("gen_ai.operation.name", "gen_ai.embeddings.dimension.count")
	require.Contains(t, tree, "  search_memory operation.name=search_memory\n    embeddings "+hashed.Model()+" operation.name=embeddings embeddings.dimension.count=64\n")
	require.Contains(t, strings.Join(rec.Metrics(), "\n"), "gen_ai.client.operation.duration")
}

// canaries is a host whose every text has one of its own.
type canaries struct {
	texts []string
}

func (c *canaries) text(what string) string {
	c.texts = append(c.texts, what)
	return "words about " + what
}

func (c *canaries) host(rt *rapid.T) arc.Host {
	attempts := 0
	ends := rapid.SliceOfN(rapid.SampledFrom([]string{"ok", "error", "panic", "says failure", "malformed"}), 4, 4).Draw(rt, "ends")
	verdicts := rapid.SliceOfN(rapid.SampledFrom([]string{"pass", "reject", "error", "panic"}), 4, 4).Draw(rt, "verdicts")
	decision := rapid.SampledFrom([]string{"tasks", "questions", "error", "panic", "impasse", "refused"}).Draw(rt, "decision")
	s := &script{}
	s.decide = func(_ int, b reason.Brief) (reason.Decision, error) {
		switch decision {
		case "questions":
			return reason.Decision{Questions: []string{c.text("qqquestion")}}, nil
		case "error":
			return reason.Decision{}, errors.New(c.text("rrrerror"))
		case "panic":
			panic(c.text("rrrpanic"))
		case "impasse":
			return reason.Decision{Impasse: &reason.Impasse{Kind: "conflict", Reason: c.text("iiireason"), Subgoal: c.text("iiisubgoal")}}, nil
		case "refused":
			return reason.Decision{Tasks: []reason.Task{{Objective: c.text("tttask"), Skill: c.text("sssskill")}}}, nil
		}
		d := plan(c.text("ttobjective"))
		d.Approach, d.Reasoning = c.text("aaapproach"), c.text("rrreasoning")
		d.Tasks[0].Delta, d.Tasks[0].Verify, d.Tasks[0].Worker = c.text("dddelta"), c.text("vvverify"), c.text("wwworker")
		d.Tasks[0].Inputs = json.RawMessage(`"` + c.text("tttinputs") + `"`)
		return d, nil
	}
	s.do = func(int, act.Work) (act.Result, error) {
		attempts++
		r := done(`"` + c.text("ooooutput") + `"`)
		r.Reflection.Summary = c.text("ssssummary")
		r.Reflection.PotentialIssues = []string{c.text("pppissue")}
		r.Deltas = []act.Delta{{Domain: "d", Path: "p", Value: json.RawMessage(`"` + c.text("vvvalue") + `"`)}}
		switch ends[attempts%4] {
		case "error":
			return r, errors.New(c.text("eeeerror"))
		case "panic":
			panic(c.text("eeepanic"))
		case "says failure":
			r.Reflection.Status = "FAILURE"
		case "malformed":
			r.Output = json.RawMessage("{" + c.text("mmmalformed"))
		}
		return r, nil
	}
	s.judge = func(act.Work, act.Result) (act.Verdict, error) {
		switch verdicts[attempts%4] {
		case "reject":
			return act.Verdict{Complaint: c.text("cccomplaint")}, nil
		case "error":
			return act.Verdict{}, errors.New(c.text("gggerror"))
		case "panic":
			panic(c.text("gggpanic"))
		}
		return act.Verdict{Pass: true}, nil
	}
	return s.host()
}

// With texts off, nothing that a run is about shows in spans, measurements or
// logs. Ids of runs, sessions and attempts, and names of workers, models and
// the agent do: hosts choose them.
func TestTelemetryShowsNoTexts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var rec telemetrytest.Recorder
		var log bytes.Buffer
		c := &canaries{}
		a, err := arc.New(t.Context(), store.NewMem(), c.host(rt), &arc.Options{
			TracerProvider: rec.Tracing(), MeterProvider: rec.Metering(), Seed: 1,
			Logger:  slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Memory:  memory.Options{Embedder: embed.Hashed{Dim: 32}},
			Replans: rapid.IntRange(0, 1).Draw(rt, "replans"),
			Pivot:   rapid.SampledFrom([]arc.PivotPolicy{arc.PivotFlag, arc.PivotAuto, arc.PivotAsk}).Draw(rt, "pivot"),
			Hooks:   arc.Hooks{Event: func(e arc.Event) { panic(e.Text + c.text("hhhook")) }},
		})
		require.NoError(rt, err)
		_, err = a.In("tenant:ssscope").Memory().Remember(t.Context(), memory.Draft{
			Kind: memory.Pattern, Trigger: c.text("oobjective"), Content: c.text("mmmemory"),
		})
		c.texts = append(c.texts, "ssscope")
		require.NoError(rt, err)
		for range 2 {
			r, err := a.Run(t.Context(), arc.Objective{
				Text: c.text("oobjective"), Situation: c.text("ssituation"), Session: "the-session", Scope: "tenant:ssscope",
				Inputs: json.RawMessage(`{"` + c.text("kkkey") + `": "` + c.text("iinputs") + `"}`),
			})
			require.NoError(rt, err)
			if r.Status == arc.Asking {
				_, err = a.In(r.Scope).Answer(t.Context(), r.ID, c.text("aaanswer"))
				require.NoError(rt, err)
			}
		}
		require.NoError(rt, a.Close())
		require.NotEmpty(rt, rec.Spans())
		require.NotEmpty(rt, log.String())
		for _, text := range c.texts {
			require.NotContains(rt, rec.All(), text)
			require.NotContains(rt, log.String(), text)
		}
		for _, line := range rec.Metrics() {
			require.NotContains(rt, line, "the-session")
			require.NotContains(rt, line, "run.id")
		}
		for _, s := range rec.Spans() {
			if !strings.HasPrefix(s.Name, "embeddings") { // the bank leaves those behind that are under way when it is closed
				require.Equal(rt, 1, s.Ends, s.Name)
			}
		}
	})
}

func TestTelemetryShowsTextsOnRequest(t *testing.T) {
	t.Parallel()
	var rec telemetrytest.Recorder
	var log bytes.Buffer
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	s := &script{judge: fail("the test is red, token " + secret)}
	a := agent(t, s.host(), &arc.Options{
		TracerProvider: rec.Tracing(), MeterProvider: rec.Metering(), ShowTexts: true,
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	run(t, a, arc.Objective{Text: "mend the cache with " + secret, Situation: "cold cache " + secret})
	for _, want := range []string{"mend the cache", "cold cache", "the test is red", `"ok"`} {
		require.Contains(t, rec.All(), want)
	}
	require.Contains(t, log.String(), "the test is red")
	require.Contains(t, log.String(), "mend the cache")
	require.NotContains(t, rec.All()+log.String(), secret)
	require.NotContains(t, strings.Join(rec.Metrics(), "\n"), "cache")
	require.JSONEq(t, `[{"role":"user","parts":[{"type":"text","content":"`+
		strings.TrimPrefix(rec.Spans()[0].Attrs["gen_ai.input.messages"], `[{"role":"user","parts":[{"type":"text","content":"`),
		rec.Spans()[0].Attrs["gen_ai.input.messages"])
}

// Whatever providers, hooks and loggers do, a run goes its way.
func TestWhoListensDoesNoHarm(t *testing.T) {
	calls := []string{"Tracer", "Start", "SetAttributes", "SetStatus", "End", "Meter", "Int64Counter", "Int64Histogram", "Float64Histogram", "Add", "Record"}
	for name, harm := range map[string]func(release <-chan struct{}){
		"panic":  func(<-chan struct{}) { panic(errBoom) },
		"goexit": func(<-chan struct{}) { runtime.Goexit() },
		"hang":   func(release <-chan struct{}) { <-release },
	} {
		for _, call := range append(calls, "Event", "Handle") {
			t.Run(name+" "+call, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					release := make(chan struct{})
					faulty := func(which string) {
						if which == call {
							harm(release)
						}
					}
					rec := telemetrytest.Recorder{Fault: faulty}
					log := &handler{fault: func() { faulty("Handle") }}
					s := &script{judge: fail("no")}
					a := agent(t, s.host(), &arc.Options{
						TracerProvider: rec.Tracing(), MeterProvider: rec.Metering(), Logger: slog.New(log),
						Hooks: arc.Hooks{Event: func(arc.Event) { faulty("Event") }}, Learn: learn.Options{Repeats: -1},
					})
					begin := time.Now()
					for range 3 {
						r := run(t, a, arc.Objective{Text: "mend the cache"})
						require.Equal(t, arc.Blocked, r.Status)
						require.Equal(t, 3, r.Attempts)
					}
					require.LessOrEqual(t, time.Since(begin), 10*time.Second)
					h, err := a.Health(t.Context(), "")
					require.NoError(t, err)
					require.Positive(t, h.Dropped)
					if call != "Handle" {
						require.Contains(t, log.messages(), "failed")
					}
					close(release)
					synctest.Wait()
				})
			})
		}
	}
}

// handler is a slog.Handler with faults.
type handler struct {
	fault func()
	mu    sync.Mutex
	said  []string
}

func (h *handler) Enabled(context.Context, slog.Level) bool { return true }
func (h *handler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *handler) WithGroup(string) slog.Handler            { return h }
func (h *handler) Handle(_ context.Context, r slog.Record) error {
	h.fault()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, r.Message)
	return nil
}

func (h *handler) messages() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.said, "\n")
}

func TestLog(t *testing.T) {
	t.Parallel()
	lines := func(level slog.Level, s *script) string {
		var log bytes.Buffer
		a := agent(t, s.host(), &arc.Options{Now: newClock().Now, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{
			Level: level,
			ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey || a.Key == "stack" {
					return slog.Attr{}
				}
				return a
			},
		}))})
		run(t, a, arc.Objective{ID: "r1", Text: "mend the cache"})
		return log.String()
	}
	again := func(w act.Work, _ act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: w.Attempt > 1, Complaint: "again"}, nil
	}
	require.Empty(t, lines(slog.LevelInfo, &script{judge: again}))
	require.Equal(t, `level=DEBUG msg=recalled run=r1 seq=1 memories=0
level=DEBUG msg=decided run=r1 seq=2
level=DEBUG msg=attempt run=r1 seq=3 worker=worker task=1 attempt=1
level=DEBUG msg=executed run=r1 seq=4 worker=worker task=1 attempt=1 class=finished
level=DEBUG msg=verified run=r1 seq=5 worker=worker task=1 attempt=1 pass=false
level=DEBUG msg=attempt run=r1 seq=6 worker=worker task=1 attempt=2
level=DEBUG msg=executed run=r1 seq=7 worker=worker task=1 attempt=2 class=finished
level=DEBUG msg=verified run=r1 seq=8 worker=worker task=1 attempt=2 pass=true
level=DEBUG msg=learned run=r1 seq=9 worker=worker task=1 attempt=2 memories=1
level=DEBUG msg=delivered run=r1 seq=10 worker=worker task=1 attempt=2
level=DEBUG msg=finished run=r1 seq=11 class=delivered
`, lines(slog.LevelDebug, &script{judge: again}))
	require.Equal(t, strings.Repeat("level=ERROR msg=\"a worker panicked\" run=r1 worker=worker\n", 3),
		lines(slog.LevelInfo, &script{do: func(int, act.Work) (act.Result, error) { panic("boom") }}))
	require.Equal(t, strings.Repeat("level=ERROR msg=\"a gate failed\" run=r1 worker=worker class=_OTHER\n", 3),
		lines(slog.LevelInfo, &script{judge: func(act.Work, act.Result) (act.Verdict, error) { return act.Verdict{}, errBoom }}))
}

// What a reasoner asks of a model is below its deliberation, in the run's
// conversation.
func TestTelemetryOfModels(t *testing.T) {
	t.Parallel()
	var rec telemetrytest.Recorder
	answers := reasontest.NewScript(
		reasontest.Say(`no JSON`),
		reasontest.Say(`{"approach":"edit","tasks":[{"objective":"edit cache.go","verify":"the gate","skill":"work"}]}`),
	)
	llm, err := reason.NewLLM(model.Trace(answers, &model.TraceOptions{TracerProvider: rec.Tracing(), Model: "small"}), nil)
	require.NoError(t, err)
	h := (&script{}).host()
	h.Reasoner = llm
	r := run(t, agent(t, h, &arc.Options{TracerProvider: rec.Tracing()}), arc.Objective{Text: "mend the cache", Session: "s1"})
	require.Equal(t, arc.Delivered, r.Status, r.Reason)
	require.Contains(t, rec.Tree("gen_ai.conversation.id"), `
  plan arc conversation.id=s1
    chat small conversation.id=s1
    chat small conversation.id=s1
`)
}
