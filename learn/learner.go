package learn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
)

// Options configure a [Learner]. The zero value means the defaults.
type Options struct {
	// Recall is the largest number of memories injected for a goal, besides
	// what is news to the plan of one. 0: 5; negative: none.
	Recall int
	// Floor is the least relevance of a memory that is injected, in [0,1]: a
	// wrong memory is worse than none. 0: 0.2; negative: no floor.
	Floor float64

	// Holdout is the share of goals, in [0,0.5], for which nothing is injected and no chunk fires, so that
	// Uplift can estimate how much memory helps. The goal's key draws whether it is one of them. 0: none.
	Holdout float64
	// Seed is the seed of the draws. 0 is a seed like any other.
	Seed uint64

	// Repeats is how often an action may fail in a situation, over all runs, before it is not begun again
	// unless there is something new: see [Learner.Rests]. 0: 3; negative: no bound.
	Repeats int

	// FireAfter is the number of verified deliveries after which a chunk may
	// fire. 0: 2; negative: never.
	FireAfter int
}

// reliable is the least reliability with which a chunk fires: the mean of the Beta posterior (1+d)/(2+d+m), for d
// deliveries and m times that it misled. Goals for which it was recalled and did not fire do not count. One
// failure after two deliveries is below it, one after three is not.
const reliable = 0.65

// maxRecall is more than any prompt holds, and small enough that its multiples do not overflow.
const maxRecall = 1 << 20

func (o *Options) fill() error {
	o.Recall, o.Repeats = min(cmp.Or(o.Recall, 5), maxRecall), cmp.Or(o.Repeats, 3)
	o.FireAfter, o.Floor = cmp.Or(o.FireAfter, 2), cmp.Or(o.Floor, 0.2)
	var errs []error
	if !(o.Floor <= 1) {
		errs = append(errs, fmt.Errorf("option Floor: %v is not at most 1", o.Floor))
	}
	if !(o.Holdout >= 0 && o.Holdout <= 0.5) {
		errs = append(errs, fmt.Errorf("option Holdout: %v is not in [0,0.5]", o.Holdout))
	}
	return errors.Join(errs...)
}

// maxChanged is how many scopes have their last change in memory.
const maxChanged = 4096

// Learner connects memory, ranking and metacognition to outcomes. It is safe
// for concurrent use, and closes none of its parts.
type Learner struct {
	bank    *memory.Bank
	book    *rank.Book
	monitor *meta.Monitor
	o       Options
	decoded decoded
	room    atomic.Int32 // as many hits as were found last
	// changed is when a task that succeeded last changed the world of a scope. It is in memory only: losing it
	// only makes an action rest, which ends by itself.
	changed *lru.Cache[memory.Scope, time.Time]
}

// New returns a Learner over memory, ranking and monitor, or an error that lists the options that are out of
// range.
func New(bank *memory.Bank, book *rank.Book, monitor *meta.Monitor, opts *Options) (*Learner, error) {
	o := *cmp.Or(opts, new(Options))
	if err := o.fill(); err != nil {
		return nil, err
	}
	cache, err := lru.New[memory.ID, cached](cacheSize)
	changed, err2 := lru.New[memory.Scope, time.Time](maxChanged)
	return &Learner{
		bank: bank, book: book, monitor: monitor, o: o, decoded: decoded{cache}, changed: changed,
	}, errors.Join(err, err2)
}

// Flush writes what Learn has so far changed in memory only, and waits for it.
func (l *Learner) Flush(ctx context.Context) error {
	return errors.Join(l.bank.Flush(ctx), l.book.Flush(ctx), l.monitor.Flush(ctx))
}

// Keys returns the keys under which the Monitor has recorded that the goals of these keys were given up, and those
// of their episodes.
func Keys(goals []string) (outcomes, episodes []string) {
	for _, k := range goals {
		outcomes = append(outcomes, k+"/blocked")
		episodes = append(episodes, digest(k, "delivered"), digest(k, "at once"), digest(k, "unasked"))
	}
	return outcomes, episodes
}

// Release deletes the keys that make Learn idempotent for the attempts and goals of a run, which will not come
// again. What was learned from them stays.
func (l *Learner) Release(ctx context.Context, session string, scopes []memory.Scope, attempts, goals []string) error {
	blocked, episodes := Keys(goals)
	outcomes := slices.Concat(attempts, blocked)
	feedback := slices.Clone(outcomes)
	for _, k := range outcomes {
		feedback = append(feedback, digest(k, "warnings"))
	}
	var drafts []string
	for _, k := range goals {
		drafts = append(drafts, k+"/chunk", k+"/failure", digest(k, "episode"))
		feedback = append(feedback, digest(k, "chunk"), digest(k+"/chunk", "taken"))
	}
	for _, k := range slices.Clone(feedback) {
		feedback = append(feedback, digest(k, "taken"))
	}
	for _, scope := range scopes {
		if err := l.bank.In(scope).Release(ctx, feedback, drafts); err != nil {
			return err
		}
	}
	if err := l.book.Release(ctx, attempts...); err != nil {
		return err
	}
	return l.monitor.Release(ctx, session, outcomes, episodes)
}
