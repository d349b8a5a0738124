package learn

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/known"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/learn/internal/chunk"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// Status is the state of a task or a goal after an outcome.
type Status int

// The statuses.
const (
	Open      Status = iota // not decided by this outcome
	Delivered               // done, and passed by its gates
	Blocked                 // given up
)

// Outcome is one attempt and what it decided.
type Outcome struct {
	Key     string // of the attempt; Learn is idempotent on it
	GoalKey string // of the goal that the attempt belongs to
	Run     string
	Session string
	Scope   memory.Scope
	At      time.Time

	Objective string // of the goal
	Situation string // of the goal
	Case
	Approach string // the decision's

	Task   Status // of the task
	Goal   Status // of the goal
	Skill  string // that the task asked for
	Worker string // that made the attempt
	End    act.End
	Passed bool // the gates passed
	Faulty bool // no evidence about the worker, as when a gate failed
	Result act.Result
	Wall   time.Duration

	Complaint string

	// Episodes are scopes that get an Episode about how the goal ended, beside what Scope learns.
	Episodes []memory.Scope

	Injected []memory.Hit // recalled for the goal
	Chunks   []Chunk      // what Match returns for Injected; nil: Learn calls it
	Withheld []memory.ID  // withheld by Holdout
	Utilized []memory.ID  // applied by the decision or used by workers
	Fired    memory.ID    // the chunk whose plan was run; "": deliberation
	used     memory.ID    // the chunk with the same plan; "": none

	// Unfit says why the plan must never fire: it was made with something that no other case has, such as a
	// person's answer. "": it may.
	Unfit   string
	Quotes  []memory.Source // whose words approach and plan repeat, beside the host's
	Parents []memory.ID     // memories and Facts from which the plan was made

	Action known.Action // the action of the attempt
	Try    int          // which attempt at the task it was, from 1
	Known  *known.Known // known failures before the attempt
	Warned []memory.ID  // the memories of the warnings that were shown

	Plan   []reason.Task          // the plan that delivered, with workers; nil: a chunk's
	Ranked []int                  // indices of tasks for which Plan named another or no worker
	Said   uint64                 // digest of what sources said for Plan; 0: nothing
	Failed []reason.FailedAttempt // failed attempts at the goal
}

// sample returns the outcome as a sample for the ranking.
func (o *Outcome) sample() rank.Sample {
	s := rank.Sample{
		Key:       o.Key,
		Candidate: o.Worker,
		Situation: Situation(o.Skill, o.Situation),
		Success:   o.Passed,
		Unknown:   o.Faulty,
		Wall:      o.Wall,
		CostUSD:   min(o.Result.Usage.CostUSD, rank.MaxCostUSD), APICostUSD: min(o.Result.Usage.APICostUSD, rank.MaxCostUSD),
		TokensIn:  min(o.Result.Usage.TokensIn, rank.MaxTokens),
		TokensOut: min(o.Result.Usage.TokensOut, rank.MaxTokens),
		At:        o.At,
	}
	if s.Reason = text.Shorten(o.Complaint, rank.MaxReason); o.Passed {
		s.Reason = text.Shorten(strings.Join(o.Result.Reflection.PotentialIssues, "; "), rank.MaxReason)
	}
	earlier := o.Failed
	if !o.Passed && len(earlier) > 0 {
		earlier = earlier[:len(earlier)-1]
	}
	for _, f := range earlier[len(earlier)-min(len(earlier), max(0, o.Try-1)):] {
		s.Situation.Failed = append(s.Situation.Failed, f.Worker)
	}
	if o.End == act.Finished || o.End == act.Failed && o.Result.Reflection.Status != "" {
		c := o.Result.Reflection.Confidence
		s.Confidence = &c
	}
	return s
}

// scopes appends the scopes of the injected memories.
func (o *Outcome) scopes(out []memory.Scope) []memory.Scope {
	out = append(out, o.Scope)
	for i := range o.Injected {
		if s := o.Injected[i].Record.Scope; s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// feedback returns the outcome as feedback for the memory of a scope: credit when the goal is delivered, blame for
// what misled as soon as that is known. credited is a pattern that Remember has credited already. ids is reused
// for the memories that the feedback is about.
func (o *Outcome) feedback(scope memory.Scope, credited memory.ID, ids []memory.ID) (memory.Feedback, bool) {
	ids = append(ids, o.Utilized...)
	if o.used != "" && !slices.Contains(ids, o.used) {
		ids = append(ids, o.used)
	}
	f := memory.Feedback{
		Key: o.Key, Situation: situationKey(o.Situation), Delivered: o.Goal == Delivered,
		Injected: ids[len(ids):], Misled: o.Result.Misled, Actor: o.User,
	}
	if len(ids) > 0 {
		f.Utilized = slices.Clip(ids)
	}
	for i := range o.Injected {
		if r := &o.Injected[i].Record; r.Scope == scope && r.ID != credited {
			f.Injected = append(f.Injected, r.ID)
		}
	}
	if o.Fired != "" {
		if f.Delivered {
			f.Utilized = append(append(slices.Clip(f.Utilized), o.Fired), o.restsOn()...)
		} else if !o.Passed && !o.Faulty {
			f.Misled = append(slices.Clip(f.Misled), o.Fired)
		}
	}
	return f, f.Delivered && len(f.Injected) > 0 || len(f.Misled) > 0
}

// restsOn returns the memories from which the plan of the chunk that fired was made, without other plans, which
// were not run.
func (o *Outcome) restsOn() (ids []memory.ID) {
	i := slices.IndexFunc(o.Injected, func(h memory.Hit) bool { return h.Record.ID == o.Fired })
	if i < 0 {
		return nil
	}
	for _, l := range o.Injected[i].Record.Links {
		other := func(h memory.Hit) bool { return h.Record.ID == l.To && h.Record.Kind != memory.Pattern }
		if l.Rel == "" && slices.ContainsFunc(o.Injected, other) {
			ids = append(ids, l.To)
		}
	}
	return ids
}

// maxNote is how much of a text recall searches for and the monitor keeps, in bytes.
const maxNote = 4 << 10

// verdict returns the outcome as the monitor records it.
func (o *Outcome) verdict() meta.Outcome {
	v := meta.Outcome{
		Key:      o.Key,
		Session:  o.Session,
		Goal:     text.Shorten(o.Objective, maxNote),
		Approach: text.Shorten(o.Approach, maxNote),
		User:     o.User,
		Success:  o.Task == Delivered,
		At:       o.At,
		Note:     text.Shorten(o.Complaint, maxNote),
	}
	if o.Result.Reflection.Status != "" {
		r := iar.Resonance(o.Result.Reflection)
		v.Resonance = &r
	}
	return v
}

// trigger returns the situation in which a lesson applies.
func (o *Outcome) trigger() string { return chunk.Trigger(chunk.Said(o.Situation, o.Objective)) }

// maxSituationKey is the length of the longest situation that is its own key.
const maxSituationKey = 64

// Situation returns a task as the ranking sees it: the skill, and the goal's situation as a discrete context, with
// its words for similar ones.
func Situation(skill, situation string) rank.Situation {
	return rank.Situation{Skill: skill, Key: situationKey(situation), Words: rank.WordsOf(situation)}
}

// situationKey returns a situation as a key for statistics: short, and without control characters.
func situationKey(situation string) string {
	control := func(b byte) bool { return b < ' ' || b >= 0x7f }
	if len(situation) <= maxSituationKey && !slices.ContainsFunc([]byte(situation), control) {
		return situation
	}
	sum := sha256.Sum256([]byte(situation))
	return hex.EncodeToString(sum[:8])
}
