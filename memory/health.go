package memory

import "context"

// The values of Health.Status.
const (
	Healthy        = "HEALTHY"
	NeedsAttention = "NEEDS_ATTENTION"
)

// Health is the state of a scope.
type Health struct {
	Status        string // Healthy if there are memories, feedback, and no Issues
	Total         int    // records, quarantined and archived ones included
	Kinds         map[Kind]int
	Effectiveness float64 // the posterior of all records' counts together; 0.5 when nothing is known
	Feedback      int     // records that have had feedback
	Quarantined   int
	Archived      int
	Pending       int    // records that Options.Embedder has yet to give a vector to
	Embedder      string // why it failed when it was asked last, for another tenant not in its words; "": it did not
	Issues        []string
}

// Health returns the state of the scope.
func (s Space) Health(ctx context.Context) (Health, error) {
	if err := s.ready(ctx); err != nil {
		return Health{}, err
	}
	h := Health{Status: Healthy, Kinds: make(map[Kind]int)}
	var all counts
	if sh := s.b.shard(s.scope); sh != nil {
		for _, e := range sh.snapshot() {
			h.add(e)
			c := e.counts()
			all.Helped += c.Helped
			all.Failed += c.Failed
			all.Misled += c.Misled
		}
		h.Pending = s.b.pending(sh)
	}
	if err := s.b.vectors.lastError(s.scope.Tenant()); err != nil {
		h.Embedder = s.b.sanitize.Sanitize(err.Error())
		h.Issues = append(h.Issues, "Embedder failing - recall finds by words alone")
	}
	h.Effectiveness = all.effectiveness(0)
	switch {
	case h.Total == 0:
		h.Issues = append(h.Issues, "No memories yet")
	case h.Feedback == 0:
		h.Issues = append(h.Issues, "No feedback recorded - learning loop not closed")
	}
	if len(h.Issues) > 0 {
		h.Status = NeedsAttention
	}
	return h, nil
}

func (h *Health) add(e *entry) {
	h.Total++
	h.Kinds[e.flags.kind()]++
	if e.counts().feedback() > 0 {
		h.Feedback++
	}
	if !e.flags.trusted() {
		h.Quarantined++
	}
	if e.counts().Archived {
		h.Archived++
	}
}
