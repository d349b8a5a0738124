package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// notes is where the user's words are kept, apart from what the loop learns
// about its runs in turns.
const (
	notes memory.Scope = "chat/notes"
	turns memory.Scope = "chat/turns"
)

var errQuit = errors.New("quit")

const help = `/remember TEXT  keep this; "remember …" does the same
/wrong TEXT     the last answer was wrong; this is right
/why            what was recalled for the last message, and why
/notes          all that is kept
/forget N       forget the note of that number in the last list
/quit           as does the end of the input`

// chat is one conversation over a memory.
type chat struct {
	agent *arc.Agent
	out   io.Writer

	said   []reason.Message // this conversation
	listed []memory.ID      // by /why or /notes
	used   []memory.ID      // by the last answer
}

func openChat(ctx context.Context, dir string, m reason.Model, out io.Writer) (*chat, error) {
	agent, err := arc.Open(ctx, dir, arc.Host{
		// No reasoner is needed: each message is a task of its own.
		Workers: []act.Worker{{Card: rank.Candidate{Name: "speaker"}, Executor: &speaker{model: m, out: out}}},
		Gates:   []act.Gate{act.GateFunc(keepsToCorrections)},
	}, &arc.Options{Attempts: 2, Learn: learn.Options{FireAfter: -1}})
	if err != nil {
		return nil, err
	}
	return &chat{agent: agent, out: out}, nil
}

// turn takes one line of the user.
func (c *chat) turn(ctx context.Context, line string) error {
	line = strings.TrimSpace(line)
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(word) {
	case "":
		return nil
	case "/quit":
		return errQuit
	case "/remember", "remember":
		return c.remember(ctx, rest)
	case "/wrong":
		return c.wrong(ctx, rest)
	case "/why":
		return c.why(ctx)
	case "/notes":
		return c.list(ctx)
	case "/forget":
		return c.forget(ctx, rest)
	}
	if strings.HasPrefix(word, "/") {
		return c.say(help)
	}
	return c.answer(ctx, line)
}

func (c *chat) say(text string) error {
	_, err := fmt.Fprintln(c.out, text)
	return err
}

// answer runs the message through the loop: recall, answer, gate, learn.
func (c *chat) answer(ctx context.Context, message string) error {
	inputs, err := json.Marshal(c.said)
	if err != nil {
		return err
	}
	report, err := c.agent.Run(ctx, arc.Objective{
		Text: message, Inputs: inputs, Scope: turns, Also: []memory.Scope{notes},
		Tasks: []reason.Task{{Objective: message, Verify: "it does not repeat what the user has corrected"}},
	})
	if err != nil {
		return err
	}
	if report.Status == arc.Waiting {
		next := report.Next.Format(time.TimeOnly)
		return c.say(fmt.Sprintf("(no answer yet: the %s is away; next try at %s)", report.Cause, next))
	}
	if report.Status != arc.Delivered {
		return c.say("(no answer: " + strings.ReplaceAll(visible(report.Reason), "; ", ";\n ") + ")")
	}
	var a answer
	if err := json.Unmarshal(report.Deliveries[0].Output, &a); err != nil {
		return err
	}
	c.said = append(c.said, reason.Message{Role: "user", Text: message}, reason.Message{Role: "assistant", Text: a.Reply})
	c.said = c.said[max(0, len(c.said)-20):]
	c.used = a.Used
	return nil
}

// remember keeps a fact. The user is the host here, so it is trusted; in a
// program with many users its Origin is memory.User, and it is shown to a model
// only after Trust.
func (c *chat) remember(ctx context.Context, text string) error {
	if text = strings.TrimPrefix(text, "that "); text == "" {
		return c.say("remember what?")
	}
	r, err := c.agent.In(notes).Memory().Remember(ctx, memory.Draft{Kind: memory.Fact, Content: text})
	if err != nil {
		return c.say("(not kept: " + err.Error() + ")")
	}
	return c.say("(" + string(r.Disposition) + ")")
}

// wrong keeps what was said, to what, and what is right, and holds it against
// the notes that the answer was made of.
func (c *chat) wrong(ctx context.Context, right string) error {
	n := len(c.said)
	if n == 0 || right == "" {
		return c.say("say /wrong and what is right, after an answer")
	}
	asked, reply := c.said[n-2].Text, c.said[n-1].Text
	m := c.agent.In(notes).Memory()
	content := correction{reply, right}.String()
	r, err := m.Remember(ctx, memory.Draft{Kind: memory.Failure, Trigger: asked, Content: content})
	if err != nil {
		return c.say("(not kept: " + err.Error() + ")")
	}
	if len(c.used) > 0 {
		if err := m.Feedback(ctx, memory.Feedback{Key: "wrong/" + string(r.ID), Misled: c.used}); err != nil {
			return err
		}
	}
	return c.say("(" + string(r.Disposition) + ": it will not be said again)")
}

// why shows what is recalled for the last message, with the parts of its score.
func (c *chat) why(ctx context.Context) error {
	n := len(c.said)
	if n == 0 {
		return c.say("nothing was said yet")
	}
	hits, err := c.agent.In(notes).Memory().Recall(ctx, memory.Query{Text: c.said[n-2].Text, K: 5, Inject: true})
	if err != nil {
		return err
	}
	c.listed = nil
	for _, h := range hits {
		shown := "shown to the model"
		if h.Parts.Relevance < 0.2 { // the floor of learn.Options
			shown = "too little about it to be shown"
		}
		c.note(h.Record)
		fmt.Fprintf(c.out, "   relevance %.1f, effectiveness %.1f, recency %.1f: %s\n",
			h.Parts.Relevance, h.Parts.Effectiveness, h.Parts.Recency, shown)
	}
	if len(hits) == 0 {
		return c.say("nothing that is kept has to do with it")
	}
	return nil
}

func (c *chat) list(ctx context.Context) error {
	c.listed = nil
	for r, err := range c.agent.In(notes).Memory().All(ctx) {
		if err != nil {
			return err
		}
		c.note(r)
	}
	if len(c.listed) == 0 {
		return c.say("nothing is kept")
	}
	return nil
}

func (c *chat) note(r memory.Record) {
	c.listed = append(c.listed, r.ID)
	text := r.Content
	if r.Kind == memory.Failure {
		text = r.Trigger + " " + parseCorrection(r.Content).right
	}
	fmt.Fprintf(c.out, "%d. %s: %s\n", len(c.listed), r.Kind, visible(text))
}

func (c *chat) forget(ctx context.Context, number string) error {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(c.listed) {
		return c.say("/why and /notes give the numbers of notes")
	}
	if err := c.agent.In(notes).Memory().Forget(ctx, c.listed[n-1]); err != nil {
		return c.say("(" + err.Error() + ")")
	}
	return c.say("(forgotten)")
}
