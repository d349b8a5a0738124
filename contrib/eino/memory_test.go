package eino_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	arceino "github.com/arc-learn/arc/contrib/eino"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
)

// chat is a model that looks an order up and then answers. It names the order only where it is told to.
type chat struct{ heard *strings.Builder }

func (c chat) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return c, nil }

func (c chat) Stream(
	context.Context, []*schema.Message, ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	panic("not streamed")
}

func (c chat) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	told := ""
	for _, m := range in {
		fmt.Fprintf(c.heard, "%s: %s\n", m.Role, m.Content)
		if m.Role == schema.System {
			told += m.Content
		}
	}
	if last := in[len(in)-1]; last.Role != schema.Tool {
		call := schema.ToolCall{ID: "1", Function: schema.FunctionCall{Name: "lookup",
			Arguments: `{"Order":"A-7"}`}}
		return schema.AssistantMessage("", []schema.ToolCall{call}), nil
	}
	if strings.Contains(told, "name the order") {
		return schema.AssistantMessage("Order A-7 is on its way.", nil), nil
	}
	return schema.AssistantMessage("It is on its way.", nil), nil
}

var question = []*schema.Message{schema.UserMessage("where is my order A-7?")}

// config is that of an eino program.
func config(t *testing.T, heard *strings.Builder) *react.AgentConfig {
	lookup, err := utils.InferTool("lookup", "looks an order up",
		func(_ context.Context, in struct{ Order string }) (string, error) {
			return "shipped", nil
		})
	require.NoError(t, err)
	return &react.AgentConfig{ToolCallingModel: chat{heard},
		ToolsConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{lookup}}}
}

// program is the eino program with memory, where mem is not nil.
func program(t *testing.T, mem *arceino.Memory, out *strings.Builder) {
	c := config(t, out)
	c.MessageModifier = mem.Modifier(nil)
	agent, err := react.NewAgent(t.Context(), c)
	require.NoError(t, err)
	answer, err := mem.Generate(t.Context(), agent, question)
	require.NoError(t, err)
	fmt.Fprintln(out, answer.Content)
}

func TestMemoryOfAReActAgent(t *testing.T) {
	mem, err := arceino.OpenMemory(t.Context(), t.TempDir(), &arceino.MemoryOptions{
		Check: func(_ context.Context, _ []*schema.Message, answer *schema.Message) (string, error) {
			if !strings.Contains(answer.Content, "A-7") {
				return "name the order A-7 in the answer", nil
			}
			return "", nil
		},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, mem.Close()) }()
	var first, second, third strings.Builder
	program(t, mem, &first)
	require.True(t, strings.HasSuffix(first.String(), "\nIt is on its way.\n"))
	require.NotContains(t, first.String(), "system:")
	program(t, mem, &second)
	require.True(t, strings.HasSuffix(second.String(), "\nOrder A-7 is on its way.\n"), second.String())
	k, err := mem.Layer().Known(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, k.Warnings, 1)
	require.Equal(t, "name the order A-7 in the answer", k.Warnings[0].Complaint, "for a person, whole")
	program(t, mem, &third)
	require.Contains(t, third.String(), "passed afterwards")
	host := []*schema.Message{schema.SystemMessage("You are a help desk."), question[0]}
	var heard []*schema.Message
	_, err = mem.Generate(t.Context(), generates(func(ctx context.Context, in []*schema.Message) *schema.Message {
		heard = mem.Modifier(nil)(ctx, in)
		return schema.AssistantMessage("Order A-7 is on its way.", nil)
	}), host)
	require.NoError(t, err)
	require.Len(t, heard, 3)
	require.Equal(t, host[0], heard[0], "what is always the same comes first: a provider keeps it in its cache")
	require.Contains(t, heard[1].Content, "passed afterwards")
	require.Equal(t, host[1], heard[2])
}

// With memory off the program says what it said without, to the byte.
func TestMemoryOff(t *testing.T) {
	var off, without strings.Builder
	program(t, nil, &off)
	agent, err := react.NewAgent(t.Context(), config(t, &without))
	require.NoError(t, err)
	answer, err := agent.Generate(t.Context(), question)
	require.NoError(t, err)
	fmt.Fprintln(&without, answer.Content)
	require.Equal(t, without.String(), off.String())
	var none *arceino.Memory
	require.NoError(t, none.Close())
}

