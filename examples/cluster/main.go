// Cluster runs three agents in three processes on one PostgreSQL, kills two of them
// while they work, and shows what the third takes over: what they had packed, it sends,
// and does not pack again. Each says which of them it knows as the home of what is learned.
//
//	cd examples/cluster && go run .
//
// The server is one that it starts in a temporary directory, from the programs on PATH
// or those of the Debian package; or that of ARC_POSTGRES_URL, in the schema
// arc_cluster, where what it has done stays.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/contrib/postgres/pgtest"
)

const (
	nameVariable = "ARC_CLUSTER_REPLICA" // makes the program a replica, of this name
	urlVariable  = "ARC_POSTGRES_URL"
	schema       = "arc_cluster"
)

func main() {
	var err error
	if name := os.Getenv(nameVariable); name != "" {
		err = replica(context.Background(), os.Getenv(urlVariable), name, os.Stdout)
	} else {
		err = cluster(context.Background(), 15, os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// cluster enqueues parcels, starts the replicas, and kills all but one of them.
func cluster(ctx context.Context, parcels int, out io.Writer) (err error) {
	url := os.Getenv(urlVariable)
	if url == "" {
		server, err := pgtest.Start(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.Stop()) }()
		url = server.Conninfo()
	}
	st, err := postgres.Open(ctx, url, &postgres.Options{Schema: schema})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	q, err := queue.Open(ctx, st, queueOptions())
	if err != nil {
		return err
	}
	for n := range parcels {
		if _, _, err := q.Enqueue(ctx, queue.Draft{Subject: fmt.Sprintf("parcel %02d", n+1), Key: fmt.Sprint("parcel/", n)}); err != nil {
			return err
		}
	}
	w := &watch{out: out, packed: map[string][]string{}, sent: map[string][]string{}, at: map[string]string{}}
	var crew []*process
	defer func() {
		for _, p := range crew {
			err = errors.Join(err, p.kill())
		}
	}()
	for _, name := range []string{"ada", "bob", "eve"} {
		p, err := start(ctx, url, name, w)
		if err != nil {
			return err
		}
		crew = append(crew, p)
	}
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for next, last := 0, time.Now(); ; {
		left, err := unfinished(ctx, q)
		if err != nil || left == 0 {
			return errors.Join(err, w.sum(parcels))
		}
		// All but the last are killed, each while it sends what it has packed.
		if next < len(crew)-1 && time.Since(last) > 2*time.Second && w.sends(crew[next].name) != "" {
			p := crew[next]
			if err := p.kill(); err != nil {
				return err
			}
			w.say(p.name, "is killed while it sends", w.sends(p.name))
			next, last = next+1, time.Now()
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func unfinished(ctx context.Context, q *queue.Queue) (left int, err error) {
	for j, err := range q.Jobs(ctx) {
		if err != nil {
			return 0, err
		}
		if j.State == queue.Pending || j.State == queue.Active {
			left++
		}
	}
	return left, nil
}

// process is a replica that runs.
type process struct {
	name string
	cmd  *exec.Cmd
	read sync.WaitGroup
}

func start(ctx context.Context, url, name string, w *watch) (*process, error) {
	p := &process{name: name, cmd: exec.CommandContext(ctx, os.Args[0])}
	p.cmd.Env = append(os.Environ(), nameVariable+"="+name, urlVariable+"="+url)
	p.cmd.Stderr = os.Stderr
	told, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	p.read.Go(func() {
		lines := bufio.NewScanner(told)
		for lines.Scan() {
			if what, parcel, ok := strings.Cut(lines.Text(), " "); ok {
				w.say(name, what, parcel)
			}
		}
	})
	return p, nil
}

// kill ends a replica as kill -9 does.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	p.read.Wait()
	_ = p.cmd.Wait() // it says that it was killed
	return nil
}

// watch tells what the replicas do, and who did what.
type watch struct {
	mu     sync.Mutex
	out    io.Writer
	packed map[string][]string // parcel → who, each time
	sent   map[string][]string
	at     map[string]string // replica → the parcel that it is sending
}

func (w *watch) say(who, what, parcel string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	note := ""
	switch what {
	case "packs":
		return
	case "sends":
		w.at[who] = parcel
		return
	case "packed":
		w.packed[parcel] = append(w.packed[parcel], who)
	case "sent":
		if by := w.packed[parcel]; len(by) > 0 && by[len(by)-1] != who {
			note = ", which " + by[len(by)-1] + " had packed"
		}
		w.sent[parcel] = append(w.sent[parcel], who)
		w.at[who] = ""
	}
	fmt.Fprintf(w.out, "%s %s %s%s\n", who, what, parcel, note)
}

// sends is the parcel that a replica is sending, or "".
func (w *watch) sends(who string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at[who]
}

// sum says how often what was done. A parcel is packed twice only if a replica is lost,
// or held up for longer than its lease, between packing it and saying so.
func (w *watch) sum(parcels int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	twice := 0
	for _, by := range w.packed {
		twice += len(by) - 1
	}
	fmt.Fprintf(w.out, "%d of %d parcels sent; packed twice: %d\n", len(w.sent), parcels, twice)
	if len(w.sent) != parcels {
		return errors.New("the cluster has lost work")
	}
	return nil
}
