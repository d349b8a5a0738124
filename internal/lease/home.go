package lease

import "hash/fnv"

// Home returns the opener to which a thing belongs, by rendezvous hashing: the one with the
// largest hash of both names (Thaler and Ravishankar 1998). All that know the same openers
// agree. When an opener comes or goes, only the things that it has then or had before move.
func Home(thing string, openers []string) (home string) {
	var most uint64
	for i, name := range openers {
		h := fnv.New64a()
		h.Write([]byte(name + "\x00" + thing)) // never fails
		x := h.Sum64()
		x = (x ^ x>>33) * 0xff51afd7ed558ccd // FNV mixes the last bytes into the low bits only
		if x ^= x >> 33; i == 0 || x > most {
			home, most = name, x
		}
	}
	return home
}
