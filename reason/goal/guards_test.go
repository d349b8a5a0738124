package goal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

// Two goals about one value, such as a warning and an alarm, have one thing
// done at a time, and what was done for one is read before the other is acted
// upon.
func TestControllerActsOnAValueForOneGoalAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alarm := goal.Goal{ID: "alarm", Severity: "critical", Condition: goal.Condition{Selector: `domains["m"].data.x`, Max: new(5.0)}}
		b := newBench(t, store.NewMem(), nil, zero("x"), alarm, zero("y"))
		b.do = func(context.Context, goal.Dispatch) (goal.Result, error) {
			idle(time.Minute)
			return goal.Result{End: goal.Failed}, nil
		}
		b.read(obj{"x": 9, "y": 1})
		doing, r := b.tick()
		require.Equal(t, []goal.Doing{goal.Waiting, goal.Began, goal.Began}, doing)
		require.Contains(t, r.Goals[0].Why, "alarm")
		idle(2 * time.Minute)
		doing, r = b.tick()
		require.Equal(t, []goal.Doing{goal.Resting, goal.Resting, goal.Resting}, doing)
		require.Contains(t, r.Goals[0].Why, "read")
		b.read(obj{"x": 3, "y": 0})
		doing, _ = b.tick()
		require.Equal(t, []goal.Doing{goal.Began, goal.Nothing, goal.Nothing}, doing)
		idle(2 * time.Minute)
	})
}

// A course that was refused half way has done something: what it is about has
// to be read before anything else is done.
func TestControllerReadsWhatWasRefusedHalfWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, store.NewMem(), &goal.Options{Actions: []goal.Action{
			{Name: "stop", Skill: "ops", Effects: []goal.Change{sets("data.running", false)}},
			{Name: "clean", Skill: "ops", Pre: []goal.Condition{is("data.running", false)}, Effects: []goal.Change{sets("data.x", 0)}},
		}}, zero("x"))
		b.skills, b.effects = []string{"ops"}, nil
		b.do = func(context.Context, goal.Dispatch) (goal.Result, error) {
			return goal.Result{End: goal.Refused, Done: 1}, nil
		}
		b.read(obj{"x": 1, "running": true})
		b.tick()
		idle(time.Second)
		doing, _ := b.tick()
		require.Equal(t, goal.Resting, doing[0])
		require.Equal(t, 1, b.count())
	})
}

// A clock that is put back keeps no goal waiting until it has caught up.
func TestControllerWhenTheClockIsPutBack(t *testing.T) {
	for name, end := range map[string]goal.End{"success": goal.Succeeded, "failure": goal.Failed} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var skew atomic.Int64
				now := func() time.Time { return time.Now().Add(time.Duration(skew.Load())).Round(0) }
				b := newBench(t, store.NewMem(), &goal.Options{Now: now}, zero("x"))
				b.do = func(context.Context, goal.Dispatch) (goal.Result, error) { return goal.Result{End: end}, nil }
				require.NoError(t, b.w.Collect(goal.Collector{Domain: "m", Read: func(context.Context) (any, error) { return obj{"x": 1}, nil }}))
				for range 3 {
					require.NoError(t, b.w.Poll(t.Context(), now()))
					b.tick()
					idle(time.Minute)
				}
				n := b.count()
				require.Positive(t, n)
				skew.Store(-int64(240 * time.Hour))
				for range 13 {
					require.NoError(t, b.w.Poll(t.Context(), now()))
					b.tick()
					idle(time.Minute)
				}
				require.Greater(t, b.count(), n)
			})
		})
	}
}

