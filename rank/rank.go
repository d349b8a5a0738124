package rank

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Candidate is something that can take a step.
type Candidate struct {
	// Name identifies the candidate for all time. A candidate without a name has no samples: its score is its Prior.
	Name string
	// Prior is the confidence that the candidate claims on its card, in [0,1].
	Prior float64
	// Blast is how far a mistake reaches; the smaller wins a tie.
	Blast int
}

// Situation is a step that needs a candidate.
type Situation struct {
	// Skill is what the step needs. Samples of different skills are kept apart.
	Skill string
	// Key names a discrete context, "" for none. [Book.Observed] ignores it, [Book.Weighted] keys its draws by it,
	// [Book.Learned] learns which candidates are good for it.
	Key string
	// Words are the words of the situation ([WordsOf]), for [Book.Learned]: samples with keys of much the same words
	// count for this Key too, like one or two. Without a Key they have no effect.
	Words uint64
	// Features describe the step in numbers, for [Book.Learned]: situations of similar features count as alike.
	Features []float64
	// Failed are the candidates that have failed at this very task, each as often as it has: a task at which others
	// failed is a hard one.
	Failed []string
	// Worth makes [Book.Learned] rank for a ladder: which candidate is next, after those in Failed, until a success is
	// worth less than its price. Zero: no ladder.
	Worth Worth
}

// Worth is the worth of an attempt's outcome in US dollars, at most 10¹² each, for ranking under a price.
type Worth struct {
	Success float64 // what a success is worth; zero: there is no price
	Second  float64 // what a second of wall time costs
}

// Scored is a candidate with its score.
type Scored struct {
	Candidate Candidate
	// Score orders the candidates of [Book.Observed]. For [Book.Weighted] it is the weight, before the exploration
	// floor, and for [Book.Learned] the expected worth, before the draw.
	Score float64
	// Parts are the terms of the score.
	Parts Parts
	// Samples is the number of samples in the window, those of unknown outcome included.
	Samples int
	// Price is what a success of the candidate costs. [Book.Price] sets it if attempts have cost anything; no policy
	// does.
	Price *Price `json:",omitempty"`
}

// Basis is what a score rests on.
type Basis string

// The bases of a score.
const (
	// Cold: too few samples, so the card's prior is the score.
	Cold Basis = "cold"
	// Warm: the formula over the samples of the candidate and skill.
	Warm Basis = "warm"
	// Drawn: the weight over the last day, ordered by a draw.
	Drawn Basis = "drawn"
	// Estimated: the expected worth, ordered by it and a draw.
	Estimated Basis = "estimated"
	// Priced: the worth of the attempt less its price, in US dollars, ordered by what it and the best attempt after it
	// are worth. At zero or less, another attempt is not worth its price.
	Priced Basis = "priced"
)

// Parts are the terms of a score: for [Book.Observed] Success, Confidence, Wall and Prior, for [Book.Learned] Mean
// and Context. Their sum is the Score.
type Parts struct {
	Basis Basis
	// Known is the number of samples of the basis with a known outcome; for Estimated, how many the mean rests on,
	// rounded.
	Known int
	// Success is what the success rate adds (Warm), the rate (Drawn), or the expected chance (Priced).
	Success float64
	// Confidence is what the mean confidence of successes adds (Warm).
	Confidence float64
	// Wall is what the mean wall time adds, zero or less (Warm).
	Wall float64
	// Prior is what the card's own confidence adds (Cold).
	Prior float64
	// Cost is the cost of a success (Drawn) or an attempt (Priced), in US dollars.
	Cost float64
	// Chance is the probability of coming first, in (0,1] (Drawn).
	Chance float64
	// Mean is the expected worth in any situation (Estimated).
	Mean float64 `json:",omitzero"`
	// Context is what the situation's key and features change (Estimated).
	Context float64 `json:",omitzero"`
	// Bonus is what a candidate gets because little is known of it (Estimated).
	Bonus float64 `json:",omitzero"`
	// Spread is the standard deviation of the draw, and Draw its value (Estimated): the order is by Mean + Context +
	// Bonus + Draw.
	Spread float64 `json:",omitzero"`
	Draw   float64 `json:",omitzero"`
}

