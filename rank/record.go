package rank

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Window is the number of samples of a candidate and skill that the policies see: the last ones that were observed,
// whatever their time.
const Window = 200

// entry is a sample as the window keeps it.
type entry struct {
	at, wall   int64   // nanoseconds
	cost, api  float64 // US dollars
	confidence float64 // below zero: none
	in, out    int32   // tokens
	outcome    uint8
}

// Outcomes of a stored sample.
const (
	failure = iota
	success
	unknown
)

// record is a sample in the store. Its key has the candidate and the skill.
type record struct {
	Seq        uint64    `cbor:"1,keyasint,omitempty"`
	At         int64     `cbor:"2,keyasint,omitempty"` // nanoseconds since 1970
	Outcome    uint8     `cbor:"3,keyasint,omitempty"`
	Confidence *float64  `cbor:"4,keyasint,omitempty"`
	Wall       int64     `cbor:"5,keyasint,omitempty"` // nanoseconds
	Cost       float64   `cbor:"6,keyasint,omitempty"` // US dollars
	In         int32     `cbor:"7,keyasint,omitempty"` // tokens
	Out        int32     `cbor:"8,keyasint,omitempty"` // tokens
	Reward     *float64  `cbor:"9,keyasint,omitempty"`
	Situation  string    `cbor:"10,keyasint,omitempty"`
	Features   []float64 `cbor:"11,keyasint,omitempty"`
	Key        string    `cbor:"12,keyasint,omitempty"`  // of the sample
	Failed     []string  `cbor:"75,keyasint,omitempty"`  // before, at the same task
	API        float64   `cbor:"185,keyasint,omitempty"` // US dollars, estimated
	Reason     string    `cbor:"186,keyasint,omitempty"`
	Words      uint64    `cbor:"301,keyasint,omitempty"` // of the situation
	Judges     string    `cbor:"303,keyasint,omitempty"` // of a verdict, which only a journal has
}

// fill sets everything but Seq from a sample that has been checked.
func (r *record) fill(s *Sample) {
	r.At = s.At.UnixNano()
	switch {
	case s.Unknown:
		r.Outcome = unknown
	case s.Success:
		r.Outcome = success
	}
	r.Confidence, r.Reward = s.Confidence, s.Reward
	r.Wall, r.Cost, r.API = int64(min(s.Wall, MaxWall)), s.CostUSD, s.APICostUSD
	r.In, r.Out = int32(s.TokensIn), int32(s.TokensOut)
	r.Situation, r.Words, r.Features = s.Situation.Key, s.Situation.Words, s.Situation.Features
	r.Key, r.Failed, r.Reason, r.Judges = s.Key, s.Situation.Failed, s.Reason, s.Judges
}

// sample is the opposite of fill.
func (r *record) sample(candidate, skill string) Sample {
	return Sample{
		Key: r.Key, Candidate: candidate,
		Situation: Situation{Skill: skill, Key: r.Situation, Words: r.Words, Features: r.Features, Failed: r.Failed},
		Success:   r.Outcome == success, Unknown: r.Outcome == unknown, Confidence: r.Confidence,
		Wall: time.Duration(r.Wall), CostUSD: r.Cost, APICostUSD: r.API, TokensIn: int(r.In), TokensOut: int(r.Out),
		Reward: r.Reward, Reason: r.Reason, Judges: r.Judges, At: time.Unix(0, r.At).UTC(),
	}
}

// entry returns what the window keeps in memory.
func (r *record) entry() entry {
	e := entry{at: r.At, wall: r.Wall, cost: r.Cost, api: r.API, in: r.In, out: r.Out, outcome: r.Outcome}
	e.confidence = -1
	if r.Confidence != nil && r.Outcome != unknown {
		e.confidence = *r.Confidence
	}
	return e
}

// valid reports whether Observe could have written the record. The checksum was verified before, so that anything else
// was written by another program.
func (r *record) valid() bool {
	return r.At >= 0 && r.Outcome <= unknown && (r.Confidence == nil || unit(*r.Confidence)) &&
		r.Wall >= 0 && r.Wall <= int64(MaxWall) &&
		r.Cost >= 0 && r.Cost <= MaxCostUSD && r.API >= 0 && r.API <= MaxCostUSD &&
		r.In >= 0 && r.Out >= 0 && r.Seq < math.MaxUint64
}

func slotNumber(seq uint64) string { return strconv.FormatUint(seq%Window, 10) }

func decodeSample(e store.Entry, prefix string) (Sample, error) {
	var r record
	if err := codec.Decode(e, &r); err != nil {
		return Sample{}, err
	}
	p := key.Split(e.Key[len(prefix):]) // candidate, skill and slot
	if len(p) != 3 || !r.valid() {
		return Sample{}, fmt.Errorf("%w: %q is not a sample", store.ErrDamaged, e.Key)
	}
	return r.sample(p[0], p[1]), nil
}

// Tally sums up attempts of a candidate for a skill.
type Tally struct {
	Candidate, Skill string
	From             time.Time // when the hour or the day began, in UTC

	Samples   int // all, those of unknown outcome included
	Known     int // of known outcome
	Successes int

	Wall                time.Duration // of all together
	TokensIn, TokensOut int
	CostUSD             float64 // as reported
	APICostUSD          float64 // as estimated, at the rates of the candidate's tokens
	Costs                       // by what each has reported, or else was estimated
}

