package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

var (
	objectives = flag.Int("kill.objectives", 24, "objectives that three processes share")
	mostKills  = flag.Int("kill.most", 5, "how often one of them is killed, a second after the last; 0: until nine of ten are done")
)

const (
	replicaSchema = "ARC_POSTGRES_TEST_REPLICA" // makes the test binary a replica over this schema
	replicaName   = "ARC_POSTGRES_TEST_NAME"
	replicaLog    = "ARC_POSTGRES_TEST_LOG"

	replicaLease = 5 * time.Second
)

func jobOptions() *queue.Options {
	return &queue.Options{LeaseTTL: replicaLease, Backoff: 100 * time.Millisecond, MaxAttempts: 1000}
}

// shippers plan three tasks for each parcel, and do them by work.
func shippers(work act.ExecutorFunc) arc.Host {
	return arc.Host{
		Reasoner: reason.ReasonerFunc(func(context.Context, reason.Brief) (reason.Decision, error) {
			return reason.Decision{Approach: "one after the other", Tasks: []reason.Task{
				{Objective: "pack it", Skill: "pack"}, {Objective: "send it", Skill: "send"}, {Objective: "sign it", Skill: "sign"},
			}}, nil
		}),
		Workers: []act.Worker{{
			Card: rank.Candidate{Name: "hands"}, Skills: []string{"pack", "send", "sign"}, Executor: work,
		}},
		Gates: []act.Gate{act.NoGate},
	}
}

