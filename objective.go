package arc

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Objective is what a run is to achieve.
type Objective struct {
	// ID names the run. "": one is generated. Running an ID again goes on
	// with that run; if it has finished, its Report is returned.
	ID string `cbor:"1,keyasint,omitempty"`
	// Text is the objective in words, at most 64 KiB. Required.
	Text string `cbor:"2,keyasint,omitempty"`
	// Situation is the kind of situation that the objective is about, such
	// as the kind of error that is to be mended, without what is particular
	// to this case. Memories are recalled, chunks fired and rankings kept by
	// it. "": the Text.
	Situation string `cbor:"3,keyasint,omitempty"`
	// Inputs are the host's data, valid JSON, handed to the reasoner and to
	// every worker as they are, but for the secrets.
	Inputs json.RawMessage `cbor:"4,keyasint,omitempty"`
	// Session groups runs for metacognition. "": the run is its own session.
	Session string `cbor:"5,keyasint,omitempty"`
	// Scope is where the run recalls from and learns into. "": Options.Scope.
	Scope memory.Scope `cbor:"6,keyasint,omitempty"`
	// Also are further scopes of the same tenant to recall from.
	Also []memory.Scope `cbor:"7,keyasint,omitempty"`
	// Episodes are scopes of the same tenant, such as that of the user whom
	// the run serves, in which an Episode tells how it ended.
	Episodes []memory.Scope `cbor:"10,keyasint,omitempty"`
	// Fresh starts with a clean context: nothing is recalled, no chunk
	// fires, and the session's history gives no advice. What happens is
	// learned all the same.
	Fresh bool `cbor:"8,keyasint,omitempty"`
	// Budget bounds the run; its zero fields are those of Options.Budget.
	Budget Budget `cbor:"9,keyasint,omitempty"`
	// Tasks are a plan that the host has made, at most reason.MaxTasks. It is
	// run first: no chunk fires, and the reasoner is asked only after one of
	// the tasks was BLOCKED, as Options.Replans allows. Required if
	// Host.Reasoner is nil.
	Tasks []reason.Task `cbor:"11,keyasint,omitempty"`
	// Attempts at a task, over all workers, before it is BLOCKED. 0:
	// Options.Attempts.
	Attempts int `cbor:"12,keyasint,omitempty"`
	// Once is for work that must not be done twice. An attempt that was cut
	// off (by a crash, a Shutdown, a context that ended) is not made again,
	// and no other is: when the run goes on, it ends BLOCKED, with "outcome
	// unknown" as the reason, and what was tried is not held against the
	// worker. With Attempts of 1, no executor is called twice for a task.
	Once bool `cbor:"13,keyasint,omitempty"`
}

// Budget bounds a run. A run that reaches a bound ends BLOCKED before its next
// step. Zero fields are unbounded, but for Steps.
type Budget struct {
	Steps   int           `cbor:"1,keyasint,omitempty"` // transitions; 0: 1000
	Wall    time.Duration `cbor:"2,keyasint,omitempty"` // since the run began, by Options.Now
	Tokens  int           `cbor:"3,keyasint,omitempty"` // in and out, of reasoner and workers, as reported
	CostUSD float64       `cbor:"4,keyasint,omitempty"` // as reported
}

func (b Budget) or(d Budget) Budget {
	if b.Steps == 0 {
		b.Steps = d.Steps
	}
	if b.Wall == 0 {
		b.Wall = d.Wall
	}
	if b.Tokens == 0 {
		b.Tokens = d.Tokens
	}
	if b.CostUSD == 0 {
		b.CostUSD = d.CostUSD
	}
	return b
}

func (b Budget) check() error {
	if b.Steps < 0 || b.Wall < 0 || b.Tokens < 0 || !(b.CostUSD >= 0) {
		return errors.New("budget: negative or not a number")
	}
	return nil
}

// left is how much of Wall is left after spent, at least 1; 0: Wall is unbounded.
func (b Budget) left(spent Budget) time.Duration {
	if b.Wall == 0 {
		return 0
	}
	return max(1, b.Wall-spent.Wall)
}

