package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/tools"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// model answers by what it is asked, and keeps the requests.
type model struct {
	asked  []*reason.Request
	answer func(n int, r *reason.Request) (*reason.Response, error) // n from 1, of its own requests
}

func (m *model) Generate(_ context.Context, r *reason.Request) (*reason.Response, error) {
	m.asked = append(m.asked, r)
	return m.answer(len(m.asked), r)
}

// script is a model whose n-th answer is the n-th of the list, by what has been answered in the conversation.
func script(answers ...*reason.Response) *model {
	return &model{answer: func(_ int, r *reason.Request) (*reason.Response, error) {
		n := 0
		for _, m := range r.Messages {
			if m.Role == reason.RoleModel && !(len(m.Calls) == 1 && m.Calls[0].Name == "unknown_") { // a call of nothing is no answer
				n++
			}
		}
		if r.OnText != nil {
			r.OnText(answers[n].Text)
		}
		return answers[n], nil
	}}
}

func says(text string) *reason.Response {
	return &reason.Response{Text: text, Stop: "end", Usage: &reason.Usage{Calls: 1, Input: 100, Output: 10}}
}

// calls is an answer with calls: name and inputs in turn.
func calls(nameInputs ...string) *reason.Response {
	r := &reason.Response{Stop: "tools", Usage: &reason.Usage{Calls: 1, Input: 100, Output: 10}}
	for i := 0; i < len(nameInputs); i += 2 {
		r.Calls = append(r.Calls, reason.ToolCall{
			ID: fmt.Sprint("id", i), Name: nameInputs[i], Inputs: json.RawMessage(nameInputs[i+1]),
		})
	}
	return r
}

// shop is the world: every call that is made is in its log.
type shop struct {
	mu    sync.Mutex
	log   []string
	state string // what lookup answers
}

func (s *shop) did(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *shop) count(prefix string) (n int) {
	for _, l := range s.log {
		if strings.HasPrefix(l, prefix) {
			n++
		}
	}
	return n
}

type lookupIn struct {
	Order string `json:"order" jsonschema:"the id of the order"`
}

type refundIn struct {
	Order  string  `json:"order"`
	Amount float64 `json:"amount"`
	Note   string  `json:"note,omitempty"`
}

func (s *shop) tools(mode act.Mode) []tools.Tool {
	lookup := tools.Func("lookup", "Returns an order.", func(_ context.Context, in lookupIn) (map[string]any, error) {
		s.did("lookup %s", in.Order)
		if in.Order == "none" {
			return nil, errors.New("no such order")
		}
		return map[string]any{"order": in.Order, "state": s.state, "about": "order " + in.Order + " of anna"}, nil
	})
	stock := tools.Func("stock", "Returns what is left.", func(_ context.Context, in struct{}) (int, error) {
		s.did("stock")
		return 7, nil
	})
	refund := tools.Func("refund", "Pays back.", func(_ context.Context, in refundIn) (string, error) {
		s.did("refund %s %v", in.Order, in.Amount)
		return "refunded", nil
	})
	refund.Irreversible, refund.Mode = true, mode
	return []tools.Tool{lookup, stock, refund}
}

// try makes an attempt as a process that has just begun.
func try(t *testing.T, st store.Store, x act.Executor, change func(c *act.Call)) act.Attempt {
	t.Helper()
	r, err := act.NewRunner([]act.Worker{{Name: "support", Executor: x, Gates: []act.Gate{act.NoGate}}}, nil, 0, nil)
	require.NoError(t, err)
	c := &act.Call{Case: reason.Case{Run: "7", Inputs: json.RawMessage(`{"order":"A-1"}`)}, Attempt: 1,
		Worker: r.Workers()[0], Task: reason.Task{Objective: "help anna"}}
	if change != nil {
		change(c)
	}
	return r.Run(act.WithJournal(t.Context(), act.NewJournal(store.NewGroup(st), "", nil, nil, nil), nil), c)
}

// asks is what an attempt waits for.
func asks(a act.Attempt) []act.Approval {
	pending, _ := errors.AsType[*act.PendingError](a.Err)
	if pending == nil || a.Outcome != "" {
		return nil
	}
	return pending.Approvals
}

func rule(t *testing.T, st store.Store, a act.Approval, allow bool) {
	t.Helper()
	j := act.NewJournal(store.NewGroup(st), "", nil, nil, nil)
	require.NoError(t, act.Rule(t.Context(), j, act.Ruling{Approval: a.ID, By: "ben", Allow: allow, Note: "checked"}))
}

func TestApprovalInTheMiddle(t *testing.T) {
	for _, allow := range []bool{true, false} {
		st, s := store.NewMem(), &shop{state: "lost"}
		m := script(
			calls("lookup", `{"order":"A-1"}`, "stock", `{}`),
			calls("stock", `{}`, "refund", `{"order":"A-1","amount":50}`, "lookup", `{"order":"A-2"}`),
			says("done"),
		)
		x := tools.New(m, nil, s.tools(act.Gated)...)
		a := try(t, st, x, nil)
		require.Empty(t, a.Outcome)
		require.Len(t, asks(a), 1)
		require.JSONEq(t, `{"order":"A-1","amount":50}`, string(asks(a)[0].Inputs))
		require.ElementsMatch(t, []string{"lookup A-1", "stock", "stock", "lookup A-2"}, s.log, "siblings are finished")
		require.Len(t, asks(try(t, st, x, nil)), 1, "it is still open")
		rule(t, st, asks(a)[0], allow)
		a = try(t, st, x, nil)
		require.Equal(t, rank.Delivered, a.Outcome, a.Complaint)
		require.Equal(t, "done", a.Result.Text)
		require.Len(t, m.asked, 3, "each answer once")
		require.Equal(t, 4, s.count("lookup")+s.count("stock"))
		last := m.asked[2].Messages
		if allow {
			require.Equal(t, 1, s.count("refund A-1 50"))
			require.Len(t, a.Result.Plan.Calls, 5)
			require.Equal(t, iar.Success, a.Result.Reflection.Status)
		} else {
			require.Zero(t, s.count("refund"))
			require.Empty(t, a.Result.Plan.Calls, "what is left after a no teaches no plan")
			require.Equal(t, iar.Warning, a.Result.Reflection.Status)
			require.Contains(t, last[len(last)-2].Text, "denied by ben: checked")
		}
		require.Equal(t, 3, a.Usage.Calls)
		require.Equal(t, 330, a.Usage.Input+a.Usage.Output)
		require.Nil(t, a.Usage.CostUSD, "no provider has told a price")
	}
}

