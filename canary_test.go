package arc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// The canaries: a declared secret, a token of an issuer's form, and a word of another tenant.
const declared, token, foreign = "Tr0ub4dor-3-is-long", "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a", "zanzibar"

// names are fields that hold names, which are not cleaned: a secret is no name. The Plan of a Result is of a
// model that has seen no secrets.
var names = []string{"ID", "Run", "Session", "Scope", "Lessons", "Also", "Secrets", "Skill", "Skills", "Worker", "Name", "Use",
	"Approval", "Op", "Path", "Impasse", "Is", "Than", "Status", "Utilized", "Misled", "Applied", "Plan"}

// fill puts a text into each field below v that can hold one, and returns how many there are.
func fill(v reflect.Value, text string) (n int) {
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		if v.Len() == 0 {
			v.SetBytes(fmt.Appendf(nil, `{"a":{"b":[%q]}}`, text))
		}
		return 1
	case v.Kind() == reflect.String:
		v.SetString(strings.TrimSpace(v.String() + " with " + text))
		return 1
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !slices.Contains(names, f.Name) {
				n += fill(v.Field(i), text)
			}
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		for i := range v.Len() {
			n += fill(v.Index(i), text)
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		n += fill(v.Elem(), text)
	}
	return n
}

func filled[T any](t testing.TB, v T, text string) T {
	require.NotZero(t, fill(reflect.ValueOf(&v).Elem(), text), "%T has no text", v)
	return v
}

