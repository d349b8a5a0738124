package lease

import "hash/fnv"

// Home returns which of several openers has a thing at home: that with the largest hash of
// both names (Thaler and Ravishankar 1998). All that know of the same openers agree, and
// when one goes, or comes, only what is its own moves.
func Home(thing string, openers []string) (home string) {
	var most uint64
	for i, name := range openers {
		h := fnv.New64a()
		h.Write([]byte(name + "\x00" + thing)) // never fails
		x := h.Sum64()
		x = (x ^ x>>33) * 0xff51afd7ed558ccd // else the last letters hardly matter
		if x ^= x >> 33; i == 0 || x > most {
			home, most = name, x
		}
	}
	return home
}