// A6: the refund of another attempt is not made again, whoever asks for it.
func TestRefundOnceInARun(t *testing.T) {
	st, s := store.NewMem(), &shop{}
	again := func(attempt int, amount string) act.Attempt {
		m := script(calls("refund", `{"amount":`+amount+`,"order":"A-1"}`), says("paid"))
		return try(t, st, tools.New(m, nil, s.tools(act.Autonomous)...), func(c *act.Call) { c.Attempt = attempt })
	}
	for attempt := range 3 {
		require.Equal(t, rank.Delivered, again(attempt+1, "50").Outcome)
	}
	require.Equal(t, 1, s.count("refund"))
	a := again(4, "55")
	require.Len(t, asks(a), 1)
	require.Contains(t, strings.Join(asks(a)[0].Why, ""), "with other inputs")
	require.Equal(t, 1, s.count("refund"))

	// Two equal calls of one answer are one.
	st, s = store.NewMem(), &shop{}
	m := script(calls("refund", `{"order":"A-1","amount":50}`, "refund", `{"amount":50,"order":"A-1"}`), says("paid"))
	require.Equal(t, rank.Delivered, try(t, st, tools.New(m, nil, s.tools(act.Autonomous)...), nil).Outcome)
	require.Equal(t, 1, s.count("refund"))
}

// An outage, a panic or a deadline of its own leaves open whether it was paid: a person is asked before the model goes
// on, which would teach a plan without it.
func TestRefundOfUnknownEnd(t *testing.T) {
	for _, end := range []error{
		&reason.Error{Class: reason.Unavailable, Err: errors.New("connection reset")},
		fmt.Errorf("connection reset: %w", context.DeadlineExceeded),
		nil, // it panics
	} {
		st, s := store.NewMem(), &shop{}
		refund := s.tools(act.Autonomous)[2]
		pay := refund.Call
		refund.Call = func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
			out, err := pay(ctx, in)
			switch {
			case s.count("refund") > 1:
				return out, err
			case end == nil:
				panic("connection reset")
			}
			return nil, end
		}
		m := script(calls("refund", `{"order":"A-1","amount":50}`), says("paid"))
		x := tools.New(m, nil, refund)
		a := try(t, st, x, nil)
		require.Equal(t, []any{rank.Away, true}, []any{a.Outcome, errors.Is(a.Err, act.ErrUnknownEnd)})
		require.Contains(t, a.Complaint, "its end is not known: ")
		require.Contains(t, a.Complaint, "connection reset")
		a = try(t, st, x, nil)
		require.Len(t, asks(a), 1)
		require.True(t, asks(a)[0].Begun)
		require.Equal(t, []any{1, 1}, []any{s.count("refund"), len(m.asked)})
		rule(t, st, asks(a)[0], true)
		a = try(t, st, x, nil)
		require.Equal(t, []any{rank.Delivered, false, 2}, []any{a.Outcome, errors.Is(a.Err, act.ErrUnknownEnd), s.count("refund")}, a.Complaint)
		require.Len(t, a.Plan.Calls, 1)
	}
}

// A call that was begun, and whose tool has another name or other inputs by now, asks all the same. What a
// person says of it the model is told, and the new tool is not called unasked while nobody knows.
func TestGoneTool(t *testing.T) {
	type in struct {
		ID string `json:"id"`
	}
	for _, name := range []string{"refund", "payback"} {
		for _, c := range []struct{ made, says string }{{`"paid by hand"`, "yes"}, {"", "yes"}, {"", "no"}} {
			st, s, old := store.NewMem(), &shop{}, 0
			refund := s.tools(act.Autonomous)[2]
			refund.Call = func(context.Context, json.RawMessage) (json.RawMessage, error) { old++; panic("reset") }
			try(t, st, tools.New(script(calls("refund", `{"order":"A-1","amount":50}`)), nil, refund), nil)

			now := tools.Func(name, "Pays back.", func(context.Context, in) (string, error) {
				s.did("now")
				return "paid", nil
			})
			now.Irreversible = true
			m := script(calls("refund", `{"order":"A-1","amount":50}`), calls(name, `{"id":"A-1"}`), says("done"))
			if c.made != "" {
				m = script(calls("refund", `{"order":"A-1","amount":50}`), says("done"))
			}
			x := tools.New(m, nil, now)
			a := try(t, st, x, nil)
			require.Len(t, asks(a), 1)
			require.True(t, asks(a)[0].Begun)
			require.Equal(t, "refund", asks(a)[0].Name)
			ruling := act.Ruling{Approval: asks(a)[0].ID, By: "ben", Allow: c.says == "yes", Result: json.RawMessage(c.made)}
			j := act.NewJournal(store.NewGroup(st), "", nil, nil, nil)
			require.NoError(t, act.Rule(t.Context(), j, ruling))
			a = try(t, st, x, nil)
			told := m.asked[0].Messages[2].Text
			if c.made != "" {
				require.Equal(t, rank.Delivered, a.Outcome, a.Complaint)
				require.Equal(t, "paid by hand", told)
				continue
			}
			require.Contains(t, told, map[string]string{"yes": "", "no": "nobody knows whether it has"}[c.says])
			require.Len(t, asks(a), 1)
			require.Equal(t, []any{name, true}, []any{asks(a)[0].Name, asks(a)[0].Begun})
			rule(t, st, asks(a)[0], true)
			require.Equal(t, rank.Delivered, try(t, st, x, nil).Outcome)
			require.Equal(t, []any{1, []string{"now"}}, []any{old, s.log})
		}
	}
}

// A no to a call that may have been made does not say that it was not made: neither to the model nor in the journal.
func TestDeniedAndPerhapsMade(t *testing.T) {
	for why, silence := range map[string]bool{"denied by ben: checked": false, "denied: nobody has ruled on refund by": true} {
		synctest.Test(t, func(t *testing.T) {
			st, s := store.NewMem(), &shop{}
			refund := s.tools(act.Autonomous)[2]
			refund.Call = func(context.Context, json.RawMessage) (json.RawMessage, error) { panic("connection reset") }
			m := script(calls("refund", `{"order":"A-1","amount":50}`), says("nobody knows"))
			x := tools.New(m, nil, refund)
			try(t, st, x, nil)
			a := try(t, st, x, nil)
			require.Len(t, asks(a), 1)
			if silence {
				time.Sleep(24 * time.Hour)
			} else {
				rule(t, st, asks(a)[0], false)
			}
			require.Equal(t, rank.Delivered, try(t, st, x, nil).Outcome)
			told := m.asked[1].Messages[2].Text
			require.Contains(t, told, why)
			require.Contains(t, told, "this run may have made such a call already, and nobody knows whether it has")
			var kept []string
			for events, err := range act.NewJournal(store.NewGroup(st), "", nil, nil, nil).Events(t.Context(), 0) {
				require.NoError(t, err)
				for _, e := range events {
					kept = append(kept, e.Text)
				}
			}
			require.Contains(t, kept, told)
		})
	}
}