// Who runs a controller can see how each goal stands, is told when that
// changes, and when a collector fails, or is well again.
func TestRunSaysWhatItDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		b := newBench(t, store.NewMem(), &goal.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, zero("x"), zero("gone"))
		require.Zero(t, b.c.Report())
		b.effects = nil
		var well atomic.Bool
		require.NoError(t, b.w.Collect(goal.Collector{Domain: "m", Every: time.Second, Read: func(context.Context) (any, error) {
			idle(time.Millisecond) // the tick of the same moment comes first
			if !well.Load() {
				return nil, errors.New("no route, token ghp_0123456789abcdefghijklmnopqrstuvwxyz")
			}
			return obj{"x": 1}, nil
		}}))
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = b.c.Run(ctx) }()
		idle(time.Hour + time.Second/2)
		require.Contains(t, b.c.Report().Goals[0].Reason, "could not be read: no route")
		well.Store(true)
		idle(time.Hour)
		r := b.c.Report()
		require.Equal(t, goal.Stuck, r.Goals[0].Doing)
		r.Goals[0].Doing = ""
		require.Equal(t, goal.Stuck, b.c.Report().Goals[0].Doing)
		cancel()
		synctest.Wait()
		var got []string
		for line := range strings.Lines(log.String()) {
			_, msg, _ := strings.Cut(line, "level=")
			msg, _, _ = strings.Cut(msg, ` why="unknown: domain`) // was never read, or could not be
			got = append(got, strings.NewReplacer(" controller=goals", "", " severity=medium", "", " failures=1 ", " ", " failures=2 ", " ", ` dispatch=""`, "", ` why=""`, "").Replace(strings.TrimSpace(msg)))
		}
		require.Equal(t, []string{
			`INFO msg="a goal stands differently" goal=x status=unknown doing=nothing`,
			`INFO msg="a goal stands differently" goal=gone status=unknown doing=nothing`,
			`WARN msg="a collector fails" domain=m error="no route, token [REDACTED:github_token]"`,
			`INFO msg="a collector is well again" domain=m`,
			`WARN msg="a goal stands differently" goal=x status=violated doing=stuck why="goal \"x\": no plan: no action changes domains.m.data.x"`,
		}, got)
	})
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A reading of before the clock was put back is none of after a dispatch.
func TestControllerReadsAnewAfterTheClockIsPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var skew atomic.Int64
		skew.Store(int64(time.Hour))
		now := func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }
		b := newBench(t, store.NewMem(), &goal.Options{Now: now}, zero("x"))
		b.do = func(context.Context, goal.Dispatch) (goal.Result, error) {
			idle(time.Second)
			return goal.Result{End: goal.Failed}, nil
		}
		require.NoError(t, b.w.Set("m", goal.Snapshot{At: now(), Data: obj{"x": 1}}))
		b.tick()
		idle(time.Minute)
		skew.Store(0)
		for range 3 {
			doing, _ := b.tick()
			require.Equal(t, goal.Resting, doing[0])
			idle(time.Minute)
		}
		b.read(obj{"x": 1})
		doing, _ := b.tick()
		require.Equal(t, goal.Began, doing[0])
		idle(time.Minute)
	})
}

// A hook that does not return holds up neither goals nor Close.
func TestControllerWaitsForNoHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := newBench(t, store.NewMem(), &goal.Options{Outcome: func(goal.Outcome) { <-release }}, zero("x"))
		b.do = func(context.Context, goal.Dispatch) (goal.Result, error) { return goal.Result{End: goal.Failed}, nil }
		for i := range 2 {
			b.read(obj{"x": 1})
			b.tick()
			idle(time.Minute)
			require.Equal(t, i+1, b.count())
		}
		begin := time.Now()
		b.c.Close()
		require.Less(t, time.Since(begin), time.Minute)
		close(release)
	})
}

// Who has refused is not asked again at once.
func TestControllerTakesNoForAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, store.NewMem(), nil, zero("x"))
		b.do = func(context.Context, goal.Dispatch) (goal.Result, error) { return goal.Result{End: goal.Refused}, nil }
		var asked []int
		for i := range 300 {
			b.read(obj{"x": 1})
			doing, r := b.tick()
			if doing[0] == goal.Began {
				asked = append(asked, i*5)
			} else {
				require.Contains(t, r.Goals[0].Why, "change m data")
			}
			idle(5 * time.Second)
		}
		require.Equal(t, []int{0, 90, 180, 780, 870, 960}, asked)
	})
}

func TestNamesOfControllersKeepTheirDispatchesApart(t *testing.T) {
	t.Parallel()
	gs, err := goal.NewGoals(zero("x"))
	require.NoError(t, err)
	d := new(desk)
	_, err = goal.New(t.Context(), store.NewMem(), new(goal.World), gs, d, d, &goal.Options{Name: "goals/a"})
	require.ErrorContains(t, err, "Name")
}

