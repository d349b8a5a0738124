package queue_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing/fstest"
	"time"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Two workers do what is enqueued, and what follows from it.
func Example() {
	ctx := context.Background()
	q, err := queue.Open(ctx, store.NewMem(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan string)
	work := func(ctx context.Context, j queue.Job) (queue.Result, error) {
		defer func() { done <- j.Subject }()
		if j.Depth > 0 {
			return queue.Result{Summary: "looks good"}, nil
		}
		same, _ := queue.JobIn(ctx) // for what a handler calls
		return queue.Result{
			Summary:   "mended by a " + same.Model + " model",
			Followups: []queue.Draft{{Subject: "review " + j.Subject}},
		}, nil
	}
	if _, _, err := q.Enqueue(ctx, queue.Draft{Subject: "the build", Priority: 2, Key: "ci"}); err != nil {
		fmt.Println(err)
		return
	}
	_, added, err := q.Enqueue(ctx, queue.Draft{Subject: "the build again", Key: "ci"})
	fmt.Println("added twice:", added, err)

	d, err := q.Dispatch(work, &queue.DispatchOptions{Workers: 2, Gates: []queue.Gate{queue.Budget(50, 2)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-done)
	fmt.Println(<-done)
	fmt.Println(d.Close(ctx))
	for c, err := range q.Cycles(ctx, time.Time{}) {
		fmt.Println(c.Subject, c.State, c.Error, err)
	}
	// Output:
	// added twice: false <nil>
	// the build
	// review the build
	// <nil>
	// the build completed  <nil>
	// review the build completed  <nil>
}

// A host with workers of its own claims jobs itself.
func ExampleQueue_Claim() {
	ctx := context.Background()
	q, err := queue.Open(ctx, store.NewMem(), &queue.Options{Alone: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	job, _, err := q.Enqueue(ctx, queue.Draft{Subject: "deploy"})
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := q.Claim(ctx, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(l.Job.Subject, l.Job.State, l.Beat(ctx))
	j, err := l.End(ctx, queue.Result{State: queue.Blocked, Summary: "the window is closed"}, nil)
	fmt.Println(j.State, j.Summary, err)
	_, err = l.End(ctx, queue.Result{State: queue.Completed}, nil)
	fmt.Println(errors.Is(err, queue.ErrLost))

	fmt.Println(q.Requeue(ctx, job.ID, "the window is open"), q.Park(ctx, job.ID))
	_, err = q.Claim(ctx, 0)
	fmt.Println(errors.Is(err, queue.ErrEmpty), errors.Is(q.Park(ctx, job.ID), queue.ErrState))
	for j, err := range q.Jobs(ctx, queue.Parked, queue.Pending, queue.Active, queue.Failed) {
		fmt.Println(j.Subject, j.State, j.Note, err)
	}
	fmt.Println(q.Remove(ctx, job.ID))
	_, err = q.Get(ctx, job.ID)
	fmt.Println(errors.Is(err, store.ErrNotFound))
	// Output:
	// deploy active <nil>
	// blocked the window is closed <nil>
	// true
	// <nil> <nil>
	// true true
	// deploy parked the window is open <nil>
	// <nil>
	// true
}

// What recurs, or is always done in the same way, has a template.
func ExampleLoadTemplates() {
	templates, err := queue.LoadTemplates(fstest.MapFS{"inbox.yaml": &fstest.MapFile{Data: []byte(`
subject: look through the inbox
priority: 3
skills: [mail]
cron: "*/10 * * * *"
key: inbox
`)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	q, err := queue.Open(ctx, store.NewMem(), &queue.Options{Templates: templates})
	if err != nil {
		fmt.Println(err)
		return
	}
	j, _, err := q.Enqueue(ctx, queue.Draft{Template: "inbox"})
	fmt.Println(j.Subject, j.Priority, j.Skills, j.At.Minute()%10, err)
	_, _, err = q.Enqueue(ctx, queue.Draft{Template: "outbox"})
	fmt.Println(errors.Is(err, queue.ErrDraft))
	// Output:
	// look through the inbox 3 [mail] 0 <nil>
	// true
}

// Three failures in five minutes, and for ten no job begins.
func ExampleBreaker() {
	g, err := queue.Breaker(3, 5*time.Minute, 10*time.Minute)
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for range 3 {
		g.Ended(queue.Cycle{Started: now, Error: "the provider is away"})
	}
	fmt.Println(g.Admit(now), g.Admit(now.Add(10*time.Minute)))
	// Output: 0 10
}

// A sensor goes through a log, from where it was the last time.
func ExampleQueue_Sense() {
	ctx := context.Background()
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	q, err := queue.Open(ctx, store.NewMem(), &queue.Options{Now: func() time.Time { return now }})
	if err != nil {
		fmt.Println(err)
		return
	}
	lines := []string{"disk full", "login failed"}
	log := queue.Sensor{Name: "log", Every: time.Minute, Jitter: -1, Read: func(_ context.Context, cursor string) (r queue.Reading, err error) {
		seen, _ := strconv.Atoi(cursor) // "" at first
		for _, line := range lines[seen:] {
			r.Jobs = append(r.Jobs, queue.Draft{Subject: "look into: " + line})
		}
		r.Cursor = strconv.Itoa(len(lines))
		return r, nil
	}}
	for range 3 {
		found, err := q.Sense(ctx, log)
		for _, j := range found {
			fmt.Println(now.Format("15:04"), j.Subject, "by", j.Source)
		}
		if err != nil {
			fmt.Println(err)
		}
		lines = append(lines, fmt.Sprint("restarted at ", now.Format("15:04")))
		now = now.Add(40 * time.Second)
	}
	var is queue.SensorState
	for is, err = range q.Sensors(ctx) {
		fmt.Println(is.Name, is.Token, "readings, the next at", is.Due.Format("15:04:05"), is.Error, err)
	}
	// Output:
	// 12:00 look into: disk full by sensor:log
	// 12:00 look into: login failed by sensor:log
	// 12:01 look into: restarted at 12:00 by sensor:log
	// 12:01 look into: restarted at 12:00 by sensor:log
	// log 2 readings, the next at 12:02:20  <nil>
}

// What is urgent is decided by a better model.
func ExampleByModel() {
	says := func(name string) reason.Model {
		return reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) {
			return &reason.Response{Text: name}, nil
		})
	}
	model := queue.ByModel(map[string]reason.Model{"strong": says("the large one")}, says("the small one"))
	ctx := context.Background()
	q, err := queue.Open(ctx, store.NewMem(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan string)
	d, err := q.Dispatch(func(ctx context.Context, j queue.Job) (queue.Result, error) {
		r, err := model.Generate(ctx, &reason.Request{}) // as a reasoner would, or an executor
		if err != nil {
			return queue.Result{}, err
		}
		done <- j.Subject + ": " + r.Text
		return queue.Result{}, nil
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, draft := range []queue.Draft{{Subject: "the site is down", Priority: 2}, {Subject: "tidy up"}} {
		if _, _, err := q.Enqueue(ctx, draft); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(<-done)
	}
	fmt.Println(d.Close(ctx))
	// Output:
	// the site is down: the large one
	// tidy up: the small one
	// <nil>
}
