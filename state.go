package arc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// Bounds of a run.
const (
	maxTasks    = 64   // of a plan
	maxTried    = 6    // subgoals begun and ways that failed: a person is asked in place of one more subgoal
	maxFailed   = 32   // failures of a run that the next decision sees; the oldest go first
	maxRefused  = 3    // decisions in a row that are of no use
	maxAnswered = 3    // answers of the reasoner within an attempt, before a person is asked
	maxPassages = 4000 // tokens that a Source may say
	maxTold     = 2 << 10
	maxResumed  = 32   // runs that the scheduler has under way at once
	maxRecent   = 2048 // commits of runs that View.Changed knows
)

// record is a run as stored: what the next step needs. What happened is in the run's journal; the objective,
// the advice and the deliveries are parts of their own, since they do not change.
type record struct {
	ID      string       `cbor:"1,keyasint,omitzero"`
	Scope   memory.Scope `cbor:"2,keyasint,omitzero"`
	Session string       `cbor:"3,keyasint,omitzero"`
	Text    string       `cbor:"4,keyasint,omitzero"` // the beginnings of its Text and Inputs, for lists
	Digest  []byte       `cbor:"5,keyasint,omitzero"`
	Process string       `cbor:"6,keyasint,omitzero"` // that has last committed it, and alone works on it
	Left    bool         `cbor:"7,keyasint,omitzero"` // who ran it has left: it goes on by Resume
	Status  Status       `cbor:"8,keyasint,omitzero"`
	Phase   phase        `cbor:"9,keyasint,omitzero"` // the next step
	Cause   Cause        `cbor:"10,keyasint,omitzero"`
	Reason  string       `cbor:"11,keyasint,omitzero"` // why it is blocked or canceled, or was judged
	Began   time.Time    `cbor:"12,keyasint"`
	Ended   time.Time    `cbor:"13,keyasint"`
	Due     time.Time    `cbor:"14,keyasint,omitzero"` // when an outage may be over, or silence rules

	Attempts, Deliberations, Fired int             `cbor:",omitzero"`
	Usage                          *reason.Usage   `cbor:"15,keyasint,omitzero"` // without that of Current
	Aims                           []aim           `cbor:"16,keyasint,omitzero"` // the last one is worked on
	Current                        attempt         `cbor:"17,keyasint,omitzero"`
	Wait                           waiting         `cbor:"18,keyasint,omitzero"`
	Questions                      []string        `cbor:"20,keyasint,omitzero"`
	Back                           phase           `cbor:"21,keyasint,omitzero"` // where to go on with answers
	Answers                        []reason.Answer `cbor:"22,keyasint,omitzero"`
	Deliveries                     []int           `cbor:"23,keyasint,omitzero"` // the attempts that delivered
	Advices                        int             `cbor:"24,keyasint,omitzero"` // made so far
	Verdict                        learn.Verdict   `cbor:"25,keyasint,omitzero"` // of a person
	Tried                          []string        `cbor:"26,keyasint,omitzero"` // since a person spoke, see way
}

// place is where a run is, in "_" for the empty scope. The context of all that is done for a run has its own.
type place struct{ scope, id string }

// good reports whether a run that has ended has delivered: as a person says, or else its gates.
func (r *record) good() bool { return cmp.Or(r.Verdict, learn.Verdict(r.Status)) == learn.Delivered }

// usage is what models took, as far as they told: nothing where a plan fires and no reasoner was asked.
func (r *record) usage() *reason.Usage {
	u := r.Usage.Add(r.Current.Usage)
	fired := func(a aim) bool { return a.Planner == byAdvice }
	if u == nil && r.Deliberations == 0 && slices.ContainsFunc(r.Aims, fired) {
		return &reason.Usage{CostUSD: new(0.0)}
	}
	return u
}