func TestReplay(t *testing.T) {
	recorded := func(order, state string) *reason.Plan {
		s := &shop{state: state}
		m := script(calls("lookup", `{"order":"`+order+`"}`), calls("stock", `{}`), says("in stock"))
		a := try(t, store.NewMem(), tools.New(m, nil, s.tools(act.Gated)...), func(c *act.Call) {
			c.Inputs = json.RawMessage(`{"order":"` + order + `"}`)
		})
		require.Equal(t, rank.Delivered, a.Outcome)
		require.Len(t, m.asked, 3)
		return a.Result.Plan
	}
	first, second := recorded("A-1", "lost"), recorded("B-22", "lost")
	require.Equal(t, first.Calls[0].ResultDigest, second.Calls[0].ResultDigest, "values are replaced")
	require.NotEqual(t, first.Calls[0].ResultDigest, recorded("A-1", "sent").Calls[0].ResultDigest)
	ten, twenty := recorded("10", "100 left"), recorded("20", "200 left")
	require.NotEqual(t, ten.Calls[0].ResultDigest, twenty.Calls[0].ResultDigest, "10 is no part of 100")

	for _, c := range []struct {
		name  string
		order string
		state string
		plan  *reason.Plan
		log   []string // what was called before the model was asked
		told  []string
		left  string // the call at which the plan was left, and why
	}{
		{"the third time", "A-1", "lost", first, []string{"lookup A-1", "stock"}, []string{"stock {}: 7"}, ""},
		{"another order", "C-3", "lost", bound(first, "C-3"), []string{"lookup C-3", "stock"}, []string{"order C-3 of anna"}, ""},
		{"another answer", "A-1", "sent", first, []string{"lookup A-1"}, []string{`"state":"sent"`, "answered the same case before", "stock"}, "lookup: it returned something else"},
		{"a tool that is gone", "A-1", "lost", &reason.Plan{Calls: []reason.PlanCall{{Name: "gone", ResultDigest: "x"}}}, nil, nil, "gone: the worker cannot"},
		{"no digest", "A-1", "lost", &reason.Plan{Calls: []reason.PlanCall{
			{Name: "stock", Inputs: json.RawMessage(`{}`)}, first.Calls[0]}}, []string{"stock"}, []string{"stock {}: 7", "lookup"}, "stock: it returned something else"},
		{"inputs that do not fit", "A-1", "lost", &reason.Plan{Calls: []reason.PlanCall{
			{Name: "lookup", Inputs: json.RawMessage(`{"order":1}`), ResultDigest: "x"}}}, nil, nil, "lookup: the worker cannot"},
		{"an irreversible call", "A-1", "lost", &reason.Plan{Calls: []reason.PlanCall{
			first.Calls[0], {Name: "refund", Inputs: json.RawMessage(`{"order":"A-1","amount":5}`), ResultDigest: "x"}, first.Calls[1],
		}}, []string{"lookup A-1"}, []string{"refund", "answered the same case before"}, "refund: it cannot be undone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &shop{state: c.state}
			m := &model{}
			m.answer = func(n int, r *reason.Request) (*reason.Response, error) {
				require.Equal(t, c.log, slices.Clone(s.log))
				said := r.Messages[0].Text
				for i, m := range r.Messages[1:] { // what was made is told as calls of the model and their results
					require.Equal(t, []string{reason.RoleModel, reason.RoleTool}[i%2], m.Role)
					if said += m.Text; len(m.Calls) > 0 {
						require.Equal(t, m.Calls[0].ID, r.Messages[i+2].CallID)
						said += "\n" + m.Calls[0].Name + " " + string(m.Calls[0].Inputs) + ": "
					}
				}
				require.Len(t, r.Messages, 1+2*len(c.log))
				for _, want := range c.told {
					require.Contains(t, said, want)
				}
				return says("in stock"), nil
			}
			st := store.NewMem()
			a := try(t, st, tools.New(m, nil, s.tools(act.Gated)...), func(call *act.Call) {
				call.Inputs, call.Fires = json.RawMessage(`{"order":"`+c.order+`"}`), c.plan
			})
			require.Equal(t, rank.Delivered, a.Outcome, a.Complaint)
			require.Equal(t, len(c.log), a.FiredCalls)
			left := ""
			for events, err := range act.NewJournal(store.NewGroup(st), "", nil, nil, nil).Events(t.Context(), 0) {
				require.NoError(t, err)
				for _, e := range events {
					if e.Kind == "left" {
						left = e.Name + ": " + e.Text
					}
				}
			}
			require.Equal(t, left != "", len(c.plan.Calls) > len(c.log), left)
			require.Contains(t, left, c.left)
			require.Len(t, m.asked, 1)
			require.Len(t, a.Result.Plan.Calls, len(c.log), "what was replayed is part of the plan")
		})
	}
}

// A provider that refuses calls that it has not signed gets those of a plan in words, and the model goes on with
// its own. Resumed, it is told the same.
func TestReplayForWhoSigns(t *testing.T) {
	s, st := &shop{state: "lost"}, store.NewMem()
	var told []string
	m := &model{}
	m.answer = func(n int, r *reason.Request) (*reason.Response, error) {
		for _, said := range r.Messages {
			if len(said.Calls) > 0 && said.Opaque == nil {
				return nil, reason.Refusal(400, nil, []byte(`{"error":{"message":"the call is not signed"}}`))
			}
		}
		told = append(told, r.Messages[0].Text)
		if len(told) == 1 {
			answer := calls("stock", `{}`)
			answer.Opaque = json.RawMessage(`"signed"`)
			return answer, nil
		}
		require.Equal(t, []string{told[0], "7"}, []string{told[1], r.Messages[2].Text})
		return says("in stock"), nil
	}
	a := try(t, st, tools.New(m, nil, s.tools(act.Gated)...), func(c *act.Call) {
		c.Fires = &reason.Plan{Calls: []reason.PlanCall{{Name: "lookup", Inputs: json.RawMessage(`{"order":"A-1"}`)}}}
	})
	require.Equal(t, rank.Delivered, a.Outcome, a.Complaint)
	require.Contains(t, told[0], "lookup {\"order\":\"A-1\"} returned: ")
	require.Equal(t, []string{"lookup A-1", "stock"}, s.log)
	require.Equal(t, 2, a.Usage.Calls)
}

// bound is the plan as it is bound to another order.
func bound(p *reason.Plan, order string) *reason.Plan {
	calls := slices.Clone(p.Calls)
	calls[0].Inputs = json.RawMessage(`{"order":"` + order + `"}`)
	return &reason.Plan{Calls: calls}
}

