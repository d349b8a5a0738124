// Package vector finds the vectors nearest to one: the signs that differ are counted for all, and the nearest by
// that are compared by codes of eight bits.
package vector

// Set holds vectors of one dimension by row, at 1.125 bytes a number. Searches may run at once, and nothing beside
// a change: the owner's RWMutex sees to that.
type Set struct{}

// Match is a row that was found.
type Match struct {
	Row    uint32
	Cosine float64
}

// New returns an empty Set of vectors of the dimension.
func New(dim int) *Set { panic("contract") }

// Len is the number of vectors.
func (s *Set) Len() int { panic("contract") }

// Put keeps a vector under a row, in place of the one it had. A vector of another dimension, of length 0 or with a
// number that is not finite is an error.
func (s *Set) Put(row uint32, v []float32) error { panic("contract") }

// Delete removes the vector of a row, if it has one.
func (s *Set) Delete(row uint32) { panic("contract") }

// Query is a vector to look for.
type Query struct{}

// Ask returns the Query of a vector.
func (s *Set) Ask(v []float32) (*Query, error) { panic("contract") }

// Cosine returns that of a row and the query; false: it has no vector.
func (s *Set) Cosine(q *Query, row uint32) (float64, bool) { panic("contract") }

// Search returns about the n nearest, best first, without those that skip leaves out (nil: none).
func (s *Set) Search(q *Query, n int, skip func(row uint32) bool) []Match { panic("contract") }
