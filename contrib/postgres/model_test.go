package postgres_test

import (
	"bufio"
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
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/storetest"
)

var (
	modelCalls = flag.Int("calls", 250, "how many calls TestInAnyPlace makes")
	modelPause = flag.Duration("pause", 2*time.Second,
		"how long it stops a process, at most; after 15 s its runs are others'")
	modelCases = flag.Int("cases", 2, "of 60 calls each, in TestInAnyOrder")
	modelSeed  = flag.Uint64("seed", 0, "of its calls; 0: of the clock")
)

// call is what the test has a process do; reply is what came of it. Done is false where that is not known.
type call struct {
	N      int
	Op     string
	Scope  memory.Scope
	ID     string // of a run
	Text   string // of a memory
	Status arc.Status
	Note   string // the Report's Text, or an error
	Asks   bool   // a person has to rule
	Texts  []string
	Done   bool
}

// clerk has a worker whose objectives say what it does: «ask» needs an answer first, «slow»
// takes its time, «fail» fails once. Then it sends a letter, which must not be sent twice; each
// is a line of the ledger.
func clerk(ledger string) arc.Host {
	note := func(c *act.Call, what string) error {
		f, err := os.OpenFile(ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = fmt.Fprintln(f, what, string(c.Scope)+"/"+c.Run)
		return err
	}
	work := act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
		verb, _, _ := strings.Cut(c.Text, " ")
		switch {
		case verb == "ask" && len(c.Answers) == 0:
			return nil, &act.PendingError{Questions: []string{"to whom?"}}
		case verb == "fail" && c.Attempt == 1:
			return nil, errors.New("no ink")
		case verb == "slow":
			select {
			case <-time.After(200 * time.Millisecond):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		for _, hit := range c.Memories {
			if !strings.Contains(hit.Record.Content, string(c.Scope)) {
				_ = note(c, "told of another scope: "+hit.Record.Content)
			}
		}
		text, err := act.Step(ctx, "send", nil, func(context.Context) (string, error) {
			return "sent for " + string(c.Scope), note(c, "sent")
		}, act.Irreversible())
		return &act.Result{Text: text}, err
	})
	return arc.Host{Workers: []act.Worker{{Name: "clerk", Executor: work, Gates: []act.Gate{act.NoGate}}}}
}

// allowed are errors of calls in other processes' way, or of what is not there.
var allowed = []error{
	arc.ErrRunning, arc.ErrState, arc.ErrObjective, arc.ErrTaken, store.ErrNotFound, context.Canceled,
}

// office is a process of the test: it answers the calls that it reads, side by side.
func office(name, at, in, ledger string) error {
	ctx := context.Background()
	st, err := postgres.Open(ctx, at, &postgres.Options{Schema: in})
	if err != nil {
		return err
	}
	a, err := arc.New(ctx, st, clerk(ledger), &arc.Options{Process: name, Patience: 100 * time.Millisecond})
	for err != nil && strings.Contains(err.Error(), "the outcome is unknown") { // cut off as it begins
		a, err = arc.New(ctx, st, clerk(ledger), &arc.Options{Process: name, Patience: 100 * time.Millisecond})
	}
	if err != nil {
		return err
	}
	var calls sync.WaitGroup
	var mu sync.Mutex
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var c call
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return err
		}
		calls.Go(func() {
			err := c.do(ctx, a)
			if c.Done = err == nil; err != nil {
				c.Note = err.Error()
				is := func(e error) bool { return errors.Is(err, e) }
				unclear := strings.Contains(c.Note, "the outcome is unknown") || strings.Contains(c.Note, "the store is away")
				if !unclear && !slices.ContainsFunc(allowed, is) {
					c.Note = "UNEXPECTED " + c.Note
				}
			}
			raw, _ := json.Marshal(c)
			mu.Lock()
			defer mu.Unlock()
			fmt.Println(string(raw))
		})
	}
	calls.Wait()
	return errors.Join(a.Close(), st.Close())
}

func (c *call) do(ctx context.Context, a *arc.Agent) error {
	v := a.In(c.Scope)
	m, err := v.Memory(ctx)
	if err != nil {
		return err
	}
	var r *arc.Report
	switch c.Op {
	case "run":
		r, err = a.Run(ctx, arc.Objective{ID: c.ID, Scope: c.Scope, Text: c.Text + " for " + string(c.Scope)})
	case "answer":
		r, err = v.Answer(ctx, c.ID, "", "to anna")
	case "report":
		r, err = v.Report(ctx, c.ID)
	case "resume":
		r, err = v.Resume(ctx, c.ID)
	case "cancel":
		if err = v.Cancel(ctx, c.ID, "not wanted"); err == nil {
			r, err = v.Report(ctx, c.ID) // not there if the run had stored nothing: it may begin anew
		}
	case "erase":
		return v.Erase(ctx)
	case "remember":
		_, err = m.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: c.Text})
		return err
	case "forget", "memories":
		for r, err := range m.All(ctx) {
			if err != nil {
				return err
			}
			if c.Texts = append(c.Texts, r.Content); c.Op == "forget" && r.Content == c.Text {
				return m.Forget(ctx, r.ID)
			}
		}
		if c.Op == "forget" {
			err = store.ErrNotFound
		}
	}
	if err == nil && r != nil {
		c.Status, c.Note, c.Asks = r.Status, r.Text, len(r.Approvals) > 0
	}
	return err
}

