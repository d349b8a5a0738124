// Package rank orders candidates (workers, models, tools) for a task by what was observed of them, tells when
// nobody is worth another try, and keeps a stream of tasks under an average price.
//
// A [Book] keeps one tenant's statistics: one record per candidate and skill, changed in the commit of the
// step that made the attempt. Its policies read the same records:
//
//   - [Book.Observed] is the formula of the self-improving loop: success, confidence, wall time; the
//     candidate's own claim while little is known.
//   - [Book.Weighted] picks by chance, in proportion to success and inversely to cost.
//   - [Book.Learned] learns what each candidate is worth, also by kind of case, and explores; arc uses it.
//   - [Book.Ladder] says who is to try next at a task at which others have failed, and stops when nobody is
//     worth the price.
//   - [Book.Pacer] keeps the average price of an open stream of tasks at a bound.
//
// [Book.Stats], [Book.Day] and [Book.Health] have figures for a person, [Book.Explain] what a rank rests on.
// An outage counts against nobody's skill: leave out whom Health of the last minute shows to be away.
//
// Policies are deterministic: equal records, candidates, task and seed give the same order, restarts or not.
package rank

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/arc-learn/arc/store"
)

// Candidate is something that can take a task. Give its current Price where you know it: the mean of attempts
// follows a change only as they come, so late or never if a candidate got cheaper and is not tried.
// [Book.Learned] looks at samples alone. A candidate that is free has a Price just above 0.
type Candidate struct {
	Name  string
	Prior float64 // the chance of success that it claims, in [0,1]; it counts while little is known
	Blast int     // how far a mistake reaches, as act.Blast; the smaller wins a tie
	Price float64 // US dollars of an attempt; 0: its mean so far, at first ¼ of that of all at the skill
}

// Task is what a candidate is wanted for.
type Task struct {
	Skill  string   `cbor:",omitzero"`
	Key    string   `cbor:",omitzero"` // the kind of case, e.g. its situation; "" if it has none
	Failed []string `cbor:",omitzero"` // the candidates that failed at this very task
}

// Outcome is what came of an attempt. Only Delivered, Failed and Malformed tell about skill: an outage (Away,
// TimedOut), an end that the host made (Canceled) or a refusal (Denied) does not.
type Outcome string

// Outcomes.
const (
	Delivered Outcome = "delivered" // a gate passed it
	Failed    Outcome = "failed"    // a gate or the worker refused it
	Malformed Outcome = "malformed" // the answer was unusable
	Away      Outcome = "away"      // rate limit, server error, no connection
	TimedOut  Outcome = "timed_out"
	Canceled  Outcome = "canceled"
	Denied    Outcome = "denied"  // permission, or a person said no
	Unknown   Outcome = "unknown" // made, and no gate could tell
)

// outcomes has the outcomes by the number that stands for them in a record.
var outcomes = [...]Outcome{"", Delivered, Failed, Malformed, Away, TimedOut, Canceled, Denied, Unknown}

// judged reports whether the outcome tells about skill.
func (o Outcome) judged() bool { return o == Delivered || o == Failed || o == Malformed }

// ill reports whether the outcome counts against a candidate's health: an outage is no failure of skill, and
// a service that does not answer is not well.
func (o Outcome) ill() bool { return o == Failed || o == Malformed || o == Away || o == TimedOut }

// Usage is what calls of models took. A nil *Usage and a nil figure are unknown, which is not 0.
type Usage struct {
	Calls       int      `cbor:",omitzero"`
	Input       int      `cbor:",omitzero"` // tokens, with those that are Cached
	Output      int      `cbor:",omitzero"`
	Cached      int      `cbor:",omitzero"` // input tokens read from a cache
	CostUSD     *float64 `cbor:",omitzero"` // as reported by the provider
	EstimateUSD *float64 `cbor:",omitzero"` // tokens times list price
}

