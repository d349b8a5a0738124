package reason

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/depth"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/quote"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// Complexity is the reasoner's estimate of an objective.
type Complexity string

// The complexities. An unclear objective comes with questions.
const (
	Simple   Complexity = "simple"
	Moderate Complexity = "moderate"
	Complex  Complexity = "complex"
	Unclear  Complexity = "unclear"
)

// Decision is what a Reasoner concludes: tasks, or alternatives, or an impasse,
// or questions, and exactly one of these.
type Decision struct {
	// Complexity is the reasoner's estimate. "": the loop takes that of the
	// Brief.
	Complexity Complexity

	// Tasks are to be done in this order, at most MaxTasks.
	Tasks []Task
	// Impasse says that no way is open yet. The loop enters its Subgoal.
	Impasse *Impasse
	// Questions are for a human. The run waits for the answer.
	Questions []string
	// Alternatives are ways to reach the objective that are open, at most 8,
	// and Preferences say which is better. The loop takes the one that
	// [Decision.Choose] selects and, when a task of it is blocked, the next.
	Alternatives []Alternative
	Preferences  []Preference

	// Approach is the way taken, in a few words. The monitor holds outcomes
	// against it: an approach that keeps failing is one to leave.
	Approach string
	// Applied are the recalled memories that shaped the decision. Feedback goes
	// to these.
	Applied []memory.ID
	// Quotes are sources beside those of the Brief whose words the plan repeats,
	// six or more in a row. Such a plan fires only when the host trusts it.
	Quotes []memory.Source
	// Reasoning says why, for a reader of the run.
	Reasoning string
	// Usage is what the deliberation cost.
	Usage Usage
}

// Alternative is one of several ways to reach an objective.
type Alternative struct {
	// Approach names it among the alternatives, in a few words.
	Approach string `cbor:"1,keyasint,omitempty"`
	// Tasks are its plan. The bounds of Decision.Tasks hold over those of all
	// alternatives together.
	Tasks []Task `cbor:"2,keyasint,omitempty"`
}

// Preference is a statement for or against an alternative: one of Soar's (Laird
// 2012, chapter 4), which have no weight.
type Preference struct {
	// Approach is that of the alternative.
	Approach string `cbor:"1,keyasint,omitempty"`
	// Is says what the approach is: require or prohibit (a must), reject (not
	// to be considered), best, worst, better or worse (than Than), indifferent
	// (as good as Than; without Than, as any other).
	Is string `cbor:"2,keyasint,omitempty"`
	// Than is the approach of another alternative. Better and worse need it.
	Than string `cbor:"3,keyasint,omitempty"`
}

// preferenceWords are what Preference.Is can be.
var preferenceWords = []string{"require", "prohibit", "reject", "best", "worst", "better", "worse", "indifferent"}

// maxAlternatives is the largest number of alternatives of a decision, and of
// preferences for each.
const maxAlternatives = 8

// Task is one unit of work with its own check.
type Task struct {
	// Objective says what to do.
	Objective string `cbor:"1,keyasint,omitempty"`
	// Delta says what will be different when it is done.
	Delta string `cbor:"2,keyasint,omitempty"`
	// Verify is what a gate checks, in words, or as a command that the host's
	// gates allow.
	Verify string `cbor:"3,keyasint,omitempty"`
	// Skill is what a worker must be able to do. "": any worker will do.
	Skill string `cbor:"4,keyasint,omitempty"`
	// Effect is what a worker must be able to change. nil: nothing in
	// particular.
	Effect *Effect `cbor:"5,keyasint,omitempty"`
	// Worker is the worker to try first, by name. "" or unknown: as ranked.
	Worker string `cbor:"6,keyasint,omitempty"`
	// Inputs are data for the worker, at most 64 KiB and nested 64 deep.
	Inputs json.RawMessage `cbor:"7,keyasint,omitempty"`
}

// Effect names a value of the world that a task is to change.
type Effect struct {
	// Domain is a part of the world, such as "ci".
	Domain string `cbor:"1,keyasint,omitempty"`
	// Path leads to the value within the domain, such as "data.failing".
	Path string `cbor:"2,keyasint,omitempty"`
}

// Delta is a change of the world that a worker reports.
type Delta struct {
	// Domain and Path name the value, as in an Effect.
	Domain string `cbor:"1,keyasint,omitempty"`
	Path   string `cbor:"2,keyasint,omitempty"`
	// Value is the value now.
	Value json.RawMessage `cbor:"3,keyasint,omitempty"`
}

