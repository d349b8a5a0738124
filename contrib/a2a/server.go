package a2a

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
	"github.com/a2aproject/a2a-go/log"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// ScopeFunc returns the scope that a caller's runs have. A host that serves several users authenticates them
// before this handler, and tells them apart here; an error refuses the call.
type ScopeFunc func(ctx context.Context) (memory.Scope, error)

// Handler serves the card at its well-known path and JSON-RPC at every other one. A task of A2A
// is a run, a context its session. A run that asks is a task that requires input; one that waits for an
// approval or an outage is at work. What the card leaves out is filled in, but for its URL; it says that
// answers are streamed. A nil scope is that of the Agent's Options for everybody.
//
// A run's ID follows from the id of the message that began it: one that is sent again, in the same scope, is
// another task of the same run. A task is there for callers of its scope: the last 1,000 from memory, an
// older one, and each after a restart, from its run, without history. A request has at most 512 KiB. Pages of
// other origins are refused. Who may call is for the host's middleware to say, also on a loopback address,
// which any page may give a name of its own.
func Handler(agent *arc.Agent, card sdk.AgentCard, scope ScopeFunc) http.Handler {
	card.ProtocolVersion = cmp.Or(card.ProtocolVersion, "0.3.0")
	card.PreferredTransport = cmp.Or(card.PreferredTransport, sdk.TransportProtocolJSONRPC)
	if card.DefaultInputModes == nil {
		card.DefaultInputModes = []string{"text/plain", "application/json"}
	}
	if card.DefaultOutputModes == nil {
		card.DefaultOutputModes = card.DefaultInputModes
	}
	card.Capabilities.Streaming = true                       // the SDK's handler does
	card.Skills = append([]sdk.AgentSkill{}, card.Skills...) // none is [] in JSON
	own := func(ctx context.Context) (memory.Scope, error) { // the SDK's goroutines have no recover
		if scope == nil {
			return "", nil
		}
		return call.Do(ctx, 0, scope)
	}
	mux := http.NewServeMux()
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(&card))
	last, _ := lru.New[string, []byte](1000) // the error is of a size below 1
	s := &server{agent: agent, scope: own, last: last}
	with := []a2asrv.RequestHandlerOption{a2asrv.WithTaskStore(s), a2asrv.WithCallInterceptor(s)}
	mux.Handle("/", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(s, with...)))
	return http.NewCrossOriginProtection().Handler(http.MaxBytesHandler(mux, 512<<10))
}

// server carries tasks out, and has those of the SDK, each under the scope of who calls: for others it is not
// there. It names them, by their run and context, so that one that it has no more is made of what its run has
// come to.
type server struct {
	a2asrv.PassthroughCallInterceptor
	agent *arc.Agent
	scope ScopeFunc
	last  *lru.Cache[string, []byte] // as JSON
}

// Before names the task that a message begins, and its context where the client has not. Another task has to
// be the caller's: of one that is under way the SDK does not ask whose it is.
func (s *server) Before(
	ctx context.Context, _ *a2asrv.CallContext, r *a2asrv.Request,
) (context.Context, error) {
	var other sdk.TaskID
	p, sends := r.Payload.(*sdk.MessageSendParams)
	if id, ok := r.Payload.(*sdk.TaskIDParams); ok {
		other = id.ID
	} else if sends = sends && p.Message != nil; sends {
		other = p.Message.TaskID
	}
	if other != "" {
		_, err := s.Get(ctx, other)
		return ctx, err
	} else if !sends {
		return ctx, nil
	}
	run := fmt.Sprintf("a2a-%x", sha256.Sum256([]byte(p.Message.ID)))[:40]
	p.Message.ContextID = cmp.Or(p.Message.ContextID, run)
	p.Message.TaskID = sdk.TaskID(run + "." + rand.Text() + "." + p.Message.ContextID)
	task := sdk.NewSubmittedTask(p.Message, p.Message)
	task.History = nil // the SDK adds the message
	return ctx, s.Save(ctx, task)
}

func (s *server) Save(ctx context.Context, task *sdk.Task) error {
	scope, err := s.scope(ctx)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(task)
	s.last.Add(string(scope)+"//"+string(task.ID), raw)
	return err
}

func (s *server) Get(ctx context.Context, id sdk.TaskID) (*sdk.Task, error) {
	scope, err := s.scope(ctx)
	if err != nil {
		return nil, err
	}
	task := &sdk.Task{ID: id}
	if raw, ok := s.last.Get(string(scope) + "//" + string(id)); ok {
		return task, json.Unmarshal(raw, task)
	}
	parts := strings.SplitN(string(id), ".", 3)
	if len(parts) < 3 || !strings.HasPrefix(parts[0], "a2a-") { // no run that others began is a task
		return nil, sdk.ErrTaskNotFound
	}
	r, err := s.agent.In(scope).Report(ctx, parts[0])
	if errors.Is(err, store.ErrNotFound) {
		return nil, sdk.ErrTaskNotFound
	} else if err != nil {
		return nil, err
	}
	state, said := came(r)
	task.ContextID, task.Status.State = parts[2], state
	if state == sdk.TaskStateCompleted {
		task.Artifacts = []*sdk.Artifact{{ID: sdk.ArtifactID(parts[0]), Parts: said}}
	} else if said != nil {
		task.Status.Message = sdk.NewMessageForTask(sdk.MessageRoleAgent, task, said...)
	}
	return task, nil
}