// The calls of earlier turns, which stand in the messages, are no part of the plan; an answer without calls has none;
// and a plan of several calls fires by what they returned.
func TestPlanIsOfTheTurn(t *testing.T) {
	mem, err := arceino.OpenMemory(t.Context(), t.TempDir(), &arceino.MemoryOptions{
		Check: func(context.Context, []*schema.Message, *schema.Message) (string, error) { return "", nil },
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, mem.Close()) }()
	var out strings.Builder
	c := config(t, &out)
	c.MessageModifier = mem.Modifier(nil)
	agent, err := react.NewAgent(t.Context(), c)
	require.NoError(t, err)
	old := schema.ToolCall{ID: "0", Function: schema.FunctionCall{Name: "hello", Arguments: "{}"}}
	before := []*schema.Message{schema.UserMessage("hello"), schema.AssistantMessage("", []schema.ToolCall{old}),
		schema.ToolMessage("hi", "0"), schema.AssistantMessage("Hi.", nil)}
	for range 3 {
		_, err = mem.Generate(t.Context(), agent, append(before[:4:4], question...))
		require.NoError(t, err)
	}
	k, err := mem.Layer().Known(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, k.Suggestions, 1)
	require.Empty(t, k.Suggestions[0].Differs)
	require.Len(t, k.Suggestions[0].Calls, 1)
	require.Equal(t, "lookup", k.Suggestions[0].Calls[0].Name)
	require.NotEmpty(t, k.Suggestions[0].Delivered)
}

// An agent that returns no message has answered nothing, and a program that has one in its input goes on.
func TestNoMessage(t *testing.T) {
	mem, err := arceino.OpenMemory(t.Context(), t.TempDir(), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, mem.Close()) }()
	silent := generates(func(context.Context, []*schema.Message) *schema.Message { return nil })
	answer, err := mem.Generate(t.Context(), silent, append([]*schema.Message{nil}, question...))
	require.NoError(t, err)
	require.Nil(t, answer)
}

type generates func(ctx context.Context, in []*schema.Message) *schema.Message

func (f generates) Generate(
	ctx context.Context, in []*schema.Message, _ ...agent.AgentOption,
) (*schema.Message, error) {
	return f(ctx, in), nil
}

// scripted is a model that answers by what it has heard.
type scripted struct {
	chat
	say func(in []*schema.Message) (*schema.Message, error)
}

func (m scripted) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

func (m scripted) Generate(
	_ context.Context, in []*schema.Message, _ ...model.Option,
) (*schema.Message, error) {
	return m.say(in)
}

// editor is a tool that says in words why it refuses a call.
type editor struct{ err error }

func (editor) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "edit"}, nil
}

func (e editor) InvokableRun(_ context.Context, args string, _ ...tool.Option) (string, error) {
	if !strings.Contains(args, "good") {
		return "refused: " + args, e.err
	}
	return "edited", e.err
}

// bench is an agent with the tool, its memory, and what the memory has told the host.
type bench struct {
	*testing.T
	mem   *arceino.Memory
	agent *react.Agent
	heard []*schema.Message // by the model, at its first call
	learn.Learned
	err error // of the memory
}

// newBench has the model make the calls with these arguments, one after another, and then answer.
func newBench(t *testing.T, o arceino.MemoryOptions, e editor, modifier bool, args ...string) *bench {
	b := &bench{T: t}
	o.OnLearned = func(_ context.Context, l learn.Learned, err error) { b.Learned, b.err = l, err }
	if o.Check == nil {
		o.Check = func(context.Context, []*schema.Message, *schema.Message) (string, error) { return "", nil }
	}
	var err error
	b.mem, err = arceino.OpenMemory(t.Context(), t.TempDir(), &o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.mem.Close()) })
	c := &react.AgentConfig{MaxStep: 8, ToolsConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{e}}}
	c.ToolCallingModel = scripted{say: func(in []*schema.Message) (*schema.Message, error) {
		n := 0
		for _, m := range in {
			n += len(m.ToolCalls)
		}
		if n == 0 {
			b.heard = in
		}
		if n == len(args) {
			return schema.AssistantMessage("mended", nil), nil
		}
		call := schema.ToolCall{ID: "same", Function: schema.FunctionCall{Name: "edit", Arguments: args[n]}}
		return schema.AssistantMessage("", []schema.ToolCall{call}), nil
	}}
	if modifier {
		c.MessageModifier = b.mem.Modifier(nil)
	}
	b.agent, err = react.NewAgent(t.Context(), c)
	require.NoError(t, err)
	return b
}

