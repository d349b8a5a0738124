package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/memory"
)

// ScopeFunc returns the scope that a caller's runs have. A host that serves several users authenticates them before
// this handler, and tells them apart here; an error refuses the call.
type ScopeFunc func(ctx context.Context) (memory.Scope, error)

// Serve returns a handler with the card at its well-known path and JSON-RPC at every other one. A task of A2A is a
// run with the task's id, a context its session. A run that asks is a task that requires input; one that waits for an
// approval or an outage is at work. What the card leaves out is filled in, but for its URL. A nil scope is that of
// the Agent's Options for everybody.
//
// The SDK keeps its list of tasks in memory: after a restart of the process a client no longer finds its task, and the
// run goes on.
func Serve(agent *arc.Agent, card sdk.AgentCard, scope ScopeFunc) http.Handler {
	if card.ProtocolVersion == "" {
		card.ProtocolVersion = "0.3.0"
	}
	if card.PreferredTransport == "" {
		card.PreferredTransport = sdk.TransportProtocolJSONRPC
	}
	if card.DefaultInputModes == nil {
		card.DefaultInputModes = []string{"text/plain", "application/json"}
	}
	if card.DefaultOutputModes == nil {
		card.DefaultOutputModes = card.DefaultInputModes
	}
	if card.Skills == nil {
		card.Skills = []sdk.AgentSkill{}
	}
	if scope == nil {
		scope = func(context.Context) (memory.Scope, error) { return "", nil }
	}
	mux := http.NewServeMux()
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(&card))
	mux.Handle("/", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(&server{agent, scope})))
	return mux
}

type server struct {
	agent *arc.Agent
	scope ScopeFunc
}

// Execute implements a2asrv.AgentExecutor.
func (s *server) Execute(ctx context.Context, r *a2asrv.RequestContext, queue eventqueue.Queue) error {
	scope, err := s.scope(ctx)
	if err != nil {
		return end(ctx, r, queue, sdk.TaskStateRejected, err.Error())
	}
	view := s.agent.In(scope)
	text, data := words(r.Message.Parts)
	if r.StoredTask == nil {
		if err := queue.Write(ctx, sdk.NewSubmittedTask(r, r.Message)); err != nil {
			return err
		}
	}
	if err := queue.Write(ctx, sdk.NewStatusUpdateEvent(r, sdk.TaskStateWorking, nil)); err != nil {
		return err
	}
	var report *arc.Report
	if r.StoredTask != nil && r.StoredTask.Status.State == sdk.TaskStateInputRequired {
		report, err = view.Answer(ctx, string(r.TaskID), text)
	} else {
		o := arc.Objective{ID: string(r.TaskID), Text: text, Session: r.ContextID, Scope: scope}
		if len(data) > 0 {
			o.Inputs, err = json.Marshal(data[0])
		}
		if err == nil {
			report, err = s.agent.Run(ctx, o)
		}
	}
	if err == nil && report.Status == arc.Waiting {
		report, err = view.Wait(ctx, string(r.TaskID))
	}
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return end(ctx, r, queue, sdk.TaskStateFailed, err.Error())
	}
	switch report.Status {
	case arc.Delivered:
		parts := []sdk.Part{sdk.TextPart{Text: report.Text}}
		var object map[string]any
		if json.Unmarshal(report.Output, &object) == nil && object != nil {
			parts = append(parts, sdk.DataPart{Data: object})
		}
		if err := queue.Write(ctx, sdk.NewArtifactEvent(r, parts...)); err != nil {
			return err
		}
		return end(ctx, r, queue, sdk.TaskStateCompleted, "")
	case arc.Asking:
		return end(ctx, r, queue, sdk.TaskStateInputRequired, report.Text)
	case arc.Canceled:
		return end(ctx, r, queue, sdk.TaskStateCanceled, report.Text)
	default:
		return end(ctx, r, queue, sdk.TaskStateFailed, report.Text)
	}
}

// Cancel implements a2asrv.AgentExecutor.
func (s *server) Cancel(ctx context.Context, r *a2asrv.RequestContext, queue eventqueue.Queue) error {
	scope, err := s.scope(ctx)
	if err == nil {
		err = s.agent.In(scope).Cancel(ctx, string(r.TaskID), "canceled by the client")
	}
	if err != nil && !errors.Is(err, arc.ErrState) { // it has ended meanwhile
		return err
	}
	return end(ctx, r, queue, sdk.TaskStateCanceled, "")
}

// end writes a state after which nothing comes.
func end(ctx context.Context, r *a2asrv.RequestContext, queue eventqueue.Queue, state sdk.TaskState, text string) error {
	var m *sdk.Message
	if text != "" {
		m = sdk.NewMessageForTask(sdk.MessageRoleAgent, r, sdk.TextPart{Text: text})
	}
	event := sdk.NewStatusUpdateEvent(r, state, m)
	event.Final = true
	return queue.Write(ctx, event)
}
