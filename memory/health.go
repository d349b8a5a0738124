package memory

// The values of Health.Status.
const (
	Healthy        = "HEALTHY"
	NeedsAttention = "NEEDS_ATTENTION"
)

// Health is the state of a scope.
type Health struct {
	Status        string // Healthy if there are memories, feedback, and no Issues
	Total         int    // records, archived ones included
	Kinds         map[Kind]int
	Effectiveness float64 // of all records together; 0.5 when nothing is known
	Feedback      int     // records that have had feedback
	Quarantined   int
	Archived      int
	Issues        []string
}

// DecayReport says what Decay did. Total = Kept + Archived + Already.
type DecayReport struct {
	Total    int // records
	Kept     int // in use, or young
	Archived int // by this call
	Already  int // archived before
}

// ConsolidateReport says what Consolidate did. Before = After + Merged.
type ConsolidateReport struct {
	Before int // records
	Merged int // records that are now part of another
	After  int
}
