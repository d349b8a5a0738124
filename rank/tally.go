package rank

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Tally is what attempts of a candidate for a skill came to.
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

// hourRecord is what left the window of a pair, by the hour in which it had ended.
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
	*h = hourRecord{
		hour: h.hour, Samples: int64(t.Samples), Known: int64(t.Known), Successes: int64(t.Successes),
		Wall: int64(t.Wall), In: int64(t.TokensIn), Out: int64(t.TokensOut), Cost: t.CostUSD, API: t.APICostUSD,
		SuccessUSD: []float64{t.successes.sum, t.successes.squares},
		FailureUSD: []float64{t.failures.sum, t.failures.squares},
	}
}

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
	t.Wall += min(s.Wall, MaxWall)
	t.TokensIn, t.TokensOut = t.TokensIn+s.TokensIn, t.TokensOut+s.TokensOut
	t.CostUSD, t.APICostUSD = t.CostUSD+s.CostUSD, t.APICostUSD+s.APICostUSD
	t.Costs.Add(s)
}

// merge adds what another came to.
func (t *Tally) merge(u *Tally) {
	t.Samples, t.Known, t.Successes = t.Samples+u.Samples, t.Known+u.Known, t.Successes+u.Successes
	t.Wall, t.TokensIn, t.TokensOut = t.Wall+u.Wall, t.TokensIn+u.TokensIn, t.TokensOut+u.TokensOut
	t.CostUSD, t.APICostUSD = t.CostUSD+u.CostUSD, t.APICostUSD+u.APICostUSD
	t.Costs.Merge(&u.Costs)
}

// hourOf numbers the hours since 1970.
func hourOf(ns int64) int64 { return ns / int64(time.Hour) }

// hourPart is the part of a key that names an hour: they order as the hours do.
func hourPart(hour int64) string { return strconv.FormatInt(hour+1e7, 10)[1:] }

func decodeHour(e store.Entry, part string) (hourRecord, error) {
	var h hourRecord
	err := codec.Decode(e, &h)
	if err != nil {
		return h, err
	}
	h.hour, err = strconv.ParseInt(part, 10, 64)
	if err != nil || h.Samples < 1 || h.Known > h.Samples || h.Successes > h.Known || len(h.SuccessUSD) != 2 || len(h.FailureUSD) != 2 {
		return h, fmt.Errorf("%w: %q is not an hour of samples", store.ErrDamaged, e.Key)
	}
	return h, nil
}

// left counts a sample that the next one pushes out of a window, and returns its
// hour. The caller has the turn.
func (b *Book) left(ctx context.Context, candidate, skill string, w *window, out *entry) (h hourRecord, err error) {
	at := hourOf(out.at)
	k := b.x.keys.Join(b.space, "left", candidate, skill, hourPart(at))
	if i := slices.IndexFunc(w.left, func(h hourRecord) bool { return h.hour == at }); i >= 0 {
		h = w.left[i]
	} else if h, err = b.hour(ctx, k, at); err != nil {
		return h, err
	}
	h.add(out)
	return h, b.x.put(k, &h)
}

// hour returns what the store has of an hour, or is about to have.
func (b *Book) hour(ctx context.Context, k string, at int64) (hourRecord, error) {
	e := store.Entry{Key: k}
	if op, ok := b.w.Pending(k); ok {
		e.Value = op.Value
	} else {
		var err error
		switch e, err = b.st.Get(ctx, k); {
		case isNotFound(err):
			return hourRecord{hour: at, SuccessUSD: []float64{0, 0}, FailureUSD: []float64{0, 0}}, nil
		case err != nil:
			return hourRecord{}, err
		}
	}
	return decodeHour(e, hourPart(at))
}

// keep puts an hour of what has left the window among those in memory, which are
// those of the last day, and the last that changed.
func (w *window) keep(h hourRecord, now int64) {
	old := hourOf(now - int64(Day))
	w.left = slices.DeleteFunc(w.left, func(o hourRecord) bool { return o.hour == h.hour || o.hour < old })
	w.left = append(w.left, h)
}

// restoreLeft reads what has left a window during the last day.
func (b *Book) restoreLeft(ctx context.Context, candidate, skill string, w *window) error {
	prefix := key.Prefix(b.space, "left", candidate, skill)
	after := prefix + hourPart(hourOf(b.opts.Now().Add(-Day).UnixNano())-1)
	for e, err := range b.st.Scan(ctx, store.Range{Prefix: prefix, After: after}) {
		if err != nil {
			return err
		}
		h, err := decodeHour(e, e.Key[len(prefix):])
		if err != nil {
			return err
		}
		w.left = append(w.left, h)
		w.latest = max(w.latest, (h.hour+1)*int64(time.Hour)-1) // or before
	}
	return nil
}

// Left yields by the hour the attempts that [Book.Samples] has no longer, since they
// were followed by [Window] others, in order of candidate and skill: all hours that
// end after since. It writes what is pending and reads the store.
func (b *Book) Left(ctx context.Context, since time.Time) iter.Seq2[Tally, error] {
	return func(yield func(Tally, error) bool) {
		if err := b.w.Flush(ctx); err != nil {
			yield(Tally{}, fmt.Errorf("left: %w", err))
			return
		}
		hours := key.Prefix(b.space, "left")
		for e, err := range b.st.Scan(ctx, store.Range{Prefix: hours}) {
			var t Tally
			if err == nil {
				t, err = decodeTally(e, hours)
			}
			if err != nil {
				yield(Tally{}, fmt.Errorf("left: %w", err))
				return
			}
			if t.From.Add(time.Hour).After(since) && !yield(t, nil) {
				return
			}
		}
	}
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

// Daily returns what all attempts came to, those that failed too, by candidate, skill and
// day (UTC), from the day of since on. It reads all samples, as [Book.Samples] does.
func (b *Book) Daily(ctx context.Context, since time.Time) ([]Tally, error) {
	type of struct {
		candidate, skill string
		day              int64
	}
	since = since.UTC().Truncate(Day)
	days := make(map[of]*Tally)
	at := func(candidate, skill string, at time.Time) *Tally {
		day := at.Truncate(Day)
		k := of{candidate, skill, day.Unix()}
		if days[k] == nil {
			days[k] = &Tally{Candidate: candidate, Skill: skill, From: day}
		}
		return days[k]
	}
	for s, err := range b.Samples(ctx, since) {
		if err != nil {
			return nil, err
		}
		at(s.Candidate, s.Situation.Skill, s.At).add(&s)
	}
	for t, err := range b.Left(ctx, since) {
		if err != nil {
			return nil, err
		}
		at(t.Candidate, t.Skill, t.From).merge(&t)
	}
	out := make([]Tally, 0, len(days))
	for _, t := range days {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(x, y Tally) int {
		return cmp.Or(cmp.Compare(x.Candidate, y.Candidate), cmp.Compare(x.Skill, y.Skill), x.From.Compare(y.From))
	})
	return out, nil
}
