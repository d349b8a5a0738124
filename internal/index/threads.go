package index

// Thread is a conversation that a query found. Score is in [0,1]; Best are its
// best records, at most three, best first.
type Thread struct {
	Name  string
	Score float64
	Best  []Match
}

// Threads returns the threads that match the query, K of them (0: all), best
// first; records without a thread are left out, and Gate has no effect. The
// result is valid until the next use of sc.
func (ix *Index) Threads(sc *Scratch, q *Query) []Thread { return nil }