func (b *bench) generate(texts ...string) (*schema.Message, error) {
	var in []*schema.Message
	for _, text := range texts {
		in = append(in, schema.UserMessage(text))
	}
	return b.mem.Generate(b.Context(), b.agent, in)
}

// mends expects an answer, and no error of the memory.
func (b *bench) mends(texts ...string) {
	b.Helper()
	answer, err := b.generate(texts...)
	require.NoError(b, err)
	require.NoError(b, b.err)
	require.Equal(b, "mended", answer.Content)
}

// fires reports whether the model was told of calls that delivered this very case.
func (b *bench) fires() bool {
	return b.heard[0].Role == schema.System && strings.Contains(b.heard[0].Content, "<<<calls-")
}

// plan is the one that is known, as its calls in words.
func (b *bench) plan() (calls []string) {
	k, err := b.mem.Layer().Known(b.Context(), "")
	require.NoError(b, err)
	require.Len(b, k.Suggestions, 1)
	for _, c := range k.Suggestions[0].Calls {
		calls = append(calls, c.Name+" "+string(c.Inputs))
	}
	return calls
}

// A log of any length is a case: it is learned and told, and another log is another one.
func TestLongMessage(t *testing.T) {
	b := newBench(t, arceino.MemoryOptions{}, editor{}, true, `{"a":"good"}`)
	log := func(in string) string {
		line := strings.Repeat("ü FAIL\n", 5000)
		return "mend it" + line + in + line // which is cut within an ü
	}
	for range 2 {
		b.mends(log("1"), log("2"), log("3"))
		require.False(t, b.fires())
	}
	require.True(t, b.Ready)
	b.mends(log("1"), log("2"), log("3"))
	require.True(t, b.fires())
	b.mends(log("1"), log("2"), log("4"))
	require.False(t, b.fires(), "what differs where it is cut differs")
	b.mends(log("1"), log("4"), log("3"))
	require.False(t, b.fires(), "also in what was said before")
}

// What the memory or the Check cannot do is told beside the answer, and never takes its place.
func TestErrorsOfTheMemory(t *testing.T) {
	for said, o := range map[string]arceino.MemoryOptions{
		"of another tenant": {Case: func(context.Context, []*schema.Message) learn.Case {
			return learn.Case{Scope: "another"}
		}},
		"the check: is away": {Check: func(context.Context, []*schema.Message, *schema.Message) (string, error) {
			return "", errors.New("is away")
		}},
	} {
		b := newBench(t, o, editor{}, true)
		answer, err := b.generate("mend")
		require.NoError(t, err)
		require.Equal(t, "mended", answer.Content)
		require.ErrorContains(t, b.err, said)
	}
	var log strings.Builder
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(was)
	mem, err := arceino.OpenMemory(t.Context(), t.TempDir(), nil)
	require.NoError(t, err)
	defer mem.Close()
	_, err = mem.Generate(t.Context(), generates(func(context.Context, []*schema.Message) *schema.Message {
		return schema.AssistantMessage("It is on its way.", nil)
	}), question)
	require.NoError(t, err)
	require.Contains(t, log.String(), "does not call the Modifier", "without an OnLearned the log has it")
}

// An agent without the Modifier is told nothing and teaches nothing, and the host is told that.
func TestModifierForgotten(t *testing.T) {
	b := newBench(t, arceino.MemoryOptions{}, editor{}, false, `{"a":"good"}`)
	answer, err := b.generate("mend")
	require.NoError(t, err)
	require.Equal(t, "mended", answer.Content)
	require.ErrorContains(t, b.err, "does not call the Modifier")
	k, err := b.mem.Layer().Known(t.Context(), "")
	require.NoError(t, err)
	require.Zero(t, k)
}

