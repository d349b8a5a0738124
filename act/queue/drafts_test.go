package queue_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// A series goes on after each end, at the next time from then on, whatever came of it.
func TestCron(t *testing.T) {
	t.Parallel()
	c := &clock{epoch}
	q := open(t, c, queue.Options{Alone: true})
	first := enqueue(t, q, queue.Draft{Cron: "0 6 * * *", Key: "daily", Priority: 2, MaxAttempts: 1})
	require.Equal(t, time.Date(2026, 7, 2, 6, 0, 0, 0, time.UTC), first.At)
	_, err := q.Claim(t.Context(), 0)
	require.ErrorIs(t, err, queue.ErrEmpty)
	c.now = epoch.AddDate(0, 0, 3) // days pass, which are left out
	finish(t, claim(t, q), queue.Result{}, errBoom)
	_, err = q.Claim(t.Context(), 0)
	require.ErrorIs(t, err, queue.ErrEmpty)
	again, added, err := q.Enqueue(t.Context(), queue.Draft{Subject: "job", Cron: "0 6 * * *", Key: "daily"})
	require.NoError(t, err)
	require.False(t, added, "the series is there")
	require.Equal(t, time.Date(2026, 7, 5, 6, 0, 0, 0, time.UTC), again.At)
	require.NotEqual(t, first.ID, again.ID)
	require.Equal(t, 2, again.Priority)
	require.NoError(t, q.Remove(t.Context(), again.ID))
	c.now = c.now.AddDate(0, 0, 3)
	_, err = q.Claim(t.Context(), 0)
	require.ErrorIs(t, err, queue.ErrEmpty, "it is over")

	zone := enqueue(t, q, queue.Draft{Cron: "CRON_TZ=Europe/Berlin 0 6 * * *"})
	require.Equal(t, 4, zone.At.Hour(), "summer time")
	every := enqueue(t, q, queue.Draft{Cron: "@every 90m"})
	require.Equal(t, c.now.Add(90*time.Minute), every.At.Round(time.Minute))
	for _, bad := range []string{"nonsense", "* * *", "0 0 31 2 *", "TZ=", "CRON_TZ=Nowhere/At_All 0 6 * * *"} {
		_, _, err := q.Enqueue(t.Context(), queue.Draft{Subject: "job", Cron: bad})
		require.ErrorIs(t, err, queue.ErrDraft, bad)
	}
}

// What a person says of jobs: one is done by hand, one is worded anew and goes first.
func TestByHand(t *testing.T) {
	t.Parallel()
	c := &clock{epoch}
	q := open(t, c, queue.Options{Alone: true})
	done := enqueue(t, q, queue.Draft{Subject: "call ada", Key: "ada", Cron: "@every 1h", Skills: []string{"phone"}})
	early := enqueue(t, q, queue.Draft{Subject: "first"})
	late := enqueue(t, q, queue.Draft{Subject: "later", Description: "the rest", Skills: []string{"mail"}})
	require.NoError(t, q.Revise(t.Context(), late.ID, queue.Draft{Subject: "now", Priority: 1}))
	require.NoError(t, q.Revise(t.Context(), early.ID, queue.Draft{Subject: "second"}))
	require.ErrorIs(t, q.Revise(t.Context(), early.ID, queue.Draft{Priority: 11}), queue.ErrDraft)
	require.NoError(t, q.Settle(t.Context(), done.ID, queue.Result{Summary: "she knows"}))
	require.ErrorIs(t, q.Settle(t.Context(), done.ID, queue.Result{}), queue.ErrState)
	require.ErrorIs(t, q.Settle(t.Context(), early.ID, queue.Result{State: queue.Parked}), queue.ErrState)
	require.ErrorIs(t, q.Revise(t.Context(), done.ID, queue.Draft{Subject: "x"}), queue.ErrState)
	j, err := q.Get(t.Context(), done.ID)
	require.NoError(t, err)
	require.Equal(t, []any{queue.Completed, "she knows", c.now}, []any{j.State, j.Summary, j.Ended})
	_, added, err := q.Enqueue(t.Context(), queue.Draft{Subject: "call ada", Key: "ada"})
	require.NoError(t, err)
	require.True(t, added, "its key is free")

	l := claim(t, q)
	require.Equal(t, []any{"now", "the rest", []string{"mail"}}, []any{l.Job.Subject, l.Job.Description, l.Job.Skills})
	require.ErrorIs(t, q.Settle(t.Context(), late.ID, queue.Result{}), queue.ErrState, "a worker has it")
	finish(t, l, queue.Result{}, nil)
	require.Equal(t, "second", claim(t, q).Job.Subject)
	q = open(t, c, queue.Options{Alone: true}) // another, of another store
	soon := enqueue(t, q, queue.Draft{Subject: "tomorrow", At: c.now.AddDate(0, 0, 1)})
	_, err = q.Claim(t.Context(), 0)
	require.ErrorIs(t, err, queue.ErrEmpty)
	require.NoError(t, q.Revise(t.Context(), soon.ID, queue.Draft{At: c.now}))
	finish(t, claim(t, q), queue.Result{}, nil)
	job := enqueue(t, q, queue.Draft{Subject: "gone"})
	require.NoError(t, q.Settle(t.Context(), job.ID, queue.Result{State: queue.Blocked}))
	_, err = q.Claim(t.Context(), 0)
	require.ErrorIs(t, err, queue.ErrEmpty)
	require.NoError(t, q.Settle(t.Context(), job.ID, queue.Result{State: queue.Failed}), "a verdict may change")
}

