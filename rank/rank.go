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
	// Name identifies the candidate for all time. A candidate without a name
	// has no samples and is scored by its Prior.
	Name string
	// Prior is the confidence that the candidate's own card claims, in [0,1].
	Prior float64
	// Blast says how far a mistake reaches; the smaller wins a tie.
	Blast int
}

// Situation is the step for which a candidate is wanted.
type Situation struct {
	// Skill is what the step needs. Samples are kept apart by skill.
	Skill string
	// Key names a discrete context, "" for none. [Book.Observed] ignores it,
	// [Book.Weighted] uses it to key its draws, [Book.Learned] learns what
	// candidates are good for it.
	Key string
	// Words are those in which the situation is stated ([WordsOf]), for
	// [Book.Learned]: what candidates did with keys of much the same words counts
	// for this Key too, as a sample or two. Without a Key they say nothing.
	Words uint64
	// Features describe the step in numbers, for [Book.Learned]: situations
	// of similar features are taken to be alike.
	Features []float64
	// Failed are those who have failed at this very task, each as often as it
	// has: a task that others failed at is a hard one.
	Failed []string
	// Worth has [Book.Learned] rank for a ladder: who next, given who has
	// failed, until a success is worth less than its price. Zero: it does not.
	Worth Worth
}

// Worth is what comes of an attempt in US dollars, at most 10¹² each, for ranking under
// a price.
type Worth struct {
	Success float64 // what a success is worth; zero: there is no price
	Second  float64 // what a second of wall time costs
}

// Scored is one candidate as a policy sees it.
type Scored struct {
	Candidate Candidate
	// Score orders the candidates of [Book.Observed]. For [Book.Weighted] it
	// is the weight, before the exploration floor, and for [Book.Learned] the
	// expected worth, before the draw.
	Score float64
	// Parts is what the score is made of.
	Parts Parts
	// Samples is how many samples the candidate has in the window, those of
	// unknown outcome included.
	Samples int
	// Price is what a success of the candidate costs, where [Book.Price] was
	// asked and its attempts cost anything; no policy sets it.
	Price *Price `json:",omitempty"`
}

// Basis says what a score rests on.
type Basis string

// The bases of a score.
const (
	// Cold: too few samples, so the card's prior is the score.
	Cold Basis = "cold"
	// Warm: the formula over the samples of the candidate and skill.
	Warm Basis = "warm"
	// Drawn: the weight over the last day, ordered by a draw.
	Drawn Basis = "drawn"
	// Estimated: the worth that is expected, ordered by it and a draw.
	Estimated Basis = "estimated"
	// Priced: what the attempt is worth in US dollars less its price, ordered by
	// what it and the best attempt after it are worth. At zero or less, another
	// attempt is not worth its price.
	Priced Basis = "priced"
)

// Parts is what a score is made of. For [Book.Observed] the score is the sum
// of Success, Confidence, Wall and Prior, for [Book.Learned] that of Mean and
// Context.
type Parts struct {
	Basis Basis
	// Known is how many samples of the basis have a known outcome; for
	// Estimated, how many the mean rests on, rounded.
	Known int
	// Success is what the success rate adds (Warm), the rate (Drawn), or the
	// chance that is expected (Priced).
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
	// Mean is the worth that is expected in any situation (Estimated).
	Mean float64 `json:",omitzero"`
	// Context is what the situation's key and features change (Estimated).
	Context float64 `json:",omitzero"`
	// Bonus is for what little is known of (Estimated).
	Bonus float64 `json:",omitzero"`
	// Spread is the standard deviation of the draw (Estimated), and Draw what
	// it came to: the order is that of Mean + Context + Bonus + Draw.
	Spread float64 `json:",omitzero"`
	Draw   float64 `json:",omitzero"`
}

// Policy orders candidates for a situation.
type Policy interface {
	// Score returns every candidate once, best first. It may be called
	// concurrently, keeps none of its arguments, and its result belongs to
	// the caller. It returns ErrNoCandidate for no candidates, ErrCandidate
	// for one that it cannot score, and the context's error.
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
	// ErrCandidate: a candidate's prior is not a number in [0,1], or two
	// candidates have the same name.
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

// Limits of a sample. What is over them is refused with a *store.LimitError.
// A longer wall time counts as MaxWall.
const (
	MaxWall     = 365 * 24 * time.Hour // of one attempt
	MaxCostUSD  = 1_000_000_000        // of one attempt
	MaxTokens   = 1_000_000_000        // in or out, of one attempt
	MaxReward   = 1_000_000_000        // of one attempt, without its sign
	MaxFeatures = 1024                 // of a situation
	MaxReason   = 256                  // bytes of a reason
)

// Sample is what came of one attempt. An attempt that panicked, ran out of
// time or was refused is a failure: leaving it out would flatter the
// candidate.
type Sample struct {
	// Key makes Observe idempotent: a second sample with the same Key, for
	// whatever candidate, changes nothing. It is required.
	Key string
	// Candidate is the name of the one that did the work. It is required.
	Candidate string
	// Situation is the step it was done for.
	Situation Situation
	// Success says whether the result was accepted.
	Success bool
	// Unknown says that no gate could tell. The sample then counts in the
	// means of wall time, cost and tokens, but neither as a success nor as a
	// failure, and its Confidence is not used.
	Unknown bool
	// Confidence is what the candidate itself reported, in [0,1]; nil if it
	// reported none.
	Confidence *float64
	// Wall is how long the attempt took.
	Wall time.Duration
	// CostUSD is what it cost, in US dollars, and APICostUSD what its tokens would have
	// cost at list prices: that counts where the first is zero.
	CostUSD, APICostUSD float64
	// TokensIn and TokensOut are the tokens it read and wrote.
	TokensIn, TokensOut int
	// Reward is the host's own measure of worth, for [Book.Learned]; nil if
	// there is none.
	Reward *float64
	// Reason is why it failed, or what a success was not sure of: at most [MaxReason]
	// bytes, more is cut.
	Reason string
	// Judges is the Key of an earlier sample of the Candidate and skill, where this one is
	// no attempt but a verdict on that: Success and Reason take the place of what was known,
	// and nothing else counts. Once [Window] others have followed, it tells [Book.Learned]
	// alone. It has a known outcome. "": this is an attempt.
	Judges string
	// At is when the attempt ended, in 1970 to 2262; zero: now.
	At time.Time
}

// maxWorth is the most that a success or a second is worth.
const maxWorth = 1e12

// maxTried is how many failures at one task are told.
const maxTried = 256

// check reports everything that is wrong with the sample, at once.
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

// Price is what a success costs in US dollars, with all that is spent on other
// attempts: the mean cost of an attempt over the success rate.
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

// dollars prints at least two digits that count.
func dollars(usd float64) string {
	if usd < 10 {
		return fmt.Sprintf("$%.2g", usd)
	}
	return fmt.Sprintf("$%.0f", usd)
}