// reached says which bound spent has reached, or "".
func (b Budget) reached(spent Budget) string {
	switch {
	case spent.Steps >= b.Steps:
		return fmt.Sprintf("budget of %d steps is spent", b.Steps)
	case b.Wall > 0 && spent.Wall >= b.Wall:
		return fmt.Sprintf("budget of %v is spent", b.Wall)
	case b.Tokens > 0 && spent.Tokens >= b.Tokens:
		return fmt.Sprintf("budget of %d tokens is spent", b.Tokens)
	case b.CostUSD > 0 && spent.CostUSD >= b.CostUSD:
		return fmt.Sprintf("budget of $%g is spent", b.CostUSD)
	}
	return ""
}

// used returns the largest share of a bound that is spent, and names the bound.
// Shares below a half count as 0: metacognition does not ask for them.
func (b Budget) used(spent Budget) (share float64, bound string) {
	shares := [...]float64{
		ratio(float64(spent.Steps), float64(b.Steps)), ratio(float64(spent.Wall), float64(b.Wall)),
		ratio(float64(spent.Tokens), float64(b.Tokens)), ratio(spent.CostUSD, b.CostUSD),
	}
	most := 0
	for i, share := range shares {
		if share > shares[most] {
			most = i
		}
	}
	if shares[most] < 0.5 {
		return 0, ""
	}
	names := [...]string{fmt.Sprint(b.Steps, " steps"), b.Wall.String(), fmt.Sprint(b.Tokens, " tokens"), fmt.Sprintf("$%g", b.CostUSD)}
	return min(1, shares[most]), names[most]
}

// ratio is the share of a bound; 0: the bound is none.
func ratio(used, bound float64) float64 {
	if bound <= 0 {
		return 0
	}
	return used / bound
}

// Errors of the Agent's methods. Besides these they return the store's.
var (
	// ErrObjective: the objective cannot be run as given.
	ErrObjective = errors.New("bad objective")
	// ErrRunning: the run is live, here or in another process.
	ErrRunning = errors.New("run is live")
	// ErrNotAsking: Answer was called for a run that asked nothing.
	ErrNotAsking = errors.New("run has asked nothing")
)

// maxText bounds the texts of an objective, in bytes.
const maxText = 64 << 10

func (o *Objective) check() error {
	var errs []error
	if strings.TrimSpace(o.Text) == "" {
		errs = append(errs, errors.New("no text"))
	}
	for _, f := range [...]struct {
		name string
		n    int
	}{{"text", len(o.Text)}, {"situation", len(o.Situation)}, {"inputs", len(o.Inputs)}} {
		if f.n > maxText {
			errs = append(errs, &store.LimitError{Field: f.name, Limit: maxText, Got: f.n})
		}
	}
	if len(o.Inputs) > 0 && len(o.Inputs) <= maxText && !json.Valid(o.Inputs) {
		errs = append(errs, errors.New("inputs are not JSON"))
	}
	if err := key.CheckID("id", o.ID); err != nil {
		errs = append(errs, err)
	}
	if err := key.CheckID("session", o.Session); err != nil {
		errs = append(errs, err)
	}
	if err := o.Budget.check(); err != nil {
		errs = append(errs, err)
	}
	if o.Attempts < 0 {
		errs = append(errs, fmt.Errorf("attempts: %d is negative", o.Attempts))
	}
	if d := (reason.Decision{Tasks: o.Tasks}); len(o.Tasks) > 0 {
		if err := d.Check(); err != nil {
			errs = append(errs, err)
		}
	}
	if errs != nil {
		return fmt.Errorf("%w: %w", ErrObjective, errors.Join(errs...))
	}
	return nil
}

func (o Objective) clone() Objective {
	o.Inputs, o.Also, o.Episodes = slices.Clone(o.Inputs), slices.Clone(o.Also), slices.Clone(o.Episodes)
	return o
}
