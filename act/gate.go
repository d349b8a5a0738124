package act

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/redact"
)

// Gate decides whether a task was done. It is the backpressure of the loop:
// nothing counts as delivered that a gate has not passed.
//
// Verify may be called concurrently. It should judge by what it can observe,
// not by the executor's word. What w and r point to is the run's own, and must
// not be changed. An error, a panic or a missed deadline blocks the delivery,
// since nothing was verified, but is not held against the worker. Verify may be
// called again for the same work after a crash.
type Gate interface {
	Verify(ctx context.Context, w Work, r Result) (Verdict, error)
}

// GateFunc adapts a function to [Gate].
type GateFunc func(ctx context.Context, w Work, r Result) (Verdict, error)

// Verify calls f.
func (f GateFunc) Verify(ctx context.Context, w Work, r Result) (Verdict, error) { return f(ctx, w, r) }

// Verdict is what a Gate says. The Complaint of a failed one goes into the
// next attempt, so it should say what to do differently.
type Verdict struct {
	Pass      bool
	Complaint string
	// Gate is the name of the gate that did not pass. "": a Runner fills in what the
	// gate's String method says, or else its number.
	Gate string
	// Usage is what judging has cost. It counts beside an error too; one that is not
	// valid does not.
	Usage Usage
}

// spend adds what other judging has cost.
func (v *Verdict) spend(u Usage) {
	if !v.Usage.Valid() {
		v.Usage = Usage{}
	}
	if u.Valid() {
		v.Usage = v.Usage.Add(u)
	}
}

// Named returns a gate with a name, by which people see which gate refused.
func Named(name string, g Gate) Gate { return named{g, name} }

type named struct {
	Gate
	name string
}

// String returns the name.
func (n named) String() string { return n.name }

// exam is what a gate is to judge. Its number counts from 1; 0: it has none.
type exam struct {
	gate   Gate
	number int
	work   Work
	result Result
}

// ask has the gate judge, and names it in what it says, unless it has done so itself.
func ask(ctx context.Context, x exam) (Verdict, error) {
	v, err := guard.Returned(x.gate.Verify(ctx, x.work, x.result))
	if err == nil && !v.Pass && v.Gate == "" {
		if n, ok := x.gate.(fmt.Stringer); ok {
			v.Gate = n.String()
		} else if x.number > 0 {
			v.Gate = fmt.Sprintf("gate %d", x.number)
		}
	}
	return v, err
}

// NoGate passes everything. A host that has no way to verify a worker's tasks
// says so by giving the worker this gate.
var NoGate Gate = noGate{}

type noGate struct{}

func (noGate) Verify(context.Context, Work, Result) (Verdict, error) {
	return Verdict{Pass: true}, nil
}

// All returns a gate that passes what every one of the gates passes. They are asked in
// order, until one does not.
func All(gates ...Gate) Gate {
	return GateFunc(func(ctx context.Context, w Work, r Result) (Verdict, error) {
		all := Verdict{Pass: true}
		for _, g := range gates {
			v, err := ask(ctx, exam{gate: g, work: w, result: r})
			v.spend(all.Usage)
			if err != nil || !v.Pass {
				return v, err
			}
			all.Usage = v.Usage
		}
		return all, nil
	})
}

// Any returns a gate that passes what one of the gates passes. They are asked in
// order, until one does; the complaint of a failure is that of all of them, and one that
// errs blocks what no other passes.
func Any(gates ...Gate) Gate {
	return GateFunc(func(ctx context.Context, w Work, r Result) (Verdict, error) {
		var complaints []string
		var errs []error
		var all Verdict
		for _, g := range gates {
			v, err := guard.Returned(g.Verify(ctx, w, r))
			v.spend(all.Usage)
			all.Usage = v.Usage
			switch {
			case err != nil:
				errs = append(errs, err)
			case v.Pass:
				return v, nil
			case v.Complaint != "":
				complaints = append(complaints, v.Complaint)
			}
		}
		all.Complaint = strings.Join(complaints, "; or: ")
		return all, errors.Join(errs...)
	})
}

// NoSecret returns a gate that passes results in which a Sanitizer finds no secret: in the
// output, the deltas and the reflection. Its complaint says where, and never what. nil: the
// zero Sanitizer.
func NoSecret(s *redact.Sanitizer) Gate {
	return Named("secrets", GateFunc(func(_ context.Context, w Work, r Result) (Verdict, error) {
		s := s.Knowing(slices.Collect(maps.Values(w.Secrets))...)
		var where []string
		if !bytes.Equal(s.JSON(r.Output), r.Output) {
			where = append(where, "the output")
		}
		for _, d := range r.Deltas {
			if name := d.Domain + "." + d.Path; !bytes.Equal(s.Under(name, d.Value), d.Value) {
				where = append(where, "the delta of "+s.Sanitize(name))
			}
		}
		texts := append([]string{r.Reflection.Summary}, r.Reflection.PotentialIssues...)
		if slices.ContainsFunc(texts, func(t string) bool { return s.Sanitize(t) != t }) {
			where = append(where, "the reflection")
		}
		if len(where) > 0 {
			return Verdict{Complaint: "there is a secret in " + strings.Join(where, ", ") + ": leave it out"}, nil
		}
		return Verdict{Pass: true}, nil
	}))
}
