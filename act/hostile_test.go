package act_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// says is an approver who says yes, and counts how often it is asked.
func says(asked *int, note string) act.Approver {
	return func(context.Context, act.Approval) (act.Ruling, error) {
		*asked++
		return act.Ruling{By: "anna", Note: note, Allow: true}, nil
	}
}

// A worker that was allowed and then has a question goes on with its approval, also where it cannot be undone.
func TestQuestionAfterApproval(t *testing.T) {
	asked, w := 0, &works{do: func(_ context.Context, c *act.Call) (*act.Result, error) {
		if len(c.Answers) == 0 {
			return nil, &act.PendingError{Questions: []string{"which account?"}}
		}
		return &act.Result{}, nil
	}}
	r := runner(t, says(&asked, ""), act.Worker{Name: "pay", Executor: w, Irreversible: true, Mode: act.Gated})
	ctx, _ := journal(t, store.NewMem())
	c := call(r, 1, `{"amount":5}`)
	require.Empty(t, r.Run(ctx, c).Outcome)
	c.Answers = []reason.Answer{{Question: "which account?", Text: "A"}}
	require.Equal(t, rank.Delivered, r.Run(ctx, c).Outcome)
	require.Equal(t, 1, asked)
}

// A Mode is its name in JSON, and its number in a record.
func TestModeInJSON(t *testing.T) {
	for mode := act.Autonomous; mode <= act.Compound; mode++ {
		var read, kept act.Mode
		raw, err := json.Marshal(mode)
		require.NoError(t, err)
		require.Equal(t, strconv.Quote(mode.String()), string(raw))
		require.NoError(t, json.Unmarshal(raw, &read))
		value, err := codec.Marshal(mode)
		require.NoError(t, err)
		require.Equal(t, []byte{1, byte(mode)}, value)
		require.NoError(t, codec.Unmarshal(value, &kept))
		require.Equal(t, [2]act.Mode{mode, mode}, [2]act.Mode{read, kept})
	}
	require.Equal(t, "?", act.Mode(9).String())
	require.Equal(t, "?", act.Mode(-1).String())
	require.Equal(t, "?", act.Blast(5).String())
	require.Equal(t, "public", act.Blast(4).String())
	for _, other := range []string{`"Gated"`, `"5"`, `""`, `3`} {
		require.Error(t, json.Unmarshal([]byte(other), new(act.Mode)), other)
	}
}

// A name that begins with another's and a slash is another name.
func TestNamesWithSlashes(t *testing.T) {
	w := &works{}
	r := runner(t, nil, act.Worker{Name: "pay", Executor: w, Irreversible: true},
		act.Worker{Name: "pay/fast", Executor: w, Irreversible: true})
	ctx, _ := journal(t, store.NewMem())
	for i, worker := range []*act.Worker{r.Workers()[1], r.Workers()[0]} {
		c := call(r, i+1, `{"amount":5}`)
		c.Worker = worker
		require.Equal(t, rank.Delivered, r.Run(ctx, c).Outcome)
	}
	require.Equal(t, 2, w.calls)
}

