package lint_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/act/tools"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
)

// reflection is one of nothing: its lists are written empty.
var reflection = iar.Reflection{PotentialIssues: []string{}, AlignmentCheck: map[string]any{}}

// Hosts keep, send and show these as JSON.
var inJSON = []any{
	arc.Budget{}, arc.Health{}, arc.Objective{}, arc.Report{}, arc.Thought{},
	act.Approval{}, act.Attempt{}, act.Event{}, act.PendingError{}, act.Result{}, act.Ruling{}, act.Verdict{},
	queue.Draft{}, queue.Job{}, goal.Standing{}, proposal.Proposal{},
	iar.Issue{}, reflection, iar.Result{Reflection: reflection}, iar.Summary{}, iar.Tracker{},
	learn.Advice{}, learn.Learned{}, learn.Outcome{},
	memory.Candidate{}, memory.Draft{}, memory.Feedback{}, memory.Hit{}, memory.Link{}, memory.Parts{},
	memory.Query{}, memory.Record{}, memory.Source{}, memory.Stats{},
	meta.Assessment{}, meta.Interval{}, meta.Try{}, meta.Uplift{},
	rank.Candidate{}, rank.Sample{}, rank.Scored{}, rank.Stats{}, rank.Task{}, rank.Usage{},
	reason.Answer{}, reason.Brief{}, reason.Card{}, reason.Case{}, reason.Decision{}, reason.Delivery{},
	reason.Delta{}, reason.Error{}, reason.Failure{}, reason.Known{}, reason.Message{}, reason.Plan{},
	reason.PlanCall{}, reason.Preference{}, reason.Request{}, reason.Response{}, reason.Skill{},
	reason.Suggestion{}, reason.Task{}, reason.Tool{}, reason.ToolCall{}, reason.Warning{},
}

// These are no data: they have methods that work, or functions of the host.
var notInJSON = []any{
	arc.Agent{}, arc.Host{}, arc.Options{}, arc.View{}, act.Call{}, act.Journal{}, act.Runner{}, act.Worker{},
	queue.Options{}, queue.Queue{}, tools.Options{}, tools.Tool{}, learn.Layer{}, learn.Options{},
	memory.Bank{}, memory.Options{}, memory.Space{}, meta.Sessions{}, proposal.Book{}, rank.Book{},
	reason.LLM{}, goal.Goals{}, goal.Keeper{}, goal.World{},
}

// What is kept as JSON comes back as it was, with nothing in it and with all of it. A host's function
// (Request.OnText) and an error's cause (Error.Err, whose text is in a Complaint) are left out.
func TestJSON(t *testing.T) {
	listed := map[string]bool{}
	for _, v := range append(inJSON, notInJSON...) {
		listed[reflect.TypeOf(v).String()] = true
	}
	declared := regexp.MustCompile(`(?m)^type ([A-Z]\w*) struct`)
	for _, dir := range strings.Fields(". act act/queue act/tools iar learn memory meta meta/proposal rank reason reason/goal") {
		files, err := os.ReadDir("../../" + dir)
		require.NoError(t, err)
		for _, f := range files {
			if name := f.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
				src, err := os.ReadFile("../../" + dir + "/" + name)
				require.NoError(t, err)
				pkg := regexp.MustCompile(`(?m)^package (\w+)`).FindSubmatch(src)[1]
				for _, m := range declared.FindAllSubmatch(src, -1) {
					require.True(t, listed[fmt.Sprintf("%s.%s", pkg, m[1])], "%s.%s is in neither list", pkg, m[1])
				}
			}
		}
	}
	for _, v := range inJSON {
		empty, full := reflect.New(reflect.TypeOf(v)), reflect.New(reflect.TypeOf(v))
		empty.Elem().Set(reflect.ValueOf(v))
		populate(full.Elem(), 0)
		for _, in := range []reflect.Value{empty, full} {
			out := reflect.New(in.Type().Elem())
			raw, err := json.Marshal(in.Interface())
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(raw, out.Interface()), "%T: %s", v, raw)
			require.Equal(t, in.Interface(), out.Interface(), "%T: %s", v, raw)
			if _, report := v.(arc.Report); report {
				require.NotContains(t, string(raw), "_", "one case of letters")
			}
		}
	}
}

// populate gives all fields below v a value.
func populate(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("some text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint64:
		v.SetUint(3)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		populate(v.Elem(), depth)
	case reflect.Map:
		e := reflect.New(v.Type().Elem()).Elem()
		populate(e, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("name"), e)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"a":1}`))
		} else if depth < 6 { // a Decision has others
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			populate(v.Index(0), depth+1)
		}
	case reflect.Struct:
		if at, ok := v.Addr().Interface().(*time.Time); ok {
			*at = time.Unix(1e9, 5).UTC()
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				populate(v.Field(i), depth)
			}
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf("anything"))
	default:
		panic(v.Type())
	}
}
