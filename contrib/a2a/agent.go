// Package a2a joins arc to A2A: a remote agent as a worker, and an Agent as an A2A server.
//
//	remote, err := a2a.Dial(ctx, "https://agents.example.com", nil)
//	…
//	host := arc.Host{Workers: []act.Worker{remote.Worker()}}
//
//	http.ListenAndServe(":9001", a2a.Handler(agent, card, nil))
package a2a

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/reason"
)

// Agent is an agent behind A2A as an [act.Executor].
//
// A task is sent once: an attempt that goes on after a crash follows the same remote task. If the process
// ends before the task's id is kept, or the agent does not know that any more, it is sent again with the same
// message id, the attempt's key. What the agent asks for is asked by the run, and the answer is sent back.
// When the attempt's time is over or its run is canceled, so is the remote task; a Shutdown leaves it be. An
// attempt that goes on after its time finds it canceled, and has failed: let Worker.Timeout be long enough.
// Outages are told as [reason.Unavailable]; a task that is rejected, or wants credentials, as
// [reason.Permission]; that one has failed says that nothing was done. Data beyond the first is in the Text.
//
// A remote agent may say more in the data or the metadata of an artifact: "usage" (with "input_tokens" and
// "output_tokens"), "costUsd", "confidence", "confidenceExplanation", and "worldstate-delta-v1", a list of
// deltas with "path", "op" and "value".
type Agent struct {
	card   *sdk.AgentCard
	client *a2aclient.Client
}

// Dial reads the card at a URL by client (nil: the default one). Redirects are errors, and a card whose agent
// is on another host or port, or by another scheme: what client adds is for the one that was dialed.
func Dial(ctx context.Context, address string, client *http.Client) (*Agent, error) {
	bounded := *cmp.Or(client, http.DefaultClient)
	bounded.Transport = reason.Transport(bounded.Transport)
	card, err := agentcard.NewResolver(&bounded).Resolve(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("a2a: the card: %w", call.Bare(err))
	}
	from, _ := url.Parse(address) // as Resolve has
	first := sdk.AgentInterface{Transport: card.PreferredTransport, URL: card.URL}
	for _, at := range append(slices.Clip(card.AdditionalInterfaces), first) {
		to, err := url.Parse(at.URL)
		used := at.Transport == sdk.TransportProtocolJSONRPC
		if used && (err != nil || to.Scheme != from.Scheme || to.Host != from.Host) {
			return nil, errors.New("a2a: the card names another host than its own: dial that one")
		}
	}
	config := a2aclient.Config{Polling: true, AcceptedOutputModes: []string{"text/plain", "application/json"}}
	transport := a2aclient.WithJSONRPCTransport(&bounded)
	c, err := a2aclient.NewFromCard(ctx, card, transport, a2aclient.WithConfig(config))
	if err != nil {
		return nil, fmt.Errorf("a2a: %w", err)
	}
	return &Agent{card, c}, nil
}

// Worker returns the agent as a worker with the name, description and skills of its card, and what extensions
// blast-v1, hitl-mode-v1 and effect-domain-v1 declare, but no Prior. For tasks without skill set no Skills.
func (a *Agent) Worker() act.Worker {
	w := act.Worker{Name: a.card.Name, Description: a.card.Description, Executor: a}
	for _, s := range a.card.Skills {
		w.Skills = append(w.Skills, s.ID)
	}
	for _, e := range a.card.Capabilities.Extensions {
		skills, _ := e.Params["skills"].(map[string]any)
		for _, s := range w.Skills {
			declared, _ := skills[s].(map[string]any)
			word := func(key string) string { v, _ := declared[key].(string); return v }
			switch {
			case strings.Contains(e.URI, "blast-v1"): // the widest of all skills holds for the worker
				radii := []string{"self", "project", "repo", "fleet", "public"}
				w.Blast = max(w.Blast, act.Blast(slices.Index(radii, word("radius"))))
			case strings.Contains(e.URI, "hitl-mode-v1"):
				modes := []string{"autonomous", "notification", "veto", "gated", "compound"}
				w.Mode = max(w.Mode, act.Mode(slices.Index(modes, word("mode"))))
			case strings.Contains(e.URI, "effect-domain-v1"):
				var effects []reason.Delta
				if raw, err := json.Marshal(declared["effects"]); err == nil && json.Unmarshal(raw, &effects) == nil {
					w.Effects = append(w.Effects, effects...)
				}
			}
		}
	}
	return w
}

