package arc

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/telemetry"
)

// observer reports to the host's OpenTelemetry providers what an Agent does: docs/telemetry.md lists
// it. A nil observer reports nothing.
//
// Providers are the host's code: each call of theirs is guarded, and one that panics or hangs costs
// its span or measurement, which Health.Dropped counts, and never the run. Texts of runs appear only
// with Options.ShowTexts, and with secrets hidden.
type observer struct {
	*telemetry.T
	name string
	now  func() time.Time

	agentTime, toolTime                             metric.Float64Histogram
	recallHits                                      metric.Int64Histogram
	runs, attempts, gateRejections, fires, pivoting metric.Int64Counter
}

// newObserver returns an observer for the providers of the options, or nil if
// there are none.
func newObserver(o *Options) *observer {
	t := telemetry.New(telemetry.Options{
		Tracer: o.TracerProvider, Meter: o.MeterProvider, Texts: o.ShowTexts, Sanitizer: o.Sanitizer,
		Logger: o.Logger,
	})
	if t == nil {
		return nil
	}
	return &observer{
		T: t, name: cmp.Or(o.Name, "arc"), now: o.Now,
		agentTime: t.Seconds(telemetry.AgentDuration, "Duration of one call for a run."),
		toolTime:  t.Seconds(telemetry.ToolDuration, "Duration of an attempt at a task."),
		recallHits: t.Histogram(telemetry.RecallHits, "{memory}", "Memories injected for a goal.",
			0, 1, 2, 3, 4, 5, 7, 10, 20, 50),
		runs:           t.Counter(telemetry.Runs, "{run}", "Runs, by how a call has left them."),
		attempts:       t.Counter(telemetry.Attempts, "{attempt}", "Attempts at tasks, by how they ended."),
		gateRejections: t.Counter(telemetry.Rejections, "{attempt}", "Attempts that a gate did not pass."),
		fires:          t.Counter(telemetry.Fires, "{fire}", "Chunks that acted without deliberation."),
		pivoting:       t.Counter(telemetry.Pivots, "{pivot}", "Recommendations to pivot."),
	}
}

// span is a span of the tracer, and when it began. Methods of a nil span do nothing.
type span struct {
	o     *observer
	span  telemetry.Span
	start time.Time
	more  []attribute.KeyValue
}

// begin starts a span of an operation on a run.
func (o *observer) begin(
	ctx context.Context, operation, name, run string, attrs ...attribute.KeyValue,
) (context.Context, *span) {
	p := &span{o: o, start: o.now()}
	attrs = append(attrs, attribute.String(telemetry.RunID, run))
	if operation != telemetry.Verify && operation != telemetry.Learn {
		attrs = append(attrs, attribute.String(telemetry.Operation, operation))
	}
	if name != "" {
		operation += " " + name
	}
	ctx, p.span = o.Start(ctx, operation, trace.SpanKindInternal, attrs...)
	return ctx, p
}

// seconds returns how long the span has lasted.
func (p *span) seconds() float64 { return max(0, p.o.now().Sub(p.start)).Seconds() }

// running starts the span of one call's part of a run. The returned function ends the span; neither
// a report nor an error means that the call has panicked.
func (o *observer) running(ctx context.Context, t *turn) (context.Context, func(*Report, error)) {
	s := &t.s
	before, text := s.Usage, t.veil.Hide(s.Objective.Text)
	ctx, p := o.begin(telemetry.WithConversation(ctx, s.Session), telemetry.InvokeAgent, o.name, s.ID,
		attribute.String(telemetry.AgentName, o.name), attribute.String(telemetry.Provider, "arc"),
		attribute.Bool(telemetry.Resumed, s.Step > 0))
	return ctx, func(r *Report, err error) {
		status, class := "interrupted", telemetry.Class(err)
		switch {
		case r != nil && err == nil:
			status = string(r.Status)
			p.more = usage(act.Usage{
				TokensIn: r.Usage.TokensIn - before.TokensIn, TokensOut: r.Usage.TokensOut - before.TokensOut,
			})
			if r.Status == Blocked {
				class = "blocked"
			}
		case errors.Is(err, errLeft):
			class = ""
		case err == nil:
			class = "panic" // in the consumer of the events
		case errors.Is(err, ErrRunning):
			class = "running"
		}
		p.more = append(p.more, attribute.String(telemetry.RunStatus, status))
		p.more = append(p.more, o.messages(text, r)...)
		p.span.End(class, func(ctx context.Context) {
			o.runs.Add(ctx, 1, metric.WithAttributes(attribute.String(telemetry.RunStatus, status)))
			o.agentTime.Record(ctx, p.seconds(), with(class, attribute.String(telemetry.AgentName, o.name)))
		}, p.more...)
	}
}

