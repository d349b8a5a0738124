// Package union finds which ids are of one thing, from pairs that are.
package union

// Sets are ids in sets (a disjoint-set forest, whose paths are halved as they are walked). The
// zero Sets has each id by itself.
type Sets struct{ above map[string]string }

// Join makes one set of those of two ids. Find finds the set by that of b from then on.
func (s *Sets) Join(a, b string) {
	if a, b = s.Find(a), s.Find(b); a != b {
		if s.above == nil {
			s.above = map[string]string{}
		}
		s.above[a] = b
	}
}

// Find returns the id by which the set of an id is found.
func (s *Sets) Find(id string) string {
	for {
		up, above := s.above[id]
		if !above {
			return id
		}
		if top, above := s.above[up]; above {
			s.above[id], up = top, top
		}
		id = up
	}
}
