package arc_test

import (
	"context"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/reason"
)

// The main path of a delivered task, from Run to each part of the host that it calls, is to be read in
// six files in three folders.
func TestMainPath(t *testing.T) {
	files, folders := map[string]bool{}, map[string]bool{}
	here := func() {
		pcs := make([]uintptr, 100)
		for frames, more := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)]), true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			if name, ok := strings.CutPrefix(f.Function, "github.com/arc-learn/arc"); ok &&
				!strings.HasSuffix(f.File, "_test.go") && !strings.Contains(f.File, "arctest") && !strings.Contains(name, "reason.") {
				at := strings.LastIndex(name, "/") + 1
				last, _, _ := strings.Cut(name[at:], ".")
				folder := name[:at] + last
				files[folder+"/"+path.Base(f.File)], folders[folder] = true, true
			}
		}
	}
	w := act.Worker{Name: "ann", Executor: part(here), Gates: []act.Gate{part(here)}}
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w}, Reasoner: &arctest.Reasoner{
		Decision: func(*reason.Brief) (*reason.Decision, error) {
			here()
			return arctest.Tasks("", task("write", "")), nil
		}}}, nil)
	require.Equal(t, arc.Delivered, run(t, a, arc.Objective{Text: "write"}).Status)
	t.Log(slices.Sorted(maps.Keys(files)))
	require.LessOrEqual(t, len(files), 6)
	require.LessOrEqual(t, len(folders), 3)
	require.Contains(t, files, "/phases.go")
}

// part is an executor and a gate.
type part func()

func (p part) Execute(context.Context, *act.Call) (*act.Result, error) {
	p()
	return &act.Result{Text: "done"}, nil
}

func (p part) Verify(context.Context, *act.Call, *act.Result) (act.Verdict, error) {
	p()
	return act.Verdict{Pass: true}, nil
}