func TestWhatTheModelIsShown(t *testing.T) {
	s := &shop{}
	huge := tools.Func("huge", "", func(context.Context, struct{}) (string, error) { return strings.Repeat("é", 50_000), nil })
	vast := tools.Func("vast", "", func(context.Context, struct{}) (string, error) { return strings.Repeat("é", 5<<20), nil })
	crash := tools.Func("crash", "", func(context.Context, struct{}) (string, error) { panic("boom") })
	nothing := tools.Tool{Worker: act.Worker{Name: "nothing"}, Call: func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil }}
	typedNil := tools.Tool{Worker: act.Worker{Name: "typednil"}, Call: func(context.Context, json.RawMessage) (json.RawMessage, error) {
		var e *reason.Error
		return nil, e
	}}
	m := script(
		calls("lookup", `{"order":"none"}`, "gone", `{}`, "lookup", `{"order":7}`, "lookup", `{"order":`, "lookup", `{"Order":"x","order":"y"}`,
			"huge", ``, "crash", `{}`, "nothing", `{}`, "typednil", `{}`, "refund", `{"order":"[secret key]","amount":1}`,
			"vast", `{}`),
		says("so be it"),
	)
	a := try(t, store.NewMem(), tools.New(m, nil, append(s.tools(act.Autonomous), huge, vast, crash, nothing, typedNil)...), nil)
	require.Equal(t, rank.Delivered, a.Outcome, a.Complaint)
	shown := m.asked[1].Messages[2:]
	for i, want := range []string{
		"no such order", `no tool "gone"`, "'/order': got number", "no JSON: unexpected EOF", "additional properties 'Order'",
		"cut: 100000 bytes in all", "panic: boom", "", "nil *reason.Error", "unlisted", "more than 8388608 bytes",
	} {
		require.Contains(t, shown[i].Text, want)
		require.Equal(t, want != "" && i != 5, strings.HasPrefix(shown[i].Text, "Error: "), want)
		require.Less(t, len(shown[i].Text), 17<<10)
		require.Equal(t, fmt.Sprint("id", 2*i), shown[i].CallID)
	}
	require.Zero(t, s.count("refund"))
	require.Len(t, a.Result.Plan.Calls, 2, "what failed is no part of the plan")
	require.Less(t, iar.Resonance(*a.Result.Reflection), .3)
}

// An error is cut behind its secrets: no part of one is left where the cut is.
func TestAnErrorIsCutBehindItsSecrets(t *testing.T) {
	const secret = "Tr0ub4dor&3-and-what-follows-it"
	clean, err := redact.New(nil).With(map[string]string{"DB": secret})
	require.NoError(t, err)
	for _, place := range []int{8 << 10, 16 << 10, 64 << 10, 128 << 10} {
		long := errors.New(strings.Repeat("x ", place/2-8) + secret + " and so on")
		fail := func(context.Context, struct{}) (string, error) { return "", long }
		m := script(calls("fail", `{}`), says("so be it"))
		worker := act.Worker{Name: "w", Executor: tools.New(m, nil, tools.Func("fail", "", fail)), Gates: []act.Gate{act.NoGate}}
		fails := act.Worker{Name: "f", Gates: worker.Gates, Executor: act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) {
			return nil, long
		})}
		r, err := act.NewRunner([]act.Worker{worker, fails}, nil, 0, nil)
		require.NoError(t, err)
		ctx := act.WithJournal(t.Context(), act.NewJournal(store.NewGroup(store.NewMem()), "", nil, nil, nil), clean)
		a := r.Run(ctx, &act.Call{Case: reason.Case{Run: "1"}, Attempt: 1, Worker: r.Workers()[0], Task: reason.Task{Objective: "o"}})
		require.Equal(t, rank.Delivered, a.Outcome, a.Complaint)
		b := r.Run(ctx, &act.Call{Case: reason.Case{Run: "2"}, Attempt: 1, Worker: r.Workers()[1], Task: reason.Task{Objective: "o"}})
		told := fmt.Sprint(m.asked[1].Messages, b.Err, b.Complaint)
		require.Contains(t, told, "x x x")
		require.NotContains(t, told, secret[:6], place)
	}
}

// What is known of the case reaches a model that has no reasoner before it: rules as rules, and plans that it
// can make.
func TestWhatIsKnownIsTold(t *testing.T) {
	hit := func(kind memory.Kind, text string) memory.Hit {
		return memory.Hit{Record: memory.Record{Draft: memory.Draft{Kind: kind, Content: text}}}
	}
	plan := func(differs string, names ...string) (s reason.Suggestion) {
		for _, name := range names {
			s.Calls = append(s.Calls, reason.PlanCall{Name: name, Inputs: json.RawMessage(`{"order":"{order}"}`)})
		}
		s.Differs = differs
		return s
	}
	m := script(says("done"))
	try(t, store.NewMem(), tools.New(m, nil, (&shop{}).tools(act.Autonomous)...), func(c *act.Call) {
		c.Memories = []memory.Hit{hit(memory.Rule, "Answer in German."), hit(memory.Fact, "Anna has a dog.")}
		c.Facts = []string{"prefers short answers"}
		c.Suggestions = []reason.Suggestion{plan("the words", "lookup", "refund"), plan("all", "planned", "lookup"), plan("nothing was called")}
	})
	said := m.asked[0].Messages[0].Text
	for _, want := range []string{
		"Rules that hold here:\n- Answer in German.\n", "\n| Anna has a dog.\n", "\n- prefers short answers\n",
		`the words): lookup {"order":"{order}"}; refund {"order":"{order}"}`,
	} {
		require.Contains(t, said, want)
	}
	require.NotContains(t, said, "planned", "a plan of tasks is a planner's")
	require.NotContains(t, said, "nothing was called")
}

func TestFinalAnswer(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","required":["paid"],"properties":{"paid":{"type":"boolean"}}}`)
	for _, c := range []struct {
		name    string
		schema  json.RawMessage
		answers []*reason.Response
		output  string // "": none
	}{
		{"text", nil, []*reason.Response{says("hello")}, `"hello"`},
		{"empty", nil, []*reason.Response{says(" "), says("hello")}, `"hello"`},
		{"cut", nil, []*reason.Response{{Text: "hel", Stop: "length", Usage: &reason.Usage{}}, says("hello")}, `"hello"`},
		{"object", schema, []*reason.Response{says(`{"paid":true}`)}, `{"paid":true}`},
		{"fenced", schema, []*reason.Response{says("```json\n{\"paid\":true}\n```")}, `{"paid":true}`},
		{"mended", schema, []*reason.Response{says(`paid`), says(`{"paid":"yes"}`), says(`{"paid":true}`)}, `{"paid":true}`},
		{"never", schema, []*reason.Response{says(`paid`), says(`paid`), says(`paid`)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := script(c.answers...)
			a := try(t, store.NewMem(), tools.New(m, &tools.Options{Schema: c.schema}), nil)
			require.Len(t, m.asked, len(c.answers))
			require.Equal(t, len(c.answers), a.Usage.Calls, "what failed has its price, too")
			if c.output == "" {
				require.Equal(t, rank.Malformed, a.Outcome)
				return
			}
			require.Equal(t, c.output, string(a.Result.Output))
		})
	}
	cut, refused := calls("refund", `{"order":"7"}`), calls("refund", `{"order":"7"}`)
	cut.Stop, refused.Stop, refused.Text = reason.StopLength, reason.StopFilter, "I will not."
	paid := 0
	refund := tools.Func("refund", "", func(context.Context, map[string]string) (int, error) { paid++; return paid, nil })
	m := script(cut, says("hello"))
	a := try(t, store.NewMem(), tools.New(m, nil, refund), nil)
	require.Equal(t, rank.Delivered, a.Outcome)
	require.Equal(t, "(cut off)", m.asked[1].Messages[1].Text, "some endpoints refuse a message of nothing")
	a = try(t, store.NewMem(), tools.New(script(refused), nil, refund), nil)
	require.Equal(t, rank.Failed, a.Outcome, "a refusal is no delivery, whatever the gates")
	refused.Text = ""
	silent := try(t, store.NewMem(), tools.New(script(refused), nil, refund), nil)
	require.Equal(t, "the model refuses to answer: it gives no reason", silent.Complaint)
	require.Contains(t, a.Complaint, "I will not.")
	require.Zero(t, paid, "what a torn answer calls is not called")
	lost := says("I refund it now.")
	lost.Stop = reason.StopTools
	m = script(lost, calls("functions.refund", `{"order":"7"}`), says("hello"))
	a = try(t, store.NewMem(), tools.New(m, nil, refund), nil)
	require.Equal(t, "hello", a.Text, "a call that was lost on its way is no answer")
	require.Contains(t, m.asked[2].Messages[4].Text, `there are ["refund"]`)
	require.Zero(t, paid, "no name is guessed")

}