// desk is how the test speaks to a process, through a wire of its own.
type desk struct {
	t       *testing.T
	args    string
	wire    *wire
	cmd     *exec.Cmd
	in      io.WriteCloser
	replies chan call // one for each call; closed when the process ends
	n       int
}

func (d *desk) open() {
	d.cmd = exec.Command(os.Args[0], "-test.run=^TestInAnyPlace$")
	d.cmd.Env = append(os.Environ(), dsnVariable+"="+dsn, "ARC_OFFICE="+d.args)
	d.cmd.SysProcAttr, d.cmd.Stderr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}, os.Stderr
	var err error
	d.in, err = d.cmd.StdinPipe()
	require.NoError(d.t, err)
	out, err := d.cmd.StdoutPipe()
	require.NoError(d.t, err)
	require.NoError(d.t, d.cmd.Start())
	replies := make(chan call, 1000)
	d.replies = replies
	go func() {
		defer close(replies)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var c call
			if json.Unmarshal(lines.Bytes(), &c) == nil {
				replies <- c
			} else {
				fmt.Fprintln(os.Stderr, lines.Text()) // why it has ended
			}
		}
	}()
}

func (d *desk) kill() {
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
	for range d.replies {
	}
	d.open()
}

// call has the process do something. What takes longer than patience is left to go on: its outcome is not
// known.
func (d *desk) call(c call, patience time.Duration) call {
	d.n++
	c.N = d.n
	raw, _ := json.Marshal(c)
	_, err := d.in.Write(append(raw, '\n'))
	require.NoError(d.t, err)
	late := time.After(patience)
	for {
		select {
		case r, open := <-d.replies:
			require.True(d.t, open, "the process has ended")
			if r.N == c.N {
				return r
			}
		case <-late:
			return c
		}
	}
}