// messages returns the objective of a run and its outcome as attributes.
func (o *observer) messages(objective string, r *Report) []attribute.KeyValue {
	if !o.Shows() {
		return nil
	}
	out := []attribute.KeyValue{telemetry.JSON(telemetry.InputMessages, []telemetry.Message{o.Says("user", objective)})}
	if r == nil {
		return out
	}
	var said []telemetry.Message
	for _, d := range r.Deliveries {
		said = append(said, o.Says("assistant", d.Summary))
	}
	for _, q := range r.Questions {
		said = append(said, o.Says("assistant", q))
	}
	if said != nil {
		out = append(out, telemetry.JSON(telemetry.OutputMessages, said))
	}
	return append(out, o.Texts(attribute.String(telemetry.Why, r.Reason))...)
}

// with returns the attributes of a measurement, with the class of its error.
func with(class string, attrs ...attribute.KeyValue) metric.MeasurementOption {
	if class != "" {
		attrs = append(attrs, attribute.String(telemetry.ErrorType, class))
	}
	return metric.WithAttributes(attrs...)
}

// usage returns what a call has used, as attributes; nil if it reports nothing.
func usage(u act.Usage) []attribute.KeyValue {
	if u.TokensIn == 0 && u.TokensOut == 0 {
		return nil
	}
	return []attribute.KeyValue{
		attribute.Int(telemetry.InputTokens, u.TokensIn), attribute.Int(telemetry.OutputTokens, u.TokensOut),
	}
}

// phase starts the span of the run's phase, and returns the function that ends the span with what
// the turn has done; nil if there is no observer. Assess, assign, ask and end have no span.
func (o *observer) phase(ctx context.Context, t *turn) (context.Context, func(*turn, error)) {
	if o == nil {
		return ctx, nil
	}
	s := &t.s
	end, p, fired, pivots := quiet, (*span)(nil), s.Fired, len(s.Pivots)
	switch c := s.Current; s.Phase {
	case phaseRecall:
		if s.Objective.Fresh {
			break
		}
		ctx, p = o.begin(ctx, telemetry.SearchMemory, "", s.ID)
		p.more = o.Texts(attribute.String(telemetry.MemoryQuery, t.veil.Hide(s.aim().Situation)))
		end = recalled
	case phaseReason:
		ctx, p = o.begin(ctx, telemetry.Plan, o.name, s.ID, attribute.String(telemetry.AgentName, o.name))
		end = reasoned
	case phaseAct:
		ctx, p = o.begin(ctx, telemetry.ExecuteTool, c.Worker, s.ID,
			attribute.String(telemetry.ToolName, c.Worker), attribute.String(telemetry.ToolCall, c.Key),
			attribute.Int(telemetry.Attempt, c.Number))
		if task := &s.aim().Tasks[s.aim().Next]; o.Shows() {
			asked := map[string]any{
				"objective": t.veil.Hide(task.Objective), "inputs": t.veil.JSON("", task.Inputs),
			}
			p.more = o.Texts(telemetry.JSON(telemetry.ToolArguments, asked))
		}
		end = acted
	case phaseVerify:
		ctx, p = o.begin(ctx, telemetry.Verify, "", s.ID,
			attribute.String(telemetry.ToolName, c.Worker), attribute.String(telemetry.ToolCall, c.Key))
		end = verified
	case phaseLearn:
		ctx, p = o.begin(ctx, telemetry.Learn, "", s.ID)
		end = learned
	}
	return ctx, func(t *turn, err error) {
		end(p, t, err)
		if t.s.Fired > fired {
			o.Do(func() { o.fires.Add(ctx, 1) })
		}
		if len(t.s.Pivots) > pivots {
			o.Do(func() { o.pivoting.Add(ctx, 1) })
		}
	}
}

