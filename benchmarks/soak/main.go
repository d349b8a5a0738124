// Command soak runs a service for hours and watches whether it stays as small as it is: an Agent on Badger
// with a model that calls tools, jobs, memory, approvals and outages, for two tenants of five users each.
//
//	GOWORK=off go run . [-minutes 120] [-rate 20] [-dir DIR]
//
// The Agent's clock runs so fast that the whole is a year: after a quarter of the time the first runs are
// older than Options.Retention, and from then on heap, goroutines, runs and memories are to stay what they
// are. The disk goes up and down: a store is rewritten when 512 MiB were added, and as much as is live. It
// prints a row every twentieth of the time, and fails where the last quarter is more than a fourth above the
// second one, where the disk is over its bound, or where a run came out wrong.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/act/tools"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

func main() {
	log.SetFlags(0)
	minutes, rate := flag.Float64("minutes", 120, "how long"), flag.Float64("rate", 20, "jobs a second")
	dir := flag.String("dir", "", "of the store; \"\": a temporary one")
	flag.Parse()
	if err := run(time.Duration(*minutes*float64(time.Minute)), *rate, *dir); err != nil {
		log.Fatal(err)
	}
}

const year = 360 * 24 * time.Hour // four times the retention

func run(length time.Duration, rate float64, dir string) error {
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "soak"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	st, err := badger.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer st.Close()
	began := time.Now()
	clock := func() time.Time {
		return began.Add(time.Duration(float64(time.Since(began)) / float64(length) * float64(year)))
	}
	s := &service{begun: began, length: length, dir: dir, queues: map[string]*queue.Queue{}}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	s.agent, err = arc.New(ctx, st, s.host(), &arc.Options{
		Patience: 10 * 24 * time.Hour, // an hour of a year in two hours is less than a second
		Now:      clock, Seed: 1, Logger: log,
	})
	if err != nil {
		return err
	}
	defer s.agent.Close()
	ended := make(chan error, len(tenants))
	for _, tenant := range tenants {
		g := store.NewGroup(store.Sub(st, store.Scope(tenant).TenantPrefix()))
		if s.queues[tenant], err = queue.Open(ctx, g, nil); err != nil { // by the true clock: leases are of seconds
			return err
		}
		go func() { ended <- s.queues[tenant].Dispatch(ctx, 4, s.handler()) }()
	}
	go s.add(ctx, time.Duration(float64(time.Second)/rate))
	go s.maintain(ctx, length/360)
	fmt.Println("| minute | runs made | kept | memories | heap MB | goroutines | disk MB | wrong |\n" +
		"|--:|--:|--:|--:|--:|--:|--:|--:|")
	const rows = 20
	tick := time.NewTicker(length / rows)
	defer tick.Stop()
	for range rows {
		select {
		case <-tick.C:
			if err := s.sample(); err != nil {
				return err
			}
		case err := <-ended:
			return errors.Join(errors.New("a queue ended"), err)
		}
	}
	stop()
	for range tenants {
		if err := <-ended; err != nil {
			return err
		}
	}
	return s.verdict()
}

var tenants = []string{"acme", "globex"}

// service is what a host builds of arc, and what is counted.
type service struct {
	agent       *arc.Agent
	begun       time.Time
	length      time.Duration
	dir         string
	queues      map[string]*queue.Queue
	made, wrong atomic.Int64
	samples     [][]float64
}

const complaint = "it says nothing of the order"

type order struct {
	ID string `json:"id"`
}

// host has a worker whose model looks an order up and pays it back, and is wrong, away or slow now and then.
func (s *service) host() arc.Host {
	lookup := tools.Func("lookup", "Looks an order up.", func(_ context.Context, o order) (string, error) {
		return "order " + o.ID + ": a lamp", nil
	})
	refund := tools.Func("refund", "Pays an order back.", func(_ context.Context, o order) (string, error) {
		return "paid back " + o.ID, nil
	})
	refund.Irreversible = true
	refund.Mode = act.Gated
	var asked atomic.Int64
	model := reason.ModelFunc(func(_ context.Context, r *reason.Request) (*reason.Response, error) {
		n := asked.Add(1)
		if n%97 == 0 {
			return nil, &reason.Error{Class: reason.Unavailable, Err: errors.New("away")}
		}
		usage := &reason.Usage{Input: 500, Output: 20}
		last := r.Messages[len(r.Messages)-1]
		if last.Role == reason.RoleTool {
			told := slices.ContainsFunc(r.Messages,
				func(m reason.Message) bool { return strings.Contains(m.Text, complaint) })
			if n%53 == 0 && !told { // twice would block the run
				// The gate refuses this answer.
				return &reason.Response{Text: "I do not know.", Stop: reason.StopEnd, Usage: usage}, nil
			}
			return &reason.Response{Text: "Done: " + last.Text, Stop: reason.StopEnd, Usage: usage}, nil
		}
		name := "lookup"
		if n%11 == 0 {
			name = "refund"
		}
		inputs, _ := json.Marshal(order{fmt.Sprint("A-", n%500)})
		return &reason.Response{Calls: []reason.ToolCall{{ID: fmt.Sprint(n), Name: name, Inputs: inputs}},
			Stop: reason.StopTools, Usage: usage}, nil
	})
	gate := act.GateFunc(func(_ context.Context, _ *act.Call, r *act.Result) (act.Verdict, error) {
		if r.Text == "I do not know." {
			return act.Verdict{Complaint: complaint}, nil
		}
		return act.Verdict{Pass: true}, nil
	})
	return arc.Host{
		Workers: []act.Worker{{Name: "support", Executor: tools.New(model, nil, lookup, refund),
			Gates: []act.Gate{gate}}},
		Approver: func(_ context.Context, a act.Approval) (act.Ruling, error) {
			return act.Ruling{Allow: len(a.Inputs)%2 == 0, By: "somebody"}, nil
		},
	}
}

