package rank

import "context"

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

// Worth is what comes of an attempt in US dollars, for ranking under a price.
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