// The ends of the phases' spans. The error is that of the phase; faults of the host's parts are in
// turn.did.

func quiet(*span, *turn, error) {}

// recalled records how many memories were injected, or that they were withheld.
func recalled(p *span, t *turn, err error) {
	g := t.s.aim()
	n, withheld, class := len(g.Recalled), len(g.Withheld) > 0, telemetry.Class(err)
	p.more = append(p.more, attribute.Int(telemetry.MemoryCount, n), attribute.Bool(telemetry.Withheld, withheld))
	p.span.End(class, func(ctx context.Context) {
		if err == nil {
			p.o.recallHits.Record(ctx, int64(n), metric.WithAttributes(attribute.Bool(telemetry.Withheld, withheld)))
		}
	}, p.more...)
}

// reasoned records what a deliberation has used, and why its decision was refused.
func reasoned(p *span, t *turn, err error) {
	if err == nil {
		err = t.did.fault
	}
	p.more = usage(t.did.used)
	if err != nil {
		p.more = append(p.more, p.o.Texts(attribute.String(telemetry.Why, t.veil.Hide(err.Error())))...)
	}
	p.span.End(telemetry.Class(err), nil, p.more...)
}

// acted records how an attempt ended and what it has used, and counts it.
func acted(p *span, t *turn, err error) {
	c := t.s.Current
	if c == nil { // the run was blocked before
		p.span.End("", nil)
		return
	}
	how, class := c.End, string(c.End)
	switch {
	case err != nil:
		how, class = act.Canceled, string(act.Canceled)
	case how == act.Finished:
		class = ""
	}
	end, tool := attribute.String(telemetry.End, string(how)), attribute.String(telemetry.ToolName, c.Worker)
	p.more = append(append(p.more, end), usage(c.Usage)...)
	if err == nil {
		p.more = append(p.more, p.o.Texts(
			attribute.String(telemetry.ToolResult, string(t.veil.JSON("", t.output))),
			attribute.String(telemetry.Why, t.veil.Hide(c.Wrong)))...)
	}
	p.span.End(class, func(ctx context.Context) {
		p.o.toolTime.Record(ctx, p.seconds(), with(class, tool))
		if err == nil {
			p.o.attempts.Add(ctx, 1, metric.WithAttributes(tool, end))
		}
	}, p.more...)
}

// verified records the gates' verdict, and counts a rejection.
func verified(p *span, t *turn, err error) {
	c := t.s.Current
	if c == nil { // the run was blocked before
		p.span.End("", nil)
		return
	}
	if err == nil {
		err = t.did.fault
	}
	says := "passed"
	switch {
	case err != nil:
		says = "error"
	case !c.Passed:
		says = "rejected"
	}
	tool, verdict := attribute.String(telemetry.ToolName, c.Worker), attribute.String(telemetry.Verdict, says)
	p.more = append(p.o.Texts(attribute.String(telemetry.Why, t.veil.Hide(c.Wrong))), verdict)
	p.span.End(telemetry.Class(err), func(ctx context.Context) {
		if says != "passed" {
			p.o.gateRejections.Add(ctx, 1, metric.WithAttributes(tool, verdict))
		}
	}, p.more...)
}

// learned records how many patterns and failures were stored or strengthened.
func learned(p *span, t *turn, err error) {
	p.span.End(telemetry.Class(err), nil, attribute.Int(telemetry.Learned, t.did.lessons))
}