// aim is the objective, or a subgoal of the one before it.
type aim struct {
	Text    string `cbor:"1,keyasint,omitzero"`
	Advised int    `cbor:"2,keyasint,omitzero"` // number of its advice; 0: none yet

	Plan         []reason.Task       `cbor:"3,keyasint,omitzero"`
	Next         int                 `cbor:"4,keyasint,omitzero"`  // of Plan
	Planner      planner             `cbor:"26,keyasint,omitzero"` // 5 to 7 were something else
	Stuck        bool                `cbor:"8,keyasint,omitzero"`  // it was told that its session is stuck
	Approach     string              `cbor:"9,keyasint,omitzero"`
	Alternatives []reason.Decision   `cbor:"10,keyasint,omitzero"`
	Preferences  []reason.Preference `cbor:"11,keyasint,omitzero"`
	Applied      []memory.ID         `cbor:"12,keyasint,omitzero"`

	Tries     []try            `cbor:"13,keyasint,omitzero"` // at the next task, by this plan
	Failed    []reason.Failure `cbor:"14,keyasint,omitzero"`
	Void      []string         `cbor:"15,keyasint,omitzero"` // complaints of Failed that say nothing of the work
	Replans   int              `cbor:"16,keyasint,omitzero"`
	Refused   int              `cbor:"17,keyasint,omitzero"` // decisions in a row that could not be used
	Complaint string           `cbor:"18,keyasint,omitzero"` // why

	Calls    []reason.PlanCall `cbor:"19,keyasint,omitzero"` // that were delivered, by whichever plan
	Made     bool              `cbor:"20,keyasint,omitzero"` // they are those the worker made in its one task
	Utilized []memory.ID       `cbor:"22,keyasint,omitzero"`
	Blind    bool              `cbor:"24,keyasint,omitzero"` // a Source failed the reasoner
	Carried  bool              `cbor:"25,keyasint,omitzero"` // calls of the advice's plan were made unasked
}

// planner says who has made the plan of an aim.
type planner string

const (
	nobody     planner = ""         // the aim is the one task
	byHost     planner = "host"     // the objective has Tasks
	byReasoner planner = "reasoner" // a decision
	byAdvice   planner = "advice"   // a plan that fires: its calls are the tasks
	byWorker   planner = "worker"   // the aim is the one task; its worker makes the calls of such a plan
)

// try is an attempt at the next task that did not pass.
type try struct {
	Worker, Complaint string `cbor:",omitzero"`
	Denied            bool   `cbor:",omitzero"` // it is not asked again
}

// attempt is the one that is under way or waits.
type attempt struct {
	Number int           `cbor:"1,keyasint,omitzero"` // 0: none
	Worker string        `cbor:"2,keyasint,omitzero"`
	Asked  int           `cbor:"3,keyasint,omitzero"` // how often the reasoner has answered it
	Usage  *reason.Usage `cbor:"4,keyasint,omitzero"`
}

// waiting is for an outage.
type waiting struct {
	Since time.Time     `cbor:"1,keyasint"` // zero: who waits does so for a person
	Tries int           `cbor:"2,keyasint,omitzero"`
	Why   string        `cbor:"3,keyasint,omitzero"`
	For   time.Duration `cbor:"4,keyasint,omitzero"` // as the part that is away has asked
	Away  []string      `cbor:"5,keyasint,omitzero"` // workers that are, and have kept nothing of the attempt
}

// delivered is what a task delivered, as stored.
type delivered struct {
	Task   reason.Task     `cbor:"1,keyasint,omitzero"`
	Text   string          `cbor:"2,keyasint,omitzero"`
	Output json.RawMessage `cbor:"3,keyasint,omitzero"`
	Sample rank.Sample     `cbor:"4,keyasint,omitzero"` // of the attempt, as the Book has it
}

// told is what is known of a case as stored. Memories that stand as they are told are there by their IDs:
// their text would be most of what a turn writes, and would stay in the run where they are forgotten.
type told struct {
	reason.Known         // without Memories
	Shown        []shown `cbor:",omitzero"` // these
}