// Usage is what a call of a model or a worker has used. The zero value is
// "nothing reported".
type Usage struct {
	TokensIn  int `cbor:"1,keyasint,omitempty"`
	TokensOut int `cbor:"2,keyasint,omitempty"`
	// CostUSD is what it cost, as the provider reports or by a price that the host has
	// stated (model.Price). APICostUSD is an estimate from tokens and list prices.
	CostUSD    float64 `cbor:"3,keyasint,omitempty"`
	APICostUSD float64 `cbor:"4,keyasint,omitempty"`
	// CacheRead and CacheWrite are those of TokensIn that came from a cache of the
	// provider, or went to it, at prices of their own.
	CacheRead  int `cbor:"189,keyasint,omitempty" json:",omitempty"`
	CacheWrite int `cbor:"190,keyasint,omitempty" json:",omitempty"`
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	u.TokensIn = min(u.TokensIn, maxTokens) + min(v.TokensIn, maxTokens)
	u.TokensOut = min(u.TokensOut, maxTokens) + min(v.TokensOut, maxTokens)
	u.CostUSD = min(u.CostUSD+v.CostUSD, math.MaxFloat64) // what is valid adds up to what is
	u.APICostUSD = min(u.APICostUSD+v.APICostUSD, math.MaxFloat64)
	u.CacheRead = min(u.CacheRead, maxTokens) + min(v.CacheRead, maxTokens)
	u.CacheWrite = min(u.CacheWrite, maxTokens) + min(v.CacheWrite, maxTokens)
	return u
}

// maxTokens bounds what a count adds to a sum: no sum of such wraps around.
const maxTokens = 1 << 40

// Valid reports whether no count of u is negative, infinite or not a number, and the
// cached tokens are among those in.
func (u Usage) Valid() bool {
	return u.TokensIn >= 0 && u.TokensOut >= 0 && cost(u.CostUSD) && cost(u.APICostUSD) &&
		min(u.CacheRead, u.CacheWrite) >= 0 && u.CacheRead <= u.TokensIn && u.CacheWrite <= u.TokensIn-u.CacheRead
}

func cost(usd float64) bool { return usd >= 0 && usd <= math.MaxFloat64 }

// What the words of a decision can be.
var (
	complexities = []Complexity{Simple, Moderate, Complex, Unclear}
	impasseKinds = []string{"no_approach", "tie", "conflict", "missing_capability", "repeated_failure"}
)

// Impasse says that the Reasoner does not know how to go on, and what to
// achieve first so that it would. It follows Soar's idea that an impasse is made
// explicit and resolved in a subgoal (Laird, Newell & Rosenbloom 1987).
type Impasse struct {
	// Kind says in which way it is stuck: "no_approach" (no way is known), "tie"
	// (nothing tells the ways apart), "conflict" (requirements contradict each
	// other), "missing_capability" (something needed is not available) or
	// "repeated_failure" (tried, and failed, several times).
	Kind    string
	Reason  string
	Subgoal string // the objective whose delivery would resolve the impasse
}

// MaxTasks is the largest number of tasks in a decision, or of questions.
const MaxTasks = 64

// Bounds of each text of a decision, and of all texts of one sort together: those of
// its tasks, questions, or approaches with preferences. In bytes.
const (
	maxText  = 64 << 10
	maxTexts = 2 * maxText
)

// ErrDecision is the error of a decision that cannot be acted on. The text says
// why, in words that can be given back to the Reasoner.
var ErrDecision = errors.New("decision refused")

// Check returns nil if d can be acted on, else ErrDecision with the first thing
// that is wrong, or a *store.LimitError.
func (d *Decision) Check() error {
	given := 0
	for _, has := range []bool{len(d.Tasks) > 0, len(d.Alternatives) > 0, d.Impasse != nil, len(d.Questions) > 0} {
		if has {
			given++
		}
	}
	switch {
	case given != 1:
		return fmt.Errorf("%w: give one of these four: tasks, alternatives, an impasse, questions", ErrDecision)
	case d.Complexity == Unclear && (len(d.Tasks) > 0 || len(d.Alternatives) > 0):
		return fmt.Errorf("%w: an unclear objective calls for questions, not tasks", ErrDecision)
	case d.Complexity != "" && !slices.Contains(complexities, d.Complexity):
		return fmt.Errorf("%w: unknown complexity %.70q", ErrDecision, d.Complexity)
	case !d.Usage.Valid():
		return fmt.Errorf("%w: usage is negative or not a number", ErrDecision)
	}
	if err := checkTexts("decision", d.Approach, d.Reasoning); err != nil {
		return err
	}
	if d.Impasse != nil {
		return d.Impasse.check()
	}
	if len(d.Questions) > MaxTasks {
		return &store.LimitError{Field: "questions of a decision", Limit: MaxTasks, Got: len(d.Questions)}
	}
	if err := checkTexts("question", d.Questions...); err != nil {
		return err
	}
	if slices.ContainsFunc(d.Questions, fence.Blank) {
		return fmt.Errorf("%w: an empty question", ErrDecision)
	}
	if err := d.checkAlternatives(); err != nil {
		return err
	}
	tasks := d.Tasks
	for _, a := range d.Alternatives {
		tasks = slices.Concat(tasks, a.Tasks)
	}
	return checkTasks(tasks)
}

