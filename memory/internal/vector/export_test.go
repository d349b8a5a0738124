package vector

func (s *Set) Len() int { return len(s.rows) }