// A tool or an Approver that ends the goroutine of a call, as t.FailNow does, fails the attempt.
func TestGoexit(t *testing.T) {
	quit := tools.Func("quit", "", func(context.Context, struct{}) (int, error) { runtime.Goexit(); return 0, nil })
	look := tools.Func("look", "", func(context.Context, struct{}) (int, error) { return 1, nil })
	look.Mode = act.Gated
	x := tools.New(script(calls("quit", `{}`, "look", `{}`)), nil, quit, look)
	w := act.Worker{Name: "w", Executor: x, Gates: []act.Gate{act.NoGate}}
	approver := func(context.Context, act.Approval) (act.Ruling, error) { runtime.Goexit(); return act.Ruling{}, nil }
	r, err := act.NewRunner([]act.Worker{w}, approver, 0, nil)
	require.NoError(t, err)
	a := r.Run(t.Context(), &act.Call{Case: reason.Case{Run: "7"}, Attempt: 1, Worker: r.Workers()[0]})
	require.Equal(t, rank.Failed, a.Outcome)
	require.Equal(t, 2, strings.Count(a.Complaint, "ended the goroutine"))
}

func TestBounds(t *testing.T) {
	loop := func(price *float64) *model {
		return &model{answer: func(n int, _ *reason.Request) (*reason.Response, error) {
			r := calls("lookup", fmt.Sprintf(`{"order":"A-%d"}`, n), "lookup", fmt.Sprintf(`{"order":"B-%d"}`, n))
			r.Usage.CostUSD = price
			return r, nil
		}}
	}
	price := .02
	for _, c := range []struct {
		name    string
		o       tools.Options
		price   *float64
		answers int
		calls   int
		says    string
	}{
		{"calls of tools", tools.Options{}, nil, 38, 64, "goes on calling tools: Error: no calls are left"},
		{"calls of the model", tools.Options{Max: reason.Usage{Calls: 4}}, nil, 4, 8, "4 of 4 calls"},
		{"tokens", tools.Options{Max: reason.Usage{Input: 300}}, nil, 3, 6, "300 of 300 input tokens"},
		{"dollars", tools.Options{Max: reason.Usage{CostUSD: new(.03)}}, &price, 2, 4, "$0.0400 of $0.0300"},
		{"calls below 0", tools.Options{Max: reason.Usage{Calls: -1}}, nil, 0, 0, "0 of -1 calls"},
		{"tokens below 0", tools.Options{Max: reason.Usage{Output: -5}}, nil, 0, 0, "0 of -5 output tokens"},
		{"dollars that are no number", tools.Options{Max: reason.Usage{CostUSD: new(math.NaN())}}, &price, 1, 2, "of $NaN"},
		{"an unknown price is no bound", tools.Options{Max: reason.Usage{CostUSD: new(.03)}}, nil, 38, 64, "goes on calling tools: Error: no calls are left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, m := &shop{}, loop(c.price)
			a := try(t, store.NewMem(), tools.New(m, &c.o, s.tools(act.Gated)...), nil)
			require.Equal(t, rank.Failed, a.Outcome)
			require.Contains(t, a.Complaint, c.says)
			require.Len(t, m.asked, c.answers)
			require.Len(t, s.log, c.calls)
			if c.answers == 0 {
				require.Nil(t, a.Usage)
				return
			}
			require.Equal(t, c.answers, a.Usage.Calls)
			if c.price != nil {
				require.InDelta(t, .02*float64(c.answers), *a.Usage.CostUSD, 1e-9)
			}
		})
	}
}

// A model that makes the calls again that it has made, with the same results, is told so, and the attempt ends
// after five such answers in a row, also where calls take turns or do not fit. What is new begins the count again.
func TestCallsThatBringNothingNew(t *testing.T) {
	same := "\n(the same call has returned the same before)"
	for name, turns := range map[string][]*reason.Response{
		"inputs: no JSON: unexpected EOF": {calls("lookup", `{"order":"A-1`, "lookup", `{"order":"A-1`)},
		"there is no tool":                {calls("look", `{"order":"A-1"}`)},
		"stock: 7":                        {calls("stock", `{}`), calls("lookup", `{"order":"A-1"}`)},
	} {
		m, s := &model{answer: func(n int, _ *reason.Request) (*reason.Response, error) {
			if n == 5 {
				return calls("lookup", `{"order":"N-1"}`), nil
			}
			return turns[n%len(turns)], nil
		}}, &shop{}
		a := try(t, store.NewMem(), tools.New(m, nil, s.tools(act.Gated)...), nil)
		require.Equal(t, rank.Failed, a.Outcome, a.Complaint)
		require.Contains(t, a.Complaint, "goes on calling")
		require.Contains(t, a.Complaint, name)
		asked := m.asked[len(m.asked)-1].Messages
		require.Len(t, m.asked, 10)
		require.True(t, strings.HasSuffix(asked[len(asked)-1].Text, same))
		require.False(t, strings.HasSuffix(asked[2].Text, same))
	}

	// What a tool says may be another thing the next time, and then it is new.
	for _, last := range []string{"not yet", "now"} {
		asked := 0
		poll := tools.Func("poll", "", func(context.Context, struct{}) (string, error) {
			if asked++; asked == 5 {
				return last, nil
			}
			return "not yet", nil
		})
		again := calls("poll", `{}`)
		m := script(again, again, again, again, again, says("done"))
		require.Equal(t, rank.Delivered, try(t, store.NewMem(), tools.New(m, nil, poll), nil).Outcome)
		tells := strings.HasSuffix(m.asked[5].Messages[10].Text, same)
		require.Equal(t, last == "not yet", tells)
	}
}