// came says what a run has come to: the state of its task, and what is delivered or said of it.
func came(r *arc.Report) (sdk.TaskState, []sdk.Part) {
	said := []sdk.Part{sdk.TextPart{Text: r.Text}}
	switch r.Status {
	case arc.Running, arc.Waiting:
		return sdk.TaskStateWorking, nil // what it waits for is the host's
	case arc.Asking:
		return sdk.TaskStateInputRequired, said
	case arc.Canceled:
		return sdk.TaskStateCanceled, said
	case arc.Delivered:
		var object map[string]any
		if json.Unmarshal(r.Output, &object) == nil && object != nil {
			said = append(said, sdk.DataPart{Data: object})
		}
		return sdk.TaskStateCompleted, said
	}
	return sdk.TaskStateFailed, said
}

// Execute implements a2asrv.AgentExecutor.
func (s *server) Execute(ctx context.Context, r *a2asrv.RequestContext, queue eventqueue.Queue) error {
	scope, err := s.scope(ctx)
	if err != nil {
		return err
	}
	view, first := s.agent.In(scope), true
	text, data := words(r.Message.Parts)
	id, _, _ := strings.Cut(string(r.TaskID), ".") // of the run
	working := sdk.NewStatusUpdateEvent(r, sdk.TaskStateWorking, nil)
	if r.StoredTask.Status.State != sdk.TaskStateSubmitted { // the others that the SDK lets through ask
		before := r.StoredTask.History[:len(r.StoredTask.History)-1]
		err = queue.Write(ctx, working)
		if err == nil && !slices.ContainsFunc(before, func(m *sdk.Message) bool { return m.ID == r.Message.ID }) {
			_, err = view.Answer(ctx, id, "", text)
		}
		if errors.Is(err, arc.ErrState) { // it was answered before a restart, or has ended meanwhile
			err = nil
		}
	} else {
		o := arc.Objective{ID: id, Text: text, Session: r.ContextID, Scope: scope}
		if len(data) > 0 {
			o.Inputs, _ = json.Marshal(data[0]) // it was JSON
		}
		for _, err = range s.agent.Events(ctx, o) {
			if (err == nil || errors.Is(err, arc.ErrRunning)) && first {
				first = false // once the run is there: whoever knows the task can cancel that
				err = errors.Join(queue.Write(ctx, sdk.NewSubmittedTask(r, r.Message)), queue.Write(ctx, working))
			}
			if err != nil {
				break
			}
		}
	}
	var report *arc.Report
	if err == nil || errors.Is(err, context.Canceled) { // a person has to rule, or somebody has canceled
		report, err = view.Wait(ctx, id)
	}
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		text := err.Error()
		if !errors.Is(err, arc.ErrObjective) && !errors.Is(err, arc.ErrTaken) {
			log.Error(ctx, "a2a: a task could not be carried out", err)
			text = "internal error" // nothing that a client can mend
		}
		return end(ctx, r, queue, sdk.TaskStateFailed, sdk.TextPart{Text: text})
	}
	state, said := came(report)
	if state == sdk.TaskStateCompleted {
		if err := queue.Write(ctx, sdk.NewArtifactEvent(r, said...)); err != nil {
			return err
		}
		said = nil
	}
	return end(ctx, r, queue, state, said...)
}

// Cancel implements a2asrv.AgentExecutor.
func (s *server) Cancel(ctx context.Context, r *a2asrv.RequestContext, queue eventqueue.Queue) error {
	scope, err := s.scope(ctx)
	if err == nil {
		run, _, _ := strings.Cut(string(r.TaskID), ".")
		err = s.agent.In(scope).Cancel(ctx, run, "canceled by the client")
	}
	if errors.Is(err, arc.ErrState) { // it has ended meanwhile
		return sdk.ErrTaskNotCancelable
	}
	if err == nil {
		err = end(ctx, r, queue, sdk.TaskStateCanceled)
	}
	if errors.Is(err, eventqueue.ErrQueueClosed) { // Execute has said so
		return nil
	}
	return err
}

// end writes a state after which nothing comes.
func end(
	ctx context.Context, r *a2asrv.RequestContext, queue eventqueue.Queue, state sdk.TaskState, said ...sdk.Part,
) error {
	event := sdk.NewStatusUpdateEvent(r, state, nil)
	if event.Final = true; len(said) > 0 {
		event.Status.Message = sdk.NewMessageForTask(sdk.MessageRoleAgent, r, said...)
	}
	return queue.Write(ctx, event)
}