// Policy orders candidates for a situation.
type Policy interface {
	// Score returns every candidate once, best first. It may be called concurrently, keeps none of its arguments, and
	// the caller owns the result. The errors are ErrNoCandidate without candidates, ErrCandidate for one that it cannot
	// score, and that of the context.
	Score(ctx context.Context, s Situation, cs []Candidate) ([]Scored, error)
}

// PolicyFunc adapts a function to [Policy].
type PolicyFunc func(ctx context.Context, s Situation, cs []Candidate) ([]Scored, error)

// Score calls f.
func (f PolicyFunc) Score(ctx context.Context, s Situation, cs []Candidate) ([]Scored, error) {
	return f(ctx, s, cs)
}

// Errors of a [Policy].
var (
	// ErrNoCandidate: there is nothing to choose from.
	ErrNoCandidate = errors.New("no candidate")
	// ErrCandidate: a candidate's prior is not a number in [0,1], its name is no
	// identifier, or two candidates have the same name.
	ErrCandidate = errors.New("bad candidate")
	// ErrSituation: a feature is not a finite number, or the skill is not an
	// identifier ([Book.Learned]).
	ErrSituation = errors.New("bad situation")
)

// ErrSample: a sample lacks its Key or Candidate, or holds a value out of
// range ([Book.Observe]). Nothing was stored.
var ErrSample = errors.New("bad sample")

// ErrOptions: an option of [Open] is out of range.
var ErrOptions = errors.New("bad options")

// Limits of a sample. More is a *store.LimitError, except that a longer wall time counts as MaxWall.
const (
	MaxWall     = 365 * 24 * time.Hour // of one attempt
	MaxCostUSD  = 1_000_000_000        // of one attempt
	MaxTokens   = 1_000_000_000        // in or out, of one attempt
	MaxReward   = 1_000_000_000        // of one attempt, without its sign
	MaxFeatures = 1024                 // of a situation
	MaxReason   = 256                  // bytes of a reason
)

// Sample is the outcome of one attempt. Report an attempt that panicked, ran out of time or was refused as a
// failure: leaving it out would flatter the candidate.
type Sample struct {
	// Key makes Observe idempotent: a second sample with the same Key, of any candidate, changes nothing. Required.
	Key string
	// Candidate is the name of the candidate that did the work. Required.
	Candidate string
	// Situation is the step.
	Situation Situation
	// Success says whether the result was accepted.
	Success bool
	// Unknown says that no gate could tell. The sample counts in the means of wall time, cost and tokens, and neither as
	// a success nor as a failure. Its Confidence does not count.
	Unknown bool
	// Confidence is what the candidate itself reported, in [0,1]; nil: nothing.
	Confidence *float64
	// Wall is how long the attempt took.
	Wall time.Duration
	// CostUSD is what the attempt cost, in US dollars. APICostUSD is what its tokens would have cost at list prices, and
	// counts where CostUSD is zero.
	CostUSD, APICostUSD float64
	// TokensIn and TokensOut are the tokens that the attempt read and wrote.
	TokensIn, TokensOut int
	// Reward is the host's own measure of worth, for [Book.Learned]; nil: none.
	Reward *float64
	// Reason is why the attempt failed, or what a success was not sure of: at most [MaxReason] bytes, more is cut.
	Reason string
	// Judges makes this sample a verdict, and no attempt: it is the Key of an earlier sample of the Candidate and skill.
	// Success and Reason replace those of that sample, and nothing else counts. Once [Window] others have followed that
	// sample, only [Book.Learned] learns the verdict. A verdict has a known outcome. "": this is an attempt.
	Judges string
	// At is when the attempt ended, in 1970 to 2262; zero: now.
	At time.Time
}

// maxWorth is the most that a success or a second is worth.
const maxWorth = 1e12

// maxTried bounds the failures at one task.
const maxTried = 256