// shown is a memory that a run was told.
type shown struct {
	ID     memory.ID    `cbor:"1,keyasint,omitzero"`
	Scope  memory.Scope `cbor:"2,keyasint,omitzero"`
	Said   uint32       `cbor:"3,keyasint,omitzero"` // digest of its text
	Score  float64      `cbor:"4,keyasint,omitzero"`
	Linked memory.ID    `cbor:"5,keyasint,omitzero"`
	Whole  *memory.Hit  `cbor:"6,keyasint,omitzero"` // in place of all this
}

func toldOf(k reason.Known) told {
	out := make([]shown, len(k.Memories))
	for i := range out {
		h := &k.Memories[i]
		out[i] = shown{ID: h.ID, Scope: h.Scope, Said: said(&h.Record), Score: h.Score, Linked: h.Linked}
		if h.Superseded != nil || h.Kind == memory.Failure { // of a refusal a part is told
			out[i] = shown{Whole: h}
		}
	}
	k.Memories = nil
	return told{k, out}
}

// again reads the memories as they are now. One that says something else, or is forgotten, tells so, and a
// plan that it was applied to does not fire. One that nobody vouches for any more is told as such.
func (t *told) again(ctx context.Context, bank *memory.Bank) error {
	for _, s := range t.Shown {
		if s.Whole != nil {
			t.Memories = append(t.Memories, *s.Whole)
			continue
		}
		r, err := bank.In(s.Scope).Stage(nil).Get(ctx, s.ID)
		if err != nil && !missing(err) {
			return err
		}
		if said(&r) != s.Said {
			r.Content = "(changed or forgotten since) " + r.Content
		}
		r.ID, r.Scope = s.ID, s.Scope
		to := &t.Background
		if r.Trusted {
			to = &t.Memories
		}
		*to = append(*to, memory.Hit{Record: r, Score: s.Score, Linked: s.Linked})
	}
	return nil
}

// said is a digest of what a memory says.
func said(r *memory.Record) uint32 { return crc32.ChecksumIEEE([]byte(r.Trigger + "\x00" + r.Content)) }

func (r *record) aim() *aim { return &r.Aims[len(r.Aims)-1] }

func (r *record) adviceID(a *aim) string { return r.ID + "/" + strconv.Itoa(a.Advised) }

// lessons are the failures that say something about the work.
func (a *aim) lessons() []reason.Failure {
	return slices.DeleteFunc(slices.Clone(a.Failed), func(f reason.Failure) bool {
		return slices.Contains(a.Void, f.Complaint)
	})
}

// begin puts a plan in the place of the former one.
func (a *aim) begin(by planner, tasks []reason.Task, approach string) {
	a.Planner, a.Plan, a.Approach = by, tasks, approach
	a.Next, a.Tries, a.Stuck, a.Applied = 0, nil, false, nil
}

// way is what Tried has of a way to an aim: its approach, in equal words, or else its tasks. A subgoal is one
// to no aim.
func way(aim, approach string, tasks []reason.Task) string {
	return codec.Digest(text.Fold(aim) + "\n" + cmp.Or(text.Fold(approach), fmt.Sprintf("%q", tasks)))
}

// fires reports whether the plan is one that has fired.
func (a *aim) fires() bool { return a.Planner == byAdvice || a.Planner == byWorker }

// last is the latest try at the next task, the zero one if there is none.
func (a *aim) last() (t try) {
	if n := len(a.Tries); n > 0 {
		t = a.Tries[n-1]
	}
	return t
}

// failed counts the tries of a worker at the next task.
func (a *aim) failed(worker string) (n int, denied bool) {
	for _, t := range a.Tries {
		if t.Worker == worker {
			n, denied = n+1, denied || t.Denied
		}
	}
	return n, denied
}

// called adds to the calls that were delivered. A call that a later plan makes again counts once.
func (a *aim) called(c reason.PlanCall) {
	for _, o := range a.Calls {
		if o.Name == c.Name && string(o.Inputs) == string(c.Inputs) && o.Text == c.Text {
			return
		}
	}
	a.Calls = append(a.Calls, c)
}

func (a *aim) fail(fs ...reason.Failure) {
	a.Failed = append(a.Failed, fs...)
	a.Failed = slices.Delete(a.Failed, 0, max(0, len(a.Failed)-maxFailed))
}
