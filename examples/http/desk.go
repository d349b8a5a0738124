package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// desk answers questions: its model is a script that any reason.StreamingModel of
// contrib/ replaces.
type desk struct {
	agent *arc.Agent
	limit time.Duration // of a request
	model func(ctx context.Context, question string, word func(string)) (string, error)
}

func newDesk(ctx context.Context, dir string) (*desk, error) {
	d := &desk{limit: time.Minute, model: recite}
	agent, err := arc.Open(ctx, dir, arc.Host{
		Workers: []act.Worker{{Card: rank.Candidate{Name: "writer"}, Executor: act.ExecutorFunc(d.writer)}},
		Gates:   []act.Gate{act.GateFunc(sentence)},
	}, nil)
	d.agent = agent
	return d, err
}

// recite is a model that knows one answer.
func recite(_ context.Context, _ string, word func(string)) (string, error) {
	const answer = "Air scatters blue light more than red."
	for w := range strings.SplitAfterSeq(answer, " ") {
		word(w)
	}
	return answer, nil
}

// writer is the worker. It finds the stream of the request that the run serves in its
// context: a run that goes on without a request has none.
func (d *desk) writer(ctx context.Context, w act.Work) (act.Result, error) {
	word := func(string) {}
	if s, ok := ctx.Value(streamKey{}).(*stream); ok {
		word = func(text string) { s.send("word", text) }
	}
	answer, err := d.model(ctx, w.Objective, word)
	if err != nil {
		return act.Result{}, err
	}
	out, err := json.Marshal(answer)
	said := iar.Reflection{Status: iar.Success, Confidence: 0.8, Summary: "answered"}
	return act.Result{Output: out, Reflection: said}, err
}

// sentence is a gate: an answer is a sentence.
func sentence(_ context.Context, _ act.Work, r act.Result) (act.Verdict, error) {
	return act.Verdict{Pass: strings.HasSuffix(string(r.Output), `."`), Complaint: "end the sentence"}, nil
}

func (d *desk) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /ask", d.serveAsk)
	return http.NewCrossOriginProtection().Handler(mux)
}

// serveAsk runs the question of the body, and streams. A client that comes again with the
// same Idempotency-Key gets the same run: the rest of it, or what came of it.
func (d *desk) serveAsk(w http.ResponseWriter, r *http.Request) {
	question, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<10))
	if err != nil || len(question) == 0 {
		http.Error(w, "ask something, in at most 8 KiB", http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), d.limit)
	defer cancel()
	s := newStream(w)
	defer s.close()
	o := arc.Objective{
		ID: r.Header.Get("Idempotency-Key"), Text: string(question),
		Tasks: []reason.Task{{Objective: string(question)}},
	}
	id := o.ID
	for e, err := range d.agent.Events(context.WithValue(ctx, streamKey{}, s), o) {
		switch {
		case errors.Is(err, arc.ErrTaken):
			s.send("refused", "this Idempotency-Key is another question's")
			return
		case errors.Is(err, arc.ErrObjective):
			s.send("refused", err.Error())
		case err != nil: // it stands at its last commit
			s.send("unfinished", "ask again with the same Idempotency-Key")
		default:
			id = e.Run
			s.send(string(e.Kind), strings.TrimSpace(e.Worker+" "+e.Text))
		}
	}
	if report, err := d.agent.In("").Resume(ctx, id); err == nil { // of a finished run: its report
		for _, done := range report.Deliveries {
			s.send("answer", string(done.Output))
		}
	}
}

type streamKey struct{}

// stream sends server-sent events. A worker that was left behind may still hold it
// after its request has ended: it is closed by then.
type stream struct {
	mu     sync.Mutex
	w      http.ResponseWriter
	closed bool
}

func newStream(w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	return &stream{w: w}
}

func (s *stream) send(kind, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	fmt.Fprintf(s.w, "event: %s\n", kind)
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r", "\n"), "\n") {
		fmt.Fprintf(s.w, "data: %s\n", line)
	}
	fmt.Fprintln(s.w)
	_ = http.NewResponseController(s.w).Flush() // the client has gone
}

func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}