// A tick looks at the world once, and again only for what it has begun itself.
func TestControllerOfManyGoals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var goals []goal.Goal
		data := obj{}
		for i := range goal.MaxGoals {
			name := fmt.Sprint("k", i)
			goals = append(goals, zero(name))
			data[name] = 1
		}
		b := newBench(t, store.NewMem(), nil, goals...)
		b.do = func(context.Context, goal.Dispatch) (goal.Result, error) {
			idle(time.Minute)
			return goal.Result{End: goal.Failed}, nil
		}
		b.read(data)
		doing, _ := b.tick()
		require.Equal(t, 4, b.count())
		require.Equal(t, goal.Waiting, doing[goal.MaxGoals-1])
		idle(2 * time.Minute)
	})
}

// A course does not change on its way what another dispatch is about: the same action was
// done twice at once.
func TestControllerDoesNotDoTheSameTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, store.NewMem(), &goal.Options{Actions: []goal.Action{
			{Name: "stop", Skill: "ops", Effects: []goal.Change{sets("data.running", 0)}},
			{Name: "patch", Skill: "ops", Pre: []goal.Condition{is("data.running", 0)}, Effects: []goal.Change{sets("data.old", 0)}},
		}}, zero("running"), zero("old"))
		b.effects, b.skills = nil, []string{"ops"}
		b.do = func(_ context.Context, d goal.Dispatch) (goal.Result, error) {
			idle(time.Minute)
			return goal.Result{End: goal.Succeeded}, nil
		}
		b.read(obj{"running": 1, "old": 1})
		doing, r := b.tick()
		require.Equal(t, []goal.Doing{goal.Began, goal.Waiting}, doing)
		require.Contains(t, r.Goals[1].Why, "goals/running/1")
		idle(2 * time.Minute)
		b.read(obj{"running": 0, "old": 1})
		doing, _ = b.tick()
		require.Equal(t, []goal.Doing{goal.Nothing, goal.Began}, doing)
		require.Len(t, b.got[1].Steps, 1)
		idle(2 * time.Minute)
	})
}

// Which of several dispatches keeps a goal waiting is not left to chance.
func TestControllerDoesNotLeaveItToChance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		frozen := time.Now()
		actions := []goal.Action{
			{Name: "a", Skill: "ops", Effects: []goal.Change{sets("data.a", 0), sets("data.c", 0)}},
			{Name: "b", Skill: "ops", Effects: []goal.Change{sets("data.b", 0), sets("data.c", 0)}},
		}
		for range 50 {
			opts := &goal.Options{Now: func() time.Time { return frozen }, Actions: actions}
			b := newBench(t, store.NewMem(), opts, zero("a"), zero("b"), zero("c"))
			b.effects, b.skills = nil, []string{"ops"}
			b.do = func(_ context.Context, d goal.Dispatch) (goal.Result, error) {
				idle(time.Minute)
				return goal.Result{End: map[string]goal.End{"a": goal.Succeeded, "b": goal.Failed}[d.Goal]}, nil
			}
			b.read(obj{"a": 1, "b": 1, "c": 0})
			doing, _ := b.tick()
			require.Equal(t, []goal.Doing{goal.Began, goal.Began, goal.Nothing}, doing)
			b.read(obj{"a": 1, "b": 1, "c": 1})
			_, r := b.tick()
			require.Contains(t, r.Goals[2].Why, "goals/a/1")
			idle(2 * time.Minute)
			require.NoError(t, b.w.Set("m", goal.Snapshot{Data: obj{"a": 1, "b": 0, "c": 1}, At: frozen.Add(time.Second)}))
			_, r = b.tick()
			require.Contains(t, r.Goals[2].Why, "effects have to show", "that of the success counts")
			b.c.Close()
		}
	})
}

// skewing is a store that puts the clock back when it is written.
type skewing struct {
	store.Store
	skew *atomic.Int64
}

// A lease is no longer for a clock that was put back.
func TestLeaseWhenTheClockIsPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var skew atomic.Int64
		now := func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }
		b := newBench(t, skewing{store.NewMem(), &skew}, &goal.Options{Now: now, Lease: time.Minute}, zero("x"))
		b.do = func(ctx context.Context, _ goal.Dispatch) (goal.Result, error) {
			<-ctx.Done()
			return goal.Result{}, ctx.Err()
		}
		b.read(obj{"x": 1})
		b.tick()
		idle(2 * time.Minute)
		require.Len(t, b.outcomes(), 1)
	})
}

