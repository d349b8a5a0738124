package arc_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/telemetry/telemetrytest"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// everything returns all keys and values of a store.
func everything(t *testing.T, st store.Store) string {
	t.Helper()
	var b strings.Builder
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		b.WriteString(e.Key + "\n" + string(e.Value) + "\n")
	}
	return b.String()
}

// The host's own parts get what its other parts have said, to the byte; the store,
// events and Reports do not.
func TestHostsGetOriginals(t *testing.T) {
	t.Parallel()
	const pass = "hunter2secret"
	objective := arc.Objective{
		ID: "run", Text: "mail ann@example.com the password: " + pass, Situation: "mail, token=" + pass,
		Inputs: json.RawMessage(`{"to":"ann@example.com","password":"` + pass + `"}`), Conditions: map[string]string{"password": pass},
	}
	output := `{"password":"` + pass + `","big":"` + strings.Repeat("x", 3000) + `"}`
	st := store.NewMem()
	s := &script{
		decide: func(_ int, b reason.Brief) (reason.Decision, error) {
			d := plan("send it, password=" + pass)
			d.Tasks = append(d.Tasks, plan("check it").Tasks...)
			d.Tasks[0].Inputs = json.RawMessage(`{"api_key":"` + pass + `"}`)
			return d, nil
		},
		do: func(n int, w act.Work) (act.Result, error) {
			r := done(output)
			r.Reflection.Summary = "sent password=" + pass
			r.Reflection.AlignmentCheck = map[string]float64{"password=" + pass: 1}
			r.Deltas = []act.Delta{{Domain: "data", Path: "password", Value: json.RawMessage(`"` + pass + `"`)}}
			return r, nil
		},
		judge: func(w act.Work, _ act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: w.Attempt > 1, Complaint: "no, password=" + pass}, nil
		},
	}
	var events []string
	a := agentOn(t, st, s.host(), &arc.Options{Hooks: arc.Hooks{Event: func(e arc.Event) { events = append(events, fmt.Sprintf("%+v", e)) }}})
	r := run(t, a, objective)
	require.Equal(t, arc.Delivered, r.Status, r.Reason)
	b := s.briefs[0]
	require.Equal(t, objective.Text, b.Objective)
	require.Equal(t, objective.Situation, b.Situation)
	require.JSONEq(t, string(objective.Inputs), string(b.Inputs))
	w := s.work[1]
	require.Equal(t, objective.Text, w.Objective)
	require.Equal(t, "send it, password="+pass, w.Task.Objective)
	require.JSONEq(t, `{"api_key":"`+pass+`"}`, string(w.Task.Inputs))
	require.Contains(t, w.Complaint, pass)
	w = s.work[len(s.work)-1]
	require.Equal(t, output, string(w.Lineage[0].Output))
	require.JSONEq(t, `"`+pass+`"`, string(w.Lineage[0].Deltas[0].Value))
	for what, text := range map[string]string{"store": everything(t, st), "events": strings.Join(events, "\n"), "report": fmt.Sprintf("%s %+v", asJSON(t, r), r)} {
		require.NotContains(t, text, pass, what)
		require.Contains(t, text, "[REDACTED:", what)
	}
	require.Contains(t, r.Objective, "ann@example.com", "addresses are no secrets")
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}

// cutRun runs an objective until its first worker is called, which stops the run.
func cutRun(t *testing.T, st store.Store, o arc.Objective) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{do: func(int, act.Work) (act.Result, error) {
		cancel()
		return act.Result{}, errors.New("cut off")
	}}
	_, err := agentOn(t, st, s.host(), nil).Run(ctx, o)
	require.ErrorIs(t, err, context.Canceled)
}

// A chunk whose run lacks a secret has not misled.
func TestMissingSecretSaysNothingOfAChunk(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	o := arc.Objective{Text: "log in", Situation: situation, Secrets: act.Secrets{"registry": "hunter2secret"}}
	a := agentOn(t, st, (&script{}).host(), nil)
	run(t, a, o)
	run(t, a, o)
	o.ID = "cut"
	cutRun(t, st, o)
	a = agentOn(t, st, (&script{}).host(), nil)
	r, err := a.In("").Resume(t.Context(), "cut")
	require.NoError(t, err)
	require.Equal(t, []any{arc.CauseSecret, 1}, []any{r.Cause, r.Fired}, r.Reason)
	for rec, err := range a.In("local").Memory().All(t.Context()) {
		require.NoError(t, err)
		require.Zero(t, rec.Stats.Misled)
	}
}