// The end of a tool's Timeout is an error that the model sees. Without one a hang takes the attempt's time, and
// its error says which tool.
func TestHangingTool(t *testing.T) {
	for _, most := range []time.Duration{time.Second, 0} {
		synctest.Test(t, func(t *testing.T) {
			drain := tools.Func("drain", "Drains.", func(ctx context.Context, _ struct{}) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			})
			drain.Timeout = most
			m, began := script(calls("drain", `{}`), says("it hangs")), time.Now()
			a := try(t, store.NewMem(), tools.New(m, nil, drain), nil)
			if most == 0 {
				require.Equal(t, []any{rank.TimedOut, "drain: context deadline exceeded"}, []any{a.Outcome, a.Complaint})
				return
			}
			require.Equal(t, rank.Delivered, a.Outcome, a.Complaint)
			require.Equal(t, most, time.Since(began))
			require.Contains(t, m.asked[1].Messages[2].Text, "context deadline exceeded")
		})
	}
}

// A rate limit or an outage in the middle is no failure, and the attempt goes on with what it has.
func TestGoesOnAfterAnOutage(t *testing.T) {
	st, s := store.NewMem(), &shop{}
	m := script(calls("stock", `{}`), says("seven"))
	inner, down := m.answer, true
	m.answer = func(n int, r *reason.Request) (*reason.Response, error) {
		if n == 2 && down {
			return nil, &reason.Error{Class: reason.RateLimited, Err: errors.New("429")}
		}
		if n == 3 {
			return nil, &reason.Error{Class: reason.Invalid, Err: errors.New("an answer cut off in the middle")}
		}
		if n == 4 {
			return nil, nil // malformed, too
		}
		return inner(n, r)
	}
	x := tools.New(m, nil, s.tools(act.Gated)...)
	a := try(t, st, x, nil)
	require.Equal(t, rank.Away, a.Outcome)
	require.Equal(t, reason.RateLimited, class(a))
	down = false
	a = try(t, st, x, nil)
	require.Equal(t, rank.Delivered, a.Outcome, a.Complaint)
	require.Equal(t, "seven", a.Result.Text)
	require.Len(t, m.asked, 5)
	require.Len(t, s.log, 1)
}

// A model behind which a fifth of the calls is refused for its rate, a fifth fails and a fifth is malformed:
// every task is done, no call is made twice, and every wait is told.
func TestFlakyModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	waits, asked := 0, 0
	for range 30 {
		st, s := store.NewMem(), &shop{state: "lost"}
		m := script(calls("lookup", `{"order":"A-1"}`, "stock", `{}`), calls("refund", `{"order":"A-1","amount":5}`), says("done"))
		inner := m.answer
		m.answer = func(n int, r *reason.Request) (*reason.Response, error) {
			switch asked++; rng.IntN(5) {
			case 0:
				return nil, &reason.Error{Class: reason.RateLimited, Status: 429, Wait: time.Second, Err: errors.New("slow down")}
			case 1:
				return nil, &reason.Error{Class: reason.Unavailable, Status: 500, Err: errors.New("overloaded")}
			case 2:
				return []*reason.Response{nil, {Text: "<think>I could"}, {Calls: []reason.ToolCall{{}}}}[rng.IntN(3)], nil
			}
			return inner(n, r)
		}
		x := tools.New(m, nil, s.tools(act.Autonomous)...)
		a := try(t, st, x, nil)
		for ; a.Outcome == rank.Away || a.Outcome == rank.Malformed; a = try(t, st, x, nil) {
			require.NotEmpty(t, class(a))
			require.NotEmpty(t, a.Complaint)
			waits++
		}
		require.Equal(t, rank.Delivered, a.Outcome, a.Complaint)
		require.Equal(t, "done", a.Result.Text)
		require.Equal(t, 1, s.count("refund"))
		require.Len(t, s.log, 3)
	}
	t.Logf("%d answers asked for, %d waits", asked, waits)
}

func TestSecretsOfTools(t *testing.T) {
	const value = "correct horse battery"
	var got string
	login := tools.Func("login", "", func(_ context.Context, in struct {
		Key string `json:"key"`
	}) (string, error) {
		got = in.Key
		return "welcome, " + in.Key + " [secret other]", nil
	})
	login.Secrets = []string{"key"}
	m := script(calls("login", `{"key":"[secret key]"}`), says("I used [secret key]"))
	r, err := act.NewRunner([]act.Worker{{Name: "w", Executor: tools.New(m, nil, login), Gates: []act.Gate{act.NoGate}}},
		nil, 0, func(context.Context, string) (string, error) { return value, nil })
	require.NoError(t, err)
	ctx := act.WithJournal(t.Context(), act.NewJournal(store.NewGroup(store.NewMem()), "", nil, nil, nil), nil)
	a := r.Run(ctx, &act.Call{Case: reason.Case{Run: "7"}, Attempt: 1, Worker: r.Workers()[0]})
	require.Equal(t, rank.Delivered, a.Outcome, a.Complaint)
	require.Equal(t, value, got)
	shown := m.asked[1].Messages[2].Text
	require.NotContains(t, shown, value)
	require.Contains(t, shown, "[secret key]")
	require.NotContains(t, shown, "[secret other]", "what a tool says of itself is no placeholder")
	require.JSONEq(t, `{"key":"[secret key]"}`, string(a.Result.Plan.Calls[0].Inputs))
}

func TestWrongArguments(t *testing.T) {
	type node struct{ Next *node }
	for _, x := range []act.Executor{
		tools.New(nil, nil),
		tools.New(script(), &tools.Options{Schema: json.RawMessage(`{`)}),
		tools.New(script(), nil, tools.Tool{Worker: act.Worker{Name: "a"}}),
		tools.New(script(), nil, tools.Func("a", "", func(context.Context, string) (int, error) { return 0, nil })),
		tools.New(script(), nil, tools.Func("a", "", func(context.Context, node) (int, error) { return 0, nil })),
		tools.New(script(), nil, (&shop{}).tools(0)[0], (&shop{}).tools(0)[0]),
	} {
		a := try(t, store.NewMem(), x, nil)
		require.Equal(t, rank.Denied, a.Outcome)
		require.Equal(t, reason.Permanent, class(a))
	}
}

// What was streamed is not streamed again.
func TestStream(t *testing.T) {
	st, s := store.NewMem(), &shop{}
	x := tools.New(script(calls("refund", `{"order":"A-1","amount":50}`), says("it is paid")), nil, s.tools(act.Gated)...)
	var kinds []string
	watched := func() act.Attempt {
		r, err := act.NewRunner([]act.Worker{{Name: "support", Executor: x, Gates: []act.Gate{act.NoGate}}}, nil, 0, nil)
		require.NoError(t, err)
		j := act.NewJournal(store.NewGroup(st), "", nil, nil, func(e act.Event) { kinds = append(kinds, e.Kind) })
		a := r.Run(act.WithJournal(t.Context(), j, nil), &act.Call{Case: reason.Case{Run: "7"}, Attempt: 1, Worker: r.Workers()[0]})
		_, err = act.Step(act.WithJournal(t.Context(), j, nil), "last", nil, func(context.Context) (int, error) { return 0, nil })
		require.NoError(t, err)
		return a
	}
	a := watched()
	require.Equal(t, []string{"answer", "calling", "approval_asked"}, kinds)
	kinds = nil
	rule(t, st, asks(a)[0], true)
	watched()
	require.Equal(t, []string{"calling", "tool", "text", "text", "answer"}, kinds)
	kinds = nil
	watched()
	require.Empty(t, kinds)
	var kept []string
	for events, err := range act.NewJournal(store.NewGroup(st), "", nil, nil, nil).Events(t.Context(), 0) {
		require.NoError(t, err)
		for _, e := range events {
			kept = append(kept, e.Kind)
		}
	}
	require.Equal(t, []string{"answer", "approval_asked", "ruled", "tool", "answer"}, kept)
}