// Add returns the sum of u and v, or the one that is known. So it is with their figures: one of v that is
// NaN, infinite or below 0 is unknown. It changes neither.
func (u *Usage) Add(v *Usage) *Usage {
	if v == nil {
		return u
	}
	u = cmp.Or(u, &Usage{})
	usd := func(a, b *float64) *float64 {
		if b == nil || !(*b >= 0 && *b <= math.MaxFloat64) {
			return a
		}
		return new(*cmp.Or(a, new(0.)) + *b)
	}
	return &Usage{
		Calls: u.Calls + max(0, v.Calls), Input: u.Input + max(0, v.Input),
		Output: u.Output + max(0, v.Output), Cached: u.Cached + max(0, v.Cached),
		CostUSD: usd(u.CostUSD, v.CostUSD), EstimateUSD: usd(u.EstimateUSD, v.EstimateUSD),
	}
}

// Since returns what u has beyond an earlier sum, or u where one is not known. So it is with their figures.
func (u *Usage) Since(was *Usage) *Usage {
	if u == nil || was == nil {
		return u
	}
	usd := func(now, was *float64) *float64 {
		if now == nil || was == nil {
			return now
		}
		return new(max(0, *now-*was))
	}
	return &Usage{
		Calls: max(0, u.Calls-was.Calls), Input: max(0, u.Input-was.Input),
		Output: max(0, u.Output-was.Output), Cached: max(0, u.Cached-was.Cached),
		CostUSD: usd(u.CostUSD, was.CostUSD), EstimateUSD: usd(u.EstimateUSD, was.EstimateUSD),
	}
}

// Sample is the outcome of one attempt. It holds no text of the case. A NaN is unknown, and so is a cost that
// is below 0 or over a million.
type Sample struct {
	// Run identifies the attempt, e.g. "run/3/1". A later sample of the same candidate, skill and Run, as of
	// a later verdict, replaces the former if that is among the last 200. "": each call is another attempt.
	Run       string `cbor:",omitzero"`
	Candidate string `cbor:",omitzero"`
	Task
	Outcome    Outcome       `cbor:",omitzero"`
	Class      string        `cbor:",omitzero"` // of the error or complaint, for Health; up to 256 bytes
	Wall       time.Duration `cbor:",omitzero"`
	Usage                    // of the attempt; EstimateUSD counts if CostUSD is nil; Calls and Cached do not
	Confidence *float64      `cbor:",omitzero"` // what the candidate itself reported; it is held to [0,1]
	Reward     *float64      `cbor:",omitzero"` // for [Book.Learned], within ±1e12
	At         time.Time     // when the attempt ended; zero or later than now: now
}

// cost returns what the attempt is taken to have cost, and whether that is known.
func (u *Usage) cost() (float64, bool) {
	usd := cmp.Or(u.CostUSD, u.EstimateUSD)
	if usd == nil || !(*usd >= 0 && *usd <= maxUSD) {
		return 0, false
	}
	return *usd, true
}

// Scored is a candidate with its score, whose unit the policy says.
type Scored struct {
	Candidate
	Score float64
}

// Policy orders candidates for a task, best first. It may leave out candidates that are not worth an attempt.
// It may be called concurrently and keeps none of its arguments.
type Policy interface {
	Score(ctx context.Context, t Task, cs []Candidate) ([]Scored, error)
}

const maxName, maxUSD, maxReward = 256, 1e6, 1e12

func check(skill, candidate string) error {
	if len(skill) > maxName || candidate == "" || len(candidate) > maxName {
		return fmt.Errorf("rank: %w: a skill of %d bytes and a candidate of %d: at most %d, a candidate 1 to %d",
			store.ErrInvalid, len(skill), len(candidate), maxName, maxName)
	}
	return nil
}

func (c *Candidate) check(skill string) error {
	if !(c.Prior >= 0 && c.Prior <= 1) || !(c.Price >= 0 && c.Price <= maxUSD) {
		const why = "rank: %w: candidate %q has prior %v and price %v"
		return fmt.Errorf(why, store.ErrInvalid, c.Name, c.Prior, c.Price)
	}
	return check(skill, c.Name)
}