// Texts appends the texts that the decision is carried out by: approaches and
// subgoal, and all of its tasks, inputs included. Why it was taken is not among
// them.
func (d *Decision) Texts(out []string) []string {
	out, tasks := append(out, d.Approach), d.Tasks
	for _, alt := range d.Alternatives {
		out, tasks = append(out, alt.Approach), slices.Concat(tasks, alt.Tasks)
	}
	for i := range tasks {
		k := &tasks[i]
		out = append(out, k.Objective, k.Delta, k.Verify, quote.Strings(k.Inputs))
	}
	if d.Impasse != nil {
		out = append(out, d.Impasse.Subgoal)
	}
	return out
}

// checkAlternatives returns an ErrDecision with the first thing that is wrong
// with the alternatives and preferences.
func (d *Decision) checkAlternatives() error {
	if len(d.Alternatives) > maxAlternatives || len(d.Preferences) > maxAlternatives*maxAlternatives {
		return fmt.Errorf("%w: more than %d alternatives, or %[2]d preferences for each", ErrDecision, maxAlternatives)
	}
	var names []string
	for i, a := range d.Alternatives {
		switch {
		case strings.TrimSpace(a.Approach) == "":
			return fmt.Errorf("%w: alternative %d has no approach", ErrDecision, i+1)
		case slices.Contains(names, a.Approach):
			return fmt.Errorf("%w: two alternatives have the approach %.70q", ErrDecision, a.Approach)
		case len(a.Tasks) == 0:
			return fmt.Errorf("%w: alternative %d has no tasks", ErrDecision, i+1)
		}
		names = append(names, a.Approach)
	}
	for i, p := range d.Preferences {
		compares := p.Is == "better" || p.Is == "worse"
		switch {
		case !slices.Contains(preferenceWords, p.Is):
			return fmt.Errorf("%w: preference %d is %.70q, not one of %q", ErrDecision, i+1, p.Is, preferenceWords)
		case !slices.Contains(names, p.Approach), p.Than != "" && !slices.Contains(names, p.Than):
			return fmt.Errorf("%w: preference %d names no alternative", ErrDecision, i+1)
		case compares && p.Than == "", p.Than != "" && !compares && p.Is != "indifferent":
			return fmt.Errorf("%w: preference %d: better and worse need a than, and indifferent may have one", ErrDecision, i+1)
		}
	}
	for _, p := range d.Preferences {
		names = append(names, p.Approach, p.Than)
	}
	return checkTexts("approach", names...)
}

// check returns an ErrDecision with the first thing that is wrong, or a
// *store.LimitError.
func (i *Impasse) check() error {
	if !slices.Contains(impasseKinds, i.Kind) {
		return fmt.Errorf("%w: unknown kind of impasse %.70q", ErrDecision, i.Kind)
	}
	if fence.Blank(i.Subgoal) {
		return fmt.Errorf("%w: an impasse needs a subgoal", ErrDecision)
	}
	return checkTexts("impasse", i.Reason, i.Subgoal)
}

// checkTasks checks tasks, of which there may be none.
func checkTasks(tasks []Task) error {
	if len(tasks) > MaxTasks {
		return &store.LimitError{Field: "tasks of a decision", Limit: MaxTasks, Got: len(tasks)}
	}
	total := 0
	for i, t := range tasks {
		e := cmp.Or(t.Effect, &Effect{})
		texts := []string{t.Objective, t.Delta, t.Verify, t.Skill, t.Worker, e.Domain, e.Path}
		total += len(t.Inputs)
		for _, s := range texts {
			total += len(s)
		}
		const inputs = "inputs of a task"
		err := cmp.Or(checkTexts("task", texts...), checkTexts(inputs, string(t.Inputs)), depth.Check(inputs, t.Inputs))
		switch {
		case fence.Blank(t.Objective):
			return fmt.Errorf("%w: task %d has no objective", ErrDecision, i+1)
		case err != nil:
			return err
		case len(t.Inputs) > 0 && !json.Valid(t.Inputs):
			return fmt.Errorf("%w: the inputs of task %d are not JSON", ErrDecision, i+1)
		}
	}
	if total > maxTexts {
		return &store.LimitError{Field: "tasks of a decision together", Limit: maxTexts, Got: total}
	}
	return nil
}

// checkTexts returns a *store.LimitError for the first text that is too large, or for
// all of them.
func checkTexts(field string, texts ...string) error {
	total := 0
	for _, s := range texts {
		if total += len(s); len(s) > maxText {
			return &store.LimitError{Field: field, Limit: maxText, Got: len(s)}
		}
	}
	if total > maxTexts {
		return &store.LimitError{Field: field + " together", Limit: maxTexts, Got: total}
	}
	return nil
}
