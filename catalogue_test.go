package arc_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// TestBadInput has rows of a catalogue of bad inputs, by their numbers there: a typed
// error and nothing stored, or the answer that is documented, and never a panic.
func TestBadInput(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T) (*arc.Agent, store.Store) {
		st := store.NewMem()
		return agentOn(t, st, (&script{}).host(), &arc.Options{Seed: 1, Maintain: -1}), st
	}
	size := func(t *testing.T, a *arc.Agent, st store.Store) (n int) {
		require.NoError(t, a.Flush(t.Context()))
		for _, err := range st.Scan(t.Context(), store.Range{}) {
			require.NoError(t, err)
			n++
		}
		return n
	}
	refused := func(t *testing.T, o arc.Objective) error {
		t.Helper()
		a, st := open(t)
		before := size(t, a, st)
		_, err := a.Run(t.Context(), o)
		require.Error(t, err)
		require.Equal(t, before, size(t, a, st), "something was stored")
		return err
	}
	var limit *store.LimitError
	for row, f := range map[string]func(t *testing.T){
		"9 numbers that no float holds, by a plan that fires": func(t *testing.T) {
			s := &script{decide: func(_ int, b reason.Brief) (reason.Decision, error) {
				d := plan(b.Objective)
				d.Tasks[0].Inputs = b.Inputs
				return d, nil
			}}
			a := agent(t, s.host(), nil)
			for _, n := range []string{"9007199254740993", "1e400", "9007199254740995"} {
				in := json.RawMessage(`{"n":` + n + `,"thing":"pump"}`)
				r := run(t, a, arc.Objective{Text: "mend the pump", Situation: situation, Inputs: in})
				require.Equal(t, arc.Delivered, r.Status)
				require.Equal(t, string(in), string(s.work[len(s.work)-1].Task.Inputs))
			}
			require.Len(t, s.briefs, 2, "the third is the plan's")
		},
		"23 confidence that is no number": func(t *testing.T) {
			for _, c := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -0.1, 1.1} {
				s := &script{do: func(int, act.Work) (act.Result, error) {
					r := done(`"ok"`)
					r.Reflection.Confidence = c
					return r, nil
				}}
				a := agent(t, s.host(), &arc.Options{Seed: 1, Attempts: 1})
				r := run(t, a, arc.Objective{Text: "mend the cache"})
				require.Equal(t, arc.Blocked, r.Status, c)
				h, err := a.Health(t.Context(), "")
				require.NoError(t, err)
				require.Zero(t, h.Fleet.Calibration.Count(), "it is no claim")
			}
		},
		"27 no candidates": func(t *testing.T) {
			a, _ := open(t)
			r, err := a.In("").Rank(t.Context(), "", reason.Task{Skill: "nobody has it"})
			require.NoError(t, err)
			require.Empty(t, r)
		},
		"29 text that is too long": func(t *testing.T) {
			require.ErrorAs(t, refused(t, arc.Objective{Text: strings.Repeat("x", 64<<10+1)}), &limit)
			require.Equal(t, 64<<10+1, limit.Got)
		},
		"30 text that is empty": func(t *testing.T) {
			require.ErrorIs(t, refused(t, arc.Objective{Text: ""}), arc.ErrObjective)
			require.ErrorIs(t, refused(t, arc.Objective{Text: " \n\t"}), arc.ErrObjective)
			unseen := "\u200b\u200c\u200d\u2060\ufeff\u00ad\u202e\u2066\u3164\ufe0f\U000e0041\x00\x1b\u00a0"
			require.ErrorIs(t, refused(t, arc.Objective{Text: unseen}), arc.ErrObjective)
		},
		"31 and 32 ids of no UTF-8, with NUL or control": func(t *testing.T) {
			for _, id := range []string{"a\xffb", "a\x00b", "a\nb", "\x1b[2J"} {
				refused(t, arc.Objective{ID: id, Text: "mend the cache"})
				refused(t, arc.Objective{Session: id, Text: "mend the cache"})
			}
		},
		"32 ids that do not show": func(t *testing.T) {
			for _, id := range []string{" ", "\u200b", "\u2060\ufeff", "\u00ad"} {
				for _, o := range []arc.Objective{{ID: id}, {Session: id}, {User: id}} {
					o.Text = "mend the cache"
					require.ErrorIs(t, refused(t, o), arc.ErrObjective)
				}
			}
			a, _ := open(t)
			require.ErrorContains(t, a.In("").Rule(t.Context(), arc.Ruling{Run: "r", By: "\u200b", Allow: true}), "by is empty")
			require.Equal(t, "می\u200cروم", run(t, a, arc.Objective{ID: "می\u200cروم", Text: "mend the cache"}).ID)
		},
		"33 inputs that are nested deeply": func(t *testing.T) {
			nested := func(n int) arc.Objective {
				in := strings.Repeat(`{"]\"[":[`, n/2) + "1" + strings.Repeat("]}", n/2)
				return arc.Objective{Text: "mend the cache", Inputs: json.RawMessage(in)}
			}
			a, _ := open(t)
			require.Equal(t, arc.Delivered, run(t, a, nested(64)).Status)
			require.ErrorAs(t, refused(t, nested(66)), &limit)
			require.Equal(t, store.LimitError{Field: "depth of inputs", Limit: 64, Got: 66}, *limit)
			require.ErrorIs(t, refused(t, nested(8000)), arc.ErrObjective)
			plan := arc.Objective{Text: "mend the cache", Tasks: []reason.Task{{Objective: "mend", Inputs: nested(66).Inputs}}}
			require.ErrorAs(t, refused(t, plan), &limit)
			require.Equal(t, store.LimitError{Field: "depth of inputs of a task", Limit: 64, Got: 66}, *limit)
		},
		"40 id that is empty": func(t *testing.T) {
			a, _ := open(t)
			one, two := run(t, a, arc.Objective{Text: "mend the cache"}), run(t, a, arc.Objective{Text: "mend the cache"})
			require.NotEmpty(t, one.ID)
			require.NotEqual(t, one.ID, two.ID)
		},
		"41 id of 257 bytes": func(t *testing.T) {
			require.ErrorAs(t, refused(t, arc.Objective{ID: strings.Repeat("x", 257), Text: "mend the cache"}), &limit)
			require.Equal(t, 256, limit.Limit)
		},
		"42 and 43 ids that look like keys and files": func(t *testing.T) {
			dir := t.TempDir()
			a, err := arc.Open(t.Context(), dir, (&script{}).host(), &arc.Options{Seed: 1, Maintain: -1})
			require.NoError(t, err)
			ids := []string{"a", "a/b", "a:b", "!badger!", "../../etc/passwd", "CON", "arc", "tenant", "a/b/1", "run"}
			for _, id := range ids {
				require.Equal(t, id, run(t, a, arc.Objective{ID: id, Text: "mend " + id}).ID)
			}
			for _, id := range ids {
				r, err := a.In("").Resume(t.Context(), id)
				require.NoError(t, err)
				require.Equal(t, "mend "+id, r.Objective)
			}
			require.NoError(t, a.Close())
			require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
				require.NotContains(t, []string{"passwd", "CON", "a:b", "tenant", "run"}, filepath.Base(path))
				return err
			}))
		},
		"47 and 48 tenants": func(t *testing.T) {
			for _, scope := range []memory.Scope{"*", "/", "a//b", "a\x00", "/a", " "} {
				require.ErrorIs(t, refused(t, arc.Objective{Text: "mend the cache", Scope: scope}), memory.ErrScope, scope)
			}
			a, _ := open(t)
			run(t, a, arc.Objective{ID: "one", Text: "mend the cache", Scope: "a"})
			_, err := a.In("b").Resume(t.Context(), "one")
			require.ErrorIs(t, err, store.ErrNotFound)
		},
		"49 durations that are negative, or huge": func(t *testing.T) {
			require.Error(t, refused(t, arc.Objective{Text: "mend the cache", Budget: arc.Budget{Wall: -1}}))
			a, _ := open(t)
			r := run(t, a, arc.Objective{Text: "mend the cache", Budget: arc.Budget{Wall: math.MaxInt64}})
			require.Equal(t, arc.Delivered, r.Status)
		},
		"50 and 51 clocks that stand at no time of ours": func(t *testing.T) {
			for _, at := range []time.Time{{}, time.Unix(-1, 0), time.Date(2262, 5, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)} {
				st, s := store.NewMem(), &script{}
				a := agentOn(t, st, s.host(), &arc.Options{Seed: 1, Maintain: -1, Now: func() time.Time { return at }})
				before := size(t, a, st)
				_, err := a.Run(t.Context(), arc.Objective{Text: "mend the cache"})
				require.ErrorIs(t, err, arc.ErrObjective, at)
				require.Equal(t, before, size(t, a, st))
				require.Empty(t, s.work)
			}
		},
		"56 more scopes than an objective may have": func(t *testing.T) {
			for _, o := range []arc.Objective{
				{Text: "mend the cache", Also: make([]memory.Scope, 257)},
				{Text: "mend the cache", Episodes: slices.Repeat([]memory.Scope{"local/x"}, 257)},
			} {
				require.ErrorAs(t, refused(t, o), &limit)
				require.Equal(t, 256, limit.Limit)
			}
		},
		"97 filters of nothing": func(t *testing.T) {
			a, _ := open(t)
			for _, f := range []arc.Filter{{Limit: -1}, {Status: arc.Status(strings.Repeat("x", 1<<10))}} {
				for _, err := range a.In("").Runs(t.Context(), f) {
					require.ErrorIs(t, err, memory.ErrQuery)
					require.Less(t, len(err.Error()), 200)
				}
			}
			require.ErrorIs(t, a.In("").Rule(t.Context(), arc.Ruling{Run: "r"}), memory.ErrEmpty)
		},
		"56 more tasks than a plan may have": func(t *testing.T) {
			tasks := make([]reason.Task, reason.MaxTasks+1)
			for i := range tasks {
				tasks[i] = reason.Task{Objective: "mend it", Skill: "work"}
			}
			refused(t, arc.Objective{Text: "mend the cache", Tasks: tasks})
		},
		"65 parts that call the Agent": func(t *testing.T) {
			calls := map[string]func(ctx context.Context, a *arc.Agent, v arc.View) error{
				"run": func(ctx context.Context, a *arc.Agent, _ arc.View) error {
					_, err := a.Run(ctx, arc.Objective{Text: "paint"})
					return err
				},
				"recall": func(ctx context.Context, _ *arc.Agent, v arc.View) error {
					_, err := v.Memory().Recall(ctx, memory.Query{Text: "pump"})
					return err
				},
				"remember": func(ctx context.Context, _ *arc.Agent, v arc.View) error {
					_, err := v.Memory().Remember(ctx, memory.Draft{Kind: memory.Fact, Content: "the pump is old"})
					return err
				},
				"maintain": func(ctx context.Context, a *arc.Agent, _ arc.View) error { _, err := a.Maintain(ctx, ""); return err },
				"health":   func(ctx context.Context, a *arc.Agent, _ arc.View) error { _, err := a.Health(ctx, ""); return err },
				"flush":    func(ctx context.Context, a *arc.Agent, _ arc.View) error { return a.Flush(ctx) },
				"its run": func(ctx context.Context, a *arc.Agent, _ arc.View) error {
					_, err := a.Run(ctx, arc.Objective{ID: "x", Text: "mend the pump"})
					return err
				},
				"resume": func(ctx context.Context, _ *arc.Agent, v arc.View) error { _, err := v.Resume(ctx, "x"); return err },
				"delete": func(ctx context.Context, _ *arc.Agent, v arc.View) error { return v.Delete(ctx, "x") },
				"erase":  func(ctx context.Context, a *arc.Agent, _ arc.View) error { return a.Erase(ctx, "local") },
				"export": func(ctx context.Context, a *arc.Agent, _ arc.View) error { return a.Export(ctx, "local", io.Discard) },
				"close":  func(_ context.Context, a *arc.Agent, _ arc.View) error { return a.Close() },
			}
			for name, call := range calls {
				for _, place := range []string{"reasoner", "executor", "gate", "hook"} {
					synctest.Test(t, func(t *testing.T) {
						var a *arc.Agent
						var err error
						var called atomic.Bool
						back := func(ctx context.Context) {
							if !called.Swap(true) {
								err = call(ctx, a, a.In(""))
							}
						}
						s, o := &script{}, &arc.Options{Seed: 1}
						switch h := t.Context(); place {
						case "reasoner":
							s.decide = func(_ int, b reason.Brief) (reason.Decision, error) { back(h); return plan(b.Objective), nil }
						case "executor":
							s.do = func(int, act.Work) (act.Result, error) { back(h); return done(`1`), nil }
						case "gate":
							s.judge = func(act.Work, act.Result) (act.Verdict, error) { back(h); return act.Verdict{Pass: true}, nil }
						case "hook":
							o.Hooks.Event = func(arc.Event) { back(h) }
						}
						a, _ = arc.New(t.Context(), store.NewMem(), s.host(), o)
						r, failed := a.Run(t.Context(), arc.Objective{ID: "x", Text: "mend the pump"})
						switch name {
						case "close":
							require.Error(t, failed, place)
						case "its run", "resume", "delete", "erase", "export":
							require.ErrorIs(t, err, arc.ErrRunning, "%s calls %s", place, name)
						default:
							require.NoError(t, err, "%s calls %s", place, name)
						}
						if name != "close" {
							require.NoError(t, failed)
							require.Equal(t, arc.Delivered, r.Status, "%s calls %s", place, name)
						}
						require.NoError(t, a.Close())
					})
				}
			}
		},
		"67 parts that change what they were given": func(t *testing.T) {
			s := &script{decide: func(_ int, b reason.Brief) (reason.Decision, error) {
				copy(b.Inputs, "zzzzzzz")
				d := plan(b.Objective)
				d.Tasks = append(d.Tasks, d.Tasks[0])
				d.Tasks[0].Inputs = json.RawMessage(`{"b":2}`)
				return d, nil
			}, do: func(n int, w act.Work) (act.Result, error) {
				require.Equal(t, `{"a":1}`, string(w.Inputs))
				require.Contains(t, []string{`{"b":2}`, ""}, string(w.Task.Inputs))
				for _, d := range w.Lineage {
					require.Equal(t, `"ok"{"b":2}did it`, string(d.Output)+string(d.Task.Inputs)+d.Summary)
					copy(d.Output, "zzzz")
					copy(d.Task.Inputs, "zzzzzzz")
				}
				copy(w.Inputs, "zzzzzzz")
				copy(w.Task.Inputs, "zzzzzzz")
				clear(w.Lineage)
				clear(w.Secrets)
				if n%2 == 1 {
					return act.Result{}, errBoom
				}
				return done(`"ok"`), nil
			}, judge: func(w act.Work, _ act.Result) (act.Verdict, error) {
				require.Equal(t, "correct horse", w.Secrets["key"])
				return act.Verdict{Pass: true}, nil
			}}
			o := arc.Objective{Text: "mend the pump", Inputs: json.RawMessage(`{"a":1}`), Secrets: act.Secrets{"key": "correct horse"}}
			r := run(t, agent(t, s.host(), nil), o)
			require.Equal(t, arc.Delivered, r.Status, r.Reason)
			require.Len(t, r.Deliveries, 2)
			for _, d := range r.Deliveries {
				require.Equal(t, `"ok"`, string(d.Output))
			}
			require.Equal(t, `{"a":1}`, string(o.Inputs))
			require.Equal(t, act.Secrets{"key": "correct horse"}, o.Secrets)
		},
		"79 contexts that have ended, or are nil": func(t *testing.T) {
			a, st := open(t)
			before := size(t, a, st)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := a.Run(ctx, arc.Objective{Text: "mend the cache"})
			require.ErrorIs(t, err, context.Canceled)
			//lint:ignore SA1012 that it is refused is the test
			_, err = a.Run(nil, arc.Objective{Text: "mend the cache"})
			require.Error(t, err)
			require.Equal(t, before, size(t, a, st))
		},
		"95 use after Close": func(t *testing.T) {
			a, err := arc.New(t.Context(), store.NewMem(), (&script{}).host(), &arc.Options{Seed: 1})
			require.NoError(t, err)
			require.NoError(t, a.Close())
			require.NoError(t, a.Close())
			_, err = a.Run(t.Context(), arc.Objective{Text: "mend the cache"})
			require.ErrorIs(t, err, store.ErrClosed)
			_, err = a.Maintain(t.Context(), "")
			require.Error(t, err)
			for _, err := range a.In("").Proposals(t.Context()) {
				require.Error(t, err)
			}
		},
		"96 and 97 hosts and options of nothing": func(t *testing.T) {
			_, err := arc.New(t.Context(), store.NewMem(), arc.Host{}, nil)
			require.Error(t, err)
			var typedNil *script
			_, err = arc.New(t.Context(), store.NewMem(), arc.Host{
				Workers: []act.Worker{{Card: rank.Candidate{Name: "one"}, Executor: typedNil}}, Gates: []act.Gate{act.NoGate},
			}, nil)
			require.Error(t, err)
			_, err = arc.New(t.Context(), nil, (&script{}).host(), nil)
			require.Error(t, err)
			_, err = arc.New(t.Context(), store.NewMem(), (&script{}).host(), &arc.Options{Attempts: -1, Refusals: -1, Scope: "*"})
			for _, field := range []string{"Attempts", "Refusals", "Scope"} {
				require.ErrorContains(t, err, field)
			}
		},
		"57 to 62 workers that panic, return both, nothing, or no JSON": func(t *testing.T) {
			for name, do := range map[string]func(int, act.Work) (act.Result, error){
				"panic": func(int, act.Work) (act.Result, error) { panic("no") },
				"both":  func(int, act.Work) (act.Result, error) { return done(`"ok"`), errors.New("no") },
				"none":  func(int, act.Work) (act.Result, error) { return act.Result{}, nil },
				"text":  func(int, act.Work) (act.Result, error) { return done(`{"a":`), nil },
				"large": func(int, act.Work) (act.Result, error) { return done(`"` + strings.Repeat("x", 100<<20) + `"`), nil },
			} {
				s := &script{do: do}
				a := agent(t, s.host(), &arc.Options{Seed: 1, Attempts: 1, Patience: -1, Now: time.Now})
				r := run(t, a, arc.Objective{Text: "mend the cache"})
				require.Equal(t, arc.Blocked, r.Status, name)
				require.Equal(t, 1, r.Attempts, name)
			}
		},
	} {
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			f(t)
		})
	}
}