// A secret that the rules have found is not there any more after a restart: the run
// ends, and says which field it was.
func TestRunWithoutItsSecretIsBlocked(t *testing.T) {
	t.Parallel()
	for field, o := range map[string]arc.Objective{
		"Objective.Inputs": {Text: "log in", Inputs: json.RawMessage(`{"password":"hunter2secret"}`)},
		"Objective.Text":   {Text: "log in with password=hunter2secret"},
	} {
		st := store.NewMem()
		o.ID = "run"
		cutRun(t, st, o)
		s, rec := &script{}, new(telemetrytest.Recorder)
		a := agentOn(t, st, s.host(), &arc.Options{TracerProvider: rec.Tracing(), MeterProvider: rec.Metering()})
		r, err := a.In("").Resume(t.Context(), "run")
		require.NoError(t, err)
		require.Equal(t, arc.Blocked, r.Status)
		require.Equal(t, arc.CauseSecret, r.Cause)
		require.Contains(t, r.Reason, field)
		require.Empty(t, s.work)
		require.Empty(t, s.briefs)
	}
	st := store.NewMem()
	cutRun(t, st, arc.Objective{ID: "run", Text: "log in as ann@example.com"})
	r, err := agentOn(t, st, (&script{}).host(), nil).In("").Resume(t.Context(), "run")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status, r.Reason)
}

// The secrets of an objective reach its worker, in a later process too, and nothing
// that is kept.
func TestSecretsOfARun(t *testing.T) {
	t.Parallel()
	const value = `correct "horse" battery/42`
	o := arc.Objective{
		ID: "run", Text: "log in with " + value, Secrets: act.Secrets{"login": value},
		Inputs: json.RawMessage(`{"header":"` + base64.StdEncoding.EncodeToString([]byte("ann:"+value)) + `","q":"?p=` + url.QueryEscape(value) + `"}`),
	}
	require.NotContains(t, fmt.Sprintf("%v %+v %#v %s", o.Secrets, o.Secrets, o.Secrets, asJSON(t, o.Secrets)), "horse")
	hidden := func(text string) {
		t.Helper()
		for _, form := range []string{value, url.QueryEscape(value), "horse", base64.RawStdEncoding.EncodeToString([]byte(value))[4:12]} {
			require.NotContains(t, text, form)
		}
	}
	st := store.NewMem()
	cutRun(t, st, o)
	hidden(everything(t, st))

	s := &script{do: func(_ int, w act.Work) (act.Result, error) {
		r := done(`{"said":"` + url.QueryEscape(value) + `"}`)
		r.Reflection.Summary = w.Secrets["login"]
		return r, nil
	}}
	r, err := agentOn(t, st, s.host(), nil).In("").Resume(t.Context(), "run")
	require.NoError(t, err)
	require.Equal(t, arc.CauseSecret, r.Cause)
	require.Contains(t, r.Reason, `"login"`)
	require.Empty(t, s.work)

	h := s.host()
	h.Secrets = func(_ context.Context, scope memory.Scope, run string, names []string) (map[string]string, error) {
		require.Equal(t, []string{"login"}, names)
		require.Equal(t, "run", run)
		return map[string]string{"login": value}, nil
	}
	r, err = agentOn(t, st, h, nil).In("").Retry(t.Context(), "run", "")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status, r.Reason)
	w := s.work[0]
	require.Equal(t, o.Text, w.Objective)
	require.JSONEq(t, string(o.Inputs), string(w.Inputs))
	require.Equal(t, value, w.Secrets["login"])
	hidden(everything(t, st))
	hidden(asJSON(t, r))

	// The caller may give them too. A value that has changed does not take the place of
	// the one that a text held.
	st = store.NewMem()
	cutRun(t, st, o)
	o.Secrets = act.Secrets{"login": "another value"}
	r = run(t, agentOn(t, st, s.host(), nil), o)
	require.Equal(t, arc.CauseSecret, r.Cause, r.Reason)
	o.Secrets = act.Secrets{"login": value}
	require.Equal(t, arc.Delivered, must(agentOn(t, st, h, nil).In("").Retry(t.Context(), "run", "")).Status)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// written is a store that remembers all that was ever written to it.
type written struct {
	store.Store
	mu   sync.Mutex
	text strings.Builder
}

func (w *written) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, op := range ops {
		w.text.Write(op.Value)
	}
	return w.Store.Commit(ctx, ops...)
}

// What a person says of a run may hold its secrets: they are in no commit, and reach
// the parts of the host all the same.
func TestSecretsThatAPersonSays(t *testing.T) {
	t.Parallel()
	const value = "correct horse battery"
	synctest.Test(t, func(t *testing.T) {
		var answers []reason.Answer
		s := &script{do: func(n int, w act.Work) (act.Result, error) {
			switch n {
			case 1:
				return act.Result{}, &act.InputRequiredError{Questions: []string{"How does one log in?"}}
			case 2:
				answers = slices.Clone(w.Answers)
				return act.Result{}, errors.New("the login is over")
			}
			return done(`"in"`), nil
		}}
		h := s.host()
		h.Workers = h.Workers[:1]
		h.Workers[0].Mode = act.Gated
		h.Secrets = func(context.Context, memory.Scope, string, []string) (map[string]string, error) {
			return map[string]string{"login": value}, nil
		}
		st := &written{Store: store.NewMem()}
		o := realTime()
		o.Attempts = 1
		a := agentOn(t, st, h, o)
		v := a.In("")
		allow := func(attempt int, want arc.Status) {
			require.NoError(t, v.Rule(t.Context(), arc.Ruling{Run: "run", Attempt: attempt, Allow: true, By: "ada", Note: "with " + value}))
			rest(10 * time.Second)
			require.Equal(t, want, must(v.Report(t.Context(), "run")).Status)
		}
		run(t, a, arc.Objective{ID: "run", Text: "log in", Tasks: chore, Secrets: act.Secrets{"login": value}})
		allow(1, arc.Asking)
		r, err := v.Answer(t.Context(), "run", "by "+value)
		require.NoError(t, err)
		require.Equal(t, arc.Blocked, r.Status, r.Reason)
		require.Equal(t, "by "+value, answers[0].Text)
		_, err = v.Retry(t.Context(), "run", "now "+value+" is right")
		require.NoError(t, err)
		allow(2, arc.Delivered)
		require.NoError(t, v.Judge(t.Context(), "run", arc.Verdict{Right: true, Why: "in as " + value, Source: "ada"}))
		require.NoError(t, a.Close())
		require.False(t, strings.Contains(st.text.String(), value))
		require.True(t, strings.Contains(st.text.String(), "[REDACTED:known:"))
	})
}