// cutOff counts an attempt that ended with the process that made it.
func (o *observer) cutOff(ctx context.Context, worker string) {
	if o != nil {
		o.Do(func() {
			o.attempts.Add(ctx, 1, metric.WithAttributes(
				attribute.String(telemetry.ToolName, worker), attribute.String(telemetry.End, string(act.Interrupted))))
		})
	}
}

// shown returns a run's text for a log: empty unless Options.ShowTexts is set.
func (a *Agent) shown(text string) slog.Attr {
	if !a.o.ShowTexts || text == "" {
		return slog.Attr{}
	}
	return slog.String("text", telemetry.Cut(text))
}

// logDue logs why a due run could not be continued: without ShowTexts only the class of the error,
// since Report.Reason has its text.
func (a *Agent) logDue(run string, err error) {
	a.o.Logger.Error("a run that is due did not go on", "run", run,
		"class", telemetry.Class(err), "stack", telemetry.Stack(err))
}

// logHook logs that a hook has failed.
func (a *Agent) logHook(err error) {
	if err != nil && !errors.Is(err, guard.ErrDropped) {
		a.o.Logger.Error("a hook failed", "class", telemetry.Class(err), "stack", telemetry.Stack(err))
	}
}

// logFault logs the faults of the host's parts in the current phase: a panic with its stack, a source
// that failed, or a gate that could not decide. A worker's or reasoner's error is no fault: the run
// learns from it, and the Report says it.
func (t *turn) logFault() {
	logger, run := t.a.o.Logger, t.s.ID
	for i, err := range t.did.sources {
		if err != nil && !errors.Is(err, context.Canceled) {
			logger.Error("a source failed", "run", run, "source", i+1, "class", telemetry.Class(err),
				"stack", telemetry.Stack(err), t.a.shown(t.veil.Hide(err.Error())))
		}
	}
	t.did.sources = nil
	switch c := t.s.Current; {
	case t.did.stack != nil:
		why := t.a.shown(t.veil.Hide(c.Wrong))
		logger.Error("a worker panicked", "run", run, "worker", c.Worker, "stack", string(t.did.stack), why)
	case t.did.fault == nil:
	case t.s.Phase == phaseVerify:
		class := telemetry.Class(t.did.fault)
		logger.Error("a gate failed", "run", run, "worker", c.Worker, "class", class, t.a.shown(t.veil.Hide(c.Wrong)))
	default:
		if p, ok := errors.AsType[*guard.PanicError](t.did.fault); ok {
			why := t.veil.Hide(p.Error())
			logger.Error("the reasoner panicked", "run", run, "stack", string(p.Stack), t.a.shown(why))
		}
	}
}

// log logs a committed step, one record for each event.
func (a *Agent) log(ctx context.Context, events []Event) {
	for _, e := range events {
		attrs := append(make([]slog.Attr, 0, 10), slog.String("run", e.Run), slog.Int("seq", e.Seq))
		if e.Worker != "" {
			attrs = append(attrs, slog.String("worker", e.Worker), slog.Int("task", e.Task), slog.Int("attempt", e.Attempt))
		}
		switch e.Kind {
		case EventRecalled, eventLearned:
			attrs = append(attrs, slog.Int("memories", len(e.IDs)))
			if e.Text != "" {
				attrs = append(attrs, slog.String("class", "rejected"))
			}
		case EventExecuted, EventAssessed, EventFinished:
			word, _, _ := strings.Cut(e.Text, ": ") // a word of arc's; the run's texts follow it
			attrs = append(attrs, slog.String("class", word))
		case EventVerified:
			attrs = append(attrs, slog.Bool("pass", e.Pass))
		}
		if e.Wall > 0 {
			attrs = append(attrs, slog.Duration("wall", e.Wall))
		}
		if a.o.ShowTexts {
			attrs = append(attrs, slog.String("goal", telemetry.Cut(e.Goal)), a.shown(e.Text))
		}
		a.o.Logger.LogAttrs(ctx, slog.LevelDebug, string(e.Kind), attrs...)
	}
}