// Promises 3 and 4: whichever field of whatever a host gives has them, secrets are in nothing that is stored,
// asked, told or logged, and another tenant is told nothing of it.
func TestCanaries(t *testing.T) {
	text := declared + " and " + token + " in " + foreign
	st, out, mu := store.NewMem(), &bytes.Buffer{}, sync.Mutex{}
	note := func(v ...any) { mu.Lock(); defer mu.Unlock(); fmt.Fprintf(out, "%+v\n", v) }
	prompts := reason.ModelFunc(func(_ context.Context, r *reason.Request) (*reason.Response, error) {
		note("prompt", r.System, r.Messages)
		return nil, &reason.Error{Class: reason.Permanent, Err: errors.New(text)}
	})
	turns := 0
	reasoner := deciding(func(ctx context.Context, b *reason.Brief) (*reason.Decision, error) {
		raw, err := json.Marshal(b)
		note("brief", string(raw), err)
		_, _ = (&reason.LLM{Model: prompts}).Decide(ctx, b)
		turns++
		mine := text
		if strings.HasPrefix(b.Text, "other") {
			return &reason.Decision{Tasks: []reason.Task{{Objective: "quiet", Skill: "quiet"}}}, nil
		}
		switch turns {
		case 1:
			return nil, errors.New(text)
		case 2:
			return ptr(filled(t, reason.Decision{Questions: []string{"which?"}}, mine)), nil
		case 3:
			return ptr(filled(t, reason.Decision{Impasse: "no_approach", Reasoning: "none", Subgoal: "a key"}, mine)), nil
		}
		return ptr(filled(t, reason.Decision{Approach: fmt.Sprint("so ", turns), Tasks: []reason.Task{{Objective: "do it", Skill: "do", Inputs: b.Inputs}}}, mine)), nil
	})
	tries := 0
	do := act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
		bare := *c
		bare.Worker, bare.Task.Inputs = nil, nil // it lists the secret
		raw, err := json.Marshal(bare)
		note("call", string(raw), err)
		act.Note(ctx, filled(t, act.Event{Kind: "output"}, text))
		switch tries++; tries {
		case 1:
			return nil, &reason.Error{Err: errors.New(text)}
		case 2:
			return nil, &act.PendingError{Questions: []string{text}}
		case 3:
			panic(text)
		}
		return ptr(filled(t, act.Result{
			Reflection: &iar.Reflection{Status: iar.Success, Confidence: .9, Summary: strings.Repeat("It is done. ", 5)},
			Deltas:     []reason.Delta{{Op: "set", Path: "a", Value: json.RawMessage(`"` + text + `"`)}},
		}, text)), nil
	})
	judged := 0
	gate := act.GateFunc(func(_ context.Context, c *act.Call, r *act.Result) (act.Verdict, error) {
		note("result", string(r.Output), r.Text)
		if judged++; judged == 1 {
			return filled(t, act.Verdict{}, text), nil
		}
		return act.Verdict{Pass: true}, nil
	})
	h := arc.Host{
		Reasoner: reasoner, Gates: []act.Gate{gate},
		Workers: []act.Worker{
			{Name: "doer", Skills: []string{"do"}, Executor: do, Secrets: []string{"DB"}, Mode: act.Notify},
			{Name: "quiet", Skills: []string{"quiet"}, Executor: act.ExecutorFunc(func(_ context.Context, c *act.Call) (*act.Result, error) {
				raw, err := json.Marshal(c.Case)
				note("call", string(raw), err)
				return &act.Result{}, nil
			})},
		},
		Sources: []reason.Source{func(context.Context, string, int) ([]string, error) { return []string{declared + " " + token}, nil }},
		Secrets: func(context.Context, string) (string, error) { return declared, nil },
	}
	a, err := arc.New(t.Context(), st, h, &arc.Options{
		Attempts: 6, Seed: 1, Logger: slog.New(slog.NewTextHandler(lockedWriter{&mu, out}, nil)),
		OnEvent: func(_ memory.Scope, _ string, e arc.Event) { note("event", e, string(e.Data)) },
	})
	require.NoError(t, err)
	defer a.Close()
	v := a.In("acme/x")
	o := filled(t, arc.Objective{ID: "1", Scope: "acme/x", Lessons: "acme", Session: "s", Secrets: []string{"DB"}, Conditions: []string{"c"}}, text)
	r, err := a.Run(t.Context(), o)
	for n := 0; err == nil && !ended(r) && n < 9; n++ {
		note("report", r)
		if r.Status == arc.Asking {
			r, err = v.Answer(t.Context(), "1", "", text)
		}
	}
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status, r.Text)
	require.Greater(t, tries, 4)
	note("report", r)
	require.NoError(t, v.Judge(t.Context(), "1", learn.Failed, text))
	o.ID, o.Text = "2", "another with "+text
	o.Tasks = []reason.Task{{Objective: "x " + text, Skill: "nobody"}}
	_, err = a.Run(t.Context(), o)
	require.NoError(t, err)
	r, err = v.Retry(t.Context(), "2", text)
	note("report", r, err)
	m, err := v.Memory(t.Context())
	require.NoError(t, err)
	_, err = m.Remember(t.Context(), filled(t, memory.Draft{Kind: memory.Fact, Key: "k", Thread: "t"}, token+" in "+foreign))
	note("remember", err)
	// Another tenant, with the same words.
	before := out.Len()
	o = arc.Objective{ID: "1", Scope: "other", Text: "other with a b", Session: "s", Situation: "with", Secrets: []string{"DB"}}
	r, err = a.Run(t.Context(), o)
	require.NoError(t, err)
	h2, err := a.In("other").Health(t.Context())
	require.NoError(t, err)
	why, err := a.In("other").Why(t.Context(), o)
	require.NoError(t, err)
	note("other", r, h2.Text(), why)
	require.NotContains(t, out.String()[before:], foreign)
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		note("stored", e.Key, string(e.Value))
		if strings.HasPrefix(e.Key, memory.Scope("other").TenantPrefix()) {
			require.NotContains(t, e.Key+string(e.Value), foreign)
		}
	}
	require.Contains(t, out.String(), foreign, "it is looked at")
	for _, line := range strings.Split(out.String(), "\n") {
		require.NotContains(t, line, declared)
		require.NotContains(t, line, token)
	}
}

func ptr[T any](v T) *T { return &v }

func ended(r *arc.Report) bool {
	return r.Status == arc.Delivered || r.Status == arc.Blocked || r.Status == arc.Canceled
}

// lockedWriter is a buffer that others write to as well.
type lockedWriter struct {
	mu *sync.Mutex
	w  *bytes.Buffer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