func TestBadDrafts(t *testing.T) {
	t.Parallel()
	q := open(t, &clock{epoch}, queue.Options{Scope: "acme"})
	for name, d := range map[string]queue.Draft{
		"no subject": {}, "a subject that does not show": {Subject: "\u200b"}, "a long subject": {Subject: strings.Repeat("x", 2000)},
		"a long text": {Subject: "x", Description: strings.Repeat("x", 70000)},
		"no JSON":     {Subject: "x", Input: json.RawMessage("{")}, "a priority": {Subject: "x", Priority: 11},
		"another": {Subject: "x", Priority: -1}, "attempts": {Subject: "x", MaxAttempts: -1},
		"a scope": {Subject: "x", Scope: "other"}, "no template": {Subject: "x", Template: "none"},
		"a key": {Subject: "x", Key: "a\x00b"}, "skills": {Subject: "x", Skills: make([]string, 40)},
		"a time":      {Subject: "x", At: time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"a long cron": {Subject: "x", Cron: strings.Repeat("x", 2000)}, "a long name": {Subject: "x", Template: strings.Repeat("x", 2000)},
	} {
		_, _, err := q.Enqueue(t.Context(), d)
		require.ErrorIs(t, err, queue.ErrDraft, name)
		require.Less(t, len(err.Error()), 300, name)
	}
	_, _, err := q.Enqueue(t.Context(), queue.Draft{Subject: "x", Quiet: -1})
	require.ErrorContains(t, err, "quiet is negative")
	_, _, err = q.Enqueue(t.Context(), queue.Draft{Subject: "x", Parent: "none"})
	require.ErrorIs(t, err, store.ErrNotFound)
	_, _, err = q.Enqueue(t.Context(), queue.Draft{Subject: "x", Scope: "other/user"})
	require.ErrorIs(t, err, memory.ErrTenant)
	for j, err := range q.Jobs(t.Context()) {
		t.Fatal(j, err)
	}
}

// A family has an end: what follows from what follows is bounded.
func TestDepth(t *testing.T) {
	t.Parallel()
	q := open(t, &clock{epoch}, queue.Options{})
	enqueue(t, q, queue.Draft{})
	for depth := 0; ; depth++ {
		l := claim(t, q)
		require.Equal(t, depth, l.Job.Depth)
		j := finish(t, l, queue.Result{Summary: "did it", Followups: []queue.Draft{{Subject: "more"}}}, nil)
		if depth == 10 {
			require.Equal(t, queue.Blocked, j.State)
			require.Contains(t, j.Summary, "depth")
			require.Contains(t, j.Detail, "did it")
			return
		}
		require.Equal(t, queue.Completed, j.State)
	}
}

// Follow-ups whose Key is taken are there, and those that take over their parent's go on.
func TestFollowupsWithKeys(t *testing.T) {
	t.Parallel()
	q := open(t, &clock{epoch}, queue.Options{})
	other := enqueue(t, q, queue.Draft{Key: "other", Priority: 9})
	parent := enqueue(t, q, queue.Draft{Key: "own", Priority: 1})
	j := finish(t, claim(t, q), queue.Result{Followups: []queue.Draft{
		{Subject: "x", Key: "other"}, {Subject: "next", Key: "own", Priority: 1}, {Subject: "twice", Key: "own"},
	}}, nil)
	require.Equal(t, queue.Completed, j.State)
	l := claim(t, q)
	require.Equal(t, "next", l.Job.Subject)
	require.Equal(t, parent.ID, l.Job.Parent)
	require.Equal(t, "job:"+parent.ID, l.Job.Source)
	require.Equal(t, other.ID, claim(t, q).Job.ID)
	_, err := q.Claim(t.Context(), 0)
	require.ErrorIs(t, err, queue.ErrEmpty)
	require.ErrorIs(t, q.Remove(t.Context(), other.ID), queue.ErrState)
}

func TestQuiet(t *testing.T) {
	t.Parallel()
	c := &clock{epoch}
	q := open(t, c, queue.Options{})
	d := queue.Draft{Subject: "job", Key: "inbox", Quiet: time.Hour}
	enqueue(t, q, d)
	finish(t, claim(t, q), queue.Result{State: queue.Failed}, nil)
	c.now = c.now.Add(59 * time.Minute)
	_, added, err := q.Enqueue(t.Context(), d)
	require.NoError(t, err)
	require.False(t, added)
	c.now = c.now.Add(time.Minute)
	enqueue(t, q, d)
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	all, err := queue.LoadTemplates(fstest.MapFS{
		"inbox.yaml": file("subject: look through the inbox\npriority: 3\nskills: [mail]\ninput: {folder: in}\ntimeout: 5m\n"),
		"empty.json": file(`{"description": "nothing"}`), "readme.md": file("no template"), "deep/x.yaml": file("subject: x"),
		"bad.yaml": file("subjct: x"), "cron.yml": file("cron: sometimes"), "inbox.yml": file("subject: twice"),
		"list.yaml": file("- a"), "span.yaml": file("timeout: soon"), "two.yaml": file("subject: x\n---\nsubject: y"),
	})
	require.Len(t, all, 2)
	for _, bad := range []string{"bad.yaml", "cron.yml", "inbox.yml", "list.yaml", "span.yaml", "two.yaml"} {
		require.ErrorContains(t, err, bad)
	}
	q := open(t, &clock{epoch}, queue.Options{Templates: all})
	j, _, err := q.Enqueue(t.Context(), queue.Draft{Template: "inbox", Priority: 1})
	require.NoError(t, err)
	require.Equal(t, 1, j.Priority)
	require.Equal(t, []string{"mail"}, j.Skills)
	require.Equal(t, 5*time.Minute, j.Timeout)
	require.JSONEq(t, `{"folder":"in"}`, string(j.Input))
	_, err = queue.LoadTemplates(nil)
	require.Error(t, err)
}

// No secret of a text reaches the store.
func TestSecretsAreNotKept(t *testing.T) {
	t.Parallel()
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	st := store.NewMem()
	q, err := queue.Open(t.Context(), st, nil)
	require.NoError(t, err)
	_, _, err = q.Enqueue(t.Context(), queue.Draft{
		Subject: "use " + secret, Description: "with " + secret, Input: json.RawMessage(`{"token":"` + secret + `"}`),
	})
	require.NoError(t, err)
	l := claim(t, q)
	j := finish(t, l, queue.Result{State: queue.Blocked, Summary: secret, Detail: secret}, nil)
	require.NoError(t, q.Requeue(t.Context(), j.ID, "now with "+secret))
	finish(t, claim(t, q), queue.Result{}, &store.LimitError{Field: secret})
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		require.NotContains(t, e.Key+string(e.Value), secret)
	}
}

// Steady work of a better priority holds up a job of the worst for ever, unless it ages.
func TestAgeing(t *testing.T) {
	t.Parallel()
	for _, ageing := range []time.Duration{0, 10 * time.Minute} {
		c := &clock{epoch}
		q := open(t, c, queue.Options{Ageing: ageing})
		enqueue(t, q, queue.Draft{Subject: "old", Priority: 10})
		waited := 0
		for ; waited < 200; waited++ {
			enqueue(t, q, queue.Draft{Priority: 1})
			l := claim(t, q)
			finish(t, l, queue.Result{}, nil)
			if l.Job.Subject == "old" {
				break
			}
			c.now = c.now.Add(time.Minute)
		}
		if ageing == 0 {
			require.Equal(t, 200, waited)
		} else {
			require.LessOrEqual(t, waited, 91)
		}
	}
}