// The record of a run tells its secrets by their tags: what a person says is without them
// where nobody gives them again, and whole once somebody does.
func TestSecretsThatAPersonSaysAreKnownByTheirTags(t *testing.T) {
	t.Parallel()
	const value = "correct horse/battery 9"
	var answers []reason.Answer
	s := &script{
		decide: func(n int, b reason.Brief) (reason.Decision, error) {
			if n == 1 {
				return reason.Decision{Questions: []string{"How does one log in?"}}, nil
			}
			answers = slices.Clone(b.Answers)
			return plan(b.Objective), nil
		},
		do: func(int, act.Work) (act.Result, error) { return act.Result{}, act.ErrDenied },
	}
	h := s.host()
	st := &written{Store: store.NewMem()}
	now := func() *arc.Agent { return agentOn(t, st, h, nil) }
	run(t, now(), arc.Objective{ID: "run", Text: "log in", Secrets: act.Secrets{"login": value}})
	r, err := now().In("").Answer(t.Context(), "run", "by "+value+", please")
	require.NoError(t, err)
	require.Equal(t, arc.CauseSecret, r.Cause)
	_, err = now().In("").Retry(t.Context(), "run", "now '"+value+"' is right")
	require.NoError(t, err)

	h.Secrets = func(context.Context, memory.Scope, string, []string) (map[string]string, error) {
		return map[string]string{"login": value}, nil
	}
	s.do = nil
	require.Equal(t, arc.Delivered, must(now().In("").Retry(t.Context(), "run", "")).Status)
	require.Equal(t, "by "+value+", please", answers[0].Text)
	require.Equal(t, "now '"+value+"' is right", answers[1].Text)
	h.Secrets = nil
	require.NoError(t, now().In("").Judge(t.Context(), "run", arc.Verdict{Why: "not in as " + value, Source: "ada"}))
	h.Workers = []act.Worker{h.Workers[0]}
	h.Workers[0].Mode = act.Gated
	a := agentOn(t, st, h, &arc.Options{Patience: -1})
	run(t, a, arc.Objective{ID: "held", Text: "log in", Tasks: chore, Secrets: act.Secrets{"login": value}})
	require.NoError(t, a.In("").Rule(t.Context(), arc.Ruling{Run: "held", Attempt: 1, By: "ada", Note: "not with " + value}))
	require.NoError(t, a.Close())
	require.False(t, strings.Contains(st.text.String(), "horse/battery"))
}

// A text that holds the token of a secret from the start is no way to have it.
func TestTokenIsNotRevealed(t *testing.T) {
	t.Parallel()
	const value = "correct horse battery"
	st := store.NewMem()
	token := keyed().Knowing(value).Sanitize(value)
	o := arc.Objective{ID: "run", Text: "say " + token, Secrets: act.Secrets{"login": value}}
	cutRun(t, st, o)
	r := run(t, agentOn(t, st, (&script{}).host(), nil), o)
	require.Equal(t, arc.CauseSecret, r.Cause, r.Reason)
}

func TestBadSecretsAreRefused(t *testing.T) {
	t.Parallel()
	a := agent(t, (&script{}).host(), nil)
	for _, o := range []arc.Objective{
		{Secrets: act.Secrets{"": "long enough"}}, {Secrets: act.Secrets{"a": "short"}}, {Secrets: act.Secrets{"a": "aaaaaaaaa"}},
		{ID: "x-long enough", Secrets: act.Secrets{"a": "long enough"}},
	} {
		o.Text = "log in"
		_, err := a.Run(t.Context(), o)
		require.ErrorIs(t, err, arc.ErrObjective)
		require.NotContains(t, err.Error(), "long enough")
	}
}

// A user's name that is too long once its secrets are hidden is refused, before anything is stored.
func TestLongUserWithASecret(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	a := agentOn(t, st, (&script{}).host(), nil)
	_, err := a.Run(t.Context(), arc.Objective{Text: "mend it", User: strings.Repeat("u", 230) + " password=a1b2c3d4"})
	require.ErrorIs(t, err, arc.ErrObjective)
}
