// Queue watches a folder, works on what lies in it, is killed, and goes on.
//
// A child process has a sensor that looks into the folder, which enqueues a job for each
// file, and works on them; it is killed, as kill -9 does it, in the middle of the
// second. The parent opens the same store. What was done is not done again, what was
// under way is, and the sensor, which looks each 30 seconds, finds a file that came
// meanwhile.
//
//	go run ./examples/queue
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/store/badger"
)

// childDir names the variable that tells the child where to work.
const childDir = "ARC_QUEUE_DIR"

func main() {
	var err error
	if dir := os.Getenv(childDir); dir != "" {
		err = work(context.Background(), dir, time.Now, true)
	} else {
		err = parent(context.Background())
	}
	if err != nil {
		log.Fatal(err)
	}
}

func parent(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "arc-queue-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Mkdir(filepath.Join(dir, "inbox"), 0o700); err != nil {
		return err
	}
	for _, name := range []string{"1-rent.txt", "2-phone.txt", "3-water.txt"} {
		if err := drop(dir, name); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	var killed *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &killed) {
		return fmt.Errorf("the child was not killed: %w", err)
	}
	fmt.Println("killed; a minute later a new process opens the same store")
	if err := drop(dir, "4-urgent.txt"); err != nil {
		return err
	}
	later := func() time.Time { return time.Now().Add(time.Minute) }
	return work(ctx, dir, later, false)
}

// drop puts a file into the folder.
func drop(dir, name string) error {
	return os.WriteFile(filepath.Join(dir, "inbox", name), []byte("pay "+name), 0o600)
}

// work watches the folder, and works on its files until all jobs have ended.
func work(ctx context.Context, dir string, now func() time.Time, die bool) (err error) {
	st, err := badger.Open(filepath.Join(dir, "store"), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	// Alone: what a process that is gone held is given back at once.
	q, err := queue.Open(ctx, st, &queue.Options{Alone: true, Now: now})
	if err != nil {
		return err
	}
	// What lies there already is found before any work begins, and what comes later
	// while it goes on.
	inbox := queue.Sensor{Name: "inbox", Every: 30 * time.Second, Read: folder(filepath.Join(dir, "inbox"))}
	found, err := q.Sense(ctx, inbox)
	if err != nil {
		return err
	}
	for _, j := range found {
		fmt.Println("  found", j.Subject)
	}
	ctx, stop := context.WithCancel(ctx)
	watched := make(chan error, 1)
	go func() { watched <- q.Watch(ctx, nil, inbox) }()
	defer func() {
		stop()
		err = errors.Join(err, <-watched)
	}()
	r := reporter{done: make(chan struct{}, 16)}
	d, err := q.Dispatch(func(ctx context.Context, j queue.Job) (queue.Result, error) {
		r.untold.Wait() // for what is printed of the attempts before
		if die && j.Subject == "2-phone.txt" {
			fmt.Println("  2-phone.txt   begun …")
			self, err := os.FindProcess(os.Getpid())
			if err != nil {
				return queue.Result{}, err
			}
			if err := self.Kill(); err != nil {
				return queue.Result{}, err
			}
			select {}
		}
		// The token tells a second attempt from a first: here it is only shown.
		fmt.Printf("  %-13s done, claim %d, by a %s model\n", j.Subject, j.Token, j.Model)
		return queue.Result{Summary: "paid"}, nil
	}, &queue.DispatchOptions{Gates: []queue.Gate{&r}})
	if err != nil {
		return err
	}
	for left := 1; left > 0; {
		<-r.done
		left, err = progress(ctx, q)
		r.untold.Done()
		if err != nil {
			return err
		}
	}
	return d.Close(ctx)
}

// folder is what a sensor reads: it finds a job for each file. It may look as often as
// it likes, in any process: the Key is of one job, also for a day after that has ended.
func folder(path string) func(context.Context, string) (queue.Reading, error) {
	return func(context.Context, string) (r queue.Reading, err error) {
		files, err := os.ReadDir(path)
		for _, f := range files {
			d := queue.Draft{Subject: f.Name(), Key: "inbox/" + f.Name(), Quiet: 24 * time.Hour}
			if strings.Contains(f.Name(), "urgent") {
				d.Priority = 1
			}
			r.Jobs = append(r.Jobs, d)
		}
		return r, err
	}
}

// reporter is a gate that lets all pass, and hears how each attempt ended.
type reporter struct {
	done   chan struct{}
	untold sync.WaitGroup // attempts that have ended
}

// Admit implements queue.Gate.
func (*reporter) Admit(time.Time) int { return 10 }

// Ended implements queue.Gate. It is told of what ended before, too.
func (r *reporter) Ended(c queue.Cycle) {
	if c.Error != "" {
		fmt.Printf("  %-13s %s\n", c.Subject, c.Error)
		return
	}
	r.untold.Add(1)
	r.done <- struct{}{}
}

// progress prints a line, and returns how many jobs are left.
func progress(ctx context.Context, q *queue.Queue) (left int, err error) {
	count := map[queue.State]int{}
	for j, err := range q.Jobs(ctx) {
		if err != nil {
			return 0, err
		}
		count[j.State]++
	}
	left = count[queue.Pending] + count[queue.Active]
	all := left + count[queue.Completed]
	bar := strings.Repeat("#", count[queue.Completed]) + strings.Repeat(".", left)
	fmt.Printf("[%s] %d of %d done\n", bar, count[queue.Completed], all)
	return left, nil
}