// Each number of the options, of tomorrow's too, at its ends and as none: New names the
// field, or a run ends well with it.
func TestOptionsOutOfRange(t *testing.T) {
	t.Parallel()
	var o arc.Options
	try := func(path []string) {
		a, err := arc.New(t.Context(), store.NewMem(), (&script{}).host(), &o)
		if err != nil {
			require.ErrorContains(t, err, path[len(path)-1], path)
			return
		}
		r, err := a.Run(t.Context(), arc.Objective{Text: "mend the door"})
		require.NoError(t, err, path)
		require.Equal(t, arc.Delivered, r.Status, path)
		require.NoError(t, a.Close())
	}
	var all func(v reflect.Value, path ...string)
	all = func(v reflect.Value, path ...string) {
		switch v.Kind() {
		case reflect.Int, reflect.Int64:
			for _, n := range []int64{-1, math.MinInt64, math.MaxInt64, 0} {
				v.SetInt(n)
				try(path)
			}
		case reflect.Float64:
			for _, n := range []float64{-1, 1e300, math.NaN(), math.Inf(1), math.Inf(-1), 0} {
				v.SetFloat(n)
				try(path)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				all(v.Field(i), append(slices.Clip(path), v.Type().Field(i).Name)...)
			}
		}
	}
	all(reflect.ValueOf(&o).Elem())
}