// background has a task sent without waiting for what comes of it.
var background = &sdk.MessageSendConfig{Blocking: new(false)}

// sent is what an attempt keeps of the task that it has sent.
type sent struct {
	Task    sdk.TaskID // "": the agent answered at once
	Result  *act.Result
	Answers int // of the run, when it was sent
}

// Execute implements [act.Executor].
func (a *Agent) Execute(ctx context.Context, c *act.Call) (*act.Result, error) {
	s, err := act.Step(ctx, "a2a", c.Key(), func(ctx context.Context) (sent, error) { return a.send(ctx, c) })
	if err != nil {
		return nil, err
	}
	if s.Task == "" {
		return s.Result, nil
	}
	for replies := 0; ; replies++ {
		task, err := a.wait(ctx, s.Task)
		if errors.Is(err, sdk.ErrTaskNotFound) { // it has begun anew, and may know the message by its id
			var again sent
			if again, err = a.send(ctx, c); err == nil {
				s.Task = again.Task
				task, err = a.wait(ctx, s.Task)
			}
		}
		if err != nil {
			if cause := context.Cause(ctx); errors.Is(cause, context.DeadlineExceeded) ||
				errors.Is(cause, context.Canceled) && cause != context.Canceled { // that is a caller who leaves
				over, end := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
				_, _ = a.client.CancelTask(over, &sdk.TaskIDParams{ID: s.Task})
				end()
			}
			return nil, outage(err)
		}
		said := ""
		if task.Status.Message != nil {
			said, _ = words(task.Status.Message.Parts)
		}
		switch task.Status.State {
		case sdk.TaskStateCompleted:
			return result(task, said), nil
		case sdk.TaskStateInputRequired:
		default:
			err := fmt.Errorf("%s says %s: %s", a.card.Name, task.Status.State, said)
			if task.Status.State == sdk.TaskStateAuthRequired || task.Status.State == sdk.TaskStateRejected {
				err = &reason.Error{Class: reason.Permission, Err: err}
			}
			return nil, err
		}
		n := s.Answers + replies
		if n >= len(c.Answers) {
			return nil, &act.PendingError{Questions: []string{cmp.Or(said, a.card.Name+" needs input")}}
		}
		answer := c.Answers[n].Text
		_, err = act.Step(ctx, fmt.Sprint("a2a reply ", replies), answer, func(ctx context.Context) (bool, error) {
			m := sdk.NewMessageForTask(sdk.MessageRoleUser, task, sdk.TextPart{Text: answer})
			m.ID = fmt.Sprint(c.Key(), "/", replies)
			for wait := time.Second / 8; ; wait *= 2 {
				_, err := a.client.SendMessage(ctx, &sdk.MessageSendParams{Message: m, Config: background})
				if !errors.Is(err, sdk.ErrInternalError) || wait > time.Second {
					return err == nil, outage(err)
				}
				select { // a server of the SDK refuses the answer until it has put the question away
				case <-time.After(wait):
				case <-ctx.Done(): // which the next try says
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
}

// send sends the task of a call.
func (a *Agent) send(ctx context.Context, c *act.Call) (sent, error) {
	text := strings.TrimSpace(c.Task.Objective + "\n" + c.Task.Delta)
	m := sdk.NewMessage(sdk.MessageRoleUser, sdk.TextPart{Text: text})
	m.ID = c.Key()
	var inputs map[string]any
	exact := json.NewDecoder(bytes.NewReader(c.Task.Inputs))
	exact.UseNumber() // an id may have more digits than a float
	if exact.Decode(&inputs) == nil && len(inputs) > 0 {
		m.Parts = append(m.Parts, sdk.DataPart{Data: inputs})
	}
	if c.Complaint != "" {
		m.Parts = append(m.Parts, sdk.TextPart{Text: "The previous attempt was refused: " + c.Complaint})
	}
	meta := map[string]any{
		"x-cost-skill": c.Task.Skill, "x-confidence-skill": c.Task.Skill, "x-effect-domain-skill": c.Task.Skill,
		"x-blast-radius": c.Worker.Blast.String(), "x-hitl-mode": c.Worker.Mode.String(),
	}
	m.Metadata = meta // where servers made with the SDK look for it; others look at the request's
	r, err := a.client.SendMessage(ctx, &sdk.MessageSendParams{Message: m, Metadata: meta, Config: background})
	if err != nil {
		return sent{}, outage(err)
	}
	switch r := r.(type) {
	case *sdk.Task:
		return sent{Task: r.ID, Answers: len(c.Answers)}, nil
	case *sdk.Message:
		return sent{Result: result(&sdk.Task{Artifacts: []*sdk.Artifact{{Parts: r.Parts}}}, "")}, nil
	}
	return sent{}, fmt.Errorf("%s answered with %T", a.card.Name, r)
}

// wait returns the task once it has ended or needs something. It is looked at once a second.
func (a *Agent) wait(ctx context.Context, id sdk.TaskID) (*sdk.Task, error) {
	for wait := time.Second / 8; ; wait = min(2*wait, time.Second) {
		task, err := a.client.GetTask(ctx, &sdk.TaskQueryParams{ID: id})
		if err != nil {
			return nil, err
		}
		s := task.Status.State
		if s.Terminal() || s == sdk.TaskStateInputRequired || s == sdk.TaskStateAuthRequired {
			return task, nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// outage is the error of a call: what neither the agent nor its HTTP server has said is an outage.
func outage(err error) error {
	for _, told := range []error{
		nil, context.Canceled, context.DeadlineExceeded, sdk.ErrTaskNotFound, sdk.ErrInvalidParams,
		sdk.ErrInvalidRequest, sdk.ErrMethodNotFound, sdk.ErrUnsupportedOperation,
		sdk.ErrUnsupportedContentType,
	} {
		if errors.Is(err, told) {
			return err
		}
	}
	said, _ := errors.AsType[*reason.Error](err)
	return cmp.Or(said, &reason.Error{Class: reason.Unavailable, Err: call.Bare(err)})
}

// words are the texts of parts, and their data. Files are named, and left out.
func words(parts []sdk.Part) (text string, data []map[string]any) {
	var texts []string
	for _, p := range parts {
		switch p := p.(type) {
		case sdk.TextPart:
			texts = append(texts, p.Text)
		case sdk.DataPart:
			data = append(data, p.Data)
		case sdk.FilePart:
			f, _ := p.File.(sdk.FileURI) // or its bytes
			texts = append(texts, strings.TrimSpace("[file left out] "+f.URI))
		}
	}
	return strings.Join(texts, "\n"), data
}

// told is what an agent may say beside its answer.
type told struct {
	Usage struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
	} `json:"usage"`
	CostUSD     *float64       `json:"costUsd"`
	Confidence  *float64       `json:"confidence"`
	Explanation string         `json:"confidenceExplanation"`
	Deltas      []reason.Delta `json:"worldstate-delta-v1"`
}

// result reads what a completed task delivered.
func result(task *sdk.Task, said string) *act.Result {
	r := &act.Result{}
	var texts []string
	var extra []map[string]any
	for _, artifact := range task.Artifacts {
		text, data := words(artifact.Parts)
		if text != "" {
			texts = append(texts, text)
		}
		for _, d := range data {
			raw, _ := json.Marshal(d) // it was JSON
			if r.Output == nil {
				r.Output = raw
				continue
			}
			texts = append(texts, string(raw))
		}
		extra = append(append(extra, data...), artifact.Metadata)
	}
	r.Text = cmp.Or(strings.Join(texts, "\n"), said)
	for _, e := range append(extra, task.Metadata) {
		raw, err := json.Marshal(e)
		var t told
		if err != nil || json.Unmarshal(raw, &t) != nil {
			continue
		}
		if t.Usage.Input+t.Usage.Output > 0 || t.CostUSD != nil {
			u := reason.Usage{Calls: 1, Input: t.Usage.Input, Output: t.Usage.Output, CostUSD: t.CostUSD}
			r.Usage = r.Usage.Add(&u)
		}
		r.Deltas = append(r.Deltas, t.Deltas...)
		if t.Confidence != nil {
			r.Reflection = &iar.Reflection{
				Status: iar.Success, Confidence: *t.Confidence, Summary: cmp.Or(t.Explanation, "as the agent says"),
				AlignmentCheck: map[string]any{"objective": *t.Confidence},
			}
		}
	}
	return r
}
