package memory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tally"
)

// The values of Health.Status.
const (
	Healthy        = "HEALTHY"
	NeedsAttention = "NEEDS_ATTENTION"
)

// Issue is something that a host should look at.
type Issue struct {
	Text   string // what is wrong
	Advice string // what to do about it
}

// Health is the state of a scope.
type Health struct {
	Status string // NeedsAttention if there are Issues, else Healthy
	Total  int    // records, quarantined and archived ones included
	Kinds  map[Kind]int
	// Effectiveness is that of all records together that are trusted or that arc has derived; 0.5
	// without feedback.
	Effectiveness float64
	// Injected counts recalls with Query.Inject or Background that have found something since Open, or
	// since Options.IndexBytes has the tenant in memory.
	Injected    int
	Feedback    int // of the same records, those that have had feedback
	Quarantined int // passing Episodes aside, which wait for no Trust
	Lessons     int // of these, what runs have taught, which quotes others
	Archived    int
	Pending     int // records that Options.Embedder has yet to give a vector to
	// Embedder is the error of the Embedder's last call for records, else of that for a query; "" if
	// neither failed. If the call was for another tenant, the words of the error are left out.
	Embedder string
	// Extractor is the error of the Extractor's last call, likewise.
	Extractor string
	// Behind is how long the Bank, if it is Shared, takes to know of a commit, of other Banks too. It
	// is an issue if a second is not enough.
	Behind time.Duration
	Issues []Issue
}

// patience is the number of injections from which on a lack of feedback is an issue.
const patience = 5

// Health returns the state of the scope. Issues are a failing Embedder or Extractor, a scope without
// records, 5 injections without any feedback, and a Shared Bank that is behind, which costs a small
// commit to find out.
func (s Space) Health(ctx context.Context) (Health, error) {
	done, err := s.ready(ctx)
	defer done()
	if err != nil {
		return Health{}, err
	}
	h := Health{Status: Healthy, Kinds: make(map[Kind]int)}
	var all tally.Counts
	if sh := s.b.shard(s.scope); sh != nil {
		for _, e := range sh.Snapshot() {
			h.add(e)
			if !recalled(e) {
				continue
			}
			c := e.Counts()
			all.Helped, all.Misled = all.Helped+c.Helped, all.Misled+c.Misled
			all.Failed, all.Quiet = all.Failed+c.Failed, all.Quiet+c.Quiet
			if c.Feedback() > 0 {
				h.Feedback++
			}
		}
		if s.b.vectors.Works() {
			h.Pending = sh.Pending()
		}
		h.Injected = int(sh.injected.Load())
	}
	h.Effectiveness = all.Effectiveness(0)
	if err := h.lag(ctx, s.b); err != nil {
		return Health{}, fmt.Errorf("memory: health: %w", err)
	}
	if err := s.b.vectors.LastError(s.scope.Tenant()); err != nil {
		h.Embedder = s.b.sanitize.Sanitize(err.Error())
		h.Issues = append(h.Issues, Issue{
			"Embedder failing - recall finds by words alone", "see Health.Embedder; vectors are made when it answers again",
		})
	}
	if err := s.b.reading.LastError(s.scope.Tenant()); err != nil {
		h.Extractor = s.b.sanitize.Sanitize(err.Error())
		h.Issues = append(h.Issues, Issue{
			"Extractor failing - what texts state is not read", "see Health.Extractor; it is asked again later",
		})
	}
	switch {
	case h.Total == 0 && !s.b.knows(s.scope):
		h.Issues = append(h.Issues, Issue{"No memories yet", "run objectives, or remember what is known already"})
	case h.Feedback == 0 && h.Injected >= patience:
		h.Issues = append(h.Issues, Issue{
			"No feedback recorded - learning loop not closed", "let workers and reasoner name what they used, or call Feedback",
		})
	}
	if len(h.Issues) > 0 {
		h.Status = NeedsAttention
	}
	return h, nil
}

// knows reports whether a scope, or one below it, has records.
func (b *Bank) knows(scope Scope) (known bool) {
	b.shards.Range(func(_, v any) bool {
		sh := v.(*shard)
		known = sh.scope.Within(scope) && len(sh.Snapshot()) > 0
		return !known
	})
	return known
}

// lag measures how far the Bank is behind the store.
func (h *Health) lag(ctx context.Context, b *Bank) error {
	if !b.o.Shared {
		return nil
	}
	began := b.o.Now()
	late, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	err := b.Await(late, Latest)
	h.Behind = b.o.Now().Sub(began)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		h.Issues = append(h.Issues, Issue{
			"Nothing heard of what was written - recall is behind", "see whether the store's changes are followed",
		})
		err = nil
	}
	return err
}

// recalled reports whether feedback on the record tells how recall does. Of records in quarantine
// only those do that arc has derived.
func recalled(e *table.Entry) bool { return e.Flags.Trusted() || e.Flags&table.Derived != 0 }

func (h *Health) add(e *table.Entry) {
	h.Total++
	h.Kinds[kindOf(e)]++
	if e.Flags&(table.Quarantined|table.Passing) == table.Quarantined {
		h.Quarantined++
		if o := sourceOf(e).Origin; o == Derived || o == Executor && kindOf(e) == Failure {
			h.Lessons++
		}
	}
	if e.Counts().Archived {
		h.Archived++
	}
}
