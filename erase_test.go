package arc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// choir makes texts that can be found again wherever they are kept.
type choir struct {
	of string
	n  int
}

func (c *choir) next(kind string) string {
	c.n++
	return fmt.Sprintf("canary%s%03d %s", c.of, c.n, kind)
}

func (c *choir) json(kind string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{%q:%q}`, "key "+c.next(kind), c.next(kind)))
}

// sing has each public text of each part hold a canary, in a scope.
func sing(t *testing.T, c *choir, a *arc.Agent, s *script, scope memory.Scope) {
	t.Helper()
	ctx := t.Context()
	n, met := 0, false
	effect := func() *reason.Effect { return nil }
	task := func(kind string) reason.Task {
		return reason.Task{
			Objective: c.next(kind + " objective"), Delta: c.next(kind + " delta"), Verify: c.next(kind + " verify"),
			Skill: "work", Inputs: c.json(kind + " inputs"), Effect: effect(),
		}
	}
	s.decide = func(_ int, b reason.Brief) (reason.Decision, error) {
		if strings.Contains(b.Objective, "asks") && len(b.Answers) == 0 {
			return reason.Decision{Complexity: reason.Unclear, Questions: []string{c.next("question")}, Reasoning: c.next("reasoning")}, nil
		}
		if strings.Contains(b.Objective, "impasse") && !met {
			met = true
			return reason.Decision{Complexity: reason.Complex, Impasse: &reason.Impasse{
				Kind: "no_approach", Reason: c.next("impasse reason"), Subgoal: c.next("subgoal"),
			}}, nil
		}
		if strings.Contains(b.Objective, "choice") {
			one, two := c.next("alternative"), c.next("alternative")
			return reason.Decision{
				Complexity: reason.Moderate,
				Alternatives: []reason.Alternative{
					{Approach: one, Tasks: []reason.Task{task("one")}}, {Approach: two, Tasks: []reason.Task{task("two")}},
				},
				Preferences: []reason.Preference{{Approach: one, Than: two, Is: "better"}},
			}, nil
		}
		return reason.Decision{
			Complexity: reason.Moderate, Approach: c.next("approach"), Reasoning: c.next("reasoning"),
			Tasks: []reason.Task{task("first"), task("second")},
		}, nil
	}
	s.do = func(int, act.Work) (act.Result, error) {
		n++
		out := fmt.Sprintf("%q", c.next("output")+strings.Repeat("x", n%2*3000))
		return act.Result{
			Output: json.RawMessage(out),
			Reflection: iar.Reflection{
				Status: iar.Success, Confidence: 0.9, Summary: c.next("summary"), PotentialIssues: []string{c.next("issue")},
				AlignmentCheck: map[string]float64{c.next("alignment"): 1},
			},
			Deltas: []reason.Delta{{Domain: c.next("domain"), Path: c.next("path"), Value: c.json("delta")}},
		}, nil
	}
	s.judge = func(w act.Work, _ act.Result) (act.Verdict, error) {
		fails := strings.Contains(w.Objective, "hopeless") || w.Attempt == 1
		return act.Verdict{Pass: !fails, Complaint: c.next("complaint")}, nil
	}
	objective := func(kind string) arc.Objective {
		return arc.Objective{
			ID: c.next("id"), Session: c.next("session"), Text: c.next(kind), Situation: c.next("situation"), Inputs: c.json("inputs"),
			Scope: scope, Conditions: map[string]string{c.next("condition"): c.next("value")},
		}
	}
	for _, kind := range []string{"text", "text again", "hopeless", "hopeless choice", "choice", "impasse"} {
		_, err := a.Run(ctx, objective(kind))
		require.NoError(t, err)
	}
	o := objective("asks")
	_, err := a.Run(ctx, o)
	require.NoError(t, err)
	_, err = a.In(scope).Answer(ctx, o.ID, c.next("answer"))
	require.NoError(t, err)
	_, err = a.Run(ctx, objective("asks, and gets no answer"))
	require.NoError(t, err)
	// A run of the tenant that tells its episodes in the scope.
	o = objective("of an agent, with a user")
	o.Scope, o.Episodes = memory.Scope(scope.Tenant()), []memory.Scope{scope}
	_, err = a.Run(ctx, o)
	require.NoError(t, err)

	space := a.In(scope).Memory()
	for _, kind := range []memory.Kind{memory.Fact, memory.Pattern, memory.Failure, memory.Episode} {
		for _, origin := range []memory.Origin{memory.Host, memory.Model} {
			d := memory.Draft{
				Kind: kind, Trigger: c.next("trigger"), Content: c.next("content"), Key: c.next("key"), Actor: c.next("actor"),
				Thread: c.next("thread"), Source: memory.Source{Origin: origin, Ref: c.next("ref"), Run: c.next("run")},
				Plan: c.json("plan"),
				Slot: memory.Slot{Subject: c.next("subject"), Attribute: c.next("attribute"), Value: c.next("value")},
			}
			if kind != memory.Pattern {
				d.Plan = nil
			}
			r, err := space.Remember(ctx, d)
			require.NoError(t, err)
			require.NoError(t, space.Feedback(ctx, memory.Feedback{
				Key: c.next("feedback"), Situation: c.next("situation"), Injected: []memory.ID{r.ID}, Utilized: []memory.ID{r.ID}, Delivered: true,
			}))
			_, err = space.Recall(ctx, memory.Query{Text: c.next("query") + " " + d.Content})
			require.NoError(t, err)
		}
	}
	who, err := a.In(scope).Identity()
	require.NoError(t, err)
	_, err = who.Add(ctx, identity.Draft{Content: c.next("fact")})
	require.NoError(t, err)
	_, err = who.Observe(ctx, identity.Event{
		Key: c.next("event key"), Address: "https://example.org/" + c.next("page"), Topic: c.next("topic"), Text: c.next("event"),
	})
	_ = err
}

// TestErase erases a user and a tenant, and finds none of their texts in a key or
// value of the store, in mem and in Badger, and all of the others'.
func TestErase(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T, dir string) store.Store{
		"mem": func(*testing.T, string) store.Store { return store.NewMem() },
		"badger": func(t *testing.T, dir string) store.Store {
			st, err := badger.Open(dir, nil)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, st.Close()) })
			return st
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			st, s, c := open(t, dir), &script{}, newClock()
			many := arc.Budget{Steps: 1e6}
			opts := &arc.Options{
				Now: c.Now, Seed: 1, Attempts: 2, Learn: learn.Options{Holdout: 0.3},
				Bounds: arc.Bounds{Session: many, Scope: many, Day: many},
			}
			a, err := arc.New(t.Context(), st, s.host("one", "two"), opts)
			require.NoError(t, err)
			defer func() { require.NoError(t, a.Close()) }()
			sung := map[string]*choir{}
			for _, scope := range []memory.Scope{"acme/anna", "acme/anna/deep", "acme/annabel", "acme/ben", "ajax", "ajax/anna"} {
				of := strings.ReplaceAll(string(scope), "/", "-") + "."
				sung[string(scope)] = &choir{of: of}
				sing(t, sung[string(scope)], a, s, scope)
				c.Add(time.Hour)
			}
			// What is in the store speaks of whom.
			heard := func() map[string]int {
				require.NoError(t, a.In("acme/ben").Memory().Feedback(t.Context(), memory.Feedback{Key: "flush"}))
				require.NoError(t, a.Flush(t.Context()))
				n := map[string]int{}
				for e, err := range st.Scan(t.Context(), store.Range{}) {
					require.NoError(t, err)
					for scope, c := range sung {
						n[scope] += strings.Count(e.Key+string(e.Value), "canary"+c.of)
					}
				}
				return n
			}
			before := heard()
			if name == "badger" {
				require.NotZero(t, inFiles(t, dir, sung["acme/anna"].of))
			}
			for scope, n := range before {
				require.Greater(t, n, 100, scope)
				require.Greater(t, sung[scope].n, 100, scope)
			}
			require.ErrorIs(t, a.Erase(t.Context(), ""), memory.ErrScope)
			require.NoError(t, a.Erase(t.Context(), "acme/anna"))
			after := heard()
			require.Zero(t, after["acme/anna"])
			require.Zero(t, after["acme/anna/deep"])
			for e, err := range st.Scan(t.Context(), store.Range{}) {
				require.NoError(t, err)
				require.NotRegexp(t, `acme/anna($|[^b])`, e.Key)
			}
			for _, scope := range []string{"acme/annabel", "acme/ben", "ajax", "ajax/anna"} {
				require.Equal(t, before[scope], after[scope], "%s was erased, too", scope)
			}
			require.NoError(t, a.Erase(t.Context(), "ajax"))
			after = heard()
			require.Zero(t, after["ajax"]+after["ajax/anna"])
			for _, scope := range []string{"acme/anna", "acme/anna/deep", "ajax", "ajax/anna"} {
				require.Zero(t, inFiles(t, dir, sung[scope].of), "files hold texts of %s", scope)
			}
			require.Equal(t, before["acme/ben"], after["acme/ben"])
			for e, err := range st.Scan(t.Context(), store.Range{}) {
				require.NoError(t, err)
				require.NotContains(t, e.Key, "ajax")
			}
			// Who was erased can begin anew, and is not known.
			hits, err := a.In("acme/anna").Memory().Recall(t.Context(), memory.Query{Text: "canary"})
			require.NoError(t, err)
			require.Empty(t, hits)
			sing(t, &choir{of: "again."}, a, s, "acme/anna")
			for _, tenant := range []string{"acme", "ajax"} {
				_, err = a.In(memory.Scope(tenant)).Rank(t.Context(), "", reason.Task{Skill: "work"})
				require.NoError(t, err)
			}
		})
	}
}

// inFiles counts a choir's texts in the files below a directory.
func inFiles(t *testing.T, dir, of string) (n int) {
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var raw []byte
			raw, err = os.ReadFile(path)
			n += bytes.Count(raw, []byte("canary"+of))
		}
		return err
	}))
	return n
}

// A run that is live and touches the scope keeps Erase from beginning; another's
// does not.
func TestEraseWaitsForNoRun(t *testing.T) {
	t.Parallel()
	at, on := make(chan struct{}), make(chan struct{})
	s := &script{do: func(int, act.Work) (act.Result, error) {
		at <- struct{}{}
		<-on
		return done(`1`), nil
	}}
	a := agent(t, s.host(), nil)
	ended := make(chan error)
	go func() {
		_, err := a.Run(context.Background(), arc.Objective{ID: "run", Text: "mend the cache", Scope: "acme/anna"})
		ended <- err
	}()
	<-at
	require.ErrorIs(t, a.Erase(t.Context(), "acme/anna"), arc.ErrRunning)
	require.ErrorIs(t, a.Erase(t.Context(), "acme"), arc.ErrRunning)
	require.NoError(t, a.Erase(t.Context(), "acme/ben"))
	close(on)
	require.NoError(t, <-ended)
	require.NoError(t, a.Erase(t.Context(), "acme"))
	_, err := a.In("acme").Resume(t.Context(), "run")
	require.ErrorIs(t, err, store.ErrNotFound)
}

// What a run has taught another scope is erased with its own though the run was deleted before,
// also in a store that was exported and imported since.
func TestEraseOfARunThatWasDeleted(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]arc.Objective{
		"its episodes":     {Scope: "acme", Episodes: []memory.Scope{"acme/anna"}},
		"also":             {Scope: "acme", Also: []memory.Scope{"acme/anna"}},
		"of another actor": {Scope: "acme/anna", Actor: "porter"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := store.NewMem()
			a := agentOn(t, st, (&script{}).host(), &arc.Options{Maintain: -1})
			run(t, a, arc.Objective{ID: "hers", Text: "mend the canary", Scope: o.Scope, Episodes: o.Episodes, Also: o.Also, Actor: o.Actor})
			run(t, a, arc.Objective{ID: "ours", Text: "feed the parrot", Scope: "acme"})
			require.NoError(t, a.In(o.Scope).Delete(t.Context(), "hers"))
			var file bytes.Buffer
			require.NoError(t, a.Export(t.Context(), "acme", &file))
			to := store.NewMem()
			b := agentOn(t, to, (&script{}).host(), &arc.Options{Maintain: -1})
			_, err := b.Import(t.Context(), &file)
			require.NoError(t, err)
			for at, a := range map[store.Store]*arc.Agent{st: a, to: b} {
				said := scan(t, a, at)
				require.Contains(t, fmt.Sprint(said), "canary")
				require.NoError(t, a.Erase(t.Context(), "acme/anna"))
				said = scan(t, a, at)
				require.NotContains(t, fmt.Sprint(said), "canary")
				require.NotContains(t, fmt.Sprint(said), "hers")
				require.Contains(t, fmt.Sprint(said), "parrot")
			}
		})
	}
}

// An outage in the middle of an Erase, whose last commit took place and was not answered, is
// overcome by calling it again: the first call hears of what is gone, the next completes it.
func TestEraseIsCompletedAfterAnOutage(t *testing.T) {
	t.Parallel()
	for long := 1; long < 5; long++ {
		for n := range 40 {
			st := &moody{Store: store.NewMem()}
			a := agentOn(t, st, (&script{}).host(), &arc.Options{Maintain: -1})
			run(t, a, arc.Objective{Text: "mend it", Scope: "acme/anna/deep"})
			run(t, a, arc.Objective{Text: "mend it, too", Scope: "acme", Episodes: []memory.Scope{"acme/anna"}})
			require.NoError(t, a.Flush(t.Context()))
			st.set(n, long, true)
			err := a.Erase(t.Context(), "acme")
			st.set(0, 0, false)
			for calls := 0; err != nil; calls++ {
				require.Less(t, calls, 2, "%d calls failed from the %dth on: %v", long, n, err)
				err = a.Erase(t.Context(), "acme")
			}
			for k := range scan(t, a, st) {
				require.NotContains(t, k, "acme")
			}
		}
	}
}
