package arc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	arc "github.com/arc-learn/arc/next"
	"github.com/arc-learn/arc/next/act"
	"github.com/arc-learn/arc/next/arctest"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/store"
)

// agent is an Agent over a store, and what its runs tell: a line an event.
func agent(t *testing.T, st store.Store, h arc.Host, o *arc.Options) (*arc.Agent, *[]string) {
	t.Helper()
	if st == nil {
		st = store.NewMem()
	}
	opts := arc.Options{Seed: 1}
	if o != nil {
		opts = *o
	}
	story := &[]string{}
	opts.OnEvent = func(_ memory.Scope, _ string, e arc.Event) {
		*story = append(*story, strings.TrimSuffix(strings.TrimSpace(e.Kind+" "+e.Name)+": "+e.Text, ": "))
	}
	a, err := arc.New(t.Context(), st, h, &opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a, story
}

// planned is a reasoner that answers with these decisions, and the last one again and again.
func planned(ds ...*reason.Decision) *arctest.Reasoner {
	n := 0
	return &arctest.Reasoner{Decision: func(*reason.Brief) (*reason.Decision, error) {
		n++
		return ds[min(n, len(ds))-1], nil
	}}
}

func task(text, skill string) reason.Task { return reason.Task{Objective: text, Skill: skill} }

func run(t *testing.T, a *arc.Agent, o arc.Objective) *arc.Report {
	t.Helper()
	r, err := a.Run(t.Context(), o)
	require.NoError(t, err)
	return r
}

func TestTranscripts(t *testing.T) {
	for _, c := range []struct {
		name   string
		host   func() arc.Host
		status arc.Status
		cause  arc.Cause
		text   string
		story  string
	}{
		{
			"delivered at once", func() arc.Host {
				return arc.Host{
					Reasoner: planned(arctest.Plan("direct", task("write it", "write"))),
					Workers:  []act.Worker{(&arctest.Worker{Turns: []arctest.Turn{{Text: "here it is"}}}).As("ann", "write")},
				}
			}, arc.Delivered, "", "here it is", `
				begun: write a letter
				decided direct: write it
				attempt ann: write it
				delivered ann: here it is
				delivered`,
		},
		{
			"the objective is the one task", func() arc.Host {
				return arc.Host{Workers: []act.Worker{(&arctest.Worker{}).As("ann")}}
			}, arc.Delivered, "", "done", `
				begun: write a letter
				attempt ann: write a letter
				delivered ann: done
				delivered`,
		},
		{
			"refined with the complaint", func() arc.Host {
				w := &arctest.Worker{Turns: []arctest.Turn{{Text: "no", Refuse: "too short"}, {Text: "a longer one"}}}
				return arc.Host{Workers: []act.Worker{w.As("ann")}}
			}, arc.Delivered, "", "a longer one", `
				begun: write a letter
				attempt ann: write a letter
				failed ann: too short
				attempt ann: write a letter
				delivered ann: a longer one
				delivered`,
		},
		{
			"another worker, then another plan, then blocked", func() arc.Host {
				bad := []arctest.Turn{{Refuse: "wrong"}}
				return arc.Host{
					Reasoner: planned(arctest.Plan("first", task("write it", "")), arctest.Plan("second", task("copy it", "copy"))),
					Workers: []act.Worker{
						(&arctest.Worker{Turns: bad}).As("ann"), (&arctest.Worker{Turns: bad}).As("ben"),
						(&arctest.Worker{Turns: []arctest.Turn{{Err: &reason.Error{Class: reason.Permission, Err: errors.New("not yours")}}}}).As("cat", "copy"),
					},
				}
			}, arc.Blocked, arc.Refused, "permission: not yours", `
				begun: write a letter
				decided first: write it
				attempt ben: write it
				failed ben: wrong
				attempt ben: write it
				failed ben: wrong
				attempt ann: write it
				failed ann: wrong
				attempt ann: write it
				failed ann: wrong
				decided second: copy it
				attempt cat: copy it
				failed cat: permission: not yours
				decided second: copy it
				attempt cat: copy it
				failed cat: permission: not yours
				blocked: permission: not yours`,
		},
		{
			"asks where there is no way on", func() arc.Host {
				return arc.Host{
					Reasoner: planned(&reason.Decision{Questions: []string{"To whom?"}}),
					Workers:  []act.Worker{(&arctest.Worker{}).As("ann")},
				}
			}, arc.Asking, "", "To whom?", `
				begun: write a letter
				asking: To whom?`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, story := agent(t, nil, c.host(), nil)
			r := run(t, a, arc.Objective{Text: "write a letter"})
			for _, l := range *story {
				t.Log(l)
			}
			require.Equal(t, c.status, r.Status, r.Reason)
			require.Equal(t, c.cause, r.Cause)
			require.Equal(t, c.text, r.Text)
			require.Equal(t, strings.Fields(c.story), strings.Fields(strings.Join(*story, "\n")))
		})
	}
}

var _ = []any{context.Background, json.Marshal, fmt.Sprint, synctest.Test, time.Second}
