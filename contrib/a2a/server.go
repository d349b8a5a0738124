package a2a

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
	"github.com/a2aproject/a2a-go/log"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/memory"
)

// ScopeFunc returns the scope that a caller's runs have. A host that serves several users authenticates them
// before this handler, and tells them apart here; an error refuses the call.
type ScopeFunc func(ctx context.Context) (memory.Scope, error)

// Serve returns a handler with the card at its well-known path and JSON-RPC at every other one. A task of A2A
// is a run, a context its session. A run that asks is a task that requires input; one that waits for an
// approval or an outage is at work. What the card leaves out is filled in, but for its URL; it says that
// answers are streamed. A nil scope is that of the Agent's Options for everybody.
//
// The ID of a run follows from the id of the message that began it: a message that is sent again, in the same
// scope, is another task of the same run. The last 10,000 tasks are kept in memory, each for callers of its
// scope: after a restart a client does not find its task; the run goes on, and a message sent again finds it.
func Serve(agent *arc.Agent, card sdk.AgentCard, scope ScopeFunc) http.Handler {
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
	if scope == nil {
		scope = func(context.Context) (memory.Scope, error) { return "", nil }
	}
	mux := http.NewServeMux()
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(&card))
	last, _ := lru.New[string, []byte](10_000) // the error is of a size below 1
	kept, same := a2asrv.WithTaskStore(&tasks{scope, last}), a2asrv.WithCallInterceptor(again{})
	handler := a2asrv.NewHandler(&server{agent, scope}, kept, same)
	mux.Handle("/", a2asrv.NewJSONRPCHandler(handler))
	return mux
}

// tasks keeps the SDK's tasks, as JSON, each under the scope of who calls: for others it is not there.
type tasks struct {
	scope ScopeFunc
	last  *lru.Cache[string, []byte]
}

func (t *tasks) Save(ctx context.Context, task *sdk.Task) error {
	scope, err := t.scope(ctx)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(task)
	t.last.Add(string(scope)+"//"+string(task.ID), raw)
	return err
}

func (t *tasks) Get(ctx context.Context, id sdk.TaskID) (*sdk.Task, error) {
	scope, err := t.scope(ctx)
	raw, ok := t.last.Get(string(scope) + "//" + string(id))
	if err != nil || !ok {
		return nil, cmp.Or(err, sdk.ErrTaskNotFound)
	}
	task := new(sdk.Task)
	return task, json.Unmarshal(raw, task)
}

// again gives a message that begins a context the same one each time that it is sent.
type again struct {
	a2asrv.PassthroughCallInterceptor
}

func (again) Before(ctx context.Context, _ *a2asrv.CallContext, r *a2asrv.Request) (context.Context, error) {
	if p, ok := r.Payload.(*sdk.MessageSendParams); ok && p.Message != nil && p.Message.TaskID == "" {
		p.Message.ContextID = cmp.Or(p.Message.ContextID, run(p.Message))
	}
	return ctx, nil
}

// run is the ID of the run that a message begins.
func run(m *sdk.Message) string {
	return fmt.Sprintf("a2a-%x", sha256.Sum256([]byte(m.ID)))[:40]
}

type server struct {
	agent *arc.Agent
	scope ScopeFunc
}

// Execute implements a2asrv.AgentExecutor.
func (s *server) Execute(ctx context.Context, r *a2asrv.RequestContext, queue eventqueue.Queue) error {
	scope, err := s.scope(ctx)
	if err != nil {
		return err
	}
	view, first := s.agent.In(scope), true
	text, data := words(r.Message.Parts)
	id, working := run(r.Message), sdk.NewStatusUpdateEvent(r, sdk.TaskStateWorking, nil)
	if r.StoredTask != nil { // the others that the SDK lets through ask
		before := r.StoredTask.History[:len(r.StoredTask.History)-1]
		id = run(before[0])
		err = queue.Write(ctx, working)
		if err == nil && !slices.ContainsFunc(before, func(m *sdk.Message) bool { return m.ID == r.Message.ID }) {
			_, err = view.Answer(ctx, id, text)
		}
	} else {
		o := arc.Objective{ID: id, Text: text, Session: r.ContextID, Scope: scope}
		if len(data) > 0 {
			o.Inputs, _ = json.Marshal(data[0]) // it was JSON
		}
		for _, err = range s.agent.Events(ctx, o) {
			if (err == nil || errors.Is(err, arc.ErrRunning)) && first {
				first = false // once the run is there: whoever knows the task can cancel that
				err = cmp.Or(queue.Write(ctx, sdk.NewSubmittedTask(r, r.Message)), queue.Write(ctx, working))
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
		if !errors.Is(err, arc.ErrObjective) && !errors.Is(err, arc.ErrState) && !errors.Is(err, arc.ErrTaken) {
			log.Error(ctx, "a2a: a task could not be carried out", err)
			text = "internal error" // nothing that a client can mend
		}
		return end(ctx, r, queue, sdk.TaskStateFailed, text)
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
		err = s.agent.In(scope).Cancel(ctx, run(r.StoredTask.History[0]), "canceled by the client")
	}
	if errors.Is(err, arc.ErrState) { // it has ended meanwhile
		return sdk.ErrTaskNotCancelable
	}
	if err == nil {
		err = end(ctx, r, queue, sdk.TaskStateCanceled, "")
	}
	if errors.Is(err, eventqueue.ErrQueueClosed) { // Execute has said so
		return nil
	}
	return err
}

// end writes a state after which nothing comes.
func end(
	ctx context.Context, r *a2asrv.RequestContext, queue eventqueue.Queue, state sdk.TaskState, text string,
) error {
	var m *sdk.Message
	if text != "" {
		m = sdk.NewMessageForTask(sdk.MessageRoleAgent, r, sdk.TextPart{Text: text})
	}
	event := sdk.NewStatusUpdateEvent(r, state, m)
	event.Final = true
	return queue.Write(ctx, event)
}