// A success is seen although the clock was put back meanwhile.
func TestSuccessIsSeenAfterTheClockIsPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var skew atomic.Int64
		now := func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }
		b := newBench(t, store.NewMem(), &goal.Options{Now: now}, zero("x"))
		b.read(obj{"x": 1})
		b.tick()
		skew.Store(-int64(240 * time.Hour))
		for range 3 {
			idle(time.Minute)
			require.NoError(t, b.w.Set("m", goal.Snapshot{Data: obj{"x": 0}, At: now()}))
			b.tick()
		}
		require.Equal(t, goal.Succeeded, b.outcomes()[0].End)
	})
}

// What was read before a dispatch is not later than it since the clock was put back
// meanwhile: it neither judges the dispatch nor begins another.
func TestAReadingIsNoLaterForAClockPutBack(t *testing.T) {
	for name, back := range map[string]time.Duration{"and has caught up": time.Minute, "far": time.Hour} {
		for _, between := range []bool{false, true} { // ticks while the dispatch is under way
			t.Run(fmt.Sprint(name, between), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var skew atomic.Int64
					b := newBench(t, store.NewMem(), &goal.Options{
						Cooldown: time.Second, Now: func() time.Time { return time.Now().Add(time.Duration(skew.Load())) },
					}, zero("x"))
					b.do = func(context.Context, goal.Dispatch) (goal.Result, error) {
						idle(10 * time.Second)
						return goal.Result{End: goal.Succeeded}, nil
					}
					b.read(obj{"x": 1})
					b.tick()
					skew.Store(-int64(back))
					for range 10 {
						if idle(20 * time.Second); between {
							b.tick()
						}
					}
					_, r := b.tick()
					require.Empty(t, b.judged)
					require.Equal(t, 1, b.count(), "%+v", r.Goals)
				})
			})
		}
	}
}

func (s skewing) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	s.skew.Store(-int64(240 * time.Hour))
	return s.Store.Commit(ctx, ops...)
}

// A goal of another name is about a value that was just seen to.
func TestARenamedGoalWaitsAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, renamed := store.NewMem(), zero("x")
		renamed.ID = "y"
		b := newBench(t, st, nil, zero("x"))
		b.read(obj{"x": 1})
		b.tick()
		b.c.Close()
		idle(time.Minute)
		b = newBench(t, st, nil, renamed)
		b.read(obj{"x": 1})
		doing, _ := b.tick()
		require.Equal(t, goal.Resting, doing[0])
	})
}

// A Controller that is opened after the clock was put back goes on from the dispatch that was admitted last.
func TestTheLastDispatchIsKnownAfterTheClockIsPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var skew atomic.Int64
		st, now := store.NewMem(), func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }
		open := func() *bench { return newBench(t, st, &goal.Options{Now: now}, zero("x")) }
		read := func(b *bench, x int) {
			idle(2 * time.Minute)
			require.NoError(t, b.w.Set("m", goal.Snapshot{Data: obj{"x": x}, At: now()}))
			b.tick()
		}
		b := open()
		read(b, 1)
		read(b, 0)
		skew.Store(-int64(time.Hour))
		read(b, 1) // from then on the first dispatch is of now
		read(b, 1)
		b.c.Close()
		b = open()
		read(b, 0)
		for _, o := range b.outcomes() {
			require.Equal(t, goal.Succeeded, o.End, "%+v", o)
		}
		require.Len(t, b.outcomes(), 2)
	})
}

// What has come to nothing rests as long, and is as rare, where each tick is that of a process of its own.
func TestNothingComesToNothingMoreOftenForRestarts(t *testing.T) {
	for name, s := range map[string]goal.Snapshot{"violated": {Data: obj{"x": 1}}, "unknown": {Err: errors.New("no answer")}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var began [2][]int
				for i := range began {
					g, st := zero("x"), store.NewMem()
					g.ActOnUnknown = true
					b := newBench(t, st, nil, g)
					for tick := range 300 {
						if i == 1 {
							b.c.Close()
							b = newBench(t, st, nil, g)
						}
						s.At = time.Now()
						require.NoError(t, b.w.Set("m", s))
						if doing, _ := b.tick(); doing[0] == goal.Began {
							began[i] = append(began[i], tick)
						}
						idle(5 * time.Second)
					}
				}
				require.Equal(t, began[0], began[1])
				require.Greater(t, began[0][3], began[0][2]+100, "three failures are followed by a rest")
			})
		})
	}
}