// hourRecord sums up the samples that left the window of a pair, by the hour in which they had ended.
//
//	rank left <candidate> <skill> <hour since 1970>
type hourRecord struct {
	Samples    int64     `cbor:"1,keyasint,omitempty"`
	Known      int64     `cbor:"2,keyasint,omitempty"`
	Successes  int64     `cbor:"3,keyasint,omitempty"`
	Wall       int64     `cbor:"4,keyasint,omitempty"` // nanoseconds
	In         int64     `cbor:"5,keyasint,omitempty"` // tokens
	Out        int64     `cbor:"6,keyasint,omitempty"` // tokens
	Cost       float64   `cbor:"7,keyasint,omitempty"` // US dollars
	API        float64   `cbor:"8,keyasint,omitempty"` // US dollars
	SuccessUSD []float64 `cbor:"9,keyasint,omitempty"` // sum, and that of the squares
	FailureUSD []float64 `cbor:"10,keyasint,omitempty"`

	hour int64 `cbor:"-"`
}

func (h *hourRecord) add(e *entry) {
	t := h.tally()
	t.add(&Sample{
		Success: e.outcome == success, Unknown: e.outcome == unknown, Wall: time.Duration(e.wall),
		CostUSD: e.cost, APICostUSD: e.api, TokensIn: int(e.in), TokensOut: int(e.out),
	})
	usd := []float64{t.successes.sum, t.successes.squares, t.failures.sum, t.failures.squares}
	*h = hourRecord{
		hour: h.hour, Samples: int64(t.Samples), Known: int64(t.Known), Successes: int64(t.Successes),
		Wall: int64(t.Wall), In: int64(t.TokensIn), Out: int64(t.TokensOut), Cost: t.CostUSD, API: t.APICostUSD,
		SuccessUSD: usd[:2:2], FailureUSD: usd[2:],
	}
}

// lastEnd is when the last of its attempts ended, or before.
func (h *hourRecord) lastEnd() int64 { return (h.hour+1)*int64(time.Hour) - 1 }

func (h *hourRecord) tally() Tally {
	return Tally{
		From:    time.Unix(h.hour*3600, 0).UTC(),
		Samples: int(h.Samples), Known: int(h.Known), Successes: int(h.Successes),
		Wall: time.Duration(h.Wall), TokensIn: int(h.In), TokensOut: int(h.Out), CostUSD: h.Cost, APICostUSD: h.API,
		Costs: Costs{
			USD:       h.SuccessUSD[0] + h.FailureUSD[0],
			successes: moments{float64(h.Successes), h.SuccessUSD[0], h.SuccessUSD[1]},
			failures:  moments{float64(h.Samples - h.Successes), h.FailureUSD[0], h.FailureUSD[1]},
		},
	}
}

func (t *Tally) add(s *Sample) {
	t.Samples++
	if !s.Unknown {
		t.Known++
	}
	if s.Success && !s.Unknown {
		t.Successes++
	}
	t.Wall = together(t.Wall, min(s.Wall, MaxWall))
	t.TokensIn, t.TokensOut = t.TokensIn+s.TokensIn, t.TokensOut+s.TokensOut
	t.CostUSD, t.APICostUSD = t.CostUSD+s.CostUSD, t.APICostUSD+s.APICostUSD
	t.Costs.Add(s)
}

// merge adds another one.
func (t *Tally) merge(u *Tally) {
	t.Samples, t.Known, t.Successes = t.Samples+u.Samples, t.Known+u.Known, t.Successes+u.Successes
	t.Wall, t.TokensIn, t.TokensOut = together(t.Wall, u.Wall), t.TokensIn+u.TokensIn, t.TokensOut+u.TokensOut
	t.CostUSD, t.APICostUSD = t.CostUSD+u.CostUSD, t.APICostUSD+u.APICostUSD
	t.Costs.Merge(&u.Costs)
}

// together is the sum of times, at most the longest Duration, 292 years.
func together(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// hourOf numbers the hours since 1970.
func hourOf(ns int64) int64 { return ns / int64(time.Hour) }

// hourPart is the part of a key that names an hour. These parts sort as the hours do.
func hourPart(hour int64) string { return strconv.FormatInt(hour+1e7, 10)[1:] }

func decodeHour(e store.Entry, part string) (hourRecord, error) {
	var h hourRecord
	err := codec.Decode(e, &h)
	if err != nil {
		return h, err
	}
	h.hour, err = strconv.ParseInt(part, 10, 64)
	if err != nil || h.Samples < 1 || h.Known > h.Samples || h.Successes > h.Known ||
		len(h.SuccessUSD) != 2 || len(h.FailureUSD) != 2 {
		return h, fmt.Errorf("%w: %q is not an hour of samples", store.ErrDamaged, e.Key)
	}
	return h, nil
}

func decodeTally(e store.Entry, prefix string) (Tally, error) {
	p := key.Split(e.Key[len(prefix):]) // candidate, skill and hour
	if len(p) != 3 {
		return Tally{}, fmt.Errorf("%w: %q is not an hour of samples", store.ErrDamaged, e.Key)
	}
	h, err := decodeHour(e, p[2])
	if err != nil {
		return Tally{}, err
	}
	t := h.tally()
	t.Candidate, t.Skill = p[0], p[1]
	return t, nil
}

// Day is how far back [Book.Health] and [Book.Weighted] look.
const Day = 24 * time.Hour
