package index

import (
	"hash/maphash"
	"sync/atomic"
)

// dict is a hash table from names to values that hold their name, with open
// addressing, at most half full. One goroutine writes, others read without
// locks; a value that was found stays valid.
type dict[V any] struct {
	name  func(*V) string
	seed  maphash.Seed
	cells atomic.Pointer[[]atomic.Pointer[V]]
	n     int // writer's
}

func newDict[V any](name func(*V) string) dict[V] {
	return dict[V]{name: name, seed: maphash.MakeSeed()}
}

// get returns the value with the name, or nil.
func (d *dict[V]) get(name string) *V {
	p := d.cells.Load()
	if p == nil {
		return nil
	}
	cells := *p
	mask := uint64(len(cells) - 1)
	for i := maphash.String(d.seed, name) & mask; ; i = (i + 1) & mask {
		v := cells[i].Load()
		if v == nil || d.name(v) == name {
			return v
		}
	}
}

// add adds a value whose name is not in the table. When the table has to grow
// it first drops the values that are not worth keeping.
func (d *dict[V]) add(v *V, keep func(*V) bool) {
	p := d.cells.Load()
	if p == nil || d.n >= len(*p)/2 {
		p = d.grow(p, keep)
	}
	d.place(*p, v)
	d.n++
}

func (d *dict[V]) grow(old *[]atomic.Pointer[V], keep func(*V) bool) *[]atomic.Pointer[V] {
	var live []*V
	if old != nil {
		for i := range *old {
			if v := (*old)[i].Load(); v != nil && keep(v) {
				live = append(live, v)
			}
		}
	}
	size := 16
	for size < 3*len(live) {
		size *= 2
	}
	cells := make([]atomic.Pointer[V], size)
	for _, v := range live {
		d.place(cells, v)
	}
	d.n = len(live)
	d.cells.Store(&cells)
	return &cells
}

func (d *dict[V]) place(cells []atomic.Pointer[V], v *V) {
	mask := uint64(len(cells) - 1)
	i := maphash.String(d.seed, d.name(v)) & mask
	for cells[i].Load() != nil {
		i = (i + 1) & mask
	}
	cells[i].Store(v)
}