// add puts jobs in: half of equal words with another order, half of words of their own. With each tenth a
// fact about the user is remembered, one of eighteen.
func (s *service) add(ctx context.Context, every time.Duration) {
	tick, rng := time.NewTicker(every), rand.New(rand.NewPCG(1, 1))
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		tenant := tenants[n%len(tenants)]
		scope := memory.Scope(fmt.Sprint(tenant, "/user", rng.IntN(5)))
		d := queue.Draft{Scope: scope, Subject: "where is the order?",
			Input: json.RawMessage(fmt.Sprintf(`{"id":"A-%d"}`, rng.IntN(500)))}
		if n%2 == 1 {
			d.Subject = fmt.Sprintf("ticket %d: the %s lamp of order A-%d is %s",
				n, pick(rng, colours), rng.IntN(500), pick(rng, flaws))
			d.Input = nil
		}
		_, _, err := s.queues[tenant].Add(ctx, d)
		if err == nil && n%10 == 0 {
			err = s.remember(ctx, scope,
				fmt.Sprintf("the customer likes %s lamps for room %d", pick(rng, colours), 1+rng.IntN(3)))
		}
		if err != nil && ctx.Err() == nil {
			s.fault("add", err)
		}
	}
}

var (
	colours = []string{"red", "green", "blue", "white", "black", "yellow"}
	flaws   = []string{"broken", "late", "of the wrong colour", "too bright", "missing"}
)

func pick(rng *rand.Rand, of []string) string { return of[rng.IntN(len(of))] }

func (s *service) remember(ctx context.Context, scope memory.Scope, text string) error {
	m, err := s.agent.In(scope).Memory(ctx)
	if err != nil {
		return err
	}
	if _, err := m.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: text}); err != nil {
		return err
	}
	_, err = m.Recall(ctx, memory.Query{Text: "which lamps does the customer like?", K: 5})
	return err
}

func (s *service) handler() queue.Handler {
	work := queue.AgentHandler(s.agent, nil)
	return func(ctx context.Context, j *queue.Job) ([]queue.Draft, error) {
		more, err := work(ctx, j)
		s.made.Add(1)
		if ctx.Err() == nil && (err != nil || j.State == queue.Failed || j.State == queue.Blocked) {
			s.fault(j.Subject, fmt.Errorf("%s %s %v", j.State, j.Summary, err))
		}
		return more, err
	}
}

func (s *service) fault(what string, err error) {
	if s.wrong.Add(1) <= 10 {
		log.Print(what, ": ", err)
	}
}

// maintain does what operations.md has a host do once a day.
func (s *service) maintain(ctx context.Context, day time.Duration) {
	tick := time.NewTicker(day)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, tenant := range tenants {
			_, err := s.agent.In(memory.Scope(tenant)).Maintain(ctx)
			if err == nil {
				_, err = s.queues[tenant].Sweep(ctx, time.Now().Add(-s.length/4))
			}
			if err != nil && ctx.Err() == nil {
				s.fault("maintain", err)
			}
		}
	}
}

// sample prints a row of what there is.
func (s *service) sample() error {
	runs, memories := 0, 0
	for _, tenant := range tenants {
		for user := range 5 {
			v := s.agent.In(memory.Scope(fmt.Sprint(tenant, "/user", user)))
			for _, err := range v.Runs(context.Background()) {
				if err != nil {
					return err
				}
				runs++
			}
			m, err := v.Memory(context.Background())
			if err != nil {
				return err
			}
			for _, err := range m.All(context.Background()) {
				if err != nil {
					return err
				}
				memories++
			}
		}
	}
	disk := int64(0)
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if info, ierr := d.Info(); err == nil && ierr == nil && !d.IsDir() {
			disk += allocated(info)
		}
		return nil // a file that is gone is none
	})
	if err != nil {
		return err
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	row := []float64{
		float64(runs), float64(memories), float64(m.HeapAlloc) / 1e6, float64(runtime.NumGoroutine()),
		float64(disk) / 1e6,
	}
	s.samples = append(s.samples, row)
	fmt.Printf("| %.1f | %d | %.0f | %.0f | %.1f | %.0f | %.0f | %d |\n", time.Since(s.begun).Minutes(),
		s.made.Load(), row[0], row[1], row[2], row[3], row[4], s.wrong.Load())
	return nil
}

// verdict compares the last quarter with the second.
func (s *service) verdict() error {
	if n := s.wrong.Load(); n > 0 {
		return fmt.Errorf("%d came out wrong", n)
	}
	for _, row := range s.samples {
		if most := 700 + .03*row[0]; row[4] > most { // MB; a run takes some 10 KB
			return fmt.Errorf("the disk takes %.0f MB, of at most %.0f", row[4], most)
		}
	}
	n := len(s.samples) / 4
	for i, what := range []string{"runs", "memories", "heap", "goroutines"} {
		was, is := 0., 0.
		for k := range n {
			was, is = was+s.samples[n+k][i], is+s.samples[3*n+k][i]
		}
		fmt.Printf("%s: %.2f times the second quarter's in the last\n", what, is/was)
		if is > 1.25*was {
			return fmt.Errorf("%s grows", what)
		}
	}
	return nil
}