// Each worker, tool, gate, Around and step has names of its own for its steps.
func TestStepsOfEachPart(t *testing.T) {
	ran := map[string]int{}
	step := func(ctx context.Context, where string, input int) error {
		got, err := act.Step(ctx, "result", input, func(context.Context) (string, error) { ran[where]++; return where, nil })
		if err == nil && got != where {
			err = errors.New(where + " got what " + got + " has made")
		}
		return err
	}
	fails := errors.New("not yet")
	w := &works{do: func(ctx context.Context, c *act.Call) (*act.Result, error) {
		for _, name := range []string{"1", "2"} {
			_, err := act.Step(ctx, name, nil, func(ctx context.Context) (int, error) { return 1, step(ctx, "step "+name, 2) })
			if err != nil {
				return nil, err
			}
		}
		return &act.Result{Text: "ok"}, errors.Join(step(ctx, "worker", 3), fails)
	}}
	gate := act.GateFunc(func(ctx context.Context, _ *act.Call, _ *act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: true}, step(ctx, "gate", 4)
	})
	around := act.Around(func(ctx context.Context, c *act.Call, next func(context.Context) act.Attempt) act.Attempt {
		require.NoError(t, step(ctx, "around", 5))
		return next(ctx)
	})
	r := runnerWith(t, nil, nil, []act.Around{around}, act.Worker{Name: "pay", Executor: w, Gates: []act.Gate{gate}})
	ctx, _ := journal(t, store.NewMem())
	require.Equal(t, rank.Failed, r.Run(ctx, call(r, 1, `{}`)).Outcome)
	fails = nil
	a := r.Run(ctx, call(r, 1, `{}`))
	require.Equal(t, rank.Delivered, a.Outcome, a.Complaint)
	require.Equal(t, "ok", a.Text)
	require.Equal(t, map[string]int{"step 1": 1, "step 2": 1, "worker": 1, "gate": 1, "around": 1}, ran)
	r.Run(ctx, call(r, 2, `{}`))
	require.Equal(t, 2, ran["around"], "another attempt")
}

// What a host's code says is too long: the journal can be written all the same, and nothing is lost of the run.
func TestNothingIsTooLongForTheJournal(t *testing.T) {
	huge, asked := strings.Repeat("x", 1<<20), 0
	raw, err := json.Marshal(huge)
	require.NoError(t, err)
	w := &works{do: func(ctx context.Context, _ *act.Call) (*act.Result, error) {
		for range 100 {
			act.Note(ctx, act.Event{At: time.Unix(1<<60, 0), Kind: huge, Name: huge, Text: huge, Data: raw})
		}
		_, err := act.Step(ctx, huge, nil, func(context.Context) (int, error) { return 1, nil })
		require.ErrorContains(t, err, "refused")
		return &act.Result{}, nil
	}}
	r := runner(t, says(&asked, huge), act.Worker{Name: "w", Executor: w, Mode: act.Gated})
	ctx, j := journal(t, store.NewMem())
	a := r.Run(ctx, call(r, 1, `{}`))
	require.Equal(t, rank.Delivered, a.Outcome, a.Complaint)
	a = r.Run(ctx, call(r, 2, `{"x":`+string(raw)+`}`))
	require.Equal(t, rank.Denied, a.Outcome)
	require.NoError(t, j.Err())
	said := ""
	for events, err := range j.Events(ctx, 0) {
		require.NoError(t, err)
		said = events[len(events)-1].Text
	}
	require.Equal(t, "… (what follows was not kept)", said)
}

func TestNewRunnerRefusesWhatIsOutOfRange(t *testing.T) {
	for _, w := range []act.Worker{
		{Mode: -1}, {Mode: 9}, {Blast: -1}, {Blast: 9}, {Timeout: -1}, {Prior: math.NaN()}, {Prior: 7}, {Price: -1},
		{Price: math.NaN()}, {Name: strings.Repeat("x", 300)}, {Name: "a\nb"},
	} {
		if w.Name == "" {
			w.Name = "w"
		}
		w.Executor, w.Gates = &works{}, []act.Gate{act.NoGate}
		_, err := act.NewRunner([]act.Worker{w}, nil, 0, nil)
		require.Error(t, err, "%+v", w)
	}
}

// Where secrets are kept may be away; the worker has done nothing wrong.
func TestSecretsAway(t *testing.T) {
	for class, outcome := range map[reason.ErrorClass]rank.Outcome{
		reason.Unavailable: rank.Away, reason.RateLimited: rank.Away, reason.Permission: rank.Denied, "": rank.Denied,
	} {
		secrets := func(context.Context, string) (string, error) {
			return "", &reason.Error{Class: class, Err: errors.New("vault")}
		}
		r := runnerWith(t, nil, secrets, nil, act.Worker{Name: "w", Executor: &works{}, Secrets: []string{"key"}})
		ctx, _ := journal(t, store.NewMem())
		require.Equal(t, outcome, r.Run(ctx, call(r, 1, `{}`)).Outcome, class)
	}
}