// An agent that fails by itself is warned of that; what others have done to it teaches nothing.
func TestFailureOfTheAgent(t *testing.T) {
	warned := func(b *bench) (complaints []string) {
		k, err := b.mem.Layer().Known(b.Context(), "")
		require.NoError(t, err)
		for _, w := range k.Warnings {
			complaints = append(complaints, w.Complaint)
		}
		return complaints
	}
	b := newBench(t, arceino.MemoryOptions{}, editor{}, true, slices.Repeat([]string{`{"a":"good"}`}, 9)...)
	answer, err := b.generate("mend")
	require.ErrorIs(t, err, compose.ErrExceedMaxSteps)
	require.NoError(t, b.err)
	require.Nil(t, answer)
	require.Contains(t, strings.Join(warned(b), "\n"), "exceeds max steps")
	_, err = b.generate("mend")
	require.Error(t, err)
	require.Contains(t, b.heard[0].Content, "exceeds max steps", "the next run is told")

	for name, err := range map[string]error{
		"away": errors.New("error, status code: 503"), "canceled": context.Canceled,
		"interrupted": compose.Interrupt(t.Context(), "a person has to agree"),
	} {
		b := newBench(t, arceino.MemoryOptions{}, editor{err}, true, `{"a":"good"}`)
		_, failed := b.generate("mend")
		require.Error(t, failed, name)
		require.NoError(t, b.err, name)
		require.Empty(t, warned(b), name)
	}
	b = newBench(t, arceino.MemoryOptions{}, editor{errors.New("no such file")}, true, `{"a":"good"}`)
	_, err = b.generate("mend")
	require.ErrorContains(t, err, "no such file")
	require.Len(t, warned(b), 1)
}

// A call that did nothing is no part of the plan: one that is no JSON, or what the host says of a result.
func TestRefusedCall(t *testing.T) {
	malformed, bad, good := `{"a":"bad`, `{"a":"bad"}`, `{"a":"good"}`
	refused := func(result string) bool { return strings.HasPrefix(result, "refused") }
	b := newBench(t, arceino.MemoryOptions{}, editor{}, true, malformed, good)
	b.mends("mend")
	require.Empty(t, b.Note)
	require.Equal(t, []string{"edit " + good}, b.plan())
	b = newBench(t, arceino.MemoryOptions{Failed: refused}, editor{}, true, bad, malformed, good)
	b.mends("mend")
	require.Equal(t, []string{"edit " + good}, b.plan())
	b = newBench(t, arceino.MemoryOptions{}, editor{}, true, bad, good)
	b.mends("mend")
	require.Equal(t, []string{"edit " + bad, "edit " + good}, b.plan(), "nobody has said that it did nothing")
	none := func(string) bool { return false }
	b = newBench(t, arceino.MemoryOptions{Failed: none}, editor{}, true, malformed, good)
	b.mends("mend")
	require.Equal(t, "a call has inputs that are no JSON", b.Note, "the host's tool may have read it")
	b = newBench(t, arceino.MemoryOptions{}, editor{}, true, "")
	b.mends("mend")
	require.Equal(t, []string{"edit {}"}, b.plan(), "no arguments are none that are malformed")
}

// The call of a tool that returns directly is not seen: what came before it is no plan.
func TestReturnDirectly(t *testing.T) {
	b := newBench(t, arceino.MemoryOptions{}, editor{}, true, `{"a":"good"}`)
	_, err := b.mem.Generate(t.Context(), generates(func(ctx context.Context, in []*schema.Message) *schema.Message {
		call := schema.ToolCall{ID: "1", Function: schema.FunctionCall{Name: "look", Arguments: "{}"}}
		b.mem.Modifier(nil)(ctx, append(in, schema.AssistantMessage("", []schema.ToolCall{call}),
			schema.ToolMessage("it is red", "1")))
		return schema.ToolMessage("edited", "2")
	}), question)
	require.NoError(t, err)
	require.NoError(t, b.err)
	k, err := b.mem.Layer().Known(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, k.Suggestions)
}

// Where Case sets a Text, the message is no condition of a plan. Memories are recalled by it, and what only it
// says is not learned.
func TestTextOfTheCase(t *testing.T) {
	b := newBench(t, arceino.MemoryOptions{Case: func(context.Context, []*schema.Message) learn.Case {
		return learn.Case{Text: "Mend the build.", Situation: "red build"}
	}}, editor{}, true, `{"a":"good"}`)
	fact := memory.Draft{Kind: memory.Fact, Content: "TestParrot needs the network"}
	_, err := b.mem.Layer().Memory("").Remember(t.Context(), fact)
	require.NoError(t, err)
	b.mends("a log")
	require.NotContains(t, b.heard[0].Content, "needs the network")
	b.mends("--- FAIL: TestParrot " + strings.Repeat("a <long> log\n", 5000))
	require.Contains(t, b.heard[0].Content, "needs the network")
	b.mends("a third one")
	require.True(t, b.fires())
	b = newBench(t, arceino.MemoryOptions{Case: func(context.Context, []*schema.Message) learn.Case {
		return learn.Case{Text: "Mend the build."}
	}}, editor{}, true, `{"a":"EVIL-900"}`)
	b.mends("write EVIL-900")
	require.Contains(t, b.Note, "alone")
}