// check returns everything that is wrong with the sample.
func (s *Sample) check() error {
	var errs []error
	bad := func(field string, ok bool, v any) {
		if !ok {
			errs = append(errs, fmt.Errorf("%w: %s is %v", ErrSample, field, v))
		}
	}
	id := func(field, id string) {
		if err := key.CheckID(field, id); err != nil {
			errs = append(errs, fmt.Errorf("%w: %w", ErrSample, err))
		}
	}
	limit := func(field string, limit int, over bool, got int) {
		if over {
			errs = append(errs, &store.LimitError{Field: field, Limit: limit, Got: got})
		}
	}
	id("key", s.Key)
	bad("key", s.Key != "", "empty")
	id("candidate", s.Candidate)
	bad("candidate", s.Candidate != "", "empty")
	id("judged key", s.Judges)
	if s.Unknown {
		bad("outcome of a verdict", s.Judges == "", "unknown")
	}
	id("skill", s.Situation.Skill)
	id("situation key", s.Situation.Key)
	limit("failed", maxTried, len(s.Situation.Failed) > maxTried, len(s.Situation.Failed))
	for _, name := range s.Situation.Failed {
		id("failed", name)
	}
	limit("features", MaxFeatures, len(s.Situation.Features) > MaxFeatures, len(s.Situation.Features))
	for i, f := range s.Situation.Features {
		if !finite(f) {
			bad(fmt.Sprintf("feature %d", i), false, f)
			break
		}
	}
	if s.Confidence != nil && !unit(*s.Confidence) {
		bad("confidence", false, *s.Confidence)
	}
	if s.Wall < 0 {
		bad("wall", false, s.Wall)
	}
	bad("cost", finite(s.CostUSD) && s.CostUSD >= 0, s.CostUSD)
	limit("cost", MaxCostUSD, finite(s.CostUSD) && s.CostUSD > MaxCostUSD, int(min(s.CostUSD, math.MaxInt32)))
	bad("estimated cost", s.APICostUSD >= 0 && s.APICostUSD <= MaxCostUSD, s.APICostUSD)
	bad("tokens in", s.TokensIn >= 0, s.TokensIn)
	limit("tokens in", MaxTokens, s.TokensIn > MaxTokens, s.TokensIn)
	bad("tokens out", s.TokensOut >= 0, s.TokensOut)
	limit("tokens out", MaxTokens, s.TokensOut > MaxTokens, s.TokensOut)
	if s.Reward != nil {
		bad("reward", finite(*s.Reward), *s.Reward)
		over := finite(*s.Reward) && math.Abs(*s.Reward) > MaxReward
		limit("reward", MaxReward, over, int(min(math.Abs(*s.Reward), math.MaxInt32)))
	}
	if !inRange(s.At) {
		bad("time", false, s.At)
	}
	return errors.Join(errs...)
}

func finite(f float64) bool { return f-f == 0 }

// unit reports whether f is a number in [0,1]. NaN is not.
func unit(f float64) bool { return f >= 0 && f <= 1 }

// inRange reports whether t can be kept as nanoseconds since 1970.
func inRange(t time.Time) bool {
	return !t.Before(time.Unix(0, 0)) && !t.After(time.Unix(0, math.MaxInt64))
}

// Price is what a success costs in US dollars, other attempts included: the mean cost of an attempt over the success
// rate.
type Price struct {
	USD       float64 // 0: there was no success
	Low, High float64 // the 95 % interval; a High of 0 is none
}

// String is the price with its interval.
func (p Price) String() string {
	from := fmt.Sprintf("95 %%: %s or more", dollars(p.Low))
	if p.High > 0 {
		from = fmt.Sprintf("95 %%: %s to %s", dollars(p.Low), dollars(p.High))
	}
	if p.USD == 0 {
		return "no success (" + from + ")"
	}
	return fmt.Sprintf("%s a success (%s)", dollars(p.USD), from)
}

// dollars prints at least two significant digits.
func dollars(usd float64) string {
	if usd < 10 {
		return fmt.Sprintf("$%.2g", usd)
	}
	return fmt.Sprintf("$%.0f", usd)
}
