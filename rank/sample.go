package rank

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Limits of a sample. What is over them is refused with a *store.LimitError,
// but for a longer wall time, which counts as MaxWall.
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
	// Unknown says that nobody could tell. The sample then counts in the
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
	// At is when the attempt ended, in 1970 to 2262; zero: now.
	At time.Time
}

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

// What wall time and cost are worth where the host gives no reward: shares of
// a success, per doubling of 1 + seconds and of 1 + US dollars.
const (
	worthOfTime = 0.02
	worthOfCost = 0.1
)

// spent is what the attempt cost, as reported or else as estimated.
func (s *Sample) spent() float64 { return cmp.Or(s.CostUSD, s.APICostUSD) }

// fact returns what a model needs of the sample.
func (s *Sample) fact() fact {
	f := fact{
		candidate: s.Candidate, key: s.Situation.Key, features: s.Situation.Features,
		rated: !s.Unknown, success: s.Success, usd: s.spent(), sec: min(s.Wall, MaxWall).Seconds(), failed: s.Situation.Failed,
	}
	switch {
	case s.Reward != nil:
		f.worth, f.known, f.rewarded = *s.Reward, true, true
	case !s.Unknown:
		if s.Success {
			f.worth = 1
		}
		f.worth -= worthOfTime * math.Log2(1+min(s.Wall, MaxWall).Seconds())
		f.worth -= worthOfCost * math.Log2(1+s.spent())
		f.known = true
	}
	return f
}