// Where an answer is asked for again, an event says that what was shown of it is void. Who starts anew there
// shows the answer once.
func TestShownOnce(t *testing.T) {
	m := &model{answer: func(n int, r *reason.Request) (*reason.Response, error) {
		r.OnText("Your order is on ")
		if n <= 2 {
			return nil, &reason.Error{Class: reason.Invalid, Err: errors.New("a broken chunk")}
		}
		r.OnText("the way.")
		return says("Your order is on the way."), nil
	}}
	r, err := act.NewRunner([]act.Worker{{Name: "w", Executor: tools.New(m, nil), Gates: []act.Gate{act.NoGate}}}, nil, 0, nil)
	require.NoError(t, err)
	var shown, kept []string
	text := ""
	j := act.NewJournal(store.NewGroup(store.NewMem()), "", nil, nil, func(e act.Event) {
		if text += e.Text; !e.Live {
			shown, kept, text = append(shown, text), append(kept, e.Kind), ""
		}
	})
	r.Run(act.WithJournal(t.Context(), j, nil), &act.Call{Case: reason.Case{Run: "7"}, Attempt: 1, Worker: r.Workers()[0]})
	require.Equal(t, []string{"again", "again", "answer"}, kept)
	require.Equal(t, "Your order invalid: a broken chunk", shown[0], "what may be a secret was held back")
	require.Equal(t, strings.Repeat("Your order is on the way.", 2), shown[2], "live, and whole")
}

// However a text is streamed, what its kept event has redacted is not told live either, if it is one word.
func TestLiveText(t *testing.T) {
	for text, secret := range map[string]string{
		"My password is hunter2x, now.":                                   "hunter2x",
		"The passphrase was Tr0ub4dor3 until today":                       "Tr0ub4dor3",
		"psql --password Tr0ub4dor3 -h db":                                "Tr0ub4dor3",
		"arc --api-key abcd1234efgh5678 do":                               "abcd1234efgh5678",
		"Authorization: Bearer abcd1234.efgh5678-x y":                     "abcd1234.efgh5678-x",
		"curl -H 'authorization:  bearer abcd1234efgh5678' http://x":      "abcd1234efgh5678",
		"\"Authorization\": \"Basic dXNlcjpwYXNzd29yZDEyMw==\", and more": "dXNlcjpwYXNzd29yZDEyMw==",
		"Set-Cookie: sessionid=38afes7a8; Path=/":                         "38afes7a8",
		`{"a":1,"token":"abcd1234efgh5678","b":"u"}`:                      "abcd1234efgh5678",
		"key =\n  'abcd1234efgh5678'\nother = 1":                          "abcd1234efgh5678",
	} {
		for size := range 12 {
			m := &model{answer: func(_ int, r *reason.Request) (*reason.Response, error) {
				for piece := range slices.Chunk([]byte(text), size+1) {
					r.OnText(string(piece))
				}
				return says(text), nil
			}}
			r, err := act.NewRunner([]act.Worker{{Name: "w", Executor: tools.New(m, nil), Gates: []act.Gate{act.NoGate}}}, nil, 0, nil)
			require.NoError(t, err)
			var live, kept string
			j := act.NewJournal(store.NewGroup(store.NewMem()), "", nil, nil, func(e act.Event) {
				if e.Live {
					live += e.Text
				} else {
					kept += e.Text
				}
			})
			r.Run(act.WithJournal(t.Context(), j, nil), &act.Call{Case: reason.Case{Run: "7"}, Attempt: 1, Worker: r.Workers()[0]})
			require.NotContains(t, kept, secret)
			require.Equal(t, kept, live, "in pieces of %d", size+1)
		}
	}
}

// An attempt of three answers and three calls, one of them irreversible, on a store in memory.
func BenchmarkAttempt(b *testing.B) {
	s := &shop{state: "lost"}
	m := script(calls("lookup", `{"order":"A-1"}`, "stock", `{}`), calls("refund", `{"order":"A-1","amount":5}`), says("done"))
	r, err := act.NewRunner([]act.Worker{{
		Name: "support", Executor: tools.New(m, nil, s.tools(act.Autonomous)...), Gates: []act.Gate{act.NoGate},
	}}, nil, 0, nil)
	require.NoError(b, err)
	c := &act.Call{Case: reason.Case{Run: "7"}, Attempt: 1, Worker: r.Workers()[0], Task: reason.Task{Objective: "help anna"}}
	b.ReportAllocs()
	for b.Loop() {
		ctx := act.WithJournal(b.Context(), act.NewJournal(store.NewGroup(store.NewMem()), "", nil, nil, nil), nil)
		if a := r.Run(ctx, c); a.Outcome != rank.Delivered {
			b.Fatal(a.Complaint)
		}
	}
}

// class is what can be done about the error of an attempt.
func class(a act.Attempt) reason.ErrorClass {
	if a.Err == nil {
		return ""
	}
	return a.Err.Class
}

// A schema has one type a value, which a JSON value of that type fits: what providers take.
func TestSchemaOfFunc(t *testing.T) {
	type in struct {
		Raw  json.RawMessage   `json:"raw"`
		File []byte            `json:"file,omitempty"`
		Tags []string          `json:"tags,omitempty" jsonschema:"its tags"`
		Most *int              `json:"most,omitempty"`
		More *json.RawMessage  `json:"more,omitempty"`
		Any  map[string][]*any `json:"any,omitempty"`
		Open map[string]any    `json:"open,omitempty"`
	}
	var got in
	f := tools.Func("a", "", func(_ context.Context, in in) (int, error) { got = in; return 0, nil })
	require.JSONEq(t, `{"type":"object","properties":{
		"raw":{"description":"any JSON value"},
		"file":{"type":"string","contentEncoding":"base64"},
		"tags":{"type":"array","items":{"type":"string"},"description":"its tags"},
		"most":{"type":"integer"},
		"more":{"description":"any JSON value"},
		"any":{"type":"object","additionalProperties":{"type":"array","items":{"description":"any JSON value"}}},
		"open":{"type":"object","additionalProperties":true}
	},"required":["raw"],"additionalProperties":false}`, string(f.Input))
	_, err := f.Call(t.Context(), json.RawMessage(`{"raw":{"a":1},"file":"aGk=","most":3}`))
	require.NoError(t, err)
	require.Equal(t, "hi", string(got.File))
}