// What a runner says of a success is no word about a failure: a reading judges it, as any other.
func TestSuccessWithAWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, store.NewMem(), nil, zero("x"))
		b.do = func(context.Context, goal.Dispatch) (goal.Result, error) {
			return goal.Result{End: goal.Succeeded, Why: "all steps were done"}, nil
		}
		b.read(obj{"x": 1})
		b.tick()
		require.Equal(t, goal.Unseen, b.outcomes()[0].End)
		idle(time.Minute)
		b.read(obj{"x": 0})
		b.tick()
		require.Equal(t, goal.Succeeded, b.outcomes()[0].End)
		require.Empty(t, b.outcomes()[0].Why)
		require.Equal(t, []string{b.outcomes()[0].ID + " true"}, b.judged)
	})
}

// The inputs of a dispatch have their bound as they are handed on, without secrets.
func TestInputsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := goal.Goal{ID: "quiet", Condition: goal.Condition{Selector: "domains.m.data.log", Operator: "falsy"}}
		b := newBench(t, store.NewMem(), nil, g)
		b.read(obj{"log": strings.Repeat("password=hunter2 ", 1800)}) // 30 KiB
		b.tick()
		require.LessOrEqual(t, len(b.got[0].Inputs), 32<<10)
	})
}

// What cannot be judged, such as a run whose record is damaged, does not pile up.
func TestJudgingThatFailsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, store.NewMem(), &goal.Options{History: 3, Cooldown: -1}, zero("x"))
		b.judging = errors.New("the run is damaged")
		for i := range 40 {
			b.read(obj{"x": 1 - i%2})
			b.judged = nil
			_, err := b.c.Tick(t.Context())
			require.Equal(t, i > 0, err != nil)
			synctest.Wait()
			require.LessOrEqual(t, len(b.judged), 4)
			idle(time.Second)
		}
	})
}

// Of goals that are gone the last dispatches are known as a restart knows them: those of the last History outcomes.
func TestGoalsThatAreGoneAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gs goal.Goals
		d := &desk{effects: []reason.Effect{{Domain: "m", Path: "data"}}}
		var w goal.World
		c, err := goal.New(t.Context(), store.NewMem(), &w, &gs, d, d, &goal.Options{History: 3})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		for i := range 20 {
			_, err := gs.Load(fmt.Appendf(nil, "goals:\n  - id: g%02d\n    selector: domains.m.data.x%d\n    max: 0\n", i, i))
			require.NoError(t, err)
			require.NoError(t, w.Set("m", goal.Snapshot{Data: obj{fmt.Sprint("x", i): 1}, At: time.Now()}))
			_, err = c.Tick(t.Context())
			require.NoError(t, err)
			synctest.Wait()
			require.LessOrEqual(t, len(c.Past()), 5)
			idle(time.Second)
		}
		require.Equal(t, []string{"g16", "g17", "g18", "g19"}, c.Past())
	})
}

// slowScan is a store whose Scan takes a time.
type slowScan struct {
	store.Store
	takes time.Duration
}

func (s *slowScan) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	idle(s.takes)
	return s.Store.Scan(ctx, r)
}

// A dispatch that ends within a tick that takes long ended when it did: a reading from before its end shows nothing of it.
func TestASlowTickPutsNoClockBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &faulty{Store: store.NewMem()}
		slow := &slowScan{Store: st}
		b := newBench(t, slow, &goal.Options{Cooldown: -1}, zero("x"), zero("y"))
		b.do = func(context.Context, goal.Dispatch) (goal.Result, error) {
			idle(30 * time.Second)
			return goal.Result{End: goal.Succeeded}, nil
		}
		begin := time.Now()
		b.read(obj{"x": 1, "y": 0})
		b.tick()
		b.read(obj{"x": 1, "y": 1})
		st.fail = true
		_, err := b.c.Tick(t.Context()) // it leaves y in doubt
		require.Error(t, err)
		st.fail, slow.takes = false, time.Minute
		_, err = b.c.Tick(t.Context())
		require.NoError(t, err)
		slow.takes = 0
		require.NoError(t, b.w.Set("m", goal.Snapshot{Data: obj{"x": 1, "y": 0}, At: begin.Add(20 * time.Second)}))
		_, r := b.tick()
		idle(time.Minute) // until what is done for y is over
		require.Equal(t, goal.Resting, r.Goals[0].Doing)
		require.Empty(t, b.judged)
	})
}

// faulty is a store that fails to commit.
type faulty struct {
	store.Store
	fail bool
}

func (f *faulty) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if f.fail {
		return 0, errors.New("no disk")
	}
	return f.Store.Commit(ctx, ops...)
}