// replica works on jobs until it is killed, or the test has ended. It notes in a file, which all append to,
// what it begins, what it has done, and which jobs it has heard to be delivered.
func replica(ctx context.Context) error {
	log, err := os.OpenFile(os.Getenv(replicaLog), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	note := func(what, about string) {
		_, _ = fmt.Fprintf(log, "%d %s %s\n", time.Now().UnixMilli(), what, about) // in one call of write
	}
	st, err := postgres.Open(ctx, pooled(8), &postgres.Options{Schema: os.Getenv(replicaSchema)})
	if err != nil {
		return err
	}
	work := func(_ context.Context, w act.Work) (act.Result, error) {
		note("begins "+w.Task.Skill, w.Objective)
		<-time.After(20 * time.Millisecond) // to be killed in
		out, err := json.Marshal(w.Task.Skill + " is done")
		note("ends "+w.Task.Skill, w.Objective)
		return act.Result{Output: out, Reflection: iar.Reflection{Status: iar.Success, Confidence: .9, Summary: "done"}}, err
	}
	agent, err := arc.New(ctx, st, shippers(work), &arc.Options{Replica: os.Getenv(replicaName), Lease: replicaLease})
	if err != nil {
		return err
	}
	q, err := queue.Open(ctx, st, jobOptions())
	if err != nil {
		return err
	}
	run := agent.QueueHandler()
	_, err = q.Dispatch(func(ctx context.Context, j queue.Job) (queue.Result, error) {
		r, err := run(ctx, j)
		if err == nil && r.State == "" { // which completes it
			note("told of", j.Subject)
		}
		return r, err
	}, &queue.DispatchOptions{Workers: 4, Poll: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// Three processes share objectives and are killed at random. Each objective is delivered
// once, no attempt is made again once the next task has begun or its run was delivered,
// none is left, and what was learned counts each attempt once.
func TestProcessesThatAreKilled(t *testing.T) {
	name := schema(t)
	st := open(t, name)
	q, err := queue.Open(t.Context(), st, jobOptions())
	require.NoError(t, err)
	for i := range *objectives {
		_, _, err := q.Enqueue(t.Context(), queue.Draft{Subject: fmt.Sprintf("parcel-%05d", i)})
		require.NoError(t, err)
	}
	log := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(log, nil, 0o600))
	born := 0
	bear := func() *exec.Cmd {
		born++
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "ARC_POSTGRES_URL="+conninfo,
			replicaSchema+"="+name, replicaLog+"="+log, fmt.Sprintf("%s=r%d", replicaName, born))
		cmd.Stderr = os.Stderr
		_, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		return cmd
	}
	end := func(cmd *exec.Cmd) {
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // it says that it was killed
	}
	crew := []*exec.Cmd{bear(), bear(), bear()}
	defer func() {
		for _, cmd := range crew {
			end(cmd)
		}
	}()
	random := rand.New(rand.NewPCG(*seed, 17))
	begin, last, kills := time.Now(), time.Now(), 0
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for left := *objectives; left > 0; {
		<-look.C
		if kills < *mostKills || *mostKills == 0 && left > *objectives/10 {
			n := random.IntN(len(crew))
			end(crew[n])
			crew[n], kills, last = bear(), kills+1, time.Now()
		}
		left = 0
		for _, err := range q.Jobs(t.Context(), queue.Pending, queue.Active) {
			require.NoError(t, err)
			left++
		}
	}
	took := time.Since(begin).Round(time.Second)
	again, under, latest := inOrder(t, log, last)
	lost := 0 // leases
	ended := map[string]int{}
	for c, err := range q.Cycles(t.Context(), time.Time{}) {
		require.NoError(t, err)
		if c.State == queue.Completed {
			ended[c.Job]++
		} else if c.Error != "" {
			require.Contains(t, c.Error, "its lease was not renewed")
			lost++
		}
	}
	require.Len(t, ended, *objectives)
	for j, err := range q.Jobs(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, queue.Completed, j.State)
		require.Equal(t, 1, ended[j.ID], "ends of a job")
	}
	idle := func(context.Context, act.Work) (act.Result, error) {
		return act.Result{}, errors.New("nothing is left to do")
	}
	judge, err := arc.New(t.Context(), st, shippers(idle), &arc.Options{Replica: "judge", Lease: replicaLease})
	require.NoError(t, err)
	defer func() { require.NoError(t, judge.Close()) }()
	runs := 0
	for r, err := range judge.In("local").Runs(t.Context(), arc.Filter{}) {
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)
		runs++
	}
	require.Equal(t, *objectives, runs, "a run for each")
	counted := 0
	costs, err := judge.In("local").Costs(t.Context(), begin.Add(-48*time.Hour))
	require.NoError(t, err)
	for _, c := range costs {
		require.Equal(t, c.Samples, c.Successes)
		counted += c.Samples
	}
	require.Equal(t, 3**objectives, counted, "attempts that were learned from")
	t.Logf("%d objectives in %v, %d kills, %d leases of jobs lost, %d attempts made again that had not been committed; "+
		"after the last kill %d were under way, and went on within %v", *objectives, took, kills, lost, again, under, latest)
	require.Less(t, latest, 6*replicaLease, "a run is stuck") // two leases, and a busy machine
}

// inOrder reads what replicas have noted. A task that begins says that what came before it is
// committed, and so does who is told that a run was delivered: none of it may begin
// again. It returns how many attempts began again nevertheless that no such note
// forbids, how many parcels were under way at the last kill, and when the last of them
// was heard of again.
func inOrder(t *testing.T, log string, kill time.Time) (again, under int, latest time.Duration) {
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	order := map[string]int{"begins pack": 1, "begins send": 2, "begins sign": 3, "told of": 4}
	reached, waits := map[string]int{}, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		var ms int64
		var verb, what, about string
		_, err := fmt.Sscan(line, &ms, &verb, &what, &about)
		require.NoError(t, err, line)
		if after := time.UnixMilli(ms).Sub(kill); after < 0 {
			waits[about] = verb != "told" && verb+what != "endssign"
		} else if waits[about] {
			under, latest = under+1, max(latest, after)
			waits[about] = false
		}
		step, begins := order[verb+" "+what]
		if !begins {
			continue
		}
		require.GreaterOrEqual(t, step, reached[about], "%q although a later task had begun", line)
		if step == reached[about] && step < 4 {
			again++
		}
		reached[about] = step
	}
	for about, step := range reached {
		require.Equal(t, 4, step, about)
	}
	require.Len(t, reached, *objectives)
	return again, under, latest
}