// Two calls of a tool make two steps of one name, and inputs that are too wide for a step are told to the
// model.
func TestStepsOfCalls(t *testing.T) {
	type in struct{ N int }
	var made []int
	charge := tools.Func("charge", "", func(ctx context.Context, in in) (int, error) {
		return act.Step(ctx, "charge", nil, func(context.Context) (int, error) { made = append(made, in.N); return in.N, nil })
	})
	wide := tools.Tool{Worker: act.Worker{Name: "wide"}, Call: func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return nil, errors.New("it was called")
	}}
	m := script(calls("charge", `{"N":1}`), calls("charge", `{"N":2}`),
		calls("wide", `"`+strings.Repeat("x", 300<<10)+`"`), says("done"))
	a := try(t, store.NewMem(), tools.New(m, nil, charge, wide), nil)
	require.Equal(t, rank.Delivered, a.Outcome, a.Complaint)
	require.Equal(t, []int{1, 2}, made)
	require.Contains(t, m.asked[3].Messages[6].Text, "the inputs have 307202 bytes")
	long := tools.Tool{Worker: act.Worker{Name: strings.Repeat("n", 300)}, Call: wide.Call}
	require.Equal(t, rank.Denied, try(t, store.NewMem(), tools.New(m, nil, long), nil).Outcome)
}

type account struct{}

func (account) Transfer(_ context.Context, in struct{ USD float64 }) (string, error) {
	return fmt.Sprint("paid ", in.USD), nil
}

// transfers asks one person, and two above a limit, as docs/recipes.md has it.
func transfers(bank account) tools.Tool {
	pay := tools.Func("transfer", "Pays an invoice.", bank.Transfer)
	call := pay.Call
	pay.Call = func(ctx context.Context, inputs json.RawMessage) (json.RawMessage, error) {
		var in struct{ USD float64 }
		if err := json.Unmarshal(inputs, &in); err != nil {
			return nil, err
		}
		w := &act.Worker{Name: "bank transfer", Irreversible: true, Mode: act.Gated}
		if !(in.USD <= 10_000) {
			w.Mode = act.Compound
		}
		return act.Do(ctx, w, "transfer", inputs, call)
	}
	return pay
}

// ledger is a bank that books once a key. What it answers to the first request is lost.
type ledger struct{ booked map[string]float64 }

type Transfer struct {
	To  string
	USD float64
}

func (l ledger) Transfer(_ context.Context, key string, in Transfer) (string, error) {
	_, known := l.booked[key]
	if l.booked[key] = in.USD; !known && len(l.booked) == 1 {
		return "", &reason.Error{Class: reason.Unavailable, Err: errors.New("connection reset")}
	}
	return "booked", nil
}

// A call whose answer is lost is made again with its key, as docs/recipes.md has it, in the next attempt, too.
func TestKeyForABank(t *testing.T) {
	bank := ledger{map[string]float64{}}
	pay := tools.Func("transfer", "Pays an invoice.", func(ctx context.Context, in Transfer) (string, error) {
		return bank.Transfer(ctx, act.IdempotencyKey(ctx), in)
	})
	pay.Irreversible = true
	look := tools.Func("look", "", func(context.Context, struct{}) (string, error) { return "not booked", nil })
	attempts := []*model{
		script(calls("transfer", `{"To":"ann","USD":5}`), says("I do not know")),
		script(calls("look", `{}`), calls("transfer", `{"USD":5,"To":"ann"}`), calls("transfer", `{"To":"bo","USD":5}`), says("paid")),
	}
	yes := func(context.Context, act.Approval) (act.Ruling, error) {
		return act.Ruling{Allow: true, By: "anna"}, nil
	}
	ctx := act.WithJournal(t.Context(), act.NewJournal(store.NewGroup(store.NewMem()), "", nil, nil, nil), nil)
	for i, m := range attempts {
		w := act.Worker{Name: "payer", Executor: tools.New(m, nil, pay, look), Gates: []act.Gate{act.NoGate}}
		runner, err := act.NewRunner([]act.Worker{w}, yes, 0, nil)
		require.NoError(t, err)
		made := runner.Run(ctx, &act.Call{
			Case: reason.Case{Run: "1"}, Attempt: i + 1, Worker: runner.Workers()[0], Task: reason.Task{Objective: "pay"},
		})
		require.Equal(t, []rank.Outcome{rank.Away, rank.Delivered}[i], made.Outcome, made.Complaint)
	}
	require.Len(t, bank.booked, 2)
}

func TestTwoPeopleAboveALimit(t *testing.T) {
	for usd, mode := range map[string]act.Mode{"100": act.Gated, "10001": act.Compound} {
		var asked []act.Mode
		pay := act.Worker{Name: "pay", Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
			func(ctx context.Context, _ *act.Call) (*act.Result, error) {
				out, err := transfers(account{}).Call(ctx, json.RawMessage(`{"USD":`+usd+`}`))
				return &act.Result{Output: out}, err
			})}
		runner, err := act.NewRunner([]act.Worker{pay}, func(_ context.Context, a act.Approval) (act.Ruling, error) {
			asked = append(asked, a.Mode)
			return act.Ruling{Allow: true, By: "ann"}, nil
		}, 0, nil)
		require.NoError(t, err)
		j := act.NewJournal(store.NewGroup(store.NewMem()), "", nil, nil, nil)
		made := runner.Run(act.WithJournal(t.Context(), j, nil), &act.Call{
			Case: reason.Case{Run: "1"}, Attempt: 1, Worker: runner.Workers()[0], Task: reason.Task{Objective: "pay"},
		})
		require.Equal(t, []act.Mode{mode}, slices.Compact(asked))
		require.Equal(t, mode == act.Gated, made.Outcome == rank.Delivered, "one of two is not enough")
	}
}

// What a person has denied is denied unasked for equal inputs in this attempt; other inputs are asked for.
func TestDeniedOnce(t *testing.T) {
	asked, made := 0, 0
	pay := tools.Tool{Worker: act.Worker{Name: "pay", Mode: act.Gated}, Call: func(context.Context, json.RawMessage) (json.RawMessage, error) {
		made++
		return json.RawMessage(`"ok"`), nil
	}}
	approver := func(context.Context, act.Approval) (act.Ruling, error) {
		asked++
		return act.Ruling{By: "anna"}, nil
	}
	m := script(calls("pay", `{"a":1,"b":2}`), calls("pay", `{"b": 2, "a": 1.0}`), calls("pay", `{"a":2}`), calls("pay", `{"a":1,"b":2}`), says("done"))
	r, err := act.NewRunner([]act.Worker{{Name: "w", Executor: tools.New(m, nil, pay), Gates: []act.Gate{act.NoGate}}}, approver, 0, nil)
	require.NoError(t, err)
	c := &act.Call{Case: reason.Case{Run: "7"}, Attempt: 1, Worker: r.Workers()[0], Task: reason.Task{Objective: "pay"}}
	a := r.Run(act.WithJournal(t.Context(), act.NewJournal(store.NewGroup(store.NewMem()), "", nil, nil, nil), nil), c)
	require.Equal(t, rank.Delivered, a.Outcome, a.Complaint)
	require.Equal(t, []int{2, 0}, []int{asked, made})
}