// TestInAnyPlace makes random calls in three processes on one database, each of which is killed, stopped, or
// cut off from the server. Beside them stands a small model of what was acknowledged: a run that has ended
// stays as it ended, in all of them; no letter is sent twice; a memory is there until it is forgotten, and
// not afterwards; of a scope that was erased nothing is left; no scope is told what is another's.
func TestInAnyPlace(t *testing.T) {
	if args := strings.Split(os.Getenv("ARC_OFFICE"), "|"); len(args) == 4 {
		require.NoError(t, office(args[0], args[1], args[2], args[3]))
		return
	}
	need(t)
	if shared == nil {
		t.Skip("SKIPPED: the server is none of the tests'")
	}
	seed := *modelSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	name, ledger := schema(t), filepath.Join(t.TempDir(), "ledger")
	desks := make([]*desk, 3)
	for i := range desks {
		w, at := newWire(t, shared.port)
		desks[i] = &desk{t: t, wire: w, args: fmt.Sprintf("p%d|%s|%s|%s", i, at, name, ledger)}
		desks[i].open()
		defer func() { _ = desks[i].cmd.Process.Kill(); _ = desks[i].cmd.Wait() }()
	}
	type run struct {
		scope memory.Scope
		ended arc.Status // as it was acknowledged; "": not yet
		open  bool       // a call of it has not been answered: it may come into being at any time
		gone  bool       // its scope was erased
	}
	scopes, runs, notes := []memory.Scope{"a/x", "a/y", "b/x"}, map[string]*run{}, map[string]string{}
	reached, epoch := map[string]int{}, map[memory.Scope]int{}
	saw := func(r call) {
		require.NotContains(t, r.Note, "UNEXPECTED", "%+v", r)
		reached[strings.TrimSpace(r.Op+" "+string(r.Status))]++
		k := runs[r.ID]
		if !r.Done || r.Status != arc.Delivered && r.Status != arc.Canceled {
			return
		}
		require.False(t, k.gone && !k.open, "%+v: its scope was erased", r)
		if k.ended != "" {
			require.Equal(t, k.ended, r.Status, "%+v has ended", r)
		}
		k.ended = r.Status
	}
	for n := range *modelCalls {
		d, scope := desks[rng.IntN(3)], scopes[rng.IntN(3)]
		c := call{Op: "run", Scope: scope, ID: fmt.Sprintf("%s-%d-%d", scope.Tenant(), epoch[scope],
			rng.IntN(4+n/10))}
		c.ID += string(scope[2:])
		patience := 20 * time.Second
		switch draw := rng.IntN(22); draw {
		case 0, 1, 2, 3, 4, 5:
			c.Text = []string{"send", "ask", "ask", "slow", "fail"}[rng.IntN(5)]
			if rng.IntN(3) == 0 {
				patience = 0 // it goes on beside what follows
			}
			if runs[c.ID] == nil {
				runs[c.ID] = &run{scope: scope}
			}
		case 6, 7, 8, 9, 10, 11, 12:
			c.Op, c.ID = []string{"answer", "answer", "answer", "answer", "report", "report", "cancel"}[draw-6], ""
			for id, k := range runs { // any one, of those that have not ended if there are
				if c.ID = id; k.scope == scope && !k.gone && k.ended == "" {
					break
				}
			}
			if c.ID == "" {
				continue
			}
			c.Scope = runs[c.ID].scope
		case 13, 14, 15:
			c.Op, c.Text = "remember", fmt.Sprintf("letter %d of %s", n, scope)
			notes[c.Text] = "not known"
		case 16:
			for text, is := range notes {
				if is == "there" && strings.HasSuffix(text, string(scope)) {
					c.Op, c.Text = "forget", text
				}
			}
			if c.Op != "forget" {
				continue
			}
			notes[c.Text] = "not known"
		case 17, 18:
			d.wire.cut()
			continue
		case 19:
			d.kill()
			continue
		case 20:
			process, pause := d.cmd.Process, time.Duration(rng.Int64N(int64(*modelPause)))
			require.NoError(t, process.Signal(syscall.SIGSTOP))
			defer time.AfterFunc(pause, func() { _ = process.Signal(syscall.SIGCONT) }).Stop()
			continue
		default:
			if c.Op = "erase"; rng.IntN(4) > 0 {
				continue
			}
			epoch[scope]++
		}
		r := d.call(c, patience)
		switch c.Op {
		case "remember", "forget":
			if r.Done {
				notes[c.Text] = map[string]string{"remember": "there", "forget": "forgotten"}[c.Op]
			}
		case "erase":
			for _, k := range runs {
				if k.scope == scope {
					k.gone, k.open, k.ended = r.Done, k.open || !r.Done, ""
				}
			}
			for text, is := range notes {
				if is == "there" && strings.HasSuffix(text, string(scope)) {
					if notes[text] = "not known"; r.Done {
						notes[text] = "forgotten"
					}
				}
			}
		default:
			k := runs[c.ID]
			k.open = k.open || r.Note == "" && !r.Done
		}
		saw(r)
	}
	t.Log(reached)

	// In the end all three say the same, and it is what was acknowledged.
	for _, d := range desks {
		_ = d.cmd.Process.Signal(syscall.SIGCONT)
	}
	for id, k := range runs {
		var is [3]call
		require.Eventually(t, func() bool {
			for i, d := range desks {
				is[i] = d.call(call{Op: "report", Scope: k.scope, ID: id}, time.Minute)
				saw(is[i])
				if is[i].N, is[i].Scope = 0, ""; is[i].Status == arc.Running || is[i].Status == arc.Waiting &&
					!is[i].Asks {
					// Its call has ended with an error: it is left.
					d.call(call{Op: "resume", Scope: k.scope, ID: id}, time.Minute)
					return false
				}
			}
			return fmt.Sprint(is[0]) == fmt.Sprint(is[1]) && fmt.Sprint(is[1]) == fmt.Sprint(is[2])
		}, time.Minute, 50*time.Millisecond, "%s: %v", id, &is)
		require.False(t, k.ended != "" && is[0].Status != k.ended, "%s was %s: %+v", id, k.ended, is[0])
	}
	sent, err := os.ReadFile(ledger)
	require.NoError(t, err)
	require.NotContains(t, string(sent), "told")
	for id, k := range runs {
		times := strings.Count(string(sent), "sent "+string(k.scope)+"/"+id+"\n")
		require.LessOrEqual(t, times, 1, id)
		require.False(t, k.ended == arc.Delivered && times == 0, id)
	}
	for _, d := range desks {
		for _, scope := range scopes {
			var all []string
			for text := range notes {
				if strings.HasSuffix(text, string(scope)) {
					all = append(all, text)
				}
			}
			require.Eventually(t, func() bool {
				has := d.call(call{Op: "memories", Scope: scope}, time.Minute).Texts
				return !slices.ContainsFunc(all, func(text string) bool {
					return notes[text] != "not known" && slices.Contains(has, text) != (notes[text] == "there")
				})
			}, 10*time.Second, 50*time.Millisecond, "%s: %v", scope, notes)
		}
	}
}

// The model of the root's test of the same name, over this store: three Agents on it whose commits fail, are
// held up or are of unknown outcome, in hours that pass at once.
func TestInAnyOrder(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "store")
	stop, err := storetest.Serve(open(t, dsn, postgres.Options{Schema: schema(t)}), socket)
	require.NoError(t, err)
	defer func() { require.NoError(t, stop()) }()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-v", "-count=1", "-timeout=120m",
		"-run", "^TestInAnyPlace$", ".", "-args", "-rapid.nofailfile", "-rapid.checks", fmt.Sprint(*modelCases))
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "ARC_STORE="+socket)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "--- PASS: TestInAnyPlace")
	t.Log(string(out))
}
